// Sums of gradients of a round's features, from codes row by row.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

#include "boost/sparse_codes.hpp"
#include "data/matrix.hpp"
#include "grow/node.hpp"
#include "kernels/boost_kernels.hpp"
#include "search/gradients/interactions.hpp"
#include "search/split_chooser.hpp"
#include "target/gradients.hpp"

namespace dics {

// Features (and, if some are sampled, candidates) a round looks at.
struct RoundSplits {
    std::vector<std::int32_t> features;  // rising
    std::vector<std::int32_t> dense;     // those whose codes are all there
    bool drawn = false;                  // only the candidates are allowed
    CandidateList candidates;

    std::size_t size() const { return features.size(); }
};

// The codes of a round's dense features, row by row: a node's rows lie scattered, and
// one visit of a row serves all features. Column by column each code of a small node is
// a fetch of its own (MNIST, 60 rounds of 100 features, two threads: 1.28 s so, 1.10 s
// by rows, though they are gathered in each round; 2026-11).
struct RoundCodes {
    const std::uint8_t* data;
    std::int64_t stride;
    bool by_row;  // of all rows; otherwise of those sampled, by place
};

class GradientHistograms {
  public:
    using Target = Gradients;
    using Value = std::int32_t;
    using Open = OpenNode<GradientTotals>;

    struct Counted {};
    struct Prepared {
        bool uses_histogram() const { return true; }
        Counted counted() const { return {}; }
        Counted minus() const { return {}; }
    };
    static constexpr bool kReadsTotals = false;
    struct Scratch {
        std::vector<float> sums;
        std::vector<std::int32_t> groups;  // of categories, in their order
        std::vector<std::int32_t> total;
        CategoryOrder order;
    };

    // `codes` are of all rows, column by column.
    GradientHistograms(const Target& target, const Codes& codes,
                       const Dictionary& dictionary, const GradientRows& rows,
                       const SparseCodes& sparse, std::int64_t min_samples_leaf,
                       Interactions interactions, const CategorySettings& categories,
                       int n_threads, int n_slices)
        : target_(target),
          codes_(codes),
          dictionary_(dictionary),
          r_(rows),
          sparse_(sparse),
          min_samples_leaf_(min_samples_leaf),
          interactions_(std::move(interactions)),
          categories_(categories),
          n_threads_(n_threads),
          n_slices_(n_slices) {}

    void start_round(const RoundSplits& splits, const RoundCodes& codes) {
        splits_ = &splits;
        round_codes_ = codes;
        place_features();
        make_blocks();
        for (std::size_t p = 0; p < offsets_.size(); ++p)
            place_sparse(p);
    }

    std::int64_t n_blocks() const {
        return static_cast<std::int64_t>(first_features_.size()) - 1;
    }
    std::int64_t block_start(std::int64_t block) const {
        return starts_[first_feature(block)];
    }
    // The first block of a slice; each of the peers searches one.
    std::int64_t first_block(int slice) const { return first_blocks_[slice]; }
    std::int64_t size() const { return starts_.back() + kLanes; }
    // Histograms that do not fit are counted instead of subtracted. Few entries are
    // soon counted, and there a large pool would be most of the memory of a fit.
    std::int64_t pool_bytes(std::int64_t bytes) const {
        return std::max(codes_.lists ? kListedPoolBytes : kPoolBytes, 2 * bytes);
    }

    std::int64_t work(std::int64_t n_rows) const {
        return n_rows * static_cast<std::int64_t>(splits_->size());
    }
    bool is_shared(std::int64_t) const { return true; }
    // Depends on how many rows are counted, and not taken from others.
    bool uses_threads(std::int64_t n_rows) const {
        return work(n_rows) * cells() + starts_.back() >= kParallelCells;
    }

    bool needs_histogram(const Open&) const { return true; }
    void prepare(const Open&, Prepared&) const {}

