// The best set of categories of a feature for a node of numbers.
#pragma once

#include <cmath>
#include <vector>

#include "grow/node.hpp"
#include "search/category_order.hpp"
#include "search/feature_scan.hpp"

namespace dics {

// Categories are in the order of their mean targets; of several outputs, of the means
// along the direction in which these vary most. For one thread.
template <class Crit>
class MomentSets {
  public:
    using Target = Moments<Crit>;
    using Open = OpenNode<MomentTotals>;

    // `scan` has been told of the node; codes 0..n_codes-1 are the categories, and
    // n_codes is NaN's. The cells of the node's rows are for criteria that are not made
    // of sums.
    Split best(const CategorySettings& settings, const Target& target,
               FeatureScan<Crit>& scan, std::int64_t f, CodeColumn column, int n_codes,
               const MomentRows& r, const Open& node, const std::int64_t* cells) {
        add_up(column, n_codes, r, node);
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
            settings.charge * (order_.n_categories() - 1) * noise(target, r, node);
        if (cut.score <= 0)
            return {};
        return order_.split(cut, f, node.totals.n_rows, rows_of());
    }

  private:
    // Adds up the targets of each category.
    void add_up(const CodeColumn& column, int n_codes, const MomentRows& r,
                const Open& node) {
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

    double noise(const Target& target, const MomentRows& r, const Open& node) const {
        double sum = 0;
        for (int c = 0; c < target.n_outputs(); ++c)
            sum += Crit::noise(target.variance(r, node.begin, node.end, node.totals, c),
                               target.mean(node.totals, c));
        return sum / target.n_outputs() * target.row_weight(node.totals);
    }

    std::size_t n_cells_ = 0;
    std::vector<std::int64_t> sums_;  // [code][cell]
    std::vector<std::int64_t> rows_;  // of each code
    std::vector<std::int64_t> group_sums_;
    CategoryOrder order_;
};

}  // namespace dics
