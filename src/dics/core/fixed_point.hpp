#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dics {

// Numbers of at most `largest` as whole multiples of a power of two, fine enough for
// double precision and coarse enough that `n` of them can't overflow 64 bits. Such sums
// don't depend on the order of the additions, nor on who makes them.
struct FixedPoint {
    double scale;  // a power of two

    explicit FixedPoint(double known_scale) : scale(known_scale) {}
    FixedPoint(double largest, std::int64_t n) {
        const int size = largest > 0 ? std::ilogb(largest) + 1 : 0;
        const int n_bits =
            std::ilogb(static_cast<double>(std::max<std::int64_t>(1, n)));
        scale = std::ldexp(1.0, std::min(50, 61 - n_bits) - size);
    }

    std::int64_t of(double value) const { return std::llrint(value * scale); }
    double value(std::int64_t fixed) const {
        return static_cast<double>(fixed) / scale;
    }
};

}  // namespace dics
