#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/contribution_kernels.hpp"
#include "predict/predict.hpp"

namespace dics {
namespace {

constexpr int R = kContributionRows;

// The leaves of a tree with the conditions on the path to each, one per feature.
class LeafPaths {
  public:
    struct Leaf {
        std::size_t begin;
        int length;
        std::int64_t row;  // of its values
        double fraction;   // of the training rows
    };

    LeafPaths(const ContributionView& trees, std::int64_t t, std::int64_t n_features)
        : tree_(trees.forest.tree(t)),
          nodes_(tree_.nodes),
          missing_left_(tree_.missing_left),
          weight_(trees.weight + trees.forest.node_starts[t]),
          leaf_row_(trees.leaf_row + trees.forest.node_starts[t]),
          place_of_(n_features, -1) {
        go_down();
        for (const Leaf& leaf : leaves_)
            longest_ = std::max(longest_, leaf.length);
        weights_.resize(longest_ + 1);
        for (int d = 1; d <= longest_; ++d)
            weights_[d] = weights_of(d);
    }

    const std::vector<Leaf>& leaves() const { return leaves_; }
    const PathBounds* path(const Leaf& leaf) const {
        return bounds_.data() + leaf.begin;
    }
    const CodeSet* sets() const { return sets_.data(); }
    const double* weights(const Leaf& leaf) const {
        return weights_[leaf.length].data();
    }
    int longest() const { return longest_; }
    std::size_t bytes() const {
        return bounds_.size() * sizeof(PathBounds) + leaves_.size() * sizeof(Leaf) +
               sets_.size() * sizeof(CodeSet);
    }

  private:
    struct Step {
        std::int32_t node;
        std::size_t n_changes;  // on the path to its parent
        bool is_left;
        std::int32_t parent;
        double fraction;  // of the training rows, in the parent
    };

    // A change of the path: the bounds of a feature before, or (is_new) none.
    struct Change {
        std::size_t place;
        bool is_new;
        PathBounds before;
    };

    // s! (d - 1 - s)! / d!, s = 0 .. d - 1
    static std::vector<double> weights_of(int d) {
        std::vector<double> weights(d);
        double weight = 1.0 / d;
        for (int s = 0; s < d; ++s) {
            weights[s] = weight;
            weight *= (s + 1.0) / std::max(d - 1.0 - s, 1.0);
        }
        return weights;
    }

    // Depth first, without recursion because trees may be deep. The path has the bounds
    // of each feature, joined over the steps, and changes_ has one entry per step.
    void go_down() {
        std::vector<Step> open{{0, 0, false, -1, 1.0}};
        while (!open.empty()) {
            Step step = open.back();
            open.pop_back();
            while (changes_.size() > step.n_changes)
                undo();
            if (step.parent >= 0) {
                const PathBounds bounds = bounds_of(step);
                step.fraction *= bounds.fraction;
                join(bounds);
            }
            const Node& node = nodes_[step.node];
            if (node.feature < 0) {
                leaves_.push_back({bounds_.size(), static_cast<int>(path_.size()),
                                   leaf_row_[step.node], step.fraction});
                bounds_.insert(bounds_.end(), path_.begin(), path_.end());
                stop_check_.add(path_.size());
                continue;
            }
            for (const bool is_left : {false, true})
                open.push_back({node.left + (is_left ? 0 : 1), changes_.size(), is_left,
                                step.node, step.fraction});
        }
    }

    std::int32_t add_set(const CodeSet& set) {
        sets_.push_back(set);
        return sets_.size() - 1;
    }
    const CodeSet& set_at(std::int32_t number) const { return sets_[number]; }

    PathBounds bounds_of(const Step& step) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const Node& parent = nodes_[step.parent];
        const double threshold = parent.threshold;
        const double left = weight_[parent.left], right = weight_[parent.left + 1];
        const double own = step.is_left ? left : right;
        const double fraction = left + right > 0 ? own / (left + right) : 0.5;
        const int missing_inside =
            (missing_left_[step.parent] != 0) == step.is_left ? 1 : 0;
        if (const CodeSet* set = tree_.set_of(step.parent))
            return {parent.feature, missing_inside,
                    -kInfinity,     kInfinity,
                    fraction,       add_set(CodeSet::all().within(*set, step.is_left))};
        return {parent.feature, missing_inside, step.is_left ? -kInfinity : threshold,
                step.is_left ? below(threshold) : kInfinity, fraction};
    }

    void join(const PathBounds& step) {
        std::int32_t& place = place_of_[step.feature];
        if (place < 0) {
            place = path_.size();
            changes_.push_back({path_.size(), true, step});
            path_.push_back(step);
            return;
        }
        PathBounds& same = path_[place];
        changes_.push_back({static_cast<std::size_t>(place), false, same});
        same.missing_inside &= step.missing_inside;
        same.lower = std::max(same.lower, step.lower);
        // NaN (no value lies inside) stays.
        if (!(step.upper >= same.upper) && same.upper == same.upper)
            same.upper = step.upper;
        same.fraction *= step.fraction;
        if (same.set < 0)
            same.set = step.set;
        else if (step.set >= 0)
            same.set = add_set(set_at(same.set).within(set_at(step.set), true));
    }

