"""Fit time by number of rows and by number of features, as a plot and a table.

The paper's synthetic data with 5 classes, trees of depth 8. After a fit longer than
--limit seconds, a model is not fitted to larger data. DecisionTreeClassifier stops
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common import make_parser, print_header, save_json
from matplotlib.figure import Figure

from dics_paper.datasets import make_paper_synthetic
from dics_paper.models import BY_NAME
from dics_paper.progress import Steps
from dics_paper.report.canvas import COLORS, INK, styled
from dics_paper.text import markdown_table, show_seconds
from dics_paper.timing import measure

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
N_CLASSES = 5
FIXED_FEATURES, FIXED_ROWS = 600, 2_000
ROWS = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
FEATURES = (10, 30, 100, 300, 1_000, 3_000, 10_000)

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "exhaustive": ("decision-tree", {}),
    "whole": ("cgct", {}),
    "k100": ("cgct", {"advanced__max_candidates": 100}),
}
# Label, color and marker of each line.
STYLES = {
    "exhaustive": ("DecisionTreeClassifier", INK, "s"),
    "whole": ("CGTreeClassifier", COLORS[0], "o"),
    "k100": ("CGTreeClassifier, 100 candidates per node", COLORS[1], "^"),
}


def grow(
    vary: str, shapes: Sequence[tuple[int, int]], limit: float, steps: Steps
) -> list[dict[str, Any]]:
    """Time all models on data of increasing size; drop models above the limit."""
    points, active = [], list(MODELS)
    for n_rows, n_features in shapes:
        steps.begin(f"{n_rows} x {n_features}")
        X, y = make_paper_synthetic(n_rows, n_features, N_CLASSES, random_state=0)
        point: dict[str, Any] = {"vary": vary, "rows": n_rows, "features": n_features}
        for model in list(active):
            kind, settings = MODELS[model]
            make = partial(BY_NAME[kind].make, settings=settings)
            timing, _ = measure(lambda make=make, X=X, y=y: make().fit(X, y), 3)
            point[model] = timing.seconds
            if timing.seconds > limit:
                active.remove(model)
        points.append(point)
    return points


def draw(points: Sequence[dict[str, Any]], file: Path) -> None:
    panels = (
        ("rows", f"rows (with {FIXED_FEATURES} features)"),
        ("features", f"features (with {FIXED_ROWS} rows)"),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    with styled():
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for ax, (vary, label) in zip(axes, panels, strict=True):
            _draw_panel(ax, [p for p in points if p["vary"] == vary], vary)
            ax.set_xlabel(label)
        axes[0].set_ylabel("fit time (seconds)")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
        figure.savefig(file, dpi=150)


def _draw_panel(ax: Any, points: Sequence[dict[str, Any]], vary: str) -> None:
    for model, (label, color, marker) in STYLES.items():
        chosen = [point for point in points if model in point]
        x = [point[vary] for point in chosen]
        y = [point[model] for point in chosen]
        ax.plot(x, y, color=color, marker=marker, label=label, lw=1.6, ms=5)
    ax.set(xscale="log", yscale="log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def main(argv: list[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--limit",
        type=float,
        default=1.0,
        help="maximum seconds of a fit before larger data",
    )
    parser.add_argument(
        "--image", type=Path, default=IMAGES / "scaling.png", metavar="FILE"
    )
    parser.set_defaults(json=IMAGES / "scaling.json")
    options = parser.parse_args(argv)

    print_header("Fit time by rows and by features")
    by_rows = [(n, FIXED_FEATURES) for n in ROWS]
    by_features = [(FIXED_ROWS, p) for p in FEATURES]
    with Steps(len(ROWS) + len(FEATURES)) as steps:
        points = grow("rows", by_rows, options.limit, steps)
        points += grow("features", by_features, options.limit, steps)
    cells = [
        [f"{point['rows']} x {point['features']}"]
        + [show_seconds(point[m]) if m in point else "-" for m in MODELS]
        for point in points
    ]
    print(markdown_table(["shape", *MODELS], cells))
    draw(points, options.image)
    save_json(options.json, "scaling", points=points)


if __name__ == "__main__":
    main()
