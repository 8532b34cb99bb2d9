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


class PartitionInfo(NamedTuple):
    """What a look at a partition tells."""

    shape: PartitionShape
    columns: dict[int, CategoricalColumn]  # by feature


def inspect_partition(
    part: Any, number: int, features: list[int], *, finds: bool
) -> PartitionInfo:
    """Read the categorical features of a partition, and see what the others are.

    Parameters
    ----------
    part : ndarray, DataFrame or sparse matrix
    number : int
        Of the partition, for errors.
    features : list of int
        Categorical features.
    finds : bool
        Whether to look for more of them. A column of objects that has no text here may
        have some in another partition.
    """
    features = [f for f in features if f < part.shape[1]]  # fewer are refused later
    undecided: list[int] = []
    if finds and part.shape[0] > 0:
        features = sorted({*features, *categorical_columns(part)})
        undecided = columns_of_objects(part)
    columns = categories_of(part, number, features)
    return PartitionInfo(
        partition_shape(part, number, {*features, *undecided}), columns
    )


def columns_of_objects(part: Any) -> list[int]:
    """Return the columns whose type doesn't tell what they hold."""
    if scipy.sparse.issparse(part):
        return []  # it holds numbers
    if is_pandas(part):
        return [i for i, dtype in enumerate(part.dtypes) if str(dtype) == "object"]
    return list(range(part.shape[1])) if part.dtype == object else []


def categories_of(
    part: Any, number: int, features: list[int]
) -> dict[int, CategoricalColumn]:
    """Read some categorical features, to be sent: in as few bytes as will do."""
    if part.shape[0] == 0:
        return {}
    with errors_mention(f"partition {number} of X"):
        refuse_sparse_categories(part, features)
        columns = {f: read_column(part, f) for f in features}
    return {
        f: CategoricalColumn(
            column.categories, column.indices.astype(number_type(column.categories))
        )
        for f, column in columns.items()
    }


def number_type(categories: Array) -> np.dtype[Any]:
    """Return the smallest type that holds the numbers of categories, and -1."""
    return np.dtype(np.min_scalar_type(-max(len(categories), 1)))


def with_categories(
    part: Any,
    number: int,
    expected: PartitionShape,
    known: Categories,
    means: CategoryMeans | None,
    folds: Folds | None,
) -> Array:
    """Return a partition as an array, with numbers in place of categories.

    Parameters
    ----------
    part : ndarray, DataFrame or sparse matrix
    number : int
        Of the partition, for errors.
    expected : PartShape
        What it is to be like, before columns of pairs are added.
    known : Categories
    means : CategoryMeans or None
        What stands for training rows.
    folds : ndarray or None
        Those of the rows of this partition.
    """
    check_shape(part, number, expected)
    if part.shape[0] == 0:
        n_columns = expected.n_columns + len(known.pairs)
        return np.empty((0, n_columns), dtype=encoded_dtype(expected.dtype))
    with errors_mention(f"partition {number} of X"):
        read = CategoricalInput(part, known.features)
    matrix = partition_matrix(read.X, number, expected)
    assert isinstance(matrix, np.ndarray)  # columns of category numbers are dense
    with errors_mention(f"partition {number} of X"):
        if means is None:
            return known.encode(read, matrix)
        assert folds is not None
        read.columns = means.as_of_all(read.columns)
        return known.encode_training_rows(read, matrix, means._replace(folds=folds))


class PartitionShape(NamedTuple):
    """What is known of a partition without its values."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    n_stored: int | None = None  # values of a sparse one, if somebody has looked


class _AnyEstimator(BaseEstimator):
    """What `check_rows` notes names and numbers of columns in."""

    categorical_features = None  # which errors name as a remedy


def partition_matrix(
    part: Any, number: int, expected: PartitionShape
) -> Array | SparseRows:
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
    with errors_mention(f"partition {number} of X"):
        matrix = check_rows(_AnyEstimator(), part, reset=True)
    if isinstance(matrix, SparseRows):
        return matrix.astype(expected.dtype)
    return matrix.astype(expected.dtype, copy=False)


def check_shape(part: Any, number: int, expected: PartitionShape) -> None:
    """Refuse a partition that isn't what its collection says."""
    if part.shape != expected[:2]:
        raise ValueError(
            f"partition {number} of X has {part.shape[0]} rows and {part.shape[1]} "
            f"columns; the collection says {expected.n_rows} and {expected.n_columns}."
        )


def partition_shape(
    part: Any, number: int, categories: Collection[int]
) -> PartitionShape:
    """Return what is known of a partition once it was looked at.

    Columns of `categories` will be numbers.
    """
    n_rows, n_columns = part.shape
    if n_rows == 0:
        return PartitionShape(0, n_columns, np.dtype(np.float64))
    with errors_mention(f"partition {number} of X"):
        refuse_sparse_categories(part, sorted(categories))
    # Columns have types, whatever values they hold.
    first = example_of(part) if scipy.sparse.issparse(part) else part[:1]
    if categories:
        blank = CategoricalColumn(
            np.empty(0, dtype=object), np.zeros(1, dtype=np.int64)
        )
        first = with_category_indices(first, dict.fromkeys(categories, blank))
    with errors_mention(f"partition {number} of X"):
        matrix = check_rows(_AnyEstimator(), first, reset=True)
    n_stored = stored_values(part) if isinstance(matrix, SparseRows) else None
    return PartitionShape(n_rows, n_columns, matrix.dtype, n_stored)


def example_of(matrix: Any) -> scipy.sparse.csr_array:
    """Return a row of zeros of the type and the width of a sparse matrix."""
    return scipy.sparse.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)


def stored_values(part: Any) -> int:
    """Return how many values a sparse matrix or a frame of sparse columns stores."""
    if scipy.sparse.issparse(part):
        return int(part.nnz)
    return sum(part.iloc[:, f].sparse.npoints for f in range(part.shape[1]))


def take_rows(
    matrix: Array | SparseRows, rows: npt.NDArray[np.int64]
) -> Array | SparseRows:
    """Return some rows, row by row."""
    if isinstance(matrix, SparseRows):
        return matrix[rows]
    return np.ascontiguousarray(matrix[rows])


def encode_partition(
    matrix: Array | SparseRows, dictionary: Dictionary
) -> npt.NDArray[np.uint8]:
    """Return the codes of a partition, [feature][row][1]."""
    n_rows, n_features = matrix.shape
    if n_rows == 0:
        return np.empty((n_features, 0, 1), dtype=np.uint8)
    codes = encode(matrix, dictionary, 1, threads_of_worker())
    return codes.reshape(n_features, n_rows, 1)


def out_of_bag_sums(
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
