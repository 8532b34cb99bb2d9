// Search from codes: a class histogram of a feature prices all its thresholds.
#pragma once

#include "grow/node.hpp"
#include "grow/pool.hpp"
#include "kernels/kernels.hpp"
#include "search/bit_mask_search.hpp"
#include "search/candidate_draw.hpp"
#include "search/histogram.hpp"
#include "search/sorted_search.hpp"

namespace dics {

// What the codes of a renewed dictionary are in the tree's first one: the range that
// the rows of each code had there. Gaps are measured in the first dictionary
// throughout.
struct Origin {
    std::vector<std::int32_t> n_thresholds;     // of each feature, in the first one
    std::vector<std::uint8_t> lowest, highest;  // of code c at offsets[f] + f + c

    Origin(const Dictionary& dictionary, const Origin* parent,
           const Dictionary& parent_dictionary) {
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            n_thresholds.push_back(parent ? parent->n_thresholds[f]
                                          : parent_dictionary.count(f));
        }
        const auto size =
            static_cast<std::size_t>(dictionary.size() + dictionary.n_features);
        lowest.assign(size, 255);
        highest.assign(size, 0);
    }

    static std::size_t at(const Dictionary& dictionary, std::int64_t f, int code) {
        return static_cast<std::size_t>(dictionary.offsets[f] + f + code);
    }
    void add(std::size_t at, std::uint8_t low, std::uint8_t high) {
        lowest[at] = std::min(lowest[at], low);
        highest[at] = std::max(highest[at], high);
    }
};

template <class Crit, class CountT>
class HistogramSearch {
  public:
    using Count = CountT;
    using Criterion = Crit;

    // Scratch of one thread.
    struct Scratch {
        std::vector<Count> hist;
        HistogramScanner<Crit, Count> scanner;
        SortedSearch<Crit, Count> sorted;

        Count* space(std::int64_t size) {
            hist.resize(std::max(hist.size(), static_cast<std::size_t>(size)));
            return hist.data();
        }
    };
    // What the nodes grown by one thread share.
    struct Context {
        HistogramPool<Count> pool;
        NodeTotals<Count> totals;
        CandidateList candidates;  // of the node, if some are drawn
        BitMaskSearch<Crit, Count> masks;
    };

