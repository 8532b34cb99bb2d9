// Histograms of class counts for several features side by side, and their scan.
#pragma once

#include <cstring>
#include <span>

#include "grow/node.hpp"
#include "kernels/kernels.hpp"
#include "kernels/scan.hpp"
#include "search/cut.hpp"
#include "target/class_counts.hpp"

namespace dics {

// Classes that occur in a node, and their counts.
template <class Count>
struct PresentClasses {
    std::vector<int> classes;
    std::vector<Count> counts;

    void find(const ClassTotals<Count>& totals) {
        classes.clear();
        counts.clear();
        for (std::size_t c = 0; c < totals.counts.size(); ++c) {
            if (totals.counts[c] == 0)
                continue;
            classes.push_back(c);
            counts.push_back(totals.counts[c]);
        }
    }
    int size() const { return classes.size(); }
};

// Requirements for both sides of a split.
template <class Count>
struct ClassLimits {
    std::int64_t min_leaf;
    Count min_weight;
};

// The best cut by class counts, [bin][class], and by counts of rows if `width` exceeds
// the number of classes by one. `left` is scratch.
template <class Crit, class Count>
Cut scan_bins(const Count* counts, int width, const CodeReading& reading,
              const std::vector<Count>& of_classes, const ClassTotals<Count>& totals,
              const ClassLimits<Count>& limits, std::vector<Count>& left) {
    const int n_classes = of_classes.size();
    left.resize(n_classes);
    const ScanArgs<Count> args{
        counts,
        reading,
        width,
        n_classes,
        of_classes.data(),
        totals.sum,
        totals.weight,
        width > n_classes ? totals.n_rows : static_cast<std::int64_t>(totals.weight),
        limits.min_leaf,
        limits.min_weight,
        left.data()};
    if constexpr (!std::is_same_v<Crit, Gini>) {
        return plain::scan_histogram<Crit>(args);
    } else if constexpr (sizeof(Count) == 4) {
        return kernels().scan_gini_32(args);
    } else {
        return kernels().scan_gini_64(args);
    }
}

// counts[slice][bin][lane]: a slice for each class (and, where rows are counted
// separately from weights, one more), a lane for each feature. Rows are in the order of
// their classes, so one slice at a time is written to: it fits into the first-level
// cache if the whole does not (CIFAR-10, 55 features: 6 KB of 59 KB).
struct HistogramShape {
    int n_features = 0;
    int n_lanes = 0;  // one or an even number of groups
    int n_bins = 0;   // of the feature with the most
    int n_slices = 0;

    HistogramShape() = default;
    HistogramShape(int features, int most_thresholds, int slices)
        : n_features(features),
          n_lanes(features <= kLaneGroup ? kLaneGroup
                                         : (features + 2 * kLaneGroup - 1) /
                                               (2 * kLaneGroup) * (2 * kLaneGroup)),
          n_bins(most_thresholds + 2),
          n_slices(slices) {}

