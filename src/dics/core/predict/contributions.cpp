#include "predict/contributions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/contribution_kernels.hpp"

namespace dics {
namespace {

constexpr int R = kContributionRows;

// The leaves of a tree with what must hold on the way to each, one feature once.
class LeafPaths {
  public:
    struct Leaf {
        std::size_t begin;
        int length;
        std::int64_t row;  // of its values
        double share;      // of the training rows
    };

    LeafPaths(const ContributionView& trees, std::int64_t t)
        : nodes_(trees.forest.tree(t).nodes),
          missing_left_(trees.forest.tree(t).missing_left),
          weight_(trees.weight + trees.forest.node_starts[t]),
          leaf_row_(trees.leaf_row + trees.forest.node_starts[t]) {
        go_down();
        for (const Leaf& leaf : leaves_)
            longest_ = std::max(longest_, leaf.length);
        for (const PathBounds& bounds : bounds_)
            features_.push_back(bounds.feature);
        std::sort(features_.begin(), features_.end());
        features_.erase(std::unique(features_.begin(), features_.end()),
                        features_.end());
        weights_.resize(static_cast<std::size_t>(longest_) + 1);
        for (int d = 1; d <= longest_; ++d)
            weights_[static_cast<std::size_t>(d)] = weights_of(d);
    }

    const std::vector<Leaf>& leaves() const { return leaves_; }
    const PathBounds* path(const Leaf& leaf) const {
        return bounds_.data() + leaf.begin;
    }
    const double* weights(const Leaf& leaf) const {
        return weights_[static_cast<std::size_t>(leaf.length)].data();
    }
    int longest() const { return longest_; }
    const std::vector<std::int32_t>& features() const { return features_; }

  private:
    struct Step {
        std::int32_t node;
        std::size_t length;  // of the path to its parent
        bool is_left;
        std::int32_t parent;
    };

    // s! (d - 1 - s)! / d!, s = 0 .. d - 1
    static std::vector<double> weights_of(int d) {
        std::vector<double> weights(static_cast<std::size_t>(d));
        double weight = 1.0 / d;
        for (int s = 0; s < d; ++s) {
            weights[static_cast<std::size_t>(s)] = weight;
            weight *= (s + 1.0) / std::max(d - 1.0 - s, 1.0);
        }
        return weights;
    }

    // Depth first, with a stack of its own: trees may be deep. `path` has a step of
    // every node above; steps by one feature are joined at the leaf.
    void go_down() {
        std::vector<Step> open{{0, 0, false, -1}};
        std::vector<PathBounds> path;
        while (!open.empty()) {
            const Step step = open.back();
            open.pop_back();
            path.resize(step.length);
            if (step.parent >= 0)
                path.push_back(bounds_of(step));
            const Node& node = nodes_[step.node];
            if (node.feature < 0) {
                add_leaf(path, leaf_row_[step.node]);
                continue;
            }
            open.push_back({node.left + 1, path.size(), false, step.node});
            open.push_back({node.left, path.size(), true, step.node});
        }
    }

    PathBounds bounds_of(const Step& step) const {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const Node& parent = nodes_[step.parent];
        const auto threshold = static_cast<double>(parent.threshold);
        const auto left = static_cast<double>(weight_[parent.left]);
        const auto right = static_cast<double>(weight_[parent.left + 1]);
        const double own = step.is_left ? left : right;
        return {parent.feature,
                (missing_left_[step.parent] != 0) == step.is_left ? 1 : 0,
                step.is_left ? -kInfinity : threshold,
                step.is_left ? below(threshold) : kInfinity,
                left + right > 0 ? own / (left + right) : 0.5};
    }

    void add_leaf(const std::vector<PathBounds>& path, std::int64_t row) {
        Leaf leaf{bounds_.size(), 0, row, 1.0};
        for (const PathBounds& step : path) {
            leaf.share *= step.share;
            auto same = std::find_if(
                bounds_.begin() + static_cast<std::ptrdiff_t>(leaf.begin),
                bounds_.end(),
                [&](const PathBounds& b) { return b.feature == step.feature; });
            if (same == bounds_.end()) {
                bounds_.push_back(step);
                continue;
            }
            same->missing_inside &= step.missing_inside;
            same->lower = std::max(same->lower, step.lower);
            // NaN, where nothing lies inside, stays.
            if (!(step.upper >= same->upper) && same->upper == same->upper)
                same->upper = step.upper;
            same->share *= step.share;
        }
        leaf.length = static_cast<int>(bounds_.size() - leaf.begin);
        leaves_.push_back(leaf);
    }

