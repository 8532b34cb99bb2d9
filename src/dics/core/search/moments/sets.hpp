// The best set of categories of a feature for regression.
#pragma once

#include <cmath>
#include <vector>

#include "grow/node.hpp"
#include "search/categories.hpp"
#include "search/moments/median.hpp"

namespace dics {

// Categories are in the order of their mean targets; with several outputs, in that of
// the means along the direction of the largest variance. For one thread.
template <class Crit>
class MomentSets {
  public:
    using Target = Moments<Crit>;
    using Open = OpenNode<MomentTotals>;

    // `scan` was started for the node; codes 0..n_thresholds are the categories. The
    // cells of the node's rows are for criteria that are not made of sums.
    Split best(const CategorySettings& settings, const Target& target,
               FeatureScan<Crit>& scan, CodeColumn column, const MomentRows& r,
               const Open& node, const std::int64_t* cells, std::int64_t f,
               const std::uint64_t* random_key) {
        add_up(column, r, node);
        if (!sort(settings, target, column.reading.missing_code(), node, random_key))
            return {};
        const CodeReading reading = order_.reading();
        Cut cut;
        if constexpr (Crit::kUsesRanks) {
            column.reading = reading;
            cut = scan.of_rows(column, cells, f);
        } else {
            order_.add_up(sums_.data(), n_cells_, 0, groups_);
            cut = scan.of_sums(groups_.data(), reading, f);
        }
        if (!cut.found())
            return {};
        cut.score -=
            settings.charge * (order_.n_categories() - 1) * noise(target, r, node);
        if (cut.score <= 0)
            return {};
        return order_.split(cut, f, node.totals.n_rows);
    }

  private:
    // Adds up the targets of each category.
    void add_up(const CodeColumn& column, const MomentRows& r, const Open& node) {
        const int n_bins = column.reading.missing_code() + 1;
        n_cells_ = r.n_cells;
        sums_.assign(n_bins * n_cells_, 0);
        rows_.assign(n_bins, 0);
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            const int code = column.of(r.rows[i]);
            for (int c = 0; c < n_cells_; ++c)
                sums_[code * n_cells_ + c] += r.of(i)[c];
            ++rows_[code];
        }
    }

    // `smooth` rows of the node's mean are added to each category.
    bool sort(const CategorySettings& settings, const Target& target, int n_codes,
              const Open& node, const std::uint64_t* random_key) {
        const auto weight = static_cast<double>(node.totals.weight());
        const double added =
            settings.smooth * weight / static_cast<double>(node.totals.n_rows);
        const bool found = order_.find(
            n_codes, target.n_outputs(), [&](int code) { return rows_[code]; },
            [&](int code, int c) {
                const std::int64_t* sums = sums_.data() + code * n_cells_;
                const double mean = static_cast<double>(node.totals.sum(c)) / weight;
                return (static_cast<double>(sums[c + 1]) + added * mean) /
                       (static_cast<double>(sums[0]) + added) * target.unit(c);
            },
            settings.set_limits, random_key);
        // A set of two categories is a threshold, too.
        return found && order_.n_categories() > 2;
    }

    double noise(const Target& target, const MomentRows& r, const Open& node) const {
        double sum = 0;
        for (int c = 0; c < target.n_outputs(); ++c)
            sum += Crit::noise(target.variance(r, node.begin, node.end, node.totals, c),
                               target.mean(node.totals, c));
        return sum / target.n_outputs() * target.row_weight(node.totals);
    }

    int n_cells_ = 0;
    std::vector<std::int64_t> sums_;  // [code][cell]
    std::vector<std::int64_t> rows_;  // of each code
    std::vector<std::int64_t> groups_;
    CategoryOrder order_;
};

}  // namespace dics
