// Converts arrays between Python and the core, and releases the GIL for calls.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>
#include <vector>

#include "bindings/gil.hpp"
#include "data/code_lists.hpp"
#include "data/row_source.hpp"
#include "grow/grow.hpp"
#include "predict/predict.hpp"
#include "team.hpp"

namespace dics {

namespace nb = nanobind;
using namespace nb::literals;

using DenseArray = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
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
    if (std::int64_t(out.shape(0)) != n_rows || std::int64_t(out.shape(1)) != n_cols)
        throw nb::value_error("The output array has the wrong shape.");
}

// Calls make(T()) with the element type T of X.
template <class Make>
AnyRows with_type(const nb::dlpack::dtype& type, Make make) {
    if (type == nb::dtype<float>())
        return make(float());
    if (type == nb::dtype<double>())
        return make(double());
    if (type == nb::dtype<std::uint8_t>())
        return make(std::uint8_t());
    throw nb::type_error("X must have dtype float32, float64 or uint8.");
}

// The arrays of a sparse X.
class SparseArrays {
    using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

  public:
    SparseArrays(Values values, Array<std::int32_t> columns, Array<std::int64_t> starts,
                 std::int64_t n_cols)
        : values_(std::move(values)),
          columns_(std::move(columns)),
          starts_(std::move(starts)),
          n_cols_(n_cols) {
        if (starts_.shape(0) == 0 || values_.shape(0) != columns_.shape(0))
            throw nb::value_error(
                "The arrays of a sparse X do not have matching sizes.");
    }

    AnyRows rows() const {
        return with_type(values_.dtype(), [&]<class T>(T) {
            return RowSource<T>(SparseMatrix<T>{
                static_cast<const T*>(values_.data()), columns_.data(), starts_.data(),
                std::int64_t(starts_.shape(0)) - 1, n_cols_});
        });
    }

  private:
    Values values_;
    Array<std::int32_t> columns_;
    Array<std::int64_t> starts_;
    std::int64_t n_cols_;
};

// X is an array or SparseArrays; the caller keeps it alive.
inline AnyRows as_rows(const nb::object& X) {
    if (nb::isinstance<SparseArrays>(X))
        return nb::cast<const SparseArrays&>(X).rows();
    const auto array = nb::cast<DenseArray>(X, false);
    return with_type(array.dtype(), [&]<class T>(T) {
        return RowSource<T>(
            Matrix<T>{static_cast<const T*>(array.data()), std::int64_t(array.shape(0)),
                      std::int64_t(array.shape(1)), array.stride(0), array.stride(1)});
    });
}

// An empty array is not null, although its pointer may be.
template <class T>
const T* data_or_null(const Optional<T>& array) {
    static const T none{};
    if (!array)
        return nullptr;
    return array->data() ? array->data() : &none;
}

// The array takes over the memory of the vector without a copy.
template <class T, class Element = T>
nb::object to_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned,
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, Element>(owned->data(), shape, owner));
}

template <class T>
nb::object to_array(std::vector<T>&& values) {
    const std::size_t n = values.size();
    return to_array(std::move(values), {n});
}

inline bool signal_pending() {
    if (must_stop())
        return true;
    InsidePython python;
    return handles_signals();
}

// Runs `body` without the GIL and with a team. Ctrl-C and the end of Python stop it.
template <class Body>
auto with_team(int n_threads, Body body, Interrupted interrupted = signal_pending) {
    try {
        OutsidePython outside;
        Team team(n_threads, std::move(interrupted));
        return body(team);
    } catch (const Stopped&) {
        // Python is ending: SystemExit ends the thread without a message.
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_SystemExit, "Python is ending.");
        throw nb::python_error();
    }
}

inline Dictionary as_dictionary(const Array<double>& values,
                                const Array<std::int64_t>& offsets) {
    return {values.data(), offsets.data(), std::int64_t(offsets.shape(0)) - 1};
}

inline void check_features(const AnyRows& X, const Dictionary& dictionary) {
    if (col_count(X) != dictionary.n_features)
        throw nb::value_error(
            "X and the dictionary have different numbers of features.");
}

