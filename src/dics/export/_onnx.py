"""Export of fitted models to ONNX, directly and as converters for skl2onnx."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dics._input.checks import Array
from dics._version import VERSION
from dics.boosting import CGBoostingClassifier, CGBoostingRegressor
from dics.export._onnx_categories import ML, add_encoding, make_inputs
from dics.export._plain_model import (
    PlainModel,
    TreeArrays,
    are_single,
    import_library,
    rounded_up,
)
from dics.forest import CGForestClassifier, CGForestRegressor
from dics.tree import CGTreeClassifier, CGTreeRegressor

ML_VERSION = 3  # the first version with thresholds in double precision
ML_CATEGORIES = 4  # the first version with label encoders of all types
MIN_OPSET = 13  # the first version with Softmax and ReduceSum as used here
DEFAULT_OPSET = 15  # not the newest: older runtimes read it too
INT64, DOUBLE = 7, 11  # values of onnx.TensorProto

CLASSIFIERS = (CGTreeClassifier, CGForestClassifier, CGBoostingClassifier)
REGRESSORS = (CGTreeRegressor, CGForestRegressor, CGBoostingRegressor)


# --- the graph of a model -----------------------------------------------------------


class Node(NamedTuple):
    """An operator with a single output."""

    kind: str
    inputs: list[str]
    output: str
    domain: str
    attributes: dict[str, Any]


class Graph:
    """Operators and constants, which `to_onnx` and skl2onnx store differently.

    Parameters
    ----------
    new_name : callable
        Returns a unique name of a variable that begins with its argument.
    """

    def __init__(self, new_name: Callable[[str], str]) -> None:
        self.new_name = new_name
        self.nodes: list[Node] = []
        self.constants: list[Any] = []

    def constant(self, values: Array) -> str:
        """Add an array of floats, int64 or str, and return its name."""
        from onnx.numpy_helper import from_array

        name = self.new_name("constant")
        plain = values.astype(object) if values.dtype.kind == "U" else values
        self.constants.append(from_array(plain, name))
        return name

    def add(
        self,
        kind: str,
        inputs: list[str],
        output: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add an operator, and return the name of its output."""
        output = self.new_name(kind) if output is None else output
        self.nodes.append(Node(kind, inputs, output, domain, attributes))
        return output


def add_model(graph: Graph, plain: PlainModel, x: str, outputs: list[str]) -> None:
    """Add a fitted model to a graph.

    X has encoded categories, and is in double precision if `plain.in_double`. A
    regressor has one output of shape (n_samples, n_outputs), a classifier has the
    labels and the probabilities.
    """
    is_mean = plain.classes is not None and plain.link == "identity"
    if is_mean:
        # A sum of integer votes: tied classes are then also tied in single precision.
        plain = replace(plain, scale=1.0)
    is_sum = plain.classes is None and plain.link == "identity"
    scores = graph.add(
        "TreeEnsembleRegressor",
        [x],
        outputs[0] if is_sum else None,
        ML,
        **_tree_attributes(plain),
    )
    if plain.classes is None:
        if plain.link == "exp":
            factor = graph.constant(plain.factor.astype(np.float32))
            graph.add("Mul", [graph.add("Exp", [scores]), factor], outputs[0])
        return
    label, probabilities = outputs
    if plain.link == "logistic":
        # Not Sigmoid: in ONNX Runtime it is inaccurate for small probabilities.
        halves = graph.constant(np.array([-0.5, 0.5], dtype=np.float32))
        both = graph.add("Mul", [scores, halves])
        graph.add("Softmax", [both], probabilities, axis=1)
        zero = graph.constant(np.zeros(1, dtype=np.float32))
        index = graph.add("Cast", [graph.add("Greater", [scores, zero])], to=INT64)
        index = graph.add("Reshape", [index, graph.constant(np.array([-1]))])
    else:
        if is_mean:
            total = graph.add("ReduceSum", [scores, graph.constant(np.array([1]))])
            graph.add("Div", [scores, total], probabilities)
        else:
            graph.add("Softmax", [scores], probabilities, axis=1)
        index = graph.add("ArgMax", [scores], axis=1, keepdims=0)
    labels = graph.constant(onnx_labels(plain))
    graph.add("Gather", [labels, index], label, axis=0)


