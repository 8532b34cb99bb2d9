// The best cut of a feature in one node, by the method that a criterion needs.
#pragma once

#include <optional>

#include "search/median_scan.hpp"
#include "search/moment_scan.hpp"

namespace dics {

// By sums of bins. For one thread, a node after the other.
template <class Crit>
class FeatureScan {
  public:
    void start_node(const Moments<Crit>& target, const MomentRows& r,
                    const OpenNode<MomentTotals>& node, const SideLimits& limits) {
        scan_.emplace(target, node.totals, limits);
        if (r.n_cells != 2)
            bins_.reset(r.n_cells);
        r_ = &r;
        node_ = &node;
        target_ = &target;
    }

    Cut of_sums(const std::int64_t* sums, const CodeReading& reading, std::int64_t f) {
        const int direction = target_->direction(f);
        if (r_->n_cells != 2)
            return scan_->scan(sums, reading, direction);
        pairs_.read(sums, reading.missing_code());
        return scan_->scan(pairs_, reading, direction);
    }

    // `cells` are those of the node's rows.
    Cut of_rows(const CodeColumn& column, const std::int64_t* cells, std::int64_t f) {
        const std::uint32_t* rows = r_->rows.data() + node_->begin;
        const int direction = target_->direction(f);
        if (r_->n_cells == 2) {
            maker_.make(column,
                        {rows, node_->size(), cells, node_->totals.cells.data()},
                        pairs_);
            return scan_->scan(pairs_, column.reading, direction);
        }
        bins_.add_rows(column, rows, node_->size(), cells);
        const Cut cut = scan_->scan(bins_, column.reading, direction);
        bins_.clear();
        return cut;
    }

  private:
    std::optional<MomentScan<Crit>> scan_;
    PairMaker maker_;
    BinPairs pairs_;
    BinSums bins_;  // of several outputs
    const MomentRows* r_ = nullptr;
    const OpenNode<MomentTotals>* node_ = nullptr;
    const Moments<Crit>* target_ = nullptr;
};

// By ranks.
template <>
class FeatureScan<AbsoluteError> {
  public:
    using Target = Moments<AbsoluteError>;

    void start_node(const Target& target, const MomentRows& r,
                    const OpenNode<MomentTotals>& node, const SideLimits& limits) {
        target_ = &target;
        r_ = &r;
        node_ = &node;
        limits_ = limits;
        scan_.start_node(target, r, node);
    }

    Cut of_sums(const std::int64_t*, const CodeReading&, std::int64_t) {
        return {};  // no sums are made, see MomentHistograms::is_small
    }

    Cut of_rows(const CodeColumn& column, const std::int64_t*, std::int64_t) {
        return scan_.scan(*target_, *r_, *node_, column, [&](const std::int64_t* left) {
            return limits_.allow(left, node_->totals, r_->n_outputs);
        });
    }

  private:
    const Target* target_ = nullptr;
    const MomentRows* r_ = nullptr;
    const OpenNode<MomentTotals>* node_ = nullptr;
    SideLimits limits_{};
    MedianScan scan_;
};

}  // namespace dics
