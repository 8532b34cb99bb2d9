// Stage `predict`.
#include "predict/predict.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "predict/contributions.hpp"

namespace dics {
namespace {

// The number of the set of each node, and the sets; none of trees without categories.
using SetArrays =
    std::pair<Optional<std::int32_t>, std::optional<Table<std::uint64_t>>>;

ForestView as_forest(const Table<std::int32_t>& nodes,
                     const Array<std::uint8_t>& missing_left,
                     const Array<std::int64_t>& node_starts,
                     const Array<std::int64_t>& leaf_starts, const SetArrays& sets) {
    if (nodes.shape(1) != 4)
        throw nb::value_error("nodes must have four words each");
    if (sets.second && sets.second->shape(1) != CodeSet::kWords)
        throw nb::value_error("sets must have four words each");
    return {
        {reinterpret_cast<const Node*>(nodes.data()), missing_left.data(),
         data_or_null(sets.first),
         sets.second ? reinterpret_cast<const CodeSet*>(sets.second->data()) : nullptr},
        node_starts.data(),
        leaf_starts.data(),
        static_cast<std::int64_t>(node_starts.shape(0)) - 1};
}

template <class T>
LeafTable<T> as_leaves(const Table<T>& leaf_values) {
    return {leaf_values.data(), static_cast<int>(leaf_values.shape(1))};
}

void find_leaves_array(const nb::object& X, const Table<std::int32_t>& nodes,
                       const Array<std::uint8_t>& missing_left,
                       const Array<std::int64_t>& node_starts,
                       const Array<std::int64_t>& leaf_starts,
                       const Optional<std::int32_t>& set_numbers,
                       const std::optional<Table<std::uint64_t>>& sets,
                       OutputTable<std::int64_t> leaves, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const ForestView forest =
        as_forest(nodes, missing_left, node_starts, leaf_starts, {set_numbers, sets});
    check_shape(leaves, row_count(matrix), forest.n_trees);
    with_team(n_threads, [&](Team& team) {
        find_leaves(matrix, forest, team, leaves.data());
        return 0;
    });
}

void vote_array(const nb::object& X, const Table<std::int32_t>& nodes,
                const Array<std::uint8_t>& missing_left,
                const Array<std::int64_t>& node_starts,
                const Array<std::int64_t>& leaf_starts,
                const Optional<std::int32_t>& set_numbers,
                const std::optional<Table<std::uint64_t>>& sets,
                const Table<float>& leaf_values, const Optional<std::uint32_t>& rows,
                bool hard, OutputTable<double> votes, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const ForestView forest =
        as_forest(nodes, missing_left, node_starts, leaf_starts, {set_numbers, sets});
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
void add_values_array(const nb::object& X, const Table<std::int32_t>& nodes,
                      const Array<std::uint8_t>& missing_left,
                      const Array<std::int64_t>& node_starts,
                      const Array<std::int64_t>& leaf_starts,
                      const Optional<std::int32_t>& set_numbers,
                      const std::optional<Table<std::uint64_t>>& sets,
                      const Table<T>& leaf_values, const Optional<std::uint32_t>& rows,
                      OutputTable<T> sums, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const ForestView forest =
        as_forest(nodes, missing_left, node_starts, leaf_starts, {set_numbers, sets});
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

void add_contributions_array(
    const nb::object& X, const Table<std::int32_t>& nodes,
    const Array<std::uint8_t>& missing_left, const Array<std::int64_t>& node_starts,
    const Array<std::int64_t>& leaf_starts, const Optional<std::int32_t>& set_numbers,
    const std::optional<Table<std::uint64_t>>& sets, const Array<float>& weight,
    const Array<std::int64_t>& leaf_row, const Table<double>& leaf_values,
    OutputTable<double> out, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const ContributionView trees{
        as_forest(nodes, missing_left, node_starts, leaf_starts, {set_numbers, sets}),
        weight.data(), leaf_row.data(), as_leaves(leaf_values)};
    check_shape(out, row_count(matrix), (col_count(matrix) + 1) * trees.leaves.width);
    with_team(n_threads, [&](Team& team) {
        add_contributions(matrix, trees, team, out.data());
        return 0;
    });
}

}  // namespace

void bind_predict(nb::module_& m) {
    m.def("add_contributions", &add_contributions_array, "X"_a, "nodes"_a,
          "missing_left"_a, "node_starts"_a, "leaf_starts"_a, "set_numbers"_a.none(),
          "sets"_a.none(), "weight"_a, "leaf_row"_a, "leaf_values"_a,
          "out"_a.noconvert(), "n_threads"_a,
          "Add what each feature contributes to the predictions of each row of X.");
    m.def("find_leaves", &find_leaves_array, "X"_a, "nodes"_a, "missing_left"_a,
          "node_starts"_a, "leaf_starts"_a, "set_numbers"_a.none(), "sets"_a.none(),
          "leaves"_a.noconvert(), "n_threads"_a,
          "Write the leaf of each row of X in each tree.");
    m.def("vote", &vote_array, "X"_a, "nodes"_a, "missing_left"_a, "node_starts"_a,
          "leaf_starts"_a, "set_numbers"_a.none(), "sets"_a.none(), "leaf_values"_a,
          "rows"_a.none(), "hard"_a, "votes"_a.noconvert(), "n_threads"_a,
          "Add the votes of the trees for each row of X.");
    const auto add_values = [&](auto function) {
        m.def("add_values", function, "X"_a, "nodes"_a, "missing_left"_a,
              "node_starts"_a, "leaf_starts"_a, "set_numbers"_a.none(), "sets"_a.none(),
              "leaf_values"_a.noconvert(), "rows"_a.none(), "sums"_a.noconvert(),
              "n_threads"_a, "Add the leaf values of the trees for each row of X.");
    };
    add_values(&add_values_array<float>);
    add_values(&add_values_array<double>);
}

}  // namespace dics
