"""Algorithm 1 of the paper in NumPy: from centroids to the boundaries between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dics._validation import FloatArray
from dics.dictionary import Dictionary

BLOCK_VALUES = 1 << 14  # of zeta at a time: little memory compared with X
MAX_CLASS_MEANS = 64
# Between numbers of single precision that resolve a feature, in its deviations.
LARGEST_STEP = 2.0**-10


def commonest(labels: npt.NDArray[np.uint32], n_classes: int) -> npt.NDArray[np.uint32]:
    """Give numbers from 0 to the commonest classes, and none that counts to others."""
    number = np.full(n_classes, np.iinfo(np.uint32).max, dtype=np.uint32)
    counts = np.bincount(labels, minlength=n_classes)
    most = np.argsort(-counts, kind="stable")[:MAX_CLASS_MEANS]
    number[most] = np.arange(len(most))
    return number[labels]


def all_pairs(
    squared_distances: list[FloatArray], n_pairs: int | str
) -> npt.NDArray[np.intp]:
    """Pairs within each family of centroids, numbered through all families."""
    pairs, first = [], 0
    for distances in squared_distances:
        pairs.append(first + farthest_pairs(distances, n_pairs))
        first += len(distances)
    return np.concatenate(pairs)


def farthest_pairs(
    squared_distances: FloatArray, n_pairs: int | str
) -> npt.NDArray[np.intp]:
    """Lines 2 and 3 of Algorithm 1: the m pairs of the largest distance."""
    n_clusters = len(squared_distances)
    first, second = np.triu_indices(n_clusters, k=1)
    if n_pairs == "auto":
        n_pairs = len(first) if n_clusters <= 5 else 25
    order = np.argsort(-squared_distances[first, second], kind="stable")[: int(n_pairs)]
    return np.column_stack([first[order], second[order]])


def boundaries(
    centroids: FloatArray,
    scales: FloatArray,
    pairs: npt.NDArray[np.intp],
    boundary: str,
) -> FloatArray:
    """Line 5 of Algorithm 1: zeta of each feature (rows) and pair (columns)."""
    n_features = centroids.shape[1]
    zeta = np.empty((n_features, len(pairs)))
    at_once = max(1, BLOCK_VALUES // n_features)
    for first in range(0, len(pairs), at_once):
        some = pairs[first : first + at_once].T
        mu1, mu2 = centroids[some]
        share = np.full_like(mu1, 0.5)
        if boundary == "variance":
            sigma1, sigma2 = scales[some]
            spread = sigma1 + sigma2
            np.divide(sigma1, spread, out=share, where=spread > 0)
        # Equal to (sigma1 mu2 + sigma2 mu1) / (sigma1 + sigma2), without its overflow.
        zeta[:, first : first + at_once] = ((1 - share) * mu1 + share * mu2).T
    return zeta


def round_to_single(
    zeta: FloatArray, clusters: dict[str, Any], dtype: np.dtype[Any]
) -> FloatArray:
    """Round the thresholds of features that single precision resolves.

    `dtype` is that of the rows that gave the clusters: if it is float64, a feature may
    have values that single precision would merge, such as seconds since 1970.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = zeta.astype(np.float32).astype(np.float64)
        if dtype != np.float64:
            return rounded
        largest = np.maximum(np.abs(clusters["low"]), np.abs(clusters["high"]))
        step = np.spacing(largest.astype(np.float32))
        is_resolved = step <= LARGEST_STEP * clusters["deviation"]
    return np.where(is_resolved[:, None], rounded, zeta)


def drop_useless(
    zeta: FloatArray, clusters: dict[str, Any], min_gap: float
) -> FloatArray:
    """Sort the thresholds of each feature; repeats and such as part nothing become NaN.

    A threshold closer than `min_gap` deviations to the last one kept counts as a
    repeat.
    """
    zeta = np.sort(zeta, axis=1)
    keep = (zeta > clusters["low"][:, None]) & (zeta <= clusters["high"][:, None])
    gap = min_gap * clusters["deviation"]
    last = np.full(len(zeta), -np.inf)
    for pair in range(zeta.shape[1]):
        keep[:, pair] &= zeta[:, pair] > last + gap
        last = np.where(keep[:, pair], zeta[:, pair], last)
    return np.where(keep, zeta, np.nan)


def thin(zeta: FloatArray, most: int) -> FloatArray:
    """Leave no feature more than `most` thresholds, spread over those it had."""
    present = ~np.isnan(zeta)
    for f in np.flatnonzero(present.sum(axis=1) > most):
        at = np.flatnonzero(present[f])
        keep = at[np.linspace(0, len(at) - 1, most).astype(int)]
        zeta[f, np.setdiff1d(at, keep)] = np.nan
    return zeta


def flatten(zeta: FloatArray) -> Dictionary:
    """Make a dictionary of what isn't NaN."""
    present = ~np.isnan(zeta)
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return Dictionary(zeta[present], offsets)
