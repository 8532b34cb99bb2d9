// Steps of leaves from the residuals of their rows: for losses whose best step is a
// quantile and not a ratio of sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "boost/boost.hpp"
#include "objective/objective.hpp"
#include "team.hpp"

namespace dics {

// A value, and what it weighs.
struct Weighed {
    float value, weight;
};

// The smallest value whose weight, with those below it, is at least that share of all.
inline float weighed_quantile(Weighed* begin, Weighed* end, double level) {
    if (begin == end)
        return 0;
    double total = 0;
    for (const Weighed* at = begin; at < end; ++at)
        total += static_cast<double>(at->weight);
    double wanted = total * level;
    // Halves are looked at until one value is left: the sums of the parts are of few
    // numbers and in the order of the rows, which threads don't change.
    auto by_value = [](const Weighed& a, const Weighed& b) {
        return a.value < b.value;
    };
    constexpr std::ptrdiff_t kSortedValues = 32;
    while (end - begin > kSortedValues) {
        Weighed* middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, by_value);
        double below = 0;
        for (const Weighed* at = begin; at < middle; ++at)
            below += static_cast<double>(at->weight);
        if (below >= wanted) {
            end = middle;
        } else {
            wanted -= below;
            begin = middle;
        }
    }
    std::sort(begin, end, by_value);
    for (const Weighed* at = begin; at < end - 1; ++at) {
        wanted -= static_cast<double>(at->weight);
        if (wanted <= 0)
            return at->value;
    }
    return end[-1].value;
}

// The same of values that weigh one each.
inline float plain_quantile(float* begin, float* end, double level) {
    if (begin == end)
        return 0;
    const auto n = static_cast<double>(end - begin);
    const auto rank = std::max<std::ptrdiff_t>(
        0, static_cast<std::ptrdiff_t>(std::ceil(n * level)) - 1);
    std::nth_element(begin, begin + rank, end);
    return begin[rank];
}

class LeafResiduals {
  public:
    LeafResiduals(const Objective& objective, const BoostRows& rows, Team& team)
        : objective_(objective),
          outputs_(objective.n_outputs()),
          rows_(rows),
          team_(team) {}

    // steps, [leaf][stride], are replaced. `parameters` are those of the loss.
    void find_steps(const std::uint32_t* leaf, std::size_t n_leaves,
                    double learning_rate, const std::vector<float>& parameters,
                    std::vector<float>& steps) {
        sort_by_leaf(leaf, n_leaves);
        steps.assign(n_leaves * static_cast<std::size_t>(outputs_.stride), 0.0f);
        const auto n_outputs = static_cast<std::size_t>(outputs_.n);
        team_.run(
            static_cast<std::int64_t>(n_leaves * n_outputs),
            rows_.codes.n_rows >= kParallelRows, [&](std::int64_t task, int) {
                const auto l = static_cast<std::size_t>(task) / n_outputs;
                const auto c = static_cast<std::size_t>(task) % n_outputs;
                steps[l * static_cast<std::size_t>(outputs_.stride) + c] =
                    static_cast<float>(learning_rate *
                                       step_of(l, static_cast<int>(c), parameters[c]));
            });
    }

    // The quantile of all rows' distances from their targets, for each output.
    void find_distances(double level, std::vector<float>& distances) {
        for (int c = 0; c < outputs_.n; ++c)
            distances[static_cast<std::size_t>(c)] = quantile_of(
                0, rows_.codes.n_rows, level, [](std::int64_t i) { return i; },
                [&](std::int64_t row) { return std::fabs(residual(row, c)); });
    }

  private:
    static constexpr std::int64_t kParallelRows = 1 << 13;

    void sort_by_leaf(const std::uint32_t* leaf, std::size_t n_leaves) {
        starts_.assign(n_leaves + 1, 0);
        for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i)
            ++starts_[leaf[i] + 1];
        for (std::size_t l = 0; l < n_leaves; ++l)
            starts_[l + 1] += starts_[l];
        order_.resize(static_cast<std::size_t>(rows_.codes.n_rows));
        std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
        for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i)
            order_[static_cast<std::size_t>(next[leaf[i]]++)] =
                static_cast<std::uint32_t>(i);
    }

    float residual(std::int64_t i, int c) const {
        const float y =
            rows_.targets[i * rows_.n_targets + (rows_.n_targets > 1 ? c : 0)];
        return y - rows_.scores[i * outputs_.stride + c];
    }
    float weight(std::int64_t i) const { return rows_.weights ? rows_.weights[i] : 1; }

    double step_of(std::size_t l, int c, float parameter) const {
        const double middle = static_cast<double>(quantile_of(
            starts_[l], starts_[l + 1], objective_.residual_level(c),
            [&](std::int64_t at) {
                return std::int64_t{order_[static_cast<std::size_t>(at)]};
            },
            [&](std::int64_t row) { return residual(row, c); }));
        if (objective_.distance_level() == 0)
            return middle;
        return middle + mean_within(l, c, middle, static_cast<double>(parameter));
    }

    // Of rows row_at(first..last-1).
    template <class RowAt, class ValueOf>
    float quantile_of(std::int64_t first, std::int64_t last, double level, RowAt row_at,
                      ValueOf value_of) const {
        const auto n = static_cast<std::size_t>(last - first);
        if (!rows_.weights) {
            std::vector<float> values(n);
            for (std::size_t i = 0; i < n; ++i)
                values[i] = value_of(row_at(first + static_cast<std::int64_t>(i)));
            return plain_quantile(values.data(), values.data() + n, level);
        }
        std::vector<Weighed> values(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t row = row_at(first + static_cast<std::int64_t>(i));
            values[i] = {value_of(row), weight(row)};
        }
        return weighed_quantile(values.data(), values.data() + n, level);
    }

    // Huber: the mean of what lies beside the median, cut off at the parameter.
    double mean_within(std::size_t l, int c, double middle, double delta) const {
        double sum = 0, total = 0;
        for (std::int64_t at = starts_[l]; at < starts_[l + 1]; ++at) {
            const std::int64_t row = order_[static_cast<std::size_t>(at)];
            const auto w = static_cast<double>(weight(row));
            sum += w * std::clamp(static_cast<double>(residual(row, c)) - middle,
                                  -delta, delta);
            total += w;
        }
        return total > 0 ? sum / total : 0;
    }

    const Objective& objective_;
    Outputs outputs_;
    BoostRows rows_;
    Team& team_;
    std::vector<std::int64_t> starts_;  // of each leaf's rows
    std::vector<std::uint32_t> order_;
};

}  // namespace dics
