// Steps of leaves from the residuals of their rows: for losses whose best step is a
// quantile and not a ratio of sums.
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

// A value, and what it weighs.
struct Weighed {
    float value;
    std::int64_t weight;
};

// What the values up to a quantile weigh, at least; of a total.
inline std::int64_t weight_up_to(std::int64_t total, double level) {
    const double wanted = std::ceil(static_cast<double>(total) * level);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
}

// The smallest value whose weight, with those below it, is at least that share of all.
inline float weighed_quantile(Weighed* begin, Weighed* end, double level) {
    if (begin == end)
        return 0;
    std::int64_t total = 0;
    for (const Weighed* at = begin; at < end; ++at)
        total += at->weight;
    if (total == 0)
        return 0;
    std::int64_t wanted = weight_up_to(total, level);
    // Halves are looked at until one value is left.
    auto by_value = [](const Weighed& a, const Weighed& b) {
        return a.value < b.value;
    };
    constexpr std::ptrdiff_t kSortedValues = 32;
    while (end - begin > kSortedValues) {
        Weighed* middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, by_value);
        std::int64_t below = 0;
        for (const Weighed* at = begin; at < middle; ++at)
            below += at->weight;
        if (below >= wanted) {
            end = middle;
        } else {
            wanted -= below;
            begin = middle;
        }
    }
    std::sort(begin, end, by_value);
    for (const Weighed* at = begin; at < end - 1; ++at) {
        wanted -= at->weight;
        if (wanted <= 0)
            return at->value;
    }
    return end[-1].value;
}

// The same of values that weigh one each.
inline float plain_quantile(float* begin, float* end, double level) {
    if (begin == end)
        return 0;
    float* at = begin + weight_up_to(end - begin, level) - 1;
    std::nth_element(begin, at, end);
    return *at;
}

// Quantiles of values that several processes have, for some groups of them at once: a
// byte of each quantile is found at a time, from counts of the values' next bytes.
class SharedQuantiles {
  public:
    // `for_each(body)` calls body(group, value, weight) for each value here.
    template <class ForEach, class LevelOf>
    std::vector<float> find(std::size_t n_groups, const Sum& sum, ForEach for_each,
                            LevelOf level_of) {
        std::vector<std::uint32_t> found(n_groups);
        std::vector<std::int64_t> wanted(n_groups);
        for (int shift = 24; shift >= 0; shift -= 8) {
            weights_.assign(n_groups << 8, 0);
            for_each([&](std::size_t group, float value, std::int64_t weight) {
                const std::uint32_t key = key_of(value);
                // What lies above the byte that is looked for.
                if (shift == 24 || key >> (shift + 8) == found[group])
                    weights_[group << 8 | (key >> shift & 0xFF)] += weight;
            });
            sum.allreduce(weights_.data(), static_cast<std::int64_t>(n_groups << 8));
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
                if (wanted[group] == 0)  // of no values
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

    // Rises with the value.
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
    // No row of any contributor weighs more than `largest_weight`.
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

    // steps, [leaf][stride], are replaced. `parameters` are those of the loss.
    void find_steps(const std::uint32_t* leaf, std::size_t n_leaves,
                    double learning_rate, const std::vector<float>& parameters,
                    std::vector<float>& steps) {
        const std::size_t n_steps = n_leaves * n_outputs();
        const std::vector<float> middles = sum_.is_alone()
                                               ? own_middles(leaf, n_leaves)
                                               : shared_middles(leaf, n_leaves);
        std::vector<double> found(middles.begin(), middles.end());
        if (objective_.distance_level() > 0)
            add_means(leaf, n_leaves, middles, parameters, found);
        steps.assign(n_leaves * static_cast<std::size_t>(outputs_.stride), 0.0f);
        for (std::size_t i = 0; i < n_steps; ++i)
            steps[i / n_outputs() * static_cast<std::size_t>(outputs_.stride) +
                  i % n_outputs()] = static_cast<float>(learning_rate * found[i]);
    }

    // The quantile of all rows' distances from their targets, for each output.
    void find_distances(double level, std::vector<float>& distances) {
        if (!sum_.is_alone()) {
            distances = quantiles_.find(
                n_outputs(), sum_,
                [&](auto body) {
                    for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i) {
                        for (int c = 0; c < outputs_.n; ++c)
                            body(static_cast<std::size_t>(c), std::fabs(residual(i, c)),
                                 weight(i));
                    }
                },
                [&](std::size_t) { return level; });
            return;
        }
        for (int c = 0; c < outputs_.n; ++c)
            distances[static_cast<std::size_t>(c)] = quantile_of(
                0, rows_.codes.n_rows, level, [](std::int64_t i) { return i; },
                [&](std::int64_t row) { return std::fabs(residual(row, c)); });
    }

  private:
    static constexpr std::int64_t kParallelRows = 1 << 13;

    std::size_t n_outputs() const { return static_cast<std::size_t>(outputs_.n); }

    // The quantile of each leaf's residuals, [leaf][output].
    std::vector<float> own_middles(const std::uint32_t* leaf, std::size_t n_leaves) {
        sort_by_leaf(leaf, n_leaves);
        std::vector<float> middles(n_leaves * n_outputs());
        team_.run(static_cast<std::int64_t>(middles.size()),
                  rows_.codes.n_rows >= kParallelRows, [&](std::int64_t task, int) {
                      const auto at = static_cast<std::size_t>(task);
                      const auto c = static_cast<int>(at % n_outputs());
                      middles[at] = middle_of(at / n_outputs(), c);
                  });
        return middles;
    }

    float middle_of(std::size_t l, int c) const {
        return quantile_of(
            starts_[l], starts_[l + 1], objective_.residual_level(c),
            [&](std::int64_t at) {
                return std::int64_t{order_[static_cast<std::size_t>(at)]};
            },
            [&](std::int64_t row) { return residual(row, c); });
    }

    // The same of the rows of all contributors.
    std::vector<float> shared_middles(const std::uint32_t* leaf, std::size_t n_leaves) {
        return quantiles_.find(
            n_leaves * n_outputs(), sum_,
            [&](auto body) {
                for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i) {
                    for (int c = 0; c < outputs_.n; ++c)
                        body(slot(leaf[i], c), residual(i, c), weight(i));
                }
            },
            [&](std::size_t at) {
                return objective_.residual_level(static_cast<int>(at % n_outputs()));
            });
    }

