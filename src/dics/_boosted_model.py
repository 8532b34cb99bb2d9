"""What a boosted model can do once it is fitted, whatever it predicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dics._base import TreesEstimator
from dics._model_check import check_array, check_length, require
from dics._round_tree import RoundTree
from dics._sparse_rows import SparseRows
from dics._validation import Array, FloatArray


class BoostedModel(TreesEstimator):
    """Trees of rounds, whose values are added to a start."""

    _start: npt.NDArray[np.float32]  # scores before the first round

    def _scores(self, X: Any) -> npt.NDArray[np.float32]:
        X = self._check_rows(X)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = self._n_threads()
        self.trees_.add_values(X, scores, n_threads=n_threads)
        return scores

    def _staged_scores(self, X: Any) -> Iterator[npt.NDArray[np.float32]]:
        X = self._check_rows(X)
        scores = np.tile(self._start, (len(X), 1))
        n_threads = self._n_threads()
        for t in range(len(self.trees_)):
            self.trees_[t].add_values(X, scores, n_threads=n_threads)
            yield scores

    def __len__(self) -> int:
        """Return the number of rounds."""
        check_is_fitted(self, "trees_")
        return len(self.trees_)

    def __bool__(self) -> bool:
        return True  # a model without rounds is one, too

    def __getitem__(self, index: Any) -> Any:
        """Return the tree of one round, or a list of them for a slice.

        See `dics.export` for pictures of it.
        """
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._round_tree(t) for t in numbers]
        return self._round_tree(numbers)

    def _round_tree(self, t: int) -> RoundTree:
        tree = self.trees_[t]
        return RoundTree(
            trees_=tree,
            n_features_in_=self.n_features_in_,
            feature_names_in_=getattr(self, "feature_names_in_", None),
            classes_=getattr(self, "classes_", None) if tree.n_classes > 1 else None,
            _categories=self._categories,
        )

    @property
    def feature_importances_(self) -> FloatArray:
        """Total gain of the splits of each feature, normalised to sum to one."""
        check_is_fitted(self, "trees_")
        n_columns = self.n_features_in_ + self._n_pairs
        return self._by_feature(self.trees_.feature_importances(n_columns))

    @property
    def split_counts_(self) -> npt.NDArray[np.intp]:
        """Number of splits of each feature; those of a pair count for both."""
        check_is_fitted(self, "trees_")
        features = self.trees_.feature[self.trees_.inner]
        n_columns = self.n_features_in_ + self._n_pairs
        counts = np.bincount(features, minlength=n_columns)
        doubled = self._by_feature(2 * counts.astype(np.float64))
        own = counts[: self.n_features_in_]
        return (doubled - own).astype(np.intp)

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        added = self.trees_.contributions(X, n_threads=self._n_threads())
        added[:, -1] += self._start
        return added

    def _check_rounds(self) -> None:
        """Check what a model from elsewhere knows of its rounds."""
        check_length("the start", vars(self).get("_start"), self._n_leaf_values())
        require(self._start.dtype == np.float32, "the start is not in single precision")
        require(self.trees_.criterion == "", "the trees are not those of boosting")
        require(self.trees_.leaf_values.dtype == np.float32, "leaf_values are too wide")
        require(
            vars(self).get("n_iter_") == len(self.trees_),
            f"n_iter_ is not {len(self.trees_)}",
        )
        used: Any = vars(self).get("_used_splits")
        check_array("used splits", used, np.int64, (None,))
        n_splits = len(self.candidates_._dictionary.values)
        require((used >= 0) & (used < n_splits), "a used split isn't there")
