"""A fitted model for ONNX."""

from __future__ import annotations

from typing import Any

from dics._onnx_graph import (
    LEAST_OPSET,
    ML,
    ML_VERSION,
    add_classifier,
    add_regressor,
    carried_labels,
)
from dics._plain_model import PlainModel, missing_library
from dics._validation import Array
from dics._version import VERSION

# Not the newest: older run-times read it too.
USUAL_OPSET = 15


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
