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
    std::int64_t n_constant = 0;        // features with a single value in these rows
    bool exact = true;                  // every feature has all midpoints of the rows
};

// For each feature: the given boundaries ([n_features][n_boundaries], may be null) that
// separate sampled values, and quantiles in the gaps between them: about `budget`
// thresholds, of which at least `least_even` are quantiles. A feature with at most
// budget + 1 distinct values gets every midpoint instead. At most `n_rows` rows are
// read. Weights have all rows, also if X has only the rows that are read.
Thresholds make_thresholds(const AnyRows& X, const RowNumbers& known,
                           const double* weights, const double* boundaries,
                           int n_boundaries, int budget, int least_even,
                           std::int64_t n_rows, std::uint64_t seed, Team& team);

// The sorted indices of the rows that `make_thresholds` reads.
std::vector<std::int64_t> rows_for_thresholds(std::int64_t n_rows,
                                              std::int64_t n_sampled,
                                              std::uint64_t seed);

}  // namespace dics
