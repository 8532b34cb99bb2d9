// Contributions of the features to the value of a leaf: exact Shapley values of a tree
// in which rows without a feature go to both sides (path-dependent TreeSHAP).
//
// A row reaches a leaf if each of the d features of its path lies within bounds: o_i is
// 1 if feature i does, else 0. Without feature i, the fraction z_i of the training rows
// stays on the path. For a set S of known features, the factor of the leaf value is the
// product of o over S and of z over the others. The coefficients of
//
//     P(y) = prod_i (z_i + o_i y) = sum_s p_s y^s
//
// are the sums over all sets of s features. Without the factor of feature i they are
// c_s, and its Shapley value is (o_i - z_i) sum_s c_s s! (d - 1 - s)! / d!.
#pragma once

#include <cstdint>

#include "data/code_set.hpp"

namespace dics {

inline constexpr int kContributionRows = 8;  // per block

// A feature of the path to a leaf: bounds of its value, and the fraction z.
struct PathBounds {
    std::int32_t feature;
    std::int32_t missing_inside;  // whether NaN is inside
    double lower, upper;          // lower <= x <= upper; upper = NaN: nothing is inside
    double fraction;
    std::int32_t set = -1;  // of codes that must contain the value, too; -1: none
};

struct ContributionArgs {
    const PathBounds* path;
    const CodeSet* sets;
    int length;
    // weights[s] = s! (length - 1 - s)! / length!
    const double* weights;
    const double* values;  // of X, [feature][kContributionRows]
    const double* value;   // of the leaf, [width]
    int width;
    double* sums;               // [feature][width][kContributionRows], added to
    double *factors, *scratch;  // length, and 2 * (length + 1) times kContributionRows
};

struct ContributionKernels {
    void (*add_leaf)(const ContributionArgs&);
};

const ContributionKernels& contribution_kernels();

}  // namespace dics
