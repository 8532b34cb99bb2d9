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


def sample_counts(
    seed: int, trees: range, n_rows: int, sample_size: int, weights: FloatArray | None
) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield how often each tree has sampled each row; the array is reused."""
    # The sums are the same for all trees; a row is found in them by bisection.
    cumulative = None if weights is None else np.cumsum(weights)
    counts = np.empty(n_rows, dtype=np.uint32)
    for t in trees:
        _core.bootstrap(seed, t, sample_size, cumulative, counts)
        yield counts


def check_sampling(n_rows: Any, sample_size: Any, weights: Any) -> None:
    """Check the sampling of rows of an untrusted forest."""
    # By the exact type, because True is an instance of int.
    require(
        type(n_rows) is int and 0 < n_rows <= MAX_COUNT,
        "the number of rows is not an integer from 1",
    )
    require(
        type(sample_size) is int and 0 <= sample_size <= MAX_COUNT,
        "the number of sampled rows is not an integer",
    )
    if weights is not None:
        check_vector("the weights of rows", weights, n_rows)
        require(weights.dtype == np.float64, "the weights of rows must be float64")
        require(
            (weights >= 0).all() and weights.any(),
            "the weights of rows are not positive",
        )


class OutOfBagSums(NamedTuple):
    """Sums of the predictions for each row, and the number of trees."""

    sums: FloatArray
    n_trees: npt.NDArray[np.int64]


class OutOfBag(NamedTuple):
    """Predictions of trees for rows that they have not sampled.

    Attributes
    ----------
    trees : Trees
    width : int
        Number of classes or outputs.
    hard : bool or None
        Whether each classification tree has a single vote; None for regression.
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
        """Add up the predictions for rows of X.

        `left_out` has a mask for each tree: the rows that it has not sampled.
        """
        sums = np.zeros((len(X), self.width))
        n_trees = np.zeros(len(X), dtype=np.int64)
        for t, own in enumerate(left_out):
            # About a third of the rows: a prediction of all would triple the time.
            rows = np.flatnonzero(own).astype(np.uint32)
            if len(rows) == 0:
                continue
            predicted = np.zeros((len(rows), self.width))
            # X is not copied: the core reads these rows of it.
            where: dict[str, Any] = {"n_threads": n_threads, "rows": rows}
            if self.hard is None:
                self.trees[t].add_values(X, predicted, **where)
            else:
                self.trees[t].add_votes(X, predicted, hard=self.hard, **where)
            sums[rows] += predicted
            n_trees[rows] += 1
        return OutOfBagSums(sums, n_trees)
