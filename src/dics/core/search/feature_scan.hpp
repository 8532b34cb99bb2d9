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
        bins_.reset(r.n_cells);
        r_ = &r;
        node_ = &node;
        target_ = &target;
    }

    Cut of_sums(const std::int64_t* sums, const CodeReading& reading,
                std::int64_t f) const {
        return scan_->scan(sums, reading, target_->direction(f));
    }

    // `cells` are those of the node's rows.
    Cut of_rows(const std::uint8_t* column, int width, const CodeReading& reading,
                const std::int64_t* cells, std::int64_t f) {
        if (scan_->sorts(node_->size()) && sort_keys(column, width, reading))
            return scan_->scan_sorted(keys_, static_cast<int>(node_->size()), cells);
        add_rows(column, width, reading, *r_, *node_, cells, bins_);
        const Cut cut = scan_->scan(bins_, reading, target_->direction(f));
        bins_.clear();
        return cut;
    }

  private:
    // Half of the nodes of a deep tree have two or three rows: to sort those takes less
    // than to fill bins. False if one is missing.
    bool sort_keys(const std::uint8_t* column, int width, const CodeReading& reading) {
        const std::uint32_t* rows = r_->rows.data() + node_->begin;
        const auto n = static_cast<int>(node_->size());
        const auto missing = static_cast<std::uint32_t>(reading.missing_code()) << 8;
        for (int i = 0; i < n; ++i) {
            const std::uint8_t raw = column[std::int64_t{rows[i]} * width];
            const std::uint32_t code = reading.table ? reading.table[raw] : raw;
            const std::uint32_t key = code << 8 | static_cast<std::uint32_t>(i);
            if (key >= missing)
                return false;
            int at = i;
            for (; at > 0 && keys_[at - 1] > key; --at)
                keys_[at] = keys_[at - 1];
            keys_[at] = key;
        }
        return true;
    }

    std::optional<MomentScan<Crit>> scan_;
    std::uint32_t keys_[MomentScan<Crit>::kSortedRows];
    BinSums bins_;
    const MomentRows* r_ = nullptr;
    const NodePlace* node_ = nullptr;
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

    Cut of_sums(const std::int64_t*, const CodeReading&, std::int64_t) const {
        return {};  // no sums are made, see MomentHistograms::is_small
    }

    Cut of_rows(const std::uint8_t* column, int width, const CodeReading& reading,
                const std::int64_t*, std::int64_t) {
        return scan_.scan(*target_, *r_, *node_, column, width, reading,
                          [&](const std::int64_t* left) {
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
