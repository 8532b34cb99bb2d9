"""Stage `candidates`: the split dictionary (Algorithm 1 of the paper)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from dics import _core
from dics._dictionary import MAX_THRESHOLDS, BaseCandidates, Dictionary, TrainingData
from dics._estimator.arguments import explain_unknown_arguments
from dics._growing.settings import make_settings
from dics._input.checks import FloatArray, draw_seed
from dics._input.rows import SampledRows, sampled_rows

BLOCK_VALUES = 1 << 14  # of zeta at a time: little memory compared with X
MAX_CLASS_MEANS = 64
# Between numbers of single precision that resolve a feature, in its deviations.
LARGEST_STEP = 2.0**-10

__all__ = ["BaseCandidates", "CentroidCandidates", "QuantileCandidates"]
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
FILL_VALUES = 1 << 19
FILL_ROWS_PER_THRESHOLD = 16
# Of 29822 words of newsgroups20, 8203 had a number other than zero in 256 of 11314
# rows; a forest of thresholds of those alone was right in 67.8 % of the test rows, and
# in 70.7 % when all rows were looked at (2026-11).
MORE_ROWS = 16
# Of more features than this, most of which have one value in the rows looked at first,
# the defaults place even cuts alone, up to 254 of each: a cluster has a mean near the
# common value of a rare word, and no boundary between means parts the rows that have
# it. The forest of newsgroups20: 75.1 % instead of 72.5 % of the test rows right (one
# seed), and the clustering alone took 47 MB, four times the bytes of X (2026-11).
MANY_FEATURES = 2048
# Wide data too need some thresholds in the tails of a feature, and between the values
# of one with few values, where no boundary may lie: y = (x0 > 93 % quantile) xor
# (x1 > 10 % quantile) among 600 features gave 0.80 without, 0.97 with them (2026-11).
LEAST_EVEN = 16
# With a smaller budget there are more than 128 features to choose from, and renewing
# thresholds in subtrees costs more than it brings: pooled and cropped MNIST and
# Fashion-MNIST (20000 x 196 and x 400, depth 8 and full) had a mean accuracy of 0.7879
# without and 0.7859 with it, in a third of the time (exhaustive 0.7833; 2026-11).
RENEWABLE_BUDGET = 128
# Values of `max_bins`, one more than thresholds.
MAX_BINS = [Interval(Integral, 2, MAX_THRESHOLDS + 1, closed="both")]


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
) -> FloatArray:
    """Line 5 of Algorithm 1: zeta of each feature (rows) and pair (columns)."""
    n_features = centroids.shape[1]
    zeta = np.empty((n_features, len(pairs)))
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
        zeta[:, first : first + at_once] = ((1 - share) * mu1 + share * mu2).T
    return zeta


def round_to_single(
    zeta: FloatArray, clusters: dict[str, Any], dtype: np.dtype[Any]
) -> FloatArray:
    """Round the thresholds of features that single precision resolves.

    `dtype` is that of the rows that gave the clusters: if it is float64, a feature may
    have values that single precision would merge, such as seconds since 1970.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = zeta.astype(np.float32).astype(np.float64)
        if dtype != np.float64:
            return rounded
        largest = np.maximum(np.abs(clusters["low"]), np.abs(clusters["high"]))
        step = np.spacing(largest.astype(np.float32))
        is_resolved = step <= LARGEST_STEP * clusters["deviation"]
    return np.where(is_resolved[:, None], rounded, zeta)


def drop_useless(
    zeta: FloatArray, clusters: dict[str, Any], min_gap: float
) -> FloatArray:
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
    return np.where(keep, zeta, np.nan)


def thin(zeta: FloatArray, most: int) -> FloatArray:
    """Leave no feature more than `most` thresholds, spread over those it had."""
    present = ~np.isnan(zeta)
    for f in np.flatnonzero(present.sum(axis=1) > most):
        at = np.flatnonzero(present[f])
        keep = at[np.linspace(0, len(at) - 1, most).astype(int)]
        zeta[f, np.setdiff1d(at, keep)] = np.nan
    return zeta


def flatten(zeta: FloatArray) -> Dictionary:
    """Make a dictionary of what isn't NaN."""
    present = ~np.isnan(zeta)
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return Dictionary(zeta[present], offsets)


