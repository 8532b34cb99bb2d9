"""Rows that each tree of a forest samples, and out-of-bag predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._input.checks import MAX_COUNT, Array, FloatArray
from dics._input.sparse import SparseRows
from dics._model.checks import check_vector, require
from dics._model.trees import Trees


def draw_counts(
    seed: int, trees: range, n_rows: int, n_draws: int, weights: FloatArray | None
) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield for each tree how often it has drawn each row; the array is used again."""
    cumulative = None if weights is None else np.cumsum(weights)
    counts = np.empty(n_rows, dtype=np.uint32)
    for t in trees:
        _core.bootstrap(seed, t, n_draws, cumulative, counts)
        yield counts


def check_draws(n_rows: Any, n_draws: Any, weights: Any) -> None:
    """Check what a forest read from a file knows of its draws."""
    require(type(n_rows) is int and 0 < n_rows <= MAX_COUNT, "rows are no number")
    require(type(n_draws) is int and 0 <= n_draws <= MAX_COUNT, "draws are no number")
    if weights is not None:
        check_vector("the weights of draws", weights, n_rows)
        require(weights.dtype == np.float64, "the weights of draws are too narrow")
        require((weights >= 0).all() and weights.any(), "no row can be drawn")


class OutOfBagSums(NamedTuple):
    """What trees have said of each row, added up, and how many of them."""

    sums: FloatArray
    n_trees: npt.NDArray[np.int64]


class OutOfBag(NamedTuple):
    """How trees predict rows that they have not drawn.

    Attributes
    ----------
    trees : Trees
    width : int
        Numbers of classes or outputs.
    hard : bool or None
        Whether each tree of classes has a single vote; None for trees of numbers.
    """

    trees: Trees
    width: int
    hard: bool | None

    def sums(
        self,
        X: Array | SparseRows,
        left_out: Iterable[npt.NDArray[np.bool_]],
        n_threads: int,
    ) -> OutOfBagSums:
        """Add up what the trees say of rows of X.

        `left_out` tells of each tree which of the rows it has not drawn.
        """
        sums = np.zeros((len(X), self.width))
        n_trees = np.zeros(len(X), dtype=np.int64)
        for t, own in enumerate(left_out):
            rows = np.flatnonzero(own).astype(np.uint32)
            if len(rows) == 0:
                continue
            sums[rows] += self._said(t, X, rows, n_threads)
            n_trees[rows] += 1
        return OutOfBagSums(sums, n_trees)

    def _said(
        self,
        t: int,
        X: Array | SparseRows,
        rows: npt.NDArray[np.uint32],
        n_threads: int,
    ) -> FloatArray:
        said = np.zeros((len(rows), self.width))
        tree = self.trees[t]
        if self.hard is None:
            tree.add_values(X, said, n_threads=n_threads, rows=rows)
        else:
            tree.add_votes(X, said, hard=self.hard, n_threads=n_threads, rows=rows)
        return said
