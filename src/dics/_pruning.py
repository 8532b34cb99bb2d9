"""Minimal cost-complexity pruning of a tree (Breiman et al. 1984)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dics._validation import FloatArray
from dics.trees import Trees


def weakest_links(tree: Trees) -> Iterator[tuple[float, float, int]]:
    """Yield what is pruned next: its alpha, the impurity of the leaves then, the node.

    The cost of a node is its impurity times its share of the rows. Alpha of a node is
    how much the cost rises, for each leaf that is lost, if the node becomes a leaf.
    """
    left, inner = tree.left, tree.feature >= 0
    share = tree.weight.astype(np.float64) / float(tree.weight[0])
    own = share * tree.impurity
    below = own.copy()  # cost of the leaves below each node
    n_leaves = np.ones(tree.n_nodes, dtype=np.int64)
    parent = np.full(tree.n_nodes, -1, dtype=np.int64)
    for node in np.flatnonzero(inner)[::-1]:  # children come after their parents
        children = slice(left[node], left[node] + 2)
        parent[children] = node
        below[node] = below[children].sum()
        n_leaves[node] = n_leaves[children].sum()
    gone = ~inner

    def alpha(node: int) -> float:
        return float((own[node] - below[node]) / (n_leaves[node] - 1))

    heap = [(alpha(node), node) for node in np.flatnonzero(inner).tolist()]
    heapq.heapify(heap)
    while heap:
        value, node = heapq.heappop(heap)
        if gone[node] or value != alpha(node):
            continue  # it isn't there any more, or has another entry
        _mark_below(node, left, inner, gone)
        lost, rise = n_leaves[node] - 1, own[node] - below[node]
        above = node
        while above >= 0:
            n_leaves[above] -= lost
            below[above] += rise
            if above != node:  # its branch has changed: a new entry
                heapq.heappush(heap, (alpha(above), above))
            above = int(parent[above])
        yield value, float(below[0]), node


def _mark_below(
    node: int,
    left: npt.NDArray[np.int32],
    inner: npt.NDArray[np.bool_],
    gone: npt.NDArray[np.bool_],
) -> None:
    open_nodes = [node]
    while open_nodes:
        here = open_nodes.pop()
        if not gone[here]:
            gone[here] = True
            if inner[here]:
                open_nodes += [int(left[here]), int(left[here]) + 1]


def pruning_path(tree: Trees) -> tuple[FloatArray, FloatArray]:
    """Return alphas at which the tree gets smaller, and the impurity of its leaves."""
    leaves = tree.feature < 0
    share = tree.weight.astype(np.float64) / float(tree.weight[0])
    start = float((share * tree.impurity)[leaves].sum())
    links = [(alpha, impurity) for alpha, impurity, _ in weakest_links(tree)]
    path = np.array([(0.0, start), *links])
    return path[:, 0], path[:, 1]


def pruned(tree: Trees, ccp_alpha: float) -> Trees:
    """Return the smallest tree whose cost, with alpha for each leaf, is least."""
    stubs = np.zeros(tree.n_nodes, dtype=bool)
    for alpha, _, node in weakest_links(tree):
        if alpha > ccp_alpha:
            break
        stubs[node] = True
    return _cut_off(tree, stubs) if stubs.any() else tree


def _cut_off(tree: Trees, stubs: npt.NDArray[np.bool_]) -> Trees:
    """Make leaves of some nodes; breadth-first order stays as it is."""
    kept = np.zeros(tree.n_nodes, dtype=bool)
    kept[0] = True
    for node in range(tree.n_nodes):
        if kept[node] and tree.feature[node] >= 0 and not stubs[node]:
            kept[tree.left[node] : tree.left[node] + 2] = True
    old = np.flatnonzero(kept)
    values = tree.node_values()[old].astype(tree.leaf_values.dtype)
    nodes = tree.nodes[old].copy()
    nodes["feature"][stubs[old]] = -1
    nodes["threshold"][stubs[old]] = np.nan
    inner = nodes["feature"] >= 0
    # A leaf of one class stays one; the others have a row of values each.
    pure = ~inner & ~stubs[old] & (nodes["left"] < 0)
    rows = ~inner & ~pure
    nodes["left"][inner] = 1 + 2 * np.arange(inner.sum())
    nodes["left"][rows] = np.arange(rows.sum())
    return Trees(
        nodes=nodes,
        missing_left=tree.missing_left[old],
        weight=tree.weight[old],
        impurity=tree.impurity[old],
        gain=tree.gain,
        leaf_values=np.ascontiguousarray(values[rows]),
        node_starts=np.array([0, len(old)]),
        leaf_starts=np.array([0, int(rows.sum())]),
        criterion=tree.criterion,
        n_features=tree.n_features,
        wide=tree.wide,
    )
