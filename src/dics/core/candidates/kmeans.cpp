#include "candidates/kmeans.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.hpp"
#include "random.hpp"

namespace dics {
namespace {

using Rows = std::vector<std::int64_t>;

// Partial sums are computed per chunk of rows and added in the order of the chunks, so
// the result does not depend on the number of threads.
constexpr std::int64_t kChunkRows = 128;
constexpr std::int64_t kMeasureChunkRows = 512;
constexpr double kLeastVariance = 1e-11;  // in units of the squared mean
constexpr int kRowsAtOnce = 8;            // prepared rows that stay in L2 for wide data
constexpr std::int64_t kStartRows = 256;  // copied: 1 MB for 1000 features
constexpr std::int64_t kKeptValues = 1 << 21;  // more values are computed again
constexpr std::int64_t kParallelValues = 1 << 17;
constexpr double kLeastFraction = 0.01;  // of the rows of the largest cluster

std::int64_t padded(std::int64_t n) { return (n + 7) / 8 * 8; }

// Location and scale of each feature, from finite values only.
struct Moments {
    std::vector<double> low, high, mean, scale;
};

template <class T>
struct MomentSums {
    explicit MomentSums(std::size_t n)
        : low(n, std::numeric_limits<double>::infinity()),
          high(n, -std::numeric_limits<double>::infinity()),
          sum(n),
          square_sum(n),
          count(n) {}

    void add(const T* row, std::int64_t stride) {
        kernels().rows<T>().add_moments(
            row, stride, sum.size(),
            {low.data(), high.data(), sum.data(), square_sum.data(), count.data()});
    }

    void add(const MomentSums& other) {
        for (std::size_t f = 0; f < sum.size(); ++f) {
            sum[f] += other.sum[f];
            square_sum[f] += other.square_sum[f];
            count[f] += other.count[f];
            low[f] = std::min(low[f], other.low[f]);
            high[f] = std::max(high[f], other.high[f]);
        }
    }

    std::vector<double> low, high, sum, square_sum, count;
};

template <class T>
Moments measure_moments(const KnownRows<T>& X, const Rows& rows, Team& team) {
    const std::int64_t n = rows.size();
    const std::int64_t n_chunks = (n + kMeasureChunkRows - 1) / kMeasureChunkRows;
    const std::size_t p = X.n_cols();
    std::vector<MomentSums<T>> parts(n_chunks, MomentSums<T>(p));
    team.run(n_chunks, n * X.n_cols() >= kParallelValues, [&](std::int64_t chunk, int) {
        std::vector<T> space;
        const std::int64_t last = std::min(n, (chunk + 1) * kMeasureChunkRows);
        for (std::int64_t i = chunk * kMeasureChunkRows; i < last; ++i)
            parts[chunk].add(X.row(rows[i], space), X.stride());
    });
    for (std::size_t chunk = 1; chunk < parts.size(); ++chunk)
        parts[0].add(parts[chunk]);
    Moments m;
    MomentSums<T>& s = parts[0];
    m.mean.resize(p);
    m.scale.resize(p);
    for (std::size_t f = 0; f < p; ++f) {
        const double count = std::max(1.0, s.count[f]);
        m.mean[f] = s.sum[f] / count;
        const double variance = s.square_sum[f] / count - m.mean[f] * m.mean[f];
        m.scale[f] = variance > 0 ? std::sqrt(variance) : 0.0;
        const bool is_constant = !(s.low[f] < s.high[f]);
        if (is_constant)
            m.scale[f] = 0.0;
        // Squares of very large values overflow. For values that are far from zero and
        // close together, such as seconds since 1970, the difference of squares is only
        // rounding error.
        const bool is_lost =
            !is_constant && variance < kLeastVariance * m.mean[f] * m.mean[f];
        if (is_lost || !std::isfinite(m.mean[f]) || !std::isfinite(m.scale[f])) {
            m.mean[f] = s.low[f] / 2 + s.high[f] / 2;
            m.scale[f] = s.high[f] / 4 - s.low[f] / 4;
        }
    }
    m.low = std::move(s.low);
    m.high = std::move(s.high);
    return m;
}

// Prepares rows of X for distances, see RowKernels::prepare.
template <class T>
class Preparation {
  public:
    using V = typename Compared<T>::type;

