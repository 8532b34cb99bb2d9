// Dense blocks of sparse rows, for code that reads dense rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/row_source.hpp"
#include "team.hpp"

namespace dics {

// Calls body(dense matrix, first row, team of one) for blocks of `n_rows` rows of X.
// `rows` are the rows of X to use, null: all.
template <class T, class Body>
void for_dense_rows(const SparseMatrix<T>& X, const std::uint32_t* rows,
                    std::int64_t n_rows, Team& team, Body body) {
    constexpr std::int64_t kBufferBytes = 1 << 22, kMostRows = 1024;
    const std::int64_t row_bytes = X.n_cols * sizeof(T);
    const std::int64_t block = std::clamp<std::int64_t>(kBufferBytes / row_bytes, 1,
                                                        std::min(kMostRows, n_rows));
    const std::int64_t n_blocks = (n_rows + block - 1) / block;
    // One per thread. A buffer is all zeros between blocks, so that the cost of a block
    // is its number of entries and not the width of X.
    std::vector<std::vector<T>> buffers(team.size());
    team.run(n_blocks, n_blocks > 1, [&](std::int64_t task, int thread) {
        const std::int64_t first = task * block, n = std::min(block, n_rows - first);
        std::vector<T>& buffer = buffers[thread];
        buffer.resize(block * X.n_cols);
        auto each_entry = [&](auto write) {
            for (std::int64_t i = 0; i < n; ++i) {
                const std::int64_t row = rows ? rows[first + i] : first + i;
                for (std::int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k)
                    write(buffer[i * X.n_cols + X.columns[k]], X.values[k]);
            }
        };
        Team alone(1);
        each_entry([](T& to, T value) { to = value; });
        body(Matrix<T>{buffer.data(), n, X.n_cols, X.n_cols, 1}, first, alone);
        each_entry([](T& to, T) { to = T(); });
    });
}

}  // namespace dics
