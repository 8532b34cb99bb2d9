"""Categories in a fit: what number stands for each level of a column.

Trees compare numbers with thresholds, so levels are put in the order of what they say
of the target, and a threshold parts them into two sets. Of a column of few levels, each
with enough rows, the number is the rank of the level, 0, 1, ... in the order of the
mean target of its rows.

Of a column of many levels, most have a handful of rows. A tree that sees what these say
next to the targets of the same rows would learn them by heart. There the number is the
mean target itself, drawn towards the mean of all rows where the level is rare (`smooth`
of `CategoricalOptions`). A training row has the mean of the *other* rows of its level,
those of other folds, and NaN if they have no such level: it is where a level that is
new to the model will be. Rows to predict have the mean of all training rows of their
level. Pairs of such columns may have numbers too (`_category_pairs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dics import _core
from dics._input.category_encoder import FoldTable, Key, LevelMeans
from dics._input.category_pairs import CategoryPair, chosen_pairs, joined_column
from dics._input.checks import Array, FloatArray, NumberTargets, Targets
from dics._input.frames import (
    LevelColumn,
    check_kind,
    chosen_columns,
    column_names,
    is_arrow,
    kind_of,
    places_of,
    read_column,
    replaced,
)
from dics._input.rows import RowsElsewhere
from dics._model.checks import check_array, require

# Levels of a column whose numbers are ranks: each is a code of the core.
MAX_RANKS: int = _core.MAX_THRESHOLDS
# Rows of a level, in the mean, from which on the numbers are ranks. R2 of mercedes (67
# rows and more; five splits) is 0.508 with 20, 0.517 with 100, 0.515 with 200 and 0.520
# with codes in the order of the alphabet (2026-11).
LEAST_ROWS = 100
# Parts of the rows, each of which has the means of the others.
N_FOLDS = 5
FOLD_KEY = 0x666F6C64


@dataclass(frozen=True)
class CategoryColumn:
    """What a model knows of a column of categories.

    Attributes
    ----------
    feature : int
        Number of the column.
    levels : ndarray
        Sorted: text, numbers or bools.
    values : ndarray of float64, shape (n_levels,)
        The number that stands for each level.
    is_ranked : bool
        Whether the numbers are ranks; otherwise they are mean targets.
    """

    feature: int
    levels: Array
    values: FloatArray
    is_ranked: bool

    def numbers_of(self, column: LevelColumn, name: Any) -> FloatArray:
        """Return what stands for the rows of a column; NaN if missing or unknown."""
        if len(column.levels) and len(self.levels):
            known, given = kind_of(self.levels), kind_of(column.levels)
            if known != given:
                raise ValueError(
                    f"X: column {name!r} has levels that are {given}, such as "
                    f"{column.levels.tolist()[0]!r}; in fit they were {known}, such as "
                    f"{self.levels.tolist()[0]!r}. Convert the column to what it was."
                )
        return np.append(self.values, np.nan)[self.places_of(column)]

    def places_of(self, column: LevelColumn) -> npt.NDArray[np.int64]:
        """Return the number of the level of each row here; -1 if unknown."""
        return places_of(self.levels, column)

    def levels_below(self, threshold: float) -> npt.NDArray[np.bool_]:
        """Tell which levels a threshold sends to the left."""
        below: npt.NDArray[np.bool_] = self.values < threshold
        return below

    def check(self) -> None:
        """Check what a model from elsewhere has here."""
        n = len(self.levels)
        feature: Any = self.feature
        require(
            isinstance(feature, int) and feature >= 0, "a category is of no feature"
        )
        check_array("values of levels", self.values, np.float64, (n,))
        require(np.isfinite(self.values), "a value of a level is not finite")
        require(isinstance(self.levels, np.ndarray), "levels are no array")
        if self.levels.dtype == object:
            require(
                all(isinstance(level, str) for level in self.levels), "a level is odd"
            )
        else:
            require(self.levels.dtype in (np.float64, np.bool_), "levels are odd")
        require(self.levels[1:] > self.levels[:-1], "levels don't rise")
        if self.is_ranked:
            require(
                np.array_equal(np.sort(self.values), np.arange(n)) and n <= MAX_RANKS,
                "ranks of levels are not 0, 1, ...",
            )


class Categories:
    """The columns of categories of a model.

    Parameters
    ----------
    columns : list of CategoryColumn
    pairs : list of CategoryPair
        Their numbers are columns behind those of X.
    """

    def __init__(
        self, columns: list[CategoryColumn], pairs: list[CategoryPair] | None = None
    ) -> None:
        self.columns = columns
        self.pairs = pairs or []

    def check(self, n_features: int) -> None:
        """Check what a model from elsewhere has here."""
        columns: Any = self.columns
        pairs: Any = self.pairs
        require(
            isinstance(columns, list) and isinstance(pairs, list),
            "categories are no list",
        )
        for column in columns:
            require(isinstance(column, CategoryColumn), "a category is something else")
            column.check()
            require(column.feature < n_features, "a category is of no feature")
        known = {column.feature: column for column in columns}
        for pair in pairs:
            require(isinstance(pair, CategoryPair), "a pair is something else")
            pair.check(known)

    @property
    def features(self) -> list[int]:
        """Numbers of the columns."""
        return [column.feature for column in self.columns]

    def rank_counts(self) -> dict[int, int]:
        """Return the number of levels of each column whose numbers are ranks."""
        return {c.feature: len(c.levels) for c in self.columns if c.is_ranked}

    def numbers(self, read: ReadX, checked: Array) -> Array:
        """Return a checked X with numbers in place of the levels that were read."""
        if isinstance(checked, RowsElsewhere):
            elsewhere: Any = checked.with_levels(self)
            return elsewhere
        if not read.columns:
            return checked
        numbers = {
            column.feature: column.numbers_of(
                read.columns[column.feature], read.names[column.feature]
            )
            for column in self.columns
        }
        return read.with_numbers(checked, numbers, self._numbers_of_pairs(read))

    def _numbers_of_pairs(self, read: ReadX) -> list[FloatArray]:
        paired = {f for pair in self.pairs for f in (pair.first, pair.second)}
        known = {column.feature: column for column in self.columns}
        places = {f: known[f].places_of(read.columns[f]) for f in paired}
        return [
            pair.numbers_of(
                places[pair.first],
                places[pair.second],
                len(known[pair.second].levels),
            )
            for pair in self.pairs
        ]

    def training_numbers(
        self, read: ReadX, checked: Array, outcomes: Outcomes | LevelMeans
    ) -> Array:
        """Return the same of the rows of a fit, which don't know their own target."""
        if isinstance(checked, RowsElsewhere):
            assert isinstance(outcomes, Outcomes)
            means = outcomes.level_means_elsewhere(self, read)
            elsewhere: Any = checked.with_levels(self, means)
            return elsewhere
        numbers = {
            column.feature: outcomes.numbers(column, read.columns[column.feature])
            for column in self.columns
        }
        of_pairs = [
            outcomes.taken(
                (pair.first, pair.second),
                partial(
                    joined_column, read.columns[pair.first], read.columns[pair.second]
                ),
            )
            for pair in self.pairs
        ]
        return read.with_numbers(checked, numbers, of_pairs)

    def without_pairs_levels(self) -> Categories:
        """Return the same but for what stands for pairs of levels."""
        keys, values = np.empty(0, dtype=np.int64), np.empty(0)
        return Categories(
            self.columns,
            [replace(pair, keys=keys, values=values) for pair in self.pairs],
        )

    def by_feature(self, by_column: FloatArray, axis: int = 0) -> FloatArray:
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

    def of(self, feature: int) -> CategoryColumn | None:
        """Return what is known of a feature; None if it holds numbers."""
        for column in self.columns:
            if column.feature == feature:
                return column
        return None


