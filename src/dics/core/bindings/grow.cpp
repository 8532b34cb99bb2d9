// Stage `grow`: trees and forests.
#include "grow/grow.hpp"

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

namespace dics {
namespace {

// Features in the order in which a forest's codes have them.
nb::object forest_order_array(const Array<std::int64_t>& offsets, std::uint64_t seed) {
    const Dictionary dictionary{nullptr, offsets.data(),
                                static_cast<std::int64_t>(offsets.shape(0)) - 1};
    return to_array(forest_order(dictionary, seed));
}

// Called now and then while trees grow: says how many are done, and whether to stop.
// `progress` is a function of Python, or None.
Interrupted report_trees(const nb::object& progress,
                         const std::atomic<std::int64_t>& done) {
    return [&] {
        if (must_stop())
            return true;
        InsidePython python;
        if (!progress.is_none())
            call(progress, nb::make_tuple(done.load()));
        return handles_signals();
    };
}

// Calls grow(sample) with the rows as the weights allow: whole ones or fixed point.
template <class Grow>
auto with_sample(const Array<std::uint32_t>& labels,
                 const Optional<std::uint32_t>& counts,
                 const Optional<std::uint64_t>& wide_counts,
                 const Optional<double>& weights, Grow grow) {
    const auto n = static_cast<std::int64_t>(labels.shape(0));
    if (wide_counts) {
        return grow(Sample<std::uint64_t>{labels.data(), wide_counts->data(),
                                          data_or_null(weights), n});
    }
    return grow(Sample<std::uint32_t>{labels.data(), data_or_null(counts),
                                      data_or_null(weights), n});
}

// From `codes` in blocks of `code_width` features, or (null) straight from X.
nb::dict grow_tree(const nb::object& X, const nb::object& codes, int code_width,
                   const Array<double>& values, const Array<std::int64_t>& offsets,
                   const Array<std::uint32_t>& labels,
                   const Optional<std::uint32_t>& counts,
                   const Optional<std::uint64_t>& wide_counts,
                   const Optional<double>& weights, const GrowSettings& settings,
                   int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const auto n = static_cast<std::int64_t>(labels.shape(0));
    const bool is_coded = !codes.is_none();
    const Codes coded =
        is_coded ? as_codes(codes, n, dictionary.n_features, code_width) : Codes{};
    const AnyRows matrix = as_rows(X);
    check_features(matrix, dictionary);
    ForestArrays forest;
    forest.trees = with_team(n_threads, [&](Team& team) {
        return with_sample(
            labels, counts, wide_counts, weights, [&](const auto& sample) {
                return is_coded ? grow_from_codes(matrix, coded, dictionary, sample,
                                                  settings, team)
                                : grow_from_values(matrix, dictionary, sample, settings,
                                                   team);
            });
    });
    forest.end_tree(settings.n_classes);
    return forest_dict(std::move(forest), settings.n_classes);
}

// How often trees drew the rows that are here, [tree][row]; null if all rows are here.
const std::uint32_t* as_draws(const std::optional<Table<std::uint32_t>>& drawn,
                              const ForestSettings& settings, std::int64_t n_rows) {
    if (!drawn)
        return nullptr;
    if (static_cast<std::int64_t>(drawn->shape(0)) != settings.n_trees ||
        static_cast<std::int64_t>(drawn->shape(1)) != n_rows)
        throw nb::value_error("draws have the wrong shape");
    return drawn->data();
}

// `progress` (or None) is called with the number of trees done, a few times a second.
nb::dict grow_forest_array(
    const nb::object& codes, int code_width, const Array<double>& values,
    const Array<std::int64_t>& offsets, const Array<std::uint32_t>& labels,
    const Optional<std::uint32_t>& counts, const Optional<std::uint64_t>& wide_counts,
    const Optional<double>& weights, const ForestSettings& settings,
    const nb::object& progress, int n_threads,
    const std::optional<Table<std::uint32_t>>& drawn) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const auto n = static_cast<std::int64_t>(labels.shape(0));
    const Codes coded = as_codes(codes, n, dictionary.n_features, code_width);
    const std::uint32_t* draws = as_draws(drawn, settings, n);
    std::atomic<std::int64_t> done{0};
    ForestArrays forest = with_team(
        n_threads,
        [&](Team& team) {
            return with_sample(labels, counts, wide_counts, weights,
                               [&](const auto& sample) {
                                   return grow_forest(coded, dictionary, sample, draws,
                                                      settings, team, done);
                               });
        },
        report_trees(progress, done));
    return forest_dict(std::move(forest), settings.tree.n_classes);
}

nb::dict grow_regression_tree(const nb::object& X, const nb::object& codes,
                              int code_width, const Array<double>& values,
                              const Array<std::int64_t>& offsets,
                              const Table<double>& y,
                              const Optional<std::uint32_t>& counts,
                              const Optional<std::uint64_t>& wide_counts,
                              const Optional<double>& weights,
                              const GrowSettings& settings, int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const TargetColumns columns = as_targets(y, counts, wide_counts, weights);
    const Codes coded =
        as_codes(codes, columns.n_rows, dictionary.n_features, code_width);
    const AnyRows matrix = as_rows(X);
    check_features(matrix, dictionary);
    ForestArrays forest;
    forest.trees = with_team(n_threads, [&](Team& team) {
        return grow_regression(matrix, coded, dictionary, columns, settings, team);
    });
    forest.end_tree(columns.n_outputs);
    return forest_dict(std::move(forest), columns.n_outputs);
}

nb::dict grow_regression_forest(
    const nb::object& codes, int code_width, const Array<double>& values,
    const Array<std::int64_t>& offsets, const Table<double>& y,
    const Optional<std::uint32_t>& counts, const Optional<std::uint64_t>& wide_counts,
    const Optional<double>& weights, const ForestSettings& settings,
    const nb::object& progress, int n_threads,
    const std::optional<Table<std::uint32_t>>& drawn) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const TargetColumns columns = as_targets(y, counts, wide_counts, weights);
    const Codes coded =
        as_codes(codes, columns.n_rows, dictionary.n_features, code_width);
    const std::uint32_t* draws = as_draws(drawn, settings, columns.n_rows);
    std::atomic<std::int64_t> done{0};
    ForestArrays forest = with_team(
        n_threads,
        [&](Team& team) {
            return grow_forest(coded, dictionary, columns, draws, settings, team, done);
        },
        report_trees(progress, done));
    return forest_dict(std::move(forest), columns.n_outputs);
}