// Codes are bytes or CodeLists; the caller keeps them alive.
inline Codes as_codes(const nb::object& object, std::int64_t n_rows,
                      std::int64_t n_features, int width) {
    if (nb::isinstance<CodeLists>(object)) {
        const auto& lists = nb::cast<const CodeLists&>(object);
        if (lists.n_rows() != n_rows || lists.n_features() != n_features)
            throw nb::value_error("codes has the wrong size.");
        return {nullptr, n_rows, n_features, 1, &lists};
    }
    const auto codes = nb::cast<Array<std::uint8_t>>(object);
    if (std::int64_t(codes.shape(0)) != codes_size(n_rows, n_features, width))
        throw nb::value_error("codes has the wrong size.");
    return {codes.data(), n_rows, n_features, width};
}

inline TargetColumns as_targets(const Table<double>& y,
                                const Optional<std::uint32_t>& counts,
                                const Optional<std::uint64_t>& wide_counts,
                                const Optional<double>& weights) {
    return {y.data(),
            std::int64_t(y.shape(0)),
            int(y.shape(1)),
            data_or_null(counts),
            data_or_null(wide_counts),
            data_or_null(weights)};
}

// The arrays of trees, from a tuple.
struct TreesArrays {
    Table<std::int32_t> nodes;
    Array<std::uint8_t> missing_left;
    Array<std::int64_t> node_starts, leaf_starts;
    // The index of the set of each node, and the sets; None without categorical splits.
    Optional<std::int32_t> set_numbers;
    std::optional<Table<std::uint64_t>> sets;

    explicit TreesArrays(const nb::tuple& arrays)
        : nodes(nb::cast<Table<std::int32_t>>(arrays[0])),
          missing_left(nb::cast<Array<std::uint8_t>>(arrays[1])),
          node_starts(nb::cast<Array<std::int64_t>>(arrays[2])),
          leaf_starts(nb::cast<Array<std::int64_t>>(arrays[3])),
          set_numbers(nb::cast<Optional<std::int32_t>>(arrays[4])),
          sets(nb::cast<std::optional<Table<std::uint64_t>>>(arrays[5])) {
        if (nodes.shape(1) != 4)
            throw nb::value_error("nodes must have four columns.");
        if (sets && sets->shape(1) != CodeSet::kWords)
            throw nb::value_error("sets must have four columns.");
    }

    ForestView view() const {
        return {{reinterpret_cast<const Node*>(nodes.data()), missing_left.data(),
                 data_or_null(set_numbers),
                 sets ? reinterpret_cast<const CodeSet*>(sets->data()) : nullptr},
                node_starts.data(),
                leaf_starts.data(),
                std::int64_t(node_starts.shape(0)) - 1};
    }
};

inline nb::dict forest_dict(ForestArrays&& forest, int width) {
    const std::size_t k = width;
    TreeArrays& trees = forest.trees;
    const std::size_t n_nodes = trees.nodes.size();
    const std::size_t n_rows = trees.leaf_values.size() / k;
    const std::size_t n_leaves = trees.leaf_means.size() / k;
    nb::dict result;
    // Four 32-bit words per node.
    result["nodes"] =
        to_array<Node, std::int32_t>(std::move(trees.nodes), {n_nodes, 4});
    result["n_samples"] = to_array(std::move(trees.n_samples));
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
    if (!trees.set_numbers.empty()) {
        std::vector<std::uint64_t> words;
        for (const CodeSet& set : trees.sets)
            words.insert(words.end(), set.words.begin(), set.words.end());
        const std::size_t n_sets = trees.sets.size();
        result["set_numbers"] = to_array(std::move(trees.set_numbers));
        result["sets"] = to_array(std::move(words), {n_sets, CodeSet::kWords});
    }
    result["node_starts"] = to_array(std::move(forest.node_starts));
    result["leaf_starts"] = to_array(std::move(forest.leaf_starts));
    return result;
}

}  // namespace dics
