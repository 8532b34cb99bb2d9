// Compiled once per instruction set with DICS_ISA = baseline or avx2; see kernels.hpp.
#include "kernels/boost_kernels.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <cmath>
#include <cstring>

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

// Eight numbers from 16 to 32 bits. GCC makes two halves of the generic form.
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

constexpr float kRounder =
    12582912.0f;  // 1.5 * 2^23: adding it rounds to whole numbers

// exp(x) for x <= 0 to 2e-7 of its value; below -87 it is that of -87. Cody and Waite's
// reduction to [-ln 2 / 2, ln 2 / 2] and the polynomial of Cephes.
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

// --- gradients ----------------------------------------------------------------------

// Sums of logarithms of numbers in [1, n_classes]: one logarithm for 32 of them.
class LogSum {
  public:
    void add(double x) {
        product_ *= x;
        if (++count_ == 32)
            flush();
    }
    double total() {
        flush();
        return total_;
    }

  private:
    void flush() {
        total_ += std::log(product_);
        product_ = 1;
        count_ = 0;
    }
    double total_ = 0, product_ = 1;
    int count_ = 0;
};

// One output a class. N registers a row; 0: as many as it takes.
template <int N>
double softmax_gradients(const GradientArgs& a) {
    const int n_registers = N ? N : a.stride / kLanes;
    const Ints iota = {0, 1, 2, 3, 4, 5, 6, 7};
    LogSum logs;
    double linear = 0;
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        float* scores = a.scores + i * a.stride;
        if (a.steps) {
            const float* step =
                a.steps + static_cast<std::int64_t>(a.leaf[i]) * a.stride;
            for (int r = 0; r < n_registers; ++r)
                store(scores + r * kLanes,
                      load(scores + r * kLanes) + load(step + r * kLanes));
        }
        Floats high = load(scores);
        for (int r = 1; r < n_registers; ++r)
            high = larger(high, load(scores + r * kLanes));
        const float top = lane_max(high);
        float* gradients = a.gradients ? a.gradients + i * a.stride : nullptr;
        Floats kept[N ? N : 1];
        Floats sums = {};
        for (int r = 0; r < n_registers; ++r) {
            const Floats e = exp_of_negative(load(scores + r * kLanes) - top);
            // Padding scores -inf, and e^-87 isn't 0.
            const Floats inside = iota + r * kLanes < a.n_outputs ? e : Floats{};
            sums += inside;
            if constexpr (N > 0) {
                kept[r] = inside;
            } else if (gradients) {
                store(gradients + r * kLanes, inside);
            }
        }
        const float sum = lane_sum(sums);
        const auto label = static_cast<int>(a.label[i]);
        const float weight = a.weight ? a.weight[i] : 1.0f;
        const double below =
            static_cast<double>(top) - static_cast<double>(scores[label]);
        if (a.weight) {
            linear += static_cast<double>(weight) *
                      (below + std::log(static_cast<double>(sum)));
        } else {
            linear += below;
            logs.add(static_cast<double>(sum));
        }
        if (!gradients)
            continue;
        const float inverse = 1.0f / sum;
        Floats squares = {};
        for (int r = 0; r < n_registers; ++r) {
            Floats e;
            if constexpr (N > 0) {
                e = kept[r];
            } else {
                e = load(gradients + r * kLanes);
            }
            const Floats hit = iota + r * kLanes == label ? Floats{} + 1.0f : Floats{};
            const Floats g = e * inverse - hit;
            squares += g * g;
            store(gradients + r * kLanes, g);
        }
        a.norms[i] = weight * std::sqrt(lane_sum(squares));
    }
    return linear + logs.total();
}

