"""The split dictionary and the codes it gives to values (stage `encode`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._sparse_rows import SparseRows
from dics._validation import Array, FloatArray

# uint8 codes: 254 thresholds make 255 codes, and NaN has one more.
MAX_THRESHOLDS: int = _core.MAX_THRESHOLDS
# Share of the values of a sparse X that are stored, below which codes are lists.
LISTED_SHARE = 1 / 32

Codes = npt.NDArray[np.uint8] | _core.CodeLists


class Dictionary(NamedTuple):
    """Thresholds of feature f: ``values[offsets[f]:offsets[f + 1]]``, rising."""

    values: FloatArray
    offsets: npt.NDArray[np.int64]
    # Even cuts, too coarse for deep nodes: worth making anew there.
    renewable: bool = False


def make_dictionary(
    thresholds: Iterable[npt.ArrayLike], n_features: int, source: str
) -> Dictionary:
    """Check thresholds that `source` has placed, and sort them."""
    try:
        columns = list(thresholds)
    except TypeError as error:
        raise TypeError(
            f"{source} must return an array of thresholds for each feature, got "
            f"{type(thresholds).__name__}."
        ) from error
    if len(columns) != n_features:
        raise ValueError(
            f"{source} returned thresholds of {len(columns)} features; X has "
            f"{n_features}."
        )
    checked = [
        _check_thresholds(column, f"{source}, feature {f}")
        for f, column in enumerate(columns)
    ]
    offsets = np.cumsum([0, *map(len, checked)], dtype=np.int64)
    return Dictionary(np.concatenate(checked), offsets)


def _check_thresholds(column: npt.ArrayLike, where: str) -> FloatArray:
    """Return the thresholds of one feature, sorted and distinct."""
    try:
        given = np.asarray(column)
    except ValueError as error:  # of different lengths
        raise ValueError(f"{where}: thresholds are no vector: {error}") from error
    if given.ndim != 1:
        raise ValueError(
            f"{where}: thresholds must be a vector, got the shape {given.shape}."
        )
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{where}: thresholds must be numbers, got {given.dtype}.")
    with np.errstate(over="ignore"):
        values: FloatArray = np.unique(given.astype(np.float64))
    bad = values[~np.isfinite(values)]
    if len(bad):
        raise ValueError(f"{where}: thresholds contain {bad[0]}; they must be finite.")
    if len(values) > MAX_THRESHOLDS:
        raise ValueError(
            f"{where}: {len(values)} thresholds; at most {MAX_THRESHOLDS} are possible."
        )
    return values


def select(dictionary: Dictionary, order: npt.NDArray[np.int32]) -> Dictionary:
    """Return the thresholds of the given features, in their order."""
    sizes = np.diff(dictionary.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shift = np.repeat(dictionary.offsets[order] - offsets[:-1], sizes)
    values = dictionary.values[np.arange(offsets[-1]) + shift]
    return Dictionary(values, offsets)


def encode_or_list(
    X: Array | SparseRows,
    dictionary: Dictionary,
    width: int,
    n_threads: int,
    order: npt.NDArray[np.int32] | None = None,
    *,
    by_rows: bool = True,
) -> Codes:
    """Return the codes of a checked X, or lists of them if X is sparse enough.

    Lists have the codes that differ from that of zero, in the order of the features
    that `encode` has; either way the same trees grow from them. Boosting does without
    lists by row, which take as much memory again.
    """
    if isinstance(X, SparseRows):
        n_features = X.shape[1] if order is None else len(order)
        if len(X.values) < LISTED_SHARE * len(X) * n_features:
            return _core.code_lists(X, *dictionary[:2], order=order, by_rows=by_rows)
    return encode(X, dictionary, width, n_threads, order)


def encode(
    X: Array | SparseRows,
    dictionary: Dictionary,
    width: int,
    n_threads: int,
    order: npt.NDArray[np.int32] | None = None,
) -> npt.NDArray[np.uint8]:
    """Stage `encode`: codes of a checked X, in blocks of `width` features.

    With `order`, those of the given columns alone, in their order.
    """
    n_rows, n_features = len(X), X.shape[1] if order is None else len(order)
    size = n_rows * (-(-n_features // width) * width)
    # Aligned, so that the 64 codes of a row in a block are one cache line.
    space = np.empty(size + 64, dtype=np.uint8)
    first = -space.ctypes.data % 64
    codes = space[first : first + size]
    _core.encode(
        X,
        *dictionary[:2],
        order=order,
        width=width,
        codes=codes,
        n_threads=n_threads,
    )
    return codes
