// Integers below a limit, with two bytes each if that is enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dics {

class NumberList {
  public:
    NumberList() = default;
    explicit NumberList(std::int64_t limit) : is_narrow_(limit <= kNarrowLimit) {}

    std::size_t size() const { return is_narrow_ ? narrow_.size() : wide_.size(); }
    void reserve(std::size_t n) { is_narrow_ ? narrow_.reserve(n) : wide_.reserve(n); }
    void resize(std::size_t n) { is_narrow_ ? narrow_.resize(n) : wide_.resize(n); }
    void push_back(std::uint32_t number) {
        is_narrow_ ? narrow_.push_back(number) : wide_.push_back(number);
    }
    void set(std::size_t i, std::uint32_t number) {
        if (is_narrow_)
            narrow_[i] = number;
        else
            wide_[i] = number;
    }
    std::uint32_t operator[](std::size_t i) const {
        return is_narrow_ ? narrow_[i] : wide_[i];
    }

    // The first place in first..last-1, which is sorted, with a value >= number.
    std::size_t lower_bound(std::size_t first, std::size_t last,
                            std::uint32_t number) const {
        while (first < last) {
            const std::size_t middle = first + (last - first) / 2;
            if ((*this)[middle] < number)
                first = middle + 1;
            else
                last = middle;
        }
        return first;
    }

  private:
    static constexpr std::int64_t kNarrowLimit = 1 << 16;

    bool is_narrow_ = false;
    std::vector<std::uint16_t> narrow_;
    std::vector<std::uint32_t> wide_;
};

}  // namespace dics
