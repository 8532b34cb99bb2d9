// The target of boosting: a node adds up gradients and hessians in whole numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "collective/sum.hpp"
#include "grow/partition.hpp"
#include "grow/split.hpp"
#include "kernels/boost_kernels.hpp"

namespace dics {

// The rows drawn for a round, by their places 0, 1, ... among them.
class GradientRows {
  public:
    explicit GradientRows(Team& team) : team_(team) {}

    const std::uint32_t* rows = nullptr;   // null: the place itself
    const std::int16_t* values = nullptr;  // [place][cells]
    std::vector<std::uint32_t> places, scratch;

    void reset(const std::uint32_t* drawn, const std::int16_t* drawn_values,
               std::int64_t n) {
        rows = drawn;
        values = drawn_values;
        places.resize(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < places.size(); ++i)
            places[i] = static_cast<std::uint32_t>(i);
        scratch.resize(places.size());
    }

    std::int64_t size() const { return static_cast<std::int64_t>(places.size()); }

    template <class GoesLeft>
    std::int64_t partition(std::int64_t begin, std::int64_t end, GoesLeft goes_left) {
        const std::uint32_t* all = places.data();
        if (!rows)
            return partition_places(begin, end,
                                    [&](std::int64_t i) { return goes_left(all[i]); });
        const std::uint32_t* row = rows;
        return partition_places(begin, end,
                                [&](std::int64_t i) { return goes_left(row[all[i]]); });
    }

  private:
    // Nodes smaller than this are moved by one thread.
    static constexpr std::int64_t kParallelRows = 1 << 15;

    template <class GoesLeft>
    std::int64_t partition_places(std::int64_t begin, std::int64_t end,
                                  GoesLeft goes_left) {
        const RowColumn<std::uint32_t> column{places.data(), scratch.data()};
        if (end - begin >= kParallelRows && team_.size() > 1)
            return partition_together(begin, end, goes_left, column, team_);
        return dics::partition(begin, end, goes_left, column);
    }

    Team& team_;
};

// Sums of the cells of a node's rows, and a register of padding.
struct GradientTotals {
    std::vector<std::int64_t> cells;
    std::int64_t n_rows = 0;
    // Where the value may lie, by monotonic constraints above the node.
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();
};

class Gradients {
  public:
    using Rows = GradientRows;
    using Totals = GradientTotals;

    // `monotonic` is 1 or -1 for features with which scores must rise or fall; it may
    // be empty. With it, there is one output.
    Gradients(const Outputs& outputs, std::vector<std::int8_t> monotonic)
        : outputs_(outputs), monotonic_(std::move(monotonic)) {}

    // What a round's numbers are worth: l2, the least sum of hessians, the least gain
    // and what is added to hessians and l2 for categories in their units.
    void set_units(float l2, float min_hessian, double min_gain, double cat_smooth,
                   float cat_l2) {
        cat_smooth_ = cat_smooth;
        cat_l2_ = cat_l2;
        l2_ = l2;
        min_hessian_ = min_hessian;
        min_gain_ = min_gain;
    }

    // Of very many rows, sums are looked at without so many bits at their end: those of
    // gradients and hessians then fit into 32.
    void set_shift(int shift) { shift_ = shift; }
    std::int32_t narrowed(std::int64_t sum, int cell) const {
        if (shift_ == 0 || cell == outputs_.rows_at())
            return static_cast<std::int32_t>(sum);
        return static_cast<std::int32_t>((sum + (std::int64_t{1} << (shift_ - 1))) >>
                                         shift_);
    }

    const Outputs& outputs() const { return outputs_; }
    float l2() const { return l2_; }
    float min_hessian() const { return min_hessian_; }
    // Added to the hessians of a category's code where codes are put in order.
    double cat_smooth() const { return cat_smooth_; }
    // Added to l2 for each code of a node, where sets of them are rated.
    float cat_l2() const { return cat_l2_; }

