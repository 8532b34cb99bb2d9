"""Progress of a run on stderr: a bar on a terminal, otherwise lines."""

from __future__ import annotations

import importlib.util
import sys
import time
from types import TracebackType
from typing import Self


class LineDisplay:
    """A line for each task that begins, at most one in ten seconds: for logs."""

    SECONDS = 10.0

    def __init__(self) -> None:
        self._total = 0
        self._last = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def start(self, total: int, kept: int) -> None:
        """Say how many tasks there are, and how many results were kept."""
        self._total = total
        self.say(f"{total} fits to do, {kept} kept from before")

    def begin(self, done: int, title: str, left: str) -> None:
        """Say which task begins, after how many, and how long all will still take."""
        now = time.monotonic()
        if done and now - self._last < self.SECONDS:
            return
        self._last = now
        self.say(f"[{done + 1}/{self._total}] {title}; about {left} left")

    def end(self) -> None:
        """Say that all is done."""
        self.say(f"{self._total} fits done")

    def say(self, line: str) -> None:
        """Print a line that stays."""
        print(line, file=sys.stderr, flush=True)


class BarDisplay:
    """A bar with the time left, from rich."""

    def __init__(self) -> None:
        import rich.console
        import rich.progress as progress

        self._bar = progress.Progress(
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[left]}"),
            progress.TextColumn("{task.description}"),
            console=rich.console.Console(stderr=True),
            refresh_per_second=1,  # takes no time from what is measured
        )
        self._task = self._bar.add_task("", total=None, left="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def start(self, total: int, kept: int) -> None:
        """Say how many tasks there are, and how many results were kept."""
        self._bar.update(self._task, total=total)
        if kept:
            self.say(f"{kept} fits kept from before")

    def begin(self, done: int, title: str, left: str) -> None:
        """Say which task begins, after how many, and how long all will still take."""
        self._bar.update(
            self._task, completed=done, description=title, left=f"{left} left"
        )

    def end(self) -> None:
        """Say that all is done."""
        (task,) = self._bar.tasks
        self._bar.update(self._task, completed=task.total, description="done", left="")

    def say(self, line: str) -> None:
        """Print a line that stays."""
        self._bar.console.print(line, highlight=False, markup=False)


def make_display() -> LineDisplay | BarDisplay:
    """Make the display that suits where stderr goes, and what is installed."""
    has_rich = importlib.util.find_spec("rich") is not None
    return BarDisplay() if sys.stderr.isatty() and has_rich else LineDisplay()
