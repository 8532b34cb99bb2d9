#include "grow/forest.hpp"

#include <cmath>

#include "grow/flatten.hpp"
#include "grow/grower.hpp"
#include "search/class_histograms.hpp"
#include "search/feature_draw_search.hpp"
#include "search/histogram_search.hpp"

namespace dics {
namespace {

std::uint64_t tree_key(std::uint64_t seed, std::int64_t tree) {
    return combine(mix(seed), 0x7472656500000000ull + static_cast<std::uint64_t>(tree));
}

// Balanced classes: a row drawn n times weighs n * n_draws / (classes * rows drawn of
// its class), in fixed point.
std::vector<std::uint64_t> balanced_counts(const std::vector<std::uint32_t>& counts,
                                           const std::uint32_t* labels, int n_classes) {
    std::vector<double> of_class(static_cast<std::size_t>(n_classes));
    double total = 0, present = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
        of_class[labels[i]] += counts[i];
    for (const double drawn : of_class) {
        total += drawn;
        present += drawn > 0 ? 1 : 0;
    }
    // The weights of all rows together are near 2^50: a step of 1e-15 of them.
    const double unit = std::ldexp(1.0, 50) / present;
    std::vector<std::uint64_t> balanced(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) {
            balanced[i] = static_cast<std::uint64_t>(
                std::max(1.0, std::rint(unit * counts[i] / of_class[labels[i]])));
        }
    }
    return balanced;
}

// A forest's part of the work of one thread, with what its trees share.
template <class Crit, class Count>
class TreeGrower {
    using Target = ClassCounts<Crit, Count>;

  public:
    TreeGrower(const Codes& codes, const Dictionary& dictionary,
               const ForestSettings& settings, Team& team)
        : codes_(codes),
          dictionary_(dictionary),
          settings_(settings),
          team_(team),
          draw_(dictionary) {}

    TreeArrays grow(const Sample<Count>& sample, std::uint64_t key) {
        key_ = key;
        switch (settings_.sampling) {
            case FeatureSampling::none:
                return grow_whole(sample);
            case FeatureSampling::tree:
                return grow_restricted(sample);
            default:
                return grow_drawn(sample);
        }
    }

  private:
    template <class Search>
    TreeArrays grow_with(const Target& target, Search& search, ClassRows<Count>& rows,
                         const Dictionary& dictionary, const double* weights) {
        Grower<Search> grower(target, search, rows, dictionary, settings_.tree.limits,
                              nullptr, team_);
        // A bootstrap sample weighs as many rows as were drawn.
        const std::int64_t n_rows =
            settings_.n_draws > 0 ? settings_.n_draws : rows.size();
        return ClassFlattener<Count>(rows, weights, settings_.tree.n_classes)
            .flatten(grower.grow(key_), static_cast<double>(n_rows));
    }

    TreeArrays grow_from_histograms(const Codes& codes, const Dictionary& dictionary,
                                    ClassRows<Count>& rows, const double* weights) {
        using Histograms = ClassHistograms<Crit, Count>;
        const auto target = make_target<Target>(settings_.tree, rows);
        Histograms histograms(target, codes, dictionary, nullptr, rows,
                              settings_.tree.limits.min_samples_leaf,
                              settings_.tree.max_candidates);
        HistogramSearch<Histograms> search(histograms, team_);
        return grow_with(target, search, rows, dictionary, weights);
    }

    TreeArrays grow_whole(const Sample<Count>& sample) {
        ClassRows<Count> rows(sample, RowOrder::by_label);
        return grow_from_histograms(codes_, dictionary_, rows, sample.weights);
    }

    TreeArrays grow_drawn(const Sample<Count>& sample) {
        ClassRows<Count> rows(sample, RowOrder::by_label);
        const auto target = make_target<Target>(settings_.tree, rows);
        FeatureDrawSearch<Crit, Count> search(
            target, codes_, dictionary_, rows, settings_.tree.limits.min_samples_leaf,
            settings_.max_features, settings_.tree.max_candidates, draw_);
        return grow_with(target, search, rows, dictionary_, sample.weights);
    }

