"""Rows of a Dask collection as training rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle, pairwise
from typing import Any, NamedTuple

import cloudpickle
import dask
import numpy as np
import numpy.typing as npt
from distributed import Future
from sklearn.utils.validation import validate_data

from dics import _core
from dics._boosting.rounds import Rounds
from dics._boosting.rows import BoostJob, CodedRows, RowValues
from dics._dictionary import Dictionary
from dics._estimator.running import Progress
from dics._growing.sampling import OutOfBag, OutOfBagSums
from dics._growing.settings import ForestPlan
from dics._input.categories import Categories
from dics._input.category_encoder import CategoryMeans, TargetEncoder
from dics._input.checks import Array
from dics._input.frames import CategoricalColumn, encoded_dtype
from dics._input.sparse import SparseRows, concat_rows
from dics._model.trees import Trees, concat_arrays
from dics._training import SampledRows, TrainingData, TrainingRows, as_float32
from dics.dask._boosting import MAX_RESTARTS, BoostSession
from dics.dask._gather import (
    ForestJob,
    call_with_rows,
    chosen_codes,
    gathered_bytes,
    grow_trees,
    n_gathered,
    rows_in_part,
    sample_rows,
)
from dics.dask._partitions import (
    PartitionShape,
    encode_partition,
    out_of_bag_sums,
    partition_matrix,
    take_rows,
    with_categories,
)
from dics.dask._watch import (
    LOOK_SECONDS,
    LOST,
    Watch,
    WorkersLost,
    new_topic,
    subscribed,
    without_graph_warnings,
)

# Workers keep an X of up to this fraction of their memory during a fit. The partitions
# of a larger X are computed again for each use.
MAX_KEPT = 0.3


class Whole(NamedTuple):
    """Partitions of an X: the first row of each, and the common type."""

    starts: npt.NDArray[np.int64]  # and the end of the last one
    n_columns: int
    dtype: np.dtype[Any]
    n_stored: int | None = None  # stored values, if all partitions are sparse

    @classmethod
    def of(cls, shapes: list[PartitionShape]) -> Whole:
        """Join the shapes of the partitions."""
        for i, shape in enumerate(shapes):
            if shape.n_columns != shapes[0].n_columns:
                raise ValueError(
                    f"partition {i} of X has {shape.n_columns} columns, partition 0 "
                    f"has {shapes[0].n_columns}."
                )
        lengths = [shape.n_rows for shape in shapes]
        filled = [shape for shape in shapes if shape.n_rows > 0]
        # Partitions without rows often have another type than the others.
        dtype = np.dtype(np.float64)
        if filled:
            dtype = np.result_type(*(shape.dtype for shape in filled))
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        stored = [shape.n_stored for shape in filled if shape.n_stored is not None]
        n_stored = sum(stored) if 0 < len(filled) == len(stored) else None
        return cls(starts, shapes[0].n_columns, dtype, n_stored)

    @property
    def n_bytes(self) -> int:
        """Bytes of all partitions, as the core reads them."""
        n_rows = int(self.starts[-1])
        if self.n_stored is None:
            return n_rows * self.n_columns * self.dtype.itemsize
        # Each value has a column index, and each row a start.
        return self.n_stored * (self.dtype.itemsize + 4) + 8 * n_rows

    def shapes(self) -> list[PartitionShape]:
        """Return the shapes of the partitions, in the common type."""
        return [
            PartitionShape(int(n), self.n_columns, self.dtype)
            for n in np.diff(self.starts)
        ]

    def numbers(
        self, rows: npt.NDArray[np.integer[Any]] | None, part: int
    ) -> tuple[int, npt.NDArray[np.int64] | None]:
        """Return the position of a partition in chosen rows, and its chosen rows."""
        first, last = self.starts[part : part + 2]
        if rows is None:
            return int(first), None
        begin, end = np.searchsorted(rows, [first, last])
        return int(begin), (rows[begin:end] - first).astype(np.int64)


def check_columns(estimator: Any, meta: Any, n_columns: int, *, reset: bool) -> None:
    """Set or compare the names and the number of an estimator's features."""
    named = meta if hasattr(meta, "columns") else np.empty((1, n_columns))
    validate_data(estimator, named, reset=reset, skip_check_array=True)


