"""The runs of one model on one data set, as a table shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from dics_paper.models import Model
from dics_paper.paper import Printed
from dics_paper.running.tasks import Result
from dics_paper.text import show_mean, three_digits


@dataclass(frozen=True)
class Summary:
    """The runs of one model on one data set, and what the paper prints for it."""

    model: Model
    results: Sequence[Result]
    printed: Printed

    @property
    def finished(self) -> list[Result]:
        """Runs that have a time and an accuracy."""
        return [result for result in self.results if result.ok]

    @property
    def runs(self) -> int:
        """Number of runs that have finished."""
        return len(self.finished)

    @property
    def status(self) -> str:
        """Return "ok" if a run has finished, else the status of the first."""
        if self.finished:
            return "ok"
        return self.results[0].status if self.results else "not run"

    @property
    def times(self) -> list[float]:
        """Seconds of the finished runs; where there is none, the limits."""
        return [result.seconds for result in self.finished or self.results]

    @property
    def accuracies(self) -> list[float]:
        """Accuracies of the finished runs."""
        return [result.accuracy or 0.0 for result in self.finished]

    @property
    def notes(self) -> list[str]:
        """What a reader has to know about the data and about runs that are missing."""
        if not self.finished:
            return [result.error for result in self.results if result.error]
        about_data = [result.note for result in self.finished if result.note]
        return [
            *dict.fromkeys(about_data),
            *(self._left_out(result) for result in self.results if not result.ok),
        ]

    def show_seconds(self) -> str:
        """Write the time as a table has it."""
        if self.status == "over limit":
            return f"> {max(self.times):g}"
        return show_mean(self.times, three_digits) if self.finished else self.status

    def show_accuracy(self) -> str:
        """Write the accuracy as a table has it."""
        return show_mean(self.accuracies, "{:.4f}".format) if self.finished else ""

    def show_printed_accuracy(self) -> str:
        """Write what the paper has; the cell says so if that is of other data."""
        printed = self.printed.accuracy
        if printed and any(result.note for result in self.finished):
            return f"{printed}, other data"
        return printed

    def show_ratio(self, other: Summary | None) -> str:
        """Write how many times as long it takes as another one."""
        ratio = self.ratio(other)
        if ratio is None:
            return ""
        return ("> " if self.status == "over limit" else "") + three_digits(ratio)

    def ratio(self, other: Summary | None) -> float | None:
        """Say how many times as long it takes as another one, at least."""
        if other is None or not other.finished:
            return None
        if self.status not in ("ok", "over limit"):
            return None
        return mean(self.times) / mean(other.times)

    def _left_out(self, result: Result) -> str:
        why = result.error or f"stopped after {result.seconds:g} s"
        return f"One run of {self.model.label} is left out: {why}"


def uneven(rows: Sequence[Summary]) -> str:
    """Make accuracies comparable where each run has data of its own.

    A model that was fitted once saw the data of the first run, not those of all.
    """
    done = [row for row in rows if row.finished]
    if len({row.runs for row in done}) < 2:
        return ""
    several = [row for row in done if row.runs > 1]
    firsts = ", ".join(f"{row.model.label} {row.accuracies[0]:.4f}" for row in several)
    return (
        "Each run has rows of its own, and models with a single run saw those of the "
        f"first. There the others have the accuracy: {firsts}."
    )


def baseline_of(rows: Sequence[Summary]) -> Summary | None:
    """Find our model with the paper's setting."""
    return next((row for row in rows if row.model.baseline), None)


def default_of(rows: Sequence[Summary]) -> Summary | None:
    """Find our model with its default setting."""
    ours = (row for row in rows if row.model.ours and not row.model.baseline)
    return next(ours, None)
