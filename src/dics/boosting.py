"""Gradient boosting (Algorithm 4 of the paper, FastC-GBM)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._boosting_defaults import (
    auto_features,
    auto_rate,
    auto_sampling,
    auto_thresholds,
)
from dics._boosting_rows import (
    CodedRows,
    Parts,
    Validation,
    hold_out,
    weight_unit,
)
from dics._classifier import NO_LIMIT, TreesClassifier, as_feature_count
from dics._progress import Progress
from dics._rounds import CurrentModel, Rounds, as_decision, probabilities
from dics._threads import effective_n_threads
from dics._validation import (
    Array,
    FloatArray,
    Targets,
    check_matrix,
    check_targets,
    combine_weights,
    unchanged_on_error,
)
from dics.candidates import (
    BaseCandidates,
    CentroidCandidates,
    TrainingData,
    fit_candidates,
)
from dics.dictionary import encode
from dics.trees import NODE, Trees

# Names of what the core computes itself.
LOSSES = ("loss", "neg_log_loss")
# Probability that a class without any weight begins with.
LEAST_PRIOR = 1e-9
LANES = 8  # floats in a register: rows of scores are padded to whole ones


class FastCGBMClassifier(TreesClassifier):
    """Gradient boosting with one small tree a round, whatever the number of classes.

    A drop-in for scikit-learn's HistGradientBoostingClassifier, LightGBM's and
    XGBoost's classifiers. Splits come from a dictionary of a few thresholds per feature
    (`CentroidCandidates`), the leaves of a tree hold a value for each class, and splits
    are chosen from a part of the rows and of the features. The paper's own setting is
    ``FastCGBMClassifier.paper()``.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of rounds, each of which adds one tree.
    learning_rate : float or "auto", default="auto"
        Factor eta of what each tree adds. "auto" is 0.15, and 0.04 for two classes,
        where both scores move and the margin between them twice as fast (0.02 below
        10,000 rows).
    max_depth : int or None, default=None
        Largest depth of a leaf; None for no limit. The paper uses 3.
    max_leaf_nodes : int or None, default=31
        Largest number of leaves: the leaf whose split gains most is split next. None
        for no limit.
    max_candidates : int or None, default=None
        Number k of candidate splits drawn for each round from the thresholds of its
        features. None looks at all of them; the paper uses 100.
    max_features : "auto", int, float or None, default="auto"
        Number of features drawn for each round; a float is a share of them, None means
        all. "auto" is 4 times their square root, at least 100, and as many as keep the
        product of features, rows drawn and classes below 20 million; below 10,000 rows
        half of them, if they are up to 64 and half is more than 8.
    sampling : {"auto", "goss", "mvs"} or None, default="auto"
        Rows that the splits of a round are chosen by. "goss" takes those with the
        longest gradients and some of the others, which then weigh more (the paper).
        "mvs" draws rows with a probability proportional to the length of their
        gradient, and weighs them by its inverse. None takes all. "auto" is "mvs" from
        20,000 rows and 100,000 rows times outputs on, and None below.
    top_rate : float, default=0.2
        Share a of the rows that "goss" takes by their gradients. "mvs" draws a share of
        `top_rate` + `other_rate`.
    other_rate : float, default=0.1
        Share b of the rows that "goss" draws from the others.
    leaf_values : {"all", "sample"}, default="all"
        Whether the values of the leaves come from all rows, or only from those drawn by
        `sampling`, as in the paper.
    l2_regularization : float, default=0.1
        The paper's lambda.
    min_split_gain : float, default=0.0
        The paper's gamma: what a split must gain.
    min_samples_leaf : int, default=20
        Rows, of those drawn, that each side of a split must have.
    reuse_splits : bool, default=True
        False takes line 15 of the paper's Algorithm 4 literally: the first split of a
        round leaves the dictionary for all rounds that follow.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when the score on validation rows no longer gets better, and
        keep the rounds up to the best. "auto" does so if validation rows are given to
        `fit`; True holds some rows out otherwise.
    validation_fraction : int, float or None, default=0.1
        Number or share of the rows held out for early stopping, unless `fit` is given
        some. None holds none out and looks at the training rows.
    n_iter_no_change : int, default=10
        Rounds without a better score after which to stop.
    tol : float, default=1e-7
        By how much a score must be better to count.
    scoring : str, callable or None, default="loss"
        What early stopping looks at: the loss ("neg_log_loss" is the same), a scorer's
        name, a scorer, or None for the accuracy. Scorers that take `sample_weight` get
        the weights of the rows, if there are any.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    candidates : CentroidCandidates, QuantileCandidates or None, default=None
        Source of the thresholds, cloned before use; None means
        ``CentroidCandidates()``, with fewer thresholds for more than 32 classes. Its
        `n_jobs` gives way to this one's, and so does a `random_state` of None.
    warm_start : bool, default=False
        Keep the rounds of the last fit and only add those that `n_estimators` asks for
        in addition. On the same data, the result is that of one fit.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering, of the rows, features and candidates drawn, and of the
        validation rows.
    n_jobs : int or None, default=None
        Number of threads; None means all cores the process may use. The model is the
        same for any number.
    verbose : int, default=0
        1 writes the progress, the loss and the time left to stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
    n_iter_ : int
        Number of rounds kept.
    train_score_ : ndarray of shape (n_rounds + 1,)
        Negative mean loss of the training rows before the first round and after each
        (or the score, if it is what early stopping looks at).
    validation_score_ : ndarray of shape (n_rounds + 1,)
        Score of the validation rows; empty without any, NaN for rounds without. Like
        `train_score_` it has the rounds after the best, which are not kept.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Total gain of the splits of each feature, normalised.
    split_counts_ : ndarray of shape (n_features_in_,)
        Number of splits of each feature.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        All trees as flat arrays.

    Notes
    -----
    A step of Newton's can go too far where a class is rare in the model and common in a
    leaf. What a leaf adds is limited to where an upper bound of the loss is least, so
    that without row sampling no round raises the training loss.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import FastCGBMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FastCGBMClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    >>> model.n_iter_
    20
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "learning_rate": [
            StrOptions({"auto"}),
            Interval(Real, 0.0, None, closed="neither"),
        ],
        **TreesClassifier._parameter_constraints,
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_features": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            None,
        ],
        "sampling": [StrOptions({"auto", "goss", "mvs"}), None],
        "top_rate": [Interval(Real, 0.0, 1.0, closed="both")],
        "other_rate": [Interval(Real, 0.0, 1.0, closed="both")],
        "leaf_values": [StrOptions({"all", "sample"})],
        "l2_regularization": [Interval(Real, 0.0, None, closed="left")],
        "min_split_gain": [Interval(Real, 0.0, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "reuse_splits": ["boolean"],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "validation_fraction": [
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "scoring": [str, callable, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        learning_rate: float | str = "auto",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = 31,
        max_candidates: int | None = None,
        max_features: str | int | float | None = "auto",
        sampling: str | None = "auto",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        leaf_values: str = "all",
        l2_regularization: float = 0.1,
        min_split_gain: float = 0.0,
        min_samples_leaf: int = 20,
        reuse_splits: bool = True,
        early_stopping: bool | str = "auto",
        validation_fraction: int | float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        scoring: str | Callable[..., float] | None = "loss",
        class_weight: Any = None,
        candidates: BaseCandidates | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_candidates = max_candidates
        self.max_features = max_features
        self.sampling = sampling
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.leaf_values = leaf_values
        self.l2_regularization = l2_regularization
        self.min_split_gain = min_split_gain
        self.min_samples_leaf = min_samples_leaf
        self.reuse_splits = reuse_splits
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.class_weight = class_weight
        self.candidates = candidates
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Make the paper's own setting: small trees from GOSS and 100 candidates.

        Parameters
        ----------
        **parameters : dict
            Parameters to set in addition, or instead.

        Returns
        -------
        model : FastCGBMClassifier

        Examples
        --------
        >>> from dics import FastCGBMClassifier
        >>> model = FastCGBMClassifier.paper(n_estimators=100, random_state=0)
        >>> model.sampling, model.leaf_values, model.max_depth, model.max_candidates
        ('goss', 'sample', 3, 100)
        """
        setting = {
            "candidates": CentroidCandidates.paper(),
            "max_candidates": 100,
            "max_depth": 3,
            "max_leaf_nodes": None,
            "sampling": "goss",
            "leaf_values": "sample",
            "min_samples_leaf": 1,
        }
        return cls(**{**setting, **parameters})

    # --- fit ---------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. float32, float64 and uint8 arrays in any memory order are
            read in place; other numbers are converted. NaN is a value of its own:
            each split learns the side it takes. Infinities are ordinary values.
        y : array-like of shape (n_samples,)
            Class labels, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight zero are left out.
        X_val : array-like of shape (n_validation, n_features), default=None
            Validation rows for early stopping. They weigh as `class_weight` says.
        y_val : array-like of shape (n_validation,), default=None
            Their labels.

        Returns
        -------
        self : FastCGBMClassifier
        """
        with unchanged_on_error(self):
            self._fit(X, y, sample_weight, X_val, y_val)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> None:
        goes_on = self.warm_start and hasattr(self, "trees_")
        n_done = len(self.trees_) if goes_on else 0
        self._check_options(n_done, X_val, y_val)
        data, classes = self._training_data(
            X, y, sample_weight, self.class_weight, goes_on=goes_on
        )
        assert data.labels is not None
        given = self._check_validation(X_val, y_val, Targets(classes, data.labels))
        if goes_on and self.n_estimators == n_done:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "trees.",
                stacklevel=4,
            )
            return
        stops_early = self._stops_early(data, given)
        parts = self._part(data, held_out=stops_early and given is None)
        if not goes_on:
            self.candidates_ = fit_candidates(
                self,
                data._replace(weights=parts.weights),
                CentroidCandidates(max_thresholds=auto_thresholds(data)),
            )
            self.classes_ = classes
            self.n_classes_ = len(classes)
            self._seed = data.seed
            self._start = self._start_scores(data, parts)
            self._used_splits = np.empty(0, dtype=np.int64)
            self._gains = np.empty(0, dtype=np.float64)
            self.trees_ = no_trees(len(self._start))
        if data.n_classes > 1:
            self._boost(data, parts, given, stops_early)
        else:
            self.n_iter_ = 0
            self.train_score_, self.validation_score_ = np.zeros(1), np.zeros(0)

    def _check_options(self, n_done: int, X_val: Any, y_val: Any) -> None:
        """Check what is asked for, before any work."""
        if (X_val is None) != (y_val is None):
            missing = "y_val" if y_val is None else "X_val"
            raise ValueError(
                f"X_val and y_val belong together, but {missing} is missing."
            )
        if self.scoring not in LOSSES:
            self._scorer()
        if self.n_estimators < n_done:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"n_iter_={n_done} when warm_start==True"
            )
        if self.sampling == "goss" and self.top_rate + self.other_rate > 1:
            raise ValueError(
                f"top_rate={self.top_rate} and other_rate={self.other_rate} sum to "
                "more than 1; they are shares of the rows."
            )
        if self.sampling is not None and self.top_rate + self.other_rate == 0:
            raise ValueError(
                f"sampling={self.sampling!r} with top_rate=0 and other_rate=0 draws "
                "no rows."
            )

    def _check_validation(
        self, X_val: Any, y_val: Any, training: Targets
    ) -> Validation | None:
        """Check validation rows that were given; number and weigh their labels."""
        if X_val is None:
            return None
        try:
            X_val = check_matrix(self, X_val, reset=False)
            targets = check_targets(y_val, len(X_val))
        except (TypeError, ValueError) as error:
            raise type(error)(f"X_val, y_val: {error}") from error
        classes = training.classes
        unknown = np.setdiff1d(targets.classes, classes)
        if len(unknown):
            raise ValueError(f"y_val has classes that y has not: {unknown}.")
        numbers = np.searchsorted(classes, targets.classes).astype(np.uint32)
        labels = numbers[targets.labels]
        weights = None
        if self.class_weight is not None:
            of_classes: FloatArray = np.empty(len(classes))
            of_classes[training.labels] = combine_weights(
                None, self.class_weight, training
            )
            weights = of_classes[labels]
        return Validation(X_val, labels, weights)

    def _stops_early(self, data: TrainingData, given: Any) -> bool:
        if data.n_classes < 2:
            return False
        if self.early_stopping == "auto":
            return given is not None
        return bool(self.early_stopping)

    def _part(self, data: TrainingData, *, held_out: bool) -> Parts:
        """Choose training and validation rows; rows without weight are neither."""
        rows = None
        if data.weights is not None and not data.weights.all():
            rows = np.flatnonzero(data.weights)
        if not held_out or self.validation_fraction is None:
            return Parts(rows, None, data.weights)
        if rows is None:
            rows = np.arange(len(data.X))
        training, validation = hold_out(
            rows, data.labels, self.validation_fraction, data.seed
        )
        weights = np.ones(len(data.X)) if data.weights is None else data.weights.copy()
        weights[validation] = 0
        return Parts(training, validation, weights)

    def _start_scores(
        self, data: TrainingData, parts: Parts
    ) -> npt.NDArray[np.float32]:
        """F_0: the logarithms of the class shares, or their margin for two classes."""
        assert data.labels is not None
        shares = np.bincount(data.labels, parts.weights, minlength=data.n_classes)
        logs = np.log(np.maximum(shares / shares.sum(), LEAST_PRIOR))
        start = logs[1:] - logs[:1] if len(logs) == 2 else logs
        return np.asarray(start, dtype=np.float32)

    def _boost(
        self,
        data: TrainingData,
        parts: Parts,
        given: Validation | None,
        stops_early: bool,
    ) -> None:
        rows = self._coded(data)
        training = rows.take(parts.training)
        if given is None:
            none = np.empty(0, dtype=np.intp)
            held = none if parts.validation is None else parts.validation
            validation = rows.take(held)
        else:
            validation = self._coded(data._replace(**given._asdict()))
        del rows
        score = None
        if stops_early and self.scoring not in LOSSES:
            score = self._score_of(data, parts, given, training, validation)
        n_rounds = self.n_estimators - len(self.trees_)
        progress = Progress(
            type(self).__name__, n_rounds, "rounds", enabled=bool(self.verbose)
        )
        rounds = Rounds(
            score=score,
            watch_validation=len(validation.labels) > 0,
            patience=self.n_iter_no_change if stops_early else None,
            tol=self.tol,
            progress=progress,
        )
        with progress:
            arrays = self._run_rounds(data, training, validation, rounds)
            progress.stopped_at = len(rounds.train) - 1
        self._keep(arrays, rounds, stops_early)

    def _run_rounds(
        self,
        data: TrainingData,
        training: CodedRows,
        validation: CodedRows,
        rounds: Rounds,
    ) -> dict[str, Any]:
        dictionary = self.candidates_._dictionary
        n_done = len(self.trees_)
        unit = weight_unit(data.weights)  # what is compared with weights has it too
        arrays = _core.boost(
            values=dictionary.values,
            offsets=dictionary.offsets,
            **training._asdict(),
            **{f"validation_{name}": a for name, a in validation._asdict().items()},
            used_splits=self._used_splits,
            n_classes=data.n_classes,
            learning_rate=self._step_factor(len(data.X)),
            max_depth=min(self.max_depth or NO_LIMIT, NO_LIMIT),
            max_leaf_nodes=min(self.max_leaf_nodes or NO_LIMIT, NO_LIMIT),
            max_features=self._n_features_drawn(*data.X.shape),
            max_candidates=min(self.max_candidates or 0, NO_LIMIT),
            reuse_splits=self.reuse_splits,
            sampling=self._row_sampling(len(training.labels)),
            top_rate=self.top_rate,
            other_rate=self.other_rate,
            leaves_of_sample=self.leaf_values == "sample",
            l2=self.l2_regularization * unit,
            min_gain=self.min_split_gain * unit,
            min_samples_leaf=min(self.min_samples_leaf, len(data.X) + 1),
            seed=data.seed,
            first_round=n_done,
            n_rounds=self.n_estimators - n_done,
            after_round=rounds.note,
            n_threads=data.n_threads,
        )
        # Wider: with weights of 1e40 and more, gains are beyond single precision.
        arrays["gains"] = arrays["gains"].astype(np.float64) / unit
        return arrays

    def _step_factor(self, n_rows: int) -> float:
        if self.learning_rate == "auto":
            return auto_rate(n_rows, self.n_classes_)
        return float(self.learning_rate)

    def _n_features_drawn(self, n_rows: int, n_features: int) -> int:
        if self.max_features == "auto":
            sampled = self._row_sampling(n_rows) != "none"
            share = min(1.0, self.top_rate + self.other_rate) if sampled else 1.0
            n_outputs = 1 if self.n_classes_ == 2 else self.n_classes_
            return auto_features(n_rows, n_features, share * n_rows * n_outputs)
        return as_feature_count(self.max_features, n_features)

    def _row_sampling(self, n_rows: int) -> str:
        sampling = self.sampling
        if sampling == "auto":
            sampling = auto_sampling(n_rows, self.n_classes_)
        return sampling or "none"

    def _coded(self, data: TrainingData) -> CodedRows:
        """Encode rows and find where the trees that are there have brought them."""
        assert data.labels is not None
        n_outputs = len(self._start)
        scores = np.tile(self._start, (len(data.X), 1))
        if len(self.trees_):
            self.trees_.add_scores(data.X, scores, n_threads=data.n_threads)
        stride = 1 if n_outputs == 1 else -(-n_outputs // LANES) * LANES
        if stride > n_outputs:
            padded = np.full((len(data.X), stride), -np.inf, dtype=np.float32)
            padded[:, :n_outputs] = scores
            scores = padded
        # Column by column: a round looks at some of the features.
        codes = encode(data.X, self.candidates_._dictionary, 1, data.n_threads)
        weights = None
        if data.weights is not None:
            scaled = data.weights * weight_unit(data.weights)
            weights = scaled.astype(np.float32)
        return CodedRows(codes, data.labels, weights, scores)

    def _scorer(self) -> Callable[..., float]:
        from sklearn.metrics import get_scorer

        name = "accuracy" if self.scoring is None else self.scoring
        scorer: Callable[..., float] = get_scorer(name)
        return scorer

    def _score_of(
        self,
        data: TrainingData,
        parts: Parts,
        given: Validation | None,
        training: CodedRows,
        validation: CodedRows,
    ) -> Callable[[], float]:
        """Return what scores the rows that early stopping watches, as they are."""
        watched, which = validation, parts.validation
        if len(validation.labels) == 0:
            watched, which = training, parts.training
        X = data.X if given is None else given.X
        if given is None and which is not None:
            X = X[which]
        model = CurrentModel(self.classes_, watched.scores[:, : len(self._start)])
        scorer = self._scorer()
        y = self.classes_[watched.labels]
        weights = {}
        takes_weights = "sample_weight" in inspect.signature(scorer).parameters
        if takes_weights and watched.weights is not None:
            weights["sample_weight"] = watched.weights.astype(np.float64)
        return lambda: float(scorer(model, X, y, **weights))

    def _keep(self, arrays: dict[str, Any], rounds: Rounds, stops_early: bool) -> None:
        """Add the new trees, up to the best round if it was looked for."""
        new = Trees.from_core(arrays["trees"])
        gains = arrays["gains"]
        if stops_early:
            new = new.first(rounds.best_round)
            gains = gains[: new.n_nodes]
        first = 1 if len(self.trees_) else 0  # the start of the first fit is kept
        train = np.array(rounds.train[first:])
        validation = np.array(rounds.validation[first:])
        if len(self.trees_):  # not of rounds that were dropped
            end = len(self.trees_) + 1
            train = np.concatenate([self.train_score_[:end], train])
            validation = joined_scores(self.validation_score_[:end], validation, end)
        self.train_score_, self.validation_score_ = train, validation
        self.trees_ = self.trees_.followed_by(new)
        self._gains = np.concatenate([self._gains, gains])
        if not self.reuse_splits:  # nor the splits of rounds that were dropped
            roots = new.node_starts[:-1]
            cuts = (new.feature[roots] >= 0) & np.isfinite(new.threshold[roots])
            n_used = np.count_nonzero(cuts)
            n_kept = len(self._used_splits) + int(n_used)
            self._used_splits = arrays["used_splits"][:n_kept]
        self.n_iter_ = len(self.trees_)

    # --- predict -----------------------------------------------------------

    def _scores(self, X: Any) -> npt.NDArray[np.float32]:
        X = self._rows(X)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = effective_n_threads(self.n_jobs)
        self.trees_.add_scores(X, scores, n_threads=n_threads)
        return scores

    def _staged_scores(self, X: Any) -> Iterator[npt.NDArray[np.float32]]:
        X = self._rows(X)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = effective_n_threads(self.n_jobs)
        for t in range(len(self.trees_)):
            self.trees_[t].add_scores(X, scores, n_threads=n_threads)
            yield scores

    def decision_function(self, X: Any) -> FloatArray:
        """Compute the score of each class, whose softmax is `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,)
            For two classes, how far the second is ahead of the first.
        """
        return as_decision(self._scores(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return self._probabilities(self._scores(X))

    def _probabilities(self, scores: npt.NDArray[np.float32]) -> FloatArray:
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return probabilities(scores)

    def predict(self, X: Any) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._classes_of(self._scores(X))

    def _classes_of(self, scores: npt.NDArray[np.float32]) -> Array:
        two = scores.shape[1] == 1 and len(self.classes_) == 2
        best = (scores[:, 0] > 0).astype(int) if two else scores.argmax(axis=1)
        predicted: Array = self.classes_[best]
        return predicted

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield what `decision_function` is after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Yields
        ------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,)
        """
        for scores in self._staged_scores(X):
            yield as_decision(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield what `predict_proba` is after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
        """
        for scores in self._staged_scores(X):
            yield self._probabilities(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield what `predict` is after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        for scores in self._staged_scores(X):
            yield self._classes_of(scores)

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_iter_)
            Node indices, numbered from each root breadth first.
        """
        X = self._rows(X)
        return self.trees_.apply(X, effective_n_threads(self.n_jobs))

    @property
    def feature_importances_(self) -> FloatArray:
        """Total gain of the splits of each feature, normalised to sum to one."""
        check_is_fitted(self, "trees_")
        inner = self.trees_.inner
        gains: FloatArray = np.zeros(self.n_features_in_)
        np.add.at(gains, self.trees_.feature[inner], self._gains[inner])
        return gains / gains.sum() if gains.sum() > 0 else gains

    @property
    def split_counts_(self) -> npt.NDArray[np.intp]:
        """Number of splits of each feature."""
        check_is_fitted(self, "trees_")
        features = self.trees_.feature[self.trees_.inner]
        counts: npt.NDArray[np.intp] = np.bincount(
            features, minlength=self.n_features_in_
        )
        return counts


def joined_scores(before: FloatArray, after: FloatArray, n_before: int) -> FloatArray:
    """Join scores of two fits, of which one may have had no validation rows."""
    if len(before) == len(after) == 0:
        return before
    if len(before) == 0:
        before = np.full(n_before, np.nan)
    return np.concatenate([before, after])


def no_trees(n_outputs: int) -> Trees:
    """Return Trees that holds none."""
    start = np.zeros(1, dtype=np.int64)
    return Trees(
        nodes=np.empty(0, dtype=NODE),
        missing_left=np.empty(0, dtype=np.uint8),
        weight=np.empty(0, dtype=np.float32),
        leaf_values=np.empty((0, n_outputs), dtype=np.float32),
        node_starts=start,
        leaf_starts=start,
    )
