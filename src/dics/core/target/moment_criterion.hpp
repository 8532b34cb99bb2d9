// How good a cut of a continuous target is, from whole numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "target/moments.hpp"

namespace dics {

// A criterion is made for a node and rates what goes left: the larger, the better, and
// 0 for no gain. The gain of a cut is rate() * unit(). noise() is what a side more
// gains on average where sides tell nothing of a target of that variance and mean, for
// each unit of a row's weight.

// The decrease of the sum of squares, W D^2 / (L R): L and R are what the sides weigh,
// W both, and D = (S_left R - S_right L) / W. Friedman's improvement is the same
// number. Sums are taken relative to the node's mean, rounded to a whole number, or
// they would cancel where the mean is far from 0.
class SquaredError {
  public:
    static constexpr bool kUsesRanks = false;
    static double noise(double variance, double) { return variance; }

    template <class Target>
    SquaredError(const Target& target, const MomentTotals& totals)
        : weight_(totals.weight()),
          unit_(static_cast<double>(weight_) / target.weight_unit() /
                target.n_outputs()) {
        auto output = [&](int c) {
            const std::int64_t mean = totals.sum(c) / weight_;
            const auto rest = static_cast<double>(totals.sum(c) - weight_ * mean);
            return Output{mean, rest / static_cast<double>(weight_), target.unit(c)};
        };
        first_ = output(0);
        // No memory is asked for where there is one: trees have many small nodes.
        for (int c = 0; target.n_outputs() > 1 && c < target.n_outputs(); ++c)
            outputs_.push_back(output(c));
    }

    double unit() const { return unit_; }

    // Of `n` cuts of one output, side by side.
    void rate_all(const std::int64_t* weights, const std::int64_t* sums, int n,
                  double* rates) const {
        double products[kTogether];
        for (int first = 0; first < n; first += kTogether) {
            const int last = std::min(n - first, kTogether);
            for (int k = 0; k < last; ++k) {
                const std::int64_t weight = weights[first + k];
                const auto l = static_cast<double>(weight);
                products[k] = l * static_cast<double>(weight_ - weight);
                rates[first + k] = distance(first_, weight, sums[first + k], l);
            }
            for (int k = 0; k < last; ++k)
                rates[first + k] = rates[first + k] * rates[first + k] / products[k];
        }
    }

    double rate(const std::int64_t* left) const {
        const auto l = static_cast<double>(left[0]);
        const auto r = static_cast<double>(weight_ - left[0]);
        if (outputs_.empty()) {
            const double d = distance(first_, left[0], left[1], l);
            return d * d / (l * r);
        }
        double sum = 0;
        for (std::size_t c = 0; c < outputs_.size(); ++c) {
            const double d = distance(outputs_[c], left[0], left[c + 1], l);
            sum += d * d;
        }
        return sum / (l * r);
    }

  private:
    static constexpr int kTogether = 64;

    struct Output {
        std::int64_t mean;
        double rest, unit;
    };

    [[gnu::always_inline]] static double distance(const Output& output,
                                                  std::int64_t weight, std::int64_t sum,
                                                  double l) {
        return (static_cast<double>(sum - weight * output.mean) - l * output.rest) *
               output.unit;
    }

    std::int64_t weight_;
    double unit_;
    Output first_;
    std::vector<Output> outputs_;  // of several
};

// Of criteria whose ratings don't come side by side.
template <class Crit>
void rate_each(const Crit& criterion, const std::int64_t* weights,
               const std::int64_t* sums, int n, double* rates) {
    for (int k = 0; k < n; ++k) {
        const std::int64_t left[2] = {weights[k], sums[k]};
        rates[k] = criterion.rate(left);
    }
}

// (1 + d) log(1 + d) - d: how far a mean that is 1 + d times another is from it.
inline double excess(double d) {
    if (std::fabs(d) < 1e-3)
        return d * d * (0.5 - d * (1.0 / 6 - d * (1.0 / 12 - d * 0.05)));
    return d <= -1 ? 1 : (1 + d) * std::log1p(d) - d;
}

// The decrease of half the Poisson deviance, m (L f(d_left) + R f(d_right)): m is the
// node's mean, d how far that of a side is from it, in units of it, and f is excess().
// Nothing cancels where the sides hardly differ. A side
// whose targets are all 0 is no side: its mean has no logarithm.
class PoissonDeviance {
  public:
    static constexpr bool kUsesRanks = false;
    static double noise(double variance, double mean) { return variance / (2 * mean); }

