// The walk along the histograms of several features at once, a feature in each lane of
// a vector. Nothing is summed across a vector, and a feature costs an eighth of what it
// would alone. Included like scan.hpp: once per instruction set.
#pragma once

#include "kernels.hpp"

#ifdef DICS_ISA
namespace dics::DICS_ISA {
#else
namespace dics::plain {
#endif
namespace {

// Sums of squares in `Sum`: 32 bits if they fit, which is faster.
template <class Sum>
struct BlockVectors {
    typedef std::uint32_t Counts __attribute__((vector_size(4 * kLaneGroup)));
    typedef Counts Loaded __attribute__((aligned(4)));
    typedef Sum Sums __attribute__((vector_size(sizeof(Sum) * kLaneGroup)));
};

constexpr int kHalf = kLaneGroup / 2;
typedef double Doubles __attribute__((vector_size(8 * kHalf)));

// Four sums as doubles, exactly as static_cast<double> gives them.
inline Doubles to_doubles(const std::uint32_t* sums) {
    typedef std::int32_t Signed __attribute__((vector_size(4 * kHalf)));
    return __builtin_convertvector(*reinterpret_cast<const Signed*>(sums), Doubles);
}
inline Doubles to_doubles(const std::uint64_t* sums) {
    Doubles result;
    for (int i = 0; i < kHalf; ++i)
        result[i] = static_cast<double>(sums[i]);
    return result;
}

// What is known of the features of half a group.
struct HalfState {
    Doubles score = Doubles{} - 1.0e308;
    Doubles lo = Doubles{} - 2.0;
    Doubles hi = Doubles{} - 2.0;
    Doubles last = Doubles{} - 1.0;  // bin that isn't empty
    Doubles n_filled = Doubles{};
    Doubles weight = Doubles{};  // up to and with that bin
};

struct HalfSums {
    Doubles weight, rows, left_sum, right_sum;
};

// Scores the cut behind `bin`, in the order of scan_side: strictly better wins.
inline void score_bin(const BlockScanArgs& a, int bin, const HalfSums& s,
                      HalfState& state) {
    const Doubles here = Doubles{} + static_cast<double>(bin);
    const auto filled = s.weight > state.weight;
    const auto ends_gap = filled & (state.lo == state.last);
    state.hi = ends_gap ? here - 1.0 : state.hi;
    const Doubles right = static_cast<double>(a.total_weight) - s.weight;
    const Doubles score = s.left_sum / s.weight + s.right_sum / right;
    const double min_weight = static_cast<double>(a.min_weight);
    const double min_rows = static_cast<double>(a.min_leaf);
    const auto allowed = filled & (s.weight >= min_weight) & (right >= min_weight) &
                         (s.rows >= min_rows) &
                         (static_cast<double>(a.n_rows) - s.rows >= min_rows);
    const auto better = allowed & (score > state.score);
    state.score = better ? score : state.score;
    state.lo = better ? here : state.lo;
    state.last = filled ? here : state.last;
    state.n_filled = filled ? state.n_filled + 1.0 : state.n_filled;
    state.weight = s.weight;
}

// Lanes first..first+7. With left counts l and the node's counts t, the right side has
// sum (t-l)^2 = sum t^2 - 2 sum tl + sum l^2.
template <class Sum>
void scan_group(const BlockScanArgs& a, int first, LaneCut* cuts) {
    using Counts = typename BlockVectors<Sum>::Counts;
    using Loaded = typename BlockVectors<Sum>::Loaded;
    using Sums = typename BlockVectors<Sum>::Sums;
    auto* left = reinterpret_cast<Counts*>(a.scratch);
    for (int c = 0; c <= a.n_present; ++c)
        left[c] = Counts{};
    int n_bins = 0;
    for (int lane = first; lane < first + kLaneGroup; ++lane)
        n_bins = lane < a.n_features && a.n_thresholds[lane] + 2 > n_bins
                     ? a.n_thresholds[lane] + 2
                     : n_bins;
    HalfState state[2];
    for (int bin = 0; bin < n_bins; ++bin) {
        const std::uint32_t* at = a.hist + std::int64_t{bin} * a.n_lanes + first;
        Counts weight = {};
        Sums left_sum = {}, product = {};
        for (int c = 0; c < a.n_present; ++c) {
            const std::uint32_t* counts = at + a.present[c] * a.slice;
            const Counts l = left[c] + *reinterpret_cast<const Loaded*>(counts);
            left[c] = l;
            weight += l;
            const Sums wide = __builtin_convertvector(l, Sums);
            left_sum += wide * wide;
            product += wide * static_cast<Sum>(a.total[a.present[c]]);
        }
        Counts rows = weight;
        if (a.row_slice) {
            const std::uint32_t* counts =
                a.row_slice + std::int64_t{bin} * a.n_lanes + first;
            rows = left[a.n_present] + *reinterpret_cast<const Loaded*>(counts);
            left[a.n_present] = rows;
        }
        const Sums right_sum =
            static_cast<Sum>(a.total_sum) - product - product + left_sum;
        for (int half = 0; half < 2; ++half) {
            const int at_half = half * kHalf;
            score_bin(a, bin,
                      {to_doubles(reinterpret_cast<std::uint32_t*>(&weight) + at_half),
                       to_doubles(reinterpret_cast<std::uint32_t*>(&rows) + at_half),
                       to_doubles(reinterpret_cast<const Sum*>(&left_sum) + at_half),
                       to_doubles(reinterpret_cast<const Sum*>(&right_sum) + at_half)},
                      state[half]);
        }
    }
    for (int i = 0; i < kLaneGroup && first + i < a.n_features; ++i) {
        const HalfState& s = state[i / kHalf];
        const int j = i % kHalf;
        LaneCut& cut = cuts[first + i];
        cut.score = s.score[j];
        cut.lo = static_cast<int>(s.lo[j]);
        cut.hi = static_cast<int>(s.hi[j]);
        cut.constant = s.n_filled[j] <= 1.0;
        cut.saw_missing = s.last[j] == a.n_thresholds[first + i] + 1;
    }
}

// Weights of a node are below 2^31, so that they convert as signed numbers; squares of
// up to 46340 do too.
void scan_block(const BlockScanArgs& a, LaneCut* cuts) {
    const bool narrow = a.total_weight <= 46340;
    for (int first = 0; first < a.n_features; first += kLaneGroup) {
        if (narrow) {
            scan_group<std::uint32_t>(a, first, cuts);
        } else {
            scan_group<std::uint64_t>(a, first, cuts);
        }
    }
}

}  // namespace
}  // namespace dics::DICS_ISA or plain
