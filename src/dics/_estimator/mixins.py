"""Targets and predictions of classification and regression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin as SklearnClassifierMixin
from sklearn.base import RegressorMixin as SklearnRegressorMixin

from dics import _core
from dics._dictionary import TrainingData
from dics._input.checks import (
    Array,
    ClassTargets,
    FloatArray,
    RegressionTargets,
    check_class_labels,
    check_regression_target,
    check_weights,
    combine_weights,
)
from dics._model.checks import require
from dics._model.leaf_rows import LeafRows
from dics._model.trees import Trees

# friedman_mse rates splits by the same number as squared_error.
CORE_CRITERIA = {"friedman_mse": "squared_error"}
REGRESSION_CRITERIA = {"squared_error", "friedman_mse", "absolute_error", "poisson"}


class TreesClassifierMixin(SklearnClassifierMixin, ABC):
    """Makes a classifier of an estimator that holds trees: y are class labels.

    A classifier has ``_class_probabilities``. It may have a quicker way to the most
    probable class, ``_most_probable``.
    """

    classes_: Array
    n_classes_: int

    @abstractmethod
    def _class_probabilities(self, X: Any) -> FloatArray:
        """Return the probability of each class, [row][class]."""

    def _most_probable(self, X: Any) -> npt.NDArray[np.intp]:
        """Return the number of the most probable class of each row."""
        numbers: npt.NDArray[np.intp] = self._class_probabilities(X).argmax(axis=1)
        return numbers

    def predict(self, X: Any) -> Array:
        """Predict the class of each row, the most probable one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        numbers = self._most_probable(X)  # refuses if the model isn't fitted
        predicted: Array = self.classes_[numbers]
        return predicted

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class.

        A tree takes the shares of the classes in the leaf of a row, a forest the mean
        vote of its trees, and boosting the softmax of its scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return self._class_probabilities(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.predict_proba(X))
            return logs

    @property
    def n_outputs_(self) -> int:
        """Number of targets: one."""
        if not hasattr(self, "classes_"):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'n_outputs_' before "
                "it is fitted"
            )
        return 1

    def _class_weight(self) -> Any:
        """Return the weights of the classes that are known before the trees grow."""
        return self.class_weight

    def _check_targets(
        self, y: Any, n_rows: int, *, is_warm_start: bool
    ) -> ClassTargets:
        targets = check_class_labels(y, n_rows)
        if is_warm_start and not np.array_equal(targets.classes, self.classes_):
            raise ValueError(
                f"warm_start needs the classes of the first fit, {self.classes_}; "
                f"y has {targets.classes}."
            )
        return targets

    def _check_weights(
        self, sample_weight: Any, targets: ClassTargets
    ) -> FloatArray | None:
        weights = check_weights(sample_weight, len(targets.labels))
        return combine_weights(weights, self._class_weight(), targets)

    def _n_leaf_values(self) -> int:
        """Return how many numbers a leaf has."""
        return self.n_classes_

    def _check_outputs(self) -> None:
        classes, n_classes = vars(self).get("classes_"), vars(self).get("n_classes_")
        require(
            isinstance(classes, np.ndarray)
            and classes.ndim == 1
            and 0 < len(classes) == n_classes,
            "classes_ and n_classes_ don't fit",
        )
        n_values = self.trees_.leaf_values.shape[1]
        require(
            n_values == self._n_leaf_values(),
            f"there are {n_classes} classes, leaves have {n_values} values",
        )

    def _keep_targets(self, data: TrainingData) -> None:
        assert data.classes is not None
        self.classes_ = data.classes
        self.n_classes_ = len(data.classes)


class TreesRegressorMixin(SklearnRegressorMixin):
    """Makes a regressor of an estimator that holds trees: y are numbers."""

    n_outputs_: int

    def _check_targets(
        self, y: Any, n_rows: int, *, is_warm_start: bool
    ) -> RegressionTargets:
        values = check_regression_target(y, n_rows, type(self).__name__)
        if is_warm_start and values.shape[1] != self.n_outputs_:
            raise ValueError(
                f"warm_start needs as many targets as the first fit, "
                f"{self.n_outputs_}; y has {values.shape[1]}."
            )
        self._check_target_values(values)
        return RegressionTargets(values)

    def _check_target_values(self, values: FloatArray) -> None:
        """Refuse numbers that the criterion or the loss has no use for."""

    def _needs_positive_targets(self) -> bool:
        return False

    def _check_weights(
        self, sample_weight: Any, targets: RegressionTargets
    ) -> FloatArray | None:
        return check_weights(sample_weight, len(targets.values))

    def _n_leaf_values(self) -> int:
        """Return how many numbers a leaf has."""
        return self.n_outputs_

    def _check_outputs(self) -> None:
        n_outputs = vars(self).get("n_outputs_")
        require(isinstance(n_outputs, int) and n_outputs > 0, "n_outputs_ is no number")
        n_values = self.trees_.leaf_values.shape[1]
        require(
            n_values == self._n_leaf_values(),
            f"there are {n_outputs} targets, leaves have {n_values} values",
        )

    def _keep_targets(self, data: TrainingData) -> None:
        assert data.values is not None
        self.n_outputs_ = data.values.shape[1]

    def _shaped(self, predicted: FloatArray) -> FloatArray:
        """Give the predictions of one target as a vector."""
        return predicted[:, 0] if self.n_outputs_ == 1 else predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self._needs_positive_targets()
        return tags


class ImpurityRegressorMixin(TreesRegressorMixin):
    """Makes a regressor of a tree or forest."""

    def _core_criterion(self) -> _core.Criterion:
        name: str = CORE_CRITERIA.get(self.criterion) or self.criterion
        criterion: _core.Criterion = getattr(_core.Criterion, name)
        return criterion

    def _needs_positive_targets(self) -> bool:
        return bool(self.criterion == "poisson")

    def _check_target_values(self, values: FloatArray) -> None:
        if self.monotonic_cst is not None and self.criterion == "absolute_error":
            raise ValueError(
                "monotonic_cst can't be had with criterion='absolute_error'; use "
                "'squared_error' or 'poisson'."
            )
        if self.criterion == "poisson" and not (
            (values >= 0).all() and (values.sum(axis=0) > 0).all()
        ):
            raise ValueError(
                "criterion='poisson' needs y of 0 or more, and not of zeros alone; the "
                f"smallest is {values.min()}."
            )

    def _with_medians(
        self,
        trees: Trees,
        rows: LeafRows,
        data: TrainingData,
        weights: FloatArray | None,
    ) -> Trees:
        """Let leaves of pruned trees predict medians, if that is the criterion."""
        if self.criterion == "absolute_error":
            assert data.values is not None
            for output, y in enumerate(data.values.T):
                trees.leaf_values[:, output] = rows.medians(y, weights)
        return trees

    def predict(self, X: Any) -> FloatArray:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        X = self._check_rows(X)
        return self._shaped(self.trees_.means(X, n_threads=self._n_threads()))