    // The restricted dictionary of the paper: the tree is grown on the columns drawn,
    // copied together so that they stay in the cache.
    TreeArrays grow_restricted(const Sample<Count>& sample) {
        const std::vector<std::int64_t> features = sample_without_replacement(
            combine(key_, 5), dictionary_.n_features, settings_.max_features);
        std::vector<float> values;
        std::vector<std::int64_t> offsets{0};
        for (const std::int64_t f : features) {
            values.insert(values.end(), dictionary_.thresholds(f),
                          dictionary_.thresholds(f) + dictionary_.count(f));
            offsets.push_back(static_cast<std::int64_t>(values.size()));
        }
        const auto n_features = static_cast<std::int64_t>(features.size());
        const Dictionary dictionary{values.data(), offsets.data(), n_features};
        ClassRows<Count> rows(sample, RowOrder::by_label);
        std::vector<double> weights;
        if (sample.weights) {
            for (const std::uint32_t row : rows.rows)
                weights.push_back(sample.weights[row]);
        }
        const Codes codes = copy_columns(features, rows.rows);
        for (std::size_t i = 0; i < rows.rows.size(); ++i)
            rows.rows[i] = static_cast<std::uint32_t>(i);
        TreeArrays tree = grow_from_histograms(
            codes, dictionary, rows, sample.weights ? weights.data() : nullptr);
        for (Node& node : tree.nodes) {
            if (node.feature >= 0)
                node.feature = static_cast<std::int32_t>(features[node.feature]);
        }
        return tree;
    }

    // From column-major codes of all rows to blocks of the rows and features in use.
    Codes copy_columns(const std::vector<std::int64_t>& features,
                       const std::vector<std::uint32_t>& rows) {
        const auto n_features = static_cast<std::int64_t>(features.size());
        const auto n_rows = static_cast<std::int64_t>(rows.size());
        const std::int64_t n_blocks = (n_features + kMaxCodeWidth - 1) / kMaxCodeWidth;
        const std::int64_t width = ((n_features + n_blocks - 1) / n_blocks + 3) / 4 * 4;
        space_.assign(static_cast<std::size_t>(codes_size(n_rows, n_features, width)),
                      0);
        const Codes codes{space_.data(), n_rows, n_features, static_cast<int>(width)};
        for (std::int64_t first = 0; first < n_rows; first += kCopyRows) {
            const std::int64_t last = std::min(n_rows, first + kCopyRows);
            for (std::int64_t j = 0; j < n_features; ++j) {
                const std::uint8_t* from = codes_.column(features[j]);
                std::uint8_t* to = space_.data() + (codes.column(j) - codes.data);
                for (std::int64_t i = first; i < last; ++i)
                    to[i * width] = from[rows[i]];
            }
        }
        return codes;
    }

    // Rows copied at a time: what is written stays in the second-level cache.
    static constexpr std::int64_t kCopyRows = 2048;

    Codes codes_;
    Dictionary dictionary_;
    const ForestSettings& settings_;
    Team& team_;
    FeatureDraw draw_;
    std::uint64_t key_ = 0;
    std::vector<std::uint8_t> space_;
};

ForestArrays with_room_for(const std::vector<TreeArrays>& trees) {
    std::size_t n_nodes = 0, n_values = 0;
    for (const TreeArrays& tree : trees) {
        n_nodes += tree.nodes.size();
        n_values += tree.leaf_values.size();
    }
    ForestArrays forest;
    forest.trees.nodes.reserve(n_nodes);
    forest.trees.missing_left.reserve(n_nodes);
    forest.trees.weight.reserve(n_nodes);
    forest.trees.impurity.reserve(n_nodes);
    forest.trees.leaf_values.reserve(n_values);
    return forest;
}

void append(TreeArrays&& tree, int n_classes, ForestArrays& forest) {
    auto add = [](auto& all, const auto& one) {
        all.insert(all.end(), one.begin(), one.end());
    };
    add(forest.trees.nodes, tree.nodes);
    add(forest.trees.missing_left, tree.missing_left);
    add(forest.trees.weight, tree.weight);
    add(forest.trees.impurity, tree.impurity);
    add(forest.trees.leaf_values, tree.leaf_values);
    forest.end_tree(n_classes);
    tree = TreeArrays{};  // a forest is large: no second copy of it at the end
}

template <class Crit, class Count>
TreeArrays grow_one(std::int64_t number, const Codes& codes,
                    const Dictionary& dictionary, const Sample<Count>& sample,
                    const std::vector<double>& cumulative,
                    const ForestSettings& settings, Team& team) {
    const std::uint64_t key = tree_key(settings.tree.seed, number);
    if (settings.n_draws == 0) {
        return TreeGrower<Crit, Count>(codes, dictionary, settings, team)
            .grow(sample, key);
    }
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(sample.n_rows));
    bootstrap(settings.tree.seed, number, settings.n_draws,
              cumulative.empty() ? nullptr : cumulative.data(), sample.n_rows,
              counts.data());
    if (settings.balance_each_tree) {
        const std::vector<std::uint64_t> balanced =
            balanced_counts(counts, sample.labels, settings.tree.n_classes);
        return TreeGrower<Crit, std::uint64_t>(codes, dictionary, settings, team)
            .grow({sample.labels, balanced.data(), nullptr, sample.n_rows}, key);
    }
    return TreeGrower<Crit, std::uint32_t>(codes, dictionary, settings, team)
        .grow({sample.labels, counts.data(), nullptr, sample.n_rows}, key);
}

}  // namespace

