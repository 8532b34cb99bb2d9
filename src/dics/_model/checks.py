"""Checks of untrusted models: files, pickles and trees that users construct.

The core trusts the arrays of a model: a wrong index would make it read outside of an
array, or follow a cycle of nodes forever. Untrusted models are checked once, before
their first use. The core itself checks the indices (core/predict/check.cpp).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dics import _core
from dics._input.checks import Array

# Class fractions are stored in single precision, so that they sum to one only roughly.
FRACTION_TOLERANCE = 1e-3
WORDS = 4  # of 64 bits per set of categories: core/data/code_set.hpp


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
    check_array("node_starts", trees.node_starts, np.int64, (None,))
    check_array("leaf_starts", trees.leaf_starts, np.int64, (None,))
    n_features = trees.n_features
    require(
        isinstance(n_features, int | np.integer) and n_features >= 0,
        "n_features must be an integer",
    )
    require(trees.n_samples >= 0, "n_samples must not be negative")
    for name in ("weight", "impurity", "gain", "leaf_values"):
        require(np.isfinite(getattr(trees, name)), f"{name} must be finite")
    if trees.sets is not None:
        numbers, words = trees.sets.numbers, trees.sets.words
        check_array("indices of sets", numbers, np.int32, (n,))
        check_array("sets of categories", words, np.uint64, (None, WORDS))
    _check_indices(trees)


def _check_indices(trees: Any) -> None:
    """Check the nodes and sets, whose indices the core trusts."""
    values = trees.leaf_values
    # Only classification trees have leaves with a single class, stored as ~class.
    has_classes = trees.criterion != "" and values.dtype == np.float32
    n_classes = values.shape[1] if has_classes else 0
    try:
        _core.check_trees(
            trees.core_arrays(), len(values), int(trees.n_features), n_classes
        )
    except ValueError as error:
        raise BadModel(f"Invalid model: {error}.") from error
    if has_classes:
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
