"""Nodes of trees that are grown apart, from rows that were brought together.

See `_tree_tops.py` for where they come from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._grow_call import GrowCall, Targets, joined_targets
from dics._grow_forest import in_columns, restrict_categories
from dics._leaf_rows import row_number_type
from dics._rows_elsewhere import EncodedRows
from dics._settings import make_settings
from dics._sparse_rows import SparseRows, joined_matrices
from dics._validation import Array
from dics.dictionary import Dictionary, encode, select

# What `_core` has beside the nodes of a tree, one after the other for those apart.
APART_FIELDS = ("depth", "key", "lower", "upper")
NO_FEATURES = Dictionary(np.empty(0, np.float32), np.zeros(1, np.int64))


class ApartRows(NamedTuple):
    """Rows of one tree's nodes that are grown apart, from one part of X.

    Attributes
    ----------
    place : ndarray
        Numbers of their nodes, of those grown apart.
    numbers : ndarray
        Of the rows, rising.
    targets : Targets
    counts : ndarray or None
        See `Tops`.
    codes : ndarray of shape (n_features, n_rows), or None
    values : ndarray or SparseRows of shape (n_rows, n_features), or None
        Rows of X. Either these or the codes are there; of leaves, neither.
    """

    place: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.int64]
    targets: Targets
    counts: Array | None
    codes: Any
    values: Any


def joined_rows(parts: list[ApartRows]) -> ApartRows:
    """Return the rows of several parts, whose numbers rise."""

    def join(some: list[Any], axis: int = 0) -> Any:
        return None if some[0] is None else np.concatenate(some, axis=axis)

    values = [part.values for part in parts]

    return ApartRows(
        join([part.place for part in parts]),
        join([part.numbers for part in parts]),
        joined_targets([part.targets for part in parts]),
        join([part.counts for part in parts]),
        join([part.codes for part in parts], axis=1),
        None if values[0] is None else joined_matrices(values),
    )


def summed_rows(rows: ApartRows, unit: int) -> ApartRows:
    """Return a row for each leaf and class, which counts what their rows do.

    Of rows that are too many for 32 bits, so that counts are in fixed point; one
    without a weight counts `unit`.
    """
    targets = rows.targets
    labels = targets.labels
    assert labels is not None
    counts = targets.wide_counts if rows.counts is None else rows.counts
    if counts is None:
        counts = np.full(len(labels), unit, dtype=np.uint64)
    n_labels = np.int64(labels.max(initial=0)) + 1
    _, first, group = np.unique(
        rows.place * n_labels + labels, return_index=True, return_inverse=True
    )
    # Below 2^53, such sums are whole numbers.
    summed = np.bincount(group, counts).astype(np.uint64)
    summed_weights: Any = None
    if targets.weights is not None:
        summed_weights = np.bincount(group, targets.weights)
    return ApartRows(
        rows.place[first],
        rows.numbers[first],
        Targets(
            labels=labels[first],
            y=None,
            counts=None,
            wide_counts=summed,
            weights=summed_weights,
        ),
        None if rows.counts is None else summed,
        None,
        None,
    )


def grow_apart(
    call: GrowCall, top: dict[str, Any], rows: ApartRows, n_threads: int
) -> dict[int, dict[str, Any]]:
    """Grow nodes of a tree from their rows; return their arrays by their numbers."""
    by_place = np.argsort(rows.place, kind="stable")
    places, starts = np.unique(rows.place[by_place], return_index=True)
    grown = {}
    for place, own in zip(places, np.split(by_place, starts[1:]), strict=True):
        grown[int(place)] = _grow_node(call, top, int(place), rows, own, n_threads)
    return grown


def _grow_node(
    call: GrowCall,
    top: dict[str, Any],
    place: int,
    rows: ApartRows,
    own: npt.NDArray[np.intp],
    n_threads: int,
) -> dict[str, Any]:
    settings = call.core_settings()
    settings.n_trees = 1
    settings.balance_each_tree = False
    settings.tree.apart = make_settings(
        _core.ApartNode,
        tree_weight=top["tree_weight"],
        tree_rows=top["tree_rows"],
        **{name: top[name][place].item() for name in APART_FIELDS},
    )
    targets, drawn = _targets_in_tree(call, rows, own)
    known = {
        **{name: part for name, part in targets._asdict().items() if name != "labels"},
        "n_threads": n_threads,
    }
    if targets.labels is not None:
        known.pop("y")
        known["labels"] = targets.labels
        settings.n_draws = 0
    if not top["may_split"][place]:
        settings.tree.renew_thresholds = False
        settings.sampling = _core.FeatureSampling.none
        arrays = _grow_coded(
            settings, NO_FEATURES, np.empty(0, np.uint8), 1, drawn, known
        )
    elif call.renews:
        arrays = _grow_renewed(call, settings, rows.values[own], known)
    else:
        arrays = _grow_drawn(call, settings, top, rows.codes[:, own], drawn, known)
    if "leaf_rows" in arrays:
        numbers = rows.numbers[own][arrays["leaf_rows"]]
        arrays["leaf_rows"] = numbers.astype(row_number_type(call.n_rows))
    return arrays


def _targets_in_tree(
    call: GrowCall, rows: ApartRows, own: npt.NDArray[np.intp]
) -> tuple[Targets, Array | None]:
    """Return what a tree knows of rows; and of numbers, how often they were drawn."""
    targets = call.counted(rows.targets.take(own))
    if rows.counts is None:
        return targets, None
    counts = rows.counts[own]
    if targets.labels is None:
        return targets, counts
    is_wide = counts.dtype == np.uint64
    return (
        targets._replace(
            counts=None if is_wide else counts,
            wide_counts=counts if is_wide else None,
            weights=None,
        ),
        None,
    )


def _grow_coded(
    settings: _core.ForestSettings,
    dictionary: Dictionary,
    codes: npt.NDArray[np.uint8],
    width: int,
    drawn: Array | None,
    known: dict[str, Any],
) -> dict[str, Any]:
    common = {
        "codes": codes,
        "code_width": width,
        "values": dictionary.values,
        "offsets": dictionary.offsets,
        "settings": settings,
        "progress": None,
        **known,
    }
    if "labels" in known:
        arrays: dict[str, Any] = _core.grow_forest(**common)
    else:
        arrays = _core.grow_regression_forest(drawn=drawn, **common)
    return arrays


def _grow_drawn(
    call: GrowCall,
    settings: _core.ForestSettings,
    top: dict[str, Any],
    codes: npt.NDArray[np.uint8],
    drawn: Array | None,
    known: dict[str, Any],
) -> dict[str, Any]:
    """Grow a node as forests do, from codes of all columns."""
    dictionary, order = call.dictionary, call.order
    if settings.sampling == _core.FeatureSampling.tree:
        # The features are known; what is left of the tree looks at all of them.
        order = top["features"].astype(np.int32)
        dictionary = select(dictionary, order)
        settings.sampling = _core.FeatureSampling.none
        if settings.tree.monotonic:
            settings.tree.monotonic = [settings.tree.monotonic[f] for f in order]
        restrict_categories(settings.tree, order)
    width = _core.forest_code_width(settings.sampling, len(dictionary.offsets) - 1)
    arranged = EncodedRows(codes).arranged(width, order)
    arrays = _grow_coded(settings, dictionary, arranged, width, drawn, known)
    if order is not None:
        in_columns(arrays, order)
    return arrays


def _grow_renewed(
    call: GrowCall,
    settings: _core.ForestSettings,
    X: Array | SparseRows,
    known: dict[str, Any],
) -> dict[str, Any]:
    """Grow a node of a single tree, which may make thresholds anew from X."""
    width = _core.code_width(X.shape[1])
    common = {
        "codes": encode(X, call.dictionary, width, known["n_threads"]),
        "code_width": width,
        "values": call.dictionary.values,
        "offsets": call.dictionary.offsets,
        "settings": settings.tree,
        **known,
    }
    grow = _core.grow_tree if "labels" in known else _core.grow_regression_tree
    arrays: dict[str, Any] = grow(X, **common)
    return arrays
