// Stage `grow`: Algorithm 2 of the paper (CGCT).
#pragma once

#include <cstdint>
#include <vector>

#include "data/matrix.hpp"
#include "target/criterion.hpp"
#include "team.hpp"

namespace dics {

struct GrowSettings {
    Criterion criterion;
    int n_classes;
    std::int64_t max_depth;
    std::int64_t min_samples_split;
    std::int64_t min_samples_leaf;
    double min_weight_fraction_leaf;
    double min_impurity_decrease;
    std::int64_t max_candidates;  // 0: the whole dictionary
    bool reuse_splits;            // false: a used split is gone for the whole tree
    bool renew_thresholds;        // see renewal.hpp
    std::int64_t renew_rows;      // rows at most looked at for new thresholds
    std::uint64_t seed;
};

// Training rows. `counts` are the weights the splits are chosen by (whole numbers, null
// for ones); `weights` are the caller's own, for the values of the leaves.
template <class Count>
struct Sample {
    const std::uint32_t* labels;
    const Count* counts;
    const double* weights;
    std::int64_t n_rows;
};

// What a row on its way down needs to know of a node stands together, a quarter of a
// cache line. trees.py has the same as a dtype.
struct Node {
    std::int32_t feature;  // -1: leaf
    float threshold;
    // The left child. For a leaf: its row in leaf_values, or ~c if all rows have class
    // c.
    std::int32_t left;
    std::int32_t n_samples;
};
static_assert(sizeof(Node) == 16);

// The fitted tree: breadth-first, the children of a node side by side.
struct TreeArrays {
    std::vector<Node> nodes;
    std::vector<std::uint8_t> missing_left;
    std::vector<float> weight;
    std::vector<float> leaf_values;  // [leaves of several classes][n_classes], shares
};

// Whole dictionary: from codes (see encode.hpp); X only for thresholds made anew.
// Otherwise straight from X.
template <class Count>
TreeArrays grow_from_codes(const AnyMatrix& X, const Codes& codes,
                           const Dictionary& dictionary, const Sample<Count>& sample,
                           const GrowSettings& settings, Team& team);
template <class Count>
TreeArrays grow_from_values(const AnyMatrix& X, const Dictionary& dictionary,
                            const Sample<Count>& sample, const GrowSettings& settings,
                            Team& team);

}  // namespace dics
