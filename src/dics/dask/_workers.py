"""Tasks of a worker in a fit, reports to the client, and lost workers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import mmap
import socket
import time
import uuid
from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import dask
import numpy as np
import numpy.typing as npt
from distributed import (
    Client,
    Future,
    Queue,
    Reschedule,
    Status,
    get_worker,
    secede,
    worker_client,
)
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from dics import _core
from dics._boosting.rounds import Rounds
from dics._boosting.rows import BoostCall
from dics._dictionary import Dictionary
from dics._input.checks import Array
from dics._model.trees import Trees
from dics._version import VERSION
from dics.dask._links import Address, Links, Security, listen
from dics.dask._partitions import threads_of_worker

# Between two reports of a worker.
REPORT_SECONDS = 0.3

# Longest wait for a worker if none is left: the setting "dics.patience" of Dask.
DEFAULT_PATIENCE = 60.0
# Between two checks of the workers.
LOOK_SECONDS = 1.0
# Longest pause between two checks of tasks, and between two polls in it.
PAUSE_SECONDS = 0.1
POLL_SECONDS = 0.003
# Errors of a task that was lost with its worker.
LOST = (KilledWorker, FutureCancelledError, CancelledError)
# Rows whose scores are found at a time.
BLOCK_ROWS = 1 << 16
# Arrays from which on huge pages matter.
HUGE_BYTES = 1 << 22
# To wait for an answer of the client before a look whether it is still there.
ANSWER_SECONDS = 1.0
# Ports and connections of fits that go on, by fit and worker: several workers may be
# threads of one process.
_ports: dict[tuple[str, str], socket.socket] = {}
_links: dict[tuple[str, str], Links] = {}


def new_topic() -> str:
    """Return a name that no other fit has."""
    return f"dics-{uuid.uuid4().hex}"


class Reporting:
    """Reports how far the work of a worker is.

    Parameters
    ----------
    topic : str or None
        What the client listens to; None reports nothing.
    who : int
        What the reports begin with.
    """

    def __init__(self, topic: str | None, who: int = 0) -> None:
        self.topic = topic
        self.who = who
        self._last = 0.0

    @property
    def enabled(self) -> bool:
        """Whether somebody listens."""
        return self.topic is not None

    def update(self, done: int, *more: Any) -> None:
        """Report, unless the last time was a moment ago."""
        if self.enabled and time.monotonic() - self._last > REPORT_SECONDS:
            self._last = time.monotonic()
            get_worker().log_event(self.topic, (self.who, done, *more))


@contextlib.contextmanager
def reports_of(
    client: Client, topic: str | None, note: Callable[[Any], None]
) -> Iterator[None]:
    """Call `note` with each report under a topic, from the thread of the client."""
    if topic is None:
        yield
        return
    client.subscribe_topic(topic, lambda event: note(event[1]))
    try:
        yield
    finally:
        if client.status == "running":
            client.unsubscribe_topic(topic)


class WorkersLost(RuntimeError):
    """No worker is left for a fit."""


class Watch:
    """Waits for tasks, and checks that the cluster has workers for them.

    Dask decides if a worker is lost: at once if its process ends, after
    `distributed.scheduler.worker-ttl` if it hangs.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._had_workers = time.monotonic()

    def workers(self) -> dict[str, Any]:
        """Return what the scheduler knows of its workers, by their addresses."""
        self.check_connection()
        # Not by `Client.scheduler_info`: the client itself asks for it without workers
        # every other second, and the answer to that may be returned here.
        try:
            known = self.client.sync(self.client.scheduler.identity, n_workers=-1)
        except OSError as error:
            raise self._connection_lost() from error
        workers: dict[str, Any] = known["workers"]
        return workers

    def check_connection(self) -> None:
        """Raise an error if the scheduler is gone."""
        if self.client.status != "running":
            raise self._connection_lost()

    def _connection_lost(self) -> ConnectionError:
        return ConnectionError(
            "the connection to the scheduler is lost (the client is "
            f"{self.client.status})."
        )

    def memory(self) -> dict[str, int]:
        """Return the memory limit of each worker in bytes; 0 for no limit."""
        return {
            address: int(worker["memory_limit"])
            for address, worker in self.workers().items()
        }

    def paused(self) -> dict[str, Any]:
        """Return the workers that Dask gives no task, as their memory is full."""
        return {
            address: worker
            for address, worker in self.workers().items()
            if worker["status"] == "paused"
        }

    def check_workers(self) -> bool:
        """Return True if a worker takes tasks; raise if none did for too long."""
        paused = self.paused()
        now = time.monotonic()
        if self.workers().keys() - paused.keys():
            self._had_workers = now
            return True
        if now - self._had_workers > patience_seconds():
            if paused:
                raise MemoryError(paused_message(paused))
            raise WorkersLost("no worker is left; start some and fit again.")
        return False

    def check_memory(self, workers: list[str], began: float) -> None:
        """Raise an error if workers that got tasks long ago are paused."""
        if time.monotonic() - began < patience_seconds():
            return
        paused = {a: w for a, w in self.paused().items() if a in workers}
        if paused:
            raise MemoryError(paused_message(paused))

    def wait(self, futures: list[Future]) -> None:
        """Wait until tasks have ended; Dask repeats those of lost workers."""
        self._had_workers = looked = time.monotonic()
        while not all(future.done() for future in futures):
            pause(futures)
            if time.monotonic() - looked > LOOK_SECONDS:
                self.check_workers()
                looked = time.monotonic()
        self.check_connection()

    def wait_for_workers(self) -> None:
        """Wait until there is a worker that takes tasks."""
        self._had_workers = time.monotonic()
        while not self.check_workers():
            time.sleep(PAUSE_SECONDS)

    def results(self, futures: list[Future]) -> list[Any]:
        """Wait for tasks and return their results; Dask repeats lost tasks."""
        # Gather only finished tasks: an interrupted gather keeps its futures for a
        # while, and the workers would go on with them.
        self.wait(futures)

        def goes_on() -> bool:
            self.check_workers()
            return True

        results: list[Any] = self._gather(futures, goes_on)
        return results

    def computed(self, tasks: list[Any]) -> list[Any]:
        """Compute tasks on the cluster and return their results."""
        return self.results(self.client.compute(tasks))

    def gathered(self, futures: Any, workers: list[str]) -> Any:
        """Return the results of tasks of certain workers; None if one is lost.

        `Future.result` would wait for ever if a worker died after its task.
        """
        try:
            return self._gather(futures, lambda: set(workers) <= self.workers().keys())
        except LOST:
            return None

    def _gather(self, futures: Any, goes_on: Callable[[], bool]) -> Any:
        """Return the results of tasks, or None as soon as `goes_on` returns False."""
        fetching = asyncio.run_coroutine_threadsafe(
            self.client.gather(futures, asynchronous=True),
            self.client.loop.asyncio_loop,
        )
        try:
            while goes_on():
                done, _ = concurrent.futures.wait([fetching], LOOK_SECONDS)
                if done:
                    return fetching.result()
        except LOST:
            self.check_connection()
            raise
        except CommClosedError as error:
            raise self._connection_lost() from error
        finally:
            fetching.cancel()
        return None

    def check_versions(self) -> None:
        """Refuse workers that have another version of dics, or none."""
        found = self.client.run(version_here, on_error="return")
        for worker, version in found.items():
            if isinstance(version, str):
                check_version(worker, version)
            elif isinstance(version, ImportError | AttributeError):
                raise ValueError(
                    f"the worker {worker} can't import dics: {version}; install dics "
                    f"{VERSION} everywhere."
                ) from version


