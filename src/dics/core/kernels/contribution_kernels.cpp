// Compiled once per instruction set with DICS_ISA = baseline or avx2; see kernels.hpp.
#include "kernels/contribution_kernels.hpp"

#include <cstring>

namespace dics::DICS_ISA {
namespace {

constexpr int R = kContributionRows;

// One value of four rows, in a register: with wider vectors, the code of the compiler
// is three times as slow. In plain loops, it must assume that arrays overlap.
constexpr int kLanes = 4;
typedef double Rows __attribute__((vector_size(kLanes * sizeof(double))));
typedef long long Flags __attribute__((vector_size(kLanes * sizeof(long long))));

inline Rows load(const double* from) {
    Rows rows;
    std::memcpy(&rows, from, sizeof rows);
    return rows;
}
inline void store(double* to, const Rows& rows) { std::memcpy(to, &rows, sizeof rows); }

// 1 if the value of a row lies within the bounds, else 0.
inline Rows inside(const PathBounds& bounds, const Rows& x) {
    const Rows one = Rows{} + 1.0;
    const Flags within = (x >= bounds.lower) & (x <= bounds.upper);
    const Rows missing = Rows{} + (bounds.missing_inside ? 1.0 : 0.0);
    return x != x ? missing : (within ? one : Rows{});
}

// The same for a value that must also be in a set.
inline Rows inside(const PathBounds& bounds, const CodeSet& set, const Rows& x) {
    Rows found = inside(bounds, x);
    for (int i = 0; i < kLanes; ++i) {
        if (x[i] == x[i] && !set.has_value(x[i]))
            found[i] = 0.0;
    }
    return found;
}

// Writes the factors of the leaf value to `factors`, for each feature of the path and
// for four rows, from row `first` of R.
void find_factors(const ContributionArgs& a, int first) {
    const int d = a.length;
    double* o = a.scratch + first;                // [d][R]
    double* p = a.scratch + (d + 1) * R + first;  // [d + 1][R]: coefficients of P
    store(p, Rows{} + 1.0);
    for (int i = 0; i < d; ++i) {
        const double z = a.path[i].fraction;
        const Rows x = load(a.values + std::int64_t{a.path[i].feature} * R + first);
        const Rows own = a.path[i].set < 0
                             ? inside(a.path[i], x)
                             : inside(a.path[i], a.sets[a.path[i].set], x);
        store(o + i * R, own);
        Rows above = load(p + i * R);
        store(p + (i + 1) * R, own * above);
        for (int s = i; s > 0; --s) {
            const Rows below = load(p + (s - 1) * R);
            store(p + s * R, z * above + own * below);
            above = below;
        }
        store(p, z * above);
    }
    // If o_i is 0, P is z_i times the product without i: (0 - z_i) c_s = -p_s.
    Rows outside = {};
    for (int s = 0; s < d; ++s)
        outside -= load(p + s * R) * a.weights[s];
    const Rows highest = load(p + d * R);
    for (int i = 0; i < d; ++i) {
        const double z = a.path[i].fraction;
        // Divides by z_i + y, from the highest power down: errors are multiplied by
        // z_i, which is at most 1.
        Rows c = highest, sum = {};
        for (int s = d - 1; s >= 0; --s) {
            sum += c * a.weights[s];
            c = load(p + s * R) - z * c;
        }
        const Rows own = load(o + i * R);
        store(a.factors + i * R + first, own != 0.0 ? (1.0 - z) * sum : outside);
    }
}

void add_leaf(const ContributionArgs& a) {
    for (int first = 0; first < R; first += kLanes) {
        find_factors(a, first);
        for (int i = 0; i < a.length; ++i) {
            const Rows factor = load(a.factors + i * R + first);
            double* to = a.sums + std::int64_t{a.path[i].feature} * a.width * R + first;
            for (int c = 0; c < a.width; ++c, to += R)
                store(to, load(to) + factor * a.value[c]);
        }
    }
}

}  // namespace

extern const ContributionKernels contribution_table;
const ContributionKernels contribution_table = {&add_leaf};

}  // namespace dics::DICS_ISA
