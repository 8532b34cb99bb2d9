"""Monitor of the workers in the client: reports, results, losses, versions."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client, Future, get_worker
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from dics._version import VERSION

# Seconds between two reports of a worker.
REPORT_SECONDS = 0.3
# Longest wait for a worker if none is left; `dics.patience` in the Dask configuration.
DEFAULT_PATIENCE = 60.0
# Seconds between two checks of the workers.
LOOK_SECONDS = 1.0
# Longest pause between two checks of tasks, and the polling interval in it.
PAUSE_SECONDS = 0.1
POLL_SECONDS = 0.003
# Errors of tasks that were lost with their worker.
LOST = (KilledWorker, FutureCancelledError, CancelledError)


def new_topic() -> str:
    """Return a unique name for the reports of a fit."""
    return f"dics-{uuid.uuid4().hex}"


@dataclass
class ProgressReporter:
    """Reports the progress of a worker to the client.

    Parameters
    ----------
    topic : str or None
        Topic of the reports; None disables them.
    who : int
        First entry of the reports.
    """

    topic: str | None
    who: int = 0
    _last: float = 0.0  # time of the last report

    def update(self, done: int, *more: Any) -> None:
        """Send a report, unless the last one was sent just before."""
        if self.topic is not None and time.monotonic() - self._last > REPORT_SECONDS:
            self._last = time.monotonic()
            get_worker().log_event(self.topic, (self.who, done, *more))


@contextlib.contextmanager
def without_graph_warnings() -> Iterator[None]:
    """Ignore warnings of Dask about graphs that have to be large, or of two kinds."""
    with warnings.catch_warnings():
        for start in ("Sending large graph", "Computing mixed collections"):
            warnings.filterwarnings("ignore", start)
        yield


@contextlib.contextmanager
def subscribed(
    client: Client, topic: str | None, note: Callable[[Any], None]
) -> Iterator[None]:
    """Call `note` with each report under a topic, from the thread of the client."""
    # Without a listener, workers send no reports.
    if topic is None:
        yield
        return
    client.subscribe_topic(topic, lambda event: note(event[1]))
    try:
        yield
    finally:
        # A closed client has no connection for it.
        if client.status == "running":
            client.unsubscribe_topic(topic)


class WorkersLost(RuntimeError):
    """Error of a fit without workers, or of one that has lost workers too often.

    See Also
    --------
    DaskCGBoostingClassifier.fit : Method that raises the error.

    Examples
    --------
    >>> from dics.dask import WorkersLost
    >>> issubclass(WorkersLost, RuntimeError)
    True
    """


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
        """Return the workers of the scheduler, by their addresses."""
        self.check_connection()
        # Not `Client.scheduler_info`: the client itself requests it without workers
        # every other second, and that answer may be returned here.
        try:
            known = self.client.sync(self.client.scheduler.identity, n_workers=-1)
        except OSError as error:
            raise self._connection_lost() from error
        workers: dict[str, Any] = known["workers"]
        return workers

    def check_connection(self) -> None:
        """Raise an error if the connection to the scheduler is lost."""
        if self.client.status != "running":
            raise self._connection_lost()

    def _connection_lost(self) -> ConnectionError:
        return ConnectionError(
            "The connection to the scheduler is lost (client status: "
            f"{self.client.status})."
        )

    def memory(self) -> dict[str, int]:
        """Return the memory limit of each worker in bytes; 0 for no limit."""
        return {
            address: int(worker["memory_limit"])
            for address, worker in self.workers().items()
        }

    def check_workers(self) -> bool:
        """Return True if a worker accepts tasks; raise if none did for too long."""
        workers = self.workers()
        now = time.monotonic()
        if any(worker["status"] != "paused" for worker in workers.values()):
            self._had_workers = now
            return True
        if now - self._had_workers > patience_seconds():
            raise_if_paused(workers)
            raise WorkersLost("No worker is left; start workers and fit again.")
        return False

    def check_memory(self, workers: list[str], began: float) -> None:
        """Raise an error if workers that got tasks long ago are paused."""
        if time.monotonic() - began >= patience_seconds():
            raise_if_paused({a: w for a, w in self.workers().items() if a in workers})

    def wait(
        self, futures: list[Future], replace: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until tasks have finished; Dask repeats those of lost workers."""
        self._had_workers = looked = time.monotonic()
        while not all(future.done() for future in futures):
            pause(futures)
            if time.monotonic() - looked > LOOK_SECONDS:
                self.check_workers()
                replace()
                looked = time.monotonic()
        self.check_connection()

    def wait_for_workers(self) -> None:
        """Wait until a worker accepts tasks."""
        self._had_workers = time.monotonic()
        while not self.check_workers():
            time.sleep(PAUSE_SECONDS)

    def results(
        self, futures: list[Future], replace: Callable[[], bool] = lambda: False
    ) -> list[Any]:
        """Wait for tasks and return their results; Dask repeats lost tasks.

        `replace` is called from time to time. It may replace futures in the list, and
        returns True then.
        """

        def goes_on() -> bool:
            self.check_workers()
            return not replace()

        found: list[Any] | None = None
        while found is None:
            # Only finished tasks are gathered: an interrupted gather keeps its futures
            # for a while, and the workers would continue them.
            self.wait(futures, replace)
            # Without an end: Dask computes results of lost workers again.
            found = self._gather(futures, goes_on)
        return found

    def computed(self, tasks: list[Any]) -> list[Any]:
        """Compute tasks on the cluster and return their results."""
        return self.results(self.client.compute(tasks))

    def gathered(self, futures: Any, workers: list[str]) -> Any:
        """Return the results of tasks of certain workers; None if one is lost.

        `Future.result` would never return if a worker died after its task.
        """
        try:
            return self._gather(futures, lambda: set(workers) <= self.workers().keys())
        except LOST:
            return None

    def _gather(self, futures: Any, goes_on: Callable[[], bool]) -> Any:
        """Return the results of tasks, or None as soon as `goes_on` returns False."""
        # In the loop of the client: meanwhile, this thread checks the workers.
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
        """Raise an error if a worker has another version of dics, or none."""
        found = self.client.run(version_here, on_error="return")
        for worker, version in found.items():
            if isinstance(version, str):
                check_version(worker, version)
            # Other errors are those of a worker that is leaving; it gets no tasks.
            elif isinstance(version, ImportError | AttributeError):
                raise ValueError(
                    f"The worker {worker} cannot import dics: {version}; install dics "
                    f"{VERSION} on all workers."
                ) from version


