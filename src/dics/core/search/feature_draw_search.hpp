// Search of a forest's node: features drawn anew at each node, as in RandomForest.
#pragma once

#include "search/candidate_draw.hpp"
#include "search/class_histogram.hpp"
#include "search/class_sets.hpp"
#include "search/feature_draw.hpp"
#include "search/method.hpp"
#include "search/renewed_codes.hpp"
#include "search/sorted_search.hpp"

namespace dics {

// Codes are row-major here. A node looks at few of the features, another few than its
// parent, so no histogram can be had by subtraction; but the codes of a node's rows
// stay in the cache from one level to the next.
//
// For one thread: a forest grows its trees side by side.
template <class Crit, class CountT>
class FeatureDrawSearch {
  public:
    using Target = ClassCounts<Crit, CountT>;
    using Count = CountT;
    using Open = OpenNode<ClassTotals<Count>>;
    struct Context {};

    FeatureDrawSearch(const Target& target, const Codes& codes,
                      const Dictionary& dictionary, const ClassRows<Count>& rows,
                      std::int64_t min_samples_leaf, std::int64_t max_features,
                      std::int64_t max_candidates, const CategorySettings& categories,
                      FeatureDraw& draw)
        : target_(target),
          codes_(codes),
          dictionary_(dictionary),
          r_(rows),
          limits_{min_samples_leaf, target.min_weight()},
          max_features_(max_features),
          max_candidates_(max_candidates),
          categories_(categories),
          n_slices_(target.n_classes() + (counts_rows(rows, min_samples_leaf) ? 1 : 0)),
          draw_(draw),
          choice_(MethodChoice::of_drawn_features(dictionary, max_features)) {
        const std::int64_t lane_bytes =
            (kMaxThresholds + 2) * n_slices_ * std::int64_t{sizeof(Count)};
        batch_ = std::clamp<std::int64_t>(
            kHistogramBytes / lane_bytes / kLaneGroup * kLaneGroup, kLaneGroup, kBatch);
    }

    Context make_context(int) const { return {}; }

    std::int64_t work(const Open& node) const { return node.size() * max_features_; }

    // Draws until `max_features` features were found that vary within the node.
    void find(Open* const* nodes, int n_nodes, Context&, bool, int) {
        for (int i = 0; i < n_nodes; ++i) {
            node_ = nodes[i];
            totals_ = &node_->totals;
            draw_varying_features();
            nodes[i]->split = best_split();
        }
    }

    CodeSide side(const Split& split) const { return {codes_, dictionary_, split}; }
    CodeSetSide set_side(const Split& split) const {
        return {codes_, dictionary_, split};
    }

    bool read_left_totals(const Open&, Context&, ClassTotals<Count>&) const {
        return false;
    }
    void hand_over(Open&, Open&, bool, Open&, bool, Context&) {}
    void release(Open&, Context&) {}

  private:
    static constexpr std::int64_t kBatch = 64;
    // Features searched together are fewer if there are many classes: each thread has
    // histograms of its own.
    static constexpr std::int64_t kHistogramBytes = 1 << 22;
    static constexpr std::int64_t kFetchedRows = 256;

    Split best_split() {
        const bool draws = max_candidates_ > 0;
        if (draws)
            draw_of_features(dictionary_, max_candidates_, node_->key, features_,
                             candidates_);
        const bool is_small = choice_.is_small(totals_->n_rows, totals_->n_present);
        if (!is_small)
            present_.find(*totals_);
        const auto n_features = static_cast<std::int64_t>(features_.size());
        const Cut* cuts = nullptr;
        Split best;
        for (std::int64_t j = 0; j < n_features; ++j) {
            if (!is_small && j % batch_ == 0) {
                const std::int64_t last = std::min(n_features, j + batch_);
                if (draws) {
                    fill(j, last, hist_);
                    sum_bins(shape_, present_, target_.n_classes(), hist_.data());
                } else {
                    cuts = scan(j, last, best.score);
                }
            }
            const std::int32_t f = features_[static_cast<std::size_t>(j)];
            const Cut cut = cuts    ? cuts[j % batch_]
                            : draws ? best_candidate(j, is_small)
                                    : search_one(f, {dictionary_.count(f)});
            const Split split = as_split(cut, f);
            if (split.beats(best))
                best = split;
            if (!categories_.covers(f, totals_->n_rows))
                continue;
            sets_.count(codes_.data + f, codes_.width, dictionary_.count(f) + 1, r_,
                        *node_);
            const Split set = sets_.best(categories_, target_, limits_.min_leaf, f);
            if (set.beats(best))
                best = set;
        }
        return best;
    }

    // Cuts of features first..last-1 of those drawn, from counters that are as narrow
    // as the node allows.
    const Cut* scan(std::int64_t first, std::int64_t last, double floor) {
        const bool narrow = sizeof(Count) == 4 && n_slices_ == target_.n_classes() &&
                            totals_->weight <= kBoundedWeight<std::uint16_t>;
        return narrow ? scan_in(narrow_hist_, first, last, floor)
                      : scan_in(hist_, first, last, floor);
    }

