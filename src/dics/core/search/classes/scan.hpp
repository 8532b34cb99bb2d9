// The best cuts for classification, from the codes of a node's rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "search/classes/histogram.hpp"
#include "search/classes/sets.hpp"
#include "search/sampled_search.hpp"
#include "search/split_chooser.hpp"

namespace dics {

// Sorted codes and histograms give the same cuts, so the cheaper method is taken.
class MethodChoice {
  public:
    // For nodes that search all features: most of their histograms are the parent's
    // less the sibling's, and the scan of them decides.
    static MethodChoice for_all_features(const Dictionary& dictionary, int n_classes) {
        MethodChoice choice;
        choice.small_rows_ = std::clamp<std::int64_t>(
            mean_bins(dictionary) * n_classes / 16, 16, kMaxSortedRows - 1);
        return choice;
    }

    // For nodes that sample features, whose histograms are always filled from rows. By
    // costs in cycles that were fitted to trees of full depth: 20000 rows of MNIST,
    // CIFAR-10, otto, letter, electricity and helena_part, whose times change by no
    // more than a tenth around them (2026-11).
    static MethodChoice for_sampled_features(const Dictionary& dictionary,
                                             std::int64_t n_features) {
        MethodChoice choice;
        choice.n_features_ = n_features;
        choice.n_bins_ =
            (n_features + kLaneGroup - 1) / kLaneGroup * mean_bins(dictionary);
        return choice;
    }

    // Too small for a histogram. `n_present` classes occur in the node.
    bool is_small(std::int64_t n_rows, int n_present) const {
        if (n_features_ == 0)
            return n_rows < small_rows_;
        return n_rows < kMaxSortedRows &&
               histogram_cost(n_rows, n_present) > kSortCost * n_rows * n_features_;
    }

  private:
    static constexpr std::int64_t kMaxSortedRows = 1 << 24;  // numbered in 24 bits
    static constexpr std::int64_t kSortCost = 15;            // for a row and feature

    static std::int64_t mean_bins(const Dictionary& dictionary) {
        return dictionary.size() / std::max<std::int64_t>(1, dictionary.n_features) + 2;
    }
    std::int64_t histogram_cost(std::int64_t n_rows, int n_present) const {
        return n_bins_ * (3 * n_present + 20) + 4 * n_rows * n_features_;
    }

    std::int64_t small_rows_ = 0;               // with all features
    std::int64_t n_features_ = 0, n_bins_ = 0;  // with sampled ones
};

// Codes of a node's rows, sorted, then one walk over them. Costs no more for many bins
// or classes, where clearing and scanning a histogram would. The sides of a single
// candidate are counted instead. For one thread.
template <class Crit, class Count>
class SortedSearch {
  public:
    using Open = OpenNode<ClassTotals<Count>>;

    // Rows are numbered in 24 bits, see MethodChoice.
    Cut search(const CodeColumn& column, const ClassRows<Count>& r, const Open& node,
               const ClassLimits<Count>& limits) {
        if (column.reading.candidates && column.reading.n_thresholds == 1) {
            sides_.resize(node.size());
            for (std::int64_t i = 0; i < node.size(); ++i)
                sides_[i] = column.of(r.rows[node.begin + i]);
            return search_sides(sides_.data(), r, node, limits);
        }
        const auto n = static_cast<std::uint32_t>(node.size());
        keys_.resize(n);
        auto read = [&](auto code_of) {
            for (std::uint32_t i = 0; i < n; ++i) {
                const std::int64_t row = r.rows[node.begin + i];
                keys_[i] =
                    std::uint32_t{code_of(column.codes[row * column.stride])} << 24 | i;
            }
        };
        if (column.reading.table)
            read([table = column.reading.table](std::uint8_t c) { return table[c]; });
        else
            read([](std::uint8_t code) { return code; });
        sort_by_code(keys_, sorted_, [](std::uint32_t key) { return key >> 24; });
        return search_sorted(column.reading, r, node, limits);
    }

