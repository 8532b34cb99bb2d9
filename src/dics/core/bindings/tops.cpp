// Stage `grow`, where the rows are in several processes.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/peers.hpp"
#include "grow/renewal.hpp"
#include "grow/top_trees.hpp"

namespace dics {
namespace {

nb::dict top_dict(TopTree&& top) {
    const std::size_t n = top.nodes.size();
    std::vector<std::int32_t> feature, left;
    std::vector<float> threshold, impurity;
    std::vector<std::uint8_t> missing_left;
    std::vector<std::int32_t> set_numbers;
    std::vector<std::uint64_t> sets;
    for (const GrownNode& node : top.nodes) {
        set_numbers.push_back(
            node.is_set ? static_cast<std::int32_t>(sets.size() / CodeSet::kWords)
                        : -1);
        if (node.is_set)
            sets.insert(sets.end(), node.left_codes.words.begin(),
                        node.left_codes.words.end());
        feature.push_back(node.feature);
        threshold.push_back(node.threshold);
        missing_left.push_back(node.missing_left ? 1 : 0);
        left.push_back(node.left);
        impurity.push_back(node.impurity);
    }
    std::vector<std::int32_t> numbers;
    std::vector<std::uint8_t> may_split;
    std::vector<std::int64_t> depth, starts, ends;
    std::vector<std::uint64_t> key;
    std::vector<double> low, high;
    for (const LowerNode& node : top.lower) {
        numbers.push_back(node.index);
        may_split.push_back(node.may_split ? 1 : 0);
        depth.push_back(node.apart.depth);
        key.push_back(node.apart.key);
        low.push_back(node.apart.lower);
        high.push_back(node.apart.upper);
        starts.push_back(node.begin);
        ends.push_back(node.end);
    }
    nb::dict result;
    result["tree_weight"] = top.lower[0].apart.tree_weight;
    result["tree_rows"] = top.lower[0].apart.tree_rows;
    result["feature"] = to_array(std::move(feature), {n});
    result["threshold"] = to_array(std::move(threshold), {n});
    result["missing_left"] = to_array(std::move(missing_left), {n});
    result["left"] = to_array(std::move(left), {n});
    result["impurity"] = to_array(std::move(impurity), {n});
    result["set_numbers"] = to_array(std::move(set_numbers), {n});
    const std::size_t n_sets = sets.size() / CodeSet::kWords;
    result["sets"] = to_array(std::move(sets), {n_sets, CodeSet::kWords});
    result["n_rows"] = to_array(std::move(top.n_rows), {n});
    // Of the nodes that are grown apart: see ApartNode.
    result["apart"] = to_array(std::move(numbers));
    result["may_split"] = to_array(std::move(may_split));
    result["depth"] = to_array(std::move(depth));
    result["key"] = to_array(std::move(key));
    result["lower"] = to_array(std::move(low));
    result["upper"] = to_array(std::move(high));
    result["starts"] = to_array(std::move(starts));
    result["ends"] = to_array(std::move(ends));
    result["rows"] = to_array(std::move(top.rows));
    result["features"] = to_array(std::move(top.features));
    return result;
}

// A list of arrays, or of None, as pointers to what they have.
template <class T>
class ArrayList {
  public:
    ArrayList(const nb::list& arrays, std::int64_t n_rows) {
        for (const nb::handle array : arrays) {
            owners_.push_back(nb::cast<Optional<T>>(array));
            const Optional<T>& own = owners_.back();
            if (own && static_cast<std::int64_t>(own->shape(0)) != n_rows)
                throw nb::value_error("counts have the wrong size");
            pointers_.push_back(data_or_null(own));
        }
    }
    const std::vector<const T*>& pointers() const { return pointers_; }

