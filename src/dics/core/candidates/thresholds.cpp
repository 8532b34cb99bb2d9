#include "candidates/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "candidates/sampled_columns.hpp"
#include "random.hpp"

namespace dics {
namespace {

constexpr std::int64_t kParallelValues = 1 << 15;
constexpr std::int64_t kTileCols = 16;  // one cache line of a float32 row

// Rounds to float precision; infinity beyond the range of float.
double in_single(double value) {
    constexpr double most = std::numeric_limits<float>::max();
    if (std::abs(value) > most)
        return std::copysign(std::numeric_limits<double>::infinity(), value);
    return static_cast<float>(value);
}

// The middle of (low, high] or the next number after it, as a float if there is one,
// otherwise as a double. So equal values have the same thresholds for any type of X.
double cut_between(double low, double high) {
    double middle = low / 2 + high / 2;
    if (std::isnan(middle))
        middle = 0;  // between -inf and +inf
    float cut = in_single(middle);
    if (!(cut > low))
        cut = std::nextafter(cut, std::numeric_limits<float>::infinity());
    if (cut > low && cut <= high)
        return cut;
    return middle > low
               ? middle
               : std::nextafter(middle, std::numeric_limits<double>::infinity());
}

// Gap g lies between atoms g and g + 1. Keeps at most one boundary per gap: a second
// one separates no sampled rows.
template <class T>
std::vector<std::pair<std::size_t, double>> useful_boundaries(
    const std::vector<Atom<T>>& atoms, const double* boundaries, int n_boundaries) {
    std::vector<double> sorted;
    for (int b = 0; b < n_boundaries; ++b) {
        if (!std::isnan(boundaries[b]))
            sorted.push_back(boundaries[b]);
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::pair<std::size_t, double>> kept;
    for (const double cut : sorted) {
        const auto above = std::partition_point(
            atoms.begin(), atoms.end(),
            [cut](const Atom<T>& atom) { return atom.value < cut; });
        if (above == atoms.begin() || above == atoms.end())
            continue;
        const std::size_t gap = above - atoms.begin() - 1;
        if (kept.empty() || kept.back().first != gap)
            kept.emplace_back(gap, cut);
    }
    return kept;
}

// Cuts atoms [first, last) into `n_cuts` + 1 parts of about equal mass. The mean mass
// is recomputed after each cut, so that a value heavier than the mean (such as zero)
// takes one part and not many.
template <class T>
void cut_evenly(const std::vector<Atom<T>>& atoms, std::size_t first, std::size_t last,
                double total, std::size_t n_cuts, std::vector<std::size_t>& gaps) {
    double rest = total;
    double mass = 0;
    for (std::size_t g = first; g + 1 < last && n_cuts > 0; ++g) {
        mass += atoms[g].weight;
        const double mean = rest / (n_cuts + 1);
        // Cuts here, or after the next value if that is closer to the mean.
        const double with_next = mass + atoms[g + 1].weight;
        if (mass >= mean || (with_next > mean && with_next - mean > mean - mass)) {
            gaps.push_back(g);
            --n_cuts;
            rest -= mass;
            mass = 0;
        }
    }
}

// Fills the gaps between the boundaries: no part may have more than 1 / (n_even + 1) of
// the mass. Boundaries are dense in the middle of a feature, but splits in the tails
// need thresholds too.
template <class T>
std::vector<std::size_t> even_gaps(
    const std::vector<Atom<T>>& atoms,
    const std::vector<std::pair<std::size_t, double>>& kept, std::size_t n_even) {
    double total = 0;
    for (const auto& atom : atoms)
        total += atom.weight;
    const double mean = total / (n_even + 1);
    std::vector<std::size_t> gaps;
    std::size_t first = 0;
    for (std::size_t k = 0; k <= kept.size(); ++k) {
        const std::size_t last = k < kept.size() ? kept[k].first + 1 : atoms.size();
        double mass = 0;
        for (std::size_t a = first; a < last; ++a)
            mass += atoms[a].weight;
        const double parts = std::ceil(mass / mean - 1e-9);
        if (parts > 1)
            cut_evenly(atoms, first, last, mass, parts - 1, gaps);
        first = last;
    }
    return gaps;
}

template <class T>
std::vector<double> thresholds_of(const std::vector<Atom<T>>& atoms,
                                  const double* boundaries, int n_boundaries,
                                  int budget, int least_even) {
    if (atoms.size() < 2)
        return {};
    std::vector<std::pair<std::size_t, double>> kept;
    std::vector<std::size_t> gaps;
    if (std::ssize(atoms) <= budget + 1) {
        for (std::size_t g = 0; g + 1 < atoms.size(); ++g)
            gaps.push_back(g);
    } else {
        kept = useful_boundaries(atoms, boundaries, n_boundaries);
        const int n_kept = kept.size();
        const int n_even =
            std::min(std::max(budget - n_kept, least_even), kMaxThresholds - n_kept);
        if (n_even > 0)
            gaps = even_gaps(atoms, kept, n_even);
    }
    std::vector<double> made;
    for (const std::size_t gap : gaps)
        made.push_back(cut_between(atoms[gap].value, atoms[gap + 1].value));
    for (const auto& [gap, cut] : kept)
        made.push_back(cut);
    std::sort(made.begin(), made.end());
    made.erase(std::unique(made.begin(), made.end()), made.end());
    return made;
}

template <class T>
Thresholds make(const KnownRows<T>& X, const double* weights, const double* boundaries,
                int n_boundaries, int budget, int least_even, std::int64_t n_rows,
                std::uint64_t seed, Team& team) {
    const std::int64_t n_cols = X.n_cols();
    const auto rows = rows_for_thresholds(X.n_rows(), n_rows, seed);
    const std::int64_t n = rows.size();
    const SampledColumns<T> columns(X, rows, weights);
    std::vector<std::vector<double>> made(n_cols);
    std::vector<std::uint8_t> exact(n_cols);
    std::vector<std::uint8_t> constant(n_cols);
    // Groups of columns that share cache lines of a row-major X. With few columns, the
    // groups are smaller, so that every thread has some.
    const std::int64_t group_cols = n_cols >= 4 * kTileCols ? kTileCols : 4;
    const std::int64_t n_groups = (n_cols + group_cols - 1) / group_cols;
    team.run(n_groups, n * n_cols >= kParallelValues, [&](std::int64_t group, int) {
        const std::int64_t first = group * group_cols;
        const std::int64_t last = std::min(n_cols, first + group_cols);
        columns.each(first, last, [&](std::int64_t f, const auto& atoms) {
            exact[f] = std::ssize(atoms) <= budget + 1;
            constant[f] = atoms.size() < 2;
            made[f] = thresholds_of(
                atoms, boundaries ? boundaries + f * n_boundaries : nullptr,
                n_boundaries, budget, least_even);
        });
    });
    Thresholds result;
    result.n_constant = std::count(constant.begin(), constant.end(), 1);
    result.exact = std::find(exact.begin(), exact.end(), 0) == exact.end();
    result.offsets.push_back(0);
    for (const auto& part : made) {
        result.values.insert(result.values.end(), part.begin(), part.end());
        result.offsets.push_back(result.values.size());
    }
    return result;
}

}  // namespace

std::vector<std::int64_t> rows_for_thresholds(std::int64_t n_rows,
                                              std::int64_t n_sampled,
                                              std::uint64_t seed) {
    return stratified_rows(combine(seed, 5), n_rows, n_sampled);
}

Thresholds make_thresholds(const AnyRows& any, const RowNumbers& known,
                           const double* weights, const double* boundaries,
                           int n_boundaries, int budget, int least_even,
                           std::int64_t n_rows, std::uint64_t seed, Team& team) {
    return std::visit(
        [&]<class T>(const RowSource<T>& X) {
            return make(KnownRows<T>{X, known}, weights, boundaries, n_boundaries,
                        budget, least_even, n_rows, seed, team);
        },
        any);
}

}  // namespace dics
