"""What is done to a partition of X, on the worker that has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from dics._category_columns import column_names, columns_of_categories
from dics._validation import Array, check_matrix
from dics.dictionary import Dictionary, encode


class PartShape(NamedTuple):
    """What is known of a partition without its values."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]


class _AnyEstimator(BaseEstimator):
    """What `check_matrix` notes names and numbers of columns in."""


def matrix_of(part: Any, number: int, expected: PartShape | None = None) -> Array:
    """Return a partition as an array that the core reads.

    Parameters
    ----------
    part : ndarray or DataFrame
    number : int
        Of the partition, for errors.
    expected : PartShape or None
        What it is to be like; None for what suits its values.
    """
    if expected is not None and part.shape != expected[:2]:
        raise ValueError(
            f"partition {number} of X has {part.shape[0]} rows and {part.shape[1]} "
            f"columns; the collection says {expected.n_rows} and {expected.n_columns}."
        )
    if len(part) == 0:
        dtype = np.dtype(np.float64) if expected is None else expected.dtype
        return np.empty((0, part.shape[1]), dtype=dtype)
    try:
        _refuse_categories(part)
        matrix = check_matrix(_AnyEstimator(), part, reset=True)
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {number} of X: {error}") from error
    return matrix if expected is None else matrix.astype(expected.dtype, copy=False)


def _refuse_categories(part: Any) -> None:
    for f in columns_of_categories(part):
        names = column_names(part)
        raise ValueError(
            f"column {f if names is None else names[f]!r} holds categories; on a "
            "cluster there are none yet. Encode them first, for example by "
            "OrdinalEncoder."
        )


def shape_of(part: Any, number: int) -> PartShape:
    """Return what is known of a partition once it was looked at."""
    matrix = matrix_of(part, number)
    return PartShape(len(matrix), matrix.shape[1], matrix.dtype)


def rows_of(matrix: Array, rows: npt.NDArray[np.int64]) -> Array:
    """Return some rows, row by row."""
    return np.ascontiguousarray(matrix[rows])


def distinct_values(matrix: Array, column: int) -> npt.NDArray[np.float64]:
    """Return the distinct values of a column, without NaN."""
    values = np.unique(matrix[:, column].astype(np.float64))
    return values[~np.isnan(values)]


def narrowed(matrix: Array, ranks: Any) -> Array:
    """Return a partition with ranks in place of the values of wide columns."""
    changed: Array = ranks.narrowed(matrix)
    return changed


def codes_of(
    matrix: Array,
    dictionary: Dictionary,
    width: int,
    order: npt.NDArray[np.int32] | None = None,
) -> npt.NDArray[np.uint8]:
    """Return the codes of a partition, [block][row][width]."""
    n_features = matrix.shape[1] if order is None else len(order)
    n_blocks = -(-n_features // width)
    if len(matrix) == 0:
        return np.empty((n_blocks, 0, width), dtype=np.uint8)
    codes = encode(matrix, dictionary, width, threads_of_worker(), order)
    return codes.reshape(n_blocks, len(matrix), width)


def joined_codes(parts: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.uint8]:
    """Return the codes of the rows of all parts, as the core wants them."""
    return np.concatenate(parts, axis=1).ravel()


def threads_of_worker() -> int:
    """Return how many threads a task of this worker may use."""
    from distributed import get_worker

    try:
        n_threads: int = get_worker().state.nthreads
    except ValueError:  # not on a worker
        return 1
    return n_threads
