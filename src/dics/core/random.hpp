// Counter-based random numbers: each is a pure function of a key, so the order in which
// threads reach a node has no effect. The tests have a reference in NumPy.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace dics {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

inline std::uint64_t combine(std::uint64_t key, std::uint64_t value) {
    return mix(key ^ mix(value));
}

// The stream of random numbers of one key.
class Stream {
  public:
    explicit Stream(std::uint64_t key) : key_(key) {}

    std::uint64_t next() { return combine(key_, counter_++); }

    void skip(std::uint64_t n) { counter_ += n; }

    // Uniform in [0, n): the high half of a 128-bit product.
    std::uint64_t below(std::uint64_t n) {
        return (static_cast<unsigned __int128>(next()) * n) >> 64;
    }

    // Uniform in [0, 1).
    double uniform() { return (next() >> 11) * 0x1.0p-53; }

  private:
    std::uint64_t key_;
    std::uint64_t counter_ = 0;
};

// k of [0, n) without replacement, sorted (Floyd's algorithm). A bit set replaces the
// sort, which took a fifth of the fit (digits, the paper's forest; 2026-11).
inline std::vector<std::int64_t> sample_without_replacement(std::uint64_t key,
                                                            std::int64_t n,
                                                            std::int64_t k) {
    std::vector<std::uint64_t> taken((n + 63) / 64);
    auto word_of = [&](std::int64_t i) -> std::uint64_t& { return taken[i / 64]; };
    auto bit_of = [](std::int64_t i) { return std::uint64_t{1} << (i % 64); };
    Stream stream(key);
    for (std::int64_t j = n - k; j < n; ++j) {
        std::int64_t t = stream.below(j + 1);
        if (word_of(t) & bit_of(t))
            t = j;
        word_of(t) |= bit_of(t);
    }
    std::vector<std::int64_t> chosen;
    chosen.reserve(k);
    for (std::size_t w = 0; w < taken.size(); ++w) {
        for (std::uint64_t rest = taken[w]; rest != 0; rest &= rest - 1)
            chosen.push_back(w * 64 + std::countr_zero(rest));
    }
    return chosen;
}

// One random row from each of n_sampled equal strata of [0, n): sorted, without
// duplicates, and representative if the rows are sorted by class.
inline std::vector<std::int64_t> stratified_rows(std::uint64_t key, std::int64_t n,
                                                 std::int64_t n_sampled) {
    n_sampled = std::min(n, n_sampled);
    std::vector<std::int64_t> rows(n_sampled);
    Stream stream(key);
    for (std::int64_t i = 0; i < n_sampled; ++i) {
        const std::int64_t first = i * n / n_sampled, last = (i + 1) * n / n_sampled;
        rows[i] = first + stream.below(last - first);
    }
    return rows;
}

}  // namespace dics
