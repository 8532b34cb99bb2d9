// Stage `boost` and its losses.
#include "boost/boost.hpp"

#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "collective/peers.hpp"
#include "objective/objective.hpp"

namespace dics {
namespace {

// The rows of a training or validation set, from a tuple of arrays.
struct RowArrays {
    nb::object codes;  // bytes, or CodeLists
    Optional<std::uint32_t> labels;
    std::optional<Table<float>> targets;
    Optional<float> weights;
    OutputTable<float> scores;

    explicit RowArrays(const nb::tuple& arrays)
        : codes(arrays[0]),
          labels(nb::cast<Optional<std::uint32_t>>(arrays[1])),
          targets(nb::cast<std::optional<Table<float>>>(arrays[2])),
          weights(nb::cast<Optional<float>>(arrays[3])),
          scores(nb::cast<OutputTable<float>>(arrays[4], false)) {}

    BoostRows rows(std::int64_t n_features, const Outputs& outputs) const {
        const std::int64_t n = scores.shape(0);
        const std::size_t n_targets = labels ? labels->shape(0) : targets->shape(0);
        if (std::int64_t(n_targets) != n)
            throw nb::value_error("labels or targets have the wrong size.");
        check_shape(scores, n, outputs.stride);
        return {as_codes(codes, n, n_features, 1),
                data_or_null(labels),
                targets ? targets->data() : nullptr,
                targets ? int(targets->shape(1)) : 0,
                data_or_null(weights),
                scores.data()};
    }
};

// Updates scores in place. `after_round(loss, validation losses)` returns the learning
// rate of the next round, or 0.0 to stop.
// Takes lists and functions as they are: the casters of nanobind to C++ types abort if
// memory is exhausted.
nb::tuple boost_arrays(const Objective& objective, const Array<double>& values,
                       const Array<std::int64_t>& offsets, const nb::tuple& training,
                       const nb::list& validation,
                       const Array<std::int64_t>& used_splits,
                       const BoostSettings& settings,
                       const std::optional<nb::tuple>& repeated,
                       const nb::callable& after_round, const Peers* peers,
                       int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const Outputs outputs(objective.n_outputs());
    const RowArrays arrays(training);  // own the memory of the rows below
    std::vector<RowArrays> sets;
    for (const nb::handle set : validation)
        sets.emplace_back(nb::cast<nb::tuple>(set));
    const BoostRows rows = arrays.rows(dictionary.n_features, outputs);
    std::vector<BoostRows> validation_rows;
    for (const RowArrays& set : sets)
        validation_rows.push_back(set.rows(dictionary.n_features, outputs));
    std::vector<std::int64_t> used(used_splits.data(),
                                   used_splits.data() + used_splits.shape(0));
    std::optional<TreesArrays> trees;
    if (repeated)
        trees.emplace(*repeated);
    const auto forest =
        trees ? std::optional(trees->view()) : std::optional<ForestView>();
    auto report = [&](double loss, const std::vector<double>& losses) {
        if (must_stop())
            throw Stopped();
        InsidePython python;
        nb::list held;
        for (const double of_set : losses)
            held.append(of_set);
        return nb::cast<double>(call(after_round, nb::make_tuple(loss, held)));
    };
    Boosted boosted = with_team(n_threads, [&](Team& team) {
        return boost(dictionary, rows, validation_rows, objective, settings, forest,
                     used, report, Sum(peers), team);
    });
    return nb::make_tuple(forest_dict(std::move(boosted.trees), outputs.n),
                          to_array(std::move(used)), boosted.is_lost);
}

// Calls fill(part, scores, gradients, hessians, norms) in Python, which returns the sum
// of the losses; scores, gradients and hessians are [row][score_width]. Part 0 is the
// training rows; parts 1, 2, ... are the validation sets, for which only the scores are
// not None.
std::unique_ptr<Objective> custom_loss_of(int n_outputs, nb::callable fill) {
    auto view = [](float* data, const GradientArgs& a, int width) -> nb::object {
        if (!data)
            return nb::none();
        return nb::cast(
            nb::ndarray<nb::numpy, float>(
                data, {std::size_t(a.n_rows), std::size_t(width)}, nb::handle()),
            nb::rv_policy::reference);
    };
    return custom_loss(n_outputs, [fill, view](const GradientArgs& a) {
        if (must_stop())
            throw Stopped();
        InsidePython python;
        return nb::cast<double>(call(
            fill, nb::make_tuple(a.part, view(a.scores, a, a.stride),
                                 view(a.gradients, a, a.stride),
                                 view(a.hessians, a, a.stride), view(a.norms, a, 1))));
    });
}

std::unique_ptr<Objective> log_loss(int n_classes) {
    return n_classes == 2 ? two_class_log_loss() : many_class_log_loss(n_classes);
}

}  // namespace

void bind_boost(nb::module_& m) {
    m.def(
        "score_width", [](int n_outputs) { return Outputs(n_outputs).stride; },
        "n_outputs"_a, "Return the floats per row of scores, with padding.");
    m.def("log_loss", &log_loss, "n_classes"_a,
          "Return the log-loss of classification.");
    m.def("regression_loss", &regression_loss, "loss"_a, "n_outputs"_a, "level"_a,
          "Return a loss of regression, with one output per target.");
    m.def("quantile_loss", &quantile_loss, "levels"_a,
          "Return the quantile loss, with one output per level.");
    m.def("custom_loss", &custom_loss_of, "n_outputs"_a, "fill"_a,
          "Return a loss whose gradients come from a Python function.");
    m.def("boost", &boost_arrays, "objective"_a, "values"_a, "offsets"_a, "training"_a,
          "validation"_a, "used_splits"_a, "settings"_a, "repeated"_a.none(),
          "after_round"_a, "peers"_a.none(), "n_threads"_a,
          "Add rounds to a boosted model, and update the scores. Return the trees, the "
          "used splits, and whether a process was lost. Rows are (codes, labels, "
          "targets, weights, scores). With `repeated`, rounds take the splits of these "
          "trees.");
}

}  // namespace dics
