// What each feature contributes to the predictions of trees.
#pragma once

#include <cstdint>

#include "data/matrix.hpp"
#include "predict/predict.hpp"
#include "team.hpp"

namespace dics {

// Of every node: its weight in training, and of a leaf where its values are.
struct ContributionView {
    ForestView forest;
    const float* weight;
    const std::int64_t* leaf_row;
    LeafTable<double> leaves;
};

// out[(i * (n_features + 1) + f) * width + c] += what feature f contributes to output c
// of row i; the last one, f = n_features, is what trees predict without any feature.
void add_contributions(const AnyRows& X, const ContributionView& trees, Team& team,
                       double* out);

}  // namespace dics
