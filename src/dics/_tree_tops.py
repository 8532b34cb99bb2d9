"""Upper nodes of trees whose rows are in several processes.

All processes split them together (`_core.grow_tops`), until a node is small enough for
one of them. Those nodes are grown apart (`_apart_nodes.py`), each where its rows have
been brought together, and then joined to a tree (`_joined_trees.py`): the one that a
single process grows from all rows. Nothing here knows how rows and sums travel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._forest_draws import draw_own_counts
from dics._grow_call import GrowCall, Targets
from dics._validation import MAX_COUNT, Array, wide_count


class Tops(NamedTuple):
    """The upper nodes of some trees, and where rows of this process have come to.

    Attributes
    ----------
    trees : list of dict
        Arrays of `_core.grow_tops`, the same in all processes.
    place : ndarray of shape (n_trees, n_rows)
        The number of the node, of those grown apart; -1 for rows that take no part.
    counts : list of ndarray or None
        Weights of the rows in each tree: how often they were drawn, and if classes are
        balanced what they weigh.
    """

    trees: list[dict[str, Any]]
    place: npt.NDArray[np.int32]
    counts: list[Array] | None

    def of_rows(self, rows: slice) -> Tops:
        """Return the same of some rows."""
        counts = None if self.counts is None else [own[rows] for own in self.counts]
        return Tops(self.trees, self.place[:, rows], counts)


def grow_tops(
    call: GrowCall,
    codes: npt.NDArray[np.uint8],
    targets: Targets,
    numbers: npt.NDArray[np.int64],
    peers: Any,
    n_threads: int,
) -> Tops | None:
    """Split the upper nodes of trees together with peers; None if one is lost.

    Parameters
    ----------
    call : GrowCall
    codes : ndarray of shape (n_features, n_rows)
        Of the rows of this process.
    targets : Targets
        Of the same rows.
    numbers : ndarray
        Of the rows, among those of all processes.
    peers : object
        See `_core.boost`.
    n_threads : int
    """
    settings = call.core_settings()
    n_trees = settings.n_trees
    targets = call.counted(targets)
    drawn = _draws(call, settings, numbers)
    counts: list[Array] | None = drawn
    common = {
        "codes": codes.ravel(),
        "columns": call.columns,
        "values": call.dictionary.values,
        "offsets": call.dictionary.offsets,
        "settings": settings,
        "is_forest": call.is_forest,
        "apart_rows": call.apart_rows,
        "peers": peers,
        "n_threads": n_threads,
    }
    trees: Any
    if targets.labels is None:
        trees = _core.grow_regression_tops(
            y=targets.numbers,
            counts=targets.counts,
            wide_counts=targets.wide_counts,
            weights=targets.weights,
            drawn=[None] * n_trees if drawn is None else drawn,
            **common,
        )
    else:
        if drawn is not None and settings.balance_each_tree:
            counts = _balanced(drawn, targets.labels, settings.tree.n_classes, peers)
            if counts is None:
                return None
        elif drawn is not None and settings.n_draws > MAX_COUNT:
            unit = np.uint64(wide_count(settings.n_draws))
            counts = [own * unit for own in drawn]
        trees = _core.grow_tops(
            labels=targets.labels,
            **_weights_in_trees(targets, counts, n_trees),
            **common,
        )
    if trees is None:
        return None
    place = np.full((n_trees, len(numbers)), -1, dtype=np.int32)
    for tree, own in zip(trees, place, strict=True):
        rows, starts, ends = (tree.pop(name) for name in ("rows", "starts", "ends"))
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            own[rows[start:end]] = number
    return Tops(trees, place, counts)


def _draws(
    call: GrowCall, settings: _core.ForestSettings, numbers: npt.NDArray[np.int64]
) -> list[Array] | None:
    """Return how often each tree has drawn the rows of this process."""
    if settings.n_draws == 0:
        return None
    first = settings.first_tree
    return [
        *draw_own_counts(
            settings.tree.seed,
            range(first, first + settings.n_trees),
            call.n_rows,
            settings.n_draws,
            call.draw_weights,
            numbers,
        )
    ]


def _weights_in_trees(
    targets: Targets, counts: list[Array] | None, n_trees: int
) -> dict[str, Any]:
    """Return the weights of classes in each tree, in whole numbers or fixed point."""
    every: list[Array | None] = [None] * n_trees
    if counts is not None:
        every = [*counts]
    elif targets.wide_counts is not None:
        every = [targets.wide_counts] * n_trees
    elif targets.counts is not None:
        every = [targets.counts] * n_trees
    is_wide = every[0] is not None and every[0].dtype == np.uint64
    return {"counts": [] if is_wide else every, "wide_counts": every if is_wide else []}


def _balanced(
    drawn: list[Array], labels: npt.NDArray[np.uint32], n_classes: int, peers: Any
) -> list[Array] | None:
    """Return weights that balance the classes of each tree, as the core has them."""
    of_class = np.zeros((len(drawn), n_classes), dtype=np.int64)
    for own, counts in zip(of_class, drawn, strict=True):
        np.add.at(own, labels, counts)
    if not peers.add(of_class.reshape(-1)):
        return None
    balanced: list[Array] = []
    for own, counts in zip(of_class, drawn, strict=True):
        unit = np.ldexp(1.0, 50) / np.count_nonzero(own)
        rows = np.flatnonzero(counts)
        weights = np.zeros(len(counts), dtype=np.uint64)
        shares = unit * counts[rows].astype(np.float64) / own[labels[rows]]
        weights[rows] = np.maximum(1.0, np.rint(shares)).astype(np.uint64)
        balanced.append(weights)
    return balanced
