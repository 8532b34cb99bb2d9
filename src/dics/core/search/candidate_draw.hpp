// Line 6 of Algorithm 2: k candidates of the dictionary, drawn for one node (or, in
// boosting, for one round).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "data/matrix.hpp"
#include "random.hpp"

namespace dics {

// Sorted by feature, then by threshold.
struct CandidateList {
    std::vector<std::int32_t> features, indices;

    std::int64_t size() const { return static_cast<std::int64_t>(features.size()); }

    // Thresholds of one feature.
    std::span<const std::int32_t> of_feature(std::int64_t f) const {
        const auto range = std::equal_range(features.begin(), features.end(), f);
        const auto first = static_cast<std::size_t>(range.first - features.begin());
        const auto last = static_cast<std::size_t>(range.second - features.begin());
        return std::span(indices).subspan(first, last - first);
    }

    // Draws without replacement; all of them if k is 0. With `left_over`, from those
    // numbers of the dictionary (rising) alone.
    void draw(const Dictionary& dictionary, const std::vector<std::int64_t>* left_over,
              std::int64_t k, std::uint64_t key) {
        const std::int64_t n = left_over ? static_cast<std::int64_t>(left_over->size())
                                         : dictionary.size();
        k = k > 0 ? std::min(k, n) : n;
        features.clear();
        indices.clear();
        const std::int64_t* offsets = dictionary.offsets;
        const std::int64_t* end = offsets + dictionary.n_features + 1;
        std::int64_t f = 0;
        for (std::int64_t id : sample_without_replacement(combine(key, 3), n, k)) {
            if (left_over)
                id = (*left_over)[static_cast<std::size_t>(id)];
            f = std::upper_bound(offsets + f, end, id) - offsets - 1;
            features.push_back(static_cast<std::int32_t>(f));
            indices.push_back(static_cast<std::int32_t>(id - offsets[f]));
        }
    }
};

}  // namespace dics
