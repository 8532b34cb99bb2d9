"""What all classifiers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin as SklearnClassifierMixin

from dics._candidates_base import TrainingData
from dics._model_check import require
from dics._validation import (
    Array,
    FloatArray,
    Targets,
    check_targets,
    check_weights,
    combine_weights,
)


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

    def _check_targets(self, y: Any, n_rows: int, *, is_warm_start: bool) -> Targets:
        targets = check_targets(y, n_rows)
        if is_warm_start and not np.array_equal(targets.classes, self.classes_):
            raise ValueError(
                f"warm_start needs the classes of the first fit, {self.classes_}; "
                f"y has {targets.classes}."
            )
        return targets

    def _check_weights(self, sample_weight: Any, targets: Targets) -> FloatArray | None:
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
