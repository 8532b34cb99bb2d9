// Samples the rows of a boosting round.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "boost/chunks.hpp"
#include "collective/sum.hpp"
#include "random.hpp"
#include "team.hpp"

namespace dics {

enum class RowSampling { none, goss, mvs };

struct RowDraw {
    RowSampling sampling = RowSampling::none;
    double top_rate = 0, other_rate = 0;
};

// The sampled rows in increasing order, and the factor of each.
struct SampledRows {
    bool all = true;         // every row once; the vectors are empty
    std::int64_t n_all = 0;  // sampled rows of all processes
    std::vector<std::uint32_t> rows;
    std::vector<float> factors;

    std::int64_t size(std::int64_t n_rows) const { return all ? n_rows : rows.size(); }
    const std::uint32_t* list() const { return all ? nullptr : rows.data(); }
    // Starts a sample of `n` rows of all processes; add() fills it unless `every`.
    void clear(bool every, std::int64_t n) {
        all = every;
        n_all = n;
        rows.clear();
        factors.clear();
    }
    void add(std::int64_t row, float factor) {
        rows.push_back(row);
        factors.push_back(factor);
    }
};

// The k-th smallest of n 32-bit keys (k from 1), and the number of smaller keys.
struct Rank {
    std::uint32_t value;
    std::int64_t n_smaller;
};

inline constexpr std::int64_t kSortedKeys = 1 << 13;

template <class KeyOf>
Rank kth_of_few(std::int64_t n, std::int64_t k, KeyOf key_of) {
    std::vector<std::uint32_t> keys(n);
    for (std::int64_t i = 0; i < n; ++i)
        keys[i] = key_of(i);
    const auto kth = keys.begin() + (k - 1);
    std::nth_element(keys.begin(), kth, keys.end());
    const std::uint32_t value = *kth;
    return {value, std::count_if(keys.begin(), kth,
                                 [value](std::uint32_t key) { return key < value; })};
}

// The same over the keys of all processes; `n` of them are local.
template <class KeyOf>
Rank kth_smallest(std::int64_t n, std::int64_t k, const Sum& sum, KeyOf key_of) {
    // Counts 16 bits at a time, or selects among few keys (iris, 300 rounds of GOSS: 46
    // ms with counts, 14 ms with the selection; 2026-11).
    if (n <= kSortedKeys && sum.is_alone())
        return kth_of_few(n, k, key_of);
    std::vector<std::uint32_t> counts(1 << 16);
    std::uint32_t prefix = 0;
    std::int64_t n_smaller = 0;
    for (int pass = 0; pass < 2; ++pass) {
        std::fill(counts.begin(), counts.end(), 0);
        for (std::int64_t i = 0; i < n; ++i) {
            const std::uint32_t key = key_of(i);
            if (pass == 0) {
                ++counts[key >> 16];
            } else if (key >> 16 == prefix) {
                ++counts[key & 0xFFFF];
            }
        }
        sum.allreduce(counts.data(), 1 << 16);
        std::uint32_t digit = 0;
        while (digit < 0xFFFF && n_smaller + counts[digit] < k)
            n_smaller += counts[digit++];
        prefix = pass == 0 ? digit : prefix << 16 | digit;
    }
    return {prefix, n_smaller};
}

class RowSampler {
  public:
    RowSampler(const RowDraw& draw, std::int64_t n_rows, const Sum& sum, Team& team)
        : draw_(draw),
          sum_(sum),
          n_rows_(n_rows),
          n_all_(sum.n_rows(n_rows)),
          team_(team) {}

    // `norms` are the lengths of the gradients of the rows.
    void sample(const float* norms, std::uint64_t key, SampledRows& sampled) {
        if (draw_.sampling == RowSampling::none) {
            sampled.clear(true, n_all_);
        } else if (draw_.sampling == RowSampling::goss) {
            sample_goss(norms, key, sampled);
        } else {
            sample_mvs(norms, key, sampled);
        }
    }

  private:
    // By the global index of the row.
    static std::uint32_t random_of(std::uint64_t key, std::int64_t number) {
        return mix(key + number) >> 32;
    }

