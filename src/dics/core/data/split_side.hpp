// Which side of a split a row takes, stated once: for raw values and for codes.
//
// The paper's rule: x < threshold goes left, x >= threshold goes right. A code counts
// the thresholds that its value has reached, so "below threshold t" is "code <= t". NaN
// is neither below nor at a threshold; each split says where it goes. Of categories,
// the codes in a set (code_set.hpp) go left.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace dics {

// Of numbers, or of vectors of them (then a mask). False for NaN.
template <class Value>
[[gnu::always_inline]] inline auto is_below(const Value& x, const Value& threshold) {
    return x < threshold;
}
template <class Value>
[[gnu::always_inline]] inline auto has_reached(const Value& x, const Value& threshold) {
    return x >= threshold;
}

// A threshold for values of type T, which gives each of them the side that it has by
// the threshold itself: in single precision, the smallest number that isn't below it.
template <class T>
[[gnu::always_inline]] inline T threshold_for(double threshold) {
    if constexpr (std::is_same_v<T, float>) {
        using Limits = std::numeric_limits<float>;
        if (threshold > static_cast<double>(Limits::max()))
            return Limits::infinity();
        if (threshold < static_cast<double>(Limits::lowest()))
            return std::isinf(threshold) ? -Limits::infinity() : Limits::lowest();
        const auto nearest = static_cast<float>(threshold);
        return static_cast<double>(nearest) < threshold
                   ? std::nextafter(nearest, Limits::infinity())
                   : nearest;
    } else {
        return threshold;
    }
}

// A raw value, compared exactly whatever its type. Without kMissing it is no NaN.
template <bool kMissing = true, class T>
[[gnu::always_inline]] inline bool value_goes_left(T x, double threshold,
                                                   bool missing_left) {
    const bool below = static_cast<double>(x) < threshold;
    return kMissing && x != x ? missing_left : below;
}

// A code. Where NaN goes right, as its code, the largest, says anyway, `missing` is the
// threshold itself.
struct CodeTest {
    std::int16_t threshold;  // codes up to it go left; -1: none
    std::int16_t missing;    // and this one
    // Of categories, instead: 255 for each of 256 codes that goes left, 0 for others.
    const std::uint8_t* table = nullptr;

    CodeTest(int threshold_index, bool missing_left, int n_thresholds)
        : threshold(static_cast<std::int16_t>(threshold_index)),
          missing(missing_left ? static_cast<std::int16_t>(n_thresholds + 1)
                               : threshold) {}
    explicit CodeTest(const std::uint8_t* of_codes)
        : threshold(255), missing(255), table(of_codes) {}
    // The test of a leaf: every code goes left.
    CodeTest() : threshold(255), missing(255) {}

    [[gnu::always_inline]] bool goes_left(int code) const {
        return table ? table[code] != 0 : (code <= threshold) | (code == missing);
    }
};

// The same for loops over bytes, which have no -1.
template <bool kOnlyMissing>
[[gnu::always_inline]] inline bool byte_goes_left(std::uint8_t code,
                                                  std::uint8_t threshold,
                                                  std::uint8_t missing) {
    return kOnlyMissing ? code == missing : (code <= threshold) | (code == missing);
}

}  // namespace dics
