"""Stage `candidates`: the split dictionary (Algorithm 1 of the paper).

A source of thresholds is a `BaseCandidates`. Users write ``place``, which returns the
thresholds of every feature; the sources here write ``_place``, which makes the
dictionary in the core. All else is shared.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    _fit_context,
    clone,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from dics import _core
from dics._settings import make_settings
from dics._threads import effective_n_threads
from dics._validation import (
    Array,
    FloatArray,
    Targets,
    check_matrix,
    check_targets,
    check_weights,
    draw_seed,
    unchanged_on_error,
)
from dics.dictionary import MAX_THRESHOLDS, Dictionary, encode, make_dictionary

# From 5 to 32 clusters the accuracy at depth 8 (MNIST, Fashion-MNIST, CIFAR-10; 8 to 20
# seeds each) differed no more than between seeds; what counts is that class means are
# there too (MNIST 0.8182 without, 0.8233 with them; 2026-11).
AUTO_CLUSTERS = 8
# Bounded rows and steps: 44 ms for CIFAR-10, as long as X.sum().
N_STEPS = 12
MOMENT_ROWS = 2048
MEASURE_ROWS = 4096
# Where nothing is filled in, the boundaries are all there is and are measured better:
# the paper's dictionary keeps 97.3 % of the exhaustive gain at depth 8 (CIFAR-10, mean
# of 8 seeds) instead of 97.0 %, for 35 ms more (2026-11).
ALONE_MEASURE_ROWS = 16_384
BLOCK_VALUES = 1 << 14  # of zeta at a time: little memory compared with X
FILL_VALUES = 1 << 19
FILL_ROWS_PER_THRESHOLD = 16
# Wide data too need some thresholds in the tails of a feature and between the levels of
# one with few values, where no boundary may lie: y = (x0 > 93 % quantile) xor
# (x1 > 10 % quantile) among 600 features gave 0.80 without, 0.97 with them (2026-11).
LEAST_EVEN = 16
MAX_CLASS_MEANS = 64
# With a smaller budget there are more than 128 features to choose from, and renewing
# thresholds in subtrees costs more than it brings: pooled and cropped MNIST and
# Fashion-MNIST (20000 x 196 and x 400, depth 8 and full) had a mean accuracy of 0.7879
# without and 0.7859 with it, in a third of the time (exhaustive 0.7833; 2026-11).
RENEWABLE_BUDGET = 128


class TrainingData(NamedTuple):
    """What `fit` was given, checked: the input of every stage."""

    X: Array
    labels: npt.NDArray[np.uint32] | None
    n_classes: int
    weights: FloatArray | None
    seed: int
    n_threads: int
    classes: Array | None = None  # the labels that y has, sorted


class BaseCandidates(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of all sources of thresholds, and of your own.

    A source is a class with a method `place`, which returns the thresholds of every
    feature. The `candidates` of every estimator takes it. Its parameters are those of
    its ``__init__``, as for any scikit-learn estimator, so that ``candidates__name``
    works in a grid search. If it has a parameter `random_state` that is not None, the
    `rng` of `place` comes from there, otherwise from the estimator.

    Within one tree, deep nodes may get new thresholds (see `renew_thresholds` of
    `CGTreeClassifier`). These are even cuts of the rows of the node and never come from
    the source, because the subtree is grown inside the core, by several threads, where
    Python cannot be called. "auto" does not renew the thresholds of your own source.

    Attributes
    ----------
    thresholds_ : list of n_features arrays, float32
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
    ...     def place(self, X, y, sample_weight, rng):
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

    # For sources that have no such parameters.
    random_state: Any = None
    n_jobs: int | None = None

    def place(
        self,
        X: Array,
        y: npt.NDArray[np.intp] | None,
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
            Number of the class of each row, 0, 1, ... in the order of `classes_`. None
            if `fit` of the source itself got no class labels.
        sample_weight : ndarray of shape (n_samples,) or None
            Weights of the rows, or None if there are none.
        rng : numpy.random.Generator
            Source of random numbers. Without others, the same seed gives the same
            model.

        Returns
        -------
        thresholds : iterable of n_features arrays
            At most 254 distinct finite numbers for each feature, in any order; they are
            kept as float32, sorted. A split sends ``x < threshold`` to the left. No
            thresholds at all make a feature that is not split.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `place`.")

    def _place(self, data: TrainingData) -> Dictionary:
        """Make the dictionary; our own sources have a faster way than `place`."""
        return self._call_place(data)

    def _call_place(self, data: TrainingData) -> Dictionary:
        """Make the dictionary by `place`, with what it is promised."""
        X, labels, weights = data.X, data.labels, data.weights
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            X, weights = X[rows], weights[rows]
            labels = None if labels is None else labels[rows]
        X = X.view()
        X.flags.writeable = False
        y = None if labels is None else labels.astype(np.intp)
        weights = None if weights is None else weights.copy()
        thresholds = self.place(X, y, weights, np.random.default_rng(data.seed))
        return make_dictionary(thresholds, X.shape[1], f"{type(self).__name__}.place")

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the thresholds of every feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32, float64 and uint8 are read in place. NaN is allowed.
        y : array-like of shape (n_samples,), default=None
            Class labels, for sources that look at them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self):
            X = check_matrix(self, X, reset=True)
            weights = check_weights(sample_weight, len(X))
            targets = self._check_labels(y, len(X))
            self._learn(
                TrainingData(
                    X,
                    targets.labels if targets else None,
                    len(targets.classes) if targets else 0,
                    weights,
                    draw_seed(self.random_state),
                    effective_n_threads(self.n_jobs),
                )
            )
        return self

    def _check_labels(self, y: Any, n_rows: int) -> Targets | None:
        if self._needs_labels():
            return check_targets(y, n_rows)
        if y is None or not self._uses_labels():
            return None
        # Before a regressor, say, y holds no classes and isn't needed.
        kind = type_of_target(y, input_name="y")
        return check_targets(y, n_rows) if kind in ("binary", "multiclass") else None

    def _needs_labels(self) -> bool:
        return False

    def _uses_labels(self) -> bool:
        return True

    def _learn(self, data: TrainingData) -> None:
        """Fit from checked arrays, as the tree estimators do."""
        # A user's `place` counts also in a subclass of our sources.
        written = type(self).place is not BaseCandidates.place
        self._dictionary = self._call_place(data) if written else self._place(data)
        self.n_features_in_ = data.X.shape[1]
        self.n_thresholds_ = np.diff(self._dictionary.offsets)

    @property
    def thresholds_(self) -> list[npt.NDArray[np.float32]]:
        """Thresholds of each feature, sorted and distinct."""
        check_is_fitted(self, "n_thresholds_")
        return np.split(self._dictionary.values, self._dictionary.offsets[1:-1])

    def transform(self, X: Any) -> npt.NDArray[np.uint8]:
        """Replace each value by the number of thresholds that aren't above it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_features), uint8, Fortran order
            ``codes[i, f] <= t`` exactly where ``X[i, f] < thresholds_[f][t]``. NaN has
            the code ``n_thresholds_[f] + 1``.
        """
        check_is_fitted(self, "n_thresholds_")
        X = check_matrix(self, X, reset=False)
        codes = encode(X, self._dictionary, 1, effective_n_threads(self.n_jobs))
        return codes.reshape(X.shape[1], X.shape[0]).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self._needs_labels()
        tags.transformer_tags.preserves_dtype = []
        return tags


class CentroidCandidates(BaseCandidates):
    """Thresholds between the centroids of clusters (Algorithm 1 of the paper).

    Mini-batch K-means finds centroids; for the pairs of centroids that lie farthest
    apart, every feature gets the boundary between the two. The paper's own setting is
    ``CentroidCandidates.paper()``. The defaults differ from it where it loses accuracy:
    the means of the classes are centroids too, clusters are found in standardised
    features and their number does not depend on the number of classes, and the gaps
    between the boundaries are filled with even cuts, many where there are few features.

    Parameters
    ----------
    n_clusters : "auto", "classes" or int, default="auto"
        Number of clusters. "classes" is the paper's: as many as there are classes, at
        least two. "auto" takes 8. Fewer are used if there are fewer distinct rows.
    n_pairs : "auto" or int, default="auto"
        Number m of centroid pairs, of clusters and of classes each. "auto" is the
        paper's rule: all pairs for at most five clusters, else 25.
    boundary : {"variance", "midpoint"}, default="variance"
        Where between two centroids the threshold lies: nearer to the cluster with the
        smaller spread in that feature, or in the middle.
    centroids : {"auto", "kmeans", "class"}, default="auto"
        Centroids of clusters ("kmeans", the paper's), the means of the classes
        ("class": no clustering, needs y), or both ("auto"; without y only clusters).
    batch_size : int, default=512
        Rows in a mini-batch.
    scale : bool, default=True
        Measure distances in units of each feature's standard deviation.
    min_gap : float, default=0.05
        Thresholds of a feature closer than this many standard deviations count as one.
    fill : bool, default=True
        Fill the gaps between the boundaries with even cuts; a feature with few
        distinct values gets all midpoints instead.
    max_thresholds : "auto" or int, default="auto"
        Thresholds for each feature when ``fill``; as an int it is a maximum, half of it
        for boundaries. "auto" gives narrow data more: up to 254 for at most 64
        features, then fewer, and at least 16 even parts besides the boundaries.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows drawn and of the start of K-means.
    n_jobs : int or None, default=None
        Number of threads; None means all cores the process may use. The result doesn't
        depend on it.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_centroids, n_features)
        Centroids of the clusters, then means of the classes.
    scales_ : ndarray of shape (n_centroids, n_features)
        Standard deviation of each feature within each cluster.
    pairs_ : ndarray of shape (n_pairs, 2)
        The pairs used, farthest first: first of clusters, then of classes.
    thresholds_ : list of n_features arrays, float32
    n_thresholds_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from dics import CentroidCandidates
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [10.0, 5.0], [11.0, 5.0]])
    >>> candidates = CentroidCandidates(n_clusters=2, fill=False, random_state=0).fit(X)
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
        "centroids": [StrOptions({"auto", "kmeans", "class"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "scale": ["boolean"],
        "min_gap": [Interval(Real, 0.0, None, closed="left")],
        "fill": ["boolean"],
        "max_thresholds": [
            StrOptions({"auto"}),
            Interval(Integral, 1, MAX_THRESHOLDS, closed="both"),
        ],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        n_pairs: int | str = "auto",
        boundary: str = "variance",
        centroids: str = "auto",
        batch_size: int = 512,
        scale: bool = True,
        min_gap: float = 0.05,
        fill: bool = True,
        max_thresholds: int | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_pairs = n_pairs
        self.boundary = boundary
        self.centroids = centroids
        self.batch_size = batch_size
        self.scale = scale
        self.min_gap = min_gap
        self.fill = fill
        self.max_thresholds = max_thresholds
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Make the paper's own setting: K clusters of raw features, nothing filled in.

        Parameters
        ----------
        **parameters : dict
            Parameters to set besides.

        Returns
        -------
        candidates : CentroidCandidates

        Examples
        --------
        >>> from dics import CentroidCandidates
        >>> CentroidCandidates.paper(random_state=0)
        CentroidCandidates(centroids='kmeans', fill=False, min_gap=0.0,
                           n_clusters='classes', random_state=0, scale=False)
        """
        setting = {
            "n_clusters": "classes",
            "centroids": "kmeans",
            "scale": False,
            "min_gap": 0.0,
            "fill": False,
        }
        return cls(**{**setting, **parameters})

    def _needs_labels(self) -> bool:
        return self.n_clusters == "classes" or self.centroids == "class"

    def _uses_labels(self) -> bool:
        return self.centroids == "auto"

    def _place(self, data: TrainingData) -> Dictionary:
        found = self._cluster(data)
        families = [found["clusters"], found["classes"]]
        self.centroids_ = np.concatenate([means for means, _, _ in families])
        self.scales_ = np.concatenate([scales for _, scales, _ in families])
        self.pairs_ = all_pairs([distances for *_, distances in families], self.n_pairs)
        zeta = boundaries(self.centroids_, self.scales_, self.pairs_, self.boundary)
        useful = drop_useless(zeta, found, self.min_gap)
        if not self.fill:
            return flatten(thin(useful, MAX_THRESHOLDS))
        if self.max_thresholds == "auto":
            budget = auto_budget(data.X.shape[1])
            return filled_dictionary(data, thin(useful, 128), budget, LEAST_EVEN)
        budget = int(self.max_thresholds)
        return filled_dictionary(data, thin(useful, budget // 2), budget, 0)

    def _cluster(self, data: TrainingData) -> dict[str, Any]:
        if self.n_clusters == "classes":
            n_clusters = max(2, data.n_classes)
        else:
            auto = self.n_clusters == "auto"
            n_clusters = AUTO_CLUSTERS if auto else int(self.n_clusters)
        n_rows = len(data.X)
        measure_rows = MEASURE_ROWS if self.fill else ALONE_MEASURE_ROWS
        labels, n_classes = data.labels, data.n_classes
        if labels is not None and n_classes > MAX_CLASS_MEANS:
            labels, n_classes = commonest(labels, n_classes), MAX_CLASS_MEANS
        settings = make_settings(
            _core.ClusterSettings,
            n_clusters=min(n_clusters, n_rows) if self.centroids != "class" else 0,
            n_classes=n_classes if self.centroids != "kmeans" else 0,
            batch_size=min(self.batch_size, n_rows),
            n_steps=N_STEPS,
            moment_rows=MOMENT_ROWS,
            measure_rows=min(
                n_rows, max(measure_rows, 16 * max(n_clusters, data.n_classes))
            ),
            standardize=self.scale,
            seed=data.seed,
        )
        return _core.cluster(data.X, data.weights, labels, settings, data.n_threads)


class QuantileCandidates(BaseCandidates):
    """Thresholds at even cuts of each feature, as histogram methods use.

    The same engine with another source of thresholds: what the centroids are worth is
    the difference between the two.

    Parameters
    ----------
    max_thresholds : int, default=254
        Thresholds for each feature; one with no more distinct values than that gets all
        midpoints, so the search over it is exhaustive.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows drawn.
    n_jobs : int or None, default=None
        Number of threads; None means all cores the process may use.

    Attributes
    ----------
    thresholds_ : list of n_features arrays, float32
    n_thresholds_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from dics import QuantileCandidates
    >>> QuantileCandidates().fit(np.array([[1.0], [2.0], [4.0]])).thresholds_
    [array([1.5, 3. ], dtype=float32)]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_thresholds": [Interval(Integral, 1, MAX_THRESHOLDS, closed="both")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        max_thresholds: int = MAX_THRESHOLDS,
        *,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_thresholds = max_thresholds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _uses_labels(self) -> bool:
        return False

    def _place(self, data: TrainingData) -> Dictionary:
        none = np.empty((data.X.shape[1], 0), dtype=np.float32)
        return filled_dictionary(data, none, self.max_thresholds, 0)


def commonest(labels: npt.NDArray[np.uint32], n_classes: int) -> npt.NDArray[np.uint32]:
    """Give numbers from 0 to the commonest classes, and none that counts to others."""
    number = np.full(n_classes, np.iinfo(np.uint32).max, dtype=np.uint32)
    counts = np.bincount(labels, minlength=n_classes)
    most = np.argsort(-counts, kind="stable")[:MAX_CLASS_MEANS]
    number[most] = np.arange(len(most))
    return number[labels]


def all_pairs(
    squared_distances: list[FloatArray], n_pairs: int | str
) -> npt.NDArray[np.intp]:
    """Pairs within each family of centroids, numbered through all families."""
    pairs, first = [], 0
    for distances in squared_distances:
        pairs.append(first + farthest_pairs(distances, n_pairs))
        first += len(distances)
    return np.concatenate(pairs)


def farthest_pairs(
    squared_distances: FloatArray, n_pairs: int | str
) -> npt.NDArray[np.intp]:
    """Lines 2 and 3 of Algorithm 1: the m pairs of the largest distance."""
    n_clusters = len(squared_distances)
    first, second = np.triu_indices(n_clusters, k=1)
    if n_pairs == "auto":
        n_pairs = len(first) if n_clusters <= 5 else 25
    order = np.argsort(-squared_distances[first, second], kind="stable")[: int(n_pairs)]
    return np.column_stack([first[order], second[order]])


def boundaries(
    centroids: FloatArray,
    scales: FloatArray,
    pairs: npt.NDArray[np.intp],
    boundary: str,
) -> npt.NDArray[np.float32]:
    """Line 5 of Algorithm 1: zeta of each feature (rows) and pair (columns)."""
    n_features = centroids.shape[1]
    zeta = np.empty((n_features, len(pairs)), dtype=np.float32)
    at_once = max(1, BLOCK_VALUES // n_features)
    for first in range(0, len(pairs), at_once):
        some = pairs[first : first + at_once].T
        mu1, mu2 = centroids[some]
        share = np.full_like(mu1, 0.5)
        if boundary == "variance":
            sigma1, sigma2 = scales[some]
            spread = sigma1 + sigma2
            np.divide(sigma1, spread, out=share, where=spread > 0)
        # Equal to (sigma1 mu2 + sigma2 mu1) / (sigma1 + sigma2), without its overflow.
        with np.errstate(over="ignore"):  # beyond float32: infinite, and dropped later
            zeta[:, first : first + at_once] = ((1 - share) * mu1 + share * mu2).T
    return zeta


def auto_budget(n_features: int) -> int:
    """Thresholds for each feature up to which a dictionary is filled."""
    return int(np.clip(16384 // n_features, LEAST_EVEN, MAX_THRESHOLDS))


def drop_useless(
    zeta: npt.NDArray[np.float32], clusters: dict[str, Any], min_gap: float
) -> npt.NDArray[np.float32]:
    """Sort the thresholds of each feature; repeats and such as part nothing become NaN.

    A threshold closer than `min_gap` deviations to the last one kept counts as a
    repeat.
    """
    zeta = np.sort(zeta, axis=1)
    keep = (zeta > clusters["low"][:, None]) & (zeta <= clusters["high"][:, None])
    gap = min_gap * clusters["deviation"]
    last = np.full(len(zeta), -np.inf)
    for pair in range(zeta.shape[1]):
        keep[:, pair] &= zeta[:, pair] > last + gap
        last = np.where(keep[:, pair], zeta[:, pair], last)
    return np.where(keep, zeta, np.float32(np.nan))


def thin(zeta: npt.NDArray[np.float32], most: int) -> npt.NDArray[np.float32]:
    """Leave no feature more than `most` thresholds, spread over those it had."""
    present = ~np.isnan(zeta)
    for f in np.flatnonzero(present.sum(axis=1) > most):
        at = np.flatnonzero(present[f])
        keep = at[np.linspace(0, len(at) - 1, most).astype(int)]
        zeta[f, np.setdiff1d(at, keep)] = np.nan
    return zeta


def flatten(zeta: npt.NDArray[np.float32]) -> Dictionary:
    """Make a dictionary of what isn't NaN."""
    present = ~np.isnan(zeta)
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return Dictionary(zeta[present], offsets)


def fill_rows(n_features: int, budget: int) -> int:
    """Rows looked at for even cuts: a bounded number of values, enough for each cut."""
    return max(FILL_VALUES // n_features, FILL_ROWS_PER_THRESHOLD * budget)


def filled_dictionary(
    data: TrainingData, zeta: npt.NDArray[np.float32], budget: int, least_even: int
) -> Dictionary:
    """Boundaries, and even cuts of a bounded sample in the gaps between them."""
    values, offsets, exact = _core.make_thresholds(
        data.X,
        data.weights,
        zeta.astype(np.float64),
        budget=budget,
        least_even=least_even,
        n_rows=fill_rows(data.X.shape[1], budget),
        seed=data.seed,
        n_threads=data.n_threads,
    )
    renewable = not exact and budget >= RENEWABLE_BUDGET
    return Dictionary(values, offsets, renewable)


def fit_candidates(
    estimator: Any, data: TrainingData, default: BaseCandidates | None = None
) -> BaseCandidates:
    """Fit the source of thresholds that an estimator was given, or the default one."""
    if estimator.candidates is None:
        candidates = CentroidCandidates() if default is None else default
    else:
        candidates = clone(estimator.candidates)
        candidates._validate_params()
        if candidates.random_state is not None:
            data = data._replace(seed=draw_seed(candidates.random_state))
    candidates._learn(data)
    if hasattr(estimator, "feature_names_in_"):
        candidates.feature_names_in_ = estimator.feature_names_in_
    return candidates
