// The best cut of a feature for classes, from the rows whose code isn't the common one.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "search/candidate_codes.hpp"
#include "search/node_entries.hpp"
#include "target/class_counts.hpp"

namespace dics {

// Gives the cuts that SortedSearch gives. The common bin is never walked: cuts below it
// are told from the entries on their left, those above it from the entries on their
// right, and the other side is what is left of the node.
template <class Crit, class Count>
class ClassEntryScan {
  public:
    using Target = ClassCounts<Crit, Count>;
    using Open = OpenNode<ClassTotals<Count>>;

    void start_node(const Target& target, const ClassRows<Count>& rows,
                    const Open& node, std::int64_t min_leaf) {
        r_ = &rows;
        node_ = &node;
        totals_ = &node.totals;
        min_leaf_ = min_leaf;
        min_weight_ = target.min_weight();
        side_.resize(node.totals.counts.size(), 0);
    }

    Cut scan(std::span<const NodeEntry> entries, std::int64_t, std::uint8_t common,
             const CodeReading& reading) {
        if (!reading.table && has_one_code(entries, reading))
            return only_cut(entries, common);
        read(entries, common, reading);
        Cut best;
        if (keys_.empty() || (!has_common_ && keys_.front().code == keys_.back().code))
            return best;
        const auto missing = std::find_if(
            keys_.begin(), keys_.end(),
            [&](const NodeEntry& key) { return key.code == reading.missing_code(); });
        n_present_ = static_cast<std::size_t>(missing - keys_.begin());
        const bool has_missing = n_present_ < keys_.size();
        offer(reading, false, best);
        if (has_missing) {
            offer(reading, true, best);
            best.saw_missing = true;
        }
        return best;
    }

  private:
    using W = typename Wide<Count>::type;

    // Rows on one side of a cut; the node's others are on the other.
    struct Part {
        W own_sum, other_sum;
        Count weight;
        std::int64_t n_rows;
    };
    struct Offer {
        int lo, hi;
        bool is_left;  // the part is
        Part part;
    };

    // Most features of a small node: rows have the common code or one other.
    bool has_one_code(std::span<const NodeEntry> entries,
                      const CodeReading& reading) const {
        const std::uint8_t code = entries.front().code;
        return static_cast<std::int64_t>(entries.size()) < node_->size() &&
               code != reading.missing_code() &&
               std::all_of(
                   entries.begin(), entries.end(),
                   [code](const NodeEntry& e) { return e.code == code; });
    }

    Cut only_cut(std::span<const NodeEntry> entries, int common) {
        Part part = no_rows();
        for (const NodeEntry& entry : entries)
            add(entry, part);
        for (const NodeEntry& entry : entries)
            side_[r_->labels[entry.place]] = 0;
        const int code = entries.front().code;
        Cut best;
        rate({std::min(code, common), std::max(code, common) - 1, code < common, part},
             false, best);
        return best;
    }

    // Entries by rising code; those that read as the common code are left out.
    void read(std::span<const NodeEntry> entries, std::uint8_t common,
              const CodeReading& reading) {
        auto code_read = [&](std::uint8_t code) {
            return reading.table ? reading.table[code] : code;
        };
        common_ = code_read(common);
        keys_.clear();
        for (const NodeEntry& entry : entries) {
            const std::uint8_t code = code_read(entry.code);
            if (code != common_)
                keys_.push_back({entry.place, code});
        }
        has_common_ = static_cast<std::int64_t>(keys_.size()) < node_->size();
        sort();
    }

    void sort() {
        if (keys_.size() <= kFewKeys) {
            std::sort(
                keys_.begin(), keys_.end(),
                [](const NodeEntry& a, const NodeEntry& b) { return a.code < b.code; });
            return;
        }
        std::uint32_t next[257] = {};
        for (const NodeEntry& key : keys_)
            ++next[key.code + 1];
        for (int code = 0; code < 256; ++code)
            next[code + 1] += next[code];
        sorted_.resize(keys_.size());
        for (const NodeEntry& key : keys_)
            sorted_[next[key.code]++] = key;
        keys_.swap(sorted_);
    }

    Part no_rows() const { return {0, totals_->sum, 0, 0}; }

