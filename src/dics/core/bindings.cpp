// The only file that knows Python: arrays in, arrays out, the GIL released in between.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "boost/boost.hpp"
#include "candidates/cluster.hpp"
#include "candidates/thresholds.hpp"
#include "data/encode.hpp"
#include "grow/forest.hpp"
#include "grow/grow.hpp"
#include "kernels/kernels.hpp"
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
                       const Optional<std::uint32_t>& labels, int n_clusters,
                       int n_classes, int batch_size, int n_steps,
                       std::int64_t moment_rows, std::int64_t measure_rows,
                       bool standardize, std::uint64_t seed, int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    if (n_classes > 0 && !labels)
        throw nb::value_error("class means need labels");
    const ClusterSettings settings{n_clusters,  n_classes,    batch_size,  n_steps,
                                   moment_rows, measure_rows, standardize, seed};
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

// A vector of nodes as an array of four 32-bit words each.
nb::object node_array(std::vector<Node>&& nodes) {
    auto* owned = new std::vector<Node>(std::move(nodes));
    nb::capsule owner(
        owned, [](void* p) noexcept { delete static_cast<std::vector<Node>*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy, std::int32_t>(owned->data(), {owned->size(), 4}, owner));
}

nb::dict tree_dict(TreeArrays&& tree, int n_classes,
                   std::vector<std::int64_t> node_starts,
                   std::vector<std::int64_t> leaf_starts) {
    const auto k = static_cast<std::size_t>(n_classes);
    const std::size_t n_rows = tree.leaf_values.size() / k;
    nb::dict result;
    result["nodes"] = node_array(std::move(tree.nodes));
    result["missing_left"] = to_array(std::move(tree.missing_left));
    result["weight"] = to_array(std::move(tree.weight));
    result["leaf_values"] = to_array(std::move(tree.leaf_values), {n_rows, k});
    result["node_starts"] = to_array(std::move(node_starts));
    result["leaf_starts"] = to_array(std::move(leaf_starts));
    return result;
}

// From `codes` in blocks of `code_width` features, or (null) straight from X.
nb::dict grow_tree(
    const AnyArray& X, const Optional<std::uint8_t>& codes, int code_width,
    const Array<float>& values, const Array<std::int64_t>& offsets,
    const Array<std::uint32_t>& labels, const Optional<std::uint32_t>& counts,
    const Optional<std::uint64_t>& wide_counts, const Optional<double>& weights,
    int n_classes, bool entropy, std::int64_t max_depth, std::int64_t min_samples_split,
    std::int64_t min_samples_leaf, double min_weight_fraction_leaf,
    double min_impurity_decrease, std::int64_t max_candidates, bool reuse_splits,
    bool renew_thresholds, std::int64_t renew_rows, std::uint64_t seed, int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const GrowSettings settings{entropy ? Criterion::entropy : Criterion::gini,
                                n_classes,
                                {max_depth, min_samples_split, min_samples_leaf,
                                 NodeLimits{}.max_leaf_nodes, reuse_splits},
                                min_weight_fraction_leaf,
                                min_impurity_decrease,
                                max_candidates,
                                renew_thresholds,
                                renew_rows,
                                seed};
    const auto n = static_cast<std::int64_t>(labels.shape(0));
    const Codes coded{data_or_null(codes), n, dictionary.n_features, code_width};
    const AnyMatrix matrix = as_matrix(X);
    check_features(matrix, dictionary);
    auto grow = [&](const auto& sample, Team& team) {
        return codes
                   ? grow_from_codes(matrix, coded, dictionary, sample, settings, team)
                   : grow_from_values(matrix, dictionary, sample, settings, team);
    };
    TreeArrays tree = with_team(n_threads, [&](Team& team) {
        if (wide_counts) {
            const Sample<std::uint64_t> sample{labels.data(), wide_counts->data(),
                                               data_or_null(weights), n};
            return grow(sample, team);
        }
        const Sample<std::uint32_t> sample{labels.data(), data_or_null(counts),
                                           data_or_null(weights), n};
        return grow(sample, team);
    });
    const auto n_nodes = static_cast<std::int64_t>(tree.nodes.size());
    const auto n_values = static_cast<std::int64_t>(tree.leaf_values.size());
    return tree_dict(std::move(tree), n_classes, {0, n_nodes},
                     {0, n_values / n_classes});
}

FeatureSampling as_sampling(const std::string& name) {
    if (name == "tree")
        return FeatureSampling::tree;
    return name == "node" ? FeatureSampling::node : FeatureSampling::none;
}

// `progress` (or None) is told the number of trees done, a few times a second.
nb::dict grow_forest_array(
    const Array<std::uint8_t>& codes, int code_width, const Array<float>& values,
    const Array<std::int64_t>& offsets, const Array<std::uint32_t>& labels,
    const Optional<std::uint32_t>& counts, const Optional<std::uint64_t>& wide_counts,
    const Optional<double>& weights, int n_classes, bool entropy,
    std::int64_t max_depth, std::int64_t min_samples_split,
    std::int64_t min_samples_leaf, double min_weight_fraction_leaf,
    double min_impurity_decrease, std::int64_t max_candidates, std::uint64_t seed,
    std::int64_t first_tree, std::int64_t n_trees, const std::string& sampling,
    std::int64_t max_features, std::int64_t n_draws, bool balance_each_tree,
    const std::optional<std::function<void(std::int64_t)>>& progress, int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const GrowSettings tree{entropy ? Criterion::entropy : Criterion::gini,
                            n_classes,
                            {max_depth, min_samples_split, min_samples_leaf,
                             NodeLimits{}.max_leaf_nodes, true},
                            min_weight_fraction_leaf,
                            min_impurity_decrease,
                            max_candidates,
                            false,
                            0,
                            seed};
    const ForestSettings settings{
        tree,         first_tree, n_trees,          as_sampling(sampling),
        max_features, n_draws,    balance_each_tree};
    const auto n = static_cast<std::int64_t>(labels.shape(0));
    const Codes coded{codes.data(), n, dictionary.n_features, code_width};
    if (static_cast<std::int64_t>(codes.shape(0)) !=
        codes_size(n, dictionary.n_features, code_width)) {
        throw nb::value_error("codes has the wrong size");
    }
    std::atomic<std::int64_t> done{0};
    auto poll = [&] {
        if (!progress)
            return signal_pending();
        nb::gil_scoped_acquire gil;
        (*progress)(done.load());
        return PyErr_CheckSignals() != 0;
    };
    ForestArrays forest = with_team(
        n_threads,
        [&](Team& team) {
            if (wide_counts) {
                const Sample<std::uint64_t> sample{labels.data(), wide_counts->data(),
                                                   data_or_null(weights), n};
                return grow_forest(coded, dictionary, sample, settings, team, done);
            }
            const Sample<std::uint32_t> sample{labels.data(), data_or_null(counts),
                                               data_or_null(weights), n};
            return grow_forest(coded, dictionary, sample, settings, team, done);
        },
        poll);
    return tree_dict(std::move(forest.trees), n_classes, std::move(forest.node_starts),
                     std::move(forest.leaf_starts));
}

RowSampling as_row_sampling(const std::string& name) {
    if (name == "goss")
        return RowSampling::goss;
    return name == "mvs" ? RowSampling::mvs : RowSampling::none;
}

BoostRows as_boost_rows(const Array<std::uint8_t>& codes, std::int64_t n_features,
                        const Array<std::uint32_t>& labels,
                        const Optional<float>& weights,
                        const OutputTable<float>& scores, const Outputs& outputs) {
    const auto n = static_cast<std::int64_t>(labels.shape(0));
    if (static_cast<std::int64_t>(codes.shape(0)) != n * n_features)
        throw nb::value_error("codes has the wrong size");
    check_shape(scores, n, outputs.stride);
    return {{codes.data(), n, n_features, 1},
            labels.data(),
            data_or_null(weights),
            scores.data()};
}

// Scores are updated in place. `after_round(loss, validation loss)` returns True to
// end.
nb::dict boost_arrays(
    const Array<float>& values, const Array<std::int64_t>& offsets,
    const Array<std::uint8_t>& codes, const Array<std::uint32_t>& labels,
    const Optional<float>& weights, OutputTable<float> scores,
    const Array<std::uint8_t>& validation_codes,
    const Array<std::uint32_t>& validation_labels,
    const Optional<float>& validation_weights, OutputTable<float> validation_scores,
    const Array<std::int64_t>& used_splits, int n_classes, double learning_rate,
    std::int64_t max_depth, std::int64_t max_leaf_nodes, std::int64_t max_features,
    std::int64_t max_candidates, bool reuse_splits, const std::string& sampling,
    double top_rate, double other_rate, bool leaves_of_sample, double l2,
    double min_gain, std::int64_t min_samples_leaf, std::uint64_t seed,
    std::int64_t first_round, std::int64_t n_rounds,
    const std::function<bool(double, double)>& after_round, int n_threads) {
    const Dictionary dictionary = as_dictionary(values, offsets);
    const Outputs outputs(n_classes);
    const std::int64_t n_features = dictionary.n_features;
    const BoostRows training =
        as_boost_rows(codes, n_features, labels, weights, scores, outputs);
    const BoostRows validation =
        as_boost_rows(validation_codes, n_features, validation_labels,
                      validation_weights, validation_scores, outputs);
    const BoostSettings settings{
        n_classes,
        learning_rate,
        {max_depth, 0, min_samples_leaf, max_leaf_nodes, reuse_splits},
        max_features,
        max_candidates,
        {as_row_sampling(sampling), top_rate, other_rate},
        leaves_of_sample,
        l2,
        min_gain,
        seed,
        first_round,
        n_rounds};
    std::vector<std::int64_t> used(used_splits.data(),
                                   used_splits.data() + used_splits.shape(0));
    auto tell = [&](double loss, double validation_loss) {
        nb::gil_scoped_acquire gil;
        return after_round(loss, validation_loss);
    };
    BoostedTrees boosted = with_team(n_threads, [&](Team& team) {
        return boost(dictionary, training, validation, settings, used, tell, team);
    });
    nb::dict result;
    result["trees"] =
        tree_dict(std::move(boosted.trees), outputs.n, std::move(boosted.node_starts),
                  std::move(boosted.leaf_starts));
    result["gains"] = to_array(std::move(boosted.gains));
    result["used_splits"] = to_array(std::move(used));
    return result;
}

// Writes how often a tree drew each row.
void bootstrap_array(std::uint64_t seed, std::int64_t tree, std::int64_t n_draws,
                     const Optional<double>& cumulative, Output<std::uint32_t> counts) {
    bootstrap(seed, tree, n_draws, data_or_null(cumulative),
              static_cast<std::int64_t>(counts.shape(0)), counts.data());
}

template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

ForestView as_forest(const Table<std::int32_t>& nodes,
                     const Array<std::uint8_t>& missing_left,
                     const Array<std::int64_t>& node_starts,
                     const Array<std::int64_t>& leaf_starts,
                     const Table<float>& leaf_values) {
    if (nodes.shape(1) != 4)
        throw nb::value_error("nodes must have four words each");
    return {{reinterpret_cast<const Node*>(nodes.data()), missing_left.data()},
            node_starts.data(),
            leaf_starts.data(),
            leaf_values.data(),
            static_cast<std::int64_t>(node_starts.shape(0)) - 1,
            static_cast<int>(leaf_values.shape(1))};
}

void find_leaves_array(const AnyArray& X, const Table<std::int32_t>& nodes,
                       const Array<std::uint8_t>& missing_left,
                       const Array<std::int64_t>& node_starts,
                       const Array<std::int64_t>& leaf_starts,
                       const Table<float>& leaf_values,
                       OutputTable<std::int64_t> leaves, int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    const ForestView forest =
        as_forest(nodes, missing_left, node_starts, leaf_starts, leaf_values);
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
    const ForestView forest =
        as_forest(nodes, missing_left, node_starts, leaf_starts, leaf_values);
    const std::int64_t n_rows =
        rows ? static_cast<std::int64_t>(rows->shape(0)) : row_count(matrix);
    check_shape(votes, n_rows, forest.n_classes);
    with_team(n_threads, [&](Team& team) {
        vote(matrix, forest, data_or_null(rows), n_rows, hard, team, votes.data());
        return 0;
    });
}

void add_scores_array(const AnyArray& X, const Table<std::int32_t>& nodes,
                      const Array<std::uint8_t>& missing_left,
                      const Array<std::int64_t>& node_starts,
                      const Array<std::int64_t>& leaf_starts,
                      const Table<float>& leaf_values, OutputTable<float> scores,
                      int n_threads) {
    const AnyMatrix matrix = as_matrix(X);
    const ForestView forest =
        as_forest(nodes, missing_left, node_starts, leaf_starts, leaf_values);
    check_shape(scores, row_count(matrix), forest.n_classes);
    with_team(n_threads, [&](Team& team) {
        add_scores(matrix, forest, team, scores.data());
        return 0;
    });
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The compiled stages of dics. Private: use the estimators.";
    m.def("cluster", &cluster_array, "X"_a.noconvert(), "weights"_a.none(),
          "labels"_a.none(), "n_clusters"_a, "n_classes"_a, "batch_size"_a, "n_steps"_a,
          "moment_rows"_a, "measure_rows"_a, "standardize"_a, "seed"_a, "n_threads"_a,
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
    m.def("grow_tree", &grow_tree, "X"_a.noconvert(), "codes"_a.none(), "code_width"_a,
          "values"_a, "offsets"_a, "labels"_a, "counts"_a.none(),
          "wide_counts"_a.none(), "weights"_a.none(), "n_classes"_a, "entropy"_a,
          "max_depth"_a, "min_samples_split"_a, "min_samples_leaf"_a,
          "min_weight_fraction_leaf"_a, "min_impurity_decrease"_a, "max_candidates"_a,
          "reuse_splits"_a, "renew_thresholds"_a, "renew_rows"_a, "seed"_a,
          "n_threads"_a, "Grow one tree; returns its flat arrays.");
    m.def("grow_forest", &grow_forest_array, "codes"_a, "code_width"_a, "values"_a,
          "offsets"_a, "labels"_a, "counts"_a.none(), "wide_counts"_a.none(),
          "weights"_a.none(), "n_classes"_a, "entropy"_a, "max_depth"_a,
          "min_samples_split"_a, "min_samples_leaf"_a, "min_weight_fraction_leaf"_a,
          "min_impurity_decrease"_a, "max_candidates"_a, "seed"_a, "first_tree"_a,
          "n_trees"_a, "sampling"_a, "max_features"_a, "n_draws"_a,
          "balance_each_tree"_a, "progress"_a.none(), "n_threads"_a,
          "Grow trees side by side; returns their flat arrays.");
    m.def("boost", &boost_arrays, "values"_a, "offsets"_a, "codes"_a, "labels"_a,
          "weights"_a.none(), "scores"_a.noconvert(), "validation_codes"_a,
          "validation_labels"_a, "validation_weights"_a.none(),
          "validation_scores"_a.noconvert(), "used_splits"_a, "n_classes"_a,
          "learning_rate"_a, "max_depth"_a, "max_leaf_nodes"_a, "max_features"_a,
          "max_candidates"_a, "reuse_splits"_a, "sampling"_a, "top_rate"_a,
          "other_rate"_a, "leaves_of_sample"_a, "l2"_a, "min_gain"_a,
          "min_samples_leaf"_a, "seed"_a, "first_round"_a, "n_rounds"_a,
          "after_round"_a, "n_threads"_a,
          "Add rounds to a boosted model; returns their trees.");
    m.def("bootstrap", &bootstrap_array, "seed"_a, "tree"_a, "n_draws"_a,
          "cumulative"_a.none(), "counts"_a.noconvert(),
          "Write how often a tree of a forest drew each row.");
    m.def("find_leaves", &find_leaves_array, "X"_a.noconvert(), "nodes"_a,
          "missing_left"_a, "node_starts"_a, "leaf_starts"_a, "leaf_values"_a,
          "leaves"_a.noconvert(), "n_threads"_a,
          "Write the leaf of each row of X in each tree.");
    m.def("vote", &vote_array, "X"_a.noconvert(), "nodes"_a, "missing_left"_a,
          "node_starts"_a, "leaf_starts"_a, "leaf_values"_a, "rows"_a.none(), "hard"_a,
          "votes"_a.noconvert(), "n_threads"_a,
          "Add the votes of the trees for each row of X.");
    m.def("add_scores", &add_scores_array, "X"_a.noconvert(), "nodes"_a,
          "missing_left"_a, "node_starts"_a, "leaf_starts"_a, "leaf_values"_a,
          "scores"_a.noconvert(), "n_threads"_a,
          "Add the leaf values of the trees for each row of X.");
    m.def(
        "instruction_set", [] { return std::string(kernels().name); },
        "Which build of the kernels runs here: 'avx2' or 'baseline'.");
}

}  // namespace dics
