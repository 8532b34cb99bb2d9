// Rows of a classification target, in the order of the nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "grow/partition.hpp"

namespace dics {

// Training rows. `counts` are the integer weights for the search of splits (null: 1);
// `weights` are the weights of the caller, for the leaf values.
template <class Count>
struct Sample {
    const std::uint32_t* labels;
    const Count* counts;
    const double* weights;
    std::int64_t n_rows;
};

// The order of rows in each node. Partitions are stable, so it is the order of the
// root.
enum class RowOrder {
    by_row,
    by_label,  // then by row, see HistogramShape
};

// A node owns the range [begin, end) of each array.
template <class Count>
struct ClassRows {
    std::vector<std::uint32_t> rows, labels, scratch_rows, scratch_labels;
    std::vector<Count> counts, scratch_counts;  // empty without weights

    ClassRows(const Sample<Count>& sample, RowOrder order) {
        auto used = [&](std::int64_t i) { return !sample.counts || sample.counts[i]; };
        std::vector<std::size_t> next(1);  // place of the next row of each class
        for (std::int64_t i = 0; i < sample.n_rows; ++i) {
            if (!used(i))
                continue;
            const std::size_t label =
                order == RowOrder::by_label ? sample.labels[i] : 0;
            if (next.size() < label + 2)
                next.resize(label + 2);
            ++next[label + 1];
        }
        for (std::size_t c = 1; c < next.size(); ++c)
            next[c] += next[c - 1];
        const std::size_t n = next.back();
        rows.resize(n);
        labels.resize(n);
        counts.resize(sample.counts ? n : 0);
        for (std::int64_t i = 0; i < sample.n_rows; ++i) {
            if (!used(i))
                continue;
            const std::size_t at =
                next[order == RowOrder::by_label ? sample.labels[i] : 0]++;
            rows[at] = i;
            labels[at] = sample.labels[i];
            if (sample.counts)
                counts[at] = sample.counts[i];
        }
        scratch_rows.resize(n);
        scratch_labels.resize(n);
        scratch_counts.resize(counts.size());
    }

    std::int64_t size() const { return rows.size(); }
    bool weighted() const { return !counts.empty(); }
    Count count(std::int64_t i) const { return weighted() ? counts[i] : 1; }

    double total_count() const {
        double total = 0;
        for (std::int64_t i = 0; i < size(); ++i)
            total += count(i);
        return total;
    }

    // Puts the rows of a node into the order of the permutation `order`.
    void reorder(std::int64_t begin, const std::vector<std::uint32_t>& order) {
        auto apply = [&](auto& values, auto& scratch) {
            if (values.empty())
                return;
            for (std::size_t i = 0; i < order.size(); ++i)
                scratch[begin + i] = values[begin + order[i]];
            std::copy(scratch.begin() + begin, scratch.begin() + begin + order.size(),
                      values.begin() + begin);
        };
        apply(rows, scratch_rows);
        apply(labels, scratch_labels);
        apply(counts, scratch_counts);
    }

    // Moves rows with goes_left(row) to the front; returns the start of the others.
    template <class GoesLeft>
    std::int64_t partition(std::int64_t begin, std::int64_t end, GoesLeft goes_left) {
        const std::uint32_t* all = rows.data();
        auto left = [&](std::int64_t i) { return goes_left(all[i]); };
        const RowColumn<std::uint32_t> row{rows.data(), scratch_rows.data()};
        const RowColumn<std::uint32_t> label{labels.data(), scratch_labels.data()};
        if (!weighted())
            return dics::partition(begin, end, left, row, label);
        return dics::partition(begin, end, left, row, label,
                               RowColumn<Count>{counts.data(), scratch_counts.data()});
    }
};

}  // namespace dics