    template <class Counter>
    const Cut* scan_in(std::vector<Counter>& hist, std::int64_t first,
                       std::int64_t last, double floor) {
        fill(first, last, hist);
        return scanner_.scan_all(shape_, hist.data(), n_thresholds_, *totals_, present_,
                                 limits_, floor, [&](int j) {
                                     const CodeReading reading{n_thresholds_[j]};
                                     return scanner_.scan_one(
                                         shape_, hist.data(), j, reading,
                                         n_thresholds_[j], *totals_, present_, limits_);
                                 });
    }

    // Of feature number j among those drawn.
    Cut best_candidate(std::int64_t j, bool is_small) {
        const auto candidates = candidates_.of_feature(j);
        if (candidates.empty())
            return {};
        const std::int32_t f = features_[static_cast<std::size_t>(j)];
        const int n_thresholds = dictionary_.count(f);
        const CodeReading reading = candidate_codes_.read(candidates, n_thresholds);
        return candidate_codes_.in_dictionary(
            is_small ? search_one(f, reading)
                     : scanner_.scan_one(shape_, hist_.data(),
                                         static_cast<int>(j % batch_), reading,
                                         n_thresholds, *totals_, present_, limits_));
    }

    void draw_varying_features() {
        draw_.begin(node_->key, node_->depth);
        if (node_->size() <= kFetchedRows)
            fetch_codes();
        varying_.start_node(codes_, r_.rows, *node_);
        draw_varying(max_features_, varying_, draw_, features_);
    }

    // Asks for the codes of a small node's rows all at once: they come from anywhere in
    // memory, and the look at the first of them would wait for each in turn.
    void fetch_codes() {
        for (std::int64_t i = node_->begin; i < node_->end; ++i) {
            const std::uint8_t* row =
                codes_.data + std::int64_t{r_.rows[i]} * codes_.width;
            for (const std::int32_t group : draw_.groups()) {
                __builtin_prefetch(row + draw_.start(group));
                __builtin_prefetch(row + draw_.start(group + 1) - 1);
            }
        }
    }

    // In a node too small for histograms.
    Cut search_one(std::int64_t f, const CodeReading& reading) {
        const std::uint8_t* column = codes_.data + f;
        sorted_.sort(column, codes_.width, reading, r_, *node_);
        return sorted_.search(reading, r_, *node_, *totals_, limits_.min_leaf,
                              limits_.min_weight);
    }

    Split as_split(const Cut& cut, std::int64_t f) const {
        return split_by_gap(
            cut, f, node_->key,
            max_candidates_ > 0 ? 0 : gap_between(cut, f, dictionary_, nullptr));
    }

    // Histograms of features first..last-1 of those drawn (a batch at most).
    template <class Counter>
    void fill(std::int64_t first, std::int64_t last, std::vector<Counter>& hist) {
        const auto n = static_cast<int>(last - first);
        std::uint32_t columns[kBatch];
        std::vector<std::uint32_t> lines;
        int most = 0;
        for (int j = 0; j < n; ++j) {
            const std::int32_t f = features_[static_cast<std::size_t>(first + j)];
            columns[j] = static_cast<std::uint32_t>(f);
            n_thresholds_[j] = dictionary_.count(f);
            most = std::max(most, n_thresholds_[j]);
            const std::uint32_t line = columns[j] / FeatureDraw::kGroup *
                                       static_cast<std::uint32_t>(FeatureDraw::kGroup);
            if (std::find(lines.begin(), lines.end(), line) == lines.end())
                lines.push_back(line);
        }
        shape_ = HistogramShape(n, most, n_slices_);
        hist.resize(std::max(hist.size(), static_cast<std::size_t>(shape_.size())));
        fill_histograms(
            shape_, codes_.data, codes_.width, [&](int j) { return columns[j]; }, r_,
            node_->begin, node_->end, present_, target_.n_classes(), lines,
            hist.data());
    }

    const Target& target_;
    Codes codes_;
    Dictionary dictionary_;
    const ClassRows<Count>& r_;
    typename HistogramScanner<Crit, Count>::Limits limits_;
    std::int64_t max_features_, max_candidates_;
    const CategorySettings& categories_;
    int n_slices_;
    FeatureDraw& draw_;
    MethodChoice choice_;
    std::int64_t batch_ = kBatch;

    // Of the node being searched.
    const Open* node_ = nullptr;
    const ClassTotals<Count>* totals_ = nullptr;
    PresentClasses<Count> present_;
    VaryingFeatures varying_;
    std::vector<std::int32_t> features_;
    CandidateList candidates_;
    CandidateCodes candidate_codes_;
    int n_thresholds_[kBatch];
    HistogramShape shape_;
    std::vector<Count> hist_;
    std::vector<std::uint16_t> narrow_hist_;
    HistogramScanner<Crit, Count> scanner_;
    SortedSearch<Crit, Count> sorted_;
    ClassSets<Crit, Count> sets_;
};

}  // namespace dics
