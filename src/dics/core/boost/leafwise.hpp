// One tree of boosting: leaf-wise growth from histograms of gradients.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <queue>
#include <vector>

#include "data/matrix.hpp"
#include "kernels/boost_kernels.hpp"
#include "team.hpp"

namespace dics {

// Features (and, if some are drawn, candidates) a round looks at.
struct RoundSplits {
    std::vector<std::int32_t> features;
    bool drawn = false;                         // only some thresholds are allowed
    std::vector<std::int32_t> candidates;       // of the first feature, the second, ...
    std::vector<std::int64_t> first_candidate;  // of each feature, and the end

    std::size_t size() const { return features.size(); }
};

// The codes of a round's features, row by row: a node's rows lie scattered, and one
// visit of a row serves all features. Column by column each code of a small node is a
// fetch of its own (MNIST, 60 rounds of 100 features, two threads: 1.28 s so, 1.10 s by
// rows, though they are gathered in each round; 2026-11).
struct RoundCodes {
    const std::uint8_t* data;
    std::int64_t stride;
    bool by_row;  // of all rows; otherwise of those drawn, by place
};

struct LeafwiseSettings {
    std::int64_t max_depth, max_leaf_nodes, min_rows;
    float l2;         // in units of the histograms
    double min_gain;  // the same
};

struct LeafwiseNode {
    std::int64_t begin, end;  // rows: places [begin, end)
    std::int32_t depth;
    std::int32_t left = -1;  // the right child follows it; -1: leaf
    std::int32_t feature = -1;
    std::int32_t threshold = -1;  // rows with a code up to this go left
    bool missing_left = false;
    double gain = 0;                              // of the split, made or possible
    int slot = -1;                                // of its histograms, if they are kept
    std::vector<std::int32_t> total, left_total;  // sums of its rows, and of the split

    std::int64_t size() const { return end - begin; }
};

// Memory for the histograms of nodes that may still be split. What doesn't fit is
// counted anew instead of being subtracted.
inline constexpr std::int64_t kHistogramBytes = std::int64_t{128} << 20;
// Additions below which no thread is woken.
inline constexpr std::int64_t kParallelCells = 1 << 17;

class LeafwiseGrower {
  public:
    LeafwiseGrower(const Codes& codes, const Dictionary& dictionary,
                   const Outputs& outputs, Team& team)
        : codes_(codes),
          dictionary_(dictionary),
          outputs_(outputs),
          team_(team),
          scratch_(static_cast<std::size_t>(team.size())) {
        const std::size_t size = static_cast<std::size_t>(
            std::max(3 * (kMaxThresholds + 1 + kLanes), 2 * (outputs.cells + kLanes)));
        for (auto& scratch : scratch_)
            scratch.resize(size);
    }

    // `rows` are those drawn (null: all), `values` their numbers, [n_rows][cells], and
    // `total` the sum of those, with a register of padding.
    const std::vector<LeafwiseNode>& grow(
        const RoundSplits& splits, const RoundCodes& codes, const std::uint32_t* rows,
        const std::int16_t* values, std::int64_t n_rows,
        const std::vector<std::int32_t>& total, const LeafwiseSettings& settings) {
        splits_ = &splits;
        round_codes_ = codes;
        rows_ = rows;
        values_ = values;
        settings_ = settings;
        lay_out();
        places_.resize(static_cast<std::size_t>(n_rows));
        for (std::int64_t i = 0; i < n_rows; ++i)
            places_[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i);
        spare_.resize(places_.size());
        nodes_.clear();
        queue_ = {};
        n_leaves_ = 1;
        LeafwiseNode root{0, n_rows, 0};
        nodes_.push_back(std::move(root));
        if (!splits.features.empty() && may_be_split(nodes_[0])) {
            nodes_[0].total = total;
            look_at(0, -1, -1);
        }
        while (!queue_.empty() && n_leaves_ < settings_.max_leaf_nodes) {
            const std::int32_t best = queue_.top().node;
            queue_.pop();
            split(best);
        }
        while (!queue_.empty()) {
            release(nodes_[static_cast<std::size_t>(queue_.top().node)]);
            queue_.pop();
        }
        return nodes_;
    }

