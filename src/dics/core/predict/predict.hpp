// Stage `predict`: rows of raw X down the trees; sparse ones are spread out, a few at a
// time. Nodes keep raw thresholds; small trees
// of boosting are asked about the codes of these, made anew in each call.
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
    // Of trees that split categories: the set of codes that go left of each node, -1
    // for a threshold; null if there are none.
    const std::int32_t* set_numbers = nullptr;
    const CodeSet* sets = nullptr;

    const CodeSet* set_of(std::int32_t node) const {
        return set_numbers && set_numbers[node] >= 0 ? sets + set_numbers[node]
                                                     : nullptr;
    }
};

// Trees one behind the other; see ForestArrays.
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

// leaf[i * n_trees + t] = the node of tree t in which row i ends.
void find_leaves(const AnyRows& X, const ForestView& forest, Team& team,
                 std::int64_t* leaf);

// votes[i * width + c] += the share of class c in row i's leaf, for each tree in turn;
// or (hard) one for the class that has the largest. `rows` are those to look at, null
// for all.
void vote(const AnyRows& X, const ForestView& forest, const LeafTable<float>& leaves,
          const std::uint32_t* rows, std::int64_t n_rows, bool hard, Team& team,
          double* votes);

// sums[i * width + c] += the value of row i's leaf, for each tree in turn. In single
// precision: exactly what boosting did to the rows it was trained on.
template <class T>
void add_values(const AnyRows& X, const ForestView& forest, const LeafTable<T>& leaves,
                const std::uint32_t* rows, std::int64_t n_rows, Team& team, T* sums);

}  // namespace dics
