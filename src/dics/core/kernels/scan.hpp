// The walk along one feature's histogram. Included by kernels.cpp once per instruction
// set and by the plain code; each build has its own namespace.
#pragma once

#include <type_traits>

#include "kernels/kernels.hpp"

#ifdef DICS_ISA
namespace dics::DICS_ISA {
#else
namespace dics::plain {
#endif
namespace {

// What moving one bin to the left does: to its weight and to the sums of terms.
template <class Count>
struct Move {
    Count weight = 0;
    typename Wide<Count>::type left = 0;
    typename Wide<Count>::type right = 0;
};

// Adds a bin to the running left counts. For Gini, with h the bin, l the left and t the
// node's counts: sum (l+h)^2 = sum l^2 + 2 hl + hh, and the right side likewise, so
// three products of 32-bit numbers a class do, and they vectorize.
template <class Crit, class Count>
inline Move<Count> move_bin(const Count* h, const Count* total, int n_classes,
                            Count* left) {
    using W = typename Wide<Count>::type;
    Move<Count> m;
    if constexpr (std::is_same_v<Crit, Gini>) {
        W hl = 0, hh = 0, ht = 0;
        for (int c = 0; c < n_classes; ++c) {
            const Count count = h[c];
            m.weight += count;
            hl += static_cast<W>(count) * static_cast<W>(left[c]);
            hh += static_cast<W>(count) * static_cast<W>(count);
            ht += static_cast<W>(count) * static_cast<W>(total[c]);
            left[c] += count;
        }
        m.left = 2 * hl + hh;
        m.right = hh - 2 * (ht - hl);
    } else {
        for (int c = 0; c < n_classes; ++c) {
            const Count count = h[c];
            if (count == 0)
                continue;
            const Count l = left[c];
            const Count r = total[c] - l;
            m.weight += count;
            m.left +=
                Crit::template term<Count>(l + count) - Crit::template term<Count>(l);
            m.right +=
                Crit::template term<Count>(r - count) - Crit::template term<Count>(r);
            left[c] = l + count;
        }
    }
    return m;
}

template <class Crit, class Count>
void scan_side(const ScanArgs<Count>& a, bool missing_left, Cut& best) {
    using W = typename Wide<Count>::type;
    const bool weighted = a.width > a.n_classes;
    const int missing = a.reading.missing_code();
    W left_sum = 0, right_sum = a.total_sum;
    Count left_weight = 0;
    std::int64_t left_rows = 0;
    for (int c = 0; c < a.n_classes; ++c)
        a.left[c] = 0;
    Move<Count> m;
    auto move = [&](int bin) {
        m = move_bin<Crit>(a.hist + std::int64_t{bin} * a.width, a.total, a.n_classes,
                           a.left);
    };
    walk_cuts(
        a.reading, missing_left,
        [&](auto visit) {
            for (int bin = 0; bin < missing; ++bin) {
                move(bin);
                if (m.weight != 0)
                    visit(bin);
            }
        },
        [&](int bin) {
            if (bin == missing)
                move(bin);
            left_sum += m.left;
            right_sum += m.right;
            left_weight += m.weight;
            const Count* h = a.hist + std::int64_t{bin} * a.width;
            left_rows +=
                static_cast<std::int64_t>(weighted ? h[a.n_classes] : m.weight);
        },
        [&](int lo, int hi) {
            const Count right_weight = a.total_weight - left_weight;
            if (left_rows < a.min_leaf || a.n_rows - left_rows < a.min_leaf ||
                left_weight < a.min_weight || right_weight < a.min_weight)
                return;
            const double score = Crit::template score<Count>(left_sum, left_weight,
                                                             right_sum, right_weight);
            if (score > best.score)
                best = Cut{score, lo, hi, missing_left, false};
        });
}

template <class Crit, class Count>
Cut scan_histogram(const ScanArgs<Count>& a) {
    Cut best;
    scan_side<Crit>(a, false, best);
    const Count* missing = a.hist + std::int64_t{a.reading.missing_code()} * a.width;
    Count n_missing = 0;
    for (int c = 0; c < a.n_classes; ++c)
        n_missing += missing[c];
    if (n_missing > 0) {
        scan_side<Crit>(a, true, best);
        best.saw_missing = true;
    }
    return best;
}

}  // namespace
}  // namespace dics::DICS_ISA or plain
