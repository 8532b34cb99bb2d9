// Stage `grow` for forests: Algorithm 3 of the paper (CGRF).
#pragma once

#include <atomic>
#include <vector>

#include "grow/grow.hpp"

namespace dics {

enum class FeatureSampling {
    none,  // every node sees all features; codes in blocks, as for one tree
    tree,  // drawn once per tree, the paper's; codes column-major
    node,  // drawn anew at each node, as in RandomForest; codes row-major
};

struct ForestSettings {
    GrowSettings tree;                         // its seed is the forest's
    std::int64_t first_tree = 0, n_trees = 0;  // tree numbers, for a warm start
    FeatureSampling sampling = FeatureSampling::none;
    std::int64_t max_features = 0;
    std::int64_t n_draws = 0;  // rows drawn with replacement; 0: every tree gets all
    bool balance_each_tree = false;  // classes of each bootstrap sample weigh the same
};

// How often tree number `tree` drew each row: with replacement, by chances that are
// equal or (`cumulative`, a running sum) proportional to the weights of the rows.
void bootstrap(std::uint64_t seed, std::int64_t tree, std::int64_t n_draws,
               const double* cumulative, std::int64_t n_rows, Team& alone,
               std::uint32_t* counts);

// Features that have a threshold, in the order that FeatureDraw wants: as they are if
// they are few, otherwise shuffled.
std::vector<std::int32_t> forest_order(const Dictionary& dictionary,
                                       std::uint64_t seed);

// Features whose codes stand side by side, as the draw of features wants them: one,
// where columns are copied out; whole rows, in whole cache lines if they are long; or
// (all features) blocks, as for one tree.
int forest_code_width(FeatureSampling sampling, std::int64_t n_features);

// Trees are grown side by side, a thread each. `done` counts them.
// Without a bootstrap every tree is grown from `sample`; with one, only its labels are
// used, and its weights (null for equal ones) are the chances of the rows to be drawn.
// Where only some of the rows are here, `drawn` [tree][row] says how often each tree
// drew them; otherwise it is null.
template <class Count>
ForestArrays grow_forest(const Codes& codes, const Dictionary& dictionary,
                         const Sample<Count>& sample, const std::uint32_t* drawn,
                         const ForestSettings& settings, Team& team,
                         std::atomic<std::int64_t>& done);
// The same of a continuous target.
ForestArrays grow_forest(const Codes& codes, const Dictionary& dictionary,
                         const TargetColumns& columns, const std::uint32_t* drawn,
                         const ForestSettings& settings, Team& team,
                         std::atomic<std::int64_t>& done);

// The scale of all rows that trees draw from, for `GrowSettings::scale`.
MomentScale scale_of(const TargetColumns& columns, const ForestSettings& settings);

}  // namespace dics
