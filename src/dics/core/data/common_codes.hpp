// The commonest code of each feature.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/matrix.hpp"

namespace dics {

// Of codes that are bytes, in a sample of the rows.
inline std::vector<std::uint8_t> commonest_codes(const Codes& codes) {
    constexpr std::int64_t most_rows = 2048, at_once = 64;
    const std::int64_t step =
        std::max<std::int64_t>(1, (codes.n_rows + most_rows - 1) / most_rows);
    std::vector<std::uint8_t> commonest;
    std::vector<std::uint32_t> counts;  // of each code of a few features
    for (std::int64_t first = 0; first < codes.n_features; first += at_once) {
        const std::int64_t last = std::min(codes.n_features, first + at_once);
        counts.assign(static_cast<std::size_t>(256 * at_once), 0);
        for (std::int64_t row = 0; row < codes.n_rows; row += step) {
            for (std::int64_t f = first; f < last; ++f)
                ++counts[static_cast<std::size_t>(256 * (f - first) +
                                                  codes.column(f)[row * codes.width])];
        }
        for (std::int64_t f = first; f < last; ++f) {
            const std::uint32_t* own = counts.data() + 256 * (f - first);
            commonest.push_back(
                static_cast<std::uint8_t>(std::max_element(own, own + 256) - own));
        }
    }
    return commonest;
}

}  // namespace dics
