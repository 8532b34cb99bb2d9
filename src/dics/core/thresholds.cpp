#include "thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "random.hpp"

namespace dics {
namespace {

constexpr std::int64_t kParallelValues = 1 << 15;
constexpr std::int64_t kTileCols = 16;  // one cache line of a float32 row

// A distinct value of a column and the weight of the rows that have it.
template <class T>
struct Atom {
    T value;
    double weight;
};

// A float32 number in (low, high], the middle if it can be had; false if there is none.
template <class T>
bool cut_between(T low, T high, float& cut) {
    double middle = static_cast<double>(low) / 2 + static_cast<double>(high) / 2;
    if (std::isnan(middle))
        middle = 0;  // between -inf and +inf
    cut = static_cast<float>(middle);
    if (!(static_cast<double>(cut) > static_cast<double>(low))) {
        cut = std::nextafter(cut, std::numeric_limits<float>::infinity());
    }
    return static_cast<double>(cut) > static_cast<double>(low) &&
           static_cast<double>(cut) <= static_cast<double>(high);
}

template <class T>
std::vector<Atom<T>> atoms_of(std::vector<std::pair<T, double>>& column) {
    std::sort(column.begin(), column.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Atom<T>> atoms;
    for (const auto& [value, weight] : column) {
        if (!atoms.empty() && atoms.back().value == value) {
            atoms.back().weight += weight;
        } else {
            atoms.push_back({value, weight});
        }
    }
    return atoms;
}

template <class T>
std::vector<Atom<T>> atoms_of_values(std::vector<T>& column) {
    std::sort(column.begin(), column.end());
    std::vector<Atom<T>> atoms;
    for (const T value : column) {
        if (!atoms.empty() && atoms.back().value == value) {
            atoms.back().weight += 1;
        } else {
            atoms.push_back({value, 1.0});
        }
    }
    return atoms;
}

// gap g lies between atoms g and g + 1. The boundaries that fall into a gap, kept as
// they are, at most one a gap: two in one gap part no sampled rows.
template <class T>
std::vector<std::pair<std::size_t, float>> useful_boundaries(
    const std::vector<Atom<T>>& atoms, const double* boundaries, int n_boundaries) {
    std::vector<float> sorted;
    for (int b = 0; b < n_boundaries; ++b) {
        if (!std::isnan(boundaries[b]))
            sorted.push_back(static_cast<float>(boundaries[b]));
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::pair<std::size_t, float>> kept;
    for (const float cut : sorted) {
        const auto above = std::partition_point(
            atoms.begin(), atoms.end(), [cut](const Atom<T>& atom) {
                return static_cast<double>(atom.value) < static_cast<double>(cut);
            });
        if (above == atoms.begin() || above == atoms.end())
            continue;
        const auto gap = static_cast<std::size_t>(above - atoms.begin()) - 1;
        if (kept.empty() || kept.back().first != gap)
            kept.emplace_back(gap, cut);
    }
    return kept;
}

// Cuts of about equal mass. The mean mass is taken anew after each cut, so that a value
// which alone is heavier than that (zeros, say) takes one slot and not many.
template <class T>
std::vector<std::size_t> even_gaps(const std::vector<Atom<T>>& atoms,
                                   std::size_t slots) {
    double rest = 0;
    for (const auto& atom : atoms)
        rest += atom.weight;
    std::vector<std::size_t> gaps;
    double mass = 0;
    for (std::size_t g = 0; g + 1 < atoms.size() && gaps.size() < slots; ++g) {
        mass += atoms[g].weight;
        const double share = rest / static_cast<double>(slots - gaps.size() + 1);
        // Cut here, or after the next value if that comes nearer to the share.
        const double with_next = mass + atoms[g + 1].weight;
        if (mass >= share || (with_next > share && with_next - share > share - mass)) {
            gaps.push_back(g);
            rest -= mass;
            mass = 0;
        }
    }
    return gaps;
}

template <class T>
std::vector<float> thresholds_of(const std::vector<Atom<T>>& atoms,
                                 const double* boundaries, int n_boundaries,
                                 int budget) {
    if (atoms.size() < 2)
        return {};
    const auto wanted = static_cast<std::size_t>(budget);
    std::vector<std::pair<std::size_t, float>> kept;
    std::vector<std::size_t> gaps;
    if (atoms.size() <= wanted + 1) {
        for (std::size_t g = 0; g + 1 < atoms.size(); ++g)
            gaps.push_back(g);
    } else {
        kept = useful_boundaries(atoms, boundaries, n_boundaries);
        if (kept.size() < wanted)
            gaps = even_gaps(atoms, wanted - kept.size());
    }
    std::vector<float> filled;
    for (const std::size_t gap : gaps) {
        const bool taken = std::any_of(kept.begin(), kept.end(),
                                       [gap](const auto& k) { return k.first == gap; });
        float cut;
        if (!taken && cut_between(atoms[gap].value, atoms[gap + 1].value, cut)) {
            filled.push_back(cut);
        }
    }
    for (const auto& [gap, cut] : kept)
        filled.push_back(cut);
    std::sort(filled.begin(), filled.end());
    filled.erase(std::unique(filled.begin(), filled.end()), filled.end());
    return filled;
}

template <class T>
Thresholds make(const Matrix<T>& X, const double* weights, const double* boundaries,
                int n_boundaries, int budget, std::int64_t n_rows, std::uint64_t seed,
                Team& team) {
    const auto rows = stratified_rows(combine(seed, 5), X.n_rows, n_rows);
    const auto n = static_cast<std::int64_t>(rows.size());
    std::vector<std::vector<float>> made(static_cast<std::size_t>(X.n_cols));
    std::vector<std::uint8_t> exact(static_cast<std::size_t>(X.n_cols));
    // Groups of columns that share the cache lines of a row-major X; smaller groups
    // when there are few columns, so that every thread has some.
    const std::int64_t group_cols = X.n_cols >= 4 * kTileCols ? kTileCols : 4;
    const std::int64_t n_groups = (X.n_cols + group_cols - 1) / group_cols;
    team.run(n_groups, n * X.n_cols >= kParallelValues, [&](std::int64_t group, int) {
        const std::int64_t first = group * group_cols;
        const std::int64_t last = std::min(X.n_cols, first + group_cols);
        std::vector<std::vector<T>> columns(static_cast<std::size_t>(last - first));
        std::vector<std::vector<std::pair<T, double>>> weighted(columns.size());
        for (const std::uint32_t row : rows) {
            if (weights && !(weights[row] > 0))
                continue;
            for (std::int64_t f = first; f < last; ++f) {
                const T value = X(row, f);
                if (value != value)
                    continue;
                const auto at = static_cast<std::size_t>(f - first);
                if (weights) {
                    weighted[at].emplace_back(value, weights[row]);
                } else {
                    columns[at].push_back(value);
                }
            }
        }
        for (std::int64_t f = first; f < last; ++f) {
            const auto at = static_cast<std::size_t>(f - first);
            const auto atoms =
                weights ? atoms_of(weighted[at]) : atoms_of_values(columns[at]);
            exact[static_cast<std::size_t>(f)] =
                atoms.size() <= static_cast<std::size_t>(budget) + 1;
            made[static_cast<std::size_t>(f)] = thresholds_of(
                atoms, boundaries ? boundaries + f * n_boundaries : nullptr,
                n_boundaries, budget);
        }
    });
    Thresholds result;
    result.exact = std::find(exact.begin(), exact.end(), 0) == exact.end();
    result.offsets.push_back(0);
    for (const auto& part : made) {
        result.values.insert(result.values.end(), part.begin(), part.end());
        result.offsets.push_back(static_cast<std::int64_t>(result.values.size()));
    }
    return result;
}

}  // namespace

Thresholds make_thresholds(const AnyMatrix& any, const double* weights,
                           const double* boundaries, int n_boundaries, int budget,
                           std::int64_t n_rows, std::uint64_t seed, Team& team) {
    return std::visit(
        [&](const auto& X) {
            return make(X, weights, boundaries, n_boundaries, budget, n_rows, seed,
                        team);
        },
        any);
}

}  // namespace dics
