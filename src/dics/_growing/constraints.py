"""Monotonic and interaction constraints: checked, and in the form of the core."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _check_monotonic_cst

from dics import _core
from dics._model.trees import Trees

if TYPE_CHECKING:
    from dics._training import TrainingData

MONOTONIC = ["array-like", dict, None]  # types of `monotonic_cst`
# Binary classification trees with monotonic constraints are grown as regression trees
# of the targets 0 and 1, because only these have bounds. The mean of the targets is the
# fraction of class 1. The Gini impurity is twice the variance.
REGRESSION_CRITERION = {"gini": "squared_error", "entropy": "binomial"}
VARIANCE_FACTOR = {"gini": 0.5, "entropy": 1.0}


def check_constraints(estimator: Any) -> None:
    """Check the constraints that name columns of X."""
    if estimator.monotonic_cst is not None:
        _check_monotonic_cst(estimator, estimator.monotonic_cst)
    if getattr(estimator, "interaction_cst", None) is not None:
        interaction_groups(estimator)


def monotonic_directions(
    estimator: Any, data: TrainingData, n_outputs: int
) -> list[int]:
    """Return the direction of each column; empty if no column is constrained.

    `n_outputs` is the number of scores of each row in regression.
    """
    directions = _check_monotonic_cst(estimator, estimator.monotonic_cst)
    if data.values is None and data.n_classes == 1:
        return []  # a constant prediction meets every constraint
    if data.values is None and data.n_classes > 2:
        raise ValueError(
            "monotonic_cst supports binary classification only; y has "
            f"{data.n_classes} classes."
        )
    if data.values is not None and n_outputs > 1:
        raise ValueError(
            "monotonic_cst supports a single output only; this model has "
            f"{n_outputs} (targets or quantiles)."
        )
    for f in [] if estimator._categories is None else estimator._categories.features:
        if directions[f] != 0:
            names = getattr(estimator, "feature_names_in_", range(len(directions)))
            raise ValueError(
                f"monotonic_cst constrains the categorical feature {names[f]!r}, "
                "whose categories have no order. Constrain numeric features only, or "
                "leave the feature out of categorical_features."
            )
    # Without a direction, the core does not compute bounds of the nodes.
    if not any(directions):
        return []
    # Columns of pairs have no order, as their two features.
    return [int(direction) for direction in directions] + [0] * estimator._n_pairs


def as_regression(
    data: TrainingData, settings: _core.GrowSettings, criterion: str
) -> tuple[TrainingData, _core.GrowSettings]:
    """Return data and settings that grow a binary classification tree by regression.

    The targets are 0 and 1.
    """
    assert data.labels is not None
    numeric = data._replace(values=data.labels.astype(np.float64)[:, None])
    return numeric, settings.replace(
        criterion=getattr(_core.Criterion, REGRESSION_CRITERION[criterion]),
        min_impurity_decrease=settings.min_impurity_decrease
        * VARIANCE_FACTOR[criterion],
    )


def as_classification(arrays: dict[str, Any], n_features: int, criterion: str) -> Trees:
    """Return the trees of `as_regression` as trees of two classes."""
    # Means of weighted rows can miss 0 and 1 by a rounding error.
    fraction = np.clip(arrays["leaf_values"], 0, 1)
    arrays = {
        **arrays,
        "leaf_values": np.hstack([1 - fraction, fraction]).astype(np.float32),
        "impurity": arrays["impurity"] / VARIANCE_FACTOR[criterion],
    }
    return Trees.from_core(arrays, n_features, criterion)


def interaction_groups(estimator: Any) -> list[list[int]]:
    """Return the groups of `interaction_cst`; empty if all features may interact.

    Features that are in no group form another group, as in scikit-learn.
    """
    wanted, n_features = estimator.interaction_cst, estimator.n_features_in_
    if isinstance(wanted, str):
        if wanted == "no_interactions":
            return [[f] for f in range(n_features)]
        return [list(pair) for pair in combinations(range(n_features), 2)]
    if not isinstance(wanted, Collection):
        raise TypeError(
            "interaction_cst must be 'pairwise', 'no_interactions' or a sequence of "
            f"groups of features, got {wanted!r}."
        )
    groups = [sorted(feature_indices(estimator, group)) for group in wanted]
    # A feature that is in no group would otherwise never be used.
    rest = set(range(n_features)).difference(*groups)
    return groups + ([sorted(rest)] if rest else [])


def feature_indices(estimator: Any, group: Any) -> set[int]:
    """Return the indices of a group of features, given by index or by name."""
    if isinstance(group, str) or not isinstance(group, Collection):
        raise TypeError(
            f"interaction_cst must contain groups such as [0, 1], got {group!r}."
        )
    names = list(getattr(estimator, "feature_names_in_", []))
    indices = set()  # a feature may be given twice, by name and by index
    for feature in group:
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(
                    f"interaction_cst refers to {feature!r}, but X has no column of "
                    f"that name; its columns are {names}."
                )
            indices.add(names.index(feature))
            continue
        # bool is a subclass of int; a mask of features is not a group.
        if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
            raise TypeError(
                f"interaction_cst must contain indices or names of features, got "
                f"{feature!r}."
            )
        if not 0 <= feature < estimator.n_features_in_:
            raise ValueError(
                f"interaction_cst refers to feature {feature}, but X has features 0 to "
                f"{estimator.n_features_in_ - 1}."
            )
        indices.add(int(feature))
    return indices
