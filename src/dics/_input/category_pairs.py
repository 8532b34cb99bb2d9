"""Pairs of categorical features that predict the target together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


# Columns whose pairs are tried, those first whose means differ most.
MAX_PAIRED = 11
# Standard errors by which a pair must tell more than its columns. AUC of amazon_access
# (five splits) is 0.852 without pairs, 0.866 with the eight that tell most, and 0.880
# with all of some 30 that pass; those of rare categories improve few rows, but these
# much (2026-11).
LEAST_ERRORS = 4.0

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CategoryPair:
    """What a model stores of two categorical features together.

    Attributes
    ----------
    first, second : int
        Numbers of the columns.
    keys : ndarray of int64, shape (n_pairs,)
        Pairs of categories of the training rows, sorted. A key is i * n + j: i and j
        are the indices of the two categories, n is the number of categories of the
        second feature.
    values : ndarray of float64, shape (n_pairs,)
        The mean target of each.
    """

    first: int
    second: int
    keys: Numbers
    values: FloatArray

    def numbers_of(self, first: Numbers, second: Numbers, n_second: int) -> FloatArray:
        """Return the number of each row by its categories; NaN if there is none."""
        if len(self.keys) == 0:
            return np.full(len(first), np.nan)
        keys = joined_keys(first, second, n_second)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.values[places], np.nan)

    def check(self, columns: dict[int, CategoricalFeature]) -> None:
        """Check the fields of an untrusted model."""
        require(
            self.first in columns and self.second in columns,
            "a pair is of no categorical features",
        )
        check_array("pairs of categories", self.keys, np.int64, (None,))
        check_array("values of pairs", self.values, np.float64, (len(self.keys),))
        require(np.isfinite(self.values), "a value of a pair is not finite")
        require(self.keys[1:] > self.keys[:-1], "pairs of categories are not sorted")


def joined_keys(first: Numbers, second: Numbers, n_second: int) -> Numbers:
    """Return one number for two categories; -1 where one of them is missing."""
    keys: Numbers = np.where((first < 0) | (second < 0), -1, first * n_second + second)
    return keys


def chosen_pairs(
    outcomes: TargetEncoder,
    columns: Mapping[int, CategoricalColumn],
    known: list[CategoricalFeature],
) -> list[CategoryPair]:
    """Choose the pairs of columns that tell more than both of them."""
    is_ranked = {column.feature: column.is_ranked for column in known}
    if all(is_ranked.values()):
        return []
    trials = PairTrials(outcomes, columns)
    chosen = []
    for first, second in trials.pairs():
        if is_ranked[first] and is_ranked[second]:
            continue  # splits of one below the other do the same
        joined = joined_column(columns[first], columns[second])
        numbers = outcomes.cross_fitted(joined, (first, second))
        if trials.errors(first, second, joined, numbers) >= LEAST_ERRORS:
            outcomes.cache((first, second), numbers)
            values = outcomes.category_means(joined)
            chosen.append(CategoryPair(first, second, joined.categories, values))
    return chosen


def joined_column(
    first: CategoricalColumn, second: CategoricalColumn
) -> CategoricalColumn:
    """Return pairs of categories as a column."""
    keys = joined_keys(first.indices, second.indices, len(second.categories))
    rows = np.flatnonzero(keys >= 0)
    order = rows[sorted_places(first.indices[rows], second.indices[rows])]
    keys = keys[order]
    is_new = np.ones(len(keys), dtype=bool)
    is_new[1:] = keys[1:] != keys[:-1]
    numbers = np.full(len(first.indices), -1, dtype=np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return CategoricalColumn(keys[is_new], numbers)


def sorted_places(first: Numbers, second: Numbers) -> npt.NDArray[np.intp]:
    """Sort rows by the first number, and those of the same by the second.

    NumPy sorts 16 bits by counting, which takes a tenth of the time.
    """
    most = max(first.max(initial=0), second.max(initial=0))
    if most <= np.iinfo(np.uint16).max:
        first, second = first.astype(np.uint16), second.astype(np.uint16)
    order = np.argsort(second, kind="stable")
    return order[np.argsort(first[order], kind="stable")]


class PairTrials:
    """Tells whether pairs of columns say more than the columns.

    Parameters
    ----------
    outcomes : TargetEncoder
    columns : dict of CategoricalColumn
        By the number of the feature.
    """

    def __init__(
        self, outcomes: TargetEncoder, columns: Mapping[int, CategoricalColumn]
    ) -> None:
        self._outcomes = outcomes
        self._columns = columns
        self._known: dict[int, FloatArray] = {}  # if all pairs have the same target

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Return the pairs to try."""
        features = sorted(self._columns)
        if len(features) > MAX_PAIRED:
            spread = {f: self._means(f, None).var() for f in features}
            features = sorted(features, key=lambda f: -spread[f])[:MAX_PAIRED]
        return combinations(sorted(features), 2)

    def errors(
        self, first: int, second: int, joined: CategoricalColumn, numbers: FloatArray
    ) -> float:
        """Return by how many standard errors a pair says more than its columns."""
        target = self._outcomes.target_of(joined)
        is_known = np.isfinite(numbers)
        weights = np.where(is_known, self._outcomes.weights, 0.0)
        told = np.stack(
            [
                np.ones(len(weights)),
                self._means(first, target),
                self._means(second, target),
            ]
        )
        both = np.stack([np.where(is_known, numbers, 0.0), target])
        weighted = told * weights
        shares = np.linalg.lstsq(weighted @ told.T, weighted @ both.T)[0]
        added, missed = both - shares.T @ told
        products = weights * added * missed
        error = np.sqrt((products**2).sum())
        return float(products.sum() / error) if error > 0 else 0.0

    def _means(self, feature: int, target: FloatArray | None) -> FloatArray:
        """Cross-fitted means of a column, that of all rows where there is none."""
        if feature in self._known:
            return self._known[feature]
        column = self._columns[feature]
        if target is None:
            target = self._outcomes.target_of(column)
        means = self._outcomes.cross_fitted(column, (feature,), target)
        filled = np.where(np.isnan(means), self._outcomes.mean(target), means)
        if self._outcomes.is_single:
            self._known[feature] = filled
            self._outcomes.cache((feature,), means)
        return filled
