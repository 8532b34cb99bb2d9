"""A fitted model in the form of other libraries: trees whose leaf values add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
class PlainTree:
    """One tree; nodes are numbered breadth first, leaves have no children (-1).

    Attributes
    ----------
    feature, left, right : ndarray of int, -1 for a leaf
    threshold : ndarray of float64
        Less goes left; NaN for a leaf.
    missing_left : ndarray of bool
    weight : ndarray of float64
        Of the training rows in each node.
    value : ndarray of shape (n_nodes, n_outputs)
        Of a leaf; 0 for other nodes.
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
    """A sum of trees and a base, and what is made of it.

    Attributes
    ----------
    base : ndarray of shape (n_outputs,)
        What is added to the sum of the trees.
    link : {"identity", "logistic", "softmax", "exp"}
        What turns the sum into a prediction, or into probabilities of classes.
    factor : ndarray of shape (n_outputs,)
        What predictions are multiplied by, after the link.
    classes : ndarray or None
        Labels of the classes; None for a regressor.
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
        """Read the parts of a fitted model."""
        if not isinstance(model, TreesEstimator):
            raise TypeError(
                f"{purpose} takes a fitted model of dics, got {type(model).__name__}."
            )
        check_is_fitted(model, "trees_")
        _refuse_categories(model, purpose)
        trees = model.trees_
        n_outputs = trees.leaf_values.shape[1]
        fields: dict[str, Any] = {
            "trees": trees,
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
            fields["scale"] = 1.0
            fields["base"] = model._start.astype(np.float64)
        if isinstance(model, CGBoostingClassifier):
            two = n_outputs < model.n_classes_
            fields["link"] = "logistic" if two else "softmax"
        elif isinstance(model, CGBoostingRegressor):
            fields |= _of_loss(model._loss, fields["base"], purpose)
        return cls(**fields)

    def __len__(self) -> int:
        return len(self.trees)

    def __iter__(self) -> Iterator[PlainTree]:
        values, rows = self.trees._leaf_table(hard=self.hard)
        values = values * self.scale
        starts = self.trees.node_starts
        for t in range(len(self.trees)):
            tree = self.trees[t]
            inner = tree.feature >= 0
            left = np.where(inner, tree.left, -1).astype(np.int64)
            value = values[rows[starts[t] : starts[t + 1]]]
            value[inner] = 0
            yield PlainTree(
                feature=tree.feature.astype(np.int64),
                threshold=tree.threshold.astype(np.float64),
                left=left,
                right=np.where(inner, left + 1, -1),
                missing_left=tree.missing_left.astype(bool),
                weight=tree.weight.astype(np.float64),
                value=value,
            )

    def at_least_one(self) -> Iterator[PlainTree]:
        """Yield the trees; of a model without any, one that says nothing."""
        return iter(self) if len(self) else iter([_leaf(self.n_outputs)])

    def unscaled(self) -> PlainModel:
        """Return the model whose trees are added up, where it takes their mean."""
        return replace(self, scale=1.0)

    @property
    def is_single(self) -> bool:
        """Return True if single precision holds all thresholds."""
        return bool(_are_single(self.trees.threshold).all())

    @property
    def n_outputs(self) -> int:
        """Numbers in a leaf."""
        return len(self.base)


def _refuse_categories(model: TreesEstimator, purpose: str) -> None:
    if model._categories is None:
        return
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    held = ", ".join(repr(str(names[f])) for f in model._categories.features[:5])
    raise ValueError(
        f"{purpose} can't carry categories, which columns of this model hold ({held}); "
        "save it for dics itself by `save`, or fit it with categorical_features=None "
        "on columns encoded by OrdinalEncoder or OneHotEncoder."
    )


def _is_merged(trees: Trees) -> bool:
    """Return True if single precision merges the values of a feature.

    That is a feature most of whose thresholds single precision does not hold. A few
    such thresholds, between two values close together, are found in any feature.
    """
    inner = trees.inner
    feature = trees.feature[inner]
    n_splits = np.bincount(feature)
    double = ~_are_single(trees.threshold[inner])
    n_double = np.bincount(feature[double], minlength=len(n_splits))
    return bool((2 * n_double > n_splits).any())


def _are_single(threshold: FloatArray) -> npt.NDArray[np.bool_]:
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    are_single: npt.NDArray[np.bool_] = (single == threshold) | np.isnan(threshold)
    return are_single


def rounded_up(threshold: FloatArray) -> npt.NDArray[np.float32]:
    """Round thresholds to single precision; no value of float32 changes its side."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
        above = np.nextafter(single, np.float32(np.inf))
    return np.where(single < threshold, above, single)


def _leaf(n_outputs: int) -> PlainTree:
    """Return a tree that says nothing, for a model without trees."""
    none = np.full(1, -1)
    return PlainTree(
        feature=none,
        threshold=np.full(1, np.nan),
        left=none,
        right=none,
        missing_left=np.zeros(1, dtype=bool),
        weight=np.ones(1),
        value=np.zeros((1, n_outputs)),
    )


def _of_loss(loss: Any, start: FloatArray, purpose: str) -> dict[str, Any]:
    if not isinstance(loss, NumberLoss):
        raise ValueError(f"{purpose} can't carry a loss of your own, {loss.given!r}.")
    if loss.levels is not None and len(loss.levels) > 1:
        raise ValueError(
            f"{purpose} can't carry several quantiles, which are put in order for each "
            "row; fit a model for each."
        )
    if loss.name in LOG_LINK_LOSSES:
        return {"link": "exp", "factor": loss.unit}
    return {"base": start + loss.centre}


def missing_library(name: str, extra: str, error: ImportError) -> ImportError:
    """Say how to install a library that an export needs."""
    return ImportError(
        f"This needs {name}, which is not installed: pip install 'dics[{extra}]'"
        f" ({error})"
    )
