"""What early stopping of boosting looks at, if it is not the loss."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dics._boosting_rows import CodedRows, Parts, Validation
from dics._candidates_base import TrainingData
from dics._rows_elsewhere import RowsElsewhere


def scorer_of(model: Any) -> Callable[..., float]:
    """Return the scorer that early stopping of a model asks."""
    from sklearn.metrics import get_scorer

    name = model._default_scoring if model.scoring is None else model.scoring
    scorer: Callable[..., float] = get_scorer(name)
    return scorer


def watched_score(
    model: Any,
    data: TrainingData,
    parts: Parts,
    given: Validation | None,
    training: CodedRows,
    validation: dict[str, CodedRows],
) -> Callable[[], float]:
    """Return what scores the rows that early stopping watches, as they are."""
    watched, which = training, parts.training
    if validation:
        watched, which = list(validation.values())[-1], parts.validation
    X = data.X if given is None else given.X
    if isinstance(X, RowsElsewhere):
        X = np.empty((watched.n_rows, 0))  # the model knows the rows without it
    elif given is None and which is not None:
        X = X[which]
    current, y = model._watched_model(watched)
    scorer = scorer_of(model)
    weights = {}
    takes_weights = "sample_weight" in inspect.signature(scorer).parameters
    if takes_weights and watched.weights is not None:
        weights["sample_weight"] = watched.weights * watched.weight_unit
    return lambda: float(scorer(current, X, y, **weights))
