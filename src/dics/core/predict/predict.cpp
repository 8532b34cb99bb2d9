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

// Rows per block. All rows of a block go down one tree before the next, and stay in the
// cache.
constexpr std::int64_t kBlockBytes = 1 << 18;
constexpr std::int64_t kMinBlockRows = 64;
constexpr std::int64_t kMaxBlockRows = 1024;
// If there are fewer rows, each goes down all trees at once.
constexpr std::int64_t kFewRows = 16;
// With fewer walks (one row down one tree), one thread does all work.
constexpr std::int64_t kParallelWalks = 8192;
// A scan of X for NaN also loads it into the cache in the best order. It is left out if
// the walks, of about this many steps, need fewer cache lines than X has.
constexpr std::int64_t kWalkSteps = 16, kLineBytes = 64;

// Many walks down trees, one step of each in turn: while one waits for memory, the
// others continue. The list of active walks is written without a branch, which would be
// mispredicted at every leaf (digits, 100 trees of full depth, 10000 rows, one thread:
// 43 ms with branches, 27 ms without; RandomForest 51 ms; 2026-11). Two steps per pass
// over the list were slower, because fewer walks are active at once.
class Walks {
  public:
    explicit Walks(std::int64_t capacity) : active_(capacity), ends_(active_.size()) {}