    // One threshold, from the side of each row; see CodeReading::of_sides. Rows of a
    // node are in the order of their classes, so each class is a range of rows.
    Cut search_sides(const std::uint8_t* sides, const ClassRows<Count>& r,
                     const Open& node, const ClassLimits<Count>& limits) {
        const bool counts_rows = dics::counts_rows(r, limits.min_leaf);
        const int width = node.totals.n_present + (counts_rows ? 1 : 0);
        of_classes_.clear();
        bins_.assign(3 * width, 0);
        for (std::int64_t i = node.begin; i < node.end;) {
            const std::uint32_t label = r.labels[i];
            Count* bins = bins_.data() + of_classes_.size();
            of_classes_.push_back(node.totals.counts[label]);
            std::int64_t end = i;
            if (r.weighted()) {
                while (end < node.end && r.labels[end] == label)
                    ++end;
            } else {
                end += node.totals.counts[label];
            }
            count_sides(sides + (i - node.begin),
                        r.weighted() ? r.counts.data() + i : nullptr, end - i, width,
                        bins);
            i = end;
        }
        if (counts_rows)
            count_sides(sides, nullptr, node.size(), width, bins_.data() + width - 1);
        return scan_bins<Crit>(bins_.data(), width, CodeReading::of_sides(),
                               of_classes_, node.totals, limits, scratch_);
    }

  private:
    using W = typename Wide<Count>::type;

    // Adds up the weights of each side; bins[side * width].
    static void count_sides(const std::uint8_t* sides, const Count* weights,
                            std::int64_t n, int width, Count* bins) {
        Count right = 0, missing = 0, all = n;
        if (weights) {
            all = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                all += weights[i];
                right += sides[i] == 1 ? weights[i] : 0;
                missing += sides[i] == 2 ? weights[i] : 0;
            }
        } else {
            for (std::int64_t i = 0; i < n; ++i) {
                right += sides[i] == 1;
                missing += sides[i] == 2;
            }
        }
        bins[0] = all - right - missing;
        bins[width] = right;
        bins[2 * width] = missing;
    }

    std::uint32_t code(std::size_t i) const { return keys_[i] >> 24; }

    Cut search_sorted(const CodeReading& reading, const ClassRows<Count>& r,
                      const Open& node, const ClassLimits<Count>& limits) {
        Cut best;
        if (code(0) == code(keys_.size() - 1))
            return best;
        if (left_.size() < node.totals.counts.size())
            left_.resize(node.totals.counts.size(), 0);
        const std::uint32_t missing_code = reading.missing_code();
        std::size_t n_present = keys_.size();
        while (n_present > 0 && code(n_present - 1) == missing_code)
            --n_present;
        walk(reading, false, n_present, r, node, limits, best);
        if (n_present < keys_.size()) {
            walk(reading, true, n_present, r, node, limits, best);
            best.saw_missing = true;
        }
        return best;
    }