    std::int64_t slice() const { return std::int64_t{n_bins} * n_lanes; }
    std::int64_t size() const { return slice() * n_slices; }
};

// A histogram counts rows and weights separately only where their number matters.
template <class Count>
bool counts_rows(const ClassRows<Count>& r, std::int64_t min_samples_leaf) {
    return r.weighted() && min_samples_leaf > 1;
}

// Counts rows begin..end-1 of `r`: of an open node, whose rows are in the order of
// their classes, or of one whose subtree is done, where they are so in each leaf. The
// code of feature j is codes[row * stride + column(j)]; `lines` are offsets into a
// row's codes that are worth fetching ahead. Rows of other classes than `present` are
// passed over, and the slices of those are left as they are.
template <class Counter, class Count, class Column>
void fill_histograms(const HistogramShape& shape, const std::uint8_t* codes,
                     std::int64_t stride, Column column, const ClassRows<Count>& r,
                     std::int64_t begin, std::int64_t end,
                     const PresentClasses<Count>& present, int n_classes,
                     std::span<const std::uint32_t> lines, Counter* hist) {
    constexpr std::int64_t kRowsAhead = 8;
    const std::uint32_t* rows = r.rows.data();
    const std::uint32_t* labels = r.labels.data();
    const int n = shape.n_features;
    const std::uint32_t n_lanes = shape.n_lanes;
    const bool weighted = r.weighted();
    auto clear = [&](Counter* slice) {
        std::memset(slice, 0, shape.slice() * sizeof(Counter));
    };
    for (const int c : present.classes)
        clear(hist + c * shape.slice());
    for (std::int64_t i = begin; i < end;) {
        const std::uint32_t label = labels[i];
        Counter* slice = hist + label * shape.slice();
        for (; i < end && labels[i] == label; ++i) {
            const std::uint8_t* code = codes + std::int64_t{rows[i]} * stride;
            if (i + kRowsAhead < end) {
                const std::int64_t ahead = std::int64_t{rows[i + kRowsAhead]} * stride;
                for (const std::uint32_t line : lines)
                    __builtin_prefetch(codes + ahead + line);
            }
            const auto count = static_cast<Counter>(weighted ? r.counts[i] : 1);
            Counter* at = slice;
#pragma GCC unroll 4
            for (int j = 0; j < n; ++j, ++at)
                at[code[column(j)] * n_lanes] += count;
        }
    }
    if (shape.n_slices == n_classes)
        return;
    Counter* slice = hist + n_classes * shape.slice();
    clear(slice);
    for (std::int64_t i = begin; i < end; ++i) {
        const std::uint8_t* code = codes + std::int64_t{rows[i]} * stride;
        for (int j = 0; j < n; ++j)
            slice[code[column(j)] * n_lanes + j] += 1;
    }
}

// Calls body(slice) for the slices of the classes that occur and of the rows.
template <class Count, class Body>
void for_slices(const HistogramShape& shape, const PresentClasses<Count>& present,
                int n_classes, Body body) {
    for (const int c : present.classes)
        body(c * shape.slice());
    if (shape.n_slices > n_classes)
        body(n_classes * shape.slice());
}

// Turns counts into running sums along the bins, for nodes that look at few of the
// thresholds. Sums can be subtracted like counts.
template <class Count>
void sum_bins(const HistogramShape& shape, const PresentClasses<Count>& present,
              int n_classes, Count* hist) {
    for_slices(shape, present, n_classes, [&](std::int64_t slice) {
        Count* at = hist + slice;
        for (std::int64_t i = shape.n_lanes; i < shape.slice(); ++i)
            at[i] += at[i - shape.n_lanes];
    });
}

// Takes the counts in `what` out of `from`.
template <class Count>
void subtract_histograms(const HistogramShape& shape,
                         const PresentClasses<Count>& present, int n_classes,
                         Count* from, const Count* what) {
    for_slices(shape, present, n_classes, [&](std::int64_t slice) {
        Count* a = from + slice;
        const Count* b = what + slice;
        for (std::int64_t i = 0; i < shape.slice(); ++i)
            a[i] -= b[i];
    });
}

// Searches histograms. One for each thread: it keeps scratch memory.
template <class Crit, class Count>
class HistogramScanner {
  public:
    using Limits = ClassLimits<Count>;

    // The best cut of each feature, where it reaches `floor` (others may be missing).
    // Counts are in 32 or 64 bits, or in 16 if the node is that small. `exact(j)` finds
    // the best cut of feature j. The answer lives until the next call.
    template <class Counter, class Exact>
    const Cut* scan_all(const HistogramShape& shape, const Counter* hist,
                        const int* n_thresholds, const ClassTotals<Count>& totals,
                        const PresentClasses<Count>& present, const Limits& limits,
                        double floor, Exact exact) {
        cuts_.assign(shape.n_features, Cut{});
        auto scan_exactly = [&](int j) {
            cuts_[j] = exact(j);
            floor = std::max(floor, cuts_[j].score);
        };
        if (!find_bounds(shape, hist, n_thresholds, totals, present, limits)) {
            for (int j = 0; j < shape.n_features; ++j)
                scan_exactly(j);
            return cuts_.data();
        }
        const int first =
            std::max_element(bounds_.begin(), bounds_.end()) - bounds_.begin();
        scan_exactly(first);
        for (int j = 0; j < shape.n_features; ++j) {
            if (j != first && bounds_[j] >= floor * (1 - kBoundError))
                scan_exactly(j);
        }
        return cuts_.data();
    }

