// Stage `encode`: X to uint8 codes, column-major.
#pragma once

#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "team.hpp"

namespace dics {

// Columns are read in groups that share cache lines of a row-major X.
inline constexpr int kTileCols = 16;
inline constexpr int kTileRows = 256;

// Copies rows [first_row, last_row) of columns [first_col, last_col) to
// tile[col][kTileRows], so that each column is contiguous.
template <class T>
void load_tile(const Matrix<T>& X, std::int64_t first_row, std::int64_t last_row,
               std::int64_t first_col, std::int64_t last_col, T* tile) {
    for (std::int64_t r = first_row; r < last_row; ++r) {
        const T* row = X.data + r * X.row_stride;
        T* out = tile + (r - first_row);
        for (std::int64_t c = first_col; c < last_col; ++c) {
            out[(c - first_col) * kTileRows] = row[c * X.col_stride];
        }
    }
}

// codes[f * n_rows + i] = code of X[i, f].
void encode(const AnyMatrix& X, const Dictionary& dictionary, Team& team,
            std::uint8_t* codes);

}  // namespace dics
