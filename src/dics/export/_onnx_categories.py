"""The inputs of an ONNX model, and the encoding of categories in front of its trees."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dics._input.categories import CategoricalFeature
from dics._input.checks import Array
from dics.export._plain_model import PlainModel

if TYPE_CHECKING:
    # `_onnx` uses this module: a real import would be circular.
    from dics.export._onnx import Graph

ML = "ai.onnx.ml"
OUTPUTS = ("label", "probabilities", "variable")


class Input(NamedTuple):
    """An input of shape (n_samples, width)."""

    name: str
    width: int
    is_text: bool


def _is_text(known: CategoricalFeature) -> bool:
    """Return True if ONNX needs text for a feature; without categories, it does not."""
    return known.categories.dtype == object and len(known.categories) > 0


def make_inputs(plain: PlainModel, names: Any) -> list[Input]:
    """Return the input `X`, or one input per feature if some categories are text."""
    known = [] if plain.categories is None else plain.categories.columns
    text = {c.feature for c in known if _is_text(c)}
    if not text:
        return [Input("X", plain.n_features, is_text=False)]
    if names is None:
        names = [f"x{f}" for f in range(plain.n_features)]
    for f, name in enumerate(names):
        if name in OUTPUTS or name in names[:f]:
            raise ValueError(
                "to_onnx requires unique column names, because text requires one input "
                f"per column, and {', '.join(OUTPUTS)} are outputs; got {name!r}. "
                "Rename the column before `fit`."
            )
    return [Input(str(name), 1, f in text) for f, name in enumerate(names)]


def add_encoding(graph: Graph, plain: PlainModel, inputs: list[Input]) -> str:
    """Add operators that encode categories, and return the matrix for the trees.

    A category that is missing or was not in `fit` becomes NaN.
    """
    known = plain.categories
    if known is None:
        return inputs[0].name
    dtype = np.float64 if plain.in_double else np.float32
    nan = np.array([np.nan], dtype=dtype)

    def take(features: list[int]) -> list[str]:
        if len(inputs) == plain.n_features:
            return [inputs[f].name for f in features]
        chosen = graph.constant(np.array(features))
        return [graph.add("Gather", [inputs[0].name, chosen], axis=1)]

    indices = {}
    for c in known.columns:
        n = len(c.categories)
        keys = c.categories if _is_text(c) else c.categories.astype(dtype)
        (column,) = take([c.feature])
        # The index of other categories is n.
        indices[c.feature] = _look_up(graph, column, keys, np.arange(n), np.array([n]))
    codes = {
        c.feature: graph.add(
            "Gather",
            [graph.constant(np.r_[c.values.astype(dtype), nan]), indices[c.feature]],
        )
        for c in known.columns
    }
    parts = []
    for is_encoded, group in groupby(range(plain.n_features), key=codes.__contains__):
        run = list(group)
        parts += [codes[f] for f in run] if is_encoded else take(run)
    for pair in known.pairs:
        second = known.find(pair.second)
        assert second is not None
        n = len(second.categories)
        # Keys of the model have no room for the index n.
        i, j = np.divmod(pair.keys, n)
        row = graph.add("Mul", [indices[pair.first], graph.constant(np.array([n + 1]))])
        key = graph.add("Add", [row, indices[pair.second]])
        keys, values = i * (n + 1) + j, pair.values.astype(dtype)
        parts.append(_look_up(graph, key, keys, values, nan))
    return graph.add("Concat", parts, axis=1)


def _look_up(graph: Graph, x: str, keys: Array, values: Array, default: Array) -> str:
    """Add a table of keys and values, and return the value of each entry of x."""
    from onnx.numpy_helper import from_array

    if len(keys) == 0:  # an operator needs at least one key
        keys, values = np.zeros(1, dtype=keys.dtype), default
    tables = {"keys": keys, "values": values, "default": default}
    return graph.add(
        "LabelEncoder",
        [x],
        domain=ML,
        **{f"{name}_tensor": from_array(table) for name, table in tables.items()},
    )
