"""What the classifiers that hold trees have in common."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dics._threads import effective_n_threads
from dics._validation import (
    Array,
    FloatArray,
    check_matrix,
    check_targets,
    check_weights,
    combine_weights,
    draw_seed,
)
from dics.candidates import BaseCandidates, TrainingData
from dics.trees import Trees

NO_LIMIT = np.iinfo(np.int64).max


class TreesClassifier(ClassifierMixin, BaseEstimator):
    """Base of all classifiers that hold trees."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "candidates": [BaseCandidates, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    trees_: Trees
    classes_: Array
    _seed: int  # of the first fit, for a warm start

    def _training_data(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        class_weight: Any,
        *,
        goes_on: bool = False,
    ) -> tuple[TrainingData, Array]:
        """Check what `fit` was given; `goes_on` says that it adds to an earlier one."""
        X = check_matrix(self, X, reset=not goes_on)
        targets = check_targets(y, len(X))
        if goes_on and not np.array_equal(targets.classes, self.classes_):
            raise ValueError(
                f"warm_start needs the classes of the first fit, {self.classes_}; "
                f"y has {targets.classes}."
            )
        weights = combine_weights(
            check_weights(sample_weight, len(X)), class_weight, targets
        )
        data = TrainingData(
            X,
            targets.labels,
            len(targets.classes),
            weights,
            self._seed if goes_on else draw_seed(self.random_state),
            effective_n_threads(self.n_jobs),
        )
        return data, targets.classes

    def _rows(self, X: Any) -> Array:
        """Check that the model is fitted and X is of its kind."""
        check_is_fitted(self, "trees_")
        return check_matrix(self, X, reset=False)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.predict_proba(X))
            return logs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ImpurityTreesClassifier(TreesClassifier):
    """Base of the tree and of the forest, whose splits reduce an impurity."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "criterion": [StrOptions({"gini", "entropy"})],
        **TreesClassifier._parameter_constraints,
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
    }

    def _limits(self, n_rows: int) -> dict[str, Any]:
        """Return when a node isn't split, as the core wants it."""
        return {
            "entropy": self.criterion == "entropy",
            "max_depth": min(self.max_depth or NO_LIMIT, NO_LIMIT),
            "min_samples_split": max(2, as_row_count(self.min_samples_split, n_rows)),
            "min_samples_leaf": as_row_count(self.min_samples_leaf, n_rows),
            "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
            "min_impurity_decrease": self.min_impurity_decrease,
        }


def as_feature_count(max_features: Any, n_features: int) -> int:
    """Resolve a number of features: a count, a share, a rule by name or None (all)."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, math.isqrt(n_features))
    if max_features == "log2":
        return max(1, int(math.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(n_features, int(max_features))
    return max(1, int(max_features * n_features))


def as_row_count(limit: Any, n_rows: int) -> int:
    """Resolve a number of rows that may be given as a share."""
    rows = int(limit) if isinstance(limit, Integral) else math.ceil(limit * n_rows)
    return min(rows, n_rows + 1)
