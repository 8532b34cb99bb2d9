"""Export of fitted models to shap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dics._input.categories import MAX_RANKS
from dics.export._plain_model import PlainModel, TreeArrays

# Maximum number of nodes of a tree whose sets of categories became thresholds.
MAX_NODES = 1_000_000


def to_shap(model: Any) -> dict[str, Any]:
    """Convert a fitted model to the input of ``shap.TreeExplainer``.

    The explained outputs are raw scores of boosting classifiers, probabilities of other
    classifiers, and predictions of regressors (their logarithm with "poisson", "gamma"
    and "tweedie"). An offset is not part of the model: add it to the expected value.
    ``model.predict_contributions`` returns the same path-dependent SHAP values, and is
    faster.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.

    Returns
    -------
    ensemble : dict
        Argument of ``shap.TreeExplainer(ensemble)``, or of
        ``shap.TreeExplainer(ensemble, data)`` with background data. Explain rows of
        float64. With categorical features, explain ``encode_categories(model, X)``.
        The key `pairs` has the two features of each column that follows those of X;
        half of its values belong to each of them.

    Raises
    ------
    ValueError
        If the model has a custom loss or several quantiles, or such large sets of
        categories that their thresholds need too many nodes.

    See Also
    --------
    encode_categories : Rows with encoded categories.
    dics.CGBoostingClassifier.predict_contributions : SHAP values without shap.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGForestClassifier
    >>> from dics.export import to_shap
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = CGForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> len(to_shap(forest)["trees"])
    5
    """
    plain = PlainModel.of(model, "to_shap")
    known = plain.categories
    names = getattr(model, "feature_names_in_", range(plain.n_features))
    # The logarithm of the prediction is explained: the factor becomes a summand.
    base = plain.base + (np.log(plain.factor) if plain.link == "exp" else 0.0)
    return {
        "trees": [_shap_tree(with_thresholds(t, names)) for t in plain.at_least_one()],
        "pairs": [] if known is None else [(p.first, p.second) for p in known.pairs],
        "base_offset": base if plain.n_outputs > 1 else float(base[0]),
        "tree_output": "raw_value",
        "objective": "squared_error",
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }


def _shap_tree(tree: TreeArrays) -> dict[str, Any]:
    inner = tree.feature >= 0
    # In shap, values up to the threshold go left; here, values below it. The next
    # smaller float64 is the same threshold.
    threshold = np.where(inner, np.nextafter(tree.threshold, -np.inf), -1.0)
    # shap has no test for NaN only: swap the children, all other values are up to inf.
    swapped = inner & np.isneginf(tree.threshold)
    threshold[swapped] = np.inf
    default = np.where(tree.missing_left, tree.left, tree.right)
    return {
        "children_left": np.where(swapped, tree.right, tree.left).astype(np.int32),
        "children_right": np.where(swapped, tree.left, tree.right).astype(np.int32),
        "children_default": default.astype(np.int32),
        "features": np.where(inner, tree.feature, -2).astype(np.int32),
        "thresholds": threshold,
        "values": tree.value,
        "node_sample_weight": tree.weight,
    }


class Interval(NamedTuple):
    """Adjacent encoded categories that go to the same side of a node."""

    start: int
    end: int
    is_left: bool
    fraction: float  # of the weight of this side of the node


class Copy(NamedTuple):
    """A copy of a subtree, or of a node with some intervals of its set."""

    node: int
    fraction: float  # of the weight of the original
    ranges: dict[int, tuple[int, int]]  # of the categories of features in this copy
    intervals: list[Interval]  # empty for a whole subtree


def with_thresholds(tree: TreeArrays, names: Sequence[Any]) -> TreeArrays:
    """Return a tree whose splits by sets of categories became thresholds.

    shap has no sets. Each interval of a set gets its own copy of the subtree on its
    side, with an equal fraction of its weight. So the expected value of each subset of
    features does not change, and SHAP values remain exact. `names` of features are for
    errors.
    """
    if not tree.sets:
        return tree
    nodes: list[int] = []
    weights: list[float] = []
    tests: list[tuple[float, bool]] = []
    children: tuple[dict[int, int], dict[int, int]] = ({}, {})
    todo = [(Copy(0, 1.0, {}, []), -1, 0)]
    while todo:
        copy, parent, side = todo.pop()
        new = len(nodes)
        children[side][parent] = new
        node = copy.node
        if node in tree.sets:
            intervals = copy.intervals or _intervals(tree, copy)
            parts = [_part(tree, copy, interval) for interval in intervals]
            rest = copy._replace(intervals=intervals[1:])
            kids = [parts[0], parts[1] if len(parts) == 2 else rest]
            first = intervals[0]
            tests.append((first.end, first.is_left == tree.missing_left[node]))
            weights.append(sum(p.fraction * tree.weight[p.node] for p in parts))
        else:
            kids = [
                copy._replace(node=int(child[node]))
                for child in (tree.left, tree.right)
                if child[node] >= 0
            ]
            tests.append((tree.threshold[node], tree.missing_left[node]))
            weights.append(copy.fraction * tree.weight[node])
        nodes.append(node)
        todo += [(kid, new, i) for i, kid in enumerate(kids)]
        if len(nodes) > MAX_NODES:
            commonest = np.bincount(tree.feature[[*tree.sets]]).argmax()
            raise ValueError(
                f"to_shap does not support the sets of categories of "
                f"{names[int(commonest)]!r} in this model, which need more than "
                f"{MAX_NODES} nodes per tree. Use predict_contributions, which returns "
                "the same values."
            )
    threshold, missing_left = zip(*tests, strict=True)
    left, right = (
        np.array([kids.get(new, -1) for new in range(len(nodes))]) for kids in children
    )
    return TreeArrays(
        feature=tree.feature[nodes],
        threshold=np.array(threshold, dtype=np.float64),
        left=left,
        right=right,
        missing_left=np.array(missing_left, dtype=bool),
        weight=np.array(weights),
        value=tree.value[nodes],
        sets={},
    )


def _intervals(tree: TreeArrays, copy: Copy) -> list[Interval]:
    """Return the intervals of the set of a node; their sides alternate."""
    low, high = copy.ranges.get(int(tree.feature[copy.node]), (0, MAX_RANKS))
    is_left = np.isin(np.arange(low, high), tree.sets[copy.node])
    starts = np.r_[0, np.flatnonzero(np.diff(is_left)) + 1]
    sides = is_left[starts].tolist()
    edges = [*(low + starts).tolist(), high]
    if len(sides) == 1:
        # The other side has weight, although no category of this copy goes there.
        sides.append(not sides[0])
        edges.append(high + 1)
    return [
        Interval(start, end, side, 1 / sides.count(side))
        for start, end, side in zip(edges[:-1], edges[1:], sides, strict=True)
    ]


def _part(tree: TreeArrays, copy: Copy, interval: Interval) -> Copy:
    """Return the copy of the subtree to which the categories of an interval go."""
    child = (tree.left if interval.is_left else tree.right)[copy.node]
    ranges = copy.ranges | {
        int(tree.feature[copy.node]): (interval.start, interval.end)
    }
    return Copy(int(child), copy.fraction * interval.fraction, ranges, [])
