// Stage `boost`: Algorithm 4 of the paper (FastC-GBM).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "boost/row_draw.hpp"
#include "data/matrix.hpp"
#include "grow/grow.hpp"
#include "kernels/boost_kernels.hpp"
#include "team.hpp"

namespace dics {

struct BoostSettings {
    int n_classes;
    double learning_rate;
    NodeLimits limits;            // with reuse_splits false, the first split of a
                                  // round is gone for good
    std::int64_t max_features;    // drawn for each round
    std::int64_t max_candidates;  // drawn for each round from those; 0: all
    RowDraw rows;
    bool leaves_of_sample;  // leaf values from the drawn rows alone
    double l2;              // lambda
    double min_gain;        // gamma
    std::uint64_t seed;
    std::int64_t first_round;
    std::int64_t n_rounds;
};

// Rows with codes, column by column: a round looks at some of the features, and its
// tree is applied to a block of rows column by column. `scores` are
// [n][Outputs::stride], -inf in the padding, and are kept up to date.
struct BoostRows {
    Codes codes;
    const std::uint32_t* labels;
    const float* weights;  // null: ones
    float* scores;
};

struct BoostedTrees {
    TreeArrays trees;
    std::vector<float> gains;  // of each node's split
    std::vector<std::int64_t> node_starts{0}, leaf_starts{0};
};

// Told the mean loss of the training and the validation rows, before the first round
// and after each; true ends it.
using AfterRound = std::function<bool(double, double)>;

// `validation` may have no rows. Splits that are gone are taken from `used` (numbers in
// the dictionary) and added to it.
BoostedTrees boost(const Dictionary& dictionary, const BoostRows& training,
                   const BoostRows& validation, const BoostSettings& settings,
                   std::vector<std::int64_t>& used, const AfterRound& after_round,
                   Team& team);

}  // namespace dics
