// Trees and forests for regression.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "grow/flatten.hpp"
#include "grow/forest.hpp"
#include "search/listed_search.hpp"
#include "search/moments/entries.hpp"
#include "search/moments/histograms.hpp"

namespace dics {
namespace {

// Weight of the rows of a node, and their sum of squares about the means of the outputs
// (for other criteria, the sum of their deviations), over all outputs.
struct Spread {
    double weight = 0, sum = 0;
};

// How far targets are from a mean, and what two nodes spread together.
class SpreadRule {
  public:
    SpreadRule(Criterion criterion, std::size_t n_outputs)
        : is_binomial_(criterion == Criterion::binomial),
          is_poisson_(criterion == Criterion::poisson),
          is_absolute_(criterion == Criterion::absolute_error),
          n_outputs_(n_outputs) {}

    bool is_absolute() const { return is_absolute_; }
    std::size_t n_outputs() const { return n_outputs_; }

    double deviation(double y, double mean) const {
        if (is_absolute_)
            return std::fabs(y - mean);
        if (is_binomial_)
            return (information(y, mean) + information(1 - y, 1 - mean)) /
                   std::numbers::ln2;
        if (!is_poisson_)
            return (y - mean) * (y - mean);
        const double far = y > 0 && mean > 0 ? y * std::log1p((y - mean) / mean) : 0.0;
        return far - (y - mean);
    }

    // What lies between the two children is added to what lies within each of them:
    // nothing cancels, however far from 0 the targets are. Writes the means of both.
    Spread join(const Spread& a, const double* a_means, const Spread& b,
                const double* b_means, double* means) const {
        Spread both{a.weight + b.weight, a.sum + b.sum};
        const double share = b.weight / both.weight;
        for (std::size_t c = 0; c < n_outputs_; ++c) {
            const double step = b_means[c] - a_means[c];
            const double mean = a_means[c] + step * share;
            if (is_poisson_ || is_binomial_) {
                both.sum += deviation(a_means[c], mean) * a.weight +
                            deviation(b_means[c], mean) * b.weight;
            } else {
                both.sum += step * step * a.weight * share;
            }
            means[c] = mean;
        }
        return both;
    }

  private:
    static double information(double share, double mean) {
        return share > 0 && mean > 0 ? share * std::log(share / mean) : 0.0;
    }

    bool is_binomial_, is_poisson_, is_absolute_;
    std::size_t n_outputs_;
};

// Lays out a tree of a continuous target: leaves keep the mean of their rows, or the
// median.
class MomentFlattener {
  public:
    MomentFlattener(const MomentSample& sample, const MomentRows& rows,
                    const GrowSettings& settings)
        : sample_(sample),
          r_(rows),
          settings_(settings),
          rule_(settings.criterion, rows.n_outputs),
          n_outputs_(rule_.n_outputs()) {}

    // Node weights are given in units of the mean weight of `n_rows` rows.
    TreeArrays flatten(const std::vector<GrownNode>& grown, double n_rows) {
        tree_.nodes.reserve(grown.size());
        tree_.n_samples.reserve(grown.size());
        spreads_.resize(grown.size());
        means_.resize(grown.size() * n_outputs_);
        std::size_t n_nodes = 0;
        flatten_nodes(
            grown, tree_.nodes, tree_.missing_left,
            [&](const GrownNode& leaf) { return add_leaf(leaf); },
            [&](const GrownNode& node) {
                if (rule_.is_absolute() || node.feature < 0)
                    measure(node, n_nodes);
                if (node.feature < 0)
                    tree_.leaf_means.insert(tree_.leaf_means.end(), means_of(n_nodes),
                                            means_of(n_nodes + 1));
                tree_.n_samples.push_back(node.n_rows());
                add_set(node, settings_, tree_);
                ++n_nodes;
            });
        for (std::size_t i = n_nodes; i-- > 0;) {
            if (tree_.nodes[i].feature >= 0 && !rule_.is_absolute())
                join(tree_.nodes[i].left, i);
        }
        // A limit of leaves leaves nodes behind that are not part of the tree.
        spreads_.resize(n_nodes);
        const double unit = spreads_[0].weight / n_rows;
        for (const Spread& spread : spreads_) {
            tree_.weight.push_back(static_cast<float>(spread.weight / unit));
            tree_.impurity.push_back(std::max(0.0, spread.sum) / spread.weight /
                                     sample_.n_outputs);
        }
        tree_.nodes.shrink_to_fit();
        tree_.leaf_means.shrink_to_fit();
        return std::move(tree_);
    }

  private:
    double* means_of(std::size_t node) { return means_.data() + node * n_outputs_; }

    void join(std::size_t left, std::size_t node) {
        spreads_[node] = rule_.join(spreads_[left], means_of(left), spreads_[left + 1],
                                    means_of(left + 1), means_of(node));
    }

    std::int32_t add_leaf(const GrownNode& node) {
        if (settings_.keeps_leaf_rows)
            keep_rows(node);
        return n_leaves_++;
    }

    // From the rows of a node, number `at` in the layout.
    void measure(const GrownNode& node, std::size_t at) {
        stop_check_.add(node.end - node.begin);
        cells_.assign(n_outputs_ + 1, 0);
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            for (std::size_t c = 0; c < cells_.size(); ++c)
                cells_[c] += r_.of(i)[c];
        }
        Spread& spread = spreads_[at];
        spread.weight = static_cast<double>(cells_[0]) * sample_.weight_unit;
        for (std::size_t c = 0; c < n_outputs_; ++c) {
            const double mean =
                rule_.is_absolute()
                    ? median(node, c, cells_[0])
                    : sample_.centers[c] + static_cast<double>(cells_[c + 1]) *
                                               sample_.units[c] / spread.weight;
            means_of(at)[c] = mean;
            for (std::int64_t i = node.begin; i < node.end; ++i)
                spread.sum += static_cast<double>(r_.of(i)[0]) * sample_.weight_unit *
                              rule_.deviation(r_.target(i)[c], mean);
        }
    }

