// Stage `boost`: Algorithm 4 of the paper (FastC-GBM).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "boost/row_sampler.hpp"
#include "collective/sum.hpp"
#include "data/matrix.hpp"
#include "grow/grow.hpp"
#include "objective/objective.hpp"
#include "predict/predict.hpp"
#include "search/categories.hpp"
#include "team.hpp"

namespace dics {

struct BoostSettings {
    double learning_rate = 0.1;  // of the first round, see AfterRound
    // Without reuse_splits, later rounds cannot use the first split of a round.
    NodeLimits limits;
    std::int64_t max_features = 0;    // sampled for each round
    std::int64_t max_candidates = 0;  // sampled from these features; 0: all
    int sketch_outputs = 0;           // see OutputSketch
    RowDraw rows;
    bool leaves_of_sample = false;       // leaf values from the sampled rows only
    double l2 = 0;                       // lambda
    double noise_shrinkage = 0;          // see LeafValues::find_steps
    double weight_unit = 1;              // scaled value of a sample weight of 1
    double min_gain = 0;                 // gamma
    double min_child_weight = 0;         // sum of hessians of each side of a split
    std::vector<std::int8_t> monotonic;  // see CellTarget
    // Nodes order categories by gradients / (hessians + smooth).
    CategorySettings categories;
    double category_l2 = 0;  // added to l2 per category in the score of a set
    std::vector<std::vector<std::int32_t>> interactions;  // see Interactions
    // Sums have 64 bits if a round samples more rows: with 32 bits, each of their
    // gradients would have at most about ten.
    std::int64_t narrow_rows = std::int64_t{1} << 23;
    std::uint64_t seed = 0;
    std::int64_t first_round = 0;
    std::int64_t n_rounds = 0;
};

// Rows with column-major codes, because a round reads only some of the features. The
// rounds update `scores`, [n][Outputs::stride] with -inf in the padding.
struct BoostRows {
    Codes codes;
    const std::uint32_t* labels;  // in classification; or
    const float* targets;         // [n][n_targets]
    int n_targets;
    const float* weights;  // null: ones
    float* scores;
};

// Called before the first round and after each round, with the mean losses of the
// training rows and of each validation set. Returns the learning rate of the next
// round, or 0 to stop.
using AfterRound = std::function<double(double, const std::vector<double>&)>;

struct Boosted {
    ForestArrays trees;
    bool is_lost = false;  // a process was lost; the trees are the finished ones
};

// `used` has the indices of thresholds that rounds cannot use again; rounds add theirs.
// If `repeated` is given, each round takes the splits of one of its trees, and computes
// only leaf values. The gains of these splits are 0.
Boosted boost(const Dictionary& dictionary, const BoostRows& training,
              const std::vector<BoostRows>& validation, const Objective& objective,
              const BoostSettings& settings, const std::optional<ForestView>& repeated,
              std::vector<std::int64_t>& used, const AfterRound& after_round,
              const Sum& sum, Team& team);

}  // namespace dics
