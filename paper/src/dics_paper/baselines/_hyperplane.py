"""Hyperplane that splits the rows of a node, and safe arithmetic for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.checks import Array, FloatArray

Rows = npt.NDArray[np.intp]
Sides = npt.NDArray[np.bool_]
FloatType = np.dtype[np.float32] | np.dtype[np.float64]

# Values with a larger absolute exponent are scaled by a power of two. Then sums of
# their squares cannot overflow (nor can the norm of such sums, which is float64), and
# the normal has no subnormal values.
MOST_EXPONENT = {np.dtype(np.float32): 40, np.dtype(np.float64): 200}


class Cut(NamedTuple):
    """A hyperplane and the side of each row of the node."""

    normal: Array  # in the float type of the rows
    offset: float
    right: Sides  # row @ normal > offset
    n_iter: int  # steps of 2-means


def float_type(X: Array) -> FloatType:
    """Return the dtype of products with rows of X."""
    return np.dtype(np.float64) if X.dtype == np.float64 else np.dtype(np.float32)


def safe_scale(largest: float, dtype: FloatType) -> float:
    """Return the power of two that scales values of this size to a safe range."""
    exponent = int(np.frexp(largest)[1])
    most = MOST_EXPONENT[dtype]
    return float(np.ldexp(1.0, min(max(exponent, -most), most) - exponent))


def unit(vector: FloatArray) -> FloatArray:
    """Return the vector scaled to length one; zero stays zero."""
    largest = np.abs(vector).max()
    if largest == 0:
        return vector
    vector = vector / largest  # squares of tiny values would underflow
    scaled: FloatArray = vector / np.sqrt(vector @ vector)
    return scaled


def points_up(vector: FloatArray) -> bool:
    """Return True if the largest entry is positive; it defines the sign."""
    return bool(vector[np.abs(vector).argmax()] >= 0)


def median_cut(projections: Array) -> Sides | None:
    """Split rows at the median of their projections; return None if all are equal."""
    middle = (len(projections) - 1) // 2
    median = np.partition(projections, middle)[middle]
    right: Sides = projections > median
    if not right.any():  # more than half of the rows have the largest projection
        right = projections >= median
    return None if right.all() else right


def widest_cut(X: Array, rows: Rows, low: Array, high: Array) -> Cut:
    """Split the column with the largest range in its middle, as a last resort."""
    column = int((high / 2 - low / 2).argmax())
    normal = np.zeros(len(low), float_type(X))
    normal[column] = 1
    least, most = float(low[column]), float(high[column])
    offset = least / 2 + most / 2
    if not least <= offset < most:
        offset = least
    return Cut(normal, offset, X[rows, column] > offset, 0)
