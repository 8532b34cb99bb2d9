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
    return {
        "trees": [_tree(tree) for tree in plain.at_least_one()],
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
    # Only NaN goes left: then the children change places, and all else is up to inf.
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