def onnx_labels(plain: PlainModel) -> Array:
    """Return the class labels as int64 or str, the only types that ONNX supports."""
    classes = plain.classes
    assert classes is not None
    if classes.dtype.kind == "U" or all(isinstance(c, str) for c in classes):
        return classes.astype(str)
    # An array of objects may also contain bools, which are ints in Python.
    is_integer = classes.dtype.kind in "iu" or all(type(c) is int for c in classes)
    if is_integer and all(abs(int(c)) < 2**63 for c in classes):
        return classes.astype(np.int64)
    raise ValueError(
        f"ONNX supports class labels that are integers or text; classes_ is "
        f"{classes!r}. Fit the model with y.astype(int) or y.astype(str), or with "
        "sklearn.preprocessing.LabelEncoder().fit_transform(y)."
    )


def _tree_attributes(plain: PlainModel) -> dict[str, Any]:
    """Return the attributes of the operator TreeEnsembleRegressor."""
    parts: dict[str, Any] = {}
    for t, tree in enumerate(plain.at_least_one()):
        for name, column in (_of_nodes(tree) | _of_leaves(tree)).items():
            parts.setdefault(name, []).extend(column.tolist())
            if name.endswith("_nodeids"):  # an id of a node needs the id of its tree
                ids = parts.setdefault(name.replace("_nodeids", "_treeids"), [])
                ids.extend([t] * len(column))
    parts["base_values"] = plain.base.tolist()
    if plain.in_double:
        from onnx.numpy_helper import from_array

        for name in ("nodes_values", "target_weights", "base_values"):
            values = np.array(parts.pop(name), dtype=np.float64)
            parts[f"{name}_as_tensor"] = from_array(values)
    else:
        # Rounding to nearest could move a float32 value to the other side.
        parts["nodes_values"] = rounded_up(np.array(parts["nodes_values"])).tolist()
    return {
        **parts,
        "n_targets": plain.n_outputs,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }


def _of_nodes(tree: TreeArrays) -> dict[str, Array]:
    inner = tree.feature >= 0
    columns = {
        "nodes_nodeids": np.arange(len(inner)),
        "nodes_featureids": np.where(inner, tree.feature, 0),
        "nodes_values": np.where(inner, tree.threshold, 0.0),
        # BRANCH_LT, as in dics: equal values go right.
        "nodes_modes": np.where(inner, "BRANCH_LT", "LEAF"),
        "nodes_truenodeids": np.where(inner, tree.left, 0),
        "nodes_falsenodeids": np.where(inner, tree.right, 0),
        "nodes_missing_value_tracks_true": (inner & tree.missing_left).astype(int),
    }
    return _with_equalities(columns, tree) if tree.sets else columns


def _with_equalities(columns: dict[str, Array], tree: TreeArrays) -> dict[str, Array]:
    """Replace each test of a set of categories by a chain of tests of one category.

    The true branches of a chain share a child, as in converted models of LightGBM.
    """
    # No category is -1: an empty set has a side for NaN, too.
    sets = {node: s if len(s) else np.array([-1]) for node, s in tree.sets.items()}
    n_nodes = len(tree.feature)
    # The first test of a chain replaces the node; the others follow the last node.
    more = np.repeat([*sets], [len(members) - 1 for members in sets.values()])
    found = {name: column[np.r_[:n_nodes, more]] for name, column in columns.items()}
    found["nodes_modes"] = found["nodes_modes"].astype(object)
    found["nodes_nodeids"] = np.arange(n_nodes + len(more))
    for node, members in sets.items():
        chain = [node, *range(n_nodes, n_nodes + len(members) - 1)]
        n_nodes += len(members) - 1
        found["nodes_modes"][chain] = "BRANCH_EQ"
        found["nodes_values"][chain] = members
        found["nodes_falsenodeids"][chain] = [*chain[1:], tree.right[node]]
    return found


def _of_leaves(tree: TreeArrays) -> dict[str, Array]:
    values = tree.value.astype(np.float32)
    kept = values != 0  # most leaves of a forest have few classes: a smaller file
    # Each leaf needs at least one weight.
    kept[:, 0] |= ~kept.any(axis=1)
    node, output = np.nonzero(kept & (tree.feature < 0)[:, None])
    return {
        "target_nodeids": node,
        "target_ids": output,
        "target_weights": values[node, output],
    }