    // The a N rows with the largest norms, and b N of the others with the factor (1 -
    // a) / b. Ties go to the lower index.
    void sample_goss(const float* norms, std::uint64_t key, SampledRows& sampled) {
        // At least one row of each requested kind.
        auto count = [&](double rate) {
            return std::max<std::int64_t>(rate * n_all_, rate > 0);
        };
        const std::int64_t n_top = count(draw_.top_rate);
        const std::int64_t n_other = count(draw_.other_rate);
        if (n_top + n_other == 0 || n_top + n_other >= n_all_)
            return sampled.clear(true, n_all_);
        // Norms are not negative, so their bits increase with them.
        auto shortness = [&](std::int64_t i) {
            return ~std::bit_cast<std::uint32_t>(norms[i]);
        };
        chosen_.assign(n_rows_, 0);
        if (n_top > 0)
            choose(n_top, shortness, 1);
        keys_.resize(n_rows_);
        sum_.each_run(0, n_rows_,
                      [&](std::int64_t first, std::int64_t last, std::int64_t shift) {
                          for (std::int64_t i = first; i < last; ++i)
                              keys_[i] = random_of(key, i + shift);
                      });
        if (n_other > 0)
            choose(n_other, [&](std::int64_t i) { return keys_[i]; }, 2);
        sampled.clear(false, n_top + n_other);
        const float factor = n_other == 0 ? 1.0 : double(n_all_ - n_top) / n_other;
        for (std::int64_t i = 0; i < n_rows_; ++i) {
            const auto kind = chosen_[i];
            if (kind)
                sampled.add(i, kind == 1 ? 1.0f : factor);
        }
    }

    // Chooses the k smallest keys of the rows that are not chosen yet.
    template <class KeyOf>
    void choose(std::int64_t k, KeyOf key_of, std::uint8_t kind) {
        // Without a branch: push_back took a tenth of a fit with GOSS (2026-11).
        open_.resize(n_rows_);
        std::int64_t n_open = 0;
        for (std::int64_t i = 0; i < n_rows_; ++i) {
            open_[n_open] = i;
            n_open += !chosen_[i];
        }
        auto key_at = [&](std::int64_t j) { return key_of(std::int64_t{open_[j]}); };
        const Rank rank = kth_smallest(n_open, k, sum_, key_at);
        for (std::int64_t j = 0; j < n_open; ++j) {
            if (key_at(j) < rank.value)
                chosen_[open_[j]] = kind;
        }
        choose_equals(k - rank.n_smaller, rank.value, key_of, kind);
    }

    // Chooses `n_wanted` of the rows with this key, by their global indices.
    template <class KeyOf>
    void choose_equals(std::int64_t n_wanted, std::uint32_t value, KeyOf key_of,
                       std::uint8_t kind) {
        auto is_equal = [&](std::int64_t i) {
            return !chosen_[i] && key_of(i) == value;
        };
        std::vector<std::int64_t> counts;
        if (!sum_.is_alone()) {
            sum_.each_run(0, n_rows_,
                          [&](std::int64_t first, std::int64_t last, std::int64_t) {
                              counts.push_back(0);
                              for (std::int64_t i = first; i < last; ++i)
                                  counts.back() += is_equal(i);
                          });
        }
        const std::vector<std::int64_t> before = sum_.before(counts);
        std::size_t run = 0;
        sum_.each_run(0, n_rows_,
                      [&](std::int64_t first, std::int64_t last, std::int64_t) {
                          std::int64_t n_left = n_wanted - before[run++];
                          for (std::int64_t i = first; i < last && n_left > 0; ++i) {
                              if (is_equal(i)) {
                                  chosen_[i] = kind;
                                  --n_left;
                              }
                          }
                      });
    }

