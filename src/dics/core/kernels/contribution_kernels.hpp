// What a leaf contributes to the prediction of rows, by feature: exact Shapley values
// of a tree whose rows that lack a feature go both ways (path-dependent TreeSHAP).
//
// A leaf is reached if each feature of its path lies within bounds. Of d features, o_i
// says whether that of number i does (1 or 0), and z_i is the share of the training
// rows that go on where it is not known. The leaf's value counts, for a set S of known
// features, with the product of o over S and of z over the others; the coefficients of
//
//     P(y) = prod_i (z_i + o_i y) = sum_s p_s y^s
//
// add these up over all sets of s features. Without the factor of number i they are
// c_s, and its Shapley value is (o_i - z_i) sum_s c_s s! (d - 1 - s)! / d!.
#pragma once

#include <cstdint>

#include "data/code_set.hpp"

namespace dics {

inline constexpr int kContributionRows = 8;  // looked at together

// A feature of a leaf's path: where its value must lie, and the share z.
struct PathBounds {
    std::int32_t feature;
    std::int32_t missing_inside;  // whether NaN does
    double lower, upper;          // lower <= x <= upper; NaN as upper: nothing does
    double share;
    std::int32_t set = -1;  // of categories: a set that it must lie in as well
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
