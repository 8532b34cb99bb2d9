"""Trees whose rows are in several processes.

Their upper nodes are split by all processes together (`_core.grow_tops`), until a node
is small enough for one of them. Those nodes are grown apart, each where its rows have
been brought together, and then joined to a tree: the one that a single process grows
from all rows. Nothing here knows how rows and sums travel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._forest_draws import draw_counts
from dics._grow_forest import ForestPlan, in_columns
from dics._rows_elsewhere import EncodedRows
from dics._settings import make_settings, settings_fields
from dics._validation import Array, FloatArray
from dics.dictionary import Dictionary, encode, select
from dics.trees import NODE

# What `_core` has beside the nodes of a tree, one after the other for those apart.
APART_FIELDS = ("depth", "key", "lower", "upper")


class GrowCall(NamedTuple):
    """How some trees are grown; what all processes are told.

    Attributes
    ----------
    dictionary : Dictionary
        Of the features, in the order that the trees see.
    order : ndarray or None
        Their columns in X; None if they are the columns.
    settings : dict
        Fields of `ForestSettings`.
    is_forest : bool
        False for a single tree that looks at all features.
    n_rows : int
        Of all processes.
    draw_weights : ndarray or None
        Chances of all rows to be drawn; None if they are equal.
    apart_rows : int
        A node of so many rows is grown apart.
    """

    dictionary: Dictionary
    order: npt.NDArray[np.int32] | None
    settings: dict[str, Any]
    is_forest: bool
    n_rows: int
    draw_weights: FloatArray | None
    apart_rows: int

    @classmethod
    def of(
        cls, plan: ForestPlan, rows: dict[str, Any], n_rows: int, *, is_forest: bool
    ) -> GrowCall:
        """Return the call of a plan; `rows` are as `rows_for_core` has all of them."""
        settings = plan.settings
        if "y" in rows:
            settings.tree.scale = _core.moment_scale(
                rows["y"],
                rows["counts"],
                rows["wide_counts"],
                rows["weights"],
                settings,
            )
        return cls(
            plan.dictionary,
            plan.order,
            settings_fields(settings),
            is_forest,
            n_rows,
            rows["weights"] if settings.n_draws > 0 else None,
            1,
        )

    def for_trees(self, trees: range) -> GrowCall:
        """Return the call of some of the trees."""
        own = {"first_tree": trees.start, "n_trees": len(trees)}
        return self._replace(settings={**self.settings, **own})

    @property
    def renews(self) -> bool:
        """Whether nodes that are grown apart need the values of X."""
        return bool(self.settings["tree"]["renew_thresholds"])

    @property
    def columns(self) -> npt.NDArray[np.int32]:
        """Columns of X that the features are."""
        if self.order is not None:
            return self.order
        return np.arange(len(self.dictionary.offsets) - 1, dtype=np.int32)

    def core_settings(self) -> _core.ForestSettings:
        """Return the settings for the core."""
        return make_settings(_core.ForestSettings, **self.settings)


class Targets(NamedTuple):
    """What the core needs of rows beside their codes; None where there is none."""

    labels: npt.NDArray[np.uint32] | None
    y: FloatArray | None
    counts: npt.NDArray[np.uint32] | None
    wide_counts: npt.NDArray[np.uint64] | None
    weights: FloatArray | None

    @classmethod
    def of(cls, rows: dict[str, Any]) -> Targets:
        """Take them from what `rows_for_core` has."""
        return cls(*(rows.get(name) for name in cls._fields))

    @property
    def numbers(self) -> FloatArray:
        """Targets that are numbers."""
        assert self.y is not None
        return self.y

    def take(self, rows: Any) -> Targets:
        """Return those of some rows."""
        return Targets(*(None if part is None else part[rows] for part in self))


def joined_targets(parts: list[Targets]) -> Targets:
    """Return those of the rows of several parts."""
    return Targets(
        *(
            None if some[0] is None else np.ascontiguousarray(np.concatenate(some))
            for some in zip(*parts, strict=True)
        )
    )


# --- the upper nodes ----------------------------------------------------------


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
    draws = draw_counts(
        settings.tree.seed,
        range(first, first + settings.n_trees),
        call.n_rows,
        settings.n_draws,
        call.draw_weights,
    )
    return [counts[numbers] for counts in draws]


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


# --- nodes that are grown apart -----------------------------------------------


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
    values : ndarray of shape (n_rows, n_features), or None
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

    return ApartRows(
        join([part.place for part in parts]),
        join([part.numbers for part in parts]),
        joined_targets([part.targets for part in parts]),
        join([part.counts for part in parts]),
        join([part.codes for part in parts], axis=1),
        join([part.values for part in parts]),
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
    targets, drawn = _targets_in_tree(rows, own)
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
        arrays["leaf_rows"] = rows.numbers[own][arrays["leaf_rows"]].astype(np.uint32)
    return arrays


NO_FEATURES = Dictionary(np.empty(0, np.float32), np.zeros(1, np.int64))


def _targets_in_tree(
    rows: ApartRows, own: npt.NDArray[np.intp]
) -> tuple[Targets, Array | None]:
    """Return what a tree knows of rows; and of numbers, how often they were drawn."""
    targets = rows.targets.take(own)
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
    width = _core.forest_code_width(settings.sampling, len(dictionary.offsets) - 1)
    arranged = EncodedRows(codes).arranged(width, order)
    arrays = _grow_coded(settings, dictionary, arranged, width, drawn, known)
    if order is not None:
        in_columns(arrays, order)
    return arrays


def _grow_renewed(
    call: GrowCall, settings: _core.ForestSettings, X: Array, known: dict[str, Any]
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


# --- whole trees --------------------------------------------------------------


class Pool(NamedTuple):
    """Nodes of a tree in any order; `left` is a place among them."""

    feature: Array
    threshold: Array
    left: Array
    n_samples: Array
    missing_left: Array
    impurity: Array
    weight: FloatArray
    leaf: Array  # what `left` of a leaf is in the core


def joined_tree(
    call: GrowCall,
    top: dict[str, Any],
    apart: list[dict[str, Any]],
    tree_weight: float,
) -> dict[str, Any]:
    """Join the upper nodes of a tree and those grown apart as the core lays them out.

    Parameters
    ----------
    call : GrowCall
    top : dict
        Of `Tops.trees`.
    apart : list of dict
        Arrays of the nodes that were grown apart.
    tree_weight : float
        Of the rows of a tree of classes, in the unit of the leaves.
    """
    settings = call.core_settings()
    is_numbers = apart[0]["leaf_values"].dtype == np.float64
    weight, impurity = _top_measures(settings, top, apart, is_numbers=is_numbers)
    pool = _pool(call, top, apart, weight, impurity)
    order = _breadth_first(pool)
    return _layout(
        settings, pool, order, apart, weight[0] if is_numbers else tree_weight
    )


def _top_measures(
    settings: _core.ForestSettings,
    top: dict[str, Any],
    apart: list[dict[str, Any]],
    *,
    is_numbers: bool,
) -> tuple[FloatArray, Array]:
    """Return weights and impurities of the upper nodes."""
    left = top["left"]
    weight = np.zeros(len(left))
    weight[top["apart"]] = [arrays["exact_weight"][0] for arrays in apart]
    if not is_numbers:
        for node in np.flatnonzero(left >= 0)[::-1]:
            weight[node] = weight[left[node]] + weight[left[node] + 1]
        return weight, top["impurity"]
    spreads = np.stack([arrays["root_spread"] for arrays in apart])
    sums = np.zeros(len(left))
    means = np.zeros((len(left), spreads.shape[1] - 1))
    sums[top["apart"]], means[top["apart"]] = spreads[:, 0], spreads[:, 1:]
    _core.join_spreads(settings.tree.criterion, left, weight, sums, means)
    impurity = np.maximum(0.0, sums) / weight / means.shape[1]
    return weight, impurity.astype(np.float32)


def _pool(
    call: GrowCall,
    top: dict[str, Any],
    apart: list[dict[str, Any]],
    weight: FloatArray,
    impurity: Array,
) -> Pool:
    """Put all nodes into one, the root first; those grown apart replace their roots."""
    feature = top["feature"].copy()
    if call.order is not None:
        inner = feature >= 0
        feature[inner] = call.order[feature[inner]]
    parts = [
        Pool(
            feature,
            top["threshold"],
            top["left"],
            top["n_rows"],
            top["missing_left"],
            impurity,
            weight,
            np.zeros(len(feature), dtype=np.int32),
        )
    ]
    n_nodes, n_values = len(feature), 0
    place = np.arange(n_nodes)
    for number, arrays in zip(top["apart"], apart, strict=True):
        nodes = arrays["nodes"].view(NODE)[:, 0]
        is_leaf = nodes["feature"] < 0
        # Rows of leaf values are numbered through; those of one class have none.
        leaf = np.where(nodes["left"] >= 0, nodes["left"] + n_values, nodes["left"])
        parts.append(
            Pool(
                nodes["feature"],
                nodes["threshold"],
                np.where(is_leaf, -1, nodes["left"] + n_nodes),
                nodes["n_samples"],
                arrays["missing_left"],
                arrays["impurity"],
                arrays["exact_weight"],
                np.where(is_leaf, leaf, 0),
            )
        )
        place[number] = n_nodes
        n_nodes += len(nodes)
        n_values += len(arrays["leaf_values"])
    return _placed(
        Pool(*(np.concatenate(some) for some in zip(*parts, strict=True))), place
    )


def _placed(pool: Pool, place: npt.NDArray[np.intp]) -> Pool:
    """Let upper nodes that were grown apart be where their arrays are.

    Children are kept in two columns from here on: they need not stand side by side.
    """
    left = pool.left
    children = np.stack([left, np.where(left < 0, -1, left + 1)], axis=1)
    upper = children[: len(place)]
    inner = upper[:, 0] >= 0
    upper[inner] = place[upper[inner]]
    if place[0] != 0:  # the root itself
        for part in pool[:2] + pool[3:]:
            part[0] = part[place[0]]
        children[0] = children[place[0]]
    return pool._replace(left=children)


def _breadth_first(pool: Pool) -> npt.NDArray[np.intp]:
    """Return the places of the nodes, level by level."""
    level = np.zeros(1, dtype=np.intp)
    levels = []
    while len(level):
        levels.append(level)
        children = pool.left[level]
        level = children[children[:, 0] >= 0].reshape(-1)
    return np.concatenate(levels)


def _layout(
    settings: _core.ForestSettings,
    pool: Pool,
    order: npt.NDArray[np.intp],
    apart: list[dict[str, Any]],
    tree_weight: float,
) -> dict[str, Any]:
    """Return the arrays of a tree, as `Trees.from_core` takes them."""
    n_rows = settings.n_draws if settings.n_draws > 0 else pool.n_samples[order[0]]
    feature = pool.feature[order]
    inner = feature >= 0
    nodes = np.zeros((len(order), 1), dtype=NODE)
    nodes["feature"][:, 0] = feature
    nodes["threshold"][:, 0] = pool.threshold[order]
    nodes["n_samples"][:, 0] = pool.n_samples[order]
    left = np.empty(len(order), dtype=np.int32)
    left[inner] = 2 * np.arange(np.count_nonzero(inner)) + 1
    old = pool.leaf[order][~inner]
    has_row = old >= 0
    left[~inner] = np.where(has_row, np.cumsum(has_row) - 1, old)
    nodes["left"][:, 0] = left
    values = np.concatenate([arrays["leaf_values"] for arrays in apart])
    result = {
        "nodes": nodes.view(np.int32).reshape(len(order), 4),
        "missing_left": pool.missing_left[order],
        "weight": (pool.weight[order] / (tree_weight / n_rows)).astype(np.float32),
        "impurity": pool.impurity[order],
        "gain": np.empty(0),
        "leaf_values": values[old[has_row]],
        "node_starts": np.array([0, len(order)], dtype=np.int64),
        "leaf_starts": np.array([0, np.count_nonzero(has_row)], dtype=np.int64),
    }
    if any("leaf_rows" in arrays for arrays in apart):
        counts = np.concatenate([arrays["leaf_row_counts"] for arrays in apart])
        rows = np.concatenate([arrays["leaf_rows"] for arrays in apart])
        pieces = np.split(rows, np.cumsum(counts)[:-1])
        result["leaf_rows"] = np.concatenate([pieces[leaf] for leaf in old])
        result["leaf_row_counts"] = counts[old]
    return result


def weight_of_tree(call: GrowCall, top: dict[str, Any], targets: Targets) -> float:
    """Return what all rows of a tree of classes weigh, added up as the core does.

    `targets` are those of all rows.
    """
    weights, counts = targets.weights, targets.counts
    if weights is None or call.settings["n_draws"] > 0 or targets.labels is None:
        return float(top["tree_weight"])
    used = np.flatnonzero(counts if counts is not None else weights)
    by_label = used[np.argsort(targets.labels[used], kind="stable")]
    return float(np.cumsum(weights[by_label])[-1])


def one_behind_the_other(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Put trees that were grown apart into one forest."""
    joined = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        if name in ("node_starts", "leaf_starts"):
            ends = np.cumsum([0, *(array[-1] for array in arrays[:-1])])
            shifted = [array[1:] + end for array, end in zip(arrays, ends, strict=True)]
            arrays = [arrays[0][:1], *shifted]
        joined[name] = np.concatenate(arrays)
    return joined
