"""A fitted boosting model: scores, first rounds, importances and contributions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self, SupportsIndex, overload

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dics._boosting.losses import FloatScores, RegressionLoss
from dics._boosting.rows import kept_splits
from dics._estimator.arguments import effective_n_threads, explain_unknown_arguments
from dics._estimator.base import TreesEstimator
from dics._input.categories import Categories
from dics._input.checks import Array, FloatArray, check_offset
from dics._input.sparse import SparseRows
from dics._model.trees import Trees


@dataclass(frozen=True, eq=False)
class RoundTree:
    """The tree of one round of boosting, ``model[t]``, for `dics.export`.

    Leaves store the values that they add to the scores (`decision_function` of
    classifiers). Splits store the decrease of the loss.

    Attributes
    ----------
    trees_ : Trees
        The tree, as views of the arrays of the model.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,) or None
        Names of the columns of X; None if they are not strings.
    classes_ : ndarray or None
        Class labels, with three or more classes: a leaf has one value per class.

    See Also
    --------
    CGBoostingClassifier : The model; ``model[0]`` is such an object.
    dics.export.export_text : Rules of a tree as text.
    dics.plot.plot_tree : Drawing of a tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGBoostingClassifier
    >>> model = CGBoostingClassifier(n_estimators=5, random_state=0)
    >>> tree = model.fit(*load_iris(return_X_y=True))[0]
    >>> tree.n_features_in_, tree.get_n_leaves() > 1
    (4, True)
    """

    trees_: Trees
    n_features_in_: int
    feature_names_in_: Array | None
    classes_: Array | None
    _categories: Categories | None = None

    @classmethod
    def of(cls, model: BoostedModel, t: int) -> RoundTree:
        """Return the tree of round t of a fitted model.

        Parameters
        ----------
        model : CGBoostingClassifier or CGBoostingRegressor
            Fitted model.
        t : int
            Index of the round, from 0 on.

        Returns
        -------
        tree : RoundTree
            The tree of the round.
        """
        tree = model.trees_[t]
        return cls(
            trees_=tree,
            n_features_in_=model.n_features_in_,
            feature_names_in_=getattr(model, "feature_names_in_", None),
            classes_=getattr(model, "classes_", None) if tree.n_classes > 1 else None,
            _categories=model._categories,
        )

    def __repr__(self) -> str:
        return f"RoundTree(depth={self.get_depth()}, n_leaves={self.get_n_leaves()})"

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf.

        Returns
        -------
        depth : int
            Number of splits from the root to the deepest leaf.
        """
        return int(self.trees_.node_depths().max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        n_leaves : int
            Number of leaves.
        """
        return self.trees_.n_leaves


class BoostedModel(TreesEstimator):
    """Base class of the boosting estimators: the fitted model."""

    n_iter_: int
    _start: npt.NDArray[np.float32]  # scores before the first round
    _loss: RegressionLoss  # unless it is the log-loss
    _used_splits: npt.NDArray[np.int64]

    @property
    @abstractmethod
    def _fitted_loss(self) -> Any:
        """The loss of the first fit: `LogLoss` or a `RegressionLoss`."""

    def _scores(self, X: Any, offset: Any = None) -> FloatScores:
        return next(self._staged_scores(X, offset, by_round=False))

    def _staged_scores(
        self, X: Any, offset: Any = None, *, by_round: bool = True
    ) -> Iterator[FloatScores]:
        """Yield the scores after each round, or after all; the array is reused."""
        X = self._check_rows(X)
        added = None
        if offset is not None:
            loss = self._fitted_loss
            added = check_offset(offset, len(X), loss.n_offsets, loss.largest_offset)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = effective_n_threads(self.n_jobs)
        stages: Iterable[Trees] = [self.trees_]
        if by_round:
            # One tree at a time: all stages cost no more than one prediction.
            stages = (self.trees_[t] for t in range(len(self.trees_)))
        for trees in stages:
            trees.add_values(X, scores, n_threads=n_threads)
            yield scores if added is None else scores + added

    def __len__(self) -> int:
        """Return the number of rounds."""
        check_is_fitted(self, "trees_")
        return len(self.trees_)

    def __bool__(self) -> bool:
        return True  # also without rounds

    @overload
    def __getitem__(self, index: SupportsIndex) -> RoundTree: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> RoundTree | Self:
        """Return the tree of one round, or the model with its first rounds.

        ``model[:50]`` is a model that predicts with 50 rounds. It shares the memory of
        the trees; the scores and losses of the rounds are those of the whole fit. See
        `dics.export` and `dics.plot` for text and pictures of ``model[0]``.
        """
        indices = range(len(self))[index]
        if not isinstance(indices, range):
            return RoundTree.of(self, indices)
        if indices.start != 0 or indices.step != 1:
            raise ValueError(
                "A slice of a boosting model must begin with the first round and have "
                f"no step, such as model[:50]; got {index}."
            )
        return self._first(len(indices))

    def _first(self, n_rounds: int | None) -> Self:
        """Return the model with its first rounds; None for all."""
        if n_rounds is None:
            return self
        n_all = len(self)
        if not (isinstance(n_rounds, Integral) and 0 <= n_rounds <= n_all):
            raise ValueError(
                f"n_rounds must be an integer from 0 to {n_all}, the number of rounds "
                f"of the model (n_iter_), got {n_rounds!r}."
            )
        first = object.__new__(type(self))
        vars(first).update(vars(self))
        first.trees_ = self.trees_.first(int(n_rounds))
        first.n_iter_ = int(n_rounds)
        # A warm start of the first rounds may use the splits of the later ones again.
        first._used_splits = kept_splits(
            self._used_splits[:0], self._used_splits, first.trees_
        )
        return first

    @explain_unknown_arguments
    def apply(self, X: Any, *, n_rounds: int | None = None) -> npt.NDArray[np.int64]:
        """Find the leaf of each row in the tree of each round.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        n_rounds : int, default=None
            Number of rounds to use, from the first on. None uses all.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_rounds)
            Indices of nodes, counted from each root breadth first.
        """
        return TreesEstimator.apply(self._first(n_rounds), X)

    @explain_unknown_arguments
    def predict_contributions(
        self, X: Any, *, n_rounds: int | None = None
    ) -> FloatArray:
        """Compute the SHAP values of each feature for each row (TreeSHAP).

        The values are exact, as those of trees and forests. With the expected value
        (last entry) they sum to `decision_function` of a classifier, and to `predict`
        of a regressor. With the losses "poisson", "gamma" and "tweedie" they sum to its
        logarithm, and with several quantiles to the unsorted predictions. An offset is
        not part of them. The contribution of a pair of categories is divided equally
        between both.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        n_rounds : int, default=None
            Number of rounds to use, from the first on. None uses all.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features + 1), or \
                (n_samples, n_features + 1, n_outputs)
            The last axis has one entry per class or target, unless there is one score.
        """
        return TreesEstimator.predict_contributions(self._first(n_rounds), X)

    @property
    def feature_importances_(self) -> FloatArray:
        """Total gain of the splits of each feature, normalized to sum to one."""
        check_is_fitted(self, "trees_")
        gains = self.trees_.feature_importances(self.trees_.n_features)
        known = self._categories
        return gains if known is None else known.fold_back_pairs(gains)

    @property
    def split_counts_(self) -> npt.NDArray[np.intp]:
        """Number of splits of each feature; those of a pair count for both."""
        check_is_fitted(self, "trees_")
        features = self.trees_.feature[self.trees_.inner]
        counts = np.bincount(features, minlength=self.trees_.n_features)
        if self._categories is None:
            return counts
        # `by_feature` gives half of a pair to each of its features.
        doubled = self._categories.fold_back_pairs(2 * counts.astype(np.float64))
        return (doubled - counts[: self.n_features_in_]).astype(np.intp)

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        n_threads = effective_n_threads(self.n_jobs)
        added = self.trees_.contributions(X, n_threads=n_threads)
        added[:, -1] += self._start
        # Scores of a regression model are relative to the center of y.
        added[:, -1] += self._fitted_loss.origin()
        return added
