// Small trees on codes of their own thresholds, to predict many rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "data/matrix.hpp"
#include "data/split_side.hpp"
#include "predict/predict.hpp"
#include "predict/tree_masks.hpp"

namespace dics {

// A walk down a tree waits at every node for the next. Encoded rows can be tested at
// all nodes at once, 32 rows in a register (magic, 100 trees with 31 leaves, 10,000
// rows, two threads: 14 ms with walks, 3.3 ms with codes; XGBoost 10 ms; 2026-11).
class CodedTrees {
  public:
    // Returns true if all trees are small, and encoding X takes less time than walks.
    static bool are_for(const ForestView& forest, std::int64_t n_rows,
                        std::int64_t n_cols) {
        if (n_rows < kLeastRows || n_cols > kMostColumns * forest.n_trees)
            return false;
        for (std::int64_t t = 0; t < forest.n_trees; ++t) {
            const std::int64_t n_nodes =
                forest.node_starts[t + 1] - forest.node_starts[t];
            if (n_nodes > 2 * kMaxMaskLeaves - 1)
                return false;
        }
        return true;
    }

    CodedTrees(const ForestView& forest, std::int64_t n_features)
        : offsets_(n_features + 1) {
        collect_thresholds(forest);
        for (std::int64_t f = 0; f < n_features; ++f)
            fits_ = fits_ && dictionary().count(f) <= kMaxThresholds;
        if (!fits_)
            return;
        trees_.resize(forest.n_trees);
        for (std::int64_t t = 0; t < forest.n_trees; ++t) {
            const TreeView tree = forest.tree(t);
            trees_[t].list(tree.nodes,
                           [&](std::int32_t i) { return test_of(tree, i); });
        }
    }

    // Returns true if no feature has more thresholds than there are codes.
    bool fits() const { return fits_; }
    Dictionary dictionary() const {
        return {values_.data(), offsets_.data(), std::ssize(offsets_) - 1};
    }
    const TreeMasks& tree(std::int64_t t) const { return trees_[t]; }

  private:
    static constexpr std::int64_t kLeastRows = 256, kMostColumns = 8;
    // No value is below this threshold: only NaN may go left.
    static constexpr double kNone = -std::numeric_limits<double>::infinity();

    void collect_thresholds(const ForestView& forest) {
        std::vector<std::pair<std::int32_t, double>> cuts;
        std::set<std::int32_t> categorical;
        for (std::int64_t i = forest.node_starts[0];
             i < forest.node_starts[forest.n_trees]; ++i) {
            const Node& node = forest.all.nodes[i];
            if (forest.all.set_of(i))
                categorical.insert(node.feature);
            else if (node.feature >= 0 && node.threshold > kNone)
                cuts.emplace_back(node.feature, node.threshold);
        }
        for (const std::int32_t feature : categorical) {
            // With these thresholds, the code of a category is its index.
            for (int category = 1; category <= kMaxThresholds; ++category)
                cuts.emplace_back(feature, category - 0.5);
        }
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        for (const auto& [feature, threshold] : cuts) {
            ++offsets_[feature + 1];
            values_.push_back(threshold);
        }
        for (std::size_t f = 1; f < offsets_.size(); ++f)
            offsets_[f] += offsets_[f - 1];
    }

    CodeTest test_of(const TreeView& tree, std::int32_t i) {
        const Node& node = tree.nodes[i];
        if (const CodeSet* set = tree.set_of(i))
            return test_of(*set, tree.missing_left[i] != 0);
        const Dictionary d = dictionary();
        const double* tau = d.thresholds(node.feature);
        const int n = d.count(node.feature);
        const int index = std::lower_bound(tau, tau + n, node.threshold) - tau;
        return CodeTest(node.threshold > kNone ? index : -1, tree.missing_left[i] != 0,
                        n);
    }

    CodeTest test_of(const CodeSet& set, bool missing_left) {
        std::array<std::uint8_t, 256>& table = tables_.emplace_back();
        for (int category = 0; category <= kMaxThresholds; ++category)
            table[category] = set.has(category) ? 255 : 0;
        table[kMaxThresholds + 1] = missing_left ? 255 : 0;
        return CodeTest(table.data());
    }

    std::vector<std::int64_t> offsets_;
    std::vector<double> values_;
    std::vector<TreeMasks> trees_;
    std::deque<std::array<std::uint8_t, 256>> tables_;  // of nodes with a set
    bool fits_ = true;
};

}  // namespace dics
