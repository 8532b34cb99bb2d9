// Sparse codes of features that have the same code in most rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "data/encode_sparse.hpp"
#include "data/matrix.hpp"
#include "data/number_list.hpp"
#include "data/row_source.hpp"

namespace dics {

// Entries are codes that differ from the `common` code of the feature. They are listed
// by feature, for large nodes, and for trees also by row, for small nodes. An entry has
// five bytes per list, or three with at most 65,536 rows or features; a matrix of codes
// has one byte per row and feature.
class CodeLists {
  public:
    // Lists columns order[0..n_order-1] of X; null: all columns.
    template <class T>
    CodeLists(const SparseMatrix<T>& X, const Dictionary& dictionary,
              const std::int32_t* order, std::int64_t n_order, bool by_rows)
        : n_rows_(X.n_rows), n_features_(order ? n_order : X.n_cols) {
        const std::vector<std::uint8_t> zeros = codes_of_zero(dictionary);
        std::vector<std::int32_t> numbers(X.n_cols, -1);
        for (std::int64_t f = 0; f < n_features_; ++f) {
            const std::int64_t column = order ? order[f] : f;
            numbers[column] = f;
            common_.push_back(zeros[column]);
        }
        // Calls each(feature, code) for the entries of a row.
        auto read_row = [&](std::int64_t row, auto each) {
            for (std::int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k) {
                const std::int64_t column = X.columns[k];
                const std::uint8_t code = code_of(X.values[k], dictionary, column);
                if (numbers[column] >= 0 && code != zeros[column])
                    each(numbers[column], code);
            }
        };
        if (!by_rows) {
            list_columns(read_row);
            return;
        }
        row_features_ = NumberList(n_features_);
        // A vector that grows is copied, and unused pages take no memory.
        row_features_.reserve(X.starts[X.n_rows]);
        row_codes_.reserve(X.starts[X.n_rows]);
        row_starts_.push_back(0);
        for (std::int64_t row = 0; row < n_rows_; ++row) {
            read_row(row, [&](std::int32_t f, std::uint8_t code) {
                row_features_.push_back(f);
                row_codes_.push_back(code);
            });
            row_starts_.push_back(row_codes_.size());
        }
        list_columns([&](std::int64_t row, auto each) { each_feature(row, each); });
    }

    // Some rows of other lists, sorted and with new indices. The new lists share the
    // entries and skip those of other rows. They have no lists by row.
    CodeLists(const CodeLists& all, const std::int64_t* rows, std::int64_t n_rows)
        : n_rows_(n_rows),
          n_features_(all.n_features_),
          common_(all.common_),
          columns_(all.columns_) {
        std::vector<std::int32_t> numbers(all.n_rows_, -1);
        for (std::int64_t i = 0; i < n_rows; ++i)
            numbers[rows[i]] = i;
        if (all.numbers_.empty()) {
            numbers_ = std::move(numbers);
        } else {
            for (const std::int32_t row : all.numbers_)
                numbers_.push_back(row < 0 ? -1 : numbers[row]);
        }
        for (std::int64_t f = 0; f < n_features_; ++f) {
            std::int64_t n = 0;
            each_row(f, [&](std::uint32_t, std::uint8_t) { ++n; });
            counts_.push_back(n);
        }
    }

    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t n_features() const { return n_features_; }
    // The number of entries of all rows, also of rows that are skipped.
    std::int64_t n_entries() const { return columns_->starts.back(); }
    std::uint8_t common(std::int64_t f) const { return common_[f]; }

    // Calls each(row, code) for the entries of a feature, in the order of rows.
    template <class Each>
    void each_row(std::int64_t f, Each each) const {
        const std::int64_t last = columns_->starts[f + 1];
        for (std::int64_t k = columns_->starts[f]; k < last; ++k) {
            const std::uint32_t row = columns_->rows[k];
            if (numbers_.empty()) {
                each(row, columns_->codes[k]);
            } else if (numbers_[row] >= 0) {
                each(numbers_[row], columns_->codes[k]);
            }
        }
    }
    std::int64_t n_entries(std::int64_t f) const {
        return counts_.empty() ? columns_->starts[f + 1] - columns_->starts[f]
                               : counts_[f];
    }
    // Calls each(feature, code) for the entries of a row, if they are listed by row.
    template <class Each>
    void each_feature(std::int64_t row, Each each) const {
        for (std::int64_t k = row_starts_[row]; k < row_starts_[row + 1]; ++k)
            each(row_features_[k], row_codes_[k]);
    }

    // Not for a selection of rows.
    std::uint8_t code(std::int64_t f, std::uint32_t row) const {
        const std::size_t last = columns_->starts[f + 1];
        const std::size_t at =
            columns_->rows.lower_bound(columns_->starts[f], last, row);
        return at == last || columns_->rows[at] != row ? common(f)
                                                       : columns_->codes[at];
    }

    // Writes the codes of a feature for all rows.
    void spread(std::int64_t f, std::uint8_t* out) const {
        std::memset(out, common(f), n_rows_);
        each_row(f, [&](std::uint32_t row, std::uint8_t code) { out[row] = code; });
    }

  private:
    struct Columns {
        std::vector<std::int64_t> starts;
        NumberList rows;
        std::vector<std::uint8_t> codes;
    };

    // read_row(row, each) calls each(feature, code) for the entries of a row.
    template <class ReadRow>
    void list_columns(ReadRow read_row) {
        Columns columns{{}, NumberList(n_rows_), {}};
        auto& starts = columns.starts;
        starts.assign(n_features_ + 1, 0);
        for (std::int64_t row = 0; row < n_rows_; ++row)
            read_row(row, [&](std::int32_t f, std::uint8_t) { ++starts[f + 1]; });
        for (std::int64_t f = 0; f < n_features_; ++f)
            starts[f + 1] += starts[f];
        columns.rows.resize(starts.back());
        columns.codes.resize(columns.rows.size());
        std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
        for (std::int64_t row = 0; row < n_rows_; ++row) {
            read_row(row, [&](std::int32_t f, std::uint8_t code) {
                const std::size_t to = next[f]++;
                columns.rows.set(to, row);
                columns.codes[to] = code;
            });
        }
        columns_ = std::make_shared<const Columns>(std::move(columns));
    }

    std::int64_t n_rows_, n_features_;
    std::vector<std::uint8_t> common_;
    std::shared_ptr<const Columns> columns_;
    // For a selection of rows: the new index of each row, or -1, and the number of
    // entries of each feature. Empty otherwise.
    std::vector<std::int32_t> numbers_;
    std::vector<std::int64_t> counts_;
    // Lists by row, which may be empty.
    std::vector<std::int64_t> row_starts_;
    NumberList row_features_;
    std::vector<std::uint8_t> row_codes_;
};

}  // namespace dics
