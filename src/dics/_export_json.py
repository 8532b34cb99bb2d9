"""A fitted model as JSON, for programs that know no Python."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dics._plain_model import PlainModel
from dics._validation import Array
from dics._version import VERSION


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
