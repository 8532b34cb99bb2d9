// The one place where contributions to a sum meet.
//
// All sums that decide something are of whole numbers, so contributors may be added in
// any order. Contributors are the threads of this process, which have parts of their
// own or disjoint cells of one array, and may be other processes: `everywhere` is
// called with each histogram, with the totals of nodes and leaves, before anything is
// decided by them. One process alone has nothing to add.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dics {

class Sum {
  public:
    // Adds the parts of tasks, [n_parts][size], into the first.
    template <class T>
    void parts(T* values, std::size_t n_parts, std::size_t size) const {
        for (std::size_t part = 1; part < n_parts; ++part) {
            for (std::size_t i = 0; i < size; ++i)
                values[i] += values[part * size + i];
        }
        everywhere(values, static_cast<std::int64_t>(size));
    }

    // What all contributors have together, in place of what this one has.
    template <class T>
    void everywhere(T* /*values*/, std::int64_t /*size*/) const {}

    // Is there no other process?
    bool is_alone() const { return true; }

    // Rows of all contributors, and the number of the first one here among them.
    std::int64_t n_rows(std::int64_t own) const {
        everywhere(&own, 1);
        return own;
    }
    std::int64_t first_row() const { return 0; }

    // The largest number any of them has.
    double largest(double own) const { return own; }
};

}  // namespace dics
