// Leaf values from the residuals of the rows, for losses whose best step is a quantile
// instead of a ratio of sums.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "boost/boost.hpp"
#include "collective/sum.hpp"
#include "fixed_point.hpp"
#include "objective/objective.hpp"
#include "team.hpp"

namespace dics {

struct WeightedValue {
    float value;
    std::int64_t weight;
};

// The least weight of the values up to a quantile.
inline std::int64_t weight_up_to(std::int64_t total, double level) {
    return std::max<std::int64_t>(1, std::ceil(total * level));
}

// The smallest value up to which the values have at least the fraction `level` of the
// total weight.
inline float weighted_quantile(WeightedValue* begin, WeightedValue* end, double level) {
    if (begin == end)
        return 0;
    std::int64_t total = 0;
    for (const WeightedValue* at = begin; at < end; ++at)
        total += at->weight;
    if (total == 0)
        return 0;
    std::int64_t wanted = weight_up_to(total, level);
    // Bisects until few values are left.
    auto by_value = [](const WeightedValue& a, const WeightedValue& b) {
        return a.value < b.value;
    };
    constexpr std::ptrdiff_t kSortedValues = 32;
    while (end - begin > kSortedValues) {
        WeightedValue* middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, by_value);
        std::int64_t below = 0;
        for (const WeightedValue* at = begin; at < middle; ++at)
            below += at->weight;
        if (below >= wanted) {
            end = middle;
        } else {
            wanted -= below;
            begin = middle;
        }
    }
    std::sort(begin, end, by_value);
    for (const WeightedValue* at = begin; at < end - 1; ++at) {
        wanted -= at->weight;
        if (wanted <= 0)
            return at->value;
    }
    return end[-1].value;
}

// The same for values of weight 1.
inline float plain_quantile(float* begin, float* end, double level) {
    if (begin == end)
        return 0;
    float* at = begin + weight_up_to(end - begin, level) - 1;
    std::nth_element(begin, at, end);
    return *at;
}

// Quantiles of groups of values that are spread over several processes. Each pass finds
// one byte of each quantile, from counts of the next byte of the values.
class SharedQuantiles {
  public:
    // `for_each(body)` calls body(group, value, weight) for each local value.
    template <class ForEach, class LevelOf>
    std::vector<float> find(std::size_t n_groups, const Sum& sum, ForEach for_each,
                            LevelOf level_of) {
        std::vector<std::uint32_t> found(n_groups);
        std::vector<std::int64_t> wanted(n_groups);
        for (int shift = 24; shift >= 0; shift -= 8) {
            weights_.assign(n_groups << 8, 0);
            for_each([&](std::size_t group, float value, std::int64_t weight) {
                const std::uint32_t key = key_of(value);
                // The bytes above the current one must be those of the quantile.
                if (shift == 24 || key >> (shift + 8) == found[group])
                    weights_[group << 8 | (key >> shift & 0xFF)] += weight;
            });
            sum.allreduce(weights_);
            for (std::size_t group = 0; group < n_groups; ++group) {
                const std::int64_t* weights = weights_.data() + (group << 8);
                if (shift == 24) {
                    std::int64_t total = 0;
                    for (int byte = 0; byte < 256; ++byte)
                        total += weights[byte];
                    wanted[group] =
                        total > 0 ? weight_up_to(total, level_of(group)) : 0;
                }
                std::uint32_t byte = 0;
                while (byte < 255 && wanted[group] > weights[byte])
                    wanted[group] -= weights[byte++];
                found[group] = found[group] << 8 | byte;
                if (wanted[group] == 0)  // the group is empty
                    found[group] = key_of(0) >> shift;
            }
        }
        std::vector<float> values;
        for (const std::uint32_t key : found)
            values.push_back(value_of(key));
        return values;
    }

  private:
    static constexpr std::uint32_t kSign = 1u << 31;

    // Increases with the value.
    static std::uint32_t key_of(float value) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        return bits & kSign ? ~bits : bits | kSign;
    }
    static float value_of(std::uint32_t key) {
        return std::bit_cast<float>(key & kSign ? key & ~kSign : ~key);
    }

    std::vector<std::int64_t> weights_;  // [group][byte]
};

class LeafResiduals {
  public:
    // `largest_weight` is the largest weight of the rows of all processes.
    LeafResiduals(const Objective& objective, const BoostRows& rows,
                  double largest_weight, const Sum& sum, Team& team)
        : objective_(objective),
          outputs_(objective.n_outputs()),
          rows_(rows),
          largest_weight_(largest_weight),
          n_all_(sum.n_rows(rows.codes.n_rows)),
          fixed_weight_(largest_weight, n_all_),
          sum_(sum),
          team_(team) {}

    // Replaces `steps`, [leaf][stride]; `parameters` are the parameters of the loss.
    void find_steps(const std::uint32_t* leaf, std::size_t n_leaves,
                    double learning_rate, const std::vector<float>& parameters,
                    std::vector<float>& steps) {
        const std::size_t n_steps = n_leaves * n_outputs();
        const std::vector<float> middles = sum_.is_alone()
                                               ? local_quantiles(leaf, n_leaves)
                                               : shared_quantiles(leaf, n_leaves);
        std::vector<double> found(middles.begin(), middles.end());
        if (objective_.distance_level() > 0)
            add_means(leaf, n_leaves, middles, parameters, found);
        steps.assign(n_leaves * outputs_.stride, 0.0f);
        for (std::size_t i = 0; i < n_steps; ++i)
            steps[i / n_outputs() * outputs_.stride + i % n_outputs()] =
                learning_rate * found[i];
    }

