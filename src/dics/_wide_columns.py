"""Columns whose values single precision can't tell apart.

Thresholds are kept in single precision: Unix seconds around 1.7e9 would be merged in
steps of 128, and 1e300 would be infinity. Such a column takes part in a fit with the
ranks of its values instead. A fitted model knows what its thresholds among the ranks
are among the values, in double precision, and turns values into steps between them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dics._model_check import check_array, require
from dics._rows_elsewhere import RowsElsewhere
from dics._sparse_rows import SparseRows
from dics._validation import Array, FloatArray

# Rows of each column that are looked at, and the share of their distinct values that
# may be lost: 254 thresholds are placed among what is left.
SAMPLED_ROWS = 256
MOST_MERGED = 0.02
# Columns of a sparse X that are looked at together.
BLOCK_COLUMNS = 1024


def wide_columns(X: Array | SparseRows | RowsElsewhere) -> npt.NDArray[np.intp]:
    """Find the columns of X that single precision would merge.

    From a sample: a fit of 100 columns spends 0.5 ms here (2026-11).
    """
    if X.dtype != np.float64:
        return np.empty(0, dtype=np.intp)
    step = max(1, len(X) // SAMPLED_ROWS)
    rows = np.arange(0, len(X), step)[:SAMPLED_ROWS]
    sample = X.take(rows) if isinstance(X, RowsElsewhere) else X[rows]
    if not isinstance(sample, SparseRows):
        return np.flatnonzero(_are_merged(sample))
    with np.errstate(over="ignore", invalid="ignore"):
        inexact = sample.values != sample.values.astype(np.float32)
    columns = np.unique(sample.columns[inexact]).astype(np.intp)
    parts = np.split(columns, range(BLOCK_COLUMNS, len(columns), BLOCK_COLUMNS))
    return np.concatenate(
        [part[_are_merged(sample.dense_columns(part))] for part in parts]
    )


def _are_merged(sample: Array) -> npt.NDArray[np.bool_]:
    sample = np.sort(sample, axis=0)  # NaN comes last
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = sample.astype(np.float32)
        n_distinct = (np.diff(sample, axis=0) > 0).sum(axis=0)
        n_left = (np.diff(narrow, axis=0) > 0).sum(axis=0)
    merged: npt.NDArray[np.bool_] = n_left < (1 - MOST_MERGED) * n_distinct
    return merged


def _changed(
    X: Array | SparseRows, changes: dict[int, Callable[[FloatArray], FloatArray]]
) -> FloatArray | SparseRows:
    """Return a copy of X in which functions have changed some columns."""
    if isinstance(X, SparseRows):
        return X.with_columns(changes)
    changed: FloatArray = X.astype(np.float64)
    for f, change in changes.items():
        changed[:, f] = change(changed[:, f])
    return changed


class Ranks:
    """Values of wide columns during a fit, as ranks.

    Parameters
    ----------
    X : ndarray
        The training rows.
    columns : ndarray of int
    """

    def __init__(self, X: Array | SparseRows, columns: npt.NDArray[np.intp]) -> None:
        self.values: dict[int, FloatArray] = {}
        for f in columns:
            if isinstance(X, RowsElsewhere):
                self.values[int(f)] = X.distinct(int(f))
                continue
            column = X.column(f) if isinstance(X, SparseRows) else X[:, f]
            values = np.unique(column)
            self.values[int(f)] = values[~np.isnan(values)]

    @classmethod
    def of(cls, X: Array | SparseRows) -> Ranks | None:
        """Return the ranks of wide columns, if X has any."""
        columns = wide_columns(X)
        return cls(X, columns) if len(columns) else None

    def narrowed(self, X: Array | SparseRows) -> FloatArray | SparseRows:
        """Return a copy of X with ranks; what lies between two values is between."""
        if isinstance(X, RowsElsewhere):
            elsewhere: Any = X.narrowed(self)
            return elsewhere
        return _changed(
            X,
            {f: partial(self._ranked, values) for f, values in self.values.items()},
        )

    @staticmethod
    def _ranked(values: FloatArray, column: FloatArray) -> FloatArray:
        rank = np.searchsorted(values, column).astype(np.float64)
        known = values[np.minimum(rank.astype(np.intp), len(values) - 1)] == column
        return np.where(np.isnan(column), np.nan, np.where(known, rank, rank - 0.5))

    def steps(self, thresholds: dict[int, Array]) -> WideColumns:
        """Return what is left when the thresholds among the ranks are known."""
        columns, ranks, values = [], [], []
        for f, own in self.values.items():
            cuts = np.unique(thresholds[f].astype(np.float32))
            columns.append(np.full(len(cuts), f, dtype=np.int64))
            ranks.append(cuts)
            values.append(_cut_values(own, cuts))
        return WideColumns(
            np.concatenate(columns), np.concatenate(ranks), np.concatenate(values)
        )


def _cut_values(values: FloatArray, cuts: npt.NDArray[np.float32]) -> FloatArray:
    """Return cuts among values, in the middle between two, of cuts among ranks."""
    above = np.ceil(cuts).astype(np.intp)
    upper = values[np.clip(above, 0, len(values) - 1)]
    upper = np.where(above >= len(values), np.inf, upper)
    lower = values[np.clip(above - 1, 0, len(values) - 1)]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = lower + (upper - lower) / 2
    inside = np.isfinite(middle) & (middle > lower) & (middle <= upper)
    return np.where(inside, middle, upper)


class WideColumns:
    """Thresholds of wide columns, among the ranks that trees know and among values.

    Parameters
    ----------
    columns : ndarray of int64
        The column of each threshold, rising.
    ranks : ndarray of float32
        Thresholds as the trees have them, rising within a column.
    values : ndarray of float64
        The same thresholds among the values.
    """

    def __init__(
        self,
        columns: npt.NDArray[np.int64],
        ranks: npt.NDArray[np.float32],
        values: FloatArray,
    ) -> None:
        self.columns = columns
        self.ranks = ranks
        self.values = values

    def check(self) -> None:
        """Check what a model from elsewhere has here."""
        n = len(self.columns)
        check_array("wide columns", self.columns, np.int64, (None,))
        check_array("wide ranks", self.ranks, np.float32, (n,))
        check_array("wide values", self.values, np.float64, (n,))
        require(self.columns >= 0, "a wide column is negative")
        require(np.diff(self.columns) >= 0, "wide columns don't rise")
        require(~np.isnan(self.ranks) & ~np.isnan(self.values), "a wide value is NaN")
        same = np.diff(self.columns) == 0
        require((np.diff(self.ranks) > 0) | ~same, "wide ranks don't rise")
        require((self.values[1:] >= self.values[:-1]) | ~same, "wide values don't rise")

    def _of_columns(self) -> dict[int, slice]:
        found, starts = np.unique(self.columns, return_index=True)
        ends = [*starts[1:], len(self.columns)]
        return {
            int(f): slice(start, end)
            for f, start, end in zip(found, starts, ends, strict=True)
        }

    def narrowed(self, X: Array | SparseRows) -> FloatArray | SparseRows:
        """Return a copy of X in which wide columns are steps between thresholds."""
        if isinstance(X, RowsElsewhere):
            elsewhere: Any = X.narrowed(self)
            return elsewhere
        return _changed(
            X, {f: partial(self._steps, part) for f, part in self._of_columns().items()}
        )

    def _steps(self, part: slice, column: FloatArray) -> FloatArray:
        ranks = self.ranks[part]
        steps = np.concatenate([[ranks[0] - 1.0], ranks])
        step = steps[np.searchsorted(self.values[part], column, side="right")]
        return np.where(np.isnan(column), np.nan, step)

    def thresholds(
        self, feature: npt.NDArray[np.int32], threshold: npt.NDArray[np.float32]
    ) -> FloatArray:
        """Return thresholds of nodes as they are among the values of X."""
        shown: FloatArray = threshold.astype(np.float64)
        for f, part in self._of_columns().items():
            here = (feature == f) & np.isfinite(threshold)
            at = np.searchsorted(self.ranks[part], threshold[here])
            shown[here] = self.values[part][np.minimum(at, part.stop - part.start - 1)]
        return shown
