"""The training data of a fit: targets, weights, and rows wherever they are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._boosting.rows import BoostJob, CodedRows, LocalCodes, RowValues
from dics._dictionary import Dictionary, encode_or_list
from dics._growing.settings import ForestPlan, grow_planned
from dics._input.categories import Categories
from dics._input.category_encoder import TargetEncoder
from dics._input.checks import Array, ClassTargets, FloatArray, RegressionTargets
from dics._input.frames import CategoricalColumn, CategoricalInput
from dics._input.sparse import SparseRows

if TYPE_CHECKING:
    from dics._estimator.running import Progress
    from dics._growing.sampling import OutOfBag, OutOfBagSums

# Rows that are rounded at a time, to limit the memory for an X of many columns.
ROUNDED_ROWS = 256
# A continuous target becomes this many pseudo-classes for the class means. Their
# limits are quantiles of a sample of the rows.
N_GROUPS = 8
GROUPED_ROWS = 1 << 16
# Steps and rows of every clustering are limited: 44 ms for CIFAR-10, as long as
# X.sum().
N_STEPS = 12
MOMENT_ROWS = 2048
MEASURE_ROWS = 4096


class SampledRows(NamedTuple):
    """Rows from which the core computes thresholds: all of X, or a sample."""

    X: Array | SparseRows
    numbers: npt.NDArray[np.int64] | None  # indices of the sample; None for all rows
    n_rows: int


class TrainingRows(ABC):
    """Rows of X during a fit, in this process or on a cluster.

    The stages of a fit use these methods only, so they do not depend on the place where
    the rows are stored.

    Attributes
    ----------
    shape : tuple of int
    columns : mapping of int to CategoricalColumn
        Categorical columns by feature, as they were read from X.
    keeps_means : bool
        Whether the encoder of categories should keep the mean of each row for
        `with_categories`.
    """

    shape: tuple[int, int]
    columns: Mapping[int, CategoricalColumn]
    keeps_means: ClassVar[bool]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @abstractmethod
    def with_categories(
        self, known: Categories, encoder: TargetEncoder
    ) -> TrainingRows:
        """Return the rows with numbers for categories, and with columns of pairs.

        The numbers of a training row do not depend on its own target.
        """

    @abstractmethod
    def sample(self, indices: Callable[[], list[npt.NDArray[np.int64]]]) -> SampledRows:
        """Return the rows of the given indices, or all rows if no copy is needed.

        Thresholds must not depend on the type of X. So float64 values that float32
        represents exactly are returned as float32.
        """

    @abstractmethod
    def take(
        self, rows: npt.NDArray[np.integer[Any]] | None = None
    ) -> Array | SparseRows:
        """Return some rows, or (None) all, in this process."""

    @abstractmethod
    def gathered(
        self, function: Callable[..., Any], data: TrainingData, *arguments: Any
    ) -> Any:
        """Call ``function(data, *arguments)`` where all rows are in one process."""

    @abstractmethod
    def grow_forest(
        self,
        plan: ForestPlan,
        dictionary: Dictionary,
        data: TrainingData,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Grow the trees of a plan, and return their arrays.

        `dictionary` has all columns of X, in their order.
        """

    @abstractmethod
    def out_of_bag_sums(
        self,
        trees: OutOfBag,
        left_out: Iterable[npt.NDArray[np.bool_]],
        n_threads: int,
    ) -> OutOfBagSums:
        """Add up the predictions of trees for rows that they have not sampled."""

    @abstractmethod
    def encode(
        self,
        job: BoostJob,
        values: RowValues,
        n_threads: int,
    ) -> CodedRows:
        """Return the codes of the rows, with their values and scores, for boosting."""

    def for_scorer(
        self,
        rows: npt.NDArray[np.intp] | None,
        n_rows: int,  # noqa: ARG002 (for rows of other processes)
    ) -> Array | SparseRows:
        """Return some rows (None: all `n_rows`) as the X argument of a scorer."""
        return self.take(rows)


