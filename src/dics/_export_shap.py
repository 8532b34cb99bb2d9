"""A fitted model for the shap package."""

from __future__ import annotations

from typing import Any

import numpy as np

from dics._plain_model import PlainModel, PlainTree


def to_shap(model: Any) -> dict[str, Any]:
    """Make what ``shap.TreeExplainer`` takes of a fitted model.

    Explained is what ``model.predict_contributions`` explains, which gives the same
    numbers for whole paths, and faster: raw scores of boosting, probabilities of trees
    and forests, predictions of regressors (the logarithm with "poisson" and "gamma").

    Parameters
    ----------
    model : estimator
        Fitted: a tree, a forest or boosting.

    Returns
    -------
    ensemble : dict
        For ``shap.TreeExplainer(ensemble)``, or with background data for
        ``shap.TreeExplainer(ensemble, data)``. Give it rows as float64.
    """
    plain = PlainModel.of(model, "to_shap")
    base = plain.base + (np.log(plain.factor) if plain.link == "exp" else 0.0)
    trees = [_tree(tree) for tree in plain]
    return {
        "trees": trees or [_tree(_leaf(plain.n_outputs))],
        "base_offset": base if plain.n_outputs > 1 else float(base[0]),
        "tree_output": "raw_value",
        "objective": "squared_error",
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }


def _tree(tree: PlainTree) -> dict[str, Any]:
    inner = tree.feature >= 0
    # There a value goes left up to the threshold, here below it: the number before.
    threshold = np.where(inner, np.nextafter(tree.threshold, -np.inf), -1.0)
    return {
        "children_left": tree.left.astype(np.int32),
        "children_right": tree.right.astype(np.int32),
        "children_default": np.where(tree.missing_left, tree.left, tree.right).astype(
            np.int32
        ),
        "features": np.where(inner, tree.feature, -2).astype(np.int32),
        "thresholds": threshold,
        "values": tree.value,
        "node_sample_weight": tree.weight,
    }


def _leaf(n_outputs: int) -> PlainTree:
    """Return a tree that says nothing, for a model without trees."""
    none = np.full(1, -1)
    return PlainTree(
        feature=none,
        threshold=np.full(1, np.nan),
        left=none,
        right=none,
        missing_left=np.zeros(1, dtype=bool),
        weight=np.ones(1),
        value=np.zeros((1, n_outputs)),
    )
