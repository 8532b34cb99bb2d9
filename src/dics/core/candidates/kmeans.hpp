// Stage `candidates`, first half: mini-batch K-means on a bounded number of rows.
//
// In C++ because the sums of a BLAS product depend on the number of threads, and
// because a hundred calls of NumPy cost more than a whole tree on small data. Rows are
// read in place, or one by one from a sparse X; X is not copied.
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
    int n_steps = 0;                // mini-batches after the k-means++ start
    std::int64_t moment_rows = 0;   // rows for the mean and the scale of each feature
    std::int64_t measure_rows = 0;  // rows for the final means and scales of clusters
    bool standardize = false;  // distances in units of the deviation of each feature
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
    // From the sampled finite values of each feature; low > high if there are none.
    std::vector<double> low;
    std::vector<double> high;
    std::vector<double> deviation;
};

// `labels` may be null if n_classes is 0; rows with a label of n_classes or more have
// no class. `weights` null: all weights are 1. NaN is replaced by the mean of the
// feature, an infinity by the largest (smallest) finite value of the sample. Weights
// and labels have all rows, also if X has only the rows that are read.
Clusters cluster(const AnyRows& X, const RowNumbers& known, const double* weights,
                 const std::uint32_t* labels, const ClusterSettings& settings,
                 Team& team);

// The sorted indices of the rows of X that `cluster` reads.
std::vector<std::int64_t> rows_for_clusters(std::int64_t n_rows, const double* weights,
                                            const ClusterSettings& settings);

}  // namespace dics
