"""What the benchmarks share: data, timing, machine, tables, progress."""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import pickle
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from sklearn import datasets as sklearn_datasets
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from dics.datasets import make_paper_synthetic
from dics.datasets._files import DATA_VARIABLE, file_of, read_npz
from dics_paper.report.markdown import markdown_table
from dics_paper.running.environment import describe, machine

RESULTS = Path(__file__).resolve().parent / "results"

# --- data ------------------------------------------------------------------

# Sets read from the directory that DATA_VARIABLE names, with the number of leading
# training rows where the set has an official split.
REAL: dict[str, int | None] = {
    "mnist": 60_000,
    "fashion_mnist": 60_000,
    "cifar10": 50_000,
    "spambase": None,
    "helena_part": None,
    "electricity": None,
    "adult": None,
    "magic": None,
    "letter": None,
    "otto": None,
}
BUNDLED: dict[str, Callable[..., Any]] = {
    "digits": sklearn_datasets.load_digits,
    "breast_cancer": sklearn_datasets.load_breast_cancer,
    "wine": sklearn_datasets.load_wine,
    "iris": sklearn_datasets.load_iris,
}
# The paper's synthetic data: training rows, features, classes. A quarter as many test
# rows are generated besides.
SYNTHETIC: dict[str, tuple[int, int, int]] = {
    "synthetic_6000x500": (6_000, 500, 5),
    "synthetic_10000x1000": (10_000, 1_000, 10),
    "synthetic_20000x5000": (20_000, 5_000, 5),
    "synthetic_20000x5000_K10": (20_000, 5_000, 10),
}


class MissingData(Exception):
    """A data set that isn't there; the message says what to do."""


class Data(NamedTuple):
    """A data set, float32 in C order; `n_train` is None without an official split."""

    name: str
    X: np.ndarray
    y: np.ndarray
    n_train: int | None

    def split(self, seed: int = 0) -> Split:
        """Make the official split, or hold out a quarter drawn with the seed."""
        if self.n_train is not None:
            head, tail = slice(self.n_train), slice(self.n_train, None)
            return Split(self.X[head], self.y[head], self.X[tail], self.y[tail])
        X_train, X_test, y_train, y_test = train_test_split(
            self.X, self.y, test_size=0.25, random_state=seed
        )
        return Split(X_train, y_train, X_test, y_test)


class Split(NamedTuple):
    """Training and test rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def score(self, model: Any) -> float:
        return float(model.score(self.X_test, self.y_test))

    def log_loss(self, model: Any) -> float:
        p = model.predict_proba(self.X_test)
        return float(log_loss(self.y_test, p, labels=model.classes_))

    def guess_log_loss(self) -> float:
        """Log-loss of guessing by the shares of the classes, whatever the row."""
        classes, counts = np.unique(self.y_train, return_counts=True)
        p = np.tile(counts / counts.sum(), (len(self.y_test), 1))
        return float(log_loss(self.y_test, p, labels=classes))

    def with_whole_labels(self) -> Split:
        """Number the classes from 0, as XGBoost wants them."""
        classes, y_train = np.unique(self.y_train, return_inverse=True)
        if not np.isin(self.y_test, classes).all():
            raise ValueError("the test rows have classes that the training rows lack")
        return self._replace(
            y_train=y_train, y_test=np.searchsorted(classes, self.y_test)
        )

    @property
    def shape(self) -> str:
        rows, features = self.X_train.shape
        return f"{rows} x {features}"

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y_train))

    def describe(self) -> dict[str, int]:
        rows, features = self.X_train.shape
        return {"rows": rows, "features": features, "classes": self.n_classes}


def known_datasets() -> list[str]:
    return [*REAL, *BUNDLED, *SYNTHETIC]


def load(name: str) -> Data:
    """Load a set by its name; raises MissingData if its file isn't there."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        n_train = None
    elif name in SYNTHETIC:
        n_train, n_features, n_classes = SYNTHETIC[name]
        n_rows = n_train + n_train // 4
        X, y = make_paper_synthetic(
            n_rows, n_features, n_classes, rho=0.5, random_state=0
        )
    else:
        X, y = _read_file(name)
        n_train = REAL[name]
    return Data(name, np.ascontiguousarray(X, dtype=np.float32), y, n_train)


def _read_file(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        raise MissingData(
            f"{name}: set {DATA_VARIABLE} to a directory that holds {name}/{name}.npz "
            "(arrays X and y)"
        )
    file = file_of(Path(folder), name)
    if not file.is_file():
        raise MissingData(f"{name}: {DATA_VARIABLE} has no {name}/{name}.npz")
    return read_npz(file)


# --- timing ----------------------------------------------------------------

NO_WARM_UP_OVER = 3.0  # seconds; the first call of a long one counts
ONCE_OVER = 20.0  # seconds; such a call is made once
SHORTEST = 0.02  # seconds; quicker calls are repeated and averaged to last as long


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the median of `runs` measurements."""

    seconds: float
    runs: int
    spread: float  # (slowest - quickest) / median


def measure(call: Callable[[], Any], repeats: int | None = None) -> tuple[Timing, Any]:
    """Time a call and return what it returned.

    One warm-up, then the median of 3 calls, of 5 when they take under a second. Calls
    of over 3 s have no warm-up, and those of over 20 s are made once.
    """
    first, result = _seconds(call)
    if first > ONCE_OVER or (repeats == 1 and first > NO_WARM_UP_OVER):
        return Timing(first, 1, 0.0), result
    times = [first] if first > NO_WARM_UP_OVER else []
    runs = repeats or (5 if first < 1 else 3)
    while len(times) < runs:
        seconds, result = _seconds(call)
        times.append(seconds)
    middle = median(times)
    return Timing(middle, runs, (max(times) - min(times)) / middle), result


def measure_fit(
    make: Callable[[], Any], split: Split, repeats: int | None = None
) -> tuple[dict[str, Any], Any]:
    """Time the whole fit of a new model; return that with its accuracy, and a model."""
    timing, model = measure(lambda: make().fit(split.X_train, split.y_train), repeats)
    result = {
        "seconds": timing.seconds,
        "runs": timing.runs,
        "spread": round(timing.spread, 3),
        "accuracy": split.score(model),
    }
    return result, model


def _seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.perf_counter()
    result, calls = call(), 1
    while time.perf_counter() - start < SHORTEST:
        result = call()
        calls += 1
    return (time.perf_counter() - start) / calls, result


def show_seconds(seconds: float) -> str:
    """Three digits with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds / 1e-6)} us"


