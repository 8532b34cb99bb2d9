"""Functions that a worker applies to its partitions of X."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import BaseEstimator

from dics._dictionary import Dictionary, encode
from dics._growing.sampling import OutOfBag, OutOfBagSums
from dics._input.categories import Categories
from dics._input.category_encoder import CategoryMeans, Folds
from dics._input.checks import Array, check_rows, errors_mention
from dics._input.frames import (
    CategoricalColumn,
    CategoricalInput,
    categorical_columns,
    encoded_dtype,
    is_pandas,
    read_column,
    refuse_sparse_categories,
    with_category_indices,
)
from dics._input.sparse import SparseRows


class PartitionShape(NamedTuple):
    """Shape and dtype of a partition, without its values."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    n_stored: int | None = None  # stored values of a sparse partition, if known


class PartitionInfo(NamedTuple):
    """Shape and categorical features of a partition."""

    shape: PartitionShape
    columns: dict[int, CategoricalColumn]  # by feature


class _AnyEstimator(BaseEstimator):
    """Estimator that `check_rows` sets names and number of columns on."""

    categorical_features = None  # error messages mention it as a remedy


def inspect_partition(
    part: Any, number: int, features: list[int], *, finds: bool
) -> PartitionInfo:
    """Read the shape and the categorical features of a partition.

    Parameters
    ----------
    part : ndarray, DataFrame or sparse matrix
    number : int
        Index of the partition, for errors.
    features : list of int
        Categorical features.
    finds : bool
        Whether to find more of them by their types and values.
    """
    # Missing columns raise an error later, with the expected number.
    features = [f for f in features if f < part.shape[1]]
    undecided: list[int] = []
    if finds and part.shape[0] > 0:
        features = sorted({*features, *categorical_columns(part)})
        # A column of objects without text may have text in another partition.
        if is_pandas(part):
            types = [str(dtype) for dtype in part.dtypes]
            undecided = [i for i, name in enumerate(types) if name == "object"]
        elif part.dtype == object and not scipy.sparse.issparse(part):
            undecided = list(range(part.shape[1]))
    columns = categories_of(part, number, features)
    return PartitionInfo(
        partition_shape(part, number, {*features, *undecided}), columns
    )


def categories_of(
    part: Any, number: int, features: list[int]
) -> dict[int, CategoricalColumn]:
    """Read categorical features, with indices of a small dtype for the network."""
    columns: dict[int, CategoricalColumn] = {}
    if part.shape[0] == 0:
        return columns
    with errors_mention(f"partition {number} of X"):
        refuse_sparse_categories(part, features)
        for f in features:
            categories, indices = read_column(part, f)
            indices = indices.astype(number_type(categories))
            columns[f] = CategoricalColumn(categories, indices)
    return columns


def number_type(categories: Array) -> np.dtype[Any]:
    """Return the smallest dtype for indices of categories, and -1."""
    return np.dtype(np.min_scalar_type(-max(len(categories), 1)))


def with_categories(
    part: Any,
    number: int,
    expected: PartitionShape,
    known: Categories,
    means: CategoryMeans | None,
    folds: Folds | None,
) -> Array:
    """Return a partition as an array with encoded categories.

    Parameters
    ----------
    part : ndarray, DataFrame or sparse matrix
    number : int
        Index of the partition, for errors.
    expected : PartitionShape
        Shape according to the collection, before columns of pairs are added.
    known : Categories
    means : CategoryMeans or None
        Mean targets for training rows.
    folds : ndarray or None
        Folds of the rows of this partition.
    """
    _check_shape(part, number, expected)
    if part.shape[0] == 0:
        n_columns = expected.n_columns + len(known.pairs)
        return np.empty((0, n_columns), dtype=encoded_dtype(expected.dtype))
    with errors_mention(f"partition {number} of X"):
        read = CategoricalInput(part, known.features)
        matrix = partition_matrix(read.X, number, expected)
        assert isinstance(matrix, np.ndarray)  # sparse X has no categories
        if means is None:
            return known.encode(read, matrix)
        assert folds is not None
        read.columns = means.as_of_all(read.columns)
        return known.encode_training_rows(read, matrix, means._replace(folds=folds))


