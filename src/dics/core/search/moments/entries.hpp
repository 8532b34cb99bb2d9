// The best cut of a feature in regression, from rows without the common code.
#pragma once

#include <span>

#include "search/moments/median.hpp"
#include "search/node_entries.hpp"

namespace dics {

template <class Crit>
class MomentEntryScan {
  public:
    using Target = Moments<Crit>;
    using Open = OpenNode<MomentTotals>;

    void start_node(const Target& target, const MomentRows& rows, const Open& node,
                    std::int64_t min_leaf) {
        r_ = &rows;
        node_ = &node;
        scan_.start_node(target, rows, node, {min_leaf, target.min_weight()});
    }

    Cut scan(std::span<const NodeEntry> entries, std::int64_t f, std::uint8_t common,
             const CodeReading& reading) {
        if constexpr (Crit::kUsesRanks) {
            write_column(entries, common);
            return scan_.of_rows({column_.data(), 1, reading}, nullptr, f);
        } else {
            add_up(entries, common, reading);
            return scan_.of_sums(sums_.data(), reading, f);
        }
    }

  private:
    // The codes of the node's rows, for what must look at each of them.
    void write_column(std::span<const NodeEntry> entries, std::uint8_t common) {
        const std::uint32_t* rows = r_->rows.data();
        for (std::int64_t i = node_->begin; i < node_->end; ++i) {
            if (rows[i] >= column_.size())
                column_.resize(rows[i] + 1);
            column_[rows[i]] = common;
        }
        for (const NodeEntry& entry : entries)
            column_[rows[entry.place]] = entry.code;
    }

    // The common bin gets the rest of the node.
    void add_up(std::span<const NodeEntry> entries, std::uint8_t common,
                const CodeReading& reading) {
        const int n_cells = r_->n_cells;
        sums_.assign((reading.missing_code() + 1) * n_cells, 0);
        std::int64_t* rest = sums_.data() + reading(common) * n_cells;
        for (int c = 0; c < n_cells; ++c)
            rest[c] = node_->totals.cells[c];
        for (const NodeEntry& entry : entries) {
            const std::int64_t* cells = r_->of(entry.place);
            std::int64_t* sum = sums_.data() + reading(entry.code) * n_cells;
            for (int c = 0; c < n_cells; ++c) {
                rest[c] -= cells[c];
                sum[c] += cells[c];
            }
        }
    }

    const MomentRows* r_ = nullptr;
    const Open* node_ = nullptr;
    FeatureScan<Crit> scan_;
    std::vector<std::int64_t> sums_;    // [bin][cell]
    std::vector<std::uint8_t> column_;  // of each row of X
};

}  // namespace dics
