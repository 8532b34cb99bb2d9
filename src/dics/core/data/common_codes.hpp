// The most frequent code of each feature.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/matrix.hpp"

namespace dics {

// In a sample of the rows of dense codes.
inline std::vector<std::uint8_t> commonest_codes(const Codes& codes) {
    constexpr std::int64_t most_rows = 2048, at_once = 64;
    const std::int64_t step =
        std::max<std::int64_t>(1, (codes.n_rows + most_rows - 1) / most_rows);
    std::vector<std::uint8_t> commonest;
    std::vector<std::uint32_t> counts;  // of each code, for a block of features
    for (std::int64_t first = 0; first < codes.n_features; first += at_once) {
        const std::int64_t last = std::min(codes.n_features, first + at_once);
        counts.assign(256 * at_once, 0);
        for (std::int64_t row = 0; row < codes.n_rows; row += step) {
            for (std::int64_t f = first; f < last; ++f)
                ++counts[256 * (f - first) + codes.column(f)[row * codes.width]];
        }
        for (std::int64_t f = first; f < last; ++f) {
            const std::uint32_t* own = counts.data() + 256 * (f - first);
            commonest.push_back(std::max_element(own, own + 256) - own);
        }
    }
    return commonest;
}

}  // namespace dics
