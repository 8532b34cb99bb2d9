// Objectives of boosting: start, gradients, hessians and steps. The README of the core
// lists the places of a new loss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/boost_kernels.hpp"

namespace dics {

// Sums over the rows of a leaf. `groups` are weights, of each class for classification.
struct LeafSums {
    const double* g;  // of each output
    const double* h;
    const double* groups;
};

// Where the second derivatives come from.
enum class Hessians {
    from_gradients,  // computed again from them
    ones,
    stored,
};

class Objective {
  public:
    virtual ~Objective() = default;

    virtual int n_outputs() const = 0;
    // Groups whose weights a leaf adds up separately.
    virtual int n_groups() const { return 1; }
    // Gradients and hessians of rows.
    virtual const ObjectiveKernels& kernels() const = 0;
    virtual Hessians hessians() const { return Hessians::from_gradients; }
    // No gradient or hessian of a row of weight one is larger; 0 if there is no bound.
    virtual double largest_gradient() const { return 0; }
    // What the hessians of a row of weight one are at most, in the mean of its outputs.
    virtual double mean_hessian() const { return 1; }
    // What a gain of sum_c G_c^2 / (H_c + l2) is worth in the loss.
    virtual double gain_factor() const { return 0.5; }
    // What a leaf adds to each output: Newton's step, limited as the loss demands.
    virtual void find_step(const LeafSums& sums, double learning_rate, double l2,
                           float* step) const = 0;

    // Parameters of the loss, one for each output.
    virtual std::vector<float> parameters() const {
        return std::vector<float>(static_cast<std::size_t>(n_outputs()));
    }
    // Is the parameter, before each round, that quantile of the rows' distances from
    // their targets? 0: no.
    virtual double distance_level() const { return 0; }
    // What a leaf adds to an output is found from the residuals of its rows, sorted by
    // size, instead of find_step(): see boost/leaf_residuals.hpp.
    virtual bool uses_residuals() const { return false; }
    virtual double residual_level(int /*output*/) const { return 0.5; }
    // Fills in the gradients of all rows at once, after the kernels; returns the sum of
    // the losses. Only of custom objectives.
    virtual double fill_gradients(const GradientArgs&) const { return 0; }
    virtual bool is_custom() const { return false; }
};

// Log-loss of two classes: one output, the margin of the second class.
std::unique_ptr<Objective> two_class_log_loss();
// Log-loss of many classes: an output for each.
std::unique_ptr<Objective> many_class_log_loss(int n_classes);

// Losses of numbers: an output for each target.
enum class RegressionLoss { squared, absolute, huber, poisson, gamma };
// `level` is the share of rows that huber takes as no outliers.
std::unique_ptr<Objective> regression_loss(RegressionLoss loss, int n_outputs,
                                           double level);
// An output for each level, all of one target.
std::unique_ptr<Objective> quantile_loss(std::vector<double> levels);
// Gradients from outside the core; see Objective::fill_gradients.
using FillGradients = std::function<double(const GradientArgs&)>;
std::unique_ptr<Objective> custom_loss(int n_outputs, FillGradients fill);

}  // namespace dics
