"""Which rows each tree of a forest has drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._model_check import check_length, require
from dics._validation import MAX_TOTAL, FloatArray


def draw_counts(
    seed: int, trees: range, n_rows: int, n_draws: int, weights: FloatArray | None
) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield for each tree how often it has drawn each row; the array is used again."""
    cumulative = None if weights is None else np.cumsum(weights)
    counts = np.empty(n_rows, dtype=np.uint32)
    for t in trees:
        _core.bootstrap(seed, t, n_draws, cumulative, counts)
        yield counts


def draw_own_counts(
    seed: int,
    trees: range,
    n_rows: int,
    n_draws: int,
    weights: FloatArray | None,
    numbers: npt.NDArray[np.int64],
) -> list[npt.NDArray[np.uint32]]:
    """Return for each tree how often it has drawn the rows of some rising numbers.

    `n_rows` and `weights` are those of all rows, and so are the draws.
    """
    cumulative = None if weights is None else np.cumsum(weights)
    firsts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
    places = np.append(firsts, len(numbers))
    drawn = []
    for t in trees:
        counts = np.empty(len(numbers), dtype=np.uint32)
        _core.bootstrap_here(
            seed, t, n_draws, cumulative, n_rows, numbers[firsts], places, counts
        )
        drawn.append(counts)
    return drawn


def check_draws(n_rows: Any, n_draws: Any, weights: Any) -> None:
    """Check what a forest from elsewhere knows of its draws."""
    require(type(n_rows) is int and 0 < n_rows <= MAX_TOTAL, "rows are no number")
    require(type(n_draws) is int and 0 <= n_draws <= MAX_TOTAL, "draws are no number")
    if weights is not None:
        check_length("the weights of draws", weights, n_rows)
        require(weights.dtype == np.float64, "the weights of draws are too narrow")
        require((weights >= 0).all() and weights.any(), "no row can be drawn")
