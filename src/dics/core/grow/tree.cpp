#include "grow/flatten.hpp"
#include "grow/grow.hpp"
#include "grow/renewal.hpp"
#include "search/direct_search.hpp"
#include "search/histogram_search.hpp"

namespace dics {
namespace {

// Node weights in units of the mean weight of a row.
template <class Count>
TreeArrays flatten(const std::vector<GrownNode>& nodes, const ClassRows<Count>& r,
                   const double* weights, int n_classes) {
    return ClassFlattener<Count>(r, weights, n_classes)
        .flatten(nodes, static_cast<double>(r.size()));
}

template <class Crit, class Count>
TreeArrays grow_coded(const AnyMatrix& any, const Codes& codes,
                      const Dictionary& dictionary, const Sample<Count>& sample,
                      const GrowSettings& settings, Team& team) {
    using Histograms = ClassHistograms<Crit, Count>;
    ClassRows<Count> rows(sample, RowOrder::by_label);
    const auto target = make_target<ClassCounts<Crit, Count>>(settings, rows);
    Histograms histograms(target, codes, dictionary, nullptr, rows,
                          settings.limits.min_samples_leaf, settings.max_candidates);
    HistogramSearch<Histograms> search(histograms, team);
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            const RenewalStep<T, Crit, Count> renewal(target, X, sample.weights,
                                                      rows.size(), codes, dictionary,
                                                      nullptr, settings);
            Grower<HistogramSearch<Histograms>> grower(
                target, search, rows, dictionary, settings.limits,
                settings.renew_thresholds ? &renewal : nullptr, team);
            return flatten(grower.grow(mix(settings.seed)), rows, sample.weights,
                           settings.n_classes);
        },
        any);
}

template <class T, class Crit, class Count>
TreeArrays grow_sampled(const Matrix<T>& X, const Dictionary& dictionary,
                        const Sample<Count>& sample, const GrowSettings& settings,
                        Team& team) {
    using Search = DirectSearch<T, Crit, Count>;
    ClassRows<Count> rows(sample, RowOrder::by_row);
    const auto target = make_target<ClassCounts<Crit, Count>>(settings, rows);
    Search search(target, X, dictionary, rows, settings.limits, settings.max_candidates,
                  team);
    Grower<Search> grower(target, search, rows, dictionary, settings.limits, nullptr,
                          team);
    return flatten(grower.grow(mix(settings.seed)), rows, sample.weights,
                   settings.n_classes);
}

}  // namespace

template <class Count>
TreeArrays grow_from_codes(const AnyMatrix& X, const Codes& codes,
                           const Dictionary& dictionary, const Sample<Count>& sample,
                           const GrowSettings& settings, Team& team) {
    return settings.criterion == Criterion::gini
               ? grow_coded<Gini>(X, codes, dictionary, sample, settings, team)
               : grow_coded<Entropy>(X, codes, dictionary, sample, settings, team);
}

template <class Count>
TreeArrays grow_from_values(const AnyMatrix& any, const Dictionary& dictionary,
                            const Sample<Count>& sample, const GrowSettings& settings,
                            Team& team) {
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            return settings.criterion == Criterion::gini
                       ? grow_sampled<T, Gini>(X, dictionary, sample, settings, team)
                       : grow_sampled<T, Entropy>(X, dictionary, sample, settings,
                                                  team);
        },
        any);
}

template TreeArrays grow_from_codes(const AnyMatrix&, const Codes&, const Dictionary&,
                                    const Sample<std::uint32_t>&, const GrowSettings&,
                                    Team&);
template TreeArrays grow_from_codes(const AnyMatrix&, const Codes&, const Dictionary&,
                                    const Sample<std::uint64_t>&, const GrowSettings&,
                                    Team&);
template TreeArrays grow_from_values(const AnyMatrix&, const Dictionary&,
                                     const Sample<std::uint32_t>&, const GrowSettings&,
                                     Team&);
template TreeArrays grow_from_values(const AnyMatrix&, const Dictionary&,
                                     const Sample<std::uint64_t>&, const GrowSettings&,
                                     Team&);

}  // namespace dics
