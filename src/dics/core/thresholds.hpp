// Stage `candidates`, second half: the thresholds of each feature.
#pragma once

#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "team.hpp"

namespace dics {

struct Thresholds {
    std::vector<float> values;
    std::vector<std::int64_t> offsets;  // n_features + 1
    bool exact = true;  // every feature got all midpoints of the rows looked at
};

// For each feature: the given boundaries (column-major, [n_features][n_boundaries], may
// be null) that separate sampled values, and then cuts between sampled values of about
// equal mass until there are `budget`. A feature whose distinct values are no more than
// budget + 1 gets every midpoint instead: nothing is lost there. `budget` 0: no fill.
// `boundaries` beyond the budget stay. At most `n_rows` rows are read.
Thresholds make_thresholds(const AnyMatrix& X, const double* weights,
                           const double* boundaries, int n_boundaries, int budget,
                           std::int64_t n_rows, std::uint64_t seed, Team& team);

}  // namespace dics
