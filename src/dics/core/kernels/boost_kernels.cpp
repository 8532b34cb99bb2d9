// Compiled once per instruction set with DICS_ISA = baseline or avx2; see kernels.hpp.
#include "kernels/boost_kernels.hpp"

#include <cmath>
#include <cstring>

#include "kernels/cut_kernels.hpp"
#include "kernels/vectors.hpp"

namespace dics::DICS_ISA {
namespace {

// --- leaves -------------------------------------------------------------------------

// The index of the lowest set bit, which the compiler vectorizes: the exponent of its
// power of two.
inline std::uint32_t lowest_bit(std::uint32_t word) {
    const float power = std::int32_t(word & (0u - word));
    return ((__builtin_bit_cast(std::uint32_t, power) >> 23) & 255u) - 127u;
}

// Bits of leaves in P planes of eight, one byte per row of a block. Most nodes have few
// leaves on their left, so that a test changes one plane: with 1,000,000 rows and 31
// leaves, masks of 32 bits take 3.3 ms and planes 1.6 ms (2026-11).
template <int P>
void find_leaves_in_planes(const FindLeavesArgs& a) {
    constexpr std::int64_t kBlock = 1024;
    alignas(32) std::uint8_t planes[P][kBlock], left[kBlock] = {};
    alignas(32) std::uint32_t bits[kBlock];
    for (std::int64_t begin = 0; begin < a.n_rows; begin += kBlock) {
        const std::int64_t n = a.n_rows - begin < kBlock ? a.n_rows - begin : kBlock;
        std::memset(planes, 255, sizeof planes);
        for (int t = 0; t < a.n_tests; ++t) {
            const std::uint8_t* code = a.column[t] + begin;
            const CodeTest& test = a.tests[t].test;
            const std::uint8_t threshold = test.threshold;
            const std::uint8_t missing = test.missing;
            if (test.table) {
                for (std::int64_t i = 0; i < n; ++i)
                    left[i] = test.table[code[i]];
            } else if (test.threshold < 0) {
                for (std::int64_t i = 0; i < n; ++i)
                    left[i] = byte_goes_left<true>(code[i], 0, missing) ? 255 : 0;
            } else {
                for (std::int64_t i = 0; i < n; ++i)
                    left[i] =
                        byte_goes_left<false>(code[i], threshold, missing) ? 255 : 0;
            }
            for (int p = 0; p < P; ++p) {
                const std::uint8_t right = a.tests[t].right >> 8 * p;
                if (right == 255)
                    continue;
                // Complete blocks: the bytes after the rows are not used.
                for (std::int64_t i = 0; i < kBlock; ++i)
                    planes[p][i] &= left[i] | right;
            }
        }
        if constexpr (P <= 4) {
            for (std::int64_t i = 0; i < kBlock; ++i) {
                std::uint32_t word = 0;
                for (int p = 0; p < P; ++p)
                    word |= std::uint32_t{planes[p][i]} << 8 * p;
                bits[i] = lowest_bit(word);
            }
        } else {
            for (std::int64_t i = 0; i < n; ++i) {
                std::uint64_t word = 0;
                for (int p = 0; p < P; ++p)
                    word |= std::uint64_t{planes[p][i]} << 8 * p;
                bits[i] = __builtin_ctzll(word);
            }
        }
        for (std::int64_t i = 0; i < n; ++i)
            a.leaf[begin + i] = a.number[bits[i] & 63];
    }
}

void find_leaves(const FindLeavesArgs& a) {
    if (a.n_leaves <= 8) {
        find_leaves_in_planes<1>(a);
    } else if (a.n_leaves <= 16) {
        find_leaves_in_planes<2>(a);
    } else if (a.n_leaves <= 32) {
        find_leaves_in_planes<4>(a);
    } else {
        find_leaves_in_planes<8>(a);
    }
}

// --- sketch -------------------------------------------------------------------------

void sketch(const SketchArgs& a) {
    for (std::int64_t i = a.first; i < a.first + a.n_rows; ++i) {
        const std::int64_t row = a.rows ? std::int64_t{a.rows[i]} : i;
        const float* gradients = a.gradients + row * a.stride;
        Floats squares = {};
        for (int r = 0; r < a.sketch_stride; r += kLanes) {
            const float* signs = a.signs + r;
            Floats sums = {};
            for (int c = 0; c < a.n_outputs; ++c, signs += a.sketch_stride)
                sums += gradients[c] * load(signs);
            store(a.out + row * a.sketch_stride + r, sums);
            squares += sums * sums;
        }
        const float weight = a.weights ? a.weights[row] : 1.0f;
        a.norms[row] = weight * std::sqrt(lane_sum(squares));
    }
}

// --- histograms ---------------------------------------------------------------------

// Features per pass: their chains of additions to a bin overlap.
constexpr int kAtOnce = 4;
// Values of a block of rows, which stay in the cache while all features use them.
constexpr std::int64_t kBlockValues = 1 << 15;

// Cells [first, first + 8 R) of all bins of F features. kWhole: these are all cells.
template <int R, int F, bool kWhole>
void fill_cells(const FillArgs& a, std::int64_t begin, std::int64_t end, int first,
                int feature) {
    // Copies, because the compiler must assume that a histogram overlaps the arguments.
    const std::int64_t cells = kWhole ? R * kLanes : a.cells;
    const std::uint32_t* places = a.places;
    const std::uint32_t* rows = a.rows;
    const std::uint8_t* codes = a.codes + feature;
    const std::int64_t stride = a.stride;
    const std::int16_t* values = a.values + first;
    std::int32_t* hist[F];
    for (int j = 0; j < F; ++j)
        hist[j] = a.hist[feature + j] + first;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = places[i];
        const std::uint8_t* code =
            codes + (rows ? std::int64_t{rows[place]} : place) * stride;
        const std::int16_t* from = values + place * cells;
        Ints v[R];
        for (int r = 0; r < R; ++r)
            v[r] = widened(from + r * kLanes);
        for (int j = 0; j < F; ++j) {
            std::int32_t* bin = hist[j] + code[j] * cells;
            for (int r = 0; r < R; ++r)
                store(bin + r * kLanes, load(bin + r * kLanes) + v[r]);
        }
    }
}

template <int F>
void fill_four_cells(const FillArgs& a, std::int64_t begin, std::int64_t end,
                     int feature) {
    const std::uint32_t* places = a.places;
    const std::uint32_t* rows = a.rows;
    const std::uint8_t* codes = a.codes + feature;
    const std::int64_t stride = a.stride;
    const std::int16_t* values = a.values;
    FourInts* hist[F];
    for (int j = 0; j < F; ++j)
        hist[j] = reinterpret_cast<FourInts*>(a.hist[feature + j]);
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = places[i];
        const std::uint8_t* code =
            codes + (rows ? std::int64_t{rows[place]} : place) * stride;
        const FourInts v = __builtin_convertvector(
            *reinterpret_cast<const FourShorts*>(values + place * 4), FourInts);
        for (int j = 0; j < F; ++j)
            hist[j][code[j]] += v;
    }
}

