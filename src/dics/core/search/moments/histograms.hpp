// Sums of a continuous target for all features, from codes in blocks.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "search/moments/median.hpp"
#include "search/moments/sets.hpp"
#include "search/split_chooser.hpp"
#include "target/moments.hpp"

namespace dics {

// The features of a node, for SplitChooser: from histograms, or from the rows if there
// are none. For one thread.
template <class Crit>
class MomentNodeScan {
  public:
    using Target = Moments<Crit>;
    using Open = OpenNode<MomentTotals>;

    // `cells` are those of the node's rows. The histogram of feature number j begins at
    // hists[places[j]].
    void start_node(const Target& target, const Codes& codes, const SplitRules& rules,
                    const MomentRows& rows, const Open& node,
                    std::span<const std::int32_t> features, const std::int64_t* cells,
                    const std::int64_t* hists = nullptr,
                    const std::int64_t* places = nullptr) {
        target_ = &target;
        codes_ = codes;
        rules_ = &rules;
        r_ = &rows;
        node_ = &node;
        cells_ = cells;
        hists_ = hists;
        places_ = places;
        scan_.start_node(target, rows, node,
                         {rules.min_samples_leaf, target.min_weight()});
        if (rules.splitter == Splitter::random)
            columns_.start_node(codes, rows.rows, node, features);
    }

    CodeRange range(std::int64_t j, std::int64_t f) {
        return columns_.range(j, rules_->dictionary.count(f) + 1);
    }
    Cut cut_at(std::int64_t j, std::int64_t f, int threshold)
        requires(!Crit::kUsesRanks)
    {
        add_up(columns_.sides(j, threshold, rules_->dictionary.count(f) + 1));
        return scan_.of_sums(sums_.data(), CodeReading::of_sides(), f);
    }
    Cut cut(std::int64_t j, std::int64_t f, const CodeReading& reading, double) {
        return hists_ ? scan_.of_sums(hists_ + places_[j], reading, f)
                      : scan_.of_rows(column(f, reading), cells_, f);
    }
    Split best_set(std::int64_t, std::int64_t f, const std::uint64_t* key) {
        return sets_.best(rules_->categories, *target_, scan_,
                          column(f, {rules_->dictionary.count(f)}), *r_, *node_, cells_,
                          f, key);
    }

  private:
    CodeColumn column(std::int64_t f, const CodeReading& reading) const {
        return {codes_.column(f), codes_.width, reading};
    }

    // Adds up the cells of each side.
    void add_up(const std::uint8_t* sides) {
        const std::int64_t n_rows = node_->size();
        const int n_cells = r_->n_cells;
        sums_.assign(kSides * n_cells, 0);
        if (n_cells == 2) {
            add_pairs(sides, n_rows);
            return;
        }
        for (std::int64_t i = 0; i < n_rows; ++i) {
            for (int c = 0; c < n_cells; ++c)
                sums_[sides[i] * n_cells + c] += cells_[i * n_cells + c];
        }
    }

    // Consecutive rows go to two copies of the sums, or each would wait for the sum of
    // the one before.
    void add_pairs(const std::uint8_t* sides, std::int64_t n_rows) {
        const auto* cells = reinterpret_cast<const CellPair*>(cells_);
        CellPair sums[2][kSides] = {};
        std::int64_t i = 0;
        for (; i + 1 < n_rows; i += 2) {
            sums[0][sides[i]] += cells[i];
            sums[1][sides[i + 1]] += cells[i + 1];
        }
        if (i < n_rows)
            sums[0][sides[i]] += cells[i];
        for (int side = 0; side < kSides; ++side) {
            sums_[side * 2] = sums[0][side][0] + sums[1][side][0];
            sums_[side * 2 + 1] = sums[0][side][1] + sums[1][side][1];
        }
    }

    static constexpr int kSides = 3;

