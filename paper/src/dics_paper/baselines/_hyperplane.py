"""A hyperplane that parts the rows of a node, and safe arithmetic for its normal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.checks import Array, FloatArray

Rows = npt.NDArray[np.intp]
Sides = npt.NDArray[np.bool_]
FloatType = np.dtype[np.float32] | np.dtype[np.float64]

# Values are scaled, by a power of two, if their exponent is beyond this: sums of their
# squares can't overflow (nor the norm of such sums, which is of type float64), and a
# normal of that scale is no subnormal number.
MOST_EXPONENT = {np.dtype(np.float32): 40, np.dtype(np.float64): 200}


class Cut(NamedTuple):
    """A hyperplane and the side of it that each row of the node is on."""

    normal: Array  # in the float type of the rows
    offset: float
    right: Sides  # where row @ normal > offset
    n_iter: int  # steps of 2-means that led to it


def float_type(X: Array) -> FloatType:
    """Return the type that products with rows of X are computed in."""
    return np.dtype(np.float64) if X.dtype == np.float64 else np.dtype(np.float32)


def safe_scale(largest: float, dtype: FloatType) -> float:
    """Return the power of two that brings values of this size into a safe range."""
    exponent = int(np.frexp(largest)[1])
    most = MOST_EXPONENT[dtype]
    return float(np.ldexp(1.0, min(max(exponent, -most), most) - exponent))


def unit(vector: FloatArray) -> FloatArray:
    """Scale to length one; zero stays zero."""
    largest = np.abs(vector).max()
    if largest == 0:
        return vector
    vector = vector / largest  # squares of tiny numbers would vanish
    scaled: FloatArray = vector / np.sqrt(vector @ vector)
    return scaled


def points_up(vector: FloatArray) -> bool:
    """Tell whether the largest entry is positive: the sign of a component is free."""
    return bool(vector[np.abs(vector).argmax()] >= 0)


def median_cut(projections: Array) -> Sides | None:
    """Part rows at the median of their projections; None if these are all equal."""
    middle = (len(projections) - 1) // 2
    median = np.partition(projections, middle)[middle]
    right: Sides = projections > median
    if not right.any():  # over half of the rows share the largest projection
        right = projections >= median
    return None if right.all() else right


def widest_cut(X: Array, rows: Rows, low: Array, high: Array) -> Cut:
    """Cut the column of the largest range in its middle, for want of a better cut."""
    column = int((high / 2 - low / 2).argmax())
    normal = np.zeros(len(low), float_type(X))
    normal[column] = 1
    least, most = float(low[column]), float(high[column])
    offset = least / 2 + most / 2
    if not least <= offset < most:
        offset = least
    return Cut(normal, offset, X[rows, column] > offset, 0)
