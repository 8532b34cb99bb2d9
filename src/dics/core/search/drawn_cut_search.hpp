// Search of a forest's node among lists of codes: features drawn from all of them, and
// of each feature one cut.
#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "search/class_entry_scan.hpp"
#include "search/listed_nodes.hpp"
#include "team.hpp"

namespace dics {

// One of the thresholds low..high-1, of which there are two or more: that nearest to a
// random place between the first and the last.
inline std::int32_t draw_threshold(const double* thresholds, int low, int high,
                                   std::uint64_t key) {
    auto at = [&](int t) { return thresholds[t]; };
    const double first = at(low) - (at(low + 1) - at(low)) / 2;
    const double last = at(high - 1) + (at(high - 1) - at(high - 2)) / 2;
    const double place = first + Stream(key).uniform() * (last - first);
    int t = low;
    while (t + 1 < high && place >= (at(t) + at(t + 1)) / 2)
        ++t;
    return t;
}

inline std::uint64_t cut_key(std::uint64_t node_key, std::int64_t feature) {
    return combine(node_key,
                   0x6375740000000000ull + static_cast<std::uint64_t>(feature));
}

// For many features, most of whose rows have one code, such as words. A node looks at
// `max_features` drawn ones, constant ones among them, and then at more until one
// varies, as RandomForest does. Each offers one random cut, as in extremely randomised
// trees: the best of many cuts of a frequent word would be preferred to a rare word
// that tells more (measured in _grow_forest.py).
template <class Crit, class Count>
class DrawnCutSearch
    : public ListedNodes<ClassCounts<Crit, Count>, OpenNode<ClassTotals<Count>>> {
    using Base = ListedNodes<ClassCounts<Crit, Count>, OpenNode<ClassTotals<Count>>>;
    using Base::dictionary_;
    using Base::lists_;
    using Base::places_;

  public:
    using Target = ClassCounts<Crit, Count>;
    using Open = OpenNode<ClassTotals<Count>>;

    struct Context {
        NodeEntries entries;
        ClassEntryScan<Crit, Count> scan{};
        CandidateCodes candidate_codes{};
        std::vector<std::int32_t> features{};
    };

    DrawnCutSearch(const Target& target, const CodeLists& lists,
                   const Dictionary& dictionary, const ClassRows<Count>& rows,
                   std::int64_t min_samples_leaf, std::int64_t max_features)
        : Base(lists, dictionary, rows.rows),
          target_(target),
          r_(rows),
          min_samples_leaf_(min_samples_leaf),
          max_features_(static_cast<std::size_t>(max_features)),
          order_(static_cast<std::size_t>(dictionary.n_features)) {
        std::iota(order_.begin(), order_.end(), 0);
    }

    Context make_context(int) const { return {NodeEntries(lists_, places_)}; }

    std::int64_t work(const Open& node) const {
        return node.size() * static_cast<std::int64_t>(max_features_);
    }

    void find(Open* const* nodes, int n_nodes, Context& context, bool, int) {
        for (int i = 0; i < n_nodes; ++i)
            nodes[i]->split = best_split(*nodes[i], context);
    }

  private:
    Split best_split(const Open& node, Context& context) {
        draw_features(node, context);
        context.scan.start_node(target_, r_, node, min_samples_leaf_);
        Split best;
        for (const std::int32_t f : context.features) {
            const Split split =
                split_by_gap(drawn_cut(f, node, context), f, node.key, 0);
            if (split.beats(best))
                best = split;
        }
        return best;
    }

    void draw_features(const Open& node, Context& context) {
        stream_ = Stream(combine(node.key, 6));
        std::vector<std::int32_t>& features = context.features;
        features.clear();
        while (features.size() < std::min(max_features_, order_.size()))
            features.push_back(next_feature());
        context.entries.find(node, features);
        if (features.empty())
            draw_first_that_varies(node, context);
        for (; !swapped_.empty(); swapped_.pop_back())
            std::swap(order_[swapped_.size() - 1], order_[swapped_.back()]);
    }

    void draw_first_that_varies(const Open& node, Context& context) {
        NodeEntries& entries = context.entries;
        entries.start_by_rows(node);
        const auto& touched = entries.touched();
        if (std::none_of(touched.begin(), touched.end(),
                         [&](std::int32_t f) { return entries.varies(f); }))
            return;
        std::int32_t f = next_feature();
        while (!entries.varies(f))
            f = next_feature();
        context.features.push_back(f);
        entries.collect(context.features);
    }

    // One step of a shuffle (Fisher and Yates).
    std::int32_t next_feature() {
        const std::size_t at = swapped_.size();
        swapped_.push_back(at + stream_.below(order_.size() - at));
        std::swap(order_[at], order_[swapped_.back()]);
        return order_[at];
    }

    Cut drawn_cut(std::int32_t f, const Open& node, Context& context) {
        const auto entries = context.entries.of(f);
        const std::uint8_t common = lists_.common(f);
        CodeReading reading{dictionary_.count(f)};
        int low = reading.missing_code(), high = -1;  // codes of values that are there
        auto see = [&](std::uint8_t code) {
            if (code == reading.missing_code())
                return;
            low = std::min<int>(low, code);
            high = std::max<int>(high, code);
        };
        for (const NodeEntry& entry : entries)
            see(entry.code);
        if (static_cast<std::int64_t>(entries.size()) < node.size())
            see(common);
        if (high - low < 2)
            return context.scan.scan(entries, f, common, reading);
        const std::int32_t drawn =
            draw_threshold(dictionary_.thresholds(f), low, high, cut_key(node.key, f));
        reading =
            context.candidate_codes.read(std::span(&drawn, 1), reading.n_thresholds);
        return context.candidate_codes.in_dictionary(
            context.scan.scan(entries, f, common, reading));
    }

    const Target& target_;
    const ClassRows<Count>& r_;
    std::int64_t min_samples_leaf_;
    std::size_t max_features_;
    // A forest has a search for each of its threads. All features, of which those that
    // a node has drawn come first; and where these were before.
    std::vector<std::int32_t> order_;
    std::vector<std::size_t> swapped_;
    Stream stream_{0};
};

}  // namespace dics
