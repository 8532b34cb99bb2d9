// Search among sampled candidates, straight from X: no code is made, so a tree of k
// candidates a node reads k columns of a node's rows and nothing else.
#pragma once

#include <limits>

#include "search/classes/histogram.hpp"
#include "search/split_chooser.hpp"
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
class DirectSearch : public PlainSearch<ClassTotals<CountT>> {
  public:
    using Target = ClassCounts<Crit, CountT>;
    using Count = CountT;
    using Open = OpenNode<ClassTotals<Count>>;

    struct Context {
        CandidateList candidates;
        std::vector<std::int32_t> features;  // that have candidates
        std::vector<Count> below, missing;   // [block][width][lane]
        std::vector<Count> bins, left;       // of one feature; scratch
    };

    DirectSearch(const Target& target, const Matrix<T>& X, const SplitRules& rules,
                 const ClassRows<Count>& rows, bool reuse_splits, Team& team)
        : target_(target),
          X_(X),
          rules_(rules),
          r_(rows),
          limits_{rules.min_samples_leaf, target.min_weight()},
          reuse_splits_(reuse_splits),
          team_(team),
          width_(target.n_classes() + (rows.weighted() ? 1 : 0)) {
        for (std::int64_t i = 0; !reuse_splits && i < rules.dictionary.size(); ++i)
            available_.push_back(i);
    }

    Context make_context(int) const { return {}; }

    std::int64_t work(const Open& node) const {
        return node.size() * std::min(rules_.max_candidates, rules_.dictionary.size());
    }

    void find(Open* const* nodes, int n_nodes, Context& context, bool shared, int) {
        for (int i = 0; i < n_nodes; ++i)
            nodes[i]->split = find(*nodes[i], context, shared);
    }

    // From raw values, like the search itself.
    auto side(const Split& split) const {
        const double threshold =
            rules_.dictionary.thresholds(split.feature)[split.index];
        return [this, split, threshold](std::uint32_t row) {
            return value_goes_left(X_(row, split.feature), threshold,
                                   split.missing_left);
        };
    }

    // Line 8 of Algorithm 2 taken literally: the used split leaves the dictionary.
    void use(const Split& split) {
        if (reuse_splits_)
            return;
        const std::int64_t id = rules_.dictionary.offsets[split.feature] + split.index;
        available_.erase(std::lower_bound(available_.begin(), available_.end(), id));
    }

  private:
    Split find(const Open& node, Context& context, bool shared) {
        context.candidates.sample(rules_.dictionary,
                                  reuse_splits_ ? nullptr : &available_,
                                  rules_.max_candidates, node.key);
        const std::int64_t n = context.candidates.size();
        const std::int64_t n_blocks = (n + kCandidateBlock - 1) / kCandidateBlock;
        const std::int64_t block_size = std::int64_t{width_} * kCandidateBlock;
        context.below.assign(n_blocks * block_size, 0);
        context.missing.assign(n_blocks * block_size, 0);
        auto count = [&](std::int64_t block) { count_block(block, node, context); };
        if (shared && work(node) >= kSharedWork) {
            team_.run(n_blocks, true, [&](std::int64_t block, int) { count(block); });
        } else {
            for (std::int64_t block = 0; block < n_blocks; ++block)
                count(block);
        }
        context.features = context.candidates.features;
        context.features.erase(
            std::unique(context.features.begin(), context.features.end()),
            context.features.end());
        CandidateScan scan{*this, node, context};
        SplitChooser chooser(rules_, node, node.totals.n_rows, &context.candidates);
        return chooser.choose(
            context.features.size(),
            [&](std::int64_t j) { return context.features[j]; }, scan);
    }

    // The candidates of a feature, for SplitChooser.
    struct CandidateScan {
        DirectSearch& own;
        const Open& node;
        Context& context;

        Cut cut(std::int64_t, std::int64_t, const CodeReading& reading, double) {
            own.fill_bins(reading, node, context);
            return scan_bins<Crit>(context.bins.data(), own.width_, reading,
                                   node.totals.counts, node.totals, own.limits_,
                                   context.left);
        }
    };

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
                i < n ? rules_.dictionary.thresholds(feature)[candidates.indices[i]]
                      : -std::numeric_limits<double>::infinity();
        }
        const std::int64_t offset = block * width_ * kCandidateBlock;
        count_below(CountBelowArgs<T, Count>{
            X_.data, X_.row_stride, column, threshold, r_.rows.data() + node.begin,
            r_.labels.data() + node.begin,
            r_.weighted() ? r_.counts.data() + node.begin : nullptr, node.size(),
            width_, context.below.data() + offset, context.missing.data() + offset});
    }

    // Counts of the bins between the candidates of a feature, above them, and of NaN.
    void fill_bins(const CodeReading& reading, const Open& node, Context& context) {
        const std::int64_t first =
            reading.candidates - context.candidates.indices.data();
        const int n = reading.n_thresholds;
        context.bins.resize((n + 2) * width_);
        for (int c = 0; c < width_; ++c) {
            auto counted = [&](const std::vector<Count>& counts, std::int64_t i) {
                return counts[(i / kCandidateBlock * width_ + c) * kCandidateBlock +
                              i % kCandidateBlock];
            };
            const Count missing = counted(context.missing, first);
            const Count all = c < target_.n_classes()
                                  ? node.totals.counts[c]
                                  : static_cast<Count>(node.totals.n_rows);
            Count before = 0;
            for (int k = 0; k <= n; ++k) {
                const Count below =
                    k < n ? counted(context.below, first + k) : all - missing;
                context.bins[k * width_ + c] = below - before;
                before = below;
            }
            context.bins[(n + 1) * width_ + c] = missing;
        }
    }

    const Target& target_;
    Matrix<T> X_;
    SplitRules rules_;
    const ClassRows<Count>& r_;
    ClassLimits<Count> limits_;
    bool reuse_splits_;
    Team& team_;
    int width_;
    std::vector<std::int64_t> available_;  // only if splits are not reused
};

}  // namespace dics
