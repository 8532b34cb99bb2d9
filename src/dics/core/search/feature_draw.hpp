// Features in random order, drawn anew at each node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/matrix.hpp"
#include "random.hpp"

namespace dics {

// Of many features a node chooses from a menu of up to 128: two lines of up to 64,
// whose codes stand together, so that a row costs a few fetches and not one for nearly
// every feature (CIFAR-10, 55 of 3072 features a node: 33). Which features share a line
// is random (forest_order). A node that finds too few on its menu that vary within it
// gets another one.
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
        const std::int64_t n_lines = (n_features_ + kLine - 1) / kLine;
        for (std::int64_t line = 0; line < n_lines; ++line)
            lines_.push_back(static_cast<std::int32_t>(line));
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

    // The lines of the first menu.
    std::span<const std::int32_t> lines() const {
        return {lines_.data(), n_lines_used_};
    }

    // The first feature of a line. Lines are as long as each other to within one
    // feature, or those of a short line would be drawn more often.
    std::int64_t start(std::int64_t line) const {
        return line * n_features_ / static_cast<std::int64_t>(lines_.size());
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
            const std::int64_t line = lines_[n_lines_used_++];
            for (std::int64_t p = start(line); p < start(line + 1); ++p)
                menu_.push_back(static_cast<std::int32_t>(p));
        }
        return !menu_.empty();
    }

    std::int64_t n_features_;
    std::vector<std::int32_t> lines_;
    std::size_t n_lines_used_ = 0;
    std::vector<std::int32_t> menu_;
    std::size_t at_ = 0;  // how much of the menu is gone
    Stream stream_{0};
    std::size_t n_words_;
    std::vector<std::uint64_t> constant_;  // one bit a feature, for each level
    std::uint64_t* known_ = nullptr;
};

}  // namespace dics
