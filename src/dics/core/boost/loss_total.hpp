// The loss of all rows.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/boost_kernels.hpp"
#include "sum.hpp"

namespace dics {

// Adds up the losses of tasks, of any number of rows. Each number of a LossSum is kept
// as two that can be added, its upper and its lower half, since their total may need
// more than 64 bits.
class LossTotal {
  public:
    void start(std::size_t n_tasks) { numbers_.assign(kSize * n_tasks, 0); }

    void set(std::size_t task, const LossSum& loss) {
        std::int64_t* to = numbers_.data() + kSize * task;
        split(loss.whole, to);
        split(loss.parts, to + 2);
    }

    // Of all contributors.
    double value(std::size_t n_tasks, const Sum& sum) {
        sum.parts(numbers_, n_tasks, kSize);
        return joined(numbers_.data()) + joined(numbers_.data() + 2) / LossSum::kParts;
    }

  private:
    static constexpr std::size_t kSize = 4;
    static constexpr int kHalf = 32;

    static void split(std::int64_t number, std::int64_t* to) {
        to[0] = number >> kHalf;
        to[1] = number & ((std::int64_t{1} << kHalf) - 1);
    }
    static double joined(const std::int64_t* from) {
        return static_cast<double>((__int128{from[0]} << kHalf) + from[1]);
    }

    std::vector<std::int64_t> numbers_;  // [task][whole, parts][upper, lower]
};

}  // namespace dics
