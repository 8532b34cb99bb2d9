// Search of a node whose codes are lists: what isn't listed is never looked at.
#pragma once

#include <vector>

#include "search/candidate_draw.hpp"
#include "search/feature_draw.hpp"
#include "search/listed_nodes.hpp"
#include "search/renewed_codes.hpp"
#include "team.hpp"

namespace dics {

// Gives the splits that a search of the whole codes gives. `Scan` finds the best cut of
// a feature from its entries: ClassEntryScan or MomentEntryScan.
template <class Scan, class Rows>
class ListedSearch : public ListedNodes<typename Scan::Target, typename Scan::Open> {
    using Base = ListedNodes<typename Scan::Target, typename Scan::Open>;
    using Base::dictionary_;
    using Base::lists_;
    using Base::places_;

  public:
    using Target = typename Scan::Target;
    using Open = typename Scan::Open;

    // What the nodes searched by one thread share.
    struct Context {
        NodeEntries entries;
        Scan scan{};
        std::vector<std::int32_t> features{};
        CandidateList candidates{};
        CandidateCodes candidate_codes{};
    };

    // A node looks at all features, or (`draw` not null) at `max_features` drawn ones.
    ListedSearch(const Target& target, const CodeLists& lists,
                 const Dictionary& dictionary, const Rows& rows,
                 std::int64_t min_samples_leaf, std::int64_t max_candidates,
                 FeatureDraw* draw, std::int64_t max_features)
        : Base(lists, dictionary, rows.rows),
          target_(target),
          r_(rows),
          min_samples_leaf_(min_samples_leaf),
          max_candidates_(max_candidates),
          draw_(draw),
          max_features_(max_features) {
        if (!draw_)
            return;
        groups_.resize(static_cast<std::size_t>(draw_->n_groups()));
        for (std::int64_t f = 0; f < dictionary.n_features; ++f)
            group_of_.push_back(static_cast<std::int32_t>(draw_->group(f)));
        next_.resize(group_of_.size());
    }

    Context make_context(int) const { return {NodeEntries(lists_, places_)}; }

    std::int64_t work(const Open& node) const {
        return node.size() * (draw_ ? max_features_ : row_entries());
    }

    void find(Open* const* nodes, int n_nodes, Context& context, bool, int) {
        for (int i = 0; i < n_nodes; ++i)
            nodes[i]->split = best_split(*nodes[i], context);
    }

  private:
    Split best_split(const Open& node, Context& context) {
        if (draw_)
            draw_features(node, context);
        else
            take_features(node, context);
        context.entries.collect(context.features);
        context.scan.start_node(target_, r_, node, min_samples_leaf_);
        const bool draws = max_candidates_ > 0;
        if (draws && draw_)
            draw_of_features(dictionary_, max_candidates_, node.key, context.features,
                             context.candidates);
        else if (draws)
            context.candidates.draw(dictionary_, nullptr, max_candidates_, node.key);
        Split best;
        for (std::size_t j = 0; j < context.features.size(); ++j) {
            const std::int32_t f = context.features[j];
            const Cut cut =
                draws ? best_candidate(f, draw_ ? static_cast<std::int64_t>(j) : f,
                                       context)
                      : scan(f, {dictionary_.count(f)}, context);
            if (best.found() && cut.score < best.score)
                continue;  // ties are decided below
            const Split split =
                split_by_gap(cut, f, node.key,
                             draws ? 0 : gap_between(cut, f, dictionary_, nullptr));
            if (split.beats(best))
                best = split;
        }
        return best;
    }

    Cut scan(std::int32_t f, const CodeReading& reading, Context& context) {
        return context.scan.scan(context.entries.of(f), f, lists_.common(f), reading);
    }

    // `number` is that of the feature among those the candidates were drawn from.
    Cut best_candidate(std::int32_t f, std::int64_t number, Context& context) {
        const auto candidates = context.candidates.of_feature(number);
        if (candidates.empty())
            return {};
        const CodeReading reading =
            context.candidate_codes.read(candidates, dictionary_.count(f));
        return context.candidate_codes.in_dictionary(scan(f, reading, context));
    }

    // All features that vary within the node.
    void take_features(const Open& node, Context& context) {
        NodeEntries& entries = context.entries;
        context.features.clear();
        auto take = [&](std::int32_t f) {
            if (dictionary_.count(f) > 0 && entries.varies(f))
                context.features.push_back(f);
        };
        if (2 * node.size() > lists_.n_rows()) {
            entries.start_by_features(node);
            for (std::int32_t f = 0; f < dictionary_.n_features; ++f)
                take(f);
        } else {
            entries.start_by_rows(node);
            for (const std::int32_t f : entries.touched())
                take(f);
        }
    }

    // Draws until `max_features` were found that vary within the node.
    void draw_features(const Open& node, Context& context) {
        context.features.clear();
        if (walks_rows(node))
            draw_known(node, context);
        else
            draw_unknown(node, context);
    }

    void draw_unknown(const Open& node, Context& context) {
        NodeEntries& entries = context.entries;
        std::vector<std::int32_t>& features = context.features;
        entries.start_by_features(node);
        draw_->begin(node.key, node.depth);
        std::int32_t f;
        while (static_cast<std::int64_t>(features.size()) < max_features_ &&
               draw_->next(static_cast<std::int64_t>(features.size()), f)) {
            if (entries.varies(f))
                features.push_back(f);
            else
                draw_->mark_constant(f);
        }
        draw_->end();
    }

    // A walk over the rows has told which features vary.
    void draw_known(const Open& node, Context& context) {
        NodeEntries& entries = context.entries;
        entries.start_by_rows(node);
        for (const std::int32_t f : entries.touched()) {
            if (!entries.varies(f))
                continue;
            Group& group = groups_[static_cast<std::size_t>(group_of(f))];
            next_[static_cast<std::size_t>(f)] = group.first;
            group.first = f;
            ++group.count;
        }
        draw_->draw_known(
            max_features_, node.key,
            [&](std::int32_t g) { return groups_[static_cast<std::size_t>(g)].count; },
            [&](std::int32_t g) {
                for (std::int32_t f = groups_[static_cast<std::size_t>(g)].first;
                     f >= 0; f = next_[static_cast<std::size_t>(f)])
                    context.features.push_back(f);
            },
            [&](std::int32_t f) { return entries.varies(f); }, context.features);
        for (const std::int32_t f : entries.touched())
            groups_[static_cast<std::size_t>(group_of(f))] = {};
    }

    std::int32_t group_of(std::int32_t f) const {
        return group_of_[static_cast<std::size_t>(f)];
    }

    std::int64_t row_entries() const {
        return lists_.n_entries() / std::max<std::int64_t>(1, lists_.n_rows()) + 1;
    }

    // By the number of entries that are to be walked, about. A feature that has less
    // than one entry in the node is often drawn in vain.
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

    // Of an entry that is found by its row: it is counted before it is copied.
    static constexpr double kRowCost = 2;

    const Target& target_;
    const Rows& r_;
    std::int64_t min_samples_leaf_, max_candidates_;
    FeatureDraw* draw_;
    std::int64_t max_features_;
    // Of a node whose rows were walked: features that vary, a chain for each group. A
    // forest, which alone draws, has a search for each of its threads.
    struct Group {
        std::int32_t first = -1, count = 0;
    };
    std::vector<Group> groups_;
    std::vector<std::int32_t> group_of_, next_;  // of each feature
};

}  // namespace dics
