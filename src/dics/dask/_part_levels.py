"""Columns of categories in a partition of X, on the worker that has it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from dics._categories import Categories, ReadX, filled_type, refuse_sparse_levels
from dics._category_columns import (
    LevelColumn,
    columns_of_categories,
    is_pandas,
    read_column,
)
from dics._fold_means import Folds, LevelMeans
from dics._validation import Array
from dics.dask._parts import PartShape, check_shape, matrix_of, naming_part, shape_of


class PartLook(NamedTuple):
    """What a look at a partition tells."""

    shape: PartShape
    columns: dict[int, LevelColumn]  # those of categories, by feature


def look_at(part: Any, number: int, features: list[int], *, finds: bool) -> PartLook:
    """Read the columns of categories of a partition, and see what the others are.

    Parameters
    ----------
    part : ndarray, DataFrame or sparse matrix
    number : int
        Of the partition, for errors.
    features : list of int
        Columns of categories.
    finds : bool
        Whether to look for more of them. A column of objects that has no text here may
        have some in another partition.
    """
    features = [f for f in features if f < part.shape[1]]  # fewer are refused later
    undecided: list[int] = []
    if finds and part.shape[0] > 0:
        features = sorted({*features, *columns_of_categories(part)})
        undecided = columns_of_objects(part)
    columns = levels_of(part, number, features)
    return PartLook(shape_of(part, number, {*features, *undecided}), columns)


def columns_of_objects(part: Any) -> list[int]:
    """Return the columns whose type doesn't tell what they hold."""
    if scipy.sparse.issparse(part):
        return []  # it holds numbers
    if is_pandas(part):
        return [i for i, dtype in enumerate(part.dtypes) if str(dtype) == "object"]
    return list(range(part.shape[1])) if part.dtype == object else []


def levels_of(part: Any, number: int, features: list[int]) -> dict[int, LevelColumn]:
    """Read some columns of categories, to be sent: in as few bytes as will do."""
    if part.shape[0] == 0:
        return {}
    with naming_part(number):
        refuse_sparse_levels(part, features)
        columns = {f: read_column(part, f) for f in features}
    return {
        f: LevelColumn(column.levels, column.numbers.astype(number_type(column.levels)))
        for f, column in columns.items()
    }


def number_type(levels: Array) -> np.dtype[Any]:
    """Return the smallest type that holds the numbers of levels, and -1."""
    return np.dtype(np.min_scalar_type(-max(len(levels), 1)))


def with_levels(
    part: Any,
    number: int,
    expected: PartShape,
    known: Categories,
    means: LevelMeans | None,
    folds: Folds | None,
) -> Array:
    """Return a partition as an array, with numbers in place of levels.

    Parameters
    ----------
    part : ndarray, DataFrame or sparse matrix
    number : int
        Of the partition, for errors.
    expected : PartShape
        What it is to be like, before columns of pairs are added.
    known : Categories
    means : LevelMeans or None
        What stands for training rows.
    folds : ndarray or None
        Those of the rows of this partition.
    """
    check_shape(part, number, expected)
    if part.shape[0] == 0:
        n_columns = expected.n_columns + len(known.pairs)
        return np.empty((0, n_columns), dtype=filled_type(expected.dtype))
    with naming_part(number):
        read = ReadX(part, known.features)
    matrix = matrix_of(read.numbers, number, expected)
    assert isinstance(matrix, np.ndarray)  # numbers of levels are dense columns
    with naming_part(number):
        if means is None:
            return known.numbers(read, matrix)
        assert folds is not None
        read.columns = means.as_of_all(read.columns)
        return known.training_numbers(read, matrix, means.with_folds(folds))
