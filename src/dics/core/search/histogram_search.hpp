// Search by histograms: one of a feature prices all its thresholds.
//
// `Histograms` is ClassHistograms, MomentHistograms or GradientHistograms: it counts
// and scans. Common to them are the blocks of features, a task each; the larger child,
// which is the parent less the smaller one; and the place where histograms wait.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "collective/sum.hpp"
#include "grow/node.hpp"
#include "search/split_chooser.hpp"
#include "team.hpp"

namespace dics {

template <class Histograms>
class HistogramSearch {
  public:
    using Target = typename Histograms::Target;
    using Value = typename Histograms::Value;
    using Open = OpenNode<typename Target::Totals>;

    // State that the nodes of one thread share.
    struct Context {
        BufferPool<Value> pool;
        typename Histograms::Prepared prepared[2];  // of a node and its sibling
    };

    HistogramSearch(Histograms& histograms, Team& team, const Sum& sum = {})
        : histograms_(histograms), team_(team), sum_(sum), scratch_(team.size()) {}

    // One of `n_sharing` contexts in use at a time.
    Context make_context(int n_sharing) const {
        Context context;
        reset(context, n_sharing);
        return context;
    }
    // For histograms of another shape.
    void reset(Context& context, int n_sharing) const {
        const std::int64_t size = histograms_.size();
        const std::int64_t bytes =
            std::max<std::int64_t>(1, size * std::int64_t{sizeof(Value)});
        context.pool.reset(size, histograms_.pool_bytes(bytes) / bytes / n_sharing);
    }

    std::int64_t work(const Open& node) const { return histograms_.work(node.size()); }

    // Finds the best split of a node, or of two siblings, the smaller first. `shared`:
    // all threads are free to help.
    void find(Open* const* nodes, int n_nodes, Context& context, bool shared,
              int thread) {
        if (!sum_.is_alone())
            return find_together({nodes, nodes + n_nodes}, context);
        std::int64_t n_filled = 0, n_rows = 0;
        for (int i = 0; i < n_nodes; ++i)
            n_rows += nodes[i]->size();
        shared = shared && histograms_.is_shared(n_rows);
        for (int i = 0; i < n_nodes; ++i) {
            Open& node = *nodes[i];
            histograms_.prepare(node, context.prepared[i]);
            if (!context.prepared[i].uses_histogram())
                release(node, context);
            else if (node.hist < 0)
                node.hist = context.pool.acquire();
            n_filled +=
                node.hist_ready ? node.minus_end - node.minus_begin : node.size();
        }
        auto search_block = [&](std::int64_t block, int at) {
            for (int i = 0; i < n_nodes; ++i) {
                best_of_block_[block * n_nodes + i] =
                    find_in_block(block, *nodes[i], context, i, at);
            }
        };
        const std::int64_t n_blocks = histograms_.n_blocks();
        if (shared) {
            best_of_block_.resize(n_blocks * n_nodes);
            team_.run(n_blocks, histograms_.uses_threads(n_filled), search_block);
            for (std::int64_t i = 0; i < n_blocks * n_nodes; ++i)
                nodes[i % n_nodes]->split.keep_better(best_of_block_[i]);
        } else {
            for (std::int64_t block = 0; block < n_blocks; ++block) {
                for (int i = 0; i < n_nodes; ++i)
                    nodes[i]->split.keep_better(
                        find_in_block(block, *nodes[i], context, i, thread));
            }
        }
        for (int i = 0; i < n_nodes; ++i) {
            nodes[i]->hist_ready = nodes[i]->hist >= 0;
            nodes[i]->subtract_from = -1;
        }
    }

