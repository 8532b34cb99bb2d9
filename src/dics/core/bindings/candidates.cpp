// Stages `candidates` and `data`: centroids, thresholds, codes.
#include <nanobind/stl/unique_ptr.h>

#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "candidates/kmeans.hpp"
#include "candidates/thresholds.hpp"
#include "data/encode.hpp"

namespace dics {
namespace {

nb::tuple centroid_arrays(Centroids&& c, std::size_t n_features) {
    const std::size_t k = c.count;
    return nb::make_tuple(to_array(std::move(c.means), {k, n_features}),
                          to_array(std::move(c.scales), {k, n_features}),
                          to_array(std::move(c.squared_distances), {k, k}));
}

RowNumbers as_row_numbers(const Optional<std::int64_t>& numbers, const AnyRows& matrix,
                          std::int64_t n_rows) {
    if (!numbers)
        return {};
    if (std::int64_t(numbers->shape(0)) != row_count(matrix))
        throw nb::value_error("numbers has the wrong size.");
    return {numbers->data(), n_rows};
}

nb::dict cluster_array(const nb::object& X, const Optional<std::int64_t>& numbers,
                       std::int64_t n_rows, const Optional<double>& weights,
                       const Optional<std::uint32_t>& labels,
                       const ClusterSettings& settings, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const RowNumbers known = as_row_numbers(numbers, matrix, n_rows);
    if (settings.n_classes > 0 && !labels)
        throw nb::value_error("labels is required if n_classes is positive.");
    Clusters c = with_team(n_threads, [&](Team& team) {
        return cluster(matrix, known, data_or_null(weights), data_or_null(labels),
                       settings, team);
    });
    const std::size_t p = col_count(matrix);
    nb::dict result;
    result["clusters"] = centroid_arrays(std::move(c.clusters), p);
    result["classes"] = centroid_arrays(std::move(c.classes), p);
    result["low"] = to_array(std::move(c.low));
    result["high"] = to_array(std::move(c.high));
    result["deviation"] = to_array(std::move(c.deviation));
    return result;
}

nb::tuple make_thresholds_array(const nb::object& X,
                                const Optional<std::int64_t>& numbers,
                                std::int64_t n_rows, const Optional<double>& weights,
                                const Table<double>& boundaries, int budget,
                                int least_even, std::int64_t n_sampled,
                                std::uint64_t seed, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const RowNumbers known = as_row_numbers(numbers, matrix, n_rows);
    Thresholds t = with_team(n_threads, [&](Team& team) {
        return make_thresholds(matrix, known, data_or_null(weights), boundaries.data(),
                               boundaries.shape(1), budget, least_even, n_sampled, seed,
                               team);
    });
    return nb::make_tuple(to_array(std::move(t.values)), to_array(std::move(t.offsets)),
                          t.exact, t.n_constant);
}

// The caller allocates `codes`, because NumPy uses huge pages, which halve the cost of
// the first write.
void encode_array(const nb::object& X, const Array<double>& values,
                  const Array<std::int64_t>& offsets,
                  const Optional<std::int32_t>& order, int width,
                  Output<std::uint8_t> codes, int n_threads) {
    const AnyRows matrix = as_rows(X);
    const Dictionary dictionary = as_dictionary(values, offsets);
    check_features(matrix, dictionary);
    const std::int64_t n_features = order ? order->shape(0) : col_count(matrix);
    if (std::int64_t(codes.shape(0)) !=
            codes_size(row_count(matrix), n_features, width) ||
        (order && n_features > width))
        throw nb::value_error("codes has the wrong size.");
    with_team(n_threads, [&](Team& team) {
        if (order) {
            encode_ordered(matrix, dictionary, order->data(), n_features, width, team,
                           codes.data());
        } else {
            encode(matrix, dictionary, width, team, codes.data());
        }
    });
}

std::unique_ptr<CodeLists> code_lists(const SparseArrays& X,
                                      const Array<double>& values,
                                      const Array<std::int64_t>& offsets,
                                      const Optional<std::int32_t>& order,
                                      bool by_rows) {
    const AnyRows rows = X.rows();
    const Dictionary dictionary = as_dictionary(values, offsets);
    check_features(rows, dictionary);
    return with_team(1, [&](Team&) {
        return std::visit(
            [&](const auto& source) {
                return std::make_unique<CodeLists>(
                    source.sparse(), dictionary, data_or_null(order),
                    order ? order->shape(0) : 0, by_rows);
            },
            rows);
    });
}

std::unique_ptr<CodeLists> take_lists(const CodeLists& lists,
                                      const Array<std::int64_t>& rows) {
    return with_team(1, [&](Team&) {
        return std::make_unique<CodeLists>(lists, rows.data(), rows.shape(0));
    });
}

}  // namespace

void bind_candidates(nb::module_& m) {
    nb::class_<CodeLists>(
        m, "CodeLists",
        "Codes that differ from the most frequent code of their feature.")
        .def("take", &take_lists, "rows"_a,
             "Return the lists of some sorted rows, which share the entries.");
    m.def("code_lists", &code_lists, "X"_a, "values"_a, "offsets"_a, "order"_a.none(),
          "by_rows"_a,
          "List the codes of a sparse X, or of its columns in the given order, by "
          "feature and, if by_rows, by row.");
    nb::class_<SparseArrays>(m, "SparseArrays", "A sparse X (CSR).")
        .def(nb::init<nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>,
                      Array<std::int32_t>, Array<std::int64_t>, std::int64_t>(),
             "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(),
             "n_cols"_a);
    m.def("cluster", &cluster_array, "X"_a, "numbers"_a.none(), "n_rows"_a,
          "weights"_a.none(), "labels"_a.none(), "settings"_a, "n_threads"_a,
          "Compute means, scales and distances of clusters and class means.");
    m.def("make_thresholds", &make_thresholds_array, "X"_a, "numbers"_a.none(),
          "n_rows"_a, "weights"_a.none(), "boundaries"_a, "budget"_a, "least_even"_a,
          "n_sampled"_a, "seed"_a, "n_threads"_a,
          "Compute the thresholds of each feature: boundaries and quantiles.");
    m.def(
        "rows_for_clusters",
        [](std::int64_t n_rows, const Optional<double>& weights,
           const ClusterSettings& settings) {
            return to_array(rows_for_clusters(n_rows, data_or_null(weights), settings));
        },
        "n_rows"_a, "weights"_a.none(), "settings"_a,
        "Return the indices of the rows that `cluster` reads.");
    m.def(
        "rows_for_thresholds",
        [](std::int64_t n_rows, std::int64_t n_sampled, std::uint64_t seed) {
            return to_array(rows_for_thresholds(n_rows, n_sampled, seed));
        },
        "n_rows"_a, "n_sampled"_a, "seed"_a,
        "Return the indices of the rows that `make_thresholds` reads.");
    m.def("encode", &encode_array, "X"_a, "values"_a, "offsets"_a, "order"_a.none(),
          "width"_a, "codes"_a, "n_threads"_a,
          "Write the codes of X, in blocks of `width` features.");
    m.def("code_width", &code_width, "n_features"_a,
          "Return the width of the blocks of codes for a tree.");
}

}  // namespace dics
