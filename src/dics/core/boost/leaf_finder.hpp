// Finds the leaf of each row in a new tree from the codes of the row.
#pragma once

#include <vector>

#include "boost/chunks.hpp"
#include "data/code_lists.hpp"
#include "data/matrix.hpp"
#include "grow/grow.hpp"
#include "predict/tree_masks.hpp"
#include "team.hpp"

namespace dics {

class LeafFinder {
  public:
    explicit LeafFinder(Team& team) : team_(team) {}

    // `nodes` in breadth-first order; `left` of a leaf is its index among the leaves.
    // The finder keeps references to both vectors.
    void set_tree(const std::vector<Node>& nodes, const std::vector<CodeTest>& tests,
                  std::int32_t n_leaves, std::int32_t depth) {
        nodes_ = &nodes;
        tests_ = &tests;
        n_leaves_ = n_leaves;
        depth_ = depth;
        if (n_leaves <= kMaxMaskLeaves)
            masks_.list(nodes.data(), [&](std::int32_t i) { return tests[i]; });
    }

    // Sets leaf[i] to the index of the leaf of row i.
    void find(const Codes& codes, std::uint32_t* leaf) const {
        if (codes.lists) {
            find_in_lists(*codes.lists, leaf);
            return;
        }
        find_with(codes.n_rows, [&](std::int64_t f) { return codes.column(f); }, leaf);
    }

  private:
    static constexpr std::int64_t kParallelRows = 1 << 14;

    // column(f) has the codes of feature f.
    template <class Column>
    void find_with(std::int64_t n_rows, Column column, std::uint32_t* leaf) const {
        const Chunks chunks{n_rows};
        team_.run(chunks.count(), n_rows >= kParallelRows, [&](std::int64_t task, int) {
            const std::int64_t begin = chunks.begin(task);
            if (n_leaves_ <= kMaxMaskLeaves) {
                masks_.find([&](std::int64_t f) { return column(f) + begin; },
                            chunks.length(task), leaf + begin);
            } else {
                walk(column, begin, chunks.length(task), leaf + begin);
            }
        });
    }

    // Writes dense columns of the features that the tree uses.
    void find_in_lists(const CodeLists& lists, std::uint32_t* leaf) const {
        const std::int64_t n = lists.n_rows();
        std::vector<std::int32_t> features;
        for (const Node& node : *nodes_) {
            if (node.feature >= 0)
                features.push_back(node.feature);
        }
        std::sort(features.begin(), features.end());
        features.erase(std::unique(features.begin(), features.end()), features.end());
        auto place = [&](std::int64_t f) {
            return std::lower_bound(features.begin(), features.end(), f) -
                   features.begin();
        };
        std::vector<std::uint8_t> columns(features.size() * n);
        for (const std::int32_t f : features)
            lists.spread(f, columns.data() + place(f) * n);
        find_with(
            n,
            [&](std::int64_t f) -> const std::uint8_t* {
                return columns.data() + place(f) * n;
            },
            leaf);
    }

    // A node with its column of codes; a leaf leads to itself.
    struct Step {
        const std::uint8_t* column;
        std::int32_t left;  // the right child follows
        CodeTest test;
    };

    // For trees with many leaves: all rows of a block take one step at a time.
    template <class Column>
    void walk(Column column, std::int64_t begin, std::int64_t n,
              std::uint32_t* leaf) const {
        std::vector<Step> steps;
        for (std::size_t i = 0; i < nodes_->size(); ++i) {
            const Node& node = (*nodes_)[i];
            const bool inner = node.feature >= 0;
            // The test of a leaf sends every code to the left.
            steps.push_back({column(inner ? node.feature : (*nodes_)[0].feature),
                             inner ? node.left : static_cast<std::int32_t>(i),
                             (*tests_)[i]});
        }
        std::fill(leaf, leaf + n, 0u);
        for (std::int32_t step = 0; step < depth_; ++step) {
            for (std::int64_t i = 0; i < n; ++i) {
                const Step& at = steps[leaf[i]];
                const bool right = !at.test.goes_left(at.column[begin + i]);
                leaf[i] = at.left + right;
            }
        }
        for (std::int64_t i = 0; i < n; ++i)
            leaf[i] = (*nodes_)[leaf[i]].left;
    }

    Team& team_;
    const std::vector<Node>* nodes_ = nullptr;
    const std::vector<CodeTest>* tests_ = nullptr;
    std::int32_t n_leaves_ = 0, depth_ = 0;
    TreeMasks masks_;
};

}  // namespace dics
