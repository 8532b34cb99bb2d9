// Buffers that open nodes use and give back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace dics {

// Buffers for histograms. Depth first, the smaller child is always grown first, so at
// most log2(rows) are in use. When the cap is reached a node does without.
template <class Value>
class BufferPool {
  public:
    // Before use, and whenever no buffer is in use. Smaller ones are kept as they are.
    void reset(std::int64_t size, std::int64_t max_buffers) {
        if (size > size_) {
            size_ = size;
            buffers_.clear();
            free_.clear();
        }
        max_buffers_ = max_buffers;
    }

    int acquire() {
        if (!free_.empty()) {
            const int id = free_.back();
            free_.pop_back();
            return id;
        }
        if (static_cast<std::int64_t>(buffers_.size()) >= max_buffers_)
            return -1;
        buffers_.push_back(
            std::make_unique_for_overwrite<Value[]>(static_cast<std::size_t>(size_)));
        return static_cast<int>(buffers_.size()) - 1;
    }
    void release(int id) {
        if (id >= 0)
            free_.push_back(id);
    }
    Value* at(int id) { return buffers_[static_cast<std::size_t>(id)].get(); }

  private:
    std::int64_t size_ = 0, max_buffers_ = 0;
    std::vector<std::unique_ptr<Value[]>> buffers_;
    std::vector<int> free_;
};

}  // namespace dics
