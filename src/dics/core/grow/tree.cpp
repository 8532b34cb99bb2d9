#include "grow/class_trees.hpp"
#include "grow/grow.hpp"
#include "grow/moment_trees.hpp"
#include "grow/renewal.hpp"
#include "search/direct_search.hpp"
#include "search/histogram_search.hpp"

namespace dics {
namespace {

// From codes that are lists; thresholds are not renewed.
template <class Kind>
TreeArrays grow_listed(const typename Kind::Target& target, const Codes& codes,
                       const Dictionary& dictionary, typename Kind::Rows& rows,
                       const typename Kind::Sample& sample,
                       const GrowSettings& settings, Team& team) {
    using Search = typename Kind::Listed;
    Search search(target, *codes.lists, split_rules(dictionary, settings), rows,
                  nullptr, 0);
    const auto nodes =
        grow_nodes(target, search, rows, dictionary, settings.limits, nullptr, team,
                   root_node(target, rows, mix(settings.seed)));
    return Kind::flatten(nodes, rows, sample, settings, rows.size());
}

template <class Crit, class Count>
TreeArrays grow_coded(const AnyRows& any, const Codes& codes,
                      const Dictionary& dictionary, const Sample<Count>& sample,
                      const GrowSettings& settings, Team& team) {
    using Kind = ClassTrees<Crit, Count>;
    using Histograms = typename Kind::Histograms;
    auto rows = Kind::make_rows(sample);
    const auto target = Kind::make_target(sample, rows, settings);
    if (codes.lists)
        return grow_listed<Kind>(target, codes, dictionary, rows, sample, settings,
                                 team);
    typename Kind::Histograms histograms(target, codes,
                                         split_rules(dictionary, settings), rows);
    HistogramSearch<Histograms> search(histograms, team);
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            const RenewalStep<T, Kind> renewal(target, X, sample.weights, rows.size(),
                                               codes, dictionary, nullptr, settings);
            const auto nodes =
                grow_nodes(target, search, rows, dictionary, settings.limits,
                           settings.renew_thresholds ? &renewal : nullptr, team,
                           root_node(target, rows, mix(settings.seed)));
            return Kind::flatten(nodes, rows, sample, settings, rows.size());
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
    Search search(target, X, split_rules(dictionary, settings), rows,
                  settings.limits.reuse_splits, team);
    const auto nodes =
        grow_nodes(target, search, rows, dictionary, settings.limits, nullptr, team,
                   root_node(target, rows, mix(settings.seed)));
    return Kind::flatten(nodes, rows, sample, settings, rows.size());
}

template <class Kind>
TreeArrays grow_moments(const AnyRows& any, const Codes& codes,
                        const Dictionary& dictionary, const MomentSample& sample,
                        const double* weights, const GrowSettings& settings,
                        Team& team) {
    using Search = HistogramSearch<typename Kind::Histograms>;
    MomentRows rows(sample, nullptr);
    const auto target = Kind::make_target(sample, rows, settings);
    if (codes.lists)
        return grow_listed<Kind>(target, codes, dictionary, rows, sample, settings,
                                 team);
    typename Kind::Histograms histograms(target, codes,
                                         split_rules(dictionary, settings), rows);
    Search search(histograms, team);
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            const RenewalStep<T, Kind> renewal(target, X, weights, rows.size(), codes,
                                               dictionary, nullptr, settings);
            const auto nodes =
                grow_nodes(target, search, rows, dictionary, settings.limits,
                           settings.renew_thresholds ? &renewal : nullptr, team,
                           root_node(target, rows, mix(settings.seed)));
            return Kind::flatten(nodes, rows, sample, settings, rows.size());
        },
        any);
}

}  // namespace

TreeArrays grow_regression(const AnyRows& X, const Codes& codes,
                           const Dictionary& dictionary, const TargetColumns& columns,
                           const GrowSettings& settings, Team& team) {
    const MomentSample sample(columns, 0, counts_rows(settings, columns.weights),
                              is_centered(settings.criterion));
    return choose_moment_trees(settings.criterion, [&]<class Kind>(Kind) {
        return grow_moments<Kind>(X, codes, dictionary, sample, columns.weights,
                                  settings, team);
    });
}

template <class Count>
TreeArrays grow_from_codes(const AnyRows& X, const Codes& codes,
                           const Dictionary& dictionary, const Sample<Count>& sample,
                           const GrowSettings& settings, Team& team) {
    return settings.criterion == Criterion::gini
               ? grow_coded<Gini>(X, codes, dictionary, sample, settings, team)
               : grow_coded<Entropy>(X, codes, dictionary, sample, settings, team);
}

template <class Count>
TreeArrays grow_from_values(const AnyRows& any, const Dictionary& dictionary,
                            const Sample<Count>& sample, const GrowSettings& settings,
                            Team& team) {
    return std::visit(
        [&](const auto& rows) {
            using T = typename std::decay_t<decltype(rows)>::value_type;
            const Matrix<T>& X = rows.dense();
            return settings.criterion == Criterion::gini
                       ? grow_sampled<T, Gini>(X, dictionary, sample, settings, team)
                       : grow_sampled<T, Entropy>(X, dictionary, sample, settings,
                                                  team);
        },
        any);
}

template TreeArrays grow_from_codes(const AnyRows&, const Codes&, const Dictionary&,
                                    const Sample<std::uint32_t>&, const GrowSettings&,
                                    Team&);
template TreeArrays grow_from_codes(const AnyRows&, const Codes&, const Dictionary&,
                                    const Sample<std::uint64_t>&, const GrowSettings&,
                                    Team&);
template TreeArrays grow_from_values(const AnyRows&, const Dictionary&,
                                     const Sample<std::uint32_t>&, const GrowSettings&,
                                     Team&);
template TreeArrays grow_from_values(const AnyRows&, const Dictionary&,
                                     const Sample<std::uint64_t>&, const GrowSettings&,
                                     Team&);

}  // namespace dics
