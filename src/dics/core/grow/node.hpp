// Nodes of a growing tree.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "grow/split.hpp"

namespace dics {

// A node of at least this much work (rows times columns looked at) is searched by all
// threads together; below it, depth first, whole subtrees are handed out, one thread
// each.
inline constexpr std::int64_t kSharedWork = 1 << 16;

// Limits of nodes that are split; each is compared with sums over all contributors.
struct NodeLimits {
    static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
    std::int64_t max_depth = kNoLimit;
    std::int64_t min_samples_split = 2;
    std::int64_t min_samples_leaf = 1;
    std::int64_t max_leaf_nodes = kNoLimit;
    bool reuse_splits = true;  // false: a used split is gone for the whole tree

    bool limits_leaves() const { return max_leaf_nodes != kNoLimit; }
};

// Where an open node stands, and its histograms.
struct NodePlace {
    std::int32_t index = 0;
    std::int64_t begin = 0, end = 0;  // its rows here
    std::int64_t depth = 0;
    std::uint64_t key = 0;  // of its random numbers, by the path from the root
    int interactions = 0;   // see Interactions
    bool is_grown = false;  // with all below it, by a Renewal
    // Histogram search only: buffers of the pool, -1 for none.
    int hist = -1;  // this node's own
    bool hist_ready = false;
    int subtract_from = -1;  // the parent's, which becomes the sibling's
    bool has_minus = false;  // with peers there may be none here
    std::int64_t minus_begin = 0, minus_end = 0;  // rows to take out of `hist` first
    bool knows_left = false;  // `left_totals` was read when the split was found

    std::int64_t size() const { return end - begin; }
};

// A node that waits to be split. `totals` is what its rows add up to.
template <class Totals>
struct OpenNode : NodePlace {
    Totals totals;
    Totals minus_totals;  // of the rows to take out of `hist`
    Totals left_totals;   // of the split's left side, whose histogram may be another
                          // worker's
    Split split;          // the best, once it is searched for
    double gain = 0;
};

struct GrownNode {
    std::int32_t feature = -1;
    std::int32_t index = -1;  // of the threshold in the dictionary
    double threshold = std::numeric_limits<double>::quiet_NaN();
    bool missing_left = false;
    bool is_set = false;  // of codes, instead of a threshold
    CodeSet left_codes;
    std::int32_t left = -1;  // the right child follows it; -1: leaf
    std::int32_t depth = 0;
    float impurity = 0;
    double gain = 0;  // of the split
    std::int64_t begin = 0, end = 0;

    std::int32_t n_rows() const { return static_cast<std::int32_t>(end - begin); }
};

// Takes back the split of a node and all below it.
inline void make_leaf(GrownNode& node) {
    const GrownNode leaf;
    node.feature = leaf.feature;
    node.index = leaf.index;
    node.threshold = leaf.threshold;
    node.missing_left = leaf.missing_left;
    node.is_set = leaf.is_set;
    node.left_codes = leaf.left_codes;
    node.left = leaf.left;
    node.gain = leaf.gain;
}

// A subtree that another thread has grown; its root takes the place of node `index`.
inline void graft(const std::vector<GrownNode>& subtree, std::int32_t index,
                  std::vector<GrownNode>& nodes) {
    const auto offset = static_cast<std::int32_t>(nodes.size()) - 1;
    auto moved = [offset](GrownNode node) {
        if (node.left >= 0)
            node.left += offset;
        return node;
    };
    nodes[index] = moved(subtree[0]);
    for (std::size_t i = 1; i < subtree.size(); ++i)
        nodes.push_back(moved(subtree[i]));
}

// Buffers for histograms. Depth first, the smaller child is always grown first, so at
// most log2(rows) are in use. When the cap is reached a node does without.
template <class Value>
class BufferPool {
  public:
    // Before use, and whenever no buffer is in use. Smaller ones are kept as they are.
    void reset(std::int64_t size, std::int64_t max_buffers) {
        if (size > size_) {
            size_ = size;
            buffers_.clear();
            free_.clear();
        }
        max_buffers_ = max_buffers;
    }

    int acquire() {
        if (!free_.empty()) {
            const int id = free_.back();
            free_.pop_back();
            return id;
        }
        if (static_cast<std::int64_t>(buffers_.size()) >= max_buffers_)
            return -1;
        buffers_.push_back(
            std::make_unique_for_overwrite<Value[]>(static_cast<std::size_t>(size_)));
        return static_cast<int>(buffers_.size()) - 1;
    }
    void release(int id) {
        if (id >= 0)
            free_.push_back(id);
    }
    Value* at(int id) { return buffers_[static_cast<std::size_t>(id)].get(); }

  private:
    std::int64_t size_ = 0, max_buffers_ = 0;
    std::vector<std::unique_ptr<Value[]>> buffers_;
    std::vector<int> free_;
};

}  // namespace dics
