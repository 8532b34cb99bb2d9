"""A process that fits models, so that a fit that takes too long can be stopped.

It reads tasks as lines of JSON and answers with lines of JSON. Whatever a library
prints goes to stderr, which is a log file.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from dics.datasets import BadDatasetError, DatasetNotFoundError
from dics_paper.data import Data, Split
from dics_paper.running.tasks import Result, Task, measure

LOG_LINES = 3  # of what a worker wrote before it died

Answers = queue.Queue[dict[str, Any] | None]  # None: there is no more


class Worker:
    """The calling side: starts the process when it is needed, and stops it."""

    def __init__(self, data_dir: Path | None, log: Path) -> None:
        self.data_dir = data_dir
        self.log = log
        self._process: subprocess.Popen[str] | None = None
        self._answers: Answers = queue.Queue()
        self._log_start = 0  # what earlier processes wrote isn't this one's

    def run(self, task: Task, limit: float | None) -> Result:
        """Fit one model; after `limit` seconds in one fit, give up."""
        self._send(json.dumps(asdict(task)))
        timeout = None  # loading isn't limited, a fit is
        while True:
            try:
                answer = self._answers.get(timeout=timeout)
            except queue.Empty:
                self.close()
                return Result("over limit", seconds=float(limit or 0))
            if answer is None:
                return self._died()
            if "result" in answer:
                return Result(**answer["result"])
            timeout = limit if answer["event"] == "fit" else None

    def close(self) -> None:
        """Stop the process, whatever it is doing, and what it has started."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._end()

    def _send(self, line: str) -> None:
        if self._process is not None and self._process.poll() is not None:
            self._end()  # it died after its last task
        if self._process is None:
            self._process = self._start()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # then the answer is that it died
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _start(self) -> subprocess.Popen[str]:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a", encoding="utf-8") as log:
            self._log_start = log.tell()
            # In a session of its own: Ctrl-C is for the caller, who closes it. -P: a
            # file of the user's directory must not replace a module.
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(self.data_dir or "")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
        self._answers = queue.Queue()
        threading.Thread(
            target=_forward, args=(process.stdout, self._answers), daemon=True
        ).start()
        return process

    def _end(self) -> int:
        """Let go of a process that has ended or was killed; return its exit code."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stdin is not None
        code = process.wait()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return code

    def _died(self) -> Result:
        code = self._end()
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode("utf-8", errors="replace").splitlines()
        last = " ".join(lines[-LOG_LINES:]) or "it wrote nothing"
        return Result("failed", error=f"the process ended with code {code}: {last}")


def _forward(stream: IO[str], answers: Answers) -> None:
    """Pass on what the process says, and in any case that it says no more."""
    try:
        with stream:
            for line in stream:
                answers.put(json.loads(line))
    except ValueError:
        pass  # it was killed in the middle of a line
    finally:
        answers.put(None)


# --- in the process ----------------------------------------------------------


class _Loader:
    """Keeps the last data set, which most tasks share with the one before."""

    def __init__(self, data_dir: Path | None) -> None:
        self._data_dir = data_dir
        self._key: tuple[Data, int] | None = None
        self._split: Split | None = None

    def load(self, task: Task) -> Split:
        key = (task.data, task.repeat)
        if self._split is None or key != self._key:
            self._split = None  # frees the old one first
            self._split, self._key = task.data.load(task.repeat, self._data_dir), key
        return self._split


def _answer(task: Task, loader: _Loader, out: IO[str]) -> Result:
    def report(event: str) -> None:
        print(json.dumps({"event": event}), file=out, flush=True)

    try:
        report("load")
        return measure(task, loader.load(task), report)
    except DatasetNotFoundError as error:
        return Result("no data", error=str(error))
    except BadDatasetError as error:
        return Result("bad data", error=str(error))
    except Exception as error:
        traceback.print_exc()
        return Result("failed", error=f"{type(error).__name__}: {error}")


def _tasks(lines: queue.Queue[str]) -> Iterator[Task]:
    while True:
        fields = json.loads(lines.get())
        yield Task(**{**fields, "data": Data(**fields["data"])})


def _read_lines(lines: queue.Queue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)  # the caller has ended, and nobody waits for the fit


def main() -> None:
    """Answer tasks until the caller goes away."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    loader = _Loader(Path(sys.argv[1]) if sys.argv[1] else None)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_lines, args=(lines,), daemon=True).start()
    for task in _tasks(lines):
        result = _answer(task, loader, out)
        print(json.dumps({"result": asdict(result)}), file=out, flush=True)


if __name__ == "__main__":
    main()
