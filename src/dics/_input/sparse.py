"""Sparse X: its checks, and rows that the core reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dics import _core

Array = npt.NDArray[Any]
# Columns are numbered in 32 bits.
MAX_COLUMNS = 2**31 - 1


@final
class SparseRows(_core.SparseArrays):
    """A checked sparse X; what it has no entry for is zero.

    Stages take it in the place of an array: it has a `shape`, a length and rows.

    Parameters
    ----------
    values : ndarray of float32, float64 or uint8
        Entries, row by row; each column at most once in a row.
    columns : ndarray of int32
        The column of each entry.
    starts : ndarray of int64 of shape (n_rows + 1,)
        Where the entries of each row begin.
    n_columns : int
    """

    def __init__(
        self,
        values: Array,
        columns: npt.NDArray[np.int32],
        starts: npt.NDArray[np.int64],
        n_columns: int,
    ) -> None:
        super().__init__(values, columns, starts, n_columns)
        self.values = values
        self.columns = columns
        self.starts = starts
        self.shape = (len(starts) - 1, n_columns)

    @classmethod
    def of(cls, X: Any) -> SparseRows:
        """Take a matrix of scipy; without a copy if its rows are in order already."""
        rows = X.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy() if rows is X else rows
            rows.sum_duplicates()
        if rows.shape[1] > MAX_COLUMNS:
            raise ValueError(
                f"X has {rows.shape[1]} features; at most {MAX_COLUMNS} are supported."
            )
        return cls(
            np.ascontiguousarray(rows.data),
            np.ascontiguousarray(rows.indices, dtype=np.int32),
            np.ascontiguousarray(rows.indptr, dtype=np.int64),
            rows.shape[1],
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: npt.NDArray[Any]) -> SparseRows:
        """Return some of the rows, given as an array of numbers or a mask."""
        taken = scipy.sparse.csr_array(self.to_scipy()[rows])
        return SparseRows(
            taken.data,
            taken.indices.astype(np.int32, copy=False),
            taken.indptr.astype(np.int64, copy=False),
            self.shape[1],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Between the processes of a cluster; what they send one another is trusted.
        return SparseRows, (self.values, self.columns, self.starts, self.shape[1])

    def __sizeof__(self) -> int:
        # Dask decides by it what a worker has room for.
        return self.values.nbytes + self.columns.nbytes + self.starts.nbytes

    def astype(self, dtype: npt.DTypeLike) -> SparseRows:
        """Return the same rows with values of another type; themselves if they are."""
        if self.dtype == dtype:
            return self
        return SparseRows(
            self.values.astype(dtype), self.columns, self.starts, self.shape[1]
        )

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the entries as scipy has them, sharing their memory."""
        return scipy.sparse.csr_array(
            (self.values, self.columns, self.starts), shape=self.shape
        )

    def to_dense(self) -> Array:
        """Return all values as a dense array."""
        dense: Array = self.to_scipy().toarray()
        return dense


def concat_rows(parts: Sequence[Array | SparseRows]) -> Array | SparseRows:
    """Return the rows of several parts, one below the other; dense if one part is.

    Parts without rows may be of any kind.
    """
    filled = [part for part in parts if len(part) > 0] or parts[:1]
    sparse = [part for part in filled if isinstance(part, SparseRows)]
    if len(sparse) < len(filled):
        return np.concatenate(
            [
                part.to_dense() if isinstance(part, SparseRows) else part
                for part in filled
            ]
        )
    ends = np.cumsum([0, *(len(part.values) for part in sparse)])
    starts = [
        part.starts[:-1] + end for part, end in zip(sparse, ends[:-1], strict=True)
    ]
    return SparseRows(
        np.concatenate([part.values for part in sparse]),
        np.concatenate([part.columns for part in sparse]),
        np.concatenate([*starts, ends[-1:]], dtype=np.int64),
        sparse[0].shape[1],
    )


def matrix_of_frame(X: Any) -> scipy.sparse.csr_array:
    """Return a pandas frame of sparse columns as a matrix.

    pandas itself makes objects of bools beside numbers, and refuses what is not zero
    between the entries without a word on the column.
    """
    columns, rows, values = [], [], []
    for f in range(X.shape[1]):
        column = X.iloc[:, f].array
        if not (column.fill_value == 0):  # NaN neither
            raise ValueError(
                f"column {X.columns[f]!r} is sparse with {column.fill_value!r} "
                "between its entries, and only zeros may be left out; make it dense, "
                "as .sparse.to_dense() does, or leave out zeros: "
                '.astype(pd.SparseDtype("float", 0)) after NaN was replaced.'
            )
        entries = np.asarray(column.sp_values)
        values.append(entries.astype(np.uint8) if entries.dtype == bool else entries)
        rows.append(column.sp_index.indices)
        columns.append(np.full(len(entries), f, dtype=np.int32))
    matrix = scipy.sparse.coo_array(
        (
            np.concatenate(values),
            (np.concatenate(rows), np.concatenate(columns)),
        ),
        shape=X.shape,
    )
    return matrix.tocsr()


def check_entries(X: Any) -> None:
    """Refuse entries of a matrix of scipy that lie outside of it.

    scipy doesn't look at them, and reads and writes beyond its arrays.
    """
    if X.format == "coo":
        for axis, (name, numbers) in enumerate((("row", X.row), ("column", X.col))):
            _check_numbers(name, numbers, X.shape[axis])
    elif X.format in ("csr", "csc", "bsr"):
        is_csc = X.format == "csc"
        height, width = X.blocksize if X.format == "bsr" else (1, 1)
        shape = X.shape[0] // height, X.shape[1] // width
        _check_starts(X, shape[1 if is_csc else 0])
        inner = "row" if is_csc else "column" if width == 1 else "block of columns"
        used = X.indices[: X.indptr[-1]]
        _check_numbers(inner, used, shape[0 if is_csc else 1])


def _check_starts(X: Any, n: int) -> None:
    starts = X.indptr
    n_entries = min(len(X.indices), len(X.data))
    rises = (
        len(starts) == n + 1 and starts[0] == 0 and (starts[1:] >= starts[:-1]).all()
    )
    if not rises or starts[-1] > n_entries:
        raise ValueError(
            f"its indptr must have {n + 1} numbers that rise from 0 to at most the "
            f"number of entries, {n_entries}; make the matrix anew."
        )


def _check_numbers(name: str, numbers: npt.NDArray[Any], n: int) -> None:
    if len(numbers) == 0 or (numbers.min() >= 0 and numbers.max() < n):
        return
    at = int(np.flatnonzero((numbers < 0) | (numbers >= n))[0])
    raise ValueError(
        f"entry {at} of the sparse matrix is of {name} {numbers[at]}, and there are "
        f"{n}; make the matrix anew."
    )
