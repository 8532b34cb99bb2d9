// Gradients of the sampled rows as integers, whose sums and differences are exact.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "boost/chunks.hpp"
#include "boost/row_sampler.hpp"
#include "collective/sum.hpp"
#include "fixed_point.hpp"
#include "objective/objective.hpp"
#include "target/gradients.hpp"
#include "team.hpp"

namespace dics {

class Quantizer {
  public:
    // The integers that represent a gradient of 1 and a hessian of 1.
    struct Units {
        double gradient, hessian;
    };

    // With `is_wide`, sums have 64 bits.
    Quantizer(const Objective& objective, const Gradients& target, const float* weights,
              bool is_wide, const Sum& sum, Team& team)
        : objective_(objective),
          target_(target),
          outputs_(target.outputs()),
          weights_(weights),
          is_wide_(is_wide),
          team_(team),
          sum_(sum) {}

    // `gradients`, `hessians` (or null, as in GradientArgs) and `norms` have all
    // `n_rows` rows.
    Units quantize(const float* gradients, const float* hessians, const float* norms,
                   const SampledRows& sampled, std::int64_t n_rows) {
        const std::int64_t n = sampled.size(n_rows);
        n_all_ = sampled.n_all;
        shift_ = 0;
        Units units;
        units.gradient = find_scale(norms, sampled, n);
        units.hessian =
            objective_.hessians() == Hessians::ones ? scale_of_ones(n) : units.gradient;
        const std::size_t cells = outputs_.cells;
        values_.resize(n * cells);
        const Chunks chunks{n};
        sums_.assign(chunks.count() * cells, 0);
        run(chunks, [&](std::int64_t task, std::int64_t begin, std::int64_t length) {
            QuantizeArgs args{};
            args.gradients =
                sampled.all ? gradients + begin * outputs_.stride : gradients;
            args.hessians =
                hessians && sampled.all ? hessians + begin * outputs_.stride : hessians;
            args.hessian_factor = units.hessian / units.gradient;
            args.rows = sampled.all ? nullptr : sampled.rows.data() + begin;
            args.factors = has_factors_ ? factors_.data() + begin : nullptr;
            args.factor = units.gradient;
            args.n_rows = length;
            args.n_outputs = outputs_.n;
            args.n_hessians = outputs_.n_hessians;
            args.stride = outputs_.stride;
            args.cells = outputs_.cells;
            args.out = values_.data() + begin * outputs_.cells;
            args.totals = sums_.data() + task * cells;
            objective_.kernels().quantize(args);
        });
        add_totals(chunks.count());
        // Searches use sums without their last bits.
        return {std::ldexp(units.gradient, -shift_),
                std::ldexp(units.hessian, -shift_)};
    }

    // Number of the last bits that searches ignore, see Gradients::set_shift.
    int shift() const { return shift_; }

    const std::int16_t* values() const {
        return values_.data();
    }  // [sampled row][cells]
    const GradientTotals& totals() const { return totals_; }
    // The largest gradient and the largest weight of the sampled rows.
    double largest() const { return largest_; }
    double largest_weight() const { return largest_weight_; }

  private:
    // Sums up to this do not overflow 32 bits.
    static constexpr double kMaxSum = 2147480000.0;
    static constexpr int kMostShift = 30;
    static constexpr double kMaxValue = 32767;
    static constexpr double kMaxScale = 0x1p100;  // finite in single precision

    template <class Body>
    void run(const Chunks& chunks, Body body) {
        team_.run(chunks.count(), chunks.n_rows * outputs_.stride >= kParallelNumbers,
                  [&](std::int64_t task, int) {
                      body(task, chunks.begin(task), chunks.length(task));
                  });
    }

    void add_totals(std::size_t n_tasks) {
        target_.clear(totals_);
        for (std::size_t task = 0; task < n_tasks; ++task)
            target_.add(sums_.data() + task * outputs_.cells, totals_);
        sum_.allreduce(totals_.cells.data(), outputs_.cells);
        target_.finish(totals_);
    }

