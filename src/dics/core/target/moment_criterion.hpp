// Criteria of regression splits, from integer sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "target/moments.hpp"

namespace dics {

// A criterion belongs to a node and rates the sums of the left side: larger is better,
// and 0 means that nothing is gained. The gain of a split is rate() * unit(). noise()
// is the expected gain of one more side that is independent of a target with this
// variance and mean, per unit of row weight.

// The decrease of the sum of squares, W D^2 / (L R): L and R are the weights of the
// sides, W = L + R, and D = (S_left R - S_right L) / W. This is also Friedman's
// improvement. Sums are relative to the mean of the node, rounded to an integer: they
// would cancel if the mean is far from 0.
class SquaredError {
  public:
    static constexpr bool kUsesRanks = false;
    static double noise(double variance, double) { return variance; }

    template <class Target>
    SquaredError(const Target& target, const MomentTotals& totals)
        : weight_(totals.weight()),
          unit_(weight_ / target.weight_unit() / target.n_outputs()) {
        auto output = [&](int c) {
            const std::int64_t mean = totals.sum(c) / weight_;
            const double rest = totals.sum(c) - weight_ * mean;
            return Output{mean, rest / weight_, target.unit(c)};
        };
        first_ = output(0);
        // One output allocates no memory, because trees have many small nodes.
        for (int c = 0; target.n_outputs() > 1 && c < target.n_outputs(); ++c)
            outputs_.push_back(output(c));
    }

    double unit() const { return unit_; }

    // Rates `n` splits of one output, vectorized.
    void rate_all(const std::int64_t* weights, const std::int64_t* sums, int n,
                  double* rates) const {
        double products[kTogether];
        for (int first = 0; first < n; first += kTogether) {
            const int last = std::min(n - first, kTogether);
            for (int k = 0; k < last; ++k) {
                const std::int64_t weight = weights[first + k];
                const double l = weight;
                products[k] = l * (weight_ - weight);
                rates[first + k] = distance(first_, weight, sums[first + k], l);
            }
            for (int k = 0; k < last; ++k)
                rates[first + k] = rates[first + k] * rates[first + k] / products[k];
        }
    }

    double rate(const std::int64_t* left) const {
        const double l = left[0], r = weight_ - left[0];
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
        return (sum - weight * output.mean - l * output.rest) * output.unit;
    }

    std::int64_t weight_;
    double unit_;
    Output first_;
    std::vector<Output> outputs_;  // empty for one output
};

// For criteria that do not vectorize.
template <class Crit>
void rate_each(const Crit& criterion, const std::int64_t* weights,
               const std::int64_t* sums, int n, double* rates) {
    for (int k = 0; k < n; ++k) {
        const std::int64_t left[2] = {weights[k], sums[k]};
        rates[k] = criterion.rate(left);
    }
}

// (1 + d) log(1 + d) - d: the distance of a mean that is 1 + d times another.
inline double excess(double d) {
    if (std::fabs(d) < 1e-3)
        return d * d * (0.5 - d * (1.0 / 6 - d * (1.0 / 12 - d * 0.05)));
    return d <= -1 ? 1 : (1 + d) * std::log1p(d) - d;
}

// The decrease of half the Poisson deviance, m (L f(d_left) + R f(d_right)): m is the
// mean of the node, d the relative distance of the mean of a side, and f is excess().
// Nothing cancels if the sides hardly differ. A side with only zeros is not allowed:
// its mean has no logarithm.
class PoissonDeviance {
  public:
    static constexpr bool kUsesRanks = false;
    static double noise(double variance, double mean) { return variance / (2 * mean); }

    template <class Target>
    PoissonDeviance(const Target& target, const MomentTotals& totals)
        : weight_(totals.weight()), unit_(1.0 / target.n_outputs()) {
        const double w = weight_;
        for (int c = 0; c < target.n_outputs(); ++c) {
            const std::int64_t sum = totals.sum(c), mean = sum / weight_;
            outputs_.push_back(
                {sum, mean, (sum - weight_ * mean) / w, sum / w, target.unit(c)});
        }
    }

    double unit() const { return unit_; }
    void rate_all(const std::int64_t* weights, const std::int64_t* sums, int n,
                  double* rates) const {
        rate_each(*this, weights, sums, n, rates);
    }

    double rate(const std::int64_t* left) const {
        const double l = left[0], r = weight_ - left[0];
        double sum = 0;
        for (std::size_t c = 0; c < outputs_.size(); ++c) {
            const Output& output = outputs_[c];
            const std::int64_t left_sum = left[c + 1];
            if (left_sum <= 0 || output.sum - left_sum <= 0)
                return -1;
            const double d = left_sum - left[0] * output.whole_mean - l * output.rest;
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

// The decrease of the entropy, in bits, of a target that is 0 or 1: the sum of the
// Poisson criteria of the target and of its complement.
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
          rest_(double(totals.sum(0) - weight_ * whole_mean_) / weight_),
          scale_(target.unit(0) / target.weight_unit()),
          fraction_(totals.mean() * scale_),
          unit_(target.weight_unit() / std::numbers::ln2) {}

    double unit() const { return unit_; }
    void rate_all(const std::int64_t* weights, const std::int64_t* sums, int n,
                  double* rates) const {
        rate_each(*this, weights, sums, n, rates);
    }

    double rate(const std::int64_t* left) const {
        const double l = left[0], r = weight_ - left[0];
        const double d = (left[1] - left[0] * whole_mean_ - l * rest_) * scale_;
        return l * distance(d / l) + r * distance(-d / r);
    }

  private:
    // For a side whose fraction of ones is that of the node plus `step`.
    double distance(double step) const {
        return fraction_ * excess(step / fraction_) +
               (1 - fraction_) * excess(-step / (1 - fraction_));
    }

    std::int64_t weight_, whole_mean_;
    double rest_, scale_, fraction_, unit_;
};

// The decrease of the sum of absolute deviations from the median, which sums do not
// give: see search/moments/median.hpp.
struct AbsoluteError {
    static constexpr bool kUsesRanks = true;
    // 1 / (4 density at the median), here for a normal distribution.
    static double noise(double variance, double) {
        return std::sqrt(variance * std::numbers::pi / 8);
    }
};

}  // namespace dics
