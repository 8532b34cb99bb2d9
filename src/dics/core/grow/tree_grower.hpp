// Grows the trees of a forest, whatever they predict: `Kind` is ClassTrees or
// MomentTrees.
#pragma once

#include "grow/forest.hpp"
#include "grow/grower.hpp"
#include "random.hpp"
#include "search/draw_search.hpp"
#include "search/histogram_search.hpp"

namespace dics {

// A forest's part of the work of one thread, with what its trees share.
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
            offsets.push_back(static_cast<std::int64_t>(values.size()));
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

    // What is to be known of some features alone.
    GrowSettings settings_of(const std::vector<std::int64_t>& features) const {
        GrowSettings settings = settings_.tree;
        if (!settings.monotonic.empty()) {
            settings.monotonic.clear();
            for (const std::int64_t f : features)
                settings.monotonic.push_back(
                    settings_.tree.monotonic[static_cast<std::size_t>(f)]);
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
        space_.assign(static_cast<std::size_t>(codes_size(n_rows, n_features, width)),
                      0);
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
        std::vector<std::uint8_t> column(static_cast<std::size_t>(codes_.n_rows));
        for (std::int64_t j = 0; j < codes.n_features; ++j) {
            codes_.lists->spread(features[static_cast<std::size_t>(j)], column.data());
            std::uint8_t* to = space_.data() + (codes.column(j) - codes.data);
            for (std::int64_t i = 0; i < codes.n_rows; ++i)
                to[i * codes.width] = column[rows[static_cast<std::size_t>(i)]];
        }
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

}  // namespace dics
