"""Sparse X as it is given: frames of sparse columns, and entries that can't be."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse


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
