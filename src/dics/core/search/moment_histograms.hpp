// Sums of a continuous target for all features, from codes in blocks.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "grow/node.hpp"
#include "search/candidate_draw.hpp"
#include "search/feature_scan.hpp"
#include "search/moment_sets.hpp"
#include "search/renewed_codes.hpp"
#include "target/moments.hpp"

namespace dics {

template <class Crit>
class MomentHistograms {
  public:
    using Target = Moments<Crit>;
    using Value = std::int64_t;
    using Open = OpenNode<MomentTotals>;

    struct Counted {};
    // What is found out once about a node.
    struct Prepared {
        bool is_small = false;
        std::vector<std::int64_t> cells;  // of a small node's rows
        CandidateList candidates;         // of the node, if some are drawn

        bool uses_histogram() const { return !is_small; }
        Counted counted() const { return {}; }
        Counted minus() const { return {}; }
    };
    static constexpr bool kReadsTotals = false;
    struct Scratch {
        FeatureScan<Crit> scan;
        CandidateCodes candidates;
        MomentSets<Crit> sets;
    };

    // `origin` is null for the tree's first dictionary. With `max_candidates`, so many
    // are drawn for each node.
    MomentHistograms(const Target& target, const Codes& codes,
                     const Dictionary& dictionary, const Origin* origin,
                     const MomentRows& rows, std::int64_t min_samples_leaf,
                     std::int64_t max_candidates, const CategorySettings& categories)
        : target_(target),
          codes_(codes),
          dictionary_(dictionary),
          origin_(origin),
          r_(rows),
          limits_{min_samples_leaf, target.min_weight()},
          max_candidates_(max_candidates),
          categories_(categories) {
        starts_.push_back(0);
        for (std::int64_t first = 0; first < codes.n_features; first += codes.width) {
            Block block{first, {}};
            std::int64_t size = 0;
            const std::int64_t last = std::min(codes.n_features, first + codes.width);
            for (std::int64_t f = first; f < last; ++f) {
                block.places.push_back(size);
                size += std::int64_t{dictionary.count(f) + 2} * rows.n_cells;
            }
            starts_.push_back(starts_.back() + size);
            blocks_.push_back(std::move(block));
        }
        const std::int64_t n_bins =
            dictionary.size() / std::max<std::int64_t>(1, dictionary.n_features) + 2;
        small_rows_ = std::max<std::int64_t>(kLeastSmall, n_bins / kSmallShare);
    }

    std::int64_t n_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
    std::int64_t block_start(std::int64_t block) const {
        return starts_[static_cast<std::size_t>(block)];
    }
    std::int64_t size() const { return starts_.back(); }
    // What doesn't fit is counted anew instead of being subtracted.
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
        if (draws())
            prepared.candidates.draw(dictionary_, nullptr, max_candidates_, node.key);
        if (!prepared.is_small)
            return;
        r_.copy_cells(node.begin, node.end, prepared.cells);
    }

    // All features of the block in one walk over the rows.
    void fill(std::int64_t block, std::int64_t begin, std::int64_t end, const Counted&,
              std::int64_t* hists) const {
        const Block& b = at(block);
        std::memset(
            hists, 0,
            sizeof(std::int64_t) *
                static_cast<std::size_t>(block_start(block + 1) - block_start(block)));
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
        const Block& b = at(block);
        scratch.scan.start_node(target_, r_, node, limits_);
        Split best;
        for (std::size_t j = 0; j < b.places.size(); ++j) {
            const std::int64_t f = b.first + static_cast<std::int64_t>(j);
            if (dictionary_.count(f) == 0)
                continue;
            const CodeReading all{dictionary_.count(f)};
            const Cut cut =
                draws() ? best_candidate(f, prepared, scratch)
                : hists ? scratch.scan.of_sums(hists + b.places[j], all, f)
                        : scratch.scan.of_rows({codes_.column(f), codes_.width, all},
                                               prepared.cells.data(), f);
            // Ties are decided below.
            if (!best.found() || cut.score >= best.score) {
                const Split split = split_by_gap(
                    cut, f, node.key,
                    draws() ? 0 : gap_between(cut, f, dictionary_, origin_));
                if (split.beats(best))
                    best = split;
            }
            if (!categories_.covers(f, node.totals.n_rows))
                continue;
            const Split set = scratch.sets.best(categories_, target_, scratch.scan, f,
                                                {codes_.column(f), codes_.width, all},
                                                dictionary_.count(f) + 1, r_, node,
                                                prepared.cells.data());
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
        std::int64_t first;                // feature
        std::vector<std::int64_t> places;  // of each feature's histogram
    };

    static constexpr std::int64_t kPoolBytes = std::int64_t{64} << 20;
    static constexpr std::int64_t kLeastSmall = 16, kSmallShare = 2;
    static constexpr std::int64_t kFetchAhead = 8;

    const Block& at(std::int64_t block) const {
        return blocks_[static_cast<std::size_t>(block)];
    }
    bool draws() const { return max_candidates_ > 0; }
    bool is_small(const Open& node) const {
        return Crit::kUsesRanks || draws() || node.totals.n_rows < small_rows_;
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
            const std::uint8_t* codes =
                block +
                std::int64_t{r_.rows[static_cast<std::size_t>(i)]} * codes_.width;
            const std::int64_t* cells = r_.of(i);
            for (std::size_t j = 0; j < b.places.size(); ++j) {
                std::int64_t* sum =
                    hists + b.places[j] + std::int64_t{codes[j]} * n_cells;
                for (int c = 0; c < n_cells; ++c)
                    sum[c] += cells[c];
            }
        }
    }

    Cut best_candidate(std::int64_t f, const Prepared& prepared,
                       Scratch& scratch) const {
        const auto candidates = prepared.candidates.of_feature(f);
        if (candidates.empty())
            return {};
        const CodeReading reading =
            scratch.candidates.read(candidates, dictionary_.count(f));
        return scratch.candidates.in_dictionary(scratch.scan.of_rows(
            {codes_.column(f), codes_.width, reading}, prepared.cells.data(), f));
    }

    const Target& target_;
    Codes codes_;
    Dictionary dictionary_;
    const Origin* origin_;
    const MomentRows& r_;
    SideLimits limits_;
    std::int64_t max_candidates_;
    const CategorySettings& categories_;
    std::vector<Block> blocks_;
    std::vector<std::int64_t> starts_;  // of each block's histograms
    std::int64_t small_rows_;
};

}  // namespace dics
