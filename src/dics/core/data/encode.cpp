#include "data/encode.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "data/encode_sparse.hpp"
#include "data/split_side.hpp"
#include "kernels/kernels.hpp"

namespace dics {
namespace {

// X is read in blocks of rows: first row by row, at the speed of memory, then by
// columns from the cache. Reading a row-major X by columns from memory took 5 times as
// long (MNIST, one page per value).
constexpr std::int64_t kBlockRows = kEncodeRows;
constexpr std::int64_t kBlocksPerTask = 8;
constexpr std::int64_t kTileCols = 16;                // one cache line of a float32 row
constexpr std::int64_t kTileStride = kBlockRows + 8;  // columns in different cache sets
constexpr std::int64_t kParallelValues = 1 << 16;

using ByteTable = std::array<std::uint8_t, 256>;

ByteTable byte_table(const double* tau, int n_tau) {
    ByteTable table{};
    int code = 0;
    for (int value = 0; value < 256; ++value) {
        while (code < n_tau && has_reached(double(value), tau[code]))
            ++code;
        table[value] = code;
    }
    return table;
}

template <class T>
class Encoder {
  public:
    Encoder(const Matrix<T>& X, const Dictionary& dictionary, int width)
        : X_(X), dictionary_(dictionary), width_(width) {
        if constexpr (std::is_same_v<T, std::uint8_t>) {
            for (std::int64_t f = 0; f < X.n_cols; ++f) {
                tables_.push_back(
                    byte_table(dictionary.thresholds(f), dictionary.count(f)));
            }
        } else if constexpr (std::is_same_v<T, float>) {
            single_.reserve(dictionary.size());
            for (std::int64_t t = 0; t < dictionary.size(); ++t)
                single_.push_back(threshold_for<float>(dictionary.values[t]));
        }
    }

    // Encodes kBlockRows rows from `first_row` on. Row `top` of X is row 0 of `codes`.
    void block(std::int64_t first_row, std::int64_t top, std::uint8_t* codes) const {
        const std::int64_t n = std::min(kBlockRows, X_.n_rows - first_row);
        if (X_.col_stride == 1)
            touch(first_row, n);
        const std::int64_t step =
            width_ == 1 ? kMaxCodeWidth : std::min(width_, kMaxCodeWidth);
        for (std::int64_t col = 0; col < X_.n_cols; col += step) {
            const std::int64_t end = std::min(X_.n_cols, col + step);
            alignas(64) std::uint8_t tile_codes[kBlockRows * kMaxCodeWidth];
            encode_tile(first_row, n, col, end, tile_codes);
            write(first_row - top, n, col, end, tile_codes, codes);
        }
    }

  private:
    void touch(std::int64_t first_row, std::int64_t n) const {
        constexpr std::int64_t step = 64 / sizeof(T);
        for (std::int64_t r = first_row; r < first_row + n; ++r) {
            const T* row = X_.data + r * X_.row_stride;
            for (std::int64_t c = 0; c < X_.n_cols; c += step)
                __builtin_prefetch(row + c);
        }
    }

    void encode_tile(std::int64_t first_row, std::int64_t n, std::int64_t first_col,
                     std::int64_t last_col, std::uint8_t* codes) const {
        alignas(64) T values[kTileStride * kTileCols] = {};
        for (std::int64_t col = first_col; col < last_col; col += kTileCols) {
            const std::int64_t end = std::min(last_col, col + kTileCols);
            for (std::int64_t i = 0; i < n; ++i) {
                const T* row = X_.data + (first_row + i) * X_.row_stride;
                T* out = values + slot(i);
                for (std::int64_t c = col; c < end; ++c, out += kTileStride)
                    *out = row[c * X_.col_stride];
            }
            for (std::int64_t c = col; c < end; ++c) {
                encode_column(c, values + (c - col) * kTileStride,
                              codes + (c - first_col) * kBlockRows);
            }
        }
    }

    static constexpr int slot(int i) {
        return std::is_same_v<T, std::uint8_t> ? i : encode_slot<T>(i);
    }

    void encode_column(std::int64_t f, const T* x, std::uint8_t* codes) const {
        if constexpr (std::is_same_v<T, std::uint8_t>) {
            const ByteTable& table = tables_[f];
            for (std::int64_t i = 0; i < kBlockRows; ++i)
                codes[i] = table[x[i]];
        } else if constexpr (std::is_same_v<T, float>) {
            kernels().encode_float(x, single_.data() + dictionary_.offsets[f],
                                   dictionary_.count(f), codes);
        } else {
            kernels().encode_double(x, dictionary_.thresholds(f), dictionary_.count(f),
                                    codes);
        }
    }

