// Trees and forests for classification.
#include <cmath>
#include <utility>

#include "grow/flatten.hpp"
#include "grow/forest.hpp"
#include "search/classes/entries.hpp"
#include "search/classes/histograms.hpp"
#include "search/direct_search.hpp"
#include "search/listed_search.hpp"

namespace dics {
namespace {

template <class Crit, class Count>
struct ClassTrees {
    using Target = ClassCounts<Crit, Count>;
    using Sample = dics::Sample<Count>;
    using Rows = ClassRows<Count>;
    using Histograms = ClassHistograms<Crit, Count>;
    using SampledSearch = dics::SampledSearch<ClassRowScan<Crit, Count>>;
    using Listed = ListedSearch<ClassEntryScan<Crit, Count>, Rows>;

    static Rows make_rows(const Sample& sample) { return {sample, RowOrder::by_label}; }
    static Target make_target(const Sample&, const Rows& rows,
                              const GrowSettings& settings) {
        return {settings.n_classes, rows.total_count(),
                settings.min_weight_fraction_leaf, settings.min_impurity_decrease};
    }

    // The rows of a node as those of a tree of their own.
    static Rows rows_of(const Rows& rows, const NodePlace& node) {
        // They are in the order of their labels already.
        return {{rows.labels.data() + node.begin,
                 rows.weighted() ? rows.counts.data() + node.begin : nullptr, nullptr,
                 node.size()},
                RowOrder::by_row};
    }
    // Numbers the rows from 0; returns their former numbers. The caller's weights of
    // the rows are copied to `weights`.
    static std::vector<std::uint32_t> renumber(Rows& rows, Sample& sample,
                                               std::vector<double>& weights) {
        std::vector<std::uint32_t> before = rows.rows;
        if (sample.weights) {
            for (const std::uint32_t row : before)
                weights.push_back(sample.weights[row]);
            sample.weights = weights.data();
        }
        for (std::size_t i = 0; i < before.size(); ++i)
            rows.rows[i] = static_cast<std::uint32_t>(i);
        return before;
    }

    // Node weights in units of the mean weight of `n_rows` rows.
    static TreeArrays flatten(const std::vector<GrownNode>& nodes, const Rows& rows,
                              const Sample& sample, const GrowSettings& settings,
                              std::int64_t n_rows) {
        return ClassFlattener<Count>(rows, sample.weights, settings)
            .flatten(nodes, static_cast<double>(n_rows));
    }
};

// Balanced classes: a row sampled n times weighs n * sample_size / (classes * rows
// sampled of its class), in fixed point.
template <class Count>
std::vector<std::uint64_t> balanced_counts(const std::uint32_t* counts,
                                           const Sample<Count>& sample, int n_classes) {
    std::vector<double> of_class(n_classes);
    double present = 0;
    for (std::int64_t i = 0; i < sample.n_rows; ++i)
        of_class[sample.labels[i]] += counts[i];
    for (const double sampled : of_class)
        present += sampled > 0 ? 1 : 0;
    // The weights of all rows together are near 2^50: a step of 1e-15 of them.
    const double unit = std::ldexp(1.0, 50) / present;
    std::vector<std::uint64_t> balanced(sample.n_rows);
    for (std::int64_t i = 0; i < sample.n_rows; ++i) {
        if (counts[i] > 0) {
            balanced[i] = static_cast<std::uint64_t>(std::max(
                1.0, std::rint(unit * counts[i] / of_class[sample.labels[i]])));
        }
    }
    return balanced;
}

// Few candidates, from the values of a dense X.
template <class Crit, class Count>
TreeArrays grow_from_values(const AnyRows& any, const Dictionary& dictionary,
                            const Sample<Count>& sample, const GrowSettings& settings,
                            std::uint64_t key, Team& team) {
    using Kind = ClassTrees<Crit, Count>;
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            ClassRows<Count> rows(sample, RowOrder::by_row);
            const auto target = Kind::make_target(sample, rows, settings);
            DirectSearch<T, Crit, Count> search(target, X.dense(),
                                                split_rules(dictionary, settings), rows,
                                                settings.limits.reuse_splits, team);
            const auto nodes =
                grow_nodes(target, search, rows, dictionary, settings.limits, nullptr,
                           team, root_node(target, rows, key));
            return Kind::flatten(nodes, rows, sample, settings, rows.size());
        },
        any);
}

template <class Crit, class Count>
TreeArrays grow_one(std::int64_t number, const AnyRows* X, const Codes& codes,
                    const Dictionary& dictionary, const Sample<Count>& sample,
                    const RowSamples& samples, const ForestSettings& settings,
                    Team& team) {
    const std::uint64_t key = tree_key(settings.tree.seed, number);
    auto grow = [&]<class Sampled>(const Sample<Sampled>& sampled) {
        using Kind = ClassTrees<Crit, Sampled>;
        return TreeGrower<Kind>(X, sampled.weights, codes, dictionary, settings, team)
            .grow(sampled, Kind::make_rows(sampled), key);
    };
    if (!codes.data && !codes.lists)
        return grow_from_values<Crit>(*X, dictionary, sample, settings.tree, key, team);
    if (settings.sample_size == 0)
        return grow(sample);
    std::vector<std::uint32_t> space;
    const std::uint32_t* counts = samples.of_tree(number, space);
    if (settings.balance_each_tree) {
        const std::vector<std::uint64_t> balanced =
            balanced_counts(counts, sample, settings.tree.n_classes);
        return grow(Sample<std::uint64_t>{sample.labels, balanced.data(), nullptr,
                                          sample.n_rows});
    }
    return grow(Sample<std::uint32_t>{sample.labels, counts, nullptr, sample.n_rows});
}

}  // namespace

template <class Count>
ForestArrays grow(const AnyRows* X, const Codes& codes, const Dictionary& dictionary,
                  const Sample<Count>& sample, const std::uint32_t* sampled,
                  const ForestSettings& settings, Team& team,
                  std::atomic<std::int64_t>& done) {
    const RowSamples samples(sample.weights, sample.n_rows, sampled, settings);
    return grow_trees(settings, settings.tree.n_classes, team, done,
                      [&](std::int64_t number, Team& own) {
                          return settings.tree.criterion == Criterion::gini
                                     ? grow_one<Gini>(number, X, codes, dictionary,
                                                      sample, samples, settings, own)
                                     : grow_one<Entropy>(number, X, codes, dictionary,
                                                         sample, samples, settings,
                                                         own);
                      });
}

template ForestArrays grow(const AnyRows*, const Codes&, const Dictionary&,
                           const Sample<std::uint32_t>&, const std::uint32_t*,
                           const ForestSettings&, Team&, std::atomic<std::int64_t>&);
template ForestArrays grow(const AnyRows*, const Codes&, const Dictionary&,
                           const Sample<std::uint64_t>&, const std::uint32_t*,
                           const ForestSettings&, Team&, std::atomic<std::int64_t>&);

}  // namespace dics
