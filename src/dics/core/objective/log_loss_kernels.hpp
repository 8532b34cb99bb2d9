// Gradients of the log-loss. Included once per instruction set, see
// kernels/vectors.hpp.
#pragma once

#include <cmath>

#include "kernels/vectors.hpp"
#include "objective/loss_adder.hpp"

namespace dics::DICS_ISA {
namespace {

// p (1 - p) from g = p - y, for the class of the row and for the others. So hessians
// need not be stored.
struct LogLossHessian {
    static Floats of(Floats g, const float*, std::int64_t) {
        const Floats size = absolute(g);
        return size * (1.0f - size);
    }
    static float of(float g, const float*, std::int64_t) {
        const float size = std::fabs(g);
        return size * (1.0f - size);
    }
};

// One output per class and N registers per row; 0: any number of registers.
template <int N>
LossSum softmax_gradients(const GradientArgs& a) {
    const int n_registers = N ? N : a.stride / kLanes;
    const Ints iota = {0, 1, 2, 3, 4, 5, 6, 7};
    LossAdder losses;
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        float* scores = a.scores + i * a.stride;
        if (a.steps) {
            const float* step = a.steps + std::int64_t{a.leaf[i]} * a.stride;
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
            // Scores of the padding are -inf, and exp_of_negative does not return 0.
            const Floats inside = iota + r * kLanes < a.n_outputs ? e : Floats{};
            sums += inside;
            if constexpr (N > 0) {
                kept[r] = inside;
            } else if (gradients) {
                store(gradients + r * kLanes, inside);
            }
        }
        const float sum = lane_sum(sums);
        const int label = a.label[i];
        const float weight = a.weight ? a.weight[i] : 1.0f;
        const double below = double{top} - scores[label];
        losses.add(weight * (below + log_of(Floats{} + sum)[0]));
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
    return losses.sum();
}

// `n` of eight values from `x`; 0 for the others.
template <class Number>
auto load_some(const Number* x, int n) {
    if (n == kLanes)
        return load(x);
    Number some[kLanes] = {};
    for (int j = 0; j < n; ++j)
        some[j] = x[j];
    return load(some);
}

inline void store_some(float* to, Floats v, int n) {
    if (n == kLanes)
        return store(to, v);
    for (int j = 0; j < n; ++j)
        to[j] = v[j];
}

// Two classes: the score is the margin of class 1. Eight rows at a time.
LossSum logistic_gradients(const GradientArgs& a) {
    LossAdder losses;
    for (std::int64_t first = 0; first < a.n_rows; first += kLanes) {
        const int n = a.n_rows - first < kLanes ? a.n_rows - first : kLanes;
        Floats z = load_some(a.scores + first, n);
        if (a.steps) {
            float steps[kLanes] = {};
            for (int j = 0; j < n; ++j)
                steps[j] = a.steps[a.leaf[first + j]];
            z += load(steps);
            store_some(a.scores + first, z, n);
        }
        const Floats size = absolute(z);
        const Floats e = exp_of_negative(-size);
        const Floats sum = 1.0f + e;
        const Floats likely = 1.0f / sum;
        const Ints is_positive = z > Floats{};
        const Floats p = is_positive ? likely : e * likely;
        const Ints one =
            load_some(reinterpret_cast<const std::int32_t*>(a.label) + first, n) !=
            Ints{};
        // log(1 + e^-|z|), and |z| if the row is on the wrong side.
        const Floats wrong = one == is_positive ? Floats{} : size;
        Doubles loss = __builtin_convertvector(wrong, Doubles) +
                       __builtin_convertvector(log_of(sum), Doubles);
        Floats weight = Floats{} + 1.0f;
        if (a.weight) {
            weight = load_some(a.weight + first, n);
            loss *= __builtin_convertvector(weight, Doubles);
        }
        if (n == kLanes) {
            losses.add(loss);
        } else {
            for (int j = 0; j < n; ++j)
                losses.add(loss[j]);
        }
        if (!a.gradients)
            continue;
        const Floats g = p - (one ? Floats{} + 1.0f : Floats{});
        store_some(a.gradients + first, g, n);
        store_some(a.norms + first, weight * absolute(g), n);
    }
    return losses.sum();
}

LossSum many_class_gradients(const GradientArgs& a) {
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

}  // namespace
}  // namespace dics::DICS_ISA
