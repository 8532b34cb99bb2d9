// Gradients of the regression losses. Included once per instruction set, see
// kernels/vectors.hpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/vectors.hpp"
#include "objective/loss_adder.hpp"

namespace dics::DICS_ISA {
namespace {

// The second derivative is 1, or replaced by 1 if there is none.
struct UnitHessian {
    static Floats of(Floats, const float*, std::int64_t) { return Floats{} + 1.0f; }
    static float of(float, const float*, std::int64_t) { return 1.0f; }
};

struct StoredHessian {
    static Floats of(Floats, const float* stored, std::int64_t at) {
        return load(stored + at);
    }
    static float of(float, const float* stored, std::int64_t at) { return stored[at]; }
};

// A loss at score s, with target y and the parameter of the output, for scalars or
// vectors.
struct SquaredLoss {
    static constexpr bool kStoresHessian = false;
    template <class V>
    static V loss(V s, V y, V) {
        return 0.5f * (s - y) * (s - y);
    }
    template <class V>
    static V gradient(V s, V y, V) {
        return s - y;
    }
};

struct AbsoluteLoss {
    static constexpr bool kStoresHessian = false;
    template <class V>
    static V loss(V s, V y, V) {
        return s > y ? s - y : y - s;
    }
    template <class V>
    static V gradient(V s, V y, V) {
        const V zero = {}, one = zero + 1.0f;
        return (s > y ? one : zero) - (s < y ? one : zero);
    }
};

// Squared up to `delta` and linear beyond; equal to the squared loss near 0.
struct HuberLoss {
    static constexpr bool kStoresHessian = false;
    template <class V>
    static V loss(V s, V y, V delta) {
        const V size = s > y ? s - y : y - s;
        return size <= delta ? 0.5f * size * size : delta * (size - 0.5f * delta);
    }
    template <class V>
    static V gradient(V s, V y, V delta) {
        const V step = s - y;
        const V low = step < -delta ? -delta : step;
        return low > delta ? delta : low;
    }
};

struct QuantileLoss {
    static constexpr bool kStoresHessian = false;
    template <class V>
    static V loss(V s, V y, V level) {
        return s > y ? (1.0f - level) * (s - y) : level * (y - s);
    }
    template <class V>
    static V gradient(V s, V y, V level) {
        return s > y ? 1.0f - level : -level;
    }
};

// Scores are logarithms of means.
inline float exp_of_score(float s) { return std::exp(std::clamp(s, -80.0f, 80.0f)); }

// Half the deviance, without terms that depend on y only.
struct PoissonLoss {
    static constexpr bool kStoresHessian = true;
    static float loss(float s, float y, float) { return exp_of_score(s) - y * s; }
    static float gradient(float s, float y, float) { return exp_of_score(s) - y; }
    static float hessian(float s, float, float) { return exp_of_score(s); }
};

struct GammaLoss {
    static constexpr bool kStoresHessian = true;
    static float loss(float s, float y, float) { return s + y * exp_of_score(-s); }
    static float gradient(float s, float y, float) { return 1 - y * exp_of_score(-s); }
    static float hessian(float s, float y, float) { return y * exp_of_score(-s); }
};

// Half the deviance for a power p between 1 and 2, without terms that depend on y only.
struct TweedieLoss {
    static constexpr bool kStoresHessian = true;
    static float loss(float s, float y, float p) {
        return upper(s, p) / (2 - p) + lower(s, y, p) / (p - 1);
    }
    static float gradient(float s, float y, float p) {
        return upper(s, p) - lower(s, y, p);
    }
    static float hessian(float s, float y, float p) {
        return (2 - p) * upper(s, p) + (p - 1) * lower(s, y, p);
    }

  private:
    static float upper(float s, float p) { return exp_of_score((2 - p) * s); }
    static float lower(float s, float y, float p) {
        return y * exp_of_score((1 - p) * s);
    }
};

inline void add_step(const GradientArgs& a, std::int64_t i) {
    if (!a.steps)
        return;
    const float* step = a.steps + std::int64_t{a.leaf[i]} * a.stride;
    float* scores = a.scores + i * a.stride;
    for (int c = 0; c < a.n_outputs; ++c)
        scores[c] += step[c];
}

// One output: eight rows at a time.
template <class Loss>
LossSum single_gradients(const GradientArgs& a) {
    const Floats parameter = Floats{} + a.parameters[0];
    LossAdder losses;
    std::int64_t i = 0;
    for (; i + kLanes <= a.n_rows; i += kLanes) {
        Floats s = load(a.scores + i);
        if (a.steps) {
            Floats step;
            for (int j = 0; j < kLanes; ++j)
                step[j] = a.steps[a.leaf[i + j]];
            s += step;
            store(a.scores + i, s);
        }
        const Floats y = load(a.target + i);
        const Floats weight = a.weight ? load(a.weight + i) : Floats{} + 1.0f;
        losses.add(__builtin_convertvector(weight, Doubles) *
                   __builtin_convertvector(Loss::loss(s, y, parameter), Doubles));
        if (!a.gradients)
            continue;
        const Floats g = Loss::gradient(s, y, parameter);
        store(a.gradients + i, g);
        store(a.norms + i, weight * absolute(g));
    }
    for (; i < a.n_rows; ++i) {
        a.scores[i] += a.steps ? a.steps[a.leaf[i]] : 0.0f;
        const float weight = a.weight ? a.weight[i] : 1.0f;
        losses.add(double{weight} *
                   Loss::loss(a.scores[i], a.target[i], a.parameters[0]));
        if (!a.gradients)
            continue;
        a.gradients[i] = Loss::gradient(a.scores[i], a.target[i], a.parameters[0]);
        a.norms[i] = weight * std::fabs(a.gradients[i]);
    }
    return losses.sum();
}

template <class Loss>
LossSum regression_gradients(const GradientArgs& a) {
    if constexpr (!Loss::kStoresHessian) {
        if (a.n_outputs == 1)
            return single_gradients<Loss>(a);
    }
    LossAdder losses;
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        add_step(a, i);
        const float weight = a.weight ? a.weight[i] : 1.0f;
        float squares = 0, highest = 0;
        for (int c = 0; c < a.n_outputs; ++c) {
            const std::int64_t at = i * a.stride + c;
            const float s = a.scores[at];
            // Several outputs may have one target.
            const float y = a.target[i * a.n_targets + (a.n_targets > 1 ? c : 0)];
            const float parameter = a.parameters[c];
            losses.add(double{weight} * Loss::loss(s, y, parameter));
            if (!a.gradients)
                continue;
            const float g = Loss::gradient(s, y, parameter);
            a.gradients[at] = g;
            squares += g * g;
            if constexpr (Loss::kStoresHessian) {
                a.hessians[at] = Loss::hessian(s, y, parameter);
                highest = std::max(highest, a.hessians[at]);
            }
        }
        if (a.gradients)
            a.norms[i] = weight * std::max(std::sqrt(squares), highest);
    }
    return losses.sum();
}

// Gradients come from the caller.
inline LossSum add_steps_only(const GradientArgs& a) {
    for (std::int64_t i = 0; i < a.n_rows; ++i)
        add_step(a, i);
    return {};
}

}  // namespace
}  // namespace dics::DICS_ISA
