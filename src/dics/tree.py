"""Single trees: classifier (Algorithm 2 of the paper, CGCT) and regressor."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._dictionary import MAX_THRESHOLDS, encode, encode_or_list, fill_rows
from dics._estimator.arguments import (
    effective_n_threads,
    explain_unknown_arguments,
    warn_without_effect,
)
from dics._estimator.base import ClassifierMixin, RegressorMixin, TreesEstimator
from dics._growing.constraints import as_classification, as_regression
from dics._growing.pruning import prune, pruning_path
from dics._growing.settings import (
    REGRESSION_CRITERIA,
    TREE_CONSTRAINTS,
    TreePlan,
    core_rows,
    criterion_name,
    grow_settings,
    plan_forest,
)
from dics._input.checks import FloatArray, is_sparse
from dics._input.sparse import SparseRows
from dics._model.leaf_rows import LeafRows
from dics._model.trees import Trees
from dics._training import TrainingData
from dics.candidates import BaseCandidates, CentroidCandidates, fit_candidates
from dics.options import UP_TO_HALF, CategoricalOptions, TreeOptions

# Candidates per feature from which on encoding X pays. MNIST, depth 8, from codes and
# from X: 193 and 201 ms with half a candidate per feature, 177 and 322 with one, 206
# and 1236 with five (2026-11).
CODED_CANDIDATES = 1


class CGTree(TreesEstimator):
    """Base class of the tree estimators."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreesEstimator._parameter_constraints,
        **TREE_CONSTRAINTS,
        "min_weight_fraction_leaf": [UP_TO_HALF],
        "advanced": [TreeOptions, None],
    }
    _unsupported = frozenset({"categorical.l2", "categorical.pairs"})
    _options_class = TreeOptions
    _min_category_samples = 20
    _samples_rows = False  # True for a tree of a forest that samples rows
    max_features_: int
    plan_: TreePlan

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return the configuration of the paper: 100 candidates per node.

        The paper covers classification only. For regression, groups of rows with
        similar targets replace the classes.

        Parameters
        ----------
        **parameters : dict
            Parameters to change, as in `set_params`.

        Returns
        -------
        tree : CGTreeClassifier or CGTreeRegressor
            The estimator, not fitted.

        Examples
        --------
        >>> from dics import CGTreeClassifier
        >>> tree = CGTreeClassifier.paper(random_state=0)
        >>> tree.advanced, tree.max_depth, tree.min_samples_split
        (TreeOptions(max_candidates=100), 8, 3)
        """
        tree = cls(
            candidates=CentroidCandidates.paper(),
            max_depth=8,
            min_samples_split=3,
            advanced=TreeOptions(max_candidates=100),
        )
        return tree.set_params(**parameters)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        # First, because the checks of X may convert it, which takes memory and time.
        self._check_reuse_splits(X)
        checked = self._check_input(X, y, sample_weight)
        data = self._training_data(checked)
        self.candidates_ = fit_candidates(self, data)
        self.plan_ = TreePlan.of(self, data)
        self.max_features_ = self.plan_.max_features
        # Here and not in `_grow`, which may run on a worker without a user to warn.
        warn_of_unused(self)
        self.trees_ = data.rows.gathered(self._grow, data)
        self._keep_targets(data)

    def _check_reuse_splits(self, X: Any) -> None:
        """Raise if ``advanced.reuse_splits=False`` excludes another parameter."""
        if self._options.reuse_splits:
            return
        for name in ("splitter", "monotonic_cst", "max_leaf_nodes", "max_features"):
            value = getattr(self, name)
            if value not in (None, "best"):
                raise ValueError(f"{name}={value!r} needs advanced.reuse_splits=True.")
        if is_sparse(X) or isinstance(X, SparseRows):
            raise ValueError(
                "X is sparse, but advanced.reuse_splits=False needs a dense X; pass "
                "X.toarray(), or leave reuse_splits True."
            )

    def _grow(self, data: TrainingData) -> Trees:
        """Grow and prune the tree; all rows are in this process."""
        X, n_features = data.rows.take(), data.rows.n_features
        # Again: partitions may be sparse although their collection does not declare it.
        self._check_reuse_splits(X)
        dictionary, criterion = self.candidates_._dictionary, criterion_name(self)
        n_splits, k = len(dictionary.values), self._options.max_candidates
        reuse_splits = self._options.reuse_splits
        # A sample of all candidates is the dictionary, which needs no sampling.
        is_whole = reuse_splits and (k is None or k >= n_splits)
        wanted = self._options.renew_thresholds
        renews = dictionary.renewable if wanted == "auto" else bool(wanted)
        settings = grow_settings(
            self,
            data,
            reuse_splits=reuse_splits,
            max_candidates=0 if is_whole or k is None else min(k, n_splits),
            min_weight_fraction_leaf=float(self.min_weight_fraction_leaf),
            # Sampled candidates come from the dictionary only.
            renew_thresholds=is_whole and renews,
            renew_rows=fill_rows(n_features, MAX_THRESHOLDS),
        )
        if data.values is None and data.monotonic:
            # Only trees of a continuous target have bounds of their predictions.
            numeric = as_regression(data, settings, criterion)
            arrays = self._grow_arrays(*numeric)
            trees = as_classification(arrays, n_features, criterion)
        else:
            arrays = self._grow_arrays(data, settings)
            trees = Trees.from_core(arrays, n_features, criterion)
        if self.ccp_alpha == 0:
            return trees
        trees = prune(trees, self.ccp_alpha).trees
        if criterion == "absolute_error":  # merged means are not medians
            leaf = trees.leaf_value_rows(trees.apply(X, data.n_threads))[:, 0]
            rows = LeafRows.from_leaves(leaf, len(trees.leaf_values))
            rows.set_medians(trees, data.values, data.weights)
        return trees

    def _grow_arrays(
        self, data: TrainingData, settings: _core.GrowSettings
    ) -> dict[str, Any]:
        """Grow the tree in the core, and return its arrays."""
        dictionary, n_features = self.candidates_._dictionary, data.rows.n_features
        if self.max_features_ < n_features:
            # Nodes of forests sample features, so this tree is a forest of one.
            plan = plan_forest(
                data,
                dictionary,
                settings.replace(renew_thresholds=False),
                max_features=self.max_features_,
                n_trees=1,
            )
            return data.rows.grow_forest(plan, dictionary, data)
        X, n_sampled = data.rows.take(), settings.max_candidates
        # Histograms of codes rate the whole dictionary. For a few candidates, class
        # counts come directly from a dense X, which is cheaper than encoding it.
        is_direct = not self._options.reuse_splits or (
            0 < n_sampled < CODED_CANDIDATES * n_features
            and data.values is None
            and self.splitter == "best"
            and not isinstance(X, SparseRows)
        )
        # New thresholds are computed from dense codes.
        make = encode if settings.renew_thresholds else encode_or_list
        width = _core.code_width(n_features)
        codes = None if is_direct else make(X, dictionary, width, data.n_threads)
        arrays: dict[str, Any] = _core.grow(
            codes,
            code_width=width,
            **core_rows(data, dictionary),
            settings=_core.ForestSettings(tree=settings, n_trees=1),
            X=X,
        )
        return arrays

    def cost_complexity_pruning_path(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> Bunch:
        """Return the values of `ccp_alpha` at which the pruned tree gets smaller.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows, as in `fit`.
        y : array-like of shape (n_samples,)
            Class labels, or targets of regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight zero are ignored.

        Returns
        -------
        path : Bunch
            `ccp_alphas`, increasing from 0, and `impurities`, the impurity of the
            leaves of each pruned tree.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dics import CGTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = CGTreeClassifier(max_depth=2, random_state=0)
        >>> path = tree.cost_complexity_pruning_path(X, y)
        >>> len(path.ccp_alphas) == len(path.impurities)
        True
        """
        # The path starts with the unpruned tree.
        whole = clone(self).set_params(ccp_alpha=0.0)
        alphas, impurities = pruning_path(whole.fit(X, y, sample_weight).trees_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Find the leaf of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Indices of nodes, counted from the root breadth first.
        """
        # As in scikit-learn, a tree has a vector, and a forest one column per tree.
        return super().apply(X)[:, 0]

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Find the nodes on the path of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 for each node on the path of a row, otherwise 0.
        """
        leaves = self.apply(X)  # raises before the fit
        return self.trees_.decision_path(leaves)

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf.

        Returns
        -------
        depth : int
            Number of splits from the root to the deepest leaf.
        """
        check_is_fitted(self, "trees_")
        return int(self.trees_.node_depths().max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        n_leaves : int
            Number of leaves.
        """
        check_is_fitted(self, "trees_")
        return self.trees_.n_leaves

    @property
    def feature_importances_(self) -> FloatArray:
        """Total decrease of impurity by each feature, normalized to sum to one."""
        check_is_fitted(self, "trees_")
        return self.trees_.feature_importances(self.n_features_in_)


def warn_of_unused(tree: CGTree) -> None:
    """Warn of ``advanced.renew_thresholds=True`` if it has no effect."""
    options, plan = tree._options, tree.plan_
    samples = options.max_candidates is not None or plan.max_features < plan.n_features
    if options.renew_thresholds is True and (samples or not options.reuse_splits):
        reason = (
            "max_candidates, max_features and reuse_splits=False need the thresholds "
            "of the whole fit"
        )
        warn_without_effect(tree, ["advanced.renew_thresholds"], reason)


class CGTreeClassifier(ClassifierMixin, CGTree):
    """Cluster-guided (CG) classification tree.

    An alternative to scikit-learn's DecisionTreeClassifier. It considers a few
    thresholds per feature, placed between the centroids of clusters of the data
    (`CentroidCandidates`), instead of every value. ``CGTreeClassifier.paper()`` gives
    the settings of the paper, which calls the model CGCT.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity criterion. "log_loss" is another name of "entropy".
    splitter : {"best", "random"}, default="best"
        Position of the split of each feature: the best threshold, or a random one
        between the smallest and the largest value, as in extremely randomized trees.
        For sets of categories, "random" divides their order at a random position. The
        side of NaN is always learned.
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit. Decrease it for a tree that is
        faster or easier to read. The paper uses 3 for boosting and 8 otherwise.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree. With a limit, the split with the largest
        decrease of the weighted impurity comes first. None sets no limit. Set it for
        smaller trees.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Number of features sampled at each node. A float is a fraction of the features;
        None uses all. Features that are constant in the node do not count. With
        sampling, the tree is grown by one thread.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node that can be split. A float is a fraction of all
        rows. Increase it for smaller trees.
    min_samples_leaf : int or float, default=1
        Minimum number of rows on each side of a split. A float is a fraction of all
        rows. Increase it if the data are noisy.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight on each side of a split. Increase it for
        smaller trees if rows have weights.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: the subtree with the
        smallest impurity + ccp_alpha * n_leaves is kept. Increase it for smaller trees;
        `cost_complexity_pruning_path` of a tree returns useful values.
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
    advanced : TreeOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses ``TreeOptions()``.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering and of all sampling. With an int, repeated fits give the
        same model.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The model is the same for any
        number. Set it if several fits run at the same time.

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
    max_features_ : int
        Number of features that a node considers.
    plan_ : TreePlan
        The values that parameters stand for in this fit, such as `max_features` and
        those chosen by trials.
    feature_importances_ : ndarray of shape (n_features,)
        Total decrease of the impurity by each feature (boosting: of the loss),
        normalized to sum to one. Each tree of a forest counts equally.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        All trees as flat arrays.

    See Also
    --------
    CGForestClassifier : Forest of these trees.
    CGTreeRegressor : Tree for regression.
    dics.export.export_text : Rules of a tree as text.
    dics.plot.plot_tree : Drawing of a tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CGTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> tree.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    >>> tree.get_depth()
    3
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CGTree._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        ccp_alpha: float = 0.0,
        class_weight: Any = None,
        candidates: BaseCandidates | None = None,
        categorical_features: Any = "from_dtype",
        categorical: CategoricalOptions | None = None,
        monotonic_cst: Any = None,
        advanced: TreeOptions | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.candidates = candidates
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.monotonic_cst = monotonic_cst
        self.advanced = advanced
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The direct search, which removes used splits, reads a dense X.
        tags.input_tags.sparse = bool(self._options.reuse_splits)
        return tags

    def _class_probabilities(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        n_threads = effective_n_threads(self.n_jobs)
        return self.trees_.shares(X, hard=False, n_threads=n_threads)

    def _most_probable(self, X: Any) -> npt.NDArray[np.intp]:
        X = self._check_rows(X)
        # Without the probabilities: the class of a leaf is the same for all its rows.
        trees = self.trees_  # another thread may fit meanwhile
        leaves = trees.apply(X, effective_n_threads(self.n_jobs))
        return trees.leaf_classes(leaves[:, 0])


class CGTreeRegressor(RegressorMixin, CGTree):
    """Cluster-guided (CG) regression tree.

    An alternative to scikit-learn's DecisionTreeRegressor. It considers a few
    thresholds per feature. They are between the centroids of clusters of the rows, and
    between the means of groups of rows with similar targets. Targets are summed in
    fixed point, so that the tree is the same for any number of threads.

    Parameters
    ----------
    criterion : str, default="squared_error"
        Impurity criterion: "squared_error" (variance), "absolute_error" (mean absolute
        deviation from the median, for outliers; slower, and leaves predict medians),
        "poisson" (half the Poisson deviance, for counts; y >= 0) or "friedman_mse",
        which chooses the same splits as "squared_error".
    splitter : {"best", "random"}, default="best"
        Position of the split of each feature: the best threshold, or a random one
        between the smallest and the largest value, as in extremely randomized trees.
        For sets of categories, "random" divides their order at a random position. The
        side of NaN is always learned.
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit. Decrease it for a tree that is
        faster or easier to read. The paper uses 3 for boosting and 8 otherwise.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree. With a limit, the split with the largest
        decrease of the weighted impurity comes first. None sets no limit. Set it for
        smaller trees.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Number of features sampled at each node. A float is a fraction of the features;
        None uses all. Features that are constant in the node do not count. With
        sampling, the tree is grown by one thread.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node that can be split. A float is a fraction of all
        rows. Increase it for smaller trees.
    min_samples_leaf : int or float, default=1
        Minimum number of rows on each side of a split. A float is a fraction of all
        rows. Increase it if the data are noisy.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight on each side of a split. Increase it for
        smaller trees if rows have weights.
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
    advanced : TreeOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses ``TreeOptions()``.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering and of all sampling. With an int, repeated fits give the
        same model.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The model is the same for any
        number. Set it if several fits run at the same time.

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
    max_features_ : int
        Number of features that a node considers.
    plan_ : TreePlan
        The values that parameters stand for in this fit, such as `max_features` and
        those chosen by trials.
    feature_importances_ : ndarray of shape (n_features,)
        Total decrease of the impurity by each feature (boosting: of the loss),
        normalized to sum to one. Each tree of a forest counts equally.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        All trees as flat arrays.

    See Also
    --------
    CGForestRegressor : Forest of these trees.
    CGTreeClassifier : Tree for classification.
    dics.export.export_text : Rules of a tree as text.
    dics.plot.plot_tree : Drawing of a tree.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dics import CGTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = CGTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    >>> tree.predict(X[:2]).round()
    array([209.,  83.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CGTree._parameter_constraints,
        "criterion": [StrOptions(REGRESSION_CRITERIA)],
    }
    _unsupported = CGTree._unsupported | {"advanced.reuse_splits"}

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        ccp_alpha: float = 0.0,
        candidates: BaseCandidates | None = None,
        categorical_features: Any = "from_dtype",
        categorical: CategoricalOptions | None = None,
        monotonic_cst: Any = None,
        advanced: TreeOptions | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.ccp_alpha = ccp_alpha
        self.candidates = candidates
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.monotonic_cst = monotonic_cst
        self.advanced = advanced
        self.random_state = random_state
        self.n_jobs = n_jobs
