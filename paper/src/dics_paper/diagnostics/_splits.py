"""Two splits of the same rows, and the paper's bound on the gap of the gains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from dics._input.checks import Array, ClassTargets, FloatArray, check_class_labels
from dics_paper.diagnostics._fitted import nodes_of


def gap_bound(delta: int, alpha: float, n_samples: int) -> float:
    """Return the bound on the gap of the gains of two splits (Theorem 1).

    ``(8 + delta / (alpha * (1 - alpha) * n_samples)) * delta / n_samples``.

    Parameters
    ----------
    delta : int
        Number of rows that the splits send to different sides.
    alpha : float
        Fraction of the rows on the smaller side of one of the splits. If it is 0, the
        bound is infinite unless delta is 0.
    n_samples : int
        Number of rows.

    Returns
    -------
    bound : float

    Notes
    -----
    The theorem states "<", which is false only if ``delta == 0``: read "<=". Its proof
    uses ``2 n + 1 < 3 n`` for sides that may have one row, and moves one row at a time
    with the initial counts. The bound is still true for any two partitions, because it
    follows from a stronger one. Let n_c be the counts of a side, n their sum and
    p_c = n_c / n: ``h = sum_c n_c**2 / n`` has the slopes ``2 p_c - sum_k p_k**2``,
    which are in [-1, 1]. A row that changes sides therefore changes h by at most 1 on
    each side. Q is 1 minus the sum of both h divided by N, so the gap is at most
    ``2 * delta / n_samples`` for any alpha.

    Examples
    --------
    >>> from dics_paper.diagnostics import gap_bound
    >>> gap_bound(16, 0.5, 1024)
    0.1259765625
    """
    if delta == 0:
        return 0.0
    if alpha == 0:
        return inf
    return (8 + delta / (alpha * (1 - alpha) * n_samples)) * delta / n_samples


@dataclass(frozen=True)
class Split:
    """A split of all rows.

    Attributes
    ----------
    feature : int
    threshold : float
        Smaller values go left; in trees of scikit-learn, equal values also go left.
    gain : float
        Gini impurity of all rows minus the mean impurity of the two sides.
    """

    feature: int
    threshold: float
    gain: float


class _Gap(ABC):
    """Bounds on the gap of the gains of two splits."""

    n_samples: int
    delta: int
    alpha: float

    @property
    @abstractmethod
    def gap(self) -> float:
        """Difference of the gains."""

    @property
    def bound(self) -> float:
        """The paper's bound on the gap; see `gap_bound`."""
        return gap_bound(self.delta, self.alpha, self.n_samples)

    @property
    def sharp_bound(self) -> float:
        """``2 * delta / n_samples``, a sharper bound on the gap."""
        return 2 * self.delta / self.n_samples

    @property
    def holds(self) -> bool:
        """Whether the gap is within the paper's bound."""
        return abs(self.gap) <= self.bound

    @property
    def scaled_gap(self) -> float:
        """Gap times the square root of the number of rows."""
        return sqrt(self.n_samples) * self.gap


@dataclass(frozen=True)
class SplitComparison(_Gap):
    """Two splits of the same rows.

    Attributes
    ----------
    n_samples : int
    first, second : Split
    delta : int
        Number of rows that the two splits send to different sides.
    alpha : float
        Fraction of the rows on the smaller side of the first split.
    """

    n_samples: int
    first: Split
    second: Split
    delta: int
    alpha: float

    @property
    def gap(self) -> float:
        """Gain of the first minus that of the second; it may be negative."""
        return self.first.gain - self.second.gain


