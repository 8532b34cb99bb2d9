"""Kill or stop Dask workers during a fit, and compare the model with a local fit.

    python tools/cluster_faults.py              # every model, one of two workers
    python tools/cluster_faults.py --workers 3 --kills 2 --times 20
    python tools/cluster_faults.py CGBoostingClassifier --signal SIGSTOP

Each trial starts a cluster of real processes on this machine. A fit without faults
gives the duration. The first faults of the trials are spread evenly over it; further
faults follow at random times. Dask restarts a killed worker, so a later fault may hit
the new one. The column "at rounds" shows the rounds from which boosting resumed after a
loss.

The exit status is 1 if a model differs, a fit raises an error, or a trial takes longer
than `--limit`. In the last case the state of the cluster and all stacks are printed,
and the run ends.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

import dics
import dics.dask

# A fit takes one or two seconds on a cluster.
PARAMETERS: dict[str, dict[str, Any]] = {
    "CGBoostingClassifier": {"n_estimators": 150, "early_stopping": False},
    "CGBoostingRegressor": {"n_estimators": 150, "early_stopping": False},
    "CGForestClassifier": {"n_estimators": 40},
    "CGForestRegressor": {"n_estimators": 20},
    "CGTreeClassifier": {},
    "CGTreeRegressor": {},
}
HEADER = """
| model              | trials | same | differ | errors | restarts | at rounds | secs |
|--------------------|-------:|-----:|-------:|-------:|---------:|----------:|-----:|
""".strip()
N_PARTS = 8
SETTINGS = {
    "distributed.comm.timeouts.connect": "8s",
    "distributed.worker.daemon": True,
    "distributed.worker.multiprocessing-method": "forkserver",
}


class Data(NamedTuple):
    """Rows for a model, as arrays and as Dask collections."""

    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]

    @classmethod
    def of(cls, name: str, n_rows: int) -> Data:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_rows, 20)).astype(np.float32)
        score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n_rows)
        return cls(X, np.digitize(score, [-1, 1]) if "Classifier" in name else score)

    def collections(self) -> tuple[Any, Any]:
        n = -(-len(self.y) // N_PARTS)
        return (
            da.from_array(self.X, chunks=(n, self.X.shape[1])),
            da.from_array(self.y, chunks=n),
        )


# The client of the current cluster, for `show_cluster` in another thread.
clients: list[Client] = []


class Trial(NamedTuple):
    """Result of a fit: "same", "differs" or an error."""

    outcome: str
    seconds: float
    moments: list[float]  # seconds from the start of the fit to each fault
    rounds: list[int]  # rounds from which boosting resumed after a loss


class RestartRecorder(logging.Handler):
    """Log handler that records the rounds from which boosting resumed."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.rounds: list[int] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("workers were lost") and record.args:
            self.rounds.append(int(record.args[0]))  # type: ignore[arg-type]


@contextlib.contextmanager
def record_restarts() -> Iterator[list[int]]:
    log, handler = logging.getLogger("dics.dask"), RestartRecorder()
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield handler.rounds
    finally:
        log.removeHandler(handler)


def start_workers_quickly() -> None:
    """Fork workers from a process that has already imported everything."""
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"  # read by the workers
    get_mp_context()  # sets the modules that Dask imports
    multiprocessing.get_context("forkserver").set_forkserver_preload(["dics.dask"])


@contextlib.contextmanager
def cluster_of(n_workers: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers, timeout=60)
        clients[:] = [client]
        yield client


