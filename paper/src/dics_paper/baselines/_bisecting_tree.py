"""Trees of bisecting hyperplanes: stopping rule, growth and prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.checks import Array, FloatArray
from dics_paper.baselines._bisect import bisect, block_length
from dics_paper.baselines._hyperplane import Rows, float_type

Labels = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]

ALWAYS = -1.0  # a leaf for every lambda
NEVER = float("inf")


class Limits(NamedTuple):
    """Limits of the growth."""

    max_depth: int | None
    max_iter: int
    tol: float


class Sample(NamedTuple):
    """Rows to grow a tree from."""

    X: Array
    labels: Labels
    rows: Rows
    class_counts: Counts  # in all rows of the sample

    @classmethod
    def of(cls, X: Array, labels: Labels, rows: Rows, n_classes: int) -> Sample:
        """Return a sample with the class counts of its rows."""
        return cls(X, labels, rows, np.bincount(labels[rows], minlength=n_classes))

    def counts(self, rows: Rows) -> Counts:
        """Count the classes of some of the rows."""
        return np.bincount(self.labels[rows], minlength=len(self.class_counts))


def stop_bound(counts: Counts, class_counts: Counts) -> float:
    """Return the lower bound of lambda for which a node is a leaf.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Rows of each class in the node.
    class_counts : ndarray of shape (n_classes,)
        Rows of each class in the training set.

    Returns
    -------
    bound : float
        `ALWAYS` for a pure node, `NEVER` if the majority of the node is not more
        frequent in it than in the training set.
    """
    majority = int(counts.argmax())
    size = int(counts.sum())
    if counts[majority] == size:
        return ALWAYS
    total = int(class_counts.sum())
    # Python integers have no rounding and no overflow.
    if int(counts[majority]) * total <= int(class_counts[majority]) * size:
        return NEVER
    others = counts.copy()
    others[majority] = 0
    present = np.flatnonzero(others)
    return float((others[present] * float(size) / class_counts[present]).max())


class BisectingTree:
    """A tree as flat arrays; the right child follows the left one."""

    def __init__(
        self,
        left: npt.NDArray[np.int64],
        depth: npt.NDArray[np.int64],
        counts: Counts,
        normals: Array,
        offsets: FloatArray,
        n_iter: int,
    ) -> None:
        self.left = left  # index of the left child; 0 for a leaf
        self.depth = depth
        self.counts = counts
        self.majority = counts.argmax(axis=1)
        self.normals = normals  # of the inner nodes, in their order
        self.offsets = offsets
        self.n_iter = n_iter  # maximum steps of 2-means in a node
        self.cut = np.cumsum(left > 0) - 1  # index of a node's hyperplane

    def apply(self, X: Array) -> npt.NDArray[np.int64]:
        """Return the leaf of each row."""
        leaves = np.empty(len(X), np.int64)
        waiting = [(0, np.arange(len(X)))]
        while waiting:
            node, rows = waiting.pop()
            left = int(self.left[node])
            if left == 0:
                leaves[rows] = node
                continue
            cut = self.cut[node]
            right = is_right(X, rows, self.normals[cut], float(self.offsets[cut]))
            for child, side in ((left, ~right), (left + 1, right)):
                if side.any():
                    waiting.append((child, rows[side]))
        return leaves


def is_right(
    X: Array, rows: Rows, normal: Array, offset: float
) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows on the right side of a hyperplane."""
    right = np.empty(len(rows), np.bool_)
    # In blocks, because rows of uint8 are converted to floats for the product.
    length = block_length(X.shape[1], float_type(X))
    with np.errstate(over="ignore", invalid="ignore"):  # rows far from training
        for start in range(0, len(rows), length):
            part = slice(start, start + length)
            right[part] = X[rows[part]] @ normal > offset
    return right


def grow(sample: Sample, reg_lambda: float, limits: Limits) -> BisectingTree:
    """Grow the tree for one lambda."""
    left, depths, counts = [0], [0], [sample.class_counts]
    cuts: dict[int, tuple[Array, float]] = {}
    n_iter = 0
    waiting = [(0, sample.rows)]
    while waiting:  # no recursion: a chain of outliers can be thousands deep
        node, rows = waiting.pop()
        stops = stop_bound(counts[node], sample.class_counts) < reg_lambda
        if stops or depths[node] == limits.max_depth:
            continue
        cut = bisect(sample.X, rows, limits.max_iter, limits.tol)
        if cut is None:
            continue
        left[node] = len(left)
        n_iter = max(n_iter, cut.n_iter)
        cuts[node] = cut.normal, cut.offset
        for side in (rows[~cut.right], rows[cut.right]):
            waiting.append((len(left), side))
            left.append(0)
            depths.append(depths[node] + 1)
            counts.append(sample.counts(side))
    return BisectingTree(
        np.array(left),
        np.array(depths),
        np.stack(counts),
        _stacked(cuts, sample.X),
        np.array([cuts[node][1] for node in sorted(cuts)]),
        n_iter,
    )


def _stacked(cuts: dict[int, tuple[Array, float]], X: Array) -> Array:
    normals = np.empty((len(cuts), X.shape[1]), float_type(X))
    for place, node in enumerate(sorted(cuts)):
        normals[place] = cuts[node][0]
    return normals


def holdout_scores(
    sample: Sample, held: Rows, lambdas: FloatArray, limits: Limits
) -> FloatArray:
    """Return the accuracy of the tree of each lambda on held-out rows.

    Lambda determines where a tree stops, not how it splits. So one tree is grown for
    the smallest lambda, and the held-out rows are passed down during growth. A subtree
    without held-out rows is not grown. A larger lambda stops at every node where a
    smaller one stops, so on the way down the largest values are decided first.

    Parameters
    ----------
    sample : Sample
        The rows to grow from.
    held : ndarray of intp
        The held-out rows.
    lambdas : ndarray of float64
        In ascending order.
    limits : Limits

    Returns
    -------
    scores : ndarray of shape (n_lambdas,)
    """
    correct = np.zeros(len(lambdas), np.int64)
    waiting = [(sample.rows, held, 0, len(lambdas))]
    while waiting:
        rows, reached, depth, n_open = waiting.pop()
        counts = sample.counts(rows)
        bound = stop_bound(counts, sample.class_counts)
        first = min(n_open, int(np.searchsorted(lambdas, bound, side="right")))
        cut = None
        if first > 0 and depth != limits.max_depth:
            cut = bisect(sample.X, rows, limits.max_iter, limits.tol)
        if cut is None:
            first = 0
        hits = np.count_nonzero(sample.labels[reached] == counts.argmax())
        correct[first:n_open] += hits
        if cut is None:
            continue
        right = is_right(sample.X, reached, cut.normal, float(cut.offset))
        for side, of_held in ((~cut.right, ~right), (cut.right, right)):
            if of_held.any():
                waiting.append((rows[side], reached[of_held], depth + 1, first))
    return correct / len(held)