class CentroidCandidates(BaseCandidates):
    """Thresholds between the centroids of clusters (Algorithm 1 of the paper).

    Mini-batch K-means finds centroids. For the most distant pairs of centroids, every
    feature gets the boundary between the two. The paper's own setting is
    ``CentroidCandidates.paper()``. The defaults differ from it where it loses accuracy:
    the means of the classes are centroids too, clusters are found in standardised
    features and their number does not depend on the number of classes, and the gaps
    between the boundaries are filled with even cuts, many where there are few features.

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
        Rows in a mini-batch.
    standardize : bool, default=True
        Whether to divide each feature by its standard deviation before clustering.
    min_gap : float, default=0.05
        Thresholds of a feature closer than this many standard deviations count as one.
    fill_quantiles : bool, default=True
        Whether to fill the gaps between the boundaries with quantiles of the feature. A
        feature with few distinct values gets all midpoints instead.
    max_bins : "auto" or int, default="auto"
        Maximum number of bins per feature, from 2 to 255, with `fill_quantiles`: one
        more than thresholds, of which at most half are boundaries. "auto" is 255 for
        up to 64 features and fewer for more features, with at least 16 quantiles.
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
    thresholds_ : list of n_features arrays, float64
    n_thresholds_ : ndarray of shape (n_features,)

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

    def _needs_labels(self) -> bool:
        return self.n_clusters == "classes" or self.centroid_source == "class"

    def _uses_labels(self) -> bool:
        return self.centroid_source == "auto"

    def _make_dictionary(self, data: TrainingData) -> Dictionary:
        if self._is_automatic() and has_rare_features(data):
            return self._even_cuts_alone(data)
        settings = self._cluster_settings(data)
        budget = self._budget(data.X.shape[1])
        rows = sampled_rows(
            data.X,
            lambda: [
                np.asarray(
                    _core.rows_for_clusters(len(data.X), data.weights, settings)
                ),
                rows_for_filling(data, budget),
            ],
        )
        found = self._cluster(data, rows, settings)
        means, scales, distances = zip(
            found.pop("clusters"), found.pop("classes"), strict=True
        )
        self.centroids_ = np.concatenate(means)
        self.scales_ = np.concatenate(scales)
        del means, scales  # of wide data, as large as X may be
        self.pairs_ = all_pairs(list(distances), self.n_pairs)
        zeta = boundaries(self.centroids_, self.scales_, self.pairs_, self.boundary)
        zeta = round_to_single(zeta, found, rows.X.dtype)
        useful = drop_useless(zeta, found, self.min_gap)
        if not self.fill_quantiles:
            return flatten(thin(useful, MAX_THRESHOLDS))
        if self.max_bins == "auto":
            return filled_dictionary(data, rows, thin(useful, 128), budget, LEAST_EVEN)
        return filled_dictionary(data, rows, thin(useful, budget // 2), budget, 0)

    def _is_automatic(self) -> bool:
        values = (self.n_clusters, self.centroid_source, self.n_pairs, self.max_bins)
        return self.fill_quantiles and all(value == "auto" for value in values)

    def _even_cuts_alone(self, data: TrainingData) -> Dictionary:
        n_features = data.X.shape[1]
        self.centroids_ = np.empty((0, n_features))
        self.scales_ = np.empty((0, n_features))
        self.pairs_ = np.empty((0, 2), dtype=np.intp)
        # To make cuts of so many features anew within nodes would take too long.
        return even_cuts(data, MAX_THRESHOLDS)._replace(renewable=False)

    def _budget(self, n_features: int) -> int:
        if self.max_bins == "auto":
            return auto_budget(n_features)
        return int(self.max_bins) - 1

    def _cluster_settings(self, data: TrainingData) -> _core.ClusterSettings:
        if self.n_clusters == "classes":
            n_clusters = max(2, data.n_classes)
        else:
            auto = self.n_clusters == "auto"
            n_clusters = AUTO_CLUSTERS if auto else int(self.n_clusters)
        n_rows = len(data.X)
        measure_rows = MEASURE_ROWS if self.fill_quantiles else ALONE_MEASURE_ROWS
        n_classes, source = min(data.n_classes, MAX_CLASS_MEANS), self.centroid_source
        return make_settings(
            _core.ClusterSettings,
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
        if labels is not None and data.n_classes > MAX_CLASS_MEANS:
            labels = commonest(labels, data.n_classes)
        return _core.cluster(
            **rows._asdict(),
            weights=data.weights,
            labels=labels,
            settings=settings,
            n_threads=data.n_threads,
        )


class QuantileCandidates(BaseCandidates):
    """Thresholds at even cuts of each feature, as histogram methods use.

    The same engine with another source of thresholds: what the centroids are worth is
    the difference between the two.

    Parameters
    ----------
    max_bins : int, default=255
        Maximum number of bins per feature, from 2 to 255: one more than thresholds. A
        feature with no more distinct values gets all midpoints, so that the search over
        it is exhaustive.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows drawn.
    n_jobs : int or None, default=None
        Number of threads; None means all cores the process may use.

    Attributes
    ----------
    thresholds_ : list of n_features arrays, float64
    n_thresholds_ : ndarray of shape (n_features,)

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

    def _uses_labels(self) -> bool:
        return False

    def _make_dictionary(self, data: TrainingData) -> Dictionary:
        return even_cuts(data, self.max_bins - 1)


