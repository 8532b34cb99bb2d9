"""Results that are kept, so that a stopped run goes on where it was."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from dics_paper.running.tasks import Result, Task


class Run(NamedTuple):
    """A task, what came out of it, and on what machine."""

    task: Task
    result: Result
    machine: dict[str, Any]


class Store:
    """A directory with a JSON file for each finished task."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def find(self, task: Task, limit: float | None) -> Run | None:
        """Return the kept run of a task, if it answers the question.

        A fit that was stopped at a shorter limit than today's doesn't, nor one that
        failed. What can't be read is reported and counts as missing.
        """
        file = self._file(task)
        if not file.exists():
            return None
        try:
            run = _read(file, task)
        except (OSError, ValueError, TypeError, KeyError) as error:
            warnings.warn(
                f"the kept result {file} is broken ({error}); it is computed again",
                stacklevel=2,
            )
            return None
        if run.result.status == "over limit":
            return run if limit is not None and limit <= run.result.seconds else None
        return run if run.result.ok else None

    def keep(self, run: Run) -> None:
        """Write a run; the file is complete or not there at all."""
        self.directory.mkdir(parents=True, exist_ok=True)
        entry = {
            "task": run.task.describe(),
            "result": asdict(run.result),
            "machine": run.machine,
        }
        handle, name = tempfile.mkstemp(dir=self.directory, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(entry, file, indent=1)
            Path(name).replace(self._file(run.task))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _file(self, task: Task) -> Path:
        return self.directory / f"{task.key}.json"


def _read(file: Path, task: Task) -> Run:
    entry = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(entry, dict) or not {"task", "result", "machine"} <= entry.keys():
        raise ValueError("it lacks task, result or machine")
    if entry["task"] != json.loads(json.dumps(task.describe())):
        raise ValueError("it is of another task")
    result = Result(**entry["result"])
    if result.status not in ("ok", "over limit"):
        raise ValueError(f"its status is {result.status!r}")
    needed = ["seconds", "accuracy"] if result.ok and not result.values else ["seconds"]
    for name in needed:
        if not isinstance(entry["result"][name], float):
            raise ValueError(f"{name} is {entry['result'][name]!r}, not a number")
    if not isinstance(entry["machine"], dict):
        raise ValueError("its machine is missing")
    return Run(task, result, entry["machine"])
