"""Runs tasks one after the other, keeps what is finished, and tells how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from dics._progress import as_time
from dics.datasets import BadDatasetError
from dics_paper.data import Data
from dics_paper.models import BY_NAME
from dics_paper.running.display import BarDisplay, LineDisplay, make_display
from dics_paper.running.environment import machine, stamped
from dics_paper.running.store import Run, Store
from dics_paper.running.tasks import Result, Task
from dics_paper.running.worker import Worker


@dataclass(frozen=True)
class Rules:
    """When to stop, and what not to repeat."""

    limit: float | None  # seconds for a single fit
    once_over: float  # seconds; a peer that takes longer isn't fitted again


class Results:
    """Runs by task."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._missing: dict[Data, Result] = {}

    def add(self, run: Run) -> None:
        """Take a run in."""
        self._runs[run.task.key] = run
        if run.result.status == "no data":
            self._missing[run.task.data] = run.result

    def get(self, task: Task) -> Result | None:
        """Return the result of a task, if there is one."""
        run = self._runs.get(task.key)
        return run.result if run else None

    def first_of(self, task: Task) -> Result | None:
        """Return the result of the first repetition of a task, if there is one."""
        run = self._runs.get(task.first_key)
        return run.result if run else None

    def of(self, tasks: Sequence[Task]) -> list[Result]:
        """Return the results that there are of some tasks."""
        return [result for task in tasks if (result := self.get(task)) is not None]

    def lack(self, data: Data) -> Result | None:
        """Return what came of asking for a data set in vain; None if it's there."""
        return self._missing.get(data)

    def runs(self) -> list[Run]:
        """Return all runs."""
        return list(self._runs.values())


class Runner:
    """Gets results: kept ones, and by fitting what is missing."""

    def __init__(self, out: Path, data_dir: Path | None) -> None:
        machine()  # before anything else makes the machine busy
        self.store = Store(out / "cells")
        self.worker = Worker(data_dir, out / "worker.log")

    def run(self, tasks: Sequence[Task], rules: Rules, *, fit: bool = True) -> Results:
        """Return the results of the tasks; without `fit`, only those that are kept."""
        tasks = in_order(tasks)
        results = Results()
        for task in tasks:
            kept = self.store.find(task, rules.limit if fit else 0.0)
            if kept is not None:
                results.add(kept)
        missing = [task for task in tasks if results.get(task) is None]
        if fit and missing:
            with make_display() as display:
                display.start(len(missing), len(results.runs()))
                try:
                    self._fit(missing, results, rules, display)
                finally:
                    self.worker.close()
        return results

    def _fit(
        self,
        missing: Sequence[Task],
        results: Results,
        rules: Rules,
        display: LineDisplay | BarDisplay,
    ) -> None:
        left = TimeLeft(results)
        for i, task in enumerate(missing):
            lack = results.lack(task.data)
            if lack is not None:
                results.add(Run(task, lack, stamped()))
                continue
            if not worth_fitting(task, results, rules):
                continue
            ahead = [t for t in missing[i:] if worth_fitting(t, results, rules)]
            display.begin(i, task.title, left.describe(ahead))
            result = self.worker.run(task, rules.limit)
            run = Run(task, result, stamped())
            results.add(run)
            left.note(run)
            if result.status == "bad data":
                raise BadDatasetError(result.error)
            if result.status in ("ok", "over limit"):
                self.store.keep(run)
            else:
                display.say(f"{result.status}: {task.title}: {result.error}")
        display.end()


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return every task once: first repetitions first, then by data, slow to load."""
    unique = {task.key: task for task in tasks}
    place: dict[Data, int] = {}
    for task in unique.values():
        place.setdefault(task.data, len(place))
    return sorted(unique.values(), key=lambda task: (task.repeat, place[task.data]))


def worth_fitting(task: Task, results: Results, rules: Rules) -> bool:
    """Say no to missing data, and to a second fit of what failed or took very long."""
    if results.lack(task.data) is not None:
        return False
    first = results.first_of(task)
    if task.repeat == 0 or first is None:
        return True
    if not first.ok:
        return False
    return BY_NAME[task.model].ours or first.seconds <= rules.once_over


class TimeLeft:
    """Guesses how long tasks will take, from those that are done."""

    UNKNOWN = 5.0  # seconds

    def __init__(self, results: Results) -> None:
        self._by_task: dict[str, float] = {}
        self._by_model: dict[str, list[float]] = {}
        for run in results.runs():
            self.note(run)

    def note(self, run: Run) -> None:
        """Learn from a run."""
        result = run.result
        if result.status == "no data":
            return
        seconds = result.seconds * max(result.fits, 1) + result.predict_seconds
        self._by_task[run.task.first_key] = seconds
        self._by_model.setdefault(run.task.model, []).append(seconds)

    def describe(self, tasks: Sequence[Task]) -> str:
        """Say how long some tasks will take together."""
        times = [seconds for known in self._by_model.values() for seconds in known]
        guess = mean(times) if times else self.UNKNOWN
        of_model = {model: mean(known) for model, known in self._by_model.items()}
        return as_time(
            sum(
                self._by_task.get(task.first_key, of_model.get(task.model, guess))
                for task in tasks
            )
        )
