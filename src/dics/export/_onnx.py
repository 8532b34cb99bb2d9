"""A fitted model for ONNX."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dics._input.checks import Array
from dics._version import VERSION
from dics.export._plain_model import PlainModel, PlainTree, missing_library, rounded_up

ML = "ai.onnx.ml"
ML_VERSION = 3  # the first one with thresholds in double precision
LEAST_OPSET = 13  # Softmax and ReduceSum as they are written here
INT64, DOUBLE = 7, 11  # of onnx.TensorProto

# Not the newest: older run-times read it too.
USUAL_OPSET = 15


class Graph(Protocol):
    """Where operators are added."""

    def constant(self, values: Array) -> str:
        """Keep an array of float32, int64 or str; return its name."""

    def add(
        self,
        kind: str,
        inputs: list[str],
        output: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add an operator of one output; return the name of that."""


def add_regressor(graph: Graph, plain: PlainModel, x: str, variable: str) -> None:
    """Add a regressor: predictions of shape (n_samples, n_outputs).

    X is in double precision if `plain.in_double`.
    """
    if plain.link == "identity":
        _add_sum(graph, plain, x, variable)
        return
    scores = graph.add("Exp", [_add_sum(graph, plain, x)])
    factor = graph.constant(plain.factor.astype(np.float32))
    graph.add("Mul", [scores, factor], variable)


def add_classifier(
    graph: Graph, plain: PlainModel, x: str, label: str, probabilities: str
) -> None:
    """Add a classifier: a label for each row, and a probability for each class.

    X is in double precision if `plain.in_double`.
    """
    labels = carried_labels(plain)
    if plain.link == "logistic":
        number = _add_two_classes(graph, plain, x, probabilities)
    else:
        number = _add_classes(graph, plain, x, probabilities)
    graph.add("Gather", [graph.constant(labels), number], label, axis=0)


def carried_labels(plain: PlainModel) -> Array:
    """Return the labels of the classes as int64 or str, which is all ONNX has."""
    classes = plain.classes
    assert classes is not None
    if classes.dtype.kind == "U" or all(isinstance(c, str) for c in classes):
        return classes.astype(str)
    # An object may hold booleans too.
    whole = classes.dtype.kind in "iu" or all(type(c) is int for c in classes)
    if whole and all(abs(int(c)) < 2**63 for c in classes):
        return classes.astype(np.int64)
    raise ValueError(
        f"ONNX carries labels that are whole numbers or text; classes_ is {classes!r}. "
        "Fit the model with y.astype(int) or y.astype(str), or with "
        "sklearn.preprocessing.LabelEncoder().fit_transform(y)."
    )


def _add_two_classes(graph: Graph, plain: PlainModel, x: str, output: str) -> str:
    """Add probabilities of one score; return the number of the likelier class."""
    score = _add_sum(graph, plain, x)
    # The Sigmoid of ONNX Runtime has few digits where the result is small.
    halves = graph.constant(np.array([-0.5, 0.5], dtype=np.float32))
    graph.add("Softmax", [graph.add("Mul", [score, halves])], output, axis=1)
    zero = graph.constant(np.zeros(1, dtype=np.float32))
    number = graph.add("Cast", [graph.add("Greater", [score, zero])], to=INT64)
    return graph.add("Reshape", [number, graph.constant(np.array([-1]))])


def _add_classes(graph: Graph, plain: PlainModel, x: str, output: str) -> str:
    """Add probabilities of a score for each class; return the number of the best."""
    if plain.link == "softmax":
        scores = _add_sum(graph, plain, x)
        graph.add("Softmax", [scores], output, axis=1)
    else:
        # Whole votes, so that a tie of classes is a tie in 32 bits as well.
        scores = _add_sum(graph, plain.unscaled(), x)
        axis = graph.constant(np.array([1]))
        graph.add("Div", [scores, graph.add("ReduceSum", [scores, axis])], output)
    return graph.add("ArgMax", [scores], axis=1, keepdims=0)


def _add_sum(graph: Graph, plain: PlainModel, x: str, output: str | None = None) -> str:
    """Add the trees and the base."""
    return graph.add("TreeEnsembleRegressor", [x], output, ML, **_attributes(plain))


def _attributes(plain: PlainModel) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for t, tree in enumerate(plain.at_least_one()):
        for name, column in (_of_nodes(tree) | _of_leaves(tree)).items():
            parts.setdefault(name, []).extend(column.tolist())
            if name.endswith("_nodeids"):  # which of them, of which tree
                ids = parts.setdefault(name.replace("_nodeids", "_treeids"), [])
                ids.extend([t] * len(column))
    parts["base_values"] = plain.base.tolist()
    if plain.in_double:
        for name in ("nodes_values", "target_weights", "base_values"):
            parts[f"{name}_as_tensor"] = _tensor(np.array(parts.pop(name)))
    else:
        parts["nodes_values"] = rounded_up(np.array(parts["nodes_values"])).tolist()
    return {
        **parts,
        "n_targets": plain.n_outputs,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }


