// The target of regression: a node adds up weights and weighted targets.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "collective/sum.hpp"
#include "grow/split.hpp"
#include "target/moment_rows.hpp"

namespace dics {

struct MomentTotals {
    std::vector<std::int64_t> cells;  // weight, outputs, (rows)
    std::int64_t n_rows = 0;
    bool is_constant = false;  // all rows have the same target
    // Where the mean may lie, by monotonic constraints above the node; in cells.
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();

    std::int64_t weight() const { return cells[0]; }
    // Of the first output.
    double mean() const {
        return static_cast<double>(cells[1]) / static_cast<double>(cells[0]);
    }
    std::int64_t sum(int output) const {
        return cells[static_cast<std::size_t>(output) + 1];
    }
};

template <class Crit>
class Moments {
  public:
    using Criterion = Crit;
    using Rows = MomentRows;
    using Totals = MomentTotals;

    // `monotonic` is 1 or -1 for features with which the mean must rise or fall, and
    // may be empty.
    // `total` is the weight of the whole tree's rows.
    Moments(const MomentSample& sample, std::int64_t total,
            double min_weight_fraction_leaf, double min_impurity_decrease,
            std::vector<std::int8_t> monotonic)
        : n_outputs_(sample.n_outputs),
          weight_unit_(sample.weight_unit),
          centres_(sample.centres),
          units_(sample.units),
          monotonic_(std::move(monotonic)),
          min_impurity_decrease_(min_impurity_decrease) {
        min_weight_ = static_cast<std::int64_t>(
            std::ceil(static_cast<double>(total) * min_weight_fraction_leaf));
        total_weight_ = static_cast<double>(total) * weight_unit_;
    }

    int n_outputs() const { return n_outputs_; }
    std::int64_t min_weight() const { return min_weight_; }
    double centre(int output) const {
        return centres_[static_cast<std::size_t>(output)];
    }
    double unit(int output) const { return units_[static_cast<std::size_t>(output)]; }

    void measure(const Rows& r, std::int64_t begin, std::int64_t end,
                 const Sum& contributors, Totals& totals) const {
        totals.cells.assign(static_cast<std::size_t>(r.n_cells), 0);
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t* cells = r.of(i);
            for (std::size_t c = 0; c < totals.cells.size(); ++c)
                totals.cells[c] += cells[c];
        }
        totals.n_rows = end - begin;
        contributors.allreduce(totals.cells.data(), r.n_cells);
        contributors.allreduce(&totals.n_rows, 1);
        totals.is_constant = is_constant(r, begin, end);
    }

    // Moves rows begin..middle-1 from a node's totals to those of its left child;
    // middle..end-1 stay.
    void split_totals(const Rows& r, std::int64_t begin, std::int64_t middle,
                      std::int64_t end, const Sum& contributors, Totals& from,
                      Totals& to) const {
        measure(r, begin, middle, contributors, to);
        subtract(to, from);
        from.is_constant = is_constant(r, middle, end);
    }

    void subtract(const Totals& part, Totals& all) const {
        for (std::size_t c = 0; c < all.cells.size(); ++c)
            all.cells[c] -= part.cells[c];
        all.n_rows -= part.n_rows;
    }

    bool is_constrained() const { return !monotonic_.empty(); }
    int direction(std::int64_t feature) const {
        return monotonic_.empty() ? 0 : monotonic_[static_cast<std::size_t>(feature)];
    }
    // Children of a split along a constrained feature stay on their side of the middle
    // between their means; `right` still has the bounds of the node.
    void set_bounds(const Split& split, Totals& left, Totals& right) const {
        left.lower = right.lower;
        left.upper = right.upper;
        const int direction = this->direction(split.feature);
        if (direction == 0)
            return;
        const double middle = left.mean() / 2 + right.mean() / 2;
        (direction > 0 ? left : right).upper = middle;
        (direction > 0 ? right : left).lower = middle;
    }

    bool is_done(const Totals& totals) const { return totals.is_constant; }
    // Found when the tree is laid out.
    float impurity(const Totals&) const { return 0; }

    bool accepts(const Split& split, const Totals&, double& gain) const {
        gain = split.score / total_weight_;
        return min_impurity_decrease_ <= 0 ||
               gain + std::numeric_limits<double>::epsilon() >= min_impurity_decrease_;
    }

    bool left_is_larger(const Totals& left, const Totals& right) const {
        return left.weight() >= right.weight();
    }

    double weight_unit() const { return weight_unit_; }
    // What a row weighs, in the mean.
    double row_weight(const Totals& totals) const {
        return static_cast<double>(totals.weight()) * weight_unit_ /
               static_cast<double>(totals.n_rows);
    }
    double mean(const Totals& totals, int output) const {
        return centre(output) +
               static_cast<double>(totals.sum(output)) * unit(output) /
                   (static_cast<double>(totals.weight()) * weight_unit_);
    }
    // Mean square of how far the targets of rows begin..end-1 of a node that has these
    // totals are from its mean: from a sum of whole numbers, like all others.
    double variance(const Rows& r, std::int64_t begin, std::int64_t end,
                    const Totals& totals, int output) const {
        const double centre = mean(totals, output);
        const double scale = row_weight(totals) / unit(output);
        __int128 sum = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            const __int128 far = std::llrint((r.target(i)[output] - centre) * scale);
            sum += far * far;
        }
        return static_cast<double>(sum) / static_cast<double>(totals.n_rows) / scale /
               scale;
    }

  private:
    static bool is_constant(const Rows& r, std::int64_t begin, std::int64_t end) {
        const double* first = r.target(begin);
        for (std::int64_t i = begin + 1; i < end; ++i) {
            if (!std::equal(first, first + r.n_outputs, r.target(i)))
                return false;
        }
        return true;
    }

    int n_outputs_;
    double weight_unit_;
    std::vector<double> centres_, units_;
    std::vector<std::int8_t> monotonic_;
    double min_impurity_decrease_;
    double total_weight_;
    std::int64_t min_weight_;
};

}  // namespace dics
