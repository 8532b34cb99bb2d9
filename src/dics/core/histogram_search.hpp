// Whole-dictionary search: a class histogram of a feature prices all its thresholds.
#pragma once

#include <cstring>
#include <memory>

#include "kernels.hpp"
#include "node.hpp"
#include "scan.hpp"

namespace dics {

template <class Crit, class Count>
Cut scan(const ScanArgs<Count>& args) {
    if constexpr (!std::is_same_v<Crit, Gini>) {
        return plain::scan_histogram<Crit>(args);
    } else if constexpr (sizeof(Count) == 4) {
        return kernels().scan_gini_32(args);
    } else {
        return kernels().scan_gini_64(args);
    }
}

// A node of few rows: its codes sorted, then one walk over the rows. Costs no more for
// many bins or classes, where clearing and scanning a histogram would.
template <class Crit, class Count>
class SmallNodeSearch {
  public:
    // Reads the node's codes of one feature into sorted order.
    void sort(const std::uint8_t* codes, const NodeRows<Count>& r, const OpenNode& node) {
        const auto n = static_cast<std::uint32_t>(node.size());
        keys_.resize(n);
        for (std::uint32_t i = 0; i < n; ++i) {
            keys_[i] = static_cast<std::uint32_t>(codes[r.rows[node.begin + i]]) << 24 | i;
        }
        if (n <= kInsertionRows) {
            insertion_sort();
        } else {
            counting_sort();
        }
    }

    Cut search(int n_thresholds, const NodeRows<Count>& r, const OpenNode& node,
               const NodeTotals<Count>& totals, std::int64_t min_leaf) {
        Cut best;
        if (code(0) == code(keys_.size() - 1)) return best;
        if (left_.size() < totals.counts.size()) left_.resize(totals.counts.size(), 0);
        const auto missing_code = static_cast<std::uint32_t>(n_thresholds + 1);
        std::size_t n_present = keys_.size();
        while (n_present > 0 && code(n_present - 1) == missing_code) --n_present;
        walk(false, n_present, r, node, totals, min_leaf, best);
        if (n_present < keys_.size()) {
            walk(true, n_present, r, node, totals, min_leaf, best);
            best.saw_missing = true;
        }
        return best;
    }

  private:
    using W = typename Wide<Count>::type;
    static constexpr std::uint32_t kInsertionRows = 32;

    std::uint32_t code(std::size_t i) const { return keys_[i] >> 24; }

    void insertion_sort() {
        for (std::size_t i = 1; i < keys_.size(); ++i) {
            const std::uint32_t key = keys_[i];
            std::size_t j = i;
            for (; j > 0 && keys_[j - 1] > key; --j) keys_[j] = keys_[j - 1];
            keys_[j] = key;
        }
    }

    void counting_sort() {
        std::uint32_t start[257] = {};
        for (const std::uint32_t key : keys_) ++start[(key >> 24) + 1];
        for (int b = 0; b < 256; ++b) start[b + 1] += start[b];
        sorted_.resize(keys_.size());
        for (const std::uint32_t key : keys_) sorted_[start[key >> 24]++] = key;
        keys_.swap(sorted_);
    }

    void walk(bool missing_left, std::size_t n_present, const NodeRows<Count>& r,
              const OpenNode& node, const NodeTotals<Count>& totals,
              std::int64_t min_leaf, Cut& best) {
        W left_sum = 0, right_sum = totals.sum;
        Count left_weight = 0;
        std::int64_t left_rows = 0;
        auto take = [&](std::uint32_t key) {
            const std::int64_t i = node.begin + (key & 0xFFFFFF);
            const std::uint32_t label = r.labels[i];
            const Count w = r.count(i);
            const Count l = left_[label];
            const Count right = totals.counts[label] - l;
            left_sum += Crit::template term<Count>(l + w) - Crit::template term<Count>(l);
            right_sum +=
                Crit::template term<Count>(right - w) - Crit::template term<Count>(right);
            left_[label] = l + w;
            left_weight += w;
            ++left_rows;
        };
        if (missing_left) {
            for (std::size_t i = n_present; i < keys_.size(); ++i) take(keys_[i]);
        }
        int previous = -1;
        for (std::size_t i = 0; i < n_present;) {
            const int bin = static_cast<int>(code(i));
            if (left_rows >= min_leaf && node.size() - left_rows >= min_leaf) {
                const double score = Crit::template score<Count>(
                    left_sum, left_weight, right_sum,
                    static_cast<Count>(totals.weight - left_weight));
                const Cut cut{score, previous, bin - 1, missing_left, false};
                if (cut.beats(best)) best = cut;
            }
            for (; i < n_present && static_cast<int>(code(i)) == bin; ++i) take(keys_[i]);
            previous = bin;
        }
        for (const std::uint32_t key : keys_) {
            left_[r.labels[node.begin + (key & 0xFFFFFF)]] = 0;
        }
    }