def raise_if_paused(workers: dict[str, Any]) -> None:
    """Raise an error if Dask has paused workers, because their memory is full."""
    paused = {a: w for a, w in workers.items() if w["status"] == "paused"}
    if paused:
        address, worker = next(iter(paused.items()))
        used, limit = worker["metrics"]["memory"], worker["memory_limit"]
        raise MemoryError(
            f"Dask has paused {len(paused)} workers because their memory is full: "
            f"{address} uses {used / 2**20:.1f} MiB, its limit is "
            f"{limit / 2**20:.1f} MiB."
        )


def patience_seconds() -> float:
    """Return the longest wait for a worker."""
    return float(dask.config.get("dics.patience", DEFAULT_PATIENCE))


def check_version(worker: str, version: str) -> None:
    """Raise an error if a worker has another version of dics."""
    if version != VERSION:
        raise ValueError(
            f"The worker {worker} has dics {version}, the client {VERSION}; install "
            "the same version on all workers."
        )


def version_here() -> str:
    """Return the version of dics on a worker."""
    from dics import _version

    return _version.VERSION


def pause(futures: list[Future]) -> None:
    """Wait for a short time, or until the first task finishes.

    Not with `distributed.wait`: the error that it raises after a timeout keeps all
    futures alive, until Python collects cycles of references.
    """
    waiting = [future for future in futures if not future.done()]
    deadline = time.monotonic() + PAUSE_SECONDS
    while time.monotonic() < deadline:
        if any(future.done() for future in waiting):
            return
        time.sleep(POLL_SECONDS)
