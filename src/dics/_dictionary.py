"""Candidate thresholds: placed between centroids and at quantiles, and codes of X."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._input.checks import Array, FloatArray
from dics._input.sparse import SparseRows

if TYPE_CHECKING:
    from dics._training import SampledRows, TrainingData

# uint8 codes: 254 thresholds make 255 codes, and NaN has one more.
MAX_THRESHOLDS: int = _core.MAX_THRESHOLDS
# Codes of a sparse X are lists if less than this fraction of its values is stored.
LISTED_FRACTION = 1 / 32
# Values of zeta that are computed at a time: little memory compared with X.
BLOCK_VALUES = 1 << 14
MAX_CLASS_MEANS = 64
# Largest step of float32 that resolves a feature, in standard deviations.
LARGEST_STEP = 2.0**-10
FILL_VALUES = 1 << 19
FILL_ROWS_PER_THRESHOLD = 16
# Rare words: 8,203 of 29,822 words of newsgroups20 had a nonzero value in 256 of 11,314
# rows. The accuracy of a forest was 0.678 with thresholds from these rows and 0.707
# with thresholds from all rows (2026-11).
MORE_ROWS = 16
# With more features than this, most of them constant in the first sampled rows, the
# defaults use quantiles only, up to 254 per feature. A cluster has a mean near the most
# frequent value of a rare word, and no boundary between means separates its rows.
# Forest of newsgroups20: 0.751 instead of 0.725 (one seed); the clustering took 47 MB,
# four times the bytes of X (2026-11).
MANY_FEATURES = 2048
# Wide data need some thresholds in the tails of a feature, and between the values of a
# feature with few values, where no boundary may lie: y = (x0 > 93 % quantile) xor
# (x1 > 10 % quantile) among 600 features gave 0.80 without, 0.97 with them (2026-11).
MIN_QUANTILES = 16
# A smaller budget means more than 128 features. There, new thresholds in subtrees cost
# more than they gain: pooled and cropped MNIST and Fashion-MNIST (20000 x 196 and
# x 400, depth 8 and full) had a mean accuracy of 0.7879 without and 0.7859 with them,
# in a third of the time (exhaustive 0.7833; 2026-11).
RENEWABLE_BUDGET = 128

Codes = npt.NDArray[np.uint8] | _core.CodeLists


class Dictionary(NamedTuple):
    """Thresholds of feature f: ``values[offsets[f]:offsets[f + 1]]``, increasing."""

    values: FloatArray
    offsets: npt.NDArray[np.int64]
    # Quantiles, too coarse for deep nodes: recomputing them there pays.
    renewable: bool = False

    @classmethod
    def of(cls, columns: list[FloatArray], *, renewable: bool = False) -> Dictionary:
        """Join the thresholds of all features."""
        offsets = np.cumsum([0, *map(len, columns)], dtype=np.int64)
        return cls(np.concatenate(columns), offsets, renewable)

    def by_feature(self) -> list[FloatArray]:
        """Return the thresholds of each feature."""
        return np.split(self.values, self.offsets[1:-1])


def make_dictionary(
    thresholds: Iterable[npt.ArrayLike], n_features: int, source: str
) -> Dictionary:
    """Check the thresholds that `source` returned, and sort them."""
    try:
        columns = list(thresholds)  # a generator has no length
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
    return Dictionary.of(
        [
            _check_thresholds(column, f"{source}, feature {f}")
            for f, column in enumerate(columns)
        ]
    )


def _check_thresholds(column: npt.ArrayLike, where: str) -> FloatArray:
    """Return the thresholds of one feature, sorted and distinct."""
    try:
        given = np.asarray(column)
    except ValueError as error:  # of different lengths
        raise ValueError(f"{where}: thresholds are not a vector: {error}") from error
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
    """Return the thresholds of the given features, in this order."""
    # The position of each threshold in the old order, without a loop over features.
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

    Lists store the codes that differ from the code of zero. Both forms give the same
    trees. Boosting needs no lists by row, which double the memory.
    """
    if isinstance(X, SparseRows):
        n_features = X.shape[1] if order is None else len(order)
        if len(X.values) < LISTED_FRACTION * len(X) * n_features:
            return _core.code_lists(X, *dictionary[:2], order=order, by_rows=by_rows)
    return encode(X, dictionary, width, n_threads, order)


