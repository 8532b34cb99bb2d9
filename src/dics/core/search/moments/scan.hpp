// The best cut of one feature for a continuous target.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "grow/node.hpp"
#include "search/cut.hpp"
#include "target/moment_criterion.hpp"

namespace dics {

// The bins of a feature that have a row, in their order, and the missing rows.
struct BinPairs {
    static constexpr int kMost = kMaxThresholds + 2;

    int n = 0;
    std::int64_t missing_weight, missing_sum;
    std::uint8_t bins[kMost];
    std::int64_t weights[kMost], sums[kMost];

    void add(int bin, std::int64_t weight, std::int64_t sum) {
        bins[n] = bin;
        weights[n] = weight;
        sums[n] = sum;
        ++n;
    }

    // The last bin is that of the missing values, if it has a row.
    void part_missing(int missing_code) {
        const bool is_missing = n > 0 && bins[n - 1] == missing_code;
        n -= is_missing ? 1 : 0;
        missing_weight = is_missing ? weights[n] : 0;
        missing_sum = is_missing ? sums[n] : 0;
    }

    // `hist` has weight and target of every bin.
    void read(const std::int64_t* hist, int missing_code) {
        n = 0;
        for (int bin = 0; bin <= missing_code; ++bin) {
            if (hist[bin * 2] != 0)
                add(bin, hist[bin * 2], hist[bin * 2 + 1]);
        }
        part_missing(missing_code);
    }
};

// The rows of a node, with weight and target of each and of all.
struct PairRows {
    const std::uint32_t* rows;
    std::int64_t n;
    const std::int64_t* cells;
    const std::int64_t* totals;
};

// Makes the pairs of a node from its rows.
class PairMaker {
  public:
    void make(const CodeColumn& column, const PairRows& r, BinPairs& pairs) {
        pairs.n = 0;
        if (r.n <= kSortedRows)
            sort(column, r, pairs);
        else if (column.reading.missing_code() < kFewBins)
            add_to_few(column, r, pairs);
        else
            add(column, r, pairs);
        pairs.part_missing(column.reading.missing_code());
    }

  private:
    static constexpr std::int64_t kSortedRows = 8;
    static constexpr int kCopies = 4, kFewBins = 8;

    // Half of the nodes of a deep tree have two or three rows: to sort those takes less
    // than to fill bins.
    static void sort(const CodeColumn& column, const PairRows& r, BinPairs& pairs) {
        const int n_rows = r.n;
        std::uint32_t keys[kSortedRows];  // code << 8 | row
        for (int i = 0; i < n_rows; ++i) {
            const std::uint32_t key = std::uint32_t{column.of(r.rows[i])} << 8 | i;
            int at = i;
            for (; at > 0 && keys[at - 1] > key; --at)
                keys[at] = keys[at - 1];
            keys[at] = key;
        }
        for (int i = 0; i < n_rows; ++i) {
            const std::int64_t* of_row = r.cells + (keys[i] & 255) * 2;
            const int bin = keys[i] >> 8;
            if (pairs.n > 0 && pairs.bins[pairs.n - 1] == bin) {
                pairs.weights[pairs.n - 1] += of_row[0];
                pairs.sums[pairs.n - 1] += of_row[1];
            } else {
                pairs.add(bin, of_row[0], of_row[1]);
            }
        }
    }

    // With few bins, consecutive rows go to copies of them, or each would wait for the
    // sum of the one before.
    static void add_to_few(const CodeColumn& column, const PairRows& r,
                           BinPairs& pairs) {
        const auto* cells = reinterpret_cast<const CellPair*>(r.cells);
        const CodeColumn local = column;
        CellPair sums[kCopies][kFewBins] = {};
        std::int64_t i = 0;
        for (; i + kCopies <= r.n; i += kCopies) {
            for (int copy = 0; copy < kCopies; ++copy)
                sums[copy][local.of(r.rows[i + copy])] += cells[i + copy];
        }
        for (; i < r.n; ++i)
            sums[0][local.of(r.rows[i])] += cells[i];
        for (int bin = 0; bin <= local.reading.missing_code(); ++bin) {
            CellPair sum = sums[0][bin];
            for (int copy = 1; copy < kCopies; ++copy)
                sum += sums[copy][bin];
            if (sum[0] != 0)  // every row weighs something
                pairs.add(bin, sum[0], sum[1]);
        }
    }