    // Returns the last nodes of walks 0..n-1. Walk i goes down tree_of(i), and its row
    // has value_of(i, f) in feature f.
    template <bool kMissing, bool kSets, class TreeOf, class ValueOf>
    const std::int32_t* go(std::int64_t n, TreeOf tree_of, ValueOf value_of) {
        Walk* active = active_.data();
        for (std::int64_t i = 0; i < n; ++i)
            active[i] = {static_cast<std::int32_t>(i), 0};
        StopCheck stop_check;
        while (n > 0) {
            stop_check.add(n);
            std::int64_t n_left = 0;
            for (std::int64_t k = 0; k < n; ++k) {
                const Walk walk = active[k];
                const TreeView& tree = tree_of(walk.number);
                const Node& node = tree.nodes[walk.node];
                const std::int32_t leaf = node.feature >> 31;  // all bits, or none
                const auto x = value_of(walk.number, node.feature & ~leaf);
                // Two statements: with one, the compiler branches on the comparison
                // (digits, depth 8, 10000 rows: 0.9 ms instead of 0.5; 2026-11).
                std::int32_t right = !value_goes_left<false>(x, node.threshold, false);
                if constexpr (kSets) {
                    if (const CodeSet* set = tree.set_of(walk.node))
                        right = !set->has_value(x);
                }
                if (kMissing && x != x)
                    right = tree.missing_left[walk.node] == 0;
                ends_[walk.number] = walk.node;
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

// The flag is as wide as a value, so that the compiler vectorizes the loop (MNIST as
// float32, 10000 rows, one thread: 4.3 ms with a bool, 2.2 ms with this; 2026-11).
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

// Walks rows down all trees, and calls arrive(t, first row, n, nodes) for each tree in
// turn: with all rows, or with one after the other if there are few. In the common
// case, a row-major X without NaN, a step takes a quarter less time.
template <bool kContiguous, bool kMissing, bool kSets, class T, class Arrive>
void walk_block(const Matrix<T>& X, const ForestView& forest,
                const std::vector<const T*>& rows, Arrive arrive) {
    const std::int64_t stride = kContiguous ? 1 : X.col_stride;
    const std::int64_t n = rows.size();
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
        const T* row = rows[i];
        const std::int32_t* nodes = walks.go<kMissing, kSets>(
            forest.n_trees, [&](std::int32_t t) -> const TreeView& { return trees[t]; },
            [=](std::int32_t, std::int64_t f) { return row[f * stride]; });
        for (std::int64_t t = 0; t < forest.n_trees; ++t)
            arrive(t, i, 1, nodes + t);
    }
}

// The same for `n_rows` rows, in blocks. `rows` are the rows of X to use, null: all;
// arrive() gets `offset` plus the index in `rows`.
template <class T, class Arrive>
void walk_all(const Matrix<T>& X, const ForestView& forest, const std::uint32_t* rows,
              std::int64_t n_rows, std::int64_t offset, Team& team, Arrive arrive) {
    const std::int64_t row_bytes = X.n_cols * sizeof(T);
    const std::int64_t block =
        std::clamp(kBlockBytes / row_bytes, kMinBlockRows, kMaxBlockRows);
    const bool parallel = n_rows * forest.n_trees >= kParallelWalks;
    team.run((n_rows + block - 1) / block, parallel, [&](std::int64_t task, int) {
        const std::int64_t begin = task * block;
        const std::int64_t n = std::min(block, n_rows - begin);
        std::vector<const T*> starts;
        bool missing = row_bytes > forest.n_trees * kWalkSteps * kLineBytes;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t row = rows ? rows[begin + i] : begin + i;
            starts.push_back(X.data + row * X.row_stride);
            missing = missing || has_missing(starts.back(), X.n_cols, X.col_stride);
        }
        auto report = [&](std::int64_t t, std::int64_t first, std::int64_t count,
                          const std::int32_t* nodes) {
            arrive(t, offset + begin + first, count, nodes);
        };
        if (forest.all.set_numbers) {
            walk_block<false, true, true>(X, forest, starts, report);
        } else if (X.col_stride == 1 && !missing) {
            walk_block<true, false, false>(X, forest, starts, report);
        } else if (X.col_stride == 1) {
            walk_block<true, true, false>(X, forest, starts, report);
        } else {
            walk_block<false, true, false>(X, forest, starts, report);
        }
    });
}

int most_frequent(const float* fractions, int n_classes) {
    return std::max_element(fractions, fractions + n_classes) - fractions;
}

// Adds the votes of tree t for n rows that end in `nodes`.
void add_votes(const ForestView& forest, const LeafTable<float>& leaves, std::int64_t t,
               std::int64_t n, const std::int32_t* nodes, bool hard, double* votes) {
    const Node* tree = forest.tree(t).nodes;
    const int n_classes = leaves.width;
    const float* table = leaves.of_tree(forest, t);
    for (std::int64_t i = 0; i < n; ++i, votes += n_classes) {
        const std::int64_t leaf = tree[nodes[i]].left;
        if (leaf < 0) {  // the leaf has one class
            votes[~leaf] += 1;
            continue;
        }
        const float* fractions = table + leaf * n_classes;
        if (hard) {
            votes[most_frequent(fractions, n_classes)] += 1;
        } else {
            for (int c = 0; c < n_classes; ++c)
                votes[c] += fractions[c];
        }
    }
}

// Encodes blocks of rows, and finds their leaves in all trees.
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
        std::vector<std::uint8_t> codes(block.n_rows * X.n_cols);
        Team alone(1);
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

// Walks rows of any X down all trees; `rows` are the rows to use, null: all. Calls
// arrive() as in walk_block.
template <class Arrive>
void walk_any(const AnyRows& any, const ForestView& forest, const std::uint32_t* rows,
              std::int64_t n_rows, Team& team, Arrive arrive) {
    std::visit(
        [&](const auto& source) {
            if (!source.is_sparse())
                return walk_all(source.dense(), forest, rows, n_rows, 0, team, arrive);
            for_dense_rows(source.sparse(), rows, n_rows, team,
                           [&](const auto& block, std::int64_t first, Team& alone) {
                               walk_all(block, forest, nullptr, block.n_rows, first,
                                        alone, arrive);
                           });
        },
        any);
}

}  // namespace

void find_leaves(const AnyRows& X, const ForestView& forest, Team& team,
                 std::int64_t* leaf) {
    walk_any(X, forest, nullptr, row_count(X), team,
             [&](std::int64_t t, std::int64_t first, std::int64_t n,
                 const std::int32_t* nodes) {
                 for (std::int64_t i = 0; i < n; ++i)
                     leaf[(first + i) * forest.n_trees + t] = nodes[i];
             });
}

void vote(const AnyRows& X, const ForestView& forest, const LeafTable<float>& leaves,
          const std::uint32_t* rows, std::int64_t n_rows, bool hard, Team& team,
          double* votes) {
    walk_any(X, forest, rows, n_rows, team,
             [&](std::int64_t t, std::int64_t first, std::int64_t n,
                 const std::int32_t* nodes) {
                 add_votes(forest, leaves, t, n, nodes, hard,
                           votes + first * leaves.width);
             });
}

template <class T>
void add_values(const AnyRows& any, const ForestView& forest,
                const LeafTable<T>& leaves, const std::uint32_t* rows,
                std::int64_t n_rows, Team& team, T* sums) {
    const int width = leaves.width;
    if (!rows && CodedTrees::are_for(forest, n_rows, col_count(any))) {
        const CodedTrees trees(forest, col_count(any));
        auto add_coded = [&](const auto& X, std::int64_t first, Team& threads) {
            add_coded_values(X, forest, trees, leaves, threads, sums + first * width);
        };
        if (trees.fits()) {
            return std::visit(
                [&](const auto& source) {
                    if (!source.is_sparse())
                        return add_coded(source.dense(), 0, team);
                    for_dense_rows(source.sparse(), nullptr, n_rows, team, add_coded);
                },
                any);
        }
    }
    walk_any(any, forest, rows, n_rows, team,
             [&](std::int64_t t, std::int64_t first, std::int64_t n,
                 const std::int32_t* nodes) {
                 const Node* tree = forest.tree(t).nodes;
                 const T* table = leaves.of_tree(forest, t);
                 T* to = sums + first * width;
                 for (std::int64_t i = 0; i < n; ++i, to += width) {
                     const T* from = table + std::int64_t{tree[nodes[i]].left} * width;
                     for (int c = 0; c < width; ++c)
                         to[c] += from[c];
                 }
             });
}

template void add_values(const AnyRows&, const ForestView&, const LeafTable<float>&,
                         const std::uint32_t*, std::int64_t, Team&, float*);
template void add_values(const AnyRows&, const ForestView&, const LeafTable<double>&,
                         const std::uint32_t*, std::int64_t, Team&, double*);

}  // namespace dics
