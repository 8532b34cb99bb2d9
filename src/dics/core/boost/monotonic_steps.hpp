// Steps of leaves that keep to monotonic constraints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "boost/leaf_values.hpp"
#include "grow/grow.hpp"

namespace dics {

// The search of a tree keeps the values of its drawn rows in order; the steps are those
// of all rows, and maybe quantiles. So each constrained split gets a bound, the middle
// between the mean steps of its two sides, and no step crosses a bound above it.
class StepOrder {
  public:
    // Directions: see Gradients.
    explicit StepOrder(const std::vector<std::int8_t>& directions)
        : directions_(directions) {}

    // `nodes` are breadth first; `steps` are of one output.
    void keep(const std::vector<Node>& nodes, const LeafValues& leaves,
              std::vector<float>& steps) {
        if (directions_.empty())
            return;
        find_means(nodes, leaves, steps);
        bounds_.assign(nodes.size(), Bounds{});
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto left = static_cast<std::size_t>(nodes[i].left);
            if (nodes[i].feature < 0) {
                steps[left] =
                    std::clamp(steps[left], bounds_[i].lower, bounds_[i].upper);
                continue;
            }
            Bounds& below = bounds_[left] = bounds_[left + 1] = bounds_[i];
            Bounds& above = bounds_[left + 1];
            const int direction =
                directions_[static_cast<std::size_t>(nodes[i].feature)];
            const auto middle =
                std::clamp(static_cast<float>(means_[left] / 2 + means_[left + 1] / 2),
                           bounds_[i].lower, bounds_[i].upper);
            if (direction > 0)
                below.upper = above.lower = middle;
            else if (direction < 0)
                below.lower = above.upper = middle;
        }
    }

  private:
    struct Bounds {
        float lower = -std::numeric_limits<float>::infinity();
        float upper = std::numeric_limits<float>::infinity();
    };

    void find_means(const std::vector<Node>& nodes, const LeafValues& leaves,
                    const std::vector<float>& steps) {
        means_.resize(nodes.size());
        weights_.resize(nodes.size());
        for (std::size_t i = nodes.size(); i-- > 0;) {
            const auto left = static_cast<std::size_t>(nodes[i].left);
            if (nodes[i].feature < 0) {
                means_[i] = static_cast<double>(steps[left]);
                weights_[i] = leaves.weight(left);
                continue;
            }
            weights_[i] = weights_[left] + weights_[left + 1];
            const double share =
                weights_[i] > 0 ? weights_[left + 1] / weights_[i] : 0.5;
            means_[i] = means_[left] + (means_[left + 1] - means_[left]) * share;
        }
    }

    std::vector<std::int8_t> directions_;
    std::vector<double> means_, weights_;  // of each node
    std::vector<Bounds> bounds_;
};

}  // namespace dics