def encode(
    X: Array | SparseRows,
    dictionary: Dictionary,
    width: int,
    n_threads: int,
    order: npt.NDArray[np.int32] | None = None,
) -> npt.NDArray[np.uint8]:
    """Stage `encode`: return the codes of a checked X, in blocks of `width` features.

    With `order`, only the given columns are encoded, in this order.
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


def relabel_frequent(
    labels: npt.NDArray[np.uint32], n_classes: int
) -> npt.NDArray[np.uint32]:
    """Relabel the most frequent classes 0..k-1; the others get an invalid label."""
    number = np.full(n_classes, np.iinfo(np.uint32).max, dtype=np.uint32)
    counts = np.bincount(labels, minlength=n_classes)
    most = np.argsort(-counts, kind="stable")[:MAX_CLASS_MEANS]
    number[most] = np.arange(len(most))
    return number[labels]


def all_pairs(
    squared_distances: list[FloatArray], n_pairs: int | str
) -> npt.NDArray[np.intp]:
    """Return the pairs within each family of centroids, as indices over all of them."""
    pairs, first = [], 0
    for distances in squared_distances:
        pairs.append(first + most_distant_pairs(distances, n_pairs))
        first += len(distances)
    return np.concatenate(pairs)


def most_distant_pairs(
    squared_distances: FloatArray, n_pairs: int | str
) -> npt.NDArray[np.intp]:
    """Return the m most distant pairs (lines 2 and 3 of Algorithm 1)."""
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
    """Return zeta of each feature (rows) and pair (columns), line 5 of Algorithm 1."""
    n_features = centroids.shape[1]
    zeta = np.empty((n_features, len(pairs)))
    at_once = max(1, BLOCK_VALUES // n_features)
    for first in range(0, len(pairs), at_once):
        some = pairs[first : first + at_once].T
        mu1, mu2 = centroids[some]
        fraction = np.full_like(mu1, 0.5)
        if boundary == "variance":
            sigma1, sigma2 = scales[some]
            spread = sigma1 + sigma2
            np.divide(sigma1, spread, out=fraction, where=spread > 0)
        # Equal to (sigma1 mu2 + sigma2 mu1) / (sigma1 + sigma2), without its overflow.
        zeta[:, first : first + at_once] = ((1 - fraction) * mu1 + fraction * mu2).T
    return zeta


def round_to_single(
    zeta: FloatArray, clusters: dict[str, Any], dtype: np.dtype[Any]
) -> FloatArray:
    """Round the thresholds of features that float32 resolves.

    `dtype` is the type of the clustered rows. If it is float64, a feature may have
    values that float32 would merge, such as seconds since 1970.
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
    """Sort the thresholds of each feature, and replace useless ones by NaN.

    Useless are thresholds that separate no rows, and thresholds closer than `min_gap`
    standard deviations to the last one kept.
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
    """Keep at most `most` thresholds per feature, spread evenly over the given ones."""
    present = ~np.isnan(zeta)
    for f in np.flatnonzero(present.sum(axis=1) > most):
        at = np.flatnonzero(present[f])
        keep = at[np.linspace(0, len(at) - 1, most).astype(int)]
        zeta[f, np.setdiff1d(at, keep)] = np.nan
    return zeta


def flatten(zeta: FloatArray) -> Dictionary:
    """Return the dictionary of all thresholds that are not NaN."""
    present = ~np.isnan(zeta)
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return Dictionary(zeta[present], offsets)


def auto_budget(n_features: int) -> int:
    """Return the default number of thresholds per feature."""
    return int(np.clip(16384 // n_features, MIN_QUANTILES, MAX_THRESHOLDS))


def fill_rows(n_features: int, budget: int) -> int:
    """Return the number of rows from which quantiles are computed."""
    return max(FILL_VALUES // n_features, FILL_ROWS_PER_THRESHOLD * budget)


def sample_for_filling(data: TrainingData, n_rows: int) -> npt.NDArray[np.int64]:
    """Return the indices of the rows from which quantiles are computed."""
    return np.asarray(_core.rows_for_thresholds(len(data.rows), n_rows, data.seed))


def has_rare_features(data: TrainingData) -> bool:
    """Return True if features are many, and most are constant in the sampled rows."""
    n_features = data.rows.n_features
    if n_features <= MANY_FEATURES:
        return False
    n_rows = fill_rows(n_features, MIN_QUANTILES)
    none = np.empty((n_features, 0))
    rows = data.rows.sample(lambda: [sample_for_filling(data, n_rows)])
    n_constant = _core_thresholds(data, rows, none, 1, 0, n_rows)[-1]
    return bool(2 * n_constant > n_features)


def quantile_dictionary(data: TrainingData, budget: int) -> Dictionary:
    """Return quantiles only, up to `budget` for each feature."""
    n_features = data.rows.n_features
    n_rows = fill_rows(n_features, budget)
    rows = data.rows.sample(lambda: [sample_for_filling(data, n_rows)])
    return filled_dictionary(data, rows, np.empty((n_features, 0)), budget, 0)


def filled_dictionary(
    data: TrainingData,
    rows: SampledRows,
    zeta: FloatArray,
    budget: int,
    min_quantiles: int,
) -> Dictionary:
    """Return boundaries, with quantiles of sampled rows in the gaps between them.

    If most features are constant in the sample, as rare words are, the sample grows.
    """
    n_features = data.rows.n_features
    n_rows = fill_rows(n_features, budget)
    while True:
        values, offsets, exact, n_constant = _core_thresholds(
            data, rows, zeta, budget, min_quantiles, n_rows
        )
        if 2 * n_constant <= n_features or n_rows >= len(data.rows):
            break
        n_rows *= MORE_ROWS
        sampled = [sample_for_filling(data, n_rows)]
        rows = data.rows.sample(sampled.copy)
    renewable = not exact and budget >= RENEWABLE_BUDGET
    # NumPy has two names of this type; see `Trees.from_core`.
    return Dictionary(values, offsets.view(np.int64), renewable)


def _core_thresholds(
    data: TrainingData,
    rows: SampledRows,
    zeta: FloatArray,
    budget: int,
    min_quantiles: int,
    n_rows: int,
) -> tuple[FloatArray, npt.NDArray[np.int64], bool, int]:
    return _core.make_thresholds(
        **rows._asdict(),
        weights=data.weights,
        boundaries=zeta,
        budget=budget,
        least_even=min_quantiles,
        n_sampled=n_rows,
        seed=data.seed,
        n_threads=data.n_threads,
    )
