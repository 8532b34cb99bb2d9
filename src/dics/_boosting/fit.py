"""The fit of boosting: check, plan, place thresholds, encode, run the rounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from dics._boosting.losses import LogLoss, RegressionLoss
from dics._boosting.model import BoostedModel
from dics._boosting.plan import QUALITIES, BoostingPlan, DataProfile, make_plan
from dics._boosting.rounds import (
    Callback,
    Rounds,
    check_callbacks,
    joined_scores,
    reporter,
    scorer_of,
    warn_of_no_rounds,
    watched_score,
)
from dics._boosting.rows import (
    BoostJob,
    CheckedEvalSet,
    CodedRows,
    EvalSet,
    TrainValidationSplit,
    boost_job,
    check_eval_sets,
    kept_splits,
    split_rows,
)
from dics._estimator.arguments import (
    checks_parameters,
    explain_unknown_arguments,
    warn_without_effect,
)
from dics._estimator.running import Progress, warn_user
from dics._input.checks import (
    Array,
    FloatArray,
    RegressionTargets,
    check_offset,
    check_same_rows,
    errors_mention,
    fit_on_copy,
)
from dics._model.checks import check_array, check_vector, require
from dics._model.trees import Trees
from dics._training import LocalRows, TrainingData, TrainingRows
from dics.candidates import CentroidCandidates, fit_candidates
from dics.options import AT_LEAST_ONE, AUTO, GOSS, NOT_NEGATIVE, BoostingOptions

# Scorings that the core computes.
LOSS_SCORINGS = ("loss", "neg_log_loss")
# Parameters and options that a single loss uses.
SETTINGS_OF_LOSSES = {
    "quantile": "quantile",
    "huber_quantile": "huber",
    "tweedie_power": "tweedie",
}
# Losses whose leaf values are quantiles of residuals, of all rows.
RESIDUAL_LOSSES = ("absolute_error", "huber", "quantile")


class Boosting(BoostedModel):
    """Base class of the boosting estimators: one small tree per round."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [AUTO, Interval(Integral, 1, 2**31 - 1, closed="both")],
        "learning_rate": [
            AUTO,
            Interval(Real, 0.0, None, closed="neither"),
        ],
        "quality": [StrOptions(set(QUALITIES))],
        **BoostedModel._parameter_constraints,
        "max_leaf_nodes": [AUTO, Interval(Integral, 2, None, closed="left"), None],
        "max_features": [
            AUTO,
            AT_LEAST_ONE,
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            None,
        ],
        "subsample": [AUTO, Interval(Real, 0.0, 1.0, closed="right")],
        "sampling": [StrOptions({"auto", "goss", "mvs"}), GOSS, None],
        "l2_regularization": [AUTO, NOT_NEGATIVE],
        "min_split_gain": [NOT_NEGATIVE],
        "min_samples_leaf": [AUTO, AT_LEAST_ONE],
        "min_child_weight": [NOT_NEGATIVE],
        "early_stopping": [AUTO, "boolean"],
        "validation_fraction": [
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
            AT_LEAST_ONE,
            None,
        ],
        "n_iter_no_change": [AUTO, AT_LEAST_ONE],
        "scoring": [str, callable, None],
        "interaction_cst": [
            StrOptions({"pairwise", "no_interactions"}),
            "array-like",
            list,
            tuple,
            None,
        ],
        "advanced": [BoostingOptions, None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }
    _options_class = BoostingOptions
    _min_category_samples = 100
    # Names of `set_params`.
    _paper_setting: ClassVar[dict[str, Any]] = {
        "n_estimators": 100,
        "l2_regularization": 0.1,
        "max_depth": 3,
        "max_leaf_nodes": None,
        "min_samples_leaf": 1,
        "advanced__max_candidates": 100,
        "advanced__leaf_values": "sample",
        "advanced__sketch_outputs": None,
    }

    plan_: BoostingPlan
    evals_result_: dict[str, dict[str, list[float]]]
    best_iteration_: int | None
    best_score_: float | None

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return the configuration of the paper: small trees, GOSS, 100 candidates.

        The paper covers classification only. For regression, groups of rows with
        similar targets replace the classes.

        Parameters
        ----------
        **parameters : dict
            Parameters to change, as in `set_params`.

        Returns
        -------
        model : CGBoostingClassifier or CGBoostingRegressor
            The estimator, not fitted.

        Examples
        --------
        >>> from dics import CGBoostingClassifier
        >>> model = CGBoostingClassifier.paper(n_estimators=100, random_state=0)
        >>> model.sampling, model.max_depth, model.advanced.max_candidates
        (GOSS(), 3, 100)
        """
        model = cls(candidates=CentroidCandidates.paper(), sampling=GOSS())
        return model.set_params(**cls._paper_setting).set_params(**parameters)

    @explain_unknown_arguments
    @checks_parameters()
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset_val: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        eval_sample_weight: Any = None,
        eval_offset: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> Self:
        """Fit the model, one tree per round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. float32, float64 and uint8 arrays in any memory order are
            read without a copy; other types are converted. Missing values (NaN) are
            supported: every split learns which side they go to. Infinities are ordinary
            values. A sparse X is not converted to a dense one, and may not store NaN.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels of any type, or targets of regression. With several targets,
            each leaf predicts all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight zero are ignored.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores of the rows: to predictions, to their logarithms
            with the losses "poisson", "gamma" and "tweedie", and to the result of
            `decision_function` of a classifier. For an exposure, use
            ``np.log(exposure)``. It is not part of the model: `predict` without an
            offset uses 0, and so does `score`. Several classes or targets need one
            column for each.
        X_val : array-like or sparse matrix of shape (n_validation, n_features), \
                default=None
            Validation rows for early stopping. `class_weight` applies to them too.
        y_val : array-like of shape (n_validation,), default=None
            Labels or targets of the validation rows.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Weights of the validation rows.
        offset_val : array-like, default=None
            Offset of the validation rows, if there is one in training.
        eval_set : sequence of pairs (X, y), default=None
            Validation sets instead of `X_val` and `y_val`, as in LightGBM and XGBoost.
            `evals_result_` stores the loss of each set. Early stopping uses the last
            one.
        eval_names : sequence of str, default=None
            Names of the sets; None for "validation_0" and so on.
        eval_sample_weight : sequence of array-like or None, default=None
            Weights of the rows of each set.
        eval_offset : sequence of array-like, default=None
            Offsets of the rows of each set, if there is one in training.
        callbacks : sequence of callables, default=None
            Called after each round with a `RoundReport`: the round, the losses, the
            score and the model. If a callback returns True, the fit ends and the rounds
            done so far are kept. If it sets ``report.learning_rate``, the next rounds
            use that rate. An exception in a callback aborts the fit and leaves the
            estimator unchanged.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument or a parameter is not valid, or if parameters contradict each
            other.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import train_test_split
        >>> from dics import CGBoostingClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X, X_val, y, y_val = train_test_split(X, y, random_state=0)
        >>> model = CGBoostingClassifier(n_estimators=500, random_state=0)
        >>> model = model.fit(X, y, X_val=X_val, y_val=y_val)
        >>> model.n_iter_ == model.best_iteration_ < 500
        True
        """
        callbacks = check_callbacks(callbacks)
        sets = check_eval_sets(
            X_val,
            y_val,
            sample_weight_val,
            offset_val,
            eval_set,
            eval_names,
            eval_sample_weight,
            eval_offset,
        )
        with fit_on_copy(self) as model:
            model._fit(X, y, sample_weight, offset, sets, callbacks)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any = None,
        sets: Sequence[EvalSet] = (),
        callbacks: Sequence[Callback] = (),
    ) -> None:
        is_warm_start = self.warm_start and hasattr(self, "trees_")
        n_before = len(self.trees_) if is_warm_start else 0
        check_options(self, n_before)
        loss, data, eval_data = check_data(
            self, X, y, sample_weight, offset, sets, is_warm_start=is_warm_start
        )
        if is_warm_start and n_rounds_in_all(self) == n_before:
            warn_user(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "trees."
            )
            return
        is_constant = loss.is_constant(data)
        stops_early = self.early_stopping
        if is_constant or stops_early == "auto":
            stops_early = len(eval_data) > 0 and not is_constant
        # Rows are held out only if the user gave no validation rows.
        holds_out = stops_early and not eval_data
        split = split_rows(data, self.validation_fraction if holds_out else None)
        self.plan_ = plan_rounds(
            self,
            data,
            split,
            loss,
            stops_early=bool(stops_early),
            is_warm_start=is_warm_start,
        )
        if not is_warm_start:
            self._begin(data, split, loss)
        if is_constant:  # the start predicts it, and gradients are zero
            return
        warn_of_unused(self, loss, holds_out=bool(holds_out))
        coded = self._encode(data)
        announce(self, str(self.plan_))
        found = None
        if self.plan_.n_trials > 0:
            found = self._find_splits(data, coded)
        validation = {name: self._encode(some) for name, some in eval_data.items()}
        training = coded.take(split.training)
        if split.validation is not None:
            validation["validation"] = coded.take(split.validation)
        del coded  # copies of its rows are enough
        rounds = Rounds(
            score=score_of_rounds(self, data, split, eval_data, training, validation),
            n_sets=len(validation),
            patience=self.plan_.n_iter_no_change if stops_early else None,
            tol=self._options.tol,
            report_to=reporter(self, callbacks, n_before, tuple(validation)),
            learning_rate=self.plan_.learning_rate,
        )
        job, (training, *held) = boost_job(self, data, [training, *validation.values()])
        with shown_progress(self, rounds):
            new, used = training.boost(
                job._replace(repeated=found), held, rounds, data.n_threads
            )
        self._keep_rounds(new, used, rounds, tuple(validation))
        if stops_early and self.n_iter_ == 0 and rounds.n_done > 0:
            warn_of_no_rounds(rounds.n_done, is_given=bool(eval_data))

    # --- steps of the fit -------------------------------------------------------

    @abstractmethod
    def _make_loss(self, targets: Any) -> LogLoss | RegressionLoss:
        """Return the loss for checked targets."""

    @abstractmethod
    def _check_eval_set(self, given: EvalSet, training: Any) -> CheckedEvalSet:
        """Check y and weights of a validation set by the targets of training."""

    @abstractmethod
    def _current_model(
        self, rows: CodedRows, offset: FloatArray | None
    ) -> tuple[BaseEstimator, Array]:
        """Return the model during the fit, and y, for the scorer of early stopping."""

    def _eval_rows(self, X: Any) -> TrainingRows:
        """Check X of a validation set, and replace categories by numbers."""
        return LocalRows(self._check_matrix(X))

    def _begin(
        self,
        data: TrainingData,
        split: TrainValidationSplit,
        loss: LogLoss | RegressionLoss,
    ) -> None:
        """Make the dictionary and a model without rounds."""
        # Held-out rows have weight zero, so they do not influence the thresholds.
        self.candidates_ = fit_candidates(
            self,
            data._replace(weights=split.weights),
            self.plan_.default_candidates(),
        )
        self._keep_targets(data)
        self._seed = data.seed
        self._start = loss.begin(data, split.weights)
        self.__dict__.pop("_loss", None)  # of an earlier fit
        if isinstance(loss, RegressionLoss):
            self._loss = loss  # the classes give the log-loss
        self._used_splits = np.empty(0, dtype=np.int64)
        self.trees_ = Trees.empty(loss.n_outputs, data.rows.n_features)
        self.n_iter_ = 0
        self.train_score_, self.validation_score_ = np.zeros(1), np.zeros(0)
        self.evals_result_ = {}
        self.best_iteration_ = self.best_score_ = None

    def _encode(self, data: TrainingData) -> CodedRows:
        """Encode rows, and compute their scores after the earlier rounds."""
        values = self._fitted_loss.core_values(data)
        return data.rows.encode(BoostJob.of(self), values, data.n_threads)

    def _find_splits(self, data: TrainingData, rows: CodedRows) -> Trees:
        """Return the trees of the trials, whose splits the fit uses.

        Each trial holds out other rows, and ends when their loss stops falling. The
        trees of all trials are merged in the order of their rounds.
        """
        plan = self.plan_
        trials = []
        for trial, n_features in enumerate(plan.trial_features):
            self.plan_ = replace(plan, max_features=n_features)
            # Each trial has random numbers of its own.
            sampled = data._replace(seed=data.seed + trial)
            split = split_rows(sampled, plan.trial_fraction)
            sets = [rows.take(split.training), rows.take(split.validation)]
            rounds = Rounds(
                n_sets=1,
                patience=plan.n_iter_no_change,
                learning_rate=plan.learning_rate,
            )
            job, (training, held) = boost_job(self, sampled, sets)
            with shown_progress(self, rounds, f", trial {trial + 1}"):
                new, _ = training.boost(job, [held], rounds, data.n_threads)
            # A model needs a round, also if no round improves the loss.
            trials.append(new.first(max(1, rounds.best_round)))
            announce(
                self,
                f"trial {trial + 1}: lowest held-out loss "
                f"{rounds.losses[-1][rounds.best_round]:.4g} after {rounds.best_round} "
                "rounds",
            )
        self.plan_ = plan.after_trials(sum(map(len, trials)))
        return merged_by_round(trials)

    def _keep_rounds(
        self,
        new: Trees,
        used: npt.NDArray[np.int64],
        rounds: Rounds,
        names: tuple[str, ...],
    ) -> None:
        """Append the new trees; with early stopping, only up to the best round.

        `names` are those of the validation sets.
        """
        if self.plan_.early_stopping:  # rounds after the best one overfit
            new = new.first(rounds.best_round)
        first = 1 if len(self.trees_) else 0  # the start of the first fit is kept
        train = np.array(rounds.train[first:])
        validation = np.array(rounds.validation[first:])
        if len(self.trees_):  # without those of dropped rounds
            end = len(self.trees_) + 1
            train = np.concatenate([self.train_score_[:end], train])
            validation = joined_scores(self.validation_score_[:end], validation, end)
        self.train_score_, self.validation_score_ = train, validation
        self.trees_ = self.trees_.concat(new)
        if not self._options.reuse_splits:  # without the splits of dropped rounds
            self._used_splits = kept_splits(self._used_splits, used, new)
        self.n_iter_ = len(self.trees_)
        self.best_iteration_ = self.best_score_ = None
        if self.plan_.early_stopping:
            self.best_iteration_ = self.n_iter_
            self.best_score_ = rounds.scores[rounds.best_round]
        names, loss = ("training", *names), self._fitted_loss.name
        self.evals_result_ = {
            name: {loss: losses[1:]}
            for name, losses in zip(names, rounds.losses, strict=True)
        }
        if rounds.score is not None:
            scoring = self.scoring if isinstance(self.scoring, str) else "score"
            self.evals_result_[names[-1]][scoring] = rounds.scores[1:]


def check_options(model: Boosting, n_before: int) -> None:
    """Check combinations of parameters, before any work."""
    if model.scoring not in LOSS_SCORINGS:
        scorer_of(model)
    check_loss_settings(model)
    if n_before > 0 and n_rounds_in_all(model) < n_before:
        raise ValueError(
            f"n_estimators={model.n_estimators} must be larger or equal to "
            f"n_iter_={n_before} when warm_start==True"
        )
    if model.subsample == "auto":
        return
    if model.sampling == "goss" or isinstance(model.sampling, GOSS):
        raise ValueError(
            f"subsample={model.subsample} cannot be used with "
            f"sampling={model.sampling!r}; set the fractions by "
            "sampling=GOSS(top_rate=..., other_rate=...)."
        )
    if model.sampling is None and model.subsample < 1:
        raise ValueError(
            f"subsample={model.subsample} needs sampling='mvs' or 'auto', got "
            "sampling=None, which uses all rows."
        )


def check_loss_settings(model: Boosting) -> None:
    """Raise if a parameter or an option belongs to another loss."""
    given, default = (
        {**vars(other), **vars(other._options)} for other in (model, type(model)())
    )
    loss = given["loss"]
    for name, owner in SETTINGS_OF_LOSSES.items():
        value: Any = given.get(name)
        usual: Any = default.get(name)
        # Several quantiles are a sequence; usual values need no slow comparison.
        if loss != owner and value is not usual and not np.array_equal(value, usual):
            raise ValueError(
                f"{name}={value!r} has no effect with loss={loss!r}. Set "
                f"loss={owner!r}, or leave {name} at {usual!r}."
            )


def warn_of_unused(
    model: Boosting, loss: LogLoss | RegressionLoss, *, holds_out: bool
) -> None:
    """Warn of parameters that the plan of a fit does not use."""
    if not model.plan_.early_stopping:
        names = ["validation_fraction", "scoring", "advanced.tol"]
        if model.plan_.n_trials == 0:
            names.append("n_iter_no_change")
        reason = "this fit does not stop early; set early_stopping=True"
        warn_without_effect(model, names, reason)
    elif not holds_out:
        reason = "fit has validation rows"
        warn_without_effect(model, ["validation_fraction"], reason)
    if loss.name in RESIDUAL_LOSSES:
        reason = f"loss={loss.name!r} needs all rows"
        warn_without_effect(model, ["advanced.leaf_values"], reason)
    elif model.plan_.sampling is None:
        reason = "each round uses all rows; see sampling"
        warn_without_effect(model, ["advanced.leaf_values"], reason)


def check_data(
    model: Boosting,
    X: Any,
    y: Any,
    sample_weight: Any,
    offset: Any,
    sets: Sequence[EvalSet],
    *,
    is_warm_start: bool,
) -> tuple[LogLoss | RegressionLoss, TrainingData, dict[str, TrainingData]]:
    """Check all arguments of `fit`; return the loss and the data of all sets."""
    checked = model._check_input(X, y, sample_weight, is_warm_start=is_warm_start)
    # Errors in small arrays come before the work on X.
    loss = model._fitted_loss if is_warm_start else model._make_loss(checked.targets)
    offset = check_offset(
        offset, len(checked.rows), loss.n_offsets, loss.largest_offset
    )
    held_targets = check_eval_targets(
        model, sets, checked.targets, loss, has_offset=offset is not None
    )
    if offset is not None and loss.subtracts_offset:
        left = RegressionTargets(checked.targets.values - offset)
        checked = checked._replace(targets=left)
    data = model._training_data(
        checked,
        is_warm_start=is_warm_start,
        # Constraints and thresholds that users give belong to columns of X.
        takes_pairs=model._categorical.pairs
        and model.candidates is None
        and not model.interaction_cst,
        n_outputs=loss.n_outputs,
    )._replace(offset=offset)
    return loss, data, check_eval_rows(model, sets, held_targets, data)


def check_eval_targets(
    model: Boosting,
    sets: Sequence[EvalSet],
    training: Any,
    loss: LogLoss | RegressionLoss,
    *,
    has_offset: bool,
) -> list[CheckedEvalSet]:
    """Check all but X of the validation sets, before the numbers of X are read."""
    checked = []
    for given in sets:
        with errors_mention(given.where):
            found = model._check_eval_set(given, training)
            offset = check_offset(
                given.offset, found.n_rows, loss.n_offsets, loss.largest_offset
            )
            if has_offset and offset is None:
                raise ValueError(
                    "The training rows have an offset, but these rows have none. Pass "
                    "offset_val or eval_offset; zeros have no effect."
                )
            if offset is not None and not has_offset:
                raise ValueError(
                    "These rows have an offset, but the training rows have none. Pass "
                    "offset; zeros have no effect."
                )
            if offset is not None and loss.subtracts_offset:
                assert found.values is not None
                found = found._replace(values=found.values - offset)
        checked.append(found._replace(offset=offset))
    return checked


def check_eval_rows(
    model: Boosting,
    sets: Sequence[EvalSet],
    targets: list[CheckedEvalSet],
    data: TrainingData,
) -> dict[str, TrainingData]:
    """Check X of the validation sets, and return their data by name."""
    found = {}
    for given, target in zip(sets, targets, strict=True):
        with errors_mention(given.where):
            rows = model._eval_rows(given.X)
            check_same_rows(target.n_rows, len(rows))
        found[given.name] = data._replace(rows=rows, **target._asdict())
    return found


def n_rounds_in_all(model: Boosting) -> int:
    """Return the number of rounds after a warm start."""
    asked = model.n_estimators
    return model.plan_.n_estimators if asked == "auto" else int(asked)


def plan_rounds(
    model: Boosting,
    data: TrainingData,
    split: TrainValidationSplit,
    loss: LogLoss | RegressionLoss,
    *,
    stops_early: bool,
    is_warm_start: bool,
) -> BoostingPlan:
    """Resolve every "auto", by the training rows only."""
    n_rows = len(data.rows) if split.training is None else len(split.training)
    profile = DataProfile(
        n_rows=n_rows,
        n_features=data.rows.n_features,
        # The rules for classes presume that hessians are those of the log-loss.
        n_classes=data.n_classes if isinstance(loss, LogLoss) else 0,
        n_outputs=loss.n_outputs,
        has_categories=model._categories is not None,
    )
    plan = make_plan(
        {**model.get_params(deep=False), **model._options.get_params()},
        profile,
        early_stopping=stops_early,
    )
    if is_warm_start:  # the dictionary and the trials are those of the first fit
        plan = replace(plan, max_bins=model.plan_.max_bins, trial_features=())
        if model.learning_rate == "auto" and model.plan_.n_trials > 0:
            plan = replace(plan, learning_rate=model.plan_.learning_rate)
    return plan


def score_of_rounds(
    model: Boosting,
    data: TrainingData,
    split: TrainValidationSplit,
    eval_data: dict[str, TrainingData],
    training: CodedRows,
    validation: dict[str, CodedRows],
) -> Callable[[], float] | None:
    """Return the score for early stopping; None if it is the loss of the core."""
    if not model.plan_.early_stopping or model.scoring in LOSS_SCORINGS:
        return None
    last = list(eval_data.values())[-1] if eval_data else None
    return watched_score(model, data, split, last, training, validation)


@contextmanager
def shown_progress(
    model: Boosting, rounds: Rounds, note: str = ""
) -> Generator[None, None, None]:
    """Show the progress of the next rounds if the model is verbose."""
    if not model.verbose:
        yield
        return
    n_rounds = model.plan_.n_estimators - len(model.trees_)
    with Progress(type(model).__name__ + note, n_rounds, "rounds") as progress:
        rounds.progress = progress
        yield
        progress.total = rounds.n_done  # early stopping may end them


def merged_by_round(models: list[Trees]) -> Trees:
    """Return the trees of several models, in the order of their relative round."""
    places = np.concatenate([(np.arange(len(m)) + 0.5) / len(m) for m in models])
    first, *others = models
    return first.concat(*others).reordered(np.argsort(places, kind="stable"))


def announce(model: Boosting, text: str) -> None:
    """Print a line if the model is verbose."""
    if model.verbose:
        Progress(type(model).__name__, 0, "rounds").announce(text)


def check_rounds(model: Boosting) -> None:
    """Check the rounds of an untrusted model."""
    check_vector("the start", vars(model).get("_start"), model._fitted_loss.n_outputs)
    require(model._start.dtype == np.float32, "the start must be float32")
    require(model.trees_.criterion == "", "the trees are not those of boosting")
    require(model.trees_.leaf_values.dtype == np.float32, "leaf_values must be float32")
    require(
        vars(model).get("n_iter_") == len(model.trees_),
        f"n_iter_ is not {len(model.trees_)}",
    )
    used: Any = vars(model).get("_used_splits")
    check_array("used splits", used, np.int64, (None,))
    n_splits = len(model.candidates_._dictionary.values)
    require((used >= 0) & (used < n_splits), "a used split does not exist")
