"""Gradient boosting of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from dics._boosting_base import Boosting
from dics._boosting_rows import CodedRows, GivenRows, Validation
from dics._candidates_base import TrainingData
from dics._foreign_arguments import explain_unknown_arguments
from dics._leaf_rows import check_quantiles
from dics._model_check import check_length, require
from dics._number_losses import LOSSES, OF_LOGARITHMS, CustomLoss, NumberLoss
from dics._regressor import TreesRegressorMixin
from dics._rounds import CurrentRegressor, Rounds
from dics._sparse_rows import SparseRows
from dics._validation import (
    Array,
    FloatArray,
    NumberTargets,
    check_numbers,
    check_weights,
)
from dics.candidates import BaseCandidates
from dics.trees import Trees


class FastCGBMRegressor(TreesRegressorMixin, Boosting):
    """Gradient boosting of numbers with one small tree a round.

    A drop-in for scikit-learn's HistGradientBoostingRegressor, LightGBM's and XGBoost's
    regressors. Several targets, and several quantiles of one, are predicted by one tree
    a round whose leaves hold a value for each. See `FastCGBMClassifier` for what the
    rounds do.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        "squared_error", "absolute_error", "huber", "quantile", "poisson" (y of 0 or
        more) or "gamma" (y above 0); the last two predict the exponential of the score.
        Or an object of your own, see Notes.
    quantile : float or sequence of float, default=0.5
        Of ``loss="quantile"``: the quantile to predict, or several at once. One tree a
        round serves all of them, and their predictions don't cross.
    alpha : float, default=0.9
        Of ``loss="huber"``: the share of the rows, those with the smallest residuals,
        whose loss is squared.
    n_estimators : int, default=100
        Number of rounds, each of which adds one tree.
    learning_rate : float or "auto", default="auto"
        Factor of what each tree adds. "auto" is 0.12, below 10,000 training rows 0.1.
        Where X has categories and there are 1,000 to 200,000 training rows, some of
        them are held out from a trial of 0.6 of the rounds (100 at most). If their loss
        rises before, the trial is thrown away and the rate is lower, the more the
        earlier it was and the more rounds there are; otherwise its rounds are kept, and
        the others see all rows.
    max_depth : int or None, default=None
        Largest depth of a leaf; None for no limit.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Largest number of leaves: the leaf whose split gains most is split next. None
        for no limit. "auto" is 31, and 8 where X has categories and a trial has ended
        early (see `learning_rate`).
    max_candidates : int or None, default=None
        Number k of candidate splits drawn for each round from the thresholds of its
        features. None looks at all of them.
    max_features : "auto", int, float or None, default="auto"
        Number of features drawn for each round; a float is a share of them, None means
        all. "auto" is all that keep the product of features, rows drawn and outputs
        below 20 million, or 4 times their square root, at least 100; below 10,000
        training rows half of them, if they are up to 64 and half is more than 8. Where
        that isn't all of them, from 10,000 rows on, the first round looks at all, and
        half of those of later rounds are the ones that gained most so far.
    sketch_outputs : "auto", int or None, default="auto"
        Splits are searched by so many random sums of a row's gradients instead of one
        gradient for each output (SketchBoost); the values of the leaves still come from
        all. "auto" is 6 from 32 outputs on, None uses all.
    sampling : {"auto", "goss", "mvs"} or None, default="auto"
        Rows that the splits of a round are chosen by. "goss" takes those with the
        longest gradients and some of the others, which then weigh more.
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
        `sampling`. Leaves of "absolute_error", "huber" and "quantile" are always those
        of all rows.
    l2_regularization : float, default=0.1
        What is added to the sum of the second derivatives of a leaf.
    min_split_gain : float, default=0.0
        What a split must gain.
    min_samples_leaf : int, default=20
        Rows, of those drawn, that each side of a split must have.
    min_sum_hessian : float, default=0.0
        Sum of hessians that each side of a split must have, over all outputs
        (XGBoost's `min_child_weight`).
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
        What early stopping looks at: the loss, a scorer's name, a scorer, or None for
        R2. Scorers that take `sample_weight` get
        the weights of the rows, if there are any.
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, such as a `CentroidCandidates`, a `QuantileCandidates`
        or one of your own, cloned before use; None means
        ``CentroidCandidates()``, with fewer thresholds for more than 31 outputs. Its
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
        equal; 0 for no constraint. A dict has names of features as its keys. For a
        single target, and a single quantile.
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
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
    n_iter_ : int
        Number of rounds kept.
    plan_ : BoostingPlan
        What every "auto" has become in this fit.
    train_score_ : ndarray of shape (n_rounds + 1,)
        Negative mean loss of the training rows before the first round and after each
        (or the score, if it is what early stopping looks at). Of several targets, each
        is measured in units of about its own spread.
    validation_score_ : ndarray of shape (n_rounds + 1,)
        Score of the validation rows; empty without any, NaN for rounds without.
    evals_result_ : dict of str to dict
        Losses of this fit's rounds, of "training" and of each validation set by name:
        ``evals_result_["validation"]["squared_error"]``. If early stopping looks at a
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
    A loss of your own is an object with three methods, which get y, the scores `raw`
    and the weights of the rows (or None):

    - ``gradients(y, raw, weight)`` returns the first and the second derivative by
      `raw` of each row's loss, times its weight; second ones must not be negative;
    - ``start(y, weight)`` returns the score that all rows begin with;
    - ``link(raw)`` returns predictions;

    and, if `train_score_` and early stopping are to have a loss, ``loss(y, raw,
    weight)``, the mean loss. It is called once a round with all rows, which is slower
    than the losses of the core: those run in several threads and single precision.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dics import FastCGBMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FastCGBMRegressor(n_estimators=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.6)
    True
    >>> levels = FastCGBMRegressor("quantile", quantile=[0.1, 0.5, 0.9])
    >>> levels.set_params(n_estimators=50, random_state=0).fit(X, y).predict(X).shape
    (442, 3)

    The Tweedie loss with a power of 1.5, as a loss of your own:

    >>> import numpy as np
    >>> class Tweedie:
    ...     def start(self, y, weight):
    ...         return np.log(np.average(y, weights=weight))
    ...
    ...     def link(self, raw):
    ...         return np.exp(raw)
    ...
    ...     def gradients(self, y, raw, weight):
    ...         a, b = y * np.exp(-0.5 * raw), np.exp(0.5 * raw)
    ...         w = 1.0 if weight is None else weight
    ...         return w * (b - a), w * (0.5 * b + 0.5 * a)
    >>> own = FastCGBMRegressor(Tweedie(), n_estimators=20, random_state=0).fit(X, y)
    >>> bool(own.score(X, y) > 0.4)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: constraint
        for name, constraint in Boosting._parameter_constraints.items()
        if name != "reuse_splits"
    } | {
        "loss": [
            StrOptions(set(LOSSES)),
            HasMethods(["gradients", "start", "link"]),
        ],
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither"), "array-like"],
        "alpha": [Interval(Real, 0.0, 1.0, closed="neither")],
    }
    _default_scoring = "r2"
    reuse_splits = True

    _loss: NumberLoss | CustomLoss

    @explain_unknown_arguments
    def __init__(
        self,
        loss: Any = "squared_error",
        *,
        quantile: float | Sequence[float] = 0.5,
        alpha: float = 0.9,
        n_estimators: int = 100,
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
        l2_regularization: float = 0.1,
        min_split_gain: float = 0.0,
        min_samples_leaf: int = 20,
        min_sum_hessian: float = 0.0,
        early_stopping: bool | str = "auto",
        validation_fraction: int | float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        scoring: str | Callable[..., float] | None = "loss",
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
        self.loss = loss
        self.quantile = quantile
        self.alpha = alpha
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
        self.min_split_gain = min_split_gain
        self.min_samples_leaf = min_samples_leaf
        self.min_sum_hessian = min_sum_hessian
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
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

    def _make_loss(self, n_targets: int) -> NumberLoss | CustomLoss:
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
        return NumberLoss(self.loss, levels, float(self.alpha), n_targets)

    def _needs_positive_targets(self) -> bool:
        return isinstance(self.loss, str) and self.loss in OF_LOGARITHMS

    def _check_target_values(self, values: FloatArray) -> None:
        self._make_loss(values.shape[1]).check(values)

    def _check_held_targets(self, y: Any) -> FloatArray:
        values = check_numbers(y, None, type(self).__name__)
        self._check_target_values(values)
        return values

    def _check_validation(
        self, given: GivenRows, training: NumberTargets
    ) -> Validation:
        values = self._check_held_targets(given.y)
        n_targets = training.values.shape[1]
        if values.shape[1] != n_targets:
            raise ValueError(f"there are {values.shape[1]} targets, y has {n_targets}.")
        weights = check_weights(given.weights, len(values))
        return Validation(given.X, None, weights, values)

    def _n_leaf_values(self) -> int:
        return self._loss.n_outputs

    def _check_outputs(self) -> None:
        loss: Any = vars(self).get("_loss")
        require(isinstance(loss, NumberLoss | CustomLoss), "the loss is missing")
        loss.check_model(self.n_outputs_)
        super()._check_outputs()
        self._check_rounds()
        if self._score_unit is not None:
            check_length("_score_unit", self._score_unit, loss.n_outputs)

    def _n_outputs(self, data: TrainingData) -> int:
        assert data.values is not None
        return self._make_loss(data.values.shape[1]).n_outputs

    def _is_constant(self, data: TrainingData) -> bool:
        assert data.values is not None
        used = data.values if data.weights is None else data.values[data.weights > 0]
        return bool((used == used[0]).all()) and isinstance(self.loss, str)

    def _begin_scores(self, data: TrainingData, weights: FloatArray | None) -> None:
        assert data.values is not None
        y = data.values
        if weights is not None:
            y, weights = y[weights > 0], weights[weights > 0]
        self._loss = self._make_loss(y.shape[1])
        self._loss.begin(y, weights)
        self._start = self._loss.start
        self._score_unit = self._loss.score_unit()
        self._loss_unit = self._loss.loss_unit()

    def _run_rounds(
        self,
        data: TrainingData,
        training: CodedRows,
        validation: list[CodedRows],
        rounds: Rounds,
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        if isinstance(self._loss, NumberLoss):
            core = self._loss.core
        else:
            core = partial(self._loss.for_rows, [training, *validation])
            # Its gradients are weighted.
            training = training._replace(weights=None)
            validation = [rows._replace(weights=None) for rows in validation]
        return self._run_core(core, data, training, validation, rounds)

    def _core_targets(
        self, data: TrainingData
    ) -> tuple[npt.NDArray[np.uint32] | None, npt.NDArray[np.float32] | None]:
        assert data.values is not None
        return None, self._loss.targets(data.values)

    def _loss_name(self) -> str:
        return self.loss if isinstance(self.loss, str) else "loss"

    def _watched_model(self, watched: CodedRows) -> tuple[BaseEstimator, Array]:
        unit = 1.0 if self._score_unit is None else self._score_unit

        def predict(scores: npt.NDArray[np.float32]) -> FloatArray:
            own = (scores[:, : len(self._start)] * unit).astype(np.float32)
            return self._predictions(own)

        assert watched.targets is not None
        y = self._loss.original(watched.targets)
        return CurrentRegressor(predict, watched.scores), self._shaped(y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        one_target = isinstance(self.loss, str) and self.loss == "quantile"
        tags.target_tags.multi_output = not one_target
        return tags

    # --- predict ------------------------------------------------------------

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        added = super()._contributions(X)
        added[:, -1] += self._loss.offset()
        return added

    def _predictions(self, scores: npt.NDArray[np.float32]) -> FloatArray:
        predicted = self._loss.predictions(scores)
        return predicted[:, 0] if predicted.shape[1] == 1 else predicted

    def predict(self, X: Any) -> FloatArray:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_outputs)
            A column for each target, or for each quantile, if there are several.
        """
        return self._predictions(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield what `predict` is after each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,), or (n_samples, n_outputs)
        """
        for scores in self._staged_scores(X):
            yield self._predictions(scores)
