"""The forest (Algorithm 3 of the paper, CGRF)."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._base import (
    NO_LIMIT,
    ImpurityTreesEstimator,
    as_feature_count,
    rows_for_core,
)
from dics._candidates_base import TrainingData
from dics._classifier import TreesClassifierMixin
from dics._progress import Progress
from dics._settings import make_settings
from dics._validation import MAX_COUNT, FloatArray
from dics.candidates import (
    BaseCandidates,
    CentroidCandidates,
    fit_candidates,
)
from dics.dictionary import encode, select
from dics.tree import CGTree, CGTreeClassifier
from dics.trees import Trees

# Fitted attributes of a forest that its trees have as well.
SHARED_WITH_TREES = (
    "candidates_",
    "classes_",
    "n_classes_",
    "n_features_in_",
    "feature_names_in_",
)


class CGForest(ImpurityTreesEstimator):
    """A forest of trees that share one dictionary, whatever it predicts."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        **ImpurityTreesEstimator._parameter_constraints,
        "max_features": [
            StrOptions({"sqrt", "log2"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            None,
        ],
        "feature_sampling": [StrOptions({"tree", "node"})],
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
    _tree_class: ClassVar[type[CGTree]]

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        is_warm_start = self.warm_start and hasattr(self, "trees_")
        n_trees = len(self.trees_) if is_warm_start else 0
        self._check_options(n_trees)
        data = self._check_training_data(
            X, y, sample_weight, is_warm_start=is_warm_start
        )
        n_draws = self._n_draws(data)
        if self.n_estimators == n_trees:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "trees.",
                stacklevel=4,
            )
        else:
            if not is_warm_start:
                self.candidates_ = fit_candidates(self, data)
            new = self._grow(data, n_draws, n_trees)
            for stale in ("oob_score_", "oob_decision_function_"):
                self.__dict__.pop(stale, None)
            self.trees_ = self.trees_.followed_by(new) if is_warm_start else new
            self._keep_targets(data)
            self._seed = data.seed
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

    def _n_draws(self, data: TrainingData) -> int:
        """Rows drawn for each tree; 0 if nothing is drawn."""
        if not self.bootstrap:
            return 0
        n_rows = len(data.X)
        if self.max_samples is None:
            return n_rows
        if isinstance(self.max_samples, Integral):
            n_draws = int(self.max_samples)
        else:
            total = n_rows if data.weights is None else float(data.weights.sum())
            n_draws = max(1, int(self.max_samples * total))
        if n_draws > MAX_COUNT:
            raise ValueError(
                f"max_samples={self.max_samples!r} asks for {n_draws} rows a tree; "
                f"at most {MAX_COUNT} are supported."
            )
        return n_draws

    def _grow(self, data: TrainingData, n_draws: int, first_tree: int) -> Trees:
        dictionary = self.candidates_._dictionary
        n_features = data.X.shape[1]
        max_features = as_feature_count(self.max_features, n_features)
        kinds = _core.FeatureSampling
        sampling = kinds.none
        if max_features < n_features:
            sampling = getattr(kinds, self.feature_sampling)
        order: npt.NDArray[np.int32] | None = None
        if sampling == kinds.node:
            order = np.asarray(_core.forest_order(dictionary.offsets, data.seed))
            n_features = len(order)
        width = _core.forest_code_width(sampling, n_features)
        codes = encode(data.X, dictionary, width, data.n_threads, order)
        if order is not None:
            dictionary = select(dictionary, order)
        n_trees = self.n_estimators - first_tree
        settings = make_settings(
            _core.ForestSettings,
            tree=self._grow_settings(
                data, max_candidates=min(self.max_candidates or 0, NO_LIMIT)
            ),
            first_tree=first_tree,
            n_trees=n_trees,
            sampling=sampling,
            max_features=max_features,
            n_draws=n_draws,
            balance_each_tree=(
                self.bootstrap and self.class_weight == "balanced_subsample"
            ),
        )
        progress = Progress(
            type(self).__name__, n_trees, "trees", enabled=bool(self.verbose)
        )
        with progress:
            arrays = _core.grow_forest(
                codes,
                code_width=width,
                **rows_for_core(data, dictionary, are_drawn=n_draws > 0),
                settings=settings,
                progress=progress.update if self.verbose else None,
            )
        trees = Trees.from_core(arrays, self.criterion)
        if order is not None:
            trees.feature[trees.inner] = order[trees.feature[trees.inner]]
        return trees

    @abstractmethod
    def _estimate_out_of_bag(self, data: TrainingData, n_draws: int) -> None:
        """Let each tree predict the rows that it didn't draw."""

    def decision_path(
        self, X: Any
    ) -> tuple[scipy.sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Find the nodes each row passes in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

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
    def estimators_(self) -> list[Any]:
        """The trees, each as an estimator that shares the forest's memory."""
        if not hasattr(self, "trees_"):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'estimators_' "
                "before it is fitted"
            )
        return [self._as_tree(t) for t in range(len(self.trees_))]

    def _as_tree(self, t: int) -> CGTree:
        tree = self._tree_class(
            criterion=self.criterion,
            max_depth=self.max_depth,
            max_candidates=self.max_candidates,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            min_impurity_decrease=self.min_impurity_decrease,
            candidates=self.candidates,
            renew_thresholds=False,
            n_jobs=self.n_jobs,
        )
        tree.trees_ = self.trees_[t]
        for name in SHARED_WITH_TREES:
            if hasattr(self, name):
                setattr(tree, name, getattr(self, name))
        return tree

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.trees_)

    def __getitem__(self, index: Any) -> Any:
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