    Preparation(const KnownRows<T>& X, const Moments& m, bool standardize)
        : X_(X), stride_(padded(X.n_cols())) {
        const std::size_t p = X.n_cols();
        double widest = 0;
        for (double scale : m.scale)
            widest = std::max(widest, scale);
        for (std::size_t f = 0; f < p; ++f) {
            const bool constant = !(m.scale[f] > 0);
            low_.push_back(constant ? 0 : m.low[f]);
            high_.push_back(constant ? 0 : m.high[f]);
            mean_.push_back(constant ? 0 : m.mean[f]);
            factor_.push_back(constant ? 0 : 1 / (standardize ? m.scale[f] : widest));
        }
    }

    std::int64_t stride() const { return stride_; }

    // `space` is for sparse rows.
    void row(std::int64_t i, std::vector<T>& space, float* out) const {
        kernels().rows<T>().prepare(
            X_.row(i, space), X_.stride(), X_.n_cols(),
            {low_.data(), high_.data(), mean_.data(), factor_.data()}, out);
        for (std::int64_t f = X_.n_cols(); f < stride_; ++f)
            out[f] = 0.0f;
    }

  private:
    KnownRows<T> X_;
    std::int64_t stride_;
    std::vector<V> low_, high_, mean_, factor_;
};

// Centroids in prepared units.
struct Centers {
    int count = 0;
    std::int64_t stride = 0;
    std::vector<float> points;        // [count][stride]
    std::vector<float> square_norms;  // [count]

    float* at(int c) { return points.data() + c * stride; }
    void update_norms() {
        square_norms.resize(count);
        for (int c = 0; c < count; ++c)
            kernels().dots(at(c), 1, at(c), 1, stride, &square_norms[c]);
    }
};

// k-means++ (Arthur and Vassilvitskii 2007): each further start is sampled with a
// probability proportional to its squared distance from the nearest start so far.
template <class T>
Centers start_centers(const Preparation<T>& prepare, const Rows& rows,
                      const double* weights, int n_clusters, std::uint64_t seed,
                      Team& team) {
    const std::int64_t n = rows.size();
    const std::int64_t stride = prepare.stride();
    const bool parallel = n * stride >= kParallelValues;
    const std::int64_t n_chunks = (n + kChunkRows - 1) / kChunkRows;
    const bool keeps = n * stride <= kKeptValues;
    std::vector<float> points(keeps ? n * stride : 0);
    std::vector<float> norms(n);
    std::vector<float> nearest(n, std::numeric_limits<float>::max());

    auto each_chunk = [&](auto&& body) {
        team.run(n_chunks, parallel, [&](std::int64_t chunk, int) {
            body(chunk * kChunkRows, std::min(n, (chunk + 1) * kChunkRows));
        });
    };
    // Calls body(points of some rows, first, last) with stored or recomputed points.
    auto each_points = [&](bool made, auto&& body) {
        each_chunk([&](std::int64_t first, std::int64_t last) {
            std::vector<T> space;
            std::vector<float> own;
            const std::int64_t step = keeps ? last - first : kRowsAtOnce;
            for (std::int64_t i = first; i < last; i += step) {
                const std::int64_t end = std::min(last, i + step);
                if (!keeps)
                    own.resize(step * stride);
                float* x = keeps ? points.data() + i * stride : own.data();
                for (std::int64_t k = i; (!keeps || !made) && k < end; ++k)
                    prepare.row(rows[k], space, x + (k - i) * stride);
                body(x, i, end);
            }
        });
    };
    each_points(false, [&](const float* x, std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i, x += stride)
            kernels().dots(x, 1, x, 1, stride, &norms[i]);
    });

    Centers centers;
    centers.stride = stride;
    Stream stream(seed);
    std::vector<double> chance(n);
    for (int c = 0; c < n_clusters; ++c) {
        double total = 0;
        for (std::size_t i = 0; i < chance.size(); ++i) {
            const double weight = weights ? weights[rows[i]] : 1.0;
            total += weight * (c == 0 ? 1.0f : nearest[i]);
            chance[i] = total;
        }
        if (!(total > 0))
            break;  // fewer distinct rows than clusters
        const double target = stream.uniform() * total;
        const auto at = std::upper_bound(chance.begin(), chance.end(), target);
        const auto pick = std::min<std::int64_t>(n - 1, at - chance.begin());
        const float center_norm = norms[pick];
        std::vector<T> space;
        centers.points.resize(centers.points.size() + stride);
        prepare.row(rows[pick], space, centers.at(centers.count));
        const float* center = centers.at(centers.count++);
        each_points(true, [&](const float* x, std::int64_t first, std::int64_t last) {
            float products[kChunkRows];
            kernels().dots(x, last - first, center, 1, stride, products);
            for (std::int64_t i = first; i < last; ++i) {
                float distance = norms[i] + center_norm - 2 * products[i - first];
                // Rounding errors become 0, because identical rows must end the loop.
                if (distance < 1e-6f * (norms[i] + center_norm))
                    distance = 0;
                nearest[i] = std::min(nearest[i], distance);
            }
        });
    }
    return centers;
}

// Sums of the rows of each cluster over one chunk.
struct ClusterSums {
    ClusterSums(int n_clusters, std::int64_t stride)
        : stride(stride),
          sum(n_clusters * stride),
          square_sum(n_clusters * stride),
          weight(n_clusters) {}

