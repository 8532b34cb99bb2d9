// Leaf values that satisfy monotonic constraints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "boost/leaf_values.hpp"
#include "grow/grow.hpp"

namespace dics {

// The search keeps the values of the sampled rows in order, but steps come from all
// rows and may be quantiles. So each constrained split gets a bound, the middle between
// the mean steps of its two sides, and the steps below the split do not cross it.
class StepOrder {
  public:
    // For the directions, see CellTarget.
    explicit StepOrder(const std::vector<std::int8_t>& directions)
        : directions_(directions) {}

    // `nodes` are in breadth-first order; `steps` have one output.
    void keep(const std::vector<Node>& nodes, const LeafValues& leaves,
              std::vector<float>& steps) {
        if (directions_.empty())
            return;
        find_means(nodes, leaves, steps);
        bounds_.assign(nodes.size(), Bounds{});
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::size_t left = nodes[i].left;
            if (nodes[i].feature < 0) {
                steps[left] =
                    std::clamp(steps[left], bounds_[i].lower, bounds_[i].upper);
                continue;
            }
            Bounds& below = bounds_[left] = bounds_[left + 1] = bounds_[i];
            Bounds& above = bounds_[left + 1];
            const int direction = directions_[nodes[i].feature];
            const auto middle =
                std::clamp<float>(means_[left] / 2 + means_[left + 1] / 2,
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
            const std::size_t left = nodes[i].left;
            if (nodes[i].feature < 0) {
                means_[i] = steps[left];
                weights_[i] = leaves.weight(left);
                continue;
            }
            weights_[i] = weights_[left] + weights_[left + 1];
            const double fraction =
                weights_[i] > 0 ? weights_[left + 1] / weights_[i] : 0.5;
            means_[i] = means_[left] + (means_[left + 1] - means_[left]) * fraction;
        }
    }

    std::vector<std::int8_t> directions_;
    std::vector<double> means_, weights_;  // of each node
    std::vector<Bounds> bounds_;
};

}  // namespace dics
