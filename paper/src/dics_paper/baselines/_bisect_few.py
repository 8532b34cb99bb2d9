"""The split of a node of few rows, from their inner products alone.

Half of the nodes of a tree have a handful of rows: there the calls cost more than the
arithmetic. Components, centroids and distances are all functions of the inner products
of the rows, a matrix of n x n numbers, so that the columns are read twice only.
"""

from __future__ import annotations

import numpy as np

from dics._validation import Array, FloatArray
from dics_paper.baselines._hyperplane import (
    Cut,
    Rows,
    Sides,
    float_type,
    median_cut,
    points_up,
    safe_scale,
    unit,
    widest_cut,
)


def bisect_few(X: Array, rows: Rows, max_iter: int, tol: float) -> Cut | None:
    """Part a few rows of X in two clusters; None if they are all the same."""
    block = X[rows].astype(np.float64)
    origin = block[0].copy()
    with np.errstate(over="ignore"):
        block -= origin  # the same value in all rows becomes exactly zero
    largest = max(block.max(), -block.min())
    if largest == 0:
        return None
    if np.isfinite(largest):
        cut = _bisect_centred(X, block, origin, largest, max_iter, tol)
        if cut is not None:
            return cut
    block = X[rows].astype(float_type(X))
    return widest_cut(X, rows, block.min(axis=0), block.max(axis=0))


def _bisect_centred(
    X: Array,
    block: FloatArray,
    origin: FloatArray,
    largest: float,
    max_iter: int,
    tol: float,
) -> Cut | None:
    dtype = float_type(X)
    scale = safe_scale(largest, dtype)
    if scale != 1:
        block *= scale
    mean = block.mean(axis=0)
    block -= mean
    products = block @ block.T
    right = _start(block, products)
    if right is None:
        return None
    least_shift = tol * products.trace() / block.size
    found = _two_means(products, right, max_iter, least_shift)
    if found is None:
        return None
    right, shares, n_iter = found
    centroids = shares @ block
    normal: Array = unit(centroids[1] - centroids[0]).astype(dtype)
    if not normal.any():
        return None
    wide = normal.astype(np.float64)
    # The scale goes to the normal: times a large constant column it could overflow.
    offset = (centroids.mean(axis=0) + mean) @ wide + origin @ (wide * scale)
    return Cut(normal * dtype.type(scale), float(offset), right, n_iter)


def _start(block: FloatArray, products: FloatArray) -> Sides | None:
    """Cut at the median along the first component."""
    if len(block) == 2:
        return np.array([False, True])
    shares = np.linalg.eigh(products)[1][:, -1]
    projections = products @ shares
    return median_cut(projections if points_up(shares @ block) else -projections)


def _two_means(
    products: FloatArray, right: Sides, max_iter: int, least_shift: float
) -> tuple[Sides, FloatArray, int] | None:
    """Take Lloyd's steps from the given sides; None if rounding empties a side.

    The result is the sides, the weights of the rows in the centroids that gave them,
    and the number of steps.
    """
    shares = _shares(right)
    for step in range(1, max_iter + 1):
        # Products of the rows with both centroids; (c1 + c0) (c1 - c0) = c1^2 - c0^2.
        near = shares @ products
        offset = (shares[1] @ near[1] - shares[0] @ near[0]) / 2
        now = near[1] - near[0] > offset
        if (now == right).all():
            break
        if now.all() or not now.any():
            return None
        used, right, shares = shares, now, _shares(now)
        moved = shares - used
        if ((moved @ products) * moved).sum() <= least_shift or step == max_iter:
            shares = used  # the hyperplane that gave these sides
            break
    return right, shares, step


def _shares(right: Sides) -> FloatArray:
    """Return the weight of each row in the centroid of each side."""
    sides = np.stack([~right, right]).astype(np.float64)
    sides /= sides.sum(axis=1, keepdims=True)
    return sides
