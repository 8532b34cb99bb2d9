// What boosting minimises. Another objective is one more file like log_loss.cpp, its
// kernels, and a line in ObjectiveTable.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/boost_kernels.hpp"

namespace dics {

// Sums over the rows of a leaf. `groups` are weights, of each class for classification.
struct LeafSums {
    const double* g;  // of each output
    const double* h;
    const double* groups;
};

class Objective {
  public:
    virtual ~Objective() = default;

    virtual int n_outputs() const = 0;
    // Groups whose weights a leaf adds up apart.
    virtual int n_groups() const = 0;
    // Gradients and hessians of rows.
    virtual const ObjectiveKernels& kernels() const = 0;
    // No gradient or hessian of a row of weight one is larger.
    virtual double largest_gradient() const = 0;
    // What a gain of sum_c G_c^2 / (H_c + l2) is worth in the loss.
    virtual double gain_factor() const = 0;
    // What a leaf adds to each output: Newton's step, limited as the loss demands.
    virtual void find_step(const LeafSums& sums, double learning_rate, double l2,
                           float* step) const = 0;
};

// Log-loss of two classes: one output, the margin of the second class.
std::unique_ptr<Objective> two_class_log_loss();
// Log-loss of many classes: an output for each.
std::unique_ptr<Objective> many_class_log_loss(int n_classes);

}  // namespace dics
