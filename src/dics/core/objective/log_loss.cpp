#include <algorithm>
#include <cmath>

#include "objective/objective.hpp"

namespace dics {
namespace {

// Steps are bounded, so that scores stay finite.
constexpr double kMaxStep = 10;

class TwoClassLogLoss : public Objective {
  public:
    int n_outputs() const override { return 1; }
    int n_groups() const override { return 2; }
    const ObjectiveKernels& kernels() const override {
        return objective_kernels().two_class_log_loss;
    }
    double largest_gradient() const override { return 1; }
    // The margin represents two scores with equal gains.
    double gain_factor() const override { return 1; }

    // Both scores change, so the margin changes twice as much. The loss is at most p_1
    // (e^w - 1) - n_1 w and at most p_0 (e^-w - 1) + n_0 w, so it decreases up to the
    // more distant of the two minima.
    void find_step(const LeafSums& sums, double learning_rate, double l2,
                   float* step) const override {
        const double g = *sums.g, n0 = sums.groups[0], n1 = sums.groups[1];
        const double denominator = *sums.h + l2;
        *step = 0;
        if (!(denominator > 0) || g == 0)
            return;
        const double p0 = n0 - g, p1 = n1 + g;
        auto ratio = [](double a, double b) { return b > 0 ? a / b : INFINITY; };
        const double ratio_limit = g < 0 ? std::max(ratio(n1, p1), ratio(p0, n0))
                                         : std::max(ratio(n0, p0), ratio(p1, n1));
        const double limit = std::min(std::log(ratio_limit), 2 * kMaxStep);
        *step = std::clamp(-2 * learning_rate * g / denominator, -limit, limit);
    }
};

class ManyClassLogLoss : public Objective {
  public:
    explicit ManyClassLogLoss(int n_classes) : n_classes_(n_classes) {}

    int n_outputs() const override { return n_classes_; }
    int n_groups() const override { return n_classes_; }
    const ObjectiveKernels& kernels() const override {
        return objective_kernels().many_class_log_loss;
    }
    double largest_gradient() const override { return 1; }
    double mean_hessian() const override { return 1.0 / n_classes_; }
    double gain_factor() const override { return 0.5; }

    void find_step(const LeafSums& sums, double learning_rate, double l2,
                   float* step) const override {
        for (int c = 0; c < n_classes_; ++c)
            step[c] = step_of(sums.g[c], sums.h[c] + l2, sums.groups[c], learning_rate);
    }

  private:
    // eta w = -eta G / (H + lambda), limited to the minimum of an upper bound of the
    // loss. With n rows of the class and p = G + n the sum of its probabilities, the
    // loss of a leaf is at most sum_c p_c (e^{w_c} - 1) - n_c w_c (log x <= x - 1). The
    // minimum is at w_c = log(n_c / p_c), and each step up to there decreases it. The
    // Newton step exceeds it only if p is small and n is not.
    static double step_of(double g, double denominator, double n, double rate) {
        if (!(denominator > 0) || g == 0)
            return 0;
        double step = -rate * g / denominator;
        const double p = g + n;
        if (step > 0 && p > 0)
            step = std::min(step, std::log(n / p));
        if (step < 0 && n > 0)
            step = std::max(step, std::log(n / p));
        return std::clamp(step, -kMaxStep, kMaxStep);
    }

    int n_classes_;
};

}  // namespace

std::unique_ptr<Objective> two_class_log_loss() {
    return std::make_unique<TwoClassLogLoss>();
}

std::unique_ptr<Objective> many_class_log_loss(int n_classes) {
    return std::make_unique<ManyClassLogLoss>(n_classes);
}

}  // namespace dics
