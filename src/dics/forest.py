"""Forests: classifier (Algorithm 3 of the paper, CGRF) and regressor."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Generic, Self, SupportsIndex, TypeVar, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dics._estimator.arguments import (
    NO_LIMIT,
    effective_n_threads,
    explain_unknown_arguments,
    warn_without_effect,
)
from dics._estimator.base import ClassifierMixin, RegressorMixin, TreesEstimator
from dics._estimator.running import Progress, warn_user
from dics._growing.constraints import as_classification, as_regression
from dics._growing.pruning import prune
from dics._growing.randomness import (
    Randomness,
    choose_randomness,
    given_values,
    with_given,
)
from dics._growing.sampling import OutOfBag, OutOfBagSums, check_sampling, sample_counts
from dics._growing.settings import (
    REGRESSION_CRITERIA,
    TREE_CONSTRAINTS,
    TreePlan,
    criterion_name,
    grow_settings,
    plan_forest,
)
from dics._input.checks import (
    MAX_COUNT,
    Array,
    ClassTargets,
    FloatArray,
    check_weights,
    combine_weights,
)
from dics._input.sparse import SparseRows
from dics._model.checks import check_array, check_vector, require
from dics._model.leaf_rows import LeafRows, check_quantiles
from dics._model.trees import Trees
from dics._training import TrainingData
from dics.candidates import BaseCandidates, CentroidCandidates, fit_candidates
from dics.options import AUTO, CategoricalOptions, ForestOptions, TreeOptions
from dics.tree import CGTree, CGTreeClassifier, CGTreeRegressor

# Fitted attributes that a forest shares with its trees.
SHARED_WITH_TREES = (
    "candidates_",
    "classes_",
    "n_classes_",
    "n_outputs_",
    "n_features_in_",
    "feature_names_in_",
    "max_features_",
    "plan_",
    "_categories",
)
# The class weight that each tree computes from its own sample of the rows.
BALANCES_TREES = "balanced_subsample"

TreeT = TypeVar("TreeT", bound=CGTree)


class CGForest(TreesEstimator, Generic[TreeT]):
    """Base class of the forest estimators; all trees share one dictionary."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        **TreesEstimator._parameter_constraints,
        **TREE_CONSTRAINTS,
        **{name: [AUTO, *TREE_CONSTRAINTS[name]] for name in Randomness._fields},
        "advanced": [ForestOptions, None],
        "bootstrap": ["boolean"],
        "max_samples": [
            None,
            # Above 1, trees sample more rows than X has.
            Interval(RealNotInt, 0.0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "oob_score": ["boolean", callable],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }
    _unsupported = frozenset({"categorical.l2", "categorical.pairs"})
    _options_class = ForestOptions
    _min_category_samples = 20
    _paper_features: ClassVar[float | str] = "sqrt"
    _paper_options: ClassVar[dict[str, Any]] = {
        "feature_sampling": "tree",
        "max_candidates": 100,
    }
    _tree_class: type[TreeT]
    max_features_: int
    plan_: TreePlan
    _n_rows: int  # of the last fit
    _sample_size: int  # rows sampled for each tree; 0 without bootstrap
    _sampling_weights: FloatArray | None  # probabilities of the rows

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return the configuration of the paper: features per tree, hard votes.

        The paper covers classification only. For regression, groups of rows with
        similar targets replace the classes, without votes.

        Parameters
        ----------
        **parameters : dict
            Parameters to change, as in `set_params`.

        Returns
        -------
        forest : CGForestClassifier or CGForestRegressor
            The estimator, not fitted.

        Examples
        --------
        >>> from dics import CGForestClassifier
        >>> forest = CGForestClassifier.paper(n_estimators=50, random_state=0)
        >>> forest.advanced
        ForestOptions(feature_sampling='tree', max_candidates=100, voting='hard')
        """
        forest = cls(
            candidates=CentroidCandidates.paper(),
            splitter="best",
            max_features=cls._paper_features,
            max_depth=8,
            min_samples_split=3,
            min_samples_leaf=1,
            advanced=ForestOptions(**cls._paper_options),
        )
        return forest.set_params(**parameters)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        is_warm_start = self.warm_start and hasattr(self, "trees_")
        n_before = len(self.trees_) if is_warm_start else 0
        check_options(self, n_before)
        checked = self._check_input(X, y, sample_weight, is_warm_start=is_warm_start)
        data = self._training_data(checked, is_warm_start=is_warm_start)
        # Constrained trees are grown from the targets 0 and 1 as numbers, and a tree
        # can balance only classes.
        if data.monotonic and getattr(self, "class_weight", "") == BALANCES_TREES:
            raise ValueError(
                "class_weight='balanced_subsample' cannot be combined with "
                "monotonic_cst; use class_weight='balanced'."
            )
        sample_size = self._find_sample_size(len(data.rows), data.weights)
        if self.n_estimators == n_before:
            # In the words of scikit-learn, where this is not an error either.
            warn_user(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "trees."
            )
        else:
            # New trees use the thresholds of the first fit, as the old trees do.
            if not is_warm_start:
                self.candidates_ = fit_candidates(self, data)
                chosen = choose_randomness(self, data)
            else:
                chosen = with_given(Randomness.of(self), self)
            self.plan_ = TreePlan.of(self, data, sample_size, **chosen._asdict())
            if self.verbose and "auto" in given_values(self):
                name = type(self).__name__
                Progress(name, 0, "trees").announce(chosen.as_text())
            new = self._grow(data, sample_size, n_before)
            # Estimates of fewer trees would not belong to this forest.
            for stale in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
                self.__dict__.pop(stale, None)
            self.trees_ = self.trees_.concat(new) if is_warm_start else new
            self._keep_targets(data)
            self.max_features_ = self.plan_.max_features
            # `estimators_samples_` repeats the sampling of rows from these.
            self._seed = data.seed
            self._n_rows, self._sample_size = len(data.rows), sample_size
            # Weights are probabilities of the rows only if rows are sampled.
            self._sampling_weights = data.weights if sample_size else None
        if self.oob_score and (
            self.n_estimators > n_before or not hasattr(self, "oob_score_")
        ):
            self._estimate_out_of_bag(data, sample_size)

    def _find_sample_size(self, n_rows: int, weights: FloatArray | None) -> int:
        """Return the number of rows sampled for each tree; 0 without sampling."""
        if not self.bootstrap:
            return 0
        if self.max_samples is None:
            return n_rows
        if isinstance(self.max_samples, Integral):
            sample_size: float = int(self.max_samples)
        else:
            total = n_rows if weights is None else float(weights.sum())
            # The scale of weights that are not counts must not decide the time of a
            # fit: sample as many rows as without weights, or as there are.
            most = max(1.0, self.max_samples) * n_rows
            sample_size = max(1.0, min(self.max_samples * total, most))
        if sample_size > MAX_COUNT:
            raise ValueError(
                f"max_samples={self.max_samples!r} asks for more than {MAX_COUNT} rows "
                "per tree."
            )
        return int(sample_size)

    def _grow(self, data: TrainingData, sample_size: int, first_tree: int) -> Trees:
        """Grow the new trees, and prune them."""
        dictionary, criterion = self.candidates_._dictionary, criterion_name(self)
        n_trees, n_features = self.n_estimators - first_tree, data.rows.n_features
        # Binary constraints set `values` later, so this is a regressor.
        keeps_rows = data.values is not None  # of a regressor, for its quantiles
        settings = grow_settings(
            self,
            data,
            max_candidates=min(self._options.max_candidates or 0, NO_LIMIT),
            min_weight_fraction_leaf=float(self._options.min_weight_fraction_leaf),
            keeps_leaf_rows=keeps_rows,
        )
        is_constrained = data.values is None and len(data.monotonic) > 0
        if is_constrained:
            data, settings = as_regression(data, settings, criterion)
        plan = plan_forest(
            data,
            dictionary,
            settings,
            max_features=self.plan_.max_features,
            feature_sampling=self._options.feature_sampling,
            first_tree=first_tree,
            n_trees=n_trees,
            sample_size=sample_size,
            balance_each_tree=self._balances_each_tree(),
        )
        name, shows = type(self).__name__, bool(self.verbose)
        with Progress(name, n_trees, "trees", enabled=shows) as progress:
            arrays = data.rows.grow_forest(plan, dictionary, data, progress)
        if is_constrained:
            trees = as_classification(arrays, n_features, criterion)
        elif keeps_rows:
            new = LeafRows(arrays.pop("leaf_rows"), arrays.pop("leaf_row_counts"))
            trees = Trees.from_core(arrays, n_features, criterion)
            if self.ccp_alpha > 0:
                trees, new = prune_with_rows(self, trees, new, data)
            # A warm start appends the leaves of the new trees.
            before = vars(self).get("_leaf_rows")
            self._leaf_rows = before.concat(new) if before and first_tree else new
            return trees
        else:
            trees = Trees.from_core(arrays, n_features, criterion)
        return prune(trees, self.ccp_alpha).trees if self.ccp_alpha > 0 else trees

    def _balances_each_tree(self) -> bool:
        """Return True if each tree computes the weights of the classes itself."""
        class_weight = getattr(self, "class_weight", None)
        return bool(self.bootstrap and class_weight == BALANCES_TREES)

    def _check_model(self) -> None:
        super()._check_model()
        own = vars(self)
        if "_sample_size" in own:
            check_sampling(
                own.get("_n_rows"), own["_sample_size"], own.get("_sampling_weights")
            )

    @property
    def estimators_samples_(self) -> list[npt.NDArray[np.intp]]:
        """Indices of the rows that each tree has sampled, with repetitions.

        The indices are those of the X of the last fit. They are sampled again at each
        access. Without `bootstrap`, every tree has all rows. A forest that was loaded
        from a model file does not have this attribute.
        """
        check_is_fitted(self, "trees_")
        if "_sample_size" not in vars(self):
            raise AttributeError(
                "estimators_samples_ needs the number and the weights of the training "
                "rows, which model files do not store; use a pickle."
            )
        # Sampled again from the seed: stored, they would need 4 bytes per tree and row.
        rows, n_trees = np.arange(self._n_rows), len(self.trees_)
        if self._sample_size == 0:
            return [rows.copy() for _ in range(n_trees)]
        sampled = sample_counts(
            self._seed,
            range(n_trees),
            self._n_rows,
            self._sample_size,
            self._sampling_weights,
        )
        return [np.repeat(rows, counts) for counts in sampled]

    def _out_of_bag_sums(
        self, data: TrainingData, sample_size: int, width: int, hard: bool | None
    ) -> OutOfBagSums:
        """Return the sums of predictions for rows that a tree has not sampled.

        Rows that every tree has sampled get NaN.
        """
        sampled = sample_counts(
            data.seed,
            range(len(self.trees_)),
            len(data.rows),
            sample_size,
            data.weights,
        )
        # A generator: all masks at once would take a byte per row and tree.
        left_out = (counts == 0 for counts in sampled)
        trees = OutOfBag(self.trees_, width, hard)
        found = data.rows.out_of_bag_sums(trees, left_out, data.n_threads)
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
        """Find the nodes on the path of each row in each tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 for each node on the path of a row, otherwise 0.
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
        check_is_fitted(self, "trees_")
        return [self._as_tree(t) for t in range(len(self.trees_))]

    def _as_tree(self, t: int) -> TreeT:
        own = self.get_params(deep=False)
        names = own.keys() & set(self._tree_class._get_param_names())
        # Class weights and the seed belong to the forest only.
        names -= {"class_weight", "random_state", "advanced"}
        # The values that "auto" stands for in this forest.
        own.update(with_given(Randomness.of(self), self)._asdict())
        tree = self._tree_class(
            **{name: own[name] for name in names},
            min_weight_fraction_leaf=float(self._options.min_weight_fraction_leaf),
            advanced=TreeOptions(
                max_candidates=self._options.max_candidates,
                # The trees of a forest share its thresholds.
                renew_thresholds=False,
                min_impurity_decrease=self._options.min_impurity_decrease,
            ),
        )
        tree.trees_ = self.trees_[t]
        is_sampled = vars(self).get("_sample_size", 0) > 0
        tree._samples_rows = is_sampled and not self._balances_each_tree()
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
        indices = range(len(self))[index]
        if isinstance(indices, range):
            return [self._as_tree(t) for t in indices]
        return self._as_tree(indices)

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean decrease of impurity by each feature, normalized to sum to one."""
        check_is_fitted(self, "trees_")
        # Each tree counts equally, as in scikit-learn.
        total: FloatArray = np.zeros(self.n_features_in_)
        for t in range(len(self.trees_)):
            total += self.trees_[t].feature_importances(self.n_features_in_)
        return total / total.sum() if total.sum() > 0 else total


def check_options(forest: CGForest[Any], n_trees: int) -> None:
    """Check combinations of parameters, before any work."""
    if not forest.bootstrap and forest.max_samples is not None:
        raise ValueError(
            f"max_samples={forest.max_samples!r} needs bootstrap=True, "
            "got bootstrap=False."
        )
    # This error and the last one have the words of scikit-learn.
    if not forest.bootstrap and forest.oob_score:
        raise ValueError(
            "Out of bag estimation only available if bootstrap=True, "
            f"got oob_score={forest.oob_score!r} and bootstrap=False."
        )
    if forest.max_features is None:
        reason = "max_features=None uses all features"
        warn_without_effect(forest, ["advanced.feature_sampling"], reason)
    if forest.n_estimators < n_trees:
        raise ValueError(
            f"n_estimators={forest.n_estimators} must be larger or equal to "
            f"len(estimators_)={n_trees} when warm_start==True"
        )


def prune_with_rows(
    forest: CGForestRegressor, trees: Trees, rows: LeafRows, data: TrainingData
) -> tuple[Trees, LeafRows]:
    """Prune regression trees, and merge the rows of their leaves."""
    pruned = prune(trees, forest.ccp_alpha)
    leaf_index = np.cumsum(pruned.trees.feature < 0) - 1
    merged = rows.merged(
        leaf_index[pruned.leaf[trees.feature < 0]], len(pruned.trees.leaf_values)
    )
    if forest.criterion == "absolute_error":  # merged means are not medians
        # With bootstrap, weights decided how often a leaf has a row.
        weights = None if forest.bootstrap else data.weights
        merged.set_medians(pruned.trees, data.values, weights)
    return pruned.trees, merged


class CGForestClassifier(ClassifierMixin, CGForest[CGTreeClassifier]):
    """Cluster-guided (CG) forest of classification trees.

    An alternative to scikit-learn's RandomForestClassifier. The thresholds are placed
    once, between the centroids of clusters of the data (`CentroidCandidates`). X is
    encoded with one byte per value, and all trees are grown from these bytes.
    ``CGForestClassifier.paper()`` gives the settings of the paper, which calls the
    model CGRF.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees. More trees take more time and memory; the predictions get less
        noisy.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity criterion. "log_loss" is another name of "entropy".
    splitter : {"auto", "best", "random"}, default="auto"
        Position of the split of each feature: the best threshold, or a random one
        between the smallest and the largest value, as in extremely randomized trees.
        For sets of categories, "random" divides their order at a random position. The
        side of NaN is always learned. "auto" chooses by trials (see Notes).
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit. Decrease it for a tree that is
        faster or easier to read. The paper uses 3 for boosting and 8 otherwise.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree. With a limit, the split with the largest
        decrease of the weighted impurity comes first. None sets no limit. Set it for
        smaller trees.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default="auto"
        Number of features sampled at each node. A float is a fraction of the features;
        None uses all, as RandomForestRegressor does. "auto" chooses by trials (see
        Notes).
    bootstrap : bool, default=True
        Whether each tree is grown from rows sampled with replacement. False gives each
        tree all rows.
    max_samples : int, float or None, default=None
        Number of rows sampled for each tree. A float is a fraction of all rows, or of
        their total weight; up to 1.0 it samples at most as many as there are. None
        samples as many as there are.
    oob_score : bool or callable, default=False
        Whether to estimate the accuracy (classification) or R2 (regression) from the
        rows that a tree did not sample. A callable ``metric(y_true, y_pred)`` replaces
        it.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node that can be split. A float is a fraction of all
        rows. Increase it for smaller trees.
    min_samples_leaf : "auto", int or float, default="auto"
        Minimum number of rows on each side of a split. A float is a fraction of all
        rows. "auto" is 1 or 3, by a trial (see Notes). Increase it if the data are
        noisy.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: the subtree with the
        smallest impurity + ccp_alpha * n_leaves is kept. Increase it for smaller trees;
        `cost_complexity_pruning_path` of a tree returns useful values.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight,
        "balanced_subsample" does so in the sample of each tree.
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
    advanced : ForestOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses
        ``ForestOptions()``.
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
    estimators_ : list of CGTreeClassifier
        The trees, as views of `trees_`.
    max_features_ : int
        Number of features that a node considers.
    plan_ : TreePlan
        The values that parameters stand for in this fit, such as `max_features` and
        those chosen by trials.
    estimators_samples_ : list of ndarray of int
        Indices of the rows that each tree has sampled, with repetitions.
    feature_importances_ : ndarray of shape (n_features,)
        Total decrease of the impurity by each feature (boosting: of the loss),
        normalized to sum to one. Each tree of a forest counts equally.
    oob_score_ : float
        Score of the rows that a tree did not sample. Only with `oob_score`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Votes of the trees that did not sample a row; NaN if all trees did. Only with
        `oob_score`.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        All trees as flat arrays.

    See Also
    --------
    CGTreeClassifier : Single tree.
    CGBoostingClassifier : Boosted trees.
    CGForestRegressor : Forest for regression.
    dics.dask.DaskCGForestClassifier : The same on a cluster.

    Notes
    -----
    Trials compare ``max_features="sqrt"``, half of the features, and random thresholds
    of all features, then leaves of at least 1 and 3 rows. A trial grows 12 trees from a
    fifth of the rows, at most 3,000. Its error is the squared error of the out-of-bag
    predictions, as that of infinitely many trees. Another value than the first must be
    better by a standard error. Set `max_features`, `splitter` and `min_samples_leaf`
    for a fit without trials.

    With `bootstrap`, rows are sampled with probabilities proportional to the weights of
    rows and classes, as in scikit-learn 1.9. Without it, the weights multiply the
    counts of the rows.

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
        splitter: str = "auto",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = "auto",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[[Any, Any], float] = False,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = "auto",
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
        self.splitter = splitter
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
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

    def _check_weights(
        self, sample_weight: Any, targets: ClassTargets
    ) -> FloatArray | None:
        weights = check_weights(sample_weight, len(targets.labels))
        class_weight = self.class_weight
        if class_weight == BALANCES_TREES:
            # With bootstrap, each tree computes the weights from its own sample.
            class_weight = None if self.bootstrap else "balanced"
        return combine_weights(weights, class_weight, targets)

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        added = self.trees_.contributions(
            X,
            n_threads=effective_n_threads(self.n_jobs),
            hard=self._options.voting == "hard",
        )
        return added / len(self.trees_)

    def _estimate_out_of_bag(self, data: TrainingData, sample_size: int) -> None:
        """Let each tree vote on the rows that it has not sampled."""
        votes, n_trees = self._out_of_bag_sums(
            data, sample_size, data.n_classes, self._options.voting == "hard"
        )
        seen = n_trees > 0
        # Rows that all trees have sampled stay NaN.
        votes[seen] /= votes[seen].sum(axis=1, keepdims=True)
        self.oob_decision_function_ = votes
        assert data.labels is not None
        truth = self.classes_[data.labels[seen]]
        guess = self.classes_[votes[seen].argmax(axis=1)]
        metric = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = float(metric(truth, guess)) if seen.any() else math.nan

    def _class_probabilities(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        hard = self._options.voting == "hard"
        n_threads = effective_n_threads(self.n_jobs)
        return self.trees_.shares(X, hard=hard, n_threads=n_threads)


class CGForestRegressor(RegressorMixin, CGForest[CGTreeRegressor]):
    """Cluster-guided (CG) forest of regression trees, which also predicts quantiles.

    An alternative to scikit-learn's RandomForestRegressor. The thresholds are placed
    once (`CentroidCandidates`). X is encoded with one byte per value, and all trees are
    grown from these bytes.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees. More trees take more time and memory; the predictions get less
        noisy.
    criterion : str, default="squared_error"
        Impurity criterion: "squared_error" (variance), "absolute_error" (mean absolute
        deviation from the median, for outliers; slower, and leaves predict medians),
        "poisson" (half the Poisson deviance, for counts; y >= 0) or "friedman_mse",
        which chooses the same splits as "squared_error".
    splitter : {"auto", "best", "random"}, default="auto"
        Position of the split of each feature: the best threshold, or a random one
        between the smallest and the largest value, as in extremely randomized trees.
        For sets of categories, "random" divides their order at a random position. The
        side of NaN is always learned. "auto" chooses by trials (see Notes).
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit. Decrease it for a tree that is
        faster or easier to read. The paper uses 3 for boosting and 8 otherwise.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree. With a limit, the split with the largest
        decrease of the weighted impurity comes first. None sets no limit. Set it for
        smaller trees.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default="auto"
        Number of features sampled at each node. A float is a fraction of the features;
        None uses all, as RandomForestRegressor does. "auto" chooses by trials (see
        Notes).
    bootstrap : bool, default=True
        Whether each tree is grown from rows sampled with replacement. False gives each
        tree all rows.
    max_samples : int, float or None, default=None
        Number of rows sampled for each tree. A float is a fraction of all rows, or of
        their total weight; up to 1.0 it samples at most as many as there are. None
        samples as many as there are.
    oob_score : bool or callable, default=False
        Whether to estimate the accuracy (classification) or R2 (regression) from the
        rows that a tree did not sample. A callable ``metric(y_true, y_pred)`` replaces
        it.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node that can be split. A float is a fraction of all
        rows. Increase it for smaller trees.
    min_samples_leaf : "auto", int or float, default="auto"
        Minimum number of rows on each side of a split. A float is a fraction of all
        rows. "auto" is 1 or 3, by a trial (see Notes). Increase it if the data are
        noisy.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: the subtree with the
        smallest impurity + ccp_alpha * n_leaves is kept. Increase it for smaller trees;
        `cost_complexity_pruning_path` of a tree returns useful values.
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
    advanced : ForestOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses
        ``ForestOptions()``.
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
    estimators_ : list of CGTreeRegressor
        The trees, as views of `trees_`.
    max_features_ : int
        Number of features that a node considers.
    plan_ : TreePlan
        The values that parameters stand for in this fit, such as `max_features` and
        those chosen by trials.
    estimators_samples_ : list of ndarray of int
        Indices of the rows that each tree has sampled, with repetitions.
    feature_importances_ : ndarray of shape (n_features,)
        Total decrease of the impurity by each feature (boosting: of the loss),
        normalized to sum to one. Each tree of a forest counts equally.
    oob_score_ : float
        Score of the rows that a tree did not sample. Only with `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean prediction of the trees that did not sample a row; NaN if all trees did.
        Only with `oob_score`.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        All trees as flat arrays.

    See Also
    --------
    CGTreeRegressor : Single tree.
    CGBoostingRegressor : Boosted trees.
    CGForestClassifier : Forest for classification.
    dics.dask.DaskCGForestRegressor : The same on a cluster.

    Notes
    -----
    Trials compare ``max_features=0.5``, "sqrt", all features, and random thresholds of
    all features, then leaves of at least 1 and 3 rows. A trial grows 12 trees from a
    fifth of the rows, at most 3,000. Its error is the squared error of the out-of-bag
    predictions, as that of infinitely many trees. Another value than the first must be
    better by a standard error. Set `max_features`, `splitter` and `min_samples_leaf`
    for a fit without trials.

    For quantiles, the forest stores y and the rows of every leaf: 4 bytes for each row
    that a tree has sampled. At full depth, this is about a tenth of the memory of the
    trees.

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
    _paper_features = 0.5  # the value of early versions, because the paper has none
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
        splitter: str = "auto",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = "auto",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[[Any, Any], float] = False,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = "auto",
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
        self.splitter = splitter
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
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

    def _keep_targets(self, data: TrainingData) -> None:
        super()._keep_targets(data)
        assert data.values is not None
        # Quantiles are computed from the targets of the rows in the leaves.
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

    def _estimate_out_of_bag(self, data: TrainingData, sample_size: int) -> None:
        """Let each tree predict the rows that it has not sampled."""
        assert data.values is not None
        sums, n_trees = self._out_of_bag_sums(
            data, sample_size, data.values.shape[1], None
        )
        seen = n_trees > 0
        # Rows that all trees have sampled are NaN; the 1 only avoids a warning.
        self.oob_prediction_ = self._shaped(sums / np.maximum(n_trees, 1)[:, None])
        metric = self.oob_score if callable(self.oob_score) else r2_score
        truth, guess = self._shaped(data.values), self.oob_prediction_
        self.oob_score_ = (
            float(metric(truth[seen], guess[seen])) if seen.any() else math.nan
        )

    def predict_quantiles(self, X: Any, quantiles: Any = (0.1, 0.5, 0.9)) -> FloatArray:
        """Predict quantiles of the target of each row (quantile regression forest).

        The targets of the training rows in the leaves of a row, with the weights of the
        forest, are a sample of its target. The method returns quantiles of this sample
        (Meinshausen, 2006): the smallest target with at least the given fraction of the
        weight up to it. Larger leaves (`min_samples_leaf`) give smoother quantiles.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        quantiles : float or sequence of float, default=(0.1, 0.5, 0.9)
            Quantiles to predict, each above 0 and below 1.

        Returns
        -------
        q : ndarray of shape (n_samples, n_quantiles)
            Without the last axis if `quantiles` is a single number; with several
            targets, of shape (n_samples, n_outputs, n_quantiles).

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from dics import CGForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = CGForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
        >>> low, high = forest.predict_quantiles(X, [0.1, 0.9]).T
        >>> bool((low <= high).all())
        True
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