    std::vector<std::uint32_t> keys_, sorted_;
    std::vector<Count> left_;  // all zero between calls
};

// Buffers for the histograms of open nodes. The smaller child is always grown first, so
// at most log2(rows) are in use; when the cap is reached a node does without.
template <class Count>
class HistogramPool {
  public:
    HistogramPool(std::int64_t size, std::int64_t max_buffers)
        : size_(size), max_buffers_(max_buffers) {}

    int acquire() {
        if (!free_.empty()) {
            const int id = free_.back();
            free_.pop_back();
            return id;
        }
        if (static_cast<std::int64_t>(buffers_.size()) >= max_buffers_) return -1;
        buffers_.push_back(
            std::make_unique_for_overwrite<Count[]>(static_cast<std::size_t>(size_)));
        return static_cast<int>(buffers_.size()) - 1;
    }
    void release(int id) {
        if (id >= 0) free_.push_back(id);
    }
    Count* at(int id) { return buffers_[static_cast<std::size_t>(id)].get(); }

  private:
    std::int64_t size_, max_buffers_;
    std::vector<std::unique_ptr<Count[]>> buffers_;
    std::vector<int> free_;
};

template <class Crit, class CountT>
class HistogramSearch {
  public:
    using Count = CountT;
    using Criterion = Crit;

    // Scratch of one thread.
    struct Scratch {
        std::vector<Count> hist, left;
        SmallNodeSearch<Crit, Count> small;
    };
    // What the nodes grown by one thread share.
    struct Context {
        HistogramPool<Count> pool;
        NodeTotals<Count> totals;
    };

    HistogramSearch(const std::uint8_t* codes, std::int64_t n_code_rows,
                    const Dictionary& dictionary, NodeRows<Count>& rows,
                    const GrowSettings& settings, Team& team)
        : codes_(codes), n_code_rows_(n_code_rows), dictionary_(dictionary), r_(rows),
          settings_(settings), team_(team),
          width_(settings.n_classes + (rows.weighted() ? 1 : 0)),
          scratch_(static_cast<std::size_t>(team.size())) {
        offsets_.push_back(0);
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            if (dictionary.count(f) > 0) features_.push_back(static_cast<int>(f));
            const std::int64_t bins = dictionary.count(f) > 0 ? dictionary.count(f) + 2 : 0;
            offsets_.push_back(offsets_.back() + bins * width_);
        }
        // The pool may take a share of what the codes take.
        const std::int64_t bytes = offsets_.back() * static_cast<std::int64_t>(sizeof(Count));
        const std::int64_t allowed =
            std::max<std::int64_t>(kPoolBytes, n_code_rows * dictionary.n_features / 6);
        max_buffers_ = allowed / std::max<std::int64_t>(1, bytes) /
                       (1 + static_cast<std::int64_t>(team.size()));
        const std::int64_t mean_counts =
            features_.empty() ? 1
                              : offsets_.back() / static_cast<std::int64_t>(features_.size());
        small_rows_ = std::max<std::int64_t>(kMinHistogramRows,
                                             mean_counts / kCountsPerSmallRow);
        small_rows_ = std::min<std::int64_t>(small_rows_, (1 << 24) - 1);
    }

    Context make_context() const {
        return Context{HistogramPool<Count>(offsets_.back(), max_buffers_), {}};
    }

    std::int64_t work(const OpenNode& node) const {
        return node.size() * static_cast<std::int64_t>(features_.size());
    }

    Split find(OpenNode& node, Context& context, bool parallel, int thread) {
        const bool small = node.size() < small_rows_;
        if (small) drop(node, context);
        if (!small && node.hist < 0) node.hist = context.pool.acquire();
        const std::int64_t n_features = static_cast<std::int64_t>(features_.size());
        const std::int64_t n_tasks =
            (n_features + kFeaturesPerTask - 1) / kFeaturesPerTask;
        if (parallel) best_of_task_.resize(static_cast<std::size_t>(n_tasks));
        Split best;
        auto search = [&](std::int64_t task, int at, Split& found) {
            const std::int64_t last = std::min(n_features, (task + 1) * kFeaturesPerTask);
            for (std::int64_t i = task * kFeaturesPerTask; i < last; ++i) {
                const int f = features_[static_cast<std::size_t>(i)];
                const Split split = search_feature(f, node, context, small,
                                                   scratch_[static_cast<std::size_t>(at)]);
                if (split.beats(found)) found = split;
            }
        };
        if (parallel) {
            team_.run(n_tasks, true, [&](std::int64_t task, int at) {
                Split found;
                search(task, at, found);
                best_of_task_[static_cast<std::size_t>(task)] = found;
            });
            for (const Split& found : best_of_task_) {
                if (found.beats(best)) best = found;
            }
        } else {
            for (std::int64_t task = 0; task < n_tasks; ++task) search(task, thread, best);
        }
        node.hist_ready = node.hist >= 0;
        node.subtract_from = -1;
        return best;
    }

