// Search of a node of a regression forest: features drawn anew at each node.
#pragma once

#include "search/candidate_draw.hpp"
#include "search/feature_draw.hpp"
#include "search/feature_scan.hpp"
#include "search/moment_sets.hpp"
#include "search/renewed_codes.hpp"

namespace dics {

// Codes are row-major here, see FeatureDrawSearch. For one thread: a forest grows its
// trees side by side.
template <class Crit>
class MomentDrawSearch {
  public:
    using Target = Moments<Crit>;
    using Open = OpenNode<MomentTotals>;
    struct Context {};

    MomentDrawSearch(const Target& target, const Codes& codes,
                     const Dictionary& dictionary, const MomentRows& rows,
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
          draw_(draw) {}

    Context make_context(int) const { return {}; }
    std::int64_t work(const Open& node) const { return node.size() * max_features_; }

    void find(Open* const* nodes, int n_nodes, Context&, bool, int) {
        for (int i = 0; i < n_nodes; ++i)
            nodes[i]->split = best_split(*nodes[i]);
    }

    CodeSide side(const Split& split) const { return {codes_, dictionary_, split}; }
    CodeSetSide set_side(const Split& split) const {
        return {codes_, dictionary_, split};
    }
    bool read_left_totals(const Open&, Context&, MomentTotals&) const { return false; }
    void hand_over(Open&, Open&, bool, Open&, bool, Context&) {}
    void release(Open&, Context&) {}

  private:
    // Draws until `max_features` features were found that vary within the node.
    Split best_split(const Open& node) {
        r_.copy_cells(node.begin, node.end, cells_);
        scan_.start_node(target_, r_, node, limits_);
        draw_.begin(node.key, node.depth);
        varying_.start_node(codes_, r_.rows, node);
        draw_varying(max_features_, varying_, draw_, features_);
        if (max_candidates_ > 0)
            draw_of_features(dictionary_, max_candidates_, node.key, features_,
                             candidates_);
        Split best;
        for (std::size_t j = 0; j < features_.size(); ++j) {
            const std::int32_t f = features_[j];
            const Cut cut = max_candidates_ > 0
                                ? best_candidate(static_cast<std::int64_t>(j))
                                : scan_rows(f, {dictionary_.count(f)});
            // Ties are decided below.
            if (!best.found() || cut.score >= best.score) {
                const Split split = split_by_gap(
                    cut, f, node.key,
                    max_candidates_ > 0 ? 0
                                        : gap_between(cut, f, dictionary_, nullptr));
                if (split.beats(best))
                    best = split;
            }
            if (!categories_.covers(f, node.totals.n_rows))
                continue;
            const int n_codes = dictionary_.count(f) + 1;
            const Split set = sets_.best(categories_, target_, scan_, f,
                                         {codes_.data + f, codes_.width, {n_codes - 1}},
                                         n_codes, r_, node, cells_.data());
            if (set.beats(best))
                best = set;
        }
        return best;
    }

    // Of feature number j among those drawn.
    Cut best_candidate(std::int64_t j) {
        const auto candidates = candidates_.of_feature(j);
        if (candidates.empty())
            return {};
        const std::int32_t f = features_[static_cast<std::size_t>(j)];
        const CodeReading reading =
            candidate_codes_.read(candidates, dictionary_.count(f));
        return candidate_codes_.in_dictionary(scan_rows(f, reading));
    }

    Cut scan_rows(std::int64_t f, const CodeReading& reading) {
        return scan_.of_rows({codes_.data + f, codes_.width, reading}, cells_.data(),
                             f);
    }

    const Target& target_;
    Codes codes_;
    Dictionary dictionary_;
    const MomentRows& r_;
    SideLimits limits_;
    std::int64_t max_features_, max_candidates_;
    const CategorySettings& categories_;
    FeatureDraw& draw_;
    FeatureScan<Crit> scan_;
    MomentSets<Crit> sets_;

    // Of the node being searched.
    std::vector<std::int64_t> cells_;
    VaryingFeatures varying_;
    std::vector<std::int32_t> features_;
    CandidateList candidates_;
    CandidateCodes candidate_codes_;
};

}  // namespace dics
