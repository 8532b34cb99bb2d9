// The target of classification: the totals of a node are the weights of its classes.
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

    // `total_weight` is the weight of all rows of the tree.
    ClassCounts(int n_classes, double total_weight, double min_weight_fraction_leaf,
                double min_impurity_decrease)
        : n_classes_(n_classes),
          total_weight_(total_weight),
          min_weight_(std::ceil(total_weight * min_weight_fraction_leaf)),
          min_impurity_decrease_(min_impurity_decrease) {}

    int n_classes() const { return n_classes_; }
    // Minimum weight of each side of a split.
    Count min_weight() const { return min_weight_; }

    // Computes the totals of rows begin..end-1.
    void measure(const Rows& r, std::int64_t begin, std::int64_t end,
                 const Sum& processes, Totals& totals) const {
        clear(totals);
        for (std::int64_t i = begin; i < end; ++i)
            totals.counts[r.labels[i]] += r.count(i);
        totals.n_rows = end - begin;
        processes.allreduce(totals.counts);
        processes.allreduce(&totals.n_rows, 1);
        for (const Count count : totals.counts) {
            if (count == 0)
                continue;
            totals.weight += count;
            totals.sum += Crit::template term<Count>(count);
            ++totals.n_present;
        }
    }

    // Subtracts `part` from `all`. A small node has few of many classes.
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

    // Moves rows begin..end-1 from the totals of a node to those of its left child. If
    // the rows are fewer than the classes, a loop over the rows is shorter.
    void split_totals(const Rows& r, std::int64_t begin, std::int64_t end, std::int64_t,
                      const Sum& processes, Totals& from, Totals& to) const {
        if (end - begin >= n_classes_ || !processes.is_alone()) {
            measure(r, begin, end, processes, to);
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

    // A node with a single class is not split.
    bool is_done(const Totals& totals) const { return totals.n_present < 2; }

    float impurity(const Totals& totals) const {
        return Crit::template impurity<Count>(totals.sum, totals.weight);
    }

    // Sets `gain`. Returns true if the gain is large enough.
    bool accepts(const Split& split, const Totals& totals, double& gain) const {
        const double purity = Crit::template purity<Count>(totals.sum, totals.weight);
        gain = (split.score - purity) / Crit::template kUnit<Count> / total_weight_;
        return min_impurity_decrease_ <= 0 ||
               gain + std::numeric_limits<double>::epsilon() >= min_impurity_decrease_;
    }

    // NaN goes to the larger side if the node has no NaN.
    bool left_is_larger(const Totals& left, const Totals& right) const {
        return left.weight >= right.weight;
    }

  private:
    void clear(Totals& totals) const {
        totals.counts.assign(n_classes_, 0);
        totals.weight = 0;
        totals.n_present = 0;
        totals.sum = 0;
    }

    // A negative weight wraps around, and so does its sum: counts stay at least 0.
    static void add(Totals& totals, int label, Count weight) {
        Count& count = totals.counts[label];
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
