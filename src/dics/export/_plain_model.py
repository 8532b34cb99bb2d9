"""A fitted model in the form of other libraries: trees whose leaf values add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dics._boosting.losses import LOG_LINK_LOSSES, NumberLoss
from dics._estimator.base import TreesEstimator
from dics._input.checks import Array, FloatArray
from dics._model.trees import Trees
from dics.boosting import CGBoostingClassifier, CGBoostingRegressor
from dics.forest import CGForestClassifier


@dataclass(frozen=True)
class TreeArrays:
    """One tree with its nodes in breadth-first order; leaves have no children (-1).

    Attributes
    ----------
    feature, left, right : ndarray of int, -1 for a leaf
    threshold : ndarray of float64
        Smaller values go left; NaN for a leaf.
    missing_left : ndarray of bool
    weight : ndarray of float64
        Weight of the training rows in each node.
    value : ndarray of shape (n_nodes, n_outputs)
        Values of a leaf; 0 for other nodes.
    """

    feature: npt.NDArray[np.int64]
    threshold: FloatArray
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    missing_left: npt.NDArray[np.bool_]
    weight: FloatArray
    value: FloatArray


@dataclass(frozen=True)
class PlainModel:
    """A sum of trees and a base, and the function that turns it into a prediction.

    Attributes
    ----------
    base : ndarray of shape (n_outputs,)
        Added to the sum of the trees.
    link : {"identity", "logistic", "softmax", "exp"}
        Function that turns the sum into a prediction, or into class probabilities.
    factor : ndarray of shape (n_outputs,)
        Predictions are multiplied by it after the link.
    classes : ndarray or None
        Class labels; None for a regressor.
    n_features : int
    in_double : bool
        Whether the model needs X in double precision.
    """

    trees: Trees
    scale: float
    hard: bool
    base: FloatArray
    link: str
    factor: FloatArray
    classes: Array | None
    n_features: int
    in_double: bool

    @classmethod
    def of(cls, model: Any, purpose: str) -> PlainModel:
        """Read the parts of a fitted model; `purpose` is the caller in errors."""
        _check_supported(model, purpose)
        trees = model.trees_
        n_outputs = trees.leaf_values.shape[1]
        fields: dict[str, Any] = {
            "trees": trees,
            # Trees and forests average: each tree adds its part of the mean.
            "scale": 1.0 / max(len(trees), 1),
            "hard": isinstance(model, CGForestClassifier)
            and model._options.voting == "hard",
            "base": np.zeros(n_outputs),
            "link": "identity",
            "factor": np.ones(n_outputs),
            "classes": getattr(model, "classes_", None),
            "n_features": model.n_features_in_,
            "in_double": _is_merged(trees),
        }
        if isinstance(model, CGBoostingClassifier | CGBoostingRegressor):
            # Leaf values of boosting contain the learning rate.
            fields["scale"] = 1.0
            fields["base"] = model._start.astype(np.float64)
        if isinstance(model, CGBoostingClassifier):
            # Two classes have a single score, the difference of their scores.
            is_binary = n_outputs < model.n_classes_
            fields["link"] = "logistic" if is_binary else "softmax"
        elif isinstance(model, CGBoostingRegressor):
            loss: Any = model._loss
            if loss.name in LOG_LINK_LOSSES:
                # Targets were divided by a unit in the fit.
                fields |= {"link": "exp", "factor": loss.unit}
            else:
                # Targets were centered in the fit.
                fields["base"] = fields["base"] + loss.centre
        return cls(**fields)

    @property
    def n_outputs(self) -> int:
        """Number of values per leaf."""
        return len(self.base)

    def __iter__(self) -> Iterator[TreeArrays]:
        values, rows = self.trees._leaf_table(hard=self.hard)
        values = values * self.scale
        starts = self.trees.node_starts
        for t in range(len(self.trees)):
            tree = self.trees[t]
            inner = tree.feature >= 0
            left = np.where(inner, tree.left, -1).astype(np.int64)
            # Indexing with an array makes a copy, which may be changed.
            value = values[rows[starts[t] : starts[t + 1]]]
            value[inner] = 0
            yield TreeArrays(
                feature=tree.feature.astype(np.int64),
                # Copies, because structured fields are not contiguous.
                threshold=tree.threshold.astype(np.float64),
                left=left,
                right=np.where(inner, left + 1, -1),
                missing_left=tree.missing_left.astype(bool),
                weight=tree.weight.astype(np.float64),
                value=value,
            )

    def at_least_one(self) -> list[TreeArrays]:
        """Return the trees; for a model without trees, a single leaf that adds 0.

        Other libraries reject models without trees.
        """
        none = np.full(1, -1)
        return list(self) or [
            TreeArrays(
                feature=none,
                threshold=np.full(1, np.nan),
                left=none,
                right=none,
                missing_left=np.zeros(1, dtype=bool),
                weight=np.ones(1),
                value=np.zeros((1, self.n_outputs)),
            )
        ]


def _check_supported(model: Any, purpose: str) -> None:
    """Raise an error if other libraries cannot represent a model."""
    if not isinstance(model, TreesEstimator):
        raise TypeError(
            f"{purpose} requires a fitted dics model, got {type(model).__name__}."
        )
    check_is_fitted(model, "trees_")
    # Splits by sets of categories have no equivalent in these formats.
    if model._categories is not None:
        names = getattr(model, "feature_names_in_", range(model.n_features_in_))
        held = ", ".join(repr(str(names[f])) for f in model._categories.features[:5])
        raise ValueError(
            f"{purpose} does not support categorical features, which this model has "
            f"({held}). Use `save` to store it for dics, or fit it with "
            "categorical_features=None on columns encoded by OrdinalEncoder or "
            "OneHotEncoder."
        )
    if isinstance(model, CGBoostingRegressor):
        loss: Any = model._loss
        if not isinstance(loss, NumberLoss):
            raise ValueError(
                f"{purpose} does not support custom losses: {loss.given!r}."
            )
        if loss.levels is not None and len(loss.levels) > 1:
            raise ValueError(
                f"{purpose} does not support several quantiles, because they are "
                "sorted for each row. Fit one model per quantile."
            )


def _is_merged(trees: Trees) -> bool:
    """Return True if single precision merges the values of a feature.

    Then it cannot represent most thresholds of the feature. A few such thresholds,
    between two values close together, exist in any feature.
    """
    inner = trees.inner
    feature = trees.feature[inner]
    # The majority decides, feature by feature.
    n_splits = np.bincount(feature)
    double = ~are_single(trees.threshold[inner])
    n_double = np.bincount(feature[double], minlength=len(n_splits))
    return bool((2 * n_double > n_splits).any())


def are_single(threshold: FloatArray) -> npt.NDArray[np.bool_]:
    """Return True for each threshold that single precision represents exactly."""
    # Thresholds beyond float32 become infinite, and are not single.
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    found: npt.NDArray[np.bool_] = (single == threshold) | np.isnan(threshold)
    return found


def rounded_up(threshold: FloatArray) -> npt.NDArray[np.float32]:
    """Round thresholds up to single precision, which keeps the side of float32 values.

    A float32 value below the threshold stays below: no float32 value lies between.
    """
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
        above = np.nextafter(single, np.float32(np.inf))
    return np.where(single < threshold, above, single)


def import_library(name: str, extra: str, purpose: str) -> Any:
    """Import an optional library; if it is missing, raise an error with the command."""
    package = name.partition(".")[0]
    try:
        import_module(package)
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{purpose} requires {package}, which is not installed: "
            f"pip install 'dics[{extra}]' ({error})"
        ) from error
