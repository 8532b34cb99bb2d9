#include "grow/flatten.hpp"
#include "grow/grow.hpp"
#include "grow/renewal.hpp"
#include "search/direct_search.hpp"
#include "search/histogram_search.hpp"

namespace dics {
namespace {

// Node weights in units of the mean weight of a row.
template <class Count>
TreeArrays flatten(const std::vector<GrownNode>& nodes, const NodeRows<Count>& r,
                   const double* weights, int n_classes) {
    Flattener<Count> flattener(r, weights, n_classes);
    const double unit = flattener.total_weight() / static_cast<double>(r.rows.size());
    return flattener.flatten(nodes, unit);
}

template <class Count>
OpenNode root_of(const NodeRows<Count>& r, const GrowSettings& settings) {
    OpenNode root;
    root.end = static_cast<std::int64_t>(r.rows.size());
    root.key = mix(settings.seed);
    return root;
}

template <class Crit, class Count>
TreeArrays grow_coded(const AnyMatrix& any, const Codes& codes,
                      const Dictionary& dictionary, const Sample<Count>& sample,
                      const GrowSettings& settings, Team& team) {
    NodeRows<Count> rows(sample, RowOrder::by_label);
    const double total = total_count(rows);
    HistogramSearch<Crit, Count> search(codes, dictionary, nullptr, rows, settings,
                                        least_weight<Count>(total, settings), team);
    const OpenNode root = root_of(rows, settings);
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            const RenewalStep<T, Crit, Count> renewal(X, sample.weights, root.size(),
                                                      codes, dictionary, nullptr,
                                                      settings, total);
            Grower<HistogramSearch<Crit, Count>> grower(
                search, rows, dictionary, settings, total,
                settings.renew_thresholds ? &renewal : nullptr, team);
            return flatten(grower.grow(root), rows, sample.weights, settings.n_classes);
        },
        any);
}

template <class T, class Crit, class Count>
TreeArrays grow_sampled(const Matrix<T>& X, const Dictionary& dictionary,
                        const Sample<Count>& sample, const GrowSettings& settings,
                        Team& team) {
    NodeRows<Count> rows(sample, RowOrder::by_row);
    const double total = total_count(rows);
    DirectSearch<T, Crit, Count> search(X, dictionary, rows, settings,
                                        least_weight<Count>(total, settings), team);
    Grower<DirectSearch<T, Crit, Count>> grower(search, rows, dictionary, settings,
                                                total, nullptr, team);
    return flatten(grower.grow(root_of(rows, settings)), rows, sample.weights,
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
