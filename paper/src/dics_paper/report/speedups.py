"""Plot of fit times relative to dics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dics_paper.report.canvas import (
    COLORS,
    INK,
    MARKERS,
    PAPER,
    add_log_ticks,
    draws_svg,
    new_figure,
)
from dics_paper.text import show_ratio

BAND = "#f3f5f7"  # behind every other data set


@dataclass(frozen=True)
class Speedup:
    """Fit time of another model relative to dics.

    Attributes
    ----------
    data, model : str
        Names of the data set and of the other model.
    ratio, paper : float or None
        Its time divided by that of dics, measured and printed in the paper.
    at_least : bool
        Whether the fit was stopped, so that the ratio is a lower bound.
    """

    data: str
    model: str
    ratio: float | None
    paper: float | None = None
    at_least: bool = False

    def describe(self) -> str:
        """Return both ratios as text, the paper's in brackets."""
        sign = "≥ " if self.at_least else ""
        ours = sign + show_ratio(self.ratio) if self.ratio is not None else ""
        return ours + (f" [{show_ratio(self.paper)}]" if self.paper is not None else "")


@draws_svg
def plot_speedups(rows: Sequence[Speedup]) -> Figure:
    """Plot fit times relative to dics, one line per data set and model.

    Parameters
    ----------
    rows : sequence of Speedup
        Rows of the same data set must be adjacent.

    Returns
    -------
    str
        An SVG document. Hollow gray markers are the paper's ratios.
    """
    sets = list(dict.fromkeys(row.data for row in rows))
    models = list(dict.fromkeys(row.model for row in rows))
    heights = [i + 0.5 * sets.index(row.data) for i, row in enumerate(rows)]
    figure = new_figure(1.6 + 0.25 * max(heights) + 0.1 * len(models))
    ax = figure.add_subplot()
    ax.set(xscale="log", xlabel="fit time / that of dics [in the paper]")
    ax.axvline(1.0, color=INK, lw=1.0, zorder=1)  # the same time
    for row, y in zip(rows, heights, strict=True):
        _draw_row(ax, row, y, models.index(row.model))
    _name_sets(ax, rows, heights)
    _write_ratios(ax, rows, heights)
    add_log_ticks(ax, "x")
    figure.legend(handles=_legend(rows, models), loc="outside upper center", ncols=2)
    return figure


def _draw_row(ax: Axes, row: Speedup, y: float, model: int) -> None:
    if row.ratio is not None and row.paper is not None:
        ax.plot([row.ratio, row.paper], [y, y], color=PAPER, lw=0.8, zorder=2)
    if row.paper is not None:
        ax.plot(row.paper, y, **_paper_style(model), zorder=3)
    if row.ratio is not None:
        ax.plot(row.ratio, y, **_style(model, row.at_least), zorder=4)


def _name_sets(ax: Axes, rows: Sequence[Speedup], heights: Sequence[float]) -> None:
    """Label the data sets on the left, on alternating bands."""
    spans: dict[str, list[float]] = {}
    for row, y in zip(rows, heights, strict=True):
        spans.setdefault(row.data, []).append(y)
    for span in list(spans.values())[::2]:
        ax.axhspan(span[0] - 0.75, span[-1] + 0.75, color=BAND, lw=0, zorder=0)
    ax.set_yticks([(s[0] + s[-1]) / 2 for s in spans.values()], list(spans))
    ax.set_ylim(heights[-1] + 0.75, -0.75)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)


def _write_ratios(ax: Axes, rows: Sequence[Speedup], heights: Sequence[float]) -> None:
    """Write the ratios on the right, as the labels of a second axis."""
    right = ax.twinx()
    right.set_ylim(ax.get_ylim())
    right.set_yticks(heights, [row.describe() for row in rows], fontsize="small")
    right.tick_params(length=0)
    right.grid(visible=False)
    right.spines[:].set_visible(False)


def _style(model: int, at_least: bool) -> dict[str, Any]:
    marker = ">" if at_least else MARKERS[model % len(MARKERS)]
    color = COLORS[model % len(COLORS)]
    return {"marker": marker, "color": color, "ms": 7.5, "mec": "white", "ls": ""}


def _paper_style(model: int) -> dict[str, Any]:
    marker = MARKERS[model % len(MARKERS)]
    return {"marker": marker, "mfc": "white", "mec": PAPER, "ms": 6.5, "ls": ""}


def _legend(rows: Sequence[Speedup], models: Sequence[str]) -> list[Line2D]:
    styles = {model: _style(i, at_least=False) for i, model in enumerate(models)}
    if any(row.at_least for row in rows):
        styles["stopped: at least"] = {**_style(0, at_least=True), "color": INK}
    if any(row.paper is not None for row in rows):
        styles["in the paper"] = _paper_style(0)
    return [Line2D([], [], label=label, **look) for label, look in styles.items()]
