// Sparse rows for what reads whole rows: a few at a time are spread out and put back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/row_source.hpp"
#include "team.hpp"

namespace dics {

// Rows of one thread. Between blocks they are zero throughout, so that a block
// costs its entries alone and not the width of X.
template <class T>
class DenseRowBuffer {
  public:
    DenseRowBuffer(const SparseMatrix<T>& X, std::int64_t n_rows) : X_(X) {
        space_.resize(static_cast<std::size_t>(n_rows * X.n_cols));
    }

    // Calls body(rows as a dense matrix) with n rows; row_of(i) is the number of one.
    template <class RowOf, class Body>
    void with(std::int64_t n, RowOf row_of, Body body) {
        each_entry(n, row_of, [&](T& to, std::int64_t k) { to = X_.values[k]; });
        body(Matrix<T>{space_.data(), n, X_.n_cols, X_.n_cols, 1});
        each_entry(n, row_of, [](T& to, std::int64_t) { to = T(); });
    }

  private:
    template <class RowOf, class Each>
    void each_entry(std::int64_t n, RowOf row_of, Each each) {
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t row = row_of(i);
            for (std::int64_t k = X_.starts[row]; k < X_.starts[row + 1]; ++k)
                each(space_[static_cast<std::size_t>(i * X_.n_cols + X_.columns[k])],
                     k);
        }
    }

    SparseMatrix<T> X_;
    std::vector<T> space_;
};

// Calls body(dense matrix of some rows, number of the first, team of one) until all of
// `n_rows` rows were there: row_of(i) is where row i stands in X.
template <class T, class RowOf, class Body>
void for_dense_rows(const SparseMatrix<T>& X, std::int64_t n_rows, Team& team,
                    RowOf row_of, Body body) {
    constexpr std::int64_t kSpaceBytes = 1 << 22;  // of each thread
    constexpr std::int64_t kMostRows = 1024;
    const std::int64_t row_bytes = X.n_cols * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t block = std::clamp<std::int64_t>(kSpaceBytes / row_bytes, 1,
                                                        std::min(kMostRows, n_rows));
    const std::int64_t n_blocks = (n_rows + block - 1) / block;
    // Any of the threads may take a block, also where there are fewer blocks.
    std::vector<std::optional<DenseRowBuffer<T>>> spaces(
        static_cast<std::size_t>(team.size()));
    team.run(n_blocks, n_blocks > 1, [&](std::int64_t task, int thread) {
        const std::int64_t first = task * block;
        Team alone(1, [&] {
            team.check(thread);
            return false;
        });
        auto& space = spaces[static_cast<std::size_t>(thread)];
        if (!space)
            space.emplace(X, block);
        space->with(
            std::min(block, n_rows - first),
            [&](std::int64_t i) { return row_of(first + i); },
            [&](const Matrix<T>& rows) { body(rows, first, alone); });
    });
}

}  // namespace dics
