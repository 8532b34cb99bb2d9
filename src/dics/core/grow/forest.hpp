// Stage `grow` for forests: Algorithm 3 of the paper (CGRF).
#pragma once

#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "grow/grow.hpp"
#include "random.hpp"

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
    // Of classes, features drawn for each node: from all of them, and one cut of each.
    // For many features, most codes of which are the same.
    bool draws_cuts = false;
};

// Of the random draws of a tree.
std::uint64_t tree_key(std::uint64_t seed, std::int64_t tree);

// Those that a tree draws once, rising.
inline std::vector<std::int64_t> features_of_tree(std::uint64_t key,
                                                  std::int64_t n_features,
                                                  std::int64_t max_features) {
    return sample_without_replacement(combine(key, 5), n_features, max_features);
}
// What is to be known of them alone.
inline GrowSettings restricted(GrowSettings settings,
                               const std::vector<std::int64_t>& features) {
    if (features.empty())
        return settings;
    if (!settings.monotonic.empty()) {
        std::vector<std::int8_t> own;
        for (const std::int64_t f : features)
            own.push_back(settings.monotonic[static_cast<std::size_t>(f)]);
        settings.monotonic = std::move(own);
    }
    settings.categories = settings.categories.of(features);
    return settings;
}

// How often tree number `tree` drew each row: with replacement, by chances that are
// equal or (`cumulative`, a running sum) proportional to the weights of the rows.
void bootstrap(std::uint64_t seed, std::int64_t tree, std::int64_t n_draws,
               const double* cumulative, std::int64_t n_rows, Team& alone,
               std::uint32_t* counts);

// Rows of which others have some: runs of them whose first numbers, rising, are
// `numbers`, and whose places here begin at `places`; the last of these is the end.
struct OwnRuns {
    std::span<const std::int64_t> numbers, places;
};
// How often it drew the rows that are here, of `n_rows` in all.
void bootstrap(std::uint64_t seed, std::int64_t tree, std::int64_t n_draws,
               const double* cumulative, std::int64_t n_rows, const OwnRuns& own,
               Team& alone, std::uint32_t* counts);

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
template <class Count>
ForestArrays grow_forest(const Codes& codes, const Dictionary& dictionary,
                         const Sample<Count>& sample, const ForestSettings& settings,
                         Team& team, std::atomic<std::int64_t>& done);
// The same of a continuous target. How often rows were drawn may be known: `drawn`, or
// null.
ForestArrays grow_forest(const Codes& codes, const Dictionary& dictionary,
                         const TargetColumns& columns, const std::uint32_t* drawn,
                         const ForestSettings& settings, Team& team,
                         std::atomic<std::int64_t>& done);

}  // namespace dics
