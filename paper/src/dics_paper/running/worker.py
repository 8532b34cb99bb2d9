"""A process that fits models, so that a fit that takes too long can be stopped."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import traceback
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from dics_paper.data import Data, Split
from dics_paper.datasets import BadDatasetError, DatasetNotFoundError
from dics_paper.running.tasks import Result, Task, measure

LOG_LINES = 3  # last lines of a process that are shown if it crashes


class Worker:
    """Client of the process: starts it when it is needed, and stops it."""

    def __init__(self, data_dir: Path | None, log: Path) -> None:
        self.data_dir = data_dir
        self.log = log
        self._process: SpawnProcess | None = None
        self._connection: Any = None
        self._log_start = 0  # skips the output of earlier processes

    def run(self, task: Task, limit: float | None) -> Result:
        """Fit one model; stop a fit after `limit` seconds."""
        if self._process is None or not self._process.is_alive():
            self._start()
        timeout = None  # only fits have a limit, not loading
        try:
            self._connection.send(task)
            while self._connection.poll(timeout):
                answer = self._connection.recv()
                if isinstance(answer, Result):
                    return answer
                timeout = limit if answer == "fit" else None
        except (EOFError, OSError):
            return self._died()
        self.close()
        return Result("over limit", seconds=float(limit or 0))

    def close(self) -> None:
        """Kill the process and its child processes."""
        if self._process is None or self._process.pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()  # its process group may not exist yet
        self._process.join()
        self._connection.close()
        self._process = None

    def _start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        context = get_context("spawn")  # a fork would copy the state of threads
        self._connection, other_end = context.Pipe()
        arguments = (other_end, self.data_dir, self.log)
        # Not a daemon: joblib uses only one thread in a daemon.
        self._process = context.Process(target=_serve, args=arguments)
        self._process.start()
        other_end.close()  # otherwise the end of the process is not noticed

    def _died(self) -> Result:
        assert self._process is not None
        self._process.join()
        code = self._process.exitcode
        last = "no output"
        if self.log.exists():
            text = self.log.read_bytes()[self._log_start :].decode(errors="replace")
            last = " ".join(text.splitlines()[-LOG_LINES:]) or last
        return Result("failed", error=f"the process ended with code {code}: {last}")


# --- in the process ----------------------------------------------------------


def _serve(connection: Connection, data_dir: Path | None, log: Path) -> None:
    """Run tasks until the caller ends."""
    os.setsid()  # Ctrl-C goes to the caller, which closes this process
    with log.open("a", encoding="utf-8") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    loader = _Loader(data_dir)
    while True:
        connection.send(_do(tasks.get(), loader, connection))


class _Loader:
    """Stores the last data set, because most tasks use that of the task before."""

    def __init__(self, data_dir: Path | None) -> None:
        self._data_dir = data_dir
        self._splits: dict[tuple[Data, int], Split] = {}

    def load(self, task: Task) -> Split:
        key = (task.data, task.repeat)
        if key not in self._splits:
            self._splits.clear()  # frees the old rows first
            self._splits[key] = task.data.load(task.repeat, self._data_dir)
        return self._splits[key]


def _receive(connection: Connection, tasks: queue.SimpleQueue[Task]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    os._exit(0)  # the caller has ended, so the result is not needed


def _do(task: Task, loader: _Loader, connection: Connection) -> Result:
    try:
        connection.send("load")
        return measure(task, loader.load(task), connection.send)
    except DatasetNotFoundError as error:
        return Result("no data", error=str(error))
    except BadDatasetError as error:
        return Result("bad data", error=str(error))
    except Exception as error:
        traceback.print_exc()
        return Result("failed", error=f"{type(error).__name__}: {error}")
