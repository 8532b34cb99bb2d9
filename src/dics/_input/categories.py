"""Categorical features of a model: the float that encodes each category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._input.category_pairs import CategoryPair, joined_keys
from dics._input.checks import Array, FloatArray
from dics._input.frames import (
    MOST_EXACT,
    CategoricalColumn,
    CategoricalInput,
    category_indices,
    kind_of_categories,
)
from dics._model.checks import check_array, require

if TYPE_CHECKING:
    # The encoder creates `Categories`: a real import would be circular.
    from dics._input.category_encoder import CategoryMeans, TargetEncoder

# Maximum number of categories encoded as ranks: each rank is a code of the core.
MAX_RANKS: int = _core.MAX_THRESHOLDS
# Types of values that become float64 without a check; None becomes NaN.
PLAIN_NUMBERS = {float, int, bool, type(None)}


@dataclass(frozen=True)
class CategoricalFeature:
    """Categories of a feature, and the values that encode them.

    Attributes
    ----------
    feature : int
        Index of the column.
    categories : ndarray
        Sorted: text, numbers or bools.
    values : ndarray of float64, shape (n_categories,)
        The encoded value of each category.
    is_ranked : bool
        Whether these values are ranks; otherwise they are mean targets.
    """

    feature: int
    categories: Array
    values: FloatArray
    is_ranked: bool

    def find(self, column: CategoricalColumn, name: Any) -> npt.NDArray[np.int64]:
        """Return the index of the category of each row; -1 if missing or unknown."""
        # Without this check, all rows of a column of another type would be unknown.
        if len(column.categories) and len(self.categories):
            known = kind_of_categories(self.categories)
            given = kind_of_categories(column.categories)
            if known != given:
                raise ValueError(
                    f"X: column {name!r} has categories that are {given}, such as "
                    f"{column.categories.tolist()[0]!r}; in fit they were {known}, "
                    f"such as {self.categories.tolist()[0]!r}. Convert the column to "
                    "the type it had in fit."
                )
        return category_indices(self.categories, column)

    def values_of(self, indices: npt.NDArray[np.int64]) -> FloatArray:
        """Return the encoded value of each row by its index; NaN for -1."""
        return np.append(self.values, np.nan)[indices]

    def check(self) -> None:
        """Check the fields of an untrusted model."""
        n = len(self.categories)
        # Any, because a file may contain other types than the annotations promise.
        feature: Any = self.feature
        require(
            isinstance(feature, int) and feature >= 0,
            "the index of a categorical feature must be an integer >= 0",
        )
        check_array("values of categories", self.values, np.float64, (n,))
        require(np.isfinite(self.values), "values of categories must be finite")
        require(isinstance(self.categories, np.ndarray), "categories must be an array")
        if self.categories.dtype == object:
            require(
                all(isinstance(category, str) for category in self.categories),
                "categories of dtype object must be str",
            )
        else:
            require(
                self.categories.dtype in (np.float64, np.bool_),
                "categories must be str, float or bool",
            )
        require(self.categories[1:] > self.categories[:-1], "categories must be sorted")
        # The core uses ranks as indices of bits in the sets of nodes.
        if self.is_ranked:
            require(
                np.array_equal(np.sort(self.values), np.arange(n)) and n <= MAX_RANKS,
                "ranks of categories must be 0, 1, ...",
            )


class CategoryLookup(NamedTuple):
    """The categories of a feature as a dictionary, for predictions of a few rows.

    Attributes
    ----------
    types : tuple of type
        Types of the categories.
    indices : dict
        The index of each category.
    values : list of float
        The encoded value of each category, and a NaN for index -1.
    """

    types: tuple[type, ...]
    indices: dict[Any, int]
    values: list[float]

    @classmethod
    def of(cls, known: CategoricalFeature) -> CategoryLookup:
        """Make the dictionary of a feature."""
        # A feature without categories accepts missing values only.
        types: tuple[type, ...] = ()
        if len(known.categories):
            kinds = {"O": (str,), "b": (bool,)}
            types = kinds.get(known.categories.dtype.kind, (int, float))
        indices = {category: i for i, category in enumerate(known.categories.tolist())}
        return cls(types, indices, [*known.values.tolist(), np.nan])

    def find(self, values: Sequence[Any]) -> list[int] | None:
        """Return the index of each category, or -1 if it is missing or unknown.

        Return None if only `CategoricalFeature.find` can check a value.
        """
        found = []
        for value in values:
            # By the exact type, because True == 1 == 1.0 have one place in `indices`.
            if type(value) in self.types and (
                self.types[0] is not int or -MOST_EXACT <= value <= MOST_EXACT
            ):
                found.append(self.indices.get(value, -1))
            elif value is None or (type(value) is float and value != value):
                found.append(-1)
            else:
                return None
        return found


@dataclass(eq=False)
class Categories:
    """The categorical features of a model.

    Parameters
    ----------
    columns : list of CategoricalFeature
    pairs : list of CategoryPair
        Their encoded values are columns that follow those of X.
    """

    columns: list[CategoricalFeature]
    pairs: list[CategoryPair] = field(default_factory=list)
    _lookups: dict[int, CategoryLookup] | None = field(default=None, init=False)

    def __getstate__(self) -> dict[str, Any]:
        # Dictionaries are made again: pickles and model files do not contain them.
        return {"columns": self.columns, "pairs": self.pairs}

    def check(self, n_features: int) -> None:
        """Check the fields of an untrusted model."""
        # Any: see `CategoricalFeature.check`.
        columns: Any = self.columns
        pairs: Any = self.pairs
        require(
            isinstance(columns, list) and isinstance(pairs, list),
            "`columns` and `pairs` of categories must be lists",
        )
        for column in columns:
            require(
                isinstance(column, CategoricalFeature),
                "`columns` must contain CategoricalFeature objects",
            )
            column.check()
            require(
                column.feature < n_features,
                f"the index of a categorical feature is not below {n_features}",
            )
        known = {column.feature: column for column in columns}
        for pair in pairs:
            require(
                isinstance(pair, CategoryPair),
                "`pairs` must contain CategoryPair objects",
            )
            pair.check(known)

    @property
    def features(self) -> list[int]:
        """Indices of the categorical features."""
        return [column.feature for column in self.columns]

    def rank_counts(self) -> dict[int, int]:
        """Return the number of categories of each feature that is encoded as ranks."""
        return {c.feature: len(c.categories) for c in self.columns if c.is_ranked}

    def encode(self, read: CategoricalInput, checked: Array) -> Array:
        """Return a checked X with encoded categories."""
        if not read.columns:
            return checked
        indices, columns = {}, {}
        for known in self.columns:
            f = known.feature
            indices[f] = known.find(read.columns[f], read.names[f])
            columns[f] = known.values_of(indices[f])
        return read.with_encoded_columns(checked, columns, self._pair_values(indices))

    def _pair_values(
        self, indices: Mapping[int, npt.NDArray[np.int64]]
    ) -> list[FloatArray]:
        """Return the encoded values of all pairs, from indices of categories."""
        sizes = {known.feature: len(known.categories) for known in self.columns}
        # Keys consist of indices into the categories of the fit.
        return [
            pair.encode(
                joined_keys(
                    indices[pair.first], indices[pair.second], sizes[pair.second]
                )
            )
            for pair in self.pairs
        ]

    def encode_few(self, columns: list[Sequence[Any]]) -> FloatArray | None:
        """Return a few rows with encoded categories, as `encode` does, but faster.

        Return None if a value needs the checks of `encode`.
        """
        # At the first use, because most models predict many rows at a time.
        if self._lookups is None:
            self._lookups = {c.feature: CategoryLookup.of(c) for c in self.columns}
        encoded = np.empty((len(columns[0]), len(columns) + len(self.pairs)))
        indices: dict[int, npt.NDArray[np.int64]] = {}
        for f, values in enumerate(columns):
            if f in self._lookups:
                lookup = self._lookups[f]
                found = lookup.find(values)
                if found is None:
                    return None
                indices[f] = np.array(found)
                encoded[:, f] = [lookup.values[i] for i in found]
            elif PLAIN_NUMBERS.issuperset(map(type, values)):
                encoded[:, f] = values
            else:
                return None
        for f, means in enumerate(self._pair_values(indices), start=len(columns)):
            encoded[:, f] = means
        return encoded

    def encode_training_rows(
        self,
        read: CategoricalInput,
        checked: Array,
        encoder: TargetEncoder | CategoryMeans,
    ) -> Array:
        """Return the training rows with encoded categories, out of fold.

        The mean target of a row is computed from other rows, so that the trees cannot
        memorize the targets of rare categories.
        """
        columns = {}
        for known in self.columns:
            column = read.columns[known.feature]
            columns[known.feature] = (
                # A rank reveals little about the target of a single row; a mean may.
                known.values_of(known.find(column, known.feature))
                if known.is_ranked
                else encoder.training_means((known.feature,), column)
            )
        pairs = [
            encoder.training_means(
                (pair.first, pair.second),
                read.columns[pair.first],
                read.columns[pair.second],
            )
            for pair in self.pairs
        ]
        return read.with_encoded_columns(checked, columns, pairs)

    def without_pair_means(self) -> Categories:
        """Return a copy without the mean targets of pairs, which are large."""
        keys, values = np.empty(0, dtype=np.int64), np.empty(0)
        return Categories(
            self.columns,
            [replace(pair, keys=keys, values=values) for pair in self.pairs],
        )

    def fold_back_pairs(self, by_column: FloatArray, axis: int = 0) -> FloatArray:
        """Fold the columns of category pairs back onto their two features.

        These columns follow those of the features. Each feature gets half of the value.
        """
        by_column = np.moveaxis(by_column, axis, 0)
        n_features = len(by_column) - len(self.pairs)
        totals = by_column[:n_features].copy()
        for pair, of_pair in zip(self.pairs, by_column[n_features:], strict=True):
            # Equal parts, so that the total over all features does not change.
            totals[pair.first] += of_pair / 2
            totals[pair.second] += of_pair / 2
        return np.moveaxis(totals, 0, axis)

    def find(self, feature: int) -> CategoricalFeature | None:
        """Return the categories of a feature; None for a numeric feature."""
        # A search is fast enough: few features are categorical.
        for column in self.columns:
            if column.feature == feature:
                return column
        return None
