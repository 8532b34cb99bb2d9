"""Stage `candidates`: sources of candidate thresholds (Algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._dictionary import (
    MAX_CLASS_MEANS,
    MAX_THRESHOLDS,
    MIN_QUANTILES,
    Dictionary,
    all_pairs,
    auto_budget,
    boundaries,
    drop_useless,
    encode,
    fill_rows,
    filled_dictionary,
    flatten,
    has_rare_features,
    make_dictionary,
    quantile_dictionary,
    relabel_frequent,
    round_to_single,
    sample_for_filling,
    thin,
)
from dics._estimator.arguments import (
    check_parameters,
    checks_parameters,
    effective_n_threads,
    explain_unknown_arguments,
)
from dics._estimator.doc_link import DocLink
from dics._input.checks import (
    Array,
    ClassTargets,
    FloatArray,
    RegressionTargets,
    check_class_labels,
    check_regression_target,
    check_rows,
    check_weights,
    fit_on_copy,
    is_regression_target,
    make_seed,
)
from dics._input.sparse import SparseRows
from dics._model.checks import check_dictionary, require
from dics._training import (
    MEASURE_ROWS,
    MOMENT_ROWS,
    N_STEPS,
    LocalRows,
    SampledRows,
    TrainingData,
)

__all__ = ["BaseCandidates", "CentroidCandidates", "QuantileCandidates"]
# From 5 to 32 clusters, the accuracy at depth 8 (MNIST, Fashion-MNIST, CIFAR-10; 8 to
# 20 seeds each) differed no more than between seeds. Class means matter more (MNIST
# 0.8182 without, 0.8233 with them; 2026-11).
AUTO_CLUSTERS = 8
# Without quantiles, the boundaries need more rows: the dictionary of the paper keeps
# 97.3 % of the exhaustive gain at depth 8 (CIFAR-10, mean of 8 seeds) instead of
# 97.0 %, for 35 ms more (2026-11).
ALONE_MEASURE_ROWS = 16_384
# Values of `max_bins`, one more than thresholds.
MAX_BINS = [Interval(Integral, 2, MAX_THRESHOLDS + 1, closed="both")]


class BaseCandidates(DocLink, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base class of all sources of thresholds, built-in and custom.

    A source is a class with a method `find_thresholds`, which returns the thresholds of
    every feature. The parameter `candidates` of every estimator accepts it. Its
    parameters are those of its ``__init__``, as for any scikit-learn estimator, so
    ``candidates__name`` works in a grid search. If it has a parameter `random_state`
    that is not None, this is the seed of the `rng` of `find_thresholds`. Otherwise the
    estimator gives the seed.

    A sparse X raises an error, unless the class sets ``accepts_sparse = True``. Then
    `find_thresholds` gets a ``csr_array`` of scipy.

    Within one tree, deep nodes may get new thresholds (see `renew_thresholds` of
    `TreeOptions`). These are quantiles of the rows of the node. They never come from
    the source, because several threads grow the subtree in the core, where Python
    cannot be called. "auto" does not renew the thresholds of a custom source.

    Attributes
    ----------
    thresholds_ : list of ndarray of float64
        Thresholds of each feature, sorted and distinct.
    n_thresholds_ : ndarray of shape (n_features,)
        Number of thresholds of each feature.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. Defined only if all of them are strings.

    See Also
    --------
    CentroidCandidates : Thresholds between centroids, the default.
    QuantileCandidates : Thresholds at quantiles.

    Examples
    --------
    Thresholds at the values of random rows, as in extremely randomized trees:

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

    # Whether `find_thresholds` accepts a sparse X, as a ``csr_array`` of scipy.
    accepts_sparse: ClassVar[bool] = False

    # Defaults for sources without these parameters.
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
            The source.

        Raises
        ------
        ValueError
            If a name is unknown. The message has the name to use instead, if there is
            one.
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
        """Return the thresholds of every feature; subclasses implement it.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training rows: float32, float64 or uint8, in any memory order, with NaN for
            missing values. The array is read-only and may be the X of the user. Rows of
            weight zero, such as those held out for validation, are left out.
        y : ndarray of shape (n_samples,) or None
            Class indices in the order of `classes_`, or the targets of regression, of
            shape (n_samples, n_outputs) if there are several. None if `fit` of the
            source got no y.
        sample_weight : ndarray of shape (n_samples,) or None
            Weights of the rows, or None if there are none.
        rng : numpy.random.Generator
            The only source of random numbers, so that the same seed gives the same
            model.

        Returns
        -------
        thresholds : iterable of n_features arrays
            At most 254 distinct finite numbers for each feature, in any order. They are
            stored as float64, sorted. A split sends ``x < threshold`` to the left.
            Features without thresholds are never split.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `find_thresholds`."
        )

    def _make_dictionary(self, data: TrainingData) -> Dictionary:
        """Make the dictionary by `find_thresholds`, with read-only arguments.

        Built-in sources override it.
        """
        X, weights = data.rows.take(), data.weights
        if isinstance(X, SparseRows) and not self.accepts_sparse:
            name = type(self).__name__
            raise ValueError(
                f"X is sparse, but {name}.find_thresholds needs a dense X; pass "
                f"X.toarray(), or set accepts_sparse = True in {name} if it accepts a "
                "csr_array of scipy."
            )
        y: Array | None = None
        if data.values is not None:
            y = data.values[:, 0] if data.values.shape[1] == 1 else data.values
        elif data.labels is not None:
            y = data.labels.astype(np.intp)
        # A custom source must not use validation rows, which have weight zero. Arrays
        # of the fit are copied, because the source might write to them.
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            X, weights = X[rows], weights[rows]
            y = None if y is None else y[rows]
        elif y is not None:
            y = y.copy()
        if isinstance(X, SparseRows):
            X = X.to_scipy()
        else:
            X = X.view()  # the flag of the user's array stays
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
            Training rows. float32, float64 and uint8 are read in place. NaN is allowed.
        y : array-like of shape (n_samples,), default=None
            Class labels or targets of regression, for sources that use them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight zero are ignored.

        Returns
        -------
        self : object
            The fitted source.
        """
        with fit_on_copy(self) as source:
            X = check_rows(source, X, reset=True)
            weights = check_weights(sample_weight, len(X))
            targets = self._check_labels(y, len(X))
            source._learn(
                TrainingData.of(
                    LocalRows(X),
                    targets,
                    weights,
                    make_seed(self.random_state),
                    effective_n_threads(self.n_jobs),
                )
            )
        return self

    def _check_labels(
        self, y: Any, n_rows: int
    ) -> ClassTargets | RegressionTargets | None:
        use = self._use_of_labels
        if use == "none" or (use == "optional" and y is None):
            return None
        if y is not None and is_regression_target(y):
            return RegressionTargets(
                check_regression_target(y, n_rows, type(self).__name__)
            )
        # If labels are optional, an unusable y is ignored.
        kinds = ("binary", "multiclass")
        if use == "optional" and type_of_target(y, input_name="y") not in kinds:
            return None
        return check_class_labels(y, n_rows)

    @property
    def _use_of_labels(self) -> str:
        """Whether y is "required", "optional" or not used ("none")."""
        return "optional"

    def _is_users_own(self) -> bool:
        """Return True if a user wrote `find_thresholds`, also in a subclass."""
        return type(self).find_thresholds is not BaseCandidates.find_thresholds

    def _learn(self, data: TrainingData) -> None:
        """Fit from checked training data."""
        # A subclass of a built-in source may replace only `find_thresholds`.
        source = BaseCandidates if self._is_users_own() else type(self)
        self._dictionary = source._make_dictionary(self, data)
        self.n_features_in_ = data.rows.n_features
        self.n_thresholds_ = np.diff(self._dictionary.offsets)

    def _add_rank_thresholds(self, n_ranks: dict[int, int]) -> None:
        """Place a threshold between any two ranks of categories."""
        columns = self._dictionary.by_feature()
        # Any two ranks can be separated: clusters and quantiles would merge some.
        for f, n in n_ranks.items():
            columns[f] = np.arange(1, n, dtype=np.float64) - 0.5
        renewable = self._dictionary.renewable
        self._dictionary = Dictionary.of(columns, renewable=renewable)
        self.n_thresholds_ = np.diff(self._dictionary.offsets)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_dictionary" in vars(self):
            self._check_dictionary(vars(self).get("n_features_in_"))

    def _check_dictionary(self, n_features: Any) -> None:
        """Check thresholds of an untrusted model, because the core does not."""
        dictionary: Any = vars(self).get("_dictionary")
        require(isinstance(dictionary, Dictionary), "candidates have no thresholds")
        check_dictionary(dictionary.values, dictionary.offsets, MAX_THRESHOLDS)
        require(
            isinstance(n_features, int | np.integer)
            and len(dictionary.offsets) == n_features + 1,
            "thresholds and X have different numbers of features",
        )

    @property
    def thresholds_(self) -> list[FloatArray]:
        """Thresholds of each feature, sorted and distinct."""
        check_is_fitted(self, "n_thresholds_")
        return self._dictionary.by_feature()

    def transform(self, X: Any) -> npt.NDArray[np.uint8]:
        """Replace each value by the index of its bin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        bins : ndarray of shape (n_samples, n_features)
            Indices as uint8, in Fortran order. ``bins[i, f] <= t`` if and only if
            ``X[i, f] < thresholds_[f][t]``. NaN has the index ``n_thresholds_[f] + 1``.
        """
        check_is_fitted(self, "n_thresholds_")
        X = check_rows(self, X, reset=False)
        # In blocks of one feature, which makes the transpose below free.
        codes = encode(X, self._dictionary, 1, effective_n_threads(self.n_jobs))
        return codes.reshape(X.shape[1], X.shape[0]).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.accepts_sparse or not self._is_users_own()
        tags.target_tags.required = self._use_of_labels == "required"
        tags.transformer_tags.preserves_dtype = []
        return tags


class CentroidCandidates(BaseCandidates):
    """Thresholds between the centroids of clusters (Algorithm 1 of the paper).

    Mini-batch K-means finds centroids. For the most distant pairs of centroids, every
    feature gets the boundary between the two. ``CentroidCandidates.paper()`` is the
    configuration of the paper. The defaults are more accurate: class means are
    centroids too, and features are standardized before clustering. The number of
    clusters does not depend on the classes. Quantiles fill the gaps between the
    boundaries.

    Parameters
    ----------
    n_clusters : "auto", "classes" or int, default="auto"
        Number of clusters. "auto" is 8. "classes" is the rule of the paper: the number
        of classes, at least 2. With more than 2048 mostly rare features, such as words,
        the defaults use no clusters: the thresholds are quantiles.
    n_pairs : "auto" or int, default="auto"
        Number of pairs of centroids (m in the paper), for clusters and for classes.
        "auto" is the rule of the paper: all pairs for up to five clusters, else 25.
    boundary : {"variance", "midpoint"}, default="variance"
        Position of the threshold between two centroids: nearer to the cluster with the
        smaller spread in that feature, or in the middle.
    centroid_source : {"auto", "kmeans", "class"}, default="auto"
        Centroids to use: of clusters ("kmeans", as in the paper), of the classes
        ("class": no clustering, needs y), or both ("auto"; without y only clusters).
    batch_size : int, default=512
        Number of rows in a mini-batch of K-means.
    standardize : bool, default=True
        Whether to divide each feature by its standard deviation before clustering.
        False lets features with large values dominate the distances.
    min_gap : float, default=0.05
        Thresholds of a feature that are closer than this many standard deviations count
        as one. Increase it for fewer boundaries.
    fill_quantiles : bool, default=True
        Whether to fill the gaps between the boundaries with quantiles of the feature. A
        feature with few distinct values gets all midpoints instead.
    max_bins : "auto" or int, default="auto"
        Maximum number of bins per feature, from 2 to 255, with `fill_quantiles`: one
        more than thresholds, of which at most half are boundaries. "auto" is 255 for
        up to 64 features and fewer for more features, with at least 16 quantiles.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampled rows, and of the start of K-means. With an int, repeated
        fits give the same thresholds.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The thresholds are the same
        for any number.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_centroids, n_features)
        Centroids of the clusters, then means of the classes.
    scales_ : ndarray of shape (n_centroids, n_features)
        Standard deviation of each feature within each cluster.
    pairs_ : ndarray of shape (n_pairs, 2)
        The pairs used, most distant first: pairs of clusters, then of class means.
    thresholds_ : list of ndarray of float64
        Thresholds of each feature, sorted and distinct.
    n_thresholds_ : ndarray of shape (n_features,)
        Number of thresholds of each feature.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. Defined only if all of them are strings.

    See Also
    --------
    QuantileCandidates : Thresholds at quantiles only.
    BaseCandidates : Base class of custom sources.

    Examples
    --------
    >>> import numpy as np
    >>> from dics import CentroidCandidates
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [10.0, 5.0], [11.0, 5.0]])
    >>> candidates = CentroidCandidates(n_clusters=2, fill_quantiles=False)
    >>> candidates = candidates.set_params(random_state=0).fit(X)
    >>> candidates.n_thresholds_
    array([1, 0])
    >>> candidates.transform(X)[:, 0]
    array([0, 0, 1, 1], dtype=uint8)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [
            StrOptions({"auto", "classes"}),
            Interval(Integral, 1, None, closed="left"),
        ],
        "n_pairs": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "boundary": [StrOptions({"variance", "midpoint"})],
        "centroid_source": [StrOptions({"auto", "kmeans", "class"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "min_gap": [Interval(Real, 0.0, None, closed="left")],
        "fill_quantiles": ["boolean"],
        "max_bins": [StrOptions({"auto"}), *MAX_BINS],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        n_clusters: int | str = "auto",
        n_pairs: int | str = "auto",
        boundary: str = "variance",
        centroid_source: str = "auto",
        batch_size: int = 512,
        standardize: bool = True,
        min_gap: float = 0.05,
        fill_quantiles: bool = True,
        max_bins: int | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_pairs = n_pairs
        self.boundary = boundary
        self.centroid_source = centroid_source
        self.batch_size = batch_size
        self.standardize = standardize
        self.min_gap = min_gap
        self.fill_quantiles = fill_quantiles
        self.max_bins = max_bins
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return the configuration of the paper: K clusters of raw features only.

        Parameters
        ----------
        **parameters : dict
            Parameters to change.

        Returns
        -------
        candidates : CentroidCandidates
            The source, not fitted.

        Examples
        --------
        >>> from dics import CentroidCandidates
        >>> CentroidCandidates.paper(random_state=0)
        CentroidCandidates(centroid_source='kmeans', fill_quantiles=False, min_gap=0.0,
                           n_clusters='classes', random_state=0, standardize=False)
        """
        setting = {
            "n_clusters": "classes",
            "centroid_source": "kmeans",
            "standardize": False,
            "min_gap": 0.0,
            "fill_quantiles": False,
        }
        return cls(**{**setting, **parameters})

    @property
    def _use_of_labels(self) -> str:
        if self.n_clusters == "classes" or self.centroid_source == "class":
            return "required"
        return "optional" if self.centroid_source == "auto" else "none"

    def _make_dictionary(self, data: TrainingData) -> Dictionary:
        n_features = data.rows.n_features
        choices = (self.n_clusters, self.centroid_source, self.n_pairs, self.max_bins)
        # Parameters that were set keep their meaning for any X.
        is_automatic = self.fill_quantiles and all(c == "auto" for c in choices)
        if is_automatic and has_rare_features(data):
            self.centroids_ = np.empty((0, n_features))
            self.scales_ = np.empty((0, n_features))
            self.pairs_ = np.empty((0, 2), dtype=np.intp)
            # Recomputing thresholds of this many features in nodes would be too slow.
            return quantile_dictionary(data, MAX_THRESHOLDS)._replace(renewable=False)
        is_auto = self.max_bins == "auto"
        budget = auto_budget(n_features) if is_auto else int(self.max_bins) - 1
        settings = self._cluster_settings(data)
        # By a function, because a local X of float32 is not sampled at all.
        rows = data.rows.sample(
            lambda: [
                np.asarray(
                    _core.rows_for_clusters(len(data.rows), data.weights, settings)
                ),
                sample_for_filling(data, fill_rows(n_features, budget)),
            ],
        )
        found = self._cluster(data, rows, settings)
        means, scales, distances = zip(
            found.pop("clusters"), found.pop("classes"), strict=True
        )
        self.centroids_ = np.concatenate(means)
        self.scales_ = np.concatenate(scales)
        del means, scales  # with wide data they may be as large as X
        self.pairs_ = all_pairs(list(distances), self.n_pairs)
        zeta = boundaries(self.centroids_, self.scales_, self.pairs_, self.boundary)
        zeta = round_to_single(zeta, found, rows.X.dtype)
        zeta = drop_useless(zeta, found, self.min_gap)
        if not self.fill_quantiles:
            return flatten(thin(zeta, MAX_THRESHOLDS))
        # Boundaries take up to half of the thresholds, and quantiles fill the gaps.
        if is_auto:
            return filled_dictionary(data, rows, thin(zeta, 128), budget, MIN_QUANTILES)
        return filled_dictionary(data, rows, thin(zeta, budget // 2), budget, 0)

    def _cluster_settings(self, data: TrainingData) -> _core.ClusterSettings:
        if self.n_clusters == "classes":
            n_clusters = max(2, data.n_classes)
        else:
            auto = self.n_clusters == "auto"
            n_clusters = AUTO_CLUSTERS if auto else int(self.n_clusters)
        n_rows = len(data.rows)
        # Each cluster and each class should have about 16 of these rows.
        measure_rows = MEASURE_ROWS if self.fill_quantiles else ALONE_MEASURE_ROWS
        n_classes, source = min(data.n_classes, MAX_CLASS_MEANS), self.centroid_source
        # 0 leaves out the clusters, or the class means.
        return _core.ClusterSettings(
            n_clusters=0 if source == "class" else min(n_clusters, n_rows),
            n_classes=0 if source == "kmeans" else n_classes,
            batch_size=min(self.batch_size, n_rows),
            n_steps=N_STEPS,
            moment_rows=MOMENT_ROWS,
            measure_rows=min(
                n_rows, max(measure_rows, 16 * max(n_clusters, data.n_classes))
            ),
            standardize=self.standardize,
            seed=data.seed,
        )

    def _cluster(
        self, data: TrainingData, rows: SampledRows, settings: _core.ClusterSettings
    ) -> dict[str, Any]:
        labels = data.labels
        # The core computes means of labels below `n_classes`, and ignores others.
        if labels is not None and data.n_classes > MAX_CLASS_MEANS:
            labels = relabel_frequent(labels, data.n_classes)
        return _core.cluster(
            **rows._asdict(),
            weights=data.weights,
            labels=labels,
            settings=settings,
            n_threads=data.n_threads,
        )


class QuantileCandidates(BaseCandidates):
    """Thresholds at quantiles of each feature, as in other histogram methods.

    A baseline for comparison: the difference from `CentroidCandidates` is the effect of
    the centroids.

    Parameters
    ----------
    max_bins : int, default=255
        Maximum number of bins per feature, from 2 to 255: one more than thresholds. A
        feature with no more distinct values gets all midpoints, so that the search over
        it is exhaustive.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampled rows. With an int, repeated fits give the same thresholds.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores. The thresholds are the same
        for any number.

    Attributes
    ----------
    thresholds_ : list of ndarray of float64
        Thresholds of each feature, sorted and distinct.
    n_thresholds_ : ndarray of shape (n_features,)
        Number of thresholds of each feature.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. Defined only if all of them are strings.

    See Also
    --------
    CentroidCandidates : Thresholds between centroids, the default.
    BaseCandidates : Base class of custom sources.

    Examples
    --------
    >>> import numpy as np
    >>> from dics import QuantileCandidates
    >>> QuantileCandidates().fit(np.array([[1.0], [2.0], [4.0]])).thresholds_
    [array([1.5, 3. ])]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_bins": MAX_BINS,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    @explain_unknown_arguments
    def __init__(
        self,
        *,
        max_bins: int = MAX_THRESHOLDS + 1,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_bins = max_bins
        self.random_state = random_state
        self.n_jobs = n_jobs

    _use_of_labels = "none"

    def _make_dictionary(self, data: TrainingData) -> Dictionary:
        return quantile_dictionary(data, self.max_bins - 1)


def fit_candidates(
    estimator: Any, data: TrainingData, default: BaseCandidates | None = None
) -> BaseCandidates:
    """Fit the `candidates` of an estimator, or the default source."""
    if estimator.candidates is None:
        candidates = CentroidCandidates() if default is None else default
    else:
        # The parameter of the user stays unfitted, as in scikit-learn.
        candidates = clone(estimator.candidates)
        candidates._validate_params()
        # This seed decides about the thresholds only: trees have that of the estimator.
        if candidates.random_state is not None:
            data = data._replace(seed=make_seed(candidates.random_state))
    candidates._learn(data)
    if estimator._categories is not None:
        candidates._add_rank_thresholds(estimator._categories.rank_counts())
    if hasattr(estimator, "feature_names_in_"):
        candidates.feature_names_in_ = estimator.feature_names_in_
    return candidates
