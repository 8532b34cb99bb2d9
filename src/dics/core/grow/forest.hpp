// The parts that forests of both kinds share. A single tree is a forest of one.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "data/code_lists.hpp"
#include "grow/grow.hpp"
#include "grow/grower.hpp"
#include "grow/renewal.hpp"
#include "random.hpp"
#include "search/histogram_search.hpp"
#include "search/sampled_search.hpp"

namespace dics {

// The key of all random numbers of a tree.
inline std::uint64_t tree_key(std::uint64_t seed, std::int64_t tree) {
    return combine(mix(seed), 0x7472656500000000ull + static_cast<std::uint64_t>(tree));
}

// How often each tree of a forest sampled the rows.
class RowSamples {
  public:
    // `weights` are the probabilities of the rows, null for equal ones; `known` is
    // `sampled` of grow.
    RowSamples(const double* weights, std::int64_t n_rows, const std::uint32_t* known,
               const ForestSettings& settings)
        : n_rows_(n_rows), known_(known), settings_(settings) {
        const bool is_weighted = weights && !known && settings.sample_size > 0;
        double sum = 0;
        for (std::int64_t i = 0; is_weighted && i < n_rows; ++i)
            cumulative_.push_back(sum += weights[i]);
    }

    // Null without a bootstrap. `space` is where they may be written.
    const std::uint32_t* of_tree(std::int64_t number,
                                 std::vector<std::uint32_t>& space) const {
        if (settings_.sample_size == 0)
            return nullptr;
        if (known_)
            return known_ + (number - settings_.first_tree) * n_rows_;
        space.resize(n_rows_);
        bootstrap(settings_.tree.seed, number, settings_.sample_size,
                  cumulative_.empty() ? nullptr : cumulative_.data(), n_rows_,
                  space.data());
        return space.data();
    }

  private:
    std::int64_t n_rows_;
    const std::uint32_t* known_;
    const ForestSettings& settings_;
    std::vector<double> cumulative_;  // running sums of the weights
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

// Grows the trees of a forest in one thread. `Kind` is ClassTrees or MomentTrees.
template <class Kind>
class TreeGrower {
    using Target = typename Kind::Target;
    using Sample = typename Kind::Sample;
    using Rows = typename Kind::Rows;

  public:
    // `X` and the caller's `weights` (null for ones) are for renewed thresholds.
    TreeGrower(const AnyRows* X, const double* weights, const Codes& codes,
               const Dictionary& dictionary, const ForestSettings& settings, Team& team)
        : X_(X),
          weights_(weights),
          codes_(codes),
          dictionary_(dictionary),
          settings_(settings),
          team_(team),
          sampler_(dictionary, settings.max_features,
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
                return codes_.lists ? grow_listed(sample, rows, &sampler_)
                                    : grow_sampled(sample, rows);
        }
    }

  private:
    template <class Search>
    TreeArrays grow_with(const Target& target, Search& search, Rows& rows,
                         const Dictionary& dictionary, const Sample& sample,
                         const Renewal<Target>* renewal = nullptr) {
        const auto nodes =
            grow_nodes(target, search, rows, dictionary, settings_.tree.limits, renewal,
                       team_, root_node(target, rows, key_));
        // A bootstrap sample weighs as many rows as were sampled.
        const std::int64_t n_rows =
            settings_.sample_size > 0 ? settings_.sample_size : rows.size();
        return Kind::flatten(nodes, rows, sample, settings_.tree, n_rows);
    }

    TreeArrays grow_from_histograms(const Codes& codes, const Dictionary& dictionary,
                                    Rows& rows, const Sample& sample,
                                    const GrowSettings& settings) {
        const Target target = Kind::make_target(sample, rows, settings);
        typename Kind::Histograms histograms(target, codes,
                                             split_rules(dictionary, settings), rows);
        HistogramSearch<typename Kind::Histograms> search(histograms, team_);
        if (!settings.renew_thresholds)
            return grow_with(target, search, rows, dictionary, sample);
        return std::visit(
            [&](const auto& X) {
                using T = typename std::decay_t<decltype(X)>::value_type;
                const RenewalStep<T, Kind> renewal(target, X, weights_, rows.size(),
                                                   codes.width, dictionary, settings);
                return grow_with(target, search, rows, dictionary, sample, &renewal);
            },
            *X_);
    }

    TreeArrays grow_sampled(const Sample& sample, Rows& rows) {
        const Target target = Kind::make_target(sample, rows, settings_.tree);
        typename Kind::SampledSearch search(target, codes_,
                                            split_rules(dictionary_, settings_.tree),
                                            rows, settings_.max_features, sampler_);
        return grow_with(target, search, rows, dictionary_, sample);
    }

    // `sampler` null: a node looks at all features.
    TreeArrays grow_listed(const Sample& sample, Rows& rows, FeatureSampler* sampler) {
        const Target target = Kind::make_target(sample, rows, settings_.tree);
        typename Kind::Listed search(target, *codes_.lists,
                                     split_rules(dictionary_, settings_.tree), rows,
                                     sampler, settings_.max_features);
        return grow_with(target, search, rows, dictionary_, sample);
    }

    // The restricted dictionary of the paper: the tree is grown on the sampled columns,
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

    const AnyRows* X_;
    const double* weights_;
    Codes codes_;
    Dictionary dictionary_;
    const ForestSettings& settings_;
    Team& team_;
    FeatureSampler sampler_;
    std::uint64_t key_ = 0;
    std::vector<std::uint8_t> space_;
};

// grow_tree(number, team) for each tree, a thread each; `width` values are in a leaf.
template <class GrowTree>
ForestArrays grow_trees(const ForestSettings& settings, int width, Team& team,
                        std::atomic<std::int64_t>& done, GrowTree grow_tree) {
    JoinedTrees trees(settings.n_trees, width);
    // A single tree uses all threads. A sample of features is searched by one thread.
    if (settings.n_trees == 1 && settings.sampling == FeatureSampling::none) {
        trees.add(0, grow_tree(settings.first_tree, team));
        return trees.take();
    }
    team.run(settings.n_trees, true, [&](std::int64_t i, int) {
        Team alone(1);
        trees.add(i, grow_tree(settings.first_tree + i, alone));
        done.fetch_add(1);
    });
    return trees.take();
}

}  // namespace dics
