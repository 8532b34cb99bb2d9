"""Summary of the runs of one model on one data set."""

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
    """Runs of one model on one data set, and the printed numbers of the paper."""

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
        """The status "ok" if a run has finished, otherwise that of the first run."""
        if self.finished:
            return "ok"
        return self.results[0].status if self.results else "not run"

    @property
    def times(self) -> list[float]:
        """Seconds of the finished runs; if there are none, the limits."""
        return [result.seconds for result in self.finished or self.results]

    @property
    def accuracies(self) -> list[float]:
        """Accuracies of the finished runs."""
        return [result.accuracy or 0.0 for result in self.finished]

    @property
    def notes(self) -> list[str]:
        """Notes on the data and on missing runs."""
        if not self.finished:
            return [result.error for result in self.results if result.error]
        about_data = [result.note for result in self.finished if result.note]
        return [
            *dict.fromkeys(about_data),
            *(self._left_out(result) for result in self.results if not result.ok),
        ]

    def show_seconds(self) -> str:
        """Return the time as text for a table."""
        if self.status == "over limit":
            return f"> {max(self.times):g}"
        return show_mean(self.times, three_digits) if self.finished else self.status

    def show_accuracy(self) -> str:
        """Return the accuracy as text for a table."""
        return show_mean(self.accuracies, "{:.4f}".format) if self.finished else ""

    def show_printed_accuracy(self) -> str:
        """Return the printed accuracy, marked if it comes from other data."""
        printed = self.printed.accuracy
        if printed and any(result.note for result in self.finished):
            return f"{printed}, other data"
        return printed

    def show_ratio(self, other: Summary | None) -> str:
        """Return the ratio of times as text for a table."""
        ratio = self.ratio(other)
        if ratio is None:
            return ""
        return ("> " if self.status == "over limit" else "") + three_digits(ratio)

    def ratio(self, other: Summary | None) -> float | None:
        """Return the time divided by that of `other`, or a lower bound of it."""
        if other is None or not other.finished:
            return None
        if self.status not in ("ok", "over limit"):
            return None
        return mean(self.times) / mean(other.times)

    def _left_out(self, result: Result) -> str:
        why = result.error or f"stopped after {result.seconds:g} s"
        return f"One run of {self.model.label} is excluded: {why}"


def uneven(rows: Sequence[Summary]) -> str:
    """Return a note that makes accuracies comparable if runs have different data.

    A model that was fitted once has only the data of the first run.
    """
    done = [row for row in rows if row.finished]
    if len({row.runs for row in done}) < 2:
        return ""
    several = [row for row in done if row.runs > 1]
    firsts = ", ".join(f"{row.model.label} {row.accuracies[0]:.4f}" for row in several)
    return (
        "Each run has different rows; models with a single run have those of the "
        f"first run. In this run the other models have the accuracy: {firsts}."
    )


def baseline_of(rows: Sequence[Summary]) -> Summary | None:
    """Return the model of dics with the paper's setting."""
    return next((row for row in rows if row.model.baseline), None)


def default_of(rows: Sequence[Summary]) -> Summary | None:
    """Return the model of dics with default parameters."""
    ours = (row for row in rows if row.model.ours and not row.model.baseline)
    return next(ours, None)
