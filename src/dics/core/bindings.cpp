// The only file that knows Python: arrays in, arrays out, the GIL released in between.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "boost/boost.hpp"
#include "candidates/cluster.hpp"
#include "candidates/thresholds.hpp"
#include "data/encode.hpp"
#include "grow/forest.hpp"
#include "grow/grow.hpp"
#include "kernels/kernels.hpp"
#include "objective/objective.hpp"
#include "predict/predict.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dics {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Optional = std::optional<Array<T>>;

template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutputTable = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void check_shape(const OutputTable<T>& out, std::int64_t n_rows, std::int64_t n_cols) {
    if (static_cast<std::int64_t>(out.shape(0)) != n_rows ||
        static_cast<std::int64_t>(out.shape(1)) != n_cols) {
        throw nb::value_error("the array to write to has the wrong shape");
    }
}

template <class T>
Matrix<T> typed(const AnyArray& X) {
    return {static_cast<const T*>(X.data()), static_cast<std::int64_t>(X.shape(0)),
            static_cast<std::int64_t>(X.shape(1)), X.stride(0), X.stride(1)};
}

AnyMatrix as_matrix(const AnyArray& X) {
    if (X.dtype() == nb::dtype<float>())
        return typed<float>(X);
    if (X.dtype() == nb::dtype<double>())
        return typed<double>(X);
    if (X.dtype() == nb::dtype<std::uint8_t>())
        return typed<std::uint8_t>(X);
    throw nb::type_error("X must be float32, float64 or uint8");
}

template <class T>
const T* data_or_null(const Optional<T>& array) {
    return array ? array->data() : nullptr;
}

// A vector's memory becomes the array's: no copy.
template <class T>
nb::object to_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned,
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape, owner));
}

template <class T>
nb::object to_array(std::vector<T>&& values) {
    const std::size_t n = values.size();
    return to_array(std::move(values), {n});
}

bool signal_pending() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Runs `body` without the GIL and with a team; Ctrl-C ends it.
template <class Body>
auto with_team(int n_threads, Body body, Interrupted interrupted = signal_pending) {
    try {
        nb::gil_scoped_release no_gil;
        Team team(n_threads, std::move(interrupted));
        return body(team);
    } catch (const Stopped&) {
        throw nb::python_error();
    }
}

Dictionary as_dictionary(const Array<float>& values,
                         const Array<std::int64_t>& offsets) {
    return {values.data(), offsets.data(),
            static_cast<std::int64_t>(offsets.shape(0)) - 1};
}

void check_features(const AnyMatrix& X, const Dictionary& dictionary) {
    if (col_count(X) != dictionary.n_features) {
        throw nb::value_error(
            "X and the dictionary differ in their number of features");
    }
}

nb::tuple centroid_arrays(Centroids&& c, std::size_t n_features) {
    const auto k = static_cast<std::size_t>(c.count);
    return nb::make_tuple(to_array(std::move(c.means), {k, n_features}),
                          to_array(std::move(c.scales), {k, n_features}),
                          to_array(std::move(c.squared_distances), {k, k}));
}

nb::dict cluster_array(const AnyArray& X, const Optional<double>& weights,
                       const Optional<std::uint32_t>& labels,
                       const ClusterSettings& settings, int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    if (settings.n_classes > 0 && !labels)
        throw nb::value_error("class means need labels");
    Clusters c = with_team(n_threads, [&](Team& team) {
        return cluster(matrix, data_or_null(weights), data_or_null(labels), settings,
                       team);
    });
    const auto p = static_cast<std::size_t>(col_count(matrix));
    nb::dict result;
    result["clusters"] = centroid_arrays(std::move(c.clusters), p);
    result["classes"] = centroid_arrays(std::move(c.classes), p);
    result["low"] = to_array(std::move(c.low));
    result["high"] = to_array(std::move(c.high));
    result["deviation"] = to_array(std::move(c.deviation));
    return result;
}

