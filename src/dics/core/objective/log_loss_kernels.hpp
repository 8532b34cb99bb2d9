// Gradients of the log-loss. Included once per instruction set, see
// kernels/vectors.hpp.
#pragma once

#include <cmath>

#include "kernels/vectors.hpp"

namespace dics::DICS_ISA {
namespace {

// p (1 - p) by g = p - y: for the row's own class and for the others alike. Nothing
// else has to be kept for it.
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

// Sums of logarithms of numbers in [1, n_classes]: one logarithm for 32 of them.
class LogSum {
  public:
    void add(double x) {
        product_ *= x;
        if (++count_ == 32)
            flush();
    }
    void add_all(Floats x, int n) {
        for (int j = 0; j < n; ++j)
            product_ *= static_cast<double>(x[j]);
        count_ += n;
        if (count_ >= 32)
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

// `n` of eight numbers from `x`; 0 for the others.
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
double logistic_gradients(const GradientArgs& a) {
    LogSum logs;
    double linear = 0;
    for (std::int64_t first = 0; first < a.n_rows; first += kLanes) {
        const auto n =
            static_cast<int>(a.n_rows - first < kLanes ? a.n_rows - first : kLanes);
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
        Floats weight = Floats{} + 1.0f;
        if (a.weight) {
            weight = load_some(a.weight + first, n);
            for (int j = 0; j < n; ++j)
                linear += static_cast<double>(weight[j]) *
                          (static_cast<double>(wrong[j]) +
                           std::log(static_cast<double>(sum[j])));
        } else {
            for (int j = 0; j < n; ++j)
                linear += static_cast<double>(wrong[j]);
            logs.add_all(sum, n);
        }
        if (!a.gradients)
            continue;
        const Floats g = p - (one ? Floats{} + 1.0f : Floats{});
        store_some(a.gradients + first, g, n);
        store_some(a.norms + first, weight * absolute(g), n);
    }
    return linear + logs.total();
}

double many_class_gradients(const GradientArgs& a) {
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
