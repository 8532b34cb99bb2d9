"""Trees are grown where their rows are gathered.

A single tree is grown by one worker, from all rows. Each worker grows some trees of a
forest, from the codes of the rows that these trees have sampled.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import numpy.typing as npt
from distributed import Future, get_worker, worker_client

from dics._growing.sampling import sample_counts
from dics._growing.settings import ForestPlan, grow_planned
from dics._input.checks import Array
from dics._input.sparse import SparseRows, concat_rows
from dics._training import LocalRows, TrainingData
from dics.dask._partitions import threads_of_worker
from dics.dask._watch import ProgressReporter, pause
from dics.dask._workers import stop_if_cancelled

# Trees that sample a larger fraction of the rows get the codes of all of them.
MAX_GATHERED = 0.75
# Rows that are arranged at a time, so that they stay in the cache: 1,000,000 x 50 codes
# take 0.1 s instead of 0.4 s feature by feature (2026-11).
ARRANGED_ROWS = 4096


# --- forests ----------------------------------------------------------------


class ForestJob(NamedTuple):
    """The trees of a forest, in a form that can be sent to workers.

    Attributes
    ----------
    all_trees : ForestPlan
    data : TrainingData
        Targets and weights of all rows, without X.
    """

    all_trees: ForestPlan
    data: TrainingData

    @classmethod
    def of(cls, plan: ForestPlan, data: TrainingData) -> ForestJob:
        """Return the job of a plan for all rows."""
        if data.values is not None:
            data = data._replace(labels=None)  # only thresholds need the groups
        return cls(plan, data._replace(rows=None))  # type: ignore[arg-type]

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        targets = self.data.labels if self.data.values is None else self.data.values
        assert targets is not None
        return len(targets)

    def plan(self, trees: range) -> ForestPlan:
        """Return the plan of some of the trees."""
        settings = self.all_trees.settings
        return self.all_trees._replace(
            settings=settings.replace(first_tree=trees.start, n_trees=len(trees))
        )


class TreeRows(NamedTuple):
    """The rows that some trees of a forest have sampled.

    Attributes
    ----------
    numbers : ndarray
        Increasing indices of the rows.
    counts : ndarray of shape (n_trees, n_numbers)
        How often each tree has sampled them.
    """

    numbers: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint32]


def n_gathered(n_rows: int, sample_size: int, n_trees: int) -> int:
    """Return the approximate number of rows that some trees need.

    With weights, the trees sample fewer different rows.

    >>> n_gathered(1000, 0, 1), n_gathered(1000, 1000, 3)
    (1000, 1000)
    >>> n_gathered(1000, 50, 1), n_gathered(1000, 50, 10)
    (49, 394)
    """
    if sample_size == 0:
        return n_rows
    fraction = -math.expm1(-n_trees * sample_size / n_rows)
    return n_rows if fraction > MAX_GATHERED else math.ceil(fraction * n_rows)


def gathered_bytes(
    shape: tuple[int, int],
    sample_size: int,
    n_trees: int,
    row_bytes: int,
    n_workers: int,
) -> int:
    """Return the minimum number of bytes for some trees of a forest on a worker.

    `row_bytes` is the size of the target and the weight of a row.
    """
    n_rows, n_features = shape
    n_own = n_gathered(n_rows, sample_size, n_trees)
    # Codes as they arrive, and in the layout of the core.
    n_bytes = n_rows * row_bytes + n_own * (2 * n_features + 16)
    if n_own < n_rows:
        # Codes of its partitions and of sent rows; sampled rows and their counts.
        n_bytes += (n_rows // n_workers + n_own) * n_features
        n_bytes += n_rows * 5 + n_own * 4 * n_trees
    return n_bytes


def sample_rows(job: ForestJob, trees: range) -> TreeRows:
    """Sample the rows of some trees."""
    # Rows and counts of each tree first: a full table would have a column for each of
    # all rows.
    is_sampled = np.zeros(job.n_rows, dtype=np.bool_)
    of_trees, settings = [], job.all_trees.settings
    with stop_if_cancelled():
        for counts in sample_counts(
            settings.tree.seed,
            trees,
            job.n_rows,
            settings.sample_size,
            job.data.weights,
        ):
            rows = np.flatnonzero(counts)
            is_sampled[rows] = True
            of_trees.append((rows.astype(np.uint32), counts[rows]))
    numbers = np.flatnonzero(is_sampled).astype(np.uint32)
    table = np.zeros((len(trees), len(numbers)), dtype=np.uint32)
    for to, (own, counts) in zip(table, of_trees, strict=True):
        to[np.searchsorted(numbers, own)] = counts
    return TreeRows(numbers, table)


def rows_in_part(sampled: TreeRows, first: int, last: int) -> npt.NDArray[np.uint32]:
    """Return which rows of a partition were sampled; it has rows first..last-1."""
    # A task of its own, because the counts in `sampled` are much larger.
    begin, end = np.searchsorted(sampled.numbers, [first, last])
    return sampled.numbers[begin:end] - np.uint32(first)


def chosen_codes(
    codes: npt.NDArray[np.uint8], rows: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint8]:
    """Return the codes of some rows of a partition, [feature][row][1]."""
    return codes[:, rows]


def grow_trees(
    job: ForestJob,
    trees: range,
    sampled: TreeRows | None,
    codes: list[npt.NDArray[np.uint8]],
    topic: str | None,
) -> dict[str, Any]:
    """Grow some trees of a forest, and return their arrays.

    Parameters
    ----------
    job : ForestJob
    trees : range
        Indices of the trees.
    sampled : TreeRows or None
        The rows of the codes; None for all rows.
    codes : list of ndarray
        Codes of the partitions of X, [feature][row][1].
    topic : str or None
        Topic of the progress reports.
    """
    plan, data = job.plan(trees), job.data._replace(n_threads=threads_of_worker())
    if sampled is not None:
        data = data._replace(
            labels=None if data.labels is None else data.labels[sampled.numbers],
            values=None if data.values is None else data.values[sampled.numbers],
            weights=None,  # they have decided which rows were sampled
        )
    progress = ProgressReporter(topic, trees.start)
    with stop_if_cancelled():
        arrays = grow_planned(
            plan,
            data,
            arranged(codes, plan.code_width, plan.order),
            sampled=None if sampled is None else sampled.counts,
            progress=None if topic is None else progress.update,
        )
    if sampled is not None and "leaf_rows" in arrays:
        arrays["leaf_rows"] = sampled.numbers[arrays["leaf_rows"]]
    return arrays


def arranged(
    parts: list[npt.NDArray[np.uint8]],
    width: int,
    order: npt.NDArray[np.int32] | None,
) -> npt.NDArray[np.uint8]:
    """Return the codes of partitions, [feature][row][1], as `encode` lays them out."""
    if order is None:
        order = np.arange(len(parts[0]), dtype=np.int32)
    n_blocks = -(-len(order) // width)
    n_rows = sum(part.shape[1] for part in parts)
    codes = np.zeros((n_blocks, n_rows, width), dtype=np.uint8)
    n_before = 0
    for part in parts:
        own = codes[:, n_before : n_before + part.shape[1]]
        for block in range(n_blocks):
            columns = order[block * width : (block + 1) * width]
            for first in range(0, part.shape[1], ARRANGED_ROWS):
                rows = slice(first, first + ARRANGED_ROWS)
                own[block, rows, : len(columns)] = part[columns, rows, 0].T
        n_before += part.shape[1]
    return codes.ravel()


# --- single trees -----------------------------------------------------------


def call_with_rows(pickled: bytes) -> Any:
    """Call a function of training data with all rows, gathered on this worker."""
    function, data, arguments, shape, dtype, parts = cloudpickle.loads(pickled)
    with stop_if_cancelled() as check, Gathered(shape, dtype) as gathered:
        with worker_client() as client:
            gathered.fill(client.compute(parts), check)
        rows = LocalRows(gathered.rows())
        data = data._replace(rows=rows, n_threads=threads_of_worker())
        return function(data, *arguments)


class Gathered:
    """Partitions gathered on one worker, dense ones in a file on its disk.

    The system keeps as much of the file in memory as there is room for. Sparse
    partitions are small and stay in memory, unless others are dense.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self._shape = shape
        self._dtype = dtype
        self._sparse: dict[int, SparseRows] = {}  # by the index of the first row
        self._path: Path | None = None
        self._array: Array | None = None

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, *error: object) -> None:
        self._array = None  # first, because some systems keep files that are in use
        if self._path is not None:
            self._path.unlink()

    def fill(self, parts: list[Future], check: Callable[[], None]) -> None:
        """Copy one partition after the other, and release it.

        `check` is called from time to time and raises if the task was cancelled.
        """
        first = 0
        for i in range(len(parts)):
            while not parts[i].done():
                check()
                pause([parts[i]])
            matrix = parts[i].result()
            parts[i] = None
            if isinstance(matrix, SparseRows):
                self._sparse[first] = matrix
            elif len(matrix) > 0:
                self._on_disk()[first : first + len(matrix)] = matrix
            first += len(matrix)

    def rows(self) -> Array | SparseRows:
        """Return all rows."""
        if self._array is None:
            return concat_rows(list(self._sparse.values()))
        for first, matrix in self._sparse.items():
            self._array[first : first + len(matrix)] = matrix.to_dense()
        return np.asarray(self._array)

    def _on_disk(self) -> Array:
        if self._array is None:
            file, path = tempfile.mkstemp(
                prefix="dics-rows-", dir=get_worker().local_directory
            )
            os.close(file)
            self._path = Path(path)
            self._array = np.memmap(
                self._path, dtype=self._dtype, mode="w+", shape=self._shape
            )
        return self._array
