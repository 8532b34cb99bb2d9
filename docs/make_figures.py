"""Draw the pictures of the README: ``python docs/make_figures.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap

from dics import CentroidCandidates, CGTreeClassifier

mpl.use("Agg")
from matplotlib import pyplot as plt

IMAGES = Path(__file__).resolve().parent / "images"
# Colors of Okabe and Ito, which color-blind readers can distinguish.
COLORS = ("#0072b2", "#e69f00", "#009e73")
INK = "#333333"
LIMITS = (-0.4, 10.4)


def _make_points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    centers = [(2.2, 2.4), (2.4, 7.6), (6.0, 5.4), (8.0, 2.6), (7.8, 8.4)]
    labels = [0, 1, 2, 1, 0]
    X = np.concatenate([rng.normal(c, 0.75, (45, 2)) for c in centers])
    return X.astype(np.float32), np.repeat(labels, 45)


def _draw_points(ax: Any, X: np.ndarray, y: np.ndarray, alpha: float) -> None:
    for label, color in enumerate(COLORS):
        rows = X[y == label]
        ax.scatter(*rows.T, s=14, color=color, alpha=alpha, lw=0, zorder=2)


def _draw_dictionary(ax: Any, candidates: CentroidCandidates) -> None:
    for x in candidates.thresholds_[0]:
        ax.axvline(x, color=INK, lw=0.6, alpha=0.55, zorder=1)
    for y in candidates.thresholds_[1]:
        ax.axhline(y, color=INK, lw=0.6, alpha=0.55, zorder=1)
    ax.plot(
        *candidates.centroids_.T,
        ls="",
        marker="X",
        ms=11,
        color="white",
        mec=INK,
        mew=1.3,
        zorder=3,
    )


def _draw_regions(ax: Any, tree: CGTreeClassifier) -> None:
    line = np.linspace(*LIMITS, 800, dtype=np.float32)
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    labels = tree.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    extent = (*LIMITS, *LIMITS)
    ax.imshow(
        labels,
        origin="lower",
        extent=extent,
        cmap=ListedColormap(COLORS),
        alpha=0.22,
        aspect="auto",
    )
    _draw_splits(ax, tree, 0, [LIMITS, LIMITS])


def _draw_splits(ax: Any, tree: CGTreeClassifier, node: int, box: list[Any]) -> None:
    """Draw the split of a node within its box, then those of its children."""
    trees = tree.trees_
    feature, at = int(trees.feature[node]), float(trees.threshold[node])
    if feature < 0:
        return
    along = box[1 - feature]
    ends = ([at, at], along) if feature == 0 else (along, [at, at])
    ax.plot(*ends, color=INK, lw=1.6, zorder=1, solid_capstyle="butt")
    low, high = box[feature]
    for child, side in enumerate([(low, at), (at, high)]):
        inner = list(box)
        inner[feature] = side
        _draw_splits(ax, tree, int(trees.left[node]) + child, inner)


def how_it_works(file: Path) -> None:
    """Left: centroids and the thresholds between them. Right: the tree's regions."""
    X, y = _make_points()
    source = CentroidCandidates(
        n_clusters=5, centroid_source="kmeans", fill_quantiles=False
    )
    tree = CGTreeClassifier(max_depth=3, candidates=source, random_state=0).fit(X, y)
    plt.rcParams.update({"font.size": 10, "font.family": "DejaVu Sans"})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 5.0), sharex=True, sharey=True, layout="constrained"
    )
    _draw_points(left, X, y, 0.75)
    _draw_dictionary(left, tree.candidates_)
    _draw_regions(right, tree)
    _draw_points(right, X, y, 0.75)
    n = [len(thresholds) for thresholds in tree.candidates_.thresholds_]
    left.set_title(
        "1. Cluster a sample of the rows (crosses) and put\n"
        f"thresholds between the centroids: {n[0]} + {n[1]} lines",
        loc="left",
        size=10.5,
    )
    right.set_title(
        "2. Grow the tree from these thresholds only:\n"
        f"{tree.get_n_leaves()} leaves, {tree.score(X, y):.0%} of the rows right",
        loc="left",
        size=10.5,
    )
    for ax in (left, right):
        ax.set(xlim=LIMITS, ylim=LIMITS, xticks=[], yticks=[])
        ax.set_xlabel("feature 1")
    left.set_ylabel("feature 2")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    how_it_works(IMAGES / "how_it_works.png")
