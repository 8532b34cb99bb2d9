"""The tree of one round of boosting, as users take it out of a model."""

from __future__ import annotations

from dataclasses import dataclass

from dics._categories import Categories
from dics._validation import Array
from dics.trees import Trees


@dataclass(frozen=True, eq=False)
class RoundTree:
    """The tree of one round of boosting, ``model[t]``, for `dics.export`.

    Its leaves hold what they add to the scores (`decision_function`; of regressors to
    what `predict` makes predictions of), and its splits what they gain of the loss.

    Attributes
    ----------
    trees_ : Trees
        The tree alone, as views of the model's arrays.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,) or None
        None if X had no string column names.
    classes_ : ndarray or None
        Labels of the classes, if there are more than two: a leaf has a value for each.
    """

    trees_: Trees
    n_features_in_: int
    feature_names_in_: Array | None
    classes_: Array | None
    _categories: Categories | None = None

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf."""
        return int(self.trees_.node_depths().max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.trees_.n_leaves
