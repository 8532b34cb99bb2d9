"""Base classes of all estimators: checked input, predictions, model files."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_is_fitted,
)

from dics import _core
from dics._dictionary import BaseCandidates, Dictionary, TrainingData
from dics._estimator.arguments import (
    check_parameters,
    checks_parameters,
    explain_unknown_arguments,
)
from dics._estimator.running import effective_n_threads
from dics._growing.constraints import MONOTONIC, check_monotonic, monotonic_directions
from dics._growing.settings import make_settings
from dics._input.categories import MAX_RANKS, Categories
from dics._input.category_encoder import TargetEncoder
from dics._input.checks import (
    Array,
    FloatArray,
    check_matrix,
    check_rows,
    draw_seed,
    fit_on_copy,
    split_counts,
)
from dics._input.frames import CategoricalInput, as_table
from dics._input.sparse import SparseRows
from dics._model.checks import require
from dics._model.trees import Trees
from dics._version import VERSION
from dics.candidates import CentroidCandidates
from dics.options import GOSS, CategoricalOptions, Options

NO_LIMIT = np.iinfo(np.int64).max
# The charge of a node for a set of k categories that it has sorted itself. The unit is
# the mean gain of k categories of noise (core/search/category_order.hpp);
# the best of their sets has about two thirds of that. Without sets, and with a charge
# of 0, 0.3 and 1, for 100 categories of 120 rows (three seeds):
#   a tree of depth 8, AUC, categories are noise            0.818, 0.782, 0.788, 0.818
#   the same, another feature changes their order           0.806, 0.824, 0.825, 0.825
#   a regression forest, R2, categories are noise           0.561, 0.542, 0.551, 0.561
#   the same, another feature changes their order           0.551, 0.629, 0.628, 0.616
# R2 of mercedes, a tree of depth 8: 0.525, 0.389, -, 0.525; AUC of adult, a forest:
# 0.9061, 0.9069, -, 0.9059 (2026-11).
SET_CHARGE = 1.0
# Other names of criteria, as scikit-learn has them.
SAME_CRITERION = {"log_loss": "entropy"}
# What `set_params` puts in place before it sets a parameter of it.
DEFAULT_OBJECTS: dict[str, Callable[[], Any]] = {
    "candidates": CentroidCandidates,
    "categorical": CategoricalOptions,
    "sampling": GOSS,
}


# Address of the page of an estimator; scikit-learn fills in the names.
DOC_LINK = "https://dics.readthedocs.io/en/stable/api/dics.{estimator_name}.html"


class TreesEstimator(BaseEstimator, ABC):
    """Base of all estimators that hold trees.

    What is predicted is the business of a mixin that comes before this class, such as
    `TreesClassifierMixin`. It checks y (`_check_targets`), may change the weights
    (`_check_weights`), keeps what it learned of y (`_keep_targets`) and has `predict`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "candidates": [BaseCandidates, None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "categorical": [CategoricalOptions, None],
        "monotonic_cst": MONOTONIC,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    # The link of the HTML repr in notebooks.
    _doc_link_module = "dics"
    _doc_link_template = DOC_LINK

    n_features_in_: int
    feature_names_in_: Array
    # Class of `advanced`, and options that the estimator does not support.
    _options_class: ClassVar[type[Options]]
    _unsupported: ClassVar[frozenset[str]] = frozenset()
    # What `min_samples` of categories is by default.
    _min_category_samples: ClassVar[int]

    trees_: Trees
    candidates_: BaseCandidates
    _seed: int  # of the first fit, for a warm start
    # None if X has no categorical features.
    _categories: Categories | None = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator.

        Parameters
        ----------
        **params : dict
            Parameters by name. ``candidates__n_pairs`` is one of `candidates`: if that
            is None, the default object takes its place first. The same holds for
            `categorical` and `advanced`.

        Returns
        -------
        self : object
        """
        check_parameters(type(self), params)
        makers = DEFAULT_OBJECTS | {"advanced": self._options_class}
        for name in list(params):
            outer, _, inner = name.partition("__")
            present = params.get(outer, getattr(self, outer, None))
            if inner and outer in makers and not hasattr(present, "set_params"):
                params[outer] = makers[outer]()
        super().set_params(**params)
        return self

    def _validate_params(self) -> None:
        super()._validate_params()
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, Options):
                value._check(self, name)

    @property
    def _options(self) -> Any:
        """The advanced options, given or default."""
        return self._options_class() if self.advanced is None else self.advanced

    @property
    def _categorical(self) -> CategoricalOptions:
        """The options of categorical features, given or default."""
        given: CategoricalOptions | None = self.categorical
        return CategoricalOptions() if given is None else given

    # --- hooks for the mixin ------------------------------------------------

    @abstractmethod
    def _check_targets(self, y: Any, n_rows: int, *, is_warm_start: bool) -> Any:
        """Check y; a warm start adds to an earlier fit."""

    @abstractmethod
    def _check_weights(self, sample_weight: Any, targets: Any) -> FloatArray | None:
        """Check the weights of the rows; classes may have weights too."""

    def _keep_targets(self, data: TrainingData) -> None:
        """Set the attributes that describe y."""

    # --- checked input ------------------------------------------------------

    def _check_training_data(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        is_warm_start: bool = False,
        check_more: Callable[[Any], None] | None = None,
    ) -> TrainingData:
        """Check what `fit` was given; a warm start adds to an earlier fit.

        `check_more` is called with the targets, before any number of X is looked at.
        """
        read = self._read_categories(X, is_warm_start=is_warm_start)
        X = check_rows(self, read.X, reset=not is_warm_start)
        self._check_constraints()
        targets = self._check_targets(y, len(X), is_warm_start=is_warm_start)
        weights = self._check_weights(sample_weight, targets)
        if check_more is not None:
            check_more(targets)
        seed = self._seed if is_warm_start else draw_seed(self.random_state)
        if read.columns:
            outcomes = TargetEncoder.of(
                targets, weights, self._categorical.smooth, seed
            )
            known = self._categories
            if not is_warm_start:
                known = outcomes.fit(read, pairs=self._takes_pairs())
            assert known is not None
            X = known.encode_training_rows(read, X, outcomes)
            self._categories = known
        data = TrainingData.of(X, targets, weights, seed, self._n_threads())
        self._directions(data)
        return data

    def _takes_pairs(self) -> bool:
        """Return True if pairs of categories may be columns of their own."""
        return False

    @property
    def _n_pairs(self) -> int:
        """Number of columns of pairs, which trees know behind the features."""
        return 0 if self._categories is None else len(self._categories.pairs)

    def _ranked_features(self) -> list[int]:
        """Return the features that are split by sets of categories."""
        ranked = {} if self._categories is None else self._categories.rank_counts()
        n_columns = self.n_features_in_ + self._n_pairs
        return [int(f in ranked) for f in range(n_columns)] if ranked else []

    def _set_limits(self) -> dict[str, int]:
        """Return the limits of the sets of categories in splits."""
        min_samples: Any = self._categorical.min_samples
        if min_samples == "auto":
            min_samples = self._min_category_samples
        return {
            "min_rows": min(min_samples, NO_LIMIT),
            "max_codes": min(self._categorical.max_categories or MAX_RANKS, MAX_RANKS),
        }

    def _by_feature(self, by_column: FloatArray, axis: int = 0) -> FloatArray:
        """Return what columns of the trees have for the features of X."""
        if self._n_pairs == 0:
            return by_column
        assert self._categories is not None
        return self._categories.fold_back_pairs(by_column, axis)

    def _read_categories(self, X: Any, *, is_warm_start: bool) -> CategoricalInput:
        """Read the categorical features of the X of a fit."""
        if is_warm_start:
            return self._read_known_categories(X)
        self.__dict__.pop("_categories", None)  # of an earlier fit
        return CategoricalInput.for_fit(X, self.categorical_features)

    def _read_known_categories(self, X: Any) -> CategoricalInput:
        """Read those columns of X that held categories in the first fit."""
        X = as_table(X)
        if self._categories is None or np.ndim(X) != 2:
            return CategoricalInput(X, [])
        if isinstance(X, list | tuple):
            X = np.asarray(X)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        return CategoricalInput(X, self._categories.features)

    def _check_matrix(self, X: Any) -> Array | SparseRows:
        """Check X for a fitted model, and replace categories by numbers."""
        if self._categories is None:
            return check_rows(self, X, reset=False)
        read = self._read_known_categories(X)
        checked = check_matrix(self, read.X, reset=False)
        return self._categories.encode(read, checked)

    @property
    def is_categorical_(self) -> npt.NDArray[np.bool_] | None:
        """Mask of the categorical features; None if there are none."""
        check_is_fitted(self, "trees_")
        if self._categories is None:
            return None
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self._categories.features] = True
        return mask

    @property
    def categories_(self) -> list[Array | None] | None:
        """Categories of each feature, None if it is numeric; None if all are."""
        check_is_fitted(self, "trees_")
        if self._categories is None:
            return None
        known = [self._categories.find(f) for f in range(self.n_features_in_)]
        return [None if column is None else column.categories for column in known]

    def _check_constraints(self) -> None:
        """Check parameters that name columns, once these are known."""
        if self.monotonic_cst is not None:
            check_monotonic(self)

    def _directions(self, data: TrainingData) -> list[int]:
        """Check the monotonic constraints; empty if there are none."""
        if self.monotonic_cst is None:
            return []
        n_outputs = 1 if data.values is None else data.values.shape[1]
        return monotonic_directions(self, data, n_outputs)

    def _check_rows(self, X: Any) -> Array | SparseRows:
        """Check that the model is fitted and X is of its kind."""
        check_is_fitted(self, "trees_")
        return self._check_matrix(X)

    def _n_threads(self) -> int:
        return effective_n_threads(self.n_jobs)

    def predict_contributions(self, X: Any) -> FloatArray:
        """Compute what each feature adds to the prediction of each row (TreeSHAP).

        Exact Shapley values: where a feature isn't known, rows take both ways in
        proportion to the training rows, as in LightGBM's ``pred_contrib`` and the shap
        package's ``feature_perturbation="tree_path_dependent"``. What a row's features
        add, and what is said without any (the last entry), sum up to the prediction: of
        boosting to `decision_function`, of other classifiers to `predict_proba`, of
        regressors to `predict` (with the losses "poisson" and "gamma" to its logarithm,
        and of several quantiles before they are put in order). What a pair of
        categories adds goes to both of them, in halves.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features + 1), or \
                (n_samples, n_features + 1, n_outputs)
            With one entry for each class or target, unless there is a single score.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from dics import CGBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = CGBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
        >>> added = model.predict_contributions(X)
        >>> added.shape
        (442, 11)
        >>> bool(abs(added.sum(axis=1) - model.predict(X)).max() < 1e-3)
        True
        """
        X = self._check_rows(X)
        added = self._contributions(X)
        if self._n_pairs > 0:
            whole = added[:, -1:]
            added = self._by_feature(added[:, :-1], axis=1)
            added = np.concatenate([added, whole], axis=1)
        return added[:, :, 0] if added.shape[2] == 1 else added

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        """Return them for a checked X, [row][feature and none][output]."""
        added = self.trees_.contributions(X, n_threads=self._n_threads())
        return added / len(self.trees_)

    # --- models that travel -------------------------------------------------

    def save(self, path: Any) -> None:
        """Write the model to a file that `dics.load` reads.

        The file holds numbers and text, no code: loading an untrusted file is safe.
        Files of this version can be read by all later ones. See docs/model_file.md.

        Parameters
        ----------
        path : str, path-like or binary file
            By convention ends with ".dics". A file of that name is replaced when the
            new one is complete.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import dics
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = dics.CGTreeClassifier(max_depth=3, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "iris.dics"
        ...     tree.save(path)
        ...     bool((dics.load(path).predict(X) == tree.predict(X)).all())
        True
        """
        from dics._model.file import write_model

        write_model(self, path)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_dics_version": VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.pop("_dics_version", None)
        if version != VERSION:
            warnings.warn(
                f"This {type(self).__name__} was pickled by dics "
                f"{version or '(unknown)'} and is read by {VERSION}. Files of `save` "
                "are made to last; pickles may not be.",
                stacklevel=2,
            )
        super().__setstate__(state)
        self._check_model()

    def _check_model(self) -> None:
        """Raise if an untrusted model contradicts itself."""
        if "trees_" not in vars(self):
            return
        n_features: Any = vars(self).get("n_features_in_")
        require(isinstance(self.trees_, Trees), "trees_ are no trees")
        if self._categories is not None:
            require(isinstance(self._categories, Categories), "categories are odd")
        require(
            isinstance(n_features, int | np.integer)
            and n_features + self._n_pairs == self.trees_.n_features,
            f"n_features_in_ is {n_features}, the trees have {self.trees_.n_features}",
        )
        names = vars(self).get("feature_names_in_")
        require(
            names is None
            or (isinstance(names, np.ndarray) and len(names) == n_features),
            "feature_names_in_ has another length",
        )
        if self._categories is not None:
            self._categories.check(int(n_features))
        require(
            isinstance(self._options, self._options_class)
            and isinstance(self._categorical, CategoricalOptions),
            "options are of another class",
        )
        source: Any = vars(self).get("candidates_")
        require(isinstance(source, BaseCandidates), "candidates_ are no candidates")
        source._check_dictionary(self.trees_.n_features)
        self._check_outputs()

    @abstractmethod
    def _check_outputs(self) -> None:
        """Check the targets of an untrusted model."""

    # --- what needs no target -----------------------------------------------

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees)
            Node indices, numbered from each root breadth first.
        """
        X = self._check_rows(X)
        return self.trees_.apply(X, self._n_threads())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self.categorical_features is not None
        tags.input_tags.sparse = True
        return tags


class ImpurityTreesEstimator(TreesEstimator):
    """Base of trees and forests, whose splits reduce an impurity."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreesEstimator._parameter_constraints,
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    }
    _unsupported = frozenset({"categorical.l2", "categorical.pairs"})
    _min_category_samples = 20

    @explain_unknown_arguments
    @checks_parameters()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree, or the trees of the forest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. float32, float64 and uint8 arrays in any memory order are
            read in place; other numbers are converted. NaN is a value of its own:
            each split learns the side it takes. Infinities are ordinary values. What a
            sparse X doesn't store is zero; it gets no dense copy and may hold no NaN.
        y : array-like of shape (n_samples,)
            Class labels, of any type. Of a regressor: numbers; several for each row, of
            shape (n_samples, n_outputs), make a tree whose leaves predict them all.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight zero are left out.

        Returns
        -------
        self : object
        """
        with fit_on_copy(self) as model:
            model._fit(X, y, sample_weight)
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit after the parameters were checked."""

    @abstractmethod
    def _min_weight_fraction(self) -> float:
        """Return the fraction of the weight that each side of a split must have."""

    def _criterion(self) -> str:
        """Return the criterion by the name that it has in a model."""
        return SAME_CRITERION.get(self.criterion) or str(self.criterion)

    def _core_criterion(self) -> _core.Criterion:
        criterion: _core.Criterion = getattr(_core.Criterion, self._criterion())
        return criterion

    def _category_settings(self) -> _core.CategorySettings:
        """Return how nodes are split by sets of categories."""
        return make_settings(
            _core.CategorySettings,
            categorical=self._ranked_features(),
            smooth=self._categorical.smooth,
            charge=SET_CHARGE,
            set_limits=self._set_limits(),
        )

    def _grow_settings(
        self, data: TrainingData, *, reuse_splits: bool = True, **fields: Any
    ) -> _core.GrowSettings:
        """Return how the core is to grow a tree; `fields` are set in addition."""
        n_rows = len(data.X)
        # Candidates that are drawn are thresholds of the dictionary, no sets.
        if reuse_splits and not fields.get("max_candidates"):
            fields["categories"] = self._category_settings()
        limits = make_settings(
            _core.NodeLimits,
            max_depth=min(self.max_depth or NO_LIMIT, NO_LIMIT),
            min_samples_split=max(2, as_row_count(self.min_samples_split, n_rows)),
            min_samples_leaf=as_row_count(self.min_samples_leaf, n_rows),
            max_leaf_nodes=as_leaf_limit(self.max_leaf_nodes, n_rows),
            reuse_splits=reuse_splits,
        )
        return make_settings(
            _core.GrowSettings,
            criterion=self._core_criterion(),
            n_classes=data.n_classes,
            limits=limits,
            min_weight_fraction_leaf=self._min_weight_fraction(),
            min_impurity_decrease=self.min_impurity_decrease,
            seed=data.seed,
            **fields,
        )


def rows_for_core(
    data: TrainingData, dictionary: Dictionary, *, are_drawn: bool = False
) -> dict[str, Any]:
    """Return what the core needs of the rows to grow trees, besides their codes.

    Where rows are drawn for each tree, weights are chances and not counts.
    """
    counts = split_counts(None if are_drawn else data.weights)
    target = {"labels": data.labels} if data.values is None else {"y": data.values}
    return {
        "values": dictionary.values,
        "offsets": dictionary.offsets,
        **target,
        "counts": counts.narrow,
        "wide_counts": counts.wide,
        "weights": data.weights,
        "n_threads": data.n_threads,
    }


def as_feature_count(max_features: Any, n_features: int) -> int:
    """Resolve a number of features: a count, a share, a rule by name or None (all)."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, math.isqrt(n_features))
    if max_features == "log2":
        return max(1, int(math.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(n_features, int(max_features))
    return max(1, int(max_features * n_features))


def as_leaf_limit(max_leaf_nodes: int | None, n_rows: int) -> int:
    """Resolve a number of leaves; no tree has more than rows."""
    if max_leaf_nodes is None or max_leaf_nodes >= n_rows:
        return NO_LIMIT
    return int(max_leaf_nodes)


def as_row_count(limit: Any, n_rows: int) -> int:
    """Resolve a number of rows that may be given as a share."""
    rows = int(limit) if isinstance(limit, Integral) else math.ceil(limit * n_rows)
    return min(rows, n_rows + 1)
