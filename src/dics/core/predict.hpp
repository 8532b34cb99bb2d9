// Stage `predict`: rows of raw X down a tree. Nodes keep raw thresholds, so nothing is
// encoded.
#pragma once

#include <cstdint>

#include "matrix.hpp"
#include "team.hpp"

namespace dics {

struct TreeView {
    const std::int32_t* feature;
    const float* threshold;
    const std::int32_t* left;
    const std::uint8_t* missing_left;
};

// leaf[i] = the node in which row i ends.
void find_leaves(const AnyMatrix& X, const TreeView& tree, Team& team,
                 std::int64_t* leaf);

}  // namespace dics
