// Stage `boost`, and the losses that it minimises.
#include "boost/boost.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "objective/objective.hpp"

namespace dics {
namespace {

// What boosting knows of some rows: codes, labels or targets, weights, scores.
BoostRows as_boost_rows(const Array<std::uint8_t>& codes, std::int64_t n_features,
                        const Optional<std::uint32_t>& labels,
                        const std::optional<Table<float>>& targets,
                        const Optional<float>& weights,
                        const OutputTable<float>& scores, const Outputs& outputs) {
    const auto n = static_cast<std::int64_t>(scores.shape(0));
    if (static_cast<std::int64_t>(codes.shape(0)) != n * n_features ||
        static_cast<std::int64_t>(labels ? labels->shape(0) : targets->shape(0)) != n)
        throw nb::value_error("codes, labels or targets have the wrong size");
    check_shape(scores, n, outputs.stride);
    return {{codes.data(), n, n_features, 1},
            data_or_null(labels),
            targets ? targets->data() : nullptr,
            targets ? static_cast<int>(targets->shape(1)) : 0,
            data_or_null(weights),
            scores.data()};
}

// Scores are updated in place. `after_round(loss, validation loss)` returns True to
// end.
nb::tuple boost_arrays(
    const Objective& objective, const Array<float>& values,
    const Array<std::int64_t>& offsets, const Array<std::uint8_t>& codes,
    const Optional<std::uint32_t>& labels, const std::optional<Table<float>>& targets,
    const Optional<float>& weights, OutputTable<float> scores,
    const Array<std::uint8_t>& validation_codes,
    const Optional<std::uint32_t>& validation_labels,
    const std::optional<Table<float>>& validation_targets,
    const Optional<float>& validation_weights, OutputTable<float> validation_scores,
    const Array<std::int64_t>& used_splits, const BoostSettings& settings,
    const std::function<bool(double, double)>& after_round, int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const Outputs outputs(objective.n_outputs());
    const std::int64_t n_features = dictionary.n_features;
    const BoostRows training =
        as_boost_rows(codes, n_features, labels, targets, weights, scores, outputs);
    const BoostRows validation = as_boost_rows(
        validation_codes, n_features, validation_labels, validation_targets,
        validation_weights, validation_scores, outputs);
    std::vector<std::int64_t> used(used_splits.data(),
                                   used_splits.data() + used_splits.shape(0));
    auto report = [&](double loss, double validation_loss) {
        nb::gil_scoped_acquire gil;
        return after_round(loss, validation_loss);
    };
    ForestArrays boosted = with_team(n_threads, [&](Team& team) {
        return boost(dictionary, training, validation, objective, settings, used,
                     report, team);
    });
    return nb::make_tuple(forest_dict(std::move(boosted), outputs.n),
                          to_array(std::move(used)));
}

// Calls fill(scores, gradients, hessians, norms) in Python, the first three
// [row][score_width]; all but the scores are None for validation rows. It returns the
// sum of the losses.
std::unique_ptr<Objective> custom_loss_of(int n_outputs, nb::callable fill) {
    auto view = [](float* data, const GradientArgs& a, int width) -> nb::object {
        if (!data)
            return nb::none();
        return nb::cast(
            nb::ndarray<nb::numpy, float>(
                data,
                {static_cast<std::size_t>(a.n_rows), static_cast<std::size_t>(width)},
                nb::handle()),
            nb::rv_policy::reference);
    };
    return custom_loss(n_outputs, [fill, view](const GradientArgs& a) {
        nb::gil_scoped_acquire gil;
        return nb::cast<double>(
            fill(view(a.scores, a, a.stride), view(a.gradients, a, a.stride),
                 view(a.hessians, a, a.stride), view(a.norms, a, 1)));
    });
}

std::unique_ptr<Objective> log_loss(int n_classes) {
    return n_classes == 2 ? two_class_log_loss() : many_class_log_loss(n_classes);
}

}  // namespace

void bind_boost(nb::module_& m) {
    m.def(
        "score_width", [](int n_outputs) { return Outputs(n_outputs).stride; },
        "n_outputs"_a, "Numbers in a row of scores; the last ones may be padding.");
    m.def("log_loss", &log_loss, "n_classes"_a, "Log-loss of some classes.");
    m.def("regression_loss", &regression_loss, "loss"_a, "n_outputs"_a, "level"_a,
          "Loss of numbers, an output for each target.");
    m.def("quantile_loss", &quantile_loss, "levels"_a,
          "Loss of quantiles, an output for each level.");
    m.def("custom_loss", &custom_loss_of, "n_outputs"_a, "fill"_a,
          "Loss whose gradients a Python function fills in.");
    m.def("boost", &boost_arrays, "objective"_a, "values"_a, "offsets"_a, "codes"_a,
          "labels"_a.none(), "targets"_a.none(), "weights"_a.none(),
          "scores"_a.noconvert(), "validation_codes"_a, "validation_labels"_a.none(),
          "validation_targets"_a.none(), "validation_weights"_a.none(),
          "validation_scores"_a.noconvert(), "used_splits"_a, "settings"_a,
          "after_round"_a, "n_threads"_a,
          "Add rounds to a boosted model; returns their trees and the splits that are "
          "gone.");
}

}  // namespace dics
