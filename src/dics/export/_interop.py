"""Fitted models as JSON and for shap, treelite and skops."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dics._input.checks import Array
from dics._version import VERSION
from dics.export._plain_model import PlainModel, PlainTree, missing_library

POSTPROCESSORS = {
    "identity": "identity",
    "logistic": "sigmoid",
    "softmax": "softmax",
    "exp": "exponential",
}
# Types that a saved model may hold: numbers and settings, no code.
SKOPS_TRUSTED = [
    "dics._boosting.plan.BoostingPlan",
    "dics._input.categories.CategoricalFeature",
    "dics._input.categories.Categories",
    "dics._input.category_pairs.CategoryPair",
    "dics._model.leaf_rows.LeafRows",
    "dics._boosting.losses.NumberLoss",
    "dics.boosting.CGBoostingClassifier",
    "dics.boosting.CGBoostingRegressor",
    "dics.candidates.CentroidCandidates",
    "dics.candidates.QuantileCandidates",
    "dics._dictionary.Dictionary",
    "dics.forest.CGForestClassifier",
    "dics.forest.CGForestRegressor",
    "dics.options.BoostingOptions",
    "dics.options.CategoricalOptions",
    "dics.options.ForestOptions",
    "dics.options.GOSS",
    "dics.options.TreeOptions",
    "dics.tree.CGTreeClassifier",
    "dics.tree.CGTreeRegressor",
    "dics._model.trees.NodeSets",
    "dics._model.trees.Trees",
]


def to_json(model: Any, *, indent: int | None = None) -> str:
    """Write a fitted model as JSON.

    To predict a row: begin with `base`, add the value of the leaf it reaches in each
    tree, apply `link` ("logistic" of one score of two classes, "softmax", "exp"), and
    multiply by `factor`. A row goes left if its value is less than the threshold, or
    if it is NaN and `missing_left` is true. A threshold of "-inf" lets NaN alone go
    left. To keep a model for dics itself, use ``model.save``.

    Parameters
    ----------
    model : estimator
        Fitted: a tree, a forest or boosting.
    indent : int or None, default=None
        As in ``json.dumps``.

    Returns
    -------
    text : str

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGTreeClassifier
    >>> from dics.export import to_json
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CGTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> plain = json.loads(to_json(tree))
    >>> plain["link"], plain["classes"], len(plain["trees"][0]["feature"])
    ('identity', [0, 1, 2], 3)
    """
    plain = PlainModel.of(model, "to_json")
    names = getattr(model, "feature_names_in_", None)
    content = {
        "format": "dics-json-1",
        "dics": VERSION,
        "model": type(model).__name__,
        "n_features": int(plain.n_features),
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": None if plain.classes is None else _listed(plain.classes),
        "base": _listed(plain.base),
        "link": plain.link,
        "factor": _listed(plain.factor),
        "trees": [
            {
                "feature": _listed(tree.feature),
                "threshold": _listed(tree.threshold),
                "left": _listed(tree.left),
                "right": _listed(tree.right),
                "missing_left": _listed(tree.missing_left),
                "weight": _listed(tree.weight),
                "value": [
                    None if f >= 0 else _listed(v)
                    for f, v in zip(tree.feature, tree.value, strict=True)
                ],
            }
            for tree in plain
        ],
    }
    return json.dumps(content, indent=indent, allow_nan=False)


def _listed(array: Array) -> list[Any]:
    """Return numbers as JSON has them: NaN is null, infinities are text."""
    if array.dtype.kind != "f":
        plain = array.tolist()
        known = all(isinstance(v, bool | int | str) for v in plain)
        return plain if known else [str(v) for v in plain]
    return [
        float(v) if np.isfinite(v) else None if np.isnan(v) else str(float(v))
        for v in array
    ]


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


def to_treelite(model: Any) -> Any:
    """Make a treelite model of a fitted model.

    ``treelite.gtil.predict(treelite_model, X)`` gives what ``predict_proba`` or
    ``predict`` do, in an array of shape (n_samples, n_targets, n_classes). Of boosting
    with two classes it has the probability of the second one alone. Thresholds and
    leaves are kept as float64, so give it rows of float64.

    Parameters
    ----------
    model : estimator
        Fitted: a tree, a forest or boosting.

    Returns
    -------
    treelite_model : treelite.Model
        Labels of classes are not part of it; they are in ``model.classes_``.

    Raises
    ------
    ImportError
        If treelite is not installed: ``pip install 'dics[treelite]'``.
    ValueError
        If the loss is one of your own or has several quantiles.
    """
    try:
        from treelite import model_builder
    except ImportError as error:
        raise missing_library("treelite", "treelite", error) from error
    plain = PlainModel.of(model, "to_treelite")
    trees = list(plain.at_least_one())
    logs = np.log(plain.factor) if plain.link == "exp" else 0.0
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=model_builder.Metadata(
            num_feature=int(plain.n_features),
            average_tree_output=False,
            **_outputs(plain),
        ),
        tree_annotation=model_builder.TreeAnnotation(
            num_tree=len(trees), **_annotation(plain, len(trees))
        ),
        postprocessor=model_builder.PostProcessorFunc(_postprocessor(plain)),
        base_scores=(plain.base + logs).tolist(),
    )
    for tree in trees:
        _add(builder, tree)
    return builder.commit()


def _outputs(plain: PlainModel) -> dict[str, Any]:
    """Say what a leaf holds: targets of one number each, or the classes of one."""
    n_outputs = plain.n_outputs
    if plain.classes is None:
        return {
            "task_type": "kRegressor",
            "num_target": n_outputs,
            "num_class": [1] * n_outputs,
            "leaf_vector_shape": (n_outputs, 1),
        }
    return {
        "task_type": "kBinaryClf" if plain.link == "logistic" else "kMultiClf",
        "num_target": 1,
        "num_class": [n_outputs],
        "leaf_vector_shape": (1, n_outputs),
    }


def _annotation(plain: PlainModel, n_trees: int) -> dict[str, list[int]]:
    """Say that each tree is for all targets, or for all classes (-1)."""
    several = -1 if plain.n_outputs > 1 else 0
    of_target, of_class = (several, 0) if plain.classes is None else (0, several)
    return {"target_id": [of_target] * n_trees, "class_id": [of_class] * n_trees}


def _postprocessor(plain: PlainModel) -> str:
    if plain.link == "identity" and plain.classes is not None:
        return "identity_multiclass"
    return POSTPROCESSORS[plain.link]


def _add(builder: Any, tree: PlainTree) -> None:
    values = tree.value.tolist()
    builder.start_tree()
    for node, feature in enumerate(tree.feature.tolist()):
        builder.start_node(node)
        if feature < 0:
            value = values[node]
            builder.leaf(value if len(value) > 1 else value[0])
        else:
            builder.numerical_test(
                feature_id=feature,
                threshold=float(tree.threshold[node]),
                default_left=bool(tree.missing_left[node]),
                opname="<",
                left_child_key=int(tree.left[node]),
                right_child_key=int(tree.right[node]),
            )
        builder.end_node()
    builder.end_tree()