  private:
    struct Entry {
        double gain;
        std::int32_t node;
        bool operator<(const Entry& other) const {
            return gain != other.gain ? gain < other.gain : node > other.node;
        }
    };
    struct Found {
        float score = -1;
        std::int32_t feature = -1;
        std::size_t place = 0;  // of the feature in the round
        GainCut cut;
    };

    void lay_out() {
        offsets_.clear();
        std::int64_t size = 0;
        for (const std::int32_t f : splits_->features) {
            offsets_.push_back(size);
            size += std::int64_t{dictionary_.count(f) + 2} * outputs_.cells;
        }
        offsets_.push_back(size);
        if (size > slot_size_) {
            slots_.clear();
            free_.clear();
            slot_size_ = size;
        }
        max_slots_ = std::max<std::int64_t>(
            2, kHistogramBytes / (slot_size_ * std::int64_t{sizeof(std::int32_t)} + 1));
    }

    bool may_be_split(const LeafwiseNode& node) const {
        return node.depth < settings_.max_depth &&
               node.size() >= 2 * settings_.min_rows;
    }

    // Slots beyond the limit are only lent: see look_at.
    int acquire() {
        if (free_.empty()) {
            free_.push_back(static_cast<int>(slots_.size()));
            slots_.emplace_back(
                new std::int32_t[static_cast<std::size_t>(slot_size_ + kLanes)]);
        }
        const int slot = free_.back();
        free_.pop_back();
        return slot;
    }
    void release(LeafwiseNode& node) {
        if (node.slot >= 0)
            free_.push_back(node.slot);
        node.slot = -1;
    }
    std::int64_t slots_in_use() const {
        return static_cast<std::int64_t>(slots_.size() - free_.size());
    }

    // Histograms and best cuts of one node (b = -1), or of two siblings of which `a`
    // has fewer rows. With `parent_slot`, what b has is that less what a has, in place.
    void look_at(std::int32_t a, std::int32_t b, int parent_slot) {
        const bool want_a = may_be_split(nodes_[static_cast<std::size_t>(a)]);
        const bool want_b = b >= 0 && may_be_split(nodes_[static_cast<std::size_t>(b)]);
        if (!want_a && !want_b) {
            if (parent_slot >= 0)
                free_.push_back(parent_slot);
            return;
        }
        const bool subtract = want_b && parent_slot >= 0;
        const int slot_a = want_a || subtract ? acquire() : -1;
        int slot_b = parent_slot;
        if (want_b && slot_b < 0)
            slot_b = acquire();
        const std::size_t per_task = features_per_task();
        const auto n_tasks =
            static_cast<std::int64_t>((splits_->size() + per_task - 1) / per_task);
        found_a_.assign(static_cast<std::size_t>(n_tasks), {});
        found_b_.assign(static_cast<std::size_t>(n_tasks), {});
        std::int64_t n_filled =
            slot_a >= 0 ? nodes_[static_cast<std::size_t>(a)].size() : 0;
        if (want_b && !subtract)
            n_filled += nodes_[static_cast<std::size_t>(b)].size();
        const std::int64_t work =
            (n_filled * static_cast<std::int64_t>(splits_->size()) * outputs_.cells +
             offsets_.back());
        team_.run(n_tasks, work >= kParallelCells, [&](std::int64_t task, int thread) {
            const std::size_t first = static_cast<std::size_t>(task) * per_task;
            const std::size_t last = std::min(first + per_task, splits_->size());
            if (slot_a >= 0)
                fill(nodes_[static_cast<std::size_t>(a)], slot_a, first, last);
            if (subtract) {
                std::int32_t* from = slots_[static_cast<std::size_t>(slot_b)].get();
                const std::int32_t* less =
                    slots_[static_cast<std::size_t>(slot_a)].get();
                for (std::int64_t i = offsets_[first]; i < offsets_[last]; ++i)
                    from[i] -= less[i];
            } else if (want_b) {
                fill(nodes_[static_cast<std::size_t>(b)], slot_b, first, last);
            }
            if (want_a) {
                found_a_[static_cast<std::size_t>(task)] = search(
                    nodes_[static_cast<std::size_t>(a)], slot_a, first, last, thread);
            }
            if (want_b) {
                found_b_[static_cast<std::size_t>(task)] = search(
                    nodes_[static_cast<std::size_t>(b)], slot_b, first, last, thread);
            }
        });
        settle(a, want_a ? &found_a_ : nullptr, slot_a);
        if (b >= 0) {
            settle(b, want_b ? &found_b_ : nullptr, slot_b);
        } else if (slot_b >= 0) {
            free_.push_back(slot_b);
        }
    }

