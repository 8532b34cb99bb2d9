// The target of boosting: the totals of a node are integer gradients and hessians.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "collective/sum.hpp"
#include "grow/partition.hpp"
#include "kernels/boost_kernels.hpp"
#include "target/cell_totals.hpp"

namespace dics {

// The sampled rows of a round, by their places 0, 1, ... in the sample.
class GradientRows {
  public:
    explicit GradientRows(Team& team) : team_(team) {}

    const std::uint32_t* rows = nullptr;   // null: the place itself
    const std::int16_t* values = nullptr;  // [place][cells]
    std::vector<std::uint32_t> places, scratch;

    void reset(const std::uint32_t* sampled, const std::int16_t* sampled_values,
               std::int64_t n) {
        rows = sampled;
        values = sampled_values;
        places.resize(n);
        for (std::size_t i = 0; i < places.size(); ++i)
            places[i] = i;
        scratch.resize(places.size());
    }

    std::int64_t size() const { return places.size(); }

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
    // Smaller nodes are partitioned by one thread.
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

// Cells end with one register of padding.
using GradientTotals = CellTotals;

class Gradients : public CellTarget {
  public:
    using Rows = GradientRows;
    using Totals = GradientTotals;

    // With `monotonic`, there is one output.
    Gradients(const Outputs& outputs, std::vector<std::int8_t> monotonic)
        : CellTarget(std::move(monotonic)), outputs_(outputs) {}

    // Sets the parameters of a round in the units of its integers.
    void set_units(float l2, float min_hessian, double min_gain, double cat_smooth,
                   float cat_l2) {
        l2_ = l2;
        min_hessian_ = min_hessian;
        min_gain_ = min_gain;
        cat_smooth_ = cat_smooth;
        cat_l2_ = cat_l2;
    }

    // With very many rows, searches ignore the last `shift` bits of sums of gradients
    // and hessians, which then fit into 32 bits.
    void set_shift(int shift) { shift_ = shift; }
    std::int32_t narrowed(std::int64_t sum, int cell) const {
        if (shift_ == 0 || cell == outputs_.rows_at())
            return sum;
        return (sum + (std::int64_t{1} << (shift_ - 1))) >> shift_;
    }

    const Outputs& outputs() const { return outputs_; }
    float l2() const { return l2_; }
    float min_hessian() const { return min_hessian_; }
    // Added to the hessians of a category in the order of categories.
    double cat_smooth() const { return cat_smooth_; }
    // Added to l2 per category of a node in the score of a set.
    float cat_l2() const { return cat_l2_; }

    void measure(const Rows& r, std::int64_t begin, std::int64_t end,
                 const Sum& processes, Totals& totals) const {
        clear(totals);
        for (std::int64_t i = begin; i < end; ++i)
            add(r.values + std::int64_t{r.places[i]} * outputs_.cells, totals);
        processes.allreduce(totals.cells.data(), outputs_.cells);
        finish(totals);
    }

    void clear(Totals& totals) const {
        totals.cells.assign(outputs_.cells + kLanes, 0);
    }
    template <class Value>
    void add(const Value* cells, Totals& totals) const {
        for (int c = 0; c < outputs_.cells; ++c)
            totals.cells[c] += cells[c];
    }
    void finish(Totals& totals) const {
        totals.n_rows = totals.cells[outputs_.rows_at()];
    }

    // Moves rows begin..end-1 from the totals of a node to those of its left child.
    void split_totals(const Rows& r, std::int64_t begin, std::int64_t end, std::int64_t,
                      const Sum& processes, Totals& from, Totals& to) const {
        measure(r, begin, end, processes, to);
        subtract(to, from);
    }

    void set_bounds(const Split& split, Totals& left, Totals& right) const {
        if (is_constrained())
            bound_children(split, left, right,
                           [&](const Totals& totals) { return value(totals); });
    }

    bool is_done(const Totals&) const { return false; }
    float impurity(const Totals&) const { return 0; }

    bool accepts(const Split& split, const Totals& totals, double& gain) const {
        const double own = score(totals);
        gain = split.score - own;
        // Scores have float precision: smaller gains are rounding errors.
        return gain > 1e-6 * own && gain > min_gain_;
    }

    bool left_is_larger(const Totals& left, const Totals& right) const {
        return left.n_rows > right.n_rows;
    }

  private:
    double sum_of(const Totals& totals, int cell) const {
        return narrowed(totals.cells[cell], cell);
    }

    // The leaf value of the only output.
    double value(const Totals& totals) const {
        const double h = sum_of(totals, 1) + double{l2_};
        return std::clamp(h > 0 ? -sum_of(totals, 0) / h : 0.0, totals.lower,
                          totals.upper);
    }

    double score(const Totals& totals) const {
        if (is_constrained()) {
            const double v = value(totals);
            const double h = sum_of(totals, 1) + double{l2_};
            return -v * (2.0 * sum_of(totals, 0) + h * v);
        }
        double sum = 0;
        for (int c = 0; c < outputs_.n; ++c) {
            const double g = sum_of(totals, c);
            const double h = sum_of(totals, outputs_.hessian_at(c)) + double{l2_};
            sum += h > 0 ? g * g / h : 0.0;
        }
        return sum;
    }

    Outputs outputs_;
    float l2_ = 0, min_hessian_ = 0;
    double min_gain_ = 0, cat_smooth_ = 0;
    float cat_l2_ = 0;
    int shift_ = 0;
};

}  // namespace dics
