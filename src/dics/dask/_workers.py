"""Tasks of a worker in a fit: the rounds of boosting with its rows, and reports."""

from __future__ import annotations

import contextlib
import mmap
import socket
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from distributed import (
    Queue,
    Reschedule,
    Status,
    get_worker,
    secede,
    worker_client,
)

from dics import _core
from dics._boosting.rounds import Rounds
from dics._boosting.rows import BoostJob, RowValues
from dics._dictionary import Dictionary
from dics._input.checks import Array
from dics._model.trees import Trees
from dics._version import VERSION
from dics.dask._links import Links, Security, listen
from dics.dask._meeting import Address
from dics.dask._partitions import threads_of_worker
from dics.dask._watch import ProgressReporter

# Rows whose scores are computed at a time, which bounds the memory.
BLOCK_ROWS = 1 << 16
# Size of arrays that may use huge pages.
HUGE_BYTES = 1 << 22
# Wait for an answer of the client between two checks that it still exists.
ANSWER_SECONDS = 1.0
# Ports and connections of running fits, by fit and worker: several workers may be
# threads of one process.
_ports: dict[tuple[str, str], socket.socket] = {}
_links: dict[tuple[str, str], Links] = {}


class Port(NamedTuple):
    """Address of a worker for a fit, and its version of dics."""

    address: Address
    version: str


def open_port(fit: str) -> Port:
    """Open a port for the other workers of a fit."""
    worker = get_worker()
    host = worker.address.partition("://")[2].rpartition(":")[0].strip("[]")
    # Workers that are threads of this process have no network address.
    if worker.address.startswith("inproc"):
        host = "127.0.0.1"
    listener = listen(host)
    _ports[fit, worker.address] = listener
    return Port(Address(*listener.getsockname()[:2]), VERSION)


def _security() -> Security:
    """Return the encryption of the cluster."""
    worker = get_worker()
    if not worker.address.startswith("tls"):
        return Security()
    security = worker.security
    return Security(
        security.get_listen_args("worker")["ssl_context"],
        security.get_connection_args("worker")["ssl_context"],
    )


def end_fit(fit: str, dask_worker: Any) -> None:
    """Close the port and the connections of a fit; called by `Client.run`."""
    key = fit, dask_worker.address
    listener, links = _ports.pop(key, None), _links.get(key)
    if listener is not None:
        listener.close()
    if links is not None:
        links.close()


def cancellation_check() -> Callable[[], bool]:
    """Return a function that returns True if the task of this thread was cancelled.

    Dask cancels it if its client was closed, has died or has cancelled it. The function
    also returns True if the worker is leaving the cluster.
    """
    worker = get_worker()
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            return True
        return worker.status in (Status.closing, Status.closed)

    return is_cancelled


@contextlib.contextmanager
def stop_if_cancelled() -> Iterator[Callable[[], None]]:
    """Stop the task of this thread soon after it was cancelled.

    The core checks during its calls. Other code calls the function that this yields,
    which raises `Reschedule`: if another client still needs the task, the scheduler
    starts it again.
    """
    is_cancelled = cancellation_check()

    def check() -> None:
        if is_cancelled():
            raise Reschedule

    # Tasks may be nested: the check of the outer one is restored.
    before = _core.set_check(check)
    try:
        yield check
    finally:
        _core.set_check(before)


