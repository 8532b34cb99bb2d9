"""Plots of measured results, as SVG documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dics_paper.report.canvas import (
    COLORS,
    INK,
    MARKERS,
    PAPER,
    add_integer_ticks,
    add_log_ticks,
    draws_svg,
    new_figure,
)

_MOST_TICKS = 6  # more labels overlap in a narrow panel


@dataclass(frozen=True)
class Panel:
    """Accuracy over one parameter.

    Attributes
    ----------
    label : str
        Label of the parameter, such as "m, pairs of centroids".
    values : sequence of float
        Its values.
    means, deviations : sequence of float
        Mean and standard deviation of the test accuracy at each value.
    log : bool
        Whether the values need a logarithmic axis.
    paper_value : float or None
        The value that the paper uses in the other panels.
    """

    label: str
    values: Sequence[float]
    means: Sequence[float]
    deviations: Sequence[float]
    log: bool = False
    paper_value: float | None = None


@dataclass(frozen=True)
class Curve:
    """Points connected by lines; with `paper`, they are from the paper."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    paper: bool = False


@draws_svg
def plot_sensitivity(panels: Sequence[Panel]) -> Figure:
    """Plot test accuracy by parameter, with 3 standard deviations.

    Parameters
    ----------
    panels : sequence of Panel
        One per parameter.

    Returns
    -------
    str
        An SVG document, two panels side by side.
    """
    n_lines = -(-len(panels) // 2)
    figure = new_figure(2.4 * n_lines)
    for place, panel in enumerate(panels, start=1):
        ax = figure.add_subplot(n_lines, 2, place)
        _draw_panel(ax, panel)
        if place % 2:
            ax.set_ylabel("test accuracy")
    marks = [m for ax in figure.axes for m in ax.get_legend_handles_labels()[0]]
    figure.legend(handles=marks[:1], loc="outside upper right")  # one for all
    return figure


@draws_svg
def plot_depth_gain(curves: Sequence[Curve]) -> Figure:
    """Plot the cumulative gain of trees by depth.

    Parameters
    ----------
    curves : sequence of Curve
        Cumulative gain (`y`) by depth (`x`) of each tree.

    Returns
    -------
    str
        An SVG document.
    """
    figure = new_figure(3.6)
    ax = figure.add_subplot()
    _draw_curves(ax, curves)
    ax.set(xlabel="depth", ylabel="cumulative weighted gain")
    ax.set_ylim(bottom=0)
    add_integer_ticks(ax)
    ax.legend()
    return figure


@draws_svg
def plot_split_scaling(curves: Sequence[Curve]) -> Figure:
    """Plot the gap of the gain to the best split by number of rows.

    Parameters
    ----------
    curves : sequence of Curve
        Gap of the gain (`y`) by rows (`x`); gaps of zero are omitted. A guide that is
        proportional to 1 / sqrt(N) goes through the middle of the first curve.

    Returns
    -------
    str
        An SVG document with logarithmic axes.
    """
    figure = new_figure(3.6)
    ax = figure.add_subplot()
    ax.set(xscale="log", yscale="log", xlabel="rows N", ylabel="gap of the gain")
    shown = [_positive(curve) for curve in curves]
    _draw_guide(ax, shown[0])
    _draw_curves(ax, shown)
    add_log_ticks(ax, "x")
    add_log_ticks(ax, "y")
    ax.legend()
    return figure


def _draw_panel(ax: Axes, panel: Panel) -> None:
    if panel.paper_value is not None:
        label = "the paper's value"
        ax.axvline(panel.paper_value, color=PAPER, ls=":", lw=1.5, label=label)
    ax.errorbar(
        panel.values,
        panel.means,
        yerr=3 * np.asarray(panel.deviations, dtype=float),
        color=COLORS[0],
        marker="o",
        ms=4,
        lw=1.4,
        elinewidth=1,
        capsize=3,
    )
    if panel.log:
        ax.set_xscale("log")
        step = -(-len(panel.values) // _MOST_TICKS)
        ticks = panel.values[::step]
        ax.set_xticks(ticks, [_short(value) for value in ticks])
        ax.set_xticks([], minor=True)
    else:
        add_integer_ticks(ax, _MOST_TICKS)
    ax.set_xlabel(panel.label)


def _short(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 10000 else f"{value:g}"


def _draw_curves(ax: Axes, curves: Sequence[Curve]) -> None:
    for place, curve in enumerate(curves):
        style: dict[str, Any] = {"color": COLORS[place % len(COLORS)], "lw": 1.6}
        if curve.paper:
            style = {"color": PAPER, "mfc": "white", "lw": 1.0, "ls": "--"}
        marker = MARKERS[place % len(MARKERS)]
        ax.plot(curve.x, curve.y, marker=marker, ms=5.5, label=curve.label, **style)


def _positive(curve: Curve) -> Curve:
    """Remove gaps of zero, which a logarithmic axis cannot show."""
    points = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y > 0]
    return replace(curve, x=[x for x, _ in points], y=[y for _, y in points])


def _draw_guide(ax: Axes, curve: Curve) -> None:
    n, gap = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
    if not n.size:
        return
    height = np.exp(np.mean(np.log(gap) + np.log(n) / 2))
    ends = np.array([n.min(), n.max()])
    label = r"proportional to $1 / \sqrt{N}$"
    ax.plot(ends, height / np.sqrt(ends), color=INK, ls=":", lw=1.4, label=label)
