"""Colors, style and axes of all plots, and the conversion to SVG."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, ParamSpec

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

P = ParamSpec("P")

# The palette of Okabe and Ito, which color-blind readers can distinguish. The markers
# are for readers without color.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P")
INK = "#333333"
PAPER = "#767676"  # the paper's values, as in the tables
GRID = "#dddddd"
WIDTH = 5.6  # inches; on a phone of 390 pixels the text is still 9 pixels high

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "font.family": "DejaVu Sans",  # comes with Matplotlib
    "font.size": 10.5,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "svg.fonttype": "path",  # the font may be missing on the reader's machine
    "svg.hashsalt": "dics",  # otherwise the names in the file are random
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def styled() -> AbstractContextManager[Any]:
    """Return a context with the style of all plots; it keeps the user's settings."""
    context: AbstractContextManager[Any] = style.context(["default", STYLE])
    return context


def draws_svg(draw: Callable[P, Figure]) -> Callable[P, str]:
    """Decorate a function that draws a figure, so that it returns SVG."""

    @wraps(draw)
    def draw_svg(*args: P.args, **kwargs: P.kwargs) -> str:
        file = io.StringIO()
        with styled():
            figure = draw(*args, **kwargs)
            metadata = {"Date": None, "Creator": None}
            figure.savefig(file, format="svg", metadata=metadata)
        return file.getvalue()

    return draw_svg


def new_figure(height: float) -> Figure:
    """Return an empty figure, without pyplot, which would keep it in memory."""
    return Figure(figsize=(WIDTH, height), layout="constrained")


def add_log_ticks(ax: Axes, name: str) -> None:
    """Set plain numbers at a logarithmic axis ("x" or "y"), more if it is short."""
    axis = ax.xaxis if name == "x" else ax.yaxis
    low, high = axis.get_view_interval()
    choices = {1.0: (1, 2, 3, 5), 1.7: (1, 2, 5), 2.5: (1, 3)}
    decades = np.log10(high / low)
    steps = next((s for most, s in choices.items() if decades < most), (1,))
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def add_integer_ticks(ax: Axes, most: int = 10) -> None:
    """Set integers at the x axis."""
    ax.xaxis.set_major_locator(MaxNLocator(most, integer=True))