    // Sums are exact, so the tasks may depend on the number of threads: two for each,
    // in groups of four features, which is what the kernel likes.
    std::size_t features_per_task() const {
        const auto n_tasks = static_cast<std::size_t>(2 * team_.size());
        const std::size_t even = (splits_->size() + n_tasks - 1) / n_tasks;
        return std::min<std::size_t>((even + 3) / 4 * 4, kFillFeatures);
    }

    void fill(const LeafwiseNode& node, int slot, std::size_t first, std::size_t last) {
        std::int32_t* hist = slots_[static_cast<std::size_t>(slot)].get();
        std::memset(hist + offsets_[first], 0,
                    sizeof(std::int32_t) *
                        static_cast<std::size_t>(offsets_[last] - offsets_[first]));
        FillArgs args{};
        args.n_features = static_cast<int>(last - first);
        for (std::size_t j = first; j < last; ++j)
            args.hist[j - first] = hist + offsets_[j];
        args.codes = round_codes_.data + first;
        args.stride = round_codes_.stride;
        args.rows = round_codes_.by_row ? rows_ : nullptr;
        args.places = places_.data() + node.begin;
        args.values = values_;
        args.n_rows = node.size();
        args.cells = outputs_.cells;
        boost_kernels().fill(args);
    }

    Found search(const LeafwiseNode& node, int slot, std::size_t first,
                 std::size_t last, int thread) {
        const std::int32_t* hist = slots_[static_cast<std::size_t>(slot)].get();
        GainArgs args{};
        args.total = node.total.data();
        args.n_outputs = outputs_.n;
        args.cells = outputs_.cells;
        args.l2 = settings_.l2;
        args.min_rows = static_cast<std::int32_t>(settings_.min_rows);
        args.scratch = scratch_[static_cast<std::size_t>(thread)].data();
        Found found;
        for (std::size_t j = first; j < last; ++j) {
            args.hist = hist + offsets_[j];
            args.n_thresholds = dictionary_.count(splits_->features[j]);
            args.n_candidates = args.n_thresholds;
            if (splits_->drawn) {
                args.candidates =
                    splits_->candidates.data() + splits_->first_candidate[j];
                args.n_candidates = static_cast<int>(splits_->first_candidate[j + 1] -
                                                     splits_->first_candidate[j]);
            }
            const GainCut cut = boost_kernels().best_cut(args);
            if (cut.score > found.score)
                found = {cut.score, splits_->features[j], j, cut};
        }
        return found;
    }

    // Notes the best cut of a node; keeps its histograms if it may be split by it and
    // there is room.
    void settle(std::int32_t number, const std::vector<Found>* all, int slot) {
        LeafwiseNode& node = nodes_[static_cast<std::size_t>(number)];
        node.slot = slot;
        Found best;
        if (all) {
            for (const Found& found : *all) {
                if (found.score > best.score)
                    best = found;
            }
        }
        if (best.feature >= 0) {
            const double own = node_score(node.total);
            const double gain = static_cast<double>(best.score) - own;
            // Sums of single precision: less than this is noise.
            if (gain > 1e-6 * own && gain > settings_.min_gain) {
                node.gain = gain;
                node.feature = best.feature;
                node.threshold = (best.cut.lo + best.cut.hi) / 2;
                if (best.cut.lo < 0)
                    node.threshold = -1;
                node.missing_left = best.cut.saw_missing
                                        ? best.cut.missing_left
                                        : 2 * best.cut.n_left > node.size();
                node.left_total = left_total(node, best);
                queue_.push({gain, number});
                if (slots_in_use() > max_slots_)
                    release(node);
                return;
            }
        }
        release(node);
        node.total = {};  // of a leaf for good
    }

