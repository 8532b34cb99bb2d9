// Features in random order, drawn anew at each node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "random.hpp"

namespace dics {

// Of many features a node chooses from a menu of 128: two lines of the cache, the codes
// of 64 features each, so that a row costs two fetches and not one for nearly every
// feature (CIFAR-10, 55 of 3072 features a node: 33). Which features share a line is
// random (forest_order). A node that finds too few on its menu that vary within it gets
// another one.
//
// The order is a function of the node's key alone. Features that don't vary within the
// node are told by mark_constant(): they are constant in the whole subtree, so they are
// passed over there without a look at the data. For trees grown depth first.
class FeatureDraw {
  public:
    static constexpr std::int64_t kLine = 64;
    static constexpr std::int64_t kMenu = 2 * kLine;

    explicit FeatureDraw(const Dictionary& dictionary)
        : n_features_(dictionary.n_features),
          n_words_((static_cast<std::size_t>(n_features_) + 63) / 64) {
        for (std::int64_t p = 0; p < n_features_; p += kLine)
            lines_.push_back(static_cast<std::int32_t>(p));
    }

    void begin(std::uint64_t node_key, std::int64_t depth) {
        stream_ = Stream(combine(node_key, 6));
        n_lines_used_ = 0;
        menu_.clear();
        at_ = 0;
        const auto level = static_cast<std::size_t>(depth);
        if (constant_.size() < (level + 1) * n_words_)
            constant_.resize((level + 1) * n_words_);
        known_ = constant_.data() + level * n_words_;
        for (std::size_t w = 0; w < n_words_; ++w)
            known_[w] = level == 0 ? 0 : known_[w - n_words_];
        next_menu();
    }

    // The lines of the first menu, by their first features.
    std::span<const std::int32_t> lines() const {
        return {lines_.data(), n_lines_used_};
    }

    // The next feature; false if there is none.
    bool next(std::int32_t& feature) {
        while (at_ < menu_.size() || next_menu()) {
            choose(menu_, at_);
            feature = menu_[at_++];
            if ((known_[feature / 64] >> (feature % 64) & 1) == 0)
                return true;
        }
        return false;
    }

    void mark_constant(std::int32_t feature) {
        known_[feature / 64] |= std::uint64_t{1} << (feature % 64);
    }

    // Puts the lines back in order: the next node starts from the same.
    void end() { std::sort(lines_.begin(), lines_.end()); }

  private:
    // One step of a shuffle (Fisher and Yates).
    void choose(std::vector<std::int32_t>& items, std::size_t at) {
        std::swap(items[at], items[at + stream_.below(items.size() - at)]);
    }

    bool next_menu() {
        menu_.clear();
        at_ = 0;
        for (int i = 0; i < kMenu / kLine && n_lines_used_ < lines_.size(); ++i) {
            if (n_features_ > kMenu)
                choose(lines_, n_lines_used_);
            const std::int64_t first = lines_[n_lines_used_++];
            for (std::int64_t p = first; p < std::min(first + kLine, n_features_); ++p)
                menu_.push_back(static_cast<std::int32_t>(p));
        }
        return !menu_.empty();
    }

    std::int64_t n_features_;
    std::vector<std::int32_t> lines_;  // the first feature of each
    std::size_t n_lines_used_ = 0;
    std::vector<std::int32_t> menu_;
    std::size_t at_ = 0;  // how much of the menu is gone
    Stream stream_{0};
    std::size_t n_words_;
    std::vector<std::uint64_t> constant_;  // one bit a feature, for each level
    std::uint64_t* known_ = nullptr;
};

}  // namespace dics
