// Where the codes of a renewed dictionary came from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/matrix.hpp"
#include "grow/split.hpp"

namespace dics {

// What the codes of a renewed dictionary are in the tree's first one: the range that
// the rows of each code had there. Gaps are measured in the first dictionary
// throughout.
struct Origin {
    std::vector<std::int32_t> n_thresholds;     // of each feature, in the first one
    std::vector<std::uint8_t> lowest, highest;  // of code c at offsets[f] + f + c

    Origin(const Dictionary& dictionary, const Origin* parent,
           const Dictionary& parent_dictionary) {
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            n_thresholds.push_back(parent ? parent->n_thresholds[f]
                                          : parent_dictionary.count(f));
        }
        const auto size =
            static_cast<std::size_t>(dictionary.size() + dictionary.n_features);
        lowest.assign(size, 255);
        highest.assign(size, 0);
    }

    static std::size_t at(const Dictionary& dictionary, std::int64_t f, int code) {
        return static_cast<std::size_t>(dictionary.offsets[f] + f + code);
    }
    void add(std::size_t at, std::uint8_t low, std::uint8_t high) {
        lowest[at] = std::min(lowest[at], low);
        highest[at] = std::max(highest[at], high);
    }
};

// How wide the gap between the two sides of a cut is, as a share of the feature's
// thresholds. `origin` is null for the tree's first dictionary.
inline std::uint64_t gap_between(const Cut& cut, std::int64_t f,
                                 const Dictionary& dictionary, const Origin* origin) {
    if (cut.lo < 0)
        return 0;
    if (!origin)
        return gap_share(cut.hi - cut.lo, dictionary.count(f));
    const int right = origin->lowest[Origin::at(dictionary, f, cut.hi + 1)];
    const int left = origin->highest[Origin::at(dictionary, f, cut.lo)];
    return gap_share(std::max(0, right - 1 - left),
                     std::max(1, origin->n_thresholds[static_cast<std::size_t>(f)]));
}

}  // namespace dics
