"""Watches over the workers while something runs on them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import time
from concurrent.futures import CancelledError
from typing import Any

import dask
from distributed import Client, Future, rpc
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from dics._version import VERSION

# Seconds, settings of Dask under "dics.": without a sign of life of a worker, and to
# wait for one when none is left.
DEFAULT_SILENCE = 60.0
DEFAULT_PATIENCE = 60.0
# Between two looks at the workers.
LOOK_SECONDS = 1.0
# Of a pause between two looks at tasks, and between two looks within it.
PAUSE_SECONDS = 0.1
POLL_SECONDS = 0.003
# To say which version of dics a worker has; one that is busy is asked later.
VERSION_SECONDS = 2.0
# What the result of a task raises that was lost with its worker.
LOST = (KilledWorker, FutureCancelledError, CancelledError)


class WorkersLost(RuntimeError):
    """No worker is left for a fit."""


class Watch:
    """Knows which workers of a cluster are alive.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        # When a worker was last seen by the clock of the scheduler, and when this was
        # noticed by our own: the clocks of two machines may differ.
        self._seen: dict[str, tuple[float, float]] = {}
        self._had_workers = self._looked = time.monotonic()

    def workers(self) -> dict[str, Any]:
        """Return what the scheduler knows of its workers, by their addresses."""
        self.check_connection()
        # Not by `Client.scheduler_info`: the client itself asks for it without workers
        # every other second, and what that brings is what one may be given.
        try:
            known = self.client.sync(self.client.scheduler.identity, n_workers=-1)
        except OSError as error:
            self.check_connection()
            raise ConnectionError("the connection to the scheduler is lost.") from error
        workers: dict[str, Any] = known["workers"]
        return workers

    def check_connection(self) -> None:
        """Raise an error if the scheduler is gone."""
        if self.client.status != "running":
            raise ConnectionError(
                f"the connection to the scheduler is lost ({self.client.status})."
            )

    def memory(self) -> dict[str, int]:
        """Return how many bytes each worker may use; 0 for no limit."""
        return {
            address: int(worker["memory_limit"])
            for address, worker in self.workers().items()
        }

    def alive(self) -> set[str]:
        """Return the workers that have given a sign of life lately."""
        now = time.monotonic()
        silence = silence_seconds()
        if now - self._looked > silence / 2:  # we ourselves were asleep
            self._seen.clear()
        self._looked = now
        alive = set()
        for address, worker in self.workers().items():
            last_seen = float(worker["last_seen"])
            if self._seen.get(address, (None,))[0] != last_seen:
                self._seen[address] = last_seen, now
            if now - self._seen[address][1] < silence:
                alive.add(address)
        return alive

    def remove(self, workers: set[str]) -> None:
        """Let the scheduler do without workers that are silent.

        It would notice, too, but only after minutes. Those that have a nanny are
        started again.
        """
        silent = sorted(workers & set(self.workers()))
        if silent:
            self.client.run_on_scheduler(remove_workers, silent)

    def look(self) -> None:
        """Remove silent workers; raise an error if there was none for too long."""
        alive = self.alive()
        self.remove(set(self._seen) - alive)
        paused = self.paused()
        now = time.monotonic()
        if alive - set(paused):
            self._had_workers = now
        elif now - self._had_workers > patience_seconds():
            if alive:
                raise MemoryError(self._why_paused(paused))
            raise WorkersLost("no worker is left; start some and fit again.")

    def paused(self) -> dict[str, Any]:
        """Return the workers that Dask gives no task, as their memory is full."""
        return {
            address: worker
            for address, worker in self.workers().items()
            if worker["status"] == "paused"
        }

    def check_memory(self, workers: list[str], began: float) -> None:
        """Raise an error if workers that got tasks long ago are paused."""
        if time.monotonic() - began < patience_seconds():
            return
        paused = {a: w for a, w in self.paused().items() if a in workers}
        if paused:
            raise MemoryError(self._why_paused(paused))

    def _why_paused(self, paused: dict[str, Any]) -> str:
        address, worker = next(iter(paused.items()))
        used, limit = worker["metrics"]["memory"], worker["memory_limit"]
        return (
            f"Dask has paused {len(paused)} workers for want of memory: {address} uses "
            f"{used / 2**20:.1f} MiB, its limit is {limit / 2**20:.1f} MiB."
        )

    def wait(self, futures: list[Future]) -> None:
        """Wait until tasks have ended, whichever workers are lost meanwhile."""
        self._had_workers = looked = time.monotonic()
        while not all(future.done() for future in futures):
            pause(futures)
            if time.monotonic() - looked > LOOK_SECONDS:
                self.look()
                looked = time.monotonic()
        self.check_connection()

    def wait_for_workers(self) -> None:
        """Wait until there is a worker that takes tasks."""
        self._had_workers = time.monotonic()
        while not self.alive() - set(self.paused()):
            self.look()
            time.sleep(0.1)

    def results(self, futures: list[Future]) -> list[Any]:
        """Return what tasks give, even if a worker that has it falls silent."""
        found: dict[str, Any] = {}
        waiting = list(futures)
        while waiting:
            self.wait(waiting)
            try:
                found[waiting[-1].key] = waiting[-1].result(timeout=silence_seconds())
                waiting.pop()
            except TimeoutError:
                self.look()  # it is made again elsewhere
        return [found[future.key] for future in futures]

    def computed(self, tasks: list[Any]) -> list[Any]:
        """Compute tasks on the cluster and bring their results here."""
        return self.results(self.client.compute(tasks))

    def gathered(self, futures: Any, workers: list[str]) -> Any:
        """Return what tasks give that only some workers can do; None if one is lost.

        `Future.result` would wait for ever if a worker died when the task was done.
        """
        fetching = asyncio.run_coroutine_threadsafe(
            self.client.gather(futures, asynchronous=True),
            self.client.loop.asyncio_loop,
        )
        try:
            while self.alive().issuperset(workers):
                done, _ = concurrent.futures.wait([fetching], LOOK_SECONDS)
                if done:
                    return fetching.result()
        except LOST:
            self.check_connection()
        finally:
            fetching.cancel()
        return None

    def check_versions(self) -> None:
        """Refuse workers that have another version of dics, or none."""
        asked = {
            worker: self.client.submit(
                version_here, pure=False, workers=[worker], priority=100
            )
            for worker in self.workers()
        }
        futures = list(asked.values())
        deadline = time.monotonic() + VERSION_SECONDS
        while not all(f.done() for f in futures) and time.monotonic() < deadline:
            pause(futures)
        for worker, future in asked.items():
            if future.status == "error":
                error = future.exception()
                if not isinstance(error, ImportError | AttributeError):
                    continue
                raise ValueError(
                    f"the worker {worker} can't import dics: {error}; install dics "
                    f"{VERSION} everywhere."
                ) from error
            if future.status == "finished":
                version = self.gathered(future, [worker])
                if version is not None:
                    check_version(worker, version)