    void fill(std::int64_t block, std::int64_t begin, std::int64_t end, const Counted&,
              std::int32_t* hists) const {
        if (block >= n_dense_blocks_)
            return fill_sparse(block, begin, end, hists);
        const std::size_t first = first_feature(block);
        const std::size_t last = first_feature(block + 1);
        std::memset(hists, 0, sizeof(std::int32_t) * (starts_[last] - starts_[first]));
        FillArgs args{};
        args.n_features = static_cast<int>(last - first);
        for (std::size_t j = first; j < last; ++j)
            args.hist[j - first] = hists + (starts_[j] - starts_[first]);
        args.codes = round_codes_.data + first;
        args.stride = round_codes_.stride;
        args.rows = round_codes_.by_row ? r_.rows : nullptr;
        args.places = r_.places.data() + begin;
        args.values = r_.values;
        args.n_rows = end - begin;
        args.cells = cells();
        boost_kernels().fill(args);
    }

    void subtract(std::int64_t block, const Counted&, std::int32_t* from,
                  const std::int32_t* what) const {
        const std::int64_t size = block_start(block + 1) - block_start(block);
        for (std::int64_t i = 0; i < size; ++i)
            from[i] -= what[i];
    }

    Split best_split(std::int64_t block, const std::int32_t* hists, const Open& node,
                     Prepared&, Scratch& scratch) const {
        scratch.sums.resize(static_cast<std::size_t>(
            std::max(3 * (kMaxThresholds + 1 + kLanes), 2 * (cells() + kLanes))));
        scratch.total.assign(cells() + kLanes, 0);
        for (int c = 0; c < cells(); ++c)
            scratch.total[c] = target_.narrowed(node.totals.cells[c], c);
        GainArgs args{};
        args.total = scratch.total.data();
        args.n_outputs = target_.outputs().n;
        args.n_hessians = target_.outputs().n_hessians;
        args.cells = cells();
        args.l2 = target_.l2();
        args.min_rows = static_cast<std::int32_t>(
            std::min<std::int64_t>(min_samples_leaf_, node.totals.n_rows));
        args.min_hessian = target_.min_hessian();
        args.scratch = scratch.sums.data();
        args.is_bounded = target_.is_constrained();
        args.lower = static_cast<float>(node.totals.lower);
        args.upper = static_cast<float>(node.totals.upper);
        const std::int64_t first = first_feature(block);
        const SplitRules rules{dictionary_, categories_,    min_samples_leaf_,
                               0,           Splitter::best, false};
        BlockScan scan{*this, hists, first, args, node, scratch};
        SplitChooser chooser(rules, node, node.totals.n_rows,
                             splits_->drawn ? &splits_->candidates : nullptr);
        return chooser.choose(
            first_feature(block + 1) - first,
            [&](std::int64_t j) {
                const std::int32_t f = layout_[first + j];
                return interactions_.allow(node.interactions, f) ? f : -1;
            },
            scan);
    }

    // `hists` are those of the node that is split.
    template <class Sum>
    void read_left_totals(const Split& split, const Sum* hists,
                          GradientTotals& totals) const {
        const std::size_t place = places_[split.feature];
        const Sum* hist = hists + starts_[place];
        target_.clear(totals);
        if (split.is_set) {
            for (int code = 0; code <= dictionary_.count(split.feature); ++code) {
                if (split.left.has(code))
                    target_.add(hist + code * cells(), totals);
            }
        } else {
            for (int bin = 0; bin <= split.index; ++bin)
                target_.add(hist + bin * cells(), totals);
        }
        if (split.saw_missing && split.missing_left)
            target_.add(hist + (dictionary_.count(split.feature) + 1) * cells(),
                        totals);
        target_.finish(totals);
    }

    // Totals as numbers that peers send one another.
    std::size_t totals_size() const { return cells(); }
    void write_totals(const GradientTotals& totals, std::int64_t* to) const {
        std::copy_n(totals.cells.begin(), totals_size(), to);
    }
    void read_totals(const std::int64_t* from, GradientTotals& totals) const {
        target_.clear(totals);
        target_.add(from, totals);
        target_.finish(totals);
    }

