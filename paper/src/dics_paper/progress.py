"""Progress of experiments and benchmarks on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Steps:
    """Shows the current step: as a bar in a terminal, otherwise as lines.

    Parameters
    ----------
    total : int
        Number of steps.
    live : bool, default=False
        Whether the bar is drawn every second. Otherwise it is drawn only when a step
        begins, so that it does not disturb measurements in this process.
    pause : float, default=0
        Minimum seconds between two lines.
    """

    def __init__(self, total: int, *, live: bool = False, pause: float = 0.0) -> None:
        self.total = total
        self.pause = pause
        self.begun = 0
        self._last = -pause
        self._console = Console(stderr=True)
        self._bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=self._console,
            auto_refresh=live,
            refresh_per_second=1,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._bar.update(self._task, completed=self.total, description="done")
        self._bar.stop()

    def begin(self, title: str, done: int | None = None) -> None:
        """Show a new step after `done` others (None: all that have begun)."""
        self.begun = self.begun if done is None else done
        self._bar.update(
            self._task, completed=self.begun, description=title, refresh=True
        )
        self.begun += 1
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last >= self.pause:
            self._last = now
            self.say(f"[{self.begun}/{self.total}] {title}")

    def say(self, line: str) -> None:
        """Print a permanent line."""
        if self._console.is_terminal:
            self._console.print(line, highlight=False, markup=False)
        else:
            print(line, file=sys.stderr, flush=True)
