// Samples the features and candidates of a round, and gathers the codes of its rows.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "boost/boost.hpp"
#include "boost/chunks.hpp"
#include "boost/row_sampler.hpp"
#include "random.hpp"
#include "search/gradients/histograms.hpp"
#include "team.hpp"

namespace dics {

class SplitSampler {
  public:
    // For `used`, see boost().
    SplitSampler(const Dictionary& dictionary, const Codes& codes, SparseCodes& sparse,
                 const BoostSettings& settings, std::vector<std::int64_t>& used,
                 Team& team)
        : dictionary_(dictionary),
          codes_(codes),
          sparse_(sparse),
          settings_(settings),
          used_(used),
          team_(team),
          removed_(dictionary.size()) {
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            if (dictionary.count(f) > 0)
                useful_.push_back(f);
        }
        for (const std::int64_t id : used)
            removed_[id] = true;
    }

    const RoundSplits& sample(std::uint64_t key) {
        const std::int64_t n_useful = useful_.size();
        splits_.features.clear();
        if (settings_.max_features >= n_useful) {
            splits_.features = useful_;
        } else {
            for (const std::int64_t i : sample_without_replacement(
                     combine(key, 2), n_useful, settings_.max_features))
                splits_.features.push_back(useful_[i]);
        }
        splits_.drawn = settings_.max_candidates > 0 || !settings_.limits.reuse_splits;
        if (splits_.drawn)
            sample_candidates(key);
        sparse_.start_round(splits_.features, team_);
        splits_.dense.clear();
        for (const std::int32_t f : splits_.features) {
            if (!sparse_.has(f))
                splits_.dense.push_back(f);
        }
        return splits_;
    }

    // Codes of the sampled features. If a round uses all features, they are made once.
    RoundCodes codes(const SampledRows& sampled) {
        const bool all =
            settings_.max_features >= std::ssize(useful_) && !splits_.drawn;
        if (!all) {
            gather(sampled.list(), sampled.size(codes_.n_rows));
        } else if (row_codes_.empty() && !splits_.dense.empty()) {
            gather(nullptr, codes_.n_rows);
        }
        const std::int64_t stride = splits_.dense.size();
        if (all && !sampled.all && codes_.n_rows * stride >= kFarBytes) {
            copy_sampled(sampled, stride);
            return {sampled_codes_.data(), stride, false};
        }
        return {row_codes_.data(), stride, all};
    }

    // Line 15 of Algorithm 4: later rounds cannot use the first split of this round.
    void use(const GrownNode& root) {
        // A split with only NaN on the left is not a candidate.
        if (settings_.limits.reuse_splits || root.left < 0 || root.index < 0)
            return;
        const std::int64_t id = dictionary_.offsets[root.feature] + root.index;
        removed_[id] = true;
        used_.push_back(id);
    }

  private:
    static constexpr std::int64_t kParallelRows = 1 << 12;
    static constexpr std::int64_t kFarBytes = std::int64_t{1} << 22;
    static constexpr std::int64_t kGatherRows = 256;
    static constexpr std::int64_t kAhead = 16;  // rows to prefetch

    // Copies the sampled rows together, because every level of the tree reads them
    // again and they share cache lines with other rows.
    void copy_sampled(const SampledRows& sampled, std::int64_t stride) {
        const std::int64_t n = sampled.rows.size();
        sampled_codes_.resize(n * stride);
        const Chunks chunks{n};
        team_.run(chunks.count(), n >= kParallelRows, [&](std::int64_t task, int) {
            const std::int64_t begin = chunks.begin(task);
            std::uint8_t* to = sampled_codes_.data() + begin * stride;
            const std::int64_t end = begin + chunks.length(task);
            for (std::int64_t i = begin; i < end; ++i, to += stride) {
                const std::int64_t next = std::min(i + kAhead, end - 1);
                __builtin_prefetch(row_codes_.data() + sampled.rows[next] * stride);
                std::memcpy(to, row_codes_.data() + sampled.rows[i] * stride, stride);
            }
        });
    }

    // Samples thresholds of the sampled features; removes features without any.
    void sample_candidates(std::uint64_t key) {
        offered_.clear();
        for (const std::int32_t f : splits_.features) {
            for (std::int64_t id = dictionary_.offsets[f];
                 id < dictionary_.offsets[f + 1]; ++id) {
                if (!removed_[id])
                    offered_.push_back(id);
            }
        }
        splits_.candidates.sample(dictionary_, &offered_, settings_.max_candidates,
                                  key);
        splits_.features = splits_.candidates.features;
        splits_.features.erase(
            std::unique(splits_.features.begin(), splits_.features.end()),
            splits_.features.end());
    }

    void gather(const std::uint32_t* rows, std::int64_t n_rows) {
        const std::size_t n_features = splits_.dense.size();
        row_codes_.resize(n_rows * n_features);
        if (codes_.lists)
            return gather_lists(rows, n_rows);
        const Chunks chunks{n_rows, kGatherRows};
        team_.run(chunks.count(), n_rows >= kParallelRows, [&](std::int64_t task, int) {
            std::size_t feature = 0;
            for (; feature + 4 <= n_features; feature += 4)
                gather_columns<4>(rows, chunks.begin(task), chunks.length(task),
                                  feature);
            for (; feature < n_features; ++feature)
                gather_columns<1>(rows, chunks.begin(task), chunks.length(task),
                                  feature);
        });
    }

    void gather_lists(const std::uint32_t* rows, std::int64_t n_rows) {
        const std::int64_t n_features = splits_.dense.size();
        team_.run(n_features, n_rows >= kParallelRows, [&](std::int64_t j, int) {
            std::vector<std::uint8_t> column(codes_.n_rows);
            codes_.lists->spread(splits_.dense[j], column.data());
            std::uint8_t* to = row_codes_.data() + j;
            for (std::int64_t i = 0; i < n_rows; ++i, to += n_features)
                *to = column[rows ? rows[i] : i];
        });
    }

    template <int F>
    void gather_columns(const std::uint32_t* rows, std::int64_t begin, std::int64_t n,
                        std::size_t feature) {
        const std::uint8_t* column[F];
        for (int j = 0; j < F; ++j)
            column[j] = codes_.column(splits_.dense[feature + j]);
        const std::size_t stride = splits_.dense.size();
        std::uint8_t* to = row_codes_.data() + begin * stride + feature;
        for (std::int64_t i = begin; i < begin + n; ++i, to += stride) {
            const std::int64_t row = rows ? std::int64_t{rows[i]} : i;
            std::uint8_t codes[F];
            for (int j = 0; j < F; ++j)
                codes[j] = column[j][row];
            std::memcpy(to, codes, F);
        }
    }

    Dictionary dictionary_;
    Codes codes_;  // of all rows, column by column
    SparseCodes& sparse_;
    const BoostSettings& settings_;
    std::vector<std::int64_t>& used_;
    Team& team_;
    std::vector<std::int32_t> useful_;  // features that have thresholds
    std::vector<bool> removed_;         // of the dictionary
    RoundSplits splits_;
    std::vector<std::int64_t> offered_;
    std::vector<std::uint8_t> row_codes_;      // of all rows, or of the sampled rows
    std::vector<std::uint8_t> sampled_codes_;  // of the sampled rows only
};

}  // namespace dics
