"""Monotonic and interaction constraints: checked, and in the form of the core."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_monotonic_cst

from dics import _core
from dics._dictionary import TrainingData
from dics._input.checks import Array
from dics._model.trees import Trees

MONOTONIC = ["array-like", dict, None]  # what `monotonic_cst` may be
# Trees of two classes with monotonic constraints are grown as trees of the number 0 or
# 1: the share of class 1 is its mean. Gini's impurity is twice the variance.
CRITERION_OF_NUMBERS = {"gini": "squared_error", "entropy": "binomial"}
VARIANCE_OF = {"gini": 0.5, "entropy": 1.0}


def check_monotonic(estimator: Any) -> Array | None:
    """Check `monotonic_cst` by the columns of X; None if nothing is constrained."""
    if estimator.monotonic_cst is None:
        return None
    directions: Array = _check_monotonic_cst(estimator, estimator.monotonic_cst)
    return directions


def monotonic_directions(
    estimator: Any, data: TrainingData, n_outputs: int = 1
) -> list[int]:
    """Check `monotonic_cst`; empty if nothing is constrained.

    `n_outputs` is the number of scores of each row, if they aren't those of classes.
    """
    directions = check_monotonic(estimator)
    if directions is None or (data.values is None and data.n_classes == 1):
        return []  # a constant prediction meets every constraint
    if data.values is None and data.n_classes > 2:
        raise ValueError(
            f"monotonic_cst needs two classes or one target, y has {data.n_classes} "
            "classes."
        )
    if data.values is not None and n_outputs > 1:
        raise ValueError(
            f"monotonic_cst needs a single prediction for each row, there are "
            f"{n_outputs}: of targets or quantiles."
        )
    for f in [] if estimator._categories is None else estimator._categories.features:
        if directions[f] != 0:
            names = getattr(estimator, "feature_names_in_", range(len(directions)))
            raise ValueError(
                f"monotonic_cst: column {names[f]!r} holds categories, which have no "
                "order; constrain columns of numbers only, or leave it out of "
                "categorical_features."
            )
    if not any(directions):
        return []
    return [int(direction) for direction in directions] + [0] * estimator._n_pairs


def as_numbers(data: TrainingData) -> TrainingData:
    """Take two classes for the numbers 0 and 1."""
    assert data.labels is not None
    return data._replace(values=data.labels.astype(np.float64)[:, None])


def set_criterion_of_numbers(settings: _core.GrowSettings, criterion: str) -> None:
    """Let the core grow trees of numbers that are those of a criterion of classes."""
    settings.criterion = getattr(_core.Criterion, CRITERION_OF_NUMBERS[criterion])
    settings.min_impurity_decrease *= VARIANCE_OF[criterion]


def as_classes(arrays: dict[str, Any], n_features: int, criterion: str) -> Trees:
    """Take trees of the numbers 0 and 1 for trees of two classes."""
    # Means of weighted rows can miss 0 and 1 by a rounding error.
    share = np.clip(arrays["leaf_values"], 0, 1)
    arrays = {
        **arrays,
        "leaf_values": np.hstack([1 - share, share]).astype(np.float32),
        "impurity": arrays["impurity"] / VARIANCE_OF[criterion],
    }
    return Trees.from_core(arrays, n_features, criterion)


def interaction_groups(estimator: Any) -> list[list[int]]:
    """Check `interaction_cst`; empty if all features may meet.

    Features that are in no group form one of their own, as in scikit-learn.
    """
    wanted, n_features = estimator.interaction_cst, estimator.n_features_in_
    if wanted is None:
        return []
    if isinstance(wanted, str):
        if wanted == "no_interactions":
            return [[f] for f in range(n_features)]
        return [list(pair) for pair in combinations(range(n_features), 2)]
    if not isinstance(wanted, Collection):
        raise TypeError(
            "interaction_cst must be 'pairwise', 'no_interactions' or a sequence of "
            f"groups of features, got {wanted!r}."
        )
    groups = [sorted(feature_numbers(estimator, group)) for group in wanted]
    rest = set(range(n_features)).difference(*groups)
    return groups + ([sorted(rest)] if rest else [])


def feature_numbers(estimator: Any, group: Any) -> set[int]:
    """Check a group of features, given by number or by name."""
    if isinstance(group, str) or not isinstance(group, Collection):
        raise TypeError(
            f"interaction_cst must contain groups such as [0, 1], got {group!r}."
        )
    names = list(getattr(estimator, "feature_names_in_", []))
    numbers = set()
    for feature in group:
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(f"interaction_cst names {feature!r}, X has no such.")
            numbers.add(names.index(feature))
            continue
        if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
            raise TypeError(
                f"interaction_cst must contain numbers or names of features, got "
                f"{feature!r}."
            )
        if not 0 <= feature < estimator.n_features_in_:
            raise ValueError(
                f"interaction_cst has feature {feature}, X has features 0 to "
                f"{estimator.n_features_in_ - 1}."
            )
        numbers.add(int(feature))
    return numbers
