// Class counts of all features, from codes in blocks.
#pragma once

#include "search/candidate_draw.hpp"
#include "search/class_histogram.hpp"
#include "search/class_sets.hpp"
#include "search/method.hpp"
#include "search/renewed_codes.hpp"
#include "search/sorted_search.hpp"

namespace dics {

template <class Crit, class Count>
class ClassHistograms {
  public:
    using Target = ClassCounts<Crit, Count>;
    using Value = Count;
    using Open = OpenNode<ClassTotals<Count>>;

    // What is found out once about a node.
    struct Prepared {
        PresentClasses<Count> present, present_minus;
        CandidateList candidates;  // of the node, if some are drawn
        bool is_small = false;     // its codes are sorted, see method.hpp

        bool uses_histogram() const { return !is_small; }
        // What is known of the rows that a histogram counts: those of the node, or
        // those that are taken out of its histogram.
        const PresentClasses<Count>& counted() const { return present; }
        const PresentClasses<Count>& minus() const { return present_minus; }
    };
    static constexpr bool kReadsTotals = true;
    struct Scratch {
        HistogramScanner<Crit, Count> scanner;
        SortedSearch<Crit, Count> sorted;
        CandidateCodes candidates;
        ClassSets<Crit, Count> sets;
    };

    // `origin` is null for the tree's first dictionary. With `max_candidates`, so many
    // are drawn for each node.
    ClassHistograms(const Target& target, const Codes& codes,
                    const Dictionary& dictionary, const Origin* origin,
                    const ClassRows<Count>& rows, std::int64_t min_samples_leaf,
                    std::int64_t max_candidates, const CategorySettings& categories)
        : target_(target),
          codes_(codes),
          dictionary_(dictionary),
          origin_(origin),
          r_(rows),
          limits_{min_samples_leaf, target.min_weight()},
          max_candidates_(max_candidates),
          categories_(categories),
          choice_(MethodChoice::of_all_features(dictionary, target.n_classes())) {
        const int n_slices =
            target.n_classes() + (counts_rows(rows, min_samples_leaf) ? 1 : 0);
        starts_.push_back(0);
        for (std::int64_t f = 0; f < dictionary.n_features; ++f)
            n_thresholds_.push_back(dictionary.count(f));
        for (std::int64_t first = 0; first < codes.n_features; first += codes.width) {
            const auto begin = n_thresholds_.begin() + first;
            const auto end =
                n_thresholds_.begin() + std::min(codes.n_features, first + codes.width);
            const int most = *std::max_element(begin, end);
            if (most == 0)
                continue;
            blocks_.push_back({first, {static_cast<int>(end - begin), most, n_slices}});
            starts_.push_back(starts_.back() + blocks_.back().shape.size());
        }
    }

    std::int64_t n_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
    // Where the histograms of a block stand among those of a node.
    std::int64_t block_start(std::int64_t block) const {
        return starts_[static_cast<std::size_t>(block)];
    }
    std::int64_t size() const { return starts_.back(); }
    // All pools together may take an eighth of what the codes take (0.03 of a float32
    // X).
    std::int64_t pool_bytes(std::int64_t) const {
        return std::max(kPoolBytes, codes_.n_rows * codes_.n_features / kPoolShare);
    }

    std::int64_t work(std::int64_t n_rows) const {
        return n_rows * n_blocks() * codes_.width;
    }
    // Is it worth sharing the rows of a node, or of two, among threads?
    bool is_shared(std::int64_t n_rows) const { return work(n_rows) >= kSharedWork; }
    bool uses_threads(std::int64_t) const { return true; }

    bool needs_histogram(const Open& node) const {
        return !choice_.is_small(node.totals.n_rows, node.totals.n_present);
    }

    void prepare(const Open& node, Prepared& prepared) const {
        if (draws())
            prepared.candidates.draw(dictionary_, nullptr, max_candidates_, node.key);
        prepared.is_small = !needs_histogram(node);
        if (!prepared.uses_histogram())
            return;
        prepared.present.find(node.totals);
        if (node.minus_end > node.minus_begin)
            prepared.present_minus.find(node.minus_totals);
    }

    // All features of the block in one walk over the rows: a row's codes fill a cache
    // line that is read once and used whole, however sparse the node's rows are.
    void fill(std::int64_t block, std::int64_t begin, std::int64_t end,
              const PresentClasses<Count>& present, Count* hists) const {
        const Block& b = at(block);
        fill_histograms(
            b.shape, codes_.block(b.first / codes_.width), codes_.width,
            [](int j) { return j; }, r_, begin, end, present, target_.n_classes(),
            kFirstLine, hists);
        if (draws())
            sum_bins(b.shape, present, target_.n_classes(), hists);
    }