def _tensor(values: Array) -> Any:
    from onnx.numpy_helper import from_array

    return from_array(values.astype(np.float64))


def _of_nodes(tree: PlainTree) -> dict[str, Array]:
    inner = tree.feature >= 0
    return {
        "nodes_nodeids": np.arange(len(inner)),
        "nodes_featureids": np.where(inner, tree.feature, 0),
        "nodes_values": np.where(inner, tree.threshold, 0.0),
        "nodes_modes": np.where(inner, "BRANCH_LT", "LEAF"),
        "nodes_truenodeids": np.where(inner, tree.left, 0),
        "nodes_falsenodeids": np.where(inner, tree.right, 0),
        "nodes_missing_value_tracks_true": (inner & tree.missing_left).astype(int),
    }


def _of_leaves(tree: PlainTree) -> dict[str, Array]:
    values = tree.value.astype(np.float32)
    kept = values != 0  # most leaves of a forest have few classes
    kept[:, 0] |= ~kept.any(axis=1)
    node, output = np.nonzero(kept & (tree.feature < 0)[:, None])
    return {
        "target_nodeids": node,
        "target_ids": output,
        "target_weights": values[node, output],
    }


def to_onnx(model: Any, *, target_opset: int | None = None) -> Any:
    """Make an ONNX model of a fitted model, for ONNX Runtime and others.

    Its input is `X`, float32 of shape (n_samples, n_features), where NaN stands for a
    missing value. A classifier has the outputs `label` and `probabilities`, a regressor
    has `variable`, of shape (n_samples, n_outputs). Numbers have 32 bits: probabilities
    differ from ``predict_proba`` in the seventh digit, and so may the labels of rows
    whose two best classes differ no more than that. Rows of float64 can fall to the
    other side of a threshold when they are rounded to float32. `X` is float64 if the
    model was fitted with columns that float32 can't hold, such as seconds since 1970.
    Other thresholds are rounded up to float32, which keeps the side of float32 rows.

    Parameters
    ----------
    model : estimator
        Fitted: a tree, a forest or boosting.
    target_opset : int or None, default=None
        Version of the operators, 13 or later; None takes 15.

    Returns
    -------
    onnx_model : onnx.ModelProto
        ``onnx_model.SerializeToString()`` is what a file holds.

    Raises
    ------
    ImportError
        If onnx is not installed: ``pip install 'dics[onnx]'``.
    ValueError
        If labels are neither whole numbers nor text, or if the loss is one of your own
        or has several quantiles.
    """
    try:
        import onnx
    except ImportError as error:
        raise missing_library("onnx", "onnx", error) from error
    plain = PlainModel.of(model, "to_onnx")
    opset = _checked_opset(target_opset, onnx.defs.onnx_opset_version())
    graph = _OwnGraph(onnx)
    if plain.classes is None:
        add_regressor(graph, plain, "X", "variable")
    else:
        add_classifier(graph, plain, "X", "label", "probabilities")
    kind = onnx.TensorProto.DOUBLE if plain.in_double else onnx.TensorProto.FLOAT
    rows = onnx.helper.make_tensor_value_info("X", kind, [None, plain.n_features])
    made = onnx.helper.make_graph(
        graph.nodes,
        type(model).__name__,
        [rows],
        _outputs(onnx, plain),
        graph.constants,
    )
    versions = [
        onnx.helper.make_opsetid("", opset),
        onnx.helper.make_opsetid(ML, ML_VERSION),
    ]
    return onnx.helper.make_model(
        made,
        opset_imports=versions,
        ir_version=onnx.helper.find_min_ir_version_for(versions),
        producer_name="dics",
        producer_version=VERSION,
    )


def _checked_opset(given: Any, newest: int) -> int:
    opset = USUAL_OPSET if given is None else given
    if not isinstance(opset, int) or not LEAST_OPSET <= opset <= newest:
        raise ValueError(
            f"target_opset must be a whole number from {LEAST_OPSET} to {newest} (what "
            f"the installed onnx knows), got {given!r}."
        )
    return int(opset)


def _outputs(onnx: Any, plain: PlainModel) -> list[Any]:
    make, kinds = onnx.helper.make_tensor_value_info, onnx.TensorProto
    if plain.classes is None:
        return [make("variable", kinds.FLOAT, [None, plain.n_outputs])]
    is_text = carried_labels(plain).dtype.kind == "U"
    return [
        make("label", kinds.STRING if is_text else kinds.INT64, [None]),
        make("probabilities", kinds.FLOAT, [None, len(plain.classes)]),
    ]


class _OwnGraph:
    """Keeps operators and arrays for a model of their own."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Array) -> str:
        name = f"constant_{len(self.constants)}"
        if values.dtype.kind == "U":
            values = values.astype(object)
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def add(
        self,
        kind: str,
        inputs: list[str],
        output: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        name = f"{kind}_{len(self.nodes)}"
        output = name if output is None else output
        node = self.onnx.helper.make_node(
            kind, inputs, [output], name=name, domain=domain, **attributes
        )
        self.nodes.append(node)
        return output
