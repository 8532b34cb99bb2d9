"""The flat arrays every fitted model holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dics import _core
from dics._validation import Array, FloatArray


@dataclass(frozen=True, eq=False)
class Trees:
    """A tree as arrays with one entry per node.

    Nodes are in breadth-first order, the root is node 0, and the two children of a node
    stand side by side: ``left[i]`` and ``left[i] + 1``. A row goes left if its value is
    less than the threshold.

    Attributes
    ----------
    feature : int32 array
        Feature of the split; -1 for a leaf.
    threshold : float32 array
        NaN for a leaf; -inf where everything but NaN goes right.
    left : int32 array
        Left child, or for a leaf its row in `leaf_values`.
    missing_left : uint8 array
        1 where NaN goes left.
    n_samples : int32 array
        Training rows in the node.
    weight : float64 array
        Their weight, in units of the mean weight of a row.
    leaf_values : float64 array of shape (n_leaves, n_classes)
        Share of each class in each leaf.
    """

    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float32]
    left: npt.NDArray[np.int32]
    missing_left: npt.NDArray[np.uint8]
    n_samples: npt.NDArray[np.int32]
    weight: FloatArray
    leaf_values: FloatArray

    @classmethod
    def from_core(cls, arrays: dict[str, Any]) -> Trees:
        """Take what the core returns, with weights in units of a row's mean weight."""
        weight = arrays["weight"]
        mean = weight[0] / arrays["n_samples"][0]
        return cls(**{**arrays, "weight": weight / mean})

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_values)

    @property
    def inner(self) -> npt.NDArray[np.intp]:
        """Indices of the nodes that aren't leaves."""
        return np.flatnonzero(self.feature >= 0)

    def apply(self, X: Array, n_threads: int) -> npt.NDArray[np.int64]:
        """Find the leaf (as a node index) of each row of a checked X."""
        leaves = np.empty(len(X), dtype=np.int64)
        _core.find_leaves(
            X,
            self.feature,
            self.threshold,
            self.left,
            self.missing_left,
            leaves,
            n_threads,
        )
        return leaves

    def leaf_shares(self, leaves: npt.NDArray[np.int64]) -> FloatArray:
        """Class shares of the given leaves."""
        return self.leaf_values.take(self.left[leaves], axis=0)

    def leaf_classes(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Index of the commonest class in the given leaves."""
        rows = self.left[leaves]
        classes: npt.NDArray[np.intp]
        if len(rows) < self.n_leaves:
            classes = self.leaf_values[rows].argmax(axis=1)
        else:
            classes = self.leaf_values.argmax(axis=1)[rows]
        return classes

    def levels(self) -> list[slice]:
        """Nodes of each depth: breadth-first order keeps them together."""
        levels, end = [slice(0, 1)], 1
        while True:
            n_inner = int(np.count_nonzero(self.feature[levels[-1]] >= 0))
            if n_inner == 0:
                return levels
            levels.append(slice(end, end + 2 * n_inner))
            end += 2 * n_inner

    def node_depths(self) -> npt.NDArray[np.intp]:
        """Depth of each node; the root has 0."""
        depths = np.empty(self.n_nodes, dtype=np.intp)
        for depth, level in enumerate(self.levels()):
            depths[level] = depth
        return depths

    def node_values(self) -> FloatArray:
        """Class shares of every node, inner nodes included."""
        values = np.zeros((self.n_nodes, self.leaf_values.shape[1]))
        leaf = self.feature < 0
        values[leaf] = self.leaf_values[self.left[leaf]]
        for level in reversed(self.levels()):
            nodes = np.arange(self.n_nodes)[level]
            inner = nodes[self.feature[nodes] >= 0]
            left = self.left[inner]
            a, b = self.weight[left], self.weight[left + 1]
            share = np.divide(a, a + b, out=np.full(len(a), 0.5), where=a + b > 0)
            values[inner] = (
                share[:, None] * values[left] + (1 - share)[:, None] * values[left + 1]
            )
        return values

    def node_impurities(self, criterion: str) -> FloatArray:
        """Gini index or entropy (in bits) of every node."""
        values = self.node_values()
        if criterion == "gini":
            impurities: FloatArray = 1.0 - (values**2).sum(axis=1)
        else:
            logs = np.log2(values, out=np.zeros_like(values), where=values > 0)
            impurities = -(values * logs).sum(axis=1)
        return np.maximum(impurities, 0.0)

    def feature_importances(self, n_features: int, criterion: str) -> FloatArray:
        """Total decrease of impurity by each feature, normalised to sum to one."""
        mass = self.weight * self.node_impurities(criterion)
        node, left = self.inner, self.left[self.inner]
        decrease = np.maximum(mass[node] - mass[left] - mass[left + 1], 0.0)
        total: FloatArray = np.zeros(n_features)
        np.add.at(total, self.feature[node], decrease)
        return total / total.sum() if total.sum() > 0 else total

    def decision_path(self, leaves: npt.NDArray[np.int64]) -> scipy.sparse.csr_matrix:
        """Nodes on the way to each of the given leaves, as an indicator matrix."""
        parent = np.full(self.n_nodes, -1, dtype=np.intp)
        parent[self.left[self.inner]] = self.inner
        parent[self.left[self.inner] + 1] = self.inner
        lengths = self.node_depths()[leaves] + 1
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.empty(indptr[-1], dtype=np.intp)
        node, rows = leaves, np.arange(len(leaves))
        position = indptr[1:] - 1  # from the leaf up: node indices rise along a path
        while len(rows):
            indices[position[rows]] = node
            position[rows] -= 1
            node = parent[node]
            rows, node = rows[node >= 0], node[node >= 0]
        return scipy.sparse.csr_matrix(
            (np.ones(len(indices), dtype=np.intp), indices, indptr),
            shape=(len(leaves), self.n_nodes),
        )
