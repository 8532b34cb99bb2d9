"""Drawing to SVG, the same on every machine and without a trace in Matplotlib."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from dics._matplotlib import matplotlib_needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can tell apart, and shapes for
# those who see none.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P")
INK = "#333333"
PAPER = "#767676"  # the paper's values, as in the tables
GRID = "#dddddd"
WIDTH = 5.6  # inches; on a phone of 390 pixels the text is still 9 pixels high

_STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "font.family": "DejaVu Sans",  # comes with Matplotlib
    "font.size": 10.5,
    "legend.frameon": False,
    "svg.fonttype": "path",  # the reader's machine may lack the font
    "svg.hashsalt": "dics",  # names in the file are random without it
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def draw_svg(by: str, size: tuple[float, float], draw: Callable[[Figure], None]) -> str:
    """Draw a figure and return it as an SVG document.

    Parameters
    ----------
    by : str
        Who draws, for the message if Matplotlib is missing.
    size : tuple of float
        Width and height in inches.
    draw : callable
        Gets the empty figure and fills it.

    Returns
    -------
    str
        The document: the same for the same drawing, whatever the user's settings of
        Matplotlib, which stay as they are.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    """
    with matplotlib_needed(by):
        from matplotlib import style
        from matplotlib.figure import Figure
    with style.context(["default", _STYLE]):
        # Not by pyplot, which would keep the figure and may open a window.
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        file = io.StringIO()
        metadata = {"Date": None, "Creator": None}
        figure.savefig(file, format="svg", metadata=metadata)
    return file.getvalue()


def add_grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw a pale grid behind what the axes show."""
    ax.grid(axis=axis, which="major", color=GRID, lw=0.7)


def add_log_ticks(ax: Axes, name: str, decades: float) -> None:
    """Put plain numbers at a logarithmic axis ("x" or "y"), more if it's short."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis = ax.xaxis if name == "x" else ax.yaxis
    choices = {1.0: (1, 2, 3, 5), 1.7: (1, 2, 5), 2.5: (1, 3)}
    steps = next((s for most, s in choices.items() if decades < most), (1,))
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def add_whole_ticks(ax: Axes, most: int = 10) -> None:
    """Put whole numbers at the x axis."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(most, integer=True))
