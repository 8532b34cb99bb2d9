// Totals of nodes as sums of integer cells, with monotonic constraints on their values.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "grow/split.hpp"

namespace dics {

struct CellTotals {
    std::vector<std::int64_t> cells;
    std::int64_t n_rows = 0;
    // Bounds of the node's value, from the constrained splits above it.
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();
};

class CellTarget {
  public:
    // `monotonic` is 1 or -1 for features with which predictions must increase or
    // decrease. It may be empty.
    explicit CellTarget(std::vector<std::int8_t> monotonic)
        : monotonic_(std::move(monotonic)) {}

    void subtract(const CellTotals& part, CellTotals& all) const {
        for (std::size_t c = 0; c < all.cells.size(); ++c)
            all.cells[c] -= part.cells[c];
        all.n_rows -= part.n_rows;
    }

    bool is_constrained() const { return !monotonic_.empty(); }
    int direction(std::int64_t feature) const {
        return monotonic_.empty() ? 0 : monotonic_[feature];
    }

  protected:
    // Children of a split on a constrained feature stay on their side of the middle
    // between their values; `right` still has the bounds of the node.
    template <class Totals, class ValueOf>
    void bound_children(const Split& split, Totals& left, Totals& right,
                        ValueOf value_of) const {
        left.lower = right.lower;
        left.upper = right.upper;
        const int direction = this->direction(split.feature);
        if (direction == 0)
            return;
        const double middle = value_of(left) / 2 + value_of(right) / 2;
        (direction > 0 ? left : right).upper = middle;
        (direction > 0 ? right : left).lower = middle;
    }

  private:
    std::vector<std::int8_t> monotonic_;
};

}  // namespace dics
