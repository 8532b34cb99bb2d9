// The best cut of one feature for a continuous target, from sums of each bin.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "data/matrix.hpp"
#include "grow/cut.hpp"
#include "grow/node.hpp"
#include "search/candidate_codes.hpp"
#include "target/moment_criterion.hpp"

namespace dics {

// Sums of the bins of a feature, [bin][cell], and which bins have a row. A node of few
// rows fills few bins: a walk over those costs no more than a sort of the rows would.
class BinSums {
  public:
    // All bins are empty between calls.
    void reset(int n_cells) {
        n_cells_ = n_cells;
        sums_.resize(static_cast<std::size_t>((kMaxThresholds + 2) * n_cells));
    }

    [[gnu::always_inline]] void add(std::uint8_t code, const std::int64_t* cells) {
        occupied_[code >> 6] |= std::uint64_t{1} << (code & 63);
        std::int64_t* sum = sums_.data() + code * n_cells_;
        for (int c = 0; c < n_cells_; ++c)
            sum[c] += cells[c];
    }
    [[gnu::always_inline]] void add_pair(std::uint8_t code, const std::int64_t* cells) {
        occupied_[code >> 6] |= std::uint64_t{1} << (code & 63);
        std::int64_t* sum = sums_.data() + code * 2;
        sum[0] += cells[0];
        sum[1] += cells[1];
    }

    const std::int64_t* sums() const { return sums_.data(); }

    template <class Visit>
    void visit(Visit visit) const {
        for (int word = 0; word < 4; ++word) {
            for (std::uint64_t left = occupied_[word]; left != 0; left &= left - 1)
                visit(word * 64 + std::countr_zero(left));
        }
    }

    void clear() {
        visit([&](int bin) {
            std::memset(sums_.data() + bin * n_cells_, 0,
                        sizeof(std::int64_t) * static_cast<std::size_t>(n_cells_));
        });
        occupied_ = {};
    }

  private:
    int n_cells_ = 0;
    std::vector<std::int64_t> sums_;
    std::array<std::uint64_t, 4> occupied_{};
};

// Adds the rows of a node to the bins of a feature. `cells` are those of its rows.
inline void add_rows(const std::uint8_t* column, int width, const CodeReading& reading,
                     const MomentRows& r, const NodePlace& node,
                     const std::int64_t* cells, BinSums& bins) {
    auto add = [&](auto add_one) {
        const std::uint32_t* rows = r.rows.data() + node.begin;
        for (std::int64_t i = 0; i < node.size(); ++i) {
            const std::uint8_t code = column[std::int64_t{rows[i]} * width];
            add_one(reading.table ? reading.table[code] : code, cells + i * r.n_cells);
        }
    };
    if (r.n_cells == 2)
        add([&](std::uint8_t code, const std::int64_t* of_row) {
            bins.add_pair(code, of_row);
        });
    else
        add([&](std::uint8_t code, const std::int64_t* of_row) {
            bins.add(code, of_row);
        });
}

// What each side of a split must have.
struct SideLimits {
    std::int64_t min_leaf, min_weight;

    // `left` are the cells of the left side.
    [[gnu::always_inline]] bool allow(const std::int64_t* left,
                                      const MomentTotals& totals, int n_outputs) const {
        const std::int64_t weight = left[0];
        const std::int64_t other = totals.weight() - weight;
        if (weight <= 0 || other <= 0 || weight < min_weight || other < min_weight)
            return false;
        if (min_leaf <= 1)
            return true;
        // Without a cell of their own, rows are what they weigh.
        const bool counted = static_cast<int>(totals.cells.size()) > n_outputs + 1;
        const std::int64_t rows = counted ? left[n_outputs + 1] : weight;
        return rows >= min_leaf && totals.n_rows - rows >= min_leaf;
    }
};

// Rates the cuts of a node's features.
template <class Crit>
class MomentScan {
  public:
    template <class Target>
    MomentScan(const Target& target, const MomentTotals& totals,
               const SideLimits& limits)
        : criterion_(target, totals),
          totals_(totals),
          is_constrained_(target.is_constrained()),
          limits_(limits),
          n_outputs_(target.n_outputs()),
          n_cells_(static_cast<int>(totals.cells.size())) {}