    // Bins are marked by a byte each, which a loop over the rows writes and never
    // reads: bits of words would make each row wait for the one before. So would the
    // sums of a feature that is mostly one value: that of the first row gets the
    // rest of the total.
    void add(const CodeColumn& column, const PairRows& r, BinPairs& pairs) {
        const CodeColumn local = column;
        auto* sums = reinterpret_cast<CellPair*>(sums_);
        const auto* cells = reinterpret_cast<const CellPair*>(r.cells);
        const std::uint8_t first = local.of(r.rows[0]);
        CellPair rest{r.totals[0], r.totals[1]};
        for (std::int64_t i = 1; i < r.n; ++i) {
            const std::uint8_t code = local.of(r.rows[i]);
            if (code == first)
                continue;
            marks_[code] = 1;
            sums[code] += cells[i];
            rest -= cells[i];
        }
        marks_[first] = 1;
        sums[first] = rest;
        take(pairs);
    }

    // All bins are empty between calls.
    void take(BinPairs& pairs) {
        for (int first = 0; first < kBins; first += 8) {
            std::uint64_t word;
            std::memcpy(&word, marks_ + first, 8);
            for (; word != 0; word &= word - 1) {
                const int bin = first + std::countr_zero(word) / 8;
                pairs.add(bin, sums_[bin * 2], sums_[bin * 2 + 1]);
                sums_[bin * 2] = sums_[bin * 2 + 1] = 0;
            }
        }
        std::memset(marks_, 0, sizeof marks_);
    }

    static constexpr int kBins = 256;

    alignas(CellPair) std::int64_t sums_[kBins * 2] = {};
    std::uint8_t marks_[kBins] = {};
};

// Sums of the bins of a feature, [bin][cell], and which bins have a row. A node of few
// rows fills few bins: a walk over those costs no more than a sort of the rows would.
class BinSums {
  public:
    // All bins are empty between calls.
    void reset(int n_cells) {
        n_cells_ = n_cells;
        sums_.resize((kMaxThresholds + 2) * n_cells);
    }

    // `cells` are those of the node's rows.
    void add_rows(const CodeColumn& column, const std::uint32_t* rows,
                  std::int64_t n_rows, const std::int64_t* cells) {
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const std::uint8_t code = column.of(rows[i]);
            occupied_[code >> 6] |= std::uint64_t{1} << (code & 63);
            std::int64_t* sum = sums_.data() + code * n_cells_;
            for (int c = 0; c < n_cells_; ++c)
                sum[c] += cells[i * n_cells_ + c];
        }
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
                        sizeof(std::int64_t) * n_cells_);
        });
        occupied_ = {};
    }

  private:
    int n_cells_ = 0;
    std::vector<std::int64_t> sums_;
    std::array<std::uint64_t, 4> occupied_{};
};

// What each side of a split must have.
struct SideLimits {
    std::int64_t min_leaf, min_weight;

