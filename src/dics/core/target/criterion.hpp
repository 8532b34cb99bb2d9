// Impurity in exact integers.
//
// The score of a split uses sums over classes: of count^2 for Gini, of count *
// log2(count) in fixed point for entropy. Sums of integers do not depend on the order
// of the additions. So any number of threads, histograms by subtraction and the NumPy
// reference give bit-identical sums, and equal splits tie exactly.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace dics {

enum class Criterion : int {
    gini,
    entropy,
    squared_error,
    poisson,
    absolute_error,
    binomial,  // entropy of a regression target that is 0 or 1
};

// Integer weights have counts of 32 bits. Other weights are in fixed point with a total
// of at most 2^52 (split_counts in Python), so their squares need 128 bits.
template <class Count>
struct Wide;
template <>
struct Wide<std::uint32_t> {
    using type = std::int64_t;
};
template <>
struct Wide<std::uint64_t> {
    using type = __int128;
};

// Always inlined: the AVX2 kernels use these too, and must not share symbols.
#define DICS_INLINE [[gnu::always_inline]] static inline

struct Gini {
    template <class Count>
    static constexpr double kUnit = 1.0;

    template <class Count>
    DICS_INLINE typename Wide<Count>::type term(Count count) {
        using W = typename Wide<Count>::type;
        return W(count) * W(count);
    }
    // Larger is purer: N * (1 - weighted Gini) up to constants (eq. 2 of the paper).
    template <class Count, class W>
    DICS_INLINE double score(W left_sum, Count left, W right_sum, Count right) {
        return double(left_sum) / double(left) + double(right_sum) / double(right);
    }
    // The score of an unsplit node, so that score - purity is the gain.
    template <class Count, class W>
    DICS_INLINE double purity(W sum, Count total) {
        return double(sum) / double(total);
    }
    template <class Count, class W>
    DICS_INLINE double impurity(W sum, Count total) {
        const double n = total;
        return std::fmax(0.0, 1.0 - double(sum) / n / n);
    }
    // The expected gain of one more side that is independent of the class, per unit of
    // row weight.
    template <class Count, class W>
    DICS_INLINE double noise(W sum, Count total, int) {
        return impurity(sum, total);
    }
};

struct Entropy {
    // 20 fractional bits: a precision of one millionth of a bit per row.
    template <class Count>
    static constexpr double kUnit = sizeof(Count) == 4 ? 1048576.0 : 1.0;

    template <class Count>
    static typename Wide<Count>::type term(Count count) {
        if (count < kTableSize && sizeof(Count) == 4)
            return table()[count];
        return exact<Count>(count);
    }
    template <class Count, class W>
    static double score(W left_sum, Count left, W right_sum, Count right) {
        return left_sum - term(left) + right_sum - term(right);
    }
    template <class Count, class W>
    static double purity(W sum, Count total) {
        return sum - term(total);
    }
    // In bits.
    template <class Count, class W>
    static double impurity(W sum, Count total) {
        return std::fmax(0.0, -purity(sum, total) / kUnit<Count> / double(total));
    }
    // Twice the gain, in nats, has a chi-square distribution.
    template <class Count, class W>
    static double noise(W, Count, int n_present) {
        return (n_present - 1) / (2 * std::numbers::ln2) * kUnit<Count>;
    }

  private:
    static constexpr std::uint32_t kTableSize = 4096;

    template <class Count>
    static std::int64_t exact(Count count) {
        if (count == 0)
            return 0;
        const double x = count;
        return std::llrint(x * std::log2(x) * kUnit<Count>);
    }
    static const std::array<std::int64_t, kTableSize>& table() {
        static const auto made = [] {
            std::array<std::int64_t, kTableSize> values{};
            for (std::uint32_t i = 0; i < kTableSize; ++i)
                values[i] = exact<std::uint32_t>(i);
            return values;
        }();
        return made;
    }
};

}  // namespace dics
