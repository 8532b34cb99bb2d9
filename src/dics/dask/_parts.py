"""What is done to a partition of X, on the worker that has it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from dics._category_columns import LevelColumn, replaced
from dics._out_of_bag import OutOfBag, OutOfBagSums
from dics._validation import Array, check_matrix
from dics.dictionary import Dictionary, encode


class PartShape(NamedTuple):
    """What is known of a partition without its values."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]


class _AnyEstimator(BaseEstimator):
    """What `check_matrix` notes names and numbers of columns in."""

    categorical_features = None  # which errors name as a remedy


@contextmanager
def naming_part(number: int) -> Iterator[None]:
    """Make sure that a refusal says which partition it is about."""
    try:
        yield
    except (TypeError, ValueError) as error:
        said = str(error).removeprefix("X: ")
        raise type(error)(f"partition {number} of X: {said}") from error


def matrix_of(part: Any, number: int, expected: PartShape) -> Array:
    """Return a partition as an array that the core reads.

    Parameters
    ----------
    part : ndarray or DataFrame
    number : int
        Of the partition, for errors.
    expected : PartShape
        What it is to be like.
    """
    check_shape(part, number, expected)
    if len(part) == 0:
        return np.empty((0, part.shape[1]), dtype=expected.dtype)
    with naming_part(number):
        matrix = check_matrix(_AnyEstimator(), part, reset=True)
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
    # Columns have types, whatever values they hold.
    first = part[:1]
    if categories:
        blank = LevelColumn(np.empty(0, dtype=object), np.zeros(1, dtype=np.int64))
        first = replaced(first, dict.fromkeys(categories, blank))
    with naming_part(number):
        matrix = check_matrix(_AnyEstimator(), first, reset=True)
    return PartShape(n_rows, n_columns, matrix.dtype)


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


def out_of_bag_of(
    matrix: Array, trees: OutOfBag, left_out: npt.NDArray[np.uint8]
) -> OutOfBagSums:
    """Add up what trees say of rows; a bit of `left_out` for each tree and row."""
    masks = (np.unpackbits(own, count=len(matrix)).astype(np.bool_) for own in left_out)
    return trees.sums(matrix, masks, threads_of_worker())


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
