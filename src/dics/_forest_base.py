"""What forests have in common, whatever they predict."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Generic, Self, SupportsIndex, TypeVar, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._base import (
    NO_LIMIT,
    ImpurityTreesEstimator,
    as_feature_count,
)
from dics._candidates_base import TrainingData
from dics._forest_draws import check_draws, draw_counts
from dics._grow_forest import MAX_FEATURES, grow_forest
from dics._out_of_bag import OutOfBag, OutOfBagSums
from dics._progress import Progress
from dics._pruning import prune
from dics._rows_elsewhere import RowsElsewhere
from dics._tree_base import CGTree
from dics._validation import MAX_COUNT, FloatArray
from dics._warning import warn_user
from dics.candidates import CentroidCandidates, fit_candidates
from dics.options import ForestOptions, TreeOptions
from dics.trees import Trees

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
            self.trees_ = self.trees_.followed_by(new) if is_warm_start else new
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
        if isinstance(X, RowsElsewhere):
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
