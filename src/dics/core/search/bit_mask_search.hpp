// A node of at most 64 rows, repetitions counted, and few classes: see
// kernels/bit_mask_scan.hpp.
#pragma once

#include <cstring>

#include "grow/node.hpp"
#include "kernels/bit_mask_scan.hpp"
#include "kernels/kernels.hpp"
#include "search/candidate_codes.hpp"
#include "target/class_counts.hpp"

namespace dics {

template <class Crit, class Count>
class BitMaskSearch {
  public:
    // Lays out the places of a node's rows; false if the node doesn't fit.
    bool prepare(const ClassRows<Count>& r, const NodePlace& node,
                 const ClassTotals<Count>& totals, std::int64_t min_leaf,
                 Count min_weight) {
        if (sizeof(Count) != sizeof(std::uint32_t) || totals.weight > kMaskPlaces)
            return false;
        n_rows_ = static_cast<int>(node.size());
        rows_ = r.rows.data() + node.begin;
        n_classes_ = 0;
        first_ = 0;
        int place = 0;
        for (int i = 0; i < n_rows_; ++i) {
            const auto count = static_cast<int>(r.count(node.begin + i));
            if (count > kMaxRepeats)
                return false;
            const std::uint64_t bits = ((std::uint64_t{1} << count) - 1) << place;
            const int c = class_of(r.labels[node.begin + i]);
            if (c < 0)
                return false;
            of_class_[c] |= bits;
            class_total_[c] += static_cast<std::uint32_t>(count);
            first_ |= std::uint64_t{1} << place;
            place_[i] = static_cast<std::uint8_t>(place);
            place += count;
        }
        all_ =
            place == kMaskPlaces ? ~std::uint64_t{0} : (std::uint64_t{1} << place) - 1;
        min_leaf_ = min_leaf;
        min_weight_ = static_cast<std::uint32_t>(min_weight);
        return true;
    }

    Cut search(const std::uint8_t* column, std::int64_t width,
               const CodeReading& reading, double floor) {
        const BitMaskArgs args = read(column, width, reading);
        if constexpr (std::is_same_v<Crit, Gini>) {
            return kernels().search_masks_gini(args, floor);
        } else {
            return plain::search_masks<Crit>(args, floor);
        }
    }

  private:
    static constexpr int kMaxRepeats = 8;  // one store of 8 bytes writes them
    static constexpr int kMaxClasses = 8;

    int class_of(std::uint32_t label) {
        for (int c = 0; c < n_classes_; ++c) {
            if (label_[c] == label)
                return c;
        }
        if (n_classes_ == kMaxClasses)
            return -1;
        label_[n_classes_] = label;
        of_class_[n_classes_] = 0;
        class_total_[n_classes_] = 0;
        return n_classes_++;
    }

    BitMaskArgs read(const std::uint8_t* column, std::int64_t width,
                     const CodeReading& reading) {
        auto read_codes = [&](auto code_of) {
            for (int i = 0; i < n_rows_; ++i) {
                const std::uint64_t repeated =
                    code_of(column[std::int64_t{rows_[i]} * width]) *
                    0x0101010101010101ull;
                // Writes past the row's own places are written over by the rows after
                // it.
                std::memcpy(codes_ + place_[i], &repeated, sizeof repeated);
            }
        };
        if (reading.table)
            read_codes(
                [table = reading.table](std::uint8_t code) { return table[code]; });
        else
            read_codes([](std::uint8_t code) { return code; });
        return {codes_,
                all_,
                first_,
                n_classes_,
                of_class_,
                class_total_,
                reading.missing_code(),
                min_leaf_,
                min_weight_,
                reading.missing_alone()};
    }

    alignas(64) std::uint8_t codes_[kMaskPlaces + kMaxRepeats] = {};
    int n_rows_ = 0;
    const std::uint32_t* rows_ = nullptr;
    std::uint8_t place_[kMaskPlaces];
    std::uint64_t all_ = 0, first_ = 0;
    int n_classes_ = 0;
    std::uint32_t label_[kMaxClasses];
    std::uint64_t of_class_[kMaxClasses];
    std::uint32_t class_total_[kMaxClasses];
    std::int64_t min_leaf_ = 1;
    std::uint32_t min_weight_ = 0;
};

}  // namespace dics
