// Stage `grow` for forests: Algorithm 3 of the paper (CGRF).
#pragma once

#include <atomic>

#include "grow/grow.hpp"

namespace dics {

enum class FeatureSampling {
    none,  // every node sees all features; codes in blocks, as for one tree
    tree,  // drawn once per tree, the paper's; codes column-major
    node,  // drawn anew at each node, as in RandomForest; codes row-major
};

struct ForestSettings {
    GrowSettings tree;                 // its seed is the forest's
    std::int64_t first_tree, n_trees;  // tree numbers, for a forest that is grown on
    FeatureSampling sampling;
    std::int64_t max_features;
    std::int64_t n_draws;    // rows drawn with replacement; 0: every tree gets all
    bool balance_each_tree;  // classes of each bootstrap sample weigh the same
};

struct ForestArrays {
    // One behind the other; node and leaf numbers count from each tree's beginning.
    TreeArrays trees;
    std::vector<std::int64_t> node_starts, leaf_starts;  // [n_trees + 1]
};

// How often tree number `tree` drew each row: with replacement, by chances that are
// equal or (`cumulative`, a running sum) proportional to the weights of the rows.
void bootstrap(std::uint64_t seed, std::int64_t tree, std::int64_t n_draws,
               const double* cumulative, std::int64_t n_rows, std::uint32_t* counts);

// Features that have a threshold, in the order that FeatureDraw wants: as they are if
// they are few, otherwise shuffled.
std::vector<std::int32_t> forest_order(const Dictionary& dictionary,
                                       std::uint64_t seed);

// Trees are grown side by side, a thread each. `done` counts them.
// Without a bootstrap every tree is grown from `sample`; with one, only its labels are
// used, and its weights (null for equal ones) are the chances of the rows to be drawn.
template <class Count>
ForestArrays grow_forest(const Codes& codes, const Dictionary& dictionary,
                         const Sample<Count>& sample, const ForestSettings& settings,
                         Team& team, std::atomic<std::int64_t>& done);

}  // namespace dics
