// The best cut of one feature by the absolute error.
#pragma once

#include <algorithm>
#include <vector>

#include "search/moments/scan.hpp"
#include "target/ranks.hpp"

namespace dics {

// By the ranks of the targets. For one thread.
template <>
class FeatureScan<AbsoluteError> {
  public:
    using Target = Moments<AbsoluteError>;

    void start_node(const Target& target, const MomentRows& r,
                    const OpenNode<MomentTotals>& node, const SideLimits& limits) {
        target_ = &target;
        r_ = &r;
        node_ = &node;
        limits_ = limits;
        ranked_.resize(r.n_outputs);
        unsplit_ = 0;
        for (int c = 0; c < r.n_outputs; ++c) {
            ranked_[c].find(r, node.begin, node.end, c);
            add_all(c, left_);
            unsplit_ += error(left_, c);
        }
    }

    Cut of_sums(const std::int64_t*, const CodeReading&, std::int64_t) {
        return {};  // no sums are made, see MomentHistograms::is_small
    }

    Cut of_rows(const CodeColumn& column, const std::int64_t*, std::int64_t) {
        const CodeReading& reading = column.reading;
        sort_by_code(column);
        Cut best;
        const std::size_t n = sorted_.size();
        std::size_t n_present = n;
        while (n_present > 0 && code(n_present - 1) == reading.missing_code())
            --n_present;
        walk(reading, false, n_present, best);
        if (n_present < n)
            walk(reading, true, n_present, best);
        best.saw_missing = n_present < n && best.found();
        return best;
    }

  private:
    int code(std::size_t i) const { return sorted_[i] >> 32; }
    std::size_t row(std::size_t i) const { return sorted_[i] & 0xFFFFFFFF; }

    void sort_by_code(const CodeColumn& column) {
        sorted_.clear();
        for (std::int64_t i = 0; i < node_->size(); ++i) {
            const std::uint64_t read = column.of(r_->rows[node_->begin + i]);
            sorted_.push_back(read << 32 | i);
        }
        std::sort(sorted_.begin(), sorted_.end());
    }

    void add_all(int output, RankSums& sums) {
        const RankedRows& ranked = ranked_[output];
        sums.reset(ranked.values.size());
        for (std::size_t k = 0; k < ranked.values.size(); ++k) {
            stop_check_.add(1);
            sums.add(k, ranked.weights[k], ranked.moments[k]);
        }
    }

    // The sum of absolute deviations from the median, in units of the target.
    double error(const RankSums& sums, int output) const {
        if (sums.weight() == 0)
            return 0;
        const RankSums::Below below = sums.median();
        const double middle =
            ranked_[output].values[below.rank] - target_->center(output);
        const double weight_below =
            static_cast<double>(2 * below.weight - sums.weight()) *
            target_->weight_unit();
        return middle * weight_below +
               static_cast<double>(sums.moment() - 2 * below.moment) *
                   target_->unit(output);
    }

    // Cut by cut; errors of both sides are added up over the outputs.
    void walk(const CodeReading& reading, bool missing_left, std::size_t n_present,
              Cut& best) {
        cuts_.clear();
        errors_.clear();
        for (int c = 0; c < r_->n_outputs; ++c) {
            const RankedRows& ranked = ranked_[c];
            left_.reset(ranked.values.size());
            add_all(c, right_);
            cells_.assign(r_->n_cells, 0);
            auto take = [&](std::size_t i) {
                stop_check_.add(1);
                const std::size_t k = ranked.rank[row(i)];
                left_.add(k, ranked.weights[k], ranked.moments[k]);
                right_.add(k, -ranked.weights[k], -ranked.moments[k]);
                const std::int64_t* of_row = r_->of(node_->begin + row(i));
                for (std::size_t j = 0; j < cells_.size(); ++j)
                    cells_[j] += of_row[j];
            };
            std::size_t at = 0, next = 0;
            walk_cuts(
                reading, missing_left,
                [&](auto visit) {
                    while (next < n_present)
                        visit(code(next));
                },
                [&](int bin) {
                    if (bin == reading.missing_code()) {
                        for (std::size_t i = n_present; i < sorted_.size(); ++i)
                            take(i);
                        return;
                    }
                    for (; next < n_present && code(next) == bin; ++next)
                        take(next);
                },
                [&](int lo, int hi) {
                    if (c == 0) {
                        const bool is_allowed =
                            limits_.allow(cells_.data(), node_->totals, r_->n_outputs);
                        cuts_.push_back({is_allowed ? 0 : -1.0e308, lo, hi});
                        errors_.push_back(0);
                    }
                    if (cuts_[at].score == 0)
                        errors_[at] += error(left_, c) + error(right_, c);
                    ++at;
                });
        }
        for (std::size_t i = 0; i < cuts_.size(); ++i) {
            const double score = std::max(0.0, unsplit_ - errors_[i]) / r_->n_outputs;
            if (cuts_[i].score == 0 && score > best.score)
                best = Cut{score, cuts_[i].lo, cuts_[i].hi, missing_left, false};
        }
    }

    const Target* target_ = nullptr;
    const MomentRows* r_ = nullptr;
    const OpenNode<MomentTotals>* node_ = nullptr;
    SideLimits limits_{};
    std::vector<RankedRows> ranked_;  // of each output
    double unsplit_ = 0;              // error of the node
    RankSums left_, right_;
    std::vector<std::uint64_t> sorted_;  // code, then number within the node
    std::vector<std::int64_t> cells_;    // of the left side
    std::vector<Cut> cuts_;
    std::vector<double> errors_;
    StopCheck stop_check_;
};

}  // namespace dics
