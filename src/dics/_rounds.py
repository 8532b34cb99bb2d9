"""What happens after each round of boosting: scores, early stopping, progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from dics._objective import LogLoss
from dics._progress import Progress
from dics._validation import Array, FloatArray


class CurrentModel(ClassifierMixin, BaseEstimator):
    """The model as it is during a fit, for a scorer: it knows the rows it is asked."""

    def __init__(
        self, classes: Array, objective: LogLoss, scores: npt.NDArray[np.float32]
    ) -> None:
        self.classes = classes
        self.objective = objective
        self.scores = scores  # the core adds to them in place

    @property
    def classes_(self) -> Array:
        return self.classes

    def _scores_of(self, X: Any) -> npt.NDArray[np.float32]:
        check_watched(X, self.scores)
        return self.scores

    def decision_function(self, X: Any) -> FloatArray:
        return self.objective.decision(self._scores_of(X))

    def predict_proba(self, X: Any) -> FloatArray:
        return self.objective.probabilities(self._scores_of(X))

    def predict(self, X: Any) -> Array:
        predicted: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return predicted

    def __sklearn_is_fitted__(self) -> bool:
        return True


class CurrentRegressor(RegressorMixin, BaseEstimator):
    """The same for numbers."""

    def __init__(
        self,
        predictions: Callable[[npt.NDArray[np.float32]], FloatArray],
        scores: npt.NDArray[np.float32],
    ) -> None:
        self.predictions = predictions
        self.scores = scores

    def predict(self, X: Any) -> FloatArray:
        check_watched(X, self.scores)
        return self.predictions(self.scores)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def check_watched(X: Any, scores: npt.NDArray[np.float32]) -> None:
    """Refuse rows other than those that are watched."""
    if len(X) != len(scores):
        raise ValueError(
            f"scoring asks for predictions of {len(X)} rows; during a fit there are "
            f"only those of all {len(scores)} rows that are watched."
        )


class RoundReport(NamedTuple):
    """What a callback of boosting is told after a round.

    Attributes
    ----------
    round : int
        Rounds that this fit has done, from 1 on.
    n_rounds : int
        Rounds that it is to do.
    train_loss : float
        Mean loss of the training rows.
    validation_loss : float or None
        Mean loss of the validation rows, if there are any.
    score : float
        What early stopping looks at; the negative loss if nothing else is asked for.
    model : estimator
        The model that is being fitted. It can't predict yet.
    """

    round: int
    n_rounds: int
    train_loss: float
    validation_loss: float | None
    score: float
    model: Any


Callback = Callable[[RoundReport], Any]


class Rounds:
    """Called by the core after each round; says when to stop.

    Parameters
    ----------
    score : callable or None
        Scores the rows that are watched; None takes the negative loss.
    watch_validation : bool
        Whether early stopping looks at the validation rows, or at the training rows.
    patience : int or None
        Rounds without a better score after which to stop; None never stops.
    tol : float
        By how much a score must be better than the best before it.
    progress : Progress
    report_to : callable or None
        Called with the number of a round, the losses and the score; true stops.
    """

    def __init__(
        self,
        *,
        score: Callable[[], float] | None,
        watch_validation: bool,
        patience: int | None,
        tol: float,
        progress: Progress,
        report_to: Callable[[int, float, float, float], bool] | None = None,
    ) -> None:
        self.score = score
        self.watch_validation = watch_validation
        self.patience = patience
        self.tol = tol
        self.progress = progress
        self.report_to = report_to
        self.train: list[float] = []
        self.validation: list[float] = []
        self.best_round = 0

    def note(self, train_loss: float, validation_loss: float) -> bool:
        """Keep the scores of a round (or of the start); tell whether to stop."""
        watched = self.validation if self.watch_validation else self.train
        self.train.append(-train_loss)
        if self.watch_validation:
            self.validation.append(-validation_loss)
        if self.score is not None:
            watched[-1] = self.score()
            if np.isnan(watched[-1]):
                raise ValueError("scoring gives nan for the rows that are watched.")
        done = len(watched) - 1
        if watched[-1] > watched[self.best_round] + self.tol:
            self.best_round = done
        self.progress.update(done, self._describe(train_loss, validation_loss))
        stops = False
        if self.report_to is not None and done > 0:
            stops = self.report_to(done, train_loss, validation_loss, watched[-1])
        # A plain bool: the core takes no other, and the patience may be NumPy's.
        waited = done - self.best_round
        return stops or (self.patience is not None and bool(waited >= self.patience))

    def _describe(self, train_loss: float, validation_loss: float) -> str:
        text = f"loss {train_loss:.4f}"
        if self.watch_validation:
            text += f", validation {validation_loss:.4f}"
        if self.score is not None:
            watched = self.validation if self.watch_validation else self.train
            text += f", score {watched[-1]:.4f}"
        return text
