"""The picture of fit times beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dics_paper.report.canvas import (
    COLORS,
    INK,
    MARKERS,
    PAPER,
    WIDTH,
    add_grid,
    add_log_ticks,
    draw_svg,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LANE = 0.25  # inches for each peer on each data set
_COLUMNS = (50.0, 96.0)  # right ends of the numbers, in points from the axes
_BAND = "#f3f5f7"  # behind every other data set


@dataclass(frozen=True)
class Speedup:
    """How many times longer a peer's fit takes than ours.

    Attributes
    ----------
    data, peer : str
        Names of the data set and of the peer.
    ratio, paper : float or None
        Its time over ours, measured here and in the paper.
    at_least : bool
        Whether the peer was stopped, so that the ratio is a lower bound.
    """

    data: str
    peer: str
    ratio: float | None
    paper: float | None = None
    at_least: bool = False


def plot_speedups(rows: Sequence[Speedup], ours: str = "ours") -> str:
    """Draw how many times longer the peers take, a line for each data set and peer.

    Parameters
    ----------
    rows : sequence of Speedup
        Data sets and peers keep the order in which they come first.
    ours : str, default="ours"
        Name of our model.

    Returns
    -------
    str
        An SVG document. Hollow grey marks are the paper's ratios.
    """
    lanes = _lanes(rows)
    columns = _legend_columns(rows)

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        _draw_data(ax, rows, lanes)
        for row, y in zip(rows, lanes, strict=True):
            _draw_row(ax, row, y, _peers(rows).index(row.peer))
        _draw_scale(ax, rows, ours)
        handles = _legend(rows)
        figure.legend(handles=handles, loc="outside upper center", ncols=columns)

    legend_lines = -(-(len(_peers(rows)) + 1) // columns)
    height = 1.3 + 0.2 * legend_lines + _LANE * (max(lanes) + 1)
    return draw_svg("plot_speedups", (WIDTH, height), draw)


_LEGEND_LETTERS = 66  # across a figure; the sign and the gaps of a label take six


def _legend_columns(rows: Sequence[Speedup]) -> int:
    """As many as the longest label leaves room for."""
    longest = max(map(len, _peers(rows)))
    return max(1, min(len(_peers(rows)) + 1, _LEGEND_LETTERS // (longest + 6)))


def _peers(rows: Sequence[Speedup]) -> list[str]:
    return list(dict.fromkeys(row.peer for row in rows))


def _lanes(rows: Sequence[Speedup]) -> list[float]:
    """Place every row on a height of its own, so that labels can't overlap."""
    peers = _peers(rows)
    height: dict[tuple[str, str], float] = {}
    next_lane = 0.0
    for data in dict.fromkeys(row.data for row in rows):
        some = {row.peer for row in rows if row.data == data}
        for peer in sorted(some, key=peers.index):
            height[data, peer] = next_lane
            next_lane += 1
        next_lane += 0.5
    return [height[row.data, row.peer] for row in rows]


def _draw_data(ax: Axes, rows: Sequence[Speedup], lanes: Sequence[float]) -> None:
    names = list(dict.fromkeys(row.data for row in rows))
    middles = []
    for place, name in enumerate(names):
        own = [y for row, y in zip(rows, lanes, strict=True) if row.data == name]
        low, high = min(own) - 0.75, max(own) + 0.75
        if place % 2 == 0:
            ax.axhspan(low, high, color=_BAND, lw=0, zorder=0)
        middles.append((low + high) / 2)
    ax.set_yticks(middles, names)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(max(lanes) + 0.75, -0.75)


def _draw_row(ax: Axes, row: Speedup, y: float, peer: int) -> None:
    if row.ratio is not None and row.paper is not None:
        ax.plot([row.ratio, row.paper], [y, y], color=PAPER, lw=0.8, zorder=2)
    if row.paper is not None:
        ax.plot(row.paper, y, **_paper_style(peer), zorder=3)
        _write(ax, 1, y, _times(row.paper), PAPER)
    if row.ratio is not None:
        ax.plot(row.ratio, y, **_style(peer, row.at_least), zorder=4)
        _write(ax, 0, y, ("≥ " if row.at_least else "") + _times(row.ratio), INK)


def _write(ax: Axes, column: int, y: float, text: str, color: str) -> None:
    """Write into a column on the right, where nothing else is drawn."""
    place = ((1.0, y), (_COLUMNS[column], 0.0))
    style = {"ha": "right", "va": "center", "size": "small", "color": color}
    _annotate(ax, text, place, ax.get_yaxis_transform(), style)


def _annotate(
    ax: Axes,
    text: str,
    place: tuple[tuple[float, float], tuple[float, float]],
    system: Any,
    style: dict[str, Any],
) -> None:
    point, offset = place
    ax.annotate(
        text,
        point,
        xycoords=system,
        xytext=offset,
        textcoords="offset points",
        annotation_clip=False,
        **style,
    )


def _style(peer: int, at_least: bool) -> dict[str, Any]:
    marker = ">" if at_least else MARKERS[peer % len(MARKERS)]
    color = COLORS[peer % len(COLORS)]
    return {"marker": marker, "color": color, "ms": 7.5, "mec": "white", "ls": ""}


def _paper_style(peer: int) -> dict[str, Any]:
    marker = MARKERS[peer % len(MARKERS)]
    return {"marker": marker, "mfc": "white", "mec": PAPER, "ms": 6.5, "ls": ""}


def _draw_scale(ax: Axes, rows: Sequence[Speedup], ours: str) -> None:
    values = [v for row in rows for v in (row.ratio, row.paper) if v is not None]
    low, high = min([1.0, *values]), max([2.0, *values])
    decades = float(np.log10(high / low))
    room = 10 ** (0.06 * decades)
    ax.set_xscale("log")
    ax.set_xlim(low / room, high * room)
    add_log_ticks(ax, "x", decades)
    add_grid(ax, "x")
    ax.axvline(1.0, color=INK, lw=1.0, zorder=1)
    ax.set_xlabel(f"fit time of the peer / {ours}")
    heads = [((1.0, 1.0), (0.0, 4.0), ax.get_xaxis_transform(), "same time", INK)]
    heads.append(((1.0, 1.0), (_COLUMNS[0], 4.0), ax.transAxes, "here", INK))
    if any(row.paper is not None for row in rows):
        heads.append(((1.0, 1.0), (_COLUMNS[1], 4.0), ax.transAxes, "paper", PAPER))
    for point, offset, system, text, color in heads:
        style = {"size": "small", "color": color}
        style["ha"] = "right" if text != "same time" else "center"
        _annotate(ax, text, (point, offset), system, style)


def _legend(rows: Sequence[Speedup]) -> list[Any]:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], label=peer, **_style(place, at_least=False))
        for place, peer in enumerate(_peers(rows))
    ]
    if any(row.at_least for row in rows):
        stopped = {**_style(0, at_least=True), "color": INK}
        handles.append(Line2D([], [], label="stopped: at least", **stopped))
    if any(row.paper is not None for row in rows):
        handles.append(Line2D([], [], label="in the paper", **_paper_style(0)))
    return handles


def _times(ratio: float) -> str:
    decimals = 2 if ratio < 9.995 else 1 if ratio < 99.95 else 0
    return f"{ratio:.{decimals}f}\N{MULTIPLICATION SIGN}"
