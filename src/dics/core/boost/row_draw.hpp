// Rows drawn for a round of boosting.
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

// Rows that were drawn, rising, and what each stands for.
struct DrawnRows {
    bool all = true;         // every row, once; the lists are empty
    std::int64_t n_all = 0;  // drawn rows of all contributors
    std::vector<std::uint32_t> rows;
    std::vector<float> factors;

    std::int64_t size(std::int64_t n_rows) const {
        return all ? n_rows : static_cast<std::int64_t>(rows.size());
    }
    const std::uint32_t* list() const { return all ? nullptr : rows.data(); }
    // So many are drawn of all contributors; without `every`, they have to be added.
    void clear(bool every, std::int64_t n) {
        all = every;
        n_all = n;
        rows.clear();
        factors.clear();
    }
    void add(std::int64_t row, float factor) {
        rows.push_back(static_cast<std::uint32_t>(row));
        factors.push_back(factor);
    }
};

// The k-th smallest of n 32-bit numbers (k from 1), and how many are smaller: two
// passes over their halves.
struct Rank {
    std::uint32_t value;
    std::int64_t n_smaller;
};

inline constexpr std::int64_t kSortedKeys = 1 << 13;

template <class KeyOf>
Rank kth_of_few(std::int64_t n, std::int64_t k, KeyOf key_of) {
    std::vector<std::uint32_t> keys(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
        keys[static_cast<std::size_t>(i)] = key_of(i);
    const auto kth = keys.begin() + (k - 1);
    std::nth_element(keys.begin(), kth, keys.end());
    const std::uint32_t value = *kth;
    return {value, std::count_if(keys.begin(), kth,
                                 [value](std::uint32_t key) { return key < value; })};
}

// Of keys that contributors have, `n` of them here.
template <class KeyOf>
Rank kth_smallest(std::int64_t n, std::int64_t k, const Sum& contributors,
                  KeyOf key_of) {
    // Counts of 16 bits at a time; few keys are sorted instead (iris, 300 rounds of
    // GOSS: 46 ms by counts, 14 ms so; 2026-11).
    if (n <= kSortedKeys && contributors.is_alone())
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
        contributors.allreduce(counts.data(), 1 << 16);
        std::uint32_t digit = 0;
        while (digit < 0xFFFF && n_smaller + counts[digit] < k)
            n_smaller += counts[digit++];
        prefix = pass == 0 ? digit : prefix << 16 | digit;
    }
    return {prefix, n_smaller};
}

class RowDrawer {
  public:
    RowDrawer(const RowDraw& draw, std::int64_t n_rows, const Sum& sum, Team& team)
        : draw_(draw),
          sum_(sum),
          n_rows_(n_rows),
          n_all_(sum.n_rows(n_rows)),
          team_(team) {}

    // `norms` are the lengths of the rows' gradients, and 0 or more.
    void draw(const float* norms, std::uint64_t key, DrawnRows& drawn) {
        if (draw_.sampling == RowSampling::none) {
            drawn.clear(true, n_all_);
        } else if (draw_.sampling == RowSampling::goss) {
            draw_goss(norms, key, drawn);
        } else {
            draw_mvs(norms, key, drawn);
        }
    }

  private:
    // By the number of the row among those of all contributors.
    static std::uint32_t random_of(std::uint64_t key, std::int64_t number) {
        return static_cast<std::uint32_t>(
            mix(key + static_cast<std::uint64_t>(number)) >> 32);
    }