    void add(const NodeEntry& key, Part& part) {
        const std::uint32_t label = r_->labels[key.place];
        const Count w = r_->count(key.place);
        const Count own = side_[label];
        const Count other = totals_->counts[label] - own;
        part.own_sum +=
            Crit::template term<Count>(own + w) - Crit::template term<Count>(own);
        part.other_sum +=
            Crit::template term<Count>(other - w) - Crit::template term<Count>(other);
        side_[label] = own + w;
        part.weight += w;
        ++part.n_rows;
    }

    void clear_side() {
        for (const NodeEntry& key : keys_)
            side_[r_->labels[key.place]] = 0;
    }

    // Offers all cuts, NaN on one side.
    void offer(const CodeReading& reading, bool missing_left, Cut& best) {
        offers_.clear();
        std::size_t n_low = n_present_;
        if (has_common_) {
            n_low = static_cast<std::size_t>(
                std::partition_point(
                    keys_.begin(),
                    keys_.begin() + static_cast<std::ptrdiff_t>(n_present_),
                    [&](const NodeEntry& key) { return key.code < common_; }) -
                keys_.begin());
        }
        int previous = offer_low(reading, missing_left, n_low);
        const std::size_t n_before = offers_.size();
        offer_high(reading, missing_left, n_low, previous);
        std::reverse(offers_.begin() + static_cast<std::ptrdiff_t>(n_before),
                     offers_.end());
        for (const Offer& cut : offers_)
            rate(cut, missing_left, best);
    }

    // Cuts below the common bin, and below each bin if there is none. Returns the
    // highest bin that is done.
    int offer_low(const CodeReading& reading, bool missing_left, std::size_t n_low) {
        Part left = no_rows();
        for (std::size_t i = n_present_; missing_left && i < keys_.size(); ++i)
            add(keys_[i], left);
        int previous = -1;
        auto offer_below = [&](int bin) {
            if (bin > 0 || reading.missing_alone())
                offers_.push_back({previous, bin - 1, true, left});
            previous = bin;
        };
        for (std::size_t i = 0; i < n_low;) {
            const std::uint8_t bin = keys_[i].code;
            offer_below(bin);
            for (; i < n_low && keys_[i].code == bin; ++i)
                add(keys_[i], left);
        }
        if (has_common_)
            offer_below(common_);
        clear_side();
        return previous;
    }

    // Cuts above `previous`, from the highest to the lowest.
    void offer_high(const CodeReading& reading, bool missing_left, std::size_t n_low,
                    int previous) {
        Part right = no_rows();
        for (std::size_t i = n_present_; !missing_left && i < keys_.size(); ++i)
            add(keys_[i], right);
        const int highest =
            n_low < n_present_ ? int{keys_[n_present_ - 1].code} : previous;
        if (!missing_left && !reading.missing_alone() && highest < reading.n_thresholds)
            offers_.push_back({highest, reading.n_thresholds - 1, false, right});
        for (std::size_t i = n_present_; i > n_low;) {
            const std::uint8_t bin = keys_[i - 1].code;
            for (; i > n_low && keys_[i - 1].code == bin; --i)
                add(keys_[i - 1], right);
            const int below = i > n_low ? int{keys_[i - 1].code} : previous;
            offers_.push_back({below, bin - 1, false, right});
        }
        clear_side();
    }

    void rate(const Offer& cut, bool missing_left, Cut& best) const {
        const Part& part = cut.part;
        const Count other_weight = totals_->weight - part.weight;
        if (part.n_rows < min_leaf_ || totals_->n_rows - part.n_rows < min_leaf_ ||
            part.weight < min_weight_ || other_weight < min_weight_)
            return;
        const double score =
            cut.is_left ? Crit::template score<Count>(part.own_sum, part.weight,
                                                      part.other_sum, other_weight)
                        : Crit::template score<Count>(part.other_sum, other_weight,
                                                      part.own_sum, part.weight);
        if (score > best.score)
            best = Cut{score, cut.lo, cut.hi, missing_left, false};
    }

    static constexpr std::size_t kFewKeys = 64;

    const ClassRows<Count>* r_ = nullptr;
    const Open* node_ = nullptr;
    const ClassTotals<Count>* totals_ = nullptr;
    std::int64_t min_leaf_ = 1;
    Count min_weight_ = 0;
    std::vector<NodeEntry> keys_, sorted_;
    std::size_t n_present_ = 0;  // keys that aren't NaN
    int common_ = 0;
    bool has_common_ = false;
    std::vector<Count> side_;  // weight of each class; all zero between calls
    std::vector<Offer> offers_;
};

}  // namespace dics
