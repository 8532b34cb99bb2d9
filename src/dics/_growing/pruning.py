"""Minimal cost-complexity pruning of trees (Breiman et al. 1984)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dics._input.checks import FloatArray
from dics._model.trees import Trees

# The path adds up costs in another order than the pruning. An alpha of the path must
# still prune its own node.
ROUNDING = 1e-12


def weakest_links(tree: Trees) -> Iterator[tuple[float, float, int]]:
    """Yield the next node to prune: its alpha, the impurity of the leaves, the node.

    The cost of a node is its impurity times its fraction of the rows. The alpha of a
    node is the increase of the cost for each lost leaf, if the node becomes a leaf.
    """
    left, inner = tree.left, tree.feature >= 0
    fraction = tree.weight.astype(np.float64) / float(tree.weight[0])
    own = fraction * tree.impurity
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
            continue  # it is pruned, or has a newer entry
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
    # A list instead of recursion, whose depth Python limits.
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
    fraction = tree.weight.astype(np.float64) / float(tree.weight[0])
    start = float((fraction * tree.impurity)[leaves].sum())
    links = [(alpha, impurity) for alpha, impurity, _ in weakest_links(tree)]
    # As in scikit-learn, the path begins with the whole tree.
    path = np.array([(0.0, start), *links])
    return path[:, 0], path[:, 1]


@dataclass(frozen=True)
class Pruned:
    """Trees that were pruned.

    Attributes
    ----------
    trees : Trees
    leaf : ndarray of shape (n_nodes,)
        For each node that was a leaf before, the node that has its rows now.
    """

    trees: Trees
    leaf: npt.NDArray[np.int64]


def prune(trees: Trees, ccp_alpha: float) -> Pruned:
    """Return the smallest trees with the lowest cost plus alpha for each leaf.

    Inner nodes that become leaves get the mean of their leaves.
    """
    return _cut_off(trees, _stubs(trees, ccp_alpha))


def _stubs(trees: Trees, ccp_alpha: float) -> npt.NDArray[np.bool_]:
    """Return a mask of the nodes that cost no more as leaves than their best branch.

    One pass from the leaves up is enough. `weakest_links` prunes the same nodes.
    """
    sizes = np.diff(trees.node_starts)
    root = np.repeat(trees.node_starts[:-1], sizes)
    own = trees.weight.astype(np.float64) / trees.weight[root] * trees.impurity
    slack = ROUNDING * own[root]
    # Costs and leaves of the best pruned branch below each node, leaf by leaf first.
    below, n_leaves = own.copy(), np.ones(trees.n_nodes, dtype=np.int64)
    stubs = np.zeros(trees.n_nodes, dtype=bool)
    left = trees.left + root
    for nodes in reversed(_inner_levels(trees)):
        a, b = left[nodes], left[nodes] + 1
        branch, n = below[a] + below[b], n_leaves[a] + n_leaves[b]
        stubs[nodes] = own[nodes] - branch <= ccp_alpha * (n - 1) + slack[nodes]
        below[nodes] = np.where(stubs[nodes], own[nodes], branch)
        n_leaves[nodes] = np.where(stubs[nodes], 1, n)
    return stubs


def _inner_levels(trees: Trees) -> list[npt.NDArray[np.int64]]:
    """Return the inner nodes of all trees by their depth."""
    left = trees.left + np.repeat(trees.node_starts[:-1], np.diff(trees.node_starts))
    level, levels = trees.node_starts[:-1], []
    while len(level):
        level = level[trees.feature[level] >= 0]
        levels.append(level)
        level = np.concatenate([left[level], left[level] + 1])
    return levels


def _cut_off(trees: Trees, stubs: npt.NDArray[np.bool_]) -> Pruned:
    """Turn some nodes into leaves, and keep the breadth-first order."""
    kept, owner = _owners(trees, stubs)
    old = np.flatnonzero(kept)
    starts = np.concatenate([[0], np.cumsum(kept)])[trees.node_starts]
    nodes = trees.nodes[old].copy()
    nodes["feature"][stubs[old]] = -1
    nodes["threshold"][stubs[old]] = np.nan
    inner = nodes["feature"] >= 0
    # Leaves of a single class store it in the node, all others a row of values.
    rows = ~inner & (stubs[old] | (nodes["left"] >= 0))
    nodes["left"][inner] = 1 + 2 * _ranks(inner, starts)
    nodes["left"][rows] = _ranks(rows, starts)
    has_values = np.zeros(trees.n_nodes, dtype=bool)
    has_values[old[rows]] = True
    cut = replace(
        trees,
        nodes=nodes,
        n_samples=trees.n_samples[old],
        missing_left=trees.missing_left[old],
        weight=trees.weight[old],
        impurity=trees.impurity[old],
        leaf_values=_values(trees, has_values),
        node_starts=starts,
        leaf_starts=np.concatenate([[0], np.cumsum(rows)])[starts],
        sets=None if trees.sets is None else trees.sets.of_nodes(old, inner),
    )
    return Pruned(cut, (np.cumsum(kept) - 1)[owner])


def _values(trees: Trees, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return the values of some nodes, tree by tree."""
    starts = trees.node_starts
    parts = [
        trees[t].node_values()[chosen[starts[t] : starts[t + 1]]]
        for t in range(len(trees))
    ]
    return np.concatenate(parts).astype(trees.leaf_values.dtype)


def _owners(
    trees: Trees, stubs: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return a mask of the kept nodes, and the kept node that replaces each node."""
    left = trees.left + np.repeat(trees.node_starts[:-1], np.diff(trees.node_starts))
    owner = np.arange(trees.n_nodes)
    is_cut = stubs.copy()  # here or above
    for level in _inner_levels(trees):
        for child in (left[level], left[level] + 1):
            owner[child] = np.where(is_cut[level], owner[level], child)
            is_cut[child] |= is_cut[level]
    return owner == np.arange(trees.n_nodes), owner


def _ranks(
    chosen: npt.NDArray[np.bool_], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the index of each chosen node among those of its tree."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    first = np.repeat(before[starts[:-1]], np.diff(starts))
    ranks: npt.NDArray[np.int64] = before[:-1][chosen] - first[chosen]
    return ranks
