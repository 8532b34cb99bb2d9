"""Target encoding of categories, out of fold for training rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.categories import MAX_RANKS, CategoricalFeature, Categories
from dics._input.category_pairs import chosen_pairs, joined_column
from dics._input.checks import Array, ClassTargets, FloatArray, RegressionTargets
from dics._input.frames import CategoricalColumn, category_indices

Key = tuple[int, ...]  # the feature of a column, or the two of a pair
Folds = npt.NDArray[np.uint8]

# Mean number of rows of a category from which on the numbers are ranks. R2 of mercedes
# (67 rows and more; five splits) is 0.508 with 20, 0.517 with 100, 0.515 with 200 and
# 0.520 with codes in the order of the alphabet (2026-11).
LEAST_ROWS = 100
# Parts of the rows, each of which has the means of the others.
N_FOLDS = 5
FOLD_KEY = 0x666F6C64


class FoldTable(NamedTuple):
    """Numbers for the categories of a feature, or for pairs of categories.

    Attributes
    ----------
    categories : ndarray
        Sorted; of a pair, the keys of `joined_keys`.
    means : ndarray of shape (n_categories + 1, n_folds)
        NaN where other folds have no such category. The last row is NaN: it is for
        missing categories.
    """

    categories: Array
    means: FloatArray

    def without_rare(self) -> FoldTable:
        """Leave out categories of one fold, whose rows have NaN anyway.

        Of pairs, which are many, most are such.
        """
        kept = np.flatnonzero(np.isfinite(self.means).all(axis=1))
        means = np.concatenate([self.means[kept], self.means[-1:]])
        return FoldTable(self.categories[kept], means)

    def numbers_of(self, column: CategoricalColumn, folds: Folds) -> FloatArray:
        """Return the number of each row by its category and fold."""
        found: FloatArray = self.means[category_indices(self.categories, column), folds]
        return found


class CategoryMeans:
    """Numbers for the categories of training rows, or of some of them.

    Of columns whose numbers are mean targets, and of pairs.

    Parameters
    ----------
    categories : dict of ndarray
        The categories of all rows, by feature.
    tables : dict of FoldTable
    folds : ndarray of shape (n_tables, n_rows)
        The fold of each row, drawn for each table.
    """

    def __init__(
        self, categories: dict[int, Array], tables: dict[Key, FoldTable], folds: Folds
    ) -> None:
        self.categories = categories
        self.tables = tables
        self.folds = folds

    def with_folds(self, folds: Folds) -> CategoryMeans:
        """Return the same for other rows."""
        return CategoryMeans(self.categories, self.tables, folds)

    def as_of_all(
        self, columns: Mapping[int, CategoricalColumn]
    ) -> dict[int, CategoricalColumn]:
        """Return columns of some rows with the category indices of all rows."""
        return {
            f: CategoricalColumn(
                self.categories[f], category_indices(self.categories[f], column)
            )
            for f, column in columns.items()
        }

    def numbers(
        self, known: CategoricalFeature, column: CategoricalColumn
    ) -> FloatArray:
        """Return what stands for the rows of a column, as `TargetEncoder` does."""
        if known.is_ranked:
            return known.numbers_of(column, known.feature)
        return self.pop_cached((known.feature,), lambda: column)

    def pop_cached(
        self, key: Key, column: Callable[[], CategoricalColumn]
    ) -> FloatArray:
        """Return the means of a column or a pair, as `TargetEncoder` does."""
        folds = self.folds[list(self.tables).index(key)]
        return self.tables[key].numbers_of(column(), folds)


class TargetEncoder:
    """Targets of the rows of a fit, for the statistics of categories.

    Parameters
    ----------
    labels : ndarray of int or None
        Numbers of the classes.
    n_classes : int
    values : ndarray of shape (n_rows, n_outputs) or None
        Targets that are numbers.
    weights : ndarray of float64 or None
    smoothing : float
        Rows of the mean target that are added to those of each category.
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
        targets: ClassTargets | RegressionTargets,
        weights: FloatArray | None,
        smoothing: float,
        seed: int,
    ) -> TargetEncoder:
        """Take checked targets, of classes or numbers."""
        if isinstance(targets, ClassTargets):
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

    def cache(self, key: Key, numbers: FloatArray) -> None:
        """Keep cross-fitted means of training rows, until they are taken."""
        if self._keeps:
            self._kept[key] = numbers

    def pop_cached(
        self, key: Key, column: Callable[[], CategoricalColumn]
    ) -> FloatArray:
        """Return cross-fitted means of training rows, which are not kept any longer."""
        kept = self._kept.pop(key, None)
        return self.cross_fitted(column(), key) if kept is None else kept

    def fit(
        self,
        columns: Mapping[int, CategoricalColumn],
        *,
        pairs: bool,
        keeps_means: bool,
    ) -> Categories:
        """Choose the numbers for the categories of all features, and for pairs.

        With `keeps_means`, the mean of each training row is kept until it is taken.
        """
        self._keeps = keeps_means
        known = [self.learn(f, column) for f, column in columns.items()]
        return Categories(known, chosen_pairs(self, columns, known) if pairs else [])

    def learn(self, feature: int, column: CategoricalColumn) -> CategoricalFeature:
        """Choose the numbers for the categories of a feature."""
        n_categories = len(column.categories)
        values = self.category_means(column)
        few = n_categories <= MAX_RANKS and LEAST_ROWS * n_categories <= self.n_rows
        if few:
            order = np.argsort(values, kind="stable")
            values = np.empty(n_categories)
            values[order] = np.arange(n_categories)
        return CategoricalFeature(feature, column.categories, values, few)

    def numbers(
        self, known: CategoricalFeature, column: CategoricalColumn
    ) -> FloatArray:
        """Return the numbers of the training rows."""
        if known.is_ranked:
            return known.numbers_of(column, known.feature)
        return self.pop_cached((known.feature,), lambda: column)

    def cross_fitted(
        self, column: CategoricalColumn, key: Key, target: FloatArray | None = None
    ) -> FloatArray:
        """Return the mean target of each row's category in the folds of other rows.

        NaN if they have no such category. `key` is what the folds are drawn by.
        """
        folds = self.folds(key)
        table = self.fold_table(column, folds, target)
        found: FloatArray = table.means[column.indices, folds]
        return found

    def folds(self, key: Key) -> npt.NDArray[np.uint8]:
        """Draw the fold of each row."""
        rng = np.random.default_rng([self.seed % 2**63, FOLD_KEY, *key])
        return (rng.permutation(self.n_rows) % N_FOLDS).astype(np.uint8)

    def fold_table(
        self,
        column: CategoricalColumn,
        fold: npt.NDArray[np.uint8],
        target: FloatArray | None = None,
    ) -> FoldTable:
        """Return the mean target of each category in the rows of other folds."""
        if target is None:
            target = self.target_of(column)
        n_categories = len(column.categories)
        rows = column.rows_with_category()
        # Fold by fold, so that sums over folds are sums of vectors.
        cells = fold[rows].astype(np.int64) * n_categories + column.indices[rows]

        def by_fold(of_rows: FloatArray | None) -> FloatArray:
            sums = bin_sums(cells, of_rows, N_FOLDS * n_categories)
            return sums.reshape(N_FOLDS, n_categories)

        counts = by_fold(None)
        sums, totals = counts, by_fold(self._weighted(target)[rows])
        if self.is_weighted:
            sums = by_fold(self.weights[rows])
        means = np.empty((N_FOLDS, n_categories + 1))
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
        return FoldTable(column.categories, means.T)

    def remote_means(
        self, known: Categories, columns: Mapping[int, CategoricalColumn]
    ) -> CategoryMeans:
        """Return the tables that remote rows need for their numbers."""
        keys: list[Key] = [(c.feature,) for c in known.columns if not c.is_ranked]
        keys += [(pair.first, pair.second) for pair in known.pairs]
        folds = np.empty((len(keys), self.n_rows), dtype=np.uint8)
        tables = {}
        for key, own in zip(keys, folds, strict=True):
            own[:] = self.folds(key)
            first, *second = (columns[f] for f in key)
            column = joined_column(first, *second) if second else first
            tables[key] = self.fold_table(column, own).without_rare()
        categories = {f: column.categories for f, column in columns.items()}
        return CategoryMeans(categories, tables, folds)

    def category_means(self, column: CategoricalColumn) -> FloatArray:
        """Return the mean target of each category, shrunk to the overall mean."""
        target = self.target_of(column)
        return self._means(column, target)

    def mean(self, target: FloatArray) -> float:
        """Return the mean of a target over all rows."""
        return float((self.weights * target).sum() / self.weights.sum())

    def _means(self, column: CategoricalColumn, target: FloatArray) -> FloatArray:
        """Return the mean targets of categories, shrunk to the overall mean."""
        rows = column.rows_with_category()
        n_categories, categories = len(column.categories), column.indices[rows]
        weights = self.weights[rows] if self.is_weighted else None
        sums = bin_sums(categories, weights, n_categories)
        totals = bin_sums(categories, self._weighted(target)[rows], n_categories)
        return self._drawn_to_mean(sums, totals)

    def _weighted(self, target: FloatArray) -> FloatArray:
        return self.weights * target if self.is_weighted else target

    def _drawn_to_mean(self, sums: FloatArray, totals: FloatArray) -> FloatArray:
        """Return means of categories from sums of weights and of targets."""
        whole = sums.sum()
        mean = totals.sum() / whole if whole > 0 else 0.0
        means: FloatArray = (totals + self.added * mean) / np.maximum(
            sums + self.added, np.finfo(np.float64).tiny
        )
        return means

    def target_of(self, column: CategoricalColumn) -> FloatArray:
        """Return one number for each row: of several outputs, along a direction.

        The one in which the means of the categories differ most.
        """
        if self.values is not None and self.values.shape[1] == 1:
            return self.values[:, 0]
        if self.values is None and self.n_classes <= 2:
            assert self.labels is not None
            return self.labels.astype(np.float64)
        n_categories = len(column.categories)
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
        here = column.indices >= 0
        sizes = np.bincount(
            column.indices[here], self.weights[here], minlength=n_categories
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
