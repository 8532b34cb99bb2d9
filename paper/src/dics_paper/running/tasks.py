"""One measurement: a model, fitted once on a data set."""

from __future__ import annotations

import gc
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from dics.candidates import CentroidCandidates
from dics.diagnostics import gain_by_depth, root_split_gap
from dics_paper.data import Data, Split
from dics_paper.models import BY_NAME, Setup
from dics.tree import CGTreeClassifier

# A fit of under a second is made five times and the median counts.
QUICK_SECONDS = 1.0
QUICK_FITS = 5


@dataclass(frozen=True)
class Task:
    """What to measure. Its name on disk comes from all of this."""

    data: Data
    model: str
    repeat: int  # also the seed
    n_jobs: int
    settings: dict[str, Any] = field(default_factory=dict)  # beside the model's own
    measure: str = "fit"

    def describe(self) -> dict[str, Any]:
        """Return everything that the result depends on."""
        return {**asdict(self), "version": BY_NAME[self.model].version}

    @cached_property
    def key(self) -> str:
        """Name of the result: readable, and different for different tasks."""
        text = json.dumps(self.describe(), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return f"{self.data.name}.{self.model}.{self.repeat}.{digest}"

    @cached_property
    def first_key(self) -> str:
        """Key of the same task in its first repetition."""
        return self.key if self.repeat == 0 else replace(self, repeat=0).key

    @property
    def title(self) -> str:
        """How a progress bar names it."""
        changed = "".join(f", {name}={value}" for name, value in self.settings.items())
        return f"{self.data.label}, {BY_NAME[self.model].label}{changed}"


@dataclass(frozen=True)
class Result:
    """What came out of a task."""

    status: str  # "ok", "over limit", "no data", "bad data" or "failed"
    seconds: float = 0.0  # of a fit; the limit if it took longer
    accuracy: float | None = None
    predict_seconds: float = 0.0
    fits: int = 0  # of which `seconds` is the median
    gains: list[list[float]] = field(default_factory=list)  # of a tree, by depth
    values: dict[str, float] = field(default_factory=dict)  # of another measurement
    parameters: str = ""  # of the estimator
    error: str = ""
    note: str = ""  # about the data
    # Training rows, test rows, features and classes.
    shape: list[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether it has figures."""
        return self.status == "ok"


def measure(task: Task, split: Split, say: Callable[[str], None]) -> Result:
    """Do what the task asks; `say` hears "fit" before each fit, and "score" after."""
    return MEASURES[task.measure](task, split, say)


def time_fit(task: Task, split: Split, say: Callable[[str], None]) -> Result:
    """Time the whole fit and find the accuracy."""
    return _fit_and_score(task, split, say, QUICK_FITS)


def score_fit(task: Task, split: Split, say: Callable[[str], None]) -> Result:
    """Fit once: for the accuracy, when the time doesn't matter."""
    return _fit_and_score(task, split, say, 1)


def _fit_and_score(
    task: Task, split: Split, say: Callable[[str], None], quick_fits: int
) -> Result:
    model = BY_NAME[task.model]
    setup = Setup(task.repeat, task.n_jobs, split.n_classes)

    def make() -> Any:
        return model.make(setup, dict(task.settings))

    first = make()  # imports the package, which isn't limited
    gc.collect()
    gc.freeze()  # or each collection below looks at every module: 80 ms
    say("fit")
    _warm_up(first)
    times: list[float] = []
    while not times or (times[0] < QUICK_SECONDS and len(times) < quick_fits):
        estimator = make()
        gc.collect()
        say("fit")
        start = time.perf_counter()
        estimator.fit(split.X_train, split.y_train)
        times.append(time.perf_counter() - start)
    say("score")
    start = time.perf_counter()
    accuracy = float(np.mean(estimator.predict(split.X_test) == split.y_test))
    return Result(
        status="ok",
        seconds=median(times),
        accuracy=accuracy,
        predict_seconds=time.perf_counter() - start,
        fits=len(times),
        gains=_gains(estimator),
        parameters=repr(make()),
        note=split.note,
        shape=split.shape,
    )


def compare_roots(task: Task, split: Split, say: Callable[[str], None]) -> Result:
    """Compare the best split of a dictionary with the best of all."""
    setup = Setup(task.repeat, task.n_jobs, split.n_classes)
    tree = BY_NAME[task.model].make(setup, dict(task.settings))
    candidates = clone(tree.candidates or CentroidCandidates())
    candidates.set_params(random_state=task.repeat, n_jobs=task.n_jobs)
    say("fit")
    start = time.perf_counter()
    candidates.fit(split.X_train, split.y_train)
    gap = root_split_gap(split.X_train, split.y_train, candidates)
    return Result(
        status="ok",
        seconds=time.perf_counter() - start,
        fits=1,
        values={"gap": gap.gap, "delta": float(gap.delta), "bound": gap.bound},
        parameters=repr(candidates),
        shape=split.shape,
    )


MEASURES: dict[str, Callable[[Task, Split, Callable[[str], None]], Result]] = {
    "fit": time_fit,
    "score": score_fit,
    "root": compare_roots,
}


def _warm_up(estimator: Any) -> None:
    """Fit a few rows, so that imports and the start of threads aren't timed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8), dtype=np.float32)
    estimator.fit(X, np.arange(60) % 3)


def _gains(estimator: Any) -> list[list[float]]:
    """Mean local and weighted gain of a single tree by depth."""
    if not isinstance(estimator, CGTreeClassifier | DecisionTreeClassifier):
        return []
    return [[row.mean_gain, row.weighted_gain] for row in gain_by_depth(estimator)]
