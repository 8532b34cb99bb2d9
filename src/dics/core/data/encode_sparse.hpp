// Dense codes of a sparse X.
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

// The number of thresholds of feature f that are at most the value. NaN has the number
// of thresholds plus one.
template <class T>
std::uint8_t code_of(T value, const Dictionary& dictionary, std::int64_t f) {
    const double* tau = dictionary.thresholds(f);
    const int n = dictionary.count(f);
    if (value != value)
        return n + 1;
    return std::upper_bound(tau, tau + n, double(value)) - tau;
}

// The code of each feature for values that are not stored.
inline std::vector<std::uint8_t> codes_of_zero(const Dictionary& dictionary) {
    std::vector<std::uint8_t> codes;
    for (std::int64_t f = 0; f < dictionary.n_features; ++f)
        codes.push_back(code_of(0.0, dictionary, f));
    return codes;
}

inline constexpr std::int64_t kSparseTaskRows = 1024;

// Calls body(first, last) for blocks of rows.
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
    zeros.resize(n_blocks * width);  // padding is zero
    for_sparse_rows(X, team, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            const std::uint8_t* from = zeros.data() + b * width;
            std::uint8_t* to = codes + (b * X.n_rows + first) * width;
            if (width == 1) {
                std::memset(to, *from, last - first);
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
    std::vector<std::uint8_t> pattern(n_order);
    std::vector<std::int32_t> places(X.n_cols, -1);
    for (std::int64_t p = 0; p < n_order; ++p) {
        pattern[p] = zeros[order[p]];
        places[order[p]] = p;
    }
    for_sparse_rows(X, team, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            std::uint8_t* to = codes + row * stride;
            std::copy(pattern.begin(), pattern.end(), to);
            for (std::int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k) {
                const std::int32_t place = places[X.columns[k]];
                if (place >= 0)
                    to[place] = code_of(X.values[k], dictionary, X.columns[k]);
            }
        }
    });
}

}  // namespace dics
