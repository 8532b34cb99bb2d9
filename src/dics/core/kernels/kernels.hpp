// The vector kernels. kernels.cpp is compiled once per instruction set, each time in
// its own namespace (the builds share no inline function), and one table is chosen at
// run time. No build uses fused multiply-add, and sums have a fixed order, so results
// are bit-identical on every CPU. The environment variable DICS_ISA=baseline selects
// the plain build.
#pragma once

#include <cstdint>

#include "search/cut.hpp"
#include "target/criterion.hpp"

namespace dics {

// Candidates per block: four AVX2 registers of counters.
inline constexpr int kCandidateBlock = 32;

inline constexpr int kEncodeRows = 64;

// The place of the value of row i for `encode`. A code is counted in a lane as wide as
// the value (4 or 8 bytes). Then the codes of 4 or 8 rows are shifted into one lane,
// which gives the order of the rows if the values have this order.
template <class T>
constexpr int encode_slot(int i) {
    constexpr int group = sizeof(T);
    constexpr int lanes = 32 / group;
    const int in_chunk = i % (group * lanes);
    return i - in_chunk + in_chunk % group * lanes + in_chunk / group;
}

template <class T, class Count>
struct CountBelowArgs {
    const T* data;
    std::int64_t row_stride;
    const std::int64_t* column;  // element offset of the column of each candidate
    const double* threshold;     // kCandidateBlock of each, padded with -inf
    const std::uint32_t* rows;
    const std::uint32_t* labels;
    const Count* weights;  // null: 1
    std::int64_t n_rows;
    int width;       // counters per candidate: classes, and rows if weighted
    Count* below;    // [width][kCandidateBlock], zeroed by the caller
    Count* missing;  // the same for NaN
};

template <class Count>
struct ScanArgs {
    const Count* hist;  // [bin][width]; the last bin counts NaN
    CodeReading reading;
    int width;  // n_classes, or n_classes + 1 when a row count follows the weights
    int n_classes;
    const Count* total;  // [n_classes] of the node
    typename Wide<Count>::type total_sum;
    Count total_weight;
    std::int64_t n_rows;
    std::int64_t min_leaf;  // rows each side must have
    Count min_weight;       // and weight
    Count* left;            // scratch, [n_classes]
};

// Features per group in a histogram with one lane per feature.
inline constexpr int kLaneGroup = 8;

// Largest weight of a node whose squares fit into a counter; 32-bit counters are used
// as signed integers.
template <class Counter>
inline constexpr std::uint32_t kBoundedWeight = sizeof(Counter) == 2 ? 255 : 46340;

template <class Counter>
struct BoundArgs {
    const Counter* hist;  // [slice][bin][lane], see HistogramShape
    std::int64_t slice;   // size of a slice
    int n_lanes;
    int n_features;
    const int* n_thresholds;  // of each feature
    const int* present;       // classes that occur in the node
    int n_present;
    const Counter* total;  // [n_present] of the node
    Counter total_sum;
    Counter total_weight;
    Counter min_weight;  // at least 1
    void* scratch;       // [n_present] registers, aligned
};

// Location and scale of each feature for `prepare`.
template <class V>
struct Scaling {
    const V *low, *high, *mean, *factor;
};
template <class T>
struct Compared {  // the type in which a value is compared and scaled
    using type = T;
};
template <>
struct Compared<std::uint8_t> {
    using type = float;
};

// Running sums of the finite values of each feature.
struct MomentArrays {
    double *low, *high, *sum, *square_sum, *count;
};

// Kernels that read rows of X, one set per element type. `step` is the stride of the
// values of a row.
template <class T>
struct RowKernels {
    // x -> (x - mean) * factor as float, with infinities as the extremes of the sample;
    // NaN and constant features (factor 0) become 0.
    void (*prepare)(const T* x, std::int64_t step, std::int64_t n,
                    const Scaling<typename Compared<T>::type>& scaling, float* out);
    void (*add_moments)(const T* x, std::int64_t step, std::int64_t n,
                        const MomentArrays& sums);
};

struct Kernels {
    // Codes of kEncodeRows values of one feature, which have the order of
    // encode_slot(). The codes have the order of the rows.
    void (*encode_float)(const float* x, const float* tau, int n_tau,
                         std::uint8_t* codes);
    void (*encode_double)(const double* x, const double* tau, int n_tau,
                          std::uint8_t* codes);
    // Transposes a square of bytes: out[i][j] = in[j][i].
    void (*transpose_codes)(const std::uint8_t* in, std::uint8_t* out);

    void (*count_float_32)(const CountBelowArgs<float, std::uint32_t>&);
    void (*count_double_32)(const CountBelowArgs<double, std::uint32_t>&);
    void (*count_byte_32)(const CountBelowArgs<std::uint8_t, std::uint32_t>&);
    void (*count_float_64)(const CountBelowArgs<float, std::uint64_t>&);
    void (*count_double_64)(const CountBelowArgs<double, std::uint64_t>&);
    void (*count_byte_64)(const CountBelowArgs<std::uint8_t, std::uint64_t>&);

    Cut (*scan_gini_32)(const ScanArgs<std::uint32_t>&);
    Cut (*scan_gini_64)(const ScanArgs<std::uint64_t>&);
    // An upper bound of the best score of each feature with NaN on the right, up to a
    // relative rounding error of 1e-6.
    void (*bound_gini_16)(const BoundArgs<std::uint16_t>&, float*);
    void (*bound_gini_32)(const BoundArgs<std::uint32_t>&, float*);

    // out[i * n_centers + c] = <x_i, center_c>; n and stride multiples of 8, zero
    // padded.
    void (*dots)(const float* x, int n_x, const float* centers, int n_centers,
                 std::int64_t stride, float* out);
    // sum += x, square_sum += x * x
    void (*accumulate)(const float* x, float weight, std::int64_t n, float* sum,
                       float* square_sum);

    RowKernels<float> rows_float;
    RowKernels<double> rows_double;
    RowKernels<std::uint8_t> rows_byte;

    template <class T>
    const RowKernels<T>& rows() const {
        if constexpr (sizeof(T) == 4)
            return rows_float;
        if constexpr (sizeof(T) == 8)
            return rows_double;
        if constexpr (sizeof(T) == 1)
            return rows_byte;
    }

    const char* name;
};

const Kernels& kernels();

}  // namespace dics