    // Returns the scale of the gradients, and computes the factors of the rows.
    double find_scale(const float* norms, const SampledRows& sampled, std::int64_t n) {
        const Chunks chunks{n};
        has_factors_ = !sampled.all || weights_;
        if (!has_factors_) {
            factors_.clear();
            sizes_ = norms;
            largest_weight_ = 1;
            largest_ = sum_.allreduce_max(largest_of(norms, n));
            return largest_ > 0 ? fitting_scale(chunks, largest_) : 1;
        }
        factors_.resize(n);
        own_sizes_.resize(n);
        sizes_ = own_sizes_.data();
        std::vector<double> largest(chunks.count());
        std::vector<double> heaviest(largest.size());
        run(chunks, [&](std::int64_t task, std::int64_t begin, std::int64_t length) {
            float most = 0, heavy = 0;
            for (std::int64_t i = begin; i < begin + length; ++i) {
                const std::int64_t row = sampled.all ? i : sampled.rows[i];
                const float factor = sampled.all ? 1.0f : sampled.factors[i];
                own_sizes_[i] = norms[row] * factor;
                factors_[i] = weights_ ? factor * weights_[row] : factor;
                most = std::max(most, own_sizes_[i]);
                heavy = std::max(heavy, factors_[i]);
            }
            largest[task] = most;
            heaviest[task] = heavy;
        });
        largest_ = largest_weight_ = 0;
        for (std::size_t task = 0; task < largest.size(); ++task) {
            largest_ = std::max(largest_, largest[task]);
            largest_weight_ = std::max(largest_weight_, heaviest[task]);
        }
        double both[] = {largest_, largest_weight_};
        sum_.allreduce_max(both, 2);
        largest_ = both[0];
        largest_weight_ = both[1];
        if (!(largest_ > 0))
            return 1;
        // No gradient exceeds the norm of its row, and no hessian unless it is 1.
        return fitting_scale(chunks, largest_);
    }

    // If hessians are 1, they become the weights of the rows.
    double scale_of_ones(std::int64_t n) {
        if (!(largest_weight_ > 0))
            return 1;
        if (!has_factors_)
            return scale_within(1, n_all_);
        sizes_ = factors_.data();
        return fitting_scale(Chunks{n}, largest_weight_);
    }

    // The largest power of two with which neither a value of `sizes_` (at most
    // `largest`) nor their sum overflows.
    double fitting_scale(const Chunks& chunks, double largest) {
        return scale_within(largest, sum_of_sizes(chunks, largest));
    }
    double scale_within(double largest, double sum) {
        // Halves are rounded up, which adds at most 1 per row.
        const double room = std::ldexp(kMaxSum, is_wide_ ? kMostShift : 0) - n_all_;
        const double scale = std::min({kMaxValue / largest, room / sum, kMaxScale});
        const double power = std::exp2(std::floor(std::log2(scale)));
        while (is_wide_ && sum * power + n_all_ > std::ldexp(kMaxSum, shift_))
            ++shift_;
        return power;
    }

    static double largest_of(const float* values, std::int64_t n) {
        float most[kLanes] = {};
        std::int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes) {
            for (int j = 0; j < kLanes; ++j)
                most[j] = values[i + j] > most[j] ? values[i + j] : most[j];
        }
        for (; i < n; ++i)
            most[0] = std::max(most[0], values[i]);
        return *std::max_element(most, most + kLanes);
    }

    double sum_of_sizes(const Chunks& chunks, double largest) {
        const FixedPoint fixed(largest, n_all_);
        std::vector<std::int64_t> parts(chunks.count());
        run(chunks, [&](std::int64_t task, std::int64_t begin, std::int64_t length) {
            // The same rounding as in FixedPoint, but vectorized.
            std::uint64_t sum = 0;
            for (std::int64_t i = begin; i < begin + length; ++i)
                sum += std::bit_cast<std::uint64_t>(sizes_[i] * fixed.scale + kFixer);
            parts[task] = sum - length * kFixerBits;
        });
        sum_.allreduce_parts(parts, parts.size(), 1);
        return fixed.value(parts[0]);
    }

    const Objective& objective_;
    const Gradients& target_;
    Outputs outputs_;
    const float* weights_;  // of all rows; null: ones
    bool is_wide_;
    int shift_ = 0;
    Team& team_;
    Sum sum_;
    std::int64_t n_all_ = 0;      // sampled rows of all processes
    bool has_factors_ = false;    // not all factors are 1
    std::vector<float> factors_;  // of the sampled rows
    // The absolute values whose sum must not overflow.
    const float* sizes_ = nullptr;
    std::vector<float> own_sizes_;
    std::vector<std::int16_t> values_;
    std::vector<std::int32_t> sums_;  // of each task
    GradientTotals totals_;
    double largest_ = 0, largest_weight_ = 0;
};

}  // namespace dics
