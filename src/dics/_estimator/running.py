"""Progress and warnings of a running fit."""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import sklearn

# A warning should point to the first frame outside these packages.
OURS = tuple(
    f"{package}{os.sep}"
    for package in (Path(__file__).parents[1], Path(sklearn.__file__).parent)
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the call that led into this package or scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Progress:
    """Progress and remaining time of a long call, on stderr.

    A terminal shows a single line that is updated. A log or a notebook gets a new line
    for every tenth of the work. Work of less than a second prints its last line only.

    Parameters
    ----------
    title : str
        Name of the work.
    total : int
        Number of steps.
    unit : str
        Name of the steps, in the plural.
    enabled : bool, default=True
        False writes nothing.
    stream : text file, default=sys.stderr
    """

    QUIET_SECONDS = 1.0  # lines about shorter work would only be noise

    def __init__(
        self,
        title: str,
        total: int,
        unit: str,
        *,
        enabled: bool = True,
        stream: TextIO | None = None,
    ) -> None:
        self.title = title
        self.total = total
        self.unit = unit
        self.stream = sys.stderr if stream is None else stream
        self.enabled = enabled and self.stream is not None  # None under pythonw
        self.on_terminal = self.enabled and self.stream.isatty()
        self.done = 0
        self.written = 0
        self.width = 0
        self.start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.enabled:
            return
        # An interrupt ends the line, too; the error itself is shown by the caller.
        if kind is None:
            elapsed = as_time(time.monotonic() - self.start)
            self._write(f"{self.total} {self.unit} in {elapsed}")
        else:
            self._write(f"stopped after {self.done} of {self.total} {self.unit}")
        if self.on_terminal:
            self.stream.write("\n")
        self.stream.flush()

    def update(self, done: int, note: str = "") -> None:
        """Show that `done` steps are finished, with a note about them."""
        self.done = done
        elapsed = time.monotonic() - self.start
        if not self.enabled or done == 0 or elapsed < self.QUIET_SECONDS:
            return
        if not self.on_terminal and done - self.written < self.total / 10:
            return
        self.written = done
        # Steps take about the same time each: trees, or rounds of trees.
        left = elapsed / done * (self.total - done)
        state = f"{done}/{self.total} {self.unit}"
        self._write(", ".join(filter(None, [state, note, f"{as_time(left)} left"])))

    def announce(self, message: str) -> None:
        """Write a line that stays, before the work begins."""
        if not self.enabled:
            return
        self.stream.write(f"{self.title}: {message}\n")
        self.stream.flush()

    def _write(self, message: str) -> None:
        line = f"{self.title}: {message}"
        if self.on_terminal:
            # Spaces erase the rest of a longer line.
            self.stream.write("\r" + line.ljust(self.width))
            self.width = len(line)
        else:
            self.stream.write(line + "\n")
        self.stream.flush()


def as_time(seconds: float) -> str:
    """Return a duration as text.

    >>> as_time(0.04), as_time(7.2), as_time(75), as_time(3700)
    ('0.0 s', '7.2 s', '1 min 15 s', '1 h 01 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
