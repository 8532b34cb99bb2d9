#include "predict.hpp"

#include <algorithm>

namespace dics {
namespace {

constexpr std::int64_t kRowsPerTask = 1024;
constexpr std::int64_t kParallelRows = 8192;

// Once for all dtypes: x < threshold goes left, NaN where the node was taught.
template <class T>
std::int32_t next_node(const TreeView& tree, std::int32_t node, T x) {
    const float threshold = tree.threshold[node];
    const bool right = x != x ? tree.missing_left[node] == 0 : !(x < threshold);
    return tree.left[node] + (right ? 1 : 0);
}

template <class T>
std::int64_t find_leaf(const Matrix<T>& X, const TreeView& tree, std::int64_t row) {
    const T* x = X.data + row * X.row_stride;
    std::int32_t node = 0;
    while (tree.feature[node] >= 0) {
        node = next_node(tree, node, x[tree.feature[node] * X.col_stride]);
    }
    return node;
}

}  // namespace

void find_leaves(const AnyMatrix& any, const TreeView& tree, Team& team,
                 std::int64_t* leaf) {
    std::visit(
        [&](const auto& X) {
            const std::int64_t n_tasks = (X.n_rows + kRowsPerTask - 1) / kRowsPerTask;
            team.run(n_tasks, X.n_rows >= kParallelRows, [&](std::int64_t task, int) {
                const std::int64_t end = std::min(X.n_rows, (task + 1) * kRowsPerTask);
                for (std::int64_t i = task * kRowsPerTask; i < end; ++i) {
                    leaf[i] = find_leaf(X, tree, i);
                }
            });
        },
        any);
}

}  // namespace dics
