// Rows of a regression target as integers, in the order of the nodes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "fixed_point.hpp"
#include "grow/partition.hpp"

namespace dics {

// Weight and target of one output, added by one instruction.
typedef std::int64_t CellPair __attribute__((vector_size(16), may_alias));

// Targets and weights of the caller.
struct TargetColumns {
    const double* y;  // [row][output]
    std::int64_t n_rows;
    int n_outputs;
    const std::uint32_t* counts;       // integer weights; null: 1
    const std::uint64_t* wide_counts;  // or weights in fixed point
    const double* weights;             // of the caller; null: 1
};

// Center and scale of the integers of a MomentSample, for each output.
struct MomentScale {
    std::vector<double> centers, scales;
};

// Weights and weighted targets of all rows as integers, whose sums do not depend on the
// order of the additions. Targets are centered, and scaled by a power of two such that
// no sum overflows: 50 bits for up to 2000 rows, 41 for a million.
//
// Integer weights multiply the integer of the target, so that the mean of equal targets
// is this target. Other weights multiply the target before it becomes an integer.
class MomentSample {
  public:
    // Sums have `sample_size` rows (0: the rows of `columns`). Cells count rows only if
    // the weights do not. Targets that must not be negative are not centered. `known`
    // is the scale if `columns` has only a part of the rows.
    MomentSample(const TargetColumns& columns, std::int64_t sample_size,
                 bool counts_rows, bool is_centered,
                 const std::optional<MomentScale>& known = {})
        : y(columns.y),
          n_rows(columns.n_rows),
          n_outputs(columns.n_outputs),
          n_cells(1 + n_outputs + (counts_rows ? 1 : 0)) {
        const bool is_fractional = columns.wide_counts && sample_size == 0;
        const std::int64_t n_added =
            std::max({sample_size, total_count(columns), n_rows});
        cells.resize(n_rows * n_cells);
        for (std::int64_t i = 0; i < n_rows; ++i) {
            std::int64_t weight = 1;
            if (sample_size == 0 && columns.wide_counts)
                weight = columns.wide_counts[i];
            else if (sample_size == 0 && columns.counts)
                weight = columns.counts[i];
            cells[at(i)] = weight;
            if (counts_rows)
                cells[at(i) + n_cells - 1] = 1;
        }
        const double* weights = is_fractional ? columns.weights : nullptr;
        if (weights)
            weight_unit = total_weight(columns) / total_cells();
        for (int c = 0; c < n_outputs; ++c) {
            if (known)
                add_output(c, weights, known->centers[c], known->scales[c]);
            else
                measure_output(c, weights, n_added, is_centered);
        }
    }

    MomentScale scale() const {
        MomentScale scale{centers, {}};
        for (const double unit : units)
            scale.scales.push_back(1 / unit);
        return scale;
    }

    const std::int64_t* of(std::int64_t row) const { return cells.data() + at(row); }

    const double* y;
    std::int64_t n_rows;
    int n_outputs, n_cells;
    std::vector<std::int64_t> cells;  // [row][weight, outputs, (1)]
    double weight_unit = 1;           // value of 1 in a cell
    std::vector<double> centers, units;

  private:
    std::size_t at(std::int64_t row) const { return row * n_cells; }

    static std::int64_t total_count(const TargetColumns& columns) {
        std::int64_t total = 0;
        for (std::int64_t i = 0; columns.counts && i < columns.n_rows; ++i)
            total += columns.counts[i];
        return total;
    }
    static double total_weight(const TargetColumns& columns) {
        double total = 0;
        for (std::int64_t i = 0; i < columns.n_rows; ++i)
            total += columns.weights[i];
        return total;
    }
    std::int64_t total_cells() const {
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < n_rows; ++i)
            total += cells[at(i)];
        return total;
    }

    void measure_output(int c, const double* weights, std::int64_t n_added,
                        bool is_centered) {
        double low = INFINITY, high = -INFINITY, heaviest = 0;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            if (cells[at(i)] == 0)
                continue;
            low = std::min(low, y[i * n_outputs + c]);
            high = std::max(high, y[i * n_outputs + c]);
            heaviest = std::max(heaviest, weights ? weights[i] : 1.0);
        }
        // The middle of the range, which needs no sum.
        const double center = is_centered ? low + (high - low) / 2 : 0.0;
        const double largest = std::max(high - center, center - low) * heaviest;
        add_output(c, weights, center, FixedPoint(largest, n_added).scale);
    }

    void add_output(int c, const double* weights, double center, double scale) {
        const FixedPoint fixed(scale);
        for (std::int64_t i = 0; i < n_rows; ++i) {
            std::int64_t* row = cells.data() + at(i);
            if (row[0] == 0)
                continue;
            const double value = y[i * n_outputs + c] - center;
            row[1 + c] =
                weights ? fixed.of(value * weights[i]) : fixed.of(value) * row[0];
        }
        centers.push_back(center);
        units.push_back(1 / fixed.scale);
    }
};

