#include "grow/class_trees.hpp"
#include "grow/grow.hpp"
#include "grow/moment_trees.hpp"
#include "grow/renewal.hpp"
#include "search/direct_search.hpp"
#include "search/histogram_search.hpp"

namespace dics {
namespace {

template <class Crit, class Count>
TreeArrays grow_coded(const AnyMatrix& any, const Codes& codes,
                      const Dictionary& dictionary, const Sample<Count>& sample,
                      const GrowSettings& settings, Team& team) {
    using Kind = ClassTrees<Crit, Count>;
    using Histograms = typename Kind::Histograms;
    auto rows = Kind::make_rows(sample);
    const auto target = Kind::make_target(sample, rows, settings);
    auto histograms = Kind::make_histograms(target, codes, dictionary, rows, settings);
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
            return Kind::flatten(grower.grow(mix(settings.seed)), rows, sample,
                                 settings, rows.size());
        },
        any);
}

template <class T, class Crit, class Count>
TreeArrays grow_sampled(const Matrix<T>& X, const Dictionary& dictionary,
                        const Sample<Count>& sample, const GrowSettings& settings,
                        Team& team) {
    using Kind = ClassTrees<Crit, Count>;
    using Search = DirectSearch<T, Crit, Count>;
    ClassRows<Count> rows(sample, RowOrder::by_row);
    const auto target = Kind::make_target(sample, rows, settings);
    Search search(target, X, dictionary, rows, settings.limits, settings.max_candidates,
                  team);
    Grower<Search> grower(target, search, rows, dictionary, settings.limits, nullptr,
                          team);
    return Kind::flatten(grower.grow(mix(settings.seed)), rows, sample, settings,
                         rows.size());
}

template <class Crit>
TreeArrays grow_moments(const Codes& codes, const Dictionary& dictionary,
                        const MomentSample& sample, const GrowSettings& settings,
                        Team& team) {
    using Kind = MomentTrees<Crit>;
    MomentRows rows(sample, nullptr);
    const auto target = Kind::make_target(sample, rows, settings);
    auto histograms = Kind::make_histograms(target, codes, dictionary, rows, settings);
    HistogramSearch<typename Kind::Histograms> search(histograms, team);
    Grower<HistogramSearch<typename Kind::Histograms>> grower(
        target, search, rows, dictionary, settings.limits, nullptr, team);
    return Kind::flatten(grower.grow(mix(settings.seed)), rows, sample, settings,
                         rows.size());
}

}  // namespace

TreeArrays grow_regression(const Codes& codes, const Dictionary& dictionary,
                           const TargetColumns& columns, const GrowSettings& settings,
                           Team& team) {
    const bool is_poisson = settings.criterion == Criterion::poisson;
    const MomentSample sample(columns, 0, counts_rows(settings, columns.weights),
                              !is_poisson);
    return is_poisson
               ? grow_moments<PoissonDeviance>(codes, dictionary, sample, settings,
                                               team)
               : grow_moments<SquaredError>(codes, dictionary, sample, settings, team);
}

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
