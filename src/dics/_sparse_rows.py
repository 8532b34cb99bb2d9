"""Sparse X: compressed rows that the core reads in place, never as a dense array."""

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


def joined_matrices(parts: Sequence[Array | SparseRows]) -> Array | SparseRows:
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
