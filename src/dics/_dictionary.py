"""The dictionary of thresholds: its sources' base class, and the codes of X."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._estimator.arguments import check_parameters, checks_parameters
from dics._estimator.running import effective_n_threads
from dics._growing.settings import make_settings
from dics._input.checks import (
    Array,
    ClassTargets,
    FloatArray,
    RegressionTargets,
    check_class_labels,
    check_regression_target,
    check_rows,
    check_weights,
    draw_seed,
    fit_on_copy,
    is_regression_target,
)
from dics._input.rows import RemoteRows
from dics._input.sparse import SparseRows
from dics._model.checks import check_dictionary, require

# uint8 codes: 254 thresholds make 255 codes, and NaN has one more.
MAX_THRESHOLDS: int = _core.MAX_THRESHOLDS
# Share of the values of a sparse X that are stored, below which codes are lists.
LISTED_SHARE = 1 / 32

Codes = npt.NDArray[np.uint8] | _core.CodeLists

N_GROUPS = 8
# Rows that the limits of the groups are found from.
SAMPLE_ROWS = 1 << 16
N_STEPS = 12


class Dictionary(NamedTuple):
    """Thresholds of feature f: ``values[offsets[f]:offsets[f + 1]]``, rising."""

    values: FloatArray
    offsets: npt.NDArray[np.int64]
    # Even cuts, too coarse for deep nodes: worth making anew there.
    renewable: bool = False


def make_dictionary(
    thresholds: Iterable[npt.ArrayLike], n_features: int, source: str
) -> Dictionary:
    """Check thresholds that `source` has placed, and sort them."""
    try:
        columns = list(thresholds)
    except TypeError as error:
        raise TypeError(
            f"{source} must return an array of thresholds for each feature, got "
            f"{type(thresholds).__name__}."
        ) from error
    if len(columns) != n_features:
        raise ValueError(
            f"{source} returned thresholds of {len(columns)} features; X has "
            f"{n_features}."
        )
    checked = [
        _check_thresholds(column, f"{source}, feature {f}")
        for f, column in enumerate(columns)
    ]
    offsets = np.cumsum([0, *map(len, checked)], dtype=np.int64)
    return Dictionary(np.concatenate(checked), offsets)


def _check_thresholds(column: npt.ArrayLike, where: str) -> FloatArray:
    """Return the thresholds of one feature, sorted and distinct."""
    try:
        given = np.asarray(column)
    except ValueError as error:  # of different lengths
        raise ValueError(f"{where}: thresholds are no vector: {error}") from error
    if given.ndim != 1:
        raise ValueError(
            f"{where}: thresholds must be a vector, got the shape {given.shape}."
        )
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{where}: thresholds must be numbers, got {given.dtype}.")
    with np.errstate(over="ignore"):
        values: FloatArray = np.unique(given.astype(np.float64))
    bad = values[~np.isfinite(values)]
    if len(bad):
        raise ValueError(f"{where}: thresholds contain {bad[0]}; they must be finite.")
    if len(values) > MAX_THRESHOLDS:
        raise ValueError(
            f"{where}: {len(values)} thresholds; at most {MAX_THRESHOLDS} are possible."
        )
    return values


def select(dictionary: Dictionary, order: npt.NDArray[np.int32]) -> Dictionary:
    """Return the thresholds of the given features, in their order."""
    sizes = np.diff(dictionary.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shift = np.repeat(dictionary.offsets[order] - offsets[:-1], sizes)
    values = dictionary.values[np.arange(offsets[-1]) + shift]
    return Dictionary(values, offsets)


def encode_or_list(
    X: Array | SparseRows,
    dictionary: Dictionary,
    width: int,
    n_threads: int,
    order: npt.NDArray[np.int32] | None = None,
    *,
    by_rows: bool = True,
) -> Codes:
    """Return the codes of a checked X, or lists of them if X is sparse enough.

    Lists have the codes that differ from that of zero, in the order of the features
    that `encode` has; either way the same trees grow from them. Boosting does without
    lists by row, which take as much memory again.
    """
    if isinstance(X, SparseRows):
        n_features = X.shape[1] if order is None else len(order)
        if len(X.values) < LISTED_SHARE * len(X) * n_features:
            return _core.code_lists(X, *dictionary[:2], order=order, by_rows=by_rows)
    return encode(X, dictionary, width, n_threads, order)


def encode(
    X: Array | SparseRows,
    dictionary: Dictionary,
    width: int,
    n_threads: int,
    order: npt.NDArray[np.int32] | None = None,
) -> npt.NDArray[np.uint8]:
    """Stage `encode`: codes of a checked X, in blocks of `width` features.

    With `order`, those of the given columns alone, in their order.
    """
    n_rows, n_features = len(X), X.shape[1] if order is None else len(order)
    size = n_rows * (-(-n_features // width) * width)
    # Aligned, so that the 64 codes of a row in a block are one cache line.
    space = np.empty(size + 64, dtype=np.uint8)
    first = -space.ctypes.data % 64
    codes = space[first : first + size]
    _core.encode(
        X,
        *dictionary[:2],
        order=order,
        width=width,
        codes=codes,
        n_threads=n_threads,
    )
    return codes


def group_targets(
    values: FloatArray, seed: int, n_threads: int, n_groups: int = N_GROUPS
) -> npt.NDArray[np.uint32]:
    """Give each row the number of its group: even parts of y, or clusters of several.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_outputs)
    seed : int
    n_threads : int
    n_groups : int
        Groups at most; values that many rows share make them fewer.

    Returns
    -------
    groups : ndarray of shape (n_samples,)
    """
    step = -(-len(values) // SAMPLE_ROWS)
    sample = values[::step]
    if values.shape[1] == 1:
        limits = np.quantile(sample[:, 0], np.arange(1, n_groups) / n_groups)
        inner = np.unique(limits)
        groups = np.searchsorted(inner, values[:, 0], side="left")
        return np.unique(groups, return_inverse=True)[1].astype(np.uint32)
    return _cluster_targets(values, sample, seed, n_threads, n_groups)


def _cluster_targets(
    values: FloatArray, sample: FloatArray, seed: int, n_threads: int, n_groups: int
) -> npt.NDArray[np.uint32]:
    spread = sample.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    settings = make_settings(
        _core.ClusterSettings,
        n_clusters=min(n_groups, len(sample)),
        n_classes=0,
        batch_size=min(512, len(sample)),
        n_steps=N_STEPS,
        moment_rows=min(2048, len(sample)),
        measure_rows=min(4096, len(sample)),
        standardize=False,
        seed=seed,
    )
    scaled = np.ascontiguousarray((values - sample.mean(axis=0)) / scale)
    found = _core.cluster(
        np.ascontiguousarray(scaled[:: -(-len(values) // SAMPLE_ROWS)]),
        numbers=None,
        n_rows=len(sample),
        weights=None,
        labels=None,
        settings=settings,
        n_threads=n_threads,
    )
    means = found["clusters"][0]
    distances = -2 * scaled @ means.T + np.einsum("kd,kd->k", means, means)
    return np.unique(distances.argmin(axis=1), return_inverse=True)[1].astype(np.uint32)


class BaseCandidates(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of all sources of thresholds, and of your own.

    A source is a class with a method `find_thresholds`, which returns the thresholds of
    every feature. The `candidates` of every estimator takes it. Its parameters are
    those of its ``__init__``, as for any scikit-learn estimator, so that
    ``candidates__name`` works in a grid search. If it has a parameter `random_state`
    that is not None, the `rng` of `find_thresholds` comes from there, otherwise from
    the estimator.

    A sparse X is refused, unless the class sets ``accepts_sparse = True``:
    `find_thresholds` then gets a ``csr_array`` of scipy.

    Within one tree, deep nodes may get new thresholds (see `renew_thresholds` of
    `TreeOptions`). These are even cuts of the rows of the node and never come from
    the source, because the subtree is grown inside the core, by several threads, where
    Python cannot be called. "auto" does not renew the thresholds of your own source.

    Attributes
    ----------
    thresholds_ : list of n_features arrays, float64
        Sorted and distinct.
    n_thresholds_ : ndarray of shape (n_features,)

    Examples
    --------
    Thresholds at the values of random rows, as extremely randomised trees have them:

    >>> from sklearn.datasets import load_iris
    >>> from dics import BaseCandidates, CGTreeClassifier
    >>> class RandomCandidates(BaseCandidates):
    ...     def __init__(self, n_rows=10):
    ...         self.n_rows = n_rows
    ...
    ...     def find_thresholds(self, X, y, sample_weight, rng):
    ...         return X[rng.choice(len(X), self.n_rows)].T
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CGTreeClassifier(candidates=RandomCandidates(20), random_state=0)
    >>> bool(tree.fit(X, y).score(X, y) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    # Whether `find_thresholds` takes a sparse X, as a ``csr_array`` of scipy.
    accepts_sparse: ClassVar[bool] = False

    # For sources that have no such parameters.
    random_state: Any = None
    n_jobs: int | None = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the source.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self : object
        """
        check_parameters(type(self), params)
        super().set_params(**params)
        return self

    def find_thresholds(
        self,
        X: Any,
        y: Array | None,
        sample_weight: FloatArray | None,
        rng: np.random.Generator,
    ) -> Iterable[npt.ArrayLike]:
        """Return the thresholds of every feature: the method to write.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training rows: float32, float64 or uint8, in any memory order and with NaN
            where values are missing. They may be the user's own and are read-only. Rows
            of weight zero, such as those held out for validation, are not among them.
        y : ndarray of shape (n_samples,) or None
            Number of the class of each row, 0, 1, ... in the order of `classes_`. Of a
            regressor: the targets, of shape (n_samples, n_outputs) if there are
            several. None if `fit` of the source itself got no y.
        sample_weight : ndarray of shape (n_samples,) or None
            Weights of the rows, or None if there are none.
        rng : numpy.random.Generator
            Source of random numbers. Without others, the same seed gives the same
            model.

        Returns
        -------
        thresholds : iterable of n_features arrays
            At most 254 distinct finite numbers for each feature, in any order; they are
            kept as float64, sorted. A split sends ``x < threshold`` to the left. No
            thresholds at all make a feature that is not split.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `find_thresholds`."
        )

    def _make_dictionary(self, data: TrainingData) -> Dictionary:
        """Make the dictionary; our own sources have a faster way."""
        return self._call_find_thresholds(data)

    def _call_find_thresholds(self, data: TrainingData) -> Dictionary:
        """Make the dictionary by `find_thresholds`, with what it is promised."""
        X, weights = data.X, data.weights
        if isinstance(X, RemoteRows):  # a source is promised all rows
            X = X.take(np.arange(len(X)))
        if isinstance(X, SparseRows) and not self._takes_sparse():
            name = type(self).__name__
            raise ValueError(
                f"X is sparse, but {name}.find_thresholds takes a dense X; pass "
                f"X.toarray(), or set accepts_sparse = True in {name} if it takes a "
                "csr_array of scipy."
            )
        y: Array | None = None
        if data.values is not None:
            y = data.values[:, 0] if data.values.shape[1] == 1 else data.values
        elif data.labels is not None:
            y = data.labels.astype(np.intp)
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            X, weights = X[rows], weights[rows]
            y = None if y is None else y[rows]
        elif y is not None:
            y = y.copy()
        if isinstance(X, SparseRows):
            X = X.to_scipy()
        else:
            X = X.view()
            X.flags.writeable = False
        weights = None if weights is None else weights.copy()
        rng = np.random.default_rng(data.seed)
        thresholds = self.find_thresholds(X, y, weights, rng)
        name = f"{type(self).__name__}.find_thresholds"
        return make_dictionary(thresholds, X.shape[1], name)

    @checks_parameters(skips_nested=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the thresholds of every feature.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            float32, float64 and uint8 are read in place. NaN is allowed.
        y : array-like of shape (n_samples,), default=None
            Class labels, or numbers to predict, for sources that look at them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        with fit_on_copy(self) as source:
            X = check_rows(source, X, reset=True)
            weights = check_weights(sample_weight, len(X))
            targets = self._check_labels(y, len(X))
            source._learn(
                TrainingData.of(
                    X,
                    targets,
                    weights,
                    draw_seed(self.random_state),
                    effective_n_threads(self.n_jobs),
                )
            )
        return self

    def _check_labels(
        self, y: Any, n_rows: int
    ) -> ClassTargets | RegressionTargets | None:
        if y is None or not (self._needs_labels() or self._uses_labels()):
            return check_class_labels(y, n_rows) if self._needs_labels() else None
        if is_regression_target(y):
            return RegressionTargets(
                check_regression_target(y, n_rows, type(self).__name__)
            )
        if self._needs_labels():
            return check_class_labels(y, n_rows)
        kind = type_of_target(y, input_name="y")
        return (
            check_class_labels(y, n_rows) if kind in ("binary", "multiclass") else None
        )

    def _needs_labels(self) -> bool:
        return False

    def _uses_labels(self) -> bool:
        return True

    def _takes_sparse(self) -> bool:
        return self.accepts_sparse or not self._is_users_own()

    def _is_users_own(self) -> bool:
        """Return True if a user wrote `find_thresholds`, also in a subclass."""
        return type(self).find_thresholds is not BaseCandidates.find_thresholds

    def _learn(self, data: TrainingData) -> None:
        """Fit from checked arrays, as the tree estimators do."""
        own = self._is_users_own()
        find = self._call_find_thresholds if own else self._make_dictionary
        self._dictionary = find(data)
        self.n_features_in_ = data.X.shape[1]
        self.n_thresholds_ = np.diff(self._dictionary.offsets)

    def _part_ranks(self, n_ranks: dict[int, int]) -> None:
        """Place a threshold between any two ranks of the categories of features."""
        parts = np.split(self._dictionary.values, self._dictionary.offsets[1:-1])
        for f, n in n_ranks.items():
            parts[f] = np.arange(1, n, dtype=np.float64) - 0.5
        offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        self._dictionary = self._dictionary._replace(
            values=np.concatenate(parts), offsets=offsets
        )
        self.n_thresholds_ = np.diff(offsets)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_dictionary" in vars(self):
            self._check_dictionary(vars(self).get("n_features_in_"))

    def _check_dictionary(self, n_features: Any) -> None:
        """Check thresholds of an untrusted model: the core will trust them."""
        dictionary: Any = vars(self).get("_dictionary")
        require(isinstance(dictionary, Dictionary), "candidates have no thresholds")
        check_dictionary(dictionary.values, dictionary.offsets, MAX_THRESHOLDS)
        require(
            isinstance(n_features, int | np.integer)
            and len(dictionary.offsets) == n_features + 1,
            "thresholds are of another number of features",
        )

    @property
    def thresholds_(self) -> list[FloatArray]:
        """Thresholds of each feature, sorted and distinct."""
        check_is_fitted(self, "n_thresholds_")
        return np.split(self._dictionary.values, self._dictionary.offsets[1:-1])

    def transform(self, X: Any) -> npt.NDArray[np.uint8]:
        """Replace each value by the number of thresholds that aren't above it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_features), uint8, Fortran order
            ``codes[i, f] <= t`` exactly where ``X[i, f] < thresholds_[f][t]``. NaN has
            the code ``n_thresholds_[f] + 1``.
        """
        check_is_fitted(self, "n_thresholds_")
        X = check_rows(self, X, reset=False)
        codes = encode(X, self._dictionary, 1, effective_n_threads(self.n_jobs))
        return codes.reshape(X.shape[1], X.shape[0]).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._takes_sparse()
        tags.target_tags.required = self._needs_labels()
        tags.transformer_tags.preserves_dtype = []
        return tags


class TrainingData(NamedTuple):
    """What `fit` was given, checked: the input of every stage.

    A continuous y are `values`; its `labels` are then groups of like targets.
    """

    X: Array | SparseRows
    labels: npt.NDArray[np.uint32] | None
    n_classes: int
    weights: FloatArray | None
    seed: int
    n_threads: int
    classes: Array | None = None  # the labels that y has, sorted
    values: FloatArray | None = None  # [row][output]

    @classmethod
    def of(
        cls,
        X: Array | SparseRows,
        targets: ClassTargets | RegressionTargets | None,
        weights: FloatArray | None,
        seed: int,
        n_threads: int,
    ) -> TrainingData:
        """Put together what was checked one by one."""
        if targets is None:
            return cls(X, None, 0, weights, seed, n_threads)
        if isinstance(targets, ClassTargets):
            classes, labels = targets
            n_classes = len(classes)
            return cls(X, labels, n_classes, weights, seed, n_threads, classes)
        values = targets.values
        groups = group_targets(values, seed, n_threads)
        n_groups = int(groups.max()) + 1
        return cls(X, groups, n_groups, weights, seed, n_threads, None, values)
