// From grown nodes to the flat arrays of a tree.
#pragma once

#include <deque>

#include "grow/grower.hpp"

namespace dics {

template <class Count>
double total_count(const NodeRows<Count>& r) {
    double total = 0;
    for (std::size_t i = 0; i < r.rows.size(); ++i)
        total += static_cast<double>(r.count(i));
    return total;
}

// Lays out one tree. Rows weigh what `weights` says, or (null) their counts; node
// weights are given in units of `unit`.
template <class Count>
class Flattener {
  public:
    Flattener(const NodeRows<Count>& rows, const double* weights, int n_classes)
        : r_(rows), weights_(weights), sums_(static_cast<std::size_t>(n_classes)) {}

    // Breadth-first order, whatever the order of growth was.
    TreeArrays flatten(const std::vector<GrownNode>& nodes, double unit) {
        std::vector<double> weight;
        std::int32_t next = 1;
        std::deque<std::int32_t> queue{0};
        while (!queue.empty()) {
            const GrownNode& node = nodes[static_cast<std::size_t>(queue.front())];
            queue.pop_front();
            Node flat{node.feature, node.threshold, next,
                      static_cast<std::int32_t>(node.end - node.begin)};
            weight.push_back(0);
            if (node.feature < 0) {
                flat.left = add_leaf(node, weight.back());
            } else {
                queue.push_back(node.left);
                queue.push_back(node.right);
                next += 2;
            }
            tree_.nodes.push_back(flat);
            tree_.missing_left.push_back(node.missing_left ? 1 : 0);
        }
        for (std::size_t i = weight.size(); i-- > 0;) {
            if (tree_.nodes[i].feature < 0)
                continue;
            const auto left = static_cast<std::size_t>(tree_.nodes[i].left);
            weight[i] = weight[left] + weight[left + 1];
        }
        for (const double w : weight)
            tree_.weight.push_back(static_cast<float>(w / unit));
        // A forest's trees wait for the last of them: nothing to spare meanwhile.
        tree_.nodes.shrink_to_fit();
        tree_.missing_left.shrink_to_fit();
        tree_.weight.shrink_to_fit();
        tree_.leaf_values.shrink_to_fit();
        return std::move(tree_);
    }

    double total_weight() const {
        double total = 0;
        for (std::size_t i = 0; i < r_.rows.size(); ++i)
            total += weight_of(static_cast<std::int64_t>(i));
        return total;
    }

  private:
    double weight_of(std::int64_t i) const {
        return weights_ ? weights_[r_.rows[i]] : static_cast<double>(r_.count(i));
    }

    // Returns what `left` of the leaf is. A leaf of one class needs no row of shares,
    // and at full depth nearly all leaves are such.
    std::int32_t add_leaf(const GrownNode& node, double& total) {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        bool pure = true;
        const std::uint32_t label = r_.labels[node.begin];
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            pure = pure && r_.labels[i] == label;
            sums_[r_.labels[i]] += weight_of(i);
            total += weight_of(i);
        }
        if (pure)
            return ~static_cast<std::int32_t>(label);
        for (const double sum : sums_)
            tree_.leaf_values.push_back(static_cast<float>(sum / total));
        return n_rows_of_shares_++;
    }

    const NodeRows<Count>& r_;
    const double* weights_;
    std::vector<double> sums_;
    std::int32_t n_rows_of_shares_ = 0;
    TreeArrays tree_;
};

}  // namespace dics