# --- export without skl2onnx ---------------------------------------------------------


def to_onnx(model: Any, *, target_opset: int | None = None) -> Any:
    """Convert a fitted model to ONNX, for ONNX Runtime and other runtimes.

    The input is `X`, float32 of shape (n_samples, n_features); NaN is a missing value.
    A classifier has the outputs `label` and `probabilities`, a regressor has
    `variable`, of shape (n_samples, n_outputs).

    Results have single precision: probabilities differ from ``predict_proba`` in the
    seventh digit. The label may differ if the two best classes differ by less than
    that. Rows of float64 may fall to the other side of a threshold if they are rounded
    to float32. Thresholds are rounded up, which keeps the side of float32 rows.

    An offset is not part of the model: add it to the predictions, or multiply them by
    exp(offset) with the losses "poisson", "gamma" and "tweedie". For a classifier, add
    it to the logarithms of the probabilities (for two classes, to their difference).

    The input is float64 if the model was fitted with columns that need double
    precision, such as Unix timestamps.

    With categorical features, X contains the categories: numbers, or 0 and 1 for bools.
    If some categories are text, the model has one input of shape (n_samples, 1) per
    column instead of `X`. Its name is that of the column, or `x0`, `x1` and so on
    without names. Pass NaN or an unknown text, such as "", for a missing category.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.
    target_opset : int or None, default=None
        Version of the operators, 13 or later. None is 15. Set it if the runtime needs
        an older or a newer version.

    Returns
    -------
    onnx_model : onnx.ModelProto
        Write ``onnx_model.SerializeToString()`` to a file.

    Raises
    ------
    ImportError
        If onnx is not installed: ``pip install 'dics[onnx]'``.
    ValueError
        If class labels are neither integers nor text, or if the model has a custom
        loss or several quantiles.

    See Also
    --------
    register_skl2onnx : Conversion of pipelines.
    to_treelite : Export to treelite.
    to_json : Export without other libraries.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGForestClassifier
    >>> from dics.export import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = CGForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> [output.name for output in to_onnx(forest).graph.output]
    ['label', 'probabilities']
    """
    onnx = import_library("onnx", "onnx", "to_onnx")
    plain = PlainModel.of(model, "to_onnx")
    opset: Any = DEFAULT_OPSET if target_opset is None else target_opset
    newest = onnx.defs.onnx_opset_version()
    if not isinstance(opset, int) or not MIN_OPSET <= opset <= newest:
        raise ValueError(
            f"target_opset must be an integer from {MIN_OPSET} to {newest} (the newest "
            f"of the installed onnx), got {target_opset!r}."
        )
    describe, kinds = onnx.helper.make_tensor_value_info, onnx.TensorProto
    inputs = make_inputs(plain, getattr(model, "feature_names_in_", None))
    if plain.classes is None:
        outputs = [describe("variable", kinds.FLOAT, [None, plain.n_outputs])]
    else:
        is_text = onnx_labels(plain).dtype.kind == "U"
        outputs = [
            describe("label", kinds.STRING if is_text else kinds.INT64, [None]),
            describe("probabilities", kinds.FLOAT, [None, len(plain.classes)]),
        ]
    # Operators and constants share one numbering of names, and inputs keep theirs.
    counter, taken = itertools.count(), {given.name for given in inputs}
    graph = Graph(
        lambda kind: next(name for i in counter if (name := f"{kind}_{i}") not in taken)
    )
    x = add_encoding(graph, plain, inputs)
    add_model(graph, plain, x, [output.name for output in outputs])
    kind = kinds.DOUBLE if plain.in_double else kinds.FLOAT
    made = onnx.helper.make_graph(
        [
            onnx.helper.make_node(
                node.kind,
                node.inputs,
                [node.output],
                name=f"{node.kind}_{i}",
                domain=node.domain,
                **node.attributes,
            )
            for i, node in enumerate(graph.nodes)
        ],
        type(model).__name__,
        [
            describe(name, kinds.STRING if is_text else kind, [None, width])
            for name, width, is_text in inputs
        ],
        outputs,
        graph.constants,
    )
    versions = [
        onnx.helper.make_opsetid("", opset),
        onnx.helper.make_opsetid(ML, ML_CATEGORIES if plain.categories else ML_VERSION),
    ]
    return onnx.helper.make_model(
        made,
        opset_imports=versions,
        # The oldest version that has these operators, for old runtimes.
        ir_version=onnx.helper.find_min_ir_version_for(versions),
        producer_name="dics",
        producer_version=VERSION,
    )


