// Gradients of the losses of regression. Included once per instruction set, see
// kernels/vectors.hpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/vectors.hpp"

namespace dics::DICS_ISA {
namespace {

// The second derivative is one, or stands for one where there is none.
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

// A loss at score s, with target y and the parameter of the output.
struct SquaredLoss {
    static constexpr bool kStoresHessian = false;
    static float loss(float s, float y, float) { return 0.5f * (s - y) * (s - y); }
    static float gradient(float s, float y, float) { return s - y; }
    static float hessian(float, float, float) { return 1; }
};

struct AbsoluteLoss {
    static constexpr bool kStoresHessian = false;
    static float loss(float s, float y, float) { return std::fabs(s - y); }
    static float gradient(float s, float y, float) {
        return static_cast<float>((s > y) - (s < y));
    }
    static float hessian(float, float, float) { return 1; }
};

// Square up to `delta` and straight beyond, as large as the squared loss near 0.
struct HuberLoss {
    static constexpr bool kStoresHessian = false;
    static float loss(float s, float y, float delta) {
        const float size = std::fabs(s - y);
        return size <= delta ? 0.5f * size * size : delta * (size - 0.5f * delta);
    }
    static float gradient(float s, float y, float delta) {
        return std::clamp(s - y, -delta, delta);
    }
    static float hessian(float, float, float) { return 1; }
};

struct QuantileLoss {
    static constexpr bool kStoresHessian = false;
    static float loss(float s, float y, float level) {
        return s > y ? (1 - level) * (s - y) : level * (y - s);
    }
    static float gradient(float s, float y, float level) {
        return s > y ? 1 - level : -level;
    }
    static float hessian(float, float, float) { return 1; }
};

// Scores are logarithms of means.
inline float exp_of_score(float s) { return std::exp(std::clamp(s, -80.0f, 80.0f)); }

// Half the deviance, up to what depends on y alone.
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

inline void add_step(const GradientArgs& a, std::int64_t i) {
    if (!a.steps)
        return;
    const float* step = a.steps + static_cast<std::int64_t>(a.leaf[i]) * a.stride;
    float* scores = a.scores + i * a.stride;
    for (int c = 0; c < a.n_outputs; ++c)
        scores[c] += step[c];
}

template <class Loss>
double regression_gradients(const GradientArgs& a) {
    double total = 0;
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        add_step(a, i);
        const float weight = a.weight ? a.weight[i] : 1.0f;
        float squares = 0, highest = 0;
        for (int c = 0; c < a.n_outputs; ++c) {
            const std::int64_t at = i * a.stride + c;
            const float s = a.scores[at];
            // Several outputs may be of one target.
            const float y = a.target[i * a.n_targets + (a.n_targets > 1 ? c : 0)];
            const float parameter = a.parameters[c];
            total += static_cast<double>(weight) *
                     static_cast<double>(Loss::loss(s, y, parameter));
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
    return total;
}

// Gradients come from elsewhere.
inline double add_steps_only(const GradientArgs& a) {
    for (std::int64_t i = 0; i < a.n_rows; ++i)
        add_step(a, i);
    return 0;
}

}  // namespace
}  // namespace dics::DICS_ISA
