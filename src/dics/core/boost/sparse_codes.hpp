// Sparse codes of features that have the same code in most rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "boost/chunks.hpp"
#include "collective/sum.hpp"
#include "data/code_lists.hpp"
#include "data/matrix.hpp"
#include "team.hpp"

namespace dics {

// Stores only the other codes, row by row. A histogram adds these; the bin of the most
// frequent code gets the rest of the node. In mercedes, 320 of 376 columns have one
// code in 96 % of the rows; in santander_satisfaction, 344 of 369.
class SparseCodes {
  public:
    // One part of the features, for one thread.
    struct Part {
        std::vector<std::int32_t> features;  // in increasing order
        std::vector<std::uint64_t> starts;   // of each row's entries, [n_rows + 1]
        // Index of the feature in this part << 8 | code.
        std::vector<std::uint32_t> entries;
    };

    // A round uses `max_features`. If these are few, most entries would be unused.
    SparseCodes(const Codes& codes, const Dictionary& dictionary,
                std::int64_t max_features, const Sum& sum, Team& team)
        : common_codes_(dictionary.n_features, kNone) {
        lists_ = codes.lists;
        if (lists_)  // each round lists the entries of its features
            find_common_codes_of_lists(dictionary);
        if (lists_ || 2 * max_features < dictionary.n_features)
            return;
        // Histograms must have the same layout in all processes, with any threads.
        make_parts(find_common_codes(codes, dictionary, sum),
                   sum.is_alone() ? team.size() : sum.n_ranks());
        team.run(parts_.size(), true,
                 [&](std::int64_t p, int) { list(codes, parts_[p]); });
    }

    // Lists the entries of the sorted features of a round: each node would have to skip
    // entries of other features.
    void start_round(const std::vector<std::int32_t>& features, Team& team) {
        if (!lists_ || (!parts_.empty() && features == listed_))
            return;
        listed_ = features;
        std::vector<std::int32_t> sparse;
        std::copy_if(features.begin(), features.end(), std::back_inserter(sparse),
                     [&](std::int32_t f) { return has(f); });
        make_parts(sparse, team.size());
        team.run(parts_.size(), true,
                 [&](std::int64_t p, int) { take_lists(*lists_, parts_[p]); });
    }

    bool has(std::int64_t feature) const { return common_code(feature) != kNone; }
    int common_code(std::int64_t feature) const { return common_codes_[feature]; }
    const std::vector<Part>& parts() const { return parts_; }

  private:
    static constexpr std::int16_t kNone = -1;
    static constexpr std::int64_t kSampleRows = 2048, kLeastRows = 256, kAtOnce = 1024;
    static constexpr std::size_t kLeastFeatures = 8;  // of a part
    // Fraction of the rows with the most frequent code. The sum of an entry costs about
    // as much as the sum of two dense codes.
    static constexpr double kLeastFraction = 0.75;

    void make_parts(const std::vector<std::int32_t>& features, int n_threads) {
        const std::size_t n_parts = std::min<std::size_t>(
            n_threads, lists_ ? features.size() : features.size() / kLeastFeatures);
        parts_.resize(n_parts);
        if (n_parts == 0 && !lists_) {
            std::fill(common_codes_.begin(), common_codes_.end(), kNone);
            return;
        }
        for (std::size_t p = 0; p < n_parts; ++p) {
            parts_[p].features.assign(
                features.begin() + features.size() * p / n_parts,
                features.begin() + features.size() * (p + 1) / n_parts);
        }
    }

    void find_common_codes_of_lists(const Dictionary& dictionary) {
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            if (dictionary.count(f) > 0 &&
                lists_->n_entries(f) <= (1 - kLeastFraction) * lists_->n_rows())
                common_codes_[f] = lists_->common(f);
        }
    }

    // Finds features with the same code in most rows of a sample.
    std::vector<std::int32_t> find_common_codes(const Codes& codes,
                                                const Dictionary& dictionary,
                                                const Sum& sum) {
        std::vector<std::int32_t> features;
        if (sum.n_rows(codes.n_rows) < kLeastRows)
            return features;
        const std::int64_t step =
            std::max<std::int64_t>(1, (codes.n_rows + kSampleRows - 1) / kSampleRows);
        const std::int64_t n = sum.n_rows((codes.n_rows + step - 1) / step);
        // In blocks of features, because there may be many.
        std::vector<std::int32_t> all;  // counts of the codes of each
        for (std::int64_t first = 0; first < dictionary.n_features; first += kAtOnce) {
            const std::int64_t last = std::min(dictionary.n_features, first + kAtOnce);
            all.assign(256 * (last - first), 0);
            for (std::int64_t f = first; f < last; ++f) {
                std::int32_t* counts = all.data() + 256 * (f - first);
                const std::uint8_t* column = codes.column(f);
                for (std::int64_t row = 0; row < codes.n_rows; row += step)
                    ++counts[column[row * codes.width]];
            }
            sum.allreduce(all);
            for (std::int64_t f = first; f < last; ++f) {
                const std::int32_t* counts = all.data() + 256 * (f - first);
                const std::int32_t* most = std::max_element(counts, counts + 256);
                if (dictionary.count(f) == 0 || *most < kLeastFraction * n)
                    continue;
                common_codes_[f] = most - counts;
                features.push_back(f);
            }
        }
        return features;
    }

    // Reads columns within a block of rows that stays in the cache.
    void list(const Codes& codes, Part& part) const {
        part.starts.push_back(0);
        std::vector<std::vector<std::uint32_t>> rows(kTaskRows);
        for (std::int64_t first = 0; first < codes.n_rows; first += kTaskRows) {
            const std::int64_t n = std::min(kTaskRows, codes.n_rows - first);
            for (std::size_t k = 0; k < part.features.size(); ++k) {
                const std::int64_t f = part.features[k];
                const std::uint8_t* column = codes.column(f) + first * codes.width;
                const int common = common_code(f);
                for (std::int64_t i = 0; i < n; ++i) {
                    const std::uint8_t code = column[i * codes.width];
                    if (code != common)
                        rows[i].push_back(k << 8 | code);
                }
            }
            for (std::int64_t i = 0; i < n; ++i) {
                auto& entries = rows[i];
                part.entries.insert(part.entries.end(), entries.begin(), entries.end());
                part.starts.push_back(part.entries.size());
                entries.clear();
            }
        }
    }

    // Reads the lists by feature: the lists by row also have the other features.
    static void take_lists(const CodeLists& lists, Part& part) {
        part.starts.assign(lists.n_rows() + 1, 0);
        for (const std::int32_t f : part.features)
            lists.each_row(
                f, [&](std::uint32_t row, std::uint8_t) { ++part.starts[row + 1]; });
        for (std::size_t row = 1; row < part.starts.size(); ++row)
            part.starts[row] += part.starts[row - 1];
        part.entries.resize(part.starts.back());
        std::vector<std::uint64_t> next(part.starts.begin(), part.starts.end() - 1);
        for (std::size_t k = 0; k < part.features.size(); ++k) {
            lists.each_row(part.features[k], [&](std::uint32_t row, std::uint8_t code) {
                part.entries[next[row]++] = k << 8 | code;
            });
        }
    }

    const CodeLists* lists_ = nullptr;
    std::vector<std::int32_t> listed_;        // features of the last round
    std::vector<std::int16_t> common_codes_;  // code of each feature, or kNone
    std::vector<Part> parts_;
};

}  // namespace dics