    void walk(const CodeReading& reading, bool missing_left, std::size_t n_present,
              const ClassRows<Count>& r, const Open& node,
              const ClassLimits<Count>& limits, Cut& best) {
        const ClassTotals<Count>& totals = node.totals;
        W left_sum = 0, right_sum = totals.sum;
        Count left_weight = 0;
        std::int64_t left_rows = 0;
        std::size_t next = 0;  // of the rows that are not yet on the left
        auto take = [&](std::uint32_t key) {
            const std::int64_t i = node.begin + (key & 0xFFFFFF);
            const std::uint32_t label = r.labels[i];
            const Count w = r.count(i);
            const Count l = left_[label];
            const Count right = totals.counts[label] - l;
            left_sum +=
                Crit::template term<Count>(l + w) - Crit::template term<Count>(l);
            right_sum += Crit::template term<Count>(right - w) -
                         Crit::template term<Count>(right);
            left_[label] = l + w;
            left_weight += w;
            ++left_rows;
        };
        walk_cuts(
            reading, missing_left,
            [&](auto visit) {
                while (next < n_present)
                    visit(static_cast<int>(code(next)));
            },
            [&](int bin) {
                if (bin == reading.missing_code()) {
                    for (std::size_t i = n_present; i < keys_.size(); ++i)
                        take(keys_[i]);
                    return;
                }
                const std::uint32_t taken = bin;
                for (; next < n_present && code(next) == taken; ++next)
                    take(keys_[next]);
            },
            [&](int lo, int hi) {
                const Count right_weight = totals.weight - left_weight;
                if (left_rows < limits.min_leaf ||
                    totals.n_rows - left_rows < limits.min_leaf ||
                    left_weight < limits.min_weight || right_weight < limits.min_weight)
                    return;
                const double score = Crit::template score<Count>(
                    left_sum, left_weight, right_sum, right_weight);
                if (score > best.score)
                    best = Cut{score, lo, hi, missing_left, false};
            });
        for (const std::uint32_t key : keys_)
            left_[r.labels[node.begin + (key & 0xFFFFFF)]] = 0;
    }

    std::vector<std::uint32_t> keys_, sorted_;
    std::vector<Count> left_;  // all zero between calls
    std::vector<Count> of_classes_, bins_, scratch_;
    std::vector<std::uint8_t> sides_;
};

// The features of a node in turn, for SampledSearch. A node searches other features
// than its parent, so histograms are never subtracted: they are filled for some
// features at a time.
template <class Crit, class CountT>
class ClassRowScan {
  public:
    using Target = ClassCounts<Crit, CountT>;
    using Count = CountT;
    using Open = OpenNode<ClassTotals<Count>>;

    ClassRowScan(const Target& target, const Codes& codes, const SplitRules& rules,
                 const ClassRows<Count>& rows, std::int64_t max_features)
        : target_(target),
          codes_(codes),
          rules_(rules),
          r_(rows),
          limits_{rules.min_samples_leaf, target.min_weight()},
          n_slices_(target.n_classes() +
                    (counts_rows(rows, rules.min_samples_leaf) ? 1 : 0)),
          choice_(MethodChoice::for_sampled_features(rules.dictionary, max_features)) {
        const std::int64_t lane_bytes =
            (kMaxThresholds + 2) * n_slices_ * std::int64_t{sizeof(Count)};
        batch_ = std::clamp<std::int64_t>(
            kHistogramBytes / lane_bytes / kLaneGroup * kLaneGroup, kLaneGroup, kBatch);
    }

    void start_node(const Open& node, const std::vector<std::int32_t>& features) {
        node_ = &node;
        features_ = &features;
        is_small_ = rules_.splitter == Splitter::random ||
                    choice_.is_small(node.totals.n_rows, node.totals.n_present);
        n_filled_ = 0;
        if (!is_small_)
            present_.find(node.totals);
        if (rules_.splitter == Splitter::random)
            columns_.start_node(codes_, r_.rows, node, features);
    }

    CodeRange range(std::int64_t j, std::int64_t f) {
        return columns_.range(j, rules_.dictionary.count(f) + 1);
    }
    Cut cut_at(std::int64_t j, std::int64_t f, int threshold) {
        const int missing_code = rules_.dictionary.count(f) + 1;
        return sorted_.search_sides(columns_.sides(j, threshold, missing_code), r_,
                                    *node_, limits_);
    }

    Cut cut(std::int64_t j, std::int64_t f, const CodeReading& reading, double floor) {
        if (is_small_)
            return sorted_.search(column(f, reading), r_, *node_, limits_);
        if (j >= n_filled_)
            fill_batch(j / batch_ * batch_, floor);
        if (cuts_)
            return cuts_[j % batch_];
        return scanner_.scan_one(shape_, hist_.data(), j % batch_, reading,
                                 rules_.dictionary.count(f), node_->totals, present_,
                                 limits_);
    }

