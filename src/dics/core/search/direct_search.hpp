// Search among sampled candidates, straight from X: no code is made, so a tree of k
// candidates a node reads k columns of a node's rows and nothing else.
#pragma once

#include <limits>

#include "collective/sum.hpp"
#include "grow/node.hpp"
#include "kernels/kernels.hpp"
#include "search/candidate_draw.hpp"
#include "target/class_counts.hpp"
#include "team.hpp"

namespace dics {

template <class T, class Count>
void count_below(const CountBelowArgs<T, Count>& args) {
    const Kernels& k = kernels();
    if constexpr (sizeof(Count) == 4) {
        if constexpr (std::is_same_v<T, float>)
            k.count_float_32(args);
        if constexpr (std::is_same_v<T, double>)
            k.count_double_32(args);
        if constexpr (std::is_same_v<T, std::uint8_t>)
            k.count_byte_32(args);
    } else {
        if constexpr (std::is_same_v<T, float>)
            k.count_float_64(args);
        if constexpr (std::is_same_v<T, double>)
            k.count_double_64(args);
        if constexpr (std::is_same_v<T, std::uint8_t>)
            k.count_byte_64(args);
    }
}

template <class T, class Crit, class CountT>
class DirectSearch {
  public:
    using Target = ClassCounts<Crit, CountT>;
    using Count = CountT;
    using Open = OpenNode<ClassTotals<Count>>;

    struct Context {
        CandidateList candidates;
        std::vector<Count> below, missing;  // [block][width][lane]
    };

    DirectSearch(const Target& target, const Matrix<T>& X, const Dictionary& dictionary,
                 const ClassRows<Count>& rows, const NodeLimits& limits,
                 std::int64_t max_candidates, Team& team)
        : target_(target),
          X_(X),
          dictionary_(dictionary),
          r_(rows),
          limits_(limits),
          max_candidates_(max_candidates),
          team_(team),
          width_(target.n_classes() + (rows.weighted() ? 1 : 0)) {
        if (!limits.reuse_splits) {
            for (std::int64_t i = 0; i < dictionary.size(); ++i)
                left_over_.push_back(i);
        }
    }

    Context make_context(int) const { return {}; }

    std::int64_t work(const Open& node) const {
        return node.size() * std::min(max_candidates_, dictionary_.size());
    }

    void find(Open* const* nodes, int n_nodes, Context& context, bool shared, int) {
        for (int i = 0; i < n_nodes; ++i)
            nodes[i]->split = find(*nodes[i], context, shared);
    }

    // From raw values, like the search itself.
    auto side(const Split& split) const {
        const double threshold = dictionary_.thresholds(split.feature)[split.index];
        return [this, split, threshold](std::uint32_t row) {
            return value_goes_left(X_(row, split.feature), threshold,
                                   split.missing_left);
        };
    }

    // Line 8 of Algorithm 2 taken literally: the used split leaves the dictionary.
    void use(const Split& split) {
        if (limits_.reuse_splits)
            return;
        const std::int64_t id = dictionary_.offsets[split.feature] + split.index;
        left_over_.erase(std::lower_bound(left_over_.begin(), left_over_.end(), id));
    }

    bool read_left_totals(const Open&, Context&, ClassTotals<Count>&) const {
        return false;
    }
    void hand_over(Open&, Open&, bool, Open&, bool, Context&) {}
    void release(Open&, Context&) {}

  private:
    Split find(const Open& node, Context& context, bool shared) {
        context.candidates.draw(dictionary_,
                                limits_.reuse_splits ? nullptr : &left_over_,
                                max_candidates_, node.key);
        const std::int64_t n = context.candidates.size();
        const std::int64_t n_blocks = (n + kCandidateBlock - 1) / kCandidateBlock;
        const std::int64_t block_size = std::int64_t{width_} * kCandidateBlock;
        context.below.assign(static_cast<std::size_t>(n_blocks * block_size), 0);
        context.missing.assign(static_cast<std::size_t>(n_blocks * block_size), 0);
        auto count = [&](std::int64_t block) { count_block(block, node, context); };
        if (shared && work(node) >= kSharedWork) {
            team_.run(n_blocks, true, [&](std::int64_t block, int) { count(block); });
        } else {
            for (std::int64_t block = 0; block < n_blocks; ++block)
                count(block);
        }
        Split best;
        for (std::int64_t first = 0; first < n;) {
            const std::vector<std::int32_t>& features = context.candidates.features;
            std::int64_t last = first;
            while (last < n && features[last] == features[first])
                ++last;
            const Split split = search_feature(first, last, node, context);
            if (split.beats(best))
                best = split;
            first = last;
        }
        return best;
    }

