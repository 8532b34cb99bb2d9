"""Base classes of all estimators: checked input, predictions, model files."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.base import ClassifierMixin as SklearnClassifierMixin
from sklearn.base import RegressorMixin as SklearnRegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_is_fitted,
)

from dics import _core
from dics._estimator.arguments import (
    NO_LIMIT,
    check_parameters,
    checks_parameters,
    effective_n_threads,
    explain_attribute,
    explain_loss,
    explain_unknown_arguments,
    warn_without_effect,
)
from dics._estimator.doc_link import DocLink
from dics._growing.constraints import (
    MONOTONIC,
    check_constraints,
    monotonic_directions,
)
from dics._input.categories import MAX_RANKS, Categories
from dics._input.category_encoder import TargetEncoder
from dics._input.checks import (
    Array,
    ClassTargets,
    FloatArray,
    RegressionTargets,
    check_class_labels,
    check_matrix,
    check_regression_target,
    check_rows,
    check_weights,
    combine_weights,
    fit_on_copy,
    make_seed,
)
from dics._input.frames import (
    CategoricalInput,
    as_table,
    check_kind,
    columns_of_few_values,
)
from dics._input.sparse import SparseRows
from dics._model.checks import require
from dics._model.trees import Trees
from dics._training import LocalRows, TrainingData, TrainingRows
from dics._version import VERSION
from dics.candidates import BaseCandidates, CentroidCandidates
from dics.options import GOSS, CategoricalOptions, Options

# Objects that `set_params` creates before it sets one of their parameters.
DEFAULT_OBJECTS: dict[str, Callable[[], Any]] = {
    "candidates": CentroidCandidates,
    "categorical": CategoricalOptions,
    "sampling": GOSS,
}


class CheckedInput(NamedTuple):
    """The checked arguments of `fit`; categories are not yet numbers."""

    rows: TrainingRows
    targets: Any  # ClassTargets or RegressionTargets
    weights: FloatArray | None


class TreesEstimator(DocLink, BaseEstimator, ABC):
    """Base class of all estimators that hold trees.

    A mixin that comes before this class checks and stores the targets:
    `ClassifierMixin` or `RegressorMixin`.
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

    n_features_in_: int
    feature_names_in_: Array
    # Class of `advanced`, and options that the estimator does not support.
    _options_class: ClassVar[type[Options]]
    _unsupported: ClassVar[frozenset[str]] = frozenset()
    # Default of `min_samples` of categories.
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
            Parameters by name. ``candidates__n_pairs`` sets a parameter of
            `candidates`. If `candidates` is None, the default object replaces it first.
            The same holds for `categorical` and `advanced`.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            If a name is unknown. The message has the name to use instead, if there is
            one.
        """
        check_parameters(type(self), params)
        # None stands for default options, but has no parameters to set.
        makers = DEFAULT_OBJECTS | {"advanced": self._options_class}
        for name in list(params):
            outer, _, inner = name.partition("__")
            present = params.get(outer, getattr(self, outer, None))
            if inner and outer in makers and not hasattr(present, "set_params"):
                params[outer] = makers[outer]()
        super().set_params(**params)
        return self

    if not TYPE_CHECKING:  # it would hide wrong names from type checkers

        def __getattr__(self, name: str) -> Any:
            """Raise an error that names the attribute to use instead."""
            explain_attribute(type(self), name)
            # Raises again, also the own errors of properties.
            return object.__getattribute__(self, name)

    def _validate_params(self) -> None:
        explain_loss(self)
        super()._validate_params()
        # get_params inspects the signature, which takes a tenth of a small fit.
        for name, value in vars(self).items():
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

    # --- fit --------------------------------------------------------------------

    @explain_unknown_arguments
    @checks_parameters()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree, or the trees of the forest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. float32, float64 and uint8 arrays in any memory order are
            read without a copy; other types are converted. Missing values (NaN) are
            supported: every split learns which side they go to. Infinities are ordinary
            values. A sparse X is not converted to a dense one, and may not store NaN.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels of any type, or targets of regression. With several targets,
            each leaf predicts all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight zero are ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument or a parameter is not valid, or if parameters contradict each
            other.
        """
        with fit_on_copy(self) as model:
            model._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit after the parameters were checked."""
        raise NotImplementedError  # each family has its own steps

    def _check_input(
        self, X: Any, y: Any, sample_weight: Any, *, is_warm_start: bool = False
    ) -> CheckedInput:
        """Check the arguments of `fit`; a warm start adds to an earlier fit."""
        rows = self._read_rows(X, is_warm_start=is_warm_start)
        # Before categories are encoded, which takes longer than these checks.
        interaction_cst = getattr(self, "interaction_cst", None)
        if self.monotonic_cst is not None or interaction_cst is not None:
            check_constraints(self)
        targets = self._check_targets(y, len(rows), is_warm_start=is_warm_start)
        weights = self._check_weights(sample_weight, targets)
        return CheckedInput(rows, targets, weights)

    def _read_rows(self, X: Any, *, is_warm_start: bool) -> TrainingRows:
        """Read the categorical features of X, and check the numeric ones."""
        if is_warm_start:
            read = read_known_categories(self, X)
        else:
            self.__dict__.pop("_categories", None)  # of an earlier fit
            read = CategoricalInput.for_fit(X, self.categorical_features)
        return LocalRows(check_rows(self, read.X, reset=not is_warm_start), read)

    @abstractmethod
    def _check_targets(self, y: Any, n_rows: int, *, is_warm_start: bool) -> Any:
        """Check y; a warm start adds to an earlier fit."""

    @abstractmethod
    def _check_weights(self, sample_weight: Any, targets: Any) -> FloatArray | None:
        """Check the weights of the rows, and multiply them by those of the classes."""

    def _training_data(
        self,
        checked: CheckedInput,
        *,
        is_warm_start: bool = False,
        takes_pairs: bool = False,
        n_outputs: int | None = None,
    ) -> TrainingData:
        """Replace categories by numbers, and return the data of all stages.

        Parameters
        ----------
        checked : CheckedInput
        is_warm_start : bool, default=False
        takes_pairs : bool, default=False
            Whether pairs of categories may become columns.
        n_outputs : int, default=None
            Number of scores of each row, if it is not the number of targets.
        """
        rows, targets, weights = checked
        seed = self._seed if is_warm_start else make_seed(self.random_state)
        if rows.columns:
            encoder = TargetEncoder(targets, weights, self._categorical.smooth, seed)
            # The trees of the first fit contain its encoded values.
            if not is_warm_start:
                self._categories = encoder.fit(
                    rows.columns, pairs=takes_pairs, keeps_means=rows.keeps_means
                )
            assert self._categories is not None
            rows = rows.with_categories(self._categories, encoder)
        elif self.categorical is not None:
            names = [f"categorical.{name}" for name in vars(self.categorical)]
            reason = "X has no categorical features; see categorical_features"
            warn_without_effect(self, names, reason)
        n_threads = effective_n_threads(self.n_jobs)
        data = TrainingData.of(rows, targets, weights, seed, n_threads)
        if self.monotonic_cst is None:
            return data
        if n_outputs is None:
            n_outputs = 1 if data.values is None else data.values.shape[1]
        return data._replace(monotonic=monotonic_directions(self, data, n_outputs))

    # --- input of predictions -------------------------------------------------

    def _check_matrix(self, X: Any) -> Array | SparseRows:
        """Check X by the columns of the fit, and replace categories by numbers."""
        if self._categories is None:
            return check_rows(self, X, reset=False)
        names = getattr(self, "feature_names_in_", None)
        # Dictionaries are fast, but return None for values that need the checks below.
        few = columns_of_few_values(X, names, self.n_features_in_)
        encoded = None if few is None else self._categories.encode_few(few)
        if encoded is not None:
            return encoded
        read = read_known_categories(self, X)
        # Indices of categories make all columns numeric for the check.
        checked = check_matrix(self, read.X, reset=False)
        return self._categories.encode(read, checked)

    def _check_rows(self, X: Any) -> Array | SparseRows:
        """Check X for predictions of the fitted model."""
        check_is_fitted(self, "trees_")
        return self._check_matrix(X)

    # --- attributes and predictions that need no target -------------------------

    def _category_settings(self) -> _core.CategorySettings:
        """Return for the core how nodes split categorical features."""
        options, ranked = self._categorical, {}
        if self._categories is not None:
            ranked = self._categories.rank_counts()
        n_columns = self.n_features_in_ + self._n_pairs
        min_samples = options.min_samples
        if min_samples == "auto":
            min_samples = self._min_category_samples
        return _core.CategorySettings(
            categorical=[int(f in ranked) for f in range(n_columns)] if ranked else [],
            smooth=options.smooth,
            set_limits=_core.SetLimits(
                min_rows=min(min_samples, NO_LIMIT),
                max_codes=min(options.max_categories or MAX_RANKS, MAX_RANKS),
            ),
        )

    @property
    def _n_pairs(self) -> int:
        """Number of columns of category pairs, appended after the features."""
        return 0 if self._categories is None else len(self._categories.pairs)

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
        """Categories of each feature, None for a numeric one; None if all are."""
        check_is_fitted(self, "trees_")
        if self._categories is None:
            return None
        known = [self._categories.find(f) for f in range(self.n_features_in_)]
        return [None if column is None else column.categories for column in known]

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees)
            Indices of nodes, counted from each root breadth first.
        """
        X = self._check_rows(X)
        return self.trees_.apply(X, effective_n_threads(self.n_jobs))

    def predict_contributions(self, X: Any) -> FloatArray:
        """Compute the SHAP values of each feature for each row (TreeSHAP).

        The values are exact Shapley values. For features outside the coalition, rows
        follow both branches in proportion to the training rows, as in LightGBM's
        ``pred_contrib`` and shap's ``feature_perturbation="tree_path_dependent"``.

        The contributions and the expected value (last entry) sum to the prediction:
        `decision_function` of boosting classifiers, `predict_proba` of other
        classifiers, `predict` of regressors. With the losses "poisson", "gamma" and
        "tweedie" they sum to its logarithm, and with several quantiles to the unsorted
        predictions. An offset is not part of them. The contribution of a pair of
        categories is divided equally between both.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features + 1), or \
                (n_samples, n_features + 1, n_outputs)
            The last axis has one entry per class or target, unless there is one score.

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
        # Users see the features of X, not the columns of pairs.
        if self._categories is not None and self._categories.pairs:
            by_feature = self._categories.fold_back_pairs(added[:, :-1], axis=1)
            added = np.concatenate([by_feature, added[:, -1:]], axis=1)
        return added[:, :, 0] if added.shape[2] == 1 else added

    def _contributions(self, X: Array | SparseRows) -> FloatArray:
        """Return the contributions for a checked X, [row][feature or none][output]."""
        n_threads = effective_n_threads(self.n_jobs)
        return self.trees_.contributions(X, n_threads=n_threads) / len(self.trees_)

    # --- model files and pickles ----------------------------------------------

    def save(self, path: Any) -> None:
        """Write the model to a file that `dics.load` reads.

        The file stores numbers and text, and no code: loading an untrusted file is
        safe. All later versions can read files of this version. See
        docs/develop/model_file.md.

        Parameters
        ----------
        path : str, path-like or binary file
            The usual extension is ".dics". An existing file is replaced when the new
            one is complete.

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
        # A module-level import would be circular: files contain the estimators.
        from dics._model.file import write_model

        write_model(self, path)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_dics_version": VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.pop("_dics_version", None)
        if version != VERSION:  # attributes may have changed
            warnings.warn(
                f"This {type(self).__name__} was pickled by dics "
                f"{version or '(unknown)'} and is read by {VERSION}. Pickles are not "
                "guaranteed to work across versions; use model.save() for long-term "
                "storage.",
                stacklevel=2,
            )
        super().__setstate__(state)
        self._check_model()

    def _check_model(self) -> None:
        """Raise if a model from an untrusted file or pickle contradicts itself."""
        if "trees_" not in vars(self):
            return  # not fitted, so that there is nothing to contradict
        # By vars(), because a damaged pickle may lack any attribute.
        n_features: Any = vars(self).get("n_features_in_")
        require(isinstance(self.trees_, Trees), "trees_ must be a Trees object")
        if self._categories is not None:
            require(
                isinstance(self._categories, Categories),
                "_categories must be a Categories object",
            )
        require(
            isinstance(n_features, int | np.integer)
            and n_features + self._n_pairs == self.trees_.n_features,
            f"n_features_in_ is {n_features}, the trees have {self.trees_.n_features}",
        )
        names = vars(self).get("feature_names_in_")
        require(
            names is None
            or (isinstance(names, np.ndarray) and len(names) == n_features),
            "feature_names_in_ has the wrong length",
        )
        if self._categories is not None:
            self._categories.check(int(n_features))
        require(
            isinstance(self._options, self._options_class)
            and isinstance(self._categorical, CategoricalOptions),
            "options have the wrong class",
        )
        source: Any = vars(self).get("candidates_")
        require(
            isinstance(source, BaseCandidates),
            "candidates_ must be a BaseCandidates object",
        )
        source._check_dictionary(self.trees_.n_features)
        self._check_outputs()

    @abstractmethod
    def _check_outputs(self) -> None:
        """Check the targets of an untrusted model."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self.categorical_features is not None
        tags.input_tags.sparse = True
        return tags


def read_known_categories(model: TreesEstimator, X: Any) -> CategoricalInput:
    """Read the columns of X that held categories in the first fit."""
    check_kind(X)
    X = as_table(X)
    # np.ndim would convert a table of Arrow.
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if model._categories is None or len(shape) != 2:
        return CategoricalInput(X, [])
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    # Columns are read by their positions, so names and number must be those of fit.
    _check_feature_names(model, X, reset=False)
    _check_n_features(model, X, reset=False)
    return CategoricalInput(X, model._categories.features)


class ClassifierMixin(SklearnClassifierMixin, ABC):
    """Class labels as targets; a classifier has `_class_probabilities`."""

    classes_: Array
    n_classes_: int

    @abstractmethod
    def _class_probabilities(self, X: Any) -> FloatArray:
        """Return the probability of each class, [row][class]."""

    def _most_probable(self, X: Any) -> npt.NDArray[np.intp]:
        """Return the index of the most probable class of each row."""
        indices: npt.NDArray[np.intp] = self._class_probabilities(X).argmax(axis=1)
        return indices

    @explain_unknown_arguments
    def predict(self, X: Any) -> Array:
        """Predict the class of each row, the most probable one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        indices = self._most_probable(X)  # raises if the model is not fitted
        predicted: Array = self.classes_[indices]
        return predicted

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class.

        A tree returns the class fractions in the leaf of a row. A forest returns the
        mean vote of its trees.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities of the classes, in the order of `classes_`.
        """
        return self._class_probabilities(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Logarithms of the probabilities, -inf for a probability of zero.
        """
        with np.errstate(divide="ignore"):  # probabilities of trees can be 0
            logs: FloatArray = np.log(self.predict_proba(X))
            return logs

    @property
    def n_outputs_(self) -> int:
        """Number of targets: one."""
        check_is_fitted(self, "classes_")
        return 1

    def _check_targets(
        self, y: Any, n_rows: int, *, is_warm_start: bool
    ) -> ClassTargets:
        targets = check_class_labels(y, n_rows)
        if is_warm_start and not np.array_equal(targets.classes, self.classes_):
            raise ValueError(
                f"warm_start needs the classes of the first fit, {self.classes_}; "
                f"y has {targets.classes}."
            )
        return targets

    def _check_weights(
        self, sample_weight: Any, targets: ClassTargets
    ) -> FloatArray | None:
        weights = check_weights(sample_weight, len(targets.labels))
        return combine_weights(weights, self.class_weight, targets)

    def _keep_targets(self, data: TrainingData) -> None:
        """Set the attributes that describe y."""
        assert data.classes is not None
        self.classes_ = data.classes
        self.n_classes_ = len(data.classes)

    def _check_outputs(self) -> None:
        classes, n_classes = vars(self).get("classes_"), vars(self).get("n_classes_")
        require(
            isinstance(classes, np.ndarray)
            and classes.ndim == 1
            and 0 < len(classes) == n_classes,
            "n_classes_ must be the length of classes_",
        )
        check_leaf_width(self, self.n_classes_)


