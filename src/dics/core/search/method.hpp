// One rule for the method that searches a node for its best cuts.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"

namespace dics {

enum class Method {
    mask,       // a bit for each row, see bit_mask_search.hpp
    sort,       // sorted codes, see sorted_search.hpp
    histogram,  // counts per class, see class_histogram.hpp
};

// All give the same cuts; the cheapest is taken, by costs in cycles that were fitted to
// trees of full depth: 20000 rows of MNIST, CIFAR-10, otto, letter, electricity and
// helena_part, whose times change by no more than a tenth around them (2026-11).
class MethodChoice {
  public:
    // Of nodes that look at `n_features` with so many bins in the mean.
    MethodChoice(std::int64_t n_features, std::int64_t mean_bins)
        : n_features_(n_features),
          clear_and_scan_((n_features + kLaneGroup - 1) / kLaneGroup * mean_bins) {}

    // `fits_masks()` prepares for bit masks, and says whether they can be used.
    template <class FitsMasks>
    Method choose(std::int64_t n_rows, int n_classes, FitsMasks fits_masks) const {
        if (!is_small(n_rows, n_classes))
            return Method::histogram;
        const std::int64_t visits = n_rows * n_features_;
        const bool is_tiny = histogram_cost(n_rows, n_classes) > 30 * visits;
        return is_tiny && fits_masks() ? Method::mask : Method::sort;
    }

    // Too small for a histogram.
    bool is_small(std::int64_t n_rows, int n_classes) const {
        return n_rows < kMaxSortedRows &&
               histogram_cost(n_rows, n_classes) > 15 * n_rows * n_features_;
    }

  private:
    static constexpr std::int64_t kMaxSortedRows = 1 << 24;  // numbered in 24 bits

    std::int64_t histogram_cost(std::int64_t n_rows, int n_classes) const {
        return clear_and_scan_ * (3 * n_classes + 20) + 4 * n_rows * n_features_;
    }

    std::int64_t n_features_, clear_and_scan_;
};

}  // namespace dics