    // Finds the quantile of the absolute residuals of all rows, for each output.
    void find_distances(double level, std::vector<float>& distances) {
        if (!sum_.is_alone()) {
            distances = quantiles_.find(
                n_outputs(), sum_,
                [&](auto body) {
                    for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i) {
                        for (int c = 0; c < outputs_.n; ++c)
                            body(c, std::fabs(residual(i, c)), weight(i));
                    }
                },
                [&](std::size_t) { return level; });
            return;
        }
        for (int c = 0; c < outputs_.n; ++c)
            distances[c] = quantile_of(
                0, rows_.codes.n_rows, level, [](std::int64_t i) { return i; },
                [&](std::int64_t row) { return std::fabs(residual(row, c)); });
    }

  private:
    static constexpr std::int64_t kParallelRows = 1 << 13;

    std::size_t n_outputs() const { return outputs_.n; }

    // The quantile of each leaf's residuals, [leaf][output].
    std::vector<float> local_quantiles(const std::uint32_t* leaf,
                                       std::size_t n_leaves) {
        sort_by_leaf(leaf, n_leaves);
        std::vector<float> middles(n_leaves * n_outputs());
        team_.run(middles.size(), rows_.codes.n_rows >= kParallelRows,
                  [&](std::int64_t at, int) {
                      middles[at] = leaf_quantile(at / n_outputs(), at % n_outputs());
                  });
        return middles;
    }

    float leaf_quantile(std::size_t l, int c) const {
        return quantile_of(
            starts_[l], starts_[l + 1], objective_.residual_level(c),
            [&](std::int64_t at) { return std::int64_t{order_[at]}; },
            [&](std::int64_t row) { return residual(row, c); });
    }

    // The same for the rows of all processes.
    std::vector<float> shared_quantiles(const std::uint32_t* leaf,
                                        std::size_t n_leaves) {
        return quantiles_.find(
            n_leaves * n_outputs(), sum_,
            [&](auto body) {
                for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i) {
                    for (int c = 0; c < outputs_.n; ++c)
                        body(slot(leaf[i], c), residual(i, c), weight(i));
                }
            },
            [&](std::size_t at) {
                return objective_.residual_level(at % n_outputs());
            });
    }

    std::size_t slot(std::uint32_t leaf, int c) const { return leaf * n_outputs() + c; }

    void sort_by_leaf(const std::uint32_t* leaf, std::size_t n_leaves) {
        starts_.assign(n_leaves + 1, 0);
        for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i)
            ++starts_[leaf[i] + 1];
        for (std::size_t l = 0; l < n_leaves; ++l)
            starts_[l + 1] += starts_[l];
        order_.resize(rows_.codes.n_rows);
        std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
        for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i)
            order_[next[leaf[i]]++] = i;
    }

    float residual(std::int64_t i, int c) const {
        const float y =
            rows_.targets[i * rows_.n_targets + (rows_.n_targets > 1 ? c : 0)];
        // Makes -0 a +0: the sign must not depend on the process that has the row.
        return y - rows_.scores[i * outputs_.stride + c] + 0.0f;
    }
    std::int64_t weight(std::int64_t i) const {
        return rows_.weights ? fixed_weight_.of(rows_.weights[i]) : 1;
    }

    // The quantile of rows row_at(first..last-1).
    template <class RowAt, class ValueOf>
    float quantile_of(std::int64_t first, std::int64_t last, double level, RowAt row_at,
                      ValueOf value_of) const {
        const std::size_t n = last - first;
        if (!rows_.weights) {
            std::vector<float> values(n);
            for (std::size_t i = 0; i < n; ++i)
                values[i] = value_of(row_at(first + i));
            return plain_quantile(values.data(), values.data() + n, level);
        }
        std::vector<WeightedValue> values(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t row = row_at(first + i);
            values[i] = {value_of(row), weight(row)};
        }
        return weighted_quantile(values.data(), values.data() + n, level);
    }

    // Huber: adds the mean distance from the median, clipped at the parameter.
    void add_means(const std::uint32_t* leaf, std::size_t n_leaves,
                   const std::vector<float>& middles,
                   const std::vector<float>& parameters, std::vector<double>& found) {
        double widest = 0;
        for (const float delta : parameters)
            widest = std::max<double>(widest, delta);
        const FixedPoint fixed(widest * largest_weight_, n_all_);
        const std::size_t n_sums = n_leaves * n_outputs();
        std::vector<std::int64_t> sums(2 * n_sums);  // distances, weights
        for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i) {
            const double w = rows_.weights ? rows_.weights[i] : 1;
            for (int c = 0; c < outputs_.n; ++c) {
                const std::size_t at = slot(leaf[i], c);
                const double delta = parameters[c];
                const double distance = double{residual(i, c)} - double{middles[at]};
                sums[at] += fixed.of(w * std::clamp(distance, -delta, delta));
                sums[n_sums + at] += weight(i);
            }
        }
        sum_.allreduce(sums);
        for (std::size_t at = 0; at < n_sums; ++at) {
            const double total = rows_.weights ? fixed_weight_.value(sums[n_sums + at])
                                               : sums[n_sums + at];
            if (total > 0)
                found[at] += fixed.value(sums[at]) / total;
        }
    }

    const Objective& objective_;
    Outputs outputs_;
    BoostRows rows_;
    double largest_weight_;
    std::int64_t n_all_;  // rows of all processes
    FixedPoint fixed_weight_;
    Sum sum_;
    Team& team_;
    SharedQuantiles quantiles_;
    std::vector<std::int64_t> starts_;  // of each leaf's rows
    std::vector<std::uint32_t> order_;
};

}  // namespace dics