// Two classes: the score is the margin of class 1. Eight rows at a time.
double logistic_gradients(const GradientArgs& a) {
    LogSum logs;
    double linear = 0;
    for (std::int64_t first = 0; first < a.n_rows; first += kLanes) {
        const auto n =
            static_cast<int>(a.n_rows - first < kLanes ? a.n_rows - first : kLanes);
        float margin[kLanes] = {};
        for (int j = 0; j < n; ++j) {
            if (a.steps)
                a.scores[first + j] += a.steps[a.leaf[first + j]];
            margin[j] = a.scores[first + j];
        }
        const Floats z = load(margin);
        const Floats e = exp_of_negative(-absolute(z));
        const Floats sum = 1.0f + e;
        const Floats likely = 1.0f / sum;
        const Floats p = z > Floats{} ? likely : e * likely;
        for (int j = 0; j < n; ++j) {
            const bool one = a.label[first + j] != 0;
            const float weight = a.weight ? a.weight[first + j] : 1.0f;
            // log(1 + e^-|z|), and |z| if the row is on the wrong side.
            const bool right_side = one == (z[j] > 0);
            const double wrong =
                right_side ? 0.0 : std::fabs(static_cast<double>(z[j]));
            if (a.weight) {
                linear += static_cast<double>(weight) *
                          (wrong + std::log(static_cast<double>(sum[j])));
            } else {
                linear += wrong;
                logs.add(static_cast<double>(sum[j]));
            }
            if (a.gradients) {
                const float g = p[j] - (one ? 1.0f : 0.0f);
                a.gradients[first + j] = g;
                a.norms[first + j] = weight * std::fabs(g);
            }
        }
    }
    return linear + logs.total();
}

double update_gradients(const GradientArgs& a) {
    if (a.n_outputs == 1)
        return logistic_gradients(a);
    switch (a.stride / kLanes) {
        case 1:
            return softmax_gradients<1>(a);
        case 2:
            return softmax_gradients<2>(a);
        case 3:
            return softmax_gradients<3>(a);
        case 4:
            return softmax_gradients<4>(a);
        default:
            return softmax_gradients<0>(a);
    }
}

// p (1 - p) by g = p - y: for the row's own class and for the others alike.
inline Floats hessian(Floats g) {
    const Floats size = absolute(g);
    return size * (1.0f - size);
}

// Round to nearest, ties to even, of numbers below 2^22.
inline Ints rounded(Floats v) {
    return reinterpret_cast<Ints>(v + kRounder) - 0x4B400000;
}

void quantize_margins(const QuantizeArgs& a) {
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        const float g = a.gradients[a.rows ? a.rows[i] : i];
        const float size = std::fabs(g);
        const Floats pair = {g, size * (1.0f - size)};
        const Ints q = rounded(pair * a.factors[i]);
        std::int16_t* out = a.out + i * 4;
        out[0] = static_cast<std::int16_t>(q[0]);
        out[1] = static_cast<std::int16_t>(q[1]);
        out[2] = 1;
        out[3] = 0;
    }
}

void quantize(const QuantizeArgs& a) {
    if (a.n_outputs == 1)
        return quantize_margins(a);
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        const std::int64_t row = a.rows ? std::int64_t{a.rows[i]} : i;
        const float* gradients = a.gradients + row * a.stride;
        const float factor = a.factors[i];
        std::int16_t* out = a.out + i * a.cells;
        // Gradients are 0 in the padding, so what is written beyond the last of them is
        // 0 or written again; the last register of hessians goes by single numbers,
        // since the next row may be another thread's.
        for (int c = 0; c < a.stride && c + kLanes <= a.cells; c += kLanes) {
            *reinterpret_cast<Shorts*>(out + c) =
                __builtin_convertvector(rounded(load(gradients + c) * factor), Shorts);
        }
        for (int c = 0; c < a.stride; c += kLanes) {
            const Shorts q = __builtin_convertvector(
                rounded(hessian(load(gradients + c)) * factor), Shorts);
            if (a.n_outputs + c + kLanes <= a.cells) {
                *reinterpret_cast<Shorts*>(out + a.n_outputs + c) = q;
            } else {
                for (int j = 0; a.n_outputs + c + j < a.cells; ++j)
                    out[a.n_outputs + c + j] = q[j];
            }
        }
        for (int c = 2 * a.n_outputs; c < a.cells; ++c)
            out[c] = c == 2 * a.n_outputs;
    }
}

