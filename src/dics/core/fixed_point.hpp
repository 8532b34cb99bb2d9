#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dics {

// Values of at most `largest` as integer multiples of a power of two: fine enough for
// double precision, and coarse enough that the sum of `n` values does not overflow 64
// bits. Such sums do not depend on the order of the additions.
struct FixedPoint {
    double scale;  // a power of two

    explicit FixedPoint(double known_scale) : scale(known_scale) {}
    FixedPoint(double largest, std::int64_t n) {
        const int size = largest > 0 ? std::ilogb(largest) + 1 : 0;
        const int n_bits = std::ilogb(std::max<std::int64_t>(1, n));
        scale = std::ldexp(1.0, std::min(50, 61 - n_bits) - size);
    }

    std::int64_t of(double value) const { return std::llrint(value * scale); }
    double value(std::int64_t fixed) const { return fixed / scale; }
};

}  // namespace dics
