// Where an order of codes may be cut into two sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dics {

// Which prefixes of an order of codes may become sets.
struct SetLimits {
    // Rows that codes need between one cut and the next, and on each side: rare codes
    // are pooled with their neighbours.
    std::int64_t min_rows = 0;
    int max_codes = 256;  // on the side that has fewer of them
};

// The places of an order behind which it may be cut; `rows_of(place)` are the rows of
// each of `n_codes`.
template <class RowsOf>
void find_set_cuts(int n_codes, const RowsOf& rows_of, const SetLimits& limits,
                   std::vector<std::int32_t>& cuts) {
    std::int64_t n_right = 0, n_pooled = 0;
    for (int i = 0; i < n_codes; ++i)
        n_right += rows_of(i);
    cuts.clear();
    for (int i = 0; i + 1 < n_codes; ++i) {
        n_pooled += rows_of(i);
        n_right -= rows_of(i);
        if (n_right < limits.min_rows)
            break;
        if (n_pooled < limits.min_rows ||
            std::min(i + 1, n_codes - i - 1) > limits.max_codes)
            continue;
        cuts.push_back(i);
        n_pooled = 0;
    }
}

}  // namespace dics
