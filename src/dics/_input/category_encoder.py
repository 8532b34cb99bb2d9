"""Target encoding of categories, out of fold for training rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.categories import MAX_RANKS, CategoricalFeature, Categories
from dics._input.category_pairs import chosen_pairs, joined_column
from dics._input.checks import Array, ClassTargets, FloatArray, RegressionTargets
from dics._input.frames import CategoricalColumn, category_indices

Key = tuple[int, ...]  # the feature of a column, or the two of a pair
Folds = npt.NDArray[np.uint8]

# Mean number of rows per category from which on categories are encoded as ranks. R2 of
# mercedes (67 rows and more; five splits) is 0.508 with 20, 0.517 with 100, 0.515 with
# 200, and 0.520 with ranks in alphabetical order (2026-11).
LEAST_ROWS = 100
# Each fold is encoded by the mean targets of the other folds.
N_FOLDS = 5
FOLD_KEY = 0x666F6C64  # "fold": separates its random numbers from others of the seed


class FoldTable(NamedTuple):
    """Mean targets of categories, or of pairs of categories, out of fold.

    Attributes
    ----------
    categories : ndarray
        Sorted categories; for a pair, the keys of `joined_keys`.
    means : ndarray of shape (n_categories + 1, n_folds)
        NaN if other folds do not have the category. The last row is NaN, for missing
        categories.
    """

    categories: Array
    means: FloatArray


class CategoryMeans(NamedTuple):
    """Mean targets with which remote workers encode training rows.

    Attributes
    ----------
    categories : dict of ndarray
        The categories of all rows, by feature.
    tables : dict of FoldTable
        For features encoded as mean targets, and for pairs.
    folds : ndarray of shape (n_tables, n_rows)
        The fold of each row, for each table.
    """

    categories: dict[int, Array]
    tables: dict[Key, FoldTable]
    folds: Folds

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

    def training_means(self, key: Key, *columns: CategoricalColumn) -> FloatArray:
        """Return the mean target of each row, as `TargetEncoder.training_means`."""
        column = joined_column(*columns) if len(columns) == 2 else columns[0]
        categories, means = self.tables[key]
        folds = self.folds[list(self.tables).index(key)]
        found: FloatArray = means[category_indices(categories, column), folds]
        return found


class TargetEncoder:
    """Encodes categories by the targets of the training rows.

    Parameters
    ----------
    targets : ClassTargets or RegressionTargets
    weights : ndarray of float64 or None
    smoothing : float
        Number of rows with the overall mean target that are added to each category.
    seed : int
    """

    def __init__(
        self,
        targets: ClassTargets | RegressionTargets,
        weights: FloatArray | None,
        smoothing: float,
        seed: int,
    ) -> None:
        self.labels: npt.NDArray[np.int64] | None = None
        self.values: FloatArray | None = None
        self.n_classes = 0
        if isinstance(targets, ClassTargets):
            self.labels = targets.labels.astype(np.int64)
            self.n_classes = len(targets.classes)
            self.is_single = self.n_classes <= 2
        else:
            self.values = targets.values
            self.is_single = self.values.shape[1] == 1
        self.n_rows = len(targets[-1])
        self.is_weighted = weights is not None
        self.weights = np.ones(self.n_rows) if weights is None else weights
        # Scaled by the mean weight, so that the scale of weights does not matter.
        self.added = smoothing * float(self.weights[self.weights > 0].mean())
        self.seed = seed
        self._cache: dict[Key, FloatArray] = {}
        self._is_caching = True

    def cache(self, key: Key, means: FloatArray) -> None:
        """Store the means of training rows until `training_means` returns them."""
        if self._is_caching:
            self._cache[key] = means

    def training_means(self, key: Key, *columns: CategoricalColumn) -> FloatArray:
        """Return the cross-fitted mean target of each row for a column or a pair.

        Means of the cache are removed from it, because they are as long as the data.
        """
        means = self._cache.pop(key, None)
        if means is not None:
            return means
        column = joined_column(*columns) if len(columns) == 2 else columns[0]
        return self.cross_fitted(column, key)

    def fit(
        self,
        columns: Mapping[int, CategoricalColumn],
        *,
        pairs: bool,
        keeps_means: bool,
    ) -> Categories:
        """Choose the encoding of all categorical features, and pairs of features.

        With `keeps_means`, the means of training rows are cached for `training_means`.
        """
        self._is_caching = keeps_means
        known = []
        for feature, column in columns.items():
            n_categories = len(column.categories)
            values = self.category_means(column)
            # With few categories, nodes can search for sets of them, which needs ranks.
            few = n_categories <= MAX_RANKS and LEAST_ROWS * n_categories <= self.n_rows
            if few:
                order = np.argsort(values, kind="stable")
                values = np.empty(n_categories)
                values[order] = np.arange(n_categories)
            known.append(CategoricalFeature(feature, column.categories, values, few))
        return Categories(known, chosen_pairs(self, columns, known) if pairs else [])

    def cross_fitted(
        self, column: CategoricalColumn, key: Key, target: FloatArray | None = None
    ) -> FloatArray:
        """Return the mean target of the category of each row in the other folds.

        NaN if the other folds do not have the category. `key` is part of the seed of
        the folds.
        """
        folds = self.folds(key)
        table = self.fold_table(column, folds, target)
        found: FloatArray = table.means[column.indices, folds]
        return found

    def folds(self, key: Key) -> npt.NDArray[np.uint8]:
        """Return the fold of each row, sampled at random."""
        # The key makes the folds of features independent of each other.
        rng = np.random.default_rng([self.seed % 2**63, FOLD_KEY, *key])
        # A permutation instead of random integers: folds have equal sizes.
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
        # Fold after fold, so that sums over folds are sums of contiguous vectors.
        cells = fold[rows].astype(np.int64) * n_categories + column.indices[rows]

        def by_fold(of_rows: FloatArray | None) -> FloatArray:
            sums = bin_sums(cells, of_rows, N_FOLDS * n_categories)
            return sums.reshape(N_FOLDS, n_categories)

        weighted = self.weights * target if self.is_weighted else target
        # Counts decide whether a category is known, because weights may be zero.
        counts = by_fold(None)
        sums, totals = counts, by_fold(weighted[rows])
        if self.is_weighted:
            sums = by_fold(self.weights[rows])
        means = np.empty((N_FOLDS, n_categories + 1))
        means[:, -1] = np.nan  # index -1: missing categories
        for k in range(N_FOLDS):
            others = np.arange(N_FOLDS) != k
            # Sums of the other folds: "total minus this fold" would lose digits.
            means[k, :-1] = np.where(
                counts[others].sum(axis=0) > 0,
                self._shrunk_means(
                    sums[others].sum(axis=0), totals[others].sum(axis=0)
                ),
                np.nan,
            )
        return FoldTable(column.categories, means.T)

    def remote_means(
        self, known: Categories, columns: Mapping[int, CategoricalColumn]
    ) -> CategoryMeans:
        """Return the tables with which remote workers encode training rows."""
        keys: list[Key] = [(c.feature,) for c in known.columns if not c.is_ranked]
        keys += [(pair.first, pair.second) for pair in known.pairs]
        folds = np.empty((len(keys), self.n_rows), dtype=np.uint8)
        tables = {}
        for key, row in zip(keys, folds, strict=True):
            row[:] = self.folds(key)
            first, *second = (columns[f] for f in key)
            column = joined_column(first, *second) if second else first
            table = self.fold_table(column, row)
            # Rows of categories in a single fold have NaN in any case. Most pairs are
            # such, and need not be sent.
            kept = np.flatnonzero(np.isfinite(table.means).all(axis=1))
            tables[key] = FoldTable(
                table.categories[kept],
                np.concatenate([table.means[kept], table.means[-1:]]),
            )
        categories = {f: column.categories for f, column in columns.items()}
        return CategoryMeans(categories, tables, folds)

    def category_means(
        self, column: CategoricalColumn, target: FloatArray | None = None
    ) -> FloatArray:
        """Return the mean target of each category, shrunk to the overall mean."""
        if target is None:
            target = self.target_of(column)
        rows = column.rows_with_category()
        n_categories, categories = len(column.categories), column.indices[rows]
        weights = self.weights[rows] if self.is_weighted else None
        weighted = self.weights * target if self.is_weighted else target
        sums = bin_sums(categories, weights, n_categories)
        totals = bin_sums(categories, weighted[rows], n_categories)
        return self._shrunk_means(sums, totals)

    def _shrunk_means(self, sums: FloatArray, totals: FloatArray) -> FloatArray:
        """Return means of categories from sums of weights and of targets."""
        weight = sums.sum()
        mean = totals.sum() / weight if weight > 0 else 0.0
        # Without smoothing, a category may have no weight at all.
        means: FloatArray = (totals + self.added * mean) / np.maximum(
            sums + self.added, np.finfo(np.float64).tiny
        )
        return means

    def target_of(self, column: CategoricalColumn) -> FloatArray:
        """Return one target per row; several outputs are projected on a direction.

        Categories have one rank or mean, so that only one number per row is possible.
        The direction is the one in which the means of the categories differ most.
        """
        if self.is_single and self.values is not None:
            return self.values[:, 0]
        if self.is_single and self.labels is not None:
            return self.labels.astype(np.float64)
        n_categories = len(column.categories)
        if n_categories == 0:
            return np.zeros(self.n_rows)
        if self.values is None:
            assert self.labels is not None
            outputs = [
                (self.labels == c).astype(np.float64) for c in range(self.n_classes)
            ]
        else:
            # Outputs of different scales count equally.
            spread = self.values.std(axis=0)
            outputs = list((self.values / np.where(spread > 0, spread, 1.0)).T)
        means = np.stack(
            [self.category_means(column, output) for output in outputs],
            axis=1,
        )
        here = column.indices >= 0
        sizes = np.bincount(
            column.indices[here], self.weights[here], minlength=n_categories
        )
        # Weights that are all zero would raise an error.
        centered = means - np.average(means, axis=0, weights=np.maximum(sizes, 1e-300))
        direction = np.linalg.eigh((centered * sizes[:, None]).T @ centered)[1][:, -1]
        # Eigenvectors have an arbitrary sign; a fixed one keeps models reproducible.
        direction = direction * np.sign(direction[np.abs(direction).argmax()])
        projected: FloatArray = np.zeros(self.n_rows)
        for factor, output in zip(direction, outputs, strict=True):
            projected += factor * output
        return projected


def bin_sums(
    bins: npt.NDArray[np.int64], values: FloatArray | None, n_bins: int
) -> FloatArray:
    """Return the sum of the values in each bin; None counts the entries."""
    return np.bincount(bins, values, minlength=n_bins).astype(np.float64, copy=False)