# --- converters for skl2onnx --------------------------------------------------------


def register_skl2onnx() -> None:
    """Register the estimators with skl2onnx, for pipelines that contain them.

    After this call, ``skl2onnx.to_onnx(pipeline, X)`` and ``convert_sklearn`` support
    all six estimators. Classifiers accept the option ``zipmap``, as in scikit-learn.
    The function may be called more than once.

    Raises
    ------
    ImportError
        If skl2onnx is not installed: ``pip install 'dics[onnx]'``.

    See Also
    --------
    to_onnx : Conversion of a model without a pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dics import CGTreeClassifier
    >>> from dics.export import register_skl2onnx
    >>> register_skl2onnx()
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), CGTreeClassifier(random_state=0))
    >>> onnx_model = to_onnx(pipeline.fit(X, y), X[:1].astype("float32"))
    >>> len(onnx_model.graph.input)
    1
    """
    skl2onnx = import_library("skl2onnx", "onnx", "register_skl2onnx")
    # The options of classifiers of scikit-learn.
    options = {
        "zipmap": [True, False, "columns"],
        "output_class_labels": [False, True],
        "nocl": [True, False],
    }
    for cls in (*CLASSIFIERS, *REGRESSORS):
        skl2onnx.update_registered_converter(
            cls,
            f"Dics{cls.__name__}",
            _set_output_types,
            _convert,
            options=options if cls in CLASSIFIERS else None,
        )


def _set_output_types(operator: Any) -> None:
    from skl2onnx.common import data_types

    # Unsupported models raise their error here, before any conversion.
    plain = PlainModel.of(operator.raw_operator, "skl2onnx")
    if plain.categories is not None:
        names = getattr(operator.raw_operator, "feature_names_in_", None)
        first = plain.categories.features[0]
        raise ValueError(
            "Pipelines for skl2onnx do not support categorical features; the model has "
            f"{first if names is None else names[first]!r}. Convert the model alone, "
            "by dics.export.to_onnx."
        )
    n_rows = operator.inputs[0].get_first_dimension()
    width = plain.n_outputs
    if plain.classes is not None:
        width = len(plain.classes)
        is_text = onnx_labels(plain).dtype.kind == "U"
        kind = data_types.StringTensorType if is_text else data_types.Int64TensorType
        operator.outputs[0].set_type(kind([n_rows]))
    operator.outputs[-1].set_type(data_types.FloatTensorType([n_rows, width]))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from onnx.numpy_helper import to_array
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    if container.target_opset < MIN_OPSET:
        raise ValueError(
            f"dics models require target_opset={MIN_OPSET} or later, got "
            f"{container.target_opset}."
        )
    plain = PlainModel.of(operator.raw_operator, "skl2onnx")
    graph = Graph(lambda kind: str(scope.get_unique_variable_name(kind.lower())))
    x = operator.inputs[0].full_name
    kind = operator.inputs[0].type
    if plain.in_double or not isinstance(kind, FloatTensorType):
        if not isinstance(kind, DoubleTensorType):
            x = graph.add("Cast", [x], to=DOUBLE)
        # Rows of float64 are compared in double precision if a threshold needs it.
        is_single = bool(are_single(plain.trees.threshold).all())
        plain = replace(plain, in_double=not is_single)
    add_model(graph, plain, x, [output.full_name for output in operator.outputs])
    # skl2onnx accepts lists of values, but no tensors of text.
    for tensor in graph.constants:
        values = tensor.string_data or to_array(tensor).ravel().tolist()
        container.add_initializer(
            tensor.name, tensor.data_type, list(tensor.dims), values
        )
    for node in graph.nodes:
        container.add_node(
            node.kind,
            node.inputs,
            [node.output],
            op_domain=node.domain,
            op_version=ML_VERSION if node.domain == ML else None,
            name=scope.get_unique_operator_name(node.kind),
            **node.attributes,
        )
