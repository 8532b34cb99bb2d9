"""What trees of a forest say of the rows that they have not drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics._sparse_rows import SparseRows
from dics._validation import Array, FloatArray
from dics.trees import Trees


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
