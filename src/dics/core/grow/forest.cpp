#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "data/code_lists.hpp"
#include "grow/class_trees.hpp"
#include "grow/grow.hpp"
#include "grow/grower.hpp"
#include "grow/moment_trees.hpp"
#include "random.hpp"
#include "search/draw_search.hpp"
#include "search/histogram_search.hpp"

namespace dics {
namespace {

// Balanced classes: a row drawn n times weighs n * n_draws / (classes * rows drawn of
// its class), in fixed point.
template <class Count>
std::vector<std::uint64_t> balanced_counts(const std::uint32_t* counts,
                                           const Sample<Count>& sample, int n_classes) {
    std::vector<double> of_class(n_classes);
    double present = 0;
    for (std::int64_t i = 0; i < sample.n_rows; ++i)
        of_class[sample.labels[i]] += counts[i];
    for (const double drawn : of_class)
        present += drawn > 0 ? 1 : 0;
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

// Grows the trees of a forest in one thread. `Kind` is ClassTrees or MomentTrees.
template <class Kind>
class TreeGrower {
    using Target = typename Kind::Target;
    using Sample = typename Kind::Sample;
    using Rows = typename Kind::Rows;

  public:
    TreeGrower(const Codes& codes, const Dictionary& dictionary,
               const ForestSettings& settings, Team& team)
        : codes_(codes),
          dictionary_(dictionary),
          settings_(settings),
          team_(team),
          draw_(dictionary, settings.max_features,
                settings.tree.limits.limits_leaves()) {}

    TreeArrays grow(const Sample& sample, Rows rows, std::uint64_t key) {
        key_ = key;
        switch (settings_.sampling) {
            case FeatureSampling::none:
                if (codes_.lists)
                    return grow_listed(sample, rows, nullptr);
                return grow_from_histograms(codes_, dictionary_, rows, sample,
                                            settings_.tree);
            case FeatureSampling::tree:
                return grow_restricted(sample, rows);
            default:
                return codes_.lists ? grow_listed(sample, rows, &draw_)
                                    : grow_drawn(sample, rows);
        }
    }

  private:
    template <class Search>
    TreeArrays grow_with(const Target& target, Search& search, Rows& rows,
                         const Dictionary& dictionary, const Sample& sample) {
        const auto nodes =
            grow_nodes(target, search, rows, dictionary, settings_.tree.limits, nullptr,
                       team_, root_node(target, rows, key_));
        // A bootstrap sample weighs as many rows as were drawn.
        const std::int64_t n_rows =
            settings_.n_draws > 0 ? settings_.n_draws : rows.size();
        return Kind::flatten(nodes, rows, sample, settings_.tree, n_rows);
    }

    TreeArrays grow_from_histograms(const Codes& codes, const Dictionary& dictionary,
                                    Rows& rows, const Sample& sample,
                                    const GrowSettings& settings) {
        const Target target = Kind::make_target(sample, rows, settings);
        typename Kind::Histograms histograms(target, codes,
                                             split_rules(dictionary, settings), rows);
        HistogramSearch<typename Kind::Histograms> search(histograms, team_);
        return grow_with(target, search, rows, dictionary, sample);
    }

    TreeArrays grow_drawn(const Sample& sample, Rows& rows) {
        const Target target = Kind::make_target(sample, rows, settings_.tree);
        typename Kind::DrawSearch search(target, codes_,
                                         split_rules(dictionary_, settings_.tree), rows,
                                         settings_.max_features, draw_);
        return grow_with(target, search, rows, dictionary_, sample);
    }

    // `draw` null: a node looks at all features.
    TreeArrays grow_listed(const Sample& sample, Rows& rows, FeatureDraw* draw) {
        const Target target = Kind::make_target(sample, rows, settings_.tree);
        typename Kind::Listed search(target, *codes_.lists,
                                     split_rules(dictionary_, settings_.tree), rows,
                                     draw, settings_.max_features);
        return grow_with(target, search, rows, dictionary_, sample);
    }

    // The restricted dictionary of the paper: the tree is grown on the columns drawn,
    // copied together so that they stay in the cache.
    TreeArrays grow_restricted(Sample sample, Rows& rows) {
        const std::vector<std::int64_t> features = sample_without_replacement(
            combine(key_, 5), dictionary_.n_features, settings_.max_features);
        std::vector<double> values;
        std::vector<std::int64_t> offsets{0};
        for (const std::int64_t f : features) {
            values.insert(values.end(), dictionary_.thresholds(f),
                          dictionary_.thresholds(f) + dictionary_.count(f));
            offsets.push_back(values.size());
        }
        const auto n_features = static_cast<std::int64_t>(features.size());
        const Dictionary dictionary{values.data(), offsets.data(), n_features};
        std::vector<double> weights;
        const std::vector<std::uint32_t> numbers =
            Kind::renumber(rows, sample, weights);
        const Codes codes = copy_columns(features, numbers);
        TreeArrays tree = grow_from_histograms(codes, dictionary, rows, sample,
                                               settings_of(features));
        for (Node& node : tree.nodes) {
            if (node.feature >= 0)
                node.feature = static_cast<std::int32_t>(features[node.feature]);
        }
        for (std::uint32_t& row : tree.leaf_rows)
            row = numbers[row];
        return tree;
    }

    // The settings of some of the features.
    GrowSettings settings_of(const std::vector<std::int64_t>& features) const {
        GrowSettings settings = settings_.tree;
        if (!settings.monotonic.empty()) {
            settings.monotonic.clear();
            for (const std::int64_t f : features)
                settings.monotonic.push_back(settings_.tree.monotonic[f]);
        }
        settings.categories = settings.categories.of(features);
        return settings;
    }

    // From column-major codes of all rows to blocks of the rows and features in use.
    Codes copy_columns(const std::vector<std::int64_t>& features,
                       const std::vector<std::uint32_t>& rows) {
        const auto n_features = static_cast<std::int64_t>(features.size());
        const auto n_rows = static_cast<std::int64_t>(rows.size());
        const std::int64_t n_blocks = (n_features + kMaxCodeWidth - 1) / kMaxCodeWidth;
        const std::int64_t width = ((n_features + n_blocks - 1) / n_blocks + 3) / 4 * 4;
        space_.assign(codes_size(n_rows, n_features, width), 0);
        const Codes codes{space_.data(), n_rows, n_features, static_cast<int>(width)};
        if (codes_.lists) {
            copy_lists(features, rows, codes);
            return codes;
        }
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

    void copy_lists(const std::vector<std::int64_t>& features,
                    const std::vector<std::uint32_t>& rows, const Codes& codes) {
        std::vector<std::uint8_t> column(codes_.n_rows);
        for (std::int64_t j = 0; j < codes.n_features; ++j) {
            codes_.lists->spread(features[j], column.data());
            std::uint8_t* to = space_.data() + (codes.column(j) - codes.data);
            for (std::int64_t i = 0; i < codes.n_rows; ++i)
                to[i * codes.width] = column[rows[i]];
        }
    }

    // Rows copied at a time: the copies stay in the second-level cache.
    static constexpr std::int64_t kCopyRows = 2048;

    Codes codes_;
    Dictionary dictionary_;
    const ForestSettings& settings_;
    Team& team_;
    FeatureDraw draw_;
    std::uint64_t key_ = 0;
    std::vector<std::uint8_t> space_;
};

// Trees one behind the other. A tree is copied as soon as those before it are there,
// and gone then: a forest is large, and no second copy of it is ever there.
class JoinedTrees {
  public:
    // `width` values are in a leaf.
    JoinedTrees(std::int64_t n_trees, int width) : waiting_(n_trees), width_(width) {}

    void add(std::int64_t number, TreeArrays tree) {
        const std::lock_guard lock(mutex_);
        waiting_[number] = std::move(tree);
        for (; n_joined_ < waiting_.size() && waiting_[n_joined_]; ++n_joined_) {
            if (n_joined_ == 0)
                make_room(*waiting_[0]);
            append(*waiting_[n_joined_]);
            waiting_[n_joined_].reset();
        }
    }

    // When all are there.
    ForestArrays take() { return std::move(forest_); }

  private:
    // By the first tree; others are mostly like it. Pages that stay empty take no
    // memory, and arrays that grow would be copied.
    void make_room(const TreeArrays& tree) {
        each_array(tree, [&](auto& all, const auto& one) {
            try {
                all.reserve(one.size() * waiting_.size() / 4 * 5 + one.size());
            } catch (const std::exception&) {
                // Very many trees: the estimate exceeds the memory. Arrays grow, then.
            }
        });
    }

    void append(const TreeArrays& tree) {
        const auto n_sets = static_cast<std::int32_t>(forest_.trees.sets.size());
        for (const std::int32_t number : tree.set_numbers)
            forest_.trees.set_numbers.push_back(number < 0 ? -1 : number + n_sets);
        each_array(tree, [](auto& all, const auto& one) {
            all.insert(all.end(), one.begin(), one.end());
        });
        forest_.end_tree(width_);
    }

    // Calls visit(array of the forest, array of the tree) for all that are put one
    // behind the other as they are.
    template <class Visit>
    void each_array(const TreeArrays& tree, Visit visit) {
        TreeArrays& all = forest_.trees;
        visit(all.nodes, tree.nodes);
        visit(all.n_samples, tree.n_samples);
        visit(all.missing_left, tree.missing_left);
        visit(all.weight, tree.weight);
        visit(all.impurity, tree.impurity);
        visit(all.leaf_values, tree.leaf_values);
        visit(all.leaf_means, tree.leaf_means);
        visit(all.leaf_rows, tree.leaf_rows);
        visit(all.leaf_row_counts, tree.leaf_row_counts);
        visit(all.sets, tree.sets);
    }

    std::mutex mutex_;
    std::vector<std::optional<TreeArrays>> waiting_;
    std::size_t n_joined_ = 0;
    int width_;
    ForestArrays forest_;
};

// The key of all random numbers of a tree.
std::uint64_t tree_key(std::uint64_t seed, std::int64_t tree) {
    return combine(mix(seed), 0x7472656500000000ull + static_cast<std::uint64_t>(tree));
}

// Calls draw() n times. Ten million draws take a second: the caller may stop them.
template <class Draw>
void repeat(std::int64_t n, Team& alone, Draw draw) {
    constexpr std::int64_t together = 1 << 16;
    for (std::int64_t begin = 0; begin < n; begin += together) {
        alone.check(0);
        for (std::int64_t i = begin; i < std::min(n, begin + together); ++i)
            draw();
    }
}

}  // namespace

std::vector<std::int32_t> forest_order(const Dictionary& dictionary,
                                       std::uint64_t seed) {
    std::vector<std::int32_t> order;
    for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
        if (dictionary.count(f) > 0)
            order.push_back(f);
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
               const double* cumulative, std::int64_t n_rows, Team& alone,
               std::uint32_t* counts) {
    Stream stream(combine(tree_key(seed, tree), 4));
    std::fill_n(counts, n_rows, 0u);
    if (!cumulative) {
        return repeat(n_draws, alone, [&] {
            ++counts[stream.below(static_cast<std::uint64_t>(n_rows))];
        });
    }
    const double* end = cumulative + n_rows;
    const double total = end[-1];
    // Where a draw that rounds up to the total belongs: the last row with a weight.
    const double* last = std::lower_bound(cumulative, end, total);
    repeat(n_draws, alone, [&] {
        const double* at = std::upper_bound(cumulative, end, stream.uniform() * total);
        ++counts[std::min(at, last) - cumulative];
    });
}

namespace {

// How often each tree of a forest drew the rows.
class Draws {
  public:
    // `weights` are the chances of the rows, null for equal ones; `known` is what
    // grow_forest calls `drawn`.
    Draws(const double* weights, std::int64_t n_rows, const std::uint32_t* known,
          const ForestSettings& settings)
        : n_rows_(n_rows), known_(known), settings_(settings) {
        const bool is_weighted = weights && !known && settings.n_draws > 0;
        double sum = 0;
        for (std::int64_t i = 0; is_weighted && i < n_rows; ++i)
            cumulative_.push_back(sum += weights[i]);
    }

    // Null without a bootstrap. `space` is where they may be written.
    const std::uint32_t* of_tree(std::int64_t number, Team& alone,
                                 std::vector<std::uint32_t>& space) const {
        if (settings_.n_draws == 0)
            return nullptr;
        if (known_)
            return known_ + (number - settings_.first_tree) * n_rows_;
        space.resize(n_rows_);
        bootstrap(settings_.tree.seed, number, settings_.n_draws,
                  cumulative_.empty() ? nullptr : cumulative_.data(), n_rows_, alone,
                  space.data());
        return space.data();
    }

  private:
    std::int64_t n_rows_;
    const std::uint32_t* known_;
    const ForestSettings& settings_;
    std::vector<double> cumulative_;  // running sums of the weights
};

template <class Crit, class Count>
TreeArrays grow_one(std::int64_t number, const Codes& codes,
                    const Dictionary& dictionary, const Sample<Count>& sample,
                    const Draws& draws, const ForestSettings& settings, Team& team) {
    const std::uint64_t key = tree_key(settings.tree.seed, number);
    auto grow = [&]<class Drawn>(const Sample<Drawn>& drawn) {
        using Kind = ClassTrees<Crit, Drawn>;
        return TreeGrower<Kind>(codes, dictionary, settings, team)
            .grow(drawn, Kind::make_rows(drawn), key);
    };
    if (settings.n_draws == 0)
        return grow(sample);
    std::vector<std::uint32_t> space;
    const std::uint32_t* counts = draws.of_tree(number, team, space);
    if (settings.balance_each_tree) {
        const std::vector<std::uint64_t> balanced =
            balanced_counts(counts, sample, settings.tree.n_classes);
        return grow(Sample<std::uint64_t>{sample.labels, balanced.data(), nullptr,
                                          sample.n_rows});
    }
    return grow(Sample<std::uint32_t>{sample.labels, counts, nullptr, sample.n_rows});
}

// grow_tree(number, team) for each tree, a thread each; `width` values are in a leaf.
template <class GrowTree>
ForestArrays grow_trees(const ForestSettings& settings, int width, Team& team,
                        std::atomic<std::int64_t>& done, GrowTree grow_tree) {
    JoinedTrees trees(settings.n_trees, width);
    team.run(settings.n_trees, true, [&](std::int64_t i, int thread) {
        Team alone(1, [&] {
            team.check(thread);
            return false;
        });
        trees.add(i, grow_tree(settings.first_tree + i, alone));
        done.fetch_add(1);
    });
    return trees.take();
}

}  // namespace

template <class Count>
ForestArrays grow_forest(const Codes& codes, const Dictionary& dictionary,
                         const Sample<Count>& sample, const std::uint32_t* drawn,
                         const ForestSettings& settings, Team& team,
                         std::atomic<std::int64_t>& done) {
    const Draws draws(sample.weights, sample.n_rows, drawn, settings);
    return grow_trees(settings, settings.tree.n_classes, team, done,
                      [&](std::int64_t number, Team& alone) {
                          return settings.tree.criterion == Criterion::gini
                                     ? grow_one<Gini>(number, codes, dictionary, sample,
                                                      draws, settings, alone)
                                     : grow_one<Entropy>(number, codes, dictionary,
                                                         sample, draws, settings,
                                                         alone);
                      });
}

ForestArrays grow_forest(const Codes& codes, const Dictionary& dictionary,
                         const TargetColumns& columns, const std::uint32_t* drawn,
                         const ForestSettings& settings, Team& team,
                         std::atomic<std::int64_t>& done) {
    const Draws draws(columns.weights, columns.n_rows, drawn, settings);
    const MomentSample sample(
        columns, settings.n_draws,
        counts_rows(settings.tree, settings.n_draws > 0 || columns.weights),
        is_centered(settings.tree.criterion), settings.tree.scale);
    auto grow_tree = [&](std::int64_t number, Team& alone) {
        std::vector<std::uint32_t> space;
        MomentRows rows(sample, draws.of_tree(number, alone, space));
        return choose_moment_trees(settings.tree.criterion, [&]<class Kind>(Kind) {
            return TreeGrower<Kind>(codes, dictionary, settings, alone)
                .grow(sample, std::move(rows), tree_key(settings.tree.seed, number));
        });
    };
    return grow_trees(settings, columns.n_outputs, team, done, grow_tree);
}

MomentScale scale_of(const TargetColumns& columns, const ForestSettings& settings) {
    return MomentSample(columns, settings.n_draws, false,
                        is_centered(settings.tree.criterion))
        .scale();
}

template ForestArrays grow_forest(const Codes&, const Dictionary&,
                                  const Sample<std::uint32_t>&, const std::uint32_t*,
                                  const ForestSettings&, Team&,
                                  std::atomic<std::int64_t>&);
template ForestArrays grow_forest(const Codes&, const Dictionary&,
                                  const Sample<std::uint64_t>&, const std::uint32_t*,
                                  const ForestSettings&, Team&,
                                  std::atomic<std::int64_t>&);

}  // namespace dics
