"""Run tasks one after the other, store their results and show the progress."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dics_paper.data import Data
from dics_paper.datasets import BadDatasetError
from dics_paper.environment import machine, stamped
from dics_paper.models import BY_NAME
from dics_paper.progress import Steps
from dics_paper.running.tasks import Result, Run, Task
from dics_paper.running.worker import Worker
from dics_paper.store import Store

LINE_PAUSE = 10.0  # seconds between two lines of progress in a log


@dataclass(frozen=True)
class Rules:
    """Limits of fits and of repetitions."""

    limit: float | None  # seconds for a single fit
    once_over: float  # seconds; slower models of other libraries are fitted once


class Results:
    """Runs by task."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._missing: dict[Data, Result] = {}

    def add(self, run: Run) -> None:
        """Add a run."""
        self._runs[run.task.key] = run
        if run.result.status == "no data":
            self._missing[run.task.data] = run.result

    def get(self, task: Task) -> Result | None:
        """Return the result of a task, or None."""
        run = self._runs.get(task.key)
        return run.result if run else None

    def first_of(self, task: Task) -> Result | None:
        """Return the result of the first repetition of a task, or None."""
        run = self._runs.get(task.first_key)
        return run.result if run else None

    def of(self, tasks: Sequence[Task]) -> list[Result]:
        """Return the available results of tasks."""
        return [result for task in tasks if (result := self.get(task)) is not None]

    def lack(self, data: Data) -> Result | None:
        """Return the result with the reason why a data set is missing, or None."""
        return self._missing.get(data)

    def runs(self) -> list[Run]:
        """Return all runs."""
        return list(self._runs.values())


class Runner:
    """Returns stored results and fits the missing ones."""

    def __init__(self, out: Path, data_dir: Path | None) -> None:
        machine()  # measures the load before this process adds to it
        self.store = Store(out / "fits.jsonl")
        self.worker = Worker(data_dir, out / "worker.log")

    def run(self, tasks: Sequence[Task], rules: Rules, *, fit: bool = True) -> Results:
        """Return the results of the tasks; without `fit`, only stored results."""
        tasks = in_order(tasks)
        results = Results()
        for task in tasks:
            kept = self._find(task, rules.limit if fit else 0.0)
            if kept is not None:
                results.add(kept)
        missing = [task for task in tasks if results.get(task) is None]
        if fit and missing:
            with Steps(len(missing), live=True, pause=LINE_PAUSE) as steps:
                n_kept = len(results.runs())
                steps.say(f"{len(missing)} fits to do, {n_kept} stored results")
                try:
                    self._fit(missing, results, rules, steps)
                finally:
                    self.worker.close()
        return results

    def _find(self, task: Task, limit: float | None) -> Run | None:
        """Return the stored run of a task, unless it was stopped at a shorter limit."""
        entry = self.store.find(task.describe())
        if entry is None:
            return None
        try:
            run = Run(task, Result(**entry["result"]), entry["machine"])
        except (KeyError, TypeError) as error:
            warnings.warn(
                f"The stored result of {task.title} is broken ({error}); the fit will "
                "be repeated.",
                stacklevel=3,
            )
            return None
        if run.result.status == "over limit":
            return run if limit is not None and limit <= run.result.seconds else None
        return run

    def _fit(
        self, missing: Sequence[Task], results: Results, rules: Rules, steps: Steps
    ) -> None:
        for i, task in enumerate(missing):
            lack = results.lack(task.data)
            if lack is not None:
                results.add(Run(task, lack, stamped()))
                continue
            if not worth_fitting(task, results, rules):
                continue
            steps.begin(task.title, done=i)
            result = self.worker.run(task, rules.limit)
            run = Run(task, result, stamped())
            results.add(run)
            if result.status == "bad data":
                raise BadDatasetError(result.error)
            if result.status in ("ok", "over limit"):
                self.store.keep(
                    task.describe(), result=asdict(result), machine=run.machine
                )
            else:
                steps.say(f"{result.status}: {task.title}: {result.error}")


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return each task once, by repetition and then by data, which load slowly."""
    unique = {task.key: task for task in tasks}
    place: dict[Data, int] = {}
    for task in unique.values():
        place.setdefault(task.data, len(place))
    return sorted(unique.values(), key=lambda task: (task.repeat, place[task.data]))


def worth_fitting(task: Task, results: Results, rules: Rules) -> bool:
    """Return False for missing data and for repetitions of failed or slow fits."""
    if results.lack(task.data) is not None:
        return False
    first = results.first_of(task)
    if task.repeat == 0 or first is None:
        return True
    if not first.ok:
        return False
    return BY_NAME[task.model].ours or first.seconds <= rules.once_over
