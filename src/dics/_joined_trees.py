"""Trees whose nodes were grown in several places, put together.

The arrays are those that the core lays out when it grows a tree from all rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._grow_call import GrowCall, Targets
from dics._validation import MAX_COUNT, Array, FloatArray
from dics.trees import NODE

MOST_SAMPLES = np.iinfo(np.int32).max


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
    set_number: Array  # among the sets of all parts; -1 for none


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
    arrays = _layout(
        settings, pool, order, apart, weight[0] if is_numbers else tree_weight
    )
    if settings.tree.categories.categorical:
        words = [top["sets"], *(part["sets"] for part in apart)]
        arrays.update(_sets_in_order(pool.set_number[order], np.concatenate(words)))
    return arrays


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
            top["set_numbers"],
        )
    ]
    n_nodes, n_values, n_sets = len(feature), 0, len(top["sets"])
    place = np.arange(n_nodes)
    for number, arrays in zip(top["apart"], apart, strict=True):
        nodes = arrays["nodes"].view(NODE)[:, 0]
        is_leaf = nodes["feature"] < 0
        n_samples = nodes["n_samples"]
        if top["n_rows"][number] > MAX_COUNT:  # see `summed_rows`
            n_samples = top["n_rows"][[number]]
        # Rows of leaf values are numbered through; those of one class have none.
        leaf = np.where(nodes["left"] >= 0, nodes["left"] + n_values, nodes["left"])
        parts.append(
            Pool(
                nodes["feature"],
                nodes["threshold"],
                np.where(is_leaf, -1, nodes["left"] + n_nodes),
                n_samples,
                arrays["missing_left"],
                arrays["impurity"],
                arrays["exact_weight"],
                np.where(is_leaf, leaf, 0),
                _set_numbers(arrays, n_sets),
            )
        )
        place[number] = n_nodes
        n_nodes += len(nodes)
        n_values += len(arrays["leaf_values"])
        n_sets += len(arrays.get("sets", ()))
    return _placed(
        Pool(*(np.concatenate(some) for some in zip(*parts, strict=True))), place
    )


def _set_numbers(arrays: dict[str, Any], n_before: int) -> npt.NDArray[np.int32]:
    """Return the sets of nodes grown apart, among those that come behind others."""
    if "set_numbers" not in arrays:
        return np.full(len(arrays["nodes"]), -1, dtype=np.int32)
    numbers = arrays["set_numbers"]
    return np.where(numbers < 0, -1, numbers + n_before).astype(np.int32)


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
    # Of a cluster there may be more rows than a node can say.
    nodes["n_samples"][:, 0] = np.minimum(pool.n_samples[order], MOST_SAMPLES)
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


def _sets_in_order(
    numbers: npt.NDArray[np.int32], words: npt.NDArray[np.uint64]
) -> dict[str, Any]:
    """Return the sets of nodes in the order of the nodes."""
    has_set = numbers >= 0
    ordered = np.where(has_set, np.cumsum(has_set) - 1, -1).astype(np.int32)
    return {"set_numbers": ordered, "sets": words[numbers[has_set]]}


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
        if name == "set_numbers":
            before = np.cumsum([0, *(len(part["sets"]) for part in parts[:-1])])
            arrays = [
                np.where(own < 0, -1, own + n).astype(np.int32)
                for own, n in zip(arrays, before, strict=True)
            ]
        joined[name] = np.concatenate(arrays)
    return joined
