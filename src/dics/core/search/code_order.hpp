// The codes of a category in the order of what they say of a node's target.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace dics {

// Codes by what stands for them in a node, one number or several: of one, such as a
// mean, some prefix of this order is the best of all sets of codes (Fisher 1958). Of
// several, by the direction in which these vary most.
class CodeOrder {
  public:
    // Forgets all codes; each of the next has `n_values` numbers.
    void start(int n_values) {
        n_values_ = static_cast<std::size_t>(n_values);
        codes_.clear();
        rows_.clear();
        values_.clear();
    }

    // `value_of(i)` is number i of the code.
    template <class ValueOf>
    void add(int code, std::int64_t n_rows, const ValueOf& value_of) {
        codes_.push_back(code);
        rows_.push_back(static_cast<double>(n_rows));
        for (std::size_t i = 0; i < n_values_; ++i)
            values_.push_back(value_of(static_cast<int>(i)));
    }

    const std::vector<int>& sort() {
        if (n_values_ == 1)
            keys_ = values_;
        else
            project();
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

    // Along the first principal direction of the values, each with its number of rows,
    // by power iteration; it begins with those of the code that has most rows.
    void project() {
        const std::size_t k = n_values_;
        std::vector<double> mean(k), direction(k), next(k);
        double total = 0, most = -1;
        std::size_t first = 0;
        for (std::size_t i = 0; i < codes_.size(); ++i) {
            total += rows_[i];
            if (rows_[i] > most) {
                most = rows_[i];
                first = i;
            }
            for (std::size_t c = 0; c < k; ++c)
                mean[c] += rows_[i] * values_[i * k + c];
        }
        for (std::size_t c = 0; c < k; ++c) {
            mean[c] /= std::max(total, 1.0);
            for (std::size_t i = 0; i < codes_.size(); ++i)
                values_[i * k + c] -= mean[c];
            direction[c] = values_.empty() ? 0 : values_[first * k + c];
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
                    along += values_[i * k + c] * (direction[c] / length);
                keys_[i] = along;
                for (std::size_t c = 0; c < k; ++c)
                    next[c] += rows_[i] * along * values_[i * k + c];
            }
            direction = next;
        }
    }

    std::size_t n_values_ = 1;
    std::vector<int> codes_, order_;
    std::vector<double> rows_, values_, keys_;  // values: [code][number]
};

}  // namespace dics
