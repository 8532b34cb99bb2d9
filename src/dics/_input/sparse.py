"""Sparse X: its checks, and its rows in the form that the core reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dics import _core

Array = npt.NDArray[Any]
# Indices of columns have 32 bits.
MAX_COLUMNS = 2**31 - 1


@final
class SparseRows(_core.SparseArrays):
    """A checked sparse X; values without an entry are zero.

    It replaces an array in all stages: it has a `shape`, a `dtype`, a length and rows.

    Parameters
    ----------
    values : ndarray of float32, float64 or uint8
        Entries, row by row; each column at most once per row.
    columns : ndarray of int32
        The column of each entry.
    starts : ndarray of int64 of shape (n_rows + 1,)
        Index of the first entry of each row.
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
        """Convert a matrix of SciPy, without a copy if its rows are sorted already."""
        rows = X.tocsr()
        # The core requires each column once per row, in increasing order.
        if not rows.has_canonical_format:
            rows = rows.copy() if rows is X else rows  # X belongs to the user
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
        """Return some of the rows, given by indices or a mask."""
        taken = scipy.sparse.csr_array(self.to_scipy()[rows])
        return SparseRows(
            taken.data,
            # SciPy may have chosen other integer types.
            taken.indices.astype(np.int32, copy=False),
            taken.indptr.astype(np.int64, copy=False),
            self.shape[1],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # For the processes of a cluster, which trust each other: without checks.
        return SparseRows, (self.values, self.columns, self.starts, self.shape[1])

    def __sizeof__(self) -> int:
        # Dask uses it to estimate the free memory of a worker.
        return self.values.nbytes + self.columns.nbytes + self.starts.nbytes

    def astype(self, dtype: npt.DTypeLike) -> SparseRows:
        """Return the rows with values of another dtype; no copy if it is the same."""
        if self.dtype == dtype:
            return self
        values = self.values.astype(dtype)
        return SparseRows(values, self.columns, self.starts, self.shape[1])

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return a matrix of SciPy that shares the memory of the entries."""
        return scipy.sparse.csr_array(
            (self.values, self.columns, self.starts), shape=self.shape
        )

    def to_dense(self) -> Array:
        """Return all values as a dense array."""
        dense: Array = self.to_scipy().toarray()
        return dense


def concat_rows(parts: Sequence[Array | SparseRows]) -> Array | SparseRows:
    """Concatenate the rows of several parts; the result is dense if one part is.

    The type of parts without rows does not matter.
    """
    # An empty partition may be dense in a sparse collection.
    filled = [part for part in parts if len(part) > 0] or parts[:1]
    sparse = [part for part in filled if isinstance(part, SparseRows)]
    if len(sparse) < len(filled):
        return np.concatenate(
            [
                part.to_dense() if isinstance(part, SparseRows) else part
                for part in filled
            ]
        )
    # The entries of a part come after those of all parts before it.
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
    """Convert a pandas frame of sparse columns to a matrix.

    The method of pandas converts a mix of bools and numbers to objects, and its errors
    do not name the column.
    """
    columns, rows, values = [], [], []
    for f in range(X.shape[1]):
        column = X.iloc[:, f].array
        if not (column.fill_value == 0):  # also for NaN
            raise ValueError(
                f"column {X.columns[f]!r} is sparse with the fill value "
                f"{column.fill_value!r}, but only 0 is supported. Convert it with "
                ".sparse.to_dense(), or replace NaN and convert it with "
                '.astype(pd.SparseDtype("float", 0)).'
            )
        entries = np.asarray(column.sp_values)
        # The core reads uint8, but not bool.
        values.append(entries.astype(np.uint8) if entries.dtype == bool else entries)
        rows.append(column.sp_index.indices)
        columns.append(np.full(len(entries), f, dtype=np.int32))
    places = (np.concatenate(rows), np.concatenate(columns))
    return scipy.sparse.coo_array((np.concatenate(values), places), X.shape).tocsr()


def check_entries(X: Any) -> None:
    """Raise an error if indices of a matrix of SciPy are out of range.

    SciPy does not check them, and would read and write outside of its arrays.
    """
    if X.format == "coo":
        indices = [("row", X.row, X.shape[0]), ("column", X.col, X.shape[1])]
    elif X.format in ("csr", "csc", "bsr"):
        is_csc = X.format == "csc"
        height, width = X.blocksize if X.format == "bsr" else (1, 1)
        shape = X.shape[0] // height, X.shape[1] // width
        n_outer, n_inner = (shape[1], shape[0]) if is_csc else shape
        starts, n_entries = X.indptr, min(len(X.indices), len(X.data))
        if (
            len(starts) != n_outer + 1
            or starts[0] != 0
            or (starts[1:] < starts[:-1]).any()
            or starts[-1] > n_entries
        ):
            raise ValueError(
                f"Invalid sparse matrix: indptr must have {n_outer + 1} non-decreasing "
                f"entries from 0 to at most {n_entries}, the number of stored values. "
                "Rebuild the matrix."
            )
        inner = "row" if is_csc else "column" if width == 1 else "column block"
        indices = [(inner, X.indices[: starts[-1]], n_inner)]
    else:
        return
    for name, values, n in indices:
        # Minimum and maximum need no memory, as a mask would.
        if len(values) and (values.min() < 0 or values.max() >= n):
            at = int(np.flatnonzero((values < 0) | (values >= n))[0])
            raise ValueError(
                f"Invalid sparse matrix: entry {at} has {name} index {values[at]}, but "
                f"there are {n}. Rebuild the matrix."
            )
