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

// Rows on their way at once. A row waits for memory at every node of a deep tree; while
// one waits the others go on (MNIST, full depth, 10000 rows: 6.5 -> 0.7 ms; 2026-11).
constexpr int kRowsAtOnce = 16;

template <class T>
void find_leaves_of(const Matrix<T>& X, const TreeView& tree, std::int64_t begin,
                    std::int64_t end, std::int64_t* leaf) {
    std::int64_t row[kRowsAtOnce];
    std::int32_t node[kRowsAtOnce] = {};
    int n_active = 0;
    std::int64_t next = begin;
    for (; n_active < kRowsAtOnce && next < end; ++n_active)
        row[n_active] = next++;
    while (n_active > 0) {
        for (int k = 0; k < n_active; ++k) {
            const std::int32_t feature = tree.feature[node[k]];
            if (feature >= 0) {
                node[k] = next_node(tree, node[k], X(row[k], feature));
                continue;
            }
            leaf[row[k]] = node[k];
            if (next < end) {
                row[k] = next++;
                node[k] = 0;
            } else {
                --n_active;
                row[k] = row[n_active];
                node[k] = node[n_active];
                --k;
            }
        }
    }
}

}  // namespace

void find_leaves(const AnyMatrix& any, const TreeView& tree, Team& team,
                 std::int64_t* leaf) {
    std::visit(
        [&](const auto& X) {
            const std::int64_t n_tasks = (X.n_rows + kRowsPerTask - 1) / kRowsPerTask;
            team.run(n_tasks, X.n_rows >= kParallelRows, [&](std::int64_t task, int) {
                const std::int64_t end = std::min(X.n_rows, (task + 1) * kRowsPerTask);
                find_leaves_of(X, tree, task * kRowsPerTask, end, leaf);
            });
        },
        any);
}

}  // namespace dics