def paused_message(paused: dict[str, Any]) -> str:
    """Return the text of the error for paused workers."""
    address, worker = next(iter(paused.items()))
    used, limit = worker["metrics"]["memory"], worker["memory_limit"]
    return (
        f"Dask has paused {len(paused)} workers for want of memory: {address} uses "
        f"{used / 2**20:.1f} MiB, its limit is {limit / 2**20:.1f} MiB."
    )


def patience_seconds() -> float:
    """Return the longest wait for a worker."""
    return float(dask.config.get("dics.patience", DEFAULT_PATIENCE))


def check_version(worker: str, version: str) -> None:
    """Refuse a worker that has another version of dics."""
    if version != VERSION:
        raise ValueError(
            f"the worker {worker} has dics {version}, the client {VERSION}; install "
            "the same version everywhere."
        )


def version_here() -> str:
    """Return the version of dics that a worker has."""
    from dics import _version

    return _version.VERSION


def pause(futures: list[Future]) -> None:
    """Wait a moment, or until the first of them ends.

    Not by `distributed.wait`: the error that it raises after a timeout keeps all
    futures, until Python collects cycles of references.
    """
    waiting = [future for future in futures if not future.done()]
    deadline = time.monotonic() + PAUSE_SECONDS
    while time.monotonic() < deadline:
        if any(future.done() for future in waiting):
            return
        time.sleep(POLL_SECONDS)


