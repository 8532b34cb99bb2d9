// Adds losses of rows. Included once per instruction set, see kernels/vectors.hpp.
#pragma once

#include <bit>

#include "kernels/boost_kernels.hpp"
#include "kernels/vectors.hpp"

namespace dics::DICS_ISA {
namespace {

class LossAdder {
  public:
    void add(double x) {
        // NaN becomes the largest loss.
        x = x < LossSum::kLargest ? x : LossSum::kLargest;
        x = x > -LossSum::kLargest ? x : -LossSum::kLargest;
        const double shifted = x + kFixer;
        const double part = (x - (shifted - kFixer)) * LossSum::kParts;
        whole_ += std::bit_cast<std::uint64_t>(shifted);
        parts_ += std::bit_cast<std::uint64_t>(part + kFixer);
        ++n_;
    }

    // The same for eight losses.
    void add(Doubles x) {
        const Doubles most = Doubles{} + LossSum::kLargest;
        x = x < most ? x : most;
        x = x > -most ? x : -most;
        const Doubles shifted = x + kFixer;
        const Doubles part = (x - (shifted - kFixer)) * LossSum::kParts;
        whole_sums_ += reinterpret_cast<Longs>(shifted);
        parts_sums_ += reinterpret_cast<Longs>(part + kFixer);
        n_ += kLanes;
    }

    LossSum sum() const {
        std::uint64_t whole = whole_, parts = parts_;
        for (int j = 0; j < kLanes; ++j) {
            whole += whole_sums_[j];
            parts += parts_sums_[j];
        }
        const std::uint64_t fixers = n_ * kFixerBits;
        return {std::int64_t(whole - fixers), std::int64_t(parts - fixers)};
    }

  private:
    typedef std::uint64_t Longs __attribute__((vector_size(64), aligned(8)));

    Longs whole_sums_ = {}, parts_sums_ = {};
    std::uint64_t whole_ = 0, parts_ = 0, n_ = 0;
};

}  // namespace
}  // namespace dics::DICS_ISA
