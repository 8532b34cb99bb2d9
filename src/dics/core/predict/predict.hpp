// Stage `predict`: walks raw rows down the trees, sparse rows in small dense blocks.
// For small trees of boosting, each call encodes the rows with the thresholds of the
// trees.
#pragma once

#include <cstdint>

#include "data/code_set.hpp"
#include "data/row_source.hpp"
#include "grow/grow.hpp"
#include "team.hpp"

namespace dics {

struct TreeView {
    const Node* nodes;
    const std::uint8_t* missing_left;
    // For each node, the index of the set of codes that go left, or -1 for a threshold.
    // Null without sets.
    const std::int32_t* set_numbers = nullptr;
    const CodeSet* sets = nullptr;

    const CodeSet* set_of(std::int64_t node) const {
        return set_numbers && set_numbers[node] >= 0 ? sets + set_numbers[node]
                                                     : nullptr;
    }
};

// Concatenated trees, see ForestArrays.
struct ForestView {
    TreeView all;
    const std::int64_t* node_starts;
    const std::int64_t* leaf_starts;
    std::int64_t n_trees;

    TreeView tree(std::int64_t t) const {
        return {all.nodes + node_starts[t], all.missing_left + node_starts[t],
                all.set_numbers ? all.set_numbers + node_starts[t] : nullptr, all.sets};
    }
};

// Values of the leaves of all trees, [leaf][width].
template <class T>
struct LeafTable {
    const T* values;
    int width;

    const T* of_tree(const ForestView& forest, std::int64_t t) const {
        return values + forest.leaf_starts[t] * width;
    }
};

// The lengths of the arrays of trees, and the width of their rows.
struct TreesShape {
    std::int64_t n_nodes, n_leaves, n_sets;
    std::int64_t n_features;
    int n_classes;  // that a leaf may have as its only one; 0: leaves have values
};

// Throws std::invalid_argument unless all indices are valid. The other functions trust
// the trees.
void check_trees(const ForestView& forest, const TreesShape& shape);

// leaf[i * n_trees + t] = the node of tree t in which row i ends.
void find_leaves(const AnyRows& X, const ForestView& forest, Team& team,
                 std::int64_t* leaf);

// votes[i * width + c] += the fraction of class c in the leaf of row i, for each tree
// in turn; with `hard`, 1 for the most frequent class. `rows` are the rows to use;
// null: all.
void vote(const AnyRows& X, const ForestView& forest, const LeafTable<float>& leaves,
          const std::uint32_t* rows, std::int64_t n_rows, bool hard, Team& team,
          double* votes);

// sums[i * width + c] += the value of the leaf of row i, for each tree in turn. With
// float, the sums are bit-identical to the scores of the training rows in boosting.
template <class T>
void add_values(const AnyRows& X, const ForestView& forest, const LeafTable<T>& leaves,
                const std::uint32_t* rows, std::int64_t n_rows, Team& team, T* sums);

// The training weight of every node, and the place of the values of every leaf.
struct ContributionView {
    ForestView forest;
    const float* weight;
    const std::int64_t* leaf_row;
    LeafTable<double> leaves;
};

// out[(i * (n_features + 1) + f) * width + c] += the contribution of feature f to
// output c of row i. The last one, f = n_features, is the prediction without any
// feature.
void add_contributions(const AnyRows& X, const ContributionView& trees, Team& team,
                       double* out);

}  // namespace dics
