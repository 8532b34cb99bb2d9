#include "predict.hpp"

#include <algorithm>
#include <vector>

namespace dics {
namespace {

constexpr std::int64_t kRowsPerTask = 1024;
// Steps (rows times trees) below which no thread is started.
constexpr std::int64_t kParallelSteps = 8192;

// Once for all dtypes: x < threshold goes left, NaN where the node was taught.
template <class T>
std::int32_t next_node(const TreeView& tree, std::int32_t node, T x) {
    const float threshold = tree.threshold[node];
    const bool right = x != x ? tree.missing_left[node] == 0 : !(x < threshold);
    return tree.left[node] + (right ? 1 : 0);
}

// Walks on their way at once. A walk waits for memory at every node of a deep tree;
// while one waits the others go on (MNIST, one tree of full depth, 10000 rows: 6.5 ->
// 0.7 ms; 2026-11).
constexpr int kWalksAtOnce = 16;

// Rows row_of(0..n_rows-1) down all trees, one tree after the other; calls
// leaf(i, tree, node) for each, in no particular order.
template <class T, class RowOf, class Leaf>
void walk(const Matrix<T>& X, const ForestView& forest, std::int64_t n_rows,
          RowOf row_of, Leaf leaf) {
    struct Walk {
        TreeView tree;
        std::int64_t i, t, row;
        std::int32_t node;
    };
    std::int64_t next_i = 0, next_t = 0;
    auto start = [&](Walk& walk) {
        if (next_t == forest.n_trees)
            return false;
        walk = {forest.tree(next_t), next_i, next_t, row_of(next_i), 0};
        if (++next_i == n_rows) {
            next_i = 0;
            ++next_t;
        }
        return true;
    };
    Walk walks[kWalksAtOnce];
    int n_active = 0;
    while (n_active < kWalksAtOnce && start(walks[n_active]))
        ++n_active;
    while (n_active > 0) {
        for (int k = 0; k < n_active; ++k) {
            Walk& walk = walks[k];
            const std::int32_t feature = walk.tree.feature[walk.node];
            if (feature >= 0) {
                walk.node = next_node(walk.tree, walk.node, X(walk.row, feature));
                continue;
            }
            leaf(walk.i, walk.t, walk.node);
            if (!start(walk)) {
                walk = walks[--n_active];
                --k;
            }
        }
    }
}

int largest(const float* shares, int n_classes) {
    return static_cast<int>(std::max_element(shares, shares + n_classes) - shares);
}

void add_vote(const ForestView& forest, std::int64_t t, std::int32_t node, bool hard,
              double* votes) {
    const std::int32_t leaf = forest.tree(t).left[node];
    if (leaf < 0) {  // of one class
        votes[~leaf] += 1;
        return;
    }
    const float* shares =
        forest.leaf_values + (forest.leaf_starts[t] + leaf) * forest.n_classes;
    if (hard) {
        votes[largest(shares, forest.n_classes)] += 1;
        return;
    }
    for (int c = 0; c < forest.n_classes; ++c)
        votes[c] += static_cast<double>(shares[c]);
}

// Rows that go down all trees together: their leaves, in 32 bits, stay in the cache.
constexpr std::int64_t kVoteRows = 64;

template <class T>
void vote_block(const Matrix<T>& X, const ForestView& forest, const std::uint32_t* rows,
                std::int64_t begin, std::int64_t end, bool hard,
                std::vector<std::int32_t>& leaves, double* votes) {
    const std::int64_t n = end - begin;
    leaves.resize(static_cast<std::size_t>(n * forest.n_trees));
    walk(
        X, forest, n,
        [&](std::int64_t i) {
            return rows ? std::int64_t{rows[begin + i]} : begin + i;
        },
        [&](std::int64_t i, std::int64_t t, std::int32_t node) {
            leaves[static_cast<std::size_t>(i * forest.n_trees + t)] = node;
        });
    // The votes of a row are summed in the order of the trees, whatever rows it came
    // with.
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t t = 0; t < forest.n_trees; ++t) {
            add_vote(forest, t,
                     leaves[static_cast<std::size_t>(i * forest.n_trees + t)], hard,
                     votes + (begin + i) * forest.n_classes);
        }
    }
}

}  // namespace

void find_leaves(const AnyMatrix& any, const ForestView& forest, Team& team,
                 std::int64_t* leaf) {
    std::visit(
        [&](const auto& X) {
            const std::int64_t n_tasks = (X.n_rows + kRowsPerTask - 1) / kRowsPerTask;
            const bool parallel = X.n_rows * forest.n_trees >= kParallelSteps;
            team.run(n_tasks, parallel, [&](std::int64_t task, int) {
                const std::int64_t begin = task * kRowsPerTask;
                const std::int64_t end = std::min(X.n_rows, begin + kRowsPerTask);
                walk(
                    X, forest, end - begin, [&](std::int64_t i) { return begin + i; },
                    [&](std::int64_t i, std::int64_t t, std::int32_t node) {
                        leaf[(begin + i) * forest.n_trees + t] = node;
                    });
            });
        },
        any);
}

void vote(const AnyMatrix& any, const ForestView& forest, const std::uint32_t* rows,
          std::int64_t n_rows, bool hard, Team& team, double* votes) {
    std::visit(
        [&](const auto& X) {
            const std::int64_t n_tasks = (n_rows + kVoteRows - 1) / kVoteRows;
            const bool parallel = n_rows * forest.n_trees >= kParallelSteps;
            std::vector<std::vector<std::int32_t>> leaves(
                static_cast<std::size_t>(team.size()));
            team.run(n_tasks, parallel, [&](std::int64_t task, int thread) {
                const std::int64_t begin = task * kVoteRows;
                vote_block(X, forest, rows, begin, std::min(n_rows, begin + kVoteRows),
                           hard, leaves[static_cast<std::size_t>(thread)], votes);
            });
        },
        any);
}

}  // namespace dics
