// A small tree as tests that remove leaves from a row; see NodeTest.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/grow.hpp"
#include "kernels/boost_kernels.hpp"

namespace dics {

struct TreeMasks {
    std::vector<NodeTest> tests;
    std::vector<std::uint32_t> numbers;  // indices of the leaves, from left to right

    // For a tree with at most kMaxMaskLeaves leaves; test_of(i) is the test of node i.
    template <class TestOf>
    void list(const Node* nodes, TestOf test_of) {
        tests.clear();
        numbers.clear();
        list_below(nodes, test_of, 0);
    }

    // Sets leaf[i] to the index of the leaf of row i; column(f) has the codes of n
    // rows.
    template <class ColumnOf>
    void find(ColumnOf column, std::int64_t n, std::uint32_t* leaf) const {
        const std::uint8_t* columns[kMaxMaskLeaves];
        for (std::size_t t = 0; t < tests.size(); ++t)
            columns[t] = column(tests[t].feature);
        FindLeavesArgs args{};
        args.column = columns;
        args.tests = tests.data();
        args.n_tests = tests.size();
        args.n_leaves = numbers.size();
        args.number = numbers.data();
        args.n_rows = n;
        args.leaf = leaf;
        boost_kernels().find_leaves(args);
    }

  private:
    // Returns the bits of the leaves below node i.
    template <class TestOf>
    std::uint64_t list_below(const Node* nodes, TestOf test_of, std::int32_t i) {
        const Node& node = nodes[i];
        if (node.feature < 0) {
            numbers.push_back(node.left);
            return std::uint64_t{1} << (numbers.size() - 1);
        }
        const std::size_t place = tests.size();
        tests.push_back({node.feature, test_of(i), 0});
        const std::uint64_t left = list_below(nodes, test_of, node.left);
        tests[place].right = ~left;
        return left | list_below(nodes, test_of, node.left + 1);
    }
};

}  // namespace dics