    void subtract(std::int64_t block, const PresentClasses<Count>& present, Count* from,
                  const Count* what) const {
        subtract_histograms(at(block).shape, present, target_.n_classes(), from, what);
    }

    Split best_split(std::int64_t block, const Count* hists, const Open& node,
                     Prepared& prepared, Scratch& scratch) const {
        const Block& b = at(block);
        const Cut* cuts =
            hists && !draws() ? scan_all(b, hists, node, prepared, scratch) : nullptr;
        Split best;
        for (int j = 0; j < b.shape.n_features; ++j) {
            const std::int64_t f = b.first + j;
            if (dictionary_.count(f) == 0)
                continue;
            const Cut cut =
                cuts ? cuts[j] : search_one(b, j, hists, node, prepared, scratch);
            const Split split =
                split_by_gap(cut, f, node.key,
                             draws() ? 0 : gap_between(cut, f, dictionary_, origin_));
            if (split.beats(best))
                best = split;
            if (!categories_.covers(f, node.totals.n_rows))
                continue;
            scratch.sets.count(codes_.column(f), codes_.width, dictionary_.count(f) + 1,
                               r_, node);
            const Split set =
                scratch.sets.best(categories_, target_, limits_.min_leaf, f);
            if (set.beats(best))
                best = set;
        }
        return best;
    }

    CodeSide side(const Split& split) const { return {codes_, dictionary_, split}; }
    CodeSetSide set_side(const Split& split) const {
        return {codes_, dictionary_, split};
    }

  private:
    struct Block {
        std::int64_t first;  // feature
        HistogramShape shape;
    };

    static constexpr std::uint32_t kFirstLine[] = {0};
    static constexpr std::int64_t kPoolBytes = 1 << 20;
    static constexpr std::int64_t kPoolShare = 8;

    const Block& at(std::int64_t block) const {
        return blocks_[static_cast<std::size_t>(block)];
    }
    bool draws() const { return max_candidates_ > 0; }

    const Cut* scan_all(const Block& b, const Count* hists, const Open& node,
                        const Prepared& prepared, Scratch& scratch) const {
        const int* n_thresholds = n_thresholds_.data() + b.first;
        return scratch.scanner.scan_all(
            b.shape, hists, n_thresholds, node.totals, prepared.present, limits_,
            -1.0e308, [&](int j) {
                return scratch.scanner.scan_one(b.shape, hists, j, {n_thresholds[j]},
                                                n_thresholds[j], node.totals,
                                                prepared.present, limits_);
            });
    }

    // The best cut of one feature, or of its candidates.
    Cut search_one(const Block& b, int j, const Count* hists, const Open& node,
                   Prepared& prepared, Scratch& scratch) const {
        const std::int64_t f = b.first + j;
        CodeReading reading{dictionary_.count(f)};
        if (!draws())
            return search_read(b, j, hists, node, prepared, scratch, reading);
        const auto candidates = prepared.candidates.of_feature(f);
        if (candidates.empty())
            return {};
        reading = scratch.candidates.read(candidates, reading.n_thresholds);
        return scratch.candidates.in_dictionary(
            search_read(b, j, hists, node, prepared, scratch, reading));
    }

    Cut search_read(const Block& b, int j, const Count* hists, const Open& node,
                    Prepared& prepared, Scratch& scratch,
                    const CodeReading& reading) const {
        const std::int64_t f = b.first + j;
        const std::uint8_t* column = codes_.column(f);
        if (prepared.uses_histogram())
            return scratch.scanner.scan_one(b.shape, hists, j, reading,
                                            dictionary_.count(f), node.totals,
                                            prepared.present, limits_);
        scratch.sorted.sort(column, codes_.width, reading, r_, node);
        return scratch.sorted.search(reading, r_, node, node.totals, limits_.min_leaf,
                                     limits_.min_weight);
    }

    const Target& target_;
    Codes codes_;
    Dictionary dictionary_;
    const Origin* origin_;
    const ClassRows<Count>& r_;
    typename HistogramScanner<Crit, Count>::Limits limits_;
    std::int64_t max_candidates_;
    const CategorySettings& categories_;
    MethodChoice choice_;
    std::vector<int> n_thresholds_;     // of each feature
    std::vector<Block> blocks_;         // those with a threshold
    std::vector<std::int64_t> starts_;  // of each block's histograms
};

}  // namespace dics
