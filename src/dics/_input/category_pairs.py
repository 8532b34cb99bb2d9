"""Pairs of categorical features that predict the target together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dics._input.checks import FloatArray
from dics._input.frames import CategoricalColumn
from dics._model.checks import check_array, require

if TYPE_CHECKING:
    from dics._input.categories import CategoricalFeature
    from dics._input.category_encoder import TargetEncoder


# Maximum number of features whose pairs are tried: those whose means differ most.
MAX_PAIRED = 11
# Standard errors by which a pair must improve on its two features. AUC of amazon_access
# (five splits) is 0.852 without pairs, 0.866 with the eight best, and 0.880 with all of
# some 30 that pass. Pairs of rare categories improve few rows, but by much (2026-11).
LEAST_ERRORS = 4.0

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CategoryPair:
    """Pairs of categories of two features, and their mean targets.

    Attributes
    ----------
    first, second : int
        Indices of the columns.
    keys : ndarray of int64, shape (n_pairs,)
        Pairs of categories of the training rows, sorted. A key is i * n + j: i and j
        are the indices of the two categories, n is the number of categories of the
        second feature.
    values : ndarray of float64, shape (n_pairs,)
        The mean target of each pair.
    """

    first: int
    second: int
    keys: Indices
    values: FloatArray

    def encode(self, keys: Indices) -> FloatArray:
        """Return the mean target of each row by its key; NaN if it is unknown."""
        if len(self.keys) == 0:
            return np.full(len(keys), np.nan)
        # Keys beyond the last one get its index; the comparison below rejects them.
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.values[places], np.nan)

    def check(self, columns: dict[int, CategoricalFeature]) -> None:
        """Check the fields of an untrusted model."""
        require(
            self.first in columns and self.second in columns,
            "the features of a pair must be categorical",
        )
        check_array("pairs of categories", self.keys, np.int64, (None,))
        check_array("values of pairs", self.values, np.float64, (len(self.keys),))
        require(np.isfinite(self.values), "values of pairs must be finite")
        require(self.keys[1:] > self.keys[:-1], "pairs of categories must be sorted")


def joined_keys(first: Indices, second: Indices, n_second: int) -> Indices:
    """Return the keys of pairs of categories; -1 if one of the two is missing."""
    keys: Indices = np.where((first < 0) | (second < 0), -1, first * n_second + second)
    return keys


def chosen_pairs(
    encoder: TargetEncoder,
    columns: Mapping[int, CategoricalColumn],
    known: list[CategoricalFeature],
) -> list[CategoryPair]:
    """Return the pairs of features that predict the target better than both."""
    is_ranked = {column.feature: column.is_ranked for column in known}
    # Splits by sets of categories make pairs of ranked features superfluous.
    if all(is_ranked.values()):
        return []
    trials = PairTrials(encoder, columns)
    chosen = []
    for first, second in trials.pairs():
        if is_ranked[first] and is_ranked[second]:
            continue  # a split by one feature below the other does the same
        joined = joined_column(columns[first], columns[second])
        means = encoder.cross_fitted(joined, (first, second))
        if trials.errors(first, second, joined, means) >= LEAST_ERRORS:
            encoder.cache((first, second), means)
            values = encoder.category_means(joined)
            chosen.append(CategoryPair(first, second, joined.categories, values))
    return chosen


def joined_column(
    first: CategoricalColumn, second: CategoricalColumn
) -> CategoricalColumn:
    """Return the pairs of categories of two columns as a column."""
    keys = joined_keys(first.indices, second.indices, len(second.categories))
    rows = np.flatnonzero(keys >= 0)
    major, minor = first.indices[rows], second.indices[rows]
    if max(major.max(initial=0), minor.max(initial=0)) <= np.iinfo(np.uint16).max:
        # NumPy sorts 16-bit integers by radix sort, in a tenth of the time.
        major, minor = major.astype(np.uint16), minor.astype(np.uint16)
    by_minor = np.argsort(minor, kind="stable")
    order = rows[by_minor[np.argsort(major[by_minor], kind="stable")]]
    keys = keys[order]
    is_new = np.ones(len(keys), dtype=bool)
    is_new[1:] = keys[1:] != keys[:-1]
    indices = np.full(len(first.indices), -1, dtype=np.int64)
    indices[order] = np.cumsum(is_new) - 1
    return CategoricalColumn(keys[is_new], indices)


@dataclass
class PairTrials:
    """Compares pairs of features with the two features.

    Parameters
    ----------
    encoder : TargetEncoder
    columns : dict of CategoricalColumn
        By the index of the feature.
    """

    encoder: TargetEncoder
    columns: Mapping[int, CategoricalColumn]
    _known: dict[int, FloatArray] = field(default_factory=dict)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Return the pairs of features to try."""
        features = sorted(self.columns)
        if len(features) > MAX_PAIRED:
            spread = {f: self._means(f, None).var() for f in features}
            features = sorted(features, key=lambda f: -spread[f])[:MAX_PAIRED]
        # Sorted, so that the order of pairs does not depend on the variances.
        return combinations(sorted(features), 2)

    def errors(
        self, first: int, second: int, joined: CategoricalColumn, means: FloatArray
    ) -> float:
        """Return the improvement of a pair over its features, in standard errors.

        It is the correlation of the pair with the target that remains after a linear
        regression of both on the two features.
        """
        target = self.encoder.target_of(joined)
        is_known = np.isfinite(means)
        # Rows of unknown pairs have no mean, and no influence on the comparison.
        weights = np.where(is_known, self.encoder.weights, 0.0)
        inputs = np.stack(
            [
                np.ones(len(weights)),
                self._means(first, target),
                self._means(second, target),
            ]
        )
        both = np.stack([np.where(is_known, means, 0.0), target])
        weighted = inputs * weights
        # Least squares, because the means of the two features may be collinear.
        coefficients = np.linalg.lstsq(weighted @ inputs.T, weighted @ both.T)[0]
        added, missed = both - coefficients.T @ inputs
        products = weights * added * missed
        error = np.sqrt((products**2).sum())
        return float(products.sum() / error) if error > 0 else 0.0

    def _means(self, feature: int, target: FloatArray | None) -> FloatArray:
        """Return cross-fitted means of a column, with the overall mean for NaN."""
        if feature in self._known:
            return self._known[feature]
        column = self.columns[feature]
        if target is None:
            target = self.encoder.target_of(column)
        means = self.encoder.cross_fitted(column, (feature,), target)
        weights = self.encoder.weights
        mean = float((weights * target).sum() / weights.sum())
        filled = np.where(np.isnan(means), mean, means)
        # With several outputs, each pair has its own target, so that nothing is reused.
        if self.encoder.is_single:
            self._known[feature] = filled
            self.encoder.cache((feature,), means)
        return filled
