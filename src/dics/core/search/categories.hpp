// Splits of categorical features: the order of the categories in a node, and the sets
// that cuts of this order are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "data/matrix.hpp"
#include "grow/split.hpp"
#include "principal.hpp"
#include "random.hpp"
#include "search/cut.hpp"

namespace dics {

// Which prefixes of an order of categories may become sets.
struct SetLimits {
    // Rows that categories need between one cut and the next, and on each side: rare
    // categories are pooled with their neighbors.
    std::int64_t min_rows = 0;
    int max_codes = 256;  // on the side that has fewer of them
};

struct CategorySettings {
    std::vector<std::int8_t> categorical;  // 1 for categorical features; may be empty
    double smooth = 0;  // rows of the node's mean target added to each category
    double charge = 0;  // see CategoryOrder
    SetLimits set_limits;

    bool is_categorical(std::int64_t f) const {
        return !categorical.empty() && categorical[f] != 0;
    }
    // Can a node of `n_rows` be split by a set of categories of the feature?
    bool covers(std::int64_t f, std::int64_t n_rows) const {
        return is_categorical(f) && n_rows / 2 >= set_limits.min_rows;
    }
    // The same settings for some of the features.
    CategorySettings of(const std::vector<std::int64_t>& features) const {
        if (categorical.empty())
            return *this;
        CategorySettings own = *this;
        own.categorical.clear();
        for (const std::int64_t f : features)
            own.categorical.push_back(is_categorical(f) ? 1 : 0);
        return own;
    }
};

// The categories of a feature that have rows in a node, in the order of the values that
// stand for them. With one value, such as a mean, some prefix of this order is the best
// of all sets (Fisher 1958). With several values, the order is that along the direction
// of their largest variance. Neighbors that must not be divided make a group; a cut
// lies between two groups.
//
// The rows that rate the cuts also made the order: with k categories that are pure
// noise, the best set gains in proportion to k - 1. Trees and forests subtract that
// gain, times CategorySettings::charge, from the score; `noise` of a criterion is the
// mean gain of each of the k - 1. Limits of the gain and the order of splits use the
// difference, too.
class CategoryOrder {
  public:
    // `rows_of(code)` are the rows of codes 0..n_codes-1 in the node, and
    // `value_of(code, i)` is number i of the n_values of each. With `random_key`, only
    // one cut remains, which this key chooses. Returns false if none remains.
    template <class RowsOf, class ValueOf>
    bool find(int n_codes, int n_values, RowsOf rows_of, ValueOf value_of,
              const SetLimits& limits, const std::uint64_t* random_key) {
        n_codes_ = n_codes;
        n_values_ = n_values;
        categories_.clear();
        values_.clear();
        for (int code = 0; code < n_codes; ++code) {
            if (rows_of(code) <= 0)
                continue;
            categories_.push_back({code, rows_of(code), 0});
            for (int i = 0; i < n_values; ++i)
                values_.push_back(value_of(code, i));
        }
        find_keys();
        std::sort(categories_.begin(), categories_.end(),
                  [](const Category& a, const Category& b) {
                      return a.key != b.key ? a.key < b.key : a.code < b.code;
                  });
        find_cuts(limits);
        if (random_key && cuts_.size() > 1)
            cuts_ = {cuts_[Stream(*random_key).below(cuts_.size())]};
        return !cuts_.empty();
    }

    int n_categories() const { return static_cast<int>(categories_.size()); }
    int n_groups() const { return static_cast<int>(cuts_.size()) + 1; }

    // Groups in place of the codes; NaN comes after them.
    CodeReading reading() {
        table_.fill(n_groups());
        visit([&](const Category& category, int group) {
            table_[category.code] = group;
        });
        return {n_groups() - 1, table_.data()};
    }

    // Adds up the cells of the groups, [group and NaN][cell], from those of the codes.
    // `padding` cells follow them.
    template <class Cell>
    void add_up(const Cell* of_codes, int n_cells, int padding,
                std::vector<Cell>& sums) const {
        sums.assign((n_groups() + 1) * n_cells + padding, 0);
        auto add = [&](int code, int group) {
            for (int c = 0; c < n_cells; ++c)
                sums[group * n_cells + c] += of_codes[code * n_cells + c];
        };
        visit([&](const Category& category, int group) { add(category.code, group); });
        add(n_codes_, n_groups());
    }

    // The split of a cut among the groups, in a node of `n_rows`. Categories without a
    // row in the node go to the larger side.
    Split split(const Cut& cut, std::int64_t feature, std::int64_t n_rows) const {
        Split split(cut, feature, 0);
        if (!split.found() || cut.lo < 0)
            return split;
        CodeSet present;
        std::int64_t n_left = 0;
        visit([&](const Category& category, int group) {
            present.add(category.code);
            if (group > cut.lo)
                return;
            split.left.add(category.code);
            n_left += category.n_rows;
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
    struct Category {
        int code;
        std::int64_t n_rows;
        double key;
    };

    // Calls visit(category, group) in the order of the categories.
    template <class Visit>
    void visit(Visit visit) const {
        int group = 0;
        for (int place = 0; place < n_categories(); ++place) {
            visit(categories_[place], group);
            if (group + 1 < n_groups() && cuts_[group] == place)
                ++group;
        }
    }

    // The places of the order after which it may be cut.
    void find_cuts(const SetLimits& limits) {
        std::int64_t n_right = 0, n_pooled = 0;
        for (const Category& category : categories_)
            n_right += category.n_rows;
        cuts_.clear();
        for (int i = 0; i + 1 < n_categories(); ++i) {
            n_pooled += categories_[i].n_rows;
            n_right -= categories_[i].n_rows;
            if (n_right < limits.min_rows)
                break;
            if (n_pooled < limits.min_rows ||
                std::min(i + 1, n_categories() - i - 1) > limits.max_codes)
                continue;
            cuts_.push_back(i);
            n_pooled = 0;
        }
    }

    void find_keys() {
        std::vector<double> weights;
        for (const Category& category : categories_)
            weights.push_back(static_cast<double>(category.n_rows));
        const std::vector<double> keys =
            n_values_ == 1 ? values_
                           : principal_projections(weights, n_values_, values_);
        for (std::size_t i = 0; i < keys.size(); ++i)
            categories_[i].key = keys[i];
    }

    int n_codes_ = 0, n_values_ = 1;
    std::vector<Category> categories_;
    std::vector<double> values_;  // [category][number], by rising code
    std::vector<std::int32_t> cuts_;
    std::array<std::uint8_t, kMaxThresholds + 2> table_{};
};

}  // namespace dics
