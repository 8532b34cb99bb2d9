// Search of features that are sampled for each node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/matrix.hpp"
#include "grow/node.hpp"
#include "random.hpp"
#include "search/split_chooser.hpp"

namespace dics {

// With many features, a node is offered up to 128: two groups of up to 64,
// whose codes stand together, so that a row costs a few fetches and not one for nearly
// every feature (CIFAR-10, 55 of 3072 features a node: 33). Which features form a
// group is random (forest_order). A node that finds too few among them that vary within
// it is offered more. With very many features, such as words, most are constant in a
// small node: there, as in RandomForest, constant ones count as well (newsgroups20, 100
// trees of 172 features a node: 71.0 % of the test rows right, mean of two seeds, in 15
// s of CPU; 70.7 %, of three, in 19 s when nodes searched 1024 for 172 that vary;
// 2026-11).
//
// The order is a function of the node's key alone. Features that are constant within
// the node are reported by mark_constant(): they are constant in the whole subtree, so
// they are passed over there without a look at the data. Trees that are not grown depth
// first do without: the last node of the level above need not be the parent.
class FeatureSampler {
  public:
    static constexpr std::int64_t kGroup = 64;
    static constexpr std::int64_t kOffered = 2 * kGroup;
    // Features above which constant ones count.
    static constexpr std::int64_t kMany = 2048;

    // A node looks at `max_features` of them.
    FeatureSampler(const Dictionary& dictionary, std::int64_t max_features,
                   bool is_best_first)
        : n_features_(dictionary.n_features),
          is_best_first_(is_best_first),
          n_words_((n_features_ + 63) / 64) {
        const std::int64_t n_groups = (n_features_ + kGroup - 1) / kGroup;
        most_sampled_ = n_features_ > kMany ? max_features : n_features_;
        for (std::int64_t group = 0; group < n_groups; ++group)
            groups_.push_back(group);
    }

    void begin(std::uint64_t node_key, std::int64_t depth) {
        stream_ = Stream(combine(node_key, 6));
        n_groups_used_ = 0;
        n_sampled_ = 0;
        offered_.clear();
        at_ = 0;
        const std::size_t level = is_best_first_ ? 0 : depth;
        if (constant_.size() < (level + 1) * n_words_)
            constant_.resize((level + 1) * n_words_);
        known_ = constant_.data() + level * n_words_;
        for (std::size_t w = 0; w < n_words_; ++w)
            known_[w] = level == 0 ? 0 : known_[w - n_words_];
        offer_more();
    }

    // The groups offered first.
    std::span<const std::int32_t> groups() const {
        return {groups_.data(), n_groups_used_};
    }

    // The first feature of a group. Groups are as long as each other to within one
    // feature, or those of a short group would be sampled more often.
    std::int64_t start(std::int64_t group) const {
        return group * n_features_ / groups_.size();
    }

    std::int64_t n_groups() const { return groups_.size(); }
    // The group of a feature: the last that starts no later.
    std::size_t group(std::int64_t feature) const {
        return static_cast<std::size_t>(((feature + 1) * n_groups() - 1) / n_features_);
    }

    // The next feature; false if there is none, or none is offered any more: `n_found`
    // that vary were found so far.
    bool next(std::int64_t n_found, std::int32_t& feature) {
        while (!is_done(n_found) && (at_ < offered_.size() || offer_more())) {
            choose(offered_, at_);
            feature = offered_[at_++];
            ++n_sampled_;
            if ((known_[feature / 64] >> (feature % 64) & 1) == 0)
                return true;
        }
        return false;
    }

    // Samples as many features that vary as `next` would find, for a caller who knows
    // which do: count(group) of a group, and take(group) adds them to `features`.
    // Where all that vary among those offered are taken, their order has no effect.
    template <class Count, class Take, class Varies>
    void sample_known(std::int64_t max_features, std::uint64_t node_key, Count count,
                      Take take, Varies varies, std::vector<std::int32_t>& features) {
        auto n_found = [&] { return std::ssize(features); };
        stream_ = Stream(combine(node_key, 6));
        n_groups_used_ = 0;
        n_sampled_ = 0;
        while (n_found() < max_features && !is_done(n_found()) && offer_groups()) {
            std::int64_t n = 0, n_offered = 0;
            for (const std::int32_t group : last_groups()) {
                n += count(group);
                n_offered += start(group + 1) - start(group);
            }
            if (n_found() + n <= max_features &&
                (n == 0 || n_sampled_ + n_offered <= most_sampled_)) {
                for (const std::int32_t group : last_groups())
                    take(group);
                stream_.skip(static_cast<std::uint64_t>(n_offered));
                n_sampled_ += n_offered;
                continue;
            }
            for (offer_features(); at_ < offered_.size() && n_found() < max_features &&
                                   !is_done(n_found());
                 ++at_, ++n_sampled_) {
                choose(offered_, at_);
                if (varies(offered_[at_]))
                    features.push_back(offered_[at_]);
            }
        }
        end();
    }

