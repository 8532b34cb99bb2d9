// The best set of categories of a feature for classification.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "search/categories.hpp"
#include "search/classes/histogram.hpp"
#include "search/split_chooser.hpp"

namespace dics {

// With two classes, categories are in the order of the fraction of the second; with
// more, in that of their fractions along the direction of the largest variance. For one
// thread.
template <class Crit, class Count>
class ClassSets {
  public:
    using Open = OpenNode<ClassTotals<Count>>;

    // Codes 0..n_thresholds are the categories. With `random_key`, see CategoryOrder.
    Split best(const CategorySettings& settings, const CodeColumn& column,
               const ClassRows<Count>& r, const Open& node,
               const ClassLimits<Count>& limits, std::int64_t f,
               const std::uint64_t* random_key) {
        const int n_codes = column.reading.missing_code();
        count(column, r, node);
        if (!sort(settings, n_codes, node, random_key))
            return {};
        order_.add_up(counts_.data(), width_, 0, groups_);
        Cut cut = scan_bins<Crit>(groups_.data(), width_, order_.reading(), classes_,
                                  node.totals, limits, left_);
        if (!cut.found())
            return {};
        cut.score -= settings.charge * (order_.n_categories() - 1) * noise(node);
        if (cut.score <=
            Crit::template purity<Count>(node.totals.sum, node.totals.weight))
            return {};
        return order_.split(cut, f, node.totals.n_rows);
    }

  private:
    // Counts the classes that the node has and the rows of each code.
    void count(const CodeColumn& column, const ClassRows<Count>& r, const Open& node) {
        const std::vector<Count>& totals = node.totals.counts;
        classes_.clear();
        places_.assign(totals.size(), 0);
        for (std::size_t c = 0; c < totals.size(); ++c) {
            if (totals[c] == 0)
                continue;
            places_[c] = classes_.size();
            classes_.push_back(totals[c]);
        }
        width_ = classes_.size() + 1;
        counts_.assign((column.reading.missing_code() + 1) * width_, 0);
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            Count* of_code = counts_.data() + column.of(r.rows[i]) * width_;
            of_code[places_[r.labels[i]]] += r.count(i);
            ++of_code[width_ - 1];
        }
    }

    // `smooth` rows of the node are added to each category.
    bool sort(const CategorySettings& settings, int n_codes, const Open& node,
              const std::uint64_t* random_key) {
        const auto weight = static_cast<double>(node.totals.weight);
        const double added =
            settings.smooth * weight / static_cast<double>(node.totals.n_rows);
        const int n_classes = classes_.size();
        const bool is_binary = n_classes == 2;
        const bool found = order_.find(
            n_codes, is_binary ? 1 : n_classes,
            [&](int code) {
                return static_cast<std::int64_t>(counts_[code * width_ + width_ - 1]);
            },
            [&](int code, int i) {
                const int c = is_binary ? 1 : i;
                const Count* counts = counts_.data() + code * width_;
                double of_code = 0;
                for (int other = 0; other < n_classes; ++other)
                    of_code += static_cast<double>(counts[other]);
                const double fraction = static_cast<double>(classes_[c]) / weight;
                return (static_cast<double>(counts[c]) + added * fraction) /
                       (of_code + added);
            },
            settings.set_limits, random_key);
        // A set of two categories is a threshold, too.
        return found && order_.n_categories() > 2;
    }

    double noise(const Open& node) const {
        const auto& totals = node.totals;
        return Crit::template noise<Count>(totals.sum, totals.weight,
                                           totals.n_present) *
               first_direction(order_.n_categories() - 1, totals) *
               static_cast<double>(totals.weight) / static_cast<double>(totals.n_rows);
    }

    // The fraction of noise in its first principal direction, where `n` numbers for
    // each class are noise: with equal variance in d directions, (1 + sqrt(d / n))^2 /
    // d (Marchenko and Pastur 1967).
    double first_direction(int n, const ClassTotals<Count>& totals) const {
        if (classes_.size() == 2)
            return 1;
        const auto weight = static_cast<double>(totals.weight);
        double squares = 0, cubes = 0;
        for (const Count count : classes_) {
            const double fraction = static_cast<double>(count) / weight;
            squares += fraction * fraction;
            cubes += fraction * fraction * fraction;
        }
        // The trace of the covariance of the fractions, and that of its square.
        const double trace = 1 - squares;
        const double d = trace * trace / (squares - 2 * cubes + squares * squares);
        const double edge = 1 + std::sqrt(d / n);
        return std::min(1.0, edge * edge / d);
    }

    int width_ = 0;
    std::vector<std::size_t> places_;  // of each class among those of the node
    std::vector<Count> classes_;       // counts of the latter
    std::vector<Count> counts_;        // [code][class of the node, rows]
    std::vector<Count> groups_, left_;
    CategoryOrder order_;
};

}  // namespace dics
