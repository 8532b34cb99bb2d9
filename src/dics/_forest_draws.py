"""Which rows each tree of a forest has drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._model_check import check_length, require
from dics._validation import MAX_COUNT, FloatArray


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
        check_length("the weights of draws", weights, n_rows)
        require(weights.dtype == np.float64, "the weights of draws are too narrow")
        require((weights >= 0).all() and weights.any(), "no row can be drawn")