    void mark_constant(std::int32_t feature) {
        known_[feature / 64] |= std::uint64_t{1} << (feature % 64);
    }

    // Puts the groups back in order: the next node starts from the same.
    void end() {
        for (; !swapped_.empty(); swapped_.pop_back())
            std::swap(groups_[swapped_.size() - 1], groups_[swapped_.back()]);
    }

  private:
    // Is a node with `n_found` features done?
    bool is_done(std::int64_t n_found) const {
        return n_sampled_ >= most_sampled_ && n_found > 0;
    }

    // One step of a shuffle (Fisher and Yates).
    void choose(std::vector<std::int32_t>& items, std::size_t at) {
        std::swap(items[at], items[at + stream_.below(items.size() - at)]);
    }

    bool offer_more() {
        if (!offer_groups())
            return false;
        offer_features();
        return true;
    }

    bool offer_groups() {
        n_before_ = n_groups_used_;
        for (int i = 0; i < kOffered / kGroup && n_groups_used_ < groups_.size();
             ++i, ++n_groups_used_) {
            if (n_features_ <= kOffered)
                continue;
            const std::size_t other =
                n_groups_used_ + stream_.below(groups_.size() - n_groups_used_);
            std::swap(groups_[n_groups_used_], groups_[other]);
            swapped_.push_back(other);
        }
        return n_groups_used_ > n_before_;
    }

    std::span<const std::int32_t> last_groups() const {
        return std::span(groups_).subspan(n_before_, n_groups_used_ - n_before_);
    }

    void offer_features() {
        offered_.clear();
        at_ = 0;
        for (const std::int32_t group : last_groups()) {
            for (std::int64_t p = start(group); p < start(group + 1); ++p)
                offered_.push_back(p);
        }
    }

    std::int64_t n_features_;
    bool is_best_first_;
    std::vector<std::int32_t> groups_;
    std::size_t n_groups_used_ = 0;
    std::int64_t most_sampled_ = 0, n_sampled_ = 0;
    std::size_t n_before_ = 0;          // groups used before the last offer
    std::vector<std::size_t> swapped_;  // what each group used changed places with
    std::vector<std::int32_t> offered_;
    std::size_t at_ = 0;  // how many of those offered are gone
    Stream stream_{0};
    std::size_t n_words_;
    std::vector<std::uint64_t> constant_;  // a bit for each feature, for each level
    std::uint64_t* known_ = nullptr;
};

// Which features vary within a node; codes are row-major.
class VaryingFeatures {
  public:
    void start_node(const Codes& codes, const std::vector<std::uint32_t>& rows,
                    const NodePlace& node) {
        codes_ = codes;
        rows_ = rows.data() + node.begin;
        n_rows_ = node.size();
        n_first_ = std::min<std::int64_t>(n_rows_, n_rows_ <= kFewRows ? 2 : 8);
        lines_.resize((codes.width + kLine - 1) / kLine);
        for (Line& line : lines_)
            line.is_compared = false;
    }

    // The first rows show that most features vary. The other features are mostly one
    // value, and so are their neighbors: all rows are then compared by whole lines of
    // features (mercedes, half of 376 features sampled: 10 % of a forest's time).
    bool has(std::int64_t f) {
        const std::uint8_t first = code(0, f);
        for (std::int64_t i = 1; i < n_first_; ++i) {
            if (code(i, f) != first)
                return true;
        }
        if (n_first_ == n_rows_)
            return false;
        Line& line = lines_[f / kLine];
        if (!line.is_compared)
            compare(f / kLine * kLine, line);
        return line.differences[f % kLine] != 0;
    }

  private:
    static constexpr std::int64_t kFewRows = 16, kLine = 64;

    struct Line {
        bool is_compared;
        std::uint8_t differences[kLine];
    };

    std::uint8_t code(std::int64_t i, std::int64_t f) const {
        return codes_.data[std::int64_t{rows_[i]} * codes_.width + f];
    }

