"""The split dictionary and the codes it gives to values (stage `encode`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._validation import Array

# uint8 codes: 254 thresholds make 255 codes, and NaN has one more.
MAX_THRESHOLDS = 254


class Dictionary(NamedTuple):
    """Thresholds of feature f: ``values[offsets[f]:offsets[f + 1]]``, rising."""

    values: npt.NDArray[np.float32]
    offsets: npt.NDArray[np.int64]
    # Even cuts, too coarse for deep nodes: worth making anew there.
    renewable: bool = False


def select(dictionary: Dictionary, order: npt.NDArray[np.int32]) -> Dictionary:
    """Return the thresholds of the given features, in their order."""
    sizes = np.diff(dictionary.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shift = np.repeat(dictionary.offsets[order] - offsets[:-1], sizes)
    values = dictionary.values[np.arange(offsets[-1]) + shift]
    return Dictionary(values, offsets)


def code_width(n_features: int) -> int:
    """Features whose codes stand side by side: a multiple of four, at most 64.

    At least four blocks where there are features enough, for the threads to share.
    """
    n_blocks = max(-(-n_features // 64), min(4, -(-n_features // 4)))
    return -(-n_features // (4 * n_blocks)) * 4


def encode(
    X: Array,
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
