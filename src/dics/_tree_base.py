"""What a single tree does, whatever it predicts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._base import ImpurityTreesEstimator, as_feature_count, rows_for_core
from dics._candidates_base import TrainingData
from dics._grow_forest import MAX_FEATURES, grow_forest
from dics._pruning import prune, pruning_path
from dics._validation import FloatArray
from dics.candidates import (
    CentroidCandidates,
    fill_rows,
    fit_candidates,
)
from dics.dictionary import MAX_THRESHOLDS, Dictionary, encode, encode_or_list
from dics.options import UP_TO_HALF, TreeOptions
from dics.trees import Trees


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