    CodeSide side(const Split& split) {
        if (!codes_.lists)
            return {codes_, dictionary_, split};
        side_column_.resize(codes_.n_rows);
        codes_.lists->spread(split.feature, side_column_.data());
        return {side_column_.data(), 1, dictionary_, split};
    }
    CodeSetSide set_side(const Split& split) const {
        return {codes_, dictionary_, split};
    }
    int interactions_below(const Open& node) {
        return interactions_.below(node.interactions, node.split.feature);
    }

  protected:
    const Target& target() const { return target_; }

  private:
    static constexpr std::int64_t kPoolBytes = std::int64_t{128} << 20;
    static constexpr std::int64_t kListedPoolBytes = std::int64_t{4} << 20;
    // Additions below which no thread is woken.
    static constexpr std::int64_t kParallelCells = 1 << 14;

    // Dense features, then the sparse ones, part by part.
    void place_features() {
        layout_ = splits_->dense;
        part_starts_.clear();
        for (const auto& part : sparse_.parts()) {
            part_starts_.push_back(layout_.size());
            std::set_intersection(part.features.begin(), part.features.end(),
                                  splits_->features.begin(), splits_->features.end(),
                                  std::back_inserter(layout_));
        }
        part_starts_.push_back(layout_.size());
        starts_.clear();
        places_.assign(dictionary_.n_features, 0);
        std::int64_t size = 0;
        for (std::size_t j = 0; j < layout_.size(); ++j) {
            places_[layout_[j]] = j;
            starts_.push_back(size);
            size += std::int64_t{dictionary_.count(layout_[j]) + 2} * cells();
        }
        starts_.push_back(size);
    }

    // Sums are exact, so the blocks may depend on the number of threads: two for each,
    // in groups of four features, as the kernel reads them. Slices of peers,
    // which must not depend on it, are made of whole blocks.
    void make_blocks() {
        const std::size_t n_dense = splits_->dense.size();
        const auto n_tasks = 2 * n_threads_;
        const std::size_t even = (n_dense + n_tasks - 1) / n_tasks;
        const auto most = std::clamp<std::size_t>((even + 3) / 4 * 4, 4, kFillFeatures);
        const std::vector<std::size_t> slices = slice_starts();
        first_features_.clear();
        first_blocks_.clear();
        std::size_t j = 0;
        for (const std::size_t start : slices) {
            for (; j < std::min(start, n_dense);
                 j = std::min({j + most, start, n_dense}))
                first_features_.push_back(j);
        }
        n_dense_blocks_ = static_cast<std::int64_t>(first_features_.size());
        offsets_.resize(sparse_.parts().size());
        first_features_.insert(first_features_.end(), part_starts_.begin(),
                               part_starts_.end());
        for (const std::size_t start : slices)
            first_blocks_.push_back(std::lower_bound(first_features_.begin(),
                                                     first_features_.end(), start) -
                                    first_features_.begin());
    }

    // Where the slices of peers begin in the layout, about as large as one another.
    std::vector<std::size_t> slice_starts() const {
        std::vector<std::size_t> cuts;
        for (std::size_t j = 0; j < splits_->dense.size(); j += 4)
            cuts.push_back(j);
        cuts.insert(cuts.end(), part_starts_.begin(), part_starts_.end());
        std::vector<std::size_t> found{0};
        std::size_t cut = 0;
        for (int slice = 1; slice < n_slices_; ++slice) {
            const std::int64_t share = starts_.back() * slice / n_slices_;
            auto distance = [&](std::size_t i) {
                return std::abs(starts_[cuts[i]] - share);
            };
            while (cut + 1 < cuts.size() && distance(cut + 1) <= distance(cut))
                ++cut;
            found.push_back(cuts[cut]);
        }
        found.push_back(layout_.size());
        return found;
    }

    // The features of a block, for SplitChooser.
    struct BlockScan {
        const GradientHistograms& own;
        const std::int32_t* hists;
        std::int64_t first;
        GainArgs args;  // what all features share
        const Open& node;
        Scratch& scratch;

