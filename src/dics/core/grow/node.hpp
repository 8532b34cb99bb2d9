// What the growing tree is made of: nodes, their rows, and the partition of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "grow/grow.hpp"
#include "random.hpp"
#include "target/criterion.hpp"

namespace dics {

// The order of rows inside every node: a partition is stable, so it is the root's.
enum class RowOrder {
    by_row,    // ascending
    by_label,  // of their classes, then ascending: see HistogramShape
};

// Rows in node order: a node owns the range [begin, end) of each array.
template <class Count>
struct NodeRows {
    std::vector<std::uint32_t> rows, labels, scratch_rows, scratch_labels;
    std::vector<Count> counts, scratch_counts;  // empty without weights

    NodeRows(const Sample<Count>& sample, RowOrder order) {
        auto used = [&](std::int64_t i) { return !sample.counts || sample.counts[i]; };
        std::vector<std::size_t> next(1);  // place of each class's next row
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
            rows[at] = static_cast<std::uint32_t>(i);
            labels[at] = sample.labels[i];
            if (sample.counts)
                counts[at] = sample.counts[i];
        }
        scratch_rows.resize(n);
        scratch_labels.resize(n);
        scratch_counts.resize(counts.size());
    }

    // Puts the rows of a node into the order that `order` (a permutation) gives.
    void reorder(std::int64_t begin, const std::vector<std::uint32_t>& order) {
        auto apply = [&](auto& values, auto& scratch) {
            if (values.empty())
                return;
            for (std::size_t i = 0; i < order.size(); ++i) {
                scratch[begin + i] = values[begin + order[i]];
            }
            std::copy(scratch.begin() + begin, scratch.begin() + begin + order.size(),
                      values.begin() + begin);
        };
        apply(rows, scratch_rows);
        apply(labels, scratch_labels);
        apply(counts, scratch_counts);
    }

    bool weighted() const { return !counts.empty(); }
    Count count(std::int64_t i) const { return weighted() ? counts[i] : 1; }

    // Moves the rows with goes_left(row) to the front; returns where the right begins.
    //
    //   before   a B c D E f        (capitals go right)
    //   rows     a c f              left, written in place: it never passes the reader
    //   scratch  B D E              right, copied back behind them
    template <class Goes>
    std::int64_t partition(std::int64_t begin, std::int64_t end, Goes goes_left) {
        std::int64_t left = begin;
        std::int64_t right = begin;
        const bool has_counts = weighted();
        for (std::int64_t i = begin; i < end; ++i) {
            const std::uint32_t row = rows[i];
            const std::uint32_t label = labels[i];
            const bool to_left = goes_left(row);
            // Both written, one index moves: no branch to mispredict.
            scratch_rows[right] = row;
            scratch_labels[right] = label;
            rows[left] = row;
            labels[left] = label;
            if (has_counts) {
                const Count count = counts[i];
                scratch_counts[right] = count;
                counts[left] = count;
            }
            left += to_left ? 1 : 0;
            right += to_left ? 0 : 1;
        }
        std::copy(scratch_rows.begin() + begin, scratch_rows.begin() + right,
                  rows.begin() + left);
        std::copy(scratch_labels.begin() + begin, scratch_labels.begin() + right,
                  labels.begin() + left);
        if (has_counts) {
            std::copy(scratch_counts.begin() + begin, scratch_counts.begin() + right,
                      counts.begin() + left);
        }
        return left;
    }
};

// A node that waits to be split.
struct OpenNode {
    std::int32_t index = 0;
    std::int64_t begin = 0, end = 0;
    std::int64_t depth = 0;
    std::uint64_t key = 0;  // of its random draws: a function of the path from the root
    // Histogram search only: buffers of the pool, -1 for none.
    int hist = -1;  // this node's own
    bool hist_ready = false;
    int subtract_from = -1;  // the parent's, which becomes the sibling's
    std::int64_t minus_begin = 0, minus_end = 0;  // rows to take out of `hist` first

    std::int64_t size() const { return end - begin; }
};

// Class counts of a node and their sum of terms.
template <class Count>
struct NodeTotals {
    std::vector<Count> counts;
    typename Wide<Count>::type sum = 0;
    Count weight = 0;

    template <class Crit>
    void measure(const NodeRows<Count>& r, const OpenNode& node, int n_classes) {
        counts.assign(static_cast<std::size_t>(n_classes), 0);
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            counts[r.labels[i]] += r.count(i);
        }
        sum = 0;
        weight = 0;
        for (const Count count : counts) {
            sum += Crit::template term<Count>(count);
            weight += count;
        }
    }
};

// What min_weight_fraction_leaf means in whole numbers.
template <class Count>
inline Count least_weight(double total, const GrowSettings& settings) {
    return static_cast<Count>(std::ceil(total * settings.min_weight_fraction_leaf));
}

// The split chosen for a node.
struct Split {
    double score = -1.0e308;
    std::uint64_t tie = 0;
    std::int32_t feature = -1;
    std::int32_t index = -1;  // threshold of the feature; -1: -inf, only NaN goes left
    bool missing_left = false;
    bool saw_missing = false;

    bool found() const { return feature >= 0; }

    // Equal scores: the feature with the larger random number of this node wins, so no
    // feature is favoured by its place and no thread by its speed.
    bool beats(const Split& other) const {
        if (!found())
            return false;
        if (!other.found() || score != other.score) {
            return !other.found() || score > other.score;
        }
        return tie != other.tie ? tie > other.tie : feature < other.feature;
    }
};

// Which rows a split sends left, from the codes of its feature.
struct CodeSide {
    const std::uint8_t* column;
    std::int64_t stride;
    int index;         // codes up to this one go left
    int missing_code;  // -1 if NaN goes right, where its code sends it anyway

    CodeSide(const Codes& codes, const Dictionary& dictionary, const Split& split)
        : column(codes.column(split.feature)),
          stride(codes.width),
          index(split.index),
          missing_code(split.missing_left ? dictionary.count(split.feature) + 1 : -1) {}

    bool operator()(std::uint32_t row) const {
        const int code = column[std::int64_t{row} * stride];
        return (code <= index) | (code == missing_code);
    }
};

inline std::uint64_t tie_number(std::uint64_t key, std::int64_t feature) {
    return combine(key, 0x7469650000000000ull + static_cast<std::uint64_t>(feature));
}

inline std::uint64_t child_key(std::uint64_t key, bool right) {
    return combine(key, right ? 2 : 1);
}

}  // namespace dics
