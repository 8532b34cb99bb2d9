// The candidates drawn of a feature as a dictionary of their own, so that every method
// searches them as it searches all thresholds.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/matrix.hpp"
#include "grow/cut.hpp"

namespace dics {

// How a method reads the codes of a feature.
struct CodeReading {
    int n_thresholds;
    const std::uint8_t* table = nullptr;  // from codes to those read; null: as they are
    const std::int32_t* candidates = nullptr;  // the thresholds that are left

    int missing_code() const { return n_thresholds + 1; }
    // A split that sends NaN alone to the left is none of the candidates.
    bool missing_alone() const { return table == nullptr; }
};

class CandidateCodes {
  public:
    // `candidates` rise, of a feature with `n_thresholds`.
    CodeReading read(std::span<const std::int32_t> candidates, int n_thresholds) {
        candidates_ = candidates;
        const auto n = static_cast<int>(candidates.size());
        int code = 0;
        for (int k = 0; k < n; ++k) {
            for (; code <= candidates[static_cast<std::size_t>(k)]; ++code)
                table_[static_cast<std::size_t>(code)] = static_cast<std::uint8_t>(k);
        }
        for (; code <= n_thresholds; ++code)
            table_[static_cast<std::size_t>(code)] = static_cast<std::uint8_t>(n);
        table_[static_cast<std::size_t>(code)] = static_cast<std::uint8_t>(n + 1);
        return {n, table_.data(), candidates.data()};
    }

    // A cut among the candidates as one of the dictionary: the middle one of those that
    // cut in the same place.
    Cut in_dictionary(Cut cut) const {
        if (cut.found()) {
            const int middle = ((cut.lo < 0 ? 0 : cut.lo) + cut.hi) / 2;
            cut.lo = cut.hi = candidates_[static_cast<std::size_t>(middle)];
        }
        return cut;
    }

  private:
    std::array<std::uint8_t, kMaxThresholds + 2> table_{};
    std::span<const std::int32_t> candidates_;
};

}  // namespace dics
