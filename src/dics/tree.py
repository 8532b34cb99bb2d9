"""Single trees: classifier (Algorithm 2 of the paper, CGCT) and regressor."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._dictionary import (
    MAX_THRESHOLDS,
    Dictionary,
    TrainingData,
    encode,
    encode_or_list,
)
from dics._estimator.arguments import explain_unknown_arguments
from dics._estimator.base import ImpurityTreesEstimator, as_feature_count, rows_for_core
from dics._estimator.mixins import (
    REGRESSION_CRITERIA,
    ImpurityRegressorMixin,
    TreesClassifierMixin,
)
from dics._growing.constraints import as_classes, as_numbers, set_criterion_of_numbers
from dics._growing.forest import MAX_FEATURES, grow_forest
from dics._growing.pruning import prune, pruning_path
from dics._input.checks import FloatArray, is_sparse
from dics._input.sparse import SparseRows
from dics._model.leaf_rows import LeafRows
from dics._model.trees import Trees
from dics.candidates import (
    BaseCandidates,
    CentroidCandidates,
    fill_rows,
    fit_candidates,
)
from dics.options import UP_TO_HALF, CategoricalOptions, TreeOptions

# Candidates per feature from which codes are worth making. MNIST, depth 8, from codes
# and from X: 193 and 201 ms with half a candidate per feature, 177 and 322 with one,
# 206 and 1236 with five (2026-11).
CODED_SHARE = 1


class CGTree(ImpurityTreesEstimator):
    """A tree that chooses its splits from a dictionary, whatever it predicts."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ImpurityTreesEstimator._parameter_constraints,
        "max_features": MAX_FEATURES,
        "min_weight_fraction_leaf": [UP_TO_HALF],
        "advanced": [TreeOptions, None],
    }
    _options_class = TreeOptions
    _is_drawn = False  # one of a forest, from rows that were drawn
    max_features_: int

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Make the paper's own setting: its dictionary, and 100 candidates a node.

        The paper has trees of classes only; for a regressor, groups of rows with like
        targets take the place of the classes.

        Parameters
        ----------
        **parameters : dict
            Parameters to set in addition, or instead, as in `set_params`.

        Returns
        -------
        tree : CGTreeClassifier or CGTreeRegressor

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
        data = self._check_training_data(X, y, sample_weight)
        self.max_features_ = as_feature_count(self.max_features, data.X.shape[1])
        self.candidates_ = fit_candidates(self, data)
        self.trees_ = self._grow(data, self.candidates_._dictionary)
        if self.ccp_alpha > 0:
            self.trees_ = self._pruned_tree(data)
        self._keep_targets(data)

    def _pruned_tree(self, data: TrainingData) -> Trees:  # noqa: ARG002
        return prune(self.trees_, self.ccp_alpha).trees

    def cost_complexity_pruning_path(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> Bunch:
        """Find at which `ccp_alpha` the tree of some rows gets smaller.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        path : Bunch
            `ccp_alphas`, rising from 0, and `impurities`, the impurity of the leaves of
            the tree that is left at each.

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
        whole = clone(self).set_params(ccp_alpha=0.0)
        alphas, impurities = pruning_path(whole.fit(X, y, sample_weight).trees_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def _renewal(
        self, dictionary: Dictionary, n_features: int, *, whole: bool
    ) -> dict[str, Any]:
        """Return the settings of thresholds made anew; not if candidates are drawn."""
        wanted = self._options.renew_thresholds
        renews = dictionary.renewable if wanted == "auto" else bool(wanted)
        return {
            "renew_thresholds": whole and renews,
            "renew_rows": fill_rows(n_features, MAX_THRESHOLDS),
        }

    def _min_weight_fraction(self) -> float:
        return float(self.min_weight_fraction_leaf)

    @abstractmethod
    def _grow(self, data: TrainingData, dictionary: Dictionary) -> Trees:
        """Grow the tree from a dictionary."""

    def _number_settings(
        self, data: TrainingData, dictionary: Dictionary
    ) -> _core.GrowSettings:
        """Return how a tree of numbers is to be grown."""
        k = self._options.max_candidates
        whole = k is None or k >= len(dictionary.values)
        return self._grow_settings(
            data,
            max_candidates=0 if whole else k,
            monotonic=self._directions(data),
            **self._renewal(dictionary, data.X.shape[1], whole=whole),
        )

    def _grow_drawn(
        self, data: TrainingData, dictionary: Dictionary, settings: _core.GrowSettings
    ) -> dict[str, Any]:
        """Grow a tree whose nodes draw features."""
        settings.renew_thresholds = False
        return grow_forest(
            data, dictionary, settings, max_features=self.max_features_, n_trees=1
        )

    def _grow_numbers(
        self, data: TrainingData, dictionary: Dictionary, settings: _core.GrowSettings
    ) -> dict[str, Any]:
        if self.max_features_ < data.X.shape[1]:
            return self._grow_drawn(data, dictionary, settings)
        width = _core.code_width(data.X.shape[1])
        # Thresholds are made anew from bytes.
        make = encode if settings.renew_thresholds else encode_or_list
        arrays: dict[str, Any] = _core.grow_regression_tree(
            data.X,
            make(data.X, dictionary, width, data.n_threads),
            code_width=width,
            **rows_for_core(data, dictionary),
            settings=settings,
        )
        return arrays

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Find the leaf of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Node indices, numbered from the root breadth first.
        """
        return super().apply(X)[:, 0]

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Find the nodes each row passes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
        """
        leaves = self.apply(X)  # refuses if there is no tree yet
        return self.trees_.decision_path(leaves)

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf."""
        check_is_fitted(self, "trees_")
        return int(self.trees_.node_depths().max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self, "trees_")
        return self.trees_.n_leaves

    @property
    def feature_importances_(self) -> FloatArray:
        """Total decrease of impurity by each feature, normalised to sum to one."""
        check_is_fitted(self, "trees_")
        return self.trees_.feature_importances(self.n_features_in_)


class CGTreeClassifier(TreesClassifierMixin, CGTree):
    """Cluster-guided (CG) classification tree.

    An alternative to scikit-learn's DecisionTreeClassifier. It considers a few
    thresholds per feature, placed between the centroids of clusters of the data
    (`CentroidCandidates`), instead of every value. ``CGTreeClassifier.paper()`` gives
    the settings of the paper, which calls the model CGCT.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity criterion. "log_loss" is another name of "entropy".
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit. The paper uses 8.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves. With a limit, the split with the largest decrease of
        the weighted impurity comes first. None sets no limit.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Number of features sampled at each node. A float is a fraction of the features;
        None uses all. Features that are constant in the node do not count. With
        sampling, the tree is grown by one thread.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node that can be split. A float is a fraction of all
        rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows on each side of a split. A float is a fraction of all
        rows.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight on each side of a split.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the weighted impurity by a split.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: the subtree with the
        smallest impurity + ccp_alpha * n_leaves is kept. See
        `cost_complexity_pruning_path`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight.
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
    advanced : TreeOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses ``TreeOptions()``.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering and of all random draws. With an int, repeated fits give
        the same model.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The model is the same for any
        number.

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
    max_features_ : int
        Number of features that a node looks at.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Total decrease of impurity by each feature, normalised.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        The tree as flat arrays.

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
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
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
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
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
        tags.input_tags.sparse = bool(self._options.reuse_splits)
        return tags

    def _grow(self, data: TrainingData, dictionary: Dictionary) -> Trees:
        if self._directions(data):
            settings = self._number_settings(data, dictionary)
            set_criterion_of_numbers(settings, self._criterion())
            arrays = self._grow_numbers(as_numbers(data), dictionary, settings)
            return as_classes(arrays, data.X.shape[1], self._criterion())
        k, reuse_splits = self._options.max_candidates, self._options.reuse_splits
        whole = reuse_splits and (k is None or k >= len(dictionary.values))
        settings = self._grow_settings(
            data,
            reuse_splits=reuse_splits,
            max_candidates=0 if whole or k is None else min(k, len(dictionary.values)),
            **self._renewal(dictionary, data.X.shape[1], whole=whole),
        )
        grow = self._grow_classes
        if self.max_features_ < data.X.shape[1]:
            grow = self._grow_drawn
        arrays = grow(data, dictionary, settings)
        return Trees.from_core(arrays, data.X.shape[1], self._criterion())

    def _grow_classes(
        self, data: TrainingData, dictionary: Dictionary, settings: _core.GrowSettings
    ) -> dict[str, Any]:
        # The whole dictionary is priced by histograms of codes; a few candidates are
        # counted straight from a dense X, which costs less than encoding it.
        reuse_splits = self._options.reuse_splits
        if not reuse_splits:
            self._refuse_sparse(data.X)  # of a cluster, whose rows are known by now
        n_features, k = data.X.shape[1], settings.max_candidates
        least = 0 if isinstance(data.X, SparseRows) else CODED_SHARE * n_features
        coded = reuse_splits and (k == 0 or k >= least)
        width = _core.code_width(n_features)
        make = encode if settings.renew_thresholds else encode_or_list
        arrays: dict[str, Any] = _core.grow_tree(
            data.X,
            codes=make(data.X, dictionary, width, data.n_threads) if coded else None,
            code_width=width,
            **rows_for_core(data, dictionary),
            settings=settings,
        )
        return arrays

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        if not self._options.reuse_splits:
            for name in ("monotonic_cst", "max_leaf_nodes", "max_features"):
                value = getattr(self, name)
                if value is not None:
                    raise ValueError(
                        f"{name}={value!r} needs advanced.reuse_splits=True."
                    )
            self._refuse_sparse(X)
        super()._fit(X, y, sample_weight)

    def _refuse_sparse(self, X: Any) -> None:
        if is_sparse(X) or isinstance(X, SparseRows):
            raise ValueError(
                "X is sparse, but advanced.reuse_splits=False needs a dense X; pass "
                "X.toarray(), or leave reuse_splits True."
            )

    def _class_probabilities(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        return self.trees_.shares(X, hard=False, n_threads=self._n_threads())

    def _most_probable(self, X: Any) -> npt.NDArray[np.intp]:
        X = self._check_rows(X)
        trees = self.trees_  # the same twice, even if another thread fits meanwhile
        return trees.leaf_classes(trees.apply(X, self._n_threads())[:, 0])


class CGTreeRegressor(ImpurityRegressorMixin, CGTree):
    r"""Cluster-guided (CG) regression tree.

    An alternative to scikit-learn's DecisionTreeRegressor. It considers a few
    thresholds per feature, placed between the centroids of clusters of the rows and
    between the means of groups of rows with similar targets. Targets are summed in
    fixed point, so that the tree is the same for any number of threads.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, \
            default="squared_error"
        Impurity criterion: variance, mean absolute deviation from the median (slower;
        leaves predict medians) or half the Poisson deviance (y of 0 or more).
        "friedman_mse" chooses the same splits as "squared_error".
    max_depth : int or None, default=None
        Maximum depth of a tree. None sets no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves. With a limit, the split with the largest decrease of
        the weighted impurity comes first. None sets no limit.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Number of features sampled at each node. A float is a fraction of the features;
        None uses all. Features that are constant in the node do not count. With
        sampling, the tree is grown by one thread.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node that can be split. A float is a fraction of all
        rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows on each side of a split. A float is a fraction of all
        rows.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight on each side of a split.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the weighted impurity by a split.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: the subtree with the
        smallest impurity + ccp_alpha * n_leaves is kept. See
        `cost_complexity_pruning_path`.
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
    advanced : TreeOptions or None, default=None
        Rarely needed options, such as those of the paper. None uses ``TreeOptions()``.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering and of all random draws. With an int, repeated fits give
        the same model.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The model is the same for any
        number.

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
    max_features_ : int
        Number of features that a node looks at.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Total decrease of impurity by each feature, normalised.
    candidates_ : BaseCandidates
        The fitted source of thresholds.
    trees_ : Trees
        The tree as flat arrays.

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
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
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
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.candidates = candidates
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.monotonic_cst = monotonic_cst
        self.advanced = advanced
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _pruned_tree(self, data: TrainingData) -> Trees:
        trees = super()._pruned_tree(data)
        if self.criterion != "absolute_error":
            return trees
        leaf = trees.leaf_value_rows(trees.apply(data.X, data.n_threads))[:, 0]
        rows = LeafRows.from_leaves(leaf, len(trees.leaf_values))
        return self._with_medians(trees, rows, data, data.weights)

    def _grow(self, data: TrainingData, dictionary: Dictionary) -> Trees:
        settings = self._number_settings(data, dictionary)
        arrays = self._grow_numbers(data, dictionary, settings)
        return Trees.from_core(arrays, data.X.shape[1], self._criterion())