    void undo() {
        const Change& last = changes_.back();
        if (last.is_new) {
            place_of_[last.before.feature] = -1;
            path_.pop_back();
        } else {
            path_[last.place] = last.before;
        }
        changes_.pop_back();
    }

    // The largest value below a threshold: x < threshold is x <= below(threshold), so
    // that infinity lies within bounds without an upper limit.
    static double below(double threshold) {
        constexpr double kLowest = -std::numeric_limits<double>::infinity();
        return threshold == kLowest ? std::numeric_limits<double>::quiet_NaN()
                                    : std::nextafter(threshold, kLowest);
    }

    TreeView tree_;
    const Node* nodes_;
    const std::uint8_t* missing_left_;
    const float* weight_;
    const std::int64_t* leaf_row_;
    std::vector<PathBounds> path_;  // to the current node
    std::vector<Change> changes_;
    StopCheck stop_check_;
    std::vector<std::int32_t> place_of_;  // of each feature in the path; -1: none
    std::vector<Leaf> leaves_;
    std::vector<PathBounds> bounds_;
    std::vector<CodeSet> sets_;
    std::vector<std::vector<double>> weights_;
    int longest_ = 0;
};

// Up to R rows, column-major, and the contributions of the features.
class RowBlock {
  public:
    RowBlock(const ContributionView& trees, std::int64_t n_features)
        : trees_(trees),
          n_features_(n_features),
          width_(trees.leaves.width),
          values_(n_features * R),
          sums_((n_features + 1) * width_ * R) {}

    template <class T>
    void read(const RowSource<T>& X, std::int64_t first, std::int64_t n) {
        std::vector<T> space;
        for (std::int64_t r = 0; r < n; ++r) {
            const T* row = X.row(first + r, space);
            for (std::int64_t f = 0; f < n_features_; ++f)
                values_[f * R + r] = row[f * X.stride()];
        }
        std::fill(sums_.begin(), sums_.end(), 0.0);
    }

    void add(const LeafPaths& paths) {
        const std::size_t size = (paths.longest() + 1) * R;
        space_.resize(std::max(space_.size(), 3 * size));
        ContributionArgs args{};
        args.values = values_.data();
        args.width = width_;
        args.sums = sums_.data();
        args.factors = space_.data();
        args.scratch = space_.data() + size;
        double* bias = sums_.data() + n_features_ * width_ * R;
        for (const LeafPaths::Leaf& leaf : paths.leaves()) {
            args.value = trees_.leaves.values + leaf.row * width_;
            args.path = paths.path(leaf);
            args.sets = paths.sets();
            args.length = leaf.length;
            args.weights = paths.weights(leaf);
            stop_check_.add(std::int64_t{leaf.length} * leaf.length);
            contribution_kernels().add_leaf(args);
            for (int c = 0; c < width_; ++c)
                bias[c * R] += leaf.fraction * args.value[c];  // the same for all rows
        }
    }

    // Adds the sums of n rows to out[row][feature][output].
    void write(std::int64_t n, double* out) {
        const std::int64_t row_size = (n_features_ + 1) * width_;
        for (std::int64_t j = 0; j < row_size; ++j) {
            const bool is_bias = j >= n_features_ * width_;
            for (std::int64_t r = 0; r < n; ++r)
                out[r * row_size + j] += sums_[j * R + (is_bias ? 0 : r)];
        }
    }

  private:
    const ContributionView& trees_;
    std::int64_t n_features_;
    int width_;
    std::vector<double> values_, sums_, space_;
    StopCheck stop_check_;
};

}  // namespace

void add_contributions(const AnyRows& any, const ContributionView& trees, Team& team,
                       double* out) {
    constexpr std::size_t kPathBytes = std::size_t{32}
                                       << 20;  // of the trees of one pass
    std::visit(
        [&](const auto& X) {
            const std::int64_t n_blocks = (X.n_rows() + R - 1) / R;
            const std::int64_t row_size = (X.n_cols() + 1) * trees.leaves.width;
            std::vector<RowBlock> blocks(team.size(), RowBlock(trees, X.n_cols()));
            for (std::int64_t t = 0; t < trees.forest.n_trees;) {
                std::vector<LeafPaths> paths;
                for (std::size_t bytes = 0;
                     t < trees.forest.n_trees && bytes < kPathBytes; ++t) {
                    paths.emplace_back(trees, t, X.n_cols());
                    bytes += paths.back().bytes();
                }
                team.run(n_blocks, true, [&](std::int64_t task, int thread) {
                    RowBlock& block = blocks[thread];
                    const std::int64_t first = task * R;
                    const std::int64_t n =
                        std::min<std::int64_t>(R, X.n_rows() - first);
                    block.read(X, first, n);
                    for (const LeafPaths& of_tree : paths)
                        block.add(of_tree);
                    block.write(n, out + first * row_size);
                });
            }
        },
        any);
}

}  // namespace dics
