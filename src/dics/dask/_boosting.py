"""Boosting on a cluster: ranks on the workers, and the client that leads them."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from distributed import Future, Queue

from dics._boosting.rounds import Rounds
from dics._boosting.rows import BoostJob
from dics._model.trees import Trees
from dics.dask._meeting import TOKEN_BYTES
from dics.dask._watch import (
    LOOK_SECONDS,
    Watch,
    WorkersLost,
    check_version,
    new_topic,
    pause,
    subscribed,
)
from dics.dask._workers import (
    Port,
    RankResult,
    RankRows,
    RankTask,
    boost_rank,
    end_fit,
    open_port,
)

if TYPE_CHECKING:
    from dics.dask._rows import ClusterCodes


MAX_RESTARTS = 100
# Longest wait for ranks that stop.
STOP_SECONDS = 5.0

LOG = logging.getLogger("dics.dask")
# Restarts in a row without a new round: the workers have a problem.
MAX_FAILED_RESTARTS = 10


class Placement(NamedTuple):
    """The partitions of each set on each worker."""

    workers: list[str]
    parts: list[list[list[int]]]  # [set][rank] -> partitions


class Ranks:
    """Places ranks on the workers that store the codes of rows.

    Parameters
    ----------
    watch : Watch
    codes : list of list of Future
        Codes of the partitions of each set of rows.
    """

    def __init__(self, watch: Watch, codes: list[list[Future]]) -> None:
        self.watch = watch
        self.client = watch.client
        self.codes = codes
        self.fit = new_topic()

    def _place(self) -> Placement:
        """Wait for the codes, and return the workers that store them."""
        codes = [future for of_set in self.codes for future in of_set]
        while True:
            self.watch.wait(codes)
            for future in codes:
                if future.status == "error":
                    future.result()  # raises
                if future.status == "cancelled":
                    raise WorkersLost(
                        "A worker was lost and its partitions cannot be recomputed, "
                        "for example data from client.scatter. Use a collection that "
                        "Dask can recompute."
                    )
            holders = self.client.who_has(codes)
            if all(holders.get(future.key) for future in codes):
                return self._placement(holders)
            time.sleep(0.01)  # a worker has just been lost

    def _placement(self, holders: dict[Any, Any]) -> Placement:
        # A partition on several workers goes to the one with the fewest partitions.
        load: dict[str, int] = defaultdict(int)
        owners = []
        for codes in self.codes:
            of_set = []
            for future in codes:
                # Not load[w], which would make a rank of a worker without partitions.
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
        """Open a port on each worker; None if one is lost."""
        futures = [
            self.client.submit(
                open_port,
                self.fit,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
                key=f"{self.fit}-port-{rank}",
                # Before tasks of others: all ranks wait for the last port.
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
        # On no other worker: a rank reads the codes from the store of its own.
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
        # In a thread, because one of them may hang.
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


class BoostSession(Ranks):
    """Runs the rounds of one job of boosting.

    Parameters
    ----------
    training : ClusterCodes
    validation : list of ClusterCodes
    rounds : Rounds
        Notes each round.
    """

    def __init__(
        self, training: ClusterCodes, validation: list[ClusterCodes], rounds: Rounds
    ) -> None:
        self.sets = [training, *validation]
        super().__init__(training.watch, [rows.codes for rows in self.sets])
        self.rounds = rounds
        self.history: list[tuple[float, list[float]]] = []
        self._first_round = 0  # of this session; a warm start has others before it
        self._n_noted = 0  # rounds that `rounds` has noted
        self._must_end = False  # by the decision of `rounds`
        # A scorer and callbacks run in the client: the ranks wait for it in each round.
        self._client_decides = rounds.score is not None or rounds.report_to is not None
        shows = rounds.progress is not None and rounds.progress.enabled
        # If the client notes each round, it needs no reports of rank 0.
        self._reports = shows and not self._client_decides

    def run(self, job: BoostJob) -> tuple[Trees, npt.NDArray[np.int64]]:
        """Return the new trees, and the splits that are gone."""
        # Rounds that all ranks have finished are kept when a worker is lost.
        found = Trees.empty(len(job.start), len(job.dictionary.offsets) - 1)
        self._first_round = job.settings.first_round
        n_failed = 0
        for _ in range(MAX_RESTARTS):
            result = self._attempt(job)
            self.history = result.history
            if self._client_decides:  # ranks repeat rounds without a decision
                self.history = self.history[: self._n_noted]
            new = self._new_trees(job, result)
            found = found.concat(new)
            if not result.is_lost or self._must_end:
                self._note_rest()
                LOG.info(
                    "%d rounds: %d sums, %d bytes sent by the first worker",
                    len(self.history) - 1,
                    result.n_sums,
                    result.bytes_sent,
                )
                return found, result.used.view(np.int64)
            n_failed = 0 if len(new) else n_failed + 1
            if n_failed == MAX_FAILED_RESTARTS:
                raise WorkersLost(self._failure_message())
            job = job.after(new, result.used)
            # Callbacks may have changed the rate.
            rate = self.rounds.learning_rate
            job = job._replace(settings=job.settings.replace(learning_rate=rate))
            self.fit = new_topic()
            n_done = self._n_before(job)
            LOG.info("workers were lost; going on after %d rounds", n_done)
        raise WorkersLost(f"workers were lost {MAX_RESTARTS} times in one fit.")

    def _failure_message(self) -> str:
        limits = [limit for limit in self.watch.memory().values() if limit > 0]
        memory = f" (at least {min(limits) / 2**20:.0f} MiB)" if limits else ""
        return (
            f"workers were lost {MAX_FAILED_RESTARTS} times in a row before a round "
            f"was done; see their logs, and whether their memory{memory} is too small."
        )

    def _new_trees(self, job: BoostJob, result: RankResult) -> Trees:
        """Return the trees of the rounds that all ranks have finished."""
        if not result.arrays:
            return Trees.empty(len(job.start), len(job.dictionary.offsets) - 1)
        n_done = len(self.history) - 1 - self._n_before(job)
        return job.as_trees(result.arrays).first(max(0, n_done))

    def _n_before(self, job: BoostJob) -> int:
        """Return the number of rounds of this session before those of a job."""
        return job.settings.first_round - self._first_round

    # --- one attempt --------------------------------------------------------

    def _attempt(self, job: BoostJob) -> RankResult:
        placement = self._place()
        nothing = RankResult({}, job.used_splits, True, self.history)
        futures: list[Future] = []
        try:
            ports = self._open_ports(placement.workers)
            if ports is None:
                return nothing
            task = self._task(job, ports)
            n_ranks = len(placement.workers)
            rows = [self._rank_rows(rank, placement) for rank in range(n_ranks)]
            futures = self._start(boost_rank, placement, [task] * n_ranks, rows)
            with subscribed(
                self.client, self.fit if self._reports else None, self._show
            ):
                result = self._wait_for_ranks(futures, placement.workers)
            return result or nothing
        finally:
            self._end(placement.workers, futures)

    def _task(self, job: BoostJob, ports: list[Port]) -> RankTask:
        watched = [i for i, rows in enumerate(self.sets) if rows.is_scored]
        starts = [
            begin
            for i in range(len(self.sets[0].codes))
            for begin, n in [self._run(0, i)]
            if n > 0
        ]
        return RankTask(
            fit=self.fit,
            # New for each attempt, so that ranks of an earlier one cannot connect.
            token=secrets.token_bytes(TOKEN_BYTES),
            addresses=[port.address for port in ports],
            run_starts=np.array(starts, dtype=np.int64),
            job=job,
            patience=self.rounds.patience,
            tol=self.rounds.tol,
            history=self.history,
            n_sets=len(self.sets) - 1,
            watched=watched[0] if watched else None,
            n_watched=self.sets[watched[0]].n_rows if watched else 0,
            asks=self._client_decides,
            reports=self._reports,
            n_threads=None,
        )

    def _run(self, number: int, part: int) -> tuple[int, int]:
        """Return the first row of a partition in a set, and its number of rows."""
        rows = self.sets[number]
        begin, chosen = rows.whole.numbers(rows.rows, part)
        first, last = rows.whole.starts[part : part + 2]
        return begin, int(last - first) if chosen is None else len(chosen)

    def _rank_rows(self, rank: int, placement: Placement) -> list[RankRows]:
        """Return the rows of a rank in each set."""
        return [
            self._rows_of_set(
                number,
                [part for part in of_set[rank] if self._run(number, part)[1] > 0],
            )
            for number, of_set in enumerate(placement.parts)
        ]

    def _rows_of_set(self, number: int, parts: list[int]) -> RankRows:
        rows = self.sets[number]
        own, runs, chosen, pieces = 0, [], [], []
        for part in parts:
            begin, n = self._run(number, part)
            runs.append((own, begin, n))
            chosen.append(rows.whole.numbers(rows.rows, part)[1])
            pieces.append(np.arange(begin, begin + n))
            own += n
        # The empty piece is for a rank without rows of this set.
        of_rank = np.concatenate([*pieces, np.empty(0, dtype=np.intp)])
        return RankRows(
            [rows.codes[part].key for part in parts],
            chosen,
            np.array(runs, dtype=np.int64).reshape(-1, 3),
            rows.values._replace(weights=rows.core_weights()).take(of_rank),
        )

    # --- while it runs ------------------------------------------------------

    def _wait_for_ranks(
        self, futures: list[Future], workers: list[str]
    ) -> RankResult | None:
        """Wait for all ranks; return the result that has most rounds."""
        asked = (
            Queue(self.fit + "-asked", client=self.client)
            if self._client_decides
            else None
        )
        looked = time.monotonic()
        # After a loss, the other ranks stop by themselves and ask no more questions.
        lost: set[str] = set()
        while not all(future.done() for future in futures):
            if asked is not None and not lost:
                self._answer(asked)
            else:
                pause(futures)
            if time.monotonic() - looked < LOOK_SECONDS:
                continue
            looked = time.monotonic()
            lost |= self._lost(workers)
            for future, worker in zip(futures, workers, strict=True):
                if worker in lost:
                    self.client.cancel([future], force=True)
        self.watch.check_connection()
        return self._best(futures, workers)

    def _answer(self, asked: Queue) -> None:
        """Decide about a round for the ranks, if they ask."""
        # Not a blocking `get`, which would not return if the asking rank is lost.
        if asked.qsize() == 0:
            time.sleep(0.005)
            return
        train, held, scores, bytes_sent = asked.get()
        self.rounds.remark = sent(bytes_sent)
        for rows in self.sets:
            if rows.is_scored and scores is not None:
                rows.scores[...] = scores[:, : rows.n_outputs]
        rate = self.rounds.note(train, held)
        self._must_end = rate == 0
        self._n_noted += 1
        Queue(self.fit + "-answer", client=self.client).put(rate)

    def _best(self, futures: list[Future], workers: list[str]) -> RankResult | None:
        """Return the whole result of a rank, or the one that has most rounds."""
        best: RankResult | None = None
        for worker, future in zip(workers, futures, strict=True):
            result: RankResult | None = self.watch.gathered(future, [worker])
            if result is None:
                continue
            if not result.is_lost:
                return result  # all ranks have the same
            if best is None or len(result.history) > len(best.history):
                best = result
        return best

    def _note_rest(self) -> None:
        """Note the rounds that `rounds` lacks; their progress was shown before."""
        progress, self.rounds.progress = self.rounds.progress, None
        for train, held in self.history[self._n_noted :]:
            self.rounds.note(train, held)
        self.rounds.progress = progress

    def _show(self, report: tuple[int, int, list[float], int]) -> None:
        """Show the progress of the fit."""
        _, done, losses, bytes_sent = report
        self.rounds.remark = sent(bytes_sent)
        if self.rounds.progress is not None:
            self.rounds.progress.update(done, self.rounds.describe(losses))


def sent(n_bytes: int) -> str:
    """Return the amount of data that the workers have sent, as text.

    >>> sent(0), sent(1_234_567), sent(45_600_000_000)
    ('0.0 MB sent', '1.2 MB sent', '45.6 GB sent')
    """
    if n_bytes < 10**10:
        return f"{n_bytes / 1e6:.1f} MB sent"
    return f"{n_bytes / 1e9:.1f} GB sent"
