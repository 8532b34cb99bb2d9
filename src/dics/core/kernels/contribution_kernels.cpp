// Compiled once per instruction set with DICS_ISA = baseline or avx2; see kernels.hpp.
#include "kernels/contribution_kernels.hpp"

namespace dics::DICS_ISA {
namespace {

constexpr int R = kContributionRows;

// inside[r] = 1 where the value of row r lies within the bounds, else 0.
void find_inside(const PathBounds& bounds, const double* x, double* inside) {
    const double missing = bounds.missing_inside ? 1.0 : 0.0;
    for (int r = 0; r < R; ++r) {
        const double within =
            (x[r] >= bounds.lower) & (x[r] <= bounds.upper) ? 1.0 : 0.0;
        inside[r] = x[r] != x[r] ? missing : within;
    }
}

void leaf_factors(const ContributionArgs& a) {
    const int d = a.length;
    double* inside = a.scratch;           // [d][R]
    double* p = a.scratch + (d + 1) * R;  // [d + 1][R]: coefficients of P
    for (int r = 0; r < R; ++r)
        p[r] = 1.0;
    for (int i = 0; i < d; ++i) {
        const double z = a.path[i].share;
        double* o = inside + i * R;
        find_inside(a.path[i], a.values + std::int64_t{a.path[i].feature} * R, o);
        for (int r = 0; r < R; ++r)
            p[(i + 1) * R + r] = o[r] * p[i * R + r];
        for (int s = i; s > 0; --s) {
            for (int r = 0; r < R; ++r)
                p[s * R + r] = z * p[s * R + r] + o[r] * p[(s - 1) * R + r];
        }
        for (int r = 0; r < R; ++r)
            p[r] *= z;
    }
    // Where o_i is 0, P is z_i times what is without i: (0 - z_i) c_s = -p_s.
    double outside[R] = {};
    for (int s = 0; s < d; ++s) {
        for (int r = 0; r < R; ++r)
            outside[r] -= p[s * R + r] * a.weights[s];
    }
    for (int i = 0; i < d; ++i) {
        const double z = a.path[i].share;
        // Divided by z_i + y, from the highest power down: errors are multiplied by
        // z_i, which is at most one.
        double c[R], sum[R] = {};
        for (int r = 0; r < R; ++r)
            c[r] = p[d * R + r];
        for (int s = d - 1; s >= 0; --s) {
            for (int r = 0; r < R; ++r) {
                sum[r] += c[r] * a.weights[s];
                c[r] = p[s * R + r] - z * c[r];
            }
        }
        const double* o = inside + i * R;
        double* out = a.factors + i * R;
        for (int r = 0; r < R; ++r)
            out[r] = o[r] != 0 ? (1.0 - z) * sum[r] : outside[r];
    }
}

}  // namespace

extern const ContributionKernels contribution_table;
const ContributionKernels contribution_table = {&leaf_factors};

}  // namespace dics::DICS_ISA
