"""Plot test accuracy over fit time, one panel per data set, from bench_boosting.py.

Usage: python benchmarks/boosting_figure.py RESULT.json PICTURE.png

Each point of dics is a separate fit. The points of another library are the ends of some
rounds of one fit; the last point is marked. A stored result may have only this point.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boosting_peers import PEERS
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from dics_paper.report.canvas import COLORS, MARKERS, styled

OURS = {"fast": "CGBoosting, fast", "default": "CGBoosting, default"}
COLUMNS = 3
# The vertical axis of a panel begins this multiple of the range of the final accuracies
# below them. Otherwise the low accuracies of the first rounds would flatten the rest.
SHOWN_BELOW, LEAST_RANGE = 3.0, 0.01


def draw(rows: Sequence[dict[str, Any]], file: Path) -> None:
    n_columns = min(COLUMNS, len(rows))
    n_lines = -(-len(rows) // n_columns)
    size = (max(7.0, 3.6 * n_columns), 0.9 + 2.8 * n_lines)
    file.parent.mkdir(parents=True, exist_ok=True)
    with styled():
        figure = Figure(figsize=size, layout="constrained")
        for place, row in enumerate(rows):
            ax = figure.add_subplot(n_lines, n_columns, place + 1)
            _draw_panel(ax, row)
            if place % n_columns == 0:
                ax.set_ylabel("test accuracy")
            if place + n_columns >= len(rows):
                ax.set_xlabel("fit time (seconds)")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
        figure.savefig(file, dpi=150)


def _draw_panel(ax: Any, row: dict[str, Any]) -> None:
    for (name, label), line in zip(OURS.items(), ("-", "--"), strict=True):
        _, seconds, accuracy = zip(*row["ours"][name]["curve"], strict=True)
        style = {"color": COLORS[0], "marker": "o", "ms": 3, "lw": 1.8}
        ax.plot(seconds, accuracy, line, label=label, **style)
    for name, color, marker in zip(PEERS, COLORS[1:], MARKERS[1:], strict=False):
        peer = row["peers"][name]
        points = [point[1:] for point in peer["curve"][:-1]]
        points.append((peer["seconds"], peer["accuracy"]))
        ax.plot(
            *zip(*points, strict=True),
            color=color,
            lw=1.2,
            marker=marker,
            ms=7,
            mec="white",
            markevery=[-1],
            label=PEERS[name].label,
        )
    ax.set_xscale("log")
    ax.set_ylim(*_limits(row))
    ax.set_title(row["data"])
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(
        NullFormatter()
    )  # otherwise every tick of a short axis gets a label


def _limits(row: dict[str, Any]) -> tuple[float, float]:
    finals = [peer["accuracy"] for peer in row["peers"].values()]
    curves = [point[2] for ours in row["ours"].values() for point in ours["curve"]]
    best, least = max(finals + curves), min(finals)
    bottom = max(0.0, least - SHOWN_BELOW * max(best - least, LEAST_RANGE))
    return bottom, best + 0.06 * (best - bottom)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    draw(json.loads(source.read_text(encoding="utf-8"))["rows"], target)
