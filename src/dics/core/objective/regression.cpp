#include <algorithm>
#include <cmath>
#include <utility>

#include "objective/objective.hpp"

namespace dics {
namespace {

// Bound of the steps of losses with a log link.
constexpr double kMaxStep = 10;

class RegressionObjective : public Objective {
  public:
    RegressionObjective(RegressionLoss loss, int n_outputs, double level)
        : loss_(loss), n_outputs_(n_outputs), level_(level) {}

    int n_outputs() const override { return n_outputs_; }
    const ObjectiveKernels& kernels() const override {
        return objective_kernels().regression[int(loss_)];
    }
    Hessians hessians() const override {
        return has_log_link() ? Hessians::stored : Hessians::ones;
    }
    double largest_gradient() const override {
        return loss_ == RegressionLoss::absolute ? 1 : 0;
    }
    double distance_level() const override {
        return loss_ == RegressionLoss::huber ? level_ : 0;
    }
    bool uses_residuals() const override {
        return loss_ == RegressionLoss::absolute || loss_ == RegressionLoss::huber;
    }
    std::vector<float> parameters() const override {
        return std::vector<float>(n_outputs_, has_log_link() ? power() : 0);
    }

    void find_step(const LeafSums& sums, double learning_rate, double l2,
                   float* step) const override {
        for (int c = 0; c < n_outputs_; ++c)
            step[c] = step_of(sums.g[c], sums.h[c], sums.groups[0], learning_rate, l2);
    }

  private:
    bool has_log_link() const { return loss_ >= RegressionLoss::poisson; }
    // The power of Tweedie; Poisson is the case of 1.
    double power() const { return loss_ == RegressionLoss::tweedie ? level_ : 1; }

    double step_of(double g, double h, double weight, double rate, double l2) const {
        const double denominator = h + l2;
        if (!(denominator > 0) || g == 0)
            return 0;
        const double step = -rate * g / denominator;
        if (!has_log_link())
            return step;
        // At most up to the minimum of the loss of the leaf. Gamma with means m: h is
        // the sum of y / m. Tweedie of power p: A is the sum of y m^(1 - p), B that of
        // m^(2 - p). Then g = B - A, h = (p - 1) A + (2 - p) B, and the minimum is at
        // log(A / B).
        const double p = power();
        const double ratio = loss_ == RegressionLoss::gamma
                                 ? h / weight
                                 : (h - (2 - p) * g) / (h + (p - 1) * g);
        const double least = ratio > 0 ? std::log(ratio) : -kMaxStep;
        return std::clamp(step, std::max(-kMaxStep, std::min(0.0, least)),
                          std::min(kMaxStep, std::max(0.0, least)));
    }

    RegressionLoss loss_;
    int n_outputs_;
    double level_;
};

class QuantileObjective : public Objective {
  public:
    explicit QuantileObjective(std::vector<double> levels)
        : levels_(std::move(levels)) {}

    int n_outputs() const override { return levels_.size(); }
    const ObjectiveKernels& kernels() const override {
        return objective_kernels().quantile;
    }
    Hessians hessians() const override { return Hessians::ones; }
    double largest_gradient() const override { return 1; }
    std::vector<float> parameters() const override {
        return std::vector<float>(levels_.begin(), levels_.end());
    }
    bool uses_residuals() const override { return true; }
    double residual_level(int output) const override { return levels_[output]; }
    void find_step(const LeafSums&, double, double, float*) const override {}

  private:
    std::vector<double> levels_;
};

class CustomLoss : public Objective {
  public:
    CustomLoss(int n_outputs, FillGradients fill)
        : n_outputs_(n_outputs), fill_(std::move(fill)) {}

    int n_outputs() const override { return n_outputs_; }
    const ObjectiveKernels& kernels() const override {
        return objective_kernels().custom;
    }
    Hessians hessians() const override { return Hessians::stored; }
    void find_step(const LeafSums& sums, double learning_rate, double l2,
                   float* step) const override {
        for (int c = 0; c < n_outputs_; ++c) {
            const double denominator = sums.h[c] + l2;
            step[c] = denominator > 0 ? -learning_rate * sums.g[c] / denominator : 0.0;
        }
    }
    bool is_custom() const override { return true; }
    double fill_gradients(const GradientArgs& args) const override {
        return fill_(args);
    }

  private:
    int n_outputs_;
    FillGradients fill_;
};

}  // namespace

std::unique_ptr<Objective> regression_loss(RegressionLoss loss, int n_outputs,
                                           double level) {
    return std::make_unique<RegressionObjective>(loss, n_outputs, level);
}

std::unique_ptr<Objective> quantile_loss(std::vector<double> levels) {
    return std::make_unique<QuantileObjective>(std::move(levels));
}

std::unique_ptr<Objective> custom_loss(int n_outputs, FillGradients fill) {
    return std::make_unique<CustomLoss>(n_outputs, std::move(fill));
}

}  // namespace dics
