// Search of a node whose codes are lists: only listed codes are read.
#pragma once

#include <vector>

#include "search/node_entries.hpp"
#include "search/sampled_search.hpp"
#include "team.hpp"

namespace dics {

// Gives the splits that a search of the whole codes gives, except that categorical
// features are split by thresholds only. `Scan` finds the best cut of a feature from
// its entries: ClassEntryScan or MomentEntryScan.
template <class Scan, class Rows>
class ListedSearch : public PlainSearch<typename Scan::Target::Totals> {
  public:
    using Target = typename Scan::Target;
    using Open = typename Scan::Open;

    // Shared by the nodes that one thread searches.
    struct Context {
        NodeEntries entries;
        Scan scan{};
        std::vector<std::int32_t> features{};
        CandidateList candidates{};
    };

    // A node searches all features, or (`sampler` not null) a sample of `max_features`.
    ListedSearch(const Target& target, const CodeLists& lists, const SplitRules& rules,
                 const Rows& rows, FeatureSampler* sampler, std::int64_t max_features)
        : target_(target),
          lists_(lists),
          rules_(rules),
          r_(rows),
          places_(lists, rows.rows),
          sampler_(sampler),
          max_features_(max_features) {
        if (!sampler_)
            return;
        groups_.resize(sampler_->n_groups());
        for (std::int64_t f = 0; f < rules.dictionary.n_features; ++f)
            group_of_.push_back(sampler_->group(f));
        next_.resize(group_of_.size());
    }

    Context make_context(int) const { return {NodeEntries(lists_, places_)}; }

    std::int64_t work(const Open& node) const {
        return node.size() * (sampler_ ? max_features_ : row_entries());
    }

    void find(Open* const* nodes, int n_nodes, Context& context, bool, int) {
        for (int i = 0; i < n_nodes; ++i)
            nodes[i]->split = best_split(*nodes[i], context);
    }

    ListedSide side(const Split& split) const {
        return {lists_, rules_.dictionary, split};
    }
    void hand_over(Open& node, Open&, bool, Open&, bool, Context&) {
        places_.update(node.begin, node.end);
    }

  private:
    // The entries of a node, for SplitChooser.
    struct EntryScan {
        const ListedSearch& own;
        const Open& node;
        Context& context;

        CodeRange range(std::int64_t, std::int64_t f) const {
            CodeRange range;
            const auto entries = context.entries.of(f);
            const int missing_code = own.rules_.dictionary.count(f) + 1;
            for (const NodeEntry& entry : entries)
                range.add(entry.code, missing_code);
            if (std::ssize(entries) < node.size())
                range.add(own.lists_.common(f), missing_code);
            return range;
        }
        Cut cut(std::int64_t, std::int64_t f, const CodeReading& reading, double) {
            return context.scan.scan(context.entries.of(f), f, own.lists_.common(f),
                                     reading);
        }
    };

    Split best_split(const Open& node, Context& context) {
        if (sampler_)
            sample_features(node, context);
        else
            take_features(node, context);
        std::vector<std::int32_t>& features = context.features;
        context.entries.collect(features);
        context.scan.start_node(target_, r_, node, rules_.min_samples_leaf);
        const bool samples = rules_.max_candidates > 0;
        if (samples && sampler_) {
            std::sort(features.begin(), features.end());
            context.candidates.sample_from(rules_.dictionary, features,
                                           rules_.max_candidates, node.key);
        } else if (samples) {
            context.candidates.sample(rules_.dictionary, nullptr, rules_.max_candidates,
                                      node.key);
        }
        SplitChooser chooser(rules_, node, node.totals.n_rows,
                             samples ? &context.candidates : nullptr);
        EntryScan scan{*this, node, context};
        return chooser.choose(
            features.size(), [&](std::int64_t j) { return features[j]; }, scan);
    }

    // All features that vary within the node.
    void take_features(const Open& node, Context& context) {
        NodeEntries& entries = context.entries;
        context.features.clear();
        auto take = [&](std::int32_t f) {
            if (rules_.dictionary.count(f) > 0 && entries.varies(f))
                context.features.push_back(f);
        };
        if (2 * node.size() > lists_.n_rows()) {
            entries.start_by_features(node);
            for (std::int32_t f = 0; f < rules_.dictionary.n_features; ++f)
                take(f);
        } else {
            entries.start_by_rows(node);
            for (const std::int32_t f : entries.touched())
                take(f);
        }
    }

    void sample_features(const Open& node, Context& context) {
        NodeEntries& entries = context.entries;
        if (walks_rows(node))
            return sample_known(node, context);
        entries.start_by_features(node);
        sampler_->begin(node.key, node.depth);
        sample_varying(
            max_features_, [&](std::int32_t f) { return entries.varies(f); }, *sampler_,
            context.features);
    }

    // After a walk over the rows, which finds the features that vary.
    void sample_known(const Open& node, Context& context) {
        NodeEntries& entries = context.entries;
        context.features.clear();
        entries.start_by_rows(node);
        for (const std::int32_t f : entries.touched()) {
            if (!entries.varies(f))
                continue;
            Group& group = groups_[group_of(f)];
            next_[f] = group.first;
            group.first = f;
            ++group.count;
        }
        sampler_->sample_known(
            max_features_, node.key, [&](std::int32_t g) { return groups_[g].count; },
            [&](std::int32_t g) {
                for (std::int32_t f = groups_[g].first; f >= 0; f = next_[f])
                    context.features.push_back(f);
            },
            [&](std::int32_t f) { return entries.varies(f); }, context.features);
        for (const std::int32_t f : entries.touched())
            groups_[group_of(f)] = {};
    }

    std::int32_t group_of(std::int32_t f) const { return group_of_[f]; }

    std::int64_t row_entries() const {
        return lists_.n_entries() / std::max<std::int64_t>(1, lists_.n_rows()) + 1;
    }

    // By the number of entries that are to be walked, about. A feature that has less
    // than one entry in the node is often constant.
    bool walks_rows(const Open& node) const {
        const auto n = static_cast<double>(node.size());
        const double of_feature =
            static_cast<double>(lists_.n_entries()) /
            static_cast<double>(std::max<std::int64_t>(1, lists_.n_features()));
        const double inside =
            of_feature * n /
            static_cast<double>(std::max<std::int64_t>(1, lists_.n_rows()));
        const double by_features = static_cast<double>(max_features_) * of_feature /
                                   std::min(1.0, inside + 1e-9);
        return n * static_cast<double>(row_entries()) * kRowCost < by_features;
    }

    // An entry that is found by its row is counted before it is copied.
    static constexpr double kRowCost = 2;

    const Target& target_;
    const CodeLists& lists_;
    SplitRules rules_;
    const Rows& r_;
    RowPlaces places_;
    FeatureSampler* sampler_;
    std::int64_t max_features_;
    // After a walk over the rows: features that vary, a chain for each group. Only a
    // forest samples, and it has a search for each of its threads.
    struct Group {
        std::int32_t first = -1, count = 0;
    };
    std::vector<Group> groups_;
    std::vector<std::int32_t> group_of_, next_;  // of each feature
};

}  // namespace dics