  private:
    std::vector<Optional<T>> owners_;
    std::vector<const T*> pointers_;
};

// Calls grow(team, sum) for tops; None if a peer is lost.
template <class Grow>
nb::object with_peers(const nb::object& links, int n_threads, Grow grow) {
    const GivenPeers peers(links);
    std::vector<TopTree> tops;
    bool is_lost = false;
    with_team(n_threads, [&](Team& team) {
        try {
            tops = grow(team, Sum(peers.get()));
        } catch (const PeersLost&) {
            is_lost = true;
        }
        return 0;
    });
    if (is_lost)
        return nb::none();
    nb::list result;
    for (TopTree& top : tops)
        result.append(top_dict(std::move(top)));
    return result;
}

OwnCodes own_codes(const Array<std::uint8_t>& codes, const Array<std::int32_t>& columns,
                   std::int64_t n_rows) {
    for (std::size_t f = 0; f < columns.shape(0); ++f) {
        const std::int64_t end = (std::int64_t{columns.data()[f]} + 1) * n_rows;
        if (columns.data()[f] < 0 || end > static_cast<std::int64_t>(codes.shape(0)))
            throw nb::value_error("codes has the wrong size");
    }
    return {codes.data(), n_rows, {columns.data(), columns.shape(0)}};
}

TopSettings as_settings(const ForestSettings& forest, bool is_forest,
                        std::int64_t apart_rows) {
    return {forest, is_forest, apart_rows};
}

// `counts` are arrays of whole numbers, `wide_counts` of fixed point; one list is
// empty.
nb::object grow_class_tops(const Array<std::uint8_t>& codes,
                           const Array<std::int32_t>& columns,
                           const Array<float>& values,
                           const Array<std::int64_t>& offsets,
                           const Array<std::uint32_t>& labels, const nb::list& counts,
                           const nb::list& wide_counts, const ForestSettings& settings,
                           bool is_forest, std::int64_t apart_rows,
                           const nb::object& links, int n_threads) {
    const auto n_rows = static_cast<std::int64_t>(labels.shape(0));
    const OwnCodes own = own_codes(codes, columns, n_rows);
    const Dictionary dictionary = as_dictionary(values, offsets);
    const TopSettings top = as_settings(settings, is_forest, apart_rows);
    const ArrayList<std::uint32_t> narrow(counts, n_rows);
    const ArrayList<std::uint64_t> wide(wide_counts, n_rows);
    return with_peers(links, n_threads, [&](Team& team, const Sum& sum) {
        return wide.pointers().empty() ? grow_tops(own, dictionary, labels.data(),
                                                   narrow.pointers(), top, sum, team)
                                       : grow_tops(own, dictionary, labels.data(),
                                                   wide.pointers(), top, sum, team);
    });
}

nb::object grow_moment_tops(
    const Array<std::uint8_t>& codes, const Array<std::int32_t>& columns,
    const Array<float>& values, const Array<std::int64_t>& offsets,
    const Table<double>& y, const Optional<std::uint32_t>& counts,
    const Optional<std::uint64_t>& wide_counts, const Optional<double>& weights,
    const nb::list& drawn, const ForestSettings& settings, bool is_forest,
    std::int64_t apart_rows, const nb::object& links, int n_threads) {
    const TargetColumns targets = as_targets(y, counts, wide_counts, weights);
    const OwnCodes own = own_codes(codes, columns, targets.n_rows);
    const Dictionary dictionary = as_dictionary(values, offsets);
    const TopSettings top = as_settings(settings, is_forest, apart_rows);
    const ArrayList<std::uint32_t> draws(drawn, targets.n_rows);
    return with_peers(links, n_threads, [&](Team& team, const Sum& sum) {
        return grow_tops(own, dictionary, targets, draws.pointers(), top, sum, team);
    });
}

// The scale of all rows, which those that have some of them are told.
MomentScale moment_scale(const Table<double>& y, const Optional<std::uint32_t>& counts,
                         const Optional<std::uint64_t>& wide_counts,
                         const Optional<double>& weights,
                         const ForestSettings& settings) {
    return scale_of(as_targets(y, counts, wide_counts, weights), settings);
}

void join_spread_arrays(Criterion criterion, const Array<std::int32_t>& left,
                        Output<double> weights, Output<double> sums,
                        OutputTable<double> means) {
    const std::size_t n = left.shape(0);
    if (weights.shape(0) != n || sums.shape(0) != n || means.shape(0) != n)
        throw nb::value_error("spreads have the wrong size");
    join_spreads(criterion, {left.data(), n}, static_cast<int>(means.shape(1)),
                 weights.data(), sums.data(), means.data());
}

}  // namespace

void bind_tops(nb::module_& m) {
    m.attr("RENEW_SHARE") = kRenewShare;
    m.def("grow_tops", &grow_class_tops, "codes"_a, "columns"_a, "values"_a,
          "offsets"_a, "labels"_a, "counts"_a, "wide_counts"_a, "settings"_a,
          "is_forest"_a, "apart_rows"_a, "peers"_a, "n_threads"_a,
          "Grow the upper nodes of trees together with peers; None if one is lost.");
    m.def("grow_regression_tops", &grow_moment_tops, "codes"_a, "columns"_a, "values"_a,
          "offsets"_a, "y"_a.noconvert(), "counts"_a.none(), "wide_counts"_a.none(),
          "weights"_a.none(), "drawn"_a, "settings"_a, "is_forest"_a, "apart_rows"_a,
          "peers"_a, "n_threads"_a, "The same of a continuous target.");
    m.def("moment_scale", &moment_scale, "y"_a.noconvert(), "counts"_a.none(),
          "wide_counts"_a.none(), "weights"_a.none(), "settings"_a,
          "The whole numbers that targets become.");
    m.def("join_spreads", &join_spread_arrays, "criterion"_a, "left"_a, "weights"_a,
          "sums"_a, "means"_a,
          "Add up weights, spreads and means of numbers from leaves to the root.");
}

}  // namespace dics