// Writes how often a tree drew each row.
void bootstrap_array(std::uint64_t seed, std::int64_t tree, std::int64_t n_draws,
                     const Optional<double>& cumulative, Output<std::uint32_t> counts) {
    with_team(1, [&](Team& team) {
        bootstrap(seed, tree, n_draws, data_or_null(cumulative),
                  static_cast<std::int64_t>(counts.shape(0)), team, counts.data());
        return 0;
    });
}

MomentScale moment_scale(const Table<double>& y, const ForestSettings& settings) {
    return scale_of(as_targets(y, {}, {}, {}), settings);
}

}  // namespace

void bind_grow(nb::module_& m) {
    m.def("forest_order", &forest_order_array, "offsets"_a, "seed"_a,
          "Features that have thresholds, in the order of a forest's codes.");
    m.def("forest_code_width", &forest_code_width, "sampling"_a, "n_features"_a,
          "Features whose codes stand side by side for a forest.");
    m.def("grow_tree", &grow_tree, "X"_a, "codes"_a.none(), "code_width"_a, "values"_a,
          "offsets"_a, "labels"_a, "counts"_a.none(), "wide_counts"_a.none(),
          "weights"_a.none(), "settings"_a, "n_threads"_a,
          "Grow one tree; returns its flat arrays.");
    m.def("grow_forest", &grow_forest_array, "codes"_a, "code_width"_a, "values"_a,
          "offsets"_a, "labels"_a, "counts"_a.none(), "wide_counts"_a.none(),
          "weights"_a.none(), "settings"_a, "progress"_a.none(), "n_threads"_a,
          "drawn"_a.none() = nb::none(),
          "Grow trees side by side; returns their flat arrays.");
    m.def("grow_regression_tree", &grow_regression_tree, "X"_a, "codes"_a,
          "code_width"_a, "values"_a, "offsets"_a, "y"_a.noconvert(), "counts"_a.none(),
          "wide_counts"_a.none(), "weights"_a.none(), "settings"_a, "n_threads"_a,
          "Grow one tree of a continuous target; returns its flat arrays.");
    m.def("grow_regression_forest", &grow_regression_forest, "codes"_a, "code_width"_a,
          "values"_a, "offsets"_a, "y"_a.noconvert(), "counts"_a.none(),
          "wide_counts"_a.none(), "weights"_a.none(), "settings"_a, "progress"_a.none(),
          "n_threads"_a, "drawn"_a.none() = nb::none(),
          "Grow trees of a continuous target; returns their flat arrays.");
    m.def("bootstrap", &bootstrap_array, "seed"_a, "tree"_a, "n_draws"_a,
          "cumulative"_a.none(), "counts"_a.noconvert(),
          "Write how often a tree of a forest drew each row.");
    m.def("moment_scale", &moment_scale, "y"_a.noconvert(), "settings"_a,
          "Return the scale that turns the targets of all rows into integers.");
}

}  // namespace dics
