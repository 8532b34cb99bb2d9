"""The runs of one model on one data set, as a table shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from dics_paper.models import Model
from dics_paper.paper import Printed
from dics_paper.running.tasks import Result


@dataclass(frozen=True)
class Summary:
    """The runs of one model on one data set."""

    model: Model
    runs: int
    seconds: float
    seconds_sd: float
    accuracy: float
    accuracy_sd: float
    status: str  # "ok" if a run is, else that of the first, or "missing"
    printed: Printed
    notes: tuple[str, ...] = ()
    first_accuracy: float = 0.0  # of the first run

    @property
    def done(self) -> bool:
        """Whether it has figures."""
        return self.status == "ok"

    def show_seconds(self) -> str:
        """Write the time as a table has it."""
        if self.status == "over limit":
            return f"> {self.seconds:g}"
        if not self.done:
            return SHORT.get(self.status, self.status)
        text = three_digits(self.seconds)
        return f"{text} ({three_digits(self.seconds_sd)})" if self.runs > 1 else text

    def show_ratio(self, other: Summary | None) -> str:
        """Write how many times as long it takes as another one."""
        ratio = self.ratio(other)
        if ratio is None:
            return ""
        more = "> " if self.status == "over limit" else ""
        return f"{more}{three_digits(ratio)}"

    def ratio(self, other: Summary | None) -> float | None:
        """Say how many times as long it takes as another one, at least."""
        if other is None or not other.done or self.status not in ("ok", "over limit"):
            return None
        return self.seconds / other.seconds

    def show_accuracy(self) -> str:
        """Write the accuracy as a table has it."""
        if not self.done:
            return ""
        text = f"{self.accuracy:.4f}"
        return f"{text} ({self.accuracy_sd:.4f})" if self.runs > 1 else text


SHORT = {"missing": "not run"}


def summarize(model: Model, results: Sequence[Result], printed: Printed) -> Summary:
    """Take the mean and the spread of the runs of a model."""
    done = [result for result in results if result.ok]
    if not done:
        status = results[0].status if results else "missing"
        seconds = max((result.seconds for result in results), default=0.0)
        notes = tuple(result.error for result in results if result.error)
        return Summary(model, 0, seconds, 0, 0, 0, status, printed, notes)
    times = [result.seconds for result in done]
    scores = [result.accuracy or 0.0 for result in done]
    notes = (
        *dict.fromkeys(result.note for result in done if result.note),
        *(_unfinished(model, result) for result in results if not result.ok),
    )
    return Summary(
        model,
        len(done),
        mean(times),
        stdev(times) if len(done) > 1 else 0.0,
        mean(scores),
        stdev(scores) if len(done) > 1 else 0.0,
        "ok",
        printed,
        notes,
        scores[0],
    )


def uneven(rows: Sequence[Summary]) -> str:
    """Make accuracies comparable where each run has data of its own.

    A model that was fitted once saw the data of the first run, not those of all.
    """
    done = [row for row in rows if row.done]
    if len({row.runs for row in done}) < 2:
        return ""
    several = [row for row in done if row.runs > 1]
    firsts = ", ".join(f"{r.model.label} {r.first_accuracy:.4f}" for r in several)
    return (
        "Each run has rows of its own, and models with a single run saw those of the "
        f"first. There the others have the accuracy: {firsts}."
    )


def _unfinished(model: Model, result: Result) -> str:
    why = result.error or f"stopped after {result.seconds:g} s"
    return f"One run of {model.label} is left out: {why}"


def baseline_of(rows: Sequence[Summary]) -> Summary | None:
    """Find our model with the paper's setting."""
    return next((row for row in rows if row.model.baseline), None)


def default_of(rows: Sequence[Summary]) -> Summary | None:
    """Find our model as it comes."""
    ours = (row for row in rows if row.model.ours and not row.model.baseline)
    return next(ours, None)


def three_digits(value: float) -> str:
    """Write a number with three digits that count.

    >>> three_digits(0.01234), three_digits(1.5), three_digits(123.4), three_digits(0)
    ('0.0123', '1.50', '123', '0')
    """
    if value == 0:
        return "0"
    decimals = 4 if value < 0.1 else 3 if value < 1 else 2 if value < 10 else 1
    return f"{value:.{decimals}f}" if value < 100 else f"{value:.0f}"
