"""The best candidate split at the root, compared with the best split of all."""

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
    """The best split of all rows, and the best candidate split.

    Attributes
    ----------
    n_samples : int
    exhaustive : Split
        The best of all possible splits.
    dictionary : Split or None
        The best candidate split; None if no candidate separates the rows.
    same_feature : Split or None
        The best candidate for the feature of `exhaustive`; None if there is none.
    delta : int
        Number of rows that `exhaustive` and `same_feature` send to different sides. If
        `same_feature` is None, the number of rows on the smaller side of `exhaustive`.
    alpha : float
        Fraction of the rows on the smaller side of `exhaustive`.
    """

    n_samples: int
    exhaustive: Split
    dictionary: Split | None
    same_feature: Split | None
    delta: int
    alpha: float

    @property
    def gap(self) -> float:
        """Gain of the best split minus that of the best candidate; not negative."""
        return self.exhaustive.gain - (self.dictionary.gain if self.dictionary else 0.0)


def root_split_gap(X: Any, y: Any, candidates: Any) -> RootSplitGap:
    """Compare the best candidate split at the root with the best split of all.

    This is the case of the paper's theorem. Delta is measured at the feature f of the
    best split. The best candidate is at least as good as the best candidate of f. So
    the gap is at most that of two splits of f, and `gap_bound` applies to these. If f
    has no candidate, it is replaced by a split that sends all rows to one side.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows; NaN and infinite values raise an error.
    y : array-like of shape (n_samples,)
        Class labels.
    candidates : CentroidCandidates, QuantileCandidates or list of arrays
        Fitted candidates, or the thresholds of each feature.

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
    labels = targets.labels.astype(np.min_scalar_type(len(totals)))  # faster to sort
    best = _Best()
    for f, offered in enumerate(thresholds):
        best.compare_feature(f, _SortedColumn.of(X[:, f], labels, totals), offered)
    if best.exhaustive is None:
        raise ValueError("X has no feature with two different values.")
    return best.summary(len(X))


def _thresholds(candidates: Any, n_features: int) -> list[Array]:
    if isinstance(candidates, BaseCandidates):
        candidates = candidates.thresholds_
    thresholds = [np.asarray(values) for values in candidates]
    if len(thresholds) != n_features:
        raise ValueError(
            f"candidates are for {len(thresholds)} features, but X has {n_features}."
        )
    return thresholds


class _Cut(NamedTuple):
    """A split that sends the first `n_left` rows left, sorted by the feature."""

    n_left: int
    split: Split


class _SortedColumn(NamedTuple):
    """A sorted feature, and the gain of a split by number of rows on the left."""

    values: Array
    gains: FloatArray

    @classmethod
    def of(
        cls, column: Array, labels: Array, totals: npt.NDArray[np.int64]
    ) -> _SortedColumn:
        order = np.argsort(column)
        return cls(column[order], _gains_of_cuts(labels[order], totals))

    def best_of_all(self, feature: int) -> _Cut | None:
        """Return the best cut between two different values."""
        cuts = np.flatnonzero(self.values[1:] > self.values[:-1]) + 1
        if len(cuts) == 0:
            return None
        n_left = int(cuts[self.gains[cuts].argmax()])
        low, high = (float(value) for value in self.values[n_left - 1 : n_left + 1])
        middle = low / 2 + high / 2
        threshold = middle if low < middle else high
        return _Cut(n_left, Split(feature, threshold, float(self.gains[n_left])))

    def best_among(self, feature: int, thresholds: Array) -> _Cut | None:
        """Return the best of the thresholds that separate the rows."""
        cuts = np.searchsorted(self.values, thresholds)
        inside = (cuts > 0) & (cuts < len(self.values))
        if not inside.any():
            return None
        at = np.where(inside, self.gains[cuts], -1.0).argmax()
        split = Split(feature, float(thresholds[at]), float(self.gains[cuts[at]]))
        return _Cut(int(cuts[at]), split)


def _gains_of_cuts(labels: Array, totals: npt.NDArray[np.int64]) -> FloatArray:
    """Return the gains of the cuts after the first 0, 1, ..., N rows.

    Class counts are not stored, only the increase of their squares by each row: with i
    rows of the same class before it, (i + 1)**2 - i**2. So the time does not depend on
    the number of classes.
    """
    n = len(labels)
    same_class_before = np.empty(n, dtype=np.int64)
    by_class = np.argsort(labels, kind="stable")
    same_class_before[by_class] = np.arange(n) - np.repeat(
        np.cumsum(totals) - totals, totals
    )
    left = _sums_before(2 * same_class_before + 1)
    # On the right: squares of (total - left), so twice the products are subtracted.
    right = (totals**2).sum() - 2 * _sums_before(totals[labels]) + left
    return gini_gains(left, right, np.arange(n + 1), totals)


def _sums_before(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(steps)])


class _Best:
    """The best splits of the features compared so far; the first of equal ones."""

    exhaustive: _Cut | None = None
    same_feature: _Cut | None = None
    dictionary: _Cut | None = None

    def compare_feature(
        self, feature: int, column: _SortedColumn, offered: Array
    ) -> None:
        anywhere = column.best_of_all(feature)
        candidate = column.best_among(feature, offered)
        if _better(anywhere, self.exhaustive):
            self.exhaustive, self.same_feature = anywhere, candidate
        if _better(candidate, self.dictionary):
            self.dictionary = candidate

    def summary(self, n: int) -> RootSplitGap:
        assert self.exhaustive is not None
        n_left, split = self.exhaustive
        smaller = min(n_left, n - n_left)
        candidate = self.same_feature
        return RootSplitGap(
            n,
            split,
            self.dictionary.split if self.dictionary else None,
            candidate.split if candidate else None,
            delta=abs(n_left - candidate.n_left) if candidate else smaller,
            alpha=smaller / n,
        )


def _better(cut: _Cut | None, best: _Cut | None) -> bool:
    if cut is None:
        return False
    return best is None or cut.split.gain > best.split.gain
