"""The rows of bench_against.py: pairs of times, their ratios, and tables of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Ask = Callable[..., dict[str, Any]]  # sends a request to a worker, returns its reply

SHORTEST = 0.05  # seconds; shorter calls are repeated for this long and averaged
# Number of pairs by the duration of a measurement (with its repeated calls), in
# seconds. The numbers are even, so that each side is first equally often.
REPETITIONS = ((0.1, 16), (0.5, 8), (math.inf, 6))
FEWEST = 6


class TaskFailed(Exception):
    """One side failed in a task; the message has the side and the reason."""


@dataclass
class Row:
    """One task on one data set: seconds of both sides, pair by pair."""

    data: str
    task: str
    group: str
    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    n_first: int = 0  # number of pairs in the first round
    same: bool | None = None  # whether both sides return the same predictions
    problem: str | None = None

    @property
    def ratios(self) -> list[float]:
        return [new / old for old, new in zip(self.old, self.new, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the paired ratios; a busy period affects both of a pair."""
        return statistics.median(self.ratios)

    @property
    def first_ratio(self) -> float:
        """The ratio of the first round.

        Only rows that seem slower are measured again, so the mean of the final ratios
        of all rows would be too low.
        """
        return statistics.median(self.ratios[: self.n_first])

    @property
    def quartiles(self) -> tuple[float, float]:
        low, _, high = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return low, high

    @property
    def is_measured(self) -> bool:
        return bool(self.old) and self.problem is None

    def is_slower(self, limit: float) -> bool:
        return self.is_measured and self.ratio > limit

    def as_dict(self) -> dict[str, Any]:
        values = dict(vars(self))
        if self.is_measured:
            values |= {"ratio": self.ratio, "quartiles": self.quartiles}
        return values


# --- measuring -------------------------------------------------------------


def measure(
    row: Row, request: dict[str, Any], old: Ask, new: Ask, *, times: int, quick: bool
) -> None:
    """Add pairs of times to a row: `times` the number for its duration."""
    sides = {"old": old, "new": new}
    quickest = min(ask(do="warm_up", task=request)["seconds"] for ask in sides.values())
    calls = count_calls(quickest)
    n_pairs = times * (FEWEST if quick else count_pairs(calls * quickest))
    for order in alternate(n_pairs, first=len(row.old)):
        seconds = {
            side: sides[side](do="time", task=request, calls=calls)["seconds"]
            for side in order
        }
        row.old.append(seconds["old"])
        row.new.append(seconds["new"])
    row.n_first = row.n_first or n_pairs
    digests = [ask(do="digest", task=request)["digest"] for ask in sides.values()]
    row.same = digests[0] == digests[1]


def count_calls(seconds: float) -> int:
    """Return the number of calls per measurement for a call of this duration."""
    return max(1, math.ceil(SHORTEST / max(seconds, 1e-9)))


def count_pairs(seconds: float) -> int:
    """Return the number of pairs for a measurement of this duration."""
    return next(n_pairs for below, n_pairs in REPETITIONS if seconds < below)


def alternate(n_pairs: int, first: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the order of the sides in each pair: old new, new old, old new, ..."""
    for pair in range(first, first + n_pairs):
        yield ("new", "old") if pair % 2 else ("old", "new")


# --- tables ----------------------------------------------------------------


def mean_ratio(rows: Sequence[Row]) -> float:
    """Return the geometric mean of the ratios of the first round."""
    return statistics.geometric_mean(row.first_ratio for row in rows)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


LEGEND = """\
old, new: median times. new/old: median of the ratios of pairs. quartiles: of these
ratios. same: whether the predictions are bit-identical. The geometric mean is that of
the first round of pairs, before rows above the limit were measured again."""
COLUMNS = ("data", "task", "old", "new", "new/old", "quartiles", "pairs", "same", "")


def as_cells(row: Row, limit: float) -> list[Any]:
    low, high = row.quartiles
    return [
        row.data,
        row.task,
        show_seconds(statistics.median(row.old)),
        show_seconds(statistics.median(row.new)),
        f"{row.ratio:.3f}",
        f"{low:.3f} - {high:.3f}",
        len(row.old),
        "yes" if row.same else "no",
        "slower" if row.is_slower(limit) else "",
    ]


def group_cells(group: str, rows: Sequence[Row], limit: float) -> list[Any]:
    worst = max(rows, key=lambda row: row.ratio)
    return [
        group,
        len(rows),
        f"{mean_ratio(rows):.3f}",
        f"{worst.ratio:.3f} ({worst.data}, {worst.task})",
        sum(row.is_slower(limit) for row in rows),
        sum(not row.same for row in rows),
    ]


def make_report(rows: Sequence[Row], skipped: Sequence[str], limit: float) -> str:
    """Return the summary, the table by kind of task, and the table of all rows."""
    measured = [row for row in rows if row.is_measured]
    parts = [summarize(measured, limit)]
    if measured:
        parts += [make_group_table(measured, limit), make_table(measured, limit)]
        parts += [LEGEND]
    failed = [f"- Failed: {r.data}, {r.task}: {r.problem}" for r in rows if r.problem]
    parts += ["\n".join([*failed, *(f"- Skipped: {reason}" for reason in skipped)])]
    return "\n\n".join(part for part in parts if part) + "\n"


def summarize(rows: Sequence[Row], limit: float) -> str:
    if not rows:
        return "No row was measured."
    worst = max(rows, key=lambda row: row.ratio)
    slower = sum(row.is_slower(limit) for row in rows)
    return (
        f"{len(rows)} rows, geometric mean of new/old "
        f"{mean_ratio(rows):.3f}, "
        f"{slower} slower than {limit:g}x. Worst row: {worst.ratio:.3f} "
        f"({worst.data}, {worst.task}). Same predictions in "
        f"{sum(bool(row.same) for row in rows)} rows."
    )


def make_group_table(rows: Sequence[Row], limit: float) -> str:
    groups = dict.fromkeys(row.group for row in rows)
    columns = ("task", "rows", "geometric mean", "worst", "slower", "not the same")
    cells = [
        group_cells(group, [row for row in rows if row.group == group], limit)
        for group in groups
    ]
    return markdown_table(columns, cells)


def make_table(rows: Sequence[Row], limit: float) -> str:
    return markdown_table(COLUMNS, [as_cells(row, limit) for row in rows])


def show_seconds(seconds: float) -> str:
    """Return three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{three_digits(seconds / size)} {unit}"
    return f"{three_digits(seconds / 1e-6)} us"


def three_digits(value: float) -> str:
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{decimals}f}"
