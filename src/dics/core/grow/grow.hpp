// Stage `grow`: trees and forests, Algorithms 2 and 3 of the paper (CGCT, CGRF).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/row_source.hpp"
#include "grow/node.hpp"
#include "search/split_chooser.hpp"
#include "target/class_counts.hpp"
#include "target/moment_rows.hpp"
#include "team.hpp"

namespace dics {

struct GrowSettings {
    Criterion criterion = Criterion::gini;
    int n_classes = 0;
    NodeLimits limits;
    double min_weight_fraction_leaf = 0;
    double min_impurity_decrease = 0;
    Splitter splitter = Splitter::best;
    std::int64_t max_candidates = 0;  // 0: the whole dictionary
    bool renew_thresholds = false;    // see renewal.hpp
    std::int64_t renew_rows = 0;      // rows at most looked at for new thresholds
    // For regression:
    bool keeps_leaf_rows = false;        // for quantiles
    std::vector<std::int8_t> monotonic;  // see Moments
    // The scale of all training rows, if only those that the trees sampled are here.
    std::optional<MomentScale> scale;
    CategorySettings categories;
    std::uint64_t seed = 0;
};

inline SplitRules split_rules(const Dictionary& dictionary,
                              const GrowSettings& settings) {
    return {dictionary, settings.categories, settings.limits.min_samples_leaf,
            settings.max_candidates, settings.splitter};
}

// The part of a node that a row needs on its way down, a quarter of a cache line.
// trees.py has the same as a dtype.
struct Node {
    std::int32_t feature;  // -1: leaf
    // The left child. For a leaf: its row in leaf_values, or ~c if all rows have class
    // c.
    std::int32_t left;
    double threshold;
};
static_assert(sizeof(Node) == 16);

// The fitted tree: breadth-first, the children of a node side by side.
struct TreeArrays {
    std::vector<Node> nodes;
    std::vector<std::int32_t> n_samples;
    std::vector<std::uint8_t> missing_left;
    std::vector<float> weight;
    std::vector<double> impurity;  // of trees and forests
    std::vector<double> gain;      // for boosting: gain of the node's split
    // With categories: the set of codes that go left, for each node, -1 for
    // a threshold.
    std::vector<std::int32_t> set_numbers;
    std::vector<CodeSet> sets;
    std::vector<float> leaf_values;  // [leaves of several classes][n_classes], shares
    // For regression: [leaf][output]; if they are kept, the rows of each leaf in turn,
    // as often as they were sampled, and their number.
    std::vector<double> leaf_means;
    std::vector<std::uint32_t> leaf_rows, leaf_row_counts;

    // Adds the set of the next node; null: it has none.
    void add_set(const CodeSet* set) {
        set_numbers.push_back(set ? static_cast<std::int32_t>(sets.size()) : -1);
        if (set)
            sets.push_back(*set);
    }
};

// Trees one behind the other; node and leaf numbers count from each tree's beginning.
struct ForestArrays {
    TreeArrays trees;
    std::vector<std::int64_t> node_starts{0}, leaf_starts{0};  // [n_trees + 1]

    // Ends a tree of all nodes since the last call, with `width` values per leaf.
    void end_tree(int width) {
        node_starts.push_back(trees.nodes.size());
        leaf_starts.push_back(static_cast<std::int64_t>(trees.leaf_values.size() +
                                                        trees.leaf_means.size()) /
                              width);
    }
};

enum class FeatureSampling {
    none,  // every node sees all features; codes in blocks, as for one tree
    tree,  // sampled once per tree, the paper's; codes column-major
    node,  // sampled at each node, as in RandomForest; codes row-major
};

struct ForestSettings {
    GrowSettings tree;                         // its seed is the forest's
    std::int64_t first_tree = 0, n_trees = 0;  // tree numbers, for a warm start
    FeatureSampling sampling = FeatureSampling::none;
    std::int64_t max_features = 0;
    std::int64_t sample_size = 0;    // rows sampled with replacement; 0: all rows
    bool balance_each_tree = false;  // classes of each bootstrap sample weigh the same
};

// How often tree number `tree` sampled each row: with replacement, with probabilities
// that are equal or (`cumulative`, a running sum) proportional to the weights of the
// rows.
void bootstrap(std::uint64_t seed, std::int64_t tree, std::int64_t sample_size,
               const double* cumulative, std::int64_t n_rows, std::uint32_t* counts);

// Features that have a threshold, in the order that FeatureSampler wants: as they are
// if they are few, otherwise shuffled.
std::vector<std::int32_t> forest_order(const Dictionary& dictionary,
                                       std::uint64_t seed);

// Features whose codes stand side by side, as the sampling of features needs them: one,
// where columns are copied out; whole rows, in whole cache lines if they are long; or
// (all features) blocks, as for one tree.
int forest_code_width(FeatureSampling sampling, std::int64_t n_features);

// Grows trees side by side, a thread each, or a single tree by all threads. `done`
// counts them. Codes come from encode.hpp; X (may be null) is only read for renewed
// thresholds, or without codes, for few candidates of a classification tree.
//
// Without a bootstrap every tree is grown from `sample`; with one, only its labels are
// used, and its weights (null for equal ones) are the probabilities of the rows. If
// only some of the rows are here, `sampled` [tree][row] is the number of times that
// each tree sampled them; otherwise it is null.
template <class Count>
ForestArrays grow(const AnyRows* X, const Codes& codes, const Dictionary& dictionary,
                  const Sample<Count>& sample, const std::uint32_t* sampled,
                  const ForestSettings& settings, Team& team,
                  std::atomic<std::int64_t>& done);
// The same for a continuous target.
ForestArrays grow(const AnyRows* X, const Codes& codes, const Dictionary& dictionary,
                  const TargetColumns& columns, const std::uint32_t* sampled,
                  const ForestSettings& settings, Team& team,
                  std::atomic<std::int64_t>& done);

// The scale of all rows, from which trees sample, for `GrowSettings::scale`.
MomentScale scale_of(const TargetColumns& columns, const ForestSettings& settings);

}  // namespace dics
