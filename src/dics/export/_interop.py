"""Export of fitted models to JSON, shap and treelite; the trusted types for skops."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dics._input.checks import Array
from dics._model.file import ESTIMATORS, KINDS
from dics._version import VERSION
from dics.export._plain_model import PlainModel, TreeArrays, import_library

POSTPROCESSORS = {
    "identity": "identity",
    "logistic": "sigmoid",
    "softmax": "softmax",
    "exp": "exponential",
}
# Types that a saved model can contain: the classes of model files. None of them runs
# code when it is loaded.
SKOPS_TRUSTED = sorted(
    f"{cls.__module__}.{cls.__qualname__}"
    for cls in (*ESTIMATORS.values(), *(kind.cls for kind in KINDS.values()))
)


def to_json(model: Any, *, indent: int | None = None) -> str:
    """Export a fitted model to JSON, for use outside Python.

    To predict a row: begin with `base`, add the value of the leaf that it reaches in
    each tree, apply `link`, and multiply by `factor`. The link is "identity",
    "softmax", "exp", or "logistic" for the single score of two classes. A row goes left
    if its value is less than the threshold, or if it is NaN and `missing_left` is true.
    With the threshold "-inf", only NaN goes left. To store a model for dics, use
    ``model.save``.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.
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
                # Inner nodes have no value; null instead of zeros keeps the text short.
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
    """Return an array as JSON values: NaN is null, infinities are text."""
    if array.dtype.kind != "f":
        plain = array.tolist()
        is_json = all(isinstance(v, bool | int | str) for v in plain)
        return plain if is_json else [str(v) for v in plain]
    return [
        float(v) if np.isfinite(v) else None if np.isnan(v) else str(float(v))
        for v in array
    ]


def to_shap(model: Any) -> dict[str, Any]:
    """Convert a fitted model to the input of ``shap.TreeExplainer``.

    The explained outputs are raw scores of boosting classifiers, probabilities of other
    classifiers, and predictions of regressors (their logarithm with "poisson" and
    "gamma"). ``model.predict_contributions`` returns the same path-dependent SHAP
    values, and is faster.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.

    Returns
    -------
    ensemble : dict
        Argument of ``shap.TreeExplainer(ensemble)``, or of
        ``shap.TreeExplainer(ensemble, data)`` with background data. Explain rows of
        float64.
    """
    plain = PlainModel.of(model, "to_shap")
    # The logarithm of the prediction is explained: the factor becomes a summand.
    base = plain.base + (np.log(plain.factor) if plain.link == "exp" else 0.0)
    return {
        "trees": [_shap_tree(tree) for tree in plain.at_least_one()],
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


def to_treelite(model: Any) -> Any:
    """Convert a fitted model to a treelite model.

    ``treelite.gtil.predict(treelite_model, X)`` returns the values of ``predict_proba``
    or ``predict``, in an array of shape (n_samples, n_targets, n_classes). For binary
    boosting it returns only the probability of the second class. Thresholds and leaves
    are float64, so pass rows of float64.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.

    Returns
    -------
    treelite_model : treelite.Model
        It does not store class labels; see ``model.classes_``.

    Raises
    ------
    ImportError
        If treelite is not installed: ``pip install 'dics[treelite]'``.
    ValueError
        If the model has categorical features, a custom loss or several quantiles.
    """
    model_builder = import_library("treelite.model_builder", "treelite", "to_treelite")
    plain = PlainModel.of(model, "to_treelite")
    trees = plain.at_least_one()
    n_outputs = plain.n_outputs
    # A tree with the index -1 has a value for all targets, or for all classes.
    every = -1 if n_outputs > 1 else 0
    postprocessor = POSTPROCESSORS[plain.link]
    if plain.classes is None:
        outputs = {
            "task_type": "kRegressor",
            "num_target": n_outputs,
            "num_class": [1] * n_outputs,
            "leaf_vector_shape": (n_outputs, 1),
        }
        target_id, class_id = every, 0
    else:
        outputs = {
            "task_type": "kBinaryClf" if plain.link == "logistic" else "kMultiClf",
            "num_target": 1,
            "num_class": [n_outputs],
            "leaf_vector_shape": (1, n_outputs),
        }
        target_id, class_id = 0, every
        if plain.link == "identity":
            postprocessor = "identity_multiclass"
    # treelite has no factor after the link; it becomes a summand before it.
    logs = np.log(plain.factor) if plain.link == "exp" else 0.0
    # Double precision everywhere, so that no row changes its side.
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=model_builder.Metadata(
            num_feature=int(plain.n_features), average_tree_output=False, **outputs
        ),
        tree_annotation=model_builder.TreeAnnotation(
            num_tree=len(trees),
            target_id=[target_id] * len(trees),
            class_id=[class_id] * len(trees),
        ),
        postprocessor=model_builder.PostProcessorFunc(postprocessor),
        base_scores=(plain.base + logs).tolist(),
    )
    for tree in trees:
        _add_treelite_tree(builder, tree)
    return builder.commit()


def _add_treelite_tree(builder: Any, tree: TreeArrays) -> None:
    values = tree.value.tolist()
    builder.start_tree()
    for node, feature in enumerate(tree.feature.tolist()):
        builder.start_node(node)
        if feature < 0:
            value = values[node]
            # treelite distinguishes scalar leaves from vectors of length one.
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