class Port(NamedTuple):
    """Where a worker listens for a fit, and its version of dics."""

    address: Address
    version: str


def _own_key(fit: str) -> tuple[str, str]:
    return fit, get_worker().address


def open_port(fit: str) -> Port:
    """Listen for the other workers of a fit."""
    worker = get_worker()
    host = worker.address.partition("://")[2].rpartition(":")[0].strip("[]")
    if worker.address.startswith("inproc"):
        host = "127.0.0.1"
    listener = listen(host)
    _ports[_own_key(fit)] = listener
    return Port(Address(*listener.getsockname()[:2]), VERSION)


def _security() -> Security:
    """Encrypt as the cluster does."""
    worker = get_worker()
    if not worker.address.startswith("tls"):
        return Security()
    security = worker.security
    return Security(
        security.get_listen_args("worker")["ssl_context"],
        security.get_connection_args("worker")["ssl_context"],
    )


def end_fit(fit: str, dask_worker: Any) -> None:
    """Close what a worker has open for a fit; called by `Client.run`."""
    key = fit, dask_worker.address
    listener, links = _ports.pop(key, None), _links.get(key)
    if listener is not None:
        listener.close()
    if links is not None:
        links.close()


def wanted_here() -> Callable[[], bool]:
    """Return what tells whether somebody waits for the task that this thread runs.

    Nobody does if its client was closed, has died or has cancelled it, or if the worker
    has left the cluster.
    """
    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        is_kept = task is not None and task.state != "cancelled"
        return is_kept and worker.status not in (Status.closing, Status.closed)

    return is_wanted


@contextlib.contextmanager
def ends_unwanted() -> Iterator[Callable[[], None]]:
    """End the task of this thread soon after nobody waits for it.

    Calls of the core look for it; for other work there is the function given, which
    raises an error. That is `Reschedule`, for a task that is wanted again the next
    moment: then the scheduler lets it begin anew.
    """
    is_wanted = wanted_here()

    def check() -> None:
        if not is_wanted():
            raise Reschedule

    before = _core.set_check(check)
    try:
        yield check
    finally:
        _core.set_check(before)