def silence_seconds() -> float:
    """Return for how long a worker may be silent."""
    return float(dask.config.get("dics.silence", DEFAULT_SILENCE))


def patience_seconds() -> float:
    """Return for how long to wait for a worker."""
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


async def remove_workers(addresses: list[str], dask_scheduler: Any) -> None:
    """Remove workers; called by `Client.run_on_scheduler`."""
    for address in addresses:
        worker = dask_scheduler.workers.get(address)
        nanny = None if worker is None else worker.nanny
        await dask_scheduler.remove_worker(
            address=address,
            close=nanny is None,
            stimulus_id=f"dics-silent-{time.time()}",
        )
        if nanny is not None:
            starting = asyncio.ensure_future(_start_again(nanny, dask_scheduler))
            _starting.add(starting)
            starting.add_done_callback(_starting.discard)


# So that they aren't collected while they run.
_starting: set[asyncio.Future[None]] = set()


async def _start_again(nanny: str, dask_scheduler: Any) -> None:
    """Let a nanny end its worker, which may be stopped, and start another."""
    with contextlib.suppress(OSError):  # it may be gone as well
        async with rpc(
            nanny, connection_args=dask_scheduler.connection_args
        ) as starter:
            await starter.restart(reason="dics-silent")


def pause(futures: list[Future]) -> None:
    """Wait a moment, or until the first of them ends.

    Not by `distributed.wait`: the error that it raises when the time is over stays
    around, and all futures with it, until Python looks for cycles of references.
    """
    waiting = [future for future in futures if not future.done()]
    deadline = time.monotonic() + PAUSE_SECONDS
    while time.monotonic() < deadline:
        if any(future.done() for future in waiting):
            return
        time.sleep(POLL_SECONDS)
