// The best cut of one feature by the absolute error, from the ranks of the targets.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "grow/node.hpp"
#include "search/cut.hpp"
#include "target/moments.hpp"

namespace dics {

// Rows of a node in the order of one target: what is known of it once for all features.
// Sums are of whole numbers, so the order of the rows doesn't matter.
struct RankedRows {
    std::vector<std::uint32_t> rank;  // of each row of the node
    std::vector<double> values;       // by rank
    std::vector<std::int64_t> weights,
        moments;  // by rank; moments are weighted targets

    void find(const MomentRows& r, const NodePlace& node, int output) {
        const std::size_t n = node.size();
        std::vector<std::uint32_t> order(n);
        std::iota(order.begin(), order.end(), 0u);
        auto value = [&](std::uint32_t i) { return r.target(node.begin + i)[output]; };
        std::stable_sort(
            order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return value(a) < value(b); });
        rank.resize(n);
        values.resize(n);
        weights.resize(n);
        moments.resize(n);
        for (std::size_t k = 0; k < n; ++k) {
            const std::int64_t* cells = r.of(node.begin + order[k]);
            rank[order[k]] = k;
            values[k] = value(order[k]);
            weights[k] = cells[0];
            moments[k] = cells[1 + output];
        }
    }
};

// Weights and moments of some of the ranks, with sums over the lowest (Fenwick 1994).
class RankSums {
  public:
    void reset(std::size_t n) {
        weights_.assign(n + 1, 0);
        moments_.assign(n + 1, 0);
        top_ = n == 0 ? 0 : std::bit_floor(n);
        weight_ = moment_ = 0;
    }
    void add(std::size_t rank, std::int64_t weight, std::int64_t moment) {
        weight_ += weight;
        moment_ += moment;
        for (std::size_t i = rank + 1; i < weights_.size(); i += i & (~i + 1)) {
            weights_[i] += weight;
            moments_[i] += moment;
        }
    }
    std::int64_t weight() const { return weight_; }
    std::int64_t moment() const { return moment_; }

    struct Below {
        std::size_t rank;  // the lowest with half of the weight up to it
        std::int64_t weight, moment;
    };
    // The median, and what lies below it.
    Below median() const {
        Below below{0, 0, 0};
        for (std::size_t step = top_; step > 0; step /= 2) {
            const std::size_t next = below.rank + step;
            if (next < weights_.size() &&
                2 * (below.weight + weights_[next]) < weight_) {
                below = {next, below.weight + weights_[next],
                         below.moment + moments_[next]};
            }
        }
        return below;
    }

  private:
    std::vector<std::int64_t> weights_, moments_;
    std::size_t top_ = 0;
    std::int64_t weight_ = 0, moment_ = 0;
};

class MedianScan {
  public:
    // Prepares for a node; `n_outputs` of its targets.
    template <class Target>
    void start_node(const Target& target, const MomentRows& r, const NodePlace& node) {
        ranked_.resize(r.n_outputs);
        unsplit_ = 0;
        weight_unit_ = target.weight_unit();
        for (int c = 0; c < r.n_outputs; ++c) {
            RankedRows& ranked = ranked_[c];
            ranked.find(r, node, c);
            left_.reset(ranked.values.size());
            for (std::size_t k = 0; k < ranked.values.size(); ++k)
                left_.add(k, ranked.weights[k], ranked.moments[k]);
            unsplit_ += error(left_, ranked, target.center(c), target.unit(c));
        }
    }

    // `allows(left cells)` says whether a cut may be made.
    template <class Target, class Allows>
    Cut scan(const Target& target, const MomentRows& r, const NodePlace& node,
             const CodeColumn& column, Allows allows) {
        const CodeReading& reading = column.reading;
        sort_by_code(column, r, node);
        Cut best;
        const std::size_t n = node.size();
        std::size_t n_present = n;
        while (n_present > 0 && code(n_present - 1) == reading.missing_code())
            --n_present;
        for (int missing_left = 0; missing_left <= (n_present < n ? 1 : 0);
             ++missing_left)
            walk(target, r, node, reading, missing_left != 0, n_present, allows, best);
        best.saw_missing = n_present < n && best.found();
        return best;
    }