def refuse_sparse_levels(X: Any, features: list[int]) -> None:
    """Refuse to read levels from a matrix that holds numbers only."""
    if features and scipy.sparse.issparse(X):
        raise ValueError(
            f"X is sparse, but column {features[0]} holds categories; pass a frame "
            "or a dense array."
        )


class ReadX:
    """X whose columns of categories have been read.

    Parameters
    ----------
    X : array-like
    features : list of int
        Which columns hold categories.
    """

    def __init__(self, X: Any, features: list[int]) -> None:
        refuse_sparse_levels(X, features)
        self.columns: Mapping[int, LevelColumn] = {
            f: read_column(X, f) for f in features
        }
        names = column_names(X)
        self.names = {f: f if names is None else names[f] for f in features}
        self.numbers = replaced(X, self.columns) if features else X

    @classmethod
    def of(cls, X: Any, wanted: Any) -> ReadX:
        """Find the categories of the X of a fit, and read them."""
        check_kind(X)
        X = as_rows(X)
        if scipy.sparse.issparse(X) and isinstance(wanted, str):
            return cls(X, [])  # it holds numbers
        if (
            isinstance(X, list | tuple)
            and wanted is not None
            and wanted != "from_dtype"
        ):
            X = np.asarray(X)
        return cls(X, chosen_columns(wanted, X))

    def with_numbers(
        self, checked: Array, numbers: dict[int, FloatArray], more: list[FloatArray]
    ) -> Array:
        """Return a copy of the checked X that has other numbers in some columns.

        More columns go behind them.
        """
        n_rows, n_features = checked.shape
        filled = np.empty(
            (n_rows, n_features + len(more)),
            dtype=filled_type(checked.dtype),
            order="C" if checked.flags.c_contiguous else "F",
        )
        filled[:, :n_features] = checked
        for f, column in numbers.items():
            filled[:, f] = column
        for f, column in enumerate(more, start=n_features):
            filled[:, f] = column
        return filled