void add_leaf_sums(const LeafSumArgs& a) {
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        const std::int64_t row = a.rows ? std::int64_t{a.rows[i]} : i;
        const double weight = a.weight ? static_cast<double>(a.weight[i]) : 1.0;
        const float* gradients = a.gradients + row * a.stride;
        double* g_sums = a.sums + 2 * a.stride * static_cast<std::int64_t>(a.leaf[row]);
        double* h_sums = g_sums + a.stride;
        if (a.n_outputs == 1) {
            const float size = std::fabs(*gradients);
            *g_sums += weight * static_cast<double>(*gradients);
            *h_sums += weight * static_cast<double>(size * (1.0f - size));
            continue;
        }
        for (int c = 0; c < a.stride; c += kLanes) {
            const Floats g = load(gradients + c);
            *reinterpret_cast<Doubles*>(g_sums + c) +=
                weight * __builtin_convertvector(g, Doubles);
            *reinterpret_cast<Doubles*>(h_sums + c) +=
                weight * __builtin_convertvector(hessian(g), Doubles);
        }
    }
}

// --- leaves -------------------------------------------------------------------------

template <class Mask>
void find_leaves_by_mask(const FindLeavesArgs& a) {
    constexpr std::int64_t kBlock = 256;
    Mask masks[kBlock];
    for (std::int64_t begin = 0; begin < a.n_rows; begin += kBlock) {
        const std::int64_t n = a.n_rows - begin < kBlock ? a.n_rows - begin : kBlock;
        for (std::int64_t i = 0; i < kBlock; ++i)
            masks[i] = static_cast<Mask>(~Mask{0});
        for (int t = 0; t < a.n_tests; ++t) {
            const std::uint8_t* code = a.column[t] + begin;
            const CodeTest& test = a.tests[t].test;
            const auto right = static_cast<Mask>(a.tests[t].right);
            const auto all = static_cast<Mask>(~Mask{0});
            const auto threshold = static_cast<std::uint8_t>(test.threshold);
            const auto missing = static_cast<std::uint8_t>(test.missing);
            if (test.threshold < 0) {
                for (std::int64_t i = 0; i < n; ++i)
                    masks[i] &= byte_goes_left<true>(code[i], 0, missing) ? all : right;
            } else {
                for (std::int64_t i = 0; i < n; ++i)
                    masks[i] &= byte_goes_left<false>(code[i], threshold, missing)
                                    ? all
                                    : right;
            }
        }
        for (std::int64_t i = 0; i < n; ++i)
            a.leaf[begin + i] =
                a.number[__builtin_ctzll(static_cast<unsigned long long>(masks[i]))];
    }
}

void find_leaves(const FindLeavesArgs& a) {
    if (a.n_leaves <= 8) {
        find_leaves_by_mask<std::uint8_t>(a);
    } else if (a.n_leaves <= 32) {
        find_leaves_by_mask<std::uint32_t>(a);
    } else {
        find_leaves_by_mask<std::uint64_t>(a);
    }
}

// --- histograms ---------------------------------------------------------------------

// Features that are filled at once: their chains of additions to a bin run side by
// side.
constexpr int kAtOnce = 4;
// Rows whose values stay in the cache while all features take them.
constexpr std::int64_t kBlockValues = 1 << 15;

// Cells [first, first + 8 R) of all bins of F features. Whole: there are no others.
template <int R, int F, bool kWhole>
void fill_cells(const FillArgs& a, std::int64_t begin, std::int64_t end, int first,
                int feature) {
    // Copies, since the compiler must assume that a histogram may be anywhere.
    const std::int64_t cells = kWhole ? R * kLanes : a.cells;
    const std::uint32_t* places = a.places;
    const std::uint32_t* rows = a.rows;
    const std::uint8_t* codes = a.codes + feature;
    const std::int64_t stride = a.stride;
    const std::int16_t* values = a.values + first;
    std::int32_t* hist[F];
    for (int j = 0; j < F; ++j)
        hist[j] = a.hist[feature + j] + first;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = places[i];
        const std::uint8_t* code =
            codes + (rows ? std::int64_t{rows[place]} : place) * stride;
        const std::int16_t* from = values + place * cells;
        Ints v[R];
        for (int r = 0; r < R; ++r)
            v[r] = widened(from + r * kLanes);
        for (int j = 0; j < F; ++j) {
            std::int32_t* bin = hist[j] + code[j] * cells;
            for (int r = 0; r < R; ++r)
                store(bin + r * kLanes, load(bin + r * kLanes) + v[r]);
        }
    }
}

