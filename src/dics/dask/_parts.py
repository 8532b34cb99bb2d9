"""What is done to a partition of X, on the worker that has it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import BaseEstimator

from dics._categories import refuse_sparse_levels
from dics._category_columns import LevelColumn, replaced
from dics._out_of_bag import OutOfBag, OutOfBagSums
from dics._sparse_rows import SparseRows
from dics._validation import Array, check_rows
from dics.dictionary import Dictionary, encode


class PartShape(NamedTuple):
    """What is known of a partition without its values."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    n_stored: int | None = None  # values of a sparse one, if somebody has looked


class _AnyEstimator(BaseEstimator):
    """What `check_rows` notes names and numbers of columns in."""

    categorical_features = None  # which errors name as a remedy


@contextmanager
def naming_part(number: int) -> Iterator[None]:
    """Make sure that a refusal says which partition it is about."""
    try:
        yield
    except (TypeError, ValueError) as error:
        said = str(error).removeprefix("X: ")
        said = said if said.startswith("X ") else f"X: {said}"
        raise type(error)(f"partition {number} of {said}") from error


def matrix_of(part: Any, number: int, expected: PartShape) -> Array | SparseRows:
    """Return a partition as the core reads it.

    Parameters
    ----------
    part : ndarray, DataFrame or sparse matrix
    number : int
        Of the partition, for errors.
    expected : PartShape
        What it is to be like.
    """
    check_shape(part, number, expected)
    if part.shape[0] == 0:
        return np.empty((0, part.shape[1]), dtype=expected.dtype)
    with naming_part(number):
        matrix = check_rows(_AnyEstimator(), part, reset=True)
    if isinstance(matrix, SparseRows):
        return matrix.astype(expected.dtype)
    return matrix.astype(expected.dtype, copy=False)


def check_shape(part: Any, number: int, expected: PartShape) -> None:
    """Refuse a partition that isn't what its collection says."""
    if part.shape != expected[:2]:
        raise ValueError(
            f"partition {number} of X has {part.shape[0]} rows and {part.shape[1]} "
            f"columns; the collection says {expected.n_rows} and {expected.n_columns}."
        )


def shape_of(part: Any, number: int, categories: Collection[int]) -> PartShape:
    """Return what is known of a partition once it was looked at.

    Columns of `categories` will be numbers.
    """
    n_rows, n_columns = part.shape
    if n_rows == 0:
        return PartShape(0, n_columns, np.dtype(np.float64))
    with naming_part(number):
        refuse_sparse_levels(part, sorted(categories))
    # Columns have types, whatever values they hold.
    first = example_of(part) if scipy.sparse.issparse(part) else part[:1]
    if categories:
        blank = LevelColumn(np.empty(0, dtype=object), np.zeros(1, dtype=np.int64))
        first = replaced(first, dict.fromkeys(categories, blank))
    with naming_part(number):
        matrix = check_rows(_AnyEstimator(), first, reset=True)
    n_stored = stored_values(part) if isinstance(matrix, SparseRows) else None
    return PartShape(n_rows, n_columns, matrix.dtype, n_stored)


def example_of(matrix: Any) -> scipy.sparse.csr_array:
    """Return a row of zeros of the type and the width of a sparse matrix."""
    return scipy.sparse.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)


def stored_values(part: Any) -> int:
    """Return how many values a sparse matrix or a frame of sparse columns stores."""
    if scipy.sparse.issparse(part):
        return int(part.nnz)
    return sum(part.iloc[:, f].sparse.npoints for f in range(part.shape[1]))


def rows_of(
    matrix: Array | SparseRows, rows: npt.NDArray[np.int64]
) -> Array | SparseRows:
    """Return some rows, row by row."""
    if isinstance(matrix, SparseRows):
        return matrix[rows]
    return np.ascontiguousarray(matrix[rows])


def codes_of(
    matrix: Array | SparseRows, dictionary: Dictionary
) -> npt.NDArray[np.uint8]:
    """Return the codes of a partition, [feature][row][1]."""
    n_rows, n_features = matrix.shape
    if n_rows == 0:
        return np.empty((n_features, 0, 1), dtype=np.uint8)
    codes = encode(matrix, dictionary, 1, threads_of_worker())
    return codes.reshape(n_features, n_rows, 1)


def out_of_bag_of(
    matrix: Array | SparseRows, trees: OutOfBag, left_out: npt.NDArray[np.uint8]
) -> OutOfBagSums:
    """Add up what trees say of rows; a bit of `left_out` for each tree and row."""
    masks = (np.unpackbits(own, count=len(matrix)).astype(np.bool_) for own in left_out)
    return trees.sums(matrix, masks, threads_of_worker())


def threads_of_worker() -> int:
    """Return how many threads a task of this worker may use."""
    from distributed import get_worker

    try:
        n_threads: int = get_worker().state.nthreads
    except ValueError:  # not on a worker
        return 1
    return n_threads
