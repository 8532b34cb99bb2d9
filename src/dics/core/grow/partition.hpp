// The stable partition of a node's rows.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dics {

// One array that has an entry for each row of each node, and as much scratch.
template <class T>
struct RowColumn {
    T* values;
    T* scratch;
};

// Moves entries begin..end-1 with goes_left(i) to the front; returns where the right
// side begins. Both sides stay in order.
//
//   before   a B c D E f        (capitals go right)
//   values   a c f              left, written in place: it never passes the reader
//   scratch  B D E              right, copied back behind them
template <class GoesLeft, class... T>
std::int64_t partition(std::int64_t begin, std::int64_t end, GoesLeft goes_left,
                       RowColumn<T>... columns) {
    std::int64_t left = begin;
    std::int64_t right = begin;
    for (std::int64_t i = begin; i < end; ++i) {
        const bool to_left = goes_left(i);
        // Both written, one index moves: no branch to mispredict.
        auto move = [&](auto column) {
            const auto value = column.values[i];
            column.scratch[right] = value;
            column.values[left] = value;
        };
        (move(columns), ...);
        left += to_left ? 1 : 0;
        right += to_left ? 0 : 1;
    }
    auto copy_back = [&](auto column) {
        std::copy(column.scratch + begin, column.scratch + right, column.values + left);
    };
    (copy_back(columns), ...);
    return left;
}

}  // namespace dics
