"""A fitted model in the form of other libraries: trees whose leaf values add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dics._boosting.losses import CustomLoss
from dics._estimator.base import TreesEstimator
from dics._input.categories import Categories
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
    sets : dict of ndarray of int
        For nodes that split by a set of categories: the encoded categories that go
        left, in ascending order. The threshold of such a node is NaN.
    """

    feature: npt.NDArray[np.int64]
    threshold: FloatArray
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    missing_left: npt.NDArray[np.bool_]
    weight: FloatArray
    value: FloatArray
    sets: dict[int, npt.NDArray[np.intp]]


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
    categories : Categories or None
        Integers that encode the categories of X. Those of pairs are columns that follow
        the features. None without categorical features.
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
    categories: Categories | None

    @classmethod
    def of(cls, model: Any, purpose: str) -> PlainModel:
        """Read the parts of a fitted model; `purpose` is the caller in errors."""
        _check_supported(model, purpose)
        trees, categories = model.trees_, model._categories
        if categories is not None:
            trees, categories = _with_codes(trees, categories, model.n_features_in_)
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
            "in_double": _is_merged(trees)
            or (categories is not None and _are_merged_categories(categories)),
            "categories": categories,
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
            if loss.has_log_link:
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

    @property
    def n_columns(self) -> int:
        """Number of columns of encoded rows: the features, and pairs of categories."""
        pairs = [] if self.categories is None else self.categories.pairs
        return int(self.n_features) + len(pairs)

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
            # Copies, because structured fields are not contiguous.
            threshold = tree.threshold.astype(np.float64)
            sets = self._sets(tree)
            threshold[list(sets)] = np.nan
            yield TreeArrays(
                feature=tree.feature.astype(np.int64),
                threshold=threshold,
                left=left,
                right=np.where(inner, left + 1, -1),
                missing_left=tree.missing_left.astype(bool),
                weight=tree.weight.astype(np.float64),
                value=value,
                sets=sets,
            )

    def _sets(self, tree: Trees) -> dict[int, npt.NDArray[np.intp]]:
        """Return the sets of categories of the nodes of a tree."""
        found: dict[int, npt.NDArray[np.intp]] = {}
        if tree.sets is None or self.categories is None:
            return found
        n_ranks = self.categories.rank_counts()
        for node in np.flatnonzero(tree.sets.numbers >= 0).tolist():
            members = tree.sets.members(node)
            assert members is not None
            # Bits beyond the last rank have no meaning.
            found[node] = np.flatnonzero(members[: n_ranks[int(tree.feature[node])]])
        return found

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
                sets={},
            )
        ]


def check_model(model: Any, purpose: str) -> None:
    """Raise an error unless a model is a fitted one; `purpose` is the caller."""
    if not isinstance(model, TreesEstimator):
        raise TypeError(
            f"{purpose} requires a fitted dics model, got {type(model).__name__}."
        )
    check_is_fitted(model, "trees_")


def _check_supported(model: Any, purpose: str) -> None:
    """Raise an error if other libraries cannot represent a model."""
    check_model(model, purpose)
    if isinstance(model, CGBoostingClassifier | CGBoostingRegressor):
        loss: Any = model._fitted_loss
        if isinstance(loss, CustomLoss):
            raise ValueError(
                f"{purpose} does not support custom losses: {loss.given!r}. Pickle the "
                "model, or export its trees by to_dataframe."
            )
        levels = getattr(loss, "levels", None)
        if levels is not None and len(levels) > 1:
            raise ValueError(
                f"{purpose} does not support several quantiles, because they are "
                "sorted for each row. Fit one model per quantile."
            )


def _with_codes(
    trees: Trees, known: Categories, n_features: int
) -> tuple[Trees, Categories]:
    """Replace mean targets of categories by integers, also in thresholds.

    The integer is the number of thresholds that the mean has reached. So encoded rows
    are exact in single precision.
    """
    nodes = trees.nodes.copy()
    feature, threshold = nodes["feature"], nodes["threshold"]

    def codes(column: int, means: FloatArray) -> FloatArray:
        here = (feature == column) & np.isfinite(threshold)
        reached = np.unique(threshold[here])
        # A mean is below reached[k] if and only if its code is k or less.
        threshold[here] = np.searchsorted(reached, threshold[here]) + 1
        return np.searchsorted(reached, means, side="right").astype(np.float64)

    columns = [
        # Ranks are integers already.
        c if c.is_ranked else replace(c, values=codes(c.feature, c.values))
        for c in known.columns
    ]
    pairs = [
        replace(pair, values=codes(column, pair.values))
        for column, pair in enumerate(known.pairs, start=n_features)
    ]
    coded = Trees._unchecked(**{**vars(trees), "nodes": nodes})
    return coded, Categories(columns, pairs)


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


def _are_merged_categories(known: Categories) -> bool:
    """Return True if two numeric categories are equal in single precision."""
    numbers = [c.categories for c in known.columns if c.categories.dtype.kind == "f"]
    return any((np.diff(array.astype(np.float32)) == 0).any() for array in numbers)


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
