// A libFuzzer target: arrays of trees as in a model file, their check, and predictions.
//
// The check must reject arrays, or predictions must stay inside of them and end. Half
// of the inputs are made valid first, because random indices rarely form a tree. The
// check must accept those. Then some get a few other values, which the check must reject
// if they matter. fuzz_native.py builds this file with ASan and UBSan.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "predict/predict.hpp"

namespace {

using namespace dics;

// fuzz_native.py writes the same fields.
struct Header {
    std::uint16_t n_nodes, n_leaves;
    std::uint8_t n_trees, n_features, width, n_sets;
    std::uint8_t flags, n_rows, n_listed, pad;
};
static_assert(sizeof(Header) == 12);

enum Flags {
    kValid = 1,
    kClasses = 2,
    kSets = 4,
    kByColumns = 8,
    kHard = 16,
    kChanged = 32,
    kSparse = 64
};

// Another value of one entry.
struct Change {
    std::uint16_t array, index;
    std::int32_t value;
};
static_assert(sizeof(Change) == 8);

constexpr int kMostNodes = 120, kMostLeaves = 100, kExplainedRows = 20;

// Reads arrays; after the end of the input, values are zero.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

    template <class T>
    std::vector<T> read(std::size_t n) {
        std::vector<T> values(n);
        const std::size_t size = std::min(left_, n * sizeof(T));
        if (size > 0)
            std::memcpy(values.data(), data_, size);
        data_ += size;
        left_ -= size;
        return values;
    }

  private:
    const std::uint8_t* data_;
    std::size_t left_;
};

int within(std::int64_t value, int n) { return static_cast<int>((value % n + n) % n); }

struct Model {
    int n_features, width;
    bool has_classes;
    std::vector<Node> nodes;
    std::vector<std::uint8_t> missing_left;
    std::vector<std::int64_t> node_starts, leaf_starts;
    std::vector<float> weight;
    std::vector<std::int32_t> set_numbers;
    std::vector<CodeSet> sets;
    std::vector<float> leaf_values;

    Model(const Header& h, Input& input)
        : n_features(h.n_features % 20),
          width(1 + h.width % 4),
          has_classes((h.flags & kClasses) != 0) {
        const std::size_t n_nodes = h.n_nodes % kMostNodes;
        const std::size_t n_starts = 1 + h.n_trees % 8;
        nodes = input.read<Node>(n_nodes);
        missing_left = input.read<std::uint8_t>(n_nodes);
        node_starts = input.read<std::int64_t>(n_starts);
        leaf_starts = input.read<std::int64_t>(n_starts);
        if (h.flags & kSets) {
            set_numbers = input.read<std::int32_t>(n_nodes);
            sets = input.read<CodeSet>(h.n_sets % 8);
        }
        weight = input.read<float>(n_nodes);
        for (float& w : weight)  // Python rejects others
            w = std::isfinite(w) ? w : 1;
        leaf_values = input.read<float>(h.n_leaves % kMostLeaves * width);
    }

    std::int64_t n_leaves() const { return std::ssize(leaf_values) / width; }

    ForestView view() const {
        const bool has_sets = !set_numbers.empty();
        return {
            {nodes.data(), missing_left.data(), has_sets ? set_numbers.data() : nullptr,
             has_sets ? sets.data() : nullptr},
            node_starts.data(),
            leaf_starts.data(),
            std::ssize(node_starts) - 1};
    }

    TreesShape shape() const {
        return {std::ssize(nodes), n_leaves(), std::ssize(sets), n_features,
                has_classes ? width : 0};
    }

    // The features decide which nodes have children; a tree ends when all children are
    // there.
    void make_valid() {
        const int n_nodes = static_cast<int>(nodes.size());
        node_starts.assign(1, 0);
        int n_open = 1, n_inner = 0;
        for (int i = 0; i < n_nodes; ++i) {
            Node& node = nodes[i];
            node.feature = within(node.feature + std::int64_t{1}, n_features + 1) - 1;
            if (n_nodes - i < n_open + 2)
                node.feature = -1;
            missing_left[i] &= 1;
            if (std::isnan(node.threshold))
                node.threshold = 0;
            const bool is_leaf = node.feature < 0;
            if (!set_numbers.empty()) {
                const int n = static_cast<int>(sets.size()) + 1;
                set_numbers[i] = is_leaf ? -1 : within(set_numbers[i], n) - 1;
            }
            n_open += is_leaf ? -1 : 1;
            if (!is_leaf)
                node.left = 2 * n_inner++ + 1;
            if (n_open == 0) {
                node_starts.push_back(i + 1);
                n_open = 1;
                n_inner = 0;
            }
        }
        give_leaves();
    }

    void give_leaves() {
        const std::int64_t n_trees = std::ssize(node_starts) - 1;
        leaf_values.resize(std::max<std::int64_t>(n_leaves(), n_trees) * width);
        leaf_starts.clear();
        for (std::int64_t t = 0; t <= n_trees; ++t)
            leaf_starts.push_back(n_trees == 0 ? 0 : t * n_leaves() / n_trees);
        if (n_trees == 0)
            leaf_values.clear();
        for (std::int64_t t = 0; t < n_trees; ++t) {
            const int n = static_cast<int>(leaf_starts[t + 1] - leaf_starts[t]);
            for (std::int64_t i = node_starts[t]; i < node_starts[t + 1]; ++i) {
                Node& node = nodes[i];
                if (node.feature < 0)
                    node.left = has_classes && node.left < 0 ? ~within(node.left, width)
                                                             : within(node.left, n);
            }
        }
    }

