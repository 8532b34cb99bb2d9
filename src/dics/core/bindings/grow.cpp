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

// How often trees sampled the rows that are here, [tree][row]; null if all are here.
const std::uint32_t* as_counts(const std::optional<Table<std::uint32_t>>& sampled,
                               const ForestSettings& settings, std::int64_t n_rows) {
    if (!sampled)
        return nullptr;
    if (static_cast<std::int64_t>(sampled->shape(0)) != settings.n_trees ||
        static_cast<std::int64_t>(sampled->shape(1)) != n_rows)
        throw nb::value_error("the samples have the wrong shape");
    return sampled->data();
}

// From `codes` in blocks of `code_width` features, or (None) from the values of X. X is
// None unless it is needed. The target is `labels` or `y`. `progress` (or None) is
// called with the number of finished trees, a few times a second.
nb::dict grow_arrays(const nb::object& codes, int code_width,
                     const Array<double>& values, const Array<std::int64_t>& offsets,
                     const Optional<std::uint32_t>& labels,
                     const std::optional<Table<double>>& y,
                     const Optional<std::uint32_t>& counts,
                     const Optional<std::uint64_t>& wide_counts,
                     const Optional<double>& weights, const ForestSettings& settings,
                     int n_threads, const nb::object& X, const nb::object& progress,
                     const std::optional<Table<std::uint32_t>>& sampled) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const auto n = static_cast<std::int64_t>(labels ? labels->shape(0) : y->shape(0));
    const Codes coded = codes.is_none()
                            ? Codes{}
                            : as_codes(codes, n, dictionary.n_features, code_width);
    std::optional<AnyRows> rows;
    if (!X.is_none()) {
        rows = as_rows(X);
        check_features(*rows, dictionary);
    }
    const std::uint32_t* known = as_counts(sampled, settings, n);
    std::atomic<std::int64_t> done{0};
    int width = settings.tree.n_classes;
    auto grow_target = [&](const auto& target, Team& team) {
        return grow(rows ? &*rows : nullptr, coded, dictionary, target, known, settings,
                    team, done);
    };
    ForestArrays forest = with_team(
        n_threads,
        [&](Team& team) {
            if (y) {
                const TargetColumns columns =
                    as_targets(*y, counts, wide_counts, weights);
                width = columns.n_outputs;
                return grow_target(columns, team);
            }
            // Integers, or fixed point if a weight is not one.
            if (wide_counts)
                return grow_target(
                    Sample<std::uint64_t>{labels->data(), wide_counts->data(),
                                          data_or_null(weights), n},
                    team);
            return grow_target(
                Sample<std::uint32_t>{labels->data(), data_or_null(counts),
                                      data_or_null(weights), n},
                team);
        },
        report_trees(progress, done));
    return forest_dict(std::move(forest), width);
}

// Writes how often a tree sampled each row.
void bootstrap_array(std::uint64_t seed, std::int64_t tree, std::int64_t sample_size,
                     const Optional<double>& cumulative, Output<std::uint32_t> counts) {
    with_team(1, [&](Team&) {
        bootstrap(seed, tree, sample_size, data_or_null(cumulative),
                  static_cast<std::int64_t>(counts.shape(0)), counts.data());
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
    m.def("grow", &grow_arrays, "codes"_a.none(), "code_width"_a, "values"_a,
          "offsets"_a, "labels"_a.none(), "y"_a.noconvert().none(), "counts"_a.none(),
          "wide_counts"_a.none(), "weights"_a.none(), "settings"_a, "n_threads"_a,
          "X"_a.none() = nb::none(), "progress"_a.none() = nb::none(),
          "sampled"_a.none() = nb::none(),
          "Grow a tree or a forest; returns its flat arrays.");
    m.def("bootstrap", &bootstrap_array, "seed"_a, "tree"_a, "sample_size"_a,
          "cumulative"_a.none(), "counts"_a.noconvert(),
          "Write how often a tree of a forest sampled each row.");
    m.def("moment_scale", &moment_scale, "y"_a.noconvert(), "settings"_a,
          "Return the scale that turns the targets of all rows into integers.");
}

}  // namespace dics
