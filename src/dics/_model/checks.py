"""Checks of untrusted models: files, pickles, trees made by hand.

The core trusts the arrays of a model: a wrong index would make it read outside of an
array, or walk in circles. Untrusted models are checked once, before their first use. A
check costs about 0.1 s for a million nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dics._input.checks import Array

# Shares of classes are kept in single precision.
SHARE_TOLERANCE = 1e-3


class BadModel(ValueError):
    """What a model holds contradicts itself."""


def require(condition: Any, message: str) -> None:
    """Refuse a model unless the condition holds (everywhere)."""
    if not np.all(condition):
        raise BadModel(f"This is no valid model: {message}.")


def check_array(
    name: str, array: Any, dtype: Any, shape: tuple[int | None, ...]
) -> None:
    """Check type, memory and shape; None stands for any length."""
    require(isinstance(array, np.ndarray), f"{name} is no array")
    require(array.dtype == dtype, f"{name} has the type {array.dtype}, not {dtype}")
    require(
        array.ndim == len(shape)
        and all(want in (None, n) for n, want in zip(array.shape, shape, strict=True)),
        f"{name} has the shape {array.shape}",
    )
    require(
        array.flags.c_contiguous and array.flags.aligned, f"{name} is not contiguous"
    )


def check_starts(name: str, starts: Any, end: int, *, strictly: bool) -> None:
    """Check where parts of an array begin: from 0 up to its end."""
    check_array(name, starts, np.int64, (None,))
    require(len(starts) > 0 and starts[0] == 0, f"{name} doesn't begin with 0")
    require(starts[-1] == end, f"{name} ends with {starts[-1]}, not {end}")
    steps = np.diff(starts)
    require(steps > 0 if strictly else steps >= 0, f"{name} doesn't rise")


def check_trees(trees: Any, node_type: np.dtype[Any]) -> None:
    """Check the arrays of `Trees`, each by itself and with the others."""
    check_array("nodes", trees.nodes, node_type, (None,))
    n = len(trees.nodes)
    check_array("n_samples", trees.n_samples, np.int32, (n,))
    check_array("missing_left", trees.missing_left, np.uint8, (n,))
    check_array("weight", trees.weight, np.float32, (n,))
    is_double = getattr(trees.impurity, "dtype", None) == np.float64
    impurity_type = np.float64 if is_double else np.float32
    check_array("impurity", trees.impurity, impurity_type, (None,))
    check_array("gain", trees.gain, np.float64, (None,))
    for name in ("impurity", "gain"):
        require(len(getattr(trees, name)) in (0, n), f"{name} has not {n} entries")
    values = trees.leaf_values
    wide = getattr(values, "dtype", None) == np.float64
    check_array("leaf_values", values, np.float64 if wide else np.float32, (None, None))
    require(values.shape[1] > 0, "leaf_values has no column")
    require(isinstance(trees.criterion, str), "criterion is no string")
    check_starts("node_starts", trees.node_starts, n, strictly=True)
    check_starts("leaf_starts", trees.leaf_starts, len(values), strictly=False)
    require(
        len(trees.node_starts) == len(trees.leaf_starts),
        "node_starts and leaf_starts differ in length",
    )
    require(trees.missing_left <= 1, "missing_left is neither 0 nor 1")
    require(trees.n_samples >= 0, "n_samples is negative")
    for name in ("weight", "impurity", "gain", "leaf_values"):
        require(np.isfinite(getattr(trees, name)), f"{name} is not finite")
    _check_nodes(trees)
    _check_leaves(trees)


def _check_nodes(trees: Any) -> None:
    feature = trees.feature
    n_features = trees.n_features
    require(
        isinstance(n_features, int | np.integer) and n_features >= 0,
        "n_features is no number",
    )
    require(
        (feature >= -1) & (feature < max(n_features, 0)),
        f"a feature is not below {n_features}",
    )
    inner = feature >= 0
    require(~np.isnan(trees.threshold[inner]), "a threshold is NaN")
    # Breadth first, the children of the k-th inner node of a tree are its nodes 2 k + 1
    # and 2 k + 2: no node has two parents, and no way leads back.
    starts = trees.node_starts
    before = np.concatenate([[0], np.cumsum(inner)])
    sizes = np.diff(starts)
    first = np.repeat(starts[:-1], sizes)
    children = 1 + 2 * (before[:-1] - before[first])
    number = np.arange(len(feature)) - first
    require(
        (trees.left[inner] == children[inner]) & (trees.left[inner] > number[inner]),
        "a node is not where its parent looks for it",
    )
    n_inner = before[starts[1:]] - before[starts[:-1]]
    require(sizes == 2 * n_inner + 1, "a tree has not one leaf more than inner nodes")


def _check_leaves(trees: Any) -> None:
    leaf = trees.feature < 0
    row = trees.left[leaf]
    n_rows = np.repeat(np.diff(trees.leaf_starts), np.diff(trees.node_starts))[leaf]
    require(row < n_rows, "a leaf has no values")
    values = trees.leaf_values
    if trees.criterion == "" or values.dtype == np.float64:
        require(row >= 0, "a leaf has no values")
        return
    require(~row < values.shape[1], "a leaf has a class that isn't there")
    require(values >= 0, "a share of a class is negative")
    require(
        np.abs(values.sum(axis=1) - 1) <= SHARE_TOLERANCE, "shares don't sum to one"
    )


def check_dictionary(values: Any, offsets: Any, most: int) -> None:
    """Check thresholds: rising, and not too many. Infinities can be among them."""
    check_array("thresholds", values, np.float64, (None,))
    check_starts("offsets of thresholds", offsets, len(values), strictly=False)
    require(np.diff(offsets) <= most, f"a feature has more than {most} thresholds")
    require(~np.isnan(values), "a threshold is NaN")
    if len(values) > 1:
        same = np.ones(len(values) - 1, dtype=bool)
        ends = offsets[1:-1]
        same[ends[(ends > 0) & (ends < len(values))] - 1] = False
        require((values[1:] > values[:-1]) | ~same, "thresholds don't rise")


def check_vector(name: str, array: Any, length: int) -> Array:
    """Check a vector of finite numbers."""
    require(
        isinstance(array, np.ndarray)
        and array.dtype.kind == "f"
        and array.shape == (length,)
        and np.isfinite(array).all(),
        f"{name} is no vector of {length} finite numbers",
    )
    checked: Array = array
    return checked