    void change(const Change& c) {
        if (nodes.empty())
            return;
        const std::size_t i = c.index % nodes.size();
        switch (c.array % 7) {
        case 0:
            nodes[i].feature = c.value;
            break;
        case 1:
            nodes[i].left = c.value;
            break;
        case 2:
            nodes[i].threshold = std::numeric_limits<double>::quiet_NaN();
            break;
        case 3:
            missing_left[i] = static_cast<std::uint8_t>(c.value);
            break;
        case 4:
            node_starts[c.index % node_starts.size()] = c.value;
            break;
        case 5:
            leaf_starts[c.index % leaf_starts.size()] = c.value;
            break;
        default:
            if (!set_numbers.empty())
                set_numbers[i] = c.value;
        }
    }

    // As Trees._leaf_table.
    std::vector<double> explain(const AnyRows& X) const {
        std::vector<double> values(leaf_values.begin(), leaf_values.end());
        for (int i = 0; i < width * width; ++i)
            values.push_back(i % (width + 1) == 0 ? 1 : 0);
        std::vector<std::int64_t> rows(nodes.size());
        for (std::int64_t t = 0; t + 1 < std::ssize(node_starts); ++t) {
            for (std::int64_t i = node_starts[t]; i < node_starts[t + 1]; ++i) {
                if (nodes[i].feature < 0)
                    rows[i] = nodes[i].left < 0 ? n_leaves() + ~nodes[i].left
                                                : leaf_starts[t] + nodes[i].left;
            }
        }
        std::vector<double> out(row_count(X) * (col_count(X) + 1) * width);
        Team team(1);
        const LeafTable<double> leaves{values.data(), width};
        add_contributions(X, {view(), weight.data(), rows.data(), leaves}, team,
                          out.data());
        return out;
    }
};

// All predictions of the estimators; `listed` are indices of rows.
void predict(const Model& model, const AnyRows& X, bool hard,
             const std::vector<std::uint32_t>& listed) {
    const ForestView forest = model.view();
    const std::int64_t n_rows = row_count(X);
    Team team(1);
    std::vector<std::int64_t> found(n_rows * forest.n_trees);
    find_leaves(X, forest, team, found.data());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::int64_t t = i % forest.n_trees;
        if (forest.tree(t).nodes[found[i]].feature >= 0)
            std::abort();  // not a leaf
    }
    const std::vector<double> wide(model.leaf_values.begin(), model.leaf_values.end());
    const LeafTable<float> leaves{model.leaf_values.data(), model.width};
    const LeafTable<double> wide_leaves{wide.data(), model.width};
    for (const std::uint32_t* rows : {(const std::uint32_t*)nullptr, listed.data()}) {
        const std::int64_t n = rows ? std::ssize(listed) : n_rows;
        if (n == 0)
            continue;
        std::vector<double> sums(n * model.width);
        std::vector<float> scores(n * model.width);
        if (model.has_classes) {
            vote(X, forest, leaves, rows, n, hard, team, sums.data());
            continue;
        }
        add_values(X, forest, leaves, rows, n, team, scores.data());
        add_values(X, forest, wide_leaves, rows, n, team, sums.data());
    }
    if (n_rows <= kExplainedRows)
        model.explain(X);
}

template <class T>
void predict_as(const Model& model, const Header& h, Input& input) {
    // Many rows take another path, but most time.
    const int choice = h.n_rows / 3;
    const std::int64_t n_rows = choice == 84 ? 300 : choice > 80 ? 20 : 1 + choice % 4;
    const std::int64_t n_cols = model.n_features;
    std::vector<T> known = input.read<T>(1 + h.pad % 64);
    std::vector<T> values(n_rows * n_cols);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = known[i % known.size()];
    std::vector<std::uint32_t> listed;
    for (int i = 0; i < h.n_listed % 20; ++i)
        listed.push_back(static_cast<std::uint32_t>((i * 7 + h.n_listed) % n_rows));
    const bool by_columns = (h.flags & kByColumns) != 0, hard = (h.flags & kHard) != 0;
    if ((h.flags & kSparse) == 0) {
        const Matrix<T> dense{values.data(), n_rows, n_cols, by_columns ? 1 : n_cols,
                              by_columns ? n_rows : 1};
        predict(model, RowSource<T>(dense), hard, listed);
        return;
    }
    std::vector<T> stored;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> starts{0};
    for (std::int64_t i = 0; i < n_rows; ++i) {
        for (std::int64_t f = 0; f < n_cols; ++f) {
            if (values[i * n_cols + f] != T()) {
                stored.push_back(values[i * n_cols + f]);
                columns.push_back(static_cast<std::int32_t>(f));
            }
        }
        starts.push_back(std::ssize(stored));
    }
    predict(model,
            RowSource<T>(SparseMatrix<T>{stored.data(), columns.data(), starts.data(),
                                         n_rows, n_cols}),
            hard, listed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    const Header h = input.read<Header>(1)[0];
    Model model(h, input);
    const bool is_valid = (h.flags & kValid) != 0;
    const bool is_changed = (h.flags & kChanged) != 0;
    if (is_valid)
        model.make_valid();
    if (is_changed) {
        for (const Change& c : input.read<Change>(1 + h.pad % 3))
            model.change(c);
    }
    try {
        check_trees(model.view(), model.shape());
    } catch (const std::invalid_argument&) {
        if (is_valid && !is_changed)
            std::abort();
        return 0;
    }
    // Python does not call the core without rows or columns.
    if (model.n_features == 0)
        return 0;
    if (h.n_rows % 3 == 0)
        predict_as<float>(model, h, input);
    else if (h.n_rows % 3 == 1)
        predict_as<double>(model, h, input);
    else
        predict_as<std::uint8_t>(model, h, input);
    return 0;
}