    void measure(const Rows& r, std::int64_t begin, std::int64_t end,
                 const Sum& contributors, Totals& totals) const {
        clear(totals);
        for (std::int64_t i = begin; i < end; ++i)
            add(r.values + std::int64_t{r.places[i]} * outputs_.cells, totals);
        contributors.allreduce(totals.cells.data(), outputs_.cells);
        finish(totals);
    }

    void clear(Totals& totals) const {
        totals.cells.assign(static_cast<std::size_t>(outputs_.cells) + kLanes, 0);
    }
    template <class Value>
    void add(const Value* cells, Totals& totals) const {
        for (int c = 0; c < outputs_.cells; ++c)
            totals.cells[static_cast<std::size_t>(c)] += cells[c];
    }
    void finish(Totals& totals) const {
        totals.n_rows = totals.cells[static_cast<std::size_t>(outputs_.rows_at())];
    }

    void subtract(const Totals& part, Totals& all) const {
        for (std::size_t c = 0; c < all.cells.size(); ++c)
            all.cells[c] -= part.cells[c];
        all.n_rows -= part.n_rows;
    }

    // Moves rows begin..end-1 from a node's totals to those of its left child.
    void split_totals(const Rows& r, std::int64_t begin, std::int64_t end, std::int64_t,
                      const Sum& contributors, Totals& from, Totals& to) const {
        measure(r, begin, end, contributors, to);
        subtract(to, from);
    }

    bool is_constrained() const { return !monotonic_.empty(); }
    int direction(std::int64_t feature) const {
        return monotonic_.empty() ? 0 : monotonic_[static_cast<std::size_t>(feature)];
    }
    // Children of a split along a constrained feature stay on their side of the middle
    // between their values; `right` still has the bounds of the node.
    void set_bounds(const Split& split, Totals& left, Totals& right) const {
        if (!is_constrained())
            return;
        left.lower = right.lower;
        left.upper = right.upper;
        const int direction = this->direction(split.feature);
        if (direction == 0)
            return;
        const double middle = value(left) / 2 + value(right) / 2;
        (direction > 0 ? left : right).upper = middle;
        (direction > 0 ? right : left).lower = middle;
    }

    bool is_done(const Totals&) const { return false; }
    float impurity(const Totals&) const { return 0; }

    bool accepts(const Split& split, const Totals& totals, double& gain) const {
        const double own = score(totals);
        gain = split.score - own;
        // Sums of single precision: less than this is noise.
        return gain > 1e-6 * own && gain > min_gain_;
    }

    bool left_is_larger(const Totals& left, const Totals& right) const {
        return left.n_rows > right.n_rows;
    }

  private:
    double sum_of(const Totals& totals, int cell) const {
        return narrowed(totals.cells[static_cast<std::size_t>(cell)], cell);
    }

    // What a leaf would add, of the only output.
    double value(const Totals& totals) const {
        const double h = sum_of(totals, 1) + static_cast<double>(l2_);
        return std::clamp(h > 0 ? -sum_of(totals, 0) / h : 0.0, totals.lower,
                          totals.upper);
    }

    double score(const Totals& totals) const {
        if (is_constrained()) {
            const double v = value(totals);
            const double h = sum_of(totals, 1) + static_cast<double>(l2_);
            return -v * (2.0 * sum_of(totals, 0) + h * v);
        }
        double sum = 0;
        for (int c = 0; c < outputs_.n; ++c) {
            const double g = sum_of(totals, c);
            const double h =
                sum_of(totals, outputs_.hessian_at(c)) + static_cast<double>(l2_);
            sum += h > 0 ? g * g / h : 0.0;
        }
        return sum;
    }

    Outputs outputs_;
    std::vector<std::int8_t> monotonic_;
    float l2_ = 0, min_hessian_ = 0;
    double min_gain_ = 0, cat_smooth_ = 0;
    float cat_l2_ = 0;
    int shift_ = 0;
};

}  // namespace dics