  private:
    int code(std::size_t i) const { return sorted_[i] >> 32; }
    std::size_t row(std::size_t i) const { return sorted_[i] & 0xFFFFFFFF; }

    void sort_by_code(const CodeColumn& column, const MomentRows& r,
                      const NodePlace& node) {
        sorted_.clear();
        for (std::int64_t i = 0; i < node.size(); ++i) {
            const std::int64_t row = r.rows[node.begin + i];
            const std::uint64_t read = column.of(row);
            sorted_.push_back(read << 32 | i);
        }
        std::sort(sorted_.begin(), sorted_.end());
    }

    // The sum of absolute deviations from the median, in units of the target.
    double error(const RankSums& sums, const RankedRows& ranked, double center,
                 double unit) const {
        if (sums.weight() == 0)
            return 0;
        const RankSums::Below below = sums.median();
        const double middle = ranked.values[below.rank] - center;
        const double weight_below =
            static_cast<double>(2 * below.weight - sums.weight()) * weight_unit_;
        return middle * weight_below +
               static_cast<double>(sums.moment() - 2 * below.moment) * unit;
    }

    template <class Target, class Allows>
    void walk(const Target& target, const MomentRows& r, const NodePlace& node,
              const CodeReading& reading, bool missing_left, std::size_t n_present,
              Allows allows, Cut& best) {
        // Cut by cut; errors of both sides are added up over the outputs.
        cuts_.clear();
        errors_.clear();
        for (int c = 0; c < r.n_outputs; ++c) {
            const RankedRows& ranked = ranked_[c];
            left_.reset(ranked.values.size());
            right_.reset(ranked.values.size());
            cells_.assign(r.n_cells, 0);
            for (std::size_t k = 0; k < ranked.values.size(); ++k)
                right_.add(k, ranked.weights[k], ranked.moments[k]);
            auto take = [&](std::size_t i) {
                const std::size_t k = ranked.rank[row(i)];
                left_.add(k, ranked.weights[k], ranked.moments[k]);
                right_.add(k, -ranked.weights[k], -ranked.moments[k]);
                const std::int64_t* of_row = r.of(node.begin + row(i));
                for (std::size_t j = 0; j < cells_.size(); ++j)
                    cells_[j] += of_row[j];
            };
            std::size_t at = 0, next = 0;
            walk_cuts(
                reading, missing_left,
                [&](auto visit) {
                    while (next < n_present)
                        visit(code(next));
                },
                [&](int bin) {
                    if (bin == reading.missing_code()) {
                        for (std::size_t i = n_present; i < sorted_.size(); ++i)
                            take(i);
                        return;
                    }
                    for (; next < n_present && code(next) == bin; ++next)
                        take(next);
                },
                [&](int lo, int hi) {
                    if (c == 0) {
                        const bool is_allowed = allows(cells_.data());
                        cuts_.push_back({is_allowed ? 0 : -1.0e308, lo, hi});
                        errors_.push_back(0);
                    }
                    if (cuts_[at].score == 0)
                        errors_[at] +=
                            error(left_, ranked, target.center(c), target.unit(c)) +
                            error(right_, ranked, target.center(c), target.unit(c));
                    ++at;
                });
        }
        for (std::size_t i = 0; i < cuts_.size(); ++i) {
            const double score = std::max(0.0, unsplit_ - errors_[i]) / r.n_outputs;
            if (cuts_[i].score == 0 && score > best.score)
                best = Cut{score, cuts_[i].lo, cuts_[i].hi, missing_left, false};
        }
    }

    std::vector<RankedRows> ranked_;  // of each output
    double unsplit_ = 0;              // error of the node
    double weight_unit_ = 1;
    RankSums left_, right_;
    std::vector<std::uint64_t> sorted_;  // code, then number within the node
    std::vector<std::int64_t> cells_;    // of the left side
    std::vector<Cut> cuts_;
    std::vector<double> errors_;
};

}  // namespace dics