    bool goes_left(const Split& split, std::uint32_t row) const {
        const int code = column(split.feature)[row];
        if (code == dictionary_.count(split.feature) + 1) return split.missing_left;
        return code <= split.index;
    }

    // Hands the parent's histogram on: the smaller child is counted, the larger one is
    // the parent's minus that.
    void pass_on(OpenNode& parent, OpenNode& smaller, bool smaller_open, OpenNode& larger,
                 bool larger_open, Context& context) {
        if (parent.hist < 0) return;
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
    static constexpr std::int64_t kFeaturesPerTask = 8;
    static constexpr std::int64_t kPoolBytes = 8 << 20;
    static constexpr std::int64_t kMinHistogramRows = 16;
    static constexpr std::int64_t kCountsPerSmallRow = 16;

    const std::uint8_t* column(std::int64_t f) const { return codes_ + f * n_code_rows_; }

    Split search_feature(int f, const OpenNode& node, Context& context, bool small,
                         Scratch& scratch) {
        Cut cut;
        if (small) {
            scratch.small.sort(column(f), r_, node);
            cut = scratch.small.search(dictionary_.count(f), r_, node, context.totals,
                                       settings_.min_samples_leaf);
        } else {
            cut = scan_feature(f, node, context, scratch);
        }
        Split split;
        if (!cut.found()) return split;
        split.score = cut.score;
        const auto width = static_cast<std::uint64_t>(
            cut.lo < 0 ? 0 : (cut.hi - cut.lo) * 65535 / dictionary_.count(f));
        split.tie = width << 48 | tie_number(node.key, f) >> 16;
        split.feature = f;
        // Of several thresholds that cut in the same place, the middle one.
        split.index = cut.lo < 0 ? -1 : (cut.lo + cut.hi) / 2;
        split.missing_left = cut.missing_left;
        split.saw_missing = cut.saw_missing;
        return split;
    }

    Cut scan_feature(int f, const OpenNode& node, Context& context, Scratch& scratch) {
        const std::int64_t offset = offsets_[static_cast<std::size_t>(f)];
        const std::int64_t size = offsets_[static_cast<std::size_t>(f) + 1] - offset;
        Count* hist;
        if (node.hist >= 0) {
            hist = context.pool.at(node.hist) + offset;
        } else {
            scratch.hist.resize(std::max(scratch.hist.size(), static_cast<std::size_t>(size)));
            hist = scratch.hist.data();
        }
        if (!node.hist_ready) {
            fill(hist, size, f, node.begin, node.end);
            if (node.subtract_from >= 0) {
                subtract(context.pool.at(node.subtract_from) + offset, hist, size);
            }
        } else if (node.minus_end > node.minus_begin) {
            scratch.hist.resize(std::max(scratch.hist.size(), static_cast<std::size_t>(size)));
            fill(scratch.hist.data(), size, f, node.minus_begin, node.minus_end);
            subtract(hist, scratch.hist.data(), size);
        }
        scratch.left.resize(static_cast<std::size_t>(settings_.n_classes));
        const NodeTotals<Count>& totals = context.totals;
        return scan<Crit>(ScanArgs<Count>{hist, dictionary_.count(f) + 1, width_,
                                          settings_.n_classes, totals.counts.data(),
                                          totals.sum, totals.weight, node.size(),
                                          settings_.min_samples_leaf,
                                          scratch.left.data()});
    }

    static void subtract(Count* from, const Count* what, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) from[i] -= what[i];
    }

    void fill(Count* hist, std::int64_t size, int f, std::int64_t begin, std::int64_t end) {
        std::memset(hist, 0, static_cast<std::size_t>(size) * sizeof(Count));
        const std::uint8_t* codes = column(f);
        const std::uint32_t* rows = r_.rows.data();
        const std::uint32_t* labels = r_.labels.data();
        const auto width = static_cast<std::uint32_t>(width_);
        if (r_.weighted()) {
            const Count* counts = r_.counts.data();
            for (std::int64_t i = begin; i < end; ++i) {
                Count* bin = hist + codes[rows[i]] * width;
                bin[labels[i]] += counts[i];
                bin[width - 1] += 1;
            }
        } else {
            for (std::int64_t i = begin; i < end; ++i) {
                ++hist[codes[rows[i]] * width + labels[i]];
            }
        }
    }

    const std::uint8_t* codes_;
    std::int64_t n_code_rows_;
    Dictionary dictionary_;
    NodeRows<Count>& r_;
    const GrowSettings& settings_;
    Team& team_;
    int width_;
    std::vector<std::int64_t> offsets_;
    std::vector<int> features_;  // those with thresholds
    std::int64_t max_buffers_ = 0;
    std::int64_t small_rows_ = 0;
    std::vector<Scratch> scratch_;
    std::vector<Split> best_of_task_;
};

}  // namespace dics
