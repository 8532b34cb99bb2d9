"""Training rows in the leaves of a forest, and quantiles of their targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dics._input.checks import FloatArray
from dics._model.checks import check_array, check_starts, require
from dics._model.trees import Trees

BLOCK_ENTRIES = 1 << 22  # sorted at a time


def check_quantiles(quantiles: Any) -> FloatArray:
    """Return quantile levels as a vector; each is above 0 and below 1."""
    levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    inside = (levels > 0) & (levels < 1)
    if levels.ndim != 1 or not len(levels) or not inside.all():
        bad = levels[~inside][0] if levels.ndim == 1 and len(levels) else quantiles
        raise ValueError(f"quantiles must lie between 0 and 1, got {bad}.")
    return levels


class LeafRows:
    """Rows of each leaf, one leaf behind the other.

    Parameters
    ----------
    rows : ndarray of uint32
        Numbers of training rows, as often as they were drawn.
    counts : ndarray of shape (n_leaves,)
        How many of them each leaf has.
    """

    def __init__(
        self, rows: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint32]
    ) -> None:
        self.rows = rows
        self.counts = counts
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def check(self, n_leaves: int, n_rows: int) -> None:
        """Check the fields of an untrusted model."""
        check_array("counts of leaves", self.counts, np.uint32, (n_leaves,))
        check_array("rows of leaves", self.rows, np.uint32, (None,))
        require(self.rows < n_rows, f"a row of a leaf is not below {n_rows}")
        require(self.counts > 0, "a leaf has no rows")
        total = int(self.counts.sum(dtype=np.int64))
        require(total == len(self.rows), "leaves have other numbers of rows")
        check_starts("starts of leaves", self.starts, total, strictly=True)
        require(np.diff(self.starts) == self.counts, "leaves begin at other rows")

    def concat(self, other: LeafRows) -> LeafRows:
        """Return these leaves and the other ones behind them."""
        return LeafRows(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.counts, other.counts]),
        )

    @classmethod
    def from_leaves(cls, leaf: npt.NDArray[np.int64], n_leaves: int) -> LeafRows:
        """Take the leaf of each row."""
        counts = np.bincount(leaf, minlength=n_leaves).astype(np.uint32)
        return cls(np.argsort(leaf, kind="stable").astype(np.uint32), counts)

    def merged(self, leaf: npt.NDArray[np.int64], n_leaves: int) -> LeafRows:
        """Return fewer leaves; leaf k goes into ``leaf[k]``."""
        order = np.argsort(leaf, kind="stable")
        counts = np.zeros(n_leaves, dtype=np.uint32)
        np.add.at(counts, leaf, self.counts)
        return LeafRows(self.rows[self._entries(order)], counts)

    def _entries(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where the rows of some leaves stand, leaf after leaf."""
        counts = self.counts[leaves].astype(np.int64)
        first = np.repeat(
            self.starts[leaves] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts
        )
        entries: npt.NDArray[np.int64] = first + np.arange(len(first))
        return entries

    def set_medians(
        self, trees: Trees, values: FloatArray | None, weights: FloatArray | None
    ) -> None:
        """Let the leaves of pruned trees predict the medians of their rows."""
        assert values is not None
        for output, y in enumerate(values.T):
            trees.leaf_values[:, output] = self.medians(y, weights)

    def medians(self, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Median of y in each leaf; the middle of two with half the weight each."""
        leaf = np.repeat(np.arange(len(self.counts)), self.counts)
        values = y[self.rows]
        mass = np.ones(len(values)) if weights is None else weights[self.rows]
        order = np.lexsort((values, leaf))
        values, mass, leaf = values[order], mass[order], leaf[order]
        total = np.bincount(leaf, mass, minlength=len(self.counts))
        running = np.cumsum(mass)
        before = np.concatenate([[0.0], np.cumsum(total)[:-1]])
        middle = before + total / 2
        slack = 1e-9 * total
        low = np.searchsorted(running, middle - slack)
        high = np.searchsorted(running, middle + slack)
        last = self.starts[1:] - 1
        found: FloatArray = (
            values[np.minimum(low, last)] + values[np.minimum(high, last)]
        ) / 2
        return found

    def quantiles(
        self,
        leaves: npt.NDArray[np.int64],
        y: FloatArray,
        weights: FloatArray | None,
        levels: FloatArray,
    ) -> FloatArray:
        """Quantiles of y over the leaves of each row, [row][tree]: [row][level]."""
        found = np.empty((len(leaves), len(levels)))
        sizes = self.counts[leaves].sum(axis=1, dtype=np.int64)
        begin = 0
        while begin < len(leaves):
            filled = np.cumsum(sizes[begin:])
            end = begin + max(1, int(np.searchsorted(filled, BLOCK_ENTRIES)))
            found[begin:end] = self._of_block(leaves[begin:end], y, weights, levels)
            begin = end
        return found

    def _of_block(
        self,
        leaves: npt.NDArray[np.int64],
        y: FloatArray,
        weights: FloatArray | None,
        levels: FloatArray,
    ) -> FloatArray:
        n_rows, n_trees = leaves.shape
        flat = leaves.ravel()
        counts = self.counts[flat]
        entries = self.rows[self._entries(flat)]
        mass = np.ones(len(entries)) if weights is None else weights[entries]
        leaf = np.repeat(np.arange(len(flat)), counts)
        total = np.bincount(leaf, mass, minlength=len(flat))
        mass /= total[leaf] * n_trees
        owner = leaf // n_trees
        order = np.lexsort((y[entries], owner))
        mass, values, owner = mass[order], y[entries][order], owner[order]
        ends = np.searchsorted(owner, np.arange(n_rows), side="right")
        starts = np.concatenate([[0], ends[:-1]])
        running = np.cumsum(mass)
        before = np.where(starts > 0, running[starts - 1], 0.0)
        found = np.empty((n_rows, len(levels)))
        for k, level in enumerate(levels):
            # A tiny slack: shares add up to a level only to rounding.
            wanted = before + level - 1e-9
            at = np.searchsorted(running, wanted, side="left")
            found[:, k] = values[np.clip(at, starts, ends - 1)]
        return found