class ClusterRows(TrainingRows):
    """The rows of a Dask collection.

    Parameters
    ----------
    watch : Watch
        Monitor of the workers.
    meta : object
        An empty X with the names and types of the columns.
    parts : list of Delayed
        The partitions as arrays that the core reads.
    whole : Whole
    may_keep : bool, default=True
        Whether the workers keep the partitions from their first use on, if they have
        room for them.
    given : list of Delayed, default=()
        The partitions of the input, if categories are still in them.
    columns : mapping of int to CategoricalColumn, default=None
        Categorical columns of all rows.
    """

    keeps_means = False  # workers compute the mean of each row

    def __init__(
        self,
        watch: Watch,
        meta: Any,
        parts: list[Any],
        whole: Whole,
        *,
        may_keep: bool = True,
        given: Sequence[Any] = (),
        columns: Mapping[int, CategoricalColumn] | None = None,
    ) -> None:
        self.watch = watch
        self.client = watch.client
        self.meta = meta
        self.whole = whole
        self._parts = parts
        self._may_keep = may_keep
        self._given = given
        self.columns = {} if columns is None else columns
        self.shape = (int(whole.starts[-1]), whole.n_columns)
        self.dtype = whole.dtype

    @classmethod
    def of(cls, watch: Watch, meta: Any, given: list[Any], whole: Whole) -> ClusterRows:
        """Take the partitions of a collection as they were given."""
        matrices = [
            dask.delayed(partition_matrix)(part, i, shape)
            for i, (part, shape) in enumerate(zip(given, whole.shapes(), strict=True))
        ]
        return cls(watch, meta, matrices, whole, given=given)

    @property
    def parts(self) -> list[Any]:
        """The partitions; nothing is computed before the first use."""
        if self._may_keep:
            self._may_keep = False
            if self.whole.n_bytes <= MAX_KEPT * sum(self.watch.memory().values()):
                self._parts = self.client.persist(self._parts)
        return self._parts

    def read(self, columns: Mapping[int, CategoricalColumn]) -> ClusterRows:
        """Return the rows with the categorical columns that were read from them."""
        return ClusterRows(
            self.watch,
            self.meta,
            self._parts,
            self.whole,
            given=self._given,
            columns=columns,
        )

    def take(
        self, rows: npt.NDArray[np.integer[Any]] | None = None
    ) -> Array | SparseRows:
        if rows is None:
            rows = np.arange(len(self))
        tasks = []
        for i, part in enumerate(self.parts):
            _, chosen = self.whole.numbers(rows, i)
            if chosen is not None and len(chosen) > 0:
                tasks.append(dask.delayed(take_rows)(part, chosen))
        return concat_rows(self.watch.computed(tasks))

    def sample(self, indices: Callable[[], list[npt.NDArray[np.int64]]]) -> SampledRows:
        # Also float32 rows are taken: the core needs them in this process.
        sampled = np.unique(np.concatenate(indices()))
        rows = self.take(sampled)
        single = as_float32(rows, np.arange(len(rows)))
        return SampledRows(rows if single is None else single, sampled, len(self))

    def for_scorer(
        self,
        rows: npt.NDArray[np.intp] | None,  # noqa: ARG002
        n_rows: int,
    ) -> Array:
        # The current model has the scores of all rows, so its X needs no values.
        return np.empty((n_rows, 0))

    def with_categories(self, known: Categories, encoder: TargetEncoder) -> ClusterRows:
        return self.encode_categories(known, encoder.remote_means(known, self.columns))

    def encode_categories(
        self, known: Categories, means: CategoryMeans | None = None
    ) -> ClusterRows:
        """Return the rows with numbers for categories, and with columns of pairs.

        `means` are those of training rows.
        """
        bare = None
        if means is not None and not means.tables:
            means = None  # the category is enough
        if means is not None:
            bare = means._replace(folds=means.folds[:, :0])
            known = known.without_pair_means()  # which are those of `means`
        # Sent once, even if a partition is computed several times.
        sent = self._sent(known), self._sent(bare)
        parts = []
        for i, (part, shape) in enumerate(
            zip(self._given, self.whole.shapes(), strict=True)
        ):
            own = slice(*self.whole.starts[i : i + 2])
            folds = None if means is None else self._sent(means.folds[:, own])
            parts.append(dask.delayed(with_categories)(part, i, shape, *sent, folds))
        whole = self.whole._replace(
            n_columns=self.whole.n_columns + len(known.pairs),
            dtype=encoded_dtype(self.dtype),
        )
        return ClusterRows(self.watch, self.meta, parts, whole)

    def _sent(self, values: Any) -> Future:
        """Send an object to the cluster; Dask can send it again if a worker is lost."""
        task = dask.delayed(values, pure=False, traverse=False)
        with without_graph_warnings():  # it has to be sent once
            return self.client.compute(task)

    def codes(self, dictionary: Dictionary) -> list[Future]:
        """Encode the partitions on their workers; see `encode_partition`."""
        known = dask.delayed(dictionary, pure=False)
        tasks = [dask.delayed(encode_partition)(part, known) for part in self.parts]
        futures: list[Future] = self.client.compute(tasks)
        return futures

    def grow_forest(
        self,
        plan: ForestPlan,
        dictionary: Dictionary,
        data: TrainingData,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Let each worker grow some trees of a forest.

        A worker gathers the codes of the rows that its trees have sampled. It grows as
        many trees at a time as its memory allows.
        """
        settings = plan.settings
        n_workers = max(1, len(self.watch.workers()))
        trees = range(settings.first_tree, settings.first_tree + settings.n_trees)
        n_trees = self._trees_at_once(data, settings.sample_size, len(trees), n_workers)
        is_sampled = n_gathered(len(self), settings.sample_size, n_trees) < len(self)
        if is_sampled and data.values is not None:
            # Targets in fixed point need the scale of all rows. A worker has some only.
            scale = _core.moment_scale(data.values, settings)
            tree = settings.tree.replace(scale=scale)
            plan = plan._replace(settings=settings.replace(tree=tree))
        codes = self.codes(dictionary)
        # Sent before the tasks. As a part of them, it would belong to the worker that
        # grows the last trees, and be lost with it.
        job = self._sent(ForestJob.of(plan, data))
        # A group for each worker, or more if the memory of a worker needs smaller ones.
        n_groups = max(min(len(trees), n_workers), -(-len(trees) // n_trees))
        cuts = np.linspace(trees.start, trees.stop, n_groups + 1).astype(int)
        groups = [range(first, last) for first, last in pairwise(cuts.tolist())]
        shows = progress is not None and progress.enabled
        topic = new_topic() if shows else None
        done: dict[int, int] = {}

        def note(report: tuple[int, int]) -> None:
            # By group, because reports of several workers arrive in any order.
            first, n_done = report
            done[first] = n_done
            if progress is not None:
                progress.update(sum(done.values()))

        grown = []
        with subscribed(self.client, topic, note):
            # One group per worker at a time: waiting groups hold rows in memory.
            for first in range(0, n_groups, n_workers):
                some = groups[first : first + n_workers]
                grown += self._grow_groups(
                    job, some, codes, topic, is_sampled=is_sampled
                )
        return concat_arrays(grown)

    def _trees_at_once(
        self, data: TrainingData, sample_size: int, n_trees: int, n_workers: int
    ) -> int:
        """Return the number of trees that a worker grows from gathered rows."""
        values = data.labels if data.values is None else data.values
        assert values is not None
        row_bytes = values.nbytes // len(values) + (0 if data.weights is None else 8)

        def needed(n_trees: int) -> int:
            return gathered_bytes(
                self.shape, sample_size, n_trees, row_bytes, n_workers
            )

        self.check_forest_room(sample_size, row_bytes)
        limit, _ = self._smallest_limit()
        most = -(-n_trees // n_workers)
        if limit is None or needed(most) <= limit // 2:
            return most
        fitting = [n for n in range(1, most) if needed(n) <= limit // 2]
        return max(fitting, default=1)

    def _chosen_codes(
        self, job: Future, trees: range, codes: list[Future]
    ) -> tuple[Future, list[Future]]:
        """Let workers select the codes of the rows that some trees have sampled."""
        # Where the partitions are, so that only chosen codes are sent to the trees.
        sampled = self.client.submit(sample_rows, job, trees, pure=False)
        chosen = [
            self.client.submit(
                chosen_codes,
                part,
                self.client.submit(rows_in_part, sampled, *ends, pure=False),
                pure=False,
            )
            for part, ends in zip(
                codes, pairwise(self.whole.starts.tolist()), strict=True
            )
        ]
        return sampled, chosen

    def _grow_groups(
        self,
        job: Future,
        groups: list[range],
        codes: list[Future],
        topic: str | None,
        *,
        is_sampled: bool,
    ) -> list[dict[str, Any]]:
        """Let each worker grow a group of trees, from all rows or a sample."""
        gathered = [
            self._chosen_codes(job, trees, codes) if is_sampled else (None, codes)
            for trees in groups
        ]
        preferred: dict[int, str] = dict(
            zip(range(len(groups)), cycle(sorted(self.watch.workers())))
        )

        def submit(i: int, worker: str | None) -> Future:
            return self.client.submit(
                grow_trees,
                job,
                groups[i],
                *gathered[i],
                topic,
                pure=False,
                workers=worker,
                allow_other_workers=worker is not None,
            )

        grown = [submit(i, preferred.get(i)) for i in range(len(groups))]

        def replace() -> bool:
            """Submit tasks again without a preference if their worker is lost.

            Dask never starts such a task if no other worker was running at the moment
            of the loss, because all were paused (distributed 2026.8).
            """
            present = self.watch.workers()
            lost = [i for i, worker in preferred.items() if worker not in present]
            for i in lost:
                del preferred[i]
                grown[i] = submit(i, None)
            return len(lost) > 0

        return self.watch.results(grown, replace)

    def gathered(
        self, function: Callable[..., Any], data: TrainingData, *arguments: Any
    ) -> Any:
        without_rows: Any = data._replace(rows=None)  # type: ignore[arg-type]
        text = cloudpickle.dumps(
            (function, without_rows, arguments, self.shape, self.dtype, self.parts)
        )
        for _ in range(MAX_RESTARTS):
            found = self._try_call(text)
            if found is not None:
                return found
        raise WorkersLost(f"workers were lost {MAX_RESTARTS} times in one fit.")

    def _try_call(self, text: bytes) -> Any:
        """Call the function on a worker; None if the worker or its data are lost."""
        self.watch.wait_for_workers()
        try:
            (sent,) = self.client.scatter([text], hash=False)
        except OSError:  # the target worker has just been lost
            self.watch.check_connection()
            time.sleep(LOOK_SECONDS)
            return None
        try:
            task = self.client.submit(
                call_with_rows, sent, pure=False, key=new_topic(), retries=MAX_RESTARTS
            )
            (found,) = self.watch.results([task])
        except LOST:
            self.watch.check_connection()
            return None
        return found

    def out_of_bag_sums(
        self,
        trees: OutOfBag,
        left_out: Iterable[npt.NDArray[np.bool_]],
        n_threads: int,  # noqa: ARG002 (those of each worker)
    ) -> OutOfBagSums:
        ends = list(pairwise(self.whole.starts))
        # The client samples the rows, and sends one bit per row and tree.
        bits: list[list[npt.NDArray[np.uint8]]] = [[] for _ in ends]
        for own in left_out:
            for of_part, (first, last) in zip(bits, ends, strict=True):
                of_part.append(np.packbits(own[first:last]))
        known = self._sent(trees)
        found = self.watch.computed(
            [
                dask.delayed(out_of_bag_sums)(
                    part, known, self._sent(np.stack(of_part))
                )
                for part, of_part in zip(self.parts, bits, strict=True)
            ]
        )
        sums, n_trees = zip(*found, strict=True)
        return OutOfBagSums(np.concatenate(sums), np.concatenate(n_trees))

    def check_tree_room(self) -> None:
        """Raise if no worker has memory for the rows of a tree, before any work."""
        n_bytes = self.whole.n_bytes
        if self.whole.n_stored is None:
            n_bytes += self.shape[0] * (self.shape[1] + 16)
        limit, _ = self._smallest_limit()
        if limit is not None and limit < n_bytes:
            raise MemoryError(
                f"a tree needs all rows on one worker: {self.shape[0]} rows and "
                f"{self.shape[1]} columns take at least {n_bytes / 2**20:.1f} MiB, and "
                f"the memory limit of a worker is {limit / 2**20:.1f} MiB. Use a "
                "forest with max_samples well below 1, whose trees need a part of the "
                "rows, or boosting, whose rows stay where they are."
            )

    def check_forest_room(self, sample_size: int, row_bytes: int = 4) -> None:
        """Raise if a worker has no memory for the rows of one tree of a forest.

        Parameters
        ----------
        sample_size : int
            Number of rows sampled for each tree; 0 for all.
        row_bytes : int, default=4
            See `gathered_bytes`.
        """
        limit, n_workers = self._smallest_limit()
        n_bytes = gathered_bytes(self.shape, sample_size, 1, row_bytes, n_workers)
        if limit is not None and limit < n_bytes:
            n_rows = n_gathered(len(self), sample_size, 1)
            raise MemoryError(
                f"a tree of a forest needs {n_rows} of {self.shape[0]} rows on one "
                f"worker: with {self.shape[1]} columns, they take at least "
                f"{n_bytes / 2**20:.1f} MiB, and the memory limit of a worker is "
                f"{limit / 2**20:.1f} MiB. Set a smaller max_samples, or use boosting, "
                "whose rows stay where they are."
            )

    def _smallest_limit(self) -> tuple[int | None, int]:
        """Return the smallest memory limit (or None), and the number of workers."""
        limits = list(self.watch.memory().values()) or [0]
        return min(limits) or None, len(limits)

    def _check_room(self, n_bytes: int) -> None:
        """Raise if all workers together have too little memory, before any work."""
        limits = list(self.watch.memory().values())
        if not limits or min(limits) <= 0:  # a worker has no limit
            return
        if sum(limits) < n_bytes:
            raise MemoryError(
                f"{self.shape[0]} rows and {self.shape[1]} columns take at least "
                f"{n_bytes / 2**20:.1f} MiB on all workers, whose limit of memory is "
                f"{sum(limits) / 2**20:.1f} MiB."
            )

    def encode(
        self,
        job: BoostJob,
        values: RowValues,
        n_threads: int,  # noqa: ARG002 (those of each worker)
    ) -> ClusterCodes:
        n_outputs = len(job.start)
        # Codes; scores, gradients and hessians of the outputs; labels, weights, order.
        row_bytes = self.shape[1] + 4 * (2 * n_outputs + 6)
        self._check_room(self.shape[0] * row_bytes)
        codes = self.codes(job.dictionary)
        return ClusterCodes(self.watch, codes, self.whole, None, values, n_outputs)


class ClusterCodes(CodedRows):
    """Codes of rows on a cluster, or of some of them.

    Parameters
    ----------
    watch : Watch
    codes : list of Future
        Codes of each partition.
    whole : Whole
    rows : ndarray or None
        Increasing indices of the chosen rows; None for all.
    values : RowValues
        Those of the chosen rows.
    n_outputs : int
        Number of scores of each row.
    """

    def __init__(
        self,
        watch: Watch,
        codes: list[Future],
        whole: Whole,
        rows: npt.NDArray[np.intp] | None,
        values: RowValues,
        n_outputs: int,
    ) -> None:
        self.watch = watch
        self.codes = codes
        self.whole = whole
        self.rows = rows
        self.values = values
        self.n_outputs = n_outputs
        self._scores: npt.NDArray[np.float32] | None = None

    @property
    def n_rows(self) -> int:
        return int(self.whole.starts[-1]) if self.rows is None else len(self.rows)

    @property
    def scores(self) -> npt.NDArray[np.float32]:  # type: ignore[override]
        """Scores of the rows, gathered after each round for a scorer."""
        if self._scores is None:
            self._scores = np.empty((self.n_rows, self.n_outputs), dtype=np.float32)
        return self._scores

    @property
    def is_scored(self) -> bool:
        """Return True if a scorer uses the scores."""
        return self._scores is not None

    def take(self, rows: npt.NDArray[np.intp] | None) -> ClusterCodes:
        if rows is None:
            return self
        return ClusterCodes(
            self.watch,
            self.codes,
            self.whole,
            rows if self.rows is None else self.rows[rows],
            self.values.take(rows),
            self.n_outputs,
        )

    def boost(
        self,
        job: BoostJob,
        validation: list[Any],
        rounds: Rounds,
        n_threads: int,  # noqa: ARG002 (those of each worker)
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        return BoostSession(self, validation, rounds).run(job)