    void clear() {
        std::fill(sum.begin(), sum.end(), 0.0f);
        std::fill(square_sum.begin(), square_sum.end(), 0.0f);
        std::fill(weight.begin(), weight.end(), 0.0);
    }
    void add(int c, const float* x, double w) {
        kernels().accumulate(x, w, stride, sum.data() + c * stride,
                             square_sum.data() + c * stride);
        weight[c] += w;
    }

    std::int64_t stride;
    std::vector<float> sum, square_sum;
    std::vector<double> weight;
};

int nearest_center(const float* products, const Centers& centers) {
    int best = 0;
    float best_distance = std::numeric_limits<float>::max();
    for (int c = 0; c < centers.count; ++c) {
        const float distance = centers.square_norms[c] - 2 * products[c];
        if (distance < best_distance) {
            best_distance = distance;
            best = c;
        }
    }
    return best;
}

// Assigns rows to their nearest center and adds them, one ClusterSums per chunk. With
// labels, each row is also added to its class; classes come after the clusters.
template <class T>
void sum_clusters(const Preparation<T>& prepare, const Rows& rows,
                  const double* weights, const std::uint32_t* labels, int n_classes,
                  const Centers& centers, std::int64_t chunk_rows, double unit_weight,
                  Team& team, std::vector<ClusterSums>& parts) {
    const std::int64_t n = rows.size();
    const std::int64_t stride = prepare.stride();
    const std::int64_t n_chunks = (n + chunk_rows - 1) / chunk_rows;
    while (std::ssize(parts) < n_chunks)
        parts.emplace_back(centers.count + n_classes, stride);
    const std::int64_t work = n * stride * std::max(1, centers.count / 4);
    team.run(n_chunks, work >= kParallelValues, [&](std::int64_t chunk, int) {
        ClusterSums& sums = parts[chunk];
        sums.clear();
        std::vector<T> space;
        std::vector<float> x(kRowsAtOnce * stride);
        std::vector<float> products(kRowsAtOnce * centers.count);
        const std::int64_t end = std::min(n, (chunk + 1) * chunk_rows);
        for (std::int64_t i = chunk * chunk_rows; i < end; i += kRowsAtOnce) {
            const int m = std::min<std::int64_t>(kRowsAtOnce, end - i);
            for (int k = 0; k < m; ++k)
                prepare.row(rows[i + k], space, &x[k * stride]);
            kernels().dots(x.data(), m, centers.points.data(), centers.count, stride,
                           products.data());
            for (int k = 0; k < m; ++k) {
                const std::int64_t row = rows[i + k];
                const double weight = weights ? weights[row] * unit_weight : 1.0;
                const float* point = &x[k * stride];
                if (centers.count > 0) {
                    sums.add(nearest_center(&products[k * centers.count], centers),
                             point, weight);
                }
                if (n_classes > 0 && labels[row] < std::uint32_t(n_classes))
                    sums.add(centers.count + labels[row], point, weight);
            }
        }
    });
}

// One mini-batch (Sculley 2010): a center is the running mean of its rows.
void move_centers(Centers& centers, std::vector<double>& seen,
                  const std::vector<ClusterSums>& parts) {
    for (int c = 0; c < centers.count; ++c) {
        double added = 0;
        for (const auto& part : parts)
            added += part.weight[c];
        if (!(added > 0))
            continue;
        double& before = seen[c];
        const float keep = before / (before + added), take = 1 / (before + added);
        before += added;
        float* point = centers.at(c);
        for (std::int64_t f = 0; f < centers.stride; ++f) {
            float sum = 0;
            for (const auto& part : parts)
                sum += part.sum[c * centers.stride + f];
            point[f] = keep * point[f] + take * sum;
        }
    }
    centers.update_norms();
}

// A row of the batch that is not taken, if one is found in a few attempts.
std::int64_t free_row(Stream& stream, const Rows& batch, const Rows& taken) {
    std::int64_t row = 0;
    for (int attempt = 0; attempt < 8; ++attempt) {
        row = batch[stream.below(batch.size())];
        if (std::find(taken.begin(), taken.end(), row) == taken.end())
            break;
    }
    return row;
}

// Moves centers with hardly any rows to rows of the batch, with the weight of the
// smallest of the others. With many features, a row far from the overall mean is not
// the nearest center of any other row (CIFAR-10: 1 to 2 of 10 clusters stayed empty;
// the boundaries of the others kept 96.7 % of the exhaustive gain at depth 8, those of
// all 10 keep 97.4 %; 2026-11).
template <class T>
void replace_small(Centers& centers, std::vector<double>& seen,
                   const Preparation<T>& prepare, const Rows& batch,
                   std::uint64_t key) {
    const double least = kLeastFraction * *std::max_element(seen.begin(), seen.end());
    double smallest_kept = std::numeric_limits<double>::max();
    for (double weight : seen) {
        if (weight >= least)
            smallest_kept = std::min(smallest_kept, weight);
    }
    Stream stream(key);
    Rows taken;
    std::vector<T> space;
    for (int c = 0; c < centers.count; ++c) {
        if (seen[c] >= least)
            continue;
        const auto row = free_row(stream, batch, taken);
        taken.push_back(row);
        prepare.row(row, space, centers.at(c));
        seen[c] = smallest_kept;
    }
    centers.update_norms();
}

// Sums over all chunks, in their order.
struct TotalSums {
    std::vector<double> sum, square_sum, weight;

