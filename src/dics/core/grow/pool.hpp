#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace dics {

// Buffers for the histograms of open nodes. The smaller child is always grown first, so
// at most log2(rows) are in use; when the cap is reached a node does without.
template <class Count>
class HistogramPool {
  public:
    HistogramPool(std::int64_t size, std::int64_t max_buffers)
        : size_(size), max_buffers_(max_buffers) {}

    int acquire() {
        if (!free_.empty()) {
            const int id = free_.back();
            free_.pop_back();
            return id;
        }
        if (static_cast<std::int64_t>(buffers_.size()) >= max_buffers_)
            return -1;
        buffers_.push_back(
            std::make_unique_for_overwrite<Count[]>(static_cast<std::size_t>(size_)));
        return static_cast<int>(buffers_.size()) - 1;
    }
    void release(int id) {
        if (id >= 0)
            free_.push_back(id);
    }
    Count* at(int id) { return buffers_[static_cast<std::size_t>(id)].get(); }

  private:
    std::int64_t size_, max_buffers_;
    std::vector<std::unique_ptr<Count[]>> buffers_;
    std::vector<int> free_;
};

}  // namespace dics
