// Stage `candidates`, first half: mini-batch K-means on a bounded number of rows.
//
// Here and not in Python with BLAS because the sums of a BLAS product depend on its
// number of threads, and because a hundred small array calls cost more than a whole
// tree on small data. Rows are read in place, a few at a time (sparse ones
// spread out one by one); X is never copied.
#pragma once

#include <cstdint>
#include <vector>

#include "data/row_source.hpp"
#include "team.hpp"

namespace dics {

struct ClusterSettings {
    int n_clusters = 0;  // 0: no K-means
    int n_classes = 0;   // 0: no class means
    int batch_size = 0;
    int n_steps = 0;               // mini-batches after the k-means++ start
    std::int64_t moment_rows = 0;  // rows that give each feature's location and scale
    std::int64_t measure_rows =
        0;                     // rows that give the centroids' final place and spread
    bool standardize = false;  // distances in units of each feature's deviation
    std::uint64_t seed = 0;
};

// One row per cluster (or class) that has members, in the units of X.
struct Centroids {
    int count = 0;
    std::vector<double> means;
    std::vector<double> scales;  // standard deviation of each feature in each cluster
    std::vector<double> squared_distances;  // [count][count], scaled units
};

struct Clusters {
    Centroids clusters;
    Centroids classes;
    // Of the sampled finite values of each feature; low > high if there are none.
    std::vector<double> low;
    std::vector<double> high;
    std::vector<double> deviation;
};

// `labels` may be null if n_classes is 0; rows of label n_classes or more have no
// class. `weights` null: every row counts one. NaN counts as the feature's mean, an
// infinity as the largest (smallest) finite value of the sample.
// Weights and labels are of all rows, also where X has only those that are looked at.
Clusters cluster(const AnyRows& X, const RowNumbers& known, const double* weights,
                 const std::uint32_t* labels, const ClusterSettings& settings,
                 Team& team);

// Numbers of the rows of X that it looks at, rising.
std::vector<std::int64_t> rows_for_clusters(std::int64_t n_rows, const double* weights,
                                            const ClusterSettings& settings);

}  // namespace dics
