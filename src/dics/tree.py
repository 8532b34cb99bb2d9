"""Single trees: of classes (Algorithm 2 of the paper, CGCT) and of numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions

from dics import _core
from dics._base import rows_for_core
from dics._candidates_base import TrainingData
from dics._classifier import TreesClassifierMixin
from dics._constraints import as_classes, as_numbers, set_criterion_of_numbers
from dics._foreign_arguments import explain_unknown_arguments
from dics._impurity_regressor import REGRESSION_CRITERIA, ImpurityRegressorMixin
from dics._leaf_rows import LeafRows
from dics._sparse_rows import SparseRows
from dics._tree_base import CGTree
from dics._validation import FloatArray, is_sparse
from dics.candidates import (
    BaseCandidates,
)
from dics.dictionary import Dictionary, encode, encode_or_list
from dics.trees import Trees

# Candidates per feature from which codes are worth making. MNIST, depth 8, from codes
# and from X: 193 and 201 ms with half a candidate per feature, 177 and 322 with one,
# 206 and 1236 with five (2026-11).
CODED_SHARE = 1


class CGTreeClassifier(TreesClassifierMixin, CGTree):
    """Classification tree that chooses its splits from a dictionary of candidates.

    A drop-in for scikit-learn's DecisionTreeClassifier. Splits come from a few
    thresholds per feature, placed between the centroids of clusters of the data
    (`CentroidCandidates`), instead of from every value that occurs. The paper's own
    setting is ``CGTreeClassifier.paper()``.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that a split is to reduce; "log_loss" is another name of "entropy".
    max_depth : int or None, default=None
        Largest depth of a leaf; None for no limit. The paper uses 8.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: of the splits that are open, the one that reduces the
        weighted impurity most is made next. None for no limit.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Number of features drawn anew at each node, of which its split is one; a float
        is a share of them, None looks at all. Features that are constant within the
        node don't count. Such a tree is grown by one thread.
    max_candidates : int or None, default=None
        Number k of candidates drawn at each node. None looks at the whole dictionary.
        The paper uses 100, which on wide data is a few times faster still and costs
        some points of accuracy.
    min_samples_split : int or float, default=2
        Rows a node must have to be split; a float is a share of all rows. The paper
        stops at two rows, which is 3 here.
    min_samples_leaf : int or float, default=1
        Rows each side of a split must have; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight each side of a split must have.
    min_impurity_decrease : float, default=0.0
        A split must reduce the weighted impurity by at least this.
    ccp_alpha : float, default=0.0
        What a leaf must be worth: the tree is pruned to the one whose impurity, with
        this for each leaf, is least (see `cost_complexity_pruning_path`).
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, such as a `CentroidCandidates`, a `QuantileCandidates`
        or one of your own, cloned before use; None means
        ``CentroidCandidates()``. ``CentroidCandidates.paper()`` is the paper's. A
        search over its parameters (``candidates__n_pairs``) needs an instance here.
        Its `n_jobs` gives way to the tree's, and so does a `random_state` of None.
    renew_thresholds : bool or "auto", default="auto"
        Give a subtree new thresholds, even cuts of its own rows, once it has a
        sixteenth of the rows that its thresholds were made from. Deep nodes of narrow
        data need that. "auto" does it for up to 128 features, where the dictionary was
        filled up with even cuts anyway and some feature has more values than
        thresholds; never for a source of your own. New thresholds do not come from
        `candidates`, because the subtree is grown inside the core, by several threads,
        where a source written in Python cannot be called. It has no effect when
        candidates or features are drawn (`max_candidates`, `max_features`).
    reuse_splits : bool, default=True
        False takes line 8 of the paper's Algorithm 2 literally: a split that was used
        leaves the dictionary for the rest of the tree, which grows depth first. Slower,
        since every candidate is counted from X. Not with `monotonic_cst`,
        `max_leaf_nodes` or `max_features`.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns of X that hold categories: "from_dtype" for those of a data frame whose
        type says so (pandas category, string and objects that are text; polars
        Categorical, Enum and String; dictionaries and strings of Arrow), or names or
        numbers of columns, or a mask. None for none. Levels are matched by what they
        are, not by the codes of a frame; missing and new ones go where NaN goes.
    cat_smooth : float, default=10.0
        Rows of the mean target that are added to the rows of each level of a category
        when levels are put in order by their mean targets, of all rows and in a node.
    min_cat_samples : int, default=20
        Rows that neighbours in the order of a node need to have together to be told
        apart, and each of the two sets: rarer levels are pooled. In a node of fewer
        than twice as many rows, a threshold parts levels in the order of all rows.
    max_cat_levels : int or None, default=None
        Most levels of the smaller of the two sets that a node chooses; None for any
        number.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Of two classes: with which features the probability of the second must rise (1)
        or fall (-1), all else being equal; 0 for no constraint. A dict has names of
        features as its keys.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering, of the candidates drawn, and of ties between features.
    n_jobs : int or None, default=None
        Number of threads; None means all cores the process may use. The tree is the
        same for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    n_outputs_ : int
        1: classifiers predict one target.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
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
        "reuse_splits": ["boolean"],
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
        max_candidates: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        class_weight: Any = None,
        candidates: BaseCandidates | None = None,
        renew_thresholds: bool | str = "auto",
        reuse_splits: bool = True,
        categorical_features: Any = "from_dtype",
        cat_smooth: float = 10.0,
        min_cat_samples: int = 20,
        max_cat_levels: int | None = None,
        monotonic_cst: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.max_candidates = max_candidates
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.candidates = candidates
        self.renew_thresholds = renew_thresholds
        self.reuse_splits = reuse_splits
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.min_cat_samples = min_cat_samples
        self.max_cat_levels = max_cat_levels
        self.monotonic_cst = monotonic_cst
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self.reuse_splits)
        return tags

    def _grow(self, data: TrainingData, dictionary: Dictionary) -> Trees:
        if self._directions(data):
            settings = self._number_settings(data, dictionary)
            set_criterion_of_numbers(settings, self._criterion())
            arrays = self._grow_numbers(as_numbers(data), dictionary, settings)
            return as_classes(arrays, data.X.shape[1], self._criterion())
        k = self.max_candidates
        whole = self.reuse_splits and (k is None or k >= len(dictionary.values))
        settings = self._grow_settings(
            data,
            reuse_splits=self.reuse_splits,
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
        if not self.reuse_splits:
            self._refuse_sparse(data.X)  # of a cluster, whose rows are known by now
        n_features, k = data.X.shape[1], settings.max_candidates
        least = 0 if isinstance(data.X, SparseRows) else CODED_SHARE * n_features
        coded = self.reuse_splits and (k == 0 or k >= least)
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
        for name in ("monotonic_cst", "max_leaf_nodes", "max_features"):
            value = getattr(self, name)
            if value is not None and not self.reuse_splits:
                raise ValueError(f"{name}={value!r} needs reuse_splits=True.")
        if not self.reuse_splits:
            self._refuse_sparse(X)
        super()._fit(X, y, sample_weight)

    def _refuse_sparse(self, X: Any) -> None:
        if is_sparse(X) or isinstance(X, SparseRows):
            raise ValueError(
                "X is sparse, but reuse_splits=False counts rows straight from a dense "
                "X; pass X.toarray(), or leave reuse_splits True."
            )

    def _class_probabilities(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        return self.trees_.shares(X, hard=False, n_threads=self._n_threads())

    def _most_probable(self, X: Any) -> npt.NDArray[np.intp]:
        X = self._check_rows(X)
        trees = self.trees_  # the same twice, even if another thread fits meanwhile
        return trees.leaf_classes(trees.apply(X, self._n_threads())[:, 0])


class CGTreeRegressor(ImpurityRegressorMixin, CGTree):
    r"""Regression tree that chooses its splits from a dictionary of candidates.

    A drop-in for scikit-learn's DecisionTreeRegressor; the paper has trees of classes
    only. Thresholds are placed between the centroids of clusters of the rows and
    between the means of groups of rows with like targets. Sums are of whole numbers
    (targets in fixed point), so the tree is the same for any number of threads.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, \
            default="squared_error"
        What a split is to reduce: the variance, the mean distance from the median
        (slower, and leaves predict medians), or half the Poisson deviance (y of 0 or
        more). "friedman_mse" chooses the same splits as "squared_error".
    max_depth : int or None, default=None
        Largest depth of a leaf; None for no limit.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: of the splits that are open, the one that reduces the
        weighted impurity most is made next. None for no limit.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Number of features drawn anew at each node, of which its split is one; a float
        is a share of them, None looks at all. Features that are constant within the
        node don't count. Such a tree is grown by one thread.
    max_candidates : int or None, default=None
        Number of candidates drawn at each node. None looks at the whole dictionary.
    min_samples_split : int or float, default=2
        Rows a node must have to be split; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        Rows each side of a split must have; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight each side of a split must have.
    min_impurity_decrease : float, default=0.0
        A split must reduce the weighted impurity by at least this.
    ccp_alpha : float, default=0.0
        What a leaf must be worth: the tree is pruned to the one whose impurity, with
        this for each leaf, is least (see `cost_complexity_pruning_path`).
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, cloned before use; None means
        ``CentroidCandidates()``.
    renew_thresholds : bool or "auto", default="auto"
        Give a subtree new thresholds, even cuts of its own rows, once it has a
        sixteenth of the rows that its thresholds were made from. See
        `CGTreeClassifier`.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns of X that hold categories: "from_dtype" for those of a data frame whose
        type says so (pandas category, string and objects that are text; polars
        Categorical, Enum and String; dictionaries and strings of Arrow), or names or
        numbers of columns, or a mask. None for none. Levels are matched by what they
        are, not by the codes of a frame; missing and new ones go where NaN goes.
    cat_smooth : float, default=10.0
        Rows of the mean target that are added to the rows of each level of a category
        when levels are put in order by their mean targets, of all rows and in a node.
    min_cat_samples : int, default=20
        Rows that neighbours in the order of a node need to have together to be told
        apart, and each of the two sets: rarer levels are pooled. In a node of fewer
        than twice as many rows, a threshold parts levels in the order of all rows.
    max_cat_levels : int or None, default=None
        Most levels of the smaller of the two sets that a node chooses; None for any
        number.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        With which features predictions must rise (1) or fall (-1), all else being
        equal; 0 for no constraint. A dict has names of features as its keys.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering, of the candidates drawn, and of ties between features.
    n_jobs : int or None, default=None
        Number of threads; None means all cores the process may use. The tree is the
        same for any number.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
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

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: str | int | float | None = None,
        max_candidates: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        candidates: BaseCandidates | None = None,
        renew_thresholds: bool | str = "auto",
        categorical_features: Any = "from_dtype",
        cat_smooth: float = 10.0,
        min_cat_samples: int = 20,
        max_cat_levels: int | None = None,
        monotonic_cst: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.max_candidates = max_candidates
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.candidates = candidates
        self.renew_thresholds = renew_thresholds
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.min_cat_samples = min_cat_samples
        self.max_cat_levels = max_cat_levels
        self.monotonic_cst = monotonic_cst
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _pruned_tree(self, data: TrainingData) -> Trees:
        trees = super()._pruned_tree(data)
        if self.criterion != "absolute_error":
            return trees
        leaf = trees.leaf_numbers(trees.apply(data.X, data.n_threads))[:, 0]
        rows = LeafRows.of(leaf, len(trees.leaf_values))
        return self._with_medians(trees, rows, data, data.weights)

    def _grow(self, data: TrainingData, dictionary: Dictionary) -> Trees:
        settings = self._number_settings(data, dictionary)
        arrays = self._grow_numbers(data, dictionary, settings)
        return Trees.from_core(arrays, data.X.shape[1], self._criterion())
