// Gradients of the drawn rows as whole numbers, exact to add and subtract.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "boost/chunks.hpp"
#include "boost/row_draw.hpp"
#include "collective/sum.hpp"
#include "fixed_point.hpp"
#include "objective/objective.hpp"
#include "target/gradients.hpp"
#include "team.hpp"

namespace dics {

class Quantizer {
  public:
    // How many units make one.
    struct Units {
        double gradient, hessian;
    };

    // `is_wide`: sums have 64 bits.
    Quantizer(const Objective& objective, const Gradients& target, const float* weights,
              bool is_wide, const Sum& sum, Team& team)
        : objective_(objective),
          target_(target),
          outputs_(target.outputs()),
          weights_(weights),
          is_wide_(is_wide),
          team_(team),
          sum_(sum) {}

    // `gradients`, `hessians` (or null, as in GradientArgs) and `norms` are of all
    // `n_rows` rows. Returns how many units make one.
    Units quantize(const float* gradients, const float* hessians, const float* norms,
                   const DrawnRows& drawn, std::int64_t n_rows) {
        const std::int64_t n = drawn.size(n_rows);
        n_all_ = drawn.n_all;
        shift_ = 0;
        Units units;
        units.gradient = find_scale(norms, drawn, n);
        units.hessian =
            objective_.hessians() == Hessians::ones ? scale_of_ones(n) : units.gradient;
        const auto unit = static_cast<float>(units.gradient);
        const auto cells = static_cast<std::size_t>(outputs_.cells);
        values_.resize(static_cast<std::size_t>(n) * cells);
        const Chunks chunks{n};
        sums_.assign(static_cast<std::size_t>(chunks.count()) * cells, 0);
        run(chunks, [&](std::int64_t task, std::int64_t begin, std::int64_t length) {
            QuantizeArgs args{};
            args.gradients =
                drawn.all ? gradients + begin * outputs_.stride : gradients;
            args.hessians =
                hessians && drawn.all ? hessians + begin * outputs_.stride : hessians;
            args.hessian_factor = static_cast<float>(units.hessian / units.gradient);
            args.rows = drawn.all ? nullptr : drawn.rows.data() + begin;
            args.factors = has_factors_ ? factors_.data() + begin : nullptr;
            args.factor = unit;
            args.n_rows = length;
            args.n_outputs = outputs_.n;
            args.n_hessians = outputs_.n_hessians;
            args.stride = outputs_.stride;
            args.cells = outputs_.cells;
            args.out = values_.data() + begin * outputs_.cells;
            args.totals = sums_.data() + static_cast<std::size_t>(task) * cells;
            objective_.kernels().quantize(args);
        });
        add_totals(static_cast<std::size_t>(chunks.count()));
        // What is looked at are sums without the last bits.
        return {std::ldexp(units.gradient, -shift_),
                std::ldexp(units.hessian, -shift_)};
    }

    // Bits that sums are looked at without, see Gradients::set_shift.
    int shift() const { return shift_; }

    const std::int16_t* values() const { return values_.data(); }  // [drawn row][cells]
    const GradientTotals& totals() const { return totals_; }
    // Of the drawn rows: the longest gradient, and the largest weight.
    double largest() const { return largest_; }
    double largest_weight() const { return largest_weight_; }

  private:
    // Sums of this many bits can't overflow a counter.
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
            target_.add(sums_.data() + task * static_cast<std::size_t>(outputs_.cells),
                        totals_);
        sum_.allreduce(totals_.cells.data(), outputs_.cells);
        target_.finish(totals_);
    }

    // Of gradients. The factors of the rows are found on the way.
    double find_scale(const float* norms, const DrawnRows& drawn, std::int64_t n) {
        const Chunks chunks{n};
        has_factors_ = !drawn.all || weights_;
        if (!has_factors_) {
            factors_.clear();
            sizes_ = norms;
            largest_weight_ = 1;
            largest_ = sum_.allreduce_max(largest_of(norms, n));
            return largest_ > 0 ? fitting_scale(chunks, largest_) : 1;
        }
        factors_.resize(static_cast<std::size_t>(n));
        own_sizes_.resize(static_cast<std::size_t>(n));
        sizes_ = own_sizes_.data();
        std::vector<double> largest(static_cast<std::size_t>(chunks.count()));
        std::vector<double> heaviest(largest.size());
        run(chunks, [&](std::int64_t task, std::int64_t begin, std::int64_t length) {
            float most = 0, heavy = 0;
            for (std::int64_t i = begin; i < begin + length; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const std::int64_t row = drawn.all ? i : drawn.rows[at];
                const float factor = drawn.all ? 1.0f : drawn.factors[at];
                own_sizes_[at] = norms[row] * factor;
                factors_[at] = weights_ ? factor * weights_[row] : factor;
                most = std::max(most, own_sizes_[at]);
                heavy = std::max(heavy, factors_[at]);
            }
            largest[static_cast<std::size_t>(task)] = most;
            heaviest[static_cast<std::size_t>(task)] = heavy;
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
        // No number is longer than its row's norm, nor is a hessian that isn't one.
        return fitting_scale(chunks, largest_);
    }

    // Hessians of one weigh what the rows weigh.
    double scale_of_ones(std::int64_t n) {
        if (!(largest_weight_ > 0))
            return 1;
        if (!has_factors_)
            return scale_within(1, static_cast<double>(n_all_));
        sizes_ = factors_.data();
        return fitting_scale(Chunks{n}, largest_weight_);
    }

    // The largest power of two for which neither a number of those in `sizes_`, at most
    // `largest`, nor their sum overflows.
    double fitting_scale(const Chunks& chunks, double largest) {
        return scale_within(largest, sum_of_sizes(chunks, largest));
    }
    double scale_within(double largest, double sum) {
        // Halves are rounded up: one more for each row.
        const double room = std::ldexp(kMaxSum, is_wide_ ? kMostShift : 0) -
                            static_cast<double>(n_all_);
        const double scale = std::min({kMaxValue / largest, room / sum, kMaxScale});
        const double power = std::exp2(std::floor(std::log2(scale)));
        while (is_wide_ &&
               sum * power + static_cast<double>(n_all_) > std::ldexp(kMaxSum, shift_))
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
        return static_cast<double>(*std::max_element(most, most + kLanes));
    }

    double sum_of_sizes(const Chunks& chunks, double largest) {
        const FixedPoint fixed(largest, n_all_);
        std::vector<std::int64_t> parts(static_cast<std::size_t>(chunks.count()));
        run(chunks, [&](std::int64_t task, std::int64_t begin, std::int64_t length) {
            // Rounded as FixedPoint does it, but several at a time.
            std::uint64_t sum = 0;
            for (std::int64_t i = begin; i < begin + length; ++i)
                sum += std::bit_cast<std::uint64_t>(
                    static_cast<double>(sizes_[i]) * fixed.scale + kFixer);
            parts[static_cast<std::size_t>(task)] = static_cast<std::int64_t>(
                sum - static_cast<std::uint64_t>(length) * kFixerBits);
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
    std::int64_t n_all_ = 0;      // drawn rows of all contributors
    bool has_factors_ = false;    // not all of them are one
    std::vector<float> factors_;  // of the drawn rows
    // What must not overflow in sum, of each of them.
    const float* sizes_ = nullptr;
    std::vector<float> own_sizes_;
    std::vector<std::int16_t> values_;
    std::vector<std::int32_t> sums_;  // of each task
    GradientTotals totals_;
    double largest_ = 0, largest_weight_ = 0;
};

}  // namespace dics