    std::vector<std::int32_t> left_total(const LeafwiseNode& node,
                                         const Found& best) const {
        const std::int32_t* hist =
            slots_[static_cast<std::size_t>(node.slot)].get() + offsets_[best.place];
        std::vector<std::int32_t> sum(node.total.size());
        auto add = [&](int bin) {
            for (int c = 0; c < outputs_.cells; ++c)
                sum[static_cast<std::size_t>(c)] += hist[bin * outputs_.cells + c];
        };
        for (int bin = 0; bin <= best.cut.lo; ++bin)
            add(bin);
        if (best.cut.saw_missing && best.cut.missing_left)
            add(dictionary_.count(best.feature) + 1);
        return sum;
    }

    double node_score(const std::vector<std::int32_t>& total) const {
        double score = 0;
        for (int c = 0; c < outputs_.n; ++c) {
            const double g = total[static_cast<std::size_t>(c)];
            const double h = total[static_cast<std::size_t>(c + outputs_.n)] +
                             static_cast<double>(settings_.l2);
            score += h > 0 ? g * g / h : 0.0;
        }
        return score;
    }

    void split(std::int32_t number) {
        const auto left = static_cast<std::int32_t>(nodes_.size());
        LeafwiseNode node = std::move(nodes_[static_cast<std::size_t>(number)]);
        const std::int64_t middle = partition(node);
        nodes_[static_cast<std::size_t>(number)].left = left;
        nodes_[static_cast<std::size_t>(number)].slot = -1;
        LeafwiseNode a{node.begin, middle, node.depth + 1};
        LeafwiseNode b{middle, node.end, node.depth + 1};
        ++n_leaves_;
        const bool more = n_leaves_ < settings_.max_leaf_nodes;
        const bool left_is_small = a.size() <= b.size();
        a.total = std::move(node.left_total);
        b.total = std::move(node.total);
        for (std::size_t c = 0; c < b.total.size(); ++c)
            b.total[c] -= a.total[c];
        nodes_.push_back(std::move(a));
        nodes_.push_back(std::move(b));
        if (!more) {
            if (node.slot >= 0)
                free_.push_back(node.slot);
            return;
        }
        look_at(left_is_small ? left : left + 1, left_is_small ? left + 1 : left,
                node.slot);
    }

    // Rows of the left child first, otherwise in their order.
    std::int64_t partition(const LeafwiseNode& node) {
        const std::uint8_t* column = codes_.column(node.feature);
        const int missing =
            node.missing_left ? dictionary_.count(node.feature) + 1 : 256;
        std::uint32_t* places = places_.data();
        std::uint32_t* spare = spare_.data();
        std::int64_t n_left = node.begin, n_right = 0;
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            const std::uint32_t place = places[i];
            const std::int64_t row = rows_ ? rows_[place] : place;
            const int code = column[row];
            const bool goes_left = code <= node.threshold || code == missing;
            places[n_left] = place;
            spare[n_right] = place;
            n_left += goes_left;
            n_right += !goes_left;
        }
        std::copy(spare, spare + n_right, places + n_left);
        return n_left;
    }

    Codes codes_;
    Dictionary dictionary_;
    Outputs outputs_;
    Team& team_;
    const RoundSplits* splits_ = nullptr;
    RoundCodes round_codes_{};
    const std::uint32_t* rows_ = nullptr;
    const std::int16_t* values_ = nullptr;
    LeafwiseSettings settings_{};

    std::vector<std::vector<float>> scratch_;  // of each thread
    std::vector<std::int64_t> offsets_;        // of each feature's histogram in a slot
    std::vector<std::unique_ptr<std::int32_t[]>> slots_;
    std::vector<int> free_;
    std::int64_t slot_size_ = 0, max_slots_ = 2;
    std::vector<std::uint32_t> places_, spare_;
    std::vector<LeafwiseNode> nodes_;
    std::priority_queue<Entry> queue_;
    std::vector<Found> found_a_, found_b_;
    std::int64_t n_leaves_ = 1;
};

}  // namespace dics
