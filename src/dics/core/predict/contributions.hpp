// Contributions of the features to the predictions of trees.
#pragma once

#include <cstdint>

#include "data/matrix.hpp"
#include "predict/predict.hpp"
#include "team.hpp"

namespace dics {

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