def auto_budget(n_features: int) -> int:
    """Thresholds for each feature up to which a dictionary is filled."""
    return int(np.clip(16384 // n_features, LEAST_EVEN, MAX_THRESHOLDS))


def fill_rows(n_features: int, budget: int) -> int:
    """Rows looked at for even cuts: a bounded number of values, enough for each cut."""
    return max(FILL_VALUES // n_features, FILL_ROWS_PER_THRESHOLD * budget)


def rows_for_filling(data: TrainingData, budget: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the rows that `filled_dictionary` looks at first."""
    return _numbers_drawn(data, fill_rows(data.X.shape[1], budget))


def _rows_drawn(data: TrainingData, n_drawn: int) -> SampledRows:
    return sampled_rows(data.X, lambda: [_numbers_drawn(data, n_drawn)])


def _numbers_drawn(data: TrainingData, n_drawn: int) -> npt.NDArray[np.int64]:
    return np.asarray(_core.rows_for_thresholds(len(data.X), n_drawn, data.seed))


def has_rare_features(data: TrainingData) -> bool:
    """Tell whether features are many, and most have one value in the first rows."""
    n_features = data.X.shape[1]
    if n_features <= MANY_FEATURES:
        return False
    n_drawn = fill_rows(n_features, LEAST_EVEN)
    n_constant = _core.make_thresholds(
        **_rows_drawn(data, n_drawn)._asdict(),
        weights=data.weights,
        boundaries=np.empty((n_features, 0)),
        budget=1,
        least_even=0,
        n_drawn=n_drawn,
        seed=data.seed,
        n_threads=data.n_threads,
    )[-1]
    return bool(2 * n_constant > n_features)


def even_cuts(data: TrainingData, budget: int) -> Dictionary:
    """Even cuts alone, up to `budget` of each feature."""
    none = np.empty((data.X.shape[1], 0))
    rows = sampled_rows(data.X, lambda: [rows_for_filling(data, budget)])
    return filled_dictionary(data, rows, none, budget, 0)


def filled_dictionary(
    data: TrainingData,
    rows: SampledRows,
    zeta: FloatArray,
    budget: int,
    least_even: int,
) -> Dictionary:
    """Boundaries, and even cuts of a bounded sample in the gaps between them.

    Where most features have one value in all rows looked at, as words have, more rows
    are looked at.
    """
    n_features = data.X.shape[1]
    n_drawn = fill_rows(n_features, budget)
    while True:
        values, offsets, exact, n_constant = _core.make_thresholds(
            **rows._asdict(),
            weights=data.weights,
            boundaries=zeta,
            budget=budget,
            least_even=least_even,
            n_drawn=n_drawn,
            seed=data.seed,
            n_threads=data.n_threads,
        )
        if 2 * n_constant <= n_features or n_drawn >= len(data.X):
            break
        n_drawn *= MORE_ROWS
        rows = _rows_drawn(data, n_drawn)
    renewable = not exact and budget >= RENEWABLE_BUDGET
    # NumPy has two names of this type; see `Trees.from_core`.
    return Dictionary(values, offsets.view(np.int64), renewable)


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
    if estimator._categories is not None:
        candidates._part_ranks(estimator._categories.rank_counts())
    if hasattr(estimator, "feature_names_in_"):
        candidates.feature_names_in_ = estimator.feature_names_in_
    return candidates
