"""A fitted model for treelite."""

from __future__ import annotations

from typing import Any

import numpy as np

from dics._plain_model import PlainModel, PlainTree, missing_library

POSTPROCESSORS = {
    "identity": "identity",
    "logistic": "sigmoid",
    "softmax": "softmax",
    "exp": "exponential",
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
