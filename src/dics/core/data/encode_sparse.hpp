// Codes of a sparse X, as dense as those of any other: bytes, from its entries alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "data/matrix.hpp"
#include "data/row_source.hpp"
#include "data/split_side.hpp"
#include "team.hpp"

namespace dics {

// How many thresholds of feature f a value has reached; one more than there are for
// NaN.
template <class T>
std::uint8_t code_of(T value, const Dictionary& dictionary, std::int64_t f) {
    const double* tau = dictionary.thresholds(f);
    const int n = dictionary.count(f);
    if (value != value)
        return static_cast<std::uint8_t>(n + 1);
    const auto compared = static_cast<double>(value);
    return static_cast<std::uint8_t>(
        std::partition_point(
            tau, tau + n,
            [compared](double threshold) { return has_reached(compared, threshold); }) -
        tau);
}

// The code of each feature where X has no entry.
inline std::vector<std::uint8_t> codes_of_zero(const Dictionary& dictionary) {
    std::vector<std::uint8_t> codes;
    for (std::int64_t f = 0; f < dictionary.n_features; ++f)
        codes.push_back(code_of(0.0, dictionary, f));
    return codes;
}

inline constexpr std::int64_t kSparseTaskRows = 1024;

// Calls body(first row, last row) for parts of the rows.
template <class T, class Body>
void for_sparse_rows(const SparseMatrix<T>& X, Team& team, Body body) {
    const std::int64_t n_tasks = (X.n_rows + kSparseTaskRows - 1) / kSparseTaskRows;
    team.run(n_tasks, n_tasks > 1, [&](std::int64_t task, int) {
        const std::int64_t first = task * kSparseTaskRows;
        body(first, std::min(X.n_rows, first + kSparseTaskRows));
    });
}

// See encode().
template <class T>
void encode_sparse(const SparseMatrix<T>& X, const Dictionary& dictionary, int width,
                   Team& team, std::uint8_t* codes) {
    std::vector<std::uint8_t> zeros = codes_of_zero(dictionary);
    const std::int64_t n_blocks = (X.n_cols + width - 1) / width;
    zeros.resize(static_cast<std::size_t>(n_blocks * width));  // padding is zero
    for_sparse_rows(X, team, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            const std::uint8_t* from = zeros.data() + b * width;
            std::uint8_t* to = codes + (b * X.n_rows + first) * width;
            if (width == 1) {
                std::memset(to, *from, static_cast<std::size_t>(last - first));
                continue;
            }
            for (std::int64_t row = first; row < last; ++row, to += width)
                std::copy_n(from, width, to);
        }
        for (std::int64_t row = first; row < last; ++row) {
            for (std::int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k) {
                const std::int64_t f = X.columns[k];
                codes[(f / width * X.n_rows + row) * width + f % width] =
                    code_of(X.values[k], dictionary, f);
            }
        }
    });
}

// See encode_ordered().
template <class T>
void encode_sparse_ordered(const SparseMatrix<T>& X, const Dictionary& dictionary,
                           const std::int32_t* order, std::int64_t n_order,
                           std::int64_t stride, Team& team, std::uint8_t* codes) {
    const std::vector<std::uint8_t> zeros = codes_of_zero(dictionary);
    std::vector<std::uint8_t> pattern(static_cast<std::size_t>(n_order));
    std::vector<std::int32_t> places(static_cast<std::size_t>(X.n_cols), -1);
    for (std::int64_t p = 0; p < n_order; ++p) {
        pattern[static_cast<std::size_t>(p)] =
            zeros[static_cast<std::size_t>(order[p])];
        places[static_cast<std::size_t>(order[p])] = static_cast<std::int32_t>(p);
    }
    for_sparse_rows(X, team, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            std::uint8_t* to = codes + row * stride;
            std::copy(pattern.begin(), pattern.end(), to);
            for (std::int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k) {
                const std::int32_t place =
                    places[static_cast<std::size_t>(X.columns[k])];
                if (place >= 0)
                    to[place] = code_of(X.values[k], dictionary, X.columns[k]);
            }
        }
    });
}

}  // namespace dics
