// Vectors of eight values for the kernels of boosting. Included once per instruction
// set, each time in its own namespace.
#pragma once

#include <cstdint>

#include "kernels/boost_kernels.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifndef DICS_ISA
#define DICS_ISA baseline
#endif

namespace dics::DICS_ISA {
namespace {

typedef float Floats __attribute__((vector_size(32), aligned(4)));
typedef std::int32_t Ints __attribute__((vector_size(32), aligned(4)));
typedef std::int16_t Shorts __attribute__((vector_size(16), aligned(2)));
typedef double Doubles __attribute__((vector_size(64), aligned(8)));
typedef std::int32_t FourInts __attribute__((vector_size(16), aligned(4)));
typedef std::int16_t FourShorts __attribute__((vector_size(8), aligned(2)));

inline Floats load(const float* x) { return *reinterpret_cast<const Floats*>(x); }
inline Ints load(const std::int32_t* x) { return *reinterpret_cast<const Ints*>(x); }
inline void store(float* to, Floats v) { *reinterpret_cast<Floats*>(to) = v; }
inline void store(std::int32_t* to, Ints v) { *reinterpret_cast<Ints*>(to) = v; }

// Eight integers from 16 to 32 bits. GCC splits the generic form into two halves.
inline Ints widened(const std::int16_t* x) {
#ifdef __AVX2__
    return reinterpret_cast<Ints>(
        _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
#else
    return __builtin_convertvector(*reinterpret_cast<const Shorts*>(x), Ints);
#endif
}

// The lanes are always added in this order.
inline float lane_sum(Floats v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

inline float lane_max(Floats v) {
    float m = v[0];
    for (int i = 1; i < kLanes; ++i)
        m = v[i] > m ? v[i] : m;
    return m;
}

inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }
inline Floats absolute(Floats v) {
    return reinterpret_cast<Floats>(reinterpret_cast<Ints>(v) & 0x7FFFFFFF);
}

constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: a sum with it is an integer

// exp(x) for x <= 0, with a relative error of 2e-7; exp(-87) for x < -87. Cody and
// Waite's reduction to [-ln 2 / 2, ln 2 / 2] and the polynomial of Cephes.
inline Floats exp_of_negative(Floats x) {
    x = larger(x, Floats{} - 87.0f);
    const Floats shifted = x * 1.44269504088896341f + kRounder;
    const Floats n = shifted - kRounder;
    const Floats r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const Ints exponent = (reinterpret_cast<Ints>(shifted) << 23);
    return reinterpret_cast<Floats>(reinterpret_cast<Ints>(p) + exponent);
}

// log(x) for x >= 1, with an error of 1e-7 times max(log(x), 0.1): the polynomial of
// Cephes, for a mantissa from sqrt(1/2) on.
inline Floats log_of(Floats x) {
    const Ints bits = reinterpret_cast<Ints>(x) - 0x3F3504F3;
    const Floats n = __builtin_convertvector(bits >> 23, Floats);
    const Floats r = reinterpret_cast<Floats>((bits & 0x007FFFFF) + 0x3F3504F3) - 1.0f;
    Floats p = r * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r - 1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r - 1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r - 2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    const Floats square = r * r;
    return (p * r * square - 0.5f * square + n * -2.12194440e-4f + r) +
           n * 0.693359375f;
}

// Rounds values below 2^22 to the nearest integer, ties to even.
inline Ints rounded(Floats v) {
    return reinterpret_cast<Ints>(v + kRounder) - 0x4B400000;
}

}  // namespace
}  // namespace dics::DICS_ISA
