"""The client's view of the workers: reports, results, lost workers, versions."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import dask
from distributed import Client, Future, get_worker
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from dics._version import VERSION

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


def new_topic() -> str:
    """Return a name that no other fit has."""
    return f"dics-{uuid.uuid4().hex}"


class ProgressReporter:
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
def subscribed(
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
