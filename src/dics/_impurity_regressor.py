"""What regression trees and forests have in common."""

from __future__ import annotations

from typing import Any

from dics import _core
from dics._candidates_base import TrainingData
from dics._leaf_rows import LeafRows
from dics._regressor import TreesRegressorMixin
from dics._validation import FloatArray
from dics.trees import Trees

# friedman_mse rates splits by the same number as squared_error.
CORE_CRITERIA = {"friedman_mse": "squared_error"}
REGRESSION_CRITERIA = {"squared_error", "friedman_mse", "absolute_error", "poisson"}


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