    // Copies tile[col][row] to its place: as columns, or transposed to the rows of a
    // block. A block wider than a tile has complete rows of X.
    void write(std::int64_t row, std::int64_t n, std::int64_t first_col,
               std::int64_t last_col, std::uint8_t* tile, std::uint8_t* codes) const {
        if (width_ == 1) {
            for (std::int64_t c = first_col; c < last_col; ++c, tile += kBlockRows)
                std::copy(tile, tile + n, codes + c * X_.n_rows + row);
            return;
        }
        const std::int64_t n_cols = last_col - first_col;
        std::fill(tile + n_cols * kBlockRows, tile + kBlockRows * kMaxCodeWidth,
                  std::uint8_t{0});
        alignas(64) std::uint8_t turned[kBlockRows * kMaxCodeWidth];
        kernels().transpose_codes(tile, turned);
        std::uint8_t* out = codes + first_col / width_ * X_.n_rows * width_ +
                            row * width_ + first_col % width_;
        const std::int64_t n_bytes = width_ > kMaxCodeWidth ? n_cols : width_;
        for (std::int64_t i = 0; i < n; ++i, out += width_)
            std::copy_n(turned + i * kMaxCodeWidth, n_bytes, out);
    }

    Matrix<T> X_;
    Dictionary dictionary_;
    int width_;
    std::vector<ByteTable> tables_;  // for bytes
    std::vector<float> single_;      // thresholds for float
};

// Calls body(first_row, thread) for each block of rows.
template <class T>
void for_blocks(const Matrix<T>& X, Team& team,
                const std::function<void(std::int64_t, int)>& body) {
    constexpr std::int64_t task_rows = kBlockRows * kBlocksPerTask;
    const std::int64_t n_tasks = (X.n_rows + task_rows - 1) / task_rows;
    const bool parallel = X.n_rows * X.n_cols >= kParallelValues;
    team.run(n_tasks, parallel, [&](std::int64_t task, int thread) {
        const std::int64_t end = std::min(X.n_rows, (task + 1) * task_rows);
        for (std::int64_t r = task * task_rows; r < end; r += kBlockRows)
            body(r, thread);
    });
}

}  // namespace

void encode(const AnyRows& any, const Dictionary& dictionary, int width, Team& team,
            std::uint8_t* codes) {
    std::visit(
        [&](const auto& rows) {
            using T = typename std::decay_t<decltype(rows)>::value_type;
            if (rows.is_sparse())
                return encode_sparse(rows.sparse(), dictionary, width, team, codes);
            const Matrix<T>& X = rows.dense();
            const Encoder<T> encoder(X, dictionary, width);
            for_blocks(X, team, [&](std::int64_t first_row, int) {
                encoder.block(first_row, 0, codes);
            });
        },
        any);
}

void encode_ordered(const AnyRows& any, const Dictionary& dictionary,
                    const std::int32_t* order, std::int64_t n_order,
                    std::int64_t stride, Team& team, std::uint8_t* codes) {
    std::visit(
        [&](const auto& source) {
            using T = typename std::decay_t<decltype(source)>::value_type;
            if (source.is_sparse())
                return encode_sparse_ordered(source.sparse(), dictionary, order,
                                             n_order, stride, team, codes);
            const Matrix<T>& X = source.dense();
            // Rows are encoded completely, so that they are reordered in the L1 cache.
            const int width = std::max<std::int64_t>(2, X.n_cols);
            const Encoder<T> encoder(X, dictionary, width);
            std::vector<std::vector<std::uint8_t>> space(team.size());
            for_blocks(X, team, [&](std::int64_t first_row, int thread) {
                auto& rows = space[thread];
                rows.resize(kBlockRows * width);
                encoder.block(first_row, first_row, rows.data());
                const std::int64_t n = std::min(kBlockRows, X.n_rows - first_row);
                for (std::int64_t i = 0; i < n; ++i) {
                    const std::uint8_t* from = rows.data() + i * width;
                    std::uint8_t* to = codes + (first_row + i) * stride;
                    for (std::int64_t p = 0; p < n_order; ++p)
                        to[p] = from[order[p]];
                }
            });
        },
        any);
}

}  // namespace dics