    // The largest number below a threshold: x < threshold as x <= below(threshold), for
    // infinity itself to lie within bounds that have no upper one.
    static double below(double threshold) {
        constexpr double kLowest = -std::numeric_limits<double>::infinity();
        return threshold == kLowest ? std::numeric_limits<double>::quiet_NaN()
                                    : std::nextafter(threshold, kLowest);
    }

    const Node* nodes_;
    const std::uint8_t* missing_left_;
    const float* weight_;
    const std::int64_t* leaf_row_;
    std::vector<Leaf> leaves_;
    std::vector<PathBounds> bounds_;
    std::vector<std::vector<double>> weights_;
    std::vector<std::int32_t> features_;  // that the tree looks at
    int longest_ = 0;
};

// Adds the leaves of one tree for up to R rows, `values` [feature][R].
void add_tree(const LeafPaths& paths, const ContributionView& trees,
              const double* values, std::int64_t n_rows, std::int64_t n_features,
              std::vector<double>& space, double* out) {
    const int width = trees.leaves.width;
    const std::int64_t row_size = (n_features + 1) * width;
    const auto step = static_cast<std::size_t>(paths.longest() + 1) * R;
    space.resize(4 * step);
    ContributionArgs args{};
    args.values = values;
    args.factors = space.data();
    args.scratch = space.data() + step;
    for (const LeafPaths::Leaf& leaf : paths.leaves()) {
        const double* value = trees.leaves.values + leaf.row * width;
        args.path = paths.path(leaf);
        args.length = leaf.length;
        args.weights = paths.weights(leaf);
        if (leaf.length > 0)
            contribution_kernels().leaf_factors(args);
        for (std::int64_t r = 0; r < n_rows; ++r) {
            double* of_row = out + r * row_size;
            for (int i = 0; i < leaf.length; ++i) {
                const double factor = args.factors[i * R + r];
                double* to = of_row + std::int64_t{args.path[i].feature} * width;
                for (int c = 0; c < width; ++c)
                    to[c] += factor * value[c];
            }
            double* bias = of_row + n_features * width;
            for (int c = 0; c < width; ++c)
                bias[c] += leaf.share * value[c];
        }
    }
}

}  // namespace

void add_contributions(const AnyMatrix& any, const ContributionView& trees, Team& team,
                       double* out) {
    constexpr std::int64_t kTaskBlocks = 4;
    std::visit(
        [&](const auto& X) {
            const std::int64_t task_rows = R * kTaskBlocks;
            const std::int64_t n_tasks = (X.n_rows + task_rows - 1) / task_rows;
            const std::int64_t row_size = (X.n_cols + 1) * trees.leaves.width;
            std::vector<std::vector<double>> of_threads(
                2 * static_cast<std::size_t>(team.size()));
            for (std::int64_t t = 0; t < trees.forest.n_trees; ++t) {
                const LeafPaths paths(trees, t);
                team.run(n_tasks, true, [&](std::int64_t task, int thread) {
                    auto& values = of_threads[2 * static_cast<std::size_t>(thread)];
                    auto& space = of_threads[2 * static_cast<std::size_t>(thread) + 1];
                    values.resize(static_cast<std::size_t>(X.n_cols * R));
                    const std::int64_t end = std::min(X.n_rows, (task + 1) * task_rows);
                    for (std::int64_t row = task * task_rows; row < end; row += R) {
                        const std::int64_t n = std::min<std::int64_t>(R, end - row);
                        for (const std::int64_t f : paths.features()) {
                            for (std::int64_t r = 0; r < n; ++r)
                                values[static_cast<std::size_t>(f * R + r)] =
                                    static_cast<double>(X(row + r, f));
                        }
                        add_tree(paths, trees, values.data(), n, X.n_cols, space,
                                 out + row * row_size);
                    }
                });
            }
        },
        any);
}

}  // namespace dics
