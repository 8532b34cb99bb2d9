// The first principal direction of weighted points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace dics {

// Returns the projections of points on their first principal direction, by power
// iteration; it begins with the point of the largest weight. `values` are [point][k]
// and become those about their mean.
inline std::vector<double> principal_projections(const std::vector<double>& weights,
                                                 int k, std::vector<double>& values) {
    constexpr int kPowerSteps = 12;
    const std::size_t n = weights.size();
    std::vector<double> keys(n), mean(k), direction(k), next(k);
    double total = 0, most = -1;
    std::size_t first = 0;
    for (std::size_t i = 0; i < n; ++i) {
        total += weights[i];
        if (weights[i] > most) {
            most = weights[i];
            first = i;
        }
        for (int c = 0; c < k; ++c)
            mean[c] += weights[i] * values[i * k + c];
    }
    for (int c = 0; c < k; ++c) {
        mean[c] /= std::max(total, 1.0);
        for (std::size_t i = 0; i < n; ++i)
            values[i * k + c] -= mean[c];
        direction[c] = values.empty() ? 0 : values[first * k + c];
    }
    for (int step = 0; step <= kPowerSteps; ++step) {
        double length = 0;
        for (const double d : direction)
            length += d * d;
        if (length == 0)
            break;
        length = std::sqrt(length);
        std::fill(next.begin(), next.end(), 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            double along = 0;
            for (int c = 0; c < k; ++c)
                along += values[i * k + c] * (direction[c] / length);
            keys[i] = along;
            for (int c = 0; c < k; ++c)
                next[c] += weights[i] * along * values[i * k + c];
        }
        direction = next;
    }
    return keys;
}

}  // namespace dics
