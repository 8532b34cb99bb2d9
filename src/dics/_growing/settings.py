"""Settings of the core, made from the parameters of an estimator."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from dics import _core
from dics._input.categories import MAX_RANKS
from dics._input.checks import split_counts

if TYPE_CHECKING:
    from dics._dictionary import Dictionary
    from dics._training import TrainingData

Settings = TypeVar("Settings")
# Fields that are settings themselves.
NESTED = {
    "tree": _core.GrowSettings,
    "limits": _core.NodeLimits,
    "rows": _core.RowDraw,
    "scale": _core.MomentScale,
    "categories": _core.CategorySettings,
    "set_limits": _core.SetLimits,
}
KINDS = tuple(NESTED.values())
NO_LIMIT = np.iinfo(np.int64).max
# The charge of a node for a set of k categories that it has sorted itself. The unit is
# the mean gain of k categories of noise (core/search/categories.hpp);
# the best of their sets has about two thirds of that. Without sets, and with a charge
# of 0, 0.3 and 1, for 100 categories of 120 rows (three seeds):
#   a tree of depth 8, AUC, categories are noise            0.818, 0.782, 0.788, 0.818
#   the same, another feature changes their order           0.806, 0.824, 0.825, 0.825
#   a regression forest, R2, categories are noise           0.561, 0.542, 0.551, 0.561
#   the same, another feature changes their order           0.551, 0.629, 0.628, 0.616
# R2 of mercedes, a tree of depth 8: 0.525, 0.389, -, 0.525; AUC of adult, a forest:
# 0.9061, 0.9069, -, 0.9059 (2026-11).
SET_CHARGE = 1.0
# Criteria with two names in scikit-learn, and the name that a model stores.
SAME_CRITERION = {"log_loss": "entropy"}
# friedman_mse ranks splits as squared_error does.
CORE_CRITERION = {"friedman_mse": "squared_error"}
REGRESSION_CRITERIA = {"squared_error", "friedman_mse", "absolute_error", "poisson"}
# Types of the parameters that trees and forests share.
TREE_CONSTRAINTS: dict[str, list[Any]] = {
    "min_samples_split": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
    ],
    "min_samples_leaf": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="neither"),
    ],
    "splitter": [StrOptions({"best", "random"})],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
}


def make_settings(kind: type[Settings], **fields: Any) -> Settings:
    """Return settings of the core with some fields set.

    >>> from dics import _core
    >>> make_settings(_core.NodeLimits, max_depth=3).max_depth
    3
    """
    settings = kind()
    for name, value in fields.items():
        if isinstance(value, dict):
            value = make_settings(NESTED[name], **value)
        setattr(settings, name, value)  # raises if the name is not a field
    return settings


def settings_fields(settings: Any) -> dict[str, Any]:
    """Return the fields of settings of trees, which can be sent to other processes.

    >>> limits = make_settings(_core.NodeLimits, max_depth=3)
    >>> make_settings(_core.NodeLimits, **settings_fields(limits)).max_depth
    3
    """
    fields = {
        name: getattr(settings, name)
        for name in dir(settings)
        if not name.startswith("_")
    }
    return {
        name: settings_fields(value) if isinstance(value, KINDS) else value
        for name, value in fields.items()
    }


def criterion_name(model: Any) -> str:
    """Return the criterion by the name that a model stores."""
    name: str = model.criterion
    return SAME_CRITERION.get(name, name)


def grow_settings(model: Any, data: TrainingData, **fields: Any) -> _core.GrowSettings:
    """Return the settings of a tree or of each tree of a forest.

    `fields` are set in addition, or instead.
    """
    n_rows, criterion = len(data.rows), criterion_name(model)
    limits = {
        "max_depth": min(model.max_depth or NO_LIMIT, NO_LIMIT),
        "min_samples_split": max(2, as_row_count(model.min_samples_split, n_rows)),
        "min_samples_leaf": as_row_count(model.min_samples_leaf, n_rows),
        "max_leaf_nodes": as_leaf_limit(model.max_leaf_nodes, n_rows),
        **fields.pop("limits", {}),
    }
    # Sampled candidates are thresholds of the dictionary, not sets of categories.
    if limits.get("reuse_splits", True) and not fields.get("max_candidates"):
        fields["categories"] = {
            "categorical": ranked_columns(model),
            "smooth": model._categorical.smooth,
            "charge": SET_CHARGE,
            "set_limits": set_limits(model),
        }
    return make_settings(
        _core.GrowSettings,
        criterion=getattr(_core.Criterion, CORE_CRITERION.get(criterion, criterion)),
        n_classes=data.n_classes,
        limits=limits,
        splitter=getattr(_core.Splitter, model.splitter),
        min_impurity_decrease=float(model._options.min_impurity_decrease),
        monotonic=data.monotonic,
        seed=data.seed,
        **fields,
    )


def core_rows(
    data: TrainingData, dictionary: Dictionary, *, is_sampled: bool = False
) -> dict[str, Any]:
    """Return the arguments of the core that describe the rows, without their codes.

    If each tree samples rows, weights are probabilities and not counts.
    """
    counts = split_counts(None if is_sampled else data.weights)
    return {
        "values": dictionary.values,
        "offsets": dictionary.offsets,
        # A regression has labels, too: groups of rows, which only thresholds need.
        "labels": data.labels if data.values is None else None,
        "y": data.values,
        "counts": counts.narrow,
        "wide_counts": counts.wide,
        "weights": data.weights,
        "n_threads": data.n_threads,
    }


def ranked_columns(model: Any) -> list[int]:
    """Return 1 for each column that is split by sets of categories, or nothing."""
    known = model._categories
    ranked = {} if known is None else known.rank_counts()
    if not ranked:
        return []
    n_columns = model.n_features_in_ + len(known.pairs)
    return [int(f in ranked) for f in range(n_columns)]


def set_limits(model: Any) -> dict[str, int]:
    """Return the limits of sets of categories in splits."""
    options = model._categorical
    min_samples = options.min_samples
    if min_samples == "auto":
        min_samples = model._min_category_samples
    return {
        "min_rows": min(min_samples, NO_LIMIT),
        "max_codes": min(options.max_categories or MAX_RANKS, MAX_RANKS),
    }


def as_feature_count(max_features: Any, n_features: int) -> int:
    """Resolve a number of features: a count, a fraction, a rule or None (all)."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, math.isqrt(n_features))
    if max_features == "log2":
        return max(1, int(math.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(n_features, int(max_features))
    return max(1, int(max_features * n_features))


def as_leaf_limit(max_leaf_nodes: int | None, n_rows: int) -> int:
    """Resolve a number of leaves; a tree has at most as many leaves as rows."""
    if max_leaf_nodes is None or max_leaf_nodes >= n_rows:
        return NO_LIMIT
    return int(max_leaf_nodes)


def as_row_count(limit: Any, n_rows: int) -> int:
    """Resolve a number of rows that may be given as a fraction."""
    rows = int(limit) if isinstance(limit, Integral) else math.ceil(limit * n_rows)
    return min(rows, n_rows + 1)
