// The vector kernels of stage `boost`, built as in kernels.hpp.
//
// The objective determines the number of outputs. Rows of scores and gradients are
// padded to complete registers (Outputs::stride).
#pragma once

#include <bit>
#include <cstdint>

#include "data/split_side.hpp"
#include "search/cut.hpp"

namespace dics {

// Floats in a register.
inline constexpr int kLanes = 8;

struct Outputs {
    int n;
    int n_hessians;  // 1 if all outputs have the same
    int stride;      // floats per row of scores
    int cells;       // of a histogram bin, 32 bits each: gradients, hessians, rows

    explicit Outputs(int n_outputs, bool shares_hessian = false)
        : n(n_outputs),
          n_hessians(shares_hessian ? 1 : n),
          stride(n == 1 ? 1 : (n + kLanes - 1) / kLanes * kLanes),
          cells(n == 1 ? 4 : (n + n_hessians + 1 + kLanes - 1) / kLanes * kLanes) {}

    int hessian_at(int output) const { return n + (n_hessians == 1 ? 0 : output); }
    int rows_at() const { return n + n_hessians; }
};

// Adds the step of the leaf to the scores of each row, and computes gradients.
struct GradientArgs {
    int part;                    // 0: the training rows; 1, 2, ...: the validation sets
    const float* steps;          // [leaf][stride]; null: no steps
    const std::uint32_t* leaf;   // of each row
    const std::uint32_t* label;  // of each row; or
    const float* target;         // [row][n_targets]
    const float* parameters;     // of the loss, for each output
    const float* weight;         // null: 1
    std::int64_t n_rows;
    int n_outputs, stride, n_targets;
    float* scores;
    float* gradients;  // null: only the loss
    float* hessians;   // null: computed from the gradients, or 1
    // Weight times the length of the gradient, or the largest hessian if that is larger
    // and hessians are not 1.
    float* norms;
};

// Integers of the sampled rows for the histograms: g and h times the factor of the row.
struct QuantizeArgs {
    const float* gradients;
    const float* hessians;      // null: see GradientArgs
    const std::uint32_t* rows;  // sampled
    const float* factors;       // of each sampled row; null: 1
    float factor;               // of all rows, multiplied by it
    float hessian_factor;       // of all hessians, multiplied by it
    std::int64_t n_rows;
    int n_outputs, n_hessians, stride, cells;
    std::int16_t* out;     // [sampled row][cells]
    std::int32_t* totals;  // [cells]: the sums are added
};

// The sum with a number below 2^51 has the nearest integer in its low bits.
inline constexpr double kFixer = 6755399441055744.0;  // 1.5 * 2^52
inline constexpr std::uint64_t kFixerBits = std::bit_cast<std::uint64_t>(kFixer);

// Integer sums over the rows of each leaf (see FixedPoint), which do not depend on the
// order of the rows.
struct LeafSumArgs {
    const float* gradients;
    const float* hessians;  // null: see GradientArgs
    const std::uint32_t* leaf;
    const std::uint32_t* label;  // group of the weight; null: the first
    const std::uint32_t* rows;   // null: all
    const float* weight;         // of each row; null: 1
    std::int64_t n_rows;
    int n_outputs, stride, n_groups;
    double gradient_scale, hessian_scale, weight_scale;
    // [leaf][width]: g and h (one stride each, plus kFixerBits per row), weights of the
    // groups, number of rows.
    std::uint64_t* sums;
    std::int64_t width;
};

// A sum of weights times losses that does not depend on the order of the rows: integers
// plus multiples of 2^-40. Losses are clipped at 2^32, in units of the spread of the
// target. The fractions of 2^24 rows always fit into 63 bits.
struct LossSum {
    static constexpr double kParts = 0x1p40, kLargest = 0x1p32;