template <int F>
void fill_margins(const FillArgs& a, std::int64_t begin, std::int64_t end,
                  int feature) {
    const std::uint32_t* places = a.places;
    const std::uint32_t* rows = a.rows;
    const std::uint8_t* codes = a.codes + feature;
    const std::int64_t stride = a.stride;
    const std::int16_t* values = a.values;
    FourInts* hist[F];
    for (int j = 0; j < F; ++j)
        hist[j] = reinterpret_cast<FourInts*>(a.hist[feature + j]);
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = places[i];
        const std::uint8_t* code =
            codes + (rows ? std::int64_t{rows[place]} : place) * stride;
        const FourInts v = __builtin_convertvector(
            *reinterpret_cast<const FourShorts*>(values + place * 4), FourInts);
        for (int j = 0; j < F; ++j)
            hist[j][code[j]] += v;
    }
}

template <int F>
void fill_features(const FillArgs& a, std::int64_t begin, std::int64_t end,
                   int feature) {
    if (a.cells == 4)
        return fill_margins<F>(a, begin, end, feature);
    switch (a.cells / kLanes) {
        case 1:
            return fill_cells<1, F, true>(a, begin, end, 0, feature);
        case 2:
            return fill_cells<2, F, true>(a, begin, end, 0, feature);
        case 3:
            return fill_cells<3, F, true>(a, begin, end, 0, feature);
        case 4:
            return fill_cells<4, F, true>(a, begin, end, 0, feature);
    }
    for (int first = 0; first < a.cells; first += 4 * kLanes) {
        switch ((a.cells - first) / kLanes) {
            case 1:
                fill_cells<1, F, false>(a, begin, end, first, feature);
                break;
            case 2:
                fill_cells<2, F, false>(a, begin, end, first, feature);
                break;
            case 3:
                fill_cells<3, F, false>(a, begin, end, first, feature);
                break;
            default:
                fill_cells<4, F, false>(a, begin, end, first, feature);
        }
    }
}

// The rows of a node lie anywhere: their fetches overlap if they are all asked for at
// once.
void fetch(const FillArgs& a, std::int64_t begin, std::int64_t end) {
    const std::int64_t value_bytes = a.cells * 2 < 256 ? a.cells * 2 : 256;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = a.places[i];
        const std::uint8_t* code =
            a.codes + (a.rows ? std::int64_t{a.rows[place]} : place) * a.stride;
        __builtin_prefetch(code);
        __builtin_prefetch(code + a.n_features - 1);
        const auto* value = reinterpret_cast<const char*>(a.values + place * a.cells);
        for (std::int64_t byte = 0; byte < value_bytes; byte += 64)
            __builtin_prefetch(value + byte);
    }
}

void fill(const FillArgs& a) {
    const std::int64_t n_block = kBlockValues / a.cells + 1;
    for (std::int64_t begin = 0; begin < a.n_rows; begin += n_block) {
        const std::int64_t end =
            begin + n_block < a.n_rows ? begin + n_block : a.n_rows;
        fetch(a, begin, end);
        int feature = 0;
        for (; feature + kAtOnce <= a.n_features; feature += kAtOnce)
            fill_features<kAtOnce>(a, begin, end, feature);
        for (; feature < a.n_features; ++feature)
            fill_features<1>(a, begin, end, feature);
    }
}

// --- gains --------------------------------------------------------------------------

inline Floats as_floats(Ints v) { return __builtin_convertvector(v, Floats); }

