// Upper bounds of the best score of each feature of a block: a scan of several
// histograms at once, with one feature per lane of a vector, in float. Only the few
// features that come near the best one are scanned exactly. Included once per
// instruction set, like scan.hpp.
#pragma once

#include "kernels/kernels.hpp"

#ifdef DICS_ISA
namespace dics::DICS_ISA {
#else
namespace dics::plain {
#endif
namespace {

typedef std::int32_t Signed __attribute__((vector_size(4 * kLaneGroup)));
typedef float Floats __attribute__((vector_size(4 * kLaneGroup)));

// Lanes 8 * part .. 8 * part + 7 of some counts.
template <class Counter, class Counts>
inline Floats to_floats(const Counts& counts, int part) {
    typedef Counter Part __attribute__((vector_size(sizeof(Counter) * kLaneGroup)));
    Part taken;
    __builtin_memcpy(&taken, reinterpret_cast<const Part*>(&counts) + part,
                     sizeof taken);
    return __builtin_convertvector(__builtin_convertvector(taken, Signed), Floats);
}

// Lanes first..first+N-1. Sums of squares are as wide as the counts: they fit if the
// weight of the node is at most kBoundedWeight<Counter>. With left counts l and node
// counts t, the right side has sum (t-l)^2 = sum t^2 - 2 sum tl + sum l^2.
template <class Counter, int N>
void bound_group(const BoundArgs<Counter>& a, int first, float* bounds) {
    typedef Counter Counts __attribute__((vector_size(sizeof(Counter) * N)));
    constexpr int n_parts = N / kLaneGroup;
    auto* left = static_cast<Counts*>(a.scratch);
    for (int c = 0; c < a.n_present; ++c)
        left[c] = Counts{};
    int n_bins = 0;
    for (int lane = first; lane < first + N && lane < a.n_features; ++lane)
        n_bins = a.n_thresholds[lane] >= n_bins ? a.n_thresholds[lane] + 1 : n_bins;
    const float total = a.total_weight, least = a.min_weight;
    Floats best[n_parts];
    for (Floats& part : best)
        part = Floats{} - 1.0e30f;
    for (int bin = 0; bin < n_bins; ++bin) {
        const Counter* at = a.hist + std::int64_t{bin} * a.n_lanes + first;
        Counts weight = {}, left_sum = {}, product = {};
        for (int c = 0; c < a.n_present; ++c) {
            Counts l;
            __builtin_memcpy(&l, at + a.present[c] * a.slice, sizeof l);
            l += left[c];
            left[c] = l;
            weight += l;
            left_sum += l * l;
            product += l * a.total[c];
        }
        const Counts right_sum = a.total_sum - product - product + left_sum;
#pragma GCC unroll 2
        for (int part = 0; part < n_parts; ++part) {
            const Floats n_left = to_floats<Counter>(weight, part);
            const Floats n_right = total - n_left;
            const Floats score = to_floats<Counter>(left_sum, part) / n_left +
                                 to_floats<Counter>(right_sum, part) / n_right;
            const auto better =
                (n_left >= least) & (n_right >= least) & (score > best[part]);
            best[part] = better ? score : best[part];
        }
    }
    for (int i = 0; i < N && first + i < a.n_features; ++i)
        bounds[first + i] = best[i / kLaneGroup][i % kLaneGroup];
}

template <class Counter>
void bound_block(const BoundArgs<Counter>& a, float* bounds) {
    constexpr int wide = 32 / sizeof(Counter);  // counts in a register
    for (int first = 0; first < a.n_features;) {
        if (first + wide <= a.n_lanes) {
            bound_group<Counter, wide>(a, first, bounds);
            first += wide;
        } else {
            bound_group<Counter, kLaneGroup>(a, first, bounds);
            first += kLaneGroup;
        }
    }
}

}  // namespace
}  // namespace dics::DICS_ISA or plain
