// The target of classification: a node adds up the weight of each class.
#pragma once

#include <cmath>
#include <limits>

#include "collective/sum.hpp"
#include "grow/split.hpp"
#include "target/class_rows.hpp"
#include "target/criterion.hpp"

namespace dics {

template <class Count>
struct ClassTotals {
    std::vector<Count> counts;  // of each class
    Count weight = 0;
    std::int64_t n_rows = 0;
    int n_present = 0;                   // classes that occur
    typename Wide<Count>::type sum = 0;  // of the terms of all counts
};

template <class Crit, class CountT>
class ClassCounts {
  public:
    using Criterion = Crit;
    using Count = CountT;
    using Rows = ClassRows<Count>;
    using Totals = ClassTotals<Count>;

    // `total_weight` is that of the whole tree's rows.
    ClassCounts(int n_classes, double total_weight, double min_weight_fraction_leaf,
                double min_impurity_decrease)
        : n_classes_(n_classes),
          total_weight_(total_weight),
          min_weight_(
              static_cast<Count>(std::ceil(total_weight * min_weight_fraction_leaf))),
          min_impurity_decrease_(min_impurity_decrease) {}

    int n_classes() const { return n_classes_; }
    // What each side of a split has to weigh.
    Count min_weight() const { return min_weight_; }

    // Of rows begin..end-1.
    void measure(const Rows& r, std::int64_t begin, std::int64_t end,
                 const Sum& contributors, Totals& totals) const {
        clear(totals);
        for (std::int64_t i = begin; i < end; ++i)
            totals.counts[r.labels[i]] += r.count(i);
        totals.n_rows = end - begin;
        contributors.allreduce(totals.counts.data(), n_classes_);
        contributors.allreduce(&totals.n_rows, 1);
        for (const Count count : totals.counts) {
            if (count == 0)
                continue;
            totals.weight += count;
            totals.sum += Crit::template term<Count>(count);
            ++totals.n_present;
        }
    }

    // Leaves in `all` what is left without `part`. Most classes of a small node are in
    // neither.
    void subtract(const Totals& part, Totals& all) const {
        for (std::size_t c = 0; c < part.counts.size(); ++c) {
            if (part.counts[c] == 0)
                continue;
            const Count rest = all.counts[c] - part.counts[c];
            all.sum += Crit::template term<Count>(rest) -
                       Crit::template term<Count>(all.counts[c]);
            all.n_present -= rest == 0 ? 1 : 0;
            all.counts[c] = rest;
        }
        all.weight -= part.weight;
        all.n_rows -= part.n_rows;
    }

    // Moves rows begin..end-1 from a node's totals to those of its left child. A walk
    // over few rows is shorter than one over 100 classes of which they have three.
    void split_totals(const Rows& r, std::int64_t begin, std::int64_t end, std::int64_t,
                      const Sum& contributors, Totals& from, Totals& to) const {
        if (end - begin >= n_classes_ || !contributors.is_alone()) {
            measure(r, begin, end, contributors, to);
            subtract(to, from);
            return;
        }
        clear(to);
        for (std::int64_t i = begin; i < end; ++i) {
            const Count weight = r.count(i);
            add(to, r.labels[i], weight);
            add(from, r.labels[i], Count{0} - weight);
        }
        to.n_rows = end - begin;
        from.n_rows -= to.n_rows;
    }

    // A node of one class is done.
    bool is_done(const Totals& totals) const { return totals.n_present < 2; }

    float impurity(const Totals& totals) const {
        return static_cast<float>(
            Crit::template impurity<Count>(totals.sum, totals.weight));
    }

    // Is the split good enough? Then `gain` is what it gains.
    bool accepts(const Split& split, const Totals& totals, double& gain) const {
        const double purity = Crit::template purity<Count>(totals.sum, totals.weight);
        gain = (split.score - purity) / Crit::template kUnit<Count> / total_weight_;
        return min_impurity_decrease_ <= 0 ||
               gain + std::numeric_limits<double>::epsilon() >= min_impurity_decrease_;
    }

    // Where NaN goes that no row of the node has.
    bool left_is_larger(const Totals& left, const Totals& right) const {
        return left.weight >= right.weight;
    }

  private:
    void clear(Totals& totals) const {
        totals.counts.assign(static_cast<std::size_t>(n_classes_), 0);
        totals.weight = 0;
        totals.n_present = 0;
        totals.sum = 0;
    }

    // Counts don't fall below 0: unsigned numbers wrap around for a negative weight.
    static void add(Totals& totals, int label, Count weight) {
        Count& count = totals.counts[static_cast<std::size_t>(label)];
        const Count before = count;
        count += weight;
        totals.weight += weight;
        totals.sum +=
            Crit::template term<Count>(count) - Crit::template term<Count>(before);
        totals.n_present += (count != 0) - (before != 0);
    }

    int n_classes_;
    double total_weight_;
    Count min_weight_;
    double min_impurity_decrease_;
};

}  // namespace dics
