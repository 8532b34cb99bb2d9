// The best cut of a feature in classification, from rows without the common code.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "search/classes/histogram.hpp"
#include "search/node_entries.hpp"

namespace dics {

// Gives the cuts that SortedSearch gives. The rows of the common bin are never visited:
// left of it the entries on the left are added up, and right of it those on the right;
// the other side is the rest of the node.
template <class Crit, class Count>
class ClassEntryScan {
  public:
    using Target = ClassCounts<Crit, Count>;
    using Open = OpenNode<ClassTotals<Count>>;

    void start_node(const Target& target, const ClassRows<Count>& rows,
                    const Open& node, std::int64_t min_leaf) {
        r_ = &rows;
        node_ = &node;
        limits_ = {min_leaf, target.min_weight()};
        counts_.resize(node.totals.counts.size(), 0);
    }

    Cut scan(std::span<const NodeEntry> entries, std::int64_t, std::uint8_t common,
             const CodeReading& reading) {
        read(entries, common, reading);
        Cut best;
        if (keys_.empty() || (!has_common_ && keys_.front().code == keys_.back().code))
            return best;
        n_present_ = keys_.size();
        while (n_present_ > 0 && keys_[n_present_ - 1].code == reading.missing_code())
            --n_present_;
        walk(reading, false, best);
        if (n_present_ < std::ssize(keys_)) {
            walk(reading, true, best);
            best.saw_missing = true;
        }
        return best;
    }

  private:
    using W = typename Wide<Count>::type;

    // Rows on one side of a cut; the node's others are on the other.
    struct Part {
        W own_sum, other_sum;
        Count weight = 0;
        std::int64_t n_rows = 0;
    };

    // Entries by rising code; those that read as the common code are left out.
    void read(std::span<const NodeEntry> entries, std::uint8_t common,
              const CodeReading& reading) {
        common_ = reading(common);
        keys_.clear();
        for (const NodeEntry& entry : entries) {
            const std::uint8_t code = reading(entry.code);
            if (code != common_)
                keys_.push_back({entry.place, code});
        }
        has_common_ = std::ssize(keys_) < node_->size();
        sort_by_code(keys_, sorted_, [](const NodeEntry& key) { return key.code; });
    }

    // Adds entries begin..end-1 to the part.
    void add(std::int64_t begin, std::int64_t end, Part& part) {
        for (std::int64_t i = begin; i < end; ++i) {
            move(keys_[i], r_->count(keys_[i].place), part);
            ++part.n_rows;
        }
    }
    void subtract(std::int64_t begin, std::int64_t end, Part& part) {
        for (std::int64_t i = begin; i < end; ++i) {
            move(keys_[i], Count{0} - r_->count(keys_[i].place), part);
            --part.n_rows;
        }
    }
    // Unsigned numbers wrap around for a negative weight.
    void move(const NodeEntry& key, Count weight, Part& part) {
        const std::uint32_t label = r_->labels[key.place];
        const Count own = counts_[label];
        const Count other = node_->totals.counts[label] - own;
        part.own_sum +=
            Crit::template term<Count>(own + weight) - Crit::template term<Count>(own);
        part.other_sum += Crit::template term<Count>(other - weight) -
                          Crit::template term<Count>(other);
        counts_[label] = own + weight;
        part.weight += weight;
    }
    Part no_rows() {
        for (const NodeEntry& key : keys_)
            counts_[r_->labels[key.place]] = 0;
        return {0, node_->totals.sum};
    }

    void walk(const CodeReading& reading, bool missing_left, Cut& best) {
        const std::int64_t n_keys = keys_.size();
        Part part{0, node_->totals.sum};
        bool is_left = true;    // the part is
        std::int64_t next = 0;  // entry that is not yet on the left
        auto bin_end = [&] {
            std::int64_t end = next + 1;
            while (end < n_present_ && keys_[end].code == keys_[next].code)
                ++end;
            return end;
        };
        walk_cuts(
            reading, missing_left,
            [&](auto visit) {
                bool waits = has_common_;
                while (next < n_present_) {
                    if (waits && keys_[next].code > common_) {
                        waits = false;
                        visit(common_);
                    }
                    visit(keys_[next].code);
                }
                if (waits)
                    visit(common_);
            },
            [&](int bin) {
                if (bin == common_) {
                    part = no_rows();
                    is_left = false;
                    add(next, missing_left ? n_present_ : n_keys, part);
                } else if (bin == reading.missing_code()) {
                    add(n_present_, n_keys, part);
                } else {
                    const std::int64_t end = bin_end();
                    is_left ? add(next, end, part) : subtract(next, end, part);
                    next = end;
                }
            },
            [&](int lo, int hi) {
                rate(part, is_left, {0, lo, hi, missing_left}, best);
            });
        no_rows();
    }

    void rate(const Part& part, bool is_left, Cut cut, Cut& best) const {
        const ClassTotals<Count>& totals = node_->totals;
        const Count other_weight = totals.weight - part.weight;
        if (part.n_rows < limits_.min_leaf ||
            totals.n_rows - part.n_rows < limits_.min_leaf ||
            part.weight < limits_.min_weight || other_weight < limits_.min_weight)
            return;
        cut.score = is_left ? Crit::template score<Count>(part.own_sum, part.weight,
                                                          part.other_sum, other_weight)
                            : Crit::template score<Count>(part.other_sum, other_weight,
                                                          part.own_sum, part.weight);
        if (cut.score > best.score)
            best = cut;
    }

    const ClassRows<Count>* r_ = nullptr;
    const Open* node_ = nullptr;
    ClassLimits<Count> limits_{};
    std::vector<NodeEntry> keys_, sorted_;
    std::int64_t n_present_ = 0;  // keys without those of NaN
    int common_ = 0;
    bool has_common_ = false;
    std::vector<Count> counts_;  // of each class in a part; all zero between calls
};

}  // namespace dics
