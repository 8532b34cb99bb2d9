"""Categorical features of a model: the number that stands for each category."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._input.category_pairs import CategoryPair, joined_column
from dics._input.checks import Array, FloatArray
from dics._input.frames import (
    CategoricalColumn,
    CategoricalInput,
    category_indices,
    kind_of_categories,
)
from dics._model.checks import check_array, require

if TYPE_CHECKING:
    from dics._input.category_encoder import CategoryMeans, TargetEncoder

# Most categories of a feature whose numbers are ranks: each is a code of the core.
MAX_RANKS: int = _core.MAX_THRESHOLDS


@dataclass(frozen=True)
class CategoricalFeature:
    """What a model stores of a categorical feature.

    Attributes
    ----------
    feature : int
        Index of the column.
    categories : ndarray
        Sorted: text, numbers or bools.
    values : ndarray of float64, shape (n_categories,)
        The number that stands for each category.
    is_ranked : bool
        Whether the numbers are ranks; otherwise they are mean targets.
    """

    feature: int
    categories: Array
    values: FloatArray
    is_ranked: bool

    def numbers_of(self, column: CategoricalColumn, name: Any) -> FloatArray:
        """Return what stands for the rows of a column; NaN if missing or unknown."""
        if len(column.categories) and len(self.categories):
            known, given = (
                kind_of_categories(self.categories),
                kind_of_categories(column.categories),
            )
            if known != given:
                raise ValueError(
                    f"X: column {name!r} has categories that are {given}, such as "
                    f"{column.categories.tolist()[0]!r}; in fit they were {known}, "
                    f"such as {self.categories.tolist()[0]!r}. Convert the column to "
                    "the type it had in fit."
                )
        return np.append(self.values, np.nan)[self.category_indices(column)]

    def category_indices(self, column: CategoricalColumn) -> npt.NDArray[np.int64]:
        """Return the index of the category of each row here; -1 if unknown."""
        return category_indices(self.categories, column)

    def check(self) -> None:
        """Check the fields of an untrusted model."""
        n = len(self.categories)
        feature: Any = self.feature
        require(
            isinstance(feature, int) and feature >= 0,
            "a categorical feature has no column",
        )
        check_array("values of categories", self.values, np.float64, (n,))
        require(np.isfinite(self.values), "a value of a category is not finite")
        require(isinstance(self.categories, np.ndarray), "categories are no array")
        if self.categories.dtype == object:
            require(
                all(isinstance(category, str) for category in self.categories),
                "a category is not text",
            )
        else:
            require(
                self.categories.dtype in (np.float64, np.bool_),
                "categories are no text, numbers or bools",
            )
        require(self.categories[1:] > self.categories[:-1], "categories are not sorted")
        if self.is_ranked:
            require(
                np.array_equal(np.sort(self.values), np.arange(n)) and n <= MAX_RANKS,
                "ranks of categories are not 0, 1, ...",
            )


class Categories:
    """The categorical features of a model.

    Parameters
    ----------
    columns : list of CategoricalFeature
    pairs : list of CategoryPair
        Their numbers are columns behind those of X.
    """

    def __init__(
        self, columns: list[CategoricalFeature], pairs: list[CategoryPair] | None = None
    ) -> None:
        self.columns = columns
        self.pairs = pairs or []

    def check(self, n_features: int) -> None:
        """Check the fields of an untrusted model."""
        columns: Any = self.columns
        pairs: Any = self.pairs
        require(
            isinstance(columns, list) and isinstance(pairs, list),
            "categories are no list",
        )
        for column in columns:
            require(
                isinstance(column, CategoricalFeature),
                "a categorical feature is something else",
            )
            column.check()
            require(column.feature < n_features, "a categorical feature has no column")
        known = {column.feature: column for column in columns}
        for pair in pairs:
            require(isinstance(pair, CategoryPair), "a pair is something else")
            pair.check(known)

    @property
    def features(self) -> list[int]:
        """Numbers of the columns."""
        return [column.feature for column in self.columns]

    def rank_counts(self) -> dict[int, int]:
        """Return the number of categories of each feature whose numbers are ranks."""
        return {c.feature: len(c.categories) for c in self.columns if c.is_ranked}

    def encode(self, read: CategoricalInput, checked: Array) -> Array:
        """Return a checked X with numbers in place of the categories."""
        if not read.columns:
            return checked
        numbers = {
            column.feature: column.numbers_of(
                read.columns[column.feature], read.names[column.feature]
            )
            for column in self.columns
        }
        return read.with_encoded_columns(checked, numbers, self._numbers_of_pairs(read))

    def _numbers_of_pairs(self, read: CategoricalInput) -> list[FloatArray]:
        paired = {f for pair in self.pairs for f in (pair.first, pair.second)}
        known = {column.feature: column for column in self.columns}
        places = {f: known[f].category_indices(read.columns[f]) for f in paired}
        return [
            pair.numbers_of(
                places[pair.first],
                places[pair.second],
                len(known[pair.second].categories),
            )
            for pair in self.pairs
        ]

    def encode_training_rows(
        self,
        read: CategoricalInput,
        checked: Array,
        outcomes: TargetEncoder | CategoryMeans,
    ) -> Array:
        """Return the same of the rows of a fit, which don't know their own target."""
        numbers = {
            column.feature: outcomes.numbers(column, read.columns[column.feature])
            for column in self.columns
        }
        of_pairs = [
            outcomes.pop_cached(
                (pair.first, pair.second),
                partial(
                    joined_column, read.columns[pair.first], read.columns[pair.second]
                ),
            )
            for pair in self.pairs
        ]
        return read.with_encoded_columns(checked, numbers, of_pairs)

    def without_pair_means(self) -> Categories:
        """Return the same without the means of pairs of categories."""
        keys, values = np.empty(0, dtype=np.int64), np.empty(0)
        return Categories(
            self.columns,
            [replace(pair, keys=keys, values=values) for pair in self.pairs],
        )

    def fold_back_pairs(self, by_column: FloatArray, axis: int = 0) -> FloatArray:
        """Return what columns of the trees have for the features of X.

        Columns of pairs are behind those, and halves of what they have go to both of
        their features.
        """
        by_column = np.moveaxis(by_column, axis, 0)
        n_features = len(by_column) - len(self.pairs)
        shares = by_column[:n_features].copy()
        for pair, of_pair in zip(self.pairs, by_column[n_features:], strict=True):
            shares[pair.first] += of_pair / 2
            shares[pair.second] += of_pair / 2
        return np.moveaxis(shares, 0, axis)

    def find(self, feature: int) -> CategoricalFeature | None:
        """Return what is known of a feature; None if it holds numbers."""
        for column in self.columns:
            if column.feature == feature:
                return column
        return None


# --- target statistics of categories -------------------------------------------------