    template <class Target>
    PoissonDeviance(const Target& target, const MomentTotals& totals)
        : weight_(totals.weight()), unit_(1.0 / target.n_outputs()) {
        const auto w = static_cast<double>(weight_);
        for (int c = 0; c < target.n_outputs(); ++c) {
            const std::int64_t sum = totals.sum(c), mean = sum / weight_;
            outputs_.push_back({sum, mean,
                                static_cast<double>(sum - weight_ * mean) / w,
                                static_cast<double>(sum) / w, target.unit(c)});
        }
    }

    double unit() const { return unit_; }
    void rate_all(const std::int64_t* weights, const std::int64_t* sums, int n,
                  double* rates) const {
        rate_each(*this, weights, sums, n, rates);
    }

    double rate(const std::int64_t* left) const {
        const auto l = static_cast<double>(left[0]);
        const auto r = static_cast<double>(weight_ - left[0]);
        double sum = 0;
        for (std::size_t c = 0; c < outputs_.size(); ++c) {
            const Output& output = outputs_[c];
            const std::int64_t left_sum = left[c + 1];
            if (left_sum <= 0 || output.sum - left_sum <= 0)
                return -1;
            const double d =
                static_cast<double>(left_sum - left[0] * output.whole_mean) -
                l * output.rest;
            sum += (l * excess(d / (l * output.mean)) +
                    r * excess(-d / (r * output.mean))) *
                   output.mean * output.unit;
        }
        return sum;
    }

  private:
    struct Output {
        std::int64_t sum, whole_mean;
        double rest, mean, unit;
    };

    std::int64_t weight_;
    double unit_;
    std::vector<Output> outputs_;
};

// The decrease of the entropy, in bits, of a target that is 0 or 1: what Poisson's
// criterion says of it and of its complement, which together are exact here.
class BinomialDeviance {
  public:
    static constexpr bool kUsesRanks = false;
    static double noise(double variance, double mean) {
        return variance / (2 * mean * (1 - mean) * std::numbers::ln2);
    }

    template <class Target>
    BinomialDeviance(const Target& target, const MomentTotals& totals)
        : weight_(totals.weight()),
          whole_mean_(totals.sum(0) / weight_),
          rest_(static_cast<double>(totals.sum(0) - weight_ * whole_mean_) /
                static_cast<double>(weight_)),
          scale_(target.unit(0) / target.weight_unit()),
          share_(totals.mean() * scale_),
          unit_(target.weight_unit() / std::numbers::ln2) {}

    double unit() const { return unit_; }
    void rate_all(const std::int64_t* weights, const std::int64_t* sums, int n,
                  double* rates) const {
        rate_each(*this, weights, sums, n, rates);
    }

    double rate(const std::int64_t* left) const {
        const auto l = static_cast<double>(left[0]);
        const auto r = static_cast<double>(weight_ - left[0]);
        const double d =
            (static_cast<double>(left[1] - left[0] * whole_mean_) - l * rest_) * scale_;
        return l * distance(d / l) + r * distance(-d / r);
    }

  private:
    // Of a side whose share of ones differs by so much from the node's.
    double distance(double step) const {
        return share_ * excess(step / share_) +
               (1 - share_) * excess(-step / (1 - share_));
    }

    std::int64_t weight_, whole_mean_;
    double rest_, scale_, share_, unit_;
};

// The decrease of the sum of absolute deviations from the median: not from sums, see
// search/median_scan.hpp.
struct AbsoluteError {
    static constexpr bool kUsesRanks = true;
    // A quarter of one over the density at the median, here of a normal distribution.
    static double noise(double variance, double) {
        return std::sqrt(variance * std::numbers::pi / 8);
    }
};

}  // namespace dics