// G^2 / (H + l2), 0 where nothing is.
inline Floats score_of(Floats g, Floats h, float l2) {
    const Floats denominator = h + l2;
    const Floats value = g * g / denominator;
    return denominator > Floats{} ? value : Floats{};
}

// Score of a split of one output a class: `left` are the sums of the left side.
float split_score(const GainArgs& a, const std::int32_t* left) {
    const Ints iota = {0, 1, 2, 3, 4, 5, 6, 7};
    Floats sums = {};
    for (int c = 0; c < a.n_outputs; c += kLanes) {
        const Ints inside = iota + c < a.n_outputs ? Ints{} - 1 : Ints{};
        const Ints g = load(left + c) & inside;
        const Ints h = load(left + a.n_outputs + c) & inside;
        const Ints all_g = load(a.total + c) & inside;
        const Ints all_h = load(a.total + a.n_outputs + c) & inside;
        sums += score_of(as_floats(g), as_floats(h), a.l2) +
                score_of(as_floats(all_g - g), as_floats(all_h - h), a.l2);
    }
    return lane_sum(sums);
}

// Keeps the best cut; thresholds that part the rows in the same place widen it.
class Best {
  public:
    Best(const GainArgs& a) : min_rows_(a.min_rows) {}

    bool allowed(std::int32_t n_left, std::int32_t n_rows) const {
        return n_left >= min_rows_ && n_rows - n_left >= min_rows_;
    }
    void offer(float score, int t, bool missing_left) {
        if (score > best_) {
            best_ = score;
            cut_.lo = cut_.hi = t;
            cut_.missing_left = missing_left;
        }
    }
    float score() const { return best_; }
    Cut cut(bool saw_missing) const {
        Cut found = cut_;
        found.score = static_cast<double>(best_);
        found.saw_missing = saw_missing;
        return found;
    }

  private:
    std::int32_t min_rows_;
    float best_ = -1;
    Cut cut_;
};

// Where the rows of a threshold's own bin and those up to the next are none, the cut is
// the same. `counts(t)` is the number of rows in bin t.
template <class Counts>
void widen(Cut& cut, int n_thresholds, Counts counts) {
    if (cut.lo < 0)
        return;
    while (cut.hi + 1 < n_thresholds && counts(cut.hi + 1) == 0)
        ++cut.hi;
}

Cut best_vector_cut(const GainArgs& a) {
    const int rows_at = 2 * a.n_outputs;
    const std::int32_t* missing = a.hist + (a.n_thresholds + 1) * a.cells;
    const std::int32_t n_rows = a.total[rows_at];
    const bool saw_missing = missing[rows_at] != 0;
    Best best(a);
    // Sums of the left side, with one register of padding for reads past the end.
    auto* left = reinterpret_cast<std::int32_t*>(a.scratch);
    auto* with_missing = left + a.cells + kLanes;
    std::memset(left, 0, sizeof(std::int32_t) * static_cast<std::size_t>(a.cells));
    if (saw_missing && best.allowed(missing[rows_at], n_rows)) {
        // Only NaN goes left.
        std::memcpy(with_missing, missing,
                    sizeof(std::int32_t) * static_cast<std::size_t>(a.cells));
        best.offer(split_score(a, with_missing), -1, true);
    }
    int bin = 0;
    std::int32_t seen = -1;  // rows on the left at the last threshold looked at
    for (int k = 0; k < a.n_candidates; ++k) {
        const int t = a.candidates ? a.candidates[k] : k;
        for (; bin <= t; ++bin) {
            const std::int32_t* h = a.hist + bin * a.cells;
            if (h[rows_at] == 0)
                continue;
            for (int c = 0; c < a.cells; c += kLanes)
                store(left + c, load(left + c) + load(h + c));
        }
        const std::int32_t n_left = left[rows_at];
        if (n_left == seen)
            continue;
        seen = n_left;
        if (best.allowed(n_left, n_rows))
            best.offer(split_score(a, left), t, false);
        if (saw_missing && n_left > 0 &&
            best.allowed(n_left + missing[rows_at], n_rows)) {
            for (int c = 0; c < a.cells; c += kLanes)
                store(with_missing + c, load(left + c) + load(missing + c));
            best.offer(split_score(a, with_missing), t, true);
        }
    }
    return best.cut(saw_missing);
}