    // `left` are the cells of the left side.
    [[gnu::always_inline]] bool allow(const std::int64_t* left,
                                      const MomentTotals& totals, int n_outputs) const {
        // Without a cell of their own, each row weighs one.
        const bool counted = static_cast<int>(totals.cells.size()) > n_outputs + 1;
        return allow(left[0], counted ? left[n_outputs + 1] : left[0], totals);
    }
    [[gnu::always_inline]] bool allow(std::int64_t weight, std::int64_t rows,
                                      const MomentTotals& totals) const {
        const std::int64_t other = totals.weight() - weight;
        if (weight <= 0 || other <= 0 || weight < min_weight || other < min_weight)
            return false;
        return min_leaf <= 1 || (rows >= min_leaf && totals.n_rows - rows >= min_leaf);
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
          n_cells_(totals.cells.size()) {}

    // `direction`: see Moments.
    Cut scan(const BinPairs& pairs, const CodeReading& reading, int direction) {
        Cut best;
        offer_pairs(pairs, reading, direction, false, best);
        if (pairs.missing_weight != 0)
            offer_pairs(pairs, reading, direction, true, best);
        return finished(best, pairs.missing_weight != 0);
    }

    // `sums` are those of the bins, [bin][cell].
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

  private:
    Cut finished(Cut best, bool has_missing) const {
        best.saw_missing = has_missing && best.found();
        best.score *= best.found() ? criterion_.unit() : 1;
        return best;
    }

    // Cut k has k bins on the left. The sums come first, then all ratings, which
    // are independent.
    void offer_pairs(const BinPairs& pairs, const CodeReading& reading, int direction,
                     bool missing_left, Cut& best) {
        const int n = pairs.n;
        std::int64_t weight = missing_left ? pairs.missing_weight : 0;
        std::int64_t sum = missing_left ? pairs.missing_sum : 0;
        for (int k = 0; k < n; ++k) {
            left_weights_[k] = weight;
            left_sums_[k] = sum;
            weight += pairs.weights[k];
            sum += pairs.sums[k];
        }
        left_weights_[n] = weight;
        left_sums_[n] = sum;
        const bool alone =
            missing_left && (pairs.bins[0] > 0 || reading.missing_alone());
        const bool all = !missing_left && !reading.missing_alone() && n > 0 &&
                         pairs.bins[n - 1] < reading.n_thresholds;
        const int first = alone ? 0 : 1, end = all ? n + 1 : n;
        if (end <= first)
            return;
        criterion_.rate_all(left_weights_ + first, left_sums_ + first, end - first,
                            rates_ + first);
        for (int k = first; k < end; ++k) {
            if (!(rates_[k] > best.score && rates_[k] >= 0))
                continue;
            const std::int64_t left[2] = {left_weights_[k], left_sums_[k]};
            if (limits_.allow(left[0], left[0], totals_) &&
                (!is_constrained_ || is_ordered(left, direction)))
                best = Cut{rates_[k], k == 0 ? -1 : pairs.bins[k - 1],
                           k == n ? reading.n_thresholds - 1 : pairs.bins[k] - 1,
                           missing_left, false};
        }
    }

    template <class EachBin>
    Cut search(const std::int64_t* sums, const CodeReading& reading, int direction,
               EachBin each_bin) const {
        Cut best;
        const bool has_missing = sums[reading.missing_code() * n_cells_] != 0;
        walk(sums, reading, direction, false, each_bin, best);
        if (has_missing)
            walk(sums, reading, direction, true, each_bin, best);
        return finished(best, has_missing);
    }

    template <class EachBin>
    void walk(const std::int64_t* sums, const CodeReading& reading, int direction,
              bool missing_left, EachBin each_bin, Cut& best) const {
        std::int64_t few[kFewCells] = {};
        std::vector<std::int64_t> many;
        std::int64_t* left = few;
        if (n_cells_ > kFewCells) {
            many.resize(n_cells_);
            left = many.data();
        }
        double most = best.score;
        walk_cuts(
            reading, missing_left, each_bin,
            [&](int bin) {
                for (int c = 0; c < n_cells_; ++c)
                    left[c] += sums[bin * n_cells_ + c];
            },
            [&](int lo, int hi) {
                if (!limits_.allow(left, totals_, n_outputs_) ||
                    (is_constrained_ && !is_ordered(left, direction)))
                    return;
                const double rate = criterion_.rate(left);
                if (rate > most && rate >= 0) {
                    most = rate;
                    best = Cut{rate, lo, hi, missing_left, false};
                }
            });
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
    // For each cut of a feature.
    std::int64_t left_weights_[BinPairs::kMost + 1], left_sums_[BinPairs::kMost + 1];
    double rates_[BinPairs::kMost + 1];
};

// By sums of bins. For one thread, a node after the other.
template <class Crit>
class FeatureScan {
  public:
    void start_node(const Moments<Crit>& target, const MomentRows& r,
                    const OpenNode<MomentTotals>& node, const SideLimits& limits) {
        scan_.emplace(target, node.totals, limits);
        if (r.n_cells != 2)
            bins_.reset(r.n_cells);
        r_ = &r;
        node_ = &node;
        target_ = &target;
    }

    Cut of_sums(const std::int64_t* sums, const CodeReading& reading, std::int64_t f) {
        const int direction = target_->direction(f);
        if (r_->n_cells != 2)
            return scan_->scan(sums, reading, direction);
        pairs_.read(sums, reading.missing_code());
        return scan_->scan(pairs_, reading, direction);
    }

    // `cells` are those of the node's rows.
    Cut of_rows(const CodeColumn& column, const std::int64_t* cells, std::int64_t f) {
        const std::uint32_t* rows = r_->rows.data() + node_->begin;
        const int direction = target_->direction(f);
        if (r_->n_cells == 2) {
            maker_.make(column,
                        {rows, node_->size(), cells, node_->totals.cells.data()},
                        pairs_);
            return scan_->scan(pairs_, column.reading, direction);
        }
        bins_.add_rows(column, rows, node_->size(), cells);
        const Cut cut = scan_->scan(bins_, column.reading, direction);
        bins_.clear();
        return cut;
    }

  private:
    std::optional<MomentScan<Crit>> scan_;
    PairMaker maker_;
    BinPairs pairs_;
    BinSums bins_;  // of several outputs
    const MomentRows* r_ = nullptr;
    const OpenNode<MomentTotals>* node_ = nullptr;
    const Moments<Crit>* target_ = nullptr;
};

}  // namespace dics
