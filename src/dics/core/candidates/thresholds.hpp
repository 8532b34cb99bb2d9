// Stage `candidates`, second half: the thresholds of each feature.
#pragma once

#include <cstdint>
#include <vector>

#include "data/row_source.hpp"
#include "team.hpp"

namespace dics {

struct Thresholds {
    std::vector<double> values;
    std::vector<std::int64_t> offsets;  // n_features + 1
    std::int64_t n_constant = 0;        // features of one value in these rows
    bool exact = true;  // every feature got all midpoints of the rows looked at
};

// For each feature: the given boundaries (column-major, [n_features][n_boundaries], may
// be null) that separate sampled values, and cuts between sampled values where there
// are holes, so that there are about `budget`, of them at least `least_even` even ones.
// A feature whose distinct values are no more than budget + 1 gets every midpoint
// instead: nothing is lost there. At most `n_rows` rows are read.
// Weights are of all rows, also where X has only those that are read.
Thresholds make_thresholds(const AnyRows& X, const RowNumbers& known,
                           const double* weights, const double* boundaries,
                           int n_boundaries, int budget, int least_even,
                           std::int64_t n_rows, std::uint64_t seed, Team& team);

// Numbers of the rows that it reads, rising.
std::vector<std::int64_t> rows_for_thresholds(std::int64_t n_rows, std::int64_t n_drawn,
                                              std::uint64_t seed);

}  // namespace dics
