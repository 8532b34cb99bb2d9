// Features in random order, drawn anew at each node.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "random.hpp"

namespace dics {

// The order is a function of the node's key alone. Features that don't vary within the
// node are told by mark_constant(): they are constant in the whole subtree, so they are
// passed over there without a look at the data. For trees grown depth first.
class FeatureDraw {
  public:
    explicit FeatureDraw(const Dictionary& dictionary) {
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            if (dictionary.count(f) > 0)
                order_.push_back(static_cast<std::int32_t>(f));
        }
        n_words_ = (static_cast<std::size_t>(dictionary.n_features) + 63) / 64;
    }

    std::int64_t n_features() const { return static_cast<std::int64_t>(order_.size()); }

    void begin(std::uint64_t node_key, std::int64_t depth) {
        stream_ = Stream(combine(node_key, 6));
        swaps_.clear();
        const auto level = static_cast<std::size_t>(depth);
        if (constant_.size() < (level + 1) * n_words_)
            constant_.resize((level + 1) * n_words_);
        known_ = constant_.data() + level * n_words_;
        for (std::size_t w = 0; w < n_words_; ++w)
            known_[w] = level == 0 ? 0 : known_[w - n_words_];
    }

    // The next feature of the shuffle (Fisher and Yates); false if there is none.
    bool next(std::int32_t& feature) {
        while (swaps_.size() < order_.size()) {
            const std::size_t at = swaps_.size();
            const std::size_t other = at + stream_.below(order_.size() - at);
            std::swap(order_[at], order_[other]);
            swaps_.push_back(static_cast<std::uint32_t>(other));
            feature = order_[at];
            if ((known_[feature / 64] >> (feature % 64) & 1) == 0)
                return true;
        }
        return false;
    }

    void mark_constant(std::int32_t feature) {
        known_[feature / 64] |= std::uint64_t{1} << (feature % 64);
    }

    // Takes the swaps back: the next node starts from the same order.
    void end() {
        while (!swaps_.empty()) {
            std::swap(order_[swaps_.size() - 1], order_[swaps_.back()]);
            swaps_.pop_back();
        }
    }

  private:
    std::vector<std::int32_t> order_;
    std::vector<std::uint32_t> swaps_;
    Stream stream_{0};
    std::size_t n_words_ = 0;
    std::vector<std::uint64_t> constant_;  // one bit a feature, for each level
    std::uint64_t* known_ = nullptr;
};

}  // namespace dics
