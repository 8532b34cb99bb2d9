// Chooses the split of a node among the cuts and sets of its features.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/matrix.hpp"
#include "grow/node.hpp"
#include "random.hpp"
#include "search/categories.hpp"
#include "team.hpp"

namespace dics {

// Line 6 of Algorithm 2: k candidates of the dictionary, sampled for one node (in
// boosting, for one round). Sorted by feature, then by threshold.
struct CandidateList {
    std::vector<std::int32_t> features, indices;

    std::int64_t size() const { return features.size(); }

    // Thresholds of one feature.
    std::span<const std::int32_t> of_feature(std::int64_t f) const {
        const auto [first, last] =
            std::equal_range(features.begin(), features.end(), f);
        return {indices.data() + (first - features.begin()),
                indices.data() + (last - features.begin())};
    }

    // Samples without replacement; all of them if k is 0. With `available`, only from
    // these numbers of the dictionary, which rise.
    void sample(const Dictionary& dictionary,
                const std::vector<std::int64_t>* available, std::int64_t k,
                std::uint64_t key) {
        const std::int64_t n = available ? available->size() : dictionary.size();
        k = k > 0 ? std::min(k, n) : n;
        features.clear();
        indices.clear();
        const std::int64_t* offsets = dictionary.offsets;
        const std::int64_t* end = offsets + dictionary.n_features + 1;
        std::int64_t f = 0;
        for (std::int64_t id : sample_without_replacement(combine(key, 3), n, k)) {
            if (available)
                id = (*available)[id];
            f = std::upper_bound(offsets + f, end, id) - offsets - 1;
            features.push_back(f);
            indices.push_back(id - offsets[f]);
        }
    }

    // The same from some of the features, which rise.
    void sample_from(const Dictionary& dictionary,
                     const std::vector<std::int32_t>& of_features, std::int64_t k,
                     std::uint64_t key) {
        std::vector<std::int64_t> offsets{0};
        for (const std::int32_t f : of_features)
            offsets.push_back(offsets.back() + dictionary.count(f));
        const std::int64_t n_features = of_features.size();
        sample({nullptr, offsets.data(), n_features}, nullptr, k, key);
        for (std::int32_t& f : features)
            f = of_features[f];
    }
};

enum class Splitter {
    best,    // the best cut of each feature
    random,  // one random cut of each feature, as in extremely randomized trees
};

// What all nodes of a tree have in common when their splits are chosen.
struct SplitRules {
    Dictionary dictionary;
    const CategorySettings& categories;
    std::int64_t min_samples_leaf = 1;
    std::int64_t max_candidates = 0;  // sampled for each node; 0: all
    Splitter splitter = Splitter::best;
    bool breaks_ties = true;  // false: the first of equal features wins

    // Does a node rate all cuts of the features that it searches?
    bool reads_all() const { return max_candidates == 0 && splitter == Splitter::best; }
};

// The lowest and the highest code of a feature in a node, without that of NaN.
struct CodeRange {
    int low = 256, high = -1;

    void add(int code, int missing_code) {
        low = std::min(low, code == missing_code ? 256 : code);
        high = std::max(high, code == missing_code ? -1 : code);
    }
};

// Codes of the rows of a node, one feature after the other. A random cut reads them
// twice, for their range and for the sides of the cut. Both loops are short and
// vectorized here. The codes of several features are copied in one pass over the rows,
// because the rows of a node are scattered in memory. For one thread.
class NodeColumns {
  public:
    // `features` must outlive the search of the node, which reads them in their order.
    void start_node(const Codes& codes, const std::vector<std::uint32_t>& rows,
                    const NodePlace& node, std::span<const std::int32_t> features) {
        codes_ = codes;
        rows_ = {rows.data() + node.begin, static_cast<std::size_t>(node.size())};
        features_ = features;
        first_ = last_ = 0;
    }

    // The range of the codes of feature number j.
    CodeRange range(std::int64_t j, int missing_code) {
        if (j >= last_)
            copy(j);
        const std::uint8_t missing = missing_code;
        std::uint8_t low = 255, high = 0;
        for (const std::uint8_t code : column(j)) {
            low = std::min(low, code);  // NaN has the highest code
            high = std::max<std::uint8_t>(high, code == missing ? 0 : code);
        }
        return {low, high};
    }

