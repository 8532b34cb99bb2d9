// What the leaves of a new tree add to the scores.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "boost/boost.hpp"
#include "boost/chunks.hpp"
#include "boost/row_draw.hpp"
#include "collective/sum.hpp"
#include "fixed_point.hpp"
#include "objective/objective.hpp"
#include "team.hpp"

namespace dics {

class LeafValues {
  public:
    LeafValues(const Objective& objective, const BoostRows& rows, const Sum& sum,
               Team& team)
        : objective_(objective),
          outputs_(objective.n_outputs()),
          rows_(rows),
          team_(team),
          sum_(sum),
          n_all_(sum.n_rows(rows.codes.n_rows)),
          n_groups_(static_cast<std::size_t>(objective.n_groups())),
          stride_(static_cast<std::size_t>(outputs_.stride)),
          width_(2 * stride_ + n_groups_ + 1) {}

    // From all rows, none of which weighs more than `largest_weight` nor has a gradient
    // longer than `largest_gradient`. `hessians` may be null, as in GradientArgs.
    void add_all(const float* gradients, const float* hessians,
                 const std::uint32_t* leaf, std::size_t n_leaves, double largest_weight,
                 double largest_gradient) {
        const std::int64_t n = rows_.codes.n_rows;
        const FixedPoint weight(largest_weight, n_all_);
        const FixedPoint gradient(largest_gradient, n_all_);
        add_up(
            n_leaves, n, weight, gradient, [&](std::int64_t begin, LeafSumArgs& args) {
                args.gradients = gradients + begin * outputs_.stride;
                args.hessians = hessians ? hessians + begin * outputs_.stride : nullptr;
                args.leaf = leaf + begin;
                args.label = rows_.labels ? rows_.labels + begin : nullptr;
                args.weight = rows_.weights ? rows_.weights + begin : nullptr;
                objective_.kernels().add_leaf_sums(args);
            });
    }

    // From the rows drawn, none of which weighs more than `largest_weight` nor has a
    // gradient longer than `largest_gradient`.
    void add_drawn(const float* gradients, const float* hessians,
                   const std::uint32_t* leaf, std::size_t n_leaves,
                   const DrawnRows& drawn, double largest_weight,
                   double largest_gradient) {
        const auto n = static_cast<std::int64_t>(drawn.rows.size());
        const FixedPoint weight(largest_weight, drawn.n_all);
        const FixedPoint gradient(largest_gradient, drawn.n_all);
        add_up(
            n_leaves, n, weight, gradient, [&](std::int64_t begin, LeafSumArgs& args) {
                std::vector<float> weights(drawn.factors.begin() + begin,
                                           drawn.factors.begin() + begin + args.n_rows);
                args.gradients = gradients;
                args.hessians = hessians;
                args.leaf = leaf;
                args.label = rows_.labels;
                args.rows = drawn.rows.data() + begin;
                for (std::int64_t i = 0; rows_.weights && i < args.n_rows; ++i)
                    weights[static_cast<std::size_t>(i)] *= rows_.weights[args.rows[i]];
                args.weight = weights.data();
                objective_.kernels().add_leaf_sums(args);
            });
        // A node's number of rows is that of all, drawn or not.
        std::vector<std::int64_t> counts(n_leaves);
        for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i)
            ++counts[leaf[i]];
        sum_.allreduce(counts.data(), static_cast<std::int64_t>(n_leaves));
        for (std::size_t i = 0; i < n_leaves; ++i)
            sums_[(i + 1) * width_ - 1] = static_cast<double>(counts[i]);
    }

