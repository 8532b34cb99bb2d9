"""The fit of boosting: check, plan, place thresholds, encode, run the rounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._boosting.plan import (
    TRIAL_PATIENCE,
    BoostingPlan,
    make_plan,
    trial_share,
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
    BoostCall,
    CodedRows,
    GivenRows,
    Parts,
    Validation,
    check_eval_sets,
    core_fields,
    kept_splits,
    part_rows,
)
from dics._dictionary import TrainingData, encode_or_list
from dics._estimator.arguments import checks_parameters, explain_unknown_arguments
from dics._estimator.base import TreesEstimator
from dics._estimator.running import Progress, warn_user
from dics._growing.constraints import interaction_groups, monotonic_directions
from dics._input.categories import Categories
from dics._input.checks import (
    Array,
    FloatArray,
    check_same_rows,
    errors_mention,
    fit_on_copy,
)
from dics._input.rows import RemoteRows
from dics._input.sparse import SparseRows
from dics._model.checks import check_array, check_vector, require
from dics._model.trees import Trees
from dics.candidates import CentroidCandidates, fit_candidates
from dics.options import AT_LEAST_ONE, AUTO, GOSS, NOT_NEGATIVE, BoostingOptions

# Names of what the core computes itself.
LOSSES = ("loss", "neg_log_loss")


class BoostedModel(TreesEstimator):
    """Trees of rounds, whose values are added to a start."""

    _start: npt.NDArray[np.float32]  # scores before the first round

    def _scores(self, X: Any) -> npt.NDArray[np.float32]:
        X = self._check_rows(X)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = self._n_threads()
        self.trees_.add_values(X, scores, n_threads=n_threads)
        return scores

    def _staged_scores(self, X: Any) -> Iterator[npt.NDArray[np.float32]]:
        X = self._check_rows(X)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = self._n_threads()
        for t in range(len(self.trees_)):
            self.trees_[t].add_values(X, scores, n_threads=n_threads)
            yield scores

    def __len__(self) -> int:
        """Return the number of rounds."""
        check_is_fitted(self, "trees_")
        return len(self.trees_)

    def __bool__(self) -> bool:
        return True  # a model without rounds is one, too

    def __getitem__(self, index: Any) -> Any:
        """Return the tree of one round, or a list of them for a slice.

        See `dics.export` for pictures of it.
        """
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._round_tree(t) for t in numbers]
        return self._round_tree(numbers)

    def _round_tree(self, t: int) -> RoundTree:
        tree = self.trees_[t]
        return RoundTree(
            trees_=tree,
            n_features_in_=self.n_features_in_,
            feature_names_in_=getattr(self, "feature_names_in_", None),
            classes_=getattr(self, "classes_", None) if tree.n_classes > 1 else None,
            _categories=self._categories,
        )

    @property
    def feature_importances_(self) -> FloatArray:
        """Total gain of the splits of each feature, normalised to sum to one."""
        check_is_fitted(self, "trees_")
        n_columns = self.n_features_in_ + self._n_pairs
        return self._by_feature(self.trees_.feature_importances(n_columns))

    @property
    def split_counts_(self) -> npt.NDArray[np.intp]:
        """Number of splits of each feature; those of a pair count for both."""
        check_is_fitted(self, "trees_")
        features = self.trees_.feature[self.trees_.inner]
        n_columns = self.n_features_in_ + self._n_pairs
        counts = np.bincount(features, minlength=n_columns)
        doubled = self._by_feature(2 * counts.astype(np.float64))
        own = counts[: self.n_features_in_]
        return (doubled - own).astype(np.intp)

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        added = self.trees_.contributions(X, n_threads=self._n_threads())
        added[:, -1] += self._start
        return added

    def _check_rounds(self) -> None:
        """Check the rounds of an untrusted model."""
        check_vector("the start", vars(self).get("_start"), self._n_leaf_values())
        require(self._start.dtype == np.float32, "the start is not in single precision")
        require(self.trees_.criterion == "", "the trees are not those of boosting")
        require(self.trees_.leaf_values.dtype == np.float32, "leaf_values are too wide")
        require(
            vars(self).get("n_iter_") == len(self.trees_),
            f"n_iter_ is not {len(self.trees_)}",
        )
        used: Any = vars(self).get("_used_splits")
        check_array("used splits", used, np.int64, (None,))
        n_splits = len(self.candidates_._dictionary.values)
        require((used >= 0) & (used < n_splits), "a used split isn't there")


@dataclass(frozen=True, eq=False)
class RoundTree:
    """The tree of one round of boosting, ``model[t]``, for `dics.export`.

    Its leaves hold what they add to the scores (`decision_function`; of regressors to
    what `predict` makes predictions of), and its splits what they gain of the loss.

    Attributes
    ----------
    trees_ : Trees
        The tree alone, as views of the model's arrays.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,) or None
        None if X had no string column names.
    classes_ : ndarray or None
        Labels of the classes, if there are more than two: a leaf has a value for each.
    """

    trees_: Trees
    n_features_in_: int
    feature_names_in_: Array | None
    classes_: Array | None
    _categories: Categories | None = None

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf."""
        return int(self.trees_.node_depths().max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.trees_.n_leaves


class Boosting(BoostedModel):
    """Gradient boosting with one small tree a round, whatever it predicts."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [AUTO, Interval(Integral, 1, 2**31 - 1, closed="both")],
        "learning_rate": [
            AUTO,
            Interval(Real, 0.0, None, closed="neither"),
        ],
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

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Make the paper's own setting: small trees from GOSS and 100 candidates.

        The paper has classes only; for a regressor, groups of rows with like targets
        take their place.

        Parameters
        ----------
        **parameters : dict
            Parameters to set in addition, or instead, as in `set_params`.

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

    # --- hooks for what is predicted ----------------------------------------

    @abstractmethod
    def _n_outputs(self, data: TrainingData) -> int:
        """Return the number of scores of each row."""

    @abstractmethod
    def _begin_scores(self, data: TrainingData, weights: FloatArray | None) -> None:
        """Set `_start`, and whatever else predictions need besides the trees."""

    @abstractmethod
    def _core_targets(
        self, data: TrainingData
    ) -> tuple[npt.NDArray[np.uint32] | None, npt.NDArray[np.float32] | None]:
        """Return labels or targets of rows, as the core wants them."""

    def _is_constant(self, data: TrainingData) -> bool:
        """Tell whether there is nothing to learn."""
        return data.n_classes == 1

    # Scores of the core times this are our own; powers of two, for each output.
    _score_unit: FloatArray | None = None
    # What a loss of the core is worth.
    _loss_unit: float = 1.0
    _default_scoring: ClassVar[str]

    @abstractmethod
    def _check_held_targets(self, y: Any) -> Any:
        """Check the y of validation rows by itself."""

    @abstractmethod
    def _check_validation(self, given: GivenRows, training: Any) -> Validation:
        """Check y and weights of validation rows that were given to `fit`.

        `training` are the targets of the training rows.
        """

    @abstractmethod
    def _loss_name(self) -> str:
        """Return what `evals_result_` calls the loss."""

    @abstractmethod
    def _watched_model(self, watched: CodedRows) -> tuple[BaseEstimator, Array]:
        """Return what a scorer of early stopping wants: the current model, and y."""

    # --- fit ----------------------------------------------------------------

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
        """Grow the trees.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. float32, float64 and uint8 arrays in any memory order are
            read in place; other numbers are converted. NaN is a value of its own:
            each split learns the side it takes. Infinities are ordinary values. What a
            sparse X doesn't store is zero; it gets no dense copy and may hold no NaN.
        y : array-like of shape (n_samples,)
            Class labels, of any type. Of a regressor: numbers, or several of them for
            each row, (n_samples, n_outputs).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight zero are left out.
        X_val : array-like or sparse matrix of shape (n_validation, n_features), \
                default=None
            Validation rows for early stopping. `class_weight` counts for them too.
        y_val : array-like of shape (n_validation,), default=None
            Their labels or targets.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Their weights.
        eval_set : sequence of pairs (X, y), default=None
            Validation sets instead of `X_val` and `y_val`, as in LightGBM and XGBoost:
            the loss of each is kept in `evals_result_`, and early stopping looks at the
            last.
        eval_names : sequence of str, default=None
            What they are called; None for "validation_0" and so on.
        eval_sample_weight : sequence of array-like or None, default=None
            The weights of the rows of each.
        callbacks : sequence of callables, default=None
            Called after each round, each with a `RoundReport`: the number of the round,
            the losses, the score and the model. One that returns True ends the fit,
            and the rounds done are kept; what one raises ends it without a trace.

        Returns
        -------
        self : object
        """
        told = check_callbacks(callbacks)
        with fit_on_copy(self) as model:
            sets = check_eval_sets(
                X_val,
                y_val,
                sample_weight_val,
                eval_set,
                eval_names,
                eval_sample_weight,
            )
            model._fit(X, y, sample_weight, sets, told)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        sets: list[GivenRows],
        callbacks: list[Callback],
    ) -> None:
        is_warm_start = self.warm_start and hasattr(self, "trees_")
        n_done = len(self.trees_) if is_warm_start else 0
        self._check_options(n_done)
        held: dict[str, Validation] = {}
        data = self._check_training_data(
            X,
            y,
            sample_weight,
            is_warm_start=is_warm_start,
            check_more=lambda targets: held.update(self._held_targets(sets, targets)),
        )
        given = {rows.name: self._held_rows(rows, held[rows.name]) for rows in sets}
        if is_warm_start and self._n_rounds_in_all() == n_done:
            warn_user(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "trees."
            )
            return
        stops_early = self._stops_early(data, given)
        held_out = self.validation_fraction if stops_early and not given else None
        parts = part_rows(data, held_out)
        self.plan_ = self._make_plan(
            data,
            parts,
            stops_early=stops_early,
            has_validation=len(given) > 0,
            is_warm_start=is_warm_start,
        )
        if not is_warm_start:
            self._begin(data, parts)
        if self._is_constant(data):
            self.n_iter_ = 0
            self.train_score_, self.validation_score_ = np.zeros(1), np.zeros(0)
            self.evals_result_ = {}
            self.best_iteration_ = self.best_score_ = None
        else:
            self._boost(data, parts, given, callbacks)

    def _check_constraints(self) -> None:
        super()._check_constraints()
        if self.interaction_cst is not None:
            interaction_groups(self)

    def _held_targets(
        self, sets: list[GivenRows], training: Any
    ) -> Iterator[tuple[str, Validation]]:
        """Check the targets and weights of validation sets; X is as it was given."""
        for given in sets:
            with errors_mention(given.where):
                yield given.name, self._check_validation(given, training)

    def _held_rows(self, given: GivenRows, checked: Validation) -> Validation:
        """Check the X of a validation set."""
        with errors_mention(given.where):
            X = self._check_matrix(given.X)
            check_same_rows(checked.n_rows, len(X))
        return checked._replace(X=X)

    def _check_options(self, n_done: int) -> None:
        """Check what is asked for, before any work."""
        if self.scoring not in LOSSES:
            scorer_of(self)
        if n_done > 0 and self._n_rounds_in_all() < n_done:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"n_iter_={n_done} when warm_start==True"
            )
        if self.subsample == "auto":
            return
        if self.sampling == "goss" or isinstance(self.sampling, GOSS):
            raise ValueError(
                f"subsample={self.subsample} can not be used with "
                f"sampling={self.sampling!r}; set the fractions by "
                "sampling=GOSS(top_rate=..., other_rate=...)."
            )
        if self.sampling is None and self.subsample < 1:
            raise ValueError(
                f"subsample={self.subsample} needs sampling='mvs' or 'auto', got "
                "sampling=None, which uses all rows."
            )

    def _n_rounds_in_all(self) -> int:
        """Return the rounds that a warm start is to end with."""
        asked = self.n_estimators
        return self.plan_.n_estimators if asked == "auto" else int(asked)

    def _directions(self, data: TrainingData) -> list[int]:
        if self.monotonic_cst is None:
            return []
        return monotonic_directions(self, data, self._n_outputs(data))

    def _stops_early(self, data: TrainingData, given: dict[str, Validation]) -> bool:
        if self._is_constant(data):
            return False
        if self.early_stopping == "auto":
            return len(given) > 0
        return bool(self.early_stopping)

    def _make_plan(
        self,
        data: TrainingData,
        parts: Parts,
        *,
        stops_early: bool,
        has_validation: bool,
        is_warm_start: bool,
    ) -> BoostingPlan:
        """Resolve every "auto", by the training rows alone."""
        plan = make_plan(
            {**self.get_params(deep=False), **self._options.get_params()},
            n_rows=len(data.X) if parts.training is None else len(parts.training),
            n_features=data.X.shape[1],
            n_classes=0 if data.values is not None else data.n_classes,
            n_outputs=self._n_outputs(data),
            early_stopping=stops_early,
            has_validation=has_validation,
            has_categories=self._categories is not None,
        )
        if is_warm_start:  # it continues with the dictionary of the first fit
            plan = replace(plan, max_bins=self.plan_.max_bins)
            if self.learning_rate == "auto" and self.plan_.n_trial_rounds > 0:
                plan = replace(plan, learning_rate=self.plan_.learning_rate)
                if self.max_leaf_nodes == "auto":
                    plan = replace(plan, max_leaf_nodes=self.plan_.max_leaf_nodes)
        return plan

    def _begin(self, data: TrainingData, parts: Parts) -> None:
        """Make the dictionary and a model without rounds."""
        self.candidates_ = fit_candidates(
            self,
            data._replace(weights=parts.weights),
            self.plan_.default_candidates(),
        )
        self._keep_targets(data)
        self._seed = data.seed
        self._begin_scores(data, parts.weights)
        self._used_splits = np.empty(0, dtype=np.int64)
        self.trees_ = Trees.empty(self._n_outputs(data), data.X.shape[1])

    def _boost(
        self,
        data: TrainingData,
        parts: Parts,
        given: dict[str, Validation],
        callbacks: list[Callback],
    ) -> None:
        rows = self._encode(data)
        self._announce(str(self.plan_))
        first = len(self.trees_)
        trial = None
        if self.plan_.n_trial_rounds > 0 and first == 0:
            trial = self._try_rate(data, rows, callbacks)
        if trial is not None and trial.n_done < self.plan_.n_trial_rounds:
            return  # a callback wants no more rounds
        training = rows.take(parts.training)
        validation = {
            name: self._encode(data._replace(**rows_given._asdict()))
            for name, rows_given in given.items()
        }
        if parts.validation is not None:
            validation["validation"] = rows.take(parts.validation)
        del rows
        score = None
        stops_early = self.plan_.early_stopping
        if stops_early and self.scoring not in LOSSES:
            watched = list(given.values())[-1] if given else None
            score = watched_score(self, data, parts, watched, training, validation)
        rounds = Rounds(
            score=score,
            n_sets=len(validation),
            patience=self.n_iter_no_change if stops_early else None,
            tol=self._options.tol,
            report_to=reporter(self, callbacks, first, tuple(validation)),
        )
        new, used = self._run_with_progress(
            data, training, list(validation.values()), rounds
        )
        self._keep(new, used, rounds)
        self._keep_history(rounds, tuple(validation), trial)
        if stops_early and self.n_iter_ == 0 and rounds.n_done > 0:
            warn_of_no_rounds(rounds.n_done, is_given=bool(given))

    def _try_rate(
        self, data: TrainingData, rows: CodedRows, callbacks: list[Callback]
    ) -> Rounds | None:
        """Make a trial, whose rounds are kept unless the learning rate is too large.

        Returns the rounds that are kept, if any.
        """
        parts = part_rows(data, trial_share(self.plan_.n_rows))
        training, held = rows.take(parts.training), rows.take(parts.validation)
        plan, trial = self.plan_, Rounds(patience=TRIAL_PATIENCE, n_sets=1)
        self.plan_ = replace(plan, n_estimators=plan.n_trial_rounds)
        new, used = self._run_with_progress(data, training, [held], trial, ", trial")
        if trial.n_done - trial.best_round >= TRIAL_PATIENCE:
            is_free = self.max_leaf_nodes == "auto" and self._categories is not None
            self.plan_ = plan.after_trial(
                trial.best_round, self.n_estimators, takes_fewer_leaves=is_free
            )
            leaves = f", {self.plan_.max_leaf_nodes} leaves" if is_free else ""
            self._announce(
                f"the trial was best after {trial.best_round} rounds; learning rate "
                f"{self.plan_.learning_rate:.3g}{leaves}"
            )
            return None
        self.plan_ = plan
        assert parts.training is not None
        assert parts.validation is not None
        rows.put(parts.training, training)
        rows.put(parts.validation, held)
        # From now on it is known that these rounds are kept, and callbacks are told.
        rounds = Rounds(report_to=reporter(self, callbacks, 0, ()))
        share = held.total_weight() / (held.total_weight() + training.total_weight())
        for loss, held_loss in zip(*trial.losses, strict=True):
            # Of all rows, as in the rounds that follow.
            if rounds.note((1 - share) * loss + share * held_loss, []):
                break
        self._keep(new.first(rounds.n_done), used, rounds)
        self._keep_history(rounds, (), None)
        return rounds

    def _run_with_progress(
        self,
        data: TrainingData,
        training: CodedRows,
        validation: list[CodedRows],
        rounds: Rounds,
        note: str = "",
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        n_rounds = self.plan_.n_estimators - len(self.trees_)
        title = type(self).__name__ + note
        progress = Progress(title, n_rounds, "rounds", enabled=bool(self.verbose))
        rounds.progress = progress
        with progress:
            new, used = self._run_rounds(data, training, validation, rounds)
            progress.stopped_at = rounds.n_done
        return new, used

    def _announce(self, text: str) -> None:
        title = type(self).__name__
        Progress(title, 0, "rounds", enabled=bool(self.verbose)).announce(text)

    @abstractmethod
    def _run_rounds(
        self,
        data: TrainingData,
        training: CodedRows,
        validation: list[CodedRows],
        rounds: Rounds,
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        """Choose what is minimised, and call `_run_core`."""

    def _run_core(
        self,
        loss: Callable[[], _core.Objective],
        data: TrainingData,
        training: CodedRows,
        validation: list[CodedRows],
        rounds: Rounds,
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        """Return the new trees, and the splits that are gone."""
        call = self._boost_call(loss, core_fields(self, data, training.weight_unit))
        return training.boost(call, validation, rounds, data.n_threads)

    def _boost_call(
        self, loss: Callable[[], _core.Objective], fields: dict[str, Any]
    ) -> BoostCall:
        return BoostCall(
            loss,
            self.candidates_._dictionary,
            fields,
            self._used_splits,
            self.trees_,
            self._start,
            self._score_unit,
            self._loss_unit,
        )

    def _takes_pairs(self) -> bool:
        # Constraints and thresholds that users give are of columns of X.
        free = self.candidates is None and not self.interaction_cst
        return free and self._categorical.pairs

    def _encode(self, data: TrainingData) -> CodedRows:
        """Encode rows and find where the trees that are there have brought them."""
        labels, targets = self._core_targets(data)
        dictionary = self.candidates_._dictionary
        if isinstance(data.X, RemoteRows):
            remote: Any = data.X.encoded(
                dictionary, labels, targets, data.weights, len(self._start)
            )
            return remote  # its scores are found where it is, when they are needed
        scores = self._boost_call(no_loss, {}).first_scores(
            len(data.X),
            lambda trees, scores: trees.add_values(
                data.X, scores, n_threads=data.n_threads
            ),
        )
        # Column by column: a round looks at some of the features.
        codes = encode_or_list(data.X, dictionary, 1, data.n_threads, by_rows=False)
        return CodedRows(codes, labels, targets, data.weights, scores)

    def _keep(self, new: Trees, used: npt.NDArray[np.int64], rounds: Rounds) -> None:
        """Add the new trees, up to the best round if it was looked for."""
        if self.plan_.early_stopping:
            new = new.first(rounds.best_round)
        first = 1 if len(self.trees_) else 0  # the start of the first fit is kept
        train = np.array(rounds.train[first:])
        validation = np.array(rounds.validation[first:])
        if len(self.trees_):  # not of rounds that were dropped
            end = len(self.trees_) + 1
            train = np.concatenate([self.train_score_[:end], train])
            validation = joined_scores(self.validation_score_[:end], validation, end)
        self.train_score_, self.validation_score_ = train, validation
        self.trees_ = self.trees_.concat(new)
        if not self._options.reuse_splits:  # nor the splits of rounds that were dropped
            self._used_splits = kept_splits(self._used_splits, used, new)
        self.n_iter_ = len(self.trees_)
        self.best_iteration_ = self.best_score_ = None
        if self.plan_.early_stopping:
            self.best_iteration_ = self.n_iter_
            self.best_score_ = rounds.scores[rounds.best_round]

    def _keep_history(
        self, rounds: Rounds, names: tuple[str, ...], trial: Rounds | None
    ) -> None:
        """Set the losses of the rounds of this fit, by name."""
        names = ("training", *names)
        loss = self._loss_name()
        self.evals_result_ = {
            name: {loss: losses[1:]}
            for name, losses in zip(names, rounds.losses, strict=True)
        }
        if trial is not None:
            self.evals_result_["training"][loss][:0] = trial.losses[0][1:]
        if rounds.score is not None:
            scoring = self.scoring if isinstance(self.scoring, str) else "score"
            self.evals_result_[names[-1]][scoring] = rounds.scores[1:]


def no_loss() -> _core.Objective:
    """Stand for the loss where nothing is minimised."""
    raise AssertionError("there is no loss here")