    void compare(std::int64_t begin, Line& line) const {
        const std::uint8_t* codes = codes_.data + begin;
        const std::uint8_t* first = codes + std::int64_t{rows_[0]} * codes_.width;
        const std::int64_t n = std::min<std::int64_t>(kLine, codes_.width - begin);
        std::uint8_t differences[kLine] = {};
        for (std::int64_t i = 1; i < n_rows_; ++i) {
            const std::uint8_t* row = codes + std::int64_t{rows_[i]} * codes_.width;
            for (std::int64_t j = 0; j < n; ++j)
                differences[j] |= row[j] ^ first[j];
        }
        std::copy_n(differences, kLine, line.differences);
        line.is_compared = true;
    }

    Codes codes_{};
    const std::uint32_t* rows_ = nullptr;
    std::int64_t n_rows_ = 0, n_first_ = 0;
    std::vector<Line> lines_;
};

// Samples until `max_features` features were found that vary within the node. `sampler`
// has begun the node.
template <class Varies>
void sample_varying(std::int64_t max_features, Varies varies, FeatureSampler& sampler,
                    std::vector<std::int32_t>& features) {
    features.clear();
    std::int32_t feature;
    while (std::ssize(features) < max_features &&
           sampler.next(std::ssize(features), feature)) {
        if (varies(feature))
            features.push_back(feature);
        else
            sampler.mark_constant(feature);
    }
    sampler.end();
}

// Searches features that are sampled for each node, as in RandomForest. Codes are
// row-major here: the codes of a node's rows stay in the cache from one level to the
// next. `Scan` is ClassRowScan or MomentRowScan. For one thread: a forest grows its
// trees side by side.
template <class Scan>
class SampledSearch : public PlainSearch<typename Scan::Target::Totals> {
  public:
    using Target = typename Scan::Target;
    using Open = typename Scan::Open;
    using Rows = typename Target::Rows;
    struct Context {};

    SampledSearch(const Target& target, const Codes& codes, const SplitRules& rules,
                  const Rows& rows, std::int64_t max_features, FeatureSampler& sampler)
        : codes_(codes),
          rules_(rules),
          r_(rows),
          max_features_(max_features),
          sampler_(sampler),
          scan_(target, codes, rules, rows, max_features) {}

    Context make_context(int) const { return {}; }
    std::int64_t work(const Open& node) const { return node.size() * max_features_; }

    void find(Open* const* nodes, int n_nodes, Context&, bool, int) {
        for (int i = 0; i < n_nodes; ++i)
            nodes[i]->split = best_split(*nodes[i]);
    }

    CodeSide side(const Split& split) const {
        return {codes_, rules_.dictionary, split};
    }
    CodeSetSide set_side(const Split& split) const {
        return {codes_, rules_.dictionary, split};
    }

  private:
    static constexpr std::int64_t kFetchedRows = 256;

    Split best_split(const Open& node) {
        sampler_.begin(node.key, node.depth);
        if (node.size() <= kFetchedRows)
            fetch_codes(node);
        varying_.start_node(codes_, r_.rows, node);
        sample_varying(
            max_features_, [&](std::int64_t f) { return varying_.has(f); }, sampler_,
            features_);
        const bool samples = rules_.max_candidates > 0;
        if (samples) {
            std::sort(features_.begin(), features_.end());
            candidates_.sample_from(rules_.dictionary, features_, rules_.max_candidates,
                                    node.key);
        }
        scan_.start_node(node, features_);
        SplitChooser chooser(rules_, node, node.totals.n_rows,
                             samples ? &candidates_ : nullptr);
        return chooser.choose(
            features_.size(), [&](std::int64_t j) { return features_[j]; }, scan_);
    }

    // Asks for the codes of a small node's rows all at once: they come from anywhere in
    // memory, and the look at the first of them would wait for each in turn.
    void fetch_codes(const Open& node) {
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            const std::uint8_t* row =
                codes_.data + std::int64_t{r_.rows[i]} * codes_.width;
            for (const std::int32_t group : sampler_.groups()) {
                __builtin_prefetch(row + sampler_.start(group));
                __builtin_prefetch(row + sampler_.start(group + 1) - 1);
            }
        }
    }

    Codes codes_;
    SplitRules rules_;
    const Rows& r_;
    std::int64_t max_features_;
    FeatureSampler& sampler_;
    Scan scan_;
    VaryingFeatures varying_;
    std::vector<std::int32_t> features_;  // of the node
    CandidateList candidates_;
};

}  // namespace dics
