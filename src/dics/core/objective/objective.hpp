// Objectives of boosting: gradients, hessians and steps. The README of the core lists
// the places to edit for a new loss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/boost_kernels.hpp"

namespace dics {

// Sums over the rows of a leaf. `groups` are weights; in classification, of each class.
struct LeafSums {
    const double* g;  // of each output
    const double* h;
    const double* groups;
};

// The source of the second derivatives.
enum class Hessians {
    from_gradients,  // computed from them
    ones,
    stored,
};

class Objective {
  public:
    virtual ~Objective() = default;

    virtual int n_outputs() const = 0;
    // Number of groups with separate sums of weights in a leaf.
    virtual int n_groups() const { return 1; }
    // Gradients and hessians of rows.
    virtual const ObjectiveKernels& kernels() const = 0;
    virtual Hessians hessians() const { return Hessians::from_gradients; }
    // Upper bound of the gradients and hessians of rows of weight 1; 0: no bound.
    virtual double largest_gradient() const { return 0; }
    // Upper bound of the mean hessian over the outputs of a row of weight 1.
    virtual double mean_hessian() const { return 1; }
    // Factor from a gain of sum_c G_c^2 / (H_c + l2) to the decrease of the loss.
    virtual double gain_factor() const { return 0.5; }
    // The leaf value of each output: the Newton step, with limits of the loss.
    virtual void find_step(const LeafSums& sums, double learning_rate, double l2,
                           float* step) const = 0;

    // Parameters of the loss, one for each output.
    virtual std::vector<float> parameters() const {
        return std::vector<float>(n_outputs());
    }
    // If not 0, each round sets the parameter to this quantile of the absolute
    // residuals.
    virtual double distance_level() const { return 0; }
    // If true, leaf values are quantiles of the residuals, see
    // boost/leaf_residuals.hpp.
    virtual bool uses_residuals() const { return false; }
    virtual double residual_level(int /*output*/) const { return 0.5; }
    // For custom objectives: computes the gradients of all rows at once, after the
    // kernels. Returns the sum of the losses.
    virtual double fill_gradients(const GradientArgs&) const { return 0; }
    virtual bool is_custom() const { return false; }
};

// Log-loss of binary classification: one output, the margin of the second class.
std::unique_ptr<Objective> two_class_log_loss();
// Log-loss of multiclass classification: one output per class.
std::unique_ptr<Objective> many_class_log_loss(int n_classes);

// Losses of regression: one output per target.
enum class RegressionLoss { squared, absolute, huber, poisson, gamma, tweedie };
// `level` is the fraction of rows that Huber does not treat as outliers, or the power
// of Tweedie.
std::unique_ptr<Objective> regression_loss(RegressionLoss loss, int n_outputs,
                                           double level);
// One output per level, for one target.
std::unique_ptr<Objective> quantile_loss(std::vector<double> levels);
// Gradients from the caller, see Objective::fill_gradients.
using FillGradients = std::function<double(const GradientArgs&)>;
std::unique_ptr<Objective> custom_loss(int n_outputs, FillGradients fill);

}  // namespace dics