    // The longest a N, and b N of the others, each of which stands for (1 - a) / b.
    // Equals go by the lower row.
    void draw_goss(const float* norms, std::uint64_t key, DrawnRows& drawn) {
        // Of a few rows too, some of each kind that is asked for.
        auto share = [&](double rate) {
            return std::max<std::int64_t>(static_cast<std::int64_t>(rate * n_all_),
                                          rate > 0);
        };
        const std::int64_t n_top = share(draw_.top_rate);
        const std::int64_t n_other = share(draw_.other_rate);
        if (n_top + n_other == 0 || n_top + n_other >= n_all_)
            return drawn.clear(true, n_all_);
        // Lengths are not negative: their bits rise with them.
        auto shortness = [&](std::int64_t i) {
            return ~std::bit_cast<std::uint32_t>(norms[i]);
        };
        chosen_.assign(static_cast<std::size_t>(n_rows_), 0);
        if (n_top > 0)
            choose(n_top, shortness, 1);
        keys_.resize(static_cast<std::size_t>(n_rows_));
        sum_.each_run(
            0, n_rows_, [&](std::int64_t first, std::int64_t last, std::int64_t shift) {
                for (std::int64_t i = first; i < last; ++i)
                    keys_[static_cast<std::size_t>(i)] = random_of(key, i + shift);
            });
        if (n_other > 0)
            choose(
                n_other,
                [&](std::int64_t i) { return keys_[static_cast<std::size_t>(i)]; }, 2);
        drawn.clear(false, n_top + n_other);
        const auto factor =
            n_other == 0 ? 1.0f
                         : static_cast<float>(static_cast<double>(n_all_ - n_top) /
                                              static_cast<double>(n_other));
        for (std::int64_t i = 0; i < n_rows_; ++i) {
            const auto kind = chosen_[static_cast<std::size_t>(i)];
            if (kind)
                drawn.add(i, kind == 1 ? 1.0f : factor);
        }
    }

    // The k of the smallest keys, of rows that aren't chosen yet.
    template <class KeyOf>
    void choose(std::int64_t k, KeyOf key_of, std::uint8_t kind) {
        open_.clear();
        for (std::int64_t i = 0; i < n_rows_; ++i) {
            if (!chosen_[static_cast<std::size_t>(i)])
                open_.push_back(static_cast<std::uint32_t>(i));
        }
        auto key_at = [&](std::int64_t j) {
            return key_of(std::int64_t{open_[static_cast<std::size_t>(j)]});
        };
        const auto n_open = static_cast<std::int64_t>(open_.size());
        const Rank rank = kth_smallest(n_open, k, sum_, key_at);
        for (std::int64_t j = 0; j < n_open; ++j) {
            if (key_at(j) < rank.value)
                chosen_[open_[static_cast<std::size_t>(j)]] = kind;
        }
        choose_equals(k - rank.n_smaller, rank.value, key_of, kind);
    }

