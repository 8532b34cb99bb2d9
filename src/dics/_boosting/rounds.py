"""Steps after each round: scores, early stopping, callbacks, progress."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    is_classifier,
)

from dics._boosting.rows import CodedRows, TrainValidationSplit
from dics._estimator.running import Progress, warn_user
from dics._input.checks import Array, FloatArray

if TYPE_CHECKING:
    from dics._boosting.losses import CustomClassLoss, LogLoss
    from dics._training import TrainingData


def scorer_of(model: Any) -> Callable[..., float]:
    """Return the scorer of early stopping."""
    from sklearn.metrics import get_scorer

    default = "accuracy" if is_classifier(model) else "r2"
    name = default if model.scoring is None else model.scoring
    scorer: Callable[..., float] = get_scorer(name)
    return scorer


def watched_score(
    model: Any,
    data: TrainingData,
    split: TrainValidationSplit,
    eval_data: TrainingData | None,
    training: CodedRows,
    validation: dict[str, CodedRows],
) -> Callable[[], float]:
    """Return the score of the rows that early stopping uses, as a function.

    These are the last validation set, or the training rows if there is none.
    `eval_data` has its rows if it is an argument of `fit`.
    """
    scored, which = training, split.training
    if validation:
        scored, which = list(validation.values())[-1], split.validation
    if eval_data is not None:
        data, which = eval_data, None
    X, offset = data.rows.for_scorer(which, scored.n_rows), data.offset
    if which is not None and offset is not None:
        offset = offset[which]
    current, y = model._current_model(scored, offset)
    scorer = scorer_of(model)
    # Custom scorers may not accept weights.
    weights = {}
    takes_weights = "sample_weight" in inspect.signature(scorer).parameters
    if takes_weights and scored.values.weights is not None:
        weights["sample_weight"] = scored.values.weights * scored.weight_unit
    return lambda: float(scorer(current, X, y, **weights))


class CurrentModel(ClassifierMixin, BaseEstimator):
    """The classifier during a fit, for a scorer; it has the scores of the rows."""

    def __init__(
        self,
        classes: Array,
        objective: LogLoss | CustomClassLoss,
        scores: npt.NDArray[np.float32],
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
    """The regressor during a fit, for a scorer."""

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
    """Raise if a scorer asks for other rows than those of the scores."""
    if len(X) != len(scores):
        raise ValueError(
            f"The scorer asked for predictions of {len(X)} rows; during fit, only the "
            f"complete evaluation set ({len(scores)} rows) can be scored."
        )


@dataclass(kw_only=True)
class RoundReport:
    """Argument of the callbacks of boosting, after each round.

    A callback can set `learning_rate` for the next rounds, as `reset_parameter` of
    LightGBM and `LearningRateScheduler` of XGBoost do.

    Attributes
    ----------
    round : int
        Number of rounds of this fit so far, from 1 on.
    n_rounds : int
        Number of rounds of this fit.
    train_loss : float
        Mean loss of the training rows.
    validation_loss : float or None
        Mean loss of the (last) validation set, if there is one.
    score : float
        Score for early stopping; by default the negative loss.
    model : estimator
        The model during the fit. It cannot predict yet.
    losses : dict of str to float
        Mean losses of all sets by name, "training" first.
    learning_rate : float
        Learning rate of this round. The next rounds use the value that callbacks set.

    See Also
    --------
    CGBoostingClassifier.fit : Its argument `callbacks` gets these objects.
    dics.plot.plot_metric : Drawing of the losses.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGBoostingClassifier
    >>> def decay(report):
    ...     report.learning_rate = 0.3 * 0.99**report.round
    >>> model = CGBoostingClassifier(learning_rate=0.3, n_estimators=20)
    >>> len(model.fit(*load_iris(return_X_y=True), callbacks=[decay]))
    20
    """

    round: int
    n_rounds: int
    train_loss: float
    validation_loss: float | None
    score: float
    model: Any
    losses: dict[str, float]
    learning_rate: float


Callback = Callable[[RoundReport], Any]


class Rounds:
    """History of the rounds, which decides when to stop.

    Parameters
    ----------
    score : callable or None, default=None
        Returns the score for early stopping; None uses the negative loss.
    n_sets : int, default=0
        Number of validation sets. Early stopping uses the last one, or the training
        rows if there is none.
    patience : int or None, default=None
        Rounds without a better score after which to stop; None never stops.
    tol : float, default=0.0
        Minimum improvement of the score.
    report_to : callable or None, default=None
        Called with this object after each round. It can set `learning_rate`, and
        returns True to stop.
    learning_rate : float, default=1.0
        Learning rate of the next round.
    """

    def __init__(
        self,
        *,
        score: Callable[[], float] | None = None,
        n_sets: int = 0,
        patience: int | None = None,
        tol: float = 0.0,
        report_to: Callable[[Rounds], bool] | None = None,
        learning_rate: float = 1.0,
    ) -> None:
        self.score = score
        self.patience = patience
        self.tol = tol
        self.report_to = report_to
        self.learning_rate = learning_rate
        self.progress: Progress | None = None
        self.losses: list[list[float]] = [[] for _ in range(1 + n_sets)]
        self.scores: list[float] = []  # for early stopping
        self.best_round = 0
        self.remark = ""  # text after the losses

    @property
    def train(self) -> list[float]:
        """Scores of the training rows."""
        if self.watches_training and self.score is not None:
            return self.scores
        return [-loss for loss in self.losses[0]]

    @property
    def validation(self) -> list[float]:
        """Scores of the last validation set, if there is one."""
        return [] if self.watches_training else self.scores

    @property
    def watches_training(self) -> bool:
        """True without validation sets."""
        return len(self.losses) == 1

    @property
    def n_done(self) -> int:
        """Number of rounds, without the start."""
        return len(self.scores) - 1

    def note(self, train_loss: float, validation_losses: list[float]) -> float:
        """Store the losses of a round, or of the start.

        Returns the learning rate of the next round, or 0.0 to stop.
        """
        losses = [train_loss, *validation_losses]
        for kept, loss in zip(self.losses, losses, strict=True):
            kept.append(loss)
        # scikit-learn's convention: higher is better.
        score = -losses[-1]
        if self.score is not None:
            score = self.score()
            if np.isnan(score):
                raise ValueError("scoring returned NaN for the evaluation set.")
        elif self.patience is not None and np.isnan(score):
            raise ValueError(
                "Early stopping needs the loss of the validation rows, which is NaN. A "
                "custom loss needs the method loss(y, raw, weight); or set scoring."
            )
        self.scores.append(score)
        done = self.n_done
        if score > self.scores[self.best_round] + self.tol:
            self.best_round = done
        if self.progress is not None:
            self.progress.update(done, self.describe(losses, score))
        stops = False
        if self.report_to is not None and done > 0:  # not for the start
            stops = self.report_to(self)
        if self.patience is not None and done - self.best_round >= self.patience:
            stops = True
        return 0.0 if stops else self.learning_rate

    def describe(self, losses: list[float], score: float | None = None) -> str:
        """Return the losses of a round as text."""
        text = f"loss {losses[0]:.4f}"
        if len(losses) > 1:
            text += f", validation {losses[-1]:.4f}"
        if self.score is not None and score is not None:
            text += f", score {score:.4f}"
        return f"{text}, {self.remark}" if self.remark else text


def check_callbacks(callbacks: Any) -> list[Callback]:
    """Check the callbacks of `fit`."""
    if callbacks is None:
        return []
    if callable(callbacks):
        raise TypeError("callbacks must be a sequence; write callbacks=[...].")
    checked = list(callbacks)
    for callback in checked:
        # Callbacks of LightGBM can be called, but with other arguments.
        if not callable(callback) or hasattr(callback, "before_iteration"):
            raise TypeError(
                "callbacks must be callable with a RoundReport, got "
                f"{callback!r}. To stop early, use early_stopping; to change the "
                "learning rate, set report.learning_rate in a function."
            )
    return checked


def reporter(
    model: Any, callbacks: Sequence[Callback], first: int, names: tuple[str, ...]
) -> Callable[[Rounds], bool] | None:
    """Return a function that calls all callbacks; it returns True if one of them does.

    `first` is the number of rounds before this fit, `names` are those of the
    validation sets.
    """
    if not callbacks:
        return None
    # Rounds of a trial that was kept belong to this fit.
    n_before = len(model.trees_) - first

    def call_all(rounds: Rounds) -> bool:
        losses = [losses[-1] for losses in rounds.losses]
        report = RoundReport(
            round=n_before + rounds.n_done,
            n_rounds=model.plan_.n_estimators - first,
            train_loss=losses[0],
            validation_loss=losses[-1] if names else None,
            score=rounds.scores[-1],
            model=model,
            losses=dict(zip(("training", *names), losses, strict=True)),
            learning_rate=rounds.learning_rate,
        )
        answers = [bool(callback(report)) for callback in callbacks]  # all of them
        rate = report.learning_rate
        if not (isinstance(rate, Real) and 0 < rate < math.inf):
            raise ValueError(
                "The learning_rate that a callback sets must be a positive number, got "
                f"{rate!r} after round {report.round}."
            )
        rounds.learning_rate = float(rate)
        return any(answers)

    return call_all


def warn_of_no_rounds(n_done: int, *, is_given: bool) -> None:
    """Warn that early stopping keeps no round, and name possible causes."""
    cause = (
        "If the validation rows are scaled or encoded differently from X, transform "
        "them as X. A Pipeline transforms only X, unless it is "
        'Pipeline(steps, transform_input=["X_val"]).'
        if is_given
        else "Try a smaller learning_rate, a larger validation_fraction or another "
        "random_state."
    )
    warn_user(
        f"Early stopping keeps none of {n_done} rounds, because none improved the "
        f"score of the validation rows. The model predicts a constant. {cause}"
    )


def joined_scores(before: FloatArray, after: FloatArray, n_before: int) -> FloatArray:
    """Join the scores of two fits; one of them may have no validation rows."""
    if len(before) == len(after) == 0:
        return before
    if len(before) == 0:
        before = np.full(n_before, np.nan)
    return np.concatenate([before, after])