def partition_matrix(
    part: Any, number: int, expected: PartitionShape
) -> Array | SparseRows:
    """Return a partition in the form that the core reads.

    Parameters
    ----------
    part : ndarray, DataFrame or sparse matrix
    number : int
        Index of the partition, for errors.
    expected : PartitionShape
        Shape according to the collection.
    """
    _check_shape(part, number, expected)
    if part.shape[0] == 0:
        return np.empty((0, part.shape[1]), dtype=expected.dtype)
    with errors_mention(f"partition {number} of X"):
        matrix = check_rows(_AnyEstimator(), part, reset=True)
    if isinstance(matrix, SparseRows):
        return matrix.astype(expected.dtype)
    return matrix.astype(expected.dtype, copy=False)


def _check_shape(part: Any, number: int, expected: PartitionShape) -> None:
    """Raise an error if a partition has another shape than in its collection."""
    if part.shape != expected[:2]:
        raise ValueError(
            f"partition {number} of X has {part.shape[0]} rows and {part.shape[1]} "
            f"columns; the collection declares {expected.n_rows} and "
            f"{expected.n_columns}."
        )


def partition_shape(
    part: Any, number: int, categories: Collection[int]
) -> PartitionShape:
    """Return the shape of a partition, and its dtype after the check.

    Columns of `categories` will be encoded as floats.
    """
    n_rows, n_columns = part.shape
    if n_rows == 0:
        return PartitionShape(0, n_columns, np.dtype(np.float64))
    with errors_mention(f"partition {number} of X"):
        refuse_sparse_categories(part, sorted(categories))
        # One row is enough: columns have a dtype, regardless of their values.
        if scipy.sparse.issparse(part):
            first: Any = scipy.sparse.csr_array((1, n_columns), dtype=part.dtype)
        else:
            first = part[:1]
        if categories:
            blank = CategoricalColumn(
                np.empty(0, dtype=object), np.zeros(1, dtype=np.int64)
            )
            first = with_category_indices(first, dict.fromkeys(categories, blank))
        matrix = check_rows(_AnyEstimator(), first, reset=True)
    n_stored = None
    if scipy.sparse.issparse(part):
        n_stored = int(part.nnz)
    elif isinstance(matrix, SparseRows):
        n_stored = sum(part.iloc[:, f].sparse.npoints for f in range(n_columns))
    return PartitionShape(n_rows, n_columns, matrix.dtype, n_stored)


def take_rows(
    matrix: Array | SparseRows, rows: npt.NDArray[np.int64]
) -> Array | SparseRows:
    """Return some rows, stored row by row."""
    if isinstance(matrix, SparseRows):
        return matrix[rows]
    # Row by row, because rows of several partitions are concatenated.
    return np.ascontiguousarray(matrix[rows])


def encode_partition(
    matrix: Array | SparseRows, dictionary: Dictionary
) -> npt.NDArray[np.uint8]:
    """Return the codes of a partition, [feature][row][1]."""
    # The core does not accept arrays without rows.
    n_rows, n_features = matrix.shape
    if n_rows == 0:
        return np.empty((n_features, 0, 1), dtype=np.uint8)
    codes = encode(matrix, dictionary, 1, threads_of_worker())
    return codes.reshape(n_features, n_rows, 1)


def out_of_bag_sums(
    matrix: Array | SparseRows, trees: OutOfBag, left_out: npt.NDArray[np.uint8]
) -> OutOfBagSums:
    """Sum the predictions for rows; `left_out` has one bit per tree and row."""
    masks = (np.unpackbits(bits, count=len(matrix)).astype(bool) for bits in left_out)
    return trees.sums(matrix, masks, threads_of_worker())


def threads_of_worker() -> int:
    """Return the number of threads that a task of this worker may use."""
    from distributed import get_worker

    try:
        n_threads: int = get_worker().state.nthreads
    except ValueError:  # not on a worker
        return 1
    return n_threads
