// Leaf values of a new tree.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "boost/boost.hpp"
#include "boost/chunks.hpp"
#include "boost/row_sampler.hpp"
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
          n_groups_(objective.n_groups()),
          stride_(outputs_.stride),
          width_(2 * stride_ + n_groups_ + 1) {}

    // Adds all rows. No weight exceeds `largest_weight` and no gradient
    // `largest_gradient`. `hessians` may be null, as in GradientArgs.
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

    // Adds the sampled rows, with the same limits.
    void add_sampled(const float* gradients, const float* hessians,
                     const std::uint32_t* leaf, std::size_t n_leaves,
                     const SampledRows& sampled, double largest_weight,
                     double largest_gradient) {
        const std::int64_t n = sampled.rows.size();
        const FixedPoint weight(largest_weight, sampled.n_all);
        const FixedPoint gradient(largest_gradient, sampled.n_all);
        add_up(n_leaves, n, weight, gradient,
               [&](std::int64_t begin, LeafSumArgs& args) {
                   std::vector<float> weights(
                       sampled.factors.begin() + begin,
                       sampled.factors.begin() + begin + args.n_rows);
                   args.gradients = gradients;
                   args.hessians = hessians;
                   args.leaf = leaf;
                   args.label = rows_.labels;
                   args.rows = sampled.rows.data() + begin;
                   for (std::int64_t i = 0; rows_.weights && i < args.n_rows; ++i)
                       weights[i] *= rows_.weights[args.rows[i]];
                   args.weight = weights.data();
                   objective_.kernels().add_leaf_sums(args);
               });
        // The row count of a node includes rows that were not sampled.
        std::vector<std::int64_t> counts(n_leaves);
        for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i)
            ++counts[leaf[i]];
        sum_.allreduce(counts);
        for (std::size_t i = 0; i < n_leaves; ++i)
            sums_[(i + 1) * width_ - 1] = counts[i];
    }

    // The step of each leaf, [leaf][stride]. If hessians are the variance of the
    // gradients, a gradient sum G that is noise has G^2 / H = 1 on average. A step is
    // multiplied by S / (S + s k): S is the sum of G^2 / H over the outputs, k the
    // number of outputs with enough hessian, and s the noise shrinkage.
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
        return sums_[(leaf + 1) * width_ - 1];
    }

  private:
    double trust(const double* sums, const BoostSettings& settings,
                 double row_weight) const {
        if (settings.noise_shrinkage == 0)
            return 1;
        double signal = 0, noise = 0;
        for (int c = 0; c < outputs_.n; ++c) {
            const double g = sums[c], h = sums[stride_ + c];
            if (h + settings.l2 > 0)
                signal += g * g / (h + settings.l2);
            noise += std::min(row_weight, h);
        }
        return signal > 0 ? signal / (signal + settings.noise_shrinkage * noise) : 1;
    }

    static constexpr std::int64_t kMaxTasks = 64;
    static constexpr std::size_t kSumBytes = std::size_t{32} << 20;  // of all tasks

    // Computes the sums of each leaf; `add(begin, args)` adds a chunk of rows.
    template <class Add>
    void add_up(std::size_t n_leaves, std::int64_t n_rows, const FixedPoint& weight,
                const FixedPoint& gradient, Add add) {
        const std::size_t size = n_leaves * width_;
        const auto n_tasks = std::clamp<std::int64_t>(
            kSumBytes / (size * sizeof(std::int64_t)), 1, kMaxTasks);
        const Chunks chunks{n_rows,
                            std::max(kTaskRows, (n_rows + n_tasks - 1) / n_tasks)};
        const std::size_t n_chunks = chunks.count();
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
                      args.sums = fixed_.data() + size * task;
                      args.width = width_;
                      add(chunks.begin(task), args);
                  });
        sum_.allreduce_parts(fixed_, n_chunks, size);
        sums_.resize(size);
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf)
            read_sums(fixed_.data() + leaf * width_, weight, gradient,
                      sums_.data() + leaf * width_);
    }

    // Hessians of 1 are as large as the weights, others at most as the gradients.
    const FixedPoint& hessian_scale(const FixedPoint& weight,
                                    const FixedPoint& gradient) const {
        return objective_.hessians() == Hessians::ones ? weight : gradient;
    }

    void read_sums(const std::uint64_t* fixed, const FixedPoint& weight,
                   const FixedPoint& gradient, double* sums) const {
        const std::uint64_t n_rows = fixed[width_ - 1];
        // Sums wrap around, and so does the subtraction of the bits of kFixer.
        const FixedPoint& hessian = hessian_scale(weight, gradient);
        for (std::size_t i = 0; i < 2 * stride_; ++i)
            sums[i] = (i < stride_ ? gradient : hessian)
                          .value(fixed[i] - n_rows * kFixerBits);
        for (std::size_t i = 2 * stride_; i + 1 < width_; ++i)
            sums[i] = weight.value(fixed[i]);
        sums[width_ - 1] = n_rows;
    }

    const Objective& objective_;
    Outputs outputs_;
    BoostRows rows_;
    Team& team_;
    Sum sum_;
    std::int64_t n_all_;  // rows of all processes
    std::size_t n_groups_, stride_, width_;
    std::vector<std::uint64_t> fixed_;  // [task][leaf][width], see LeafSumArgs
    std::vector<double> sums_;          // [leaf][width]
};

}  // namespace dics