        Cut cut(std::int64_t j, std::int64_t f, const CodeReading& reading, double) {
            start(j, f);
            args.n_thresholds = own.dictionary_.count(f);
            args.candidates = reading.candidates;
            args.n_candidates = reading.n_thresholds;
            return boost_kernels().best_cut(args);
        }
        Split best_set(std::int64_t j, std::int64_t f, const std::uint64_t*) {
            start(j, f);
            return own.best_set(f, args, node, scratch);
        }
        void start(std::int64_t j, std::int64_t f) {
            args.direction = own.target_.direction(f);
            args.hist = hists + (own.starts_[first + j] - own.starts_[first]);
        }
    };

    // The best set of categories: a prefix of their order by gradients over hessians.
    // The rows that rate this order also made it: with k categories that are pure
    // noise, the best set gains in proportion to k. Hence an l2 for each of them.
    //
    // AUC of 200 categories of 125 rows each, without the column, with an l2 of 100 for
    // all of them and of 30 for each: 0.868, 0.850, 0.864 where they are noise, 0.839,
    // 0.871, 0.878 where they are not; R2 0.648, 0.614, 0.636 and 0.559, 0.654, 0.669.
    // With 50 categories 0.865, 0.861, 0.863 and 0.839, 0.870, 0.871. Five sets of
    // bench_categories do not distinguish 10 from 80 (2026-11).
    Split best_set(std::int64_t f, GainArgs args, const Open& node,
                   Scratch& scratch) const {
        const Outputs& outputs = target_.outputs();
        CategoryOrder& order = scratch.order;
        auto sums_of = [&](int code) { return args.hist + code * cells(); };
        if (!order.find(
                dictionary_.count(f) + 1, outputs.n,
                [&](int code) { return sums_of(code)[outputs.rows_at()]; },
                [&](int code, int c) {
                    const double h =
                        sums_of(code)[outputs.hessian_at(c)] + target_.cat_smooth();
                    return h > 0 ? sums_of(code)[c] / h : 0.0;
                },
                categories_.set_limits, nullptr))
            return {};
        order.add_up(args.hist, cells(), kLanes, scratch.groups);
        args.hist = scratch.groups.data();
        args.n_thresholds = args.n_candidates = order.n_groups() - 1;
        args.candidates = nullptr;
        args.l2 += target_.cat_l2() * static_cast<float>(order.n_categories());
        return order.split(boost_kernels().best_cut(args), f, node.totals.n_rows);
    }

    int cells() const { return target_.outputs().cells; }
    std::size_t first_feature(std::int64_t block) const {
        return first_features_[block];
    }

    // Where the entries of a part's features are added, from the start of their block;
    // those that the round does not use go to a separate dump after it.
    void place_sparse(std::size_t p) {
        const auto& part = sparse_.parts()[p];
        const std::int64_t block = n_dense_blocks_ + static_cast<std::int64_t>(p);
        const std::int64_t start = block_start(block);
        const std::size_t first = first_feature(block), last = first_feature(block + 1);
        offsets_[p].assign(part.features.size(), block_start(block + 1) - start);
        std::size_t j = first;
        for (std::size_t k = 0; k < part.features.size() && j < last; ++k) {
            if (layout_[j] == part.features[k])
                offsets_[p][k] = starts_[j++] - start;
        }
    }

    // The most frequent bin of a feature is the total less all others.
    void fill_sparse(std::int64_t block, std::int64_t begin, std::int64_t end,
                     std::int32_t* hists) const {
        const auto p = block - n_dense_blocks_;
        const std::int64_t size = block_start(block + 1) - block_start(block);
        const bool has_dump = first_feature(block + 1) - first_feature(block) <
                              sparse_.parts()[p].features.size();
        std::vector<std::int32_t> space;
        std::int32_t* to = hists;
        if (has_dump) {
            space.resize(size + std::int64_t{256} * cells());
            to = space.data();
        } else {
            std::memset(hists, 0, sizeof(std::int32_t) * size);
        }
        std::vector<std::int32_t> total(cells());
        SparseFillArgs args{};
        args.starts = sparse_.parts()[p].starts.data();
        args.entries = sparse_.parts()[p].entries.data();
        args.offsets = offsets_[p].data();
        args.rows = r_.rows;
        args.places = r_.places.data() + begin;
        args.values = r_.values;
        args.n_rows = end - begin;
        args.cells = cells();
        args.hist = to;
        args.total = total.data();
        boost_kernels().fill_sparse(args);
        if (has_dump)
            std::copy_n(to, size, hists);
        for (std::size_t j = first_feature(block); j < first_feature(block + 1); ++j)
            complete(j, total, hists + (starts_[j] - block_start(block)));
    }

