"""Split of a node into two clusters by 2-means, from its first component."""

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

# The constants were measured with `bisect` on random rows of MNIST and CIFAR-10, the
# residual with fits of 6000 rows; one thread, while other programs ran (2026-11).

# Rows are multiplied in blocks that stay in the cache, so that a step with two products
# reads the memory once. 6000 rows of CIFAR-10: 225 ms with 2**17, 131 with 2**19, 112
# with 2**21, 117 with 2**22; MNIST is constant from 2**20 on.
BLOCK_BYTES = 2**21
# Larger nodes are gathered and centered again in each step, block by block. This is
# slower than a copy, but limits the memory for nodes near the root.
GATHERED_BYTES = 2**28
# Up to this many columns or rows the component is an eigenvector of a small matrix.
MOST_EXACT = 48
# Maximum steps of Lanczos, and the residual (relative to the largest eigenvalue) that
# ends them. The component is only the start of 2-means. Another start gives different
# clusters if the clusters are not clear, but not better ones. With 1e-1, 1e-2 and 1e-3,
# test accuracy is 85.9, 85.8 and 85.9 % on MNIST, 25.2, 25.6 and 25.3 % on CIFAR-10;
# the fits of CIFAR-10 take 2.6, 3.5 and 4.9 s.
MOST_STEPS = 30
RESIDUAL = 1e-2


def block_length(n_features: int, dtype: FloatType) -> int:
    """Return the number of rows per block."""
    return max(16, BLOCK_BYTES // (n_features * dtype.itemsize))


class NodeRows:
    """Rows of a node as floats: centered, scaled if needed, read in blocks."""

    def __init__(self, X: Array, rows: Rows) -> None:
        self.X = X
        self.rows = rows
        self.dtype = float_type(X)
        self.length = block_length(X.shape[1], self.dtype)
        n_bytes = len(rows) * X.shape[1] * self.dtype.itemsize
        self.copy: Array | None = None
        if n_bytes <= GATHERED_BYTES:
            self.copy = self._gather(rows)
        self.center = np.zeros(X.shape[1], self.dtype)
        self.scale = 1.0
        self._measure()

    def _gather(self, rows: Rows) -> Array:
        return self.X[rows].astype(self.dtype, order="C", copy=False)

    def _measure(self) -> None:
        """Compute the range and the mean of each column, and center the rows."""
        weights = np.full(min(self.length, len(self.rows)), 1 / len(self.rows))
        weights = weights.astype(self.dtype)
        low = high = None
        mean = np.zeros(self.X.shape[1])
        for _, block in self.blocks():
            least, most = block.min(axis=0), block.max(axis=0)
            low = least if low is None else np.minimum(low, least)
            high = most if high is None else np.maximum(high, most)
            mean += weights[: len(block)] @ block
        assert low is not None
        assert high is not None
        self.low, self.high = low, high
        # Clip rounding errors, so that a constant column becomes exactly zero.
        self.center = np.clip(mean.astype(self.dtype), low, high)
        largest = max(
            (high / 2 - self.center / 2).max(), (self.center / 2 - low / 2).max()
        )
        self.scale = safe_scale(float(largest), self.dtype)
        if self.copy is not None:
            self.copy = self._centered(self.copy)

    def _centered(self, block: Array) -> Array:
        if self.scale < 1:  # before the subtraction, which could overflow
            block *= self.scale
            block -= self.center * self.dtype.type(self.scale)
            return block
        block -= self.center
        if self.scale > 1:
            block *= self.dtype.type(self.scale)
        return block

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield all rows in blocks, with their positions in the node."""
        for start in range(0, len(self.rows), self.length):
            part = slice(start, start + self.length)
            if self.copy is not None:
                yield part, self.copy[part]
            else:
                yield part, self._centered(self._gather(self.rows[part]))

    def project(self, direction: Array) -> Array:
        """Return the product of each row with a direction."""
        found = np.empty(len(self.rows), self.dtype)
        for part, block in self.blocks():
            np.matmul(block, direction, out=found[part])
        return found


def bisect(X: Array, rows: Rows, max_iter: int, tol: float) -> Cut | None:
    """Split rows of X into two clusters; return None if they are all equal."""
    if len(rows) < 2:
        return None
    node = NodeRows(X, rows)
    if not (node.high > node.low).any():
        return None
    start = median_cut(node.project(first_component(node).astype(node.dtype)))
    cut = None if start is None else _two_means(node, start, max_iter, tol)
    return widest_cut(X, rows, node.low, node.high) if cut is None else cut


def first_component(node: NodeRows) -> FloatArray:
    """Return the direction of the largest variance; its largest entry is positive."""
    if len(node.center) <= MOST_EXACT:
        products = sum(block.T @ block for _, block in node.blocks())
        found = np.linalg.eigh(np.asarray(products, dtype=np.float64))[1][:, -1]
    elif len(node.rows) <= MOST_EXACT and node.copy is not None:
        products = node.copy @ node.copy.T
        weights = np.linalg.eigh(products.astype(np.float64))[1][:, -1]
        found = unit(weights @ node.copy)
    else:
        found = unit(_lanczos(node))
    return found if points_up(found) else -found


def _lanczos(node: NodeRows) -> FloatArray:
    """Approximate the first component from products with the rows only."""
    # A random start (with a fixed seed) is not orthogonal to the component.
    start = np.random.default_rng(0).standard_normal(len(node.center))
    basis = np.empty((MOST_STEPS, len(node.center)))
    basis[0] = unit(start * (node.high / 2.0 - node.low / 2.0))
    matrix = np.zeros((MOST_STEPS + 1, MOST_STEPS + 1))
    for step in range(MOST_STEPS):
        image = _covariance_product(node, basis[step])
        done = basis[: step + 1]
        matrix[step, step] = basis[step] @ image
        for _ in range(2):  # after one pass, rounding errors would grow
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
    """Run Lloyd's algorithm from the given sides; return None if one gets empty."""
    sums, squares = _sums(node, right)
    n_rows = len(right)
    least_shift = tol * squares / (n_rows * len(node.center))
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
    sums = np.zeros((2, len(node.center)))
    squares = 0.0
    for part, block in node.blocks():
        sides: Array = np.stack([~right[part], right[part]]).astype(node.dtype)
        sums += sides @ block
        squares += float(np.vdot(block, block))
    return sums, squares


def _assign(
    node: NodeRows, normal: Array, offset: float, right: Sides, sums: FloatArray
) -> Sides | None:
    """Assign rows to sides and update the sums; return None if none changes."""
    now = np.empty_like(right)
    change = np.zeros(sums.shape[1])
    for part, block in node.blocks():
        np.greater(block @ normal, offset, out=now[part])
        moved = np.flatnonzero(now[part] != right[part])
        if len(moved):
            signs: Array = np.where(now[part][moved], 1, -1).astype(node.dtype)
            # To gather a few rows is faster than a product with all rows.
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
    center = node.center.astype(np.float64)
    offset = float(offset + center @ normal.astype(np.float64))
    return Cut(normal, offset, right, n_iter)
