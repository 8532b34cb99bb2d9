// The codes of a category in the order of what they say of a node's target.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/boost_kernels.hpp"

namespace dics {

// Codes of a node's rows by their gradients over their hessians, to which `smooth` is
// added: of one output, some prefix of this order is the best of all sets of codes
// (Fisher 1958). Of several outputs, by the direction in which these vary most.
class CodeOrder {
  public:
    // `hist` is [n_codes][cells] of the node.
    const std::vector<int>& sort(const std::int32_t* hist, int n_codes,
                                 const Outputs& outputs, double smooth) {
        codes_.clear();
        for (int code = 0; code < n_codes; ++code) {
            if (hist[code * outputs.cells + outputs.rows_at()] > 0)
                codes_.push_back(code);
        }
        find_steps(hist, outputs, smooth);
        if (outputs.n == 1)
            keys_ = steps_;
        else
            project(hist, outputs);
        order_.resize(codes_.size());
        for (std::size_t i = 0; i < order_.size(); ++i)
            order_[i] = static_cast<int>(i);
        std::sort(order_.begin(), order_.end(), [&](int a, int b) {
            const double left = keys_[static_cast<std::size_t>(a)];
            const double right = keys_[static_cast<std::size_t>(b)];
            return left != right ? left < right : a < b;
        });
        for (int& place : order_)
            place = codes_[static_cast<std::size_t>(place)];
        return order_;
    }

  private:
    static constexpr int kPowerSteps = 12;

    // [code][output]: g / (h + smooth)
    void find_steps(const std::int32_t* hist, const Outputs& outputs, double smooth) {
        steps_.clear();
        for (const int code : codes_) {
            const std::int32_t* cells = hist + code * outputs.cells;
            for (int c = 0; c < outputs.n; ++c) {
                const double h = cells[outputs.hessian_at(c)] + smooth;
                steps_.push_back(h > 0 ? cells[c] / h : 0.0);
            }
        }
    }

    // Along the first principal direction of the steps, each with its number of rows,
    // by power iteration; it begins with the step of the code that has most rows.
    void project(const std::int32_t* hist, const Outputs& outputs) {
        const auto k = static_cast<std::size_t>(outputs.n);
        std::vector<double> mean(k), direction(k), next(k);
        double total = 0, most = -1;
        std::size_t first = 0;
        auto rows_of = [&](std::size_t i) {
            return static_cast<double>(
                hist[codes_[i] * outputs.cells + outputs.rows_at()]);
        };
        for (std::size_t i = 0; i < codes_.size(); ++i) {
            total += rows_of(i);
            if (rows_of(i) > most) {
                most = rows_of(i);
                first = i;
            }
            for (std::size_t c = 0; c < k; ++c)
                mean[c] += rows_of(i) * steps_[i * k + c];
        }
        for (std::size_t c = 0; c < k; ++c) {
            mean[c] /= std::max(total, 1.0);
            for (std::size_t i = 0; i < codes_.size(); ++i)
                steps_[i * k + c] -= mean[c];
            direction[c] = steps_.empty() ? 0 : steps_[first * k + c];
        }
        keys_.assign(codes_.size(), 0);
        for (int step = 0; step <= kPowerSteps; ++step) {
            double length = 0;
            for (const double d : direction)
                length += d * d;
            if (length == 0)
                break;
            length = std::sqrt(length);
            std::fill(next.begin(), next.end(), 0.0);
            for (std::size_t i = 0; i < codes_.size(); ++i) {
                double along = 0;
                for (std::size_t c = 0; c < k; ++c)
                    along += steps_[i * k + c] * (direction[c] / length);
                keys_[i] = along;
                for (std::size_t c = 0; c < k; ++c)
                    next[c] += rows_of(i) * along * steps_[i * k + c];
            }
            direction = next;
        }
    }

    std::vector<int> codes_, order_;
    std::vector<double> steps_, keys_;
};

}  // namespace dics
