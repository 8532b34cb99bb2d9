"""Checks of untrusted models: files, pickles and trees that users construct.

The core trusts the arrays of a model: a wrong index would make it read outside of an
array, or follow a cycle of nodes forever. Untrusted models are checked once, before
their first use. A check takes about 0.1 s for a million nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dics._input.checks import Array

# Class fractions are stored in single precision, so that they sum to one only roughly.
FRACTION_TOLERANCE = 1e-3


class BadModel(ValueError):
    """The parts of a model contradict each other."""


def require(condition: Any, message: str) -> None:
    """Raise `BadModel` unless all entries of the condition are true."""
    if not np.all(condition):
        raise BadModel(f"Invalid model: {message}.")


def check_array(
    name: str, array: Any, dtype: Any, shape: tuple[int | None, ...]
) -> None:
    """Check dtype, memory layout and shape; None allows any length."""
    require(isinstance(array, np.ndarray), f"{name} must be an array")
    require(array.dtype == dtype, f"{name} has dtype {array.dtype}, expected {dtype}")
    require(
        array.ndim == len(shape)
        and all(want in (None, n) for n, want in zip(array.shape, shape, strict=True)),
        f"{name} has shape {array.shape}, expected {shape}",
    )
    # The core computes addresses from the shape only.
    require(
        array.flags.c_contiguous and array.flags.aligned, f"{name} must be contiguous"
    )


def check_starts(name: str, starts: Any, end: int, *, strictly: bool) -> None:
    """Check the starts of slices of an array, which go from 0 to its end."""
    check_array(name, starts, np.int64, (None,))
    require(len(starts) > 0 and starts[0] == 0, f"{name} must begin with 0")
    require(starts[-1] == end, f"{name} must end with {end}, found {starts[-1]}")
    steps = np.diff(starts)
    require(steps > 0 if strictly else steps >= 0, f"{name} must increase")


def check_vector(name: str, array: Any, length: int) -> Array:
    """Check a vector of finite floats, and return it."""
    require(
        isinstance(array, np.ndarray)
        and array.dtype.kind == "f"
        and array.shape == (length,)
        and np.isfinite(array).all(),
        f"{name} must be a vector of {length} finite floats",
    )
    checked: Array = array
    return checked


def check_trees(trees: Any, node_type: np.dtype[Any]) -> None:
    """Check the arrays of `Trees`, separately and against each other."""
    check_array("nodes", trees.nodes, node_type, (None,))
    n = len(trees.nodes)
    check_array("n_samples", trees.n_samples, np.int32, (n,))
    check_array("missing_left", trees.missing_left, np.uint8, (n,))
    check_array("weight", trees.weight, np.float32, (n,))
    # Trees store float64 if float32 would overflow: see `narrowed_impurity`.
    is_double = getattr(trees.impurity, "dtype", None) == np.float64
    impurity_type = np.float64 if is_double else np.float32
    check_array("impurity", trees.impurity, impurity_type, (None,))
    check_array("gain", trees.gain, np.float64, (None,))
    for name in ("impurity", "gain"):
        # A model has either of the two; the other one is empty.
        require(
            len(getattr(trees, name)) in (0, n), f"{name} must have 0 or {n} entries"
        )
    values = trees.leaf_values
    is_double = getattr(values, "dtype", None) == np.float64
    value_type = np.float64 if is_double else np.float32
    check_array("leaf_values", values, value_type, (None, None))
    require(values.shape[1] > 0, "leaf_values must have a column")
    require(isinstance(trees.criterion, str), "criterion must be a string")
    check_starts("node_starts", trees.node_starts, n, strictly=True)
    check_starts("leaf_starts", trees.leaf_starts, len(values), strictly=False)
    require(
        len(trees.node_starts) == len(trees.leaf_starts),
        "node_starts and leaf_starts differ in length",
    )
    require(trees.missing_left <= 1, "missing_left must be 0 or 1")
    require(trees.n_samples >= 0, "n_samples must not be negative")
    for name in ("weight", "impurity", "gain", "leaf_values"):
        require(np.isfinite(getattr(trees, name)), f"{name} must be finite")
    _check_nodes(trees)
    _check_leaves(trees)


def _check_nodes(trees: Any) -> None:
    """Check that the nodes of each tree form a tree in breadth-first order."""
    feature = trees.feature
    n_features = trees.n_features
    require(
        isinstance(n_features, int | np.integer) and n_features >= 0,
        "n_features must be an integer",
    )
    require(
        (feature >= -1) & (feature < max(n_features, 0)),
        f"a feature index is not below {n_features}",
    )
    inner = feature >= 0
    # Infinite thresholds are valid: they separate missing values.
    require(~np.isnan(trees.threshold[inner]), "a threshold is NaN")
    # Breadth first, the children of the k-th inner node of a tree are its nodes 2 k + 1
    # and 2 k + 2. Then no node has two parents, and no path leads back.
    starts = trees.node_starts
    before = np.concatenate([[0], np.cumsum(inner)])
    sizes = np.diff(starts)
    first = np.repeat(starts[:-1], sizes)
    children = 1 + 2 * (before[:-1] - before[first])
    index = np.arange(len(feature)) - first
    require(
        (trees.left[inner] == children[inner]) & (trees.left[inner] > index[inner]),
        "nodes are not in breadth-first order",
    )
    n_inner = before[starts[1:]] - before[starts[:-1]]
    require(sizes == 2 * n_inner + 1, "a tree must have one leaf more than inner nodes")


def _check_leaves(trees: Any) -> None:
    """Check the values of the leaves and the indices that refer to them."""
    leaf = trees.feature < 0
    row = trees.left[leaf]
    n_rows = np.repeat(np.diff(trees.leaf_starts), np.diff(trees.node_starts))[leaf]
    # `left` of a leaf is a row of `leaf_values`, counted within the tree.
    require(row < n_rows, "a leaf has no values")
    values = trees.leaf_values
    # Only classification trees have leaves with a single class, stored as ~class.
    if trees.criterion == "" or values.dtype == np.float64:
        require(row >= 0, "a leaf has no values")
        return
    require(~row < values.shape[1], "a leaf has a class that does not exist")
    require(values >= 0, "a class fraction is negative")
    require(
        np.abs(values.sum(axis=1) - 1) <= FRACTION_TOLERANCE,
        "class fractions must sum to one",
    )


def check_dictionary(values: Any, offsets: Any, most: int) -> None:
    """Check thresholds: increasing, and not too many. Infinities are allowed."""
    check_array("thresholds", values, np.float64, (None,))
    check_starts("offsets of thresholds", offsets, len(values), strictly=False)
    require(np.diff(offsets) <= most, f"a feature has more than {most} thresholds")
    require(~np.isnan(values), "a threshold is NaN")
    if len(values) > 1:
        # Thresholds are compared within a feature, not across its end.
        is_same_feature = np.ones(len(values) - 1, dtype=bool)
        ends = offsets[1:-1]
        is_same_feature[ends[(ends > 0) & (ends < len(values))] - 1] = False
        require(
            (values[1:] > values[:-1]) | ~is_same_feature, "thresholds must increase"
        )
