// The upper nodes of trees whose rows are in several processes.
//
// Large nodes are split level by level, those of all trees together: one sum of their
// histograms, one of their children's totals. A node that is small enough is left to be
// grown apart, where all its rows come together (see ApartNode). The splits are those
// of one process that has all rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grow/forest.hpp"
#include "sum.hpp"
#include "team.hpp"

namespace dics {

// Where the rows of a process, column by column, and the features of the trees meet.
struct OwnCodes {
    const std::uint8_t* data;
    std::int64_t n_rows;
    std::span<const std::int32_t> columns;  // of each feature of the dictionary

    const std::uint8_t* column(std::int64_t f) const {
        return data + std::int64_t{columns[static_cast<std::size_t>(f)]} * n_rows;
    }
};

// What a node at the lower end of a top needs to be grown apart.
struct LowerNode {
    std::int32_t index;  // among the nodes
    bool may_split;      // false: it is a leaf
    ApartNode apart;
    std::int64_t begin, end;  // its rows here
};

struct TopTree {
    std::vector<GrownNode> nodes;
    std::vector<std::int64_t> n_rows;  // of each node, in all processes
    std::vector<LowerNode> lower;
    std::vector<std::uint32_t> rows;     // those of this process, node by node
    std::vector<std::int64_t> features;  // drawn for the tree; empty: all
};

struct TopSettings {
    ForestSettings forest;
    bool is_forest = false;       // a single tree has another key
    std::int64_t apart_rows = 0;  // nodes of so many rows are grown apart
};

// `counts` and `wide_counts` are the weights of the rows in each tree, `drawn` how
// often each has drawn them; a tree has the first of a list of one.
template <class Count>
std::vector<TopTree> grow_tops(const OwnCodes& codes, const Dictionary& dictionary,
                               const std::uint32_t* labels,
                               const std::vector<const Count*>& counts,
                               const TopSettings& settings, const Sum& sum, Team& team);
std::vector<TopTree> grow_tops(const OwnCodes& codes, const Dictionary& dictionary,
                               const TargetColumns& columns,
                               const std::vector<const std::uint32_t*>& drawn,
                               const TopSettings& settings, const Sum& sum, Team& team);

// What the targets of all rows, of which others have some, become.
MomentScale scale_of(const TargetColumns& columns, const ForestSettings& settings);

// Of inner nodes, from those of the leaves: weights, spreads and means of numbers, as a
// whole tree has them. `left` is -1 for a leaf; children stand behind their parents.
void join_spreads(Criterion criterion, std::span<const std::int32_t> left,
                  int n_outputs, double* weights, double* sums, double* means);

}  // namespace dics