nb::tuple make_thresholds_array(
    const AnyArray& X, const Optional<double>& weights,
    const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>&
        boundaries,
    int budget, int least_even, std::int64_t n_rows, std::uint64_t seed,
    int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    Thresholds t = with_team(n_threads, [&](Team& team) {
        return make_thresholds(matrix, data_or_null(weights), boundaries.data(),
                               static_cast<int>(boundaries.shape(1)), budget,
                               least_even, n_rows, seed, team);
    });
    return nb::make_tuple(to_array(std::move(t.values)), to_array(std::move(t.offsets)),
                          t.exact);
}

// `codes` is the caller's: NumPy asks for huge pages, which halves the cost of memory
// that is written for the first time.
void encode_array(const AnyArray& X, const Array<float>& values,
                  const Array<std::int64_t>& offsets,
                  const Optional<std::int32_t>& order, int width,
                  Output<std::uint8_t> codes, int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    const Dictionary dictionary = as_dictionary(values, offsets);
    check_features(matrix, dictionary);
    const std::int64_t n_features =
        order ? static_cast<std::int64_t>(order->shape(0)) : col_count(matrix);
    if (static_cast<std::int64_t>(codes.shape(0)) !=
            codes_size(row_count(matrix), n_features, width) ||
        (order && n_features > width)) {
        throw nb::value_error("codes has the wrong size");
    }
    with_team(n_threads, [&](Team& team) {
        if (order) {
            encode_ordered(matrix, dictionary, order->data(), n_features, width, team,
                           codes.data());
        } else {
            encode(matrix, dictionary, width, team, codes.data());
        }
        return 0;
    });
}

// Features in the order in which a forest's codes have them.
nb::object forest_order_array(const Array<std::int64_t>& offsets, std::uint64_t seed) {
    const Dictionary dictionary{nullptr, offsets.data(),
                                static_cast<std::int64_t>(offsets.shape(0)) - 1};
    return to_array(forest_order(dictionary, seed));
}

Codes as_codes(const Array<std::uint8_t>& codes, std::int64_t n_rows,
               std::int64_t n_features, int width) {
    if (static_cast<std::int64_t>(codes.shape(0)) !=
        codes_size(n_rows, n_features, width)) {
        throw nb::value_error("codes has the wrong size");
    }
    return {codes.data(), n_rows, n_features, width};
}

// Called now and then while trees grow: says how many are done, and whether to stop.
using TreeProgress = std::optional<std::function<void(std::int64_t)>>;
Interrupted report_trees(const TreeProgress& progress,
                         const std::atomic<std::int64_t>& done) {
    return [&] {
        if (!progress)
            return signal_pending();
        nb::gil_scoped_acquire gil;
        (*progress)(done.load());
        return PyErr_CheckSignals() != 0;
    };
}