def show_ratio(ratio: float) -> str:
    return f"{_three_digits(ratio)}x"


def show_fit(fit: dict[str, Any]) -> str:
    """Show the time of what measure_fit returned; a star if it ran once."""
    return show_seconds(fit["seconds"]) + ("*" if fit["runs"] == 1 else "")


def show_verdict(ratio: float, target: float | None) -> str:
    """Say whether something is at least as many times faster as it should be."""
    if target is None:
        return "-"
    return f"{target:g}x {'met' if ratio >= target else 'missed'}"


def _three_digits(value: float) -> str:
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{decimals}f}"


# --- size ------------------------------------------------------------------


class _Counter:
    """A file that only counts: a large pickle need not be held."""

    size = 0

    def write(self, data: Any) -> int:
        n_bytes = memoryview(data).nbytes
        self.size += n_bytes
        return n_bytes


def pickle_size(model: Any) -> int:
    """Bytes of a model's pickle."""
    file = _Counter()
    pickle.dump(model, file, protocol=pickle.HIGHEST_PROTOCOL)
    return file.size


def peak_growth(call: Callable[[], Any]) -> tuple[int, bool, Any]:
    """Bytes by which a call raises the peak memory of the process, and its result.

    The kernel's record of the peak is reset first. Where it can't be (not Linux), the
    growth of the peak is returned with False: it may be too low.
    """
    exact = _reset_peak()
    before = _status_bytes("VmRSS") if exact else _max_rss_bytes()
    result = call()
    after = _status_bytes("VmHWM") if exact else _max_rss_bytes()
    return after - before, exact, result


def _reset_peak() -> bool:
    try:
        ctypes.CDLL(None).malloc_trim(0)  # freed pages would hide what a call takes
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except (OSError, AttributeError):
        return False
    return True


def _status_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def _max_rss_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


# --- output ----------------------------------------------------------------


def print_header(title: str) -> None:
    print(f"## {title}\n\n{describe(machine())}\n", flush=True)


def save_json(file: Path | None, benchmark: str, **content: Any) -> None:
    """Write the result of a benchmark with the machine it comes from."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    document = {"benchmark": benchmark, "machine": machine(), **content}
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"written: {file}", file=sys.stderr)


class Steps:
    """Tells on stderr what is being measured.

    In a terminal this is a progress bar, otherwise a line per step. It is drawn when a
    step begins and never in between, so that it takes no time from what is measured.
    """

    def __init__(self, total: int) -> None:
        self._console = Console(stderr=True)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._bar = Progress(
            *columns,
            console=self._console,
            auto_refresh=False,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total)
        self._begun = 0

    def begin(self, text: str) -> None:
        if self._console.is_terminal:
            self._bar.update(self._task, completed=self._begun, description=text)
            self._bar.refresh()
        else:
            print(f"... {text}", file=sys.stderr, flush=True)
        self._begun += 1

    def skip_to(self, step: int, reason: str) -> None:
        self._begun = step
        self._console.out(f"skipped {reason}", highlight=False)


@contextmanager
def show_steps(total: int) -> Iterator[Steps]:
    steps = Steps(total)
    with steps._bar:
        yield steps


class Results(NamedTuple):
    """Rows of a benchmark, and why some are missing."""

    rows: list[dict[str, Any]]
    skipped: list[str]

    def print_table(
        self, columns: Sequence[str], as_cells: Callable[[dict[str, Any]], Any]
    ) -> None:
        if self.rows:
            print(markdown_table(columns, [as_cells(row) for row in self.rows]))

    def print_skipped(self) -> None:
        for reason in self.skipped:
            print(f"\nSkipped {reason}.")


def run_sets(
    names: Sequence[str],
    steps_per_set: int,
    run: Callable[[str, Steps], list[dict[str, Any]]],
) -> Results:
    """Collect the rows of each set; one that isn't there is skipped."""
    results = Results([], [])
    with show_steps(steps_per_set * len(names)) as steps:
        for done, name in enumerate(names, start=1):
            try:
                results.rows.extend(run(name, steps))
            except MissingData as error:
                steps.skip_to(done * steps_per_set, str(error))
                results.skipped.append(str(error))
    return results


# --- command line ----------------------------------------------------------


def make_parser(
    description: str | None, datasets: Sequence[str] = ()
) -> argparse.ArgumentParser:
    """Make a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    if datasets:
        parser.add_argument(
            "--datasets",
            nargs="+",
            choices=known_datasets(),
            default=list(datasets),
            metavar="NAME",
            help=f"among {', '.join(known_datasets())}; default: {' '.join(datasets)}",
        )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result")
    return parser
