"""Gain of the splits of a tree by depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dics._input.checks import FloatArray
from dics_paper.diagnostics._fitted import Nodes, nodes_of


@dataclass(frozen=True)
class DepthGain:
    """Gain of the splits at one depth, in Gini impurity.

    Attributes
    ----------
    depth : int
        From 1, the root.
    n_splits : int
        Number of nodes at this depth that are split.
    mean_gain : float
        Mean gain of these splits, each relative to its node.
    weighted_gain : float
        Sum of the gains, each times the fraction of the training rows in its node.
    cumulative_gain : float
        Sum of `weighted_gain` down to this depth.
    """

    depth: int
    n_splits: int
    mean_gain: float
    weighted_gain: float
    cumulative_gain: float


@dataclass(frozen=True)
class DepthComparison:
    """Two trees at one depth.

    Attributes
    ----------
    depth : int
        From 1, the root.
    tree, exhaustive : DepthGain
        Below its last split a tree has no gain, and its cumulative gain is constant.
    """

    depth: int
    tree: DepthGain
    exhaustive: DepthGain

    @property
    def retained(self) -> float:
        """R_d, the cumulative gain of the tree relative to the exhaustive tree.

        1 if both have no gain, infinite if only the exhaustive tree has none.
        """
        gain, best = self.tree.cumulative_gain, self.exhaustive.cumulative_gain
        if best > 0:
            return gain / best
        return 1.0 if gain == 0 else float("inf")


def gain_by_depth(tree: Any) -> list[DepthGain]:
    """Compute the gain of the splits of a fitted tree at each depth.

    The gain of a split is the Gini impurity of its node minus the mean impurity of its
    children, weighted by their training rows.

    Parameters
    ----------
    tree : CGTreeClassifier or DecisionTreeClassifier
        A fitted tree, grown with any criterion.

    Returns
    -------
    gains : list of DepthGain
        For the depths from 1 (the root) to that of the last split; empty if the tree is
        a single leaf.

    Examples
    --------
    >>> from dics import CGTreeClassifier
    >>> from dics_paper.diagnostics import gain_by_depth
    >>> X, y = [[0], [1], [2], [3]], [0, 0, 1, 2]
    >>> for gain in gain_by_depth(CGTreeClassifier().fit(X, y)):
    ...     print(gain.depth, gain.n_splits, gain.mean_gain, gain.cumulative_gain)
    1 1 0.375 0.375
    2 1 0.5 0.625
    """
    nodes = nodes_of(tree)
    gains: list[DepthGain] = []
    total = 0.0
    level = np.array([0])
    while len(splits := level[nodes.left[level] >= 0]):
        local = _local_gains(nodes, splits)
        weighted = float((nodes.weight[splits] * local).sum() / nodes.weight[0])
        total += weighted
        depth = len(gains) + 1
        gains.append(
            DepthGain(depth, len(splits), float(local.mean()), weighted, total)
        )
        level = np.concatenate([nodes.left[splits], nodes.right[splits]])
    return gains


def _local_gains(nodes: Nodes, splits: npt.NDArray[np.intp]) -> FloatArray:
    left, right = nodes.left[splits], nodes.right[splits]
    mass = nodes.weight * nodes.gini
    below = (mass[left] + mass[right]) / (nodes.weight[left] + nodes.weight[right])
    # Rounding must not make a gain of zero negative.
    return np.maximum(nodes.gini[splits] - below, 0.0)


def compare_by_depth(tree: Any, exhaustive: Any) -> list[DepthComparison]:
    """Compare the gains of two fitted trees by depth.

    Parameters
    ----------
    tree, exhaustive : CGTreeClassifier or DecisionTreeClassifier
        Fitted trees; the second one is the reference.

    Returns
    -------
    rows : list of DepthComparison
        For the depths from 1 to that of the last split in either tree.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from dics import CGTreeClassifier, TreeOptions
    >>> from dics_paper.diagnostics import compare_by_depth
    >>> X, y = load_digits(return_X_y=True)
    >>> few = TreeOptions(max_candidates=50)
    >>> tree = CGTreeClassifier(max_depth=2, advanced=few, random_state=0)
    >>> exhaustive = DecisionTreeClassifier(max_depth=2, random_state=0)
    >>> for row in compare_by_depth(tree.fit(X, y), exhaustive.fit(X, y)):
    ...     print(row.depth, row.exhaustive.n_splits, round(row.retained, 2))
    1 1 0.85
    2 2 0.91
    """
    gains, best = gain_by_depth(tree), gain_by_depth(exhaustive)
    depths = range(1, max(len(gains), len(best)) + 1)
    return [
        DepthComparison(depth, _at(gains, depth), _at(best, depth)) for depth in depths
    ]


def _at(gains: list[DepthGain], depth: int) -> DepthGain:
    if depth <= len(gains):
        return gains[depth - 1]
    return DepthGain(depth, 0, 0.0, 0.0, gains[-1].cumulative_gain if gains else 0.0)