// A node owns the range [begin, end) of `rows`.
struct MomentRows {
    std::vector<std::uint32_t> rows, scratch;
    const double* y;
    const std::int64_t* cells;
    int n_outputs, n_cells;
    std::vector<std::int64_t> own_cells;  // of a bootstrap sample or a copy
    std::vector<double> own_y;
    bool is_sampled;  // a bootstrap sample; its weights are counts

    MomentRows(MomentRows&&) = default;
    MomentRows(const MomentRows&) = delete;  // `cells` may point into own_cells

    // `counts` are the counts of rows in a bootstrap sample, or null.
    MomentRows(const MomentSample& sample, const std::uint32_t* counts)
        : y(sample.y),
          cells(sample.cells.data()),
          n_outputs(sample.n_outputs),
          n_cells(sample.n_cells),
          is_sampled(counts != nullptr) {
        for (std::int64_t i = 0; i < sample.n_rows; ++i) {
            if (sample.of(i)[0] > 0 && (!counts || counts[i] > 0))
                rows.push_back(i);
        }
        scratch.resize(rows.size());
        if (!counts)
            return;
        own_cells = sample.cells;
        for (std::int64_t i = 0; i < sample.n_rows; ++i) {
            std::int64_t* row = own_cells.data() + i * n_cells;
            for (int c = 0; c <= n_outputs; ++c)
                row[c] *= counts[i];
        }
        cells = own_cells.data();
    }

    // A copy of rows begin..end-1, with indices from 0.
    MomentRows(const MomentRows& r, std::int64_t begin, std::int64_t end)
        : rows(r.rows.begin() + begin, r.rows.begin() + end),
          scratch(rows.size()),
          y(r.y),
          cells(r.cells),
          n_outputs(r.n_outputs),
          n_cells(r.n_cells),
          is_sampled(r.is_sampled) {
        renumber();
    }

    std::int64_t size() const { return rows.size(); }
    const std::int64_t* of(std::int64_t i) const {
        return cells + std::int64_t{rows[i]} * n_cells;
    }
    const double* target(std::int64_t i) const {
        return y + std::int64_t{rows[i]} * n_outputs;
    }

    // Total weight.
    std::int64_t total() const {
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < size(); ++i)
            total += of(i)[0];
        return total;
    }

    // Copies the cells of a node, in the order of its rows.
    void copy_cells(std::int64_t begin, std::int64_t end,
                    std::vector<std::int64_t>& to) const {
        to.resize((end - begin) * n_cells);
        std::int64_t* next = to.data();
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t* from = of(i);
            for (int c = 0; c < n_cells; ++c)
                *next++ = from[c];
        }
    }

    // Copies the data of the rows, gives them new indices from 0, and returns the old
    // indices.
    std::vector<std::uint32_t> renumber() {
        std::vector<std::int64_t> new_cells;
        std::vector<double> new_y;
        for (std::int64_t i = 0; i < size(); ++i) {
            new_cells.insert(new_cells.end(), of(i), of(i) + n_cells);
            new_y.insert(new_y.end(), target(i), target(i) + n_outputs);
        }
        own_cells = std::move(new_cells);
        own_y = std::move(new_y);
        cells = own_cells.data();
        y = own_y.data();
        std::vector<std::uint32_t> before = rows;
        for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i] = i;
        return before;
    }

    // Puts the rows of a node into the order of the permutation `order`.
    void reorder(std::int64_t begin, const std::vector<std::uint32_t>& order) {
        for (std::size_t i = 0; i < order.size(); ++i)
            scratch[begin + i] = rows[begin + order[i]];
        std::copy_n(scratch.begin() + begin, order.size(), rows.begin() + begin);
    }

    template <class GoesLeft>
    std::int64_t partition(std::int64_t begin, std::int64_t end, GoesLeft goes_left) {
        const std::uint32_t* all = rows.data();
        return dics::partition(
            begin, end, [&](std::int64_t i) { return goes_left(all[i]); },
            RowColumn<std::uint32_t>{rows.data(), scratch.data()});
    }
};

}  // namespace dics
