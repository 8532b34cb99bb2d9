// The best set of categories of a feature for a node of classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "grow/node.hpp"
#include "search/category_order.hpp"
#include "target/class_counts.hpp"

namespace dics {

// Of two classes, categories are in the order of the share of the second; of more, of
// their shares along the direction in which these vary most. For one thread.
template <class Crit, class Count>
class ClassSets {
  public:
    using Target = ClassCounts<Crit, Count>;
    using Open = OpenNode<ClassTotals<Count>>;

    // Counts the classes of each category. `column` has the codes of the feature, one
    // every `stride` bytes; codes 0..n_codes-1 are its categories, and n_codes is
    // NaN's.
    void count(const std::uint8_t* column, std::int64_t stride, int n_codes,
               const ClassRows<Count>& r, const Open& node) {
        start(n_codes, node);
        const std::size_t k = classes_.size();
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            const std::size_t code = column[r.rows[i] * stride];
            counts_[code * k + places_[r.labels[i]]] += r.count(i);
            ++rows_[code];
        }
    }

    // Of what was counted last.
    Split best(const CategorySettings& settings, const Target& target,
               std::int64_t min_leaf, std::int64_t f) {
        const Open& node = *node_;
        const int n_codes = static_cast<int>(rows_.size()) - 1;
        min_leaf_ = min_leaf;
        min_weight_ = target.min_weight();
        if (!sort(settings, n_codes))
            return {};
        Cut cut;
        walk(false, n_codes, cut);
        if (rows_[static_cast<std::size_t>(n_codes)] > 0) {
            walk(true, n_codes, cut);
            cut.saw_missing = true;
        }
        cut.score -= settings.charge * (order_.n_categories() - 1) * noise();
        const double purity =
            Crit::template purity<Count>(node.totals.sum, node.totals.weight);
        if (!cut.found() || cut.score <= purity)
            return {};
        return order_.split(cut, f, node.totals.n_rows, rows_of());
    }

  private:
    using W = typename Wide<Count>::type;

    auto rows_of() const {
        return [this](int code) { return rows_[static_cast<std::size_t>(code)]; };
    }
    const Count* counts(int code) const {
        return counts_.data() + static_cast<std::size_t>(code) * classes_.size();
    }

    // Finds the classes that the node has.
    void start(int n_codes, const Open& node) {
        node_ = &node;
        const std::vector<Count>& totals = node.totals.counts;
        classes_.clear();
        places_.assign(totals.size(), 0);
        for (std::size_t c = 0; c < totals.size(); ++c) {
            if (totals[c] == 0)
                continue;
            places_[c] = classes_.size();
            classes_.push_back(totals[c]);
        }
        counts_.assign(static_cast<std::size_t>(n_codes + 1) * classes_.size(), 0);
        rows_.assign(static_cast<std::size_t>(n_codes) + 1, 0);
    }

    // Shares are drawn to those of the node by `smooth` rows of it.
    bool sort(const CategorySettings& settings, int n_codes) {
        const auto weight = static_cast<double>(node_->totals.weight);
        const double added =
            settings.smooth * weight / static_cast<double>(node_->totals.n_rows);
        const bool is_single = classes_.size() == 2;
        return order_.find(
            n_codes, is_single ? 1 : static_cast<int>(classes_.size()), rows_of(),
            [&](int code, int i) {
                const auto c = static_cast<std::size_t>(is_single ? 1 : i);
                double of_code = 0;
                for (std::size_t other = 0; other < classes_.size(); ++other)
                    of_code += static_cast<double>(counts(code)[other]);
                const double share = static_cast<double>(classes_[c]) / weight;
                return (static_cast<double>(counts(code)[c]) + added * share) /
                       (of_code + added);
            },
            settings.set_limits);
    }

    // Rates all cuts between groups, with NaN on one of the sides.
    void walk(bool missing_left, int n_codes, Cut& best) {
        left_.assign(classes_.size(), 0);
        right_ = classes_;
        left_sum_ = 0;
        right_sum_ = node_->totals.sum;
        left_weight_ = 0;
        left_rows_ = 0;
        if (missing_left)
            move(n_codes);
        int previous = 0;
        order_.visit([&](int code, int group) {
            if (group != previous)
                offer(previous, missing_left, best);
            previous = group;
            move(code);
        });
    }

    // A code goes to the left.
    void move(int code) {
        for (std::size_t c = 0; c < classes_.size(); ++c) {
            const Count n = counts(code)[c];
            if (n == 0)
                continue;
            const Count left = left_[c] + n, right = right_[c] - n;
            left_sum_ +=
                Crit::template term<Count>(left) - Crit::template term<Count>(left_[c]);
            right_sum_ += Crit::template term<Count>(right) -
                          Crit::template term<Count>(right_[c]);
            left_[c] = left;
            right_[c] = right;
            left_weight_ += n;
        }
        left_rows_ += rows_[static_cast<std::size_t>(code)];
    }

    void offer(int group, bool missing_left, Cut& best) const {
        const Count right = node_->totals.weight - left_weight_;
        if (left_rows_ < min_leaf_ || node_->totals.n_rows - left_rows_ < min_leaf_ ||
            left_weight_ == 0 || right == 0 || left_weight_ < min_weight_ ||
            right < min_weight_)
            return;
        const double score =
            Crit::template score<Count>(left_sum_, left_weight_, right_sum_, right);
        if (score > best.score)
            best = Cut{score, group, group, missing_left, false};
    }

    double noise() const {
        const auto& totals = node_->totals;
        return Crit::template noise<Count>(totals.sum, totals.weight,
                                           totals.n_present) *
               along_share(order_.n_categories() - 1) *
               static_cast<double>(totals.weight) / static_cast<double>(totals.n_rows);
    }

    // What the direction in which noise varies most has of it, where `n` numbers for
    // each class are noise: of shares that vary alike in d directions,
    // (1 + sqrt(d / n))^2 / d (Marchenko and Pastur 1967).
    double along_share(int n) const {
        if (classes_.size() == 2)
            return 1;
        const auto weight = static_cast<double>(node_->totals.weight);
        double squares = 0, cubes = 0;
        for (const Count count : classes_) {
            const double share = static_cast<double>(count) / weight;
            squares += share * share;
            cubes += share * share * share;
        }
        // Of the covariance of the shares: its trace, and that of its square.
        const double trace = 1 - squares;
        const double d = trace * trace / (squares - 2 * cubes + squares * squares);
        const double edge = 1 + std::sqrt(d / n);
        return std::min(1.0, edge * edge / d);
    }

    const Open* node_ = nullptr;
    std::int64_t min_leaf_ = 1;
    Count min_weight_ = 0;
    std::vector<std::size_t> places_;  // of each class among those of the node
    std::vector<Count> classes_;       // counts of the latter
    std::vector<Count> counts_;        // [code][class of the node]
    std::vector<std::int64_t> rows_;   // of each code
    CategoryOrder order_;
    // What goes left, and what is left.
    std::vector<Count> left_, right_;
    W left_sum_ = 0, right_sum_ = 0;
    Count left_weight_ = 0;
    std::int64_t left_rows_ = 0;
};

}  // namespace dics