class RankRows(NamedTuple):
    """Rows of one rank, from the partitions of its worker.

    Attributes
    ----------
    keys : list of str
        Keys of the codes of each partition in the store of the worker. If they were
        arguments, the task would hold the codes in memory until it ends.
    chosen : list of ndarray or None
        Rows of each partition that are used; None for all.
    runs : ndarray of shape (n_parts, 3)
        See `Links`.
    values : RowValues
        Those of all rows that are used, with the weights of the core.
    """

    keys: list[Any]
    chosen: list[npt.NDArray[np.intp] | None]
    runs: npt.NDArray[np.int64]
    values: RowValues

    def joined(
        self, store: MutableMapping[Any, Any], n_features: int
    ) -> npt.NDArray[np.uint8]:
        """Return the codes of the rows in one array, [feature][row].

        In the store, views of that array replace complete partitions. Codes are then in
        memory once, and are still in the store if another worker is lost.

        Parameters
        ----------
        store : mapping
            The codes of partitions on the worker, [feature][row][1].
        n_features : int
        """
        joined = empty_codes(n_features, int(self.runs[:, 2].sum()))
        for key, rows, (first, _, n) in zip(
            self.keys, self.chosen, self.runs, strict=True
        ):
            part = joined[:, first : first + n]
            part[...] = store[key][:, :, 0] if rows is None else store[key][:, rows, 0]
            if rows is None:
                store[key] = part[:, :, None]
        return joined

    def for_core(
        self, store: MutableMapping[Any, Any], job: BoostJob, n_threads: int
    ) -> tuple[Array | None, ...]:
        """Return the arrays of a set of rows in the order of the core."""
        codes = self.joined(store, len(job.dictionary.offsets) - 1)
        scores = job.first_scores(
            codes.shape[1],
            self.values.offset,
            lambda trees, scores: add_values(
                trees, codes, job.dictionary, scores, n_threads
            ),
        )
        labels, targets, weights, _ = self.values
        return codes.ravel(), labels, targets, weights, scores


