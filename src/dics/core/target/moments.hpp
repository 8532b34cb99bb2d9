// The target of regression: the totals of a node are weights and weighted targets.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "collective/sum.hpp"
#include "target/cell_totals.hpp"
#include "target/moment_rows.hpp"

namespace dics {

// Cells are the weight, the outputs and, for some weights, the number of rows.
struct MomentTotals : CellTotals {
    bool is_constant = false;  // all rows have the same target

    std::int64_t weight() const { return cells[0]; }
    // Mean of the first output, in units of the cells.
    double mean() const { return double(cells[1]) / double(cells[0]); }
    std::int64_t sum(int output) const { return cells[output + 1]; }
};

template <class Crit>
class Moments : public CellTarget {
  public:
    using Criterion = Crit;
    using Rows = MomentRows;
    using Totals = MomentTotals;

    // `total` is the weight of all rows of the tree.
    Moments(const MomentSample& sample, std::int64_t total,
            double min_weight_fraction_leaf, double min_impurity_decrease,
            std::vector<std::int8_t> monotonic)
        : CellTarget(std::move(monotonic)),
          n_outputs_(sample.n_outputs),
          weight_unit_(sample.weight_unit),
          centers_(sample.centers),
          units_(sample.units),
          min_impurity_decrease_(min_impurity_decrease),
          total_weight_(total * weight_unit_),
          min_weight_(std::ceil(total * min_weight_fraction_leaf)) {}

    int n_outputs() const { return n_outputs_; }
    std::int64_t min_weight() const { return min_weight_; }
    double center(int output) const { return centers_[output]; }
    double unit(int output) const { return units_[output]; }

    void measure(const Rows& r, std::int64_t begin, std::int64_t end,
                 const Sum& processes, Totals& totals) const {
        totals.cells.assign(r.n_cells, 0);
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t* cells = r.of(i);
            for (std::size_t c = 0; c < totals.cells.size(); ++c)
                totals.cells[c] += cells[c];
        }
        totals.n_rows = end - begin;
        processes.allreduce(totals.cells);
        processes.allreduce(&totals.n_rows, 1);
        totals.is_constant = is_constant(r, begin, end);
    }

    // Moves rows begin..middle-1 from the totals of a node to those of its left child;
    // rows middle..end-1 stay.
    void split_totals(const Rows& r, std::int64_t begin, std::int64_t middle,
                      std::int64_t end, const Sum& processes, Totals& from,
                      Totals& to) const {
        measure(r, begin, middle, processes, to);
        subtract(to, from);
        from.is_constant = is_constant(r, middle, end);
    }

    void set_bounds(const Split& split, Totals& left, Totals& right) const {
        bound_children(split, left, right, [](const Totals& t) { return t.mean(); });
    }

    bool is_done(const Totals& totals) const { return totals.is_constant; }
    // Computed from the variances when the tree is flattened.
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
    // Mean weight of a row.
    double row_weight(const Totals& totals) const {
        return totals.weight() * weight_unit_ / totals.n_rows;
    }
    double mean(const Totals& totals, int output) const {
        return center(output) +
               totals.sum(output) * unit(output) / (totals.weight() * weight_unit_);
    }
    // The variance of the targets of rows begin..end-1 of a node with these totals,
    // from a sum of integers.
    double variance(const Rows& r, std::int64_t begin, std::int64_t end,
                    const Totals& totals, int output) const {
        const double center = mean(totals, output);
        const double scale = row_weight(totals) / unit(output);
        __int128 sum = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            const __int128 distance =
                std::llrint((r.target(i)[output] - center) * scale);
            sum += distance * distance;
        }
        return double(sum) / totals.n_rows / scale / scale;
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
    std::vector<double> centers_, units_;
    double min_impurity_decrease_;
    double total_weight_;
    std::int64_t min_weight_;
};

}  // namespace dics