    void complete(std::size_t j, const std::vector<std::int32_t>& total,
                  std::int32_t* hist) const {
        const int common = sparse_.common_code(layout_[j]);
        std::int32_t* left = hist + common * cells();
        std::copy(total.begin(), total.end(), left);
        for (int bin = 0; bin < dictionary_.count(layout_[j]) + 2; ++bin) {
            const std::int32_t* other = hist + bin * cells();
            for (int c = 0; bin != common && c < cells(); ++c)
                left[c] -= other[c];
        }
    }

    const Target& target_;
    Codes codes_;
    std::vector<std::uint8_t> side_column_;  // of the feature that splits, from lists
    Dictionary dictionary_;
    const GradientRows& r_;
    const SparseCodes& sparse_;
    std::int64_t min_samples_leaf_;
    Interactions interactions_;
    CategorySettings categories_;
    int n_threads_, n_slices_;
    const RoundSplits* splits_ = nullptr;
    RoundCodes round_codes_{};
    // Dense features, then the sparse ones of each part; where blocks of them begin.
    std::vector<std::int32_t> layout_;
    std::vector<std::size_t> first_features_, part_starts_;
    std::vector<std::int64_t> first_blocks_;  // of the slices of peers, and the end
    std::int64_t n_dense_blocks_ = 0;
    std::vector<std::int64_t> starts_;                // of each feature's histogram
    std::vector<std::size_t> places_;                 // of each feature in the layout
    std::vector<std::vector<std::int64_t>> offsets_;  // of each part's features
};

// For sums of gradients of more rows than 32 bits are enough for.
//
// Rows are added up in 32 bits, some at a time, and these sums in 64. A search narrows
// sums to 32 bits again (see Gradients::set_shift): it rounds by 2^-31 of the node,
// which decides between equally good cuts. Numbers of rows are not rounded.
class WideGradientHistograms : public GradientHistograms {
  public:
    using Value = std::int64_t;
    struct Scratch {
        GradientHistograms::Scratch own;
        std::vector<std::int32_t> narrow;
    };
    using GradientHistograms::GradientHistograms;

    void fill(std::int64_t block, std::int64_t begin, std::int64_t end,
              const Counted& counted, std::int64_t* hists) const {
        const std::int64_t size = block_size(block);
        std::fill_n(hists, size, 0);
        std::vector<std::int32_t> some(size + kLanes);
        for (std::int64_t first = begin; first < end; first += kRowsAtOnce) {
            GradientHistograms::fill(block, first, std::min(end, first + kRowsAtOnce),
                                     counted, some.data());
            for (std::int64_t i = 0; i < size; ++i)
                hists[i] += some[i];
        }
    }

    void subtract(std::int64_t block, const Counted&, std::int64_t* from,
                  const std::int64_t* what) const {
        for (std::int64_t i = 0; i < block_size(block); ++i)
            from[i] -= what[i];
    }

    Split best_split(std::int64_t block, const std::int64_t* hists, const Open& node,
                     Prepared& prepared, Scratch& scratch) const {
        const std::int64_t size = block_size(block);
        const int n_cells = target().outputs().cells;
        scratch.narrow.assign(size + kLanes, 0);
        for (std::int64_t i = 0; i < size; ++i)
            scratch.narrow[i] =
                target().narrowed(hists[i], static_cast<int>(i % n_cells));
        return GradientHistograms::best_split(block, scratch.narrow.data(), node,
                                              prepared, scratch.own);
    }

  private:
    // Sums of this many numbers of 16 bits fit into 31.
    static constexpr std::int64_t kRowsAtOnce = 1 << 15;

    std::int64_t block_size(std::int64_t block) const {
        return block_start(block + 1) - block_start(block);
    }
};

}  // namespace dics
