"""Accuracy of CGCT by its four parameters (a figure of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from dics_paper.data import Data
from dics_paper.models import TREE_DEPTH
from dics_paper.options import Options
from dics_paper.report.document import Block, Cell, Column, Figure, Table
from dics_paper.report.plots import Panel, plot_sensitivity
from dics_paper.running.runner import Results
from dics_paper.running.tasks import Task

MODEL = "cgct-paper"


@dataclass(frozen=True)
class Parameter:
    """A parameter that is varied while the others keep the paper's values."""

    name: str  # as in set_params
    label: str
    values: tuple[int, ...]
    paper_value: int
    log: bool


PARAMETERS = (
    Parameter(
        "candidates__n_pairs",
        "cluster pairs m",
        (1, 2, 5, 10, 15, 20, 25, 35, 45),
        25,
        False,
    ),
    Parameter(
        "advanced__max_candidates",
        "candidates k",
        (10, 25, 50, 100, 200, 400, 800),
        100,
        True,
    ),
    Parameter("max_depth", "depth D", (2, 4, 6, 8, 10, 12), TREE_DEPTH, False),
    Parameter(
        "candidates__batch_size",
        "mini-batch size b",
        (32, 64, 128, 256, 512, 1024, 2048),
        512,
        True,
    ),
)


@dataclass(frozen=True)
class Sensitivity:
    """Accuracy by parameter: a figure and its numbers."""

    command: str = "sensitivity"
    name: str = "sensitivity"

    def tasks(self, options: Options) -> list[Task]:
        """Return the trees to grow."""
        if not (
            options.includes_model(MODEL) and options.includes(self._data(options))
        ):
            return []
        return [
            task
            for parameter in PARAMETERS
            for value in parameter.values
            for task in self._runs(parameter, value, options)
        ]

    def parts(self, options: Options, results: Results) -> list[Table | Figure]:
        """Return the figure, and a table of its numbers."""
        panels = [self._panel(parameter, options, results) for parameter in PARAMETERS]
        panels = [panel for panel in panels if panel.values]
        if not panels:
            return []
        data = self._data(options)
        n_runs = self._n_runs(options)
        figure = Figure(
            self.name,
            f"Sensitivity of CGCT: {data.label}",
            f"Mean test accuracy of up to {n_runs} runs; error bars are 3 standard "
            "deviations. The dotted line marks the paper's value. In each panel the "
            "other parameters have the paper's values.",
            "Test accuracy by parameter: " + "; ".join(_in_words(p) for p in panels),
            plot_sensitivity(panels),
        )
        return [figure, self._table(panels, n_runs)]

    def _data(self, options: Options) -> Data:
        return options.real("cifar10")

    def _n_runs(self, options: Options) -> int:
        return options.repeats or options.scale.sensitivity_runs

    def _runs(self, parameter: Parameter, value: int, options: Options) -> list[Task]:
        data = self._data(options)
        settings: dict[str, Any] = {parameter.name: value}
        if value == parameter.paper_value:
            settings = {}  # all four panels share this model
        return [
            Task(data, MODEL, i, options.n_jobs, settings, measure="score")
            for i in range(self._n_runs(options))
        ]

    def _panel(self, parameter: Parameter, options: Options, results: Results) -> Panel:
        values, means, deviations = [], [], []
        for value in parameter.values:
            found = results.of(self._runs(parameter, value, options))
            scores = [result.accuracy or 0.0 for result in found if result.ok]
            if scores:
                values.append(value)
                means.append(mean(scores))
                deviations.append(stdev(scores) if len(scores) > 1 else 0.0)
        return Panel(
            parameter.label,
            values,
            means,
            deviations,
            parameter.log,
            parameter.paper_value,
        )

    def _table(self, panels: list[Panel], n_runs: int) -> Table:
        blocks = [
            Block(
                panel.label,
                [
                    [Cell(str(value)), Cell(f"{m:.4f}"), Cell(f"{sd:.4f}")]
                    for value, m, sd in zip(
                        panel.values, panel.means, panel.deviations, strict=True
                    )
                ],
            )
            for panel in panels
        ]
        columns = (Column("Value"), Column("Mean accuracy"), Column("Std. deviation"))
        caption = f"Numbers of the figure; up to {n_runs} runs each."
        return Table(
            f"{self.name}-values", "Sensitivity: values", caption, columns, blocks
        )


def _in_words(panel: Panel) -> str:
    first, last = panel.means[0], panel.means[-1]
    return (
        f"{panel.label} from {panel.values[0]} to {panel.values[-1]}: "
        f"{first:.3f} to {last:.3f}"
    )