    // The best cut of feature j.
    template <class Counter>
    Cut scan_one(const HistogramShape& shape, const Counter* hist, int j,
                 const CodeReading& reading, int n_thresholds,
                 const ClassTotals<Count>& totals, const PresentClasses<Count>& present,
                 const Limits& limits) {
        const bool counts_rows = shape.n_slices > std::ssize(totals.counts);
        const int width = present.size() + (counts_rows ? 1 : 0);
        turn(shape, hist, j, reading, n_thresholds, present, width);
        return scan_bins<Crit>(turned_.data(), width, reading, present.counts, totals,
                               limits, left_);
    }

  private:
    static constexpr double kBoundError = 1e-5;  // ten times what rounding can do

    // Returns false if this kind of counts has none.
    template <class Counter>
    bool find_bounds(const HistogramShape& shape, const Counter* hist,
                     const int* n_thresholds, const ClassTotals<Count>& totals,
                     const PresentClasses<Count>& present, const Limits& limits) {
        if constexpr (!std::is_same_v<Crit, Gini> || sizeof(Count) != 4) {
            return false;
        } else {
            if (totals.weight > kBoundedWeight<Counter> ||
                limits.min_weight > totals.weight)
                return false;
            std::vector<Counter>& counter_totals = totals_of<Counter>();
            counter_totals.assign(present.counts.begin(), present.counts.end());
            scratch_.resize(present.classes.size() + 1);
            bounds_.resize(shape.n_features);
            const BoundArgs<Counter> args{
                hist,
                shape.slice(),
                shape.n_lanes,
                shape.n_features,
                n_thresholds,
                present.classes.data(),
                present.size(),
                counter_totals.data(),
                static_cast<Counter>(totals.sum),
                static_cast<Counter>(totals.weight),
                static_cast<Counter>(std::max<Count>(1, limits.min_weight)),
                scratch_.data()};
            if constexpr (sizeof(Counter) == 2) {
                kernels().bound_gini_16(args, bounds_.data());
            } else {
                kernels().bound_gini_32(args, bounds_.data());
            }
            lift_missing(shape, hist, n_thresholds, present);
            return true;
        }
    }

    // Features with NaN in the node have more cuts than the bounds are of.
    template <class Counter>
    void lift_missing(const HistogramShape& shape, const Counter* hist,
                      const int* n_thresholds, const PresentClasses<Count>& present) {
        for (int j = 0; j < shape.n_features; ++j) {
            const Counter* bin =
                hist + std::int64_t{n_thresholds[j] + 1} * shape.n_lanes + j;
            for (const int c : present.classes) {
                if (bin[c * shape.slice()] > 0)
                    bounds_[j] = std::numeric_limits<float>::infinity();
            }
        }
    }

    template <class Counter>
    std::vector<Counter>& totals_of() {
        if constexpr (sizeof(Counter) == 2) {
            return totals_16_;
        } else {
            return totals_32_;
        }
    }

    // Writes one feature's counts as [bin][class], of the classes that occur and of the
    // codes as they are read: for candidates, from running sums.
    template <class Counter>
    void turn(const HistogramShape& shape, const Counter* hist, int j,
              const CodeReading& reading, int n_thresholds,
              const PresentClasses<Count>& present, int width) {
        const int n_bins = reading.missing_code() + 1;
        turned_.resize(n_bins * width);
        for (int s = 0; s < width; ++s) {
            const int slice =
                s < present.size() ? present.classes[s] : shape.n_slices - 1;
            const Counter* from = hist + slice * shape.slice() + j;
            auto at = [&](int bin) { return from[std::int64_t{bin} * shape.n_lanes]; };
            Count* to = turned_.data() + s;
            if (!reading.candidates) {
                for (int bin = 0; bin < n_bins; ++bin, to += width)
                    *to = at(bin);
                continue;
            }
            Counter below = 0;
            for (int bin = 0; bin < n_bins; ++bin, to += width) {
                const Counter up_to =
                    at(bin < reading.n_thresholds
                           ? reading.candidates[bin]
                           : n_thresholds + bin - reading.n_thresholds);
                *to = up_to - below;
                below = up_to;
            }
        }
    }

    struct alignas(32) Register {
        std::uint8_t bytes[32];
    };

    std::vector<Cut> cuts_;
    std::vector<float> bounds_;
    std::vector<std::uint16_t> totals_16_;
    std::vector<std::uint32_t> totals_32_;
    std::vector<Register> scratch_;
    std::vector<Count> turned_, left_;
};

}  // namespace dics
