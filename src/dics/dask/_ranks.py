"""Ranks: workers that take part in a fit together, each with rows of its own.

They add up sums among themselves (see `Links`). The client starts them and waits for
them; the caller decides what happens if one is lost.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import Any, NamedTuple

from distributed import Future

from dics.dask._reports import new_topic
from dics.dask._watch import (
    LOOK_SECONDS,
    Watch,
    WorkersLost,
    check_version,
    pause,
)
from dics.dask._worker import Port, end_fit, open_port

MAX_RESTARTS = 100
# Longest wait for ranks that give up.
STOP_SECONDS = 5.0


class Placement(NamedTuple):
    """Which worker has which partitions of each set."""

    workers: list[str]
    parts: list[list[list[int]]]  # [set][rank] -> partitions


class Ranks:
    """Places ranks where the codes of rows are.

    Parameters
    ----------
    watch : Watch
    codes : list of list of Future
        Of the partitions of each set of rows.
    """

    def __init__(self, watch: Watch, codes: list[list[Future]]) -> None:
        self.watch = watch
        self.client = watch.client
        self.codes = codes
        self.fit = new_topic()

    def _place(self) -> Placement:
        """Wait until the codes are there, and see where."""
        codes = [future for of_set in self.codes for future in of_set]
        while True:
            self.watch.wait(codes)
            for future in codes:
                if future.status == "error":
                    future.result()  # raises
                if future.status == "cancelled":
                    raise WorkersLost(
                        "rows were lost with a worker, and can't be made again; pass "
                        "collections that know how their partitions are made."
                    )
            holders = self.client.who_has(codes)
            if all(holders.get(future.key) for future in codes):
                return self._placement(holders)
            time.sleep(0.01)  # a worker was lost this moment

    def _placement(self, holders: dict[Any, Any]) -> Placement:
        # A partition that several workers have goes to the one that has fewest.
        load: dict[str, int] = defaultdict(int)
        owners = []
        for codes in self.codes:
            of_set = []
            for future in codes:
                # Not load[w]: a worker that gets none would become a rank, too.
                worker = min(sorted(holders[future.key]), key=lambda w: load.get(w, 0))
                load[worker] += 1
                of_set.append(worker)
            owners.append(of_set)
        workers = sorted(load)
        parts = [
            [[i for i, w in enumerate(of_set) if w == worker] for worker in workers]
            for of_set in owners
        ]
        return Placement(workers, parts)

    def _open_ports(self, workers: list[str]) -> list[Port] | None:
        """Let each rank listen; None if one is lost."""
        futures = [
            self.client.submit(
                open_port,
                self.fit,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
                key=f"{self.fit}-port-{rank}",
                priority=100,
            )
            for rank, worker in enumerate(workers)
        ]
        began = time.monotonic()
        while not all(future.done() for future in futures):
            if self._is_lost(futures, workers):
                return None
            self.watch.check_memory(workers, began)
            pause(futures)
        ports: list[Port] | None = self._results(futures, workers)
        for worker, port in zip(workers, ports or [], strict=False):
            check_version(worker, port.version)
        return ports

    def _start(self, function: Any, placement: Placement, *rows: Any) -> list[Future]:
        """Start a rank on each worker; `rows` have a value for each of them."""
        return [
            self.client.submit(
                function,
                rank,
                *of_rank,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
                key=f"{self.fit}-rank-{rank}",
            )
            for rank, (worker, *of_rank) in enumerate(
                zip(placement.workers, *rows, strict=True)
            )
        ]

    def _lost(self, workers: list[str]) -> set[str]:
        """Return the workers that are lost; let the other ranks give up then."""
        lost = set(workers) - self.watch.workers().keys()
        if lost:
            self._stop(set(workers) - lost)
        return lost

    def _wait(self, futures: list[Future], workers: list[str]) -> bool:
        """Wait for all tasks; False if a worker is lost meanwhile."""
        looked = time.monotonic()
        while not all(future.done() for future in futures):
            pause(futures)
            if time.monotonic() - looked < LOOK_SECONDS:
                continue
            looked = time.monotonic()
            if self._is_lost(futures, workers):
                return False
        self.watch.check_connection()
        return True

    def _is_lost(self, futures: list[Future], workers: list[str]) -> bool:
        """Return True if a worker is lost, and cancel the tasks then."""
        lost = self._lost(workers)
        if lost:
            self.client.cancel(futures, force=True)
        return len(lost) > 0

    def _results(self, futures: list[Future], workers: list[str]) -> list[Any] | None:
        """Wait for tasks and return their results; None if a worker is lost."""
        if not self._wait(futures, workers):
            return None
        results: list[Any] | None = self.watch.gathered(futures, workers)
        if results is None:
            self._is_lost(futures, workers)
        return results

    def _stop(self, workers: set[str]) -> None:
        """Let ranks give up that would wait for a lost one."""
        if not workers:
            return
        # In a thread: one of them may hang.
        stopping = threading.Thread(
            target=self.client.run,
            args=(end_fit, self.fit),
            kwargs={"workers": sorted(workers), "on_error": "ignore"},
            daemon=True,
        )
        stopping.start()
        stopping.join(STOP_SECONDS)

    def _end(self, workers: list[str], futures: list[Future]) -> None:
        if self.client.status != "running":
            return
        if not all(future.done() for future in futures):
            self._stop(set(workers) & self.watch.workers().keys())
            self.client.cancel(futures, force=True)
