// Stage `predict`: rows of raw X down the trees. Nodes keep raw thresholds, so nothing
// is encoded.
#pragma once

#include <cstdint>

#include "data/matrix.hpp"
#include "grow/grow.hpp"
#include "team.hpp"

namespace dics {

struct TreeView {
    const Node* nodes;
    const std::uint8_t* missing_left;
};

// Trees one behind the other; see ForestArrays.
struct ForestView {
    TreeView all;
    const std::int64_t* node_starts;
    const std::int64_t* leaf_starts;
    const float* leaf_values;
    std::int64_t n_trees;
    int n_classes;

    TreeView tree(std::int64_t t) const {
        return {all.nodes + node_starts[t], all.missing_left + node_starts[t]};
    }
};

// leaf[i * n_trees + t] = the node of tree t in which row i ends.
void find_leaves(const AnyMatrix& X, const ForestView& forest, Team& team,
                 std::int64_t* leaf);

// votes[i * n_classes + c] += the share of class c in row i's leaf, for each tree in
// turn; or (hard) one for the class that has the largest. `rows` are those to look at,
// null for all.
void vote(const AnyMatrix& X, const ForestView& forest, const std::uint32_t* rows,
          std::int64_t n_rows, bool hard, Team& team, double* votes);

// scores[i * n_classes + c] += the value of row i's leaf, for each tree in turn and in
// single precision: exactly what boosting did to the rows it was trained on.
void add_scores(const AnyMatrix& X, const ForestView& forest, Team& team,
                float* scores);

}  // namespace dics
