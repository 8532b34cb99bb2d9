"""The fit of boosting: check, plan, place thresholds, encode, run the rounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dics._boosting.losses import LogLoss, RegressionLoss
from dics._boosting.plan import (
    TRIAL_PATIENCE,
    BoostingPlan,
    DataProfile,
    make_plan,
)
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
    effective_n_threads,
    explain_unknown_arguments,
)
from dics._estimator.base import TreesEstimator
from dics._estimator.running import Progress, warn_user
from dics._input.categories import Categories
from dics._input.checks import (
    Array,
    FloatArray,
    check_same_rows,
    errors_mention,
    fit_on_copy,
)
from dics._input.sparse import SparseRows
from dics._model.checks import check_array, check_vector, require
from dics._model.trees import Trees
from dics._training import LocalRows, TrainingData, TrainingRows
from dics.candidates import CentroidCandidates, fit_candidates
from dics.options import AT_LEAST_ONE, AUTO, GOSS, NOT_NEGATIVE, BoostingOptions

# Scorings that the core computes.
LOSS_SCORINGS = ("loss", "neg_log_loss")


@dataclass(frozen=True, eq=False)
class RoundTree:
    """The tree of one round of boosting, ``model[t]``, for `dics.export`.

    Leaves store the values that they add to the scores (`decision_function` of
    classifiers). Splits store the decrease of the loss.

    Attributes
    ----------
    trees_ : Trees
        The tree, as views of the arrays of the model.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,) or None
        None if X had no string column names.
    classes_ : ndarray or None
        Class labels, with three or more classes: a leaf has one value per class.
    """

    trees_: Trees
    n_features_in_: int
    feature_names_in_: Array | None
    classes_: Array | None
    _categories: Categories | None = None

    @classmethod
    def of(cls, model: Boosting, t: int) -> RoundTree:
        """Return the tree of round t of a fitted model."""
        tree = model.trees_[t]
        return cls(
            trees_=tree,
            n_features_in_=model.n_features_in_,
            feature_names_in_=getattr(model, "feature_names_in_", None),
            classes_=getattr(model, "classes_", None) if tree.n_classes > 1 else None,
            _categories=model._categories,
        )

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf."""
        return int(self.trees_.node_depths().max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.trees_.n_leaves


class Boosting(TreesEstimator):
    """Base class of the boosting estimators: one small tree per round."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [AUTO, Interval(Integral, 1, 2**31 - 1, closed="both")],
        "learning_rate": [
            AUTO,
            Interval(Real, 0.0, None, closed="neither"),
        ],
        **TreesEstimator._parameter_constraints,
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
        "n_iter_no_change": [AT_LEAST_ONE],
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
    _start: npt.NDArray[np.float32]  # scores before the first round
    _loss: RegressionLoss  # of a regressor

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
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        eval_sample_weight: Any = None,
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
            Class labels of any type, or targets of regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight zero are ignored.
        X_val : array-like or sparse matrix of shape (n_validation, n_features), \
                default=None
            Validation rows for early stopping. `class_weight` applies to them too.
        y_val : array-like of shape (n_validation,), default=None
            Their labels or targets.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Their weights.
        eval_set : sequence of pairs (X, y), default=None
            Validation sets instead of `X_val` and `y_val`, as in LightGBM and XGBoost.
            `evals_result_` stores the loss of each set. Early stopping uses the last
            one.
        eval_names : sequence of str, default=None
            Names of the sets; None for "validation_0" and so on.
        eval_sample_weight : sequence of array-like or None, default=None
            Weights of the rows of each set.
        callbacks : sequence of callables, default=None
            Called after each round with a `RoundReport`: the round, the losses, the
            score and the model. If a callback returns True, the fit ends and the rounds
            done so far are kept. An exception in a callback aborts the fit and leaves
            the estimator unchanged.

        Returns
        -------
        self : object
        """
        callbacks = check_callbacks(callbacks)
        sets = check_eval_sets(
            X_val, y_val, sample_weight_val, eval_set, eval_names, eval_sample_weight
        )
        with fit_on_copy(self) as model:
            model._fit(X, y, sample_weight, sets, callbacks)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        sets: Sequence[EvalSet] = (),
        callbacks: Sequence[Callback] = (),
    ) -> None:
        is_warm_start = self.warm_start and hasattr(self, "trees_")
        n_before = len(self.trees_) if is_warm_start else 0
        check_options(self, n_before)
        checked = self._check_input(X, y, sample_weight, is_warm_start=is_warm_start)
        # Errors in small arrays come before the work on X.
        held_targets = check_eval_targets(self, sets, checked.targets)
        loss = self._make_loss(checked.targets)
        data = self._training_data(
            checked,
            is_warm_start=is_warm_start,
            # Constraints and thresholds that users give belong to columns of X.
            takes_pairs=self._categorical.pairs
            and self.candidates is None
            and not self.interaction_cst,
            n_outputs=loss.n_outputs,
        )
        eval_data = check_eval_rows(self, sets, held_targets, data)
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
            has_validation=len(eval_data) > 0,
            is_warm_start=is_warm_start,
        )
        if not is_warm_start:
            self._begin(data, split, loss)
        if is_constant:  # the start predicts it, and gradients are zero
            self.n_iter_ = 0
            self.train_score_, self.validation_score_ = np.zeros(1), np.zeros(0)
            self.evals_result_ = {}
            self.best_iteration_ = self.best_score_ = None
            return
        coded = self._encode(data)
        announce(self, str(self.plan_))
        trial = None
        if self.plan_.n_trial_rounds > 0 and n_before == 0:
            trial = self._run_trial(data, coded, callbacks)
            if trial is not None and trial.n_done < self.plan_.n_trial_rounds:
                return  # a callback has ended the fit
        training = coded.take(split.training)
        validation = {name: self._encode(some) for name, some in eval_data.items()}
        if split.validation is not None:
            validation["validation"] = coded.take(split.validation)
        del coded  # copies of its rows are enough
        score = None
        if stops_early and self.scoring not in LOSS_SCORINGS:
            last = list(eval_data.values())[-1].rows if eval_data else None
            score = watched_score(self, data.rows, split, last, training, validation)
        rounds = Rounds(
            score=score,
            n_sets=len(validation),
            patience=self.n_iter_no_change if stops_early else None,
            tol=self._options.tol,
            report_to=reporter(self, callbacks, n_before, tuple(validation)),
        )
        job, (training, *held) = boost_job(self, data, [training, *validation.values()])
        with progress_of(self, rounds) as progress:
            new, used = training.boost(job, held, rounds, data.n_threads)
            progress.stopped_at = rounds.n_done
        self._keep_rounds(new, used, rounds, tuple(validation), trial)
        if stops_early and self.n_iter_ == 0 and rounds.n_done > 0:
            warn_of_no_rounds(rounds.n_done, is_given=bool(eval_data))

    # --- steps of the fit -------------------------------------------------------

    @property
    @abstractmethod
    def _fitted_loss(self) -> Any:
        """The loss of the first fit: `LogLoss` or a `RegressionLoss`."""

    @abstractmethod
    def _make_loss(self, targets: Any) -> LogLoss | RegressionLoss:
        """Return the loss for checked targets."""

    @abstractmethod
    def _check_eval_set(self, given: EvalSet, training: Any) -> CheckedEvalSet:
        """Check y and weights of a validation set by the targets of training."""

    @abstractmethod
    def _current_model(self, rows: CodedRows) -> tuple[BaseEstimator, Array]:
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
        if isinstance(loss, RegressionLoss):
            self._loss = loss  # classes give that of a classifier
        self._used_splits = np.empty(0, dtype=np.int64)
        self.trees_ = Trees.empty(loss.n_outputs, data.rows.n_features)

    def _encode(self, data: TrainingData) -> CodedRows:
        """Encode rows, and compute their scores after the earlier rounds."""
        labels, targets = self._fitted_loss.core_targets(data)
        return data.rows.encode(
            BoostJob.of(self), labels, targets, data.weights, data.n_threads
        )

    def _run_trial(
        self, data: TrainingData, rows: CodedRows, callbacks: Sequence[Callback]
    ) -> Rounds | None:
        """Run a trial on a part of the rows, and choose the learning rate by it.

        Returns the rounds of the trial if they are kept, or None.
        """
        plan, trial = self.plan_, Rounds(patience=TRIAL_PATIENCE, n_sets=1)
        split = split_rows(data, plan.trial_fraction)
        assert split.training is not None
        assert split.validation is not None
        training, held = rows.take(split.training), rows.take(split.validation)
        # The settings of the core come from the plan, so the trial has its own.
        self.plan_ = replace(plan, n_estimators=plan.n_trial_rounds)
        job, sets = boost_job(self, data, [training, held])  # they share the scores
        with progress_of(self, trial, ", trial") as progress:
            new, used = sets[0].boost(job, sets[1:], trial, data.n_threads)
            progress.stopped_at = trial.n_done
        # The loss of the held-out rows no longer falls: the rate is too large.
        if trial.n_done - trial.best_round >= TRIAL_PATIENCE:
            self.plan_ = plan.after_trial(
                trial.best_round, self.n_estimators, self.max_leaf_nodes
            )
            announce(
                self,
                f"trial: lowest held-out loss after {trial.best_round} rounds; using "
                f"n_estimators={self.plan_.n_estimators}, "
                f"learning_rate={self.plan_.learning_rate:g}, "
                f"max_leaf_nodes={self.plan_.max_leaf_nodes}",
            )
            return None
        self.plan_ = plan
        rows.put(split.training, training)
        rows.put(split.validation, held)
        # The rounds are kept, so callbacks get their reports now.
        rounds = Rounds(report_to=reporter(self, callbacks, 0, ()))
        fraction = held.total_weight() / (held.total_weight() + training.total_weight())
        for loss, held_loss in zip(*trial.losses, strict=True):
            # The loss of all rows, as in the rounds that follow.
            if rounds.note((1 - fraction) * loss + fraction * held_loss, []):
                break
        self._keep_rounds(new.first(rounds.n_done), used, rounds)
        return rounds

    def _keep_rounds(
        self,
        new: Trees,
        used: npt.NDArray[np.int64],
        rounds: Rounds,
        names: tuple[str, ...] = (),
        trial: Rounds | None = None,
    ) -> None:
        """Append the new trees; with early stopping, only up to the best round.

        `names` are those of the validation sets, `trial` the kept rounds of a trial.
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
        if trial is not None:
            self.evals_result_["training"][loss][:0] = trial.losses[0][1:]
        if rounds.score is not None:
            scoring = self.scoring if isinstance(self.scoring, str) else "score"
            self.evals_result_[names[-1]][scoring] = rounds.scores[1:]

    # --- the fitted model -------------------------------------------------------

    def _scores(self, X: Any) -> npt.NDArray[np.float32]:
        X = self._check_rows(X)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = effective_n_threads(self.n_jobs)
        self.trees_.add_values(X, scores, n_threads=n_threads)
        return scores

    def _staged_scores(self, X: Any) -> Iterator[npt.NDArray[np.float32]]:
        X = self._check_rows(X)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = effective_n_threads(self.n_jobs)
        # One tree at a time: stages cost no more than one prediction.
        for t in range(len(self.trees_)):
            self.trees_[t].add_values(X, scores, n_threads=n_threads)
            yield scores

    def __len__(self) -> int:
        """Return the number of rounds."""
        check_is_fitted(self, "trees_")
        return len(self.trees_)

    def __bool__(self) -> bool:
        return True  # also without rounds

    def __getitem__(self, index: Any) -> Any:
        """Return the tree of one round, or a list of them for a slice.

        See `dics.export` and `dics.plot` for text and pictures of it.
        """
        indices = range(len(self))[index]
        if isinstance(indices, range):
            return [RoundTree.of(self, t) for t in indices]
        return RoundTree.of(self, indices)

    @property
    def feature_importances_(self) -> FloatArray:
        """Total gain of the splits of each feature, normalized to sum to one."""
        check_is_fitted(self, "trees_")
        gains = self.trees_.feature_importances(self.trees_.n_features)
        known = self._categories
        return gains if known is None else known.fold_back_pairs(gains)

    @property
    def split_counts_(self) -> npt.NDArray[np.intp]:
        """Number of splits of each feature; those of a pair count for both."""
        check_is_fitted(self, "trees_")
        features = self.trees_.feature[self.trees_.inner]
        counts = np.bincount(features, minlength=self.trees_.n_features)
        if self._categories is None:
            return counts
        # `by_feature` gives half of a pair to each of its features.
        doubled = self._categories.fold_back_pairs(2 * counts.astype(np.float64))
        return (doubled - counts[: self.n_features_in_]).astype(np.intp)

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        n_threads = effective_n_threads(self.n_jobs)
        added = self.trees_.contributions(X, n_threads=n_threads)
        added[:, -1] += self._start
        return added


def check_options(model: Boosting, n_before: int) -> None:
    """Check combinations of parameters, before any work."""
    if model.scoring not in LOSS_SCORINGS:
        scorer_of(model)
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


def check_eval_targets(
    model: Boosting, sets: Sequence[EvalSet], training: Any
) -> list[CheckedEvalSet]:
    """Check y and weights of the validation sets, before the numbers of X are read."""
    checked = []
    for given in sets:
        with errors_mention(given.where):
            checked.append(model._check_eval_set(given, training))
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
    has_validation: bool,
    is_warm_start: bool,
) -> BoostingPlan:
    """Resolve every "auto", by the training rows only."""
    n_rows = len(data.rows) if split.training is None else len(split.training)
    profile = DataProfile(
        n_rows=n_rows,
        n_features=data.rows.n_features,
        n_classes=0 if data.values is not None else data.n_classes,
        n_outputs=loss.n_outputs,
        has_categories=model._categories is not None,
    )
    plan = make_plan(
        {**model.get_params(deep=False), **model._options.get_params()},
        profile,
        early_stopping=stops_early,
        has_validation=has_validation,
    )
    if is_warm_start:  # the dictionary and the trial are those of the first fit
        plan = replace(plan, max_bins=model.plan_.max_bins)
        if model.learning_rate == "auto" and model.plan_.n_trial_rounds > 0:
            plan = replace(plan, learning_rate=model.plan_.learning_rate)
            if model.max_leaf_nodes == "auto":
                plan = replace(plan, max_leaf_nodes=model.plan_.max_leaf_nodes)
    return plan


def progress_of(model: Boosting, rounds: Rounds, note: str = "") -> Progress:
    """Return the progress of the next rounds, which `rounds` updates."""
    n_rounds = model.plan_.n_estimators - len(model.trees_)
    title = type(model).__name__ + note
    progress = Progress(title, n_rounds, "rounds", enabled=bool(model.verbose))
    rounds.progress = progress
    return progress


def announce(model: Boosting, text: str) -> None:
    """Print a line if the model is verbose."""
    title = type(model).__name__
    Progress(title, 0, "rounds", enabled=bool(model.verbose)).announce(text)


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
