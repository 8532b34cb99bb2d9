// Stage `boost`: Algorithm 4 of the paper (FastC-GBM).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "boost/row_draw.hpp"
#include "collective/sum.hpp"
#include "data/matrix.hpp"
#include "grow/grow.hpp"
#include "objective/objective.hpp"
#include "search/set_limits.hpp"
#include "team.hpp"

namespace dics {

struct BoostSettings {
    double learning_rate = 0.1;
    // Without reuse_splits, the first split of a round is gone for good.
    NodeLimits limits;
    std::int64_t max_features = 0;  // drawn for each round
    std::int64_t max_candidates = 0;  // drawn for each round from those; 0: all
    int sketch_outputs = 0;           // see OutputSketch
    RowDraw rows;
    bool leaves_of_sample = false;       // leaf values from the drawn rows alone
    double l2 = 0;                       // lambda
    double noise_shrinkage = 0;          // see LeafValues::find_steps
    double weight_unit = 1;              // what a weight of one has become
    double min_gain = 0;                 // gamma
    double min_sum_hessian = 0;          // of each side of a split
    std::vector<std::int8_t> monotonic;  // see Gradients
    // 1 for features whose codes are categories of a feature: splits are sets of them,
    // in the order of gradients over hessians plus `cat_smooth`. Empty: none.
    std::vector<std::int8_t> categorical;
    double cat_smooth = 0;
    double cat_l2 = 0;  // added to l2 for each category, where such a set is rated
    SetLimits set_limits;
    std::vector<std::vector<std::int32_t>> interactions;  // see Interactions
    // Rows drawn for a round, beyond which sums have 64 bits: with 32, the gradients of
    // so many can't have more than about ten.
    std::int64_t narrow_rows = std::int64_t{1} << 23;
    std::uint64_t seed = 0;
    std::int64_t first_round = 0;
    std::int64_t n_rounds = 0;
};

// Rows with codes, column by column: a round looks at some of the features, and its
// tree is applied to a block of rows column by column. `scores` are
// [n][Outputs::stride], -inf in the padding, and are kept up to date.
struct BoostRows {
    Codes codes;
    const std::uint32_t* labels;  // of classes; or
    const float* targets;         // [n][n_targets]
    int n_targets;
    const float* weights;  // null: ones
    float* scores;
};

// Called with the mean loss of the training rows and of each validation set, before the
// first round and after each; true ends it.
using AfterRound = std::function<bool(double, const std::vector<double>&)>;

struct Boosted {
    ForestArrays trees;
    bool is_lost = false;  // a peer is; the trees are those made before
};

// Splits that are gone are taken from `used` (numbers in
// the dictionary) and added to it.
Boosted boost(const Dictionary& dictionary, const BoostRows& training,
              const std::vector<BoostRows>& validation, const Objective& objective,
              const BoostSettings& settings, std::vector<std::int64_t>& used,
              const AfterRound& after_round, const Sum& sum, Team& team);

}  // namespace dics
