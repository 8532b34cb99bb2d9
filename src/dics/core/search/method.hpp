// One rule for the method that searches a node for its best cuts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "data/matrix.hpp"
#include "kernels/kernels.hpp"

namespace dics {

// Sorted codes (sorted_search.hpp) and histograms (class_histogram.hpp) give the same
// cuts, so the cheaper one is taken.
class MethodChoice {
  public:
    // For nodes that look at all features: most of their histograms are the parent's
    // less the sibling's, and what counts is to scan them.
    static MethodChoice of_all_features(const Dictionary& dictionary, int n_classes) {
        MethodChoice choice;
        choice.small_rows_ = std::clamp<std::int64_t>(
            mean_bins(dictionary) * n_classes / 16, 16, kMaxSortedRows - 1);
        return choice;
    }

    // For nodes that draw some, whose histograms are filled anew. By costs in cycles
    // that were fitted to trees of full depth: 20000 rows of MNIST, CIFAR-10, otto,
    // letter, electricity and helena_part, whose times change by no more than a tenth
    // around them (2026-11).
    static MethodChoice of_drawn_features(const Dictionary& dictionary,
                                          std::int64_t n_features) {
        MethodChoice choice;
        choice.n_features_ = n_features;
        choice.n_bins_ =
            (n_features + kLaneGroup - 1) / kLaneGroup * mean_bins(dictionary);
        return choice;
    }

    // Too small for a histogram. `n_present` classes occur in the node.
    bool is_small(std::int64_t n_rows, int n_present) const {
        if (n_features_ == 0)
            return n_rows < small_rows_;
        return n_rows < kMaxSortedRows &&
               histogram_cost(n_rows, n_present) > kSortCost * n_rows * n_features_;
    }

  private:
    static constexpr std::int64_t kMaxSortedRows = 1 << 24;  // numbered in 24 bits
    static constexpr std::int64_t kSortCost = 15;            // a row and feature

    static std::int64_t mean_bins(const Dictionary& dictionary) {
        return dictionary.size() / std::max<std::int64_t>(1, dictionary.n_features) + 2;
    }
    std::int64_t histogram_cost(std::int64_t n_rows, int n_present) const {
        return n_bins_ * (3 * n_present + 20) + 4 * n_rows * n_features_;
    }

    std::int64_t small_rows_ = 0;               // of all features
    std::int64_t n_features_ = 0, n_bins_ = 0;  // of those drawn
};

}  // namespace dics
