// Arrays of Python and those of the core; the GIL is released in between.
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
    if (static_cast<std::int64_t>(out.shape(0)) != n_rows ||
        static_cast<std::int64_t>(out.shape(1)) != n_cols) {
        throw nb::value_error("the array to write to has the wrong shape");
    }
}

template <class T>
Matrix<T> typed(const DenseArray& X) {
    return {static_cast<const T*>(X.data()), static_cast<std::int64_t>(X.shape(0)),
            static_cast<std::int64_t>(X.shape(1)), X.stride(0), X.stride(1)};
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
            throw nb::value_error("the arrays of a sparse X don't belong together");
    }

    AnyRows rows() const {
        if (values_.dtype() == nb::dtype<float>())
            return of_type<float>();
        if (values_.dtype() == nb::dtype<double>())
            return of_type<double>();
        if (values_.dtype() == nb::dtype<std::uint8_t>())
            return of_type<std::uint8_t>();
        throw nb::type_error("X must be float32, float64 or uint8");
    }

  private:
    template <class T>
    RowSource<T> of_type() const {
        return RowSource<T>(SparseMatrix<T>{
            static_cast<const T*>(values_.data()), columns_.data(), starts_.data(),
            static_cast<std::int64_t>(starts_.shape(0)) - 1, n_cols_});
    }

    Values values_;
    Array<std::int32_t> columns_;
    Array<std::int64_t> starts_;
    std::int64_t n_cols_;
};

// X as Python has it, an array or SparseArrays; it must be kept alive meanwhile.
inline AnyRows as_rows(const nb::object& X) {
    if (nb::isinstance<SparseArrays>(X))
        return nb::cast<const SparseArrays&>(X).rows();
    const auto array = nb::cast<DenseArray>(X, false);
    if (array.dtype() == nb::dtype<float>())
        return RowSource<float>(typed<float>(array));
    if (array.dtype() == nb::dtype<double>())
        return RowSource<double>(typed<double>(array));
    if (array.dtype() == nb::dtype<std::uint8_t>())
        return RowSource<std::uint8_t>(typed<std::uint8_t>(array));
    throw nb::type_error("X must be float32, float64 or uint8");
}

// An array without elements is there, too, though it may point nowhere.
template <class T>
const T* data_or_null(const Optional<T>& array) {
    static const T none{};
    if (!array)
        return nullptr;
    return array->data() ? array->data() : &none;
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

inline bool signal_pending() {
    if (must_stop())
        return true;
    InsidePython python;
    return handles_signals();
}

// Runs `body` without the GIL and with a team; Ctrl-C ends it, and so does the end of
// Python.
template <class Body>
auto with_team(int n_threads, Body body, Interrupted interrupted = signal_pending) {
    try {
        OutsidePython outside;
        Team team(n_threads, std::move(interrupted));
        return body(team);
    } catch (const Stopped&) {
        // Python ends, but isn't as far yet: this ends the thread without a word.
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_SystemExit, "Python is ending");
        throw nb::python_error();
    }
}

inline Dictionary as_dictionary(const Array<double>& values,
                                const Array<std::int64_t>& offsets) {
    return {values.data(), offsets.data(),
            static_cast<std::int64_t>(offsets.shape(0)) - 1};
}

inline void check_features(const AnyRows& X, const Dictionary& dictionary) {
    if (col_count(X) != dictionary.n_features) {
        throw nb::value_error(
            "X and the dictionary differ in their number of features");
    }
}

// Codes as Python has them, bytes or CodeLists; they must be kept alive meanwhile.
inline Codes as_codes(const nb::object& object, std::int64_t n_rows,
                      std::int64_t n_features, int width) {
    if (nb::isinstance<CodeLists>(object)) {
        const auto& lists = nb::cast<const CodeLists&>(object);
        if (lists.n_rows() != n_rows || lists.n_features() != n_features)
            throw nb::value_error("codes has the wrong size");
        return {nullptr, n_rows, n_features, 1, &lists};
    }
    const auto codes = nb::cast<Array<std::uint8_t>>(object);
    if (static_cast<std::int64_t>(codes.shape(0)) !=
        codes_size(n_rows, n_features, width)) {
        throw nb::value_error("codes has the wrong size");
    }
    return {codes.data(), n_rows, n_features, width};
}

inline TargetColumns as_targets(const Table<double>& y,
                                const Optional<std::uint32_t>& counts,
                                const Optional<std::uint64_t>& wide_counts,
                                const Optional<double>& weights) {
    return {y.data(),
            static_cast<std::int64_t>(y.shape(0)),
            static_cast<int>(y.shape(1)),
            data_or_null(counts),
            data_or_null(wide_counts),
            data_or_null(weights)};
}

// A vector of nodes as an array of four 32-bit words each.
inline nb::object node_array(std::vector<Node>&& nodes) {
    auto* owned = new std::vector<Node>(std::move(nodes));
    nb::capsule owner(
        owned, [](void* p) noexcept { delete static_cast<std::vector<Node>*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy, std::int32_t>(owned->data(), {owned->size(), 4}, owner));
}

inline nb::dict forest_dict(ForestArrays&& forest, int width) {
    const auto k = static_cast<std::size_t>(width);
    TreeArrays& trees = forest.trees;
    const std::size_t n_rows = trees.leaf_values.size() / k;
    const std::size_t n_leaves = trees.leaf_means.size() / k;
    nb::dict result;
    result["nodes"] = node_array(std::move(trees.nodes));
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