    // `origin` is null for the tree's first dictionary.
    HistogramSearch(const Codes& codes, const Dictionary& dictionary,
                    const Origin* origin, NodeRows<Count>& rows,
                    const GrowSettings& settings, Count min_weight, Team& team)
        : codes_(codes),
          dictionary_(dictionary),
          origin_(origin),
          r_(rows),
          settings_(settings),
          min_weight_(min_weight),
          team_(team),
          scratch_(static_cast<std::size_t>(team.size())) {
        const int n_slices = settings.n_classes + (counts_rows(rows, settings) ? 1 : 0);
        std::int64_t n_counts = 0;
        offsets_.push_back(0);
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            n_thresholds_.push_back(dictionary.count(f));
            n_counts += (dictionary.count(f) + 2) * n_slices;
        }
        for (std::int64_t b = 0; b < codes.n_blocks(); ++b) {
            const auto first = n_thresholds_.begin() + b * codes.width;
            const auto last = n_thresholds_.begin() + end_of(b);
            const int most = *std::max_element(first, last);
            shapes_.emplace_back(static_cast<int>(last - first), most, n_slices);
            offsets_.push_back(offsets_.back() + shapes_.back().size());
            if (most > 0)
                blocks_.push_back(b);
        }
        const std::int64_t mean_counts =
            n_counts / std::max<std::int64_t>(1, codes.n_features);
        small_rows_ = std::clamp<std::int64_t>(mean_counts / kCountsPerSmallRow,
                                               kMinHistogramRows, (1 << 24) - 1);
    }

    // One of `n_sharing` contexts in use at a time. Their pools together may take an
    // eighth of what the codes take (0.03 of a float32 X).
    Context make_context(int n_sharing) const {
        const std::int64_t bytes =
            std::max<std::int64_t>(1, offsets_.back() * std::int64_t{sizeof(Count)});
        const std::int64_t allowed = std::max<std::int64_t>(
            kPoolBytes, codes_.n_rows * codes_.n_features / kPoolShare);
        return Context{
            HistogramPool<Count>(offsets_.back(), allowed / bytes / n_sharing),
            {},
            {},
            {}};
    }

    std::int64_t work(const OpenNode& node) const {
        return node.size() * static_cast<std::int64_t>(blocks_.size()) * codes_.width;
    }

    Split find(OpenNode& node, Context& context, bool parallel, int thread) {
        if (draws())
            context.candidates.draw(dictionary_, nullptr, settings_.max_candidates,
                                    node.key);
        const Method method = method_for(node, context, parallel);
        if (method != Method::histogram)
            drop(node, context);
        else if (node.hist < 0)
            node.hist = context.pool.acquire();
        const auto n_tasks = static_cast<std::int64_t>(blocks_.size());
        Split best;
        if (parallel) {
            best_of_task_.resize(blocks_.size());
            team_.run(n_tasks, true, [&](std::int64_t task, int at) {
                best_of_task_[static_cast<std::size_t>(task)] =
                    search_block(task, node, context, method, at);
            });
            for (const Split& found : best_of_task_) {
                if (found.beats(best))
                    best = found;
            }
        } else {
            for (std::int64_t task = 0; task < n_tasks; ++task) {
                const Split found = search_block(task, node, context, method, thread);
                if (found.beats(best))
                    best = found;
            }
        }
        node.hist_ready = node.hist >= 0;
        node.subtract_from = -1;
        return best;
    }

    CodeSide left_side(const Split& split) const {
        return {codes_, dictionary_, split};
    }

    // Hands the parent's histogram on: the smaller child is counted, the larger one is
    // the parent's minus that.
    void pass_on(OpenNode& parent, OpenNode& smaller, bool smaller_open,
                 OpenNode& larger, bool larger_open, Context& context) {
        if (parent.hist < 0)
            return;
        if (!larger_open || larger.size() < small_rows_) {
            drop(parent, context);
            return;
        }
        larger.hist = parent.hist;
        larger.hist_ready = true;
        if (smaller_open && smaller.size() >= small_rows_) {
            smaller.hist = context.pool.acquire();
            smaller.subtract_from = smaller.hist >= 0 ? larger.hist : -1;
        }
        if (smaller.hist < 0) {
            larger.minus_begin = smaller.begin;
            larger.minus_end = smaller.end;
        }
    }

    void drop(OpenNode& node, Context& context) {
        context.pool.release(node.hist);
        node.hist = -1;
        node.hist_ready = false;
    }

  private:
    static constexpr std::uint32_t kFirstLine[] = {0};
    static constexpr std::int64_t kPoolBytes = 1 << 20;
    static constexpr std::int64_t kPoolShare = 8;
    static constexpr std::int64_t kMinHistogramRows = 16;
    static constexpr std::int64_t kCountsPerSmallRow = 16;

    std::int64_t end_of(std::int64_t block) const {
        return std::min(codes_.n_features, (block + 1) * codes_.width);
    }

    enum class Method { mask, sort, histogram };

    bool draws() const { return settings_.max_candidates > 0; }

    Method method_for(const OpenNode& node, Context& context, bool parallel) const {
        if (node.size() >= small_rows_)
            return Method::histogram;
        if (!parallel &&
            context.masks.prepare(r_, node, context.totals, settings_.min_samples_leaf,
                                  min_weight_)) {
            return Method::mask;
        }
        return draws() ? Method::histogram : Method::sort;
    }

    Split search_block(std::int64_t task, const OpenNode& node, Context& context,
                       Method method, int thread) {
        const std::int64_t block = blocks_[static_cast<std::size_t>(task)];
        Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
        const Count* hists = method == Method::histogram
                                 ? block_histograms(block, node, context, scratch)
                                 : nullptr;
        const std::int64_t first = block * codes_.width;
        const bool scans = hists && !draws();
        const Cut* cuts =
            scans ? scan_block(block, hists, node, context, scratch) : nullptr;
        Split best;
        for (std::int64_t f = first; f < end_of(block); ++f) {
            if (dictionary_.count(f) == 0)
                continue;
            const Cut cut =
                scans     ? cuts[f - first]
                : draws() ? best_candidate(f, block, hists, node, context, scratch)
                          : best_cut(f, method, node, context, scratch, best.score);
            const Split split = as_split(cut, f, node);
            if (split.beats(best))
                best = split;
        }
        return best;
    }

    const Cut* scan_block(std::int64_t block, const Count* hists, const OpenNode& node,
                          const Context& context, Scratch& scratch) const {
        const int* n_thresholds = n_thresholds_.data() + block * codes_.width;
        return scratch.scanner.scan_all(shape(block), hists, n_thresholds,
                                        context.totals, limits(), -1.0e308, [&](int j) {
                                            return scratch.scanner.scan_one(
                                                shape(block), hists, j, n_thresholds[j],
                                                node, context.totals, limits());
                                        });
    }

    // In a node too small for histograms.
    Cut best_cut(std::int64_t f, Method method, const OpenNode& node, Context& context,
                 Scratch& scratch, double floor) {
        const int n_thresholds = dictionary_.count(f);
        if (method == Method::mask) {
            return context.masks.search(codes_.column(f), codes_.width, n_thresholds,
                                        floor);
        }
        scratch.sorted.sort(codes_.column(f), codes_.width, r_, node);
        return scratch.sorted.search(n_thresholds, r_, node, context.totals,
                                     settings_.min_samples_leaf, min_weight_);
    }

    Cut best_candidate(std::int64_t f, std::int64_t block, const Count* hists,
                       const OpenNode& node, Context& context, Scratch& scratch) {
        const CandidateList::Range range = context.candidates.of_feature(f);
        const auto n = static_cast<int>(range.last - range.first);
        if (n == 0)
            return {};
        const std::int32_t* thresholds =
            context.candidates.indices.data() + range.first;
        const int n_thresholds = dictionary_.count(f);
        if (!hists) {
            return context.masks.search_candidates(codes_.column(f), codes_.width,
                                                   n_thresholds, thresholds, n);
        }
        return scratch.scanner.scan_some(shape(block), hists,
                                         static_cast<int>(f - block * codes_.width),
                                         n_thresholds, node, context.totals, limits(),
                                         {thresholds, static_cast<std::size_t>(n)});
    }

    Split as_split(const Cut& cut, std::int64_t f, const OpenNode& node) const {
        return split_at(cut, f, node.key, draws() ? 0 : gap(cut, f));
    }

    // How wide the gap between the two sides is, as a share of the feature's
    // thresholds.
    std::uint64_t gap(const Cut& cut, std::int64_t f) const {
        if (cut.lo < 0)
            return 0;
        int width = cut.hi - cut.lo;
        int n_thresholds = dictionary_.count(f);
        if (origin_) {
            const int right = origin_->lowest[Origin::at(dictionary_, f, cut.hi + 1)];
            const int left = origin_->highest[Origin::at(dictionary_, f, cut.lo)];
            width = std::max(0, right - 1 - left);
            n_thresholds = std::max(1, origin_->n_thresholds[f]);
        }
        return gap_share(width, n_thresholds);
    }

    const HistogramShape& shape(std::int64_t block) const {
        return shapes_[static_cast<std::size_t>(block)];
    }

    typename HistogramScanner<Crit, Count>::Limits limits() const {
        return {settings_.min_samples_leaf, min_weight_};
    }

    // The histograms of a block's features for this node.
    Count* block_histograms(std::int64_t block, const OpenNode& node, Context& context,
                            Scratch& scratch) {
        const std::int64_t start = offsets_[static_cast<std::size_t>(block)];
        const std::int64_t size = shape(block).size();
        Count* hists =
            node.hist >= 0 ? context.pool.at(node.hist) + start : scratch.space(size);
        if (!node.hist_ready) {
            fill(hists, block, node.begin, node.end);
            if (node.subtract_from >= 0) {
                subtract_histograms(shape(block),
                                    context.pool.at(node.subtract_from) + start, hists,
                                    r_, node.begin, node.end, settings_.n_classes);
            }
        } else if (node.minus_end > node.minus_begin) {
            Count* minus = scratch.space(size);
            fill(minus, block, node.minus_begin, node.minus_end);
            subtract_histograms(shape(block), hists, minus, r_, node.minus_begin,
                                node.minus_end, settings_.n_classes);
        }
        return hists;
    }

    // All features of the block in one walk over the rows: a row's codes fill a cache
    // line that is read once and used whole, however sparse the node's rows are.
    void fill(Count* hists, std::int64_t block, std::int64_t begin, std::int64_t end) {
        fill_histograms(
            shape(block), codes_.block(block), codes_.width, [](int j) { return j; },
            r_, begin, end, settings_.n_classes, kFirstLine, hists);
        if (draws())
            sum_bins(shape(block), r_, begin, end, settings_.n_classes, hists);
    }

    Codes codes_;
    Dictionary dictionary_;
    const Origin* origin_;
    NodeRows<Count>& r_;
    const GrowSettings& settings_;
    Count min_weight_;
    Team& team_;
    std::vector<int> n_thresholds_;       // of each feature
    std::vector<HistogramShape> shapes_;  // of each block
    std::vector<std::int64_t> offsets_;   // of each block's histograms
    std::vector<std::int64_t> blocks_;    // those with a threshold
    std::int64_t small_rows_ = 0;
    std::vector<Scratch> scratch_;
    std::vector<Split> best_of_task_;
};

}  // namespace dics
