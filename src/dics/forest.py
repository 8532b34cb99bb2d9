"""Forests: classifier (Algorithm 3 of the paper, CGRF) and regressor."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Generic, Self, SupportsIndex, TypeVar, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._dictionary import TrainingData
from dics._estimator.arguments import explain_unknown_arguments
from dics._estimator.base import (
    NO_LIMIT,
    ImpurityTreesEstimator,
    as_feature_count,
)
from dics._estimator.mixins import (
    REGRESSION_CRITERIA,
    ImpurityRegressorMixin,
    TreesClassifierMixin,
)
from dics._estimator.running import Progress, warn_user
from dics._growing.constraints import as_classes, as_numbers, set_criterion_of_numbers
from dics._growing.forest import MAX_FEATURES, grow_forest
from dics._growing.pruning import prune
from dics._growing.sampling import OutOfBag, OutOfBagSums, check_draws, draw_counts
from dics._input.checks import MAX_COUNT, Array, FloatArray
from dics._input.rows import RemoteRows
from dics._input.sparse import SparseRows
from dics._model.checks import check_array, check_vector, require
from dics._model.leaf_rows import LeafRows, check_quantiles
from dics._model.trees import Trees
from dics.candidates import BaseCandidates, CentroidCandidates, fit_candidates
from dics.options import CategoricalOptions, ForestOptions, TreeOptions
from dics.tree import CGTree, CGTreeClassifier, CGTreeRegressor

# Fitted attributes of a forest that its trees have as well.
SHARED_WITH_TREES = (
    "candidates_",
    "classes_",
    "n_classes_",
    "n_outputs_",
    "n_features_in_",
    "feature_names_in_",
    "max_features_",
    "_categories",
)


TreeT = TypeVar("TreeT", bound=CGTree)


class CGForest(ImpurityTreesEstimator, Generic[TreeT]):
    """A forest of trees that share one dictionary, whatever it predicts."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        **ImpurityTreesEstimator._parameter_constraints,
        "max_features": MAX_FEATURES,
        "advanced": [ForestOptions, None],
        "bootstrap": ["boolean"],
        "max_samples": [
            None,
            Interval(RealNotInt, 0.0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "oob_score": ["boolean", callable],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }
    _tree_class: type[TreeT]
    max_features_: int
    _n_rows: int  # of the last fit
    _n_drawn: int  # 0 without bootstrap
    _draw_weights: FloatArray | None  # chances of the rows
    _options_class = ForestOptions
    _paper_options: ClassVar[dict[str, Any]] = {
        "feature_sampling": "tree",
        "max_candidates": 100,
    }

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Make the paper's own setting: features drawn for each tree, hard votes.

        The paper has forests of classes only; for a regressor, groups of rows with like
        targets take the place of the classes, and there are no votes.

        Parameters
        ----------
        **parameters : dict
            Parameters to set in addition, or instead, as in `set_params`.

        Returns
        -------
        forest : CGForestClassifier or CGForestRegressor

        Examples
        --------
        >>> from dics import CGForestClassifier
        >>> forest = CGForestClassifier.paper(n_estimators=50, random_state=0)
        >>> forest.advanced
        ForestOptions(feature_sampling='tree', max_candidates=100, voting='hard')
        """
        forest = cls(
            candidates=CentroidCandidates.paper(),
            max_depth=8,
            min_samples_split=3,
            advanced=ForestOptions(**cls._paper_options),
        )
        return forest.set_params(**parameters)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        is_warm_start = self.warm_start and hasattr(self, "trees_")
        n_trees = len(self.trees_) if is_warm_start else 0
        self._check_options(n_trees)
        data = self._check_training_data(
            X, y, sample_weight, is_warm_start=is_warm_start
        )
        n_draws = self._n_draws(len(data.X), data.weights)
        if self.n_estimators == n_trees:
            warn_user(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "trees."
            )
        else:
            if not is_warm_start:
                self.candidates_ = fit_candidates(self, data)
            new = self._grow(data, n_draws, n_trees)
            for stale in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
                self.__dict__.pop(stale, None)
            self.trees_ = self.trees_.concat(new) if is_warm_start else new
            self._keep_targets(data)
            self._keep_draws(data, n_draws)
        if self.oob_score and (
            self.n_estimators > n_trees or not hasattr(self, "oob_score_")
        ):
            self._estimate_out_of_bag(data, n_draws)

    def _check_options(self, n_trees: int) -> None:
        """Check what is asked for, before any work."""
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError(
                f"max_samples={self.max_samples!r} needs bootstrap=True, "
                "got bootstrap=False."
            )
        if not self.bootstrap and self.oob_score:
            raise ValueError(
                "Out of bag estimation only available if bootstrap=True, "
                f"got oob_score={self.oob_score!r} and bootstrap=False."
            )
        if self.n_estimators < n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_trees} when warm_start==True"
            )

    def _n_draws(self, n_rows: int, weights: FloatArray | None) -> int:
        """Rows drawn for each tree; 0 if nothing is drawn."""
        if not self.bootstrap:
            return 0
        if self.max_samples is None:
            return n_rows
        if isinstance(self.max_samples, Integral):
            n_draws: float = int(self.max_samples)
        else:
            total = n_rows if weights is None else float(weights.sum())
            # The scale of weights that aren't counts must not decide how long a fit
            # takes: as many as without weights, or as there are rows.
            most = max(1.0, self.max_samples) * n_rows
            n_draws = max(1.0, min(self.max_samples * total, most))
        if n_draws > MAX_COUNT:
            raise ValueError(
                f"max_samples={self.max_samples!r} asks for more than {MAX_COUNT} rows "
                "a tree."
            )
        return int(n_draws)

    def _keep_draws(self, data: TrainingData, n_draws: int) -> None:
        """Keep what the draws of rows and features can be told from."""
        self.max_features_ = as_feature_count(self.max_features, data.X.shape[1])
        self._seed = data.seed
        self._n_rows, self._n_drawn = len(data.X), n_draws
        self._draw_weights = data.weights if n_draws else None

    def _check_model(self) -> None:
        super()._check_model()
        if "_n_drawn" in vars(self):
            own = vars(self)
            check_draws(own.get("_n_rows"), own["_n_drawn"], own.get("_draw_weights"))

    @property
    def estimators_samples_(self) -> list[npt.NDArray[np.intp]]:
        """Numbers of the rows that each tree has drawn, as often as it has drawn them.

        They are those of the X of the last fit, and drawn again whenever they are asked
        for. Without `bootstrap`, every tree has all rows. A forest with weights that
        was saved to a file and loaded doesn't know them.
        """
        if "_n_drawn" not in vars(self):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute "
                "'estimators_samples_' before it is fitted"
            )
        rows, n_trees = np.arange(self._n_rows), len(self.trees_)
        if "_draw_weights" not in vars(self):
            raise AttributeError(
                "estimators_samples_ needs the weights of all training rows, which a "
                "model file leaves out; a pickle has them."
            )
        if self._n_drawn == 0:
            return [rows.copy() for _ in range(n_trees)]
        draws = draw_counts(
            self._seed, range(n_trees), self._n_rows, self._n_drawn, self._draw_weights
        )
        return [np.repeat(rows, counts) for counts in draws]

    def _grow(self, data: TrainingData, n_draws: int, first_tree: int) -> Trees:
        data = self._core_data(data)
        n_trees = self.n_estimators - first_tree
        progress = Progress(
            type(self).__name__, n_trees, "trees", enabled=bool(self.verbose)
        )
        with progress:
            arrays = self._grow_arrays(
                data, n_draws, range(first_tree, self.n_estimators), progress
            )
        return self._take_trees(arrays, data)

    def _grow_arrays(
        self, data: TrainingData, n_draws: int, trees: range, progress: Progress
    ) -> dict[str, Any]:
        """Grow the trees of some numbers in the core."""
        return grow_forest(
            data,
            self.candidates_._dictionary,
            self._tree_settings(data),
            progress=progress.update if progress.enabled else None,
            **self._forest_fields(data, n_draws, trees),
        )

    def _forest_fields(
        self, data: TrainingData, n_draws: int, trees: range
    ) -> dict[str, Any]:
        """Return how trees of some numbers are grown, beside how each of them is."""
        return {
            "max_features": as_feature_count(self.max_features, data.X.shape[1]),
            "feature_sampling": self._options.feature_sampling,
            "first_tree": trees.start,
            "n_trees": len(trees),
            "n_draws": n_draws,
            "balance_each_tree": self._balances_each_tree(),
            "draws_cuts": data.values is None,
        }

    def _core_data(self, data: TrainingData) -> TrainingData:
        """Return what the core is to grow trees from."""
        return data

    def _tree_settings(self, data: TrainingData) -> _core.GrowSettings:
        return self._grow_settings(
            data,
            max_candidates=min(self._options.max_candidates or 0, NO_LIMIT),
            monotonic=self._directions(data),
        )

    def _min_weight_fraction(self) -> float:
        return float(self._options.min_weight_fraction_leaf)

    def _balances_each_tree(self) -> bool:
        return False

    def _counts_draws(self) -> bool:
        """Whether weights of nodes are the number of times that rows were drawn."""
        return vars(self).get("_n_drawn", 0) > 0 and not self._balances_each_tree()

    def _take_trees(
        self,
        arrays: dict[str, Any],
        data: TrainingData,  # noqa: ARG002
    ) -> Trees:
        """Make trees of what the core has grown from some data, and prune them."""
        trees = self._as_trees(arrays)
        return prune(trees, self.ccp_alpha).trees if self.ccp_alpha > 0 else trees

    def _as_trees(self, arrays: dict[str, Any]) -> Trees:
        return Trees.from_core(arrays, self.n_features_in_, self._criterion())

    @abstractmethod
    def _estimate_out_of_bag(self, data: TrainingData, n_draws: int) -> None:
        """Let each tree predict the rows that it didn't draw."""

    def _out_of_bag_sums(
        self, data: TrainingData, n_draws: int, width: int, hard: bool | None
    ) -> OutOfBagSums:
        """Return the sum of what trees say of rows they didn't draw; see `OutOfBag`.

        Rows that no tree has left out have NaN.
        """
        draws = draw_counts(
            data.seed, range(len(self.trees_)), len(data.X), n_draws, data.weights
        )
        left_out = (counts == 0 for counts in draws)
        trees = OutOfBag(self.trees_, width, hard)
        X: Any = data.X
        if isinstance(X, RemoteRows):
            found = X.out_of_bag_sums(trees, left_out)
        else:
            found = trees.sums(X, left_out, data.n_threads)
        if not found.n_trees.all():
            warn_user(
                "Some inputs do not have OOB scores. This probably means too few trees "
                "were used to compute any reliable OOB estimates."
            )
        found.sums[found.n_trees == 0] = np.nan
        return found

    def decision_path(
        self, X: Any
    ) -> tuple[scipy.sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Find the nodes each row passes in each tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Columns ``n_nodes_ptr[t]:n_nodes_ptr[t + 1]`` are the nodes of tree t.
        """
        leaves = self.apply(X)
        paths = [
            self.trees_[t].decision_path(leaves[:, t]) for t in range(len(self.trees_))
        ]
        indicator = scipy.sparse.hstack(paths, format="csr")
        return scipy.sparse.csr_matrix(indicator), self.trees_.node_starts.copy()

    @property
    def estimators_(self) -> list[TreeT]:
        """The trees, each as an estimator that shares the forest's memory."""
        if not hasattr(self, "trees_"):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'estimators_' "
                "before it is fitted"
            )
        return [self._as_tree(t) for t in range(len(self.trees_))]

    def _as_tree(self, t: int) -> TreeT:
        tree = self._tree_class(
            criterion=self.criterion,
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            max_features=self.max_features,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self._min_weight_fraction(),
            min_impurity_decrease=self.min_impurity_decrease,
            ccp_alpha=self.ccp_alpha,
            candidates=self.candidates,
            categorical_features=self.categorical_features,
            categorical=self.categorical,
            monotonic_cst=self.monotonic_cst,
            advanced=TreeOptions(
                max_candidates=self._options.max_candidates,
                renew_thresholds=False,
            ),
            n_jobs=self.n_jobs,
        )
        tree.trees_ = self.trees_[t]
        tree._is_drawn = self._counts_draws()
        for name in SHARED_WITH_TREES:
            if name in vars(self):
                setattr(tree, name, vars(self)[name])
        return tree

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.trees_)

    @overload
    def __getitem__(self, index: SupportsIndex) -> TreeT: ...
    @overload
    def __getitem__(self, index: slice) -> list[TreeT]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> TreeT | list[TreeT]:
        """Return one tree, or a list of them for a slice."""
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._as_tree(t) for t in numbers]
        return self._as_tree(numbers)

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean decrease of impurity by each feature, normalised to sum to one."""
        check_is_fitted(self, "trees_")
        total: FloatArray = np.zeros(self.n_features_in_)
        for t in range(len(self.trees_)):
            total += self.trees_[t].feature_importances(self.n_features_in_)
        return total / total.sum() if total.sum() > 0 else total


class CGForestClassifier(TreesClassifierMixin, CGForest[CGTreeClassifier]):
    """Cluster-guided (CG) forest of classification trees.

    An alternative to scikit-learn's RandomForestClassifier. The thresholds are placed
    once, between the centroids of clusters of the data (`CentroidCandidates`). X is
    encoded with one byte per value, and all trees are grown from these bytes.
    ``CGForestClassifier.paper()`` gives the settings of the paper, which calls the
    model CGRF.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity criterion. "log_loss" is another name of "entropy".
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit. The paper uses 8.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree. With a limit, the split with the largest
        decrease of the weighted impurity comes first. None sets no limit.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features sampled at each node. A float is a fraction of the features;
        None uses all.
    bootstrap : bool, default=True
        Whether each tree is grown from rows sampled with replacement. False gives each
        tree all rows.
    max_samples : int, float or None, default=None
        Number of rows sampled for each tree. A float is a fraction of all rows, or of
        their total weight; up to 1.0 it samples at most as many as there are. None
        samples as many as there are.
    oob_score : bool or callable, default=False
        Whether to estimate the accuracy from the rows that a tree did not sample. A
        callable ``metric(y_true, y_pred)`` replaces the accuracy.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node that can be split. A float is a fraction of all
        rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows on each side of a split. A float is a fraction of all
        rows.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the weighted impurity by a split.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: the subtree with the
        smallest impurity + ccp_alpha * n_leaves is kept.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight,
        "balanced_subsample" does so in the sample of each tree.
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, such as `CentroidCandidates`, `QuantileCandidates` or
        your own class; it is cloned before use. None uses ``CentroidCandidates()``. The
        estimator overrides its `n_jobs`, and its `random_state` if that is None.
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
        it, -1 if it must decrease, 0 for none. The keys of a dict are feature names.
        Binary targets only: it constrains the probability of the second class.
    advanced : ForestOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses
        ``ForestOptions()``.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and grow only the additional ones up
        to `n_estimators`. The result equals that of one fit.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering and of all random draws. With an int, repeated fits give
        the same model.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The model is the same for any
        number.
    verbose : int, default=0
        1 writes the progress and the remaining time to stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    n_outputs_ : int
        1: classifiers predict one target.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
    is_categorical_ : ndarray of shape (n_features_in_,) or None
        Mask of the categorical features; None if there are none.
    categories_ : list of n_features_in_ arrays or None
        Categories of each feature, None if it is numeric; None if all are.
    estimators_ : list of CGTreeClassifier
        The trees, as views of `trees_`.
    max_features_ : int
        Number of features drawn.
    estimators_samples_ : list of ndarray of int
        Numbers of the rows that each tree has drawn, as often as it has drawn them.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean over the trees of the decrease of impurity by each feature, normalised.
    oob_score_ : float
        Only with `oob_score`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Votes of the trees that didn't draw a row; NaN where all did. Only with
        `oob_score`.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        All trees as flat arrays.

    Notes
    -----
    With `bootstrap`, the weights of rows and classes are their chances to be drawn, as
    in scikit-learn 1.9; without it, they weigh in the counts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = CGForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> forest.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    >>> len(forest.estimators_)
    20
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CGForest._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
        "class_weight": [dict, StrOptions({"balanced", "balanced_subsample"}), None],
    }
    _tree_class = CGTreeClassifier
    _paper_options: ClassVar[dict[str, Any]] = {
        **CGForest._paper_options,
        "voting": "hard",
    }

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = "sqrt",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[[Any, Any], float] = False,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        class_weight: Any = None,
        candidates: BaseCandidates | None = None,
        categorical_features: Any = "from_dtype",
        categorical: CategoricalOptions | None = None,
        monotonic_cst: Any = None,
        advanced: ForestOptions | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.candidates = candidates
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.monotonic_cst = monotonic_cst
        self.advanced = advanced
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _class_weight(self) -> Any:
        if self.class_weight == "balanced_subsample":
            return None if self.bootstrap else "balanced"
        return self.class_weight

    def _directions(self, data: TrainingData) -> list[int]:
        directions = super()._directions(data)
        if directions and self.class_weight == "balanced_subsample":
            raise ValueError(
                "class_weight='balanced_subsample' can't be had with monotonic_cst; "
                "use 'balanced'."
            )
        return directions

    def _core_data(self, data: TrainingData) -> TrainingData:
        return as_numbers(data) if self._directions(data) else data

    def _tree_settings(self, data: TrainingData) -> _core.GrowSettings:
        settings = super()._tree_settings(data)
        if data.values is not None:
            set_criterion_of_numbers(settings, self._criterion())
        return settings

    def _as_trees(self, arrays: dict[str, Any]) -> Trees:
        if arrays["leaf_values"].dtype == np.float64:  # of numbers, see `_core_data`
            return as_classes(arrays, self.n_features_in_, self._criterion())
        return super()._as_trees(arrays)

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        added = self.trees_.contributions(
            X, n_threads=self._n_threads(), hard=self._options.voting == "hard"
        )
        return added / len(self.trees_)

    def _balances_each_tree(self) -> bool:
        return bool(self.bootstrap and self.class_weight == "balanced_subsample")

    def _estimate_out_of_bag(self, data: TrainingData, n_draws: int) -> None:
        """Let each tree vote on the rows that it didn't draw."""
        votes, n_trees = self._out_of_bag_sums(
            data, n_draws, data.n_classes, self._options.voting == "hard"
        )
        seen = n_trees > 0
        votes[seen] /= votes[seen].sum(axis=1, keepdims=True)
        self.oob_decision_function_ = votes
        assert data.labels is not None
        truth = self.classes_[data.labels[seen]]
        guess = self.classes_[votes[seen].argmax(axis=1)]
        metric = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = float(metric(truth, guess)) if seen.any() else math.nan

    def _class_probabilities(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        return self.trees_.shares(
            X, hard=self._options.voting == "hard", n_threads=self._n_threads()
        )


class CGForestRegressor(ImpurityRegressorMixin, CGForest[CGTreeRegressor]):
    r"""Cluster-guided (CG) forest of regression trees, which also predicts quantiles.

    An alternative to scikit-learn's RandomForestRegressor. The thresholds are placed
    once (`CentroidCandidates`). X is encoded with one byte per value, and all trees are
    grown from these bytes.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, \
            default="squared_error"
        Impurity criterion: variance, mean absolute deviation from the median (slower;
        leaves predict medians) or half the Poisson deviance (y of 0 or more).
        "friedman_mse" chooses the same splits as "squared_error".
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree. With a limit, the split with the largest
        decrease of the weighted impurity comes first. None sets no limit.
    max_features : {"sqrt", "log2"}, int, float or None, default=0.5
        Number of features sampled at each node. A float is a fraction of the features;
        None uses all, as RandomForestRegressor does. With half of them, the mean R2 of
        13 data sets is 0.766 instead of 0.759, in less time.
    bootstrap : bool, default=True
        Whether each tree is grown from rows sampled with replacement. False gives each
        tree all rows.
    max_samples : int, float or None, default=None
        Number of rows sampled for each tree. A float is a fraction of all rows, or of
        their total weight; up to 1.0 it samples at most as many as there are. None
        samples as many as there are.
    oob_score : bool or callable, default=False
        Whether to estimate R2 from the rows that a tree did not sample. A callable
        ``metric(y_true, y_pred)`` replaces R2.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node that can be split. A float is a fraction of all
        rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows on each side of a split. A float is a fraction of all
        rows.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the weighted impurity by a split.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: the subtree with the
        smallest impurity + ccp_alpha * n_leaves is kept.
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, such as `CentroidCandidates`, `QuantileCandidates` or
        your own class; it is cloned before use. None uses ``CentroidCandidates()``. The
        estimator overrides its `n_jobs`, and its `random_state` if that is None.
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
        single target only.
    advanced : ForestOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses
        ``ForestOptions()``.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and grow only the additional ones up
        to `n_estimators`. The result equals that of one fit.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering and of all random draws. With an int, repeated fits give
        the same model.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The model is the same for any
        number.
    verbose : int, default=0
        1 writes the progress and the remaining time to stderr.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
    is_categorical_ : ndarray of shape (n_features_in_,) or None
        Mask of the categorical features; None if there are none.
    categories_ : list of n_features_in_ arrays or None
        Categories of each feature, None if it is numeric; None if all are.
    estimators_ : list of CGTreeRegressor
    max_features_ : int
        Number of features drawn.
    estimators_samples_ : list of ndarray of int
        Numbers of the rows that each tree has drawn, as often as it has drawn them.
    feature_importances_ : ndarray of shape (n_features_in_,)
    oob_score_ : float
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    candidates_ : BaseCandidates
    trees_ : Trees

    Notes
    -----
    For quantiles the forest keeps y and the rows of every leaf, 4 bytes for each row
    that a tree has drawn: about a tenth of what the trees themselves take at full
    depth.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dics import CGForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = CGForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.4)
    True
    >>> forest.predict_quantiles(X[:2], [0.1, 0.5, 0.9]).shape
    (2, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CGForest._parameter_constraints,
        "criterion": [StrOptions(REGRESSION_CRITERIA)],
    }
    _unsupported = CGForest._unsupported | {"advanced.voting"}
    _tree_class = CGTreeRegressor
    # For quantiles.
    _leaf_rows: LeafRows
    _y: FloatArray
    _weights: FloatArray | None

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = 0.5,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[[Any, Any], float] = False,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        candidates: BaseCandidates | None = None,
        categorical_features: Any = "from_dtype",
        categorical: CategoricalOptions | None = None,
        monotonic_cst: Any = None,
        advanced: ForestOptions | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.candidates = candidates
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.monotonic_cst = monotonic_cst
        self.advanced = advanced
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _tree_settings(self, data: TrainingData) -> _core.GrowSettings:
        settings = super()._tree_settings(data)
        settings.keeps_leaf_rows = True
        return settings

    def _take_trees(self, arrays: dict[str, Any], data: TrainingData) -> Trees:
        new = LeafRows(arrays.pop("leaf_rows"), arrays.pop("leaf_row_counts"))
        trees = self._as_trees(arrays)
        if self.ccp_alpha > 0:
            trees, new = self._pruned(trees, new, data)
        warm = self.warm_start and hasattr(self, "trees_")
        self._leaf_rows = self._leaf_rows.concat(new) if warm else new
        return trees

    def _pruned(
        self, trees: Trees, rows: LeafRows, data: TrainingData
    ) -> tuple[Trees, LeafRows]:
        cut = prune(trees, self.ccp_alpha)
        n_leaves = len(cut.trees.leaf_values)
        number = np.cumsum(cut.trees.feature < 0) - 1  # of each leaf, in their order
        merged = rows.merged(number[cut.leaf[trees.feature < 0]], n_leaves)
        weights = None if self.bootstrap else data.weights
        return self._with_medians(cut.trees, merged, data, weights), merged

    def _keep_targets(self, data: TrainingData) -> None:
        super()._keep_targets(data)
        assert data.values is not None
        self._y = data.values
        self._weights = None if self.bootstrap else data.weights

    def _check_outputs(self) -> None:
        super()._check_outputs()
        y: Any = vars(self).get("_y")
        weights: Any = vars(self).get("_weights")
        check_array("the targets", y, np.float64, (None, self.n_outputs_))
        require(np.isfinite(y), "a target is not finite")
        if weights is not None:
            check_vector("the weights", weights, len(y))
        leaf_rows: Any = vars(self).get("_leaf_rows")
        require(isinstance(leaf_rows, LeafRows), "the rows of the leaves are missing")
        leaf_rows.check(len(self.trees_.leaf_values), len(y))

    def _estimate_out_of_bag(self, data: TrainingData, n_draws: int) -> None:
        """Let each tree predict the rows that it didn't draw."""
        assert data.values is not None
        sums, n_trees = self._out_of_bag_sums(data, n_draws, data.values.shape[1], None)
        seen = n_trees > 0
        self.oob_prediction_ = self._shaped(sums / np.maximum(n_trees, 1)[:, None])
        metric = self.oob_score if callable(self.oob_score) else r2_score
        truth, guess = self._shaped(data.values), self.oob_prediction_
        self.oob_score_ = (
            float(metric(truth[seen], guess[seen])) if seen.any() else math.nan
        )

    def predict_quantiles(self, X: Any, quantiles: Any = (0.1, 0.5, 0.9)) -> FloatArray:
        """Predict quantiles of the target of each row (quantile regression forest).

        The training rows in the leaves that a row reaches, weighted as the forest's
        mean weighs them, are a sample of what the target may be; its quantiles are
        returned (Meinshausen, 2006). The smallest target is taken whose rows, with
        those below it, have at least the share asked for. Larger leaves
        (`min_samples_leaf`) give smoother quantiles.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        quantiles : float or sequence of float, default=(0.1, 0.5, 0.9)
            Each above 0 and below 1.

        Returns
        -------
        q : ndarray of shape (n_samples, n_quantiles)
            Without the last axis if `quantiles` is a single number; with several
            targets, of shape (n_samples, n_outputs, n_quantiles).
        """
        check_is_fitted(self, "trees_")
        levels = check_quantiles(quantiles)
        leaves = self.apply(X)
        rows = self.trees_.leaf_value_rows(leaves)
        found = np.stack(
            [
                self._leaf_rows.quantiles(rows, y, self._weights, levels)
                for y in self._y.T
            ],
            axis=1,
        )
        found = found[..., 0] if np.ndim(quantiles) == 0 else found
        return found[:, 0] if self.n_outputs_ == 1 else found
