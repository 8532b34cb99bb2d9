// Codes of features most of whose rows have the same one: the others alone.
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

// Entries are codes that differ from the feature's `common` one. They are listed by
// feature, and for trees by row as well: a large node asks for those of a feature, a
// small one for those of its rows. Five bytes each, or ten (three or six, where rows or
// features are few), where a matrix of codes has one for each row and feature.
class CodeLists {
  public:
    // Of columns order[0..n_order-1] of X, or (null) of all.
    template <class T>
    CodeLists(const SparseMatrix<T>& X, const Dictionary& dictionary,
              const std::int32_t* order, std::int64_t n_order, bool by_rows)
        : n_rows_(X.n_rows), n_features_(order ? n_order : X.n_cols) {
        const std::vector<std::uint8_t> zeros = codes_of_zero(dictionary);
        std::vector<std::int32_t> numbers(static_cast<std::size_t>(X.n_cols), -1);
        for (std::int64_t f = 0; f < n_features_; ++f) {
            const std::int64_t column = order ? order[f] : f;
            numbers[static_cast<std::size_t>(column)] = static_cast<std::int32_t>(f);
            common_.push_back(zeros[static_cast<std::size_t>(column)]);
        }
        // Calls each(feature, code) for the entries of a row.
        auto read_row = [&](std::int64_t row, auto each) {
            for (std::int64_t k = X.starts[row]; k < X.starts[row + 1]; ++k) {
                const auto column = static_cast<std::size_t>(X.columns[k]);
                const std::uint8_t code =
                    code_of(X.values[k], dictionary, X.columns[k]);
                if (numbers[column] >= 0 && code != zeros[column])
                    each(numbers[column], code);
            }
        };
        if (!by_rows) {
            list_columns(read_row);
            return;
        }
        row_features_ = NumberList(n_features_);
        // Pages that stay empty take no memory; a vector that grows is copied.
        row_features_.reserve(static_cast<std::size_t>(X.starts[X.n_rows]));
        row_codes_.reserve(static_cast<std::size_t>(X.starts[X.n_rows]));
        list_both(read_row);
    }

    // Of codes that are bytes: those that differ from `common`, the codes that most
    // rows have.
    CodeLists(const Codes& codes, std::vector<std::uint8_t> common)
        : n_rows_(codes.n_rows),
          n_features_(codes.n_features),
          common_(std::move(common)),
          row_features_(n_features_) {
        list_both([&](std::int64_t row, auto each) {
            for (std::int64_t b = 0; b < codes.n_blocks(); ++b) {
                const std::int64_t first = b * codes.width;
                const std::uint8_t* own = codes.block(b) + row * codes.width - first;
                const std::int64_t last = std::min(n_features_, first + codes.width);
                for (std::int64_t f = first; f < last; ++f) {
                    if (own[f] != common_[static_cast<std::size_t>(f)])
                        each(static_cast<std::int32_t>(f), own[f]);
                }
            }
        });
    }

    // Some rows of other lists, rising and numbered anew. They share the entries, and
    // pass over those of other rows. There are no lists by row.
    CodeLists(const CodeLists& all, const std::int64_t* rows, std::int64_t n_rows)
        : n_rows_(n_rows),
          n_features_(all.n_features_),
          common_(all.common_),
          columns_(all.columns_) {
        std::vector<std::int32_t> numbers(static_cast<std::size_t>(all.n_rows_), -1);
        for (std::int64_t i = 0; i < n_rows; ++i)
            numbers[static_cast<std::size_t>(rows[i])] = static_cast<std::int32_t>(i);
        if (all.numbers_.empty()) {
            numbers_ = std::move(numbers);
        } else {
            for (const std::int32_t row : all.numbers_)
                numbers_.push_back(row < 0 ? -1
                                           : numbers[static_cast<std::size_t>(row)]);
        }
        for (std::int64_t f = 0; f < n_features_; ++f) {
            std::int64_t n = 0;
            each_row(f, [&](std::uint32_t, std::uint8_t) { ++n; });
            counts_.push_back(n);
        }
    }

    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t n_features() const { return n_features_; }
    // Of all rows, whichever were taken.
    std::int64_t n_entries() const { return columns_->starts.back(); }
    std::uint8_t common(std::int64_t f) const {
        return common_[static_cast<std::size_t>(f)];
    }

