// The check of untrusted trees. Predictions trust the indices in trees: a wrong one
// would read outside of an array, or follow a cycle of nodes forever. `make
// fuzz-native` shows that the check is enough.
#include <cmath>
#include <stdexcept>

#include "predict/predict.hpp"

namespace dics {
namespace {

void require(bool condition, const char* message) {
    if (!condition)
        throw std::invalid_argument(message);
}

// Starts go from 0 to the end of an array.
void check_starts(const std::int64_t* starts, std::int64_t n, std::int64_t end,
                  std::int64_t least, const char* message) {
    require(starts[0] == 0 && starts[n] == end, message);
    for (std::int64_t i = 0; i < n; ++i)
        require(starts[i] <= end && starts[i + 1] >= starts[i] + least, message);
}

void check_set(const TreeView& tree, std::int64_t i, std::int64_t n_sets) {
    if (!tree.set_numbers)
        return;
    const std::int32_t number = tree.set_numbers[i];
    require(number >= -1 && number < n_sets, "the index of a set is out of range");
    require(number == -1 || tree.nodes[i].feature >= 0,
            "a leaf has a set of categories");
}

void check_tree(const TreeView& tree, std::int64_t n_nodes, std::int64_t n_leaves,
                const TreesShape& shape) {
    std::int64_t n_inner = 0;
    for (std::int64_t i = 0; i < n_nodes; ++i) {
        const Node& node = tree.nodes[i];
        require(tree.missing_left[i] <= 1, "missing_left must be 0 or 1");
        require(node.feature >= -1 && node.feature < shape.n_features,
                "the index of a feature is out of range");
        check_set(tree, i, shape.n_sets);
        if (node.feature < 0) {
            require(node.left < n_leaves, "a leaf has no values");
            require(node.left >= -shape.n_classes, "a leaf has no values or class");
            continue;
        }
        // Infinite thresholds are valid: they separate missing values.
        require(!std::isnan(node.threshold), "a threshold is NaN");
        // Breadth first, the children of inner node number k are the nodes 2 k + 1 and
        // 2 k + 2. Then no node has two parents, and no path leads back.
        require(node.left == 2 * n_inner + 1 && node.left > i,
                "nodes are not in breadth-first order");
        ++n_inner;
    }
    require(n_nodes == 2 * n_inner + 1, "a tree must have one leaf more than others");
}

}  // namespace

void check_trees(const ForestView& forest, const TreesShape& shape) {
    check_starts(forest.node_starts, forest.n_trees, shape.n_nodes, 1,
                 "node_starts must increase from 0 to the number of nodes");
    check_starts(forest.leaf_starts, forest.n_trees, shape.n_leaves, 0,
                 "leaf_starts must increase from 0 to the number of leaf values");
    for (std::int64_t t = 0; t < forest.n_trees; ++t) {
        check_tree(forest.tree(t), forest.node_starts[t + 1] - forest.node_starts[t],
                   forest.leaf_starts[t + 1] - forest.leaf_starts[t], shape);
    }
}

}  // namespace dics
