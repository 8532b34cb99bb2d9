// Impurity in exact integers.
//
// A split is scored by sums of a term of each class count: count^2 for Gini,
// count*log2(count) in fixed point for entropy. Sums of integers don't depend on the
// order of the additions, so any thread count, a histogram derived by subtraction and
// the NumPy twin give the same bits, and equal splits tie exactly.
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
    binomial,  // of a number that is 0 or 1
};

// Whole weights are counted in 32 bits; other weights become fixed point numbers whose
// total is at most 2^52 (split_counts in _validation.py), so squares need 128 bits.
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

// The AVX2 build of the kernels uses these too: always inlined, never a shared symbol.
#define DICS_INLINE [[gnu::always_inline]] static inline

struct Gini {
    template <class Count>
    static constexpr double kUnit = 1.0;

    template <class Count>
    DICS_INLINE typename Wide<Count>::type term(Count count) {
        using W = typename Wide<Count>::type;
        return static_cast<W>(count) * static_cast<W>(count);
    }
    // Larger is purer: N * (1 - weighted Gini) up to constants (eq. 2 of the paper).
    template <class Count, class W>
    DICS_INLINE double score(W left_sum, Count left, W right_sum, Count right) {
        return static_cast<double>(left_sum) / static_cast<double>(left) +
               static_cast<double>(right_sum) / static_cast<double>(right);
    }
    // The score of an unsplit node, so that score - purity is the gain.
    template <class Count, class W>
    DICS_INLINE double purity(W sum, Count total) {
        return static_cast<double>(sum) / static_cast<double>(total);
    }
    // The Gini index.
    template <class Count, class W>
    DICS_INLINE double impurity(W sum, Count total) {
        const double n = static_cast<double>(total);
        return std::fmax(0.0, 1.0 - static_cast<double>(sum) / n / n);
    }
    // What a side more is worth where sides tell nothing of the class, for each unit of
    // a row's weight.
    template <class Count, class W>
    DICS_INLINE double noise(W sum, Count total, int) {
        return impurity(sum, total);
    }
};

struct Entropy {
    // 20 fractional bits keep differences of one millionth of a bit and row.
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
        return static_cast<double>(left_sum - term(left) + right_sum - term(right));
    }
    template <class Count, class W>
    static double purity(W sum, Count total) {
        return static_cast<double>(sum - term(total));
    }
    // In bits.
    template <class Count, class W>
    static double impurity(W sum, Count total) {
        return std::fmax(
            0.0, -purity(sum, total) / kUnit<Count> / static_cast<double>(total));
    }
    // Twice the gain, in nats, is a chi-square number.
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
        const double x = static_cast<double>(count);
        return std::llrint(x * std::log2(x) * kUnit<Count>);
    }
    static const std::array<std::int64_t, kTableSize>& table() {
        static const auto made = [] {
            std::array<std::int64_t, kTableSize> values{};
            for (std::uint32_t i = 0; i < kTableSize; ++i) {
                values[i] = exact<std::uint32_t>(i);
            }
            return values;
        }();
        return made;
    }
};

}  // namespace dics