    const Target* target_ = nullptr;
    Codes codes_{};
    const SplitRules* rules_ = nullptr;
    const MomentRows* r_ = nullptr;
    const Open* node_ = nullptr;
    const std::int64_t *cells_ = nullptr, *hists_ = nullptr, *places_ = nullptr;
    FeatureScan<Crit> scan_;
    NodeColumns columns_;  // for random cuts
    std::vector<std::int64_t> sums_;
    MomentSets<Crit> sets_;
};

// The same from the rows of a node, for SampledSearch.
template <class Crit>
class MomentRowScan : public MomentNodeScan<Crit> {
  public:
    using typename MomentNodeScan<Crit>::Target;
    using typename MomentNodeScan<Crit>::Open;

    MomentRowScan(const Target& target, const Codes& codes, const SplitRules& rules,
                  const MomentRows& rows, std::int64_t)
        : target_(target), codes_(codes), rules_(rules), r_(rows) {}

    void start_node(const Open& node, const std::vector<std::int32_t>& features) {
        r_.copy_cells(node.begin, node.end, cells_);
        MomentNodeScan<Crit>::start_node(target_, codes_, rules_, r_, node, features,
                                         cells_.data());
    }

  private:
    const Target& target_;
    Codes codes_;
    SplitRules rules_;
    const MomentRows& r_;
    std::vector<std::int64_t> cells_;
};

template <class Crit>
class MomentHistograms {
  public:
    using Target = Moments<Crit>;
    using Value = std::int64_t;
    using Open = OpenNode<MomentTotals>;

    struct Counted {};
    // Computed once for a node.
    struct Prepared {
        bool is_small = false;
        std::vector<std::int64_t> cells;  // of a small node's rows
        CandidateList candidates;         // if some are sampled

        bool uses_histogram() const { return !is_small; }
        Counted counted() const { return {}; }
        Counted minus() const { return {}; }
    };
    static constexpr bool kReadsTotals = false;
    using Scratch = MomentNodeScan<Crit>;

    MomentHistograms(const Target& target, const Codes& codes, const SplitRules& rules,
                     const MomentRows& rows)
        : target_(target), codes_(codes), rules_(rules), r_(rows) {
        const Dictionary& dictionary = rules.dictionary;
        starts_.push_back(0);
        for (std::int64_t first = 0; first < codes.n_features; first += codes.width) {
            Block block{first, {}, {}};
            std::int64_t size = 0;
            const std::int64_t last = std::min(codes.n_features, first + codes.width);
            for (std::int64_t f = first; f < last; ++f) {
                block.places.push_back(size);
                block.features.push_back(f);
                size += std::int64_t{dictionary.count(f) + 2} * rows.n_cells;
            }
            starts_.push_back(starts_.back() + size);
            blocks_.push_back(std::move(block));
        }
        const std::int64_t n_bins =
            dictionary.size() / std::max<std::int64_t>(1, dictionary.n_features) + 2;
        small_rows_ = std::max<std::int64_t>(kLeastSmall, n_bins / kSmallShare);
    }

    std::int64_t n_blocks() const { return blocks_.size(); }
    std::int64_t block_start(std::int64_t block) const { return starts_[block]; }
    std::int64_t size() const { return starts_.back(); }
    // Histograms that do not fit are counted instead of subtracted.
    std::int64_t pool_bytes(std::int64_t bytes) const {
        return std::max(kPoolBytes, 2 * bytes);
    }

    std::int64_t work(std::int64_t n_rows) const {
        return n_rows * n_blocks() * codes_.width;
    }
    // Is it worth sharing the rows of a node, or of two, among threads?
    bool is_shared(std::int64_t n_rows) const { return work(n_rows) >= kSharedWork; }
    bool uses_threads(std::int64_t) const { return true; }

    bool needs_histogram(const Open& node) const { return !is_small(node); }

    void prepare(const Open& node, Prepared& prepared) const {
        prepared.is_small = is_small(node);
        if (rules_.max_candidates > 0)
            prepared.candidates.sample(rules_.dictionary, nullptr,
                                       rules_.max_candidates, node.key);
        if (prepared.is_small)
            r_.copy_cells(node.begin, node.end, prepared.cells);
    }

