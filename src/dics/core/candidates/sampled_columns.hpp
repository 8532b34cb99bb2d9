// The distinct values of each column among a sample of the rows, with their weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "candidates/sort_values.hpp"
#include "data/row_source.hpp"

namespace dics {

// A distinct value of a column, and the total weight of its rows.
template <class T>
struct Atom {
    T value;
    double weight;
};

template <class T>
class SampledColumns {
  public:
    // `weights` null: all weights are 1. Rows with weight 0 are left out. `rows` are
    // indices of rows, and weights have all rows.
    SampledColumns(const KnownRows<T>& X, const std::vector<std::int64_t>& rows,
                   const double* weights)
        : X_(X.X), weights_(weights) {
        for (const std::int64_t row : rows) {
            if (weights && !(weights[row] > 0))
                continue;
            rows_.push_back(row);
            places_in_X_.push_back(X.place(row));
        }
        if (X_.is_sparse())
            transpose();
    }

    // Calls with_atoms(f, sorted atoms) for columns first..last-1, without NaN.
    template <class WithAtoms>
    void each(std::int64_t first, std::int64_t last, WithAtoms with_atoms) const {
        const std::size_t n = last - first;
        std::vector<std::vector<T>> columns(n);
        std::vector<std::vector<std::pair<T, double>>> weighted(n);
        if (!X_.is_sparse())
            read_rows(first, last, columns, weighted);
        ValueSorter<T> sorter;
        for (std::int64_t f = first; f < last; ++f) {
            const std::size_t at = f - first;
            if (X_.is_sparse())
                read_column(f, columns[at], weighted[at]);
            if (weights_) {
                with_atoms(f, atoms_of(weighted[at]));
                continue;
            }
            std::vector<Atom<T>> atoms = atoms_of(columns[at], sorter);
            if (X_.is_sparse())
                insert_zeros(f, atoms);
            with_atoms(f, atoms);
        }
    }

  private:
    using Weighted = std::vector<std::pair<T, double>>;

    static void add_atom(T value, double weight, std::vector<Atom<T>>& atoms) {
        if (!atoms.empty() && atoms.back().value == value)
            atoms.back().weight += weight;
        else
            atoms.push_back({value, weight});
    }

    static std::vector<Atom<T>> atoms_of(std::vector<T>& column,
                                         ValueSorter<T>& sorter) {
        sorter.sort(column);
        std::vector<Atom<T>> atoms;
        for (const T value : column)
            add_atom(value, 1.0, atoms);
        return atoms;
    }

    static std::vector<Atom<T>> atoms_of(Weighted& column) {
        std::sort(column.begin(), column.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<Atom<T>> atoms;
        for (const auto& [value, weight] : column)
            add_atom(value, weight, atoms);
        return atoms;
    }

    // Reads rows, because a cache line of a row-major X has several columns.
    void read_rows(std::int64_t first, std::int64_t last,
                   std::vector<std::vector<T>>& columns,
                   std::vector<Weighted>& weighted) const {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (std::int64_t f = first; f < last; ++f) {
                const T value = X_.dense()(places_in_X_[i], f);
                if (value != value)
                    continue;
                const std::size_t at = f - first;
                if (weights_)
                    weighted[at].emplace_back(value, weights_[rows_[i]]);
                else
                    columns[at].push_back(value);
            }
        }
    }

    // Reads a sparse column. Sums of weights depend on their order, so with weights the
    // zeros are included too, as in a dense column.
    void read_column(std::int64_t f, std::vector<T>& column, Weighted& weighted) const {
        std::uint32_t next = 0;
        auto write_up_to = [&](std::uint32_t place) {
            for (; next < place; ++next)
                weighted.emplace_back(T(), weights_[rows_[next]]);
        };
        for (std::int64_t k = starts_[f]; k < starts_[f + 1]; ++k) {
            const T value = values_[k];
            const std::uint32_t place = places_[k];
            if (weights_) {
                write_up_to(place);
                next = place + 1;
            }
            if (value != value)
                continue;
            if (weights_)
                weighted.emplace_back(value, weights_[rows_[place]]);
            else
                column.push_back(value);
        }
        if (weights_)
            write_up_to(rows_.size());
    }

    void insert_zeros(std::int64_t f, std::vector<Atom<T>>& atoms) const {
        const std::int64_t n_others = rows_.size() - (starts_[f + 1] - starts_[f]);
        if (n_others == 0)
            return;
        auto at =
            std::partition_point(atoms.begin(), atoms.end(),
                                 [](const Atom<T>& atom) { return atom.value < T(); });
        if (at == atoms.end() || at->value != T())
            at = atoms.insert(at, {T(), 0.0});
        at->weight += n_others;
    }

    // Lists the entries of the sampled rows by column.
    void transpose() {
        const SparseMatrix<T>& X = X_.sparse();
        starts_.assign(X.n_cols + 1, 0);
        auto each_entry = [&](auto body) {
            for (std::size_t i = 0; i < rows_.size(); ++i) {
                const std::int64_t row = places_in_X_[i];
                for (std::int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k)
                    body(i, k);
            }
        };
        each_entry([&](std::uint32_t, std::int64_t k) { ++starts_[X.columns[k] + 1]; });
        for (std::int64_t f = 0; f < X.n_cols; ++f)
            starts_[f + 1] += starts_[f];
        places_.resize(starts_.back());
        values_.resize(places_.size());
        std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
        each_entry([&](std::uint32_t place, std::int64_t k) {
            const std::size_t to = next[X.columns[k]]++;
            places_[to] = place;
            values_[to] = X.values[k];
        });
    }

    RowSource<T> X_;
    const double* weights_;
    std::vector<std::int64_t> rows_, places_in_X_;
    // For a sparse X.
    std::vector<std::int64_t> starts_;   // of the entries of each column
    std::vector<std::uint32_t> places_;  // of their rows in the sample
    std::vector<T> values_;
};

}  // namespace dics
