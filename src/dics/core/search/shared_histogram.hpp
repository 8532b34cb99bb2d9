// Histograms of one feature and one node, of rows in several processes: how they are
// filled, and the best cut in their sum.
#pragma once

#include <algorithm>
#include <vector>

#include "search/class_histogram.hpp"
#include "search/class_sets.hpp"
#include "search/feature_scan.hpp"
#include "search/moment_sets.hpp"

namespace dics {

// Of classes: [class, (rows)][bin].
template <class Crit, class CountT>
class SharedClassHistogram {
  public:
    using Target = ClassCounts<Crit, CountT>;
    using Value = CountT;
    using Rows = ClassRows<CountT>;
    using Open = OpenNode<ClassTotals<CountT>>;

    // Whether rows are counted apart from weights is the same in all processes.
    SharedClassHistogram(const Target& target, const Rows&, bool is_weighted,
                         std::int64_t min_samples_leaf)
        : target_(&target),
          n_slices_(target.n_classes() + (is_weighted && min_samples_leaf > 1 ? 1 : 0)),
          limits_{min_samples_leaf, target.min_weight()} {}

    std::int64_t size(int n_thresholds) const { return shape(n_thresholds).size(); }

    void fill(const std::uint8_t* column, int n_thresholds, const Rows& r,
              const NodePlace& node, Value* hist) const {
        const std::int64_t n_bins = shape(n_thresholds).n_bins;
        for (std::int64_t i = node.begin; i < node.end; ++i)
            hist[r.labels[i] * n_bins + column[r.rows[i]]] += r.count(i);
        if (n_slices_ == target_->n_classes())
            return;
        Value* rows = hist + target_->n_classes() * n_bins;
        for (std::int64_t i = node.begin; i < node.end; ++i)
            ++rows[column[r.rows[i]]];
    }

    // Are there rows in two bins?
    bool varies(const Value* hist, int n_thresholds) const {
        const std::int64_t n_bins = shape(n_thresholds).n_bins;
        int n_filled = 0;
        for (std::int64_t bin = 0; bin < n_bins; ++bin) {
            for (int c = 0; c < target_->n_classes(); ++c) {
                if (hist[c * n_bins + bin] != 0) {
                    ++n_filled;
                    break;
                }
            }
        }
        return n_filled > 1;
    }

    void start_node(const Rows&, const Open& node) {
        node_ = &node;
        present_.find(node.totals);
    }

    // The best set of levels; `rows` are those of each bin.
    Split best_set(const CategorySettings& settings, std::int64_t f, const Value* hist,
                   const Value* rows, int n_thresholds, const std::vector<double>&) {
        sets_.read(hist, rows, n_thresholds + 1, *node_);
        return sets_.best(settings, *target_, limits_.min_leaf, f);
    }

    // The best cut; `hist` is changed where candidates are drawn.
    Cut scan(Value* hist, int n_thresholds, const CodeReading& reading, std::int64_t) {
        if (reading.candidates)
            sum_bins(shape(n_thresholds), present_, target_->n_classes(), hist);
        return scanner_.scan_one(shape(n_thresholds), hist, 0, reading, n_thresholds,
                                 node_->totals, present_, limits_);
    }

  private:
    HistogramShape shape(int n_thresholds) const {
        HistogramShape shape(1, n_thresholds, n_slices_);
        shape.n_lanes = 1;  // what is not there need not travel
        return shape;
    }

    const Target* target_;
    int n_slices_;
    typename HistogramScanner<Crit, Value>::Limits limits_;
    const Open* node_ = nullptr;
    PresentClasses<Value> present_;
    HistogramScanner<Crit, Value> scanner_;
    ClassSets<Crit, Value> sets_;
};

// Of numbers: [bin][cell].
template <class Crit>
class SharedMomentHistogram {
  public:
    using Target = Moments<Crit>;
    using Value = std::int64_t;
    using Rows = MomentRows;
    using Open = OpenNode<MomentTotals>;

    SharedMomentHistogram(const Target& target, const Rows& rows, bool,
                          std::int64_t min_samples_leaf)
        : target_(&target),
          n_cells_(rows.n_cells),
          limits_{min_samples_leaf, target.min_weight()} {}

    std::int64_t size(int n_thresholds) const {
        return std::int64_t{n_thresholds + 2} * n_cells_;
    }

    void fill(const std::uint8_t* column, int, const Rows& r, const NodePlace& node,
              Value* hist) const {
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            const std::int64_t* from = r.of(i);
            Value* to = hist + std::int64_t{column[r.rows[i]]} * n_cells_;
            for (int c = 0; c < n_cells_; ++c)
                to[c] += from[c];
        }
    }

    bool varies(const Value* hist, int n_thresholds) const {
        int n_filled = 0;
        for (int bin = 0; bin < n_thresholds + 2; ++bin)
            n_filled += hist[std::int64_t{bin} * n_cells_] != 0 ? 1 : 0;
        return n_filled > 1;
    }

    void start_node(const Rows& rows, const Open& node) {
        node_ = &node;
        scan_.start_node(*target_, rows, node, limits_);
    }

    // The best set of levels; `rows` are those of each bin, `variances` those of the
    // node's outputs.
    Split best_set(const CategorySettings& settings, std::int64_t f, const Value* hist,
                   const Value* rows, int n_thresholds,
                   const std::vector<double>& variances) {
        if constexpr (Crit::kUsesRanks) {
            return {};  // not made of sums: such trees are not grown so
        } else {
            sets_.read(hist, rows, n_thresholds + 1, *node_);
            return sets_.best(
                settings, *target_, scan_, f,
                [&](int c) { return variances[static_cast<std::size_t>(c)]; }, {},
                nullptr);
        }
    }

    Cut scan(Value* hist, int n_thresholds, const CodeReading& reading,
             std::int64_t f) {
        if (!reading.table)
            return scan_.of_sums(hist, reading, f);
        read_.assign(static_cast<std::size_t>(size(reading.n_thresholds)), 0);
        for (std::int64_t code = 0; code < n_thresholds + 2; ++code) {
            for (int c = 0; c < n_cells_; ++c)
                read_[static_cast<std::size_t>(reading.table[code] * n_cells_ + c)] +=
                    hist[code * n_cells_ + c];
        }
        return scan_.of_sums(read_.data(), reading, f);
    }

  private:
    const Target* target_;
    int n_cells_;
    SideLimits limits_;
    const Open* node_ = nullptr;
    FeatureScan<Crit> scan_;
    MomentSets<Crit> sets_;
    std::vector<Value> read_;  // bins as the candidates divide them
};

}  // namespace dics
