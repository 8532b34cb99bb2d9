"""Draw test accuracy over fit time, a panel for each set, from bench_boosting's result.

Usage: python benchmarks/boosting_figure.py RESULT.json PICTURE.png

Each point of ours is a fit of its own with as many rounds. The points of a peer are the
ends of some rounds of one fit; its last point is marked. Of a peer whose result was
kept from another run, there may be only this point.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from boosting_peers import PEERS

mpl.use("Agg")
from matplotlib import pyplot as plt

# Label, colour, marker and line of ours; colour and marker of the peers. Okabe and
# Ito's colours, which the colour-blind can tell apart.
OURS = {
    "fast": ("FastCGBM, fast setting", "#0072b2", "o", "-"),
    "default": ("FastCGBM, default", "#56b4e9", "o", "--"),
}
PEER_STYLES = {
    "lgbm_d3": ("#000000", "s"),
    "lgbm_d3_bin15": ("#e69f00", "D"),
    "xgb_d3": ("#009e73", "^"),
    "xgb_multi16": ("#cc79a7", "v"),
}
COLUMNS = 3
# A panel begins this many times the range of the final accuracies below them, or the
# first rounds would flatten the rest.
SHOWN_BELOW, LEAST_RANGE = 3.0, 0.01


def draw(rows: Sequence[dict[str, Any]], file: Path) -> None:
    plt.rcParams.update({"font.size": 10, "font.family": "DejaVu Sans"})
    n_columns = min(COLUMNS, len(rows))
    n_lines = -(-len(rows) // n_columns)
    figure, axes = plt.subplots(
        n_lines,
        n_columns,
        figsize=(max(7.0, 3.6 * n_columns), 0.9 + 2.8 * n_lines),
        layout="constrained",
        squeeze=False,
    )
    panels = list(axes.flat)
    for ax, row in zip(panels, rows, strict=False):
        _draw_panel(ax, row)
    for ax in panels[len(rows) :]:
        ax.set_visible(False)
    for line in axes:
        line[0].set_ylabel("test accuracy")
    for ax in panels[max(0, len(rows) - n_columns) : len(rows)]:
        ax.set_xlabel("fit time (seconds)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def _draw_panel(ax: Any, row: dict[str, Any]) -> None:
    for name, (label, color, marker, line) in OURS.items():
        _, seconds, accuracy = zip(*row["ours"][name]["curve"], strict=True)
        style = {"color": color, "marker": marker, "ms": 3, "lw": 1.8}
        ax.plot(seconds, accuracy, line, label=label, **style)
    for name, (color, marker) in PEER_STYLES.items():
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
    ax.set_title(row["data"], loc="left", size=10.5)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.grid(which="major", color="#dddddd", lw=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _limits(row: dict[str, Any]) -> tuple[float, float]:
    finals = [peer["accuracy"] for peer in row["peers"].values()]
    curves = [point[2] for ours in row["ours"].values() for point in ours["curve"]]
    best, least = max(finals + curves), min(finals)
    bottom = max(0.0, least - SHOWN_BELOW * max(best - least, LEAST_RANGE))
    return bottom, best + 0.06 * (best - bottom)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    draw(json.loads(source.read_text(encoding="utf-8"))["rows"], target)
