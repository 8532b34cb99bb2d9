// The ranks of targets, for the absolute error.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "target/moment_rows.hpp"
#include "team.hpp"

namespace dics {

// Rows of a node in the order of one output, computed once for all features. Sums are
// of integers, so the order of equal rows has no effect.
struct RankedRows {
    std::vector<std::uint32_t> rank;  // of each row of the node
    std::vector<double> values;       // by rank
    std::vector<std::int64_t> weights,
        moments;  // by rank; moments are weighted targets

    void find(const MomentRows& r, std::int64_t begin, std::int64_t end, int output) {
        const std::size_t n = end - begin;
        std::vector<std::uint32_t> order(n);
        std::iota(order.begin(), order.end(), 0u);
        auto value = [&](std::uint32_t i) { return r.target(begin + i)[output]; };
        StopCheck stop_check;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) {
                             stop_check.add(1);
                             return value(a) < value(b);
                         });
        rank.resize(n);
        values.resize(n);
        weights.resize(n);
        moments.resize(n);
        for (std::size_t k = 0; k < n; ++k) {
            const std::int64_t* cells = r.of(begin + order[k]);
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

}  // namespace dics