    void add(const ClusterSums& part) {
        auto add_all = [](const auto& from, std::vector<double>& to) {
            to.resize(from.size());
            for (std::size_t i = 0; i < from.size(); ++i)
                to[i] += from[i];
        };
        add_all(part.sum, sum);
        add_all(part.square_sum, square_sum);
        add_all(part.weight, weight);
    }
};

// Uses as many chunks at a time as threads: with wide data, the sums of all chunks
// would take more memory than X.
template <class T>
TotalSums measure(const Preparation<T>& prepare, const Rows& rows,
                  const double* weights, const std::uint32_t* labels, int n_classes,
                  const Centers& centers, double unit_weight, Team& team) {
    TotalSums totals;
    std::vector<ClusterSums> parts;
    const std::int64_t at_once = team.size() * kMeasureChunkRows;
    const std::int64_t n = rows.size();
    for (std::int64_t first = 0; first < n; first += at_once) {
        const Rows some(rows.begin() + first,
                        rows.begin() + std::min(n, first + at_once));
        sum_clusters(prepare, some, weights, labels, n_classes, centers,
                     kMeasureChunkRows, unit_weight, team, parts);
        const std::int64_t n_chunks =
            (some.size() + kMeasureChunkRows - 1) / kMeasureChunkRows;
        for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk)
            totals.add(parts[chunk]);
    }
    return totals;
}

// The centroids of the sums [first, last), which become means.
Centroids measured(TotalSums& totals, int first, int last, const Moments& moments,
                   std::int64_t stride, bool standardize) {
    double widest = 0;
    for (double scale : moments.scale)
        widest = std::max(widest, scale);
    const std::size_t p = moments.mean.size();
    Centroids result;
    std::vector<const double*> points;  // in prepared units
    for (int c = first; c < last; ++c) {
        const double weight = totals.weight[c];
        if (!(weight > 0))
            continue;
        ++result.count;
        double* means = totals.sum.data() + c * stride;
        const double* squares = totals.square_sum.data() + c * stride;
        for (std::size_t f = 0; f < p; ++f) {
            const double mean = means[f] / weight;
            const double variance = std::max(0.0, squares[f] / weight - mean * mean);
            const bool constant = !(moments.scale[f] > 0);
            const double unit = constant      ? 0.0
                                : standardize ? moments.scale[f]
                                              : widest;
            means[f] = mean;
            result.means.push_back(moments.mean[f] + mean * unit);
            result.scales.push_back(std::sqrt(variance) * unit);
        }
        points.push_back(means);
    }
    const std::size_t k = result.count;
    result.squared_distances.resize(k * k);
    for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = i + 1; j < k; ++j) {
            double distance = 0;
            for (std::size_t f = 0; f < p; ++f) {
                const double d = points[i][f] - points[j][f];
                distance += d * d;
            }
            result.squared_distances[i * k + j] = distance;
            result.squared_distances[j * k + i] = distance;
        }
    }
    return result;
}

