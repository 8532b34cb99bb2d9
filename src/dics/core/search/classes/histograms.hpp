// Class counts of all features, from codes in blocks.
#pragma once

#include "search/classes/histogram.hpp"
#include "search/classes/scan.hpp"

namespace dics {

template <class Crit, class Count>
class ClassHistograms {
  public:
    using Target = ClassCounts<Crit, Count>;
    using Value = Count;
    using Open = OpenNode<ClassTotals<Count>>;

    // Computed once for a node.
    struct Prepared {
        PresentClasses<Count> present, present_minus;
        CandidateList candidates;  // if some are sampled
        bool is_small = false;     // its codes are sorted, see MethodChoice

        bool uses_histogram() const { return !is_small; }
        // Classes of the rows that a histogram counts: those of the node, or those that
        // are subtracted from its histogram.
        const PresentClasses<Count>& counted() const { return present; }
        const PresentClasses<Count>& minus() const { return present_minus; }
    };
    static constexpr bool kReadsTotals = true;
    struct Scratch {
        HistogramScanner<Crit, Count> scanner;
        SortedSearch<Crit, Count> sorted;
        NodeColumns columns;  // for random cuts
        ClassSets<Crit, Count> sets;
    };

    ClassHistograms(const Target& target, const Codes& codes, const SplitRules& rules,
                    const ClassRows<Count>& rows)
        : target_(target),
          codes_(codes),
          rules_(rules),
          r_(rows),
          limits_{rules.min_samples_leaf, target.min_weight()},
          choice_(
              MethodChoice::for_all_features(rules.dictionary, target.n_classes())) {
        const int n_slices =
            target.n_classes() + (counts_rows(rows, rules.min_samples_leaf) ? 1 : 0);
        starts_.push_back(0);
        for (std::int64_t f = 0; f < rules.dictionary.n_features; ++f)
            n_thresholds_.push_back(rules.dictionary.count(f));
        for (std::int64_t first = 0; first < codes.n_features; first += codes.width) {
            const auto begin = n_thresholds_.begin() + first;
            const auto end =
                n_thresholds_.begin() + std::min(codes.n_features, first + codes.width);
            const int most = *std::max_element(begin, end);
            if (most == 0)
                continue;
            blocks_.push_back({first, {static_cast<int>(end - begin), most, n_slices}});
            for (std::int64_t f = first; f < first + (end - begin); ++f)
                blocks_.back().features.push_back(f);
            starts_.push_back(starts_.back() + blocks_.back().shape.size());
        }
    }

    std::int64_t n_blocks() const { return blocks_.size(); }
    // Where the histograms of a block stand among those of a node.
    std::int64_t block_start(std::int64_t block) const { return starts_[block]; }
    std::int64_t size() const { return starts_.back(); }
    // All pools together may take an eighth of the memory of the codes (0.03 of a
    // float32 X).
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
        return rules_.splitter == Splitter::best &&
               !choice_.is_small(node.totals.n_rows, node.totals.n_present);
    }

    void prepare(const Open& node, Prepared& prepared) const {
        if (rules_.max_candidates > 0)
            prepared.candidates.sample(rules_.dictionary, nullptr,
                                       rules_.max_candidates, node.key);
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
        const Block& b = blocks_[block];
        fill_histograms(
            b.shape, codes_.block(b.first / codes_.width), codes_.width,
            [](int j) { return j; }, r_, begin, end, present, target_.n_classes(),
            kFirstLine, hists);
        if (!rules_.reads_all())
            sum_bins(b.shape, present, target_.n_classes(), hists);
    }

    void subtract(std::int64_t block, const PresentClasses<Count>& present, Count* from,
                  const Count* what) const {
        subtract_histograms(blocks_[block].shape, present, target_.n_classes(), from,
                            what);
    }

    Split best_split(std::int64_t block, const Count* hists, const Open& node,
                     Prepared& prepared, Scratch& scratch) const {
        const Block& b = blocks_[block];
        BlockScan scan{*this, b, hists, node, prepared, scratch};
        if (hists && rules_.reads_all())
            scan.cuts = scan.all();
        if (rules_.splitter == Splitter::random)
            scratch.columns.start_node(codes_, r_.rows, node, b.features);
        SplitChooser chooser(
            rules_, node, node.totals.n_rows,
            rules_.max_candidates > 0 ? &prepared.candidates : nullptr);
        return chooser.choose(
            b.shape.n_features, [&](std::int64_t j) { return b.first + j; }, scan);
    }

    CodeSide side(const Split& split) const {
        return {codes_, rules_.dictionary, split};
    }
    CodeSetSide set_side(const Split& split) const {
        return {codes_, rules_.dictionary, split};
    }

  private:
    struct Block {
        std::int64_t first;  // feature
        HistogramShape shape;
        std::vector<std::int32_t> features = {};
    };

    // The features of a block, for SplitChooser.
    struct BlockScan {
        const ClassHistograms& own;
        const Block& b;
        const Count* hists;
        const Open& node;
        const Prepared& prepared;
        Scratch& scratch;
        const Cut* cuts = nullptr;  // of all features, if they are found at once

        const Cut* all() {
            const int* n_thresholds = own.n_thresholds_.data() + b.first;
            return scratch.scanner.scan_all(
                b.shape, hists, n_thresholds, node.totals, prepared.present,
                own.limits_, -1.0e308,
                [&](int j) { return from_histogram(j, {n_thresholds[j]}); });
        }

        CodeRange range(std::int64_t j, std::int64_t f) {
            return scratch.columns.range(j, own.n_thresholds_[f] + 1);
        }
        Cut cut_at(std::int64_t j, std::int64_t f, int threshold) {
            const int missing_code = own.n_thresholds_[f] + 1;
            return scratch.sorted.search_sides(
                scratch.columns.sides(j, threshold, missing_code), own.r_, node,
                own.limits_);
        }
        Cut cut(std::int64_t j, std::int64_t f, const CodeReading& reading, double) {
            if (cuts)
                return cuts[j];
            if (prepared.uses_histogram())
                return from_histogram(j, reading);
            return scratch.sorted.search(column(f, reading), own.r_, node, own.limits_);
        }
        Split best_set(std::int64_t, std::int64_t f, const std::uint64_t* key) {
            return scratch.sets.best(own.rules_.categories,
                                     column(f, {own.n_thresholds_[f]}), own.r_, node,
                                     own.limits_, f, key);
        }

        Cut from_histogram(int j, const CodeReading& reading) {
            return scratch.scanner.scan_one(b.shape, hists, j, reading,
                                            own.n_thresholds_[b.first + j], node.totals,
                                            prepared.present, own.limits_);
        }
        CodeColumn column(std::int64_t f, const CodeReading& reading) const {
            return {own.codes_.column(f), own.codes_.width, reading};
        }
    };

    static constexpr std::uint32_t kFirstLine[] = {0};
    static constexpr std::int64_t kPoolBytes = 1 << 20;
    static constexpr std::int64_t kPoolShare = 8;

    const Target& target_;
    Codes codes_;
    SplitRules rules_;
    const ClassRows<Count>& r_;
    ClassLimits<Count> limits_;
    MethodChoice choice_;
    std::vector<int> n_thresholds_;     // of each feature
    std::vector<Block> blocks_;         // those with a threshold
    std::vector<std::int64_t> starts_;  // of each block's histograms
};

}  // namespace dics
