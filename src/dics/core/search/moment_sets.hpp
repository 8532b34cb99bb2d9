// The best set of levels of a category for a node of numbers.
#pragma once

#include <cmath>
#include <vector>

#include "grow/node.hpp"
#include "search/feature_scan.hpp"
#include "search/level_order.hpp"

namespace dics {

// Levels are in the order of their mean targets; of several outputs, of the means along
// the direction in which these vary most. For one thread.
template <class Crit>
class MomentSets {
  public:
    using Target = Moments<Crit>;
    using Open = OpenNode<MomentTotals>;

    // Adds up the targets of each level; codes 0..n_codes-1 are the levels, and n_codes
    // is NaN's.
    void add_up(const CodeColumn& column, int n_codes, const MomentRows& r,
                const Open& node) {
        node_ = &node;
        n_cells_ = static_cast<std::size_t>(r.n_cells);
        sums_.assign(static_cast<std::size_t>(n_codes + 1) * n_cells_, 0);
        rows_.assign(static_cast<std::size_t>(n_codes) + 1, 0);
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            const std::size_t code = column.of(r.rows[static_cast<std::size_t>(i)]);
            const std::int64_t* cells = r.of(i);
            for (std::size_t c = 0; c < n_cells_; ++c)
                sums_[code * n_cells_ + c] += cells[c];
            ++rows_[code];
        }
    }
    // The same from sums, [code][cell], and the rows of each code.
    void read(const std::int64_t* sums, const std::int64_t* rows, int n_codes,
              const Open& node) {
        node_ = &node;
        n_cells_ = node.totals.cells.size();
        const std::size_t n_bins = static_cast<std::size_t>(n_codes) + 1;
        sums_.assign(sums, sums + n_bins * n_cells_);
        rows_.assign(rows, rows + n_bins);
    }

    // Of what was added up or read last. `scan` has been told of the node;
    // `variance_of(output)` is that of its targets. `column` and the cells of the
    // node's rows are for criteria that are not made of sums.
    template <class VarianceOf>
    Split best(const CategorySettings& settings, const Target& target,
               FeatureScan<Crit>& scan, std::int64_t f, const VarianceOf& variance_of,
               CodeColumn column, const std::int64_t* cells) {
        const Open& node = *node_;
        const int n_codes = static_cast<int>(rows_.size()) - 1;
        if (!sort(settings, target, n_codes, node))
            return {};
        const CodeReading reading = order_.reading();
        Cut cut;
        if constexpr (Crit::kUsesRanks) {
            column.reading = reading;
            cut = scan.of_rows(column, cells, f);
        } else {
            cut = scan.of_sums(group_sums(n_codes), reading, f);
        }
        if (!cut.found())
            return {};
        cut.score -=
            settings.charge * (order_.n_levels() - 1) * noise(target, variance_of);
        if (cut.score <= 0)
            return {};
        return order_.split(cut, f, node.totals.n_rows, rows_of());
    }

    // The same of a node whose rows are all here.
    Split best_of_rows(const CategorySettings& settings, const Target& target,
                       FeatureScan<Crit>& scan, std::int64_t f,
                       const CodeColumn& column, int n_codes, const MomentRows& r,
                       const Open& node, const std::int64_t* cells) {
        add_up(column, n_codes, r, node);
        return best(
            settings, target, scan, f,
            [&](int c) {
                const MomentTotals& totals = node.totals;
                return target.variance(
                    target.squares(r, node.begin, node.end, totals, c), totals, c);
            },
            column, cells);
    }

  private:
    auto rows_of() const {
        return [this](int code) { return rows_[static_cast<std::size_t>(code)]; };
    }

    // Means are drawn to those of the node by `smooth` rows of it.
    bool sort(const CategorySettings& settings, const Target& target, int n_codes,
              const Open& node) {
        const auto weight = static_cast<double>(node.totals.weight());
        const double added =
            settings.smooth * weight / static_cast<double>(node.totals.n_rows);
        return order_.find(
            n_codes, target.n_outputs(), rows_of(),
            [&](int code, int c) {
                const std::int64_t* sums =
                    sums_.data() + static_cast<std::size_t>(code) * n_cells_;
                const double mean = static_cast<double>(node.totals.sum(c)) / weight;
                return (static_cast<double>(sums[c + 1]) + added * mean) /
                       (static_cast<double>(sums[0]) + added) * target.unit(c);
            },
            settings.set_limits);
    }

    // [group and NaN][cell]
    const std::int64_t* group_sums(int n_codes) {
        const auto n_groups = static_cast<std::size_t>(order_.n_groups());
        group_sums_.assign((n_groups + 1) * n_cells_, 0);
        auto add = [&](int code, std::size_t group) {
            for (std::size_t c = 0; c < n_cells_; ++c)
                group_sums_[group * n_cells_ + c] +=
                    sums_[static_cast<std::size_t>(code) * n_cells_ + c];
        };
        order_.visit(
            [&](int code, int group) { add(code, static_cast<std::size_t>(group)); });
        add(n_codes, n_groups);
        return group_sums_.data();
    }

    template <class VarianceOf>
    double noise(const Target& target, const VarianceOf& variance_of) const {
        double sum = 0;
        for (int c = 0; c < target.n_outputs(); ++c)
            sum += Crit::noise(variance_of(c), target.mean(node_->totals, c));
        return sum / target.n_outputs() * target.row_weight(node_->totals);
    }

    const Open* node_ = nullptr;
    std::size_t n_cells_ = 0;
    std::vector<std::int64_t> sums_;  // [code][cell]
    std::vector<std::int64_t> rows_;  // of each code
    std::vector<std::int64_t> group_sums_;
    LevelOrder order_;
};

}  // namespace dics