    // `sums` are those of the bins, [bin][cell]. `direction`: see Moments.
    Cut scan(const std::int64_t* sums, const CodeReading& reading,
             int direction) const {
        return search(sums, reading, direction, [&](auto visit) {
            for (int bin = 0; bin <= reading.n_thresholds; ++bin) {
                if (sums[bin * n_cells_] != 0)
                    visit(bin);
            }
        });
    }
    Cut scan(const BinSums& bins, const CodeReading& reading, int direction) const {
        return search(bins.sums(), reading, direction, [&](auto visit) {
            bins.visit([&](int bin) {
                if (bin <= reading.n_thresholds)
                    visit(bin);
            });
        });
    }

    // Of few rows with one output, none of which is missing: `keys` are code << 8 |
    // row, sorted, and `cells` those of the rows.
    Cut scan_sorted(const std::uint32_t* keys, int n, const std::int64_t* cells) const {
        Cut best;
        std::int64_t left[2] = {};
        for (int i = 1; i < n; ++i) {
            const std::int64_t* row = cells + (keys[i - 1] & 255) * 2;
            left[0] += row[0];
            left[1] += row[1];
            const int code = static_cast<int>(keys[i] >> 8);
            const int previous = static_cast<int>(keys[i - 1] >> 8);
            if (code == previous || !limits_.allow(left, totals_, 1))
                continue;
            const double rate = criterion_.template rate<true>(left);
            if (rate > best.score && rate >= 0)
                best = Cut{rate, previous, code - 1, false, false};
        }
        best.score *= best.found() ? criterion_.unit() : 1;
        return best;
    }

    // Can rows be scanned in their order, as above?
    bool sorts(std::int64_t n_rows) const {
        return n_rows <= kSortedRows && n_cells_ == 2 && n_outputs_ == 1 &&
               !is_constrained_;
    }

    static constexpr std::int64_t kSortedRows = 8;

  private:
    template <class EachBin>
    Cut search(const std::int64_t* sums, const CodeReading& reading, int direction,
               EachBin each_bin) const {
        Cut best;
        const bool has_missing = sums[reading.missing_code() * n_cells_] != 0;
        for (int missing_left = 0; missing_left <= (has_missing ? 1 : 0);
             ++missing_left) {
            if (n_outputs_ == 1 && n_cells_ == 2)
                walk<2>(sums, reading, direction, missing_left != 0, each_bin, best);
            else
                walk<0>(sums, reading, direction, missing_left != 0, each_bin, best);
        }
        best.saw_missing = has_missing && best.found();
        best.score *= best.found() ? criterion_.unit() : 1;
        return best;
    }

    // kCells: weight and one output; 0: as many as there are.
    template <int kCells, class EachBin>
    void walk(const std::int64_t* sums, const CodeReading& reading, int direction,
              bool missing_left, EachBin each_bin, Cut& best) const {
        const int n_cells = kCells ? kCells : n_cells_;
        std::int64_t few[kFewCells] = {};
        std::vector<std::int64_t> many;
        std::int64_t* left = few;
        if (n_cells > kFewCells) {
            many.resize(static_cast<std::size_t>(n_cells));
            left = many.data();
        }
        auto take = [&](int bin) {
            for (int c = 0; c < n_cells; ++c)
                left[c] += sums[bin * n_cells + c];
        };
        if (missing_left)
            take(reading.missing_code());
        int previous = -1;
        double most = best.score;
        auto offer_cut = [&](int hi) {
            if (!limits_.allow(left, totals_, n_outputs_) ||
                (is_constrained_ && !is_ordered(left, direction)))
                return;
            const double rate = criterion_.template rate<kCells == 2>(left);
            if (rate > most && rate >= 0) {
                most = rate;
                best = Cut{rate, previous, hi, missing_left, false};
            }
        };
        each_bin([&](int bin) {
            if (bin > 0 || reading.missing_alone())
                offer_cut(bin - 1);
            take(bin);
            previous = bin;
        });
        if (!missing_left && !reading.missing_alone() &&
            previous < reading.n_thresholds)
            offer_cut(reading.n_thresholds - 1);
    }

    // Do the means of the sides keep to their bounds and their order?
    bool is_ordered(const std::int64_t* left, int direction) const {
        const double l = static_cast<double>(left[1]) / static_cast<double>(left[0]);
        const double r = static_cast<double>(totals_.sum(0) - left[1]) /
                         static_cast<double>(totals_.weight() - left[0]);
        return std::min(l, r) >= totals_.lower && std::max(l, r) <= totals_.upper &&
               (r - l) * direction >= 0;
    }

    static constexpr int kFewCells = 16;

    Crit criterion_;
    const MomentTotals& totals_;
    bool is_constrained_;
    SideLimits limits_;
    int n_outputs_, n_cells_;
};

}  // namespace dics