    // In the middle between two where they have half of the weight each.
    double median(const GrownNode& node, std::size_t c, std::int64_t weight) const {
        std::vector<std::pair<double, std::int64_t>> values;
        for (std::int64_t i = node.begin; i < node.end; ++i)
            values.emplace_back(r_.target(i)[c], r_.of(i)[0]);
        std::sort(values.begin(), values.end());
        std::int64_t below = 0;
        for (std::size_t k = 0; k < values.size(); ++k) {
            below += values[k].second;
            if (2 * below > weight)
                return values[k].first;
            if (2 * below == weight)
                return values[k].first + (values[k + 1].first - values[k].first) / 2;
        }
        return values.back().first;
    }

    void keep_rows(const GrownNode& node) {
        const std::size_t n_before = tree_.leaf_rows.size();
        for (std::int64_t i = node.begin; i < node.end; ++i)
            tree_.leaf_rows.insert(tree_.leaf_rows.end(),
                                   r_.is_sampled ? r_.of(i)[0] : 1, r_.rows[i]);
        tree_.leaf_row_counts.push_back(
            static_cast<std::uint32_t>(tree_.leaf_rows.size() - n_before));
    }

    const MomentSample& sample_;
    const MomentRows& r_;
    const GrowSettings& settings_;
    SpreadRule rule_;
    std::size_t n_outputs_;
    std::vector<Spread> spreads_;  // of each node
    std::vector<double> means_;    // [node][output]
    std::vector<std::int64_t> cells_;
    StopCheck stop_check_;
    std::int32_t n_leaves_ = 0;
    TreeArrays tree_;
};

template <class Crit>
struct MomentTrees {
    using Target = Moments<Crit>;
    using Sample = MomentSample;
    using Rows = MomentRows;
    using Histograms = MomentHistograms<Crit>;
    using SampledSearch = dics::SampledSearch<MomentRowScan<Crit>>;
    using Listed = ListedSearch<MomentEntryScan<Crit>, Rows>;

    static Target make_target(const Sample& sample, const Rows& rows,
                              const GrowSettings& settings) {
        return {sample, rows.total(), settings.min_weight_fraction_leaf,
                settings.min_impurity_decrease, settings.monotonic};
    }

    // The rows of a node as those of a tree of their own.
    static Rows rows_of(const Rows& rows, const NodePlace& node) {
        return {rows, node.begin, node.end};
    }
    static std::vector<std::uint32_t> renumber(Rows& rows, const Sample&,
                                               std::vector<double>&) {
        return rows.renumber();
    }
    static TreeArrays flatten(const std::vector<GrownNode>& nodes, const Rows& rows,
                              const Sample& sample, const GrowSettings& settings,
                              std::int64_t n_rows) {
        return MomentFlattener(sample, rows, settings)
            .flatten(nodes, static_cast<double>(n_rows));
    }
};

// Calls with_kind(MomentTrees<...>{}) for the criterion that is asked for.
template <class WithKind>
auto choose_moment_trees(Criterion criterion, WithKind with_kind) {
    switch (criterion) {
        case Criterion::binomial:
            return with_kind(MomentTrees<BinomialDeviance>{});
        case Criterion::poisson:
            return with_kind(MomentTrees<PoissonDeviance>{});
        case Criterion::absolute_error:
            return with_kind(MomentTrees<AbsoluteError>{});
        default:
            return with_kind(MomentTrees<SquaredError>{});
    }
}

// Criteria of targets that must not be negative need the original zero.
bool is_centered(Criterion criterion) {
    return criterion != Criterion::poisson && criterion != Criterion::binomial;
}

// Must rows be counted in addition to their weights?
bool counts_rows(const GrowSettings& settings, bool is_weighted) {
    return is_weighted && settings.limits.min_samples_leaf > 1;
}

}  // namespace

ForestArrays grow(const AnyRows* X, const Codes& codes, const Dictionary& dictionary,
                  const TargetColumns& columns, const std::uint32_t* sampled,
                  const ForestSettings& settings, Team& team,
                  std::atomic<std::int64_t>& done) {
    const RowSamples samples(columns.weights, columns.n_rows, sampled, settings);
    const MomentSample sample(
        columns, settings.sample_size,
        counts_rows(settings.tree, settings.sample_size > 0 || columns.weights),
        is_centered(settings.tree.criterion), settings.tree.scale);
    auto grow_tree = [&](std::int64_t number, Team& own) {
        std::vector<std::uint32_t> space;
        MomentRows rows(sample, samples.of_tree(number, space));
        return choose_moment_trees(settings.tree.criterion, [&]<class Kind>(Kind) {
            return TreeGrower<Kind>(X, columns.weights, codes, dictionary, settings,
                                    own)
                .grow(sample, std::move(rows), tree_key(settings.tree.seed, number));
        });
    };
    return grow_trees(settings, columns.n_outputs, team, done, grow_tree);
}

MomentScale scale_of(const TargetColumns& columns, const ForestSettings& settings) {
    return MomentSample(columns, settings.sample_size, false,
                        is_centered(settings.tree.criterion))
        .scale();
}

}  // namespace dics