// The rows with positive weight.
class RowPool {
  public:
    RowPool(std::int64_t n_rows, const double* weights)
        : n_rows_(n_rows), weights_(weights) {
        for (std::int64_t i = 0; weights && i < n_rows; ++i) {
            if (weights[i] > 0)
                rows_.push_back(i);
        }
    }

    Rows sample(std::uint64_t key, std::int64_t n_sampled) const {
        if (!weights_)
            return stratified_rows(key, n_rows_, n_sampled);
        Rows rows = stratified_rows(key, rows_.size(), n_sampled);
        for (std::int64_t& row : rows)
            row = rows_[row];
        return rows;
    }

    double largest_weight() const {
        double largest = 0;
        for (const std::int64_t row : rows_)
            largest = std::max(largest, weights_[row]);
        return largest;
    }

  private:
    std::int64_t n_rows_;
    const double* weights_;
    Rows rows_;  // empty without weights
};

// Keys of the samples of rows.
constexpr std::uint64_t kMomentKey = 1, kStartKey = 2, kMeasureKey = 4, kStepKey = 16;

std::int64_t n_start_rows(const ClusterSettings& s) {
    return std::max<std::int64_t>(kStartRows, 3 * s.n_clusters);
}

std::uint64_t step_key(const ClusterSettings& s, int step) {
    return combine(s.seed, kStepKey + step);
}

template <class T>
Clusters cluster_rows(const KnownRows<T>& X, const double* weights,
                      const std::uint32_t* labels, const ClusterSettings& s,
                      Team& team) {
    const RowPool pool(X.n_rows(), weights);
    const double unit_weight = weights ? 1 / pool.largest_weight() : 1.0;

    const Moments moments = measure_moments(
        X, pool.sample(combine(s.seed, kMomentKey), s.moment_rows), team);
    const Preparation<T> prepare(X, moments, s.standardize);
    Centers centers;
    centers.stride = prepare.stride();
    std::vector<ClusterSums> parts;
    if (s.n_clusters > 0) {
        const Rows start = pool.sample(combine(s.seed, kStartKey), n_start_rows(s));
        centers = start_centers(prepare, start, weights, s.n_clusters,
                                combine(s.seed, 3), team);
        centers.update_norms();
    }
    std::vector<double> seen(centers.count, 0.0);
    for (int step = 0; step < (centers.count > 0 ? s.n_steps : 0); ++step) {
        const auto key = step_key(s, step);
        const Rows batch = pool.sample(key, s.batch_size);
        sum_clusters(prepare, batch, weights, nullptr, 0, centers, kChunkRows,
                     unit_weight, team, parts);
        move_centers(centers, seen, parts);
        if (step < s.n_steps / 2)
            replace_small(centers, seen, prepare, batch, combine(key, 1));
    }
    parts.clear();
    TotalSums totals =
        measure(prepare, pool.sample(combine(s.seed, kMeasureKey), s.measure_rows),
                weights, labels, s.n_classes, centers, unit_weight, team);
    const int k = centers.count;
    return Clusters{
        measured(totals, 0, k, moments, prepare.stride(), s.standardize),
        measured(totals, k, k + s.n_classes, moments, prepare.stride(), s.standardize),
        moments.low, moments.high, moments.scale};
}

}  // namespace

std::vector<std::int64_t> rows_for_clusters(std::int64_t n_rows, const double* weights,
                                            const ClusterSettings& s) {
    const RowPool pool(n_rows, weights);
    Rows all;
    auto add = [&](std::uint64_t key, std::int64_t n) {
        const Rows rows = pool.sample(key, n);
        all.insert(all.end(), rows.begin(), rows.end());
    };
    add(combine(s.seed, kMomentKey), s.moment_rows);
    add(combine(s.seed, kMeasureKey), s.measure_rows);
    if (s.n_clusters > 0) {
        add(combine(s.seed, kStartKey), n_start_rows(s));
        for (int step = 0; step < s.n_steps; ++step)
            add(step_key(s, step), s.batch_size);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

Clusters cluster(const AnyRows& any, const RowNumbers& known, const double* weights,
                 const std::uint32_t* labels, const ClusterSettings& settings,
                 Team& team) {
    return std::visit(
        [&]<class T>(const RowSource<T>& X) {
            return cluster_rows(KnownRows<T>{X, known}, weights, labels, settings,
                                team);
        },
        any);
}

}  // namespace dics