    Split best_set(std::int64_t, std::int64_t f, const std::uint64_t* key) {
        return sets_.best(rules_.categories, column(f, {rules_.dictionary.count(f)}),
                          r_, *node_, limits_, f, key);
    }

  private:
    static constexpr std::int64_t kBatch = 64;
    // Features searched together are fewer if there are many classes: each thread has
    // histograms of its own.
    static constexpr std::int64_t kHistogramBytes = 1 << 22;

    CodeColumn column(std::int64_t f, const CodeReading& reading) const {
        return {codes_.column(f), codes_.width, reading};
    }

    // Counters are as narrow as the node allows.
    void fill_batch(std::int64_t first, double floor) {
        const std::int64_t n_features = features_->size();
        const std::int64_t last = std::min(n_features, first + batch_);
        n_filled_ = last;
        cuts_ = nullptr;
        if (!rules_.reads_all()) {
            fill(first, last, hist_);
            sum_bins(shape_, present_, target_.n_classes(), hist_.data());
        } else if (sizeof(Count) == 4 && n_slices_ == target_.n_classes() &&
                   node_->totals.weight <= kBoundedWeight<std::uint16_t>) {
            scan(narrow_hist_, first, last, floor);
        } else {
            scan(hist_, first, last, floor);
        }
    }

    template <class Counter>
    void scan(std::vector<Counter>& hist, std::int64_t first, std::int64_t last,
              double floor) {
        fill(first, last, hist);
        cuts_ = scanner_.scan_all(shape_, hist.data(), n_thresholds_, node_->totals,
                                  present_, limits_, floor, [&](int j) {
                                      return scanner_.scan_one(
                                          shape_, hist.data(), j, {n_thresholds_[j]},
                                          n_thresholds_[j], node_->totals, present_,
                                          limits_);
                                  });
    }

    // Histograms of features first..last-1 of those sampled (a batch at most).
    template <class Counter>
    void fill(std::int64_t first, std::int64_t last, std::vector<Counter>& hist) {
        const int n = last - first;
        std::uint32_t columns[kBatch];
        std::vector<std::uint32_t> lines;
        int most = 0;
        for (int j = 0; j < n; ++j) {
            const std::int32_t f = (*features_)[first + j];
            columns[j] = f;
            n_thresholds_[j] = rules_.dictionary.count(f);
            most = std::max(most, n_thresholds_[j]);
            const std::uint32_t line =
                columns[j] / FeatureSampler::kGroup * FeatureSampler::kGroup;
            if (std::find(lines.begin(), lines.end(), line) == lines.end())
                lines.push_back(line);
        }
        shape_ = HistogramShape(n, most, n_slices_);
        hist.resize(std::max<std::size_t>(hist.size(), shape_.size()));
        fill_histograms(
            shape_, codes_.data, codes_.width, [&](int j) { return columns[j]; }, r_,
            node_->begin, node_->end, present_, target_.n_classes(), lines,
            hist.data());
    }

    const Target& target_;
    Codes codes_;
    SplitRules rules_;
    const ClassRows<Count>& r_;
    ClassLimits<Count> limits_;
    int n_slices_;
    MethodChoice choice_;
    std::int64_t batch_;

    // For the node that is searched.
    const Open* node_ = nullptr;
    const std::vector<std::int32_t>* features_ = nullptr;
    bool is_small_ = false;
    PresentClasses<Count> present_;
    std::int64_t n_filled_ = 0;  // features up to the end of the batch
    const Cut* cuts_ = nullptr;  // of the batch, if they are all found at once
    int n_thresholds_[kBatch];
    HistogramShape shape_;
    std::vector<Count> hist_;
    std::vector<std::uint16_t> narrow_hist_;
    HistogramScanner<Crit, Count> scanner_;
    SortedSearch<Crit, Count> sorted_;
    NodeColumns columns_;  // for random cuts
    ClassSets<Crit, Count> sets_;
};

}  // namespace dics
