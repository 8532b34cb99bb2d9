// Weight and target of each bin of a feature, for nodes with one output.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "data/matrix.hpp"
#include "search/cut.hpp"
#include "target/moment_rows.hpp"

namespace dics {

// The bins of a feature that have a row, in their order, and what is missing.
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

    // Of a feature with few bins: rows that follow one another go to copies of them, or
    // each would wait for the sum of the one before.
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
    // sums of a feature that is mostly one value: that of the first row gets what the
    // others leave of the total.
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

}  // namespace dics
