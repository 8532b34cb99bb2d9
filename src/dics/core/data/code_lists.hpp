// Codes of features most of whose rows have the same one: the others alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "data/encode_sparse.hpp"
#include "data/matrix.hpp"
#include "data/row_source.hpp"

namespace dics {

// Entries are codes that differ from the feature's `common` one. They are listed twice:
// a large node asks for those of a feature, a small one for those of its rows. Ten
// bytes each, where a matrix of codes has one for each row and feature.
class CodeLists {
  public:
    // Of columns order[0..n_order-1] of X, or (null) of all.
    template <class T>
    CodeLists(const SparseMatrix<T>& X, const Dictionary& dictionary,
              const std::int32_t* order, std::int64_t n_order)
        : n_rows_(X.n_rows), n_features_(order ? n_order : X.n_cols) {
        const std::vector<std::uint8_t> elsewhere = codes_elsewhere(X, dictionary);
        std::vector<std::int32_t> numbers(static_cast<std::size_t>(X.n_cols), -1);
        for (std::int64_t f = 0; f < n_features_; ++f) {
            const std::int64_t column = order ? order[f] : f;
            numbers[static_cast<std::size_t>(column)] = static_cast<std::int32_t>(f);
            common_.push_back(elsewhere[static_cast<std::size_t>(column)]);
        }
        // Pages that stay empty take no memory; a vector that grows is copied.
        row_features_.reserve(static_cast<std::size_t>(X.starts[X.n_rows]));
        row_codes_.reserve(static_cast<std::size_t>(X.starts[X.n_rows]));
        row_starts_.push_back(0);
        for (std::int64_t row = 0; row < X.n_rows; ++row) {
            for (std::int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k) {
                const auto column = static_cast<std::size_t>(X.columns[k]);
                const std::uint8_t code =
                    code_of(X.values[k], dictionary, X.columns[k]);
                if (numbers[column] >= 0 && code != elsewhere[column]) {
                    row_features_.push_back(numbers[column]);
                    row_codes_.push_back(code);
                }
            }
            row_starts_.push_back(static_cast<std::int64_t>(row_codes_.size()));
        }
        list_columns();
    }

    // Of codes that are bytes: those that differ from `common`, the codes that most
    // rows have.
    CodeLists(const Codes& codes, std::vector<std::uint8_t> common)
        : n_rows_(codes.n_rows),
          n_features_(codes.n_features),
          common_(std::move(common)) {
        row_starts_.push_back(0);
        for (std::int64_t row = 0; row < n_rows_; ++row) {
            for (std::int64_t b = 0; b < codes.n_blocks(); ++b) {
                const std::int64_t first = b * codes.width;
                const std::uint8_t* own = codes.block(b) + row * codes.width - first;
                const std::int64_t last = std::min(n_features_, first + codes.width);
                for (std::int64_t f = first; f < last; ++f) {
                    if (own[f] != common_[static_cast<std::size_t>(f)]) {
                        row_features_.push_back(static_cast<std::int32_t>(f));
                        row_codes_.push_back(own[f]);
                    }
                }
            }
            row_starts_.push_back(static_cast<std::int64_t>(row_codes_.size()));
        }
        list_columns();
    }

    // Some rows of other lists, numbered anew.
    CodeLists(const CodeLists& all, const std::int64_t* rows, std::int64_t n_rows)
        : n_rows_(n_rows), n_features_(all.n_features_), common_(all.common_) {
        row_starts_.push_back(0);
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const auto row = static_cast<std::size_t>(rows[i]);
            const auto first = static_cast<std::ptrdiff_t>(all.row_starts_[row]);
            const auto last = static_cast<std::ptrdiff_t>(all.row_starts_[row + 1]);
            row_features_.insert(row_features_.end(), all.row_features_.begin() + first,
                                 all.row_features_.begin() + last);
            row_codes_.insert(row_codes_.end(), all.row_codes_.begin() + first,
                              all.row_codes_.begin() + last);
            row_starts_.push_back(static_cast<std::int64_t>(row_codes_.size()));
        }
        list_columns();
    }

    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_entries() const { return row_starts_.back(); }
    std::uint8_t common(std::int64_t f) const {
        return common_[static_cast<std::size_t>(f)];
    }

    // Calls each(row, code) for the entries of a feature, by rising row.
    template <class Each>
    void each_row(std::int64_t f, Each each) const {
        for (std::int64_t k = column_starts_[f]; k < column_starts_[f + 1]; ++k)
            each(column_rows_[k], column_codes_[k]);
    }
    std::int64_t n_entries(std::int64_t f) const {
        return column_starts_[f + 1] - column_starts_[f];
    }
    // Calls each(feature, code) for the entries of a row.
    template <class Each>
    void each_feature(std::int64_t row, Each each) const {
        for (std::int64_t k = row_starts_[row]; k < row_starts_[row + 1]; ++k)
            each(row_features_[k], row_codes_[k]);
    }

    std::uint8_t code(std::int64_t f, std::uint32_t row) const {
        const auto first = column_rows_.begin() + column_starts_[f];
        const auto last = column_rows_.begin() + column_starts_[f + 1];
        const auto at = std::lower_bound(first, last, row);
        return at == last || *at != row
                   ? common(f)
                   : column_codes_[static_cast<std::size_t>(at - column_rows_.begin())];
    }

    // The codes of a feature in all rows.
    void spread(std::int64_t f, std::uint8_t* out) const {
        std::memset(out, common(f), static_cast<std::size_t>(n_rows_));
        each_row(f, [&](std::uint32_t row, std::uint8_t code) { out[row] = code; });
    }

  private:
    void list_columns() {
        column_starts_.assign(static_cast<std::size_t>(n_features_) + 1, 0);
        for (const std::int32_t f : row_features_)
            ++column_starts_[static_cast<std::size_t>(f) + 1];
        for (std::size_t f = 0; f < static_cast<std::size_t>(n_features_); ++f)
            column_starts_[f + 1] += column_starts_[f];
        column_rows_.resize(row_features_.size());
        column_codes_.resize(row_features_.size());
        std::vector<std::int64_t> next(column_starts_.begin(),
                                       column_starts_.end() - 1);
        for (std::int64_t row = 0; row < n_rows_; ++row) {
            each_feature(row, [&](std::int32_t f, std::uint8_t code) {
                const auto to = static_cast<std::size_t>(next[f]++);
                column_rows_[to] = static_cast<std::uint32_t>(row);
                column_codes_[to] = code;
            });
        }
    }

    std::int64_t n_rows_, n_features_;
    std::vector<std::uint8_t> common_;
    std::vector<std::int64_t> row_starts_, column_starts_;
    std::vector<std::int32_t> row_features_;
    std::vector<std::uint32_t> column_rows_;
    std::vector<std::uint8_t> row_codes_, column_codes_;
};

}  // namespace dics