template <int F>
void fill_features(const FillArgs& a, std::int64_t begin, std::int64_t end,
                   int feature) {
    if (a.cells == 4)
        return fill_four_cells<F>(a, begin, end, feature);
    switch (a.cells / kLanes) {
        case 1:
            return fill_cells<1, F, true>(a, begin, end, 0, feature);
        case 2:
            return fill_cells<2, F, true>(a, begin, end, 0, feature);
        case 3:
            return fill_cells<3, F, true>(a, begin, end, 0, feature);
        case 4:
            return fill_cells<4, F, true>(a, begin, end, 0, feature);
    }
    for (int first = 0; first < a.cells; first += 4 * kLanes) {
        switch ((a.cells - first) / kLanes) {
            case 1:
                fill_cells<1, F, false>(a, begin, end, first, feature);
                break;
            case 2:
                fill_cells<2, F, false>(a, begin, end, first, feature);
                break;
            case 3:
                fill_cells<3, F, false>(a, begin, end, first, feature);
                break;
            default:
                fill_cells<4, F, false>(a, begin, end, first, feature);
        }
    }
}

// Prefetches the rows of a node, which are scattered, so that the reads overlap.
void fetch(const FillArgs& a, std::int64_t begin, std::int64_t end) {
    const std::int64_t value_bytes = a.cells * 2 < 256 ? a.cells * 2 : 256;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = a.places[i];
        const std::uint8_t* code =
            a.codes + (a.rows ? std::int64_t{a.rows[place]} : place) * a.stride;
        __builtin_prefetch(code);
        __builtin_prefetch(code + a.n_features - 1);
        const auto* value = reinterpret_cast<const char*>(a.values + place * a.cells);
        for (std::int64_t byte = 0; byte < value_bytes; byte += 64)
            __builtin_prefetch(value + byte);
    }
}

