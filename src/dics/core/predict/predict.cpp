#include "predict/predict.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "data/encode.hpp"
#include "data/split_side.hpp"
#include "predict/coded_trees.hpp"
#include "predict/dense_rows.hpp"

namespace dics {
namespace {

// Rows that go down a tree before the next tree's turn: few enough to stay in the
// cache.
constexpr std::int64_t kBlockBytes = 1 << 18;
constexpr std::int64_t kMinBlockRows = 64;
constexpr std::int64_t kMaxBlockRows = 1024;
// Fewer rows than this go down all trees at once, one row after the other.
constexpr std::int64_t kFewRows = 16;
// Walks (of one row down one tree) below which no thread is started.
constexpr std::int64_t kParallelWalks = 8192;
// A look at all of X for NaN also brings it into the cache in the best order. It is
// left out where the walks, of about so many steps, need fewer cache lines than X has.
constexpr std::int64_t kWalkSteps = 16, kLineBytes = 64;

// Many walks down trees, a step of each in turn: a walk waits for memory at every node
// of a deep tree, and meanwhile the others go on. Which of them are still on their way
// is a list that is written without a branch, which would be guessed wrong at every
// leaf (digits, 100 trees of full depth, 10000 rows, one thread: 43 ms with branches,
// 27 ms so; RandomForest 51 ms; 2026-11). Two steps for each look at the list were
// slower: then fewer walks are on their way at once.
class Walks {
  public:
    explicit Walks(std::int64_t capacity)
        : active_(static_cast<std::size_t>(capacity)), ends_(active_.size()) {}

    // Where walks 0..n-1 end: walk i goes down tree_of(i), and value_of(i, f) is what
    // its row has of feature f.
    template <bool kMissing, bool kSets, class TreeOf, class ValueOf>
    const std::int32_t* go(std::int64_t n, TreeOf tree_of, ValueOf value_of) {
        Walk* active = active_.data();
        for (std::int64_t i = 0; i < n; ++i)
            active[i] = {static_cast<std::int32_t>(i), 0};
        while (n > 0) {
            std::int64_t n_left = 0;
            for (std::int64_t k = 0; k < n; ++k) {
                const Walk walk = active[k];
                const TreeView& tree = tree_of(walk.number);
                const Node& node = tree.nodes[walk.node];
                const std::int32_t leaf = node.feature >> 31;  // all bits, or none
                const auto x = value_of(walk.number, node.feature & ~leaf);
                // In two steps: in one, the compiler branches on the comparison
                // (digits, depth 8, 10000 rows: 0.9 ms instead of 0.5; 2026-11).
                std::int32_t right = !value_goes_left<false>(x, node.threshold, false);
                if constexpr (kSets) {
                    if (const CodeSet* set = tree.set_of(walk.node))
                        right = !set->has_value(x);
                }
                if (kMissing && x != x)
                    right = tree.missing_left[walk.node] == 0;
                ends_[static_cast<std::size_t>(walk.number)] = walk.node;
                active[n_left] = {walk.number, node.left + right};
                n_left += leaf + 1;
            }
            n = n_left;
        }
        return ends_.data();
    }

