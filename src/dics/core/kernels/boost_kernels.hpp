// The vector kernels of stage `boost`; see kernels.hpp for how they are built.
//
// A model has as many outputs as its objective says. Rows of scores and gradients are
// padded to whole registers (Outputs::stride).
#pragma once

#include <bit>
#include <cstdint>

#include "data/split_side.hpp"
#include "grow/cut.hpp"

namespace dics {

// Floats in a register.
inline constexpr int kLanes = 8;

struct Outputs {
    int n;
    int n_hessians;  // one for all outputs where they are the same
    int stride;      // floats from one row of scores to the next
    int cells;       // 32-bit counters of a histogram's bin: gradients, hessians, rows

    explicit Outputs(int n_outputs, bool shares_hessian = false)
        : n(n_outputs),
          n_hessians(shares_hessian ? 1 : n),
          stride(n == 1 ? 1 : (n + kLanes - 1) / kLanes * kLanes),
          cells(n == 1 ? 4 : (n + n_hessians + 1 + kLanes - 1) / kLanes * kLanes) {}

    int hessian_at(int output) const { return n + (n_hessians == 1 ? 0 : output); }
    int rows_at() const { return n + n_hessians; }
};

// scores += steps of the row's leaf; then the gradients of the loss there.
struct GradientArgs {
    int part;                    // 0: the training rows; 1, 2, ...: the validation sets
    const float* steps;          // [leaf][stride]; null: nothing is added
    const std::uint32_t* leaf;   // of each row
    const std::uint32_t* label;  // of each row; or
    const float* target;         // [row][n_targets]
    const float* parameters;     // of the loss, for each output
    const float* weight;         // null: ones
    std::int64_t n_rows;
    int n_outputs, stride, n_targets;
    float* scores;
    float* gradients;  // null: only the loss is wanted
    float* hessians;   // null: they follow from the gradients, or are one
    // Weight times the length of the gradient, and no less than any of its hessians
    // unless those are one.
    float* norms;
};

// Whole numbers of the drawn rows for the histograms: g and h times the row's factor.
struct QuantizeArgs {
    const float* gradients;
    const float* hessians;      // null: see GradientArgs
    const std::uint32_t* rows;  // drawn
    const float* factors;       // of each drawn row; null: ones
    float factor;               // of all rows, in addition
    float hessian_factor;       // of all hessians, in addition
    std::int64_t n_rows;
    int n_outputs, n_hessians, stride, cells;
    std::int16_t* out;     // [drawn row][cells]
    std::int32_t* totals;  // [cells]: what is written is added to them
};

// Adding it to a number below 2^51 leaves the nearest whole number in the low bits.
inline constexpr double kFixer = 6755399441055744.0;  // 1.5 * 2^52
inline constexpr std::uint64_t kFixerBits = std::bit_cast<std::uint64_t>(kFixer);

// Sums over the rows of each leaf as whole numbers (see FixedPoint), so that rows may
// be added in any order.
struct LeafSumArgs {
    const float* gradients;
    const float* hessians;  // null: see GradientArgs
    const std::uint32_t* leaf;
    const std::uint32_t* label;  // in which group a row weighs; null: all in the first
    const std::uint32_t* rows;   // null: one after the other
    const float* weight;         // of each of them; null: ones
    std::int64_t n_rows;
    int n_outputs, stride, n_groups;
    double gradient_scale, hessian_scale, weight_scale;
    // [leaf][width]: g and h (a stride each, with kFixerBits in them for each row),
    // weights of the groups, number of rows.
    std::uint64_t* sums;
    std::int64_t width;
};

// A sum of weights times losses in whole numbers, so that rows may be added in any
// order: whole ones, and 2^-40 parts of one. Losses beyond 2^32, in units of the
// targets' spread, count as that. The parts of 2^24 rows may be all that 63 bits hold.
struct LossSum {
    static constexpr double kParts = 0x1p40, kLargest = 0x1p32;

