// The leaf of each row in a new tree, by its codes.
#pragma once

#include <vector>

#include "boost/chunks.hpp"
#include "data/matrix.hpp"
#include "grow/grow.hpp"
#include "predict/tree_masks.hpp"
#include "team.hpp"

namespace dics {

class LeafFinder {
  public:
    explicit LeafFinder(Team& team) : team_(team) {}

    // `nodes` in breadth-first order with the numbers of leaves as their `left`, and
    // the test of each. Both must stay where they are.
    void set_tree(const std::vector<Node>& nodes, const std::vector<CodeTest>& tests,
                  std::int32_t n_leaves, std::int32_t depth) {
        nodes_ = &nodes;
        tests_ = &tests;
        n_leaves_ = n_leaves;
        depth_ = depth;
        if (n_leaves <= kMaxMaskLeaves)
            masks_.list(nodes.data(), [&](std::int32_t i) { return tests[i]; });
    }

    // leaf[i] = the number of the leaf of row i.
    void find(const Codes& codes, std::uint32_t* leaf) const {
        const Chunks chunks{codes.n_rows};
        team_.run(
            chunks.count(), codes.n_rows >= kParallelRows, [&](std::int64_t task, int) {
                const std::int64_t begin = chunks.begin(task);
                if (n_leaves_ <= kMaxMaskLeaves) {
                    masks_.find([&](std::int64_t f) { return codes.column(f) + begin; },
                                chunks.length(task), leaf + begin);
                } else {
                    walk(codes, begin, chunks.length(task), leaf + begin);
                }
            });
    }

  private:
    static constexpr std::int64_t kParallelRows = 1 << 14;

    // A node of the tree as codes see it; a leaf leads to itself.
    struct Step {
        const std::uint8_t* column;
        std::int32_t left;  // the right child follows
        CodeTest test;
    };

    // Trees of many leaves: step by step, all rows of a block at once.
    void walk(const Codes& codes, std::int64_t begin, std::int64_t n,
              std::uint32_t* leaf) const {
        std::vector<Step> steps;
        for (std::size_t i = 0; i < nodes_->size(); ++i) {
            const Node& node = (*nodes_)[i];
            const bool inner = node.feature >= 0;
            steps.push_back({inner ? codes.column(node.feature) : codes.data,
                             inner ? node.left : static_cast<std::int32_t>(i),
                             (*tests_)[i]});
        }
        std::fill(leaf, leaf + n, 0u);
        for (std::int32_t step = 0; step < depth_; ++step) {
            for (std::int64_t i = 0; i < n; ++i) {
                const Step& at = steps[leaf[i]];
                const bool right = !at.test.goes_left(at.column[begin + i]);
                leaf[i] = static_cast<std::uint32_t>(at.left + right);
            }
        }
        for (std::int64_t i = 0; i < n; ++i)
            leaf[i] = static_cast<std::uint32_t>((*nodes_)[leaf[i]].left);
    }

    Team& team_;
    const std::vector<Node>* nodes_ = nullptr;
    const std::vector<CodeTest>* tests_ = nullptr;
    std::int32_t n_leaves_ = 0, depth_ = 0;
    TreeMasks masks_;
};

}  // namespace dics
