#pragma once

#include "grow/node.hpp"
#include "kernels/kernels.hpp"
#include "search/candidate_codes.hpp"
#include "target/class_counts.hpp"

namespace dics {

// A node of few rows: its codes sorted, then one walk over the rows. Costs no more for
// many bins or classes, where clearing and scanning a histogram would.
template <class Crit, class Count>
class SortedSearch {
  public:
    // Reads the node's codes of one feature into sorted order. Rows are numbered in 24
    // bits: see MethodChoice.
    void sort(const std::uint8_t* column, int width, const CodeReading& reading,
              const ClassRows<Count>& r, const NodePlace& node) {
        const auto n = static_cast<std::uint32_t>(node.size());
        keys_.resize(n);
        auto read = [&](auto code_of) {
            for (std::uint32_t i = 0; i < n; ++i) {
                const std::int64_t row = r.rows[node.begin + i];
                keys_[i] = std::uint32_t{code_of(column[row * width])} << 24 | i;
            }
        };
        if (reading.table)
            read([table = reading.table](std::uint8_t code) { return table[code]; });
        else
            read([](std::uint8_t code) { return code; });
        if (n <= kInsertionRows) {
            insertion_sort();
        } else {
            counting_sort();
        }
    }

    Cut search(const CodeReading& reading, const ClassRows<Count>& r,
               const NodePlace& node, const ClassTotals<Count>& totals,
               std::int64_t min_leaf, Count min_weight) {
        Cut best;
        if (code(0) == code(keys_.size() - 1))
            return best;
        if (left_.size() < totals.counts.size())
            left_.resize(totals.counts.size(), 0);
        const auto missing_code = static_cast<std::uint32_t>(reading.missing_code());
        std::size_t n_present = keys_.size();
        while (n_present > 0 && code(n_present - 1) == missing_code)
            --n_present;
        walk(reading, false, n_present, r, node, totals, min_leaf, min_weight, best);
        if (n_present < keys_.size()) {
            walk(reading, true, n_present, r, node, totals, min_leaf, min_weight, best);
            best.saw_missing = true;
        }
        return best;
    }

  private:
    using W = typename Wide<Count>::type;
    static constexpr std::uint32_t kInsertionRows = 32;

    std::uint32_t code(std::size_t i) const { return keys_[i] >> 24; }

    void insertion_sort() {
        for (std::size_t i = 1; i < keys_.size(); ++i) {
            const std::uint32_t key = keys_[i];
            std::size_t j = i;
            for (; j > 0 && keys_[j - 1] > key; --j)
                keys_[j] = keys_[j - 1];
            keys_[j] = key;
        }
    }

    void counting_sort() {
        std::uint32_t start[257] = {};
        for (const std::uint32_t key : keys_)
            ++start[(key >> 24) + 1];
        for (int b = 0; b < 256; ++b)
            start[b + 1] += start[b];
        sorted_.resize(keys_.size());
        for (const std::uint32_t key : keys_)
            sorted_[start[key >> 24]++] = key;
        keys_.swap(sorted_);
    }

    void walk(const CodeReading& reading, bool missing_left, std::size_t n_present,
              const ClassRows<Count>& r, const NodePlace& node,
              const ClassTotals<Count>& totals, std::int64_t min_leaf, Count min_weight,
              Cut& best) {
        W left_sum = 0, right_sum = totals.sum;
        Count left_weight = 0;
        std::int64_t left_rows = 0;
        auto take = [&](std::uint32_t key) {
            const std::int64_t i = node.begin + (key & 0xFFFFFF);
            const std::uint32_t label = r.labels[i];
            const Count w = r.count(i);
            const Count l = left_[label];
            const Count right = totals.counts[label] - l;
            left_sum +=
                Crit::template term<Count>(l + w) - Crit::template term<Count>(l);
            right_sum += Crit::template term<Count>(right - w) -
                         Crit::template term<Count>(right);
            left_[label] = l + w;
            left_weight += w;
            ++left_rows;
        };
        if (missing_left) {
            for (std::size_t i = n_present; i < keys_.size(); ++i)
                take(keys_[i]);
        }
        int previous = -1;
        auto offer_cut = [&](int hi) {
            const Count right_weight = totals.weight - left_weight;
            if (left_rows < min_leaf || totals.n_rows - left_rows < min_leaf ||
                left_weight < min_weight || right_weight < min_weight)
                return;
            const double score = Crit::template score<Count>(left_sum, left_weight,
                                                             right_sum, right_weight);
            if (score > best.score)
                best = Cut{score, previous, hi, missing_left, false};
        };
        for (std::size_t i = 0; i < n_present;) {
            const int bin = static_cast<int>(code(i));
            if (bin > 0 || reading.missing_alone())
                offer_cut(bin - 1);
            for (; i < n_present && static_cast<int>(code(i)) == bin; ++i)
                take(keys_[i]);
            previous = bin;
        }
        if (!missing_left && !reading.missing_alone() &&
            previous < reading.n_thresholds)
            offer_cut(reading.n_thresholds - 1);
        for (const std::uint32_t key : keys_) {
            left_[r.labels[node.begin + (key & 0xFFFFFF)]] = 0;
        }
    }

    std::vector<std::uint32_t> keys_, sorted_;
    std::vector<Count> left_;  // all zero between calls
};

}  // namespace dics
