// Class histograms of a block of features.
#pragma once

#include <cstring>

#include "kernels.hpp"
#include "node.hpp"
#include "scan.hpp"

namespace dics {

// counts[slice][bin][lane]: a slice for each class (and, where rows are counted apart
// from weights, one more), a lane for each feature. Rows are in the order of their
// classes, so one slice at a time is written to: it fits into the first-level cache
// where the whole doesn't (CIFAR-10, 55 features: 6 KB of 59 KB).
struct HistogramShape {
    int n_features = 0;
    int n_lanes = 0;  // a multiple of kLaneGroup
    int n_bins = 0;   // of the feature with the most
    int n_slices = 0;

    HistogramShape() = default;
    HistogramShape(int features, int most_thresholds, int slices)
        : n_features(features),
          n_lanes((features + kLaneGroup - 1) / kLaneGroup * kLaneGroup),
          n_bins(most_thresholds + 2),
          n_slices(slices) {}

    std::int64_t slice() const { return std::int64_t{n_bins} * n_lanes; }
    std::int64_t size() const { return slice() * n_slices; }
};

// A histogram counts rows apart from weights only where their number matters.
template <class Count>
bool counts_rows(const NodeRows<Count>& r, const GrowSettings& settings) {
    return r.weighted() && settings.min_samples_leaf > 1;
}

// Classes that occur. The rows of an open node are in the order of their classes; those
// of a node whose subtree is done are so in each of its leaves.
template <class Count>
std::vector<std::uint32_t> classes_of(const NodeRows<Count>& r, std::int64_t begin,
                                      std::int64_t end) {
    std::vector<std::uint32_t> classes;
    for (std::int64_t i = begin; i < end; ++i) {
        if (i == begin || r.labels[i] != r.labels[i - 1])
            classes.push_back(r.labels[i]);
    }
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    return classes;
}

// Counts rows begin..end-1 of `r`. The code of feature j is codes[row * stride +
// column(j)]. Slices of classes that don't occur are left as they are.
template <class Count, class Column>
void fill_histograms(const HistogramShape& shape, const std::uint8_t* codes,
                     std::int64_t stride, Column column, const NodeRows<Count>& r,
                     std::int64_t begin, std::int64_t end, int n_classes, Count* hist) {
    constexpr std::int64_t kRowsAhead = 8;
    const std::uint32_t* rows = r.rows.data();
    const std::uint32_t* labels = r.labels.data();
    const int n = shape.n_features;
    const auto n_lanes = static_cast<std::uint32_t>(shape.n_lanes);
    const bool weighted = r.weighted();
    auto clear = [&](Count* slice) {
        std::memset(slice, 0, static_cast<std::size_t>(shape.slice()) * sizeof(Count));
    };
    for (const std::uint32_t label : classes_of(r, begin, end))
        clear(hist + label * shape.slice());
    for (std::int64_t i = begin; i < end;) {
        const std::uint32_t label = labels[i];
        Count* slice = hist + label * shape.slice();
        for (; i < end && labels[i] == label; ++i) {
            const std::uint8_t* code = codes + std::int64_t{rows[i]} * stride;
            if (i + kRowsAhead < end)
                __builtin_prefetch(codes + std::int64_t{rows[i + kRowsAhead]} * stride);
            const Count count = weighted ? r.counts[i] : 1;
            Count* at = slice;
#pragma GCC unroll 4
            for (int j = 0; j < n; ++j, ++at)
                at[code[column(j)] * n_lanes] += count;
        }
    }
    if (shape.n_slices == n_classes)
        return;
    Count* slice = hist + n_classes * shape.slice();
    clear(slice);
    for (std::int64_t i = begin; i < end; ++i) {
        const std::uint8_t* code = codes + std::int64_t{rows[i]} * stride;
        for (int j = 0; j < n; ++j)
            slice[code[column(j)] * n_lanes + static_cast<std::uint32_t>(j)] += 1;
    }
}

// Takes the counts of rows begin..end-1 (in `what`) out of `from`.
template <class Count>
void subtract_histograms(const HistogramShape& shape, Count* from, const Count* what,
                         const NodeRows<Count>& r, std::int64_t begin, std::int64_t end,
                         int n_classes) {
    auto subtract = [&](std::int64_t slice) {
        Count* a = from + slice * shape.slice();
        const Count* b = what + slice * shape.slice();
        for (std::int64_t i = 0; i < shape.slice(); ++i)
            a[i] -= b[i];
    };
    for (const std::uint32_t label : classes_of(r, begin, end))
        subtract(label);
    if (shape.n_slices > n_classes)
        subtract(n_classes);
}

// Searches histograms. One for each thread: it keeps scratch memory.
template <class Crit, class Count>
class HistogramScanner {
  public:
    // What is asked of both sides of a split.
    struct Limits {
        std::int64_t min_leaf;
        Count min_weight;
    };

