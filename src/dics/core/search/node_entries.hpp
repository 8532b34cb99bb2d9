// The codes of a node's rows that differ from the common ones of their features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/code_lists.hpp"
#include "grow/node.hpp"

namespace dics {

// Where each row of X stands among the rows of a tree, which its nodes own by ranges.
class RowPlaces {
  public:
    RowPlaces(const CodeLists& lists, const std::vector<std::uint32_t>& rows)
        : rows_(rows), places_(static_cast<std::size_t>(lists.n_rows()), kNone) {
        update(0, static_cast<std::int64_t>(rows.size()));
    }

    // After the rows begin..end-1 have changed places.
    void update(std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            places_[rows_[i]] = static_cast<std::uint32_t>(i);
    }

    std::uint32_t of(std::uint32_t row) const { return places_[row]; }
    std::uint32_t row(std::int64_t place) const { return rows_[place]; }

  private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    const std::vector<std::uint32_t>& rows_;
    std::vector<std::uint32_t> places_;
};

// An entry of a node: its code, and the place of its row.
struct NodeEntry {
    std::uint32_t place;
    std::uint8_t code;
};

// Entries of one node after the other, for one thread. They are found by walking the
// lists of its rows, or those of the features that are asked for.
class NodeEntries {
  public:
    NodeEntries(const CodeLists& lists, const RowPlaces& places)
        : lists_(&lists),
          places_(&places),
          found_(static_cast<std::size_t>(lists.n_features())),
          starts_(found_.size()) {}

    // Counts the entries of all features in one walk over the rows.
    void start_by_rows(const NodePlace& node) {
        start(node);
        is_by_rows_ = true;
        each_entry([&](std::int32_t f, NodeEntry entry) { count(f, entry.code); });
    }
    // Looks at a feature when it is asked for.
    void start_by_features(const NodePlace& node) {
        start(node);
        is_by_rows_ = false;
    }

    // Features that have entries; by rows only.
    const std::vector<std::int32_t>& touched() const { return touched_; }

    // Whether the codes of a feature vary within the node. By features, each is asked
    // for once.
    bool varies(std::int32_t f) {
        Found& found = found_[f];
        if (!is_by_rows_)
            read(f, found);
        const bool varies = found.count > 0 && (found.count < n_rows_ || found.differs);
        if (!is_by_rows_ && !varies)
            entries_.resize(starts_[f]);
        return varies;
    }

    // Makes the entries of some features ready, which vary.
    void collect(const std::vector<std::int32_t>& features) {
        if (!is_by_rows_)
            return;
        std::size_t size = 0;
        for (const std::int32_t f : features) {
            Found& found = found_[f];
            starts_[f] = size;
            size += found.count;
            found.is_wanted = true;
        }
        entries_.resize(size);
        each_entry([&](std::int32_t f, NodeEntry entry) {
            if (found_[f].is_wanted)
                entries_[starts_[f]++] = entry;
        });
        for (const std::int32_t f : features)
            starts_[f] -= found_[f].count;
    }

    std::span<const NodeEntry> of(std::int32_t f) const {
        return std::span(entries_).subspan(starts_[f], found_[f].count);
    }

  private:
    // Kept small: a walk over the rows meets features in no order.
    struct Found {
        std::uint32_t count = 0;
        std::uint8_t first_code = 0;
        bool differs = false, is_wanted = false;
    };

    void start(const NodePlace& node) {
        for (const std::int32_t f : touched_)
            found_[f] = {};
        touched_.clear();
        entries_.clear();
        begin_ = static_cast<std::uint32_t>(node.begin);
        n_rows_ = static_cast<std::uint32_t>(node.size());
    }

    void count(std::int32_t f, std::uint8_t code) {
        Found& found = found_[f];
        if (found.count++ == 0) {
            touched_.push_back(f);
            found.first_code = code;
        }
        found.differs |= code != found.first_code;
    }

    template <class Each>
    void each_entry(Each each) const {
        for (std::uint32_t place = begin_; place < begin_ + n_rows_; ++place) {
            lists_->each_feature(places_->row(place),
                                 [&](std::int32_t f, std::uint8_t code) {
                                     each(f, NodeEntry{place, code});
                                 });
        }
    }

    void read(std::int32_t f, Found& found) {
        touched_.push_back(f);
        const std::size_t start = entries_.size();
        starts_[f] = start;
        lists_->each_row(f, [&](std::uint32_t row, std::uint8_t code) {
            const std::uint32_t place = places_->of(row);
            if (place - begin_ < n_rows_)
                entries_.push_back({place, code});
        });
        found.count = static_cast<std::uint32_t>(entries_.size() - start);
        for (std::size_t k = start; k < entries_.size(); ++k)
            found.differs |= entries_[k].code != entries_[start].code;
    }

    const CodeLists* lists_;
    const RowPlaces* places_;
    std::vector<Found> found_;         // of each feature
    std::vector<std::size_t> starts_;  // of its entries, if they are ready
    std::vector<std::int32_t> touched_;
    std::vector<NodeEntry> entries_;
    std::uint32_t begin_ = 0, n_rows_ = 0;
    bool is_by_rows_ = false;
};

}  // namespace dics
