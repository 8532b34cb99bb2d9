"""Gradient boosting (Algorithm 4 of the paper, FastC-GBM)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from dics._boosting_base import Boosting
from dics._boosting_rows import CodedRows, GivenRows, Validation
from dics._candidates_base import TrainingData
from dics._classifier import TreesClassifierMixin
from dics._foreign_arguments import explain_unknown_arguments
from dics._objective import LogLoss, core_log_loss
from dics._rounds import CurrentModel, Rounds
from dics._validation import (
    Array,
    FloatArray,
    Targets,
    check_targets,
    check_weights,
    combine_weights,
    in_range,
)
from dics.candidates import BaseCandidates
from dics.trees import Trees


class FastCGBMClassifier(TreesClassifierMixin, Boosting):
    """Gradient boosting with one small tree a round, whatever the number of classes.

    A drop-in for scikit-learn's HistGradientBoostingClassifier, LightGBM's and
    XGBoost's classifiers. Splits come from a dictionary of a few thresholds per feature
    (`CentroidCandidates`), the leaves of a tree hold a value for each class, and splits
    are chosen from a part of the rows and of the features. The paper's own setting is
    ``FastCGBMClassifier.paper()``.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of rounds, each of which adds one tree. "auto" is 100 for two classes
        (300 of many rare features, see Notes), and 250 for more (500), or 100 if a
        trial lowers the learning rate.
    learning_rate : float or "auto", default="auto"
        Factor eta of what each tree adds. For two classes "auto" is 0.1, 0.15 from
        10,000 and 0.2 from 20,000 training rows on, half of it where X has categories;
        without `noise_shrinkage` 0.02, and 0.04 from 10,000 on. Both scores of two
        classes move, so the margin between them moves twice as fast. For more classes
        "auto" is 0.15, and 0.1 of many rare features. If `n_estimators` is "auto" too
        and there are 1,000 to 100,000 training rows, some of them are held out from a
        trial of 100 rounds. If their loss rises before, the trial is thrown away and
        the rate is lower, the more the earlier it was; otherwise the rounds of the
        trial are kept, and the others see all rows. Where X has categories, 0.6 of the
        rounds (100 at most) are such a trial for any number of classes and of rounds
        and up to 200,000 rows, and the rate depends on the rounds.
    max_depth : int or None, default=None
        Largest depth of a leaf; None for no limit. The paper uses 3.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Largest number of leaves: the leaf whose split gains most is split next. None
        for no limit. "auto" is 31, and 8 where X has categories and a trial has ended
        early (see `learning_rate`).
    max_candidates : int or None, default=None
        Number k of candidate splits drawn for each round from the thresholds of its
        features. None looks at all of them; the paper uses 100.
    max_features : "auto", int, float or None, default="auto"
        Number of features drawn for each round; a float is a share of them, None means
        all. "auto" is 4 times their square root, at least 100, and as many as keep the
        product of features, rows drawn and classes below 20 million; below 10,000
        training rows half of them, if they are up to 64 and half is more than 8.
    sketch_outputs : "auto", int or None, default="auto"
        Splits are searched by so many random sums of a row's gradients instead of one
        gradient for each class (SketchBoost); the values of the leaves still come from
        all. "auto" is 6 from 32 classes on, None uses all.
    sampling : {"auto", "goss", "mvs"} or None, default="auto"
        Rows that the splits of a round are chosen by. "goss" takes those with the
        longest gradients and some of the others, which then weigh more (the paper).
        "mvs" draws rows with a probability proportional to the length of their
        gradient, and weighs them by its inverse. None takes all. "auto" is "mvs" from
        20,000 training rows and 100,000 rows times outputs on, and None below.
    top_rate : float or "auto", default="auto"
        Share a of the rows that "goss" takes by their gradients. "mvs" draws a share of
        `top_rate` + `other_rate`. "auto" is 0.2, and less from 333,333 training rows
        on, down to 0.067 of a million.
    other_rate : float or "auto", default="auto"
        Share b of the rows that "goss" draws from the others. "auto" is half of that.
    leaf_values : {"all", "sample"}, default="all"
        Whether the values of the leaves come from all rows, or only from those drawn by
        `sampling`, as in the paper.
    l2_regularization : float or "auto", default="auto"
        The paper's lambda. "auto" is 0.1, and 0.01 of many rare features (see Notes).
    noise_shrinkage : "auto" or float, default="auto"
        How much less a leaf adds that may be noise. Sums G and H of a leaf's gradients
        and hessians have G^2 / H = 1 in the mean if they are noise alone; a step of two
        classes is G^2 / (G^2 + s H) as long as it would be. "auto" is 10 for two
        classes, and 0 (never less) for more. Weights count rows here, unless they are
        less than one on average.
    min_split_gain : float, default=0.0
        The paper's gamma: what a split must gain.
    min_samples_leaf : int or "auto", default="auto"
        Rows, of those drawn, that each side of a split must have. "auto" is 20, and 5
        of many rare features.
    min_sum_hessian : float, default=0.0
        Sum of hessians that each side of a split must have, over all outputs
        (XGBoost's `min_child_weight`).
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
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, such as a `CentroidCandidates`, a `QuantileCandidates`
        or one of your own, cloned before use; None means
        ``CentroidCandidates()``, with fewer thresholds for more than 32 classes. Its
        `n_jobs` gives way to this one's, and so does a `random_state` of None.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns of X that hold categories: "from_dtype" for those of a data frame whose
        type says so (pandas category, string and objects that are text; polars
        Categorical, Enum and String; dictionaries and strings of Arrow), or names or
        numbers of columns, or a mask. None for none. Levels are matched by what they
        are, not by the codes of a frame; missing and new ones go where NaN goes.
    cat_smooth : float, default=10.0
        Rows of the mean target that are added to the rows of each level of a category
        when levels are put in order by their mean targets; in a node, what is added to
        the hessians of each level when they are put in order by their gradients.
    cat_l2 : float, default=30.0
        Added to `l2_regularization` for each level of a node where a split by a set of
        levels that the node has put in order itself is rated: the more levels there
        are, the more such an order says of the node's own rows alone. Splits by the
        order of all rows are tried as well, without it.
    min_cat_samples : int, default=100
        Rows that neighbours in the order of a node need to have together to be told
        apart, and each of the two sets: rarer levels are pooled.
    max_cat_levels : int or None, default=None
        Most levels of the smaller of the two sets; None for any number.
    cat_pairs : bool, default=True
        Whether mean targets of pairs of levels of two columns may be columns of their
        own, where one of the two has many levels. Pairs are taken that tell more of the
        target than their columns; none with `candidates` or `interaction_cst`.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        With which features predictions must rise (1) or fall (-1), all else being
        equal; 0 for no constraint. A dict has names of features as its keys. Of two
        classes: the probability of the second.
    interaction_cst : "pairwise", "no_interactions" or sequence, default=None
        Which features may stand on one path of a tree: those of a group, such as
        ``[{0, 1}, ["age", "income"]]``. Features in no group form one of their own.
        "pairwise" lets any two meet, "no_interactions" none. None: all may meet.
    warm_start : bool, default=False
        Keep the rounds of the last fit and only add those that `n_estimators` asks for
        in addition. On the same data, the result is that of one fit. The plan of the
        new rounds is made from the data and the parameters of the call that adds them;
        the dictionary is that of the first fit.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering, of the rows, features and candidates drawn, and of the
        validation rows.
    n_jobs : int or None, default=None
        Number of threads; None means all cores the process may use. The model is the
        same for any number.
    verbose : int, default=0
        1 writes the plan (see `plan_`), the progress, the loss and the time left to
        stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    n_outputs_ : int
        1: classifiers predict one target.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
    n_iter_ : int
        Number of rounds kept.
    plan_ : BoostingPlan
        What every "auto" has become in this fit: `learning_rate`, `max_features`,
        `sampling`, `early_stopping` and `max_thresholds`. All rules look at the
        training rows (``plan_.n_rows``), that is at neither rows that were held out
        nor rows of weight zero.
    train_score_ : ndarray of shape (n_rounds + 1,)
        Negative mean loss of the training rows before the first round and after each
        (or the score, if it is what early stopping looks at).
    validation_score_ : ndarray of shape (n_rounds + 1,)
        Score of the validation rows; empty without any, NaN for rounds without. Like
        `train_score_` it has the rounds after the best, which are not kept.
    evals_result_ : dict of str to dict
        Losses of this fit's rounds, of "training" and of each validation set by name:
        ``evals_result_["validation"]["log_loss"]``. If early stopping looks at a
        score, that of the last set too.
    best_iteration_ : int or None
        Rounds up to the best, all of which are kept; None without early stopping.
    best_score_ : float or None
        What early stopping has seen then.
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

    Many rare features, such as words, are more than 2048, most of which have one value
    in the first few hundred rows that are looked at, in a dense X or a sparse one. A
    split by one of them has few rows on one side: leaves may be smaller there and are
    less drawn to zero, and more rounds see more of the features.

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
    >>> model.plan_.learning_rate, model.plan_.sampling, model.plan_.max_features
    (0.15, None, 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Boosting._parameter_constraints,
        "n_estimators": [
            StrOptions({"auto"}),
            *Boosting._parameter_constraints["n_estimators"],
        ],
        "l2_regularization": [
            StrOptions({"auto"}),
            *Boosting._parameter_constraints["l2_regularization"],
        ],
        "min_samples_leaf": [
            StrOptions({"auto"}),
            *Boosting._parameter_constraints["min_samples_leaf"],
        ],
        "noise_shrinkage": [
            StrOptions({"auto"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    # Rounds and learning rates of the paper's setting don't change with the defaults.
    _paper_setting: ClassVar[dict[str, Any]] = {
        **Boosting._paper_setting,
        "n_estimators": 300,
        "l2_regularization": 0.1,
        "noise_shrinkage": 0.0,
    }

    @explain_unknown_arguments
    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        learning_rate: float | str = "auto",
        max_depth: int | None = None,
        max_leaf_nodes: int | str | None = "auto",
        max_candidates: int | None = None,
        max_features: str | int | float | None = "auto",
        sketch_outputs: str | int | None = "auto",
        sampling: str | None = "auto",
        top_rate: float | str = "auto",
        other_rate: float | str = "auto",
        leaf_values: str = "all",
        l2_regularization: float | str = "auto",
        noise_shrinkage: float | str = "auto",
        min_split_gain: float = 0.0,
        min_samples_leaf: int | str = "auto",
        min_sum_hessian: float = 0.0,
        reuse_splits: bool = True,
        early_stopping: bool | str = "auto",
        validation_fraction: int | float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        scoring: str | Callable[..., float] | None = "loss",
        class_weight: Any = None,
        candidates: BaseCandidates | None = None,
        categorical_features: Any = "from_dtype",
        cat_smooth: float = 10.0,
        cat_l2: float = 30.0,
        min_cat_samples: int = 100,
        max_cat_levels: int | None = None,
        cat_pairs: bool = True,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
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
        self.sketch_outputs = sketch_outputs
        self.sampling = sampling
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.leaf_values = leaf_values
        self.l2_regularization = l2_regularization
        self.noise_shrinkage = noise_shrinkage
        self.min_split_gain = min_split_gain
        self.min_samples_leaf = min_samples_leaf
        self.min_sum_hessian = min_sum_hessian
        self.reuse_splits = reuse_splits
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.class_weight = class_weight
        self.candidates = candidates
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.cat_l2 = cat_l2
        self.min_cat_samples = min_cat_samples
        self.max_cat_levels = max_cat_levels
        self.cat_pairs = cat_pairs
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fit ----------------------------------------------------------------

    def _check_held_targets(self, y: Any) -> Targets:
        return check_targets(y, None, may_be_few=True)

    def _check_validation(self, given: GivenRows, training: Targets) -> Validation:
        targets = self._check_held_targets(given.y)
        classes = training.classes
        unknown = np.setdiff1d(targets.classes, classes)
        if len(unknown):
            raise ValueError(f"there are classes that y has not: {unknown}.")
        numbers = np.searchsorted(classes, targets.classes).astype(np.uint32)
        labels = numbers[targets.labels]
        weights = check_weights(given.weights, len(labels))
        if self.class_weight is not None:
            of_classes: FloatArray = np.empty(len(classes))
            of_classes[training.labels] = combine_weights(
                None, self.class_weight, training
            )
            own = 1.0 if weights is None else weights
            weights = own * of_classes[labels]
            if not (weights > 0).any():
                raise ValueError("with class_weight no row has any weight.")
            weights = in_range(weights)
        return Validation(given.X, labels, weights)

    def _n_leaf_values(self) -> int:
        return LogLoss.of(self.n_classes_).n_outputs

    def _check_outputs(self) -> None:
        super()._check_outputs()
        self._check_rounds()

    def _n_outputs(self, data: TrainingData) -> int:
        return LogLoss.of(data.n_classes).n_outputs

    def _begin_scores(self, data: TrainingData, weights: FloatArray | None) -> None:
        assert data.labels is not None
        self._start = LogLoss.of(data.n_classes).start(data.labels, weights)

    def _run_rounds(
        self,
        data: TrainingData,
        training: CodedRows,
        validation: list[CodedRows],
        rounds: Rounds,
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        loss = partial(core_log_loss, data.n_classes)
        return self._run_core(loss, data, training, validation, rounds)

    def _core_targets(
        self, data: TrainingData
    ) -> tuple[npt.NDArray[np.uint32] | None, npt.NDArray[np.float32] | None]:
        return data.labels, None

    _default_scoring = "accuracy"

    def _loss_name(self) -> str:
        return "log_loss"

    def _watched_model(self, watched: CodedRows) -> tuple[BaseEstimator, Array]:
        scores = watched.scores[:, : len(self._start)]
        objective = LogLoss.of(self.n_classes_)
        model = CurrentModel(self.classes_, objective, scores)
        assert watched.labels is not None
        return model, self.classes_[watched.labels]

    # --- predict ------------------------------------------------------------

    def _class_probabilities(self, X: Any) -> FloatArray:
        scores = self._scores(X)  # refuses if the model isn't fitted
        return LogLoss.of(self.n_classes_).probabilities(scores)

    def _most_probable(self, X: Any) -> npt.NDArray[np.intp]:
        scores = self._scores(X)
        return LogLoss.of(self.n_classes_).most_probable(scores)

    def decision_function(self, X: Any) -> FloatArray:
        """Compute the score of each class, whose softmax is `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,)
            For two classes, how far the second is ahead of the first.
        """
        scores = self._scores(X)
        return LogLoss.of(self.n_classes_).decision(scores)

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield what `decision_function` is after each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,)
        """
        for scores in self._staged_scores(X):
            yield LogLoss.of(self.n_classes_).decision(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield what `predict_proba` is after each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
        """
        for scores in self._staged_scores(X):
            yield LogLoss.of(self.n_classes_).probabilities(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield what `predict` is after each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        for scores in self._staged_scores(X):
            yield self.classes_[LogLoss.of(self.n_classes_).most_probable(scores)]
