// A view of the caller's X, with any strides and three element types.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dics {

template <class T>
struct Matrix {
    using value_type = T;

    const T* data;
    std::int64_t n_rows;
    std::int64_t n_cols;
    std::int64_t row_stride;  // in elements, not bytes
    std::int64_t col_stride;

    const T& operator()(std::int64_t row, std::int64_t col) const {
        return data[row * row_stride + col * col_stride];
    }
};

// The sorted indices of the rows of X among `n_rows` rows. Null: X has all rows.
struct RowNumbers {
    const std::int64_t* numbers = nullptr;
    std::int64_t n_rows = 0;
};

// The split dictionary: thresholds of feature f are values[offsets[f] .. offsets[f+1]),
// sorted and distinct. code(x) = #{t : values[t] <= x}, hence x < tau_t <=> code <= t.
// NaN has the code "number of thresholds + 1", one past the largest ordinary code.
struct Dictionary {
    const double* values;
    const std::int64_t* offsets;
    std::int64_t n_features;

    std::int64_t size() const { return offsets[n_features]; }
    int count(std::int64_t f) const { return offsets[f + 1] - offsets[f]; }
    const double* thresholds(std::int64_t f) const { return values + offsets[f]; }
};

// Codes in blocks of `width` features. A block is row-major, so that one cache line of
// 64 codes serves 64 histograms: with columns, a node with every 100th row would use
// one byte per cache line (CIFAR-10, depth 8, one thread: fit in 2790, 1800, 1470 and
// 1420 ms with blocks of 8, 16, 32 and 64; 2026-11). Width 1 is column-major, and one
// block of all features is row-major: forests use both.
//
// If most codes of a feature are equal, `lists` has the others and `data` is null.
class CodeLists;
struct Codes {
    const std::uint8_t* data;
    std::int64_t n_rows;
    std::int64_t n_features;
    int width;
    const CodeLists* lists = nullptr;

    std::int64_t n_blocks() const { return (n_features + width - 1) / width; }
    const std::uint8_t* block(std::int64_t b) const {
        return data + b * n_rows * width;
    }
    // The code of `row` is column(f)[row * width].
    const std::uint8_t* column(std::int64_t f) const {
        return block(f / width) + f % width;
    }
};

inline constexpr int kMaxCodeWidth = 64;

// The width of blocks for one tree: a multiple of four, with at least four blocks if
// there are enough features, so that threads can share the work.
inline int code_width(std::int64_t n_features) {
    auto in_parts = [](std::int64_t n, std::int64_t size) {
        return (n + size - 1) / size;
    };
    const std::int64_t n_blocks =
        std::max(in_parts(n_features, kMaxCodeWidth),
                 std::min<std::int64_t>(4, in_parts(n_features, 4)));
    return in_parts(n_features, 4 * n_blocks) * 4;
}

inline std::int64_t codes_size(std::int64_t n_rows, std::int64_t n_features,
                               int width) {
    return (n_features + width - 1) / width * width * n_rows;
}

// uint8 codes allow 254 thresholds: codes 0..254 and 255 for NaN.
inline constexpr int kMaxThresholds = 254;

}  // namespace dics
