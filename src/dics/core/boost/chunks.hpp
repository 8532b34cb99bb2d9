// Rows in chunks, one per task. Chunks do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dics {

inline constexpr std::int64_t kTaskRows = 1024;
// With fewer values (rows times outputs), one thread does all work.
inline constexpr std::int64_t kParallelNumbers = 1 << 12;

struct Chunks {
    std::int64_t n_rows, size = kTaskRows;

    std::int64_t count() const { return (n_rows + size - 1) / size; }
    std::int64_t begin(std::int64_t i) const { return i * size; }
    std::int64_t length(std::int64_t i) const {
        return std::min(size, n_rows - begin(i));
    }
};

}  // namespace dics