    // Calls each(row, code) for the entries of a feature, by rising row.
    template <class Each>
    void each_row(std::int64_t f, Each each) const {
        const std::int64_t last = columns_->starts[f + 1];
        for (std::int64_t k = columns_->starts[f]; k < last; ++k) {
            const std::uint32_t row = columns_->rows[static_cast<std::size_t>(k)];
            if (numbers_.empty()) {
                each(row, columns_->codes[k]);
            } else if (numbers_[row] >= 0) {
                each(static_cast<std::uint32_t>(numbers_[row]), columns_->codes[k]);
            }
        }
    }
    std::int64_t n_entries(std::int64_t f) const {
        return counts_.empty() ? columns_->starts[f + 1] - columns_->starts[f]
                               : counts_[static_cast<std::size_t>(f)];
    }
    // Calls each(feature, code) for the entries of a row, if they are listed by row.
    template <class Each>
    void each_feature(std::int64_t row, Each each) const {
        for (std::int64_t k = row_starts_[row]; k < row_starts_[row + 1]; ++k)
            each(static_cast<std::int32_t>(row_features_[static_cast<std::size_t>(k)]),
                 row_codes_[k]);
    }

    // Not where rows were taken.
    std::uint8_t code(std::int64_t f, std::uint32_t row) const {
        const auto last = static_cast<std::size_t>(columns_->starts[f + 1]);
        const std::size_t at = columns_->rows.lower_bound(
            static_cast<std::size_t>(columns_->starts[f]), last, row);
        return at == last || columns_->rows[at] != row ? common(f)
                                                       : columns_->codes[at];
    }

    // The codes of a feature in all rows.
    void spread(std::int64_t f, std::uint8_t* out) const {
        std::memset(out, common(f), static_cast<std::size_t>(n_rows_));
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
        starts.assign(static_cast<std::size_t>(n_features_) + 1, 0);
        for (std::int64_t row = 0; row < n_rows_; ++row)
            read_row(row, [&](std::int32_t f, std::uint8_t) { ++starts[f + 1]; });
        for (std::size_t f = 0; f < static_cast<std::size_t>(n_features_); ++f)
            starts[f + 1] += starts[f];
        columns.rows.resize(static_cast<std::size_t>(starts.back()));
        columns.codes.resize(columns.rows.size());
        std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
        for (std::int64_t row = 0; row < n_rows_; ++row) {
            read_row(row, [&](std::int32_t f, std::uint8_t code) {
                const auto to = static_cast<std::size_t>(next[f]++);
                columns.rows.set(to, static_cast<std::uint32_t>(row));
                columns.codes[to] = code;
            });
        }
        columns_ = std::make_shared<const Columns>(std::move(columns));
    }

    template <class ReadRow>
    void list_both(ReadRow read_row) {
        row_starts_.push_back(0);
        for (std::int64_t row = 0; row < n_rows_; ++row) {
            read_row(row, [&](std::int32_t f, std::uint8_t code) {
                row_features_.push_back(static_cast<std::uint32_t>(f));
                row_codes_.push_back(code);
            });
            row_starts_.push_back(static_cast<std::int64_t>(row_codes_.size()));
        }
        list_columns([&](std::int64_t row, auto each) { each_feature(row, each); });
    }

    std::int64_t n_rows_, n_features_;
    std::vector<std::uint8_t> common_;
    std::shared_ptr<const Columns> columns_;
    // Where rows were taken: what the others' rows are here, or -1, and how many
    // entries of each feature are left. Empty otherwise.
    std::vector<std::int32_t> numbers_;
    std::vector<std::int64_t> counts_;
    // Lists by row, which may be empty.
    std::vector<std::int64_t> row_starts_;
    NumberList row_features_;
    std::vector<std::uint8_t> row_codes_;
};

}  // namespace dics
