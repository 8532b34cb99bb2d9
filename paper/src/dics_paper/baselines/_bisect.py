"""The split of a node in two clusters: 2-means from a cut along its first component."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dics._input.checks import Array, FloatArray
from dics_paper.baselines._hyperplane import (
    Cut,
    FloatType,
    Rows,
    Sides,
    float_type,
    median_cut,
    points_up,
    safe_scale,
    unit,
    widest_cut,
)

# Constants are from calls of `bisect` on random rows of MNIST and of CIFAR-10 and, the
# residual, from fits of 6000 rows; one thread, while other programs ran (2026-11).

# Rows are multiplied in blocks that stay in the cache, so that a step which needs two
# products with them reads the memory once. 6000 rows of CIFAR-10: 225 ms with 2**17,
# 131 with 2**19, 112 with 2**21, 117 with 2**22; MNIST is even from 2**20 on.
BLOCK_BYTES = 2**21
# A node of more bytes is gathered and centred anew, block by block, in each step:
# slower than from a copy, but the memory stays bounded for nodes near the root.
GATHERED_BYTES = 2**28
# Up to so many columns or rows the component comes from an eigenproblem of that size.
MOST_EXACT = 48
# Steps of Lanczos, and the residual (as a share of the largest eigenvalue) that ends
# them. The component only starts the 2-means: another one leads to other clusters where
# there are no clear ones, but to none the better. With 1e-1, 1e-2 and 1e-3 trees of
# MNIST are right on 85.9, 85.8 and 85.9 % of new rows, of CIFAR-10 on 25.2, 25.6 and
# 25.3; the fits of CIFAR-10 take 2.6, 3.5 and 4.9 s.
MOST_STEPS = 30
RESIDUAL = 1e-2


def block_length(n_features: int, dtype: FloatType) -> int:
    """Return how many rows make a block."""
    return max(16, BLOCK_BYTES // (n_features * dtype.itemsize))


class NodeRows:
    """The rows of a node as floats: centred, scaled if need be, read in blocks."""

    def __init__(self, X: Array, rows: Rows) -> None:
        self.X = X
        self.rows = rows
        self.dtype = float_type(X)
        self.length = block_length(X.shape[1], self.dtype)
        n_bytes = len(rows) * X.shape[1] * self.dtype.itemsize
        self.copy: Array | None = None
        if n_bytes <= GATHERED_BYTES:
            self.copy = self._gather(rows)
        self.centre = np.zeros(X.shape[1], self.dtype)
        self.scale = 1.0
        self._measure()

    def _gather(self, rows: Rows) -> Array:
        return self.X[rows].astype(self.dtype, order="C", copy=False)

    def _measure(self) -> None:
        """Find the range and the mean of each column, and move the mean to zero."""
        share = np.full(min(self.length, len(self.rows)), 1 / len(self.rows))
        share = share.astype(self.dtype)
        low = high = None
        mean = np.zeros(self.X.shape[1])
        for _, block in self.blocks():
            least, most = block.min(axis=0), block.max(axis=0)
            low = least if low is None else np.minimum(low, least)
            high = most if high is None else np.maximum(high, most)
            mean += share[: len(block)] @ block
        assert low is not None
        assert high is not None
        self.low, self.high = low, high
        # Within the range in spite of rounding: a constant column becomes exactly zero.
        self.centre = np.clip(mean.astype(self.dtype), low, high)
        largest = max(
            (high / 2 - self.centre / 2).max(), (self.centre / 2 - low / 2).max()
        )
        self.scale = safe_scale(float(largest), self.dtype)
        if self.copy is not None:
            self.copy = self._centred(self.copy)

    def _centred(self, block: Array) -> Array:
        if self.scale < 1:  # before the subtraction, which could overflow
            block *= self.scale
            block -= self.centre * self.dtype.type(self.scale)
            return block
        block -= self.centre
        if self.scale > 1:
            block *= self.dtype.type(self.scale)
        return block

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield all rows, a block at a time, with their places in the node."""
        for start in range(0, len(self.rows), self.length):
            part = slice(start, start + self.length)
            if self.copy is not None:
                yield part, self.copy[part]
            else:
                yield part, self._centred(self._gather(self.rows[part]))

    def project(self, direction: Array) -> Array:
        """Return the product of each row with a direction."""
        found = np.empty(len(self.rows), self.dtype)
        for part, block in self.blocks():
            np.matmul(block, direction, out=found[part])
        return found


def bisect(X: Array, rows: Rows, max_iter: int, tol: float) -> Cut | None:
    """Part rows of X in two clusters; None if they are all the same."""
    if len(rows) < 2:
        return None
    node = NodeRows(X, rows)
    if not (node.high > node.low).any():
        return None
    start = median_cut(node.project(first_component(node).astype(node.dtype)))
    cut = None if start is None else _two_means(node, start, max_iter, tol)
    return widest_cut(X, rows, node.low, node.high) if cut is None else cut


