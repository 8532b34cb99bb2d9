// The cuts of one feature: how its codes are read, and the walk over all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dics {

// The best cut of one feature: thresholds lo..hi divide the node's rows in the same
// way. lo = -1: everything present goes right and only NaN goes left (threshold -inf).
struct Cut {
    double score = -1.0e308;
    int lo = -2;
    int hi = -2;
    bool missing_left = false;
    bool saw_missing = false;

    bool found() const { return lo != -2; }
};

// How a scan reads the codes of a feature. The AVX2 build of the kernels uses this too:
// always inlined, never a shared symbol.
struct CodeReading {
    int n_thresholds;
    const std::uint8_t* table = nullptr;  // from codes to those read; null: unchanged
    const std::int32_t* candidates = nullptr;  // the thresholds that remain

    [[gnu::always_inline]] std::uint8_t operator()(std::uint8_t code) const {
        return table ? table[code] : code;
    }
    [[gnu::always_inline]] int missing_code() const { return n_thresholds + 1; }
    // How sides of one threshold are read: 0 and 1, and 2 for NaN.
    static CodeReading of_sides() {
        static constexpr std::uint8_t kSides[] = {0, 1, 2};
        static constexpr std::int32_t kThreshold = 0;
        return {1, kSides, &kThreshold};
    }
    // A split that sends NaN alone to the left is not among sampled candidates.
    [[gnu::always_inline]] bool missing_alone() const { return table == nullptr; }
};

// The codes of one feature, as a scan reads them.
struct CodeColumn {
    const std::uint8_t* codes;  // of row 0
    std::int64_t stride;
    CodeReading reading;

    [[gnu::always_inline]] std::uint8_t of(std::uint32_t row) const {
        return reading(codes[row * stride]);
    }
};

// Sorts keys by their codes; those of equal codes stay in order.
template <class Key, class CodeOf>
void sort_by_code(std::vector<Key>& keys, std::vector<Key>& scratch, CodeOf code_of) {
    constexpr std::size_t few = 32;
    if (keys.size() <= few) {
        for (std::size_t i = 1; i < keys.size(); ++i) {
            const Key key = keys[i];
            std::size_t j = i;
            for (; j > 0 && code_of(keys[j - 1]) > code_of(key); --j)
                keys[j] = keys[j - 1];
            keys[j] = key;
        }
        return;
    }
    std::uint32_t start[257] = {};
    for (const Key& key : keys)
        ++start[code_of(key) + 1];
    for (int b = 0; b < 256; ++b)
        start[b + 1] += start[b];
    scratch.resize(keys.size());
    for (const Key& key : keys)
        scratch[start[code_of(key)]++] = key;
    keys.swap(scratch);
}

// Walks over the cuts of a feature from the left to the right, with NaN on one side.
// `each_bin(visit)` calls visit(bin) for the bins that have a row, without that of NaN;
// `take(bin)` moves a bin to the left; `offer(lo, hi)` rates the current cut.
template <class EachBin, class Take, class Offer>
[[gnu::always_inline]] inline void walk_cuts(const CodeReading& reading,
                                             bool missing_left, EachBin each_bin,
                                             Take take, Offer offer) {
    if (missing_left)
        take(reading.missing_code());
    int previous = -1;
    each_bin([&](int bin) {
        // Before the first bin only NaN is on the left.
        if (bin > 0 || reading.missing_alone())
            offer(previous, bin - 1);
        take(bin);
        previous = bin;
    });
    // NaN alone on the right, by a candidate above all values.
    if (!missing_left && !reading.missing_alone() && previous < reading.n_thresholds)
        offer(previous, reading.n_thresholds - 1);
}

}  // namespace dics
