// A set of codes, one bit per code: the left side of a categorical split.
#pragma once

#include <array>
#include <cstdint>

namespace dics {

struct CodeSet {
    static constexpr int kWords = 4;

    std::array<std::uint64_t, kWords> words{};

    void add(int code) { words[word_of(code)] |= bit_of(code); }
    [[gnu::always_inline]] bool has(int code) const {
        return (words[word_of(code)] & bit_of(code)) != 0;
    }
    // For a raw value, the index of a category. Other values are in no set.
    template <class T>
    [[gnu::always_inline]] bool has_value(T x) const {
        return x >= 0 && x < 256 && has(static_cast<int>(x));
    }
    CodeSet within(const CodeSet& other, bool inside) const {
        CodeSet both;
        for (std::size_t i = 0; i < kWords; ++i)
            both.words[i] = words[i] & (inside ? other.words[i] : ~other.words[i]);
        return both;
    }
    static CodeSet all() {
        CodeSet set;
        set.words.fill(~std::uint64_t{0});
        return set;
    }

  private:
    static int word_of(int code) { return code >> 6; }
    static std::uint64_t bit_of(int code) { return std::uint64_t{1} << (code & 63); }
};
static_assert(sizeof(CodeSet) == 32);

}  // namespace dics
