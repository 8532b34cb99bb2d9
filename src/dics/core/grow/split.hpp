// The split of a node, chosen among the best cuts of its features.
#pragma once

#include <cstdint>

#include "data/code_lists.hpp"
#include "data/code_set.hpp"
#include "data/matrix.hpp"
#include "data/split_side.hpp"
#include "random.hpp"
#include "search/cut.hpp"

namespace dics {

// The split chosen for a node.
struct Split {
    double score = -1.0e308;
    std::uint64_t tie = 0;
    std::int32_t feature = -1;
    std::int32_t index = -1;  // threshold of the feature; -1: -inf, only NaN goes left
    bool missing_left = false;
    bool saw_missing = false;
    bool is_set = false;  // the codes in `left` go left; `index` is unused
    CodeSet left;

    Split() = default;
    Split(const Cut& cut, std::int64_t of_feature, std::uint64_t tie_number) {
        if (!cut.found())
            return;
        score = cut.score;
        tie = tie_number;
        feature = static_cast<std::int32_t>(of_feature);
        // The middle one of several thresholds that divide the rows in the same way.
        index = cut.lo < 0 ? -1 : (cut.lo + cut.hi) / 2;
        missing_left = cut.missing_left;
        saw_missing = cut.saw_missing;
    }

    bool found() const { return feature >= 0; }

    // Equal scores: the feature with the larger tie number wins, then the lower one, so
    // no thread is favored by its speed.
    bool beats(const Split& other) const {
        if (!found())
            return false;
        if (!other.found() || score != other.score) {
            return !other.found() || score > other.score;
        }
        return tie != other.tie ? tie > other.tie : feature < other.feature;
    }
    void keep_better(const Split& other) {
        if (other.beats(*this))
            *this = other;
    }
};

inline std::uint64_t child_key(std::uint64_t key, bool right) {
    return combine(key, right ? 2 : 1);
}

// Rows by their codes of the feature of a split.
class CodeSide {
  public:
    CodeSide(const Codes& codes, const Dictionary& dictionary, const Split& split)
        : CodeSide(codes.column(split.feature), codes.width, dictionary, split) {}
    // `column` has the codes of the feature, one every `stride` bytes.
    CodeSide(const std::uint8_t* column, std::int64_t stride,
             const Dictionary& dictionary, const Split& split)
        : column_(column),
          stride_(stride),
          test_(split.index, split.missing_left, dictionary.count(split.feature)) {}

    bool operator()(std::int64_t row) const {
        return test_.goes_left(column_[row * stride_]);
    }

  private:
    const std::uint8_t* column_;
    std::int64_t stride_;
    CodeTest test_;
};

// The same for a split by a set of codes.
class CodeSetSide {
  public:
    CodeSetSide(const Codes& codes, const Dictionary& dictionary, const Split& split)
        : column_(codes.column(split.feature)),
          stride_(codes.width),
          left_(split.left) {
        if (split.missing_left)
            left_.add(dictionary.count(split.feature) + 1);
    }

    bool operator()(std::int64_t row) const {
        return left_.has(column_[row * stride_]);
    }

  private:
    const std::uint8_t* column_;
    std::int64_t stride_;
    CodeSet left_;
};

// The same for a threshold and codes that are lists.
class ListedSide {
  public:
    ListedSide(const CodeLists& lists, const Dictionary& dictionary, const Split& split)
        : lists_(lists),
          feature_(split.feature),
          test_(split.index, split.missing_left, dictionary.count(split.feature)) {}

    bool operator()(std::uint32_t row) const {
        return test_.goes_left(lists_.code(feature_, row));
    }

  private:
    const CodeLists& lists_;
    std::int64_t feature_;
    CodeTest test_;
};

}  // namespace dics