def first_component(node: NodeRows) -> FloatArray:
    """Return the direction of the largest variance, its largest entry positive."""
    if len(node.centre) <= MOST_EXACT:
        products = sum(block.T @ block for _, block in node.blocks())
        found = np.linalg.eigh(np.asarray(products, dtype=np.float64))[1][:, -1]
    elif len(node.rows) <= MOST_EXACT and node.copy is not None:
        products = node.copy @ node.copy.T
        shares = np.linalg.eigh(products.astype(np.float64))[1][:, -1]
        found = unit(shares @ node.copy)
    else:
        found = unit(_lanczos(node))
    return found if points_up(found) else -found


def _lanczos(node: NodeRows) -> FloatArray:
    """Approximate the first component from products with the rows only."""
    # A start by chance, but always the same, isn't orthogonal to the component.
    chance = np.random.default_rng(0).standard_normal(len(node.centre))
    basis = np.empty((MOST_STEPS, len(node.centre)))
    basis[0] = unit(chance * (node.high / 2.0 - node.low / 2.0))
    matrix = np.zeros((MOST_STEPS + 1, MOST_STEPS + 1))
    for step in range(MOST_STEPS):
        image = _covariance_product(node, basis[step])
        done = basis[: step + 1]
        matrix[step, step] = basis[step] @ image
        for _ in range(2):  # once leaves rounding errors that grow
            image -= (done @ image) @ done
        rest = float(np.linalg.norm(image))
        values, vectors = np.linalg.eigh(matrix[: step + 1, : step + 1])
        near = rest * abs(vectors[-1, -1]) <= RESIDUAL * values[-1]
        if near or step + 1 == MOST_STEPS:
            break
        matrix[step, step + 1] = matrix[step + 1, step] = rest
        basis[step + 1] = image / rest
    found: FloatArray = vectors[:, -1] @ done
    return found


def _covariance_product(node: NodeRows, direction: FloatArray) -> FloatArray:
    narrow = direction.astype(node.dtype)
    product = np.zeros(len(direction))
    for _, block in node.blocks():
        product += (block @ narrow) @ block
    return product


def _two_means(node: NodeRows, right: Sides, max_iter: int, tol: float) -> Cut | None:
    """Lloyd's steps from the given sides; None if rounding empties a side."""
    sums, squares = _sums(node, right)
    n_rows = len(right)
    least_shift = tol * squares / (n_rows * len(node.centre))
    means = sums / _sizes(right)
    for n_iter in range(1, max_iter + 1):  # noqa: B007 (it is used, after the loop)
        normal = unit(means[1] - means[0]).astype(node.dtype)
        offset = means.mean(axis=0) @ normal
        moved = _assign(node, normal, offset, right, sums)
        if moved is None:
            break
        right = moved
        if right.all() or not right.any():
            return None
        before, means = means, sums / _sizes(right)
        if ((means - before) ** 2).sum() <= least_shift:
            break
    if not normal.any():
        return None
    return _in_units_of_X(node, normal, offset, right, n_iter)


def _sizes(right: Sides) -> FloatArray:
    n_right = np.count_nonzero(right)
    return np.array([[len(right) - n_right], [n_right]], dtype=np.float64)


def _sums(node: NodeRows, right: Sides) -> tuple[FloatArray, float]:
    """Return the sum of the rows of each side, and the sum of all squares."""
    sums = np.zeros((2, len(node.centre)))
    squares = 0.0
    for part, block in node.blocks():
        sides: Array = np.stack([~right[part], right[part]]).astype(node.dtype)
        sums += sides @ block
        squares += float(np.vdot(block, block))
    return sums, squares


def _assign(
    node: NodeRows, normal: Array, offset: float, right: Sides, sums: FloatArray
) -> Sides | None:
    """Give each row its side and update the sums; None if no row changes sides."""
    now = np.empty_like(right)
    change = np.zeros(sums.shape[1])
    for part, block in node.blocks():
        np.greater(block @ normal, offset, out=now[part])
        moved = np.flatnonzero(now[part] != right[part])
        if len(moved):
            signs: Array = np.where(now[part][moved], 1, -1).astype(node.dtype)
            # A few rows cost less to gather than the product with all.
            if 4 * len(moved) < len(block):
                change += signs @ block[moved]
            else:
                weights = np.zeros(len(block), node.dtype)
                weights[moved] = signs
                change += weights @ block
    if np.array_equal(now, right):
        return None
    sums[0] -= change
    sums[1] += change
    return now


def _in_units_of_X(
    node: NodeRows, normal: Array, offset: float, right: Sides, n_iter: int
) -> Cut:
    normal = normal * node.dtype.type(node.scale)
    centre = node.centre.astype(np.float64)
    offset = float(offset + centre @ normal.astype(np.float64))
    return Cut(normal, offset, right, n_iter)