def filled_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of an X in which numbers have taken the place of levels."""
    is_narrow = dtype in (np.float32, np.uint8)
    return np.dtype(np.float32 if is_narrow else np.float64)


def as_rows(X: Any) -> Any:
    """Return lists of rows with text among the numbers as an array of objects.

    A batch of Arrow becomes a table, whose names of columns scikit-learn knows.
    """
    if is_arrow(X) and not hasattr(X, "to_batches"):
        from pyarrow import Table

        return Table.from_batches([X])
    if not isinstance(X, list | tuple) or not _has_text(X):
        return X
    if len({len(row) for row in X if isinstance(row, list | tuple)}) > 1:
        return X  # refused later
    return np.asarray(X, dtype=object)


def _has_text(rows: Any) -> bool:
    return any(
        isinstance(value, str)
        for row in rows
        if isinstance(row, list | tuple)
        for value in row
    )


# --- what levels say of the target ---------------------------------------------------


class Outcomes:
    """Targets of the rows of a fit, for the statistics of levels.

    Parameters
    ----------
    labels : ndarray of int or None
        Numbers of the classes.
    n_classes : int
    values : ndarray of shape (n_rows, n_outputs) or None
        Targets that are numbers.
    weights : ndarray of float64 or None
    smoothing : float
        Rows of the mean target that are added to those of each level.
    seed : int
    """

    def __init__(
        self,
        labels: npt.NDArray[np.uint32] | None,
        n_classes: int,
        values: FloatArray | None,
        weights: FloatArray | None,
        smoothing: float,
        seed: int,
    ) -> None:
        self.labels = None if labels is None else labels.astype(np.int64)
        self.n_classes = n_classes
        self.values = values
        given = labels if values is None else values
        assert given is not None
        self.is_weighted = weights is not None
        self.weights = np.ones(len(given)) if weights is None else weights
        weighty = self.weights[self.weights > 0]
        self.added = smoothing * float(weighty.mean())
        self.seed = seed
        self._kept: dict[Key, FloatArray] = {}
        self._keeps = True

    @classmethod
    def of(
        cls,
        targets: Targets | NumberTargets,
        weights: FloatArray | None,
        smoothing: float,
        seed: int,
    ) -> Outcomes:
        """Take checked targets, of classes or numbers."""
        if isinstance(targets, Targets):
            classes, labels = targets
            return cls(labels, len(classes), None, weights, smoothing, seed)
        return cls(None, 0, targets.values, weights, smoothing, seed)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def is_single(self) -> bool:
        """Whether the target is one number, the same for all columns."""
        if self.values is None:
            return self.n_classes <= 2
        return len(self.values.T) == 1

    def keep(self, key: Key, numbers: FloatArray) -> None:
        """Keep cross-fitted means of training rows, until they are taken."""
        if self._keeps:
            self._kept[key] = numbers

    def taken(self, key: Key, column: Callable[[], LevelColumn]) -> FloatArray:
        """Return cross-fitted means of training rows, which are not kept any longer."""
        kept = self._kept.pop(key, None)
        return self.cross_fitted(column(), key) if kept is None else kept

    def learn_all(self, read: ReadX, *, pairs: bool) -> Categories:
        """Choose the numbers of the levels of all columns, and perhaps of pairs."""
        # Rows elsewhere have no use for means of each row.
        self._keeps = not isinstance(read.numbers, RowsElsewhere)
        known = [self.learn(f, column) for f, column in read.columns.items()]
        return Categories(
            known, chosen_pairs(self, read.columns, known) if pairs else []
        )

    def learn(self, feature: int, column: LevelColumn) -> CategoryColumn:
        """Choose the numbers that stand for the levels of a column."""
        n_levels = len(column.levels)
        values = self.level_means(column)
        few = n_levels <= MAX_RANKS and LEAST_ROWS * n_levels <= self.n_rows
        if few:
            order = np.argsort(values, kind="stable")
            values = np.empty(n_levels)
            values[order] = np.arange(n_levels)
        return CategoryColumn(feature, column.levels, values, few)

    def numbers(self, known: CategoryColumn, column: LevelColumn) -> FloatArray:
        """Return the numbers of the training rows."""
        if known.is_ranked:
            return known.numbers_of(column, known.feature)
        return self.taken((known.feature,), lambda: column)

    def cross_fitted(
        self, column: LevelColumn, key: Key, target: FloatArray | None = None
    ) -> FloatArray:
        """Return the mean target of each row's level in the folds of other rows.

        NaN if they have no such level. `key` is what the folds are drawn by.
        """
        folds = self.folds(key)
        table = self.fold_table(column, folds, target)
        found: FloatArray = table.means[column.numbers, folds]
        return found

    def folds(self, key: Key) -> npt.NDArray[np.uint8]:
        """Draw the fold of each row."""
        rng = np.random.default_rng([self.seed % 2**63, FOLD_KEY, *key])
        return (rng.permutation(self.n_rows) % N_FOLDS).astype(np.uint8)

    def fold_table(
        self,
        column: LevelColumn,
        fold: npt.NDArray[np.uint8],
        target: FloatArray | None = None,
    ) -> FoldTable:
        """Return the mean target of each level in the rows of other folds."""
        if target is None:
            target = self.target_of(column)
        n_levels = len(column.levels)
        rows = column.rows_with_level()
        # Fold by fold, so that sums over folds are sums of vectors.
        cells = fold[rows].astype(np.int64) * n_levels + column.numbers[rows]

        def by_fold(of_rows: FloatArray | None) -> FloatArray:
            sums = bin_sums(cells, of_rows, N_FOLDS * n_levels)
            return sums.reshape(N_FOLDS, n_levels)

        counts = by_fold(None)
        sums, totals = counts, by_fold(self._weighted(target)[rows])
        if self.is_weighted:
            sums = by_fold(self.weights[rows])
        means = np.empty((N_FOLDS, n_levels + 1))
        means[:, -1] = np.nan
        for k in range(N_FOLDS):
            others = np.arange(N_FOLDS) != k
            means[k, :-1] = np.where(
                counts[others].sum(axis=0) > 0,
                self._drawn_to_mean(
                    sums[others].sum(axis=0), totals[others].sum(axis=0)
                ),
                np.nan,
            )
        return FoldTable(column.levels, means.T)

    def level_means_elsewhere(self, known: Categories, read: ReadX) -> LevelMeans:
        """Return what rows elsewhere need for their numbers."""
        columns = read.columns
        keys: list[Key] = [(c.feature,) for c in known.columns if not c.is_ranked]
        keys += [(pair.first, pair.second) for pair in known.pairs]
        folds = np.empty((len(keys), self.n_rows), dtype=np.uint8)
        tables = {}
        for key, own in zip(keys, folds, strict=True):
            own[:] = self.folds(key)
            first, *second = (columns[f] for f in key)
            column = joined_column(first, *second) if second else first
            tables[key] = self.fold_table(column, own).without_rare()
        levels = {f: column.levels for f, column in columns.items()}
        return LevelMeans(levels, tables, folds)

    def level_means(self, column: LevelColumn) -> FloatArray:
        """Return the mean target of each level, drawn towards the mean of all rows."""
        target = self.target_of(column)
        return self._means(column, target)

    def mean(self, target: FloatArray) -> float:
        """Return the mean of a target over all rows."""
        return float((self.weights * target).sum() / self.weights.sum())

    def _means(self, column: LevelColumn, target: FloatArray) -> FloatArray:
        """Mean targets of levels, drawn towards the mean of all rows."""
        rows = column.rows_with_level()
        n_levels, levels = len(column.levels), column.numbers[rows]
        weights = self.weights[rows] if self.is_weighted else None
        sums = bin_sums(levels, weights, n_levels)
        totals = bin_sums(levels, self._weighted(target)[rows], n_levels)
        return self._drawn_to_mean(sums, totals)

    def _weighted(self, target: FloatArray) -> FloatArray:
        return self.weights * target if self.is_weighted else target

    def _drawn_to_mean(self, sums: FloatArray, totals: FloatArray) -> FloatArray:
        """Means of levels by sums of their weights and of their targets."""
        whole = sums.sum()
        mean = totals.sum() / whole if whole > 0 else 0.0
        means: FloatArray = (totals + self.added * mean) / np.maximum(
            sums + self.added, np.finfo(np.float64).tiny
        )
        return means

    def target_of(self, column: LevelColumn) -> FloatArray:
        """Return one number for each row: of several outputs, along a direction.

        The one in which the means of the levels differ most.
        """
        if self.values is not None and self.values.shape[1] == 1:
            return self.values[:, 0]
        if self.values is None and self.n_classes <= 2:
            assert self.labels is not None
            return self.labels.astype(np.float64)
        n_levels = len(column.levels)
        if self.values is None:
            assert self.labels is not None
            outputs = [
                (self.labels == c).astype(np.float64) for c in range(self.n_classes)
            ]
        else:
            spread = self.values.std(axis=0)
            outputs = list((self.values / np.where(spread > 0, spread, 1.0)).T)
        means = np.stack(
            [self._means(column, output) for output in outputs],
            axis=1,
        )
        here = column.numbers >= 0
        sizes = np.bincount(
            column.numbers[here], self.weights[here], minlength=n_levels
        )
        centred = means - np.average(means, axis=0, weights=np.maximum(sizes, 1e-300))
        direction = np.linalg.eigh((centred * sizes[:, None]).T @ centred)[1][:, -1]
        direction = direction * np.sign(direction[np.abs(direction).argmax()])
        projected: FloatArray = np.zeros(self.n_rows)
        for share, output in zip(direction, outputs, strict=True):
            projected += share * output
        return projected


def bin_sums(
    bins: npt.NDArray[np.int64], values: FloatArray | None, n_bins: int
) -> FloatArray:
    """Add up values by bin; None counts them."""
    return np.bincount(bins, values, minlength=n_bins).astype(np.float64, copy=False)
