// The categories of a feature in the order of a node's targets, and the set that a cut
// of this order is.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "data/matrix.hpp"
#include "grow/split.hpp"
#include "search/candidate_codes.hpp"
#include "search/category_settings.hpp"
#include "search/code_order.hpp"

namespace dics {

// Categories that may not be parted from their neighbours make a group; a cut is one
// between two groups.
//
// The order is made by the very rows that rate its cuts: of k categories that tell
// nothing, the best set gains in proportion to k - 1. That much, times
// CategorySettings::charge, is taken off its score; `noise` of a criterion is what each
// of the k - 1 gains on average where categories tell nothing and each is a side of its
// own. What is left is what limits of a split's gain and the order of splits look at,
// too.
class CategoryOrder {
  public:
    // Of codes 0..n_codes-1; `rows_of(code)` are their rows in the node, and
    // `value_of(code, i)` is number i of the n_values that stand for each. False if
    // there is no set that a threshold among the codes as they are is not.
    template <class RowsOf, class ValueOf>
    bool find(int n_codes, int n_values, const RowsOf& rows_of, const ValueOf& value_of,
              const SetLimits& limits) {
        n_codes_ = n_codes;
        codes_.start(n_values);
        for (int code = 0; code < n_codes; ++code) {
            if (rows_of(code) > 0)
                codes_.add(code, rows_of(code),
                           [&](int i) { return value_of(code, i); });
        }
        order_ = &codes_.sort();
        if (n_categories() < 3)
            return false;
        find_set_cuts(
            n_categories(), [&](int place) { return rows_of(at(place)); }, limits,
            cuts_);
        return !cuts_.empty();
    }

    int n_categories() const { return static_cast<int>(order_->size()); }
    int n_groups() const { return static_cast<int>(cuts_.size()) + 1; }
    // Calls visit(code, group) for each category in their order.
    template <class Visit>
    void visit(Visit visit) const {
        int group = 0;
        for (int place = 0; place < n_categories(); ++place) {
            visit(at(place), group);
            if (group + 1 < n_groups() &&
                cuts_[static_cast<std::size_t>(group)] == place)
                ++group;
        }
    }

    // Groups in place of the codes; NaN comes behind them.
    CodeReading reading() {
        table_.fill(static_cast<std::uint8_t>(n_groups()));
        visit([&](int code, int group) {
            table_[static_cast<std::size_t>(code)] = static_cast<std::uint8_t>(group);
        });
        return {n_groups() - 1, table_.data()};
    }

    // The split of a cut among the groups. Categories without a row here go with the
    // larger side of those that have one.
    template <class RowsOf>
    Split split(const Cut& cut, std::int64_t feature, std::int64_t n_rows,
                const RowsOf& rows_of) const {
        Split split(cut, feature, 0);
        if (!split.found())
            return split;
        CodeSet present;
        std::int64_t n_left = 0;
        visit([&](int code, int group) {
            present.add(code);
            if (group > cut.lo)
                return;
            split.left.add(code);
            n_left += rows_of(code);
        });
        for (int code = 0; 2 * n_left > n_rows && code < n_codes_; ++code) {
            if (!present.has(code))
                split.left.add(code);
        }
        split.is_set = true;
        split.index = -1;  // none of the dictionary
        return split;
    }

  private:
    int at(int place) const { return (*order_)[static_cast<std::size_t>(place)]; }

    int n_codes_ = 0;
    CodeOrder codes_;
    const std::vector<int>* order_ = nullptr;
    std::vector<std::int32_t> cuts_;
    std::array<std::uint8_t, kMaxThresholds + 2> table_{};
};

}  // namespace dics
