"""Converters of the estimators for skl2onnx, alone or inside a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dics._input.checks import Array
from dics.boosting import CGBoostingClassifier, CGBoostingRegressor
from dics.export._onnx import (
    DOUBLE,
    LEAST_OPSET,
    ML,
    ML_VERSION,
    add_classifier,
    add_regressor,
    carried_labels,
)
from dics.export._plain_model import PlainModel, missing_library
from dics.forest import CGForestClassifier, CGForestRegressor
from dics.tree import CGTreeClassifier, CGTreeRegressor

CLASSIFIERS = (CGTreeClassifier, CGForestClassifier, CGBoostingClassifier)
REGRESSORS = (CGTreeRegressor, CGForestRegressor, CGBoostingRegressor)


def register_skl2onnx() -> None:
    """Teach skl2onnx the estimators of dics, for pipelines that contain them.

    After this call ``skl2onnx.to_onnx(pipeline, X)`` and ``convert_sklearn`` know
    all six. Classifiers take the option ``zipmap``, as those of scikit-learn do. It
    may be called more than once.

    Raises
    ------
    ImportError
        If skl2onnx is not installed: ``pip install 'dics[onnx]'``.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise missing_library("skl2onnx", "onnx", error) from error
    options = {
        "zipmap": [True, False, "columns"],
        "output_class_labels": [False, True],
        "nocl": [True, False],
    }
    for classifier in CLASSIFIERS:
        update_registered_converter(
            classifier,
            f"Dics{classifier.__name__}",
            _class_shapes,
            _convert,
            options=options,
        )
    for regressor in REGRESSORS:
        update_registered_converter(
            regressor, f"Dics{regressor.__name__}", _number_shapes, _convert
        )


def _class_shapes(operator: Any) -> None:
    from skl2onnx.common import data_types

    plain = PlainModel.of(operator.raw_operator, "skl2onnx")
    labels = carried_labels(plain)
    n_rows = operator.inputs[0].get_first_dimension()
    is_text = labels.dtype.kind == "U"
    kind = data_types.StringTensorType if is_text else data_types.Int64TensorType
    operator.outputs[0].set_type(kind([n_rows]))
    operator.outputs[1].set_type(data_types.FloatTensorType([n_rows, len(labels)]))


def _number_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import FloatTensorType

    plain = PlainModel.of(operator.raw_operator, "skl2onnx")
    n_rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].set_type(FloatTensorType([n_rows, plain.n_outputs]))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    if container.target_opset < LEAST_OPSET:
        raise ValueError(
            f"Models of dics need target_opset={LEAST_OPSET} or later, got "
            f"{container.target_opset}."
        )
    plain = PlainModel.of(operator.raw_operator, "skl2onnx")
    graph = _ContainerGraph(scope, container)
    x = operator.inputs[0].full_name
    kind = operator.inputs[0].type
    if plain.in_double or not isinstance(kind, FloatTensorType):
        if not isinstance(kind, DoubleTensorType):
            x = graph.add("Cast", [x], to=DOUBLE)
        plain = replace(plain, in_double=not plain.is_single)
    outputs = [output.full_name for output in operator.outputs]
    if plain.classes is None:
        add_regressor(graph, plain, x, outputs[0])
    else:
        add_classifier(graph, plain, x, outputs[0], outputs[1])


class _ContainerGraph:
    """Hands operators and arrays over to skl2onnx."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope = scope
        self.container = container

    def constant(self, values: Array) -> str:
        from onnx import TensorProto

        name: str = self.scope.get_unique_variable_name("constant")
        listed = values.tolist()
        if values.dtype.kind == "U":
            kind, listed = TensorProto.STRING, [v.encode() for v in listed]
        elif values.dtype == np.int64:
            kind = TensorProto.INT64
        else:
            kind = TensorProto.FLOAT
        self.container.add_initializer(name, kind, list(values.shape), listed)
        return name

    def add(
        self,
        kind: str,
        inputs: list[str],
        output: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        if output is None:
            output = self.scope.get_unique_variable_name(kind.lower())
        self.container.add_node(
            kind,
            inputs,
            [output],
            op_domain=domain,
            op_version=ML_VERSION if domain == ML else None,
            name=self.scope.get_unique_operator_name(kind),
            **attributes,
        )
        return output
