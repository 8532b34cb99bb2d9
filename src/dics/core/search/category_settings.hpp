// How trees and forests split categorical features by sets of categories.
#pragma once

#include <cstdint>
#include <vector>

#include "search/set_limits.hpp"

namespace dics {

struct CategorySettings {
    // 1 for categorical features; empty: none is.
    std::vector<std::int8_t> categorical;
    double smooth =
        0;  // rows of the node's mean target added to those of each category
    double charge = 0;  // see CategoryOrder
    SetLimits set_limits;

    bool is_categorical(std::int64_t f) const {
        return !categorical.empty() && categorical[static_cast<std::size_t>(f)] != 0;
    }
    // May a node of so many rows be split by a set of categories of the feature?
    bool covers(std::int64_t f, std::int64_t n_rows) const {
        return is_categorical(f) && n_rows / 2 >= set_limits.min_rows;
    }
    // For some of the features alone.
    CategorySettings of(const std::vector<std::int64_t>& features) const {
        if (categorical.empty())
            return *this;
        CategorySettings own = *this;
        own.categorical.clear();
        for (const std::int64_t f : features)
            own.categorical.push_back(is_categorical(f) ? 1 : 0);
        return own;
    }
};

}  // namespace dics