std::vector<std::int32_t> forest_order(const Dictionary& dictionary,
                                       std::uint64_t seed) {
    std::vector<std::int32_t> order;
    for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
        if (dictionary.count(f) > 0)
            order.push_back(static_cast<std::int32_t>(f));
    }
    if (static_cast<std::int64_t>(order.size()) > FeatureDraw::kOffered) {
        Stream stream(combine(mix(seed), 7));
        for (std::size_t i = 0; i + 1 < order.size(); ++i)
            std::swap(order[i], order[i + stream.below(order.size() - i)]);
    }
    return order;
}

int forest_code_width(FeatureSampling sampling, std::int64_t n_features) {
    constexpr std::int64_t line = FeatureDraw::kGroup;
    if (sampling == FeatureSampling::tree)
        return 1;
    if (sampling == FeatureSampling::none)
        return code_width(n_features);
    const std::int64_t width = n_features <= FeatureDraw::kOffered
                                   ? n_features
                                   : (n_features + line - 1) / line * line;
    return static_cast<int>(std::max<std::int64_t>(1, width));
}

void bootstrap(std::uint64_t seed, std::int64_t tree, std::int64_t n_draws,
               const double* cumulative, std::int64_t n_rows, std::uint32_t* counts) {
    Stream stream(combine(tree_key(seed, tree), 4));
    std::fill_n(counts, n_rows, 0u);
    if (!cumulative) {
        for (std::int64_t i = 0; i < n_draws; ++i)
            ++counts[stream.below(static_cast<std::uint64_t>(n_rows))];
        return;
    }
    const double* end = cumulative + n_rows;
    const double total = end[-1];
    // Where a draw that rounds up to the total belongs: the last row with a weight.
    const double* last = std::lower_bound(cumulative, end, total);
    for (std::int64_t i = 0; i < n_draws; ++i) {
        const double* at = std::upper_bound(cumulative, end, stream.uniform() * total);
        ++counts[std::min(at, last) - cumulative];
    }
}

template <class Count>
ForestArrays grow_forest(const Codes& codes, const Dictionary& dictionary,
                         const Sample<Count>& sample, const ForestSettings& settings,
                         Team& team, std::atomic<std::int64_t>& done) {
    std::vector<double> cumulative;
    if (settings.n_draws > 0 && sample.weights) {
        double sum = 0;
        for (std::int64_t i = 0; i < sample.n_rows; ++i)
            cumulative.push_back(sum += sample.weights[i]);
    }
    std::vector<TreeArrays> trees(static_cast<std::size_t>(settings.n_trees));
    team.run(settings.n_trees, true, [&](std::int64_t i, int thread) {
        Team alone(1, [&] {
            team.check(thread);
            return false;
        });
        const std::int64_t number = settings.first_tree + i;
        trees[static_cast<std::size_t>(i)] =
            settings.tree.criterion == Criterion::gini
                ? grow_one<Gini>(number, codes, dictionary, sample, cumulative,
                                 settings, alone)
                : grow_one<Entropy>(number, codes, dictionary, sample, cumulative,
                                    settings, alone);
        done.fetch_add(1);
    });
    ForestArrays forest = with_room_for(trees);
    for (TreeArrays& tree : trees)
        append(std::move(tree), settings.tree.n_classes, forest);
    return forest;
}

template ForestArrays grow_forest(const Codes&, const Dictionary&,
                                  const Sample<std::uint32_t>&, const ForestSettings&,
                                  Team&, std::atomic<std::int64_t>&);
template ForestArrays grow_forest(const Codes&, const Dictionary&,
                                  const Sample<std::uint64_t>&, const ForestSettings&,
                                  Team&, std::atomic<std::int64_t>&);

}  // namespace dics