class RankRows(NamedTuple):
    """Rows of one rank: parts of the partitions that its worker has.

    Attributes
    ----------
    keys : list of str
        Names of the codes of each partition in the store of the worker. They are no
        arguments of a task, which would hold them in memory until it ends.
    chosen : list of ndarray or None
        Rows of each partition that take part; None for all.
    runs : ndarray of shape (n_parts, 3)
        See `Links`.
    labels, targets, weights : ndarray or None
        Of all rows that take part, as the core wants them.
    """

    keys: list[Any]
    chosen: list[npt.NDArray[np.intp] | None]
    runs: npt.NDArray[np.int64]
    labels: npt.NDArray[np.uint32] | None
    targets: npt.NDArray[np.float32] | None
    weights: npt.NDArray[np.float32] | None

    def joined(
        self, store: MutableMapping[Any, Any], n_features: int
    ) -> npt.NDArray[np.uint8]:
        """Bring the codes of its rows together, [feature][row].

        Whole partitions are then parts of that array in the store, too: codes are there
        once, and if another worker is lost they are still where they were.

        Parameters
        ----------
        store : mapping
            Where the worker keeps the codes of partitions, [feature][row][1].
        n_features : int
        """
        joined = empty_codes(n_features, int(self.runs[:, 2].sum()))
        for key, rows, (first, _, n) in zip(
            self.keys, self.chosen, self.runs, strict=True
        ):
            own = joined[:, first : first + n]
            own[...] = store[key][:, :, 0] if rows is None else store[key][:, rows, 0]
            if rows is None:
                store[key] = own[:, :, None]
        return joined

    def for_core(
        self, store: MutableMapping[Any, Any], call: BoostCall, n_threads: int
    ) -> tuple[Array | None, ...]:
        """Return the arrays in the order that the core knows."""
        codes = self.joined(store, len(call.dictionary.offsets) - 1)

        def add(trees: Trees, scores: npt.NDArray[np.float32]) -> None:
            add_values(trees, codes, call.dictionary, scores, n_threads)

        scores = call.first_scores(codes.shape[1], add)
        return codes.ravel(), self.labels, self.targets, self.weights, scores


def empty_codes(n_features: int, n_rows: int) -> npt.NDArray[np.uint8]:
    """Make an array for codes, whose memory is taken as it is filled.

    A partition is a piece of every feature: with huge pages, which NumPy asks for, the
    first one would take all of it, while the codes of the others are still there.
    """
    n_bytes = n_features * n_rows
    if n_bytes < HUGE_BYTES or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.empty((n_features, n_rows), dtype=np.uint8)
    memory = mmap.mmap(-1, n_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # of a system that has none
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=np.uint8).reshape(n_features, n_rows)


def add_values(
    trees: Trees,
    codes: npt.NDArray[np.uint8],
    dictionary: Dictionary,
    scores: npt.NDArray[np.float32],
    n_threads: int,
) -> None:
    """Add what trees say of rows that are codes, [feature][row], to their scores."""
    coded = trees.on_codes(dictionary.values, dictionary.offsets)
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
    """What all ranks of a fit are told."""

    fit: str
    token: bytes
    addresses: list[Address]
    run_starts: npt.NDArray[np.int64]
    call: BoostCall
    patience: int | None
    tol: float
    history: list[tuple[float, list[float]]]  # losses of rounds done before
    n_sets: int
    watched: int | None  # set whose scores the client asks for; 0: the training rows
    n_watched: int
    asks: bool  # the client decides after each round
    reports: bool  # it shows how far the fit is
    n_threads: int | None


class RankResult(NamedTuple):
    """What a rank has when it ends, or when another is lost."""

    arrays: dict[str, Any]
    used: npt.NDArray[np.int64]
    is_lost: bool
    history: list[tuple[float, list[float]]]
    n_sums: int
    bytes_sent: int


class Watched(NamedTuple):
    """Scores that a scorer looks at, and the runs of their rows."""

    scores: Any  # the core adds to them in place
    runs: npt.NDArray[np.int64]


