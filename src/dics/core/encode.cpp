#include "encode.hpp"

#include <algorithm>
#include <array>

#include "kernels.hpp"

namespace dics {
namespace {

constexpr std::int64_t kParallelValues = 1 << 17;  // about 0.3 ms of work
constexpr std::int64_t kPartRows = 1 << 14;  // narrow X still makes several tasks

void encode_column(const float* x, std::int64_t n, const float* tau, int n_tau,
                   std::uint8_t* codes) {
    kernels().encode_float(x, n, tau, n_tau, codes);
}

void encode_column(const double* x, std::int64_t n, const float* tau, int n_tau,
                   std::uint8_t* codes) {
    kernels().encode_double(x, n, tau, n_tau, codes);
}

using ByteTable = std::array<std::uint8_t, 256>;

ByteTable byte_table(const float* tau, int n_tau) {
    ByteTable table{};
    int code = 0;
    for (int value = 0; value < 256; ++value) {
        while (code < n_tau && tau[code] <= static_cast<float>(value)) ++code;
        table[static_cast<std::size_t>(value)] = static_cast<std::uint8_t>(code);
    }
    return table;
}

template <class T>
void encode_part(const Matrix<T>& X, const Dictionary& dictionary,
                 std::int64_t first_row, std::int64_t last_row, std::int64_t first_col,
                 std::int64_t last_col, std::uint8_t* codes) {
    constexpr bool bytes = std::is_same_v<T, std::uint8_t>;
    std::vector<T> tile(static_cast<std::size_t>(kTileCols) * kTileRows);
    std::vector<ByteTable> tables;
    if constexpr (bytes) {
        for (std::int64_t c = first_col; c < last_col; ++c) {
            tables.push_back(byte_table(dictionary.thresholds(c), dictionary.count(c)));
        }
    }
    for (std::int64_t first = first_row; first < last_row; first += kTileRows) {
        const std::int64_t last = std::min(last_row, first + kTileRows);
        load_tile(X, first, last, first_col, last_col, tile.data());
        for (std::int64_t c = first_col; c < last_col; ++c) {
            const T* x = tile.data() + (c - first_col) * kTileRows;
            std::uint8_t* out = codes + c * X.n_rows + first;
            if constexpr (bytes) {
                const auto& table = tables[static_cast<std::size_t>(c - first_col)];
                for (std::int64_t i = 0; i < last - first; ++i) out[i] = table[x[i]];
            } else {
                encode_column(x, last - first, dictionary.thresholds(c),
                              dictionary.count(c), out);
            }
        }
    }
}

}  // namespace

void encode(const AnyMatrix& any, const Dictionary& dictionary, Team& team,
            std::uint8_t* codes) {
    std::visit(
        [&](const auto& X) {
            const std::int64_t n_groups = (X.n_cols + kTileCols - 1) / kTileCols;
            const bool parallel = X.n_rows * X.n_cols >= kParallelValues;
            const std::int64_t n_parts = (X.n_rows + kPartRows - 1) / kPartRows;
            team.run(n_groups * n_parts, parallel, [&](std::int64_t task, int) {
                const std::int64_t col = task / n_parts * kTileCols;
                const std::int64_t row = task % n_parts * kPartRows;
                encode_part(X, dictionary, row, std::min(X.n_rows, row + kPartRows),
                            col, std::min(X.n_cols, col + kTileCols), codes);
            });
        },
        any);
}

}  // namespace dics