class CGForestClassifier(TreesClassifierMixin, CGForest):
    """Forest of classification trees that share one dictionary of candidate splits.

    A drop-in for scikit-learn's RandomForestClassifier. The thresholds are placed once,
    between the centroids of clusters of the data (`CentroidCandidates`), X is turned
    into one byte a value, and all trees are grown from those bytes. The paper's own
    setting is ``CGForestClassifier.paper()``.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy"}, default="gini"
        Impurity that a split is to reduce.
    max_depth : int or None, default=None
        Largest depth of a leaf; None for no limit. The paper uses 8.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features drawn; a float is a share of them, None means all.
    feature_sampling : {"node", "tree"}, default="node"
        When features are drawn: anew at each node, as RandomForestClassifier does
        (features that are constant within the node don't count), or once for each tree,
        as the paper does, which is faster and on most data less accurate, most of all
        where many features are constant. Of more than 128 features, each node draws
        from a random group of up to 128.
    max_candidates : int or None, default=None
        Number k of candidate splits drawn at each node from the thresholds of the drawn
        features. None looks at all of them; the paper uses 100.
    voting : {"soft", "hard"}, default="soft"
        Whether `predict_proba` is the mean of the class shares in the leaves, or the
        share of trees that vote for a class, as in the paper.
    bootstrap : bool, default=True
        Grow each tree from rows drawn with replacement. False gives each tree all rows.
    max_samples : int, float or None, default=None
        Number of rows drawn for each tree; a float is a share of all rows (of their
        total weight), None means as many as there are rows.
    oob_score : bool or callable, default=False
        Estimate the accuracy from the rows that a tree didn't draw; a callable
        ``metric(y_true, y_pred)`` is used instead of accuracy.
    min_samples_split : int or float, default=2
        Rows a node must have to be split; a float is a share of all rows. The paper
        stops at two rows, which is 3 here.
    min_samples_leaf : int or float, default=1
        Rows each side of a split must have; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight each side of a split must have.
    min_impurity_decrease : float, default=0.0
        A split must reduce the weighted impurity by at least this.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes. "balanced_subsample" weighs the classes of each
        bootstrap sample; "balanced" those of y.
    candidates : BaseCandidates or None, default=None
        Source of the thresholds, such as a `CentroidCandidates`, a `QuantileCandidates`
        or one of your own, cloned before use; None means
        ``CentroidCandidates()``. Its `n_jobs` gives way to the forest's, and so does a
        `random_state` of None.
    warm_start : bool, default=False
        Keep the trees of the last fit and only grow those that `n_estimators` asks for
        in addition. The result is that of one fit.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering, the bootstrap, the draws and the ties. Tree b is the
        same however many trees follow.
    n_jobs : int or None, default=None
        Number of threads; None means all cores the process may use. The forest is the
        same for any number.
    verbose : int, default=0
        1 writes the progress and the time left to stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
    estimators_ : list of CGTreeClassifier
        The trees, as views of `trees_`.
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
        "criterion": [StrOptions({"gini", "entropy"})],
        "voting": [StrOptions({"soft", "hard"})],
        "class_weight": [dict, StrOptions({"balanced", "balanced_subsample"}), None],
    }
    _tree_class = CGTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        max_features: str | int | float | None = "sqrt",
        feature_sampling: str = "node",
        max_candidates: int | None = None,
        voting: str = "soft",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[[Any, Any], float] = False,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        candidates: BaseCandidates | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_features = max_features
        self.feature_sampling = feature_sampling
        self.max_candidates = max_candidates
        self.voting = voting
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.candidates = candidates
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Make the paper's own setting: features drawn for each tree, hard votes.

        Parameters
        ----------
        **parameters : dict
            Parameters to set in addition, or instead.

        Returns
        -------
        forest : CGForestClassifier

        Examples
        --------
        >>> from dics import CGForestClassifier
        >>> forest = CGForestClassifier.paper(n_estimators=50, random_state=0)
        >>> forest.feature_sampling, forest.voting, forest.max_candidates
        ('tree', 'hard', 100)
        """
        setting = {
            "candidates": CentroidCandidates.paper(),
            "feature_sampling": "tree",
            "max_candidates": 100,
            "max_depth": 8,
            "min_samples_split": 3,
            "voting": "hard",
        }
        return cls(**{**setting, **parameters})

    def _class_weight(self) -> Any:
        if self.class_weight == "balanced_subsample":
            return None if self.bootstrap else "balanced"
        return self.class_weight

    def _estimate_out_of_bag(self, data: TrainingData, n_draws: int) -> None:
        """Let each tree vote on the rows that it didn't draw."""
        n_rows = len(data.X)
        cumulative = None if data.weights is None else np.cumsum(data.weights)
        votes = np.zeros((n_rows, data.n_classes))
        counts = np.empty(n_rows, dtype=np.uint32)
        for t in range(len(self.trees_)):
            _core.bootstrap(data.seed, t, n_draws, cumulative, counts)
            rows = np.flatnonzero(counts == 0).astype(np.uint32)
            if len(rows) == 0:
                continue
            own = np.zeros((len(rows), data.n_classes))
            self.trees_[t].add_votes(
                data.X,
                own,
                hard=self.voting == "hard",
                n_threads=data.n_threads,
                rows=rows,
            )
            votes[rows] += own
        totals = votes.sum(axis=1)
        seen = totals > 0
        if not seen.all():
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few trees "
                "were used to compute any reliable OOB estimates.",
                stacklevel=5,
            )
        votes[~seen] = np.nan
        votes[seen] /= totals[seen, None]
        self.oob_decision_function_ = votes
        assert data.labels is not None
        truth = self.classes_[data.labels[seen]]
        guess = self.classes_[votes[seen].argmax(axis=1)]
        metric = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = float(metric(truth, guess)) if seen.any() else math.nan

    def _class_probabilities(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        return self.trees_.shares(
            X, hard=self.voting == "hard", n_threads=self._n_threads()
        )