    std::int64_t whole = 0, parts = 0;
};

// What an objective does to rows.
struct ObjectiveKernels {
    // Returns the sum of weight times loss.
    LossSum (*update_gradients)(const GradientArgs&);
    void (*quantize)(const QuantizeArgs&);
    void (*add_leaf_sums)(const LeafSumArgs&);
};

// One entry for each objective.
struct ObjectiveTable {
    ObjectiveKernels two_class_log_loss, many_class_log_loss;
    ObjectiveKernels squared, absolute, huber, quantile, poisson, gamma, custom;
};

const ObjectiveTable& objective_kernels();

// Sums of a row's gradients with signs: see OutputSketch.
struct SketchArgs {
    const float* gradients;      // [row][stride]
    const std::uint32_t* rows;   // drawn; null: all
    const float* weights;        // of all rows; null: ones
    const float* signs;          // [output][sketch_stride]
    std::int64_t first, n_rows;  // of those drawn
    int n_outputs, stride, sketch_stride;
    float* out;    // [row][sketch_stride]
    float* norms;  // of each row: weight times the length of its sums
};

// Histograms of up to kFillFeatures features over the rows of a node.
inline constexpr int kFillFeatures = 32;

struct FillArgs {
    const std::uint8_t* codes;  // of the first feature; the others follow
    std::int64_t stride;        // from one row of codes to the next
    const std::uint32_t* rows;  // of codes, for each place; null: the place itself
    std::int32_t* hist[kFillFeatures];  // [bin][cells]
    int n_features;
    const std::uint32_t* places;  // of the node's rows among those drawn
    const std::int16_t* values;   // [place][cells]
    std::int64_t n_rows;
    int cells;
};

// Histograms of features of which only some codes of a row are listed.
struct SparseFillArgs {
    const std::uint64_t* starts;   // of each row's entries
    const std::uint32_t* entries;  // feature << 8 | code
    const std::int64_t* offsets;   // of each feature's histogram; see `hist`
    const std::uint32_t* rows;     // for each place; null: the place itself
    const std::uint32_t* places;   // of the node's rows among those drawn
    const std::int16_t* values;    // [place][cells]
    std::int64_t n_rows;
    int cells;
    std::int32_t* hist;   // where a feature isn't looked at, its offset is of a dump
    std::int32_t* total;  // [cells]: of all rows
};

// The best cut of one feature by its histogram.
struct GainArgs {
    const std::int32_t* hist;   // [n_thresholds + 2][cells]; the last bin is NaN's
    const std::int32_t* total;  // [cells] of the node, and a register of padding
    int n_thresholds;
    const std::int32_t* candidates;  // rising; null: all thresholds
    int n_candidates;
    int n_outputs, n_hessians, cells;
    float l2;  // in the units of the histogram
    // What each side must have; hessians of all outputs, in the units of the histogram.
    std::int32_t min_rows;
    float min_hessian;
    // With bounds (of one output): those of the values of the sides, and whether they
    // must rise (1) or fall (-1) from left to right.
    bool is_bounded;
    float lower, upper;
    int direction;
    // 3 * (kMaxThresholds + 1 + kLanes) or 2 * (cells + kLanes) floats, what is more.
    float* scratch;
};

// Which rows a node keeps from its left leaves. Leaves are bits, from left to right; a
// row's leaf is the lowest bit that no node on the way took (QuickScorer, Lucchese et
// al. 2015): no row waits for where it is.
struct NodeTest {
    std::int32_t feature;
    CodeTest test;
    std::uint64_t right;  // leaves left to a row that goes right
};

inline constexpr int kMaxMaskLeaves = 64;

struct FindLeavesArgs {
    const std::uint8_t* const* column;  // of each test, at the first row
    const NodeTest* tests;
    int n_tests;
    int n_leaves;
    const std::uint32_t* number;  // of each leaf from left to right
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
