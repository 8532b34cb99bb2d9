"""What all regressors have in common."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin as SklearnRegressorMixin

from dics._candidates_base import TrainingData
from dics._model_check import require
from dics._validation import FloatArray, NumberTargets, check_numbers, check_weights


class TreesRegressorMixin(SklearnRegressorMixin):
    """Makes a regressor of an estimator that holds trees: y are numbers."""

    n_outputs_: int

    def _check_targets(
        self, y: Any, n_rows: int, *, is_warm_start: bool
    ) -> NumberTargets:
        values = check_numbers(y, n_rows, type(self).__name__)
        if is_warm_start and values.shape[1] != self.n_outputs_:
            raise ValueError(
                f"warm_start needs as many targets as the first fit, "
                f"{self.n_outputs_}; y has {values.shape[1]}."
            )
        self._check_target_values(values)
        return NumberTargets(values)

    def _check_target_values(self, values: FloatArray) -> None:
        """Refuse numbers that the criterion or the loss has no use for."""

    def _needs_positive_targets(self) -> bool:
        return False

    def _check_weights(
        self, sample_weight: Any, targets: NumberTargets
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
