"""BDTKS: a tree of 2-means splits."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import assert_all_finite, check_is_fitted
from threadpoolctl import ThreadpoolController

from dics._boosting.rows import hold_out
from dics._estimator.arguments import checks_parameters
from dics._input.checks import (
    Array,
    FloatArray,
    check_class_labels,
    check_matrix,
    fit_on_copy,
    make_seed,
)
from dics_paper.baselines._bisecting_tree import (
    BisectingTree,
    Labels,
    Limits,
    Sample,
    grow,
    holdout_scores,
)

LAMBDAS: FloatArray = np.array([10.0**power for power in range(-6, 4)])


@functools.cache
def _blas_libraries() -> Any:
    return ThreadpoolController()  # cached, because it searches all libraries


def _one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which NumPy computes products in one thread.

    For blocks that fit into the cache, more threads are not faster, and much slower
    while another program runs (a fit of 10000 rows of MNIST: 3.4 s with one thread and
    13.5 s with two). Rounding would also depend on the number of threads.
    """
    limited: AbstractContextManager[Any] = _blas_libraries().limit(
        limits=1, user_api="blas"
    )
    return limited


class BDTKSClassifier(ClassifierMixin, BaseEstimator):
    """Bisecting decision tree by K-means splits (Wang et al., 2020).

    Each node is split into two clusters by 2-means, regardless of the classes: a row
    goes to the nearer of two centroids, which means to its side of the hyperplane
    halfway between them. The classes only determine where to stop. 2-means starts from
    a split at the median along the first principal component of the node.

    Columns should have comparable scales, as for K-means.

    Parameters
    ----------
    reg_lambda : float or "holdout", default="holdout"
        The paper's lambda. A node of n rows is a leaf if it is pure, or if its majority
        is more frequent in it than in the training set and each other class c with
        n_c rows in it has n_c * n < lambda * N_c, where N_c is the number of rows of c
        in the training set. A larger lambda makes a smaller tree. "holdout" selects the
        best of 1e-6, 1e-5, ..., 1e3 on held-out rows (the largest one if several are
        equally good), and grows the tree from all rows with it.
    max_depth : int or None, default=None
        Maximum depth of a leaf; None for no limit.
    max_iter : int, default=100
        Maximum number of Lloyd's steps in a node.
    tol : float, default=1e-4
        2-means ends when the squared shift of the centroids is below this, relative to
        the mean variance of the columns in the node, as in scikit-learn's KMeans.
    validation_fraction : float, default=0.25
        Fraction of the rows held out to select lambda, stratified by class if possible.
    random_state : int, RandomState instance or None, default=None
        Seed of the held-out rows; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only when X had string column names.
    lambda_ : float
        The lambda of the tree.
    holdout_scores_ : ndarray of shape (10,) or None
        Accuracy on the held-out rows for 1e-6, 1e-5, ..., 1e3; None if `reg_lambda` is
        a number.
    n_iter_ : int
        Maximum number of Lloyd's steps in a node of the tree.
    tree_ : BisectingTree
        The tree as flat arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics_paper.baselines import BDTKSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = BDTKSClassifier(random_state=0).fit(X, y)
    >>> tree.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "reg_lambda": [
            Interval(Real, 0.0, None, closed="left"),
            StrOptions({"holdout"}),
        ],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "random_state": ["random_state"],
    }

    tree_: BisectingTree

    def __init__(
        self,
        *,
        reg_lambda: float | str = "holdout",
        max_depth: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        validation_fraction: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.reg_lambda = reg_lambda
        self.max_depth = max_depth
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @checks_parameters()
    def fit(self, X: Any, y: Any) -> Self:
        """Select lambda, unless it is given, and grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. float32, float64 and uint8 arrays are read in place; other
            numbers are converted. All values must be finite.
        y : array-like of shape (n_samples,)
            Class labels, of any type.

        Returns
        -------
        self : BDTKSClassifier
        """
        with fit_on_copy(self) as model, _one_blas_thread():
            model._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        X = self._check_rows(X, reset=True)
        targets = check_class_labels(y, len(X))
        n_classes = len(targets.classes)
        scores = None
        chosen = self.reg_lambda
        if chosen == "holdout":
            scores = self._holdout_scores(X, targets.labels, n_classes)
            # The last one of equally good values gives the smallest tree.
            chosen = LAMBDAS[np.flatnonzero(scores == scores.max())[-1]]
        sample = Sample.of(X, targets.labels, np.arange(len(X)), n_classes)
        self.tree_ = grow(sample, float(chosen), self._limits())
        self.n_iter_ = self.tree_.n_iter
        self.lambda_ = float(chosen)
        self.holdout_scores_ = scores
        self.classes_ = targets.classes
        self.n_classes_ = n_classes

    def _check_rows(self, X: Any, *, reset: bool) -> Array:
        checked = check_matrix(self, X, reset=reset)
        assert_all_finite(checked, input_name="X")
        return checked

    def _limits(self) -> Limits:
        return Limits(self.max_depth, self.max_iter, self.tol)

    def _holdout_scores(self, X: Array, labels: Labels, n_classes: int) -> FloatArray:
        if n_classes == 1:  # one leaf that is always correct; there may be a single row
            return np.ones(len(LAMBDAS))
        seed = make_seed(self.random_state)
        rows = np.arange(len(X))
        kept, held = hold_out(rows, labels, self.validation_fraction, seed)
        sample = Sample.of(X, labels, kept, n_classes)
        return holdout_scores(sample, held, LAMBDAS, self._limits())

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Node indices.
        """
        check_is_fitted(self, "tree_")
        X = self._check_rows(X, reset=False)
        with _one_blas_thread():
            return self.tree_.apply(X)

    def predict(self, X: Any) -> Array:
        """Predict the majority class of the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        leaves = self.apply(X)  # raises NotFittedError before fit
        predicted: Array = self.classes_[self.tree_.majority[leaves]]
        return predicted

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the fraction of each class in the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        leaves = self.apply(X)
        counts = self.tree_.counts[leaves]
        fractions: FloatArray = counts / counts.sum(axis=1, keepdims=True)
        return fractions

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf."""
        check_is_fitted(self, "tree_")
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self, "tree_")
        return int(np.count_nonzero(self.tree_.left == 0))
