// The codes of a node's rows for random cuts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/matrix.hpp"
#include "search/split_chooser.hpp"

namespace dics {

// Codes of the rows of a node, one feature after the other. A random cut reads them
// twice, for their range and for the sides of the cut. Both loops are short and
// vectorized here. The codes of several features are copied in one pass over the rows,
// because the rows of a node are scattered in memory. For one thread.
class NodeColumns {
  public:
    // `features` must outlive the search of the node, which reads them in their order.
    void start_node(const Codes& codes, const std::vector<std::uint32_t>& rows,
                    const NodePlace& node, std::span<const std::int32_t> features) {
        codes_ = codes;
        rows_ = {rows.data() + node.begin, static_cast<std::size_t>(node.size())};
        features_ = features;
        first_ = last_ = 0;
    }

    // The range of the codes of feature number j.
    CodeRange range(std::int64_t j, int missing_code) {
        if (j >= last_)
            copy(j);
        const std::uint8_t missing = missing_code;
        std::uint8_t low = 255, high = 0;
        for (const std::uint8_t code : column(j)) {
            low = std::min(low, code);  // NaN has the highest code
            high = std::max<std::uint8_t>(high, code == missing ? 0 : code);
        }
        return {low, high};
    }

    // The side of each row: 0 and 1 for codes up to the threshold and above it, 2 for
    // NaN. Read by `CodeReading::of_sides`. `range` of this feature was called before.
    const std::uint8_t* sides(std::int64_t j, int threshold, int missing_code) {
        sides_.resize(rows_.size());
        const std::span<const std::uint8_t> codes = column(j);
        const std::uint8_t most = threshold, missing = missing_code;
        for (std::size_t i = 0; i < codes.size(); ++i)
            sides_[i] = (codes[i] > most) + (codes[i] == missing);
        return sides_.data();
    }

  private:
    static constexpr std::int64_t kBytes = 1 << 20, kFewest = 4, kMost = 32;
    static constexpr std::size_t kFetchAhead = 8;

    std::span<const std::uint8_t> column(std::int64_t j) const {
        return {copied_.data() + (j - first_) * std::ssize(rows_), rows_.size()};
    }

    // Copies the codes of the features from number j on.
    void copy(std::int64_t j) {
        const std::int64_t n_rows = rows_.size();
        const std::int64_t n = std::min(
            std::ssize(features_) - j,
            std::clamp(kBytes / std::max<std::int64_t>(1, n_rows), kFewest, kMost));
        first_ = j;
        last_ = j + n;
        copied_.resize(n * n_rows);
        const std::uint8_t* columns[kMost];
        for (std::int64_t k = 0; k < n; ++k)
            columns[k] = codes_.column(features_[j + k]);
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (i + kFetchAhead < rows_.size()) {
                const std::int64_t next = std::int64_t{rows_[i + kFetchAhead]};
                __builtin_prefetch(columns[0] + next * codes_.width);
                __builtin_prefetch(columns[n - 1] + next * codes_.width);
            }
            const std::int64_t at = std::int64_t{rows_[i]} * codes_.width;
            for (std::int64_t k = 0; k < n; ++k)
                copied_[k * n_rows + i] = columns[k][at];
        }
    }

    Codes codes_{};
    std::span<const std::uint32_t> rows_;
    std::span<const std::int32_t> features_;
    std::int64_t first_ = 0, last_ = 0;  // of the copied features
    std::vector<std::uint8_t> copied_, sides_;
};

}  // namespace dics
