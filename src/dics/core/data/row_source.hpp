// Rows of the caller's X: dense rows in place, sparse rows as a dense copy of one row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

#include "data/matrix.hpp"

namespace dics {

// Compressed rows (CSR): row i has values[k] in columns[k], k = starts[i] .. starts[i +
// 1] - 1, each column once, and zero in all others.
template <class T>
struct SparseMatrix {
    using value_type = T;

    const T* values;
    const std::int32_t* columns;
    const std::int64_t* starts;
    std::int64_t n_rows;
    std::int64_t n_cols;

    void spread(std::int64_t row, T* out) const {
        std::fill_n(out, n_cols, T());
        for (std::int64_t k = starts[row]; k < starts[row + 1]; ++k)
            out[columns[k]] = values[k];
    }
};

template <class T>
class RowSource {
  public:
    using value_type = T;

    RowSource(const Matrix<T>& dense) : dense_(dense) {}  // NOLINT: implicit
    explicit RowSource(const SparseMatrix<T>& sparse)
        : dense_{nullptr, sparse.n_rows, sparse.n_cols, sparse.n_cols, 1},
          sparse_(sparse) {}

    bool is_sparse() const { return sparse_.starts != nullptr; }
    std::int64_t n_rows() const { return dense_.n_rows; }
    std::int64_t n_cols() const { return dense_.n_cols; }
    const Matrix<T>& dense() const { return dense_; }
    const SparseMatrix<T>& sparse() const { return sparse_; }

    // The values of a row with stride(), in place or in `space`.
    const T* row(std::int64_t i, std::vector<T>& space) const {
        if (!is_sparse())
            return dense_.data + i * dense_.row_stride;
        space.resize(sparse_.n_cols);
        sparse_.spread(i, space.data());
        return space.data();
    }
    std::int64_t stride() const { return dense_.col_stride; }

  private:
    Matrix<T> dense_;
    SparseMatrix<T> sparse_{};
};

template <class T>
struct KnownRows {
    RowSource<T> X;
    RowNumbers known;

    std::int64_t n_rows() const { return known.numbers ? known.n_rows : X.n_rows(); }
    std::int64_t n_cols() const { return X.n_cols(); }
    std::int64_t stride() const { return X.stride(); }
    // The place in X of the row with this index.
    std::int64_t place(std::int64_t number) const {
        const std::int64_t* numbers = known.numbers;
        return numbers
                   ? std::lower_bound(numbers, numbers + X.n_rows(), number) - numbers
                   : number;
    }
    // The values of the row, see RowSource.
    const T* row(std::int64_t number, std::vector<T>& space) const {
        return X.row(place(number), space);
    }
};

using AnyRows =
    std::variant<RowSource<float>, RowSource<double>, RowSource<std::uint8_t>>;

inline std::int64_t row_count(const AnyRows& X) {
    return std::visit([](const auto& x) { return x.n_rows(); }, X);
}

inline std::int64_t col_count(const AnyRows& X) {
    return std::visit([](const auto& x) { return x.n_cols(); }, X);
}

}  // namespace dics
