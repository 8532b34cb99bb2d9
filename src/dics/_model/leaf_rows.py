"""Training rows in the leaves of a forest, and quantiles of their targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dics._input.checks import FloatArray
from dics._model.checks import check_array, check_starts, require
from dics._model.trees import Trees

# Entries that are sorted at a time, which bounds the memory of a prediction.
BLOCK_ENTRIES = 1 << 22
# Weights sum to a fraction only up to rounding; without slack, ties would be random.
SLACK = 1e-9


def check_quantiles(quantiles: Any) -> FloatArray:
    """Return quantile levels as a vector; each is above 0 and below 1."""
    levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    inside = (levels > 0) & (levels < 1)
    if levels.ndim != 1 or not len(levels) or not inside.all():
        bad = levels[~inside][0] if levels.ndim == 1 and len(levels) else quantiles
        raise ValueError(f"quantiles must lie between 0 and 1, got {bad}.")
    return levels


class LeafRows:
    """Training rows of each leaf, leaf after leaf.

    Parameters
    ----------
    rows : ndarray of uint32
        Indices of training rows, repeated as often as they were sampled.
    counts : ndarray of shape (n_leaves,)
        Number of rows of each leaf.
    """

    def __init__(
        self, rows: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint32]
    ) -> None:
        self.rows = rows
        self.counts = counts
        # 64 bits: a large forest has more than 2^32 entries.
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def check(self, n_leaves: int, n_rows: int) -> None:
        """Check the fields of an untrusted model."""
        check_array("row counts of leaves", self.counts, np.uint32, (n_leaves,))
        check_array("rows of leaves", self.rows, np.uint32, (None,))
        require(self.rows < n_rows, f"a row of a leaf is not below {n_rows}")
        require(self.counts > 0, "a leaf has no rows")
        total = int(self.counts.sum(dtype=np.int64))
        require(total == len(self.rows), "the row counts of leaves have another sum")
        # A pickle stores the starts too.
        check_starts("starts of leaves", self.starts, total, strictly=True)
        require(np.diff(self.starts) == self.counts, "leaves have other row counts")

    def concat(self, other: LeafRows) -> LeafRows:
        """Return these leaves, followed by the other ones."""
        return LeafRows(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.counts, other.counts]),
        )

    @classmethod
    def from_leaves(cls, leaf: npt.NDArray[np.int64], n_leaves: int) -> LeafRows:
        """Construct from the leaf of each row."""
        # A stable sort keeps the order of rows, and models reproducible.
        counts = np.bincount(leaf, minlength=n_leaves).astype(np.uint32)
        return cls(np.argsort(leaf, kind="stable").astype(np.uint32), counts)

    def merged(self, leaf: npt.NDArray[np.int64], n_leaves: int) -> LeafRows:
        """Return fewer leaves; leaf k becomes a part of ``leaf[k]``."""
        order = np.argsort(leaf, kind="stable")
        counts = np.zeros(n_leaves, dtype=np.uint32)
        np.add.at(counts, leaf, self.counts)
        return LeafRows(self.rows[self._entries(order)], counts)

    def _entries(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions in `rows` of the rows of some leaves, leaf by leaf."""
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
        """Return the median of y in each leaf.

        It is the mean of two values if each of them ends half of the weight.
        """
        leaf = np.repeat(np.arange(len(self.counts)), self.counts)
        values = y[self.rows]
        mass = np.ones(len(values)) if weights is None else weights[self.rows]
        # By leaf, then by target: each leaf is a sorted slice.
        order = np.lexsort((values, leaf))
        values, mass, leaf = values[order], mass[order], leaf[order]
        total = np.bincount(leaf, mass, minlength=len(self.counts))
        running = np.cumsum(mass)
        before = np.concatenate([[0.0], np.cumsum(total)[:-1]])
        middle = before + total / 2
        low = np.searchsorted(running, middle - SLACK * total)
        high = np.searchsorted(running, middle + SLACK * total)
        # The sum at the end of a leaf may be rounded below its weight.
        last = self.starts[1:] - 1
        medians: FloatArray = (
            values[np.minimum(low, last)] + values[np.minimum(high, last)]
        ) / 2
        return medians

    def quantiles(
        self,
        leaves: npt.NDArray[np.int64],
        y: FloatArray,
        weights: FloatArray | None,
        levels: FloatArray,
    ) -> FloatArray:
        """Return quantiles of y over the leaves of each row, [row][level].

        `leaves` has one column per tree.
        """
        found = np.empty((len(leaves), len(levels)))
        sizes = self.counts[leaves].sum(axis=1, dtype=np.int64)
        begin = 0
        # Blocks with a limited number of entries, but at least one row.
        while begin < len(leaves):
            filled = np.cumsum(sizes[begin:])
            end = begin + max(1, int(np.searchsorted(filled, BLOCK_ENTRIES)))
            found[begin:end] = self._block_quantiles(
                leaves[begin:end], y, weights, levels
            )
            begin = end
        return found

    def _block_quantiles(
        self,
        leaves: npt.NDArray[np.int64],
        y: FloatArray,
        weights: FloatArray | None,
        levels: FloatArray,
    ) -> FloatArray:
        n_rows, n_trees = leaves.shape
        flat = leaves.ravel()
        entries = self.rows[self._entries(flat)]
        mass = np.ones(len(entries)) if weights is None else weights[entries]
        leaf = np.repeat(np.arange(len(flat)), self.counts[flat])
        total = np.bincount(leaf, mass, minlength=len(flat))
        # Trees have equal weights, regardless of the sizes of their leaves.
        mass /= total[leaf] * n_trees
        owner = leaf // n_trees
        # By row, then by target: each row of X is a sorted slice.
        order = np.lexsort((y[entries], owner))
        mass, values, owner = mass[order], y[entries][order], owner[order]
        ends = np.searchsorted(owner, np.arange(n_rows), side="right")
        starts = np.concatenate([[0], ends[:-1]])
        running = np.cumsum(mass)
        before = np.where(starts > 0, running[starts - 1], 0.0)
        found = np.empty((n_rows, len(levels)))
        for k, level in enumerate(levels):
            at = np.searchsorted(running, before + level - SLACK, side="left")
            found[:, k] = values[np.clip(at, starts, ends - 1)]
        return found
