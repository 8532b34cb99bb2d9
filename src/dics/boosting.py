"""Gradient boosting: classifier (Algorithm 4 of the paper, FastC-GBM) and regressor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from dics._boosting.fit import Boosting, check_rounds
from dics._boosting.losses import (
    LOG_LINK_LOSSES,
    LOSSES,
    CustomClassLoss,
    CustomLoss,
    LogLoss,
    NumberLoss,
    squeezed,
)
from dics._boosting.rounds import CurrentModel, CurrentRegressor
from dics._boosting.rows import CheckedEvalSet, CodedRows, EvalSet
from dics._estimator.arguments import explain_unknown_arguments
from dics._estimator.base import ClassifierMixin, RegressorMixin
from dics._input.checks import (
    Array,
    ClassTargets,
    FloatArray,
    RegressionTargets,
    check_class_labels,
    check_regression_target,
    check_weights,
    combine_weights,
    rescaled_weights,
)
from dics._model.checks import require
from dics._model.leaf_rows import check_quantiles
from dics.candidates import BaseCandidates
from dics.options import GOSS, BoostingOptions, CategoricalOptions

CUSTOM_LOSS = HasMethods(["gradients", "start", "link"])


class CGBoostingClassifier(ClassifierMixin, Boosting):
    """Cluster-guided (CG) gradient boosting classifier with one tree per round.

    An alternative to scikit-learn's HistGradientBoostingClassifier and the classifiers
    of LightGBM and XGBoost. Splits come from a few thresholds per feature
    (`CentroidCandidates`). The leaves of a tree hold a value for each class. Each round
    can sample rows and features. ``CGBoostingClassifier.paper()`` gives the
    settings of the paper, which calls the model FastC-GBM.

    Parameters
    ----------
    loss : "log_loss" or object, default="log_loss"
        Loss of the training: "log_loss", or a custom loss (see Notes).
    quality : {"fast", "balanced", "best"}, default="balanced"
        How much time every "auto" may take. "fast" has one trial of large steps, for
        quick looks and wide data. "balanced" has three trials. "best" has eight, and
        takes about four times as long. Values that you set have priority.
    n_estimators : int or "auto", default="auto"
        Number of rounds; each adds one tree. "auto" finds it by trials (see Notes), and
        is 100 for tables that are too small or too large for them. With early stopping,
        it is the maximum.
    learning_rate : float or "auto", default="auto"
        Factor of each tree. A smaller factor needs more rounds. "auto" is 0.1 for
        classification and 0.12 for regression, 0.15 if `quality` is "fast", and 0.05
        for regression if it is "best". After trials, it is divided by their number.
        With two classes, the margin changes by twice the rate. Callbacks of `fit` can
        change it between rounds.
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit. Decrease it for a tree that is
        faster or easier to read. The paper uses 3 for boosting and 8 otherwise.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves of a tree; the split with the largest gain comes first.
        None sets no limit. "auto" is 16. From 20,000 training rows on, it is 31 for
        classification and 63 for regression.
    max_features : "auto", int, float or None, default="auto"
        Number of features sampled for each round, not for each node. A float is a
        fraction of the features; None uses all. "auto" is 0.7 (all features in the
        first trial of regression), and less if there are many features.
    subsample : "auto" or float, default="auto"
        Fraction of the rows that each round samples by "mvs", above 0 and at most 1;
        1.0 uses all rows. "auto" is 0.5. From 333,333 rows on it falls, to 0.17 for a
        million rows.
    sampling : {"auto", "mvs", "goss"}, GOSS or None, default="auto"
        How a round samples the rows that choose its splits. "mvs" samples by the size
        of the gradient, "goss" as in the paper (`GOSS` sets its rates). None uses all
        rows. "auto" is "mvs" if `subsample` is below 1, otherwise None.
    l2_regularization : "auto" or float, default="auto"
        L2 penalty of the leaf values (lambda in the paper). "auto" is 0.1 for
        classification and 1 for regression. Increase it to reduce overfitting. For
        classification with many rare features, such as words, use 0.01.
    min_split_gain : float, default=0.0
        Minimum gain of a split (gamma in the paper). Increase it for smaller trees.
    min_samples_leaf : "auto" or int, default="auto"
        Minimum number of sampled rows on each side of a split. "auto" is 5 for two
        classes, 20 for more and 3 for regression, and at most a tenth of the rows.
        Increase it if the data are noisy. For many classes and rare features, such as
        words, use 5.
    min_child_weight : float, default=0.0
        Minimum sum of hessians, over all outputs, on each side of a split. Increase it
        to reduce overfitting.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop if the validation score no longer improves, and keep the rounds
        up to the best. "auto" does so if `fit` gets validation rows. True holds out
        some rows otherwise.
    validation_fraction : int, float or None, default=0.1
        Number or fraction of the rows held out for early stopping if `fit` gets no
        validation rows. None holds out none and uses the training score.
    n_iter_no_change : "auto" or int, default="auto"
        Number of rounds without a better score after which early stopping or a trial
        ends. "auto" is 2 (3 if `quality` is "fast") divided by the learning rate, at
        least 10. Increase it if the score is noisy.
    scoring : str, callable or None, default="loss"
        Score for early stopping: "loss" (or "neg_log_loss"), the name of a scorer, a
        scorer, or None for the accuracy (classification) or R2 (regression). Scorers
        that accept `sample_weight` get the weights of the rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight.
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, such as `CentroidCandidates`, `QuantileCandidates` or
        a custom class; it is cloned before use. None uses ``CentroidCandidates()``, in
        boosting with fewer thresholds for many outputs. The estimator overrides its
        `n_jobs`, and its `random_state` if that is None.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Categorical features: names or indices of columns, or a boolean mask.
        "from_dtype" selects columns of a data frame with a categorical or text dtype
        (pandas, polars, Arrow). None treats all columns as numeric. Categories are
        matched by value; missing and unseen ones are handled like NaN.
    categorical : CategoricalOptions or None, default=None
        How splits of categorical features are found. None uses
        ``CategoricalOptions()``. Change it if features have many rare categories.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Monotonicity constraint of each feature: 1 if the prediction must increase with
        it, -1 if it must decrease, 0 for none. The keys of a dict are feature names. A
        classifier needs two classes, and constrains the probability of the second one.
        A regressor needs a single target or quantile.
    interaction_cst : "pairwise", "no_interactions" or sequence, default=None
        Groups of features that may occur together on one path of a tree, such as ``[{0,
        1}, ["age", "income"]]``. Features in no group form another group. "pairwise"
        allows all pairs, "no_interactions" none. None sets no constraint.
    advanced : BoostingOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses
        ``BoostingOptions()``.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and add only those up to
        `n_estimators`. On the same data, the result equals that of one fit. The
        thresholds of the first fit are kept. Boosting resolves "auto" again, a forest
        keeps its values.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering and of all sampling. With an int, repeated fits give the
        same model.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The model is the same for any
        number. Set it if several fits run at the same time.
    verbose : int, default=0
        1 writes the progress and the remaining time to stderr. Boosting also writes the
        plan (see `plan_`) and the loss.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_classes_ : int
        Number of classes.
    n_outputs_ : int
        Number of targets; 1 for classifiers.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. Defined only if all of them are strings.
    is_categorical_ : ndarray of shape (n_features,) or None
        Mask of the categorical features; None if there are none.
    categories_ : list of length n_features, or None
        Categories of each feature, None for a numeric one. The attribute is None if all
        features are numeric.
    n_iter_ : int
        Number of rounds kept.
    plan_ : BoostingPlan
        The value of every "auto" in this fit. The rules use the number of training
        rows, without rows that were held out and rows of weight zero.
    train_score_ : ndarray of shape (n_rounds + 1,)
        Negative mean loss of the training rows, before the first round and after each
        round. It is the score if early stopping uses the training score. With several
        targets, each is measured in units of about its standard deviation.
    validation_score_ : ndarray of shape (n_rounds + 1,)
        Score of the validation rows: empty without them, NaN for earlier fits without
        them. Like `train_score_`, it includes the rounds after the best one.
    evals_result_ : dict of str to dict
        Losses of the rounds of this fit, for "training" and each validation set, such
        as ``evals_result_["validation"]["log_loss"]``. If early stopping uses another
        score, the last set has that score too.
    best_iteration_ : int or None
        Number of rounds up to the best one; None without early stopping.
    best_score_ : float or None
        Score at the best round.
    feature_importances_ : ndarray of shape (n_features,)
        Total decrease of the impurity by each feature (boosting: of the loss),
        normalized to sum to one. Each tree of a forest counts equally.
    split_counts_ : ndarray of shape (n_features,)
        Number of splits of each feature.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        All trees as flat arrays.

    See Also
    --------
    CGBoostingRegressor : Boosting for regression.
    CGForestClassifier : Forest of independent trees.
    BoostingOptions : Rarely needed options.
    dics.plot.plot_metric : Loss after each round.
    dics.dask.DaskCGBoostingClassifier : The same on a cluster.

    Notes
    -----
    A Newton step can overshoot if a class has a low predicted probability but is
    frequent in a leaf. Each step is limited to the minimum of an upper bound on the
    loss. So without row sampling, no round increases the training loss.

    With ``n_estimators="auto"``, trials find the number of rounds. Each trial holds out
    other 15 % of the rows, and ends when their loss stops falling. The model then takes
    the splits of all trials, in the order of their rounds, and computes the leaf values
    again from all rows. Early stopping, custom losses and ``reuse_splits=False``
    exclude trials, and a trial needs 200 rows. Trials of large tables have fewer
    rounds: above 250,000 rows (62,500 if `quality` is "fast", 500,000 if it is "best"),
    a fit has 100 rounds without them.

    A custom loss has the methods of `CGBoostingRegressor` (see its Notes), and its
    rules for "auto". `y` has the indices of the classes in `classes_`. For two classes,
    `raw` is the margin of the second class, and ``link(raw)`` its probability. For
    more, both have one column per class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CGBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    >>> model.n_iter_
    20
    >>> model.plan_.learning_rate, model.plan_.sampling, model.plan_.max_features
    (0.1, 'mvs', 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Boosting._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "loss": [StrOptions({"log_loss"}), CUSTOM_LOSS],
    }
    _unsupported = frozenset({"advanced.huber_quantile", "advanced.tweedie_power"})
    # The configuration of the paper does not change with the defaults.
    _paper_setting: ClassVar[dict[str, Any]] = {
        **Boosting._paper_setting,
        "n_estimators": 300,
        "advanced__noise_shrinkage": 0.0,
    }

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        quality: str = "balanced",
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        max_depth: int | None = None,
        max_leaf_nodes: int | str | None = "auto",
        max_features: str | int | float | None = "auto",
        subsample: float | str = "auto",
        sampling: str | GOSS | None = "auto",
        l2_regularization: float | str = "auto",
        min_split_gain: float = 0.0,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 0.0,
        early_stopping: bool | str = "auto",
        validation_fraction: int | float | None = 0.1,
        n_iter_no_change: int | str = "auto",
        scoring: str | Callable[..., float] | None = "loss",
        class_weight: Any = None,
        candidates: BaseCandidates | None = None,
        categorical_features: Any = "from_dtype",
        categorical: CategoricalOptions | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        advanced: BoostingOptions | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.quality = quality
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.subsample = subsample
        self.sampling = sampling
        self.l2_regularization = l2_regularization
        self.min_split_gain = min_split_gain
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.class_weight = class_weight
        self.candidates = candidates
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.advanced = advanced
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fit ----------------------------------------------------------------

    @property
    def _fitted_loss(self) -> LogLoss | CustomClassLoss:
        custom: CustomClassLoss | None = vars(self).get("_loss")
        return LogLoss.of(self.n_classes_) if custom is None else custom

    def _make_loss(self, targets: ClassTargets) -> LogLoss | CustomClassLoss:
        n_classes = len(targets.classes)
        if isinstance(self.loss, str) or n_classes == 1:
            return LogLoss.of(n_classes)
        return CustomClassLoss(self.loss, n_classes)

    def _check_eval_set(self, given: EvalSet, training: ClassTargets) -> CheckedEvalSet:
        targets = check_class_labels(given.y, None, may_be_few=True)
        classes = training.classes
        unknown = np.setdiff1d(targets.classes, classes)
        if len(unknown):
            raise ValueError(
                f"Validation labels contain classes that are not in y: {unknown}."
            )
        # A validation set may lack some classes of y.
        indices = np.searchsorted(classes, targets.classes).astype(np.uint32)
        labels = indices[targets.labels]
        weights = check_weights(given.weights, len(labels))
        if self.class_weight is not None:
            # "balanced" is computed from the training rows.
            of_classes: FloatArray = np.empty(len(classes))
            of_classes[training.labels] = combine_weights(
                None, self.class_weight, training
            )
            weights = (1.0 if weights is None else weights) * of_classes[labels]
            if not (weights > 0).any():
                raise ValueError(
                    "All validation rows have zero weight after applying class_weight."
                )
            weights = rescaled_weights(weights)
        return CheckedEvalSet(labels, None, weights)

    def _current_model(
        self,
        rows: CodedRows,
        offset: FloatArray | None,  # noqa: ARG002 (it is part of the scores)
    ) -> tuple[BaseEstimator, Array]:
        # A view: the core adds to the scores in place, and the padding is cut off.
        scores = rows.scores[:, : len(self._start)]
        loss, (labels, targets, _, _) = self._fitted_loss, rows.values
        if isinstance(loss, CustomClassLoss):
            assert targets is not None
            labels = loss.original(targets)[:, 0]
        return CurrentModel(self.classes_, loss, scores), self.classes_[labels]

    def _check_outputs(self) -> None:
        custom: Any = vars(self).get("_loss")
        require(isinstance(custom, CustomClassLoss | None), "the loss is not custom")
        super()._check_outputs()
        check_rounds(self)

    # --- predict ------------------------------------------------------------

    def _class_probabilities(self, X: Any, offset: Any = None) -> FloatArray:
        scores = self._scores(X, offset)  # raises if the model is not fitted
        return self._fitted_loss.probabilities(scores)

    def _most_probable(self, X: Any, offset: Any = None) -> npt.NDArray[np.intp]:
        scores = self._scores(X, offset)
        return self._fitted_loss.most_probable(scores)

    @explain_unknown_arguments
    def predict(
        self, X: Any, *, offset: Any = None, n_rounds: int | None = None
    ) -> Array:
        """Predict the class of each row, the most probable one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.
        n_rounds : int, default=None
            Number of rounds to use, from the first on. None uses all.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        indices = self._first(n_rounds)._most_probable(
            X, offset
        )  # raises if the model is not fitted
        predicted: Array = self.classes_[indices]
        return predicted

    @explain_unknown_arguments
    def predict_proba(
        self, X: Any, *, offset: Any = None, n_rounds: int | None = None
    ) -> FloatArray:
        """Predict the probability of each class, the softmax of the scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.
        n_rounds : int, default=None
            Number of rounds to use, from the first on. None uses all.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities of the classes, in the order of `classes_`.
        """
        return self._first(n_rounds)._class_probabilities(X, offset)

    @explain_unknown_arguments
    def predict_log_proba(
        self, X: Any, *, offset: Any = None, n_rounds: int | None = None
    ) -> FloatArray:
        """Predict the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.
        n_rounds : int, default=None
            Number of rounds to use, from the first on. None uses all.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Logarithms of the probabilities, -inf for a probability of zero.
        """
        with np.errstate(divide="ignore"):  # scores may differ by hundreds
            logs: FloatArray = np.log(
                self.predict_proba(X, offset=offset, n_rounds=n_rounds)
            )
            return logs

    @explain_unknown_arguments
    def decision_function(
        self, X: Any, *, offset: Any = None, n_rounds: int | None = None
    ) -> FloatArray:
        """Compute the score of each class, whose softmax is `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.
        n_rounds : int, default=None
            Number of rounds to use, from the first on. None uses all.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,)
            Scores of the classes. For two classes, the margin of the second class.
        """
        scores = self._first(n_rounds)._scores(X, offset)
        return self._fitted_loss.decision(scores)

    def staged_decision_function(
        self, X: Any, *, offset: Any = None
    ) -> Iterator[FloatArray]:
        """Yield the result of `decision_function` after each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.

        Yields
        ------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,)
            Scores of the classes. For two classes, the margin of the second class.
        """
        for scores in self._staged_scores(X, offset):
            yield self._fitted_loss.decision(scores)

    def staged_predict_proba(
        self, X: Any, *, offset: Any = None
    ) -> Iterator[FloatArray]:
        """Yield the result of `predict_proba` after each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities of the classes, in the order of `classes_`.
        """
        for scores in self._staged_scores(X, offset):
            yield self._fitted_loss.probabilities(scores)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Array]:
        """Yield the result of `predict` after each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Class labels.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.metrics import accuracy_score
        >>> from dics import CGBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = CGBoostingClassifier(n_estimators=10, random_state=0).fit(X, y)
        >>> scores = [accuracy_score(y, found) for found in model.staged_predict(X)]
        >>> len(scores), scores[-1] == model.score(X, y)
        (10, True)
        """
        for scores in self._staged_scores(X, offset):
            yield self.classes_[self._fitted_loss.most_probable(scores)]


class CGBoostingRegressor(RegressorMixin, Boosting):
    """Cluster-guided (CG) gradient boosting regressor with one tree per round.

    An alternative to scikit-learn's HistGradientBoostingRegressor and the regressors of
    LightGBM and XGBoost. One tree per round predicts several targets, or several
    quantiles of one target: its leaves hold a value for each. Splits come from a few
    thresholds per feature (`CentroidCandidates`).

    Parameters
    ----------
    loss : str or object, default="squared_error"
        "squared_error", "absolute_error", "huber", "quantile", "poisson" (y >= 0),
        "gamma" (y > 0) or "tweedie" (y >= 0; its power is an option of `advanced`), or
        a custom loss, see Notes. The last three names predict the exponential of the
        score.
    quantile : float or sequence of float, default=0.5
        With ``loss="quantile"``: the quantile to predict, or several at once. One tree
        per round predicts all of them, and the predictions do not cross.
    quality : {"fast", "balanced", "best"}, default="balanced"
        How much time every "auto" may take. "fast" has one trial of large steps, for
        quick looks and wide data. "balanced" has three trials. "best" has eight, and
        takes about four times as long. Values that you set have priority.
    n_estimators : int or "auto", default="auto"
        Number of rounds; each adds one tree. "auto" finds it by trials (see Notes), and
        is 100 for tables that are too small or too large for them. With early stopping,
        it is the maximum.
    learning_rate : float or "auto", default="auto"
        Factor of each tree. A smaller factor needs more rounds. "auto" is 0.1 for
        classification and 0.12 for regression, 0.15 if `quality` is "fast", and 0.05
        for regression if it is "best". After trials, it is divided by their number.
        With two classes, the margin changes by twice the rate. Callbacks of `fit` can
        change it between rounds.
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit. Decrease it for a tree that is
        faster or easier to read. The paper uses 3 for boosting and 8 otherwise.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves of a tree; the split with the largest gain comes first.
        None sets no limit. "auto" is 16. From 20,000 training rows on, it is 31 for
        classification and 63 for regression.
    max_features : "auto", int, float or None, default="auto"
        Number of features sampled for each round, not for each node. A float is a
        fraction of the features; None uses all. "auto" is 0.7 (all features in the
        first trial of regression), and less if there are many features.
    subsample : "auto" or float, default="auto"
        Fraction of the rows that each round samples by "mvs", above 0 and at most 1;
        1.0 uses all rows. "auto" is 0.5. From 333,333 rows on it falls, to 0.17 for a
        million rows.
    sampling : {"auto", "mvs", "goss"}, GOSS or None, default="auto"
        How a round samples the rows that choose its splits. "mvs" samples by the size
        of the gradient, "goss" as in the paper (`GOSS` sets its rates). None uses all
        rows. "auto" is "mvs" if `subsample` is below 1, otherwise None.
    l2_regularization : "auto" or float, default="auto"
        L2 penalty of the leaf values (lambda in the paper). "auto" is 0.1 for
        classification and 1 for regression. Increase it to reduce overfitting. For
        classification with many rare features, such as words, use 0.01.
    min_split_gain : float, default=0.0
        Minimum gain of a split (gamma in the paper). Increase it for smaller trees.
    min_samples_leaf : "auto" or int, default="auto"
        Minimum number of sampled rows on each side of a split. "auto" is 5 for two
        classes, 20 for more and 3 for regression, and at most a tenth of the rows.
        Increase it if the data are noisy. For many classes and rare features, such as
        words, use 5.
    min_child_weight : float, default=0.0
        Minimum sum of hessians, over all outputs, on each side of a split. Increase it
        to reduce overfitting.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop if the validation score no longer improves, and keep the rounds
        up to the best. "auto" does so if `fit` gets validation rows. True holds out
        some rows otherwise.
    validation_fraction : int, float or None, default=0.1
        Number or fraction of the rows held out for early stopping if `fit` gets no
        validation rows. None holds out none and uses the training score.
    n_iter_no_change : "auto" or int, default="auto"
        Number of rounds without a better score after which early stopping or a trial
        ends. "auto" is 2 (3 if `quality` is "fast") divided by the learning rate, at
        least 10. Increase it if the score is noisy.
    scoring : str, callable or None, default="loss"
        Score for early stopping: "loss" (or "neg_log_loss"), the name of a scorer, a
        scorer, or None for the accuracy (classification) or R2 (regression). Scorers
        that accept `sample_weight` get the weights of the rows.
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, such as `CentroidCandidates`, `QuantileCandidates` or
        a custom class; it is cloned before use. None uses ``CentroidCandidates()``, in
        boosting with fewer thresholds for many outputs. The estimator overrides its
        `n_jobs`, and its `random_state` if that is None.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Categorical features: names or indices of columns, or a boolean mask.
        "from_dtype" selects columns of a data frame with a categorical or text dtype
        (pandas, polars, Arrow). None treats all columns as numeric. Categories are
        matched by value; missing and unseen ones are handled like NaN.
    categorical : CategoricalOptions or None, default=None
        How splits of categorical features are found. None uses
        ``CategoricalOptions()``. Change it if features have many rare categories.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Monotonicity constraint of each feature: 1 if the prediction must increase with
        it, -1 if it must decrease, 0 for none. The keys of a dict are feature names. A
        classifier needs two classes, and constrains the probability of the second one.
        A regressor needs a single target or quantile.
    interaction_cst : "pairwise", "no_interactions" or sequence, default=None
        Groups of features that may occur together on one path of a tree, such as ``[{0,
        1}, ["age", "income"]]``. Features in no group form another group. "pairwise"
        allows all pairs, "no_interactions" none. None sets no constraint.
    advanced : BoostingOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses
        ``BoostingOptions()``.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and add only those up to
        `n_estimators`. On the same data, the result equals that of one fit. The
        thresholds of the first fit are kept. Boosting resolves "auto" again, a forest
        keeps its values.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering and of all sampling. With an int, repeated fits give the
        same model.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The model is the same for any
        number. Set it if several fits run at the same time.
    verbose : int, default=0
        1 writes the progress and the remaining time to stderr. Boosting also writes the
        plan (see `plan_`) and the loss.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets; 1 for classifiers.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. Defined only if all of them are strings.
    is_categorical_ : ndarray of shape (n_features,) or None
        Mask of the categorical features; None if there are none.
    categories_ : list of length n_features, or None
        Categories of each feature, None for a numeric one. The attribute is None if all
        features are numeric.
    n_iter_ : int
        Number of rounds kept.
    plan_ : BoostingPlan
        The value of every "auto" in this fit. The rules use the number of training
        rows, without rows that were held out and rows of weight zero.
    train_score_ : ndarray of shape (n_rounds + 1,)
        Negative mean loss of the training rows, before the first round and after each
        round. It is the score if early stopping uses the training score. With several
        targets, each is measured in units of about its standard deviation.
    validation_score_ : ndarray of shape (n_rounds + 1,)
        Score of the validation rows: empty without them, NaN for earlier fits without
        them. Like `train_score_`, it includes the rounds after the best one.
    evals_result_ : dict of str to dict
        Losses of the rounds of this fit, for "training" and each validation set, such
        as ``evals_result_["validation"]["log_loss"]``. If early stopping uses another
        score, the last set has that score too.
    best_iteration_ : int or None
        Number of rounds up to the best one; None without early stopping.
    best_score_ : float or None
        Score at the best round.
    feature_importances_ : ndarray of shape (n_features,)
        Total decrease of the impurity by each feature (boosting: of the loss),
        normalized to sum to one. Each tree of a forest counts equally.
    split_counts_ : ndarray of shape (n_features,)
        Number of splits of each feature.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        All trees as flat arrays.

    See Also
    --------
    CGBoostingClassifier : Boosting for classification.
    CGForestRegressor : Forest, which also predicts quantiles.
    BoostingOptions : Rarely needed options.
    dics.plot.plot_metric : Loss after each round.
    dics.dask.DaskCGBoostingRegressor : The same on a cluster.

    Notes
    -----
    With ``n_estimators="auto"``, trials find the number of rounds. Each trial holds out
    other 15 % of the rows, and ends when their loss stops falling. The model then takes
    the splits of all trials, in the order of their rounds, and computes the leaf values
    again from all rows. Early stopping, custom losses and ``reuse_splits=False``
    exclude trials, and a trial needs 200 rows. Trials of large tables have fewer
    rounds: above 250,000 rows (62,500 if `quality` is "fast", 500,000 if it is "best"),
    a fit has 100 rounds without them.

    A custom loss is an object with three methods. They get y, the scores `raw` and the
    weights of the rows (or None):

    - ``gradients(y, raw, weight)`` returns the first and the second derivative of the
      loss of each row by `raw`, times its weight. Second derivatives must not be
      negative.
    - ``start(y, weight)`` returns the start score of all rows.
    - ``link(raw)`` returns the predictions.

    For `train_score_` and early stopping, a fourth method ``loss(y, raw, weight)``
    returns the mean loss. The methods are called once per round with all rows. Built-in
    losses are faster: they use several threads and single precision. An offset is part
    of `raw`, but not of the start.

    A custom loss that holds an array with a value for each row needs all rows in their
    order: without held-out rows (``early_stopping=True``), without rows of weight zero,
    and without a method ``loss`` if there are validation sets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dics import CGBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CGBoostingRegressor(n_estimators=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.6)
    True
    >>> quantiles = CGBoostingRegressor(loss="quantile", quantile=[0.1, 0.5, 0.9])
    >>> quantiles.set_params(n_estimators=50, random_state=0).fit(X, y).predict(X).shape
    (442, 3)

    A custom loss, where an error counts three times if the prediction is too low:

    >>> import numpy as np
    >>> class Expectile:
    ...     def start(self, y, weight):
    ...         return np.average(y, weights=weight)
    ...
    ...     def link(self, raw):
    ...         return raw
    ...
    ...     def gradients(self, y, raw, weight):
    ...         w = np.where(raw < y, 3.0, 1.0) * (1.0 if weight is None else weight)
    ...         return w * (raw - y), w
    >>> own = CGBoostingRegressor(loss=Expectile(), n_estimators=20, random_state=0)
    >>> bool(own.fit(X, y).score(X, y) > 0.4)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Boosting._parameter_constraints,
        "loss": [
            StrOptions(set(LOSSES)),
            CUSTOM_LOSS,
        ],
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither"), "array-like"],
    }
    _unsupported = frozenset({"advanced.reuse_splits", "advanced.noise_shrinkage"})

    _loss: NumberLoss | CustomLoss

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        quantile: float | Sequence[float] = 0.5,
        quality: str = "balanced",
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        max_depth: int | None = None,
        max_leaf_nodes: int | str | None = "auto",
        max_features: str | int | float | None = "auto",
        subsample: float | str = "auto",
        sampling: str | GOSS | None = "auto",
        l2_regularization: float | str = "auto",
        min_split_gain: float = 0.0,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 0.0,
        early_stopping: bool | str = "auto",
        validation_fraction: int | float | None = 0.1,
        n_iter_no_change: int | str = "auto",
        scoring: str | Callable[..., float] | None = "loss",
        candidates: BaseCandidates | None = None,
        categorical_features: Any = "from_dtype",
        categorical: CategoricalOptions | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        advanced: BoostingOptions | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.quality = quality
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.subsample = subsample
        self.sampling = sampling
        self.l2_regularization = l2_regularization
        self.min_split_gain = min_split_gain
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.candidates = candidates
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.advanced = advanced
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fit ----------------------------------------------------------------

    @property
    def _fitted_loss(self) -> NumberLoss | CustomLoss:
        return self._loss

    def _make_loss(self, targets: RegressionTargets) -> NumberLoss | CustomLoss:
        n_targets = targets.values.shape[1]
        if not isinstance(self.loss, str):
            return CustomLoss(self.loss, n_targets)
        levels = None
        if self.loss == "quantile":
            levels = check_quantiles(self.quantile)
            if n_targets > 1:
                raise ValueError(
                    f"loss='quantile' predicts quantiles of one target, y has "
                    f"{n_targets}; fit a model for each."
                )
        alpha = self._options.huber_quantile
        if self.loss == "tweedie":
            alpha = self._options.tweedie_power
        return NumberLoss(self.loss, levels, float(alpha), n_targets)

    def _check_target_values(self, values: FloatArray) -> None:
        self._make_loss(RegressionTargets(values)).check(values)

    def _check_eval_set(
        self, given: EvalSet, training: RegressionTargets
    ) -> CheckedEvalSet:
        values = check_regression_target(given.y, None, type(self).__name__)
        self._check_target_values(values)
        n_targets = training.values.shape[1]
        if values.shape[1] != n_targets:
            raise ValueError(
                f"The validation targets have {values.shape[1]} columns, but y has "
                f"{n_targets}."
            )
        weights = check_weights(given.weights, len(values))
        return CheckedEvalSet(None, values, weights)

    def _current_model(
        self, rows: CodedRows, offset: FloatArray | None
    ) -> tuple[BaseEstimator, Array]:
        unit, n_outputs = self._loss.score_unit(), len(self._start)
        added: FloatArray | float = 0.0
        if offset is not None and self._loss.subtracts_offset:
            added = offset

        def predict(scores: npt.NDArray[np.float32]) -> FloatArray:
            scaled = scores[:, :n_outputs] * (1.0 if unit is None else unit)
            predicted = self._loss.predictions(scaled.astype(np.float32))
            return squeezed(predicted + added)

        assert rows.values.targets is not None
        # The rows have no other copy of y.
        y = self._loss.original(rows.values.targets) + added
        return CurrentRegressor(predict, rows.scores), self._shaped(y)

    def _check_outputs(self) -> None:
        loss: Any = vars(self).get("_loss")
        require(isinstance(loss, NumberLoss | CustomLoss), "the loss is missing")
        super()._check_outputs()
        loss.check_model(self.n_outputs_)
        check_rounds(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        name = self.loss if isinstance(self.loss, str) else ""
        tags.target_tags.multi_output = name != "quantile"
        tags.target_tags.positive_only = name in LOG_LINK_LOSSES
        return tags

    # --- predict ------------------------------------------------------------

    @explain_unknown_arguments
    def predict(
        self, X: Any, *, offset: Any = None, n_rounds: int | None = None
    ) -> FloatArray:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.
        n_rounds : int, default=None
            Number of rounds to use, from the first on. None uses all.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_outputs)
            Predictions, with one column per target or quantile if there are several.
        """
        scores = self._first(n_rounds)._scores(X, offset)
        return squeezed(self._loss.predictions(scores))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield the result of `predict` after each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Added to the raw scores, as in `fit`.

        Yields
        ------
        y : ndarray of shape (n_samples,), or (n_samples, n_outputs)
            Predictions, with one column per target or quantile if there are several.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.metrics import r2_score
        >>> from dics import CGBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = CGBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
        >>> scores = [r2_score(y, found) for found in model.staged_predict(X)]
        >>> len(scores), scores[-1] > scores[0]
        (10, True)
        """
        for scores in self._staged_scores(X, offset):
            yield squeezed(self._loss.predictions(scores))
