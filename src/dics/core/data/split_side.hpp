// The side of a split for raw values and for codes.
//
// The rule of the paper: x < threshold goes left, x >= threshold goes right. A code is
// the number of thresholds that are at most the value, so "below threshold t" is "code
// <= t". Each split has a side for NaN. For categorical features, the codes in a set
// (code_set.hpp) go left.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace dics {

// For scalars, or for vectors (returns a mask). False for NaN.
template <class Value>
[[gnu::always_inline]] inline auto is_below(const Value& x, const Value& threshold) {
    return x < threshold;
}
template <class Value>
[[gnu::always_inline]] inline auto has_reached(const Value& x, const Value& threshold) {
    return x >= threshold;
}

// A threshold of type T that gives each value of type T the same side: for float, the
// smallest float that is not below the threshold.
template <class T>
[[gnu::always_inline]] inline T threshold_for(double threshold) {
    if constexpr (std::is_same_v<T, float>) {
        using Limits = std::numeric_limits<float>;
        if (threshold > Limits::max())
            return Limits::infinity();
        if (threshold < Limits::lowest())
            return std::isinf(threshold) ? -Limits::infinity() : Limits::lowest();
        const float nearest = threshold;
        return nearest < threshold ? std::nextafter(nearest, Limits::infinity())
                                   : nearest;
    } else {
        return threshold;
    }
}

// For a raw value of any type. Without kMissing it is not NaN.
template <bool kMissing = true, class T>
[[gnu::always_inline]] inline bool value_goes_left(T x, double threshold,
                                                   bool missing_left) {
    const bool below = x < threshold;
    return kMissing && x != x ? missing_left : below;
}

// The test of a code. If NaN goes right, `missing` is the threshold: the code of NaN is
// the largest, so it goes right without a test of its own.
struct CodeTest {
    std::int16_t threshold;  // codes up to it go left; -1: none
    std::int16_t missing;    // and this one
    // For categorical features, instead: 255 for codes that go left, 0 for the others.
    const std::uint8_t* table = nullptr;

    CodeTest(int threshold_index, bool missing_left, int n_thresholds)
        : threshold(threshold_index),
          missing(missing_left ? n_thresholds + 1 : threshold) {}
    explicit CodeTest(const std::uint8_t* of_codes)
        : threshold(255), missing(255), table(of_codes) {}
    // The test of a leaf: every code goes left.
    CodeTest() : threshold(255), missing(255) {}

    [[gnu::always_inline]] bool goes_left(int code) const {
        return table ? table[code] != 0 : (code <= threshold) | (code == missing);
    }
};

// The same for loops over bytes, which cannot be -1.
template <bool kOnlyMissing>
[[gnu::always_inline]] inline bool byte_goes_left(std::uint8_t code,
                                                  std::uint8_t threshold,
                                                  std::uint8_t missing) {
    return kOnlyMissing ? code == missing : (code <= threshold) | (code == missing);
}

}  // namespace dics