class LocalRows(TrainingRows):
    """Rows in this process.

    Parameters
    ----------
    X : ndarray or SparseRows
    read : CategoricalInput, default=None
        The categorical features of X.
    """

    keeps_means = True

    def __init__(
        self, X: Array | SparseRows, read: CategoricalInput | None = None
    ) -> None:
        self.X = X
        self.shape = (len(X), X.shape[1])
        self._read = read
        self.columns = {} if read is None else read.columns

    def with_categories(self, known: Categories, encoder: TargetEncoder) -> LocalRows:
        assert self._read is not None
        assert isinstance(self.X, np.ndarray)  # sparse X has no categories
        return LocalRows(known.encode_training_rows(self._read, self.X, encoder))

    def sample(self, indices: Callable[[], list[npt.NDArray[np.int64]]]) -> SampledRows:
        everything = SampledRows(self.X, None, len(self))
        if self.X.dtype != np.float64:
            return everything
        sampled = np.unique(np.concatenate(indices()))
        # A copy of the sample only: X may be a memmap larger than memory.
        single = as_float32(self.X, sampled)
        return everything if single is None else SampledRows(single, sampled, len(self))

    def take(
        self, rows: npt.NDArray[np.integer[Any]] | None = None
    ) -> Array | SparseRows:
        return self.X if rows is None else self.X[rows]

    def gathered(
        self, function: Callable[..., Any], data: TrainingData, *arguments: Any
    ) -> Any:
        return function(data, *arguments)

    def grow_forest(
        self,
        plan: ForestPlan,
        dictionary: Dictionary,
        data: TrainingData,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        codes = encode_or_list(
            self.X, dictionary, plan.code_width, data.n_threads, plan.order
        )
        # A disabled progress is not passed, so that the core does not call Python.
        report = None
        if progress is not None and progress.enabled:
            report = progress.update
        return grow_planned(plan, data, codes, progress=report)

    def out_of_bag_sums(
        self,
        trees: OutOfBag,
        left_out: Iterable[npt.NDArray[np.bool_]],
        n_threads: int,
    ) -> OutOfBagSums:
        return trees.sums(self.X, left_out, n_threads)

    def encode(
        self,
        job: BoostJob,
        values: RowValues,
        n_threads: int,
    ) -> LocalCodes:
        scores = job.first_scores(
            len(self),
            values.offset,
            lambda trees, scores: trees.add_values(self.X, scores, n_threads=n_threads),
        )
        # Column by column: a round reads some of the features only.
        codes = encode_or_list(self.X, job.dictionary, 1, n_threads, by_rows=False)
        return LocalCodes(codes, values, scores)


class TrainingData(NamedTuple):
    """The checked arguments of `fit`: the input of every stage.

    Attributes
    ----------
    rows : TrainingRows
    labels : ndarray or None
        Class indices. In regression, groups of rows with similar targets.
    n_classes : int
    weights : ndarray or None
    seed : int
    n_threads : int
    classes : ndarray or None
        Sorted class labels of y.
    values : ndarray or None
        Targets of regression, [row][output].
    monotonic : list of int
        Direction of each column, if predictions are constrained.
    offset : ndarray or None
        Offset of the scores, [row][output]. For an identity link, it was subtracted
        from `values`.
    """

    rows: TrainingRows
    labels: npt.NDArray[np.uint32] | None
    n_classes: int
    weights: FloatArray | None
    seed: int
    n_threads: int
    classes: Array | None = None
    values: FloatArray | None = None
    monotonic: list[int] = []  # noqa: RUF012 (never changed)
    offset: FloatArray | None = None

    @classmethod
    def of(
        cls,
        rows: TrainingRows,
        targets: ClassTargets | RegressionTargets | None,
        weights: FloatArray | None,
        seed: int,
        n_threads: int,
    ) -> TrainingData:
        """Join the checked arguments."""
        if targets is None:
            return cls(rows, None, 0, weights, seed, n_threads)
        if isinstance(targets, ClassTargets):
            classes, labels = targets
            return cls(rows, labels, len(classes), weights, seed, n_threads, classes)
        # Class means are centroids of regression too, if rows have pseudo-classes.
        groups = group_targets(targets.values, seed, n_threads)
        n_groups = int(groups.max()) + 1
        return cls(
            rows, groups, n_groups, weights, seed, n_threads, None, targets.values
        )


def as_float32(
    X: Array | SparseRows, rows: npt.NDArray[Any]
) -> Array | SparseRows | None:
    """Return some rows as float32; None if float32 does not represent their values."""
    if X.dtype != np.float64:
        return None

    # A missing value stays one, but NaN is not equal to itself.
    def are_equal(double: Array, single: Array) -> bool:
        return bool(((double == single) | np.isnan(double)).all())

    with np.errstate(over="ignore"):
        if isinstance(X, SparseRows):
            some = X[rows]
            rounded = some.astype(np.float32)
            return rounded if are_equal(some.values, rounded.values) else None
        single = np.empty((len(rows), X.shape[1]), dtype=np.float32)
        for first in range(0, len(rows), ROUNDED_ROWS):
            part = slice(first, first + ROUNDED_ROWS)
            values = X[rows[part]]
            single[part] = values
            if not are_equal(values, single[part]):
                return None
    return single


def group_targets(
    values: FloatArray, seed: int, n_threads: int, n_groups: int = N_GROUPS
) -> npt.NDArray[np.uint32]:
    """Divide rows into groups with similar targets, the pseudo-classes of regression.

    The groups of one target are its quantiles; those of several targets are clusters.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_outputs)
    seed : int
    n_threads : int
    n_groups : int
        Largest number of groups. Values that many rows share make fewer groups.

    Returns
    -------
    groups : ndarray of shape (n_samples,)
    """
    # Evenly spaced rows need no seed, and give the same groups on a cluster.
    sample = values[:: -(-len(values) // GROUPED_ROWS)]
    if values.shape[1] == 1:
        limits = np.unique(np.quantile(sample[:, 0], np.arange(1, n_groups) / n_groups))
        groups = np.searchsorted(limits, values[:, 0], side="left")
        # Renumbered, because a group without rows would be a class that never occurs.
        return np.unique(groups, return_inverse=True)[1].astype(np.uint32)
    # Targets of different scales get the same influence on the clusters.
    spread = sample.std(axis=0)
    scaled = np.ascontiguousarray(
        (values - sample.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    )
    settings = _core.ClusterSettings(
        n_clusters=min(n_groups, len(sample)),
        n_classes=0,
        batch_size=min(512, len(sample)),
        n_steps=N_STEPS,
        moment_rows=min(MOMENT_ROWS, len(sample)),
        measure_rows=min(MEASURE_ROWS, len(sample)),
        standardize=False,
        seed=seed,
    )
    # Clustering needs a sample only, the rows of `sample` again.
    found = _core.cluster(
        np.ascontiguousarray(scaled[:: -(-len(values) // GROUPED_ROWS)]),
        numbers=None,
        n_rows=len(sample),
        weights=None,
        labels=None,
        settings=settings,
        n_threads=n_threads,
    )
    means = found["clusters"][0]
    # Without the squares of the rows, which are the same for all means.
    distances = -2 * scaled @ means.T + np.einsum("kd,kd->k", means, means)
    return np.unique(distances.argmin(axis=1), return_inverse=True)[1].astype(np.uint32)