    // The step of each leaf, [leaf][stride]. Where hessians are the variance of the
    // gradients, a sum G of them that is noise has G^2 / H = 1 in the mean. A step is
    // S / (S + s k) as long as it would be: S adds up G^2 / H over the outputs, k how
    // many of them there are to speak of, and s is the noise shrinkage.
    void find_steps(const BoostSettings& settings, double row_weight,
                    std::vector<float>& steps) const {
        const std::size_t n_leaves = sums_.size() / width_;
        steps.assign(n_leaves * stride_, 0.0f);
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
            const double* sums = sums_.data() + leaf * width_;
            objective_.find_step(
                {sums, sums + stride_, sums + 2 * stride_},
                settings.learning_rate * trust(sums, settings, row_weight), settings.l2,
                steps.data() + leaf * stride_);
        }
    }

    double weight(std::size_t leaf) const {
        const double* groups = sums_.data() + leaf * width_ + 2 * stride_;
        double total = 0;
        for (std::size_t g = 0; g < n_groups_; ++g)
            total += groups[g];
        return total;
    }
    std::int32_t n_rows(std::size_t leaf) const {
        return static_cast<std::int32_t>(sums_[(leaf + 1) * width_ - 1]);
    }

  private:
    double trust(const double* sums, const BoostSettings& settings,
                 double row_weight) const {
        if (settings.noise_shrinkage == 0)
            return 1;
        double signal = 0, noise = 0;
        for (std::size_t c = 0; c < static_cast<std::size_t>(outputs_.n); ++c) {
            const double g = sums[c], h = sums[stride_ + c];
            if (h + settings.l2 > 0)
                signal += g * g / (h + settings.l2);
            noise += std::min(row_weight, h);
        }
        return signal > 0 ? signal / (signal + settings.noise_shrinkage * noise) : 1;
    }

    static constexpr std::int64_t kMaxTasks = 64;
    static constexpr std::size_t kSumBytes = std::size_t{32} << 20;  // of all tasks

    // Sums over the rows of each leaf; `add(begin, args)` adds a chunk of rows.
    template <class Add>
    void add_up(std::size_t n_leaves, std::int64_t n_rows, const FixedPoint& weight,
                const FixedPoint& gradient, Add add) {
        const std::size_t size = n_leaves * width_;
        const auto n_tasks = std::clamp<std::int64_t>(
            static_cast<std::int64_t>(kSumBytes / (size * sizeof(std::int64_t))), 1,
            kMaxTasks);
        const Chunks chunks{n_rows,
                            std::max(kTaskRows, (n_rows + n_tasks - 1) / n_tasks)};
        const auto n_chunks = static_cast<std::size_t>(chunks.count());
        fixed_.assign(size * n_chunks, 0);
        team_.run(chunks.count(), n_rows * outputs_.stride >= kParallelNumbers,
                  [&](std::int64_t task, int) {
                      LeafSumArgs args{};
                      args.n_rows = chunks.length(task);
                      args.n_outputs = outputs_.n;
                      args.stride = outputs_.stride;
                      args.n_groups = objective_.n_groups();
                      args.gradient_scale = gradient.scale;
                      args.hessian_scale = hessian_scale(weight, gradient).scale;
                      args.weight_scale = weight.scale;
                      args.sums = fixed_.data() + size * static_cast<std::size_t>(task);
                      args.width = static_cast<std::int64_t>(width_);
                      add(chunks.begin(task), args);
                  });
        sum_.allreduce_parts(fixed_, n_chunks, size);
        sums_.resize(size);
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf)
            read_sums(fixed_.data() + leaf * width_, weight, gradient,
                      sums_.data() + leaf * width_);
    }

    // Hessians of one are as large as weights, others no larger than gradients.
    const FixedPoint& hessian_scale(const FixedPoint& weight,
                                    const FixedPoint& gradient) const {
        return objective_.hessians() == Hessians::ones ? weight : gradient;
    }

    void read_sums(const std::uint64_t* fixed, const FixedPoint& weight,
                   const FixedPoint& gradient, double* sums) const {
        const std::uint64_t n_rows = fixed[width_ - 1];
        // Sums wrap around, and so does what is taken out of them.
        const FixedPoint& hessian = hessian_scale(weight, gradient);
        for (std::size_t i = 0; i < 2 * stride_; ++i)
            sums[i] =
                (i < stride_ ? gradient : hessian)
                    .value(static_cast<std::int64_t>(fixed[i] - n_rows * kFixerBits));
        for (std::size_t i = 2 * stride_; i + 1 < width_; ++i)
            sums[i] = weight.value(static_cast<std::int64_t>(fixed[i]));
        sums[width_ - 1] = static_cast<double>(n_rows);
    }

    const Objective& objective_;
    Outputs outputs_;
    BoostRows rows_;
    Team& team_;
    Sum sum_;
    std::int64_t n_all_;  // rows of all contributors
    std::size_t n_groups_, stride_, width_;
    std::vector<std::uint64_t> fixed_;  // [task][leaf][width], see LeafSumArgs
    std::vector<double> sums_;          // [leaf][width]
};

}  // namespace dics