    // All features of the block in one walk over the rows.
    void fill(std::int64_t block, std::int64_t begin, std::int64_t end, const Counted&,
              std::int64_t* hists) const {
        const Block& b = blocks_[block];
        std::memset(
            hists, 0,
            sizeof(std::int64_t) * (block_start(block + 1) - block_start(block)));
        if (r_.n_cells == 2)
            fill_pairs(b, begin, end, hists);
        else
            fill_cells(b, begin, end, hists);
    }

    void subtract(std::int64_t block, const Counted&, std::int64_t* from,
                  const std::int64_t* what) const {
        const std::int64_t size = block_start(block + 1) - block_start(block);
        for (std::int64_t i = 0; i < size; ++i)
            from[i] -= what[i];
    }

    Split best_split(std::int64_t block, const std::int64_t* hists, const Open& node,
                     Prepared& prepared, Scratch& scratch) const {
        const Block& b = blocks_[block];
        scratch.start_node(target_, codes_, rules_, r_, node, b.features,
                           prepared.cells.data(), hists, b.places.data());
        SplitChooser chooser(
            rules_, node, node.totals.n_rows,
            rules_.max_candidates > 0 ? &prepared.candidates : nullptr);
        return chooser.choose(
            b.places.size(), [&](std::int64_t j) { return b.first + j; }, scratch);
    }

    CodeSide side(const Split& split) const {
        return {codes_, rules_.dictionary, split};
    }
    CodeSetSide set_side(const Split& split) const {
        return {codes_, rules_.dictionary, split};
    }

  private:
    struct Block {
        std::int64_t first;                // feature
        std::vector<std::int64_t> places;  // of each feature's histogram
        std::vector<std::int32_t> features;
    };

    static constexpr std::int64_t kPoolBytes = std::int64_t{64} << 20;
    static constexpr std::int64_t kLeastSmall = 16, kSmallShare = 2;
    static constexpr std::int64_t kFetchAhead = 8;

    bool is_small(const Open& node) const {
        return Crit::kUsesRanks || !rules_.reads_all() ||
               node.totals.n_rows < small_rows_;
    }

    // Weight and target are added at once.
    void fill_pairs(const Block& b, std::int64_t begin, std::int64_t end,
                    std::int64_t* hists) const {
        const std::uint8_t* block = codes_.block(b.first / codes_.width);
        const std::int64_t* places = b.places.data();
        const std::size_t n_features = b.places.size();
        const std::uint32_t* rows = r_.rows.data();
        for (std::int64_t i = begin; i < end; ++i) {
            if (i + kFetchAhead < end) {
                const std::int64_t next = rows[i + kFetchAhead];
                __builtin_prefetch(block + next * codes_.width);
                __builtin_prefetch(r_.cells + next * 2);
            }
            const std::uint8_t* codes = block + std::int64_t{rows[i]} * codes_.width;
            const CellPair cells = *reinterpret_cast<const CellPair*>(
                r_.cells + std::int64_t{rows[i]} * 2);
            for (std::size_t j = 0; j < n_features; ++j) {
                auto* sum = reinterpret_cast<CellPair*>(hists + places[j] +
                                                        std::int64_t{codes[j]} * 2);
                *sum += cells;
            }
        }
    }

    void fill_cells(const Block& b, std::int64_t begin, std::int64_t end,
                    std::int64_t* hists) const {
        const std::uint8_t* block = codes_.block(b.first / codes_.width);
        const int n_cells = r_.n_cells;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::uint8_t* codes = block + std::int64_t{r_.rows[i]} * codes_.width;
            const std::int64_t* cells = r_.of(i);
            for (std::size_t j = 0; j < b.places.size(); ++j) {
                std::int64_t* sum =
                    hists + b.places[j] + std::int64_t{codes[j]} * n_cells;
                for (int c = 0; c < n_cells; ++c)
                    sum[c] += cells[c];
            }
        }
    }

    const Target& target_;
    Codes codes_;
    SplitRules rules_;
    const MomentRows& r_;
    std::vector<Block> blocks_;
    std::vector<std::int64_t> starts_;  // of each block's histograms
    std::int64_t small_rows_;
};

}  // namespace dics
