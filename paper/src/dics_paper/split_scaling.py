"""Gain gap at the root between candidate thresholds and exhaustive search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from dics_paper import paper
from dics_paper.data import synthetic
from dics_paper.models import BY_NAME, WHOLE_PAPER_DICTIONARY
from dics_paper.options import Options
from dics_paper.report.document import Block, Cell, Column, Figure, Table
from dics_paper.report.plots import Curve, plot_split_scaling
from dics_paper.running.runner import Results
from dics_paper.running.tasks import Task
from dics_paper.text import show_mean

N_CLASSES, RHO = 3, 0.5
DICTIONARIES = (WHOLE_PAPER_DICTIONARY.name, "cgct")


@dataclass(frozen=True)
class SplitScaling:
    """Gap between the best candidate split and the best split of all, by rows."""

    command: str = "split-scaling"
    name: str = "split-scaling"

    def tasks(self, options: Options) -> list[Task]:
        """Return the roots to compare."""
        if options.datasets is not None or not options.includes_model("cgct"):
            return []
        return [
            task
            for n_rows in options.scale.split_sizes
            for model in DICTIONARIES
            for task in self._runs(n_rows, model, options)
        ]

    def parts(self, options: Options, results: Results) -> list[Table | Figure]:
        """Return the table and its plot."""
        blocks, curves, bounds = [], [], []
        for model in DICTIONARIES:
            rows, sizes, gaps = [], [], []
            for n_rows in options.scale.split_sizes:
                found = results.of(self._runs(n_rows, model, options))
                values = [result.values for result in found if result.values]
                if not values:
                    continue
                sizes.append(n_rows)
                gaps.append(mean(v["gap"] for v in values))
                bounds += [v["gap"] <= v["bound"] for v in values]
                rows.append(_scaling_row(n_rows, values, model == DICTIONARIES[0]))
            if not rows:
                continue
            label = BY_NAME[model].label
            blocks.append(Block(label, rows))
            curves.append(Curve(label, sizes, gaps))
        if not blocks:
            return []
        return [
            self._table(options, blocks, bounds),
            self._plot(curves),
        ]

    def _runs(self, n_rows: int, model: str, options: Options) -> list[Task]:
        scale = options.scale
        data = synthetic(
            n_rows, scale.split_features, N_CLASSES, RHO, options.class_weights
        )
        n_runs = options.repeats or scale.split_runs
        return [
            Task(data, model, i, options.n_jobs, measure="root") for i in range(n_runs)
        ]

    def _table(
        self, options: Options, blocks: Sequence[Block], bounds: Sequence[bool]
    ) -> Table:
        held = f"The bound of the theorem held in {sum(bounds)} of {len(bounds)} roots."
        return Table(
            self.name,
            "Gain gap at the root by number of rows",
            "Gini gain of the best split of all minus that of the best candidate, at "
            f"the root; synthetic data with {options.scale.split_features} features, "
            f"{N_CLASSES} classes and rho = {RHO}. Mean (standard deviation).",
            SCALING_COLUMNS,
            blocks,
            (held, "The paper does not state its number of features and classes."),
        )

    def _plot(self, curves: list[Curve]) -> Figure:
        alt = "Mean gain gap from the fewest to the most rows: " + "; ".join(
            f"{curve.label} {curve.y[0]:.2g} to {curve.y[-1]:.2g}" for curve in curves
        )
        printed = [row[1] for row in paper.SPLIT_SCALING]
        sizes = [row[0] for row in paper.SPLIT_SCALING]
        in_paper = Curve("DICS in the paper", sizes, printed, paper=True)
        return Figure(
            f"{self.name}-curves",
            "Gain gap at the root",
            "Mean gap by number of rows; dotted line: proportional to 1 / sqrt(N).",
            alt,
            plot_split_scaling([*curves, in_paper]),
        )


def _scaling_row(
    n_rows: int, values: Sequence[dict[str, float]], compared: bool
) -> list[Cell]:
    gaps = [v["gap"] for v in values]
    printed = {int(row[0]): row for row in paper.SPLIT_SCALING} if compared else {}
    _, gap, scaled = printed.get(n_rows, (0, None, None))
    return [
        Cell(f"{n_rows:,}"),
        Cell(show_mean(gaps, "{:.4f}".format), "" if gap is None else f"{gap:.4f}"),
        Cell(
            f"{n_rows**0.5 * mean(gaps):.4f}",
            "" if scaled is None else f"{scaled:.4f}",
        ),
        Cell(f"{mean(v['delta'] for v in values):.0f}"),
        Cell(f"{mean(v['bound'] for v in values):.3f}"),
        Cell(str(len(gaps))),
    ]


SCALING_COLUMNS = (
    Column("N"),
    Column("Gain gap"),
    Column("sqrt(N) x gap"),
    Column("Rows moved", "rows on different sides of two splits of one feature"),
    Column("Bound", "of the theorem"),
    Column("Runs"),
)