    // So many of the rows that have this key, by their numbers.
    template <class KeyOf>
    void choose_equals(std::int64_t n_wanted, std::uint32_t value, KeyOf key_of,
                       std::uint8_t kind) {
        auto is_equal = [&](std::int64_t i) {
            return !chosen_[static_cast<std::size_t>(i)] && key_of(i) == value;
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
                                  chosen_[static_cast<std::size_t>(i)] = kind;
                                  --n_left;
                              }
                          }
                      });
    }

    // Each row with probability min(1, norm / m), and stands for the inverse of it; m
    // is such that (a + b) N are drawn in the mean.
    void draw_mvs(const float* norms, std::uint64_t key, DrawnRows& drawn) {
        const double n_wanted = (draw_.top_rate + draw_.other_rate) * n_all_;
        if (n_wanted >= n_all_)
            return drawn.clear(true, n_all_);
        const float limit = certain_norm(norms, n_wanted);
        if (!(limit > 0))
            return drawn.clear(true, n_all_);
        // Each chunk notes its rows where they would stand if all were drawn.
        places_.resize(static_cast<std::size_t>(n_rows_));
        const Chunks chunks{n_rows_, kDrawnTogether};
        const bool parallel = n_rows_ >= kParallelRows;
        std::vector<std::int64_t> ends(static_cast<std::size_t>(chunks.count()));
        team_.run(chunks.count(), parallel, [&](std::int64_t task, int) {
            const std::int64_t begin = chunks.begin(task);
            ends[static_cast<std::size_t>(task)] =
                draw_part(norms, key, limit, begin, chunks.length(task));
        });
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        const std::int64_t n_drawn = ends.empty() ? 0 : ends.back();
        const std::int64_t n_everywhere = sum_.n_rows(n_drawn);
        if (n_everywhere == 0)
            return drawn.clear(true, n_all_);
        drawn.all = false;  // what stands in the lists is overwritten
        drawn.n_all = n_everywhere;
        drawn.rows.resize(static_cast<std::size_t>(n_drawn));
        drawn.factors.resize(drawn.rows.size());
        team_.run(chunks.count(), parallel, [&](std::int64_t task, int) {
            const std::int64_t first = task > 0 ? ends[task - 1] : 0;
            const std::uint32_t* rows = places_.data() + chunks.begin(task);
            for (std::int64_t i = first; i < ends[task]; ++i, ++rows) {
                const float norm = norms[*rows];
                drawn.rows[i] = *rows;
                drawn.factors[i] = norm >= limit ? 1.0f : limit / norm;
            }
        });
    }

    // Of rows begin..begin+n-1; returns how many.
    std::int64_t draw_part(const float* norms, std::uint64_t key, float limit,
                           std::int64_t begin, std::int64_t n) {
        // 2^32 times the probability, compared with 32 random bits.
        const float scale = 4294967296.0f / limit;
        std::uint32_t* rows = places_.data() + begin;
        std::int64_t n_drawn = 0;
        sum_.each_run(begin, begin + n,
                      [&](std::int64_t first, std::int64_t last, std::int64_t shift) {
                          for (std::int64_t i = first; i < last; ++i) {
                              const bool is_drawn =
                                  (norms[i] >= limit) |
                                  (static_cast<float>(random_of(key, i + shift)) <
                                   norms[i] * scale);
                              rows[n_drawn] = static_cast<std::uint32_t>(i);
                              n_drawn += is_drawn ? 1 : 0;
                          }
                      });
        return n_drawn;
    }

    // The norm from which on rows are certain to be drawn, from the counts of norms by
    // the upper half of their bits: within 1 %.
    float certain_norm(const float* norms, double n_wanted) {
        count_norms(norms);
        auto middle = [](std::size_t bin) {
            return static_cast<double>(
                std::bit_cast<float>(static_cast<std::uint32_t>(bin << 16 | 0x8000)));
        };
        double below = 0;  // sum of the norms in the bins that aren't certain
        for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
            if (counts_[bin])
                below += counts_[bin] * middle(bin);
        }
        double n_certain = 0;
        for (std::size_t bin = counts_.size(); bin-- > 0;) {
            if (counts_[bin] == 0)
                continue;
            // With no bin from here on certain, is the limit above this one?
            const double limit = below / (n_wanted - n_certain);
            if (limit >= middle(bin) || n_certain + counts_[bin] >= n_wanted)
                return static_cast<float>(std::max(limit, middle(bin)));
            below -= counts_[bin] * middle(bin);
            n_certain += counts_[bin];
        }
        return 0;
    }

    // By the upper half of their bits.
    void count_norms(const float* norms) {
        const bool parallel = n_rows_ >= kParallelRows;
        const std::int64_t n_parts = parallel ? team_.size() : 1;
        counts_.assign(static_cast<std::size_t>(n_parts) << 15, 0);
        const Chunks chunks{
            n_rows_, std::max<std::int64_t>(1, (n_rows_ + n_parts - 1) / n_parts)};
        team_.run(chunks.count(), parallel, [&](std::int64_t part, int) {
            std::uint32_t* counts = counts_.data() + (part << 15);
            const float* end = norms + chunks.begin(part) + chunks.length(part);
            for (const float* norm = norms + chunks.begin(part); norm < end; ++norm)
                ++counts[std::bit_cast<std::uint32_t>(*norm) >> 16];
        });
        sum_.allreduce_parts(counts_, static_cast<std::size_t>(n_parts), 1 << 15);
        counts_.resize(1 << 15);
    }

    static constexpr std::int64_t kParallelRows = 1 << 14, kDrawnTogether = 1 << 12;

    RowDraw draw_;
    Sum sum_;
    std::int64_t n_rows_, n_all_;  // rows here, and of all contributors
    Team& team_;
    std::vector<std::uint8_t> chosen_;
    std::vector<std::uint32_t> open_, keys_, counts_, places_;
};

}  // namespace dics