class Listening:
    """What a rank does after each round: count it, tell the client, decide."""

    def __init__(
        self,
        task: RankTask,
        links: Links,
        watched: Watched | None,
        is_wanted: Callable[[], bool],
    ) -> None:
        self.task = task
        self._is_wanted = is_wanted
        self.links = links
        self.watched = watched
        self.rounds = Rounds(patience=task.patience, tol=task.tol, n_sets=task.n_sets)
        for train, held in task.history:
            self.rounds.note(train, held)
        self.history = list(task.history)
        self.is_lost = False
        self._is_first = True
        is_heard = task.reports and links.rank == 0
        self._reporting = Reporting(task.fit if is_heard else None)

    def note(self, train: float, held: list[float]) -> bool:
        """Take note of a round; return whether it was the last."""
        if not self._is_wanted():
            self.is_lost = True
            return True
        # A fit that goes on begins where it was.
        is_known = self._is_first and len(self.history) > 0
        self._is_first = False
        if is_known:
            return False
        self.history.append((train, held))
        ends = self.rounds.note(train, held)
        if self.task.asks:
            return self._ask(train, held)
        self._reporting.update(
            len(self.history) - 1, [train, *held], self.links.bytes_of_all
        )
        return ends

    def _ask(self, train: float, held: list[float]) -> bool:
        """Let the client decide."""
        scores = self._watched_scores()
        answer = np.zeros(1)
        if self.links.rank == 0 and not self.is_lost:
            given = self._answer((train, held, scores, self.links.bytes_of_all))
            self.is_lost = given is None
            answer[0] = given or 0.0
        if self.is_lost or not self.links.largest(answer):
            self.is_lost = True
            return True
        return bool(answer[0])

    def _answer(self, question: tuple[Any, ...]) -> float | None:
        """Return what the client says; None if it is gone."""
        with worker_client(separate_thread=False) as client:
            Queue(self.task.fit + "-asked", client=client).put(question)
            answers = Queue(self.task.fit + "-answer", client=client)
            while self._is_wanted():
                with contextlib.suppress(TimeoutError):
                    return float(answers.get(timeout=ANSWER_SECONDS))
        return None

    def _watched_scores(self) -> npt.NDArray[np.float32] | None:
        """Bring the scores that a scorer looks at together."""
        if self.watched is None:
            return None
        own = self.watched.scores
        whole = np.zeros((self.task.n_watched, own.shape[1]), dtype=np.float32)
        for first, number, n in self.watched.runs:
            whole[number : number + n] = own[first : first + n]
        # Of each number one process has the bits, all others zeros.
        bits = whole.reshape(-1).view(np.int32)
        self.is_lost = not self.links.add(bits)
        return whole


def boost_rank(rank: int, task: RankTask, sets: list[RankRows]) -> RankResult:
    """Take part in the rounds of a fit, with the rows that this worker has.

    The first of the sets are the training rows.
    """
    n_threads = task.n_threads or threads_of_worker()
    with linked(
        rank, task.fit, task.token, task.addresses, sets[0].runs, task.run_starts
    ) as links:
        if links is None:
            return _nothing(task)
        return _boost(task, links, sets, n_threads)


@contextlib.contextmanager
def linked(
    rank: int,
    fit: str,
    token: bytes,
    addresses: list[Address],
    runs: npt.NDArray[np.int64],
    run_starts: npt.NDArray[np.int64],
) -> Iterator[Links | None]:
    """Connect this worker to the other ranks of a fit; None if that fails."""
    key = _own_key(fit)
    listener = _ports.pop(key, None)
    # The other ranks wait for this one, and other fits may need the worker.
    secede()
    if listener is None:
        yield None
        return
    links = Links(rank, addresses, listener, token, runs, run_starts, _security())
    _links[key] = links
    try:
        yield links if links.open() else None
    finally:
        links.close()
        _links.pop(key, None)


def _boost(
    task: RankTask,
    links: Links,
    sets: list[RankRows],
    n_threads: int,
) -> RankResult:
    store = get_worker().data
    try:
        every = [rows.for_core(store, task.call, n_threads) for rows in sets]
    except KeyError:  # codes were moved to another worker this moment
        return _nothing(task)
    watched = None
    if task.watched is not None:
        watched = Watched(every[task.watched][-1], sets[task.watched].runs)
    listening = Listening(task, links, watched, wanted_here())
    arrays, used, is_lost = task.call.run(
        every[0], every[1:], listening.note, links.peers, n_threads
    )
    return RankResult(
        arrays,
        used,
        is_lost or listening.is_lost,
        listening.history,
        links.n_sums,
        links.bytes_sent,
    )


def _nothing(task: RankTask) -> RankResult:
    return RankResult({}, task.call.used_splits, True, task.history, 0, 0)