def empty_codes(n_features: int, n_rows: int) -> npt.NDArray[np.uint8]:
    """Return an array for codes whose memory is allocated while it is filled.

    A partition fills a piece of every feature. With huge pages, which NumPy requests,
    the first partition would allocate the whole array, while the codes of all
    partitions are still in memory.
    """
    n_bytes = n_features * n_rows
    if n_bytes < HUGE_BYTES or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.empty((n_features, n_rows), dtype=np.uint8)
    memory = mmap.mmap(-1, n_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # systems without huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=np.uint8).reshape(n_features, n_rows)


def add_values(
    trees: Trees,
    codes: npt.NDArray[np.uint8],
    dictionary: Dictionary,
    scores: npt.NDArray[np.float32],
    n_threads: int,
) -> None:
    """Add the leaf values of trees to the scores of rows of codes, [feature][row]."""
    coded = trees.with_code_thresholds(dictionary.values, dictionary.offsets)
    # The code after the last threshold is that of NaN.
    missing = (np.diff(dictionary.offsets) + 1)[:, None]
    for first in range(0, codes.shape[1], BLOCK_ROWS):
        some = codes[:, first : first + BLOCK_ROWS]
        values = np.where(some == missing, np.float32(np.nan), some)
        coded.add_values(
            values.astype(np.float32).T,
            scores[first : first + BLOCK_ROWS],
            n_threads=n_threads,
        )


class RankTask(NamedTuple):
    """Arguments of a fit that are the same for all ranks."""

    fit: str
    token: bytes
    addresses: list[Address]
    run_starts: npt.NDArray[np.int64]
    job: BoostJob
    patience: int | None
    tol: float
    history: list[tuple[float, list[float]]]  # losses of earlier rounds
    n_sets: int
    watched: int | None  # set with scores for the client; 0: training rows
    n_watched: int
    asks: bool  # the client decides after each round
    reports: bool  # the client shows the progress
    n_threads: int | None


class RankResult(NamedTuple):
    """Trees and losses of a rank at the end, or when another rank is lost."""

    arrays: dict[str, Any]
    used: npt.NDArray[np.int64]
    is_lost: bool
    history: list[tuple[float, list[float]]]
    n_sums: int = 0
    bytes_sent: int = 0


class Watched(NamedTuple):
    """Scores for the scorer of the client, and the runs of their rows."""

    scores: Any  # the core adds to them in place
    runs: npt.NDArray[np.int64]


class RoundReporter:
    """Records each round of a rank, reports to the client, and stops early."""

    def __init__(
        self,
        task: RankTask,
        links: Links,
        watched: Watched | None,
        is_cancelled: Callable[[], bool],
    ) -> None:
        self.task = task
        self._is_cancelled = is_cancelled
        self.links = links
        self.watched = watched
        self.rounds = Rounds(
            patience=task.patience,
            tol=task.tol,
            n_sets=task.n_sets,
            learning_rate=task.job.settings.learning_rate,
        )
        # Early stopping of a resumed fit counts earlier rounds, too.
        for train, held in task.history:
            self.rounds.note(train, held)
        self.history = list(task.history)
        self.is_lost = False
        self._is_first = True
        # All ranks have the same losses: one report is enough.
        is_heard = task.reports and links.rank == 0
        self._reporting = ProgressReporter(task.fit if is_heard else None)

    def note(self, train: float, held: list[float]) -> float:
        """Record a round.

        Returns the learning rate of the next round, or 0.0 if it was the last.
        """
        if self._is_cancelled():
            self.is_lost = True
            return 0.0
        # A resumed fit begins with its last losses, which the history has already.
        is_known = self._is_first and len(self.history) > 0
        self._is_first = False
        if is_known:
            return self.rounds.learning_rate
        self.history.append((train, held))
        rate = self.rounds.note(train, held)
        if self.task.asks:
            return self._ask(train, held)
        self._reporting.update(
            len(self.history) - 1, [train, *held], self.links.peers.bytes_of_all
        )
        return rate

    def _ask(self, train: float, held: list[float]) -> float:
        """Let the client decide on the next round; all ranks get its answer."""
        scores = self._watched_scores()
        answer = np.zeros(1)
        if self.links.rank == 0 and not self.is_lost:
            given = self._answer((train, held, scores, self.links.peers.bytes_of_all))
            self.is_lost = given is None
            answer[0] = given or 0.0
        # The maximum passes on the answer, because all other ranks have zero.
        if self.is_lost or not self.links.allreduce_max(answer):
            self.is_lost = True
            return 0.0
        return float(answer[0])

    def _answer(self, question: tuple[Any, ...]) -> float | None:
        """Return the answer of the client; None if the task was cancelled."""
        with worker_client(separate_thread=False) as client:
            Queue(self.task.fit + "-asked", client=client).put(question)
            answers = Queue(self.task.fit + "-answer", client=client)
            while not self._is_cancelled():
                with contextlib.suppress(TimeoutError):
                    return float(answers.get(timeout=ANSWER_SECONDS))
        return None

    def _watched_scores(self) -> npt.NDArray[np.float32] | None:
        """Gather the scores for the scorer of the client."""
        if self.watched is None:
            return None
        scores = self.watched.scores
        whole = np.zeros((self.task.n_watched, scores.shape[1]), dtype=np.float32)
        for first, start, n in self.watched.runs:
            whole[start : start + n] = scores[first : first + n]
        # An integer sum gathers the bits: each score is zero in all other processes.
        bits = whole.reshape(-1).view(np.int32)
        self.is_lost = not self.links.allreduce(bits)
        return whole


def boost_rank(rank: int, task: RankTask, sets: list[RankRows]) -> RankResult:
    """Run the rounds of a fit with the rows of this worker.

    The first set contains the training rows.
    """
    with linked(rank, task, sets[0].runs) as links:
        # Without a worker or its codes, the client starts the other ranks again.
        lost = RankResult({}, task.job.used_splits, True, task.history)
        if links is None:
            return lost
        n_threads = task.n_threads or threads_of_worker()
        store = get_worker().data
        try:
            every = [rows.for_core(store, task.job, n_threads) for rows in sets]
        except KeyError:  # Dask has just moved the codes to another worker
            return lost
        watched = None
        if task.watched is not None:
            watched = Watched(every[task.watched][-1], sets[task.watched].runs)
        reporter = RoundReporter(task, links, watched, cancellation_check())
        arrays, used, is_lost = _core.boost(
            training=every[0],
            validation=every[1:],
            peers=links.peers,
            n_threads=n_threads,
            **task.job.core_arguments(reporter.note),
        )
        return RankResult(
            arrays,
            used,
            is_lost or reporter.is_lost,
            reporter.history,
            links.peers.n_sums,
            links.peers.bytes_sent,
        )


@contextlib.contextmanager
def linked(
    rank: int, task: RankTask, runs: npt.NDArray[np.int64]
) -> Iterator[Links | None]:
    """Connect this worker to the other ranks of a fit; None if that fails."""
    key = task.fit, get_worker().address
    listener = _ports.pop(key, None)
    # Leave the thread pool: this task waits for other ranks, and other tasks may need
    # the thread.
    secede()
    if listener is None:
        yield None
        return
    links = Links(
        rank, task.addresses, listener, task.token, runs, task.run_starts, _security()
    )
    _links[key] = links
    try:
        yield links if links.open() else None
    finally:
        links.close()
        _links.pop(key, None)