    // The side of each row: 0 and 1 for codes up to the threshold and above it, 2 for
    // NaN. Read by `CodeReading::of_sides`. `range` of this feature was called before.
    const std::uint8_t* sides(std::int64_t j, int threshold, int missing_code) {
        sides_.resize(rows_.size());
        const std::span<const std::uint8_t> codes = column(j);
        const std::uint8_t most = threshold, missing = missing_code;
        for (std::size_t i = 0; i < codes.size(); ++i)
            sides_[i] = (codes[i] > most) + (codes[i] == missing);
        return sides_.data();
    }

  private:
    static constexpr std::int64_t kBytes = 1 << 20, kFewest = 4, kMost = 32;
    static constexpr std::size_t kFetchAhead = 8;

    std::span<const std::uint8_t> column(std::int64_t j) const {
        return {copied_.data() + (j - first_) * std::ssize(rows_), rows_.size()};
    }

    // Copies the codes of the features from number j on.
    void copy(std::int64_t j) {
        const std::int64_t n_rows = rows_.size();
        const std::int64_t n = std::min(
            std::ssize(features_) - j,
            std::clamp(kBytes / std::max<std::int64_t>(1, n_rows), kFewest, kMost));
        first_ = j;
        last_ = j + n;
        copied_.resize(n * n_rows);
        const std::uint8_t* columns[kMost];
        for (std::int64_t k = 0; k < n; ++k)
            columns[k] = codes_.column(features_[j + k]);
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (i + kFetchAhead < rows_.size()) {
                const std::int64_t next = std::int64_t{rows_[i + kFetchAhead]};
                __builtin_prefetch(columns[0] + next * codes_.width);
                __builtin_prefetch(columns[n - 1] + next * codes_.width);
            }
            const std::int64_t at = std::int64_t{rows_[i]} * codes_.width;
            for (std::int64_t k = 0; k < n; ++k)
                copied_[k * n_rows + i] = columns[k][at];
        }
    }

    Codes codes_{};
    std::span<const std::uint32_t> rows_;
    std::span<const std::int32_t> features_;
    std::int64_t first_ = 0, last_ = 0;  // of the copied features
    std::vector<std::uint8_t> copied_, sides_;
};

// The part of a search that only histograms fill.
template <class Totals>
struct PlainSearch {
    using Open = OpenNode<Totals>;

    template <class Context>
    bool read_left_totals(const Open&, Context&, Totals&) const {
        return false;
    }
    template <class Context>
    void hand_over(Open&, Open&, bool, Open&, bool, Context&) {}
    template <class Context>
    void release(Open&, Context&) {}
};

// Keeps the best split of a node. Any search gives it features and a scan of them:
//   Cut cut(j, f, reading, floor)    the best cut of feature f, number j of those
//                                    searched; none is needed that scores below `floor`
//   Split best_set(j, f, key)        the best set of categories; with a key, one that
//                                    this key chooses; optional
//   CodeRange range(j, f)            for random splits: the codes in the node
//   Cut cut_at(j, f, threshold)      for random splits, after range: the cut at one
//                                    threshold, of CodeReading::of_sides; optional
class SplitChooser {
  public:
    // `candidates` are those sampled for the node; null for all.
    SplitChooser(const SplitRules& rules, const NodePlace& node, std::int64_t n_rows,
                 const CandidateList* candidates)
        : rules_(rules), key_(node.key), n_rows_(n_rows), candidates_(candidates) {}

    // `feature_of(j)` is a feature, or negative for one that is passed over.
    template <class FeatureOf, class Scan>
    const Split& choose(std::int64_t n_features, FeatureOf feature_of, Scan& scan) {
        [[maybe_unused]] const bool is_random = rules_.splitter == Splitter::random;
        for (std::int64_t j = 0; j < n_features; ++j) {
            const std::int64_t f = feature_of(j);
            if (f < 0 || rules_.dictionary.count(f) == 0)
                continue;
            stop_check_.add(n_rows_);
            if constexpr (requires { scan.best_set(j, f, nullptr); }) {
                const std::uint64_t key = cut_key(f);
                if (rules_.categories.covers(f, n_rows_))
                    offer(scan.best_set(j, f, is_random ? &key : nullptr));
            }
            offer_cut(j, f, scan);
        }
        return best_;
    }