void fill(const FillArgs& a) {
    const std::int64_t n_block = kBlockValues / a.cells + 1;
    for (std::int64_t begin = 0; begin < a.n_rows; begin += n_block) {
        const std::int64_t end =
            begin + n_block < a.n_rows ? begin + n_block : a.n_rows;
        fetch(a, begin, end);
        int feature = 0;
        for (; feature + kAtOnce <= a.n_features; feature += kAtOnce)
            fill_features<kAtOnce>(a, begin, end, feature);
        for (; feature < a.n_features; ++feature)
            fill_features<1>(a, begin, end, feature);
    }
}

// For cells in R registers; R = 0: one register of four cells.
template <int R>
void fill_entries(const SparseFillArgs& a) {
    constexpr int cells = R == 0 ? 4 : R * kLanes;
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        const std::int64_t place = a.places[i];
        const std::int64_t row = a.rows ? std::int64_t{a.rows[place]} : place;
        const std::uint32_t* entry = a.entries + a.starts[row];
        const std::uint32_t* end = a.entries + a.starts[row + 1];
        const std::int16_t* value = a.values + place * cells;
        if constexpr (R == 0) {
            const FourInts v = __builtin_convertvector(
                *reinterpret_cast<const FourShorts*>(value), FourInts);
            *reinterpret_cast<FourInts*>(a.total) += v;
            for (; entry < end; ++entry)
                *reinterpret_cast<FourInts*>(a.hist + a.offsets[*entry >> 8] +
                                             (*entry & 255) * 4) += v;
        } else {
            Ints v[R];
            for (int r = 0; r < R; ++r) {
                v[r] = widened(value + r * kLanes);
                store(a.total + r * kLanes, load(a.total + r * kLanes) + v[r]);
            }
            for (; entry < end; ++entry) {
                std::int32_t* bin =
                    a.hist + a.offsets[*entry >> 8] + (*entry & 255) * cells;
                for (int r = 0; r < R; ++r)
                    store(bin + r * kLanes, load(bin + r * kLanes) + v[r]);
            }
        }
    }
}

void fill_many_cells(const SparseFillArgs& a) {
    for (std::int64_t i = 0; i < a.n_rows; ++i) {
        const std::int64_t place = a.places[i];
        const std::int64_t row = a.rows ? std::int64_t{a.rows[place]} : place;
        const std::int16_t* value = a.values + place * a.cells;
        for (int c = 0; c < a.cells; c += kLanes)
            store(a.total + c, load(a.total + c) + widened(value + c));
        for (std::uint64_t at = a.starts[row]; at < a.starts[row + 1]; ++at) {
            std::int32_t* bin = a.hist + a.offsets[a.entries[at] >> 8] +
                                std::int64_t{a.entries[at] & 255} * a.cells;
            for (int c = 0; c < a.cells; c += kLanes)
                store(bin + c, load(bin + c) + widened(value + c));
        }
    }
}

void fill_sparse(const SparseFillArgs& a) {
    switch (a.cells == 4 ? 0 : a.cells / kLanes) {
        case 0:
            return fill_entries<0>(a);
        case 1:
            return fill_entries<1>(a);
        case 2:
            return fill_entries<2>(a);
        case 3:
            return fill_entries<3>(a);
        default:
            return fill_many_cells(a);
    }
}

}  // namespace

extern const BoostKernels boost_table;
const BoostKernels boost_table = {&find_leaves, &sketch, &fill, &fill_sparse,
                                  &best_cut};

}  // namespace dics::DICS_ISA
