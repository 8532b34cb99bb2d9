#include "grow.hpp"

#include <deque>

#include "candidate_search.hpp"
#include "grower.hpp"
#include "histogram_search.hpp"
#include "renewal.hpp"

namespace dics {
namespace {

template <class Count>
void add_leaf_values(const GrownNode& node, const NodeRows<Count>& r,
                     const double* weights, int n_classes, TreeArrays& tree) {
    const std::size_t first = tree.leaf_values.size();
    tree.leaf_values.resize(first + static_cast<std::size_t>(n_classes));
    double total = 0;
    for (std::int64_t i = node.begin; i < node.end; ++i) {
        const double weight = weights ? weights[r.rows[i]] : 1.0;
        tree.leaf_values[first + r.labels[i]] += weight;
        total += weight;
    }
    for (std::size_t c = first; c < tree.leaf_values.size(); ++c) {
        tree.leaf_values[c] /= total;
    }
    tree.weight.back() = total;
}

// Breadth-first order, whatever the order of growth was.
template <class Count>
TreeArrays flatten(const std::vector<GrownNode>& nodes, const NodeRows<Count>& r,
                   const double* weights, int n_classes) {
    TreeArrays tree;
    std::int32_t next = 1;
    std::int32_t n_leaves = 0;
    std::deque<std::int32_t> queue{0};
    while (!queue.empty()) {
        const GrownNode& node = nodes[static_cast<std::size_t>(queue.front())];
        queue.pop_front();
        const bool leaf = node.feature < 0;
        tree.feature.push_back(node.feature);
        tree.threshold.push_back(node.threshold);
        tree.missing_left.push_back(node.missing_left ? 1 : 0);
        tree.n_samples.push_back(static_cast<std::int32_t>(node.end - node.begin));
        tree.left.push_back(leaf ? n_leaves++ : next);
        tree.weight.push_back(0);
        if (leaf) {
            add_leaf_values(node, r, weights, n_classes, tree);
        } else {
            queue.push_back(node.left);
            queue.push_back(node.right);
            next += 2;
        }
    }
    for (std::size_t i = tree.feature.size(); i-- > 0;) {
        if (tree.feature[i] < 0)
            continue;
        const auto left = static_cast<std::size_t>(tree.left[i]);
        tree.weight[i] = tree.weight[left] + tree.weight[left + 1];
    }
    return tree;
}

template <class Count>
double total_count(const NodeRows<Count>& r) {
    double total = 0;
    for (std::size_t i = 0; i < r.rows.size(); ++i)
        total += static_cast<double>(r.count(i));
    return total;
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
    NodeRows<Count> rows(sample);
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
    NodeRows<Count> rows(sample);
    const double total = total_count(rows);
    CandidateSearch<T, Crit, Count> search(X, dictionary, rows, settings,
                                           least_weight<Count>(total, settings), team);
    Grower<CandidateSearch<T, Crit, Count>> grower(search, rows, dictionary, settings,
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
