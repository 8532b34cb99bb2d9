"""The best split of a dictionary at the root, compared with the best of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.checks import Array, FloatArray
from dics.candidates import BaseCandidates
from dics_paper.diagnostics._splits import Split, _Gap, check_rows, gini_gains


@dataclass(frozen=True)
class RootSplitGap(_Gap):
    """The best split of all rows, and the best that a dictionary has.

    Attributes
    ----------
    n_samples : int
    exhaustive : Split
        The best of all splits.
    dictionary : Split or None
        The best of the dictionary; None if none of its thresholds parts the rows.
    same_feature : Split or None
        The dictionary's best for the feature of `exhaustive`; None if it has none.
    delta : int
        Rows that `exhaustive` and `same_feature` send to different sides; without the
        latter, the rows on the smaller side of the former.
    alpha : float
        Share of the rows on the smaller side of `exhaustive`.
    """

    n_samples: int
    exhaustive: Split
    dictionary: Split | None
    same_feature: Split | None
    delta: int
    alpha: float

    @property
    def gap(self) -> float:
        """Gain of the best split less that of the dictionary's best; never negative."""
        return self.exhaustive.gain - (self.dictionary.gain if self.dictionary else 0.0)


def root_split_gap(X: Any, y: Any, candidates: Any) -> RootSplitGap:
    """Compare the best split of a dictionary at the root with the best of all.

    This is the setting of the paper's theorem. Its delta is measured at the feature f
    of the best split: the dictionary's best split is at least as good as its best one
    of that feature, so the gap is at most that of two splits of f, and `gap_bound`
    applies to these. For a dictionary without a threshold in f, no split at all takes
    its place, which sends all rows to one side.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows; NaN and infinities are an error.
    y : array-like of shape (n_samples,)
        Class labels.
    candidates : CentroidCandidates, QuantileCandidates or list of arrays
        Fitted source of thresholds, or the thresholds of each feature.

    Returns
    -------
    gap : RootSplitGap

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dics import CentroidCandidates
    >>> from dics_paper.diagnostics import root_split_gap
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> candidates = CentroidCandidates.paper(random_state=0).fit(X, y)
    >>> found = root_split_gap(X, y, candidates)
    >>> 0 <= found.gap <= found.sharp_bound <= found.bound
    True
    """
    X, targets = check_rows(X, y)
    thresholds = _thresholds(candidates, X.shape[1])
    totals = np.bincount(targets.labels)
    labels = targets.labels.astype(np.min_scalar_type(len(totals)))  # quick to sort
    best = _Best()
    for f, offered in enumerate(thresholds):
        best.compare_feature(f, _SortedColumn.of(X[:, f], labels, totals), offered)
    if best.exhaustive is None:
        raise ValueError("no feature of X has two different values: nothing to split")
    return best.summary(len(X))


def _thresholds(candidates: Any, n_features: int) -> list[Array]:
    if isinstance(candidates, BaseCandidates):
        candidates = candidates.thresholds_
    thresholds = [np.asarray(values) for values in candidates]
    if len(thresholds) != n_features:
        raise ValueError(
            f"candidates are for {len(thresholds)} features, X has {n_features}"
        )
    return thresholds


class _Cut(NamedTuple):
    """A split that sends the first rows left, in the order of its feature."""

    n_left: int
    split: Split


class _SortedColumn(NamedTuple):
    """A feature in order, and the gain of a split for each number of rows at left."""

    values: Array
    gains: FloatArray

    @classmethod
    def of(
        cls, column: Array, labels: Array, totals: npt.NDArray[np.int64]
    ) -> _SortedColumn:
        order = np.argsort(column)
        return cls(column[order], _gains_of_cuts(labels[order], totals))

    def best_of_all(self, feature: int) -> _Cut | None:
        """Find the best cut between two different values."""
        cuts = np.flatnonzero(self.values[1:] > self.values[:-1]) + 1
        if len(cuts) == 0:
            return None
        n_left = int(cuts[self.gains[cuts].argmax()])
        low, high = (float(value) for value in self.values[n_left - 1 : n_left + 1])
        middle = low / 2 + high / 2
        threshold = middle if low < middle else high
        return _Cut(n_left, Split(feature, threshold, float(self.gains[n_left])))

    def best_among(self, feature: int, thresholds: Array) -> _Cut | None:
        """Find the best of the thresholds that part the rows."""
        cuts = np.searchsorted(self.values, thresholds)
        inside = (cuts > 0) & (cuts < len(self.values))
        if not inside.any():
            return None
        at = np.where(inside, self.gains[cuts], -1.0).argmax()
        split = Split(feature, float(thresholds[at]), float(self.gains[cuts[at]]))
        return _Cut(int(cuts[at]), split)


def _gains_of_cuts(labels: Array, totals: npt.NDArray[np.int64]) -> FloatArray:
    """Gains of the cuts behind the first 0, 1, ..., N rows.

    The class counts at left never appear, only what a row adds to their squares: with
    i rows of its class before it, (i + 1)**2 - i**2. So the time doesn't depend on the
    number of classes.
    """
    n = len(labels)
    same_class_before = np.empty(n, dtype=np.int64)
    by_class = np.argsort(labels, kind="stable")
    same_class_before[by_class] = np.arange(n) - np.repeat(
        np.cumsum(totals) - totals, totals
    )
    left = _sums_before(2 * same_class_before + 1)
    # At right, the squares of (total - left): the products of both come off twice.
    right = (totals**2).sum() - 2 * _sums_before(totals[labels]) + left
    return gini_gains(left, right, np.arange(n + 1), totals)


def _sums_before(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(steps)])


class _Best:
    """The best splits among the features seen so far; the first of equal ones."""

    exhaustive: _Cut | None = None
    same_feature: _Cut | None = None
    dictionary: _Cut | None = None

    def compare_feature(
        self, feature: int, column: _SortedColumn, offered: Array
    ) -> None:
        anywhere = column.best_of_all(feature)
        ours = column.best_among(feature, offered)
        if _better(anywhere, self.exhaustive):
            self.exhaustive, self.same_feature = anywhere, ours
        if _better(ours, self.dictionary):
            self.dictionary = ours

    def summary(self, n: int) -> RootSplitGap:
        assert self.exhaustive is not None
        n_left, split = self.exhaustive
        smaller = min(n_left, n - n_left)
        ours = self.same_feature
        return RootSplitGap(
            n,
            split,
            self.dictionary.split if self.dictionary else None,
            ours.split if ours else None,
            delta=abs(n_left - ours.n_left) if ours else smaller,
            alpha=smaller / n,
        )


def _better(cut: _Cut | None, best: _Cut | None) -> bool:
    if cut is None:
        return False
    return best is None or cut.split.gain > best.split.gain
