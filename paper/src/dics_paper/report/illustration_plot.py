"""Plot of the paper's Figure 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dics_paper.illustration import EQUAL, UNEQUAL, Line, Pair, Plane, make_plane
from dics_paper.report.canvas import (
    COLORS,
    INK,
    MARKERS,
    PAPER,
    draws_svg,
    new_figure,
)

_CUT = COLORS[2]
_HATCH = "////"


@draws_svg
def plot_illustration(random_state: int | None = None) -> Figure:
    """Plot why centroids are informative about classes (the paper's Figure 1).

    Left: the boundary between two classes and that between two clusters. Right: the
    midpoint between two clusters and the boundary that accounts for their spreads.

    Parameters
    ----------
    random_state : int or None, default=None
        Seed of the rows.

    Returns
    -------
    str
        An SVG document.
    """
    figure = new_figure(4.5)
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.05))
    _draw_plane(figure.add_subplot(grid[:, 0]), make_plane(random_state))
    _draw_pair(figure.add_subplot(grid[0, 1]), EQUAL, "same spread")
    _draw_pair(figure.add_subplot(grid[1, 1]), UNEQUAL, "different spread")
    for ax in figure.axes:
        ax.grid(visible=False)
    return figure


def _draw_plane(ax: Axes, plane: Plane) -> None:
    for label in (0, 1):
        points = plane.X[plane.y == label].T
        style: dict[str, Any] = {"color": COLORS[label], "marker": MARKERS[label]}
        ax.plot(*points, ls="", ms=3.3, mew=0, alpha=0.5, **style)
    ax.plot(*plane.centroids.T, ls="", marker="X", ms=10, color=INK, mec="white")
    low, high = plane.X.min(axis=0), plane.X.max(axis=0)
    ends = np.array([low[1], high[1]])
    _draw_line(ax, plane.bayes, ends, INK, "-", "classification")
    _draw_line(ax, plane.clusters, ends, _CUT, "--", "K-means")
    ax.set(xlabel="feature 1", ylabel="feature 2", ylim=ends)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)


def _draw_line(
    ax: Axes, line: Line, ends: np.ndarray, color: str, dash: str, label: str
) -> None:
    label = f"{label} boundary"
    ax.plot(line.first_coordinate(ends), ends, dash, color=color, lw=2, label=label)


def _draw_pair(ax: Axes, pair: Pair, title: str) -> None:
    middle, adjusted = pair.cut("midpoint"), pair.cut("variance")
    peak = max(d.pdf(d.mean) for d in pair.distributions())
    _draw_densities(ax, pair)
    _fill_error(ax, pair, middle, facecolor="none", edgecolor=PAPER, hatch=_HATCH)
    _fill_error(ax, pair, adjusted, facecolor=_CUT, alpha=0.45)
    for cut, color, dash, name in (
        (middle, PAPER, "-", "midpoint"),
        (adjusted, _CUT, "--", "variance-adjusted"),
    ):
        label = f"{name}: {pair.error(cut):.1%} wrong"
        ax.plot([cut, cut], [0, 1.1 * peak], dash, color=color, lw=1.8, label=label)
    ax.set_xticks(pair.means, [r"$\mu_1$", r"$\mu_2$"])
    ax.set(yticks=[], ylim=(0, 1.9 * peak), title=title)
    ax.spines["left"].set_visible(False)
    ax.legend(loc="upper right", fontsize="small")


def _draw_densities(ax: Axes, pair: Pair) -> None:
    for place, distribution in enumerate(pair.distributions()):
        x = _around(pair)
        y = [distribution.pdf(value) for value in x]
        ax.plot(x, y, color=COLORS[place], lw=1.6)


def _fill_error(ax: Axes, pair: Pair, cut: float, **style: Any) -> None:
    """Fill the area on the wrong side of a cut."""
    left, right = pair.distributions()
    x = _around(pair)
    for distribution, wrong in ((left, x[x >= cut]), (right, x[x <= cut])):
        ax.fill_between(wrong, [distribution.pdf(v) for v in wrong], lw=0, **style)


def _around(pair: Pair) -> np.ndarray:
    spans = [
        (d.mean - 3.5 * d.stdev, d.mean + 3.5 * d.stdev) for d in pair.distributions()
    ]
    return np.linspace(min(s[0] for s in spans), max(s[1] for s in spans), 401)