    // The best cut of each feature. `cuts` lives until the next call.
    std::vector<LaneCut>& scan_all(const HistogramShape& shape, const Count* hist,
                                   const int* n_thresholds, const OpenNode& node,
                                   const NodeTotals<Count>& totals,
                                   const Limits& limits) {
        cuts_.resize(static_cast<std::size_t>(shape.n_lanes));
        if constexpr (std::is_same_v<Crit, Gini> && sizeof(Count) == 4) {
            scan_lanes(shape, hist, n_thresholds, node, totals, limits);
            for (int j = 0; j < shape.n_features; ++j) {
                if (cuts_[j].saw_missing)
                    cuts_[j] = scan_alone(shape, hist, j, n_thresholds[j], node, totals,
                                          limits);
            }
        } else {
            for (int j = 0; j < shape.n_features; ++j)
                cuts_[j] =
                    scan_alone(shape, hist, j, n_thresholds[j], node, totals, limits);
        }
        return cuts_;
    }

    // The best of some thresholds of feature j.
    Cut scan_some(const HistogramShape& shape, const Count* hist, int j,
                  int n_thresholds, const OpenNode& node,
                  const NodeTotals<Count>& totals, const Limits& limits,
                  const std::int32_t* thresholds, int n) {
        const ScanArgs<Count> args =
            alone(shape, hist, j, n_thresholds, node, totals, limits);
        if constexpr (!std::is_same_v<Crit, Gini>) {
            return plain::scan_candidates<Crit>(args, thresholds, n);
        } else if constexpr (sizeof(Count) == 4) {
            return kernels().scan_candidates_gini_32(args, thresholds, n);
        } else {
            return kernels().scan_candidates_gini_64(args, thresholds, n);
        }
    }

  private:
    std::int64_t rows_of(const HistogramShape& shape, const OpenNode& node,
                         const NodeTotals<Count>& totals) const {
        const bool apart = shape.n_slices > static_cast<int>(totals.counts.size());
        return apart ? node.size() : static_cast<std::int64_t>(totals.weight);
    }

    void scan_lanes(const HistogramShape& shape, const Count* hist,
                    const int* n_thresholds, const OpenNode& node,
                    const NodeTotals<Count>& totals, const Limits& limits) {
        const auto n_classes = static_cast<int>(totals.counts.size());
        present_.clear();
        for (int c = 0; c < n_classes; ++c) {
            if (totals.counts[c] > 0)
                present_.push_back(c);
        }
        scratch_.resize((present_.size() + 2) * kLaneGroup);
        void* space = scratch_.data();
        std::size_t room = scratch_.size() * sizeof(Count);
        std::align(kLaneGroup * sizeof(Count), sizeof(Count), space, room);
        kernels().scan_block(
            BlockScanArgs{
                hist, shape.slice(), shape.n_lanes, shape.n_features, n_thresholds,
                present_.data(), static_cast<int>(present_.size()),
                shape.n_slices > n_classes ? hist + n_classes * shape.slice() : nullptr,
                totals.counts.data(), totals.sum, totals.weight,
                rows_of(shape, node, totals), limits.min_leaf, limits.min_weight,
                static_cast<std::uint32_t*>(space)},
            cuts_.data());
    }

    LaneCut scan_alone(const HistogramShape& shape, const Count* hist, int j,
                       int n_thresholds, const OpenNode& node,
                       const NodeTotals<Count>& totals, const Limits& limits) {
        const ScanArgs<Count> args =
            alone(shape, hist, j, n_thresholds, node, totals, limits);
        LaneCut lane;
        static_cast<Cut&>(lane) = scan(args);
        int n_filled = 0;
        for (int bin = 0; bin <= args.n_bins; ++bin) {
            Count weight = 0;
            for (int c = 0; c < args.n_classes; ++c)
                weight += args.hist[std::int64_t{bin} * args.width + c];
            n_filled += weight > 0 ? 1 : 0;
        }
        lane.constant = n_filled <= 1;
        return lane;
    }

    static Cut scan(const ScanArgs<Count>& args) {
        if constexpr (!std::is_same_v<Crit, Gini>) {
            return plain::scan_histogram<Crit>(args);
        } else if constexpr (sizeof(Count) == 4) {
            return kernels().scan_gini_32(args);
        } else {
            return kernels().scan_gini_64(args);
        }
    }

    // One feature's counts as [bin][class].
    ScanArgs<Count> alone(const HistogramShape& shape, const Count* hist, int j,
                          int n_thresholds, const OpenNode& node,
                          const NodeTotals<Count>& totals, const Limits& limits) {
        const auto n_classes = static_cast<int>(totals.counts.size());
        const int width = shape.n_slices;
        const int n_bins = n_thresholds + 1;
        turned_.assign(static_cast<std::size_t>((n_bins + 1) * width), 0);
        left_.resize(static_cast<std::size_t>(n_classes));
        for (int s = 0; s < width; ++s) {
            if (s < n_classes && totals.counts[s] == 0)
                continue;
            const Count* from = hist + s * shape.slice() + j;
            for (int bin = 0; bin <= n_bins; ++bin)
                turned_[bin * width + s] = from[std::int64_t{bin} * shape.n_lanes];
        }
        return {turned_.data(),
                n_bins,
                width,
                n_classes,
                totals.counts.data(),
                totals.sum,
                totals.weight,
                rows_of(shape, node, totals),
                limits.min_leaf,
                limits.min_weight,
                left_.data()};
    }

    std::vector<LaneCut> cuts_;
    std::vector<int> present_;
    std::vector<Count> scratch_, turned_, left_;
};

}  // namespace dics
