// Stage `predict`.
#include "predict/predict.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

namespace dics {
namespace {

template <class T>
LeafTable<T> as_leaves(const Table<T>& leaf_values) {
    return {leaf_values.data(), int(leaf_values.shape(1))};
}

void check_trees_arrays(const nb::tuple& trees, std::int64_t n_leaves,
                        std::int64_t n_features, int n_classes) {
    const TreesArrays arrays(trees);
    const ForestView forest = arrays.view();
    const std::size_t n_nodes = arrays.nodes.shape(0);
    const std::size_t n_starts = arrays.node_starts.shape(0);
    if (n_starts == 0 || arrays.leaf_starts.shape(0) != n_starts ||
        arrays.missing_left.shape(0) != n_nodes ||
        (arrays.set_numbers && arrays.set_numbers->shape(0) != n_nodes) ||
        arrays.set_numbers.has_value() != arrays.sets.has_value())
        throw nb::value_error("the arrays of trees differ in length");
    check_trees(forest, {std::int64_t(n_nodes), n_leaves,
                         arrays.sets ? std::int64_t(arrays.sets->shape(0)) : 0,
                         n_features, n_classes});
}

void find_leaves_array(const nb::object& X, const nb::tuple& trees,
                       OutputTable<std::int64_t> leaves, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const TreesArrays arrays(trees);
    const ForestView forest = arrays.view();
    check_shape(leaves, row_count(matrix), forest.n_trees);
    with_team(n_threads,
              [&](Team& team) { find_leaves(matrix, forest, team, leaves.data()); });
}

void vote_array(const nb::object& X, const nb::tuple& trees,
                const Table<float>& leaf_values, const Optional<std::uint32_t>& rows,
                bool hard, OutputTable<double> votes, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const TreesArrays arrays(trees);
    const LeafTable<float> leaves = as_leaves(leaf_values);
    const std::int64_t n_rows = rows ? rows->shape(0) : row_count(matrix);
    check_shape(votes, n_rows, leaves.width);
    with_team(n_threads, [&](Team& team) {
        vote(matrix, arrays.view(), leaves, data_or_null(rows), n_rows, hard, team,
             votes.data());
    });
}

template <class T>
void add_values_array(const nb::object& X, const nb::tuple& trees,
                      const Table<T>& leaf_values, const Optional<std::uint32_t>& rows,
                      OutputTable<T> sums, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const TreesArrays arrays(trees);
    const LeafTable<T> leaves = as_leaves(leaf_values);
    const std::int64_t n_rows = rows ? rows->shape(0) : row_count(matrix);
    check_shape(sums, n_rows, leaves.width);
    with_team(n_threads, [&](Team& team) {
        add_values(matrix, arrays.view(), leaves, data_or_null(rows), n_rows, team,
                   sums.data());
    });
}

void add_contributions_array(const nb::object& X, const nb::tuple& trees,
                             const Array<float>& weight,
                             const Array<std::int64_t>& leaf_row,
                             const Table<double>& leaf_values, OutputTable<double> out,
                             int n_threads) {
    const AnyRows matrix = as_rows(X);
    const TreesArrays arrays(trees);
    const ContributionView view{arrays.view(), weight.data(), leaf_row.data(),
                                as_leaves(leaf_values)};
    check_shape(out, row_count(matrix), (col_count(matrix) + 1) * view.leaves.width);
    with_team(n_threads,
              [&](Team& team) { add_contributions(matrix, view, team, out.data()); });
}

}  // namespace

// Trees are (nodes, missing_left, node_starts, leaf_starts, set_numbers, sets).
void bind_predict(nb::module_& m) {
    m.def("add_contributions", &add_contributions_array, "X"_a, "trees"_a, "weight"_a,
          "leaf_row"_a, "leaf_values"_a, "out"_a.noconvert(), "n_threads"_a,
          "Add the contributions of the features to the predictions for X.");
    m.def("check_trees", &check_trees_arrays, "trees"_a, "n_leaves"_a, "n_features"_a,
          "n_classes"_a, "Raise ValueError unless all indices of trees are valid.");
    m.def("find_leaves", &find_leaves_array, "X"_a, "trees"_a, "leaves"_a.noconvert(),
          "n_threads"_a, "Write the leaf of each row of X in each tree.");
    m.def("vote", &vote_array, "X"_a, "trees"_a, "leaf_values"_a, "rows"_a.none(),
          "hard"_a, "votes"_a.noconvert(), "n_threads"_a,
          "Add the votes of the trees for each row of X.");
    const auto add_values = [&](auto function) {
        m.def("add_values", function, "X"_a, "trees"_a, "leaf_values"_a.noconvert(),
              "rows"_a.none(), "sums"_a.noconvert(), "n_threads"_a,
              "Add the leaf values of the trees for each row of X.");
    };
    add_values(&add_values_array<float>);
    add_values(&add_values_array<double>);
}

}  // namespace dics