    // The same with peers, for any number of nodes: all of their histograms are counted
    // first, and make one sum. Siblings stand side by side, the smaller first.
    void find_together(const std::vector<Open*>& nodes, Context& context) {
        std::vector<typename Histograms::Prepared> prepared(nodes.size());
        std::vector<Counting> countings(nodes.size());
        std::int64_t n_counted = 0;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            Open& node = *nodes[i];
            histograms_.prepare(node, prepared[i]);
            if (node.hist < 0)
                node.hist = context.pool.acquire();
            if (!node.hist_ready)
                countings[i] = {node.begin, node.end, n_counted++};
            else if (node.has_minus)
                countings[i] = {node.minus_begin, node.minus_end, n_counted++};
        }
        count_together(countings, prepared, n_counted);
        const int slice = n_slices() > 1 ? sum_.rank() : 0;
        const std::int64_t first = first_block(slice);
        const std::int64_t n_blocks = first_block(slice + 1) - first;
        const auto n_nodes = static_cast<std::int64_t>(nodes.size());
        best_of_block_.resize(n_blocks * n_nodes);
        team_.run(n_blocks, true, [&](std::int64_t task, int thread) {
            const std::int64_t block = first + task;
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                const Value* hists = shared_histograms(block, *nodes[i], countings[i],
                                                       context, prepared[i]);
                best_of_block_[task * n_nodes + i] = histograms_.best_split(
                    block, hists, *nodes[i], prepared[i], scratch_[thread].own);
            }
        });
        for (std::int64_t i = 0; i < n_blocks * n_nodes; ++i) {
            const auto at = i % n_nodes;
            const Split& found = best_of_block_[i];
            if (!found.beats(nodes[at]->split))
                continue;
            nodes[at]->split = found;
            countings[at].best_block = first + i / n_nodes;
        }
        if constexpr (kHasSlices) {
            read_left_sides(nodes, countings, context);
            if (n_slices() > 1)
                gather_splits(nodes);
        }
        for (Open* node : nodes) {
            node->hist_ready = node->hist >= 0;
            node->subtract_from = -1;
        }
    }

    auto side(const Split& split) const { return histograms_.side(split); }
    auto set_side(const Split& split) const
        requires requires(const Histograms& h) { h.set_side(split); }
    {
        return histograms_.set_side(split);
    }

    // Groups of features for the children of a node, see Interactions.
    int interactions_below(const Open& node)
        requires requires(Histograms& h) { h.interactions_below(node); }
    {
        return histograms_.interactions_below(node);
    }

    // Reads the totals of the left side off the histograms, if they are still there.
    bool read_left_totals(const Open& node, Context& context,
                          typename Target::Totals& totals) const {
        if constexpr (requires {
                          histograms_.read_left_totals(
                              node.split, static_cast<const Value*>(nullptr), totals);
                      }) {
            if (node.knows_left) {
                totals = node.left_totals;
                return true;
            }
            if (node.hist < 0)
                return false;
            histograms_.read_left_totals(node.split, context.pool.at(node.hist),
                                         totals);
            return true;
        } else {
            return false;
        }
    }

    // Hands the parent's histogram on: the smaller child is counted, the larger one is
    // the parent's minus that.
    void hand_over(Open& parent, Open& smaller, bool smaller_open, Open& larger,
                   bool larger_open, Context& context) {
        if (parent.hist < 0)
            return;
        if (!larger_open || !histograms_.needs_histogram(larger)) {
            release(parent, context);
            return;
        }
        larger.hist = parent.hist;
        larger.hist_ready = true;
        if (smaller_open && histograms_.needs_histogram(smaller)) {
            smaller.hist = context.pool.acquire();
            smaller.subtract_from = smaller.hist >= 0 ? larger.hist : -1;
        }
        if (smaller.hist < 0) {
            larger.has_minus = true;
            larger.minus_begin = smaller.begin;
            larger.minus_end = smaller.end;
            if constexpr (Histograms::kReadsTotals)
                larger.minus_totals = smaller.totals;
        }
    }

    void release(Open& node, Context& context) {
        context.pool.release(node.hist);
        node.hist = -1;
        node.hist_ready = false;
    }

  private:
    // May peers search a slice of the blocks each?
    static constexpr bool kHasSlices =
        requires(const Histograms& h) { h.first_block(0); };

    // Rows that are counted for a node, and the place of their histograms in `shared_`.
    struct Counting {
        std::int64_t begin = 0, end = 0, place = -1;
        std::int64_t best_block = -1;  // where the best split was found
    };

    int n_slices() const { return kHasSlices ? sum_.n_ranks() : 1; }
    std::int64_t first_block(int slice) const {
        if constexpr (kHasSlices)
            return histograms_.first_block(slice);
        else
            return slice == 0 ? 0 : histograms_.n_blocks();
    }

    // Counts all blocks of some nodes and adds them up with peers. They lie slice by
    // slice, and within one node by node, so that a slice can be sent as it is.
    void count_together(const std::vector<Counting>& countings,
                        const std::vector<typename Histograms::Prepared>& prepared,
                        std::int64_t n_counted) {
        const std::int64_t n_blocks = histograms_.n_blocks();
        place_blocks(n_counted);
        shared_.resize(slice_starts_.back() + histograms_.size() -
                       histograms_.block_start(n_blocks));
        const auto n = static_cast<std::int64_t>(countings.size());
        team_.run(n * n_blocks, true, [&](std::int64_t task, int) {
            const Counting& counting = countings[task / n_blocks];
            const std::int64_t block = task % n_blocks;
            if (counting.place >= 0)
                histograms_.fill(block, counting.begin, counting.end,
                                 prepared[task / n_blocks].counted(),
                                 counted(block, counting));
        });
        if (n_slices() > 1)
            sum_.reduce_scatter(shared_.data(), slice_starts_);
        else
            sum_.allreduce(shared_.data(), slice_starts_.back());
    }

    // Where the cells of each block begin in `shared_`, for the first node.
    void place_blocks(std::int64_t n_counted) {
        slice_starts_.assign(1, 0);
        block_places_.clear();
        for (int slice = 0; slice < n_slices(); ++slice) {
            const bool is_last = slice + 1 == n_slices();
            const std::int64_t first = first_block(slice);
            const std::int64_t last =
                is_last ? histograms_.n_blocks() : first_block(slice + 1);
            const std::int64_t start = histograms_.block_start(first);
            const std::int64_t size = histograms_.block_start(last) - start;
            for (std::int64_t block = first; block < last; ++block)
                block_places_.push_back(
                    {slice_starts_.back() + histograms_.block_start(block) - start,
                     size});
            slice_starts_.push_back(slice_starts_.back() + n_counted * size);
        }
    }

    // The cells of a block that were counted for a node.
    Value* counted(std::int64_t block, const Counting& counting) {
        const BlockPlace& place = block_places_[block];
        return shared_.data() + place.start + counting.place * place.stride;
    }

    // The histograms of a block's features for this node, once all have been added up.
    Value* shared_histograms(std::int64_t block, const Open& node,
                             const Counting& counting, Context& context,
                             const typename Histograms::Prepared& prepared) {
        const std::int64_t start = histograms_.block_start(block);
        const std::int64_t size = histograms_.block_start(block + 1) - start;
        Value* own = node.hist >= 0 ? context.pool.at(node.hist) + start : nullptr;
        if (counting.place < 0)
            return own;
        Value* counted = this->counted(block, counting);
        if (node.hist_ready) {
            histograms_.subtract(block, prepared.minus(), own, counted);
            return own;
        }
        if (!own)
            return counted;
        std::copy_n(counted, size, own);
        if (node.subtract_from >= 0)
            histograms_.subtract(block, prepared.counted(),
                                 context.pool.at(node.subtract_from) + start, own);
        return own;
    }

    // What goes left by the splits that were found here, while their histograms are at
    // hand.
    void read_left_sides(const std::vector<Open*>& nodes,
                         const std::vector<Counting>& countings, Context& context) {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            Open& node = *nodes[i];
            const std::int64_t block = countings[i].best_block;
            node.knows_left = true;
            if (block < 0)
                continue;
            const Value* hists = node.hist >= 0 ? context.pool.at(node.hist)
                                                : counted(block, countings[i]) -
                                                      histograms_.block_start(block);
            histograms_.read_left_totals(node.split, hists, node.left_totals);
        }
    }

    // The best split of all slices, and the totals of its left side.
    void gather_splits(const std::vector<Open*>& nodes) {
        static_assert(std::is_trivially_copyable_v<Split> &&
                      sizeof(Split) % sizeof(std::int64_t) == 0);
        constexpr std::size_t split_size = sizeof(Split) / sizeof(std::int64_t);
        const std::size_t size = split_size + histograms_.totals_size();
        const std::size_t slice_size = nodes.size() * size;
        const auto n_slices = this->n_slices();
        found_.assign(n_slices * slice_size, 0);
        std::int64_t* own = found_.data() + sum_.rank() * slice_size;
        for (const Open* node : nodes) {
            std::memcpy(own, &node->split, sizeof(Split));
            if (node->split.found())
                histograms_.write_totals(node->left_totals, own + split_size);
            own += size;
        }
        sum_.allgather(found_.data(), static_cast<std::int64_t>(slice_size));
        for (std::size_t i = 0; i < n_slices * nodes.size(); ++i) {
            const std::int64_t* from = found_.data() + i * size;
            Open& node = *nodes[i % nodes.size()];
            Split found;
            std::memcpy(static_cast<void*>(&found), from, sizeof(Split));
            if (!found.beats(node.split))
                continue;
            node.split = found;
            histograms_.read_totals(from + split_size, node.left_totals);
        }
    }

    // Scratch of one thread.
    struct Scratch {
        std::vector<Value> hist;  // of a block
        typename Histograms::Scratch own;

        Value* space(std::int64_t size) {
            hist.resize(std::max<std::size_t>(hist.size(), size));
            return hist.data();
        }
    };

    Split find_in_block(std::int64_t block, const Open& node, Context& context,
                        int which, int thread) {
        Scratch& scratch = scratch_[thread];
        const auto& prepared = context.prepared[which];
        const Value* hists =
            prepared.uses_histogram()
                ? block_histograms(block, node, context, prepared, scratch)
                : nullptr;
        return histograms_.best_split(block, hists, node, context.prepared[which],
                                      scratch.own);
    }

    // The histograms of a block's features for this node.
    Value* block_histograms(std::int64_t block, const Open& node, Context& context,
                            const typename Histograms::Prepared& prepared,
                            Scratch& scratch) {
        const std::int64_t start = histograms_.block_start(block);
        const std::int64_t size = histograms_.block_start(block + 1) - start;
        Value* hists =
            node.hist >= 0 ? context.pool.at(node.hist) + start : scratch.space(size);
        if (!node.hist_ready) {
            histograms_.fill(block, node.begin, node.end, prepared.counted(), hists);
            if (node.subtract_from >= 0) {
                histograms_.subtract(block, prepared.counted(),
                                     context.pool.at(node.subtract_from) + start,
                                     hists);
            }
        } else if (node.minus_end > node.minus_begin) {
            Value* minus = scratch.space(size);
            histograms_.fill(block, node.minus_begin, node.minus_end, prepared.minus(),
                             minus);
            histograms_.subtract(block, prepared.minus(), hists, minus);
        }
        return hists;
    }

    Histograms& histograms_;
    Team& team_;
    Sum sum_;
    std::vector<Scratch> scratch_;
    std::vector<Split> best_of_block_;
    // The sums over all processes, and the starts of slices and blocks; the cells of
    // a block for the next node follow after a stride.
    struct BlockPlace {
        std::int64_t start, stride;
    };
    std::vector<Value> shared_;
    std::vector<std::int64_t> slice_starts_;
    std::vector<BlockPlace> block_places_;
    std::vector<std::int64_t> found_;  // splits of all slices, and their left totals
};

}  // namespace dics
