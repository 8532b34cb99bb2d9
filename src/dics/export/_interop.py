"""Export of fitted models to JSON and treelite; the trusted types for skops."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dics._estimator.base import read_known_categories
from dics._input.categories import Categories
from dics._input.checks import Array, FloatArray, check_matrix
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
    With the threshold "-inf", only NaN goes left. An offset is not part of the model:
    add it to the sum before the link. To store a model for dics, use ``model.save``.

    With categorical features, encode a row first: an entry of `categories` has the
    number of each category of a feature; a category that is missing or not listed is
    NaN. Then append one column per entry of `pairs`, with the number of the two
    categories, or NaN. `sets` of a tree has the numbers that go left in some nodes;
    these nodes have no threshold.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.
    indent : int or None, default=None
        Number of spaces per level, as in ``json.dumps``. None writes a single line.

    Returns
    -------
    text : str
        JSON without NaN.

    Raises
    ------
    ValueError
        If the model has a custom loss or several quantiles.

    See Also
    --------
    to_onnx : Export for ONNX Runtime.
    to_treelite : Export to treelite.
    dics.load : Read a file that ``model.save`` has written.

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
        **_json_categories(plain.categories),
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
                "sets": {str(node): _listed(tree.sets[node]) for node in tree.sets},
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


def _json_categories(known: Categories | None) -> dict[str, Any]:
    """Return the tables that encode categories and pairs of categories."""
    if known is None:
        return {"categories": [], "pairs": []}
    labels = {c.feature: np.array(_listed(c.categories)) for c in known.columns}
    columns = [
        {
            "feature": column.feature,
            "categories": _listed(column.categories),
            "numbers": _listed(column.values.astype(np.int64)),
        }
        for column in known.columns
    ]
    pairs = []
    for pair in known.pairs:
        first, second = np.divmod(pair.keys, len(labels[pair.second]))
        pairs.append(
            {
                "features": [pair.first, pair.second],
                "first": labels[pair.first][first].tolist(),
                "second": labels[pair.second][second].tolist(),
                "numbers": _listed(pair.values.astype(np.int64)),
            }
        )
    return {"categories": columns, "pairs": pairs}


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


def encode_categories(model: Any, X: Any) -> FloatArray:
    """Return X as numbers, as exports to shap and treelite require it.

    Each category is replaced by an integer, or by NaN if it is missing or was not in
    `fit`. For boosting, columns of pairs of categorical features may follow; `pairs` of
    `to_shap` and `to_json` has their features.

    Parameters
    ----------
    model : estimator
        Fitted model with categorical features.
    X : array-like of shape (n_samples, n_features)
        Rows with the same columns as in `fit`.

    Returns
    -------
    encoded : ndarray of shape (n_samples, n_features + n_pairs)
        The features of X, then a column for each pair.

    Raises
    ------
    ValueError
        If the model has no categorical features.

    See Also
    --------
    to_shap : Its result explains encoded rows.
    to_treelite : Its result predicts encoded rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from dics import CGTreeClassifier
    >>> from dics.export import encode_categories
    >>> X = pd.DataFrame({"color": ["red", "blue"] * 50, "size": [1.0, 2.0] * 50})
    >>> tree = CGTreeClassifier(random_state=0).fit(X, [0, 1] * 50)
    >>> encode_categories(tree, X).shape
    (100, 2)
    """
    known = PlainModel.of(model, "encode_categories").categories
    if known is None:
        raise ValueError(
            "encode_categories requires a model with categorical features; this "
            f"{type(model).__name__} has none. Use X itself."
        )
    read = read_known_categories(model, X)
    checked = check_matrix(model, read.X, reset=False)
    return known.encode(read, checked).astype(np.float64)


def to_treelite(model: Any) -> Any:
    """Convert a fitted model to a treelite model.

    ``treelite.gtil.predict(treelite_model, X)`` returns the values of ``predict_proba``
    or ``predict``, in an array of shape (n_samples, n_targets, n_classes). For binary
    boosting it returns only the probability of the second class. Thresholds and leaves
    are float64, so pass rows of float64. With categorical features, pass
    ``encode_categories(model, X)``. An offset is not part of the model; with
    ``pred_margin=True``, the result is the sum to which it is added.

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
        If the model has a custom loss or several quantiles.

    See Also
    --------
    to_onnx : Export for ONNX Runtime.
    to_json : Export without other libraries.
    encode_categories : Rows with encoded categories.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGForestClassifier
    >>> from dics.export import to_treelite
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = CGForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> to_treelite(forest).num_tree
    5
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
            num_feature=plain.n_columns, average_tree_output=False, **outputs
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
        children = {
            "left_child_key": int(tree.left[node]),
            "right_child_key": int(tree.right[node]),
        }
        if feature < 0:
            value = values[node]
            # treelite distinguishes scalar leaves from vectors of length one.
            builder.leaf(value if len(value) > 1 else value[0])
        elif node in tree.sets:
            builder.categorical_test(
                feature_id=feature,
                default_left=bool(tree.missing_left[node]),
                category_list=tree.sets[node].tolist(),
                category_list_right_child=False,
                **children,
            )
        else:
            builder.numerical_test(
                feature_id=feature,
                threshold=float(tree.threshold[node]),
                default_left=bool(tree.missing_left[node]),
                opname="<",
                **children,
            )
        builder.end_node()
    builder.end_tree()