class RegressorMixin(SklearnRegressorMixin):
    """Continuous targets."""

    n_outputs_: int

    @explain_unknown_arguments
    def predict(self, X: Any) -> FloatArray:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, with one column per target if there are several.
        """
        X = self._check_rows(X)
        n_threads = effective_n_threads(self.n_jobs)
        return self._shaped(self.trees_.means(X, n_threads=n_threads))

    def _shaped(self, predicted: FloatArray) -> FloatArray:
        """Return the predictions of one target as a vector."""
        return predicted[:, 0] if self.n_outputs_ == 1 else predicted

    def _check_targets(
        self, y: Any, n_rows: int, *, is_warm_start: bool
    ) -> RegressionTargets:
        values = check_regression_target(y, n_rows, type(self).__name__)
        if is_warm_start and values.shape[1] != self.n_outputs_:
            raise ValueError(
                f"warm_start needs as many targets as the first fit, "
                f"{self.n_outputs_}; y has {values.shape[1]}."
            )
        self._check_target_values(values)
        return RegressionTargets(values)

    def _check_target_values(self, values: FloatArray) -> None:
        """Raise if the criterion does not support the targets."""
        # The search by ranks does not compare the predictions of the two sides.
        if self.monotonic_cst is not None and self.criterion == "absolute_error":
            raise ValueError(
                "monotonic_cst is not supported with criterion='absolute_error'; use "
                "'squared_error' or 'poisson'."
            )
        if self.criterion == "poisson" and not (
            (values >= 0).all() and (values.sum(axis=0) > 0).all()
        ):
            raise ValueError(
                "criterion='poisson' requires y >= 0 with at least one positive value; "
                f"min(y) is {values.min()}."
            )

    def _check_weights(
        self, sample_weight: Any, targets: RegressionTargets
    ) -> FloatArray | None:
        return check_weights(sample_weight, len(targets.values))

    def _keep_targets(self, data: TrainingData) -> None:
        """Set the attributes that describe y."""
        assert data.values is not None
        self.n_outputs_ = data.values.shape[1]

    def _check_outputs(self) -> None:
        n_outputs = vars(self).get("n_outputs_")
        require(
            isinstance(n_outputs, int) and n_outputs > 0,
            "n_outputs_ must be a positive integer",
        )
        check_leaf_width(self, self.n_outputs_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = getattr(self, "criterion", "") == "poisson"
        return tags


def check_leaf_width(model: Any, n_outputs: int) -> None:
    """Check the number of values in each leaf of an untrusted model."""
    loss = getattr(model, "_fitted_loss", None)
    if loss is not None:  # boosting has one score for two classes
        n_outputs = loss.n_outputs
    # Predictions add rows of this table to arrays with a column per output.
    n_values = model.trees_.leaf_values.shape[1]
    require(
        n_values == n_outputs,
        f"leaves have {n_values} values, but the model has {n_outputs} outputs",
    )
