"""One measurement: the fit of a model on a data set."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from dics.candidates import CentroidCandidates
from dics.tree import CGTreeClassifier
from dics_paper import timing
from dics_paper.data import Data, Split
from dics_paper.diagnostics import gain_by_depth, root_split_gap
from dics_paper.models import BY_NAME


@dataclass(frozen=True)
class Task:
    """Description of a measurement."""

    data: Data
    model: str
    repeat: int  # also the seed
    n_jobs: int
    settings: dict[str, Any] = field(default_factory=dict)  # replace parameters
    measure: str = "fit"

    def describe(self) -> dict[str, Any]:
        """Return everything that determines the result."""
        return {**asdict(self), "version": BY_NAME[self.model].version}

    @cached_property
    def key(self) -> str:
        """Unique text of the task."""
        return json.dumps(self.describe(), sort_keys=True)

    @cached_property
    def first_key(self) -> str:
        """Key of the first repetition of the task."""
        return self.key if self.repeat == 0 else replace(self, repeat=0).key

    def make_estimator(self, n_classes: int) -> Any:
        """Return a new estimator."""
        return BY_NAME[self.model].make(
            seed=self.repeat,
            n_jobs=self.n_jobs,
            n_classes=n_classes,
            settings=self.settings,
        )

    @property
    def title(self) -> str:
        """Name in the progress bar."""
        changed = "".join(f", {name}={value}" for name, value in self.settings.items())
        return f"{self.data.label}, {BY_NAME[self.model].label}{changed}"


@dataclass(frozen=True)
class Result:
    """Result of a task."""

    status: str  # "ok", "over limit", "no data", "bad data" or "failed"
    seconds: float = 0.0  # of a fit; the limit if it was stopped
    accuracy: float | None = None
    predict_seconds: float = 0.0
    fits: int = 0  # `seconds` is their median
    gains: list[list[float]] = field(default_factory=list)  # of a tree, by depth
    values: dict[str, float] = field(default_factory=dict)  # of another measurement
    parameters: str = ""  # of the estimator
    error: str = ""
    note: str = ""  # about the data
    # Training rows, test rows, features and classes.
    shape: list[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether the measurement succeeded."""
        return self.status == "ok"


class Run(NamedTuple):
    """A task, its result, and the machine."""

    task: Task
    result: Result
    machine: dict[str, Any]


def measure(task: Task, split: Split, report: Callable[[str], None]) -> Result:
    """Run the task; call `report` with "fit" before each fit, then with "score"."""
    return MEASURES[task.measure](task, split, report)


def time_fit(task: Task, split: Split, report: Callable[[str], None]) -> Result:
    """Time the whole fit and compute the accuracy."""
    return _fit_and_score(task, split, report, repeats=None)


def score_fit(task: Task, split: Split, report: Callable[[str], None]) -> Result:
    """Fit once and compute the accuracy; the time does not matter."""
    return _fit_and_score(task, split, report, repeats=1)


def _fit_and_score(
    task: Task, split: Split, report: Callable[[str], None], repeats: int | None
) -> Result:
    first = task.make_estimator(split.n_classes)  # imports modules without a limit
    gc.collect()
    gc.freeze()  # otherwise each collection below visits every module: 80 ms
    report("fit")
    _warm_up(first)
    timed, estimator = timing.measure(
        lambda: task.make_estimator(split.n_classes).fit(split.X_train, split.y_train),
        repeats,
        warm_up=False,
        once_over=timing.QUICK,  # longer fits vary little and are repeated by tasks
        before=lambda: report("fit"),
    )
    report("score")
    start = time.perf_counter()
    accuracy = split.accuracy(estimator)
    return Result(
        status="ok",
        seconds=timed.seconds,
        accuracy=accuracy,
        predict_seconds=time.perf_counter() - start,
        fits=timed.runs,
        gains=_gains(estimator),
        parameters=repr(task.make_estimator(split.n_classes)),
        note=split.note,
        shape=split.size,
    )


def compare_roots(task: Task, split: Split, report: Callable[[str], None]) -> Result:
    """Compare the best candidate split at the root with the best split of all."""
    tree = task.make_estimator(split.n_classes)
    candidates = clone(tree.candidates or CentroidCandidates())
    candidates.set_params(random_state=task.repeat, n_jobs=task.n_jobs)
    report("fit")
    start = time.perf_counter()
    candidates.fit(split.X_train, split.y_train)
    gap = root_split_gap(split.X_train, split.y_train, candidates)
    return Result(
        status="ok",
        seconds=time.perf_counter() - start,
        fits=1,
        values={"gap": gap.gap, "delta": float(gap.delta), "bound": gap.bound},
        parameters=repr(candidates),
        shape=split.size,
    )


MEASURES: dict[str, Callable[[Task, Split, Callable[[str], None]], Result]] = {
    "fit": time_fit,
    "score": score_fit,
    "root": compare_roots,
}


def _warm_up(estimator: Any) -> None:
    """Fit a few rows, so that imports and the start of threads are not timed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8), dtype=np.float32)
    estimator.fit(X, np.arange(60) % 3)


def _gains(estimator: Any) -> list[list[float]]:
    """Return the mean local gain and the weighted gain of a tree by depth."""
    if not isinstance(estimator, CGTreeClassifier | DecisionTreeClassifier):
        return []
    return [[row.mean_gain, row.weighted_gain] for row in gain_by_depth(estimator)]