    std::size_t slot(std::uint32_t leaf, int c) const {
        return leaf * n_outputs() + static_cast<std::size_t>(c);
    }

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
        // There is one zero: its sign must not depend on who has the row.
        return y - rows_.scores[i * outputs_.stride + c] + 0.0f;
    }
    std::int64_t weight(std::int64_t i) const {
        return rows_.weights ? fixed_weight_.of(static_cast<double>(rows_.weights[i]))
                             : 1;
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

    // Huber: adds the mean of what lies beside the median, cut off at the parameter.
    void add_means(const std::uint32_t* leaf, std::size_t n_leaves,
                   const std::vector<float>& middles,
                   const std::vector<float>& parameters, std::vector<double>& found) {
        double widest = 0;
        for (const float delta : parameters)
            widest = std::max(widest, static_cast<double>(delta));
        const FixedPoint fixed(widest * largest_weight_, n_all_);
        const std::size_t n_sums = n_leaves * n_outputs();
        std::vector<std::int64_t> sums(2 * n_sums);  // of what they add, of weights
        for (std::int64_t i = 0; i < rows_.codes.n_rows; ++i) {
            const double w = rows_.weights ? static_cast<double>(rows_.weights[i]) : 1;
            for (int c = 0; c < outputs_.n; ++c) {
                const std::size_t at = slot(leaf[i], c);
                const auto delta =
                    static_cast<double>(parameters[static_cast<std::size_t>(c)]);
                const double beside = static_cast<double>(residual(i, c)) -
                                      static_cast<double>(middles[at]);
                sums[at] += fixed.of(w * std::clamp(beside, -delta, delta));
                sums[n_sums + at] += weight(i);
            }
        }
        sum_.allreduce(sums.data(), static_cast<std::int64_t>(sums.size()));
        for (std::size_t at = 0; at < n_sums; ++at) {
            const double total = rows_.weights ? fixed_weight_.value(sums[n_sums + at])
                                               : static_cast<double>(sums[n_sums + at]);
            if (total > 0)
                found[at] += fixed.value(sums[at]) / total;
        }
    }

    const Objective& objective_;
    Outputs outputs_;
    BoostRows rows_;
    double largest_weight_;
    std::int64_t n_all_;  // rows of all contributors
    FixedPoint fixed_weight_;
    Sum sum_;
    Team& team_;
    SharedQuantiles quantiles_;
    std::vector<std::int64_t> starts_;  // of each leaf's rows
    std::vector<std::uint32_t> order_;
};

}  // namespace dics