// A vector of nodes as an array of four 32-bit words each.
nb::object node_array(std::vector<Node>&& nodes) {
    auto* owned = new std::vector<Node>(std::move(nodes));
    nb::capsule owner(
        owned, [](void* p) noexcept { delete static_cast<std::vector<Node>*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy, std::int32_t>(owned->data(), {owned->size(), 4}, owner));
}

nb::dict forest_dict(ForestArrays&& forest, int width) {
    const auto k = static_cast<std::size_t>(width);
    TreeArrays& trees = forest.trees;
    const std::size_t n_rows = trees.leaf_values.size() / k;
    const std::size_t n_leaves = trees.leaf_means.size() / k;
    nb::dict result;
    result["nodes"] = node_array(std::move(trees.nodes));
    result["missing_left"] = to_array(std::move(trees.missing_left));
    result["weight"] = to_array(std::move(trees.weight));
    result["impurity"] = to_array(std::move(trees.impurity));
    result["gain"] = to_array(std::move(trees.gain));
    result["leaf_values"] = n_leaves > 0
                                ? to_array(std::move(trees.leaf_means), {n_leaves, k})
                                : to_array(std::move(trees.leaf_values), {n_rows, k});
    if (!trees.leaf_rows.empty()) {
        result["leaf_rows"] = to_array(std::move(trees.leaf_rows));
        result["leaf_row_counts"] = to_array(std::move(trees.leaf_row_counts));
    }
    result["node_starts"] = to_array(std::move(forest.node_starts));
    result["leaf_starts"] = to_array(std::move(forest.leaf_starts));
    return result;
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
nb::dict grow_tree(const AnyArray& X, const Optional<std::uint8_t>& codes,
                   int code_width, const Array<float>& values,
                   const Array<std::int64_t>& offsets,
                   const Array<std::uint32_t>& labels,
                   const Optional<std::uint32_t>& counts,
                   const Optional<std::uint64_t>& wide_counts,
                   const Optional<double>& weights, const GrowSettings& settings,
                   int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const auto n = static_cast<std::int64_t>(labels.shape(0));
    const Codes coded{data_or_null(codes), n, dictionary.n_features, code_width};
    const AnyMatrix matrix = as_matrix(X);
    check_features(matrix, dictionary);
    ForestArrays forest;
    forest.trees = with_team(n_threads, [&](Team& team) {
        return with_sample(labels, counts, wide_counts, weights,
                           [&](const auto& sample) {
                               return codes ? grow_from_codes(matrix, coded, dictionary,
                                                              sample, settings, team)
                                            : grow_from_values(matrix, dictionary,
                                                               sample, settings, team);
                           });
    });
    forest.end_tree(settings.n_classes);
    return forest_dict(std::move(forest), settings.n_classes);
}

// `progress` (or None) is called with the number of trees done, a few times a second.
nb::dict grow_forest_array(
    const Array<std::uint8_t>& codes, int code_width, const Array<float>& values,
    const Array<std::int64_t>& offsets, const Array<std::uint32_t>& labels,
    const Optional<std::uint32_t>& counts, const Optional<std::uint64_t>& wide_counts,
    const Optional<double>& weights, const ForestSettings& settings,
    const TreeProgress& progress, int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const auto n = static_cast<std::int64_t>(labels.shape(0));
    const Codes coded = as_codes(codes, n, dictionary.n_features, code_width);
    std::atomic<std::int64_t> done{0};
    ForestArrays forest = with_team(
        n_threads,
        [&](Team& team) {
            return with_sample(
                labels, counts, wide_counts, weights, [&](const auto& sample) {
                    return grow_forest(coded, dictionary, sample, settings, team, done);
                });
        },
        report_trees(progress, done));
    return forest_dict(std::move(forest), settings.tree.n_classes);
}

TargetColumns as_targets(const Table<double>& y, const Optional<std::uint32_t>& counts,
                         const Optional<std::uint64_t>& wide_counts,
                         const Optional<double>& weights) {
    return {y.data(),
            static_cast<std::int64_t>(y.shape(0)),
            static_cast<int>(y.shape(1)),
            data_or_null(counts),
            data_or_null(wide_counts),
            data_or_null(weights)};
}

nb::dict grow_regression_tree(const AnyArray& X, const Array<std::uint8_t>& codes,
                              int code_width, const Array<float>& values,
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
    const AnyMatrix matrix = as_matrix(X);
    check_features(matrix, dictionary);
    ForestArrays forest;
    forest.trees = with_team(n_threads, [&](Team& team) {
        return grow_regression(matrix, coded, dictionary, columns, settings, team);
    });
    forest.end_tree(columns.n_outputs);
    return forest_dict(std::move(forest), columns.n_outputs);
}

nb::dict grow_regression_forest(
    const Array<std::uint8_t>& codes, int code_width, const Array<float>& values,
    const Array<std::int64_t>& offsets, const Table<double>& y,
    const Optional<std::uint32_t>& counts, const Optional<std::uint64_t>& wide_counts,
    const Optional<double>& weights, const ForestSettings& settings,
    const TreeProgress& progress, int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const TargetColumns columns = as_targets(y, counts, wide_counts, weights);
    const Codes coded =
        as_codes(codes, columns.n_rows, dictionary.n_features, code_width);
    std::atomic<std::int64_t> done{0};
    ForestArrays forest = with_team(
        n_threads,
        [&](Team& team) {
            return grow_forest(coded, dictionary, columns, settings, team, done);
        },
        report_trees(progress, done));
    return forest_dict(std::move(forest), columns.n_outputs);
}

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

// Writes how often a tree drew each row.
void bootstrap_array(std::uint64_t seed, std::int64_t tree, std::int64_t n_draws,
                     const Optional<double>& cumulative, Output<std::uint32_t> counts) {
    bootstrap(seed, tree, n_draws, data_or_null(cumulative),
              static_cast<std::int64_t>(counts.shape(0)), counts.data());
}

ForestView as_forest(const Table<std::int32_t>& nodes,
                     const Array<std::uint8_t>& missing_left,
                     const Array<std::int64_t>& node_starts,
                     const Array<std::int64_t>& leaf_starts) {
    if (nodes.shape(1) != 4)
        throw nb::value_error("nodes must have four words each");
    return {{reinterpret_cast<const Node*>(nodes.data()), missing_left.data()},
            node_starts.data(),
            leaf_starts.data(),
            static_cast<std::int64_t>(node_starts.shape(0)) - 1};
}

template <class T>
LeafTable<T> as_leaves(const Table<T>& leaf_values) {
    return {leaf_values.data(), static_cast<int>(leaf_values.shape(1))};
}

void find_leaves_array(const AnyArray& X, const Table<std::int32_t>& nodes,
                       const Array<std::uint8_t>& missing_left,
                       const Array<std::int64_t>& node_starts,
                       const Array<std::int64_t>& leaf_starts,
                       OutputTable<std::int64_t> leaves, int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    const ForestView forest = as_forest(nodes, missing_left, node_starts, leaf_starts);
    check_shape(leaves, row_count(matrix), forest.n_trees);
    with_team(n_threads, [&](Team& team) {
        find_leaves(matrix, forest, team, leaves.data());
        return 0;
    });
}

void vote_array(const AnyArray& X, const Table<std::int32_t>& nodes,
                const Array<std::uint8_t>& missing_left,
                const Array<std::int64_t>& node_starts,
                const Array<std::int64_t>& leaf_starts, const Table<float>& leaf_values,
                const Optional<std::uint32_t>& rows, bool hard,
                OutputTable<double> votes, int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    const ForestView forest = as_forest(nodes, missing_left, node_starts, leaf_starts);
    const LeafTable<float> leaves = as_leaves(leaf_values);
    const std::int64_t n_rows =
        rows ? static_cast<std::int64_t>(rows->shape(0)) : row_count(matrix);
    check_shape(votes, n_rows, leaves.width);
    with_team(n_threads, [&](Team& team) {
        vote(matrix, forest, leaves, data_or_null(rows), n_rows, hard, team,
             votes.data());
        return 0;
    });
}

template <class T>
void add_values_array(const AnyArray& X, const Table<std::int32_t>& nodes,
                      const Array<std::uint8_t>& missing_left,
                      const Array<std::int64_t>& node_starts,
                      const Array<std::int64_t>& leaf_starts,
                      const Table<T>& leaf_values, const Optional<std::uint32_t>& rows,
                      OutputTable<T> sums, int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    const ForestView forest = as_forest(nodes, missing_left, node_starts, leaf_starts);
    const LeafTable<T> leaves = as_leaves(leaf_values);
    const std::int64_t n_rows =
        rows ? static_cast<std::int64_t>(rows->shape(0)) : row_count(matrix);
    check_shape(sums, n_rows, leaves.width);
    with_team(n_threads, [&](Team& team) {
        add_values(matrix, forest, leaves, data_or_null(rows), n_rows, team,
                   sums.data());
        return 0;
    });
}

std::unique_ptr<Objective> log_loss(int n_classes) {
    return n_classes == 2 ? two_class_log_loss() : many_class_log_loss(n_classes);
}

// Settings are objects with named fields, 0 or off unless they are set.
void bind_settings(nb::module_& m) {
    nb::enum_<Criterion>(m, "Criterion")
        .value("gini", Criterion::gini)
        .value("entropy", Criterion::entropy)
        .value("squared_error", Criterion::squared_error)
        .value("poisson", Criterion::poisson)
        .value("absolute_error", Criterion::absolute_error);
    nb::enum_<RegressionLoss>(m, "RegressionLoss")
        .value("squared_error", RegressionLoss::squared)
        .value("absolute_error", RegressionLoss::absolute)
        .value("huber", RegressionLoss::huber)
        .value("poisson", RegressionLoss::poisson)
        .value("gamma", RegressionLoss::gamma);
    nb::enum_<FeatureSampling>(m, "FeatureSampling")
        .value("none", FeatureSampling::none)
        .value("tree", FeatureSampling::tree)
        .value("node", FeatureSampling::node);
    nb::enum_<RowSampling>(m, "RowSampling")
        .value("none", RowSampling::none)
        .value("goss", RowSampling::goss)
        .value("mvs", RowSampling::mvs);
    nb::class_<NodeLimits>(m, "NodeLimits")
        .def(nb::init<>())
        .def_rw("max_depth", &NodeLimits::max_depth)
        .def_rw("min_samples_split", &NodeLimits::min_samples_split)
        .def_rw("min_samples_leaf", &NodeLimits::min_samples_leaf)
        .def_rw("max_leaf_nodes", &NodeLimits::max_leaf_nodes)
        .def_rw("reuse_splits", &NodeLimits::reuse_splits);
    nb::class_<GrowSettings>(m, "GrowSettings")
        .def(nb::init<>())
        .def_rw("criterion", &GrowSettings::criterion)
        .def_rw("n_classes", &GrowSettings::n_classes)
        .def_rw("limits", &GrowSettings::limits)
        .def_rw("min_weight_fraction_leaf", &GrowSettings::min_weight_fraction_leaf)
        .def_rw("min_impurity_decrease", &GrowSettings::min_impurity_decrease)
        .def_rw("max_candidates", &GrowSettings::max_candidates)
        .def_rw("renew_thresholds", &GrowSettings::renew_thresholds)
        .def_rw("renew_rows", &GrowSettings::renew_rows)
        .def_rw("keeps_leaf_rows", &GrowSettings::keeps_leaf_rows)
        .def_rw("monotonic", &GrowSettings::monotonic)
        .def_rw("seed", &GrowSettings::seed);
    nb::class_<ForestSettings>(m, "ForestSettings")
        .def(nb::init<>())
        .def_rw("tree", &ForestSettings::tree)
        .def_rw("first_tree", &ForestSettings::first_tree)
        .def_rw("n_trees", &ForestSettings::n_trees)
        .def_rw("sampling", &ForestSettings::sampling)
        .def_rw("max_features", &ForestSettings::max_features)
        .def_rw("n_draws", &ForestSettings::n_draws)
        .def_rw("balance_each_tree", &ForestSettings::balance_each_tree);
    nb::class_<RowDraw>(m, "RowDraw")
        .def(nb::init<>())
        .def_rw("sampling", &RowDraw::sampling)
        .def_rw("top_rate", &RowDraw::top_rate)
        .def_rw("other_rate", &RowDraw::other_rate);
    nb::class_<BoostSettings>(m, "BoostSettings")
        .def(nb::init<>())
        .def_rw("learning_rate", &BoostSettings::learning_rate)
        .def_rw("limits", &BoostSettings::limits)
        .def_rw("max_features", &BoostSettings::max_features)
        .def_rw("max_candidates", &BoostSettings::max_candidates)
        .def_rw("rows", &BoostSettings::rows)
        .def_rw("leaves_of_sample", &BoostSettings::leaves_of_sample)
        .def_rw("l2", &BoostSettings::l2)
        .def_rw("min_gain", &BoostSettings::min_gain)
        .def_rw("seed", &BoostSettings::seed)
        .def_rw("first_round", &BoostSettings::first_round)
        .def_rw("n_rounds", &BoostSettings::n_rounds);
    nb::class_<ClusterSettings>(m, "ClusterSettings")
        .def(nb::init<>())
        .def_rw("n_clusters", &ClusterSettings::n_clusters)
        .def_rw("n_classes", &ClusterSettings::n_classes)
        .def_rw("batch_size", &ClusterSettings::batch_size)
        .def_rw("n_steps", &ClusterSettings::n_steps)
        .def_rw("moment_rows", &ClusterSettings::moment_rows)
        .def_rw("measure_rows", &ClusterSettings::measure_rows)
        .def_rw("standardize", &ClusterSettings::standardize)
        .def_rw("seed", &ClusterSettings::seed);
    nb::class_<Objective>(m, "Objective")
        .def_prop_ro("n_outputs", &Objective::n_outputs);
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The compiled stages of dics. Private: use the estimators.";
    bind_settings(m);
    m.attr("MAX_THRESHOLDS") = kMaxThresholds;
    m.def("cluster", &cluster_array, "X"_a.noconvert(), "weights"_a.none(),
          "labels"_a.none(), "settings"_a, "n_threads"_a,
          "Means, spreads and distances of clusters and of classes.");
    m.def("make_thresholds", &make_thresholds_array, "X"_a.noconvert(),
          "weights"_a.none(), "boundaries"_a, "budget"_a, "least_even"_a, "n_rows"_a,
          "seed"_a, "n_threads"_a,
          "Thresholds of each feature: the boundaries, filled up with even cuts.");
    m.def("forest_order", &forest_order_array, "offsets"_a, "seed"_a,
          "Features that have thresholds, in the order of a forest's codes.");
    m.def("encode", &encode_array, "X"_a.noconvert(), "values"_a, "offsets"_a,
          "order"_a.none(), "width"_a, "codes"_a, "n_threads"_a,
          "Write the codes of X, in blocks of `width` features.");
    m.def("code_width", &code_width, "n_features"_a,
          "Features whose codes stand side by side for a tree.");
    m.def("forest_code_width", &forest_code_width, "sampling"_a, "n_features"_a,
          "Features whose codes stand side by side for a forest.");
    m.def("grow_tree", &grow_tree, "X"_a.noconvert(), "codes"_a.none(), "code_width"_a,
          "values"_a, "offsets"_a, "labels"_a, "counts"_a.none(),
          "wide_counts"_a.none(), "weights"_a.none(), "settings"_a, "n_threads"_a,
          "Grow one tree; returns its flat arrays.");
    m.def("grow_forest", &grow_forest_array, "codes"_a, "code_width"_a, "values"_a,
          "offsets"_a, "labels"_a, "counts"_a.none(), "wide_counts"_a.none(),
          "weights"_a.none(), "settings"_a, "progress"_a.none(), "n_threads"_a,
          "Grow trees side by side; returns their flat arrays.");
    m.def("grow_regression_tree", &grow_regression_tree, "X"_a.noconvert(), "codes"_a,
          "code_width"_a, "values"_a, "offsets"_a, "y"_a.noconvert(), "counts"_a.none(),
          "wide_counts"_a.none(), "weights"_a.none(), "settings"_a, "n_threads"_a,
          "Grow one tree of a continuous target; returns its flat arrays.");
    m.def("grow_regression_forest", &grow_regression_forest, "codes"_a, "code_width"_a,
          "values"_a, "offsets"_a, "y"_a.noconvert(), "counts"_a.none(),
          "wide_counts"_a.none(), "weights"_a.none(), "settings"_a, "progress"_a.none(),
          "n_threads"_a,
          "Grow trees of a continuous target; returns their flat arrays.");
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
    m.def("bootstrap", &bootstrap_array, "seed"_a, "tree"_a, "n_draws"_a,
          "cumulative"_a.none(), "counts"_a.noconvert(),
          "Write how often a tree of a forest drew each row.");
    m.def("find_leaves", &find_leaves_array, "X"_a.noconvert(), "nodes"_a,
          "missing_left"_a, "node_starts"_a, "leaf_starts"_a, "leaves"_a.noconvert(),
          "n_threads"_a, "Write the leaf of each row of X in each tree.");
    m.def("vote", &vote_array, "X"_a.noconvert(), "nodes"_a, "missing_left"_a,
          "node_starts"_a, "leaf_starts"_a, "leaf_values"_a, "rows"_a.none(), "hard"_a,
          "votes"_a.noconvert(), "n_threads"_a,
          "Add the votes of the trees for each row of X.");
    const auto add_values = [&](auto function) {
        m.def("add_values", function, "X"_a.noconvert(), "nodes"_a, "missing_left"_a,
              "node_starts"_a, "leaf_starts"_a, "leaf_values"_a.noconvert(),
              "rows"_a.none(), "sums"_a.noconvert(), "n_threads"_a,
              "Add the leaf values of the trees for each row of X.");
    };
    add_values(&add_values_array<float>);
    add_values(&add_values_array<double>);
    m.def(
        "instruction_set", [] { return std::string(kernels().name); },
        "Which build of the kernels runs here: 'avx2' or 'baseline'.");
}

}  // namespace dics