  private:
    template <class Scan>
    void offer_cut(std::int64_t j, std::int64_t f, Scan& scan) {
        const int n_thresholds = rules_.dictionary.count(f);
        std::span<const std::int32_t> candidates;
        if (candidates_) {
            candidates = candidates_->of_feature(f);
            if (candidates.empty())
                return;
        }
        if constexpr (requires { scan.range(j, f); }) {
            if (rules_.splitter == Splitter::random) {
                if (!choose_one(f, scan.range(j, f), candidates))
                    return;
                if constexpr (requires { scan.cut_at(j, f, chosen_); }) {
                    offer(in_dictionary(scan.cut_at(j, f, chosen_), candidates), f);
                    return;
                }
            }
        }
        if (candidates.empty()) {
            offer(scan.cut(j, f, {n_thresholds}, best_.score), f);
            return;
        }
        const CodeReading reading = read(candidates, n_thresholds);
        offer(in_dictionary(scan.cut(j, f, reading, best_.score), candidates), f);
    }

    // Leaves one of the candidates that divide the values of the node, if there is one.
    // Without a sample of candidates, each threshold is one. If the values are equal,
    // all candidates divide them from NaN.
    bool choose_one(std::int64_t f, CodeRange range,
                    std::span<const std::int32_t>& candidates) {
        if (range.low >= range.high)
            range = {0, rules_.dictionary.count(f)};
        Stream stream(cut_key(f));
        if (!candidates_) {
            chosen_ = range.low + stream.below(range.high - range.low);
        } else {
            const auto first =
                std::lower_bound(candidates.begin(), candidates.end(), range.low);
            const auto last = std::lower_bound(first, candidates.end(), range.high);
            if (first == last)
                return false;
            chosen_ = first[stream.below(last - first)];
        }
        candidates = {&chosen_, 1};
        return true;
    }

    std::uint64_t cut_key(std::int64_t f) const {
        return combine(key_, 0x6375740000000000ull + f);
    }

    // The candidates as a dictionary of their own, so that every scan searches them as
    // it searches all thresholds. They rise.
    CodeReading read(std::span<const std::int32_t> candidates, int n_thresholds) {
        const int n = candidates.size();
        int code = 0;
        for (int k = 0; k < n; ++k) {
            for (; code <= candidates[k]; ++code)
                table_[code] = k;
        }
        for (; code <= n_thresholds; ++code)
            table_[code] = n;
        table_[code] = n + 1;
        return {n, table_.data(), candidates.data()};
    }

    // A cut among the candidates as one of the dictionary: the middle one of those that
    // divide the rows in the same way.
    static Cut in_dictionary(Cut cut, std::span<const std::int32_t> candidates) {
        if (cut.hi >= 0)
            cut.lo = cut.hi = candidates[(std::max(cut.lo, 0) + cut.hi) / 2];
        return cut;
    }

    void offer(const Cut& cut, std::int64_t f) {
        if (best_.found() && cut.score < best_.score)
            return;  // ties are decided below
        offer(rules_.breaks_ties ? split_by_gap(cut, f) : Split(cut, f, 0));
    }
    void offer(const Split& split) { best_.keep_better(split); }

    // Equal scores: the split with the widest gap between its sides wins, as a fraction
    // of the feature's thresholds (in 16 bits), then a random number of the node and
    // the feature. In comparison to random numbers alone that gave 0.4 points of
    // accuracy at full depth (mean of 10 tabular sets: 0.7882 -> 0.7922; exhaustive
    // search 0.7888). Sampled candidates have no gap.
    Split split_by_gap(const Cut& cut, std::int64_t f) const {
        const std::uint64_t gap =
            rules_.reads_all() && cut.lo >= 0
                ? (cut.hi - cut.lo) * 65535 / rules_.dictionary.count(f)
                : 0;
        const std::uint64_t tie = combine(key_, 0x7469650000000000ull + f);
        return {cut, f, gap << 48 | tie >> 16};
    }

    const SplitRules& rules_;
    std::uint64_t key_;
    std::int64_t n_rows_;
    const CandidateList* candidates_;
    std::int32_t chosen_ = 0;
    std::array<std::uint8_t, kMaxThresholds + 2> table_;
    Split best_;
    StopCheck stop_check_;
};

}  // namespace dics