// One output: eight thresholds at a time.
Cut best_margin_cut(const GainArgs& a) {
    const std::int32_t* missing = a.hist + (a.n_thresholds + 1) * 4;
    const std::int32_t n_rows = a.total[2];
    const bool saw_missing = missing[2] != 0;
    Best best(a);
    const int size = (a.n_candidates + 1 + kLanes - 1) / kLanes * kLanes;
    auto* g_sums = reinterpret_cast<std::int32_t*>(a.scratch);
    auto* h_sums = g_sums + size;
    auto* n_sums = h_sums + size;
    // Entry 0 is "nothing but NaN"; entry k + 1 is candidate k.
    FourInts sum = {};
    int bin = 0;
    g_sums[0] = h_sums[0] = n_sums[0] = 0;
    for (int k = 0; k < a.n_candidates; ++k) {
        const int t = a.candidates ? a.candidates[k] : k;
        for (; bin <= t; ++bin)
            sum += *reinterpret_cast<const FourInts*>(a.hist + bin * 4);
        g_sums[k + 1] = sum[0];
        h_sums[k + 1] = sum[1];
        n_sums[k + 1] = sum[2];
    }
    for (int k = a.n_candidates + 1; k < size; ++k)
        g_sums[k] = h_sums[k] = n_sums[k] = 0;
    auto score_at = [&](Ints g, Ints h) {
        return score_of(as_floats(g), as_floats(h), a.l2) +
               score_of(as_floats(a.total[0] - g), as_floats(a.total[1] - h), a.l2);
    };
    if (saw_missing && best.allowed(missing[2], n_rows))
        best.offer(score_at(Ints{} + missing[0], Ints{} + missing[1])[0], -1, true);
    for (int side = 0; side < 1 + saw_missing; ++side) {
        const FourInts extra =
            side ? *reinterpret_cast<const FourInts*>(missing) : FourInts{};
        Floats high = Floats{} + best.score();
        Ints where = Ints{} - 1;
        const Ints iota = {0, 1, 2, 3, 4, 5, 6, 7};
        for (int first = 0; first < size; first += kLanes) {
            const Ints g = load(g_sums + first) + extra[0];
            const Ints h = load(h_sums + first) + extra[1];
            const Ints n = load(n_sums + first) + extra[2];
            const Floats score = score_at(g, h);
            const Ints allowed =
                (n >= a.min_rows) & (n_rows - n >= a.min_rows) & (score > high);
            high = allowed ? score : high;
            where = allowed ? iota + first : where;
        }
        int found = -1;
        float found_score = best.score();
        for (int j = 0; j < kLanes; ++j) {
            if (where[j] >= 0 &&
                (high[j] > found_score ||
                 (found >= 0 && high[j] == found_score && where[j] < found))) {
                found = where[j];
                found_score = high[j];
            }
        }
        if (found >= 0) {
            const int k = found - 1;
            best.offer(found_score, k < 0 ? -1 : (a.candidates ? a.candidates[k] : k),
                       side == 1);
        }
    }
    return best.cut(saw_missing);
}

Cut best_cut(const GainArgs& a) {
    Cut cut = a.n_outputs == 1 ? best_margin_cut(a) : best_vector_cut(a);
    if (!a.candidates) {
        const int rows_at = 2 * a.n_outputs;
        widen(cut, a.n_thresholds,
              [&](int bin) { return a.hist[bin * a.cells + rows_at]; });
    }
    return cut;
}

}  // namespace

extern const BoostKernels boost_table;
const BoostKernels boost_table = {&update_gradients, &quantize, &add_leaf_sums,
                                  &find_leaves,      &fill,     &best_cut};

}  // namespace dics::DICS_ISA
