"""The six tables of fit time and accuracy, each with a plot of the ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from dics_paper import paper
from dics_paper.data import Data
from dics_paper.models import Model, of_family
from dics_paper.options import Options
from dics_paper.report.document import Block, Cell, Column, Figure, Table
from dics_paper.report.speedups import Speedup, plot_speedups
from dics_paper.running.runner import Results
from dics_paper.running.tasks import Task
from dics_paper.summary import Summary, baseline_of, default_of, uneven

FAMILIES = {
    "tree": "one tree of depth 8",
    "forest": "100 trees of depth 8",
    "boosting": "100 rounds of depth 3",
}
PLURALS = {"tree": "Trees", "forest": "Forests", "boosting": "Boosting"}
ONCE = ("bdtks",)  # as in the paper


@dataclass(frozen=True)
class Comparison:
    """A table of the paper: one family of models on synthetic or real data."""

    family: str
    rho: float | None = None  # None for real data

    @property
    def command(self) -> str:
        """Name of the table on the command line."""
        return f"{'real' if self.rho is None else 'synthetic'}-{self.family}"

    @property
    def name(self) -> str:
        """Name of this part of a report."""
        return self.command if self.rho is None else f"{self.command}-rho-{self.rho:g}"

    def tasks(self, options: Options) -> list[Task]:
        """List the fits that the table needs."""
        return [
            task
            for data in self._data(options)
            for model in self._models(options)
            for task in self._repeats(data, model, options)
        ]

    def parts(self, options: Options, results: Results) -> list[Table | Figure]:
        """Return the table and its plot."""
        data = self._data(options)
        if not data or not self._models(options):
            return []
        return [
            self._table(data, options, results),
            *self._plot(data, options, results),
        ]

    def _data(self, options: Options) -> list[Data]:
        if self.rho is None:
            return options.real_data()
        return options.synthetic_data(self.rho)

    def _models(self, options: Options) -> list[Model]:
        return of_family(self.family, options.models)

    def _settings(self, options: Options) -> dict[str, Any]:
        """Return the parameters that this scale sets in all models."""
        return options.scale.settings.get(self.family, {})

    def _repeats(self, data: Data, model: Model, options: Options) -> list[Task]:
        repeats = 1 if model.name in ONCE else options.n_repeats
        settings = self._settings(options)
        return [
            Task(data, model.name, i, options.n_jobs, settings) for i in range(repeats)
        ]

    # --- the table -----------------------------------------------------------

    def _table(self, sets: Sequence[Data], options: Options, results: Results) -> Table:
        notes = [NOTES[self.family]]
        if self.rho is not None:
            notes.append(WEIGHTS_NOTES[options.class_weights])
        return Table(
            self.name,
            self._title(),
            f"Fit time and test accuracy of {FAMILIES[self.family]}. "
            "Mean (standard deviation) over the runs.",
            COLUMNS,
            [self._block(data, options, results) for data in sets],
            notes,
        )

    def _title(self) -> str:
        models = PLURALS[self.family]
        if self.rho is None:
            return f"{models} on real data"
        return f"{models} on synthetic data, rho = {self.rho:g}"

    def _block(self, data: Data, options: Options, results: Results) -> Block:
        rows = self._summaries(data, options, results)
        # If the runs have different rows, accuracies do not compare: mark no best one.
        uneven_note = "" if data.same_rows else uneven(rows)
        done = [row for row in rows if row.finished]
        times = {row.model.name: mean(row.times) for row in done}
        scores = {row.model.name: round(mean(row.accuracies), 4) for row in done}
        cells = [
            [
                Cell(row.model.label),
                Cell(
                    row.show_seconds(),
                    row.printed.seconds,
                    best=times.get(row.model.name) == min(times.values(), default=0),
                ),
                Cell(row.show_ratio(baseline_of(rows)), row.printed.ratio),
                Cell(row.show_ratio(default_of(rows))),
                Cell(
                    row.show_accuracy(),
                    row.show_printed_accuracy(),
                    best=not uneven_note
                    and scores.get(row.model.name) == max(scores.values(), default=0),
                ),
                Cell(str(row.runs)),
            ]
            for row in rows
        ]
        notes = [f"{note}." for row in rows for note in row.notes]
        return Block(
            data.label, cells, " ".join(dict.fromkeys([*notes, uneven_note])).strip()
        )

    def _summaries(
        self, data: Data, options: Options, results: Results
    ) -> list[Summary]:
        return [
            Summary(
                model,
                results.of(self._repeats(data, model, options)),
                paper.printed(self.command, self.rho, data.name, model.name),
            )
            for model in self._models(options)
        ]

    # --- the plot ------------------------------------------------------------

    def _plot(
        self, sets: Sequence[Data], options: Options, results: Results
    ) -> list[Figure]:
        points = [
            point
            for data in sets
            for point in _speedups(data, self._summaries(data, options, results))
        ]
        if not any(point.ratio for point in points):
            return []
        title = f"{self._title()}: fit time relative to dics"
        caption = (
            "Fit time of each other model divided by that of dics with the paper's "
            "setting. Gray: the ratio printed in the paper."
        )
        alt = "Ratios of fit times by data set: " + "; ".join(
            f"{p.data}, {p.model} {'over ' if p.at_least else ''}{p.ratio:.3g}"
            for p in points
            if p.ratio
        )
        svg = plot_speedups(points)
        return [Figure(f"{self.name}-ratios", title, caption, alt, svg)]


def _speedups(data: Data, rows: Sequence[Summary]) -> list[Speedup]:
    baseline = baseline_of(rows)
    return [
        Speedup(
            data.label,
            row.model.label,
            row.ratio(baseline),
            float(row.printed.ratio) if row.printed.ratio else None,
            row.status == "over limit",
        )
        for row in rows
        if not row.model.ours
    ]


ACCURACY = Column("Test accuracy", "fraction of the test rows predicted correctly")
COLUMNS = (
    Column("Model"),
    Column("Fit time, s", "seconds of the whole fit; '> 60' was stopped after 60"),
    Column("x paper's setting", "time divided by dics with the paper's setting"),
    Column("x default", "time divided by dics with default parameters"),
    ACCURACY,
    Column("Runs", "fits with different data or seeds"),
)
NOTES = {
    "tree": "The paper's setting: K clusters, 100 candidates sampled at each node, "
    "depth 8. The default of dics searches all candidate thresholds. DecisionTree and "
    "BDTKS use one thread, because they support no more. BDTKS is run once, with "
    "unlimited depth.",
    "forest": "100 trees of depth 8 each. The paper's setting samples features once "
    "per tree and uses a hard vote.",
    "boosting": "The other libraries and dics with the paper's setting have 100 rounds "
    "of depth 3 (the paper does not state the number of rounds). The other libraries "
    "grow one tree per class in each round, dics grows a single tree, so equal rounds "
    "are not equal work. The default of dics has 300 rounds of 31 leaves. Compare time "
    "and accuracy together.",
}
WEIGHTS_NOTES = {
    "per_class": "The paper does not state whether the classes share the weights of "
    "their scores. Here each class has its own weights, because only then the label "
    "depends on X. The paper's accuracies suggest shared weights, so they do not "
    "compare.",
    "shared": "The classes share the weights of their scores. The label is then "
    "independent of X, and the best accuracy is that of the most frequent class.",
}