    std::int64_t whole = 0, parts = 0;
};

struct ObjectiveKernels {
    // Returns the sum of weight times loss.
    LossSum (*update_gradients)(const GradientArgs&);
    void (*quantize)(const QuantizeArgs&);
    void (*add_leaf_sums)(const LeafSumArgs&);
};

struct ObjectiveTable {
    ObjectiveKernels two_class_log_loss, many_class_log_loss, quantile, custom;
    ObjectiveKernels regression[6];  // by RegressionLoss
};

const ObjectiveTable& objective_kernels();

// Random projections of the gradients, see OutputSketch.
struct SketchArgs {
    const float* gradients;      // [row][stride]
    const std::uint32_t* rows;   // sampled; null: all
    const float* weights;        // of all rows; null: 1
    const float* signs;          // [output][sketch_stride]
    std::int64_t first, n_rows;  // of the sampled rows
    int n_outputs, stride, sketch_stride;
    float* out;    // [row][sketch_stride]
    float* norms;  // of each row: weight times the length of its projections
};

// Histograms of up to kFillFeatures features over the rows of a node.
inline constexpr int kFillFeatures = 32;

struct FillArgs {
    const std::uint8_t* codes;  // of the first feature; the others follow
    std::int64_t stride;        // bytes per row of codes
    const std::uint32_t* rows;  // of codes, for each place; null: the place itself
    std::int32_t* hist[kFillFeatures];  // [bin][cells]
    int n_features;
    const std::uint32_t* places;  // of the rows of the node among the sampled rows
    const std::int16_t* values;   // [place][cells]
    std::int64_t n_rows;
    int cells;
};

// Histograms of features with sparse codes.
struct SparseFillArgs {
    const std::uint64_t* starts;   // of the entries of each row
    const std::uint32_t* entries;  // feature << 8 | code
    const std::int64_t* offsets;   // of the histogram of each feature in `hist`
    const std::uint32_t* rows;     // for each place; null: the place itself
    const std::uint32_t* places;   // of the rows of the node among the sampled rows
    const std::int16_t* values;    // [place][cells]
    std::int64_t n_rows;
    int cells;
    std::int32_t* hist;   // unused features share the offset of a dummy
    std::int32_t* total;  // [cells], of all rows
};

// The best split of one feature from its histogram.
struct GainArgs {
    const std::int32_t* hist;   // [n_thresholds + 2][cells]; the last bin is NaN
    const std::int32_t* total;  // [cells] of the node, plus one register of padding
    int n_thresholds;
    const std::int32_t* candidates;  // sorted; null: all thresholds
    int n_candidates;
    int n_outputs, n_hessians, cells;
    float l2;  // in the units of the histogram
    // Minimum of each side; hessians of all outputs, in the units of the histogram.
    std::int32_t min_rows;
    float min_hessian;
    // With bounds (for one output): the bounds of the values of the sides, and whether
    // they must increase (1) or decrease (-1) from left to right.
    bool is_bounded;
    float lower, upper;
    int direction;
    // max(3 * (kMaxThresholds + 1 + kLanes), 2 * (cells + kLanes)) floats.
    float* scratch;
};

// The test of a node, which removes its left leaves from rows that go right. Leaves are
// bits, from left to right; the leaf of a row is the lowest remaining bit (QuickScorer,
// Lucchese et al. 2015). So the tests of a row do not depend on each other.
struct NodeTest {
    std::int32_t feature;
    CodeTest test;
    std::uint64_t right;  // leaves that remain for a row that goes right
};

inline constexpr int kMaxMaskLeaves = 64;

struct FindLeavesArgs {
    const std::uint8_t* const* column;  // of each test, at the first row
    const NodeTest* tests;
    int n_tests;
    int n_leaves;
    const std::uint32_t* number;  // index of each leaf, from left to right
    std::int64_t n_rows;
    std::uint32_t* leaf;
};

struct BoostKernels {
    void (*find_leaves)(const FindLeavesArgs&);
    void (*sketch)(const SketchArgs&);
    void (*fill)(const FillArgs&);
    void (*fill_sparse)(const SparseFillArgs&);
    Cut (*best_cut)(const GainArgs&);
};

const BoostKernels& boost_kernels();

}  // namespace dics