    // Samples each row with probability p = min(1, norm / m) and factor 1 / p. The
    // limit m is such that (a + b) N rows are sampled on average.
    void sample_mvs(const float* norms, std::uint64_t key, SampledRows& sampled) {
        const double n_wanted = (draw_.top_rate + draw_.other_rate) * n_all_;
        if (n_wanted >= n_all_)
            return sampled.clear(true, n_all_);
        const float limit = certain_norm(norms, n_wanted);
        if (!(limit > 0))
            return sampled.clear(true, n_all_);
        // Each chunk writes its rows to the places that they have if all are sampled.
        places_.resize(n_rows_);
        const Chunks chunks{n_rows_, kChunkRows};
        const bool parallel = n_rows_ >= kParallelRows;
        std::vector<std::int64_t> ends(chunks.count());
        team_.run(chunks.count(), parallel, [&](std::int64_t task, int) {
            const std::int64_t begin = chunks.begin(task);
            ends[task] = sample_part(norms, key, limit, begin, chunks.length(task));
        });
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        const std::int64_t n_sampled = ends.empty() ? 0 : ends.back();
        const std::int64_t n_total = sum_.n_rows(n_sampled);
        if (n_total == 0)
            return sampled.clear(true, n_all_);
        sampled.all = false;  // the vectors are overwritten
        sampled.n_all = n_total;
        sampled.rows.resize(n_sampled);
        sampled.factors.resize(sampled.rows.size());
        team_.run(chunks.count(), parallel, [&](std::int64_t task, int) {
            const std::int64_t first = task > 0 ? ends[task - 1] : 0;
            const std::uint32_t* rows = places_.data() + chunks.begin(task);
            for (std::int64_t i = first; i < ends[task]; ++i, ++rows) {
                const float norm = norms[*rows];
                sampled.rows[i] = *rows;
                sampled.factors[i] = norm >= limit ? 1.0f : limit / norm;
            }
        });
    }

    // Samples from rows begin..begin+n-1; returns the number of sampled rows.
    std::int64_t sample_part(const float* norms, std::uint64_t key, float limit,
                             std::int64_t begin, std::int64_t n) {
        // 2^32 times the probability, compared with 32 random bits.
        const float scale = 4294967296.0f / limit;
        std::uint32_t* rows = places_.data() + begin;
        std::int64_t n_sampled = 0;
        sum_.each_run(begin, begin + n,
                      [&](std::int64_t first, std::int64_t last, std::int64_t shift) {
                          for (std::int64_t i = first; i < last; ++i) {
                              const bool is_sampled =
                                  (norms[i] >= limit) |
                                  (random_of(key, i + shift) < norms[i] * scale);
                              rows[n_sampled] = i;
                              n_sampled += is_sampled ? 1 : 0;
                          }
                      });
        return n_sampled;
    }

    // The norm from which on rows are certain to be sampled, within 1 %: from counts of
    // the norms by the upper half of their bits.
    float certain_norm(const float* norms, double n_wanted) {
        count_norms(norms);
        auto middle = [](std::size_t bin) {
            return double{std::bit_cast<float>(std::uint32_t(bin << 16 | 0x8000))};
        };
        double below = 0;  // sum of the norms in the bins that are not certain
        for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
            if (counts_[bin])
                below += counts_[bin] * middle(bin);
        }
        double n_certain = 0;
        for (std::size_t bin = counts_.size(); bin-- > 0;) {
            if (counts_[bin] == 0)
                continue;
            // Ends if the limit is not below this bin.
            const double limit = below / (n_wanted - n_certain);
            if (limit >= middle(bin) || n_certain + counts_[bin] >= n_wanted)
                return std::max(limit, middle(bin));
            below -= counts_[bin] * middle(bin);
            n_certain += counts_[bin];
        }
        return 0;
    }

    void count_norms(const float* norms) {
        const bool parallel = n_rows_ >= kParallelRows;
        const std::int64_t n_parts = parallel ? team_.size() : 1;
        counts_.assign(n_parts << 15, 0);
        const Chunks chunks{
            n_rows_, std::max<std::int64_t>(1, (n_rows_ + n_parts - 1) / n_parts)};
        team_.run(chunks.count(), parallel, [&](std::int64_t part, int) {
            std::uint32_t* counts = counts_.data() + (part << 15);
            const float* end = norms + chunks.begin(part) + chunks.length(part);
            for (const float* norm = norms + chunks.begin(part); norm < end; ++norm)
                ++counts[std::bit_cast<std::uint32_t>(*norm) >> 16];
        });
        sum_.allreduce_parts(counts_, n_parts, 1 << 15);
        counts_.resize(1 << 15);
    }

    static constexpr std::int64_t kParallelRows = 1 << 14, kChunkRows = 1 << 12;

    RowDraw draw_;
    Sum sum_;
    std::int64_t n_rows_, n_all_;  // local rows, and rows of all processes
    Team& team_;
    std::vector<std::uint8_t> chosen_;
    std::vector<std::uint32_t> open_, keys_, counts_, places_;
};

}  // namespace dics
