"""Common view of fitted trees of dics and of scikit-learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from dics._input.checks import Array, FloatArray
from dics.tree import CGTreeClassifier


class Nodes(NamedTuple):
    """Nodes of one tree; the children of a leaf are -1."""

    feature: npt.NDArray[np.intp]
    threshold: FloatArray
    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]
    gini: FloatArray
    weight: FloatArray
    equal_goes_left: bool

    def root_left(self, X: Array) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows that the root sends left."""
        if self.left[0] < 0:
            raise ValueError("The tree has no split: its root is a leaf.")
        column = X[:, self.feature[0]]
        if self.equal_goes_left:  # scikit-learn, which reads X as float32
            return np.asarray(column.astype(np.float32) <= self.threshold[0])
        return np.asarray(column < self.threshold[0])


def nodes_of(tree: Any) -> Nodes:
    """Return the nodes of a fitted classification tree.

    The Gini index is computed from the class frequencies, for any criterion of the
    tree.
    """
    if isinstance(tree, CGTreeClassifier):
        check_is_fitted(tree, "trees_")
        return _from_dics(tree)
    if isinstance(tree, DecisionTreeClassifier):
        check_is_fitted(tree, "tree_")
        return _from_sklearn(tree)
    raise TypeError(
        "tree must be a CGTreeClassifier or a DecisionTreeClassifier, got "
        f"{type(tree).__name__}."
    )


def _from_dics(tree: CGTreeClassifier) -> Nodes:
    trees = tree.trees_
    inner = trees.feature >= 0
    return Nodes(
        trees.feature.astype(np.intp),
        trees.threshold.astype(np.float64),
        np.where(inner, trees.left, -1).astype(np.intp),
        np.where(inner, trees.left + 1, -1).astype(np.intp),
        1.0 - (trees.node_values() ** 2).sum(axis=1),
        trees.weight.astype(np.float64),
        equal_goes_left=False,
    )


def _from_sklearn(tree: Any) -> Nodes:
    flat = tree.tree_
    if flat.n_outputs != 1:
        raise TypeError(f"tree must have one output, got {flat.n_outputs}.")
    fractions = flat.value[:, 0, :]
    fractions = fractions / fractions.sum(axis=1, keepdims=True)
    return Nodes(
        flat.feature,
        flat.threshold,
        flat.children_left,
        flat.children_right,
        1.0 - (fractions**2).sum(axis=1),
        flat.weighted_n_node_samples,
        equal_goes_left=True,
    )
