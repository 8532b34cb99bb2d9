// Sums of gradients of more rows than 32 bits are enough for.
#pragma once

#include <algorithm>
#include <vector>

#include "search/gradient_histograms.hpp"

namespace dics {

// Rows are added up in 32 bits, some at a time, and these sums in 64. Where a split is
// looked for, sums are narrowed to 32 bits again (see Gradients::set_shift): what is
// rounded there is 2^-31 of the node, and decides between cuts that are as good.
// Numbers of rows are not rounded.
class WideGradientHistograms : public GradientHistograms {
  public:
    using Value = std::int64_t;
    struct Scratch {
        GradientHistograms::Scratch own;
        std::vector<std::int32_t> narrow;
    };
    using GradientHistograms::GradientHistograms;

    void fill(std::int64_t block, std::int64_t begin, std::int64_t end,
              const Counted& counted, std::int64_t* hists) const {
        const std::int64_t size = block_size(block);
        std::fill_n(hists, size, 0);
        std::vector<std::int32_t> some(size + kLanes);
        for (std::int64_t first = begin; first < end; first += kRowsAtOnce) {
            GradientHistograms::fill(block, first, std::min(end, first + kRowsAtOnce),
                                     counted, some.data());
            for (std::int64_t i = 0; i < size; ++i)
                hists[i] += some[i];
        }
    }

    void subtract(std::int64_t block, const Counted&, std::int64_t* from,
                  const std::int64_t* what) const {
        for (std::int64_t i = 0; i < block_size(block); ++i)
            from[i] -= what[i];
    }

    Split best_split(std::int64_t block, const std::int64_t* hists, const Open& node,
                     Prepared& prepared, Scratch& scratch) const {
        const std::int64_t size = block_size(block);
        const int n_cells = target().outputs().cells;
        scratch.narrow.assign(size + kLanes, 0);
        for (std::int64_t i = 0; i < size; ++i)
            scratch.narrow[i] =
                target().narrowed(hists[i], static_cast<int>(i % n_cells));
        return GradientHistograms::best_split(block, scratch.narrow.data(), node,
                                              prepared, scratch.own);
    }

  private:
    // Of 16 bits each, so many can't overflow 31.
    static constexpr std::int64_t kRowsAtOnce = 1 << 15;

    std::int64_t block_size(std::int64_t block) const {
        return block_start(block + 1) - block_start(block);
    }
};

}  // namespace dics
