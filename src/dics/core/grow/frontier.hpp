// Which open node is next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "grow/node.hpp"

namespace dics {

// Trees and forests: a node is searched when its turn comes.
template <class Open>
class DepthFirst {
  public:
    static constexpr bool kSearchesFirst = false;

    explicit DepthFirst(const NodeLimits& limits)
        : reuse_splits_(limits.reuse_splits) {}

    bool empty() const { return stack_.empty(); }
    bool is_full() const { return false; }
    void push(Open&& node) { stack_.push_back(std::move(node)); }
    Open pop() {
        Open node = std::move(stack_.back());
        stack_.pop_back();
        return node;
    }

    // The last one pushed is next: the smaller child, so that few histograms wait; or
    // the left one, in the order of the paper's recursion, when a used split is gone
    // for the nodes after it.
    bool left_is_next(bool left_is_smaller) const {
        return left_is_smaller || !reuse_splits_;
    }

  private:
    bool reuse_splits_;
    std::vector<Open> stack_;
};

// Boosting, and trees with a limit of leaves: the split that gains most is made next,
// so nodes are searched at once. Equal gains: the node that came first.
template <class Open>
class BestFirst {
  public:
    static constexpr bool kSearchesFirst = true;

    explicit BestFirst(const NodeLimits& limits)
        : max_leaf_nodes_(limits.max_leaf_nodes) {}

    bool empty() const { return queue_.empty(); }
    // Every split has added a leaf.
    bool is_full() const { return n_leaves_ >= max_leaf_nodes_; }
    // How many leaves a node that is pushed now may become.
    std::int64_t n_leaves_left() const { return max_leaf_nodes_ - n_leaves_ + 1; }
    void push(Open&& node) {
        queue_.push({node.gain, waiting_.size()});
        waiting_.push_back(std::move(node));
    }
    Open pop() {
        Open node = std::move(waiting_[queue_.top().place]);
        queue_.pop();
        ++n_leaves_;
        return node;
    }
    // The next ones, at most n, if nothing else is pushed before them.
    std::vector<Open*> next(std::int64_t n) {
        n = std::min(n, max_leaf_nodes_ - n_leaves_);
        std::vector<Open*> found;
        std::priority_queue<Entry> rest = queue_;
        for (; n > 0 && !rest.empty(); --n, rest.pop())
            found.push_back(&waiting_[rest.top().place]);
        return found;
    }
    // The left one is pushed first.
    bool left_is_next(bool) const { return false; }

  private:
    struct Entry {
        double gain;
        std::size_t place;
        bool operator<(const Entry& other) const {
            return gain != other.gain ? gain < other.gain : place > other.place;
        }
    };

    std::int64_t max_leaf_nodes_, n_leaves_ = 1;
    std::priority_queue<Entry> queue_;
    std::vector<Open> waiting_;
};

}  // namespace dics
