// From grown nodes to the flat arrays of a tree.
#pragma once

#include <deque>

#include "grow/grow.hpp"
#include "grow/node.hpp"
#include "target/class_rows.hpp"

namespace dics {

// Lays nodes out breadth first, in any order of growth. `add_leaf(grown)` returns
// `left` of a leaf; `visit(grown)` is called for every node.
template <class AddLeaf, class Visit>
void flatten_nodes(const std::vector<GrownNode>& grown, std::vector<Node>& nodes,
                   std::vector<std::uint8_t>& missing_left, AddLeaf add_leaf,
                   Visit visit) {
    std::int32_t next = 1;
    std::deque<std::int32_t> queue{0};
    while (!queue.empty()) {
        const GrownNode& node = grown[queue.front()];
        queue.pop_front();
        Node flat{node.feature, next, node.threshold};
        if (node.feature < 0) {
            flat.left = add_leaf(node);
        } else {
            queue.push_back(node.left);
            queue.push_back(node.left + 1);
            next += 2;
        }
        nodes.push_back(flat);
        missing_left.push_back(node.missing_left ? 1 : 0);
        visit(node);
    }
}

// Weights of inner nodes, from those of the leaves.
inline void add_up_weights(const Node* nodes, std::vector<double>& weight) {
    for (std::size_t i = weight.size(); i-- > 0;) {
        if (nodes[i].feature < 0)
            continue;
        const auto left = nodes[i].left;
        weight[i] = weight[left] + weight[left + 1];
    }
}

// The set of categories by which a node is split, where there may be such.
inline void add_set(const GrownNode& node, const GrowSettings& settings,
                    TreeArrays& tree) {
    if (!settings.categories.categorical.empty())
        tree.add_set(node.is_set ? &node.left_codes : nullptr);
}

// Lays out a classification tree. Rows have the given weights, or (null) their counts.
template <class Count>
class ClassFlattener {
  public:
    ClassFlattener(const ClassRows<Count>& rows, const double* weights,
                   const GrowSettings& settings)
        : r_(rows), weights_(weights), settings_(settings), sums_(settings.n_classes) {}

    // Node weights are given in units of the mean weight of `n_rows` rows.
    TreeArrays flatten(const std::vector<GrownNode>& grown, double n_rows) {
        std::vector<double> weight;
        flatten_nodes(
            grown, tree_.nodes, tree_.missing_left,
            [&](const GrownNode& leaf) { return add_leaf(leaf); },
            [&](const GrownNode& node) {
                weight.push_back(node.feature < 0 ? leaf_weight_ : 0);
                tree_.n_samples.push_back(node.n_rows());
                tree_.impurity.push_back(node.impurity);
                add_set(node, settings_, tree_);
            });
        add_up_weights(tree_.nodes.data(), weight);
        const double unit = total_weight() / n_rows;
        for (const double w : weight)
            tree_.weight.push_back(static_cast<float>(w / unit));
        // A forest's trees wait for the last of them: nothing to spare meanwhile.
        tree_.nodes.shrink_to_fit();
        tree_.n_samples.shrink_to_fit();
        tree_.missing_left.shrink_to_fit();
        tree_.weight.shrink_to_fit();
        tree_.impurity.shrink_to_fit();
        tree_.leaf_values.shrink_to_fit();
        return std::move(tree_);
    }

  private:
    double total_weight() const {
        double total = 0;
        for (std::int64_t i = 0; i < r_.size(); ++i)
            total += weight_of(i);
        return total;
    }

    double weight_of(std::int64_t i) const {
        return weights_ ? weights_[r_.rows[i]] : static_cast<double>(r_.count(i));
    }

    // Returns what `left` of the leaf is. A leaf of one class needs no row of shares,
    // and at full depth nearly all leaves are such.
    std::int32_t add_leaf(const GrownNode& node) {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        leaf_weight_ = 0;
        bool pure = true;
        const std::uint32_t label = r_.labels[node.begin];
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            pure = pure && r_.labels[i] == label;
            sums_[r_.labels[i]] += weight_of(i);
            leaf_weight_ += weight_of(i);
        }
        if (pure)
            return ~static_cast<std::int32_t>(label);
        for (const double sum : sums_)
            tree_.leaf_values.push_back(static_cast<float>(sum / leaf_weight_));
        return n_rows_of_shares_++;
    }

    const ClassRows<Count>& r_;
    const double* weights_;
    const GrowSettings& settings_;
    std::vector<double> sums_;
    double leaf_weight_ = 0;
    std::int32_t n_rows_of_shares_ = 0;
    TreeArrays tree_;
};

}  // namespace dics
