// The kernels of each objective. Compiled once per instruction set with DICS_ISA =
// baseline or avx2; see kernels.hpp.
#include <bit>
#include <cstring>

#include "kernels/vectors.hpp"
#include "objective/log_loss_kernels.hpp"
#include "objective/regression_kernels.hpp"

namespace dics::DICS_ISA {
namespace {

// Eight rows of one output at a time.
template <class Hessian>
void quantize_single(const QuantizeArgs& a) {
    Ints g_sums = {}, h_sums = {};
    for (std::int64_t first = 0; first < a.n_rows; first += kLanes) {
        const int n = a.n_rows - first < kLanes ? a.n_rows - first : kLanes;
        Floats g = {}, h = {}, factor = Floats{} + a.factor;
        if (!a.rows && n == kLanes) {
            g = load(a.gradients + first);
            h = Hessian::of(g, a.hessians, first);
            if (a.factors)
                factor *= load(a.factors + first);
        } else {
            for (int j = 0; j < n; ++j) {
                const std::int64_t row =
                    a.rows ? std::int64_t{a.rows[first + j]} : first + j;
                g[j] = a.gradients[row];
                h[j] = Hessian::of(g[j], a.hessians, row);
                factor[j] *= a.factors ? a.factors[first + j] : 1.0f;
            }
        }
        const Ints g_whole = rounded(g * factor);
        const Ints h_whole = rounded(h * a.hessian_factor * factor);
        g_sums += g_whole;
        h_sums += h_whole;
        // Four shorts per row: g, h, 1 and 0.
        const Ints low = (g_whole & 0xFFFF) | (h_whole << 16);
        const Ints ones = Ints{} + 1;
        alignas(32) std::int32_t words[2 * kLanes];
        store(words, __builtin_shufflevector(low, ones, 0, 8, 1, 9, 2, 10, 3, 11));
        store(words + kLanes,
              __builtin_shufflevector(low, ones, 4, 12, 5, 13, 6, 14, 7, 15));
        std::memcpy(a.out + first * 4, words, n * 8);
    }
    for (int j = 0; j < kLanes; ++j) {
        a.totals[0] += g_sums[j];
        a.totals[1] += h_sums[j];
    }
    a.totals[2] += a.n_rows;
}

inline void add_to_totals(const QuantizeArgs& a, const std::int16_t* out) {
    for (int c = 0; c < a.cells; c += kLanes)
        store(a.totals + c, load(a.totals + c) + widened(out + c));
}

// Writes the shared hessian and the row count; gradients are written, 0 in the padding.
template <class Hessian>
void write_shared(const QuantizeArgs& a, std::int64_t row, float factor,
                  std::int16_t* out) {
    const Floats h = {Hessian::of(0.0f, a.hessians, row)};
    out[a.n_outputs] = rounded(h * a.hessian_factor * factor)[0];
    out[a.n_outputs + 1] = 1;
    for (int c = a.n_outputs + 2; c < a.cells; ++c)
        out[c] = 0;
    add_to_totals(a, out);
}

template <class Hessian>
void quantize(const QuantizeArgs& a) {
    if (a.n_outputs == 1)
        return quantize_single<Hessian>(a);
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        const std::int64_t row = a.rows ? std::int64_t{a.rows[i]} : i;
        const float* gradients = a.gradients + row * a.stride;
        const float factor = a.factors ? a.factors[i] * a.factor : a.factor;
        std::int16_t* out = a.out + i * a.cells;
        // Gradients are 0 in the padding, so values after the last gradient are 0 or
        // overwritten. The last register of hessians is written value by value, because
        // the next row may belong to another thread.
        for (int c = 0; c < a.stride && c + kLanes <= a.cells; c += kLanes) {
            *reinterpret_cast<Shorts*>(out + c) =
                __builtin_convertvector(rounded(load(gradients + c) * factor), Shorts);
        }
        if (a.n_hessians == 1) {
            write_shared<Hessian>(a, row, factor, out);
            continue;
        }
        for (int c = 0; c < a.stride; c += kLanes) {
            const Floats h =
                Hessian::of(load(gradients + c), a.hessians, row * a.stride + c);
            const Shorts q =
                __builtin_convertvector(rounded(h * a.hessian_factor * factor), Shorts);
            if (a.n_outputs + c + kLanes <= a.cells) {
                *reinterpret_cast<Shorts*>(out + a.n_outputs + c) = q;
            } else {
                for (int j = 0; a.n_outputs + c + j < a.cells; ++j)
                    out[a.n_outputs + c + j] = q[j];
            }
        }
        for (int c = 2 * a.n_outputs; c < a.cells; ++c)
            out[c] = c == 2 * a.n_outputs;
        add_to_totals(a, out);
    }
}

// The bits of v + kFixer. The reader of their sum subtracts the bits of kFixer once per
// row.
inline std::uint64_t fixed_bits(double v) {
    return std::bit_cast<std::uint64_t>(v + kFixer);
}
typedef std::uint64_t Longs __attribute__((vector_size(64), aligned(8)));

inline void add_fixed(std::uint64_t* to, Floats v, double scale) {
    const Doubles shifted = __builtin_convertvector(v, Doubles) * scale + kFixer;
    *reinterpret_cast<Longs*>(to) += reinterpret_cast<Longs>(shifted);
}

template <class Hessian, bool kSingle>
void add_sums(const LeafSumArgs& a) {
    const std::uint64_t unit = fixed_bits(a.weight_scale);
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        const std::int64_t row = a.rows ? std::int64_t{a.rows[i]} : i;
        const double weight = a.weight ? a.weight[i] : 1.0f;
        const double scale = weight * a.gradient_scale;
        const double h_scale = weight * a.hessian_scale;
        const float* gradients = a.gradients + row * a.stride;
        std::uint64_t* g_sums = a.sums + a.width * std::int64_t{a.leaf[row]};
        std::uint64_t* h_sums = g_sums + (kSingle ? 1 : a.stride);
        std::uint64_t* groups = h_sums + (kSingle ? 1 : a.stride);
        if constexpr (kSingle) {
            *g_sums += fixed_bits(scale * *gradients);
            *h_sums += fixed_bits(h_scale * Hessian::of(*gradients, a.hessians, row));
        } else {
            for (int c = 0; c < a.stride; c += kLanes) {
                const Floats g = load(gradients + c);
                add_fixed(g_sums + c, g, scale);
                add_fixed(h_sums + c, Hessian::of(g, a.hessians, row * a.stride + c),
                          h_scale);
            }
        }
        groups[a.label ? a.label[row] : 0] +=
            (a.weight ? fixed_bits(weight * a.weight_scale) : unit) - kFixerBits;
        ++groups[a.n_groups];
    }
}

template <class Hessian>
void add_leaf_sums(const LeafSumArgs& a) {
    if (a.n_outputs == 1) {
        add_sums<Hessian, true>(a);
    } else {
        add_sums<Hessian, false>(a);
    }
}

}  // namespace

template <class Hessian>
constexpr ObjectiveKernels with(LossSum (*update_gradients)(const GradientArgs&)) {
    return {update_gradients, &quantize<Hessian>, &add_leaf_sums<Hessian>};
}

extern const ObjectiveTable objective_table;
const ObjectiveTable objective_table = {
    with<LogLossHessian>(&logistic_gradients),
    with<LogLossHessian>(&many_class_gradients),
    with<UnitHessian>(&regression_gradients<QuantileLoss>),
    with<StoredHessian>(&add_steps_only),
    {with<UnitHessian>(&regression_gradients<SquaredLoss>),
     with<UnitHessian>(&regression_gradients<AbsoluteLoss>),
     with<UnitHessian>(&regression_gradients<HuberLoss>),
     with<StoredHessian>(&regression_gradients<PoissonLoss>),
     with<StoredHessian>(&regression_gradients<GammaLoss>),
     with<StoredHessian>(&regression_gradients<TweedieLoss>)},
};

}  // namespace dics::DICS_ISA