class Faults:
    """Context that sends a signal to some workers, each at its own time."""

    def __init__(self, client: Client, number: int, moments: list[float]) -> None:
        processes = sorted(client.run(os.getpid).values())
        self.victims = processes[: len(moments)]
        self.number = number
        self._timers = [
            threading.Timer(moment, self._send, (victim, number))
            for moment, victim in zip(moments, self.victims, strict=True)
        ]

    def _send(self, process: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

    def __enter__(self) -> None:
        for timer in self._timers:
            timer.start()

    def __exit__(self, *error: object) -> None:
        for timer in self._timers:
            timer.cancel()
            timer.join()
        if self.number == signal.SIGSTOP:  # the workers can then be terminated
            for process in self.victims:
                self._send(process, signal.SIGCONT)


def file_bytes(model: Any) -> bytes:
    """Return the bytes of the model file."""
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


class Model:
    """A model to fit in each trial, and the bytes of the expected model file."""

    def __init__(self, name: str, n_rows: int) -> None:
        self.name = name
        self.data = Data.of(name, n_rows)
        self.parameters = {"random_state": 0, **PARAMETERS[name]}
        local = getattr(dics, name)(**self.parameters)
        self.expected = file_bytes(local.fit(*self.data))

    def fit(self, client: Client) -> str:
        """Fit on the cluster; return "same", "differs" or the error."""
        estimator = getattr(dics.dask, f"Dask{self.name}")
        model = estimator(client=client, **self.parameters)
        try:
            model.fit(*self.data.collections())
        except Exception as error:  # every error is a result
            return f"{type(error).__name__}: {error}"[:200]
        is_same = file_bytes(model) == self.expected
        return "same" if is_same else "differs"

    def fit_without_faults(self, n_workers: int) -> Trial:
        """Fit without faults, after a warm-up, to measure the duration."""
        with cluster_of(n_workers) as client:
            self.fit(client)
            start = time.monotonic()
            outcome = self.fit(client)
            return Trial(outcome, time.monotonic() - start, [], [])

    def trial(self, n_workers: int, number: int, moments: list[float]) -> Trial:
        """Fit with faults at the given times."""
        with (
            cluster_of(n_workers) as client,
            record_restarts() as rounds,
            Faults(client, number, moments),
        ):
            start = time.monotonic()
            outcome = self.fit(client)
            return Trial(outcome, time.monotonic() - start, moments, rounds)


def moments_of(
    trial: int, n_trials: int, n_faults: int, duration: float
) -> list[float]:
    """Spread the first fault of each trial over a fit; others follow at random."""
    rng = np.random.default_rng([trial, n_trials])
    first = (trial + rng.random()) / n_trials
    later = first + (1 - first) * rng.random(n_faults - 1)
    return [float(fraction * duration) for fraction in (first, *later)]


def show_cluster() -> None:
    """Print the tasks and the call stacks of the current cluster."""
    for client in clients:
        for task in client.run_on_scheduler(unfinished_tasks):
            print(*task, file=sys.stderr)
        for worker, tasks in client.run(worker_tasks).items():
            print(worker, tasks, file=sys.stderr)
        print(client.call_stack(), file=sys.stderr, flush=True)


def unfinished_tasks(dask_scheduler: Any) -> list[tuple[str, ...]]:
    return [
        (str(key), task.state, str(task.processing_on))
        for key, task in dask_scheduler.tasks.items()
        if task.state not in ("memory", "released")
    ]


def worker_tasks(dask_worker: Any) -> list[tuple[str, str]]:
    return [(str(key), task.state) for key, task in dask_worker.state.tasks.items()]


class Overdue(Exception):
    """A trial took too long."""


def within(limit: float, work: Callable[[], Trial]) -> Trial:
    """Return the result of `work`; raise `Overdue` if it takes too long."""
    found: list[Trial] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        looking = threading.Thread(target=show_cluster, daemon=True)
        looking.start()
        looking.join(10)
        faulthandler.dump_traceback()
        raise Overdue
    if not found:
        raise RuntimeError("A trial failed; see the traceback above.")
    return found[0]


def trials_of(model: Model, arguments: argparse.Namespace) -> Iterator[Trial]:
    """Run all trials of a model; print one line per trial."""
    reference = within(
        arguments.limit, lambda: model.fit_without_faults(arguments.workers)
    )
    print(
        f"{model.name}: {reference.seconds:.1f} s without faults, {reference.outcome}"
    )
    yield reference
    for i in range(arguments.times):
        moments = moments_of(i, arguments.times, arguments.kills, reference.seconds)
        shown = ", ".join(f"{moment:.2f}" for moment in moments)
        print(f"  {i + 1}: faults at {shown} s", end="", flush=True)
        trial = within(
            arguments.limit,
            lambda moments=moments: model.trial(  # type: ignore[misc]
                arguments.workers, arguments.signal, moments
            ),
        )
        rounds = f", rounds {trial.rounds}" if trial.rounds else ""
        print(f"; {trial.outcome} after {trial.seconds:.1f} s{rounds}", flush=True)
        yield trial


def summary(name: str, trials: list[Trial]) -> str:
    """Return the row of a model in the table."""
    n_same = sum(trial.outcome == "same" for trial in trials)
    n_differ = sum(trial.outcome == "differs" for trial in trials)
    n_errors = len(trials) - n_same - n_differ
    rounds = sorted(done for trial in trials for done in trial.rounds)
    shown = f"{rounds[0]} to {rounds[-1]}" if rounds else "-"
    longest = max((trial.seconds for trial in trials), default=0.0)
    return (
        f"| {name:<18} | {len(trials):6} | {n_same:4} | {n_differ:6} | {n_errors:6} | "
        f"{len(rounds):8} | {shown:>9} | {longest:4.0f} |"
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=list(PARAMETERS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--times", type=int, default=20, help="trials per model")
    parser.add_argument("--signal", choices=["SIGKILL", "SIGSTOP"], default="SIGKILL")
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per trial")
    arguments = parser.parse_args()
    if unknown := set(arguments.models) - set(PARAMETERS):
        parser.error(f"Unknown models: {', '.join(sorted(unknown))}.")
    if not 1 <= arguments.kills <= arguments.workers:
        parser.error("--kills must be between 1 and --workers.")
    if min(arguments.times, arguments.rows) < 1:
        parser.error("--times and --rows must be at least 1.")
    arguments.signal = getattr(signal, arguments.signal)
    return arguments


def main() -> int:
    arguments = parsed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    dask.config.set(SETTINGS)
    if arguments.signal == signal.SIGSTOP:
        # For SIGSTOP only: on a busy machine a healthy worker may miss heartbeats.
        dask.config.set({"distributed.scheduler.worker-ttl": "8s"})
    start_workers_quickly()
    found: dict[str, list[Trial]] = {name: [] for name in arguments.models}
    is_overdue = False
    try:
        for name, trials in found.items():
            model = Model(name, arguments.rows)
            for trial in trials_of(model, arguments):
                trials.append(trial)
    except Overdue:
        print(f"; not finished after {arguments.limit:.0f} s")
        is_overdue = True
    print(HEADER)
    for name, trials in found.items():
        print(summary(name, trials))
    is_same = all(t.outcome == "same" for trials in found.values() for t in trials)
    if is_overdue:
        sys.stdout.flush()
        os._exit(1)  # sys.exit would wait for the thread that hangs
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
