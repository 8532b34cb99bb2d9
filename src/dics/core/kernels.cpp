// Compiled once per instruction set with DICS_ISA = baseline or avx2; see kernels.hpp.
#include "kernels.hpp"

#ifndef DICS_ISA
#define DICS_ISA baseline
#endif

#include "scan.hpp"

namespace dics::DICS_ISA {
namespace {

// --- encode -------------------------------------------------------------------------

template <class T>
struct MaskOf;
template <>
struct MaskOf<float> {
    using type = std::int32_t;
};
template <>
struct MaskOf<double> {
    using type = std::int64_t;
};

// Up to this many thresholds are compared one after the other in vector registers
// (about T/4 cycles a value); above it a binary search is cheaper.
constexpr int kLinearThresholds = 40;
constexpr int kEncodeLanes = 32;

template <class T>
void encode_linear(const T* x, const float* tau, int n_tau, std::uint8_t* codes) {
    using Mask = typename MaskOf<T>::type;
    Mask code[kEncodeLanes] = {};
    for (int t = 0; t < n_tau; ++t) {
        const T cut = static_cast<T>(tau[t]);
        for (int i = 0; i < kEncodeLanes; ++i) code[i] += x[i] >= cut ? 1 : 0;
    }
    for (int i = 0; i < kEncodeLanes; ++i) {
        code[i] = x[i] != x[i] ? n_tau + 1 : code[i];
    }
    for (int i = 0; i < kEncodeLanes; ++i) {
        codes[i] = static_cast<std::uint8_t>(code[i]);
    }
}

template <class T>
std::uint8_t encode_one(T x, const float* tau, int n_tau) {
    if (x != x) return static_cast<std::uint8_t>(n_tau + 1);
    int low = 0;
    int length = n_tau;
    while (length > 0) {  // branch-free body: `low` moves by a conditional move
        const int half = length / 2;
        const bool up = x >= static_cast<T>(tau[low + half]);
        low = up ? low + half + 1 : low;
        length = up ? length - half - 1 : half;
    }
    return static_cast<std::uint8_t>(low);
}

template <class T>
void encode(const T* x, std::int64_t n, const float* tau, int n_tau,
            std::uint8_t* codes) {
    std::int64_t i = 0;
    if (n_tau <= kLinearThresholds) {
        for (; i + kEncodeLanes <= n; i += kEncodeLanes) {
            encode_linear(x + i, tau, n_tau, codes + i);
        }
    }
    for (; i < n; ++i) codes[i] = encode_one(x[i], tau, n_tau);
}

// --- counting candidates straight from X --------------------------------------------

template <class T>
struct Compared {
    using type = T;
};
template <>
struct Compared<std::uint8_t> {
    using type = float;
};

template <class T, class Count>
bool count_below(const CountBelowArgs<T, Count>& a) {
    using V = typename Compared<T>::type;
    constexpr int B = kCandidateBlock;
    V cut[B];
    for (int j = 0; j < B; ++j) cut[j] = static_cast<V>(a.threshold[j]);
    bool seen_missing = false;
    const bool weighted = a.weights != nullptr;
    Count* row_count = a.below + (a.width - 1) * B;  // used when weighted
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        const T* row = a.data + static_cast<std::int64_t>(a.rows[i]) * a.row_stride;
        V value[B];
        for (int j = 0; j < B; ++j) value[j] = static_cast<V>(row[a.column[j]]);
        Count* below = a.below + static_cast<std::int64_t>(a.labels[i]) * B;
        const Count weight = weighted ? a.weights[i] : 1;
        int n_missing = 0;
        for (int j = 0; j < B; ++j) {
            below[j] += value[j] < cut[j] ? weight : 0;
            n_missing |= value[j] != value[j] ? 1 : 0;
        }
        if (weighted) {
            for (int j = 0; j < B; ++j) row_count[j] += value[j] < cut[j] ? 1 : 0;
        }
        if (n_missing) {
            seen_missing = true;
            Count* missing = a.missing + static_cast<std::int64_t>(a.labels[i]) * B;
            for (int j = 0; j < B; ++j) {
                if (value[j] == value[j]) continue;
                missing[j] += weight;
                if (weighted) a.missing[(a.width - 1) * B + j] += 1;
            }
        }
    }
    return seen_missing;
}

// --- clustering ---------------------------------------------------------------------

typedef float Lanes __attribute__((vector_size(32), aligned(4)));

float lane_sum(Lanes v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// Two rows by four centers: eight accumulators, six loads for eight products.
template <int X, int C>
inline void dot_tile(const float* x, const float* c, std::int64_t stride,
                     int n_centers, float* out) {
    Lanes acc[X][C] = {};
    for (std::int64_t f = 0; f < stride; f += 8) {
        for (int j = 0; j < C; ++j) {
            const Lanes center = *reinterpret_cast<const Lanes*>(c + j * stride + f);
            for (int i = 0; i < X; ++i) {
                acc[i][j] +=
                    *reinterpret_cast<const Lanes*>(x + i * stride + f) * center;
            }
        }
    }
    for (int i = 0; i < X; ++i) {
        for (int j = 0; j < C; ++j) out[i * n_centers + j] = lane_sum(acc[i][j]);
    }
}

template <int X>
void dot_rows(const float* x, const float* centers, int n_centers,
              std::int64_t stride, float* out) {
    int c = 0;
    for (; c + 4 <= n_centers; c += 4) {
        dot_tile<X, 4>(x, centers + c * stride, stride, n_centers, out + c);
    }
    for (; c < n_centers; ++c) {
        dot_tile<X, 1>(x, centers + c * stride, stride, n_centers, out + c);
    }
}

void dots(const float* x, int n_x, const float* centers, int n_centers,
          std::int64_t stride, float* out) {
    int i = 0;
    for (; i + 2 <= n_x; i += 2) {
        dot_rows<2>(x + i * stride, centers, n_centers, stride, out + i * n_centers);
    }
    for (; i < n_x; ++i) {
        dot_rows<1>(x + i * stride, centers, n_centers, stride, out + i * n_centers);
    }
}

void accumulate(const float* __restrict x, float weight, std::int64_t n,
                float* __restrict sum, float* __restrict square_sum) {
    for (std::int64_t f = 0; f < n; ++f) {
        const float wx = weight * x[f];
        sum[f] += wx;
        square_sum[f] += wx * x[f];
    }
}

}  // namespace

extern const Kernels table;
const Kernels table = {
    &encode<float>,
    &encode<double>,
    &count_below<float, std::uint32_t>,
    &count_below<double, std::uint32_t>,
    &count_below<std::uint8_t, std::uint32_t>,
    &count_below<float, std::uint64_t>,
    &count_below<double, std::uint64_t>,
    &count_below<std::uint8_t, std::uint64_t>,
    &scan_histogram<Gini, std::uint32_t>,
    &scan_histogram<Gini, std::uint64_t>,
    &dots,
    &accumulate,
#define DICS_NAME_OF(isa) #isa
#define DICS_NAME(isa) DICS_NAME_OF(isa)
    DICS_NAME(DICS_ISA),
};

}  // namespace dics::DICS_ISA