  private:
    struct Walk {
        std::int32_t number, node;
    };
    std::vector<Walk> active_;
    std::vector<std::int32_t> ends_;
};

// The flag is as wide as a value, for the compiler to look at several at once (MNIST as
// float32, 10000 rows, one thread: 4.3 ms with a bool, 2.2 ms so; 2026-11).
template <class T>
bool has_missing(const T* row, std::int64_t n, std::int64_t stride) {
    if constexpr (!std::is_floating_point_v<T>)
        return false;
    using Flag = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    Flag found = 0;
    if (stride == 1) {
        for (std::int64_t f = 0; f < n; ++f)
            found |= row[f] != row[f] ? Flag{1} : Flag{0};
    } else {
        for (std::int64_t f = 0; f < n; ++f)
            found |= row[f * stride] != row[f * stride] ? Flag{1} : Flag{0};
    }
    return found != 0;
}

// Rows down all trees; calls arrive(t, first row, n, nodes) for each tree in turn, for
// all rows or (few rows) for one after the other. In the common case, a row-major X
// without NaN, a step is a quarter shorter.
template <bool kContiguous, bool kMissing, bool kSets, class T, class Arrive>
void walk_block(const Matrix<T>& X, const ForestView& forest,
                const std::vector<const T*>& rows, Arrive arrive) {
    const std::int64_t stride = kContiguous ? 1 : X.col_stride;
    const auto n = static_cast<std::int64_t>(rows.size());
    if (n >= kFewRows) {
        Walks walks(n);
        const T* const* row = rows.data();
        for (std::int64_t t = 0; t < forest.n_trees; ++t) {
            const TreeView tree = forest.tree(t);
            const std::int32_t* nodes = walks.go<kMissing, kSets>(
                n, [&](std::int32_t) -> const TreeView& { return tree; },
                [=](std::int32_t i, std::int64_t f) { return row[i][f * stride]; });
            arrive(t, 0, n, nodes);
        }
        return;
    }
    Walks walks(forest.n_trees);
    std::vector<TreeView> trees;
    for (std::int64_t t = 0; t < forest.n_trees; ++t)
        trees.push_back(forest.tree(t));
    for (std::int64_t i = 0; i < n; ++i) {
        const T* row = rows[static_cast<std::size_t>(i)];
        const std::int32_t* nodes = walks.go<kMissing, kSets>(
            forest.n_trees, [&](std::int32_t t) -> const TreeView& { return trees[t]; },
            [=](std::int32_t, std::int64_t f) { return row[f * stride]; });
        for (std::int64_t t = 0; t < forest.n_trees; ++t)
            arrive(t, i, 1, nodes + t);
    }
}

// The same for `n_rows` rows, in blocks of them.
template <class T, class RowOf, class Arrive>
void walk_all(const Matrix<T>& X, const ForestView& forest, std::int64_t n_rows,
              Team& team, RowOf row_of, Arrive arrive) {
    const std::int64_t row_bytes = X.n_cols * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t block =
        std::clamp(kBlockBytes / row_bytes, kMinBlockRows, kMaxBlockRows);
    const bool parallel = n_rows * forest.n_trees >= kParallelWalks;
    team.run((n_rows + block - 1) / block, parallel, [&](std::int64_t task, int) {
        const std::int64_t begin = task * block;
        const std::int64_t n = std::min(block, n_rows - begin);
        std::vector<const T*> rows;
        bool missing = row_bytes > forest.n_trees * kWalkSteps * kLineBytes;
        for (std::int64_t i = 0; i < n; ++i) {
            rows.push_back(X.data + row_of(begin + i) * X.row_stride);
            missing = missing || has_missing(rows.back(), X.n_cols, X.col_stride);
        }
        auto report = [&](std::int64_t t, std::int64_t first, std::int64_t count,
                          const std::int32_t* nodes) {
            arrive(t, begin + first, count, nodes);
        };
        if (forest.all.set_numbers) {
            walk_block<false, true, true>(X, forest, rows, report);
        } else if (X.col_stride == 1 && !missing) {
            walk_block<true, false, false>(X, forest, rows, report);
        } else if (X.col_stride == 1) {
            walk_block<true, true, false>(X, forest, rows, report);
        } else {
            walk_block<false, true, false>(X, forest, rows, report);
        }
    });
}

int largest(const float* shares, int n_classes) {
    return static_cast<int>(std::max_element(shares, shares + n_classes) - shares);
}

// Adds the votes of tree t for n rows that ended in `nodes`.
void add_votes(const ForestView& forest, const LeafTable<float>& leaves, std::int64_t t,
               std::int64_t n, const std::int32_t* nodes, bool hard, double* votes) {
    const Node* tree = forest.tree(t).nodes;
    const int n_classes = leaves.width;
    const float* table = leaves.of_tree(forest, t);
    for (std::int64_t i = 0; i < n; ++i, votes += n_classes) {
        const std::int64_t leaf = tree[nodes[i]].left;
        const float* shares = table + leaf * n_classes;
        if (leaf < 0) {  // of one class
            votes[~leaf] += 1;
        } else if (hard) {
            votes[largest(shares, n_classes)] += 1;
        } else {
            for (int c = 0; c < n_classes; ++c)
                votes[c] += static_cast<double>(shares[c]);
        }
    }
}

// The rows of a block, column by column as codes, down all trees.
template <class T, class Value>
void add_coded_values(const Matrix<T>& X, const ForestView& forest,
                      const CodedTrees& trees, const LeafTable<Value>& leaves,
                      Team& team, Value* sums) {
    const std::int64_t n_blocks = (X.n_rows + kMaxBlockRows - 1) / kMaxBlockRows;
    const int width = leaves.width;
    team.run(n_blocks, true, [&](std::int64_t task, int) {
        const std::int64_t begin = task * kMaxBlockRows;
        Matrix<T> block = X;
        block.data += begin * X.row_stride;
        block.n_rows = std::min(kMaxBlockRows, X.n_rows - begin);
        std::vector<std::uint8_t> codes(
            static_cast<std::size_t>(block.n_rows * X.n_cols));
        Team alone(1, [] { return false; });
        encode(RowSource<T>(block), trees.dictionary(), 1, alone, codes.data());
        auto column = [&](std::int64_t f) { return codes.data() + f * block.n_rows; };
        std::uint32_t leaf[kMaxBlockRows];
        for (std::int64_t t = 0; t < forest.n_trees; ++t) {
            trees.tree(t).find(column, block.n_rows, leaf);
            const Value* table = leaves.of_tree(forest, t);
            Value* to = sums + begin * width;
            for (std::int64_t i = 0; i < block.n_rows; ++i, to += width) {
                for (int c = 0; c < width; ++c)
                    to[c] += table[std::int64_t{leaf[i]} * width + c];
            }
        }
    });
}

// Numbers of rows to look at; null for all.
auto numbers_in(const std::uint32_t* rows) {
    return [rows](std::int64_t i) { return rows ? std::int64_t{rows[i]} : i; };
}

}  // namespace

void find_leaves(const AnyRows& any, const ForestView& forest, Team& team,
                 std::int64_t* leaf) {
    std::visit(
        [&](const auto& source) {
            if (source.is_sparse()) {
                return for_dense_rows(
                    source.sparse(), source.n_rows(), team, numbers_in(nullptr),
                    [&](const auto& rows, std::int64_t first, Team& alone) {
                        find_leaves(rows, forest, alone, leaf + first * forest.n_trees);
                    });
            }
            const auto& X = source.dense();
            walk_all(X, forest, X.n_rows, team, numbers_in(nullptr),
                     [&](std::int64_t t, std::int64_t first, std::int64_t n,
                         const std::int32_t* nodes) {
                         for (std::int64_t i = 0; i < n; ++i)
                             leaf[(first + i) * forest.n_trees + t] = nodes[i];
                     });
        },
        any);
}

void vote(const AnyRows& any, const ForestView& forest, const LeafTable<float>& leaves,
          const std::uint32_t* rows, std::int64_t n_rows, bool hard, Team& team,
          double* votes) {
    std::visit(
        [&](const auto& source) {
            if (source.is_sparse()) {
                return for_dense_rows(
                    source.sparse(), n_rows, team, numbers_in(rows),
                    [&](const auto& some, std::int64_t first, Team& alone) {
                        vote(some, forest, leaves, nullptr, some.n_rows, hard, alone,
                             votes + first * leaves.width);
                    });
            }
            const auto& X = source.dense();
            walk_all(X, forest, n_rows, team, numbers_in(rows),
                     [&](std::int64_t t, std::int64_t first, std::int64_t n,
                         const std::int32_t* nodes) {
                         add_votes(forest, leaves, t, n, nodes, hard,
                                   votes + first * leaves.width);
                     });
        },
        any);
}

template <class T>
void add_values(const AnyRows& any, const ForestView& forest,
                const LeafTable<T>& leaves, const std::uint32_t* rows,
                std::int64_t n_rows, Team& team, T* sums) {
    const int width = leaves.width;
    const bool is_sparse =
        std::visit([](const auto& source) { return source.is_sparse(); }, any);
    if (!rows && !is_sparse && CodedTrees::are_for(forest, n_rows, col_count(any))) {
        const CodedTrees trees(forest, col_count(any));
        if (trees.fits()) {
            std::visit(
                [&](const auto& source) {
                    add_coded_values(source.dense(), forest, trees, leaves, team, sums);
                },
                any);
            return;
        }
    }
    std::visit(
        [&](const auto& source) {
            if (is_sparse) {
                return for_dense_rows(
                    source.sparse(), n_rows, team, numbers_in(rows),
                    [&](const auto& some, std::int64_t first, Team& alone) {
                        add_values(AnyRows(RowSource(some)), forest, leaves, nullptr,
                                   some.n_rows, alone, sums + first * width);
                    });
            }
            const auto& X = source.dense();
            walk_all(X, forest, n_rows, team, numbers_in(rows),
                     [&](std::int64_t t, std::int64_t first, std::int64_t n,
                         const std::int32_t* nodes) {
                         const Node* tree = forest.tree(t).nodes;
                         const T* table = leaves.of_tree(forest, t);
                         T* to = sums + first * width;
                         for (std::int64_t i = 0; i < n; ++i, to += width) {
                             const T* from =
                                 table + std::int64_t{tree[nodes[i]].left} * width;
                             for (int c = 0; c < width; ++c)
                                 to[c] += from[c];
                         }
                     });
        },
        any);
}

template void add_values(const AnyRows&, const ForestView&, const LeafTable<float>&,
                         const std::uint32_t*, std::int64_t, Team&, float*);
template void add_values(const AnyRows&, const ForestView&, const LeafTable<double>&,
                         const std::uint32_t*, std::int64_t, Team&, double*);

}  // namespace dics