def compare_splits(
    X: Any, y: Any, first: tuple[int, float], second: tuple[int, float]
) -> SplitComparison:
    """Compare two splits of the same rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows; NaN and infinities are an error.
    y : array-like of shape (n_samples,)
        Class labels.
    first, second : tuple (feature, threshold)
        Rows with a value less than the threshold go left.

    Returns
    -------
    comparison : SplitComparison

    Examples
    --------
    >>> from dics_paper.diagnostics import compare_splits
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> comparison = compare_splits(X, y, (0, 2.5), (0, 3.5))
    >>> comparison.delta, comparison.alpha, comparison.first.gain
    (1, 0.5, 0.5)
    >>> round(comparison.gap, 3), comparison.bound, comparison.holds
    (0.333, 2.25, True)
    """
    X, targets = check_rows(X, y)
    for feature, _ in (first, second):
        if not 0 <= feature < X.shape[1]:
            raise ValueError(f"Unknown feature {feature}; X has {X.shape[1]} features.")
    applied = [_AppliedSplit(f, tau, X[:, f] < tau) for f, tau in (first, second)]
    return _compare(targets, *applied)


def compare_root_splits(X: Any, y: Any, tree: Any, exhaustive: Any) -> SplitComparison:
    """Compare the splits at the roots of two fitted trees.

    If the trees split different features, delta is large and the bound is not
    informative. `root_split_gap` makes the comparison of the paper's theorem.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows; NaN and infinite values raise an error.
    y : array-like of shape (n_samples,)
        Class labels.
    tree, exhaustive : CGTreeClassifier or DecisionTreeClassifier
        Fitted trees.

    Returns
    -------
    comparison : SplitComparison
        Its `first` is the split of the exhaustive tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from dics import CGTreeClassifier
    >>> from dics_paper.diagnostics import compare_root_splits
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CGTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> exhaustive = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> comparison = compare_root_splits(X, y, tree, exhaustive)
    >>> comparison.delta, comparison.gap
    (0, 0.0)
    """
    X, targets = check_rows(X, y)
    applied = [
        _AppliedSplit(
            int(nodes.feature[0]), float(nodes.threshold[0]), nodes.root_left(X)
        )
        for nodes in (nodes_of(exhaustive), nodes_of(tree))
    ]
    return _compare(targets, *applied)


def check_rows(X: Any, y: Any) -> tuple[Array, ClassTargets]:
    """Check training rows; the paper defines no side for NaN."""
    X = check_array(X, dtype="numeric", input_name="X")
    return X, check_class_labels(y, len(X))


def _compare(
    targets: ClassTargets, first: _AppliedSplit, second: _AppliedSplit
) -> SplitComparison:
    n = len(targets.labels)
    n_left = int(np.count_nonzero(first.left))
    return SplitComparison(
        n,
        first.as_split(targets),
        second.as_split(targets),
        delta=int(np.count_nonzero(first.left != second.left)),
        alpha=min(n_left, n - n_left) / n,
    )


class _AppliedSplit(NamedTuple):
    """A split, and a mask of the rows that it sends left."""

    feature: int
    threshold: float
    left: npt.NDArray[np.bool_]

    def as_split(self, targets: ClassTargets) -> Split:
        n_classes = len(targets.classes)
        total = np.bincount(targets.labels, minlength=n_classes)
        left = np.bincount(targets.labels[self.left], minlength=n_classes)
        squares = [np.array([(side**2).sum()]) for side in (left, total - left)]
        gains = gini_gains(squares[0], squares[1], np.array([left.sum()]), total)
        return Split(self.feature, self.threshold, float(gains[0]))


def gini_gains(
    left_squares: npt.NDArray[np.int64],
    right_squares: npt.NDArray[np.int64],
    n_left: npt.NDArray[np.int64],
    total: npt.NDArray[np.int64],
) -> FloatArray:
    """Return the gains of splits from the sums of squared counts on both sides.

    Counts are integers, so the gains of equal partitions are bit-identical, and a
    better partition never has a lower gain.
    """
    n = int(total.sum())
    purity: FloatArray = np.zeros(len(n_left))  # N (1 - Q); an empty side adds zero
    for squares, size in ((left_squares, n_left), (right_squares, n - n_left)):
        purity += np.divide(squares, size, out=np.zeros(len(size)), where=size > 0)
    gains: FloatArray = np.maximum((purity - (total**2).sum() / n) / n, 0.0)
    return gains
