"""Fits with more threads than free CPU cores: wall and CPU time.

The first table has an idle machine and different numbers of threads. For the second
table, other processes keep all cores busy; it compares the default number of threads
with one thread. The models take turns, so that a change of the machine affects all of
them. Times are medians.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import joblib
import numpy as np
from common import make_parser, print_header, save_json
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from dics import CGBoostingClassifier, CGForestClassifier, CGTreeClassifier
from dics_paper.progress import Steps
from dics_paper.text import markdown_table, show_seconds

N_ROWS, N_FEATURES, N_ROUNDS = 30_000, 30, 50
THREADS = (1, 2, 4, 8)
SETTLE_SECONDS = 0.1
# Times relative to two threads on an idle machine, and to one thread on a busy one.
IDLE_WALL, IDLE_CPU, BUSY_WALL, BUSY_CPU = 1.2, 1.3, 1.2, 1.5


class Seconds(NamedTuple):
    wall: float
    cpu: float


def make_data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3]
    return X, (signal + rng.normal(size=N_ROWS) > 0).astype(int)


def hist_fit(X: Any, y: Any, n_jobs: int | None) -> None:
    with threadpool_limits(n_jobs, user_api="openmp"):
        HistGradientBoostingClassifier(max_iter=N_ROUNDS, early_stopping=False).fit(
            X, y
        )


def make_calls(X: Any, y: Any) -> dict[str, Callable[[int | None], Any]]:
    """Return the calls by name; their argument is the number of threads."""
    rounds = {"n_estimators": N_ROUNDS}
    fitted = CGBoostingClassifier(random_state=0).fit(X, y)

    def fit(make: Callable[..., Any], n_jobs: int | None) -> None:
        make(n_jobs=n_jobs).fit(X, y)

    def predict(n_jobs: int | None) -> None:
        fitted.set_params(n_jobs=n_jobs).predict_proba(X)

    ours = {
        "dics boosting": partial(CGBoostingClassifier, **rounds, random_state=0),
        "dics forest": partial(CGForestClassifier, n_estimators=20, random_state=0),
        "dics tree": partial(CGTreeClassifier, random_state=0),
        "LightGBM": partial(LGBMClassifier, **rounds, verbose=-1),
        "XGBoost": partial(XGBClassifier, **rounds),
    }
    calls: dict[str, Any] = {name: partial(fit, make) for name, make in ours.items()}
    return {**calls, "dics predict": predict, "HistGB": partial(hist_fit, X, y)}


def measure(call: Callable[[], Any]) -> Seconds:
    # Threads of OpenMP spin on after a call, and would count for the next model.
    time.sleep(SETTLE_SECONDS)
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def medians(
    calls: dict[Any, Callable[[], Any]], repeats: int, steps: Steps
) -> dict[Any, Seconds]:
    """Return the median times of calls that take turns."""
    found: dict[Any, list[Seconds]] = {key: [] for key in calls}
    for call in calls.values():
        call()  # loads code and starts pools of threads
    for turn in range(repeats):
        steps.begin(f"turn {turn + 1}")
        for key, call in calls.items():
            found[key].append(measure(call))
    return {
        key: Seconds(*(median(column) for column in zip(*times, strict=True)))
        for key, times in found.items()
    }


@contextmanager
def busy_processes(n: int) -> Iterator[None]:
    """Run processes that never wait, until the end of the block."""
    started = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)
    ]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def verdict(value: float, limit: float) -> str:
    return f"{value:.2f} ({limit:g}: {'met' if value <= limit else 'missed'})"


def print_idle(times: dict[tuple[str, int], Seconds], names: Sequence[str]) -> None:
    header = [
        "model",
        *(f"wall, {n}" for n in THREADS),
        *(f"CPU, {n}" for n in THREADS),
    ]
    rows = []
    for name in names:
        of_model = [times[name, n] for n in THREADS]
        rows.append(
            [
                name,
                *(show_seconds(seconds.wall) for seconds in of_model),
                *(show_seconds(seconds.cpu) for seconds in of_model),
            ]
        )
    print(f"Idle machine, by number of threads:\n\n{markdown_table(header, rows)}\n")
    for name in names:
        two = times[name, 2]
        for n in THREADS[2:]:
            wall, cpu = times[name, n].wall / two.wall, times[name, n].cpu / two.cpu
            print(
                f"- {name}, {n} threads instead of 2: wall {verdict(wall, IDLE_WALL)}, "
                f"CPU {verdict(cpu, IDLE_CPU)}"
            )


def print_busy(
    times: dict[tuple[str, int | None], Seconds], names: Sequence[str], n_busy: int
) -> None:
    rows = []
    for name in names:
        one, default = times[name, 1], times[name, None]
        rows.append(
            [
                name,
                show_seconds(one.wall),
                show_seconds(default.wall),
                verdict(default.wall / one.wall, BUSY_WALL),
                show_seconds(one.cpu),
                show_seconds(default.cpu),
                verdict(default.cpu / one.cpu, BUSY_CPU),
            ]
        )
    header = ["model", "wall, 1", "wall, default", "ratio"]
    header += ["CPU, 1", "CPU, default", "ratio"]
    print(f"\n{n_busy} other busy processes:\n\n{markdown_table(header, rows)}")


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="turns; default: 9")
    parser.add_argument(
        "--busy", type=int, default=joblib.cpu_count(), help="number of busy processes"
    )
    options = parser.parse_args(argv)
    X, y = make_data()
    calls = make_calls(X, y)
    print_header("Busy machines")
    with Steps(2 * options.repeats) as steps:
        idle = medians(
            {(k, n): partial(calls[k], n) for n in THREADS for k in calls},
            options.repeats,
            steps,
        )
        with busy_processes(options.busy):
            busy = medians(
                {(k, n): partial(calls[k], n) for n in (1, None) for k in calls},
                options.repeats,
                steps,
            )
    print_idle(idle, list(calls))
    print_busy(busy, list(calls), options.busy)
    save_json(
        options.json,
        "busy",
        idle=[[*key, *times] for key, times in idle.items()],
        busy=[[*key, *times] for key, times in busy.items()],
    )


if __name__ == "__main__":
    main()