    void count_block(std::int64_t block, const Open& node, Context& context) {
        std::int64_t column[kCandidateBlock];
        double threshold[kCandidateBlock];
        const CandidateList& candidates = context.candidates;
        const std::int64_t n = candidates.size();
        for (int lane = 0; lane < kCandidateBlock; ++lane) {
            const std::int64_t i = block * kCandidateBlock + lane;
            const std::int64_t feature = candidates.features[std::min(i, n - 1)];
            column[lane] = feature * X_.col_stride;
            threshold[lane] =
                i < n ? dictionary_.thresholds(feature)[candidates.indices[i]]
                      : -std::numeric_limits<double>::infinity();
        }
        const std::int64_t offset = block * width_ * kCandidateBlock;
        count_below(CountBelowArgs<T, Count>{
            X_.data, X_.row_stride, column, threshold, r_.rows.data() + node.begin,
            r_.labels.data() + node.begin,
            r_.weighted() ? r_.counts.data() + node.begin : nullptr, node.size(),
            width_, context.below.data() + offset, context.missing.data() + offset});
    }

    static const Count* lane(const std::vector<Count>& counts, std::int64_t i,
                             int width) {
        return counts.data() + i / kCandidateBlock * width * kCandidateBlock +
               i % kCandidateBlock;
    }

    std::int64_t rows_in(const Count* counts) const {
        if (width_ > target_.n_classes()) {
            return static_cast<std::int64_t>(counts[(width_ - 1) * kCandidateBlock]);
        }
        std::int64_t n = 0;
        for (int c = 0; c < width_; ++c) {
            n += static_cast<std::int64_t>(counts[c * kCandidateBlock]);
        }
        return n;
    }

    // Candidates first..last-1 are of one feature, by rising threshold.
    Split search_feature(std::int64_t first, std::int64_t last, const Open& node,
                         Context& context) {
        const std::int64_t n_missing = rows_in(lane(context.missing, first, width_));
        Split best;
        for (const bool missing_left : {false, true}) {
            if (missing_left && n_missing == 0)
                break;
            for (std::int64_t i = first; i < last;) {
                // Candidates with as many rows below them cut in the same place.
                const std::int64_t below = rows_in(lane(context.below, i, width_));
                std::int64_t end = i + 1;
                while (end < last &&
                       rows_in(lane(context.below, end, width_)) == below) {
                    ++end;
                }
                const std::int64_t left = below + (missing_left ? n_missing : 0);
                const std::int64_t smaller = std::min(left, node.totals.n_rows - left);
                if (smaller >= limits_.min_samples_leaf) {
                    const double score =
                        score_of(i, missing_left, node.totals, context);
                    if (score > best.score) {
                        best.score = score;
                        best.feature = context.candidates.features[first];
                        best.tie = tie_number(node.key, best.feature);
                        best.index = context.candidates.indices[(i + end - 1) / 2];
                        best.missing_left = missing_left;
                    }
                }
                i = end;
            }
        }
        best.saw_missing = n_missing > 0;
        return best;
    }

    double score_of(std::int64_t i, bool missing_left, const ClassTotals<Count>& totals,
                    const Context& context) const {
        using W = typename Wide<Count>::type;
        const Count* below = lane(context.below, i, width_);
        const Count* missing = lane(context.missing, i, width_);
        W left_sum = 0, right_sum = 0;
        Count left_weight = 0;
        for (int c = 0; c < target_.n_classes(); ++c) {
            const std::int64_t at = std::int64_t{c} * kCandidateBlock;
            const Count l = below[at] + (missing_left ? missing[at] : 0);
            left_sum += Crit::template term<Count>(l);
            right_sum += Crit::template term<Count>(
                totals.counts[static_cast<std::size_t>(c)] - l);
            left_weight += l;
        }
        const Count right_weight = totals.weight - left_weight;
        if (left_weight < target_.min_weight() || right_weight < target_.min_weight()) {
            return -std::numeric_limits<double>::infinity();
        }
        return Crit::template score<Count>(left_sum, left_weight, right_sum,
                                           right_weight);
    }

    const Target& target_;
    Matrix<T> X_;
    Dictionary dictionary_;
    const ClassRows<Count>& r_;
    NodeLimits limits_;
    std::int64_t max_candidates_;
    Team& team_;
    int width_;
    std::vector<std::int64_t> left_over_;  // only when splits aren't reused
};

}  // namespace dics
