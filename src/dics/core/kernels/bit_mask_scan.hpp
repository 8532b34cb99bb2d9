// Search of up to 64 places, one bit each: what lies left of a threshold is a mask, and
// a class count is a number of bits. Nothing is sorted, cleared or branched upon.
// Included like scan.hpp: once per instruction set, each time in its own namespace.
#pragma once

#include <bit>

#include "kernels/kernels.hpp"

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#ifdef DICS_ISA
namespace dics::DICS_ISA {
#else
namespace dics::plain {
#endif
namespace {

struct ByteMasks {
    std::uint64_t equal, less_equal;
};

#if defined(__AVX2__)
inline ByteMasks compare(const std::uint8_t* codes, int value) {
    const __m256i v = _mm256_set1_epi8(static_cast<char>(value));
    ByteMasks masks{0, 0};
    for (int part = 0; part < 2; ++part) {
        const auto* at = reinterpret_cast<const __m256i*>(codes + 32 * part);
        const __m256i c = _mm256_load_si256(at);
        const __m256i equal = _mm256_cmpeq_epi8(c, v);
        const __m256i below = _mm256_cmpeq_epi8(_mm256_min_epu8(c, v), c);
        const auto bits = [](const __m256i& x) {
            return std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(x))};
        };
        masks.equal |= bits(equal) << (32 * part);
        masks.less_equal |= bits(below) << (32 * part);
    }
    return masks;
}
#elif defined(__SSE2__)
inline ByteMasks compare(const std::uint8_t* codes, int value) {
    const __m128i v = _mm_set1_epi8(static_cast<char>(value));
    ByteMasks masks{0, 0};
    for (int part = 0; part < 4; ++part) {
        const auto* at = reinterpret_cast<const __m128i*>(codes + 16 * part);
        const __m128i c = _mm_load_si128(at);
        const auto bits = [](const __m128i& x) {
            return std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(x))};
        };
        masks.equal |= bits(_mm_cmpeq_epi8(c, v)) << (16 * part);
        masks.less_equal |= bits(_mm_cmpeq_epi8(_mm_min_epu8(c, v), c)) << (16 * part);
    }
    return masks;
}
#else
inline ByteMasks compare(const std::uint8_t* codes, int value) {
    ByteMasks masks{0, 0};
    for (int i = 0; i < kMaskPlaces; ++i) {
        masks.equal |= std::uint64_t{codes[i] == value} << i;
        masks.less_equal |= std::uint64_t{codes[i] <= value} << i;
    }
    return masks;
}
#endif

inline int smallest_above(const BitMaskArgs& a, std::uint64_t present, int value) {
    int smallest = 256;
    for (std::uint64_t rest = present; rest != 0; rest &= rest - 1) {
        const int code = a.codes[std::countr_zero(rest)];
        if (code > value && code < smallest)
            smallest = code;
    }
    return smallest;
}

// Does `left` leave enough on both sides? Then scores it.
template <class Crit>
inline bool score_mask(const BitMaskArgs& a, std::uint64_t left, double& score) {
    const auto left_weight = static_cast<std::uint32_t>(std::popcount(left));
    const std::uint32_t right_weight =
        static_cast<std::uint32_t>(std::popcount(a.all)) - left_weight;
    if (left_weight == 0 || right_weight == 0 || left_weight < a.min_weight ||
        right_weight < a.min_weight)
        return false;
    if (a.min_leaf > 1 && (std::popcount(left & a.first) < a.min_leaf ||
                           std::popcount(a.first & ~left) < a.min_leaf))
        return false;
    std::int64_t left_sum = 0, right_sum = 0;
    for (int c = 0; c < a.n_classes; ++c) {
        const auto l = static_cast<std::uint32_t>(std::popcount(left & a.of_class[c]));
        left_sum += Crit::template term<std::uint32_t>(l);
        right_sum += Crit::template term<std::uint32_t>(a.class_total[c] - l);
    }
    score = Crit::template score<std::uint32_t>(left_sum, left_weight, right_sum,
                                                right_weight);
    return true;
}

// The best of all cuts between codes that occur; the lowest of equals, NaN to the right
// first, like scan_histogram. `hi` is only known if the score reaches `floor`.
template <class Crit>
Cut search_masks(const BitMaskArgs& a, double floor) {
    Cut best;
    const std::uint64_t missing = compare(a.codes, a.missing_code).equal & a.all;
    const std::uint64_t present = a.all & ~missing;
    auto consider = [&](std::uint64_t left, int lo, bool missing_left) {
        double score;
        if (!score_mask<Crit>(a, left, score))
            return;
        if (score > best.score || (score == best.score && lo < best.lo &&
                                   missing_left == best.missing_left)) {
            best = Cut{score, lo, lo, missing_left, false};
        }
    };
    for (std::uint64_t rest = present; rest != 0;) {
        const int code = a.codes[std::countr_zero(rest)];
        const ByteMasks masks = compare(a.codes, code);
        rest &= ~masks.equal;
        const std::uint64_t left = masks.less_equal & present;
        if (left != present || (!a.missing_alone && code < a.missing_code - 1))
            consider(left, code, false);
    }
    if (missing != 0 && present != 0) {
        for (std::uint64_t rest = present; rest != 0;) {
            const int code = a.codes[std::countr_zero(rest)];
            const ByteMasks masks = compare(a.codes, code);
            rest &= ~masks.equal;
            const std::uint64_t left = masks.less_equal & present;
            if (left != present)
                consider(left | missing, code, true);
        }
        if (a.missing_alone || smallest_above(a, present, -1) > 0)
            consider(missing, -1, true);
        best.saw_missing = true;
    }
    if (best.found() && best.score >= floor) {
        const int next = smallest_above(a, present, best.lo);
        best.hi = (next < a.missing_code ? next : a.missing_code - 1) - 1;
    }
    return best;
}

}  // namespace
}  // namespace dics::DICS_ISA or plain
