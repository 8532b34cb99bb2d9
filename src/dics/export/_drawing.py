"""Drawing of a binary tree with boxes in tidy columns and even rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dics._estimator.running import warn_user
from dics.export._plain_model import import_library
from dics.export._tree_view import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation


# Lengths in units of the font size, unless stated otherwise.
_GAP_X = 1.2
_GAP_Y = 3.0
_BOX_PAD = 0.45
_INK = "#404040"
_LARGEST_FONT = 12.0  # points
_NEW_FIGURE_FONT = 9.0  # points
_HUGE_FIGURE = 50.0  # inches; larger figures warn
_LARGEST_FIGURE = 100.0  # inches


def draw_tree(
    ax: Axes | None,
    shown: Shown,
    texts: list[str],
    colors: list[str],
    rounded: bool,
    fontsize: float | None,
    note: str,
) -> list[Annotation]:
    """Draw one box per shown node and the lines between them.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw. None uses the current axes, or a new figure if none is open.
    shown : Shown
        The nodes, row by row.
    texts, colors : list of str
        Content and background of each box.
    rounded : bool
        Whether the boxes have round corners.
    fontsize : float or None
        Size of the text in points; None is the largest that fits.
    note : str
        Text below the tree; may be empty.

    Returns
    -------
    list of matplotlib.text.Annotation
        The boxes, in the order of `shown`.
    """
    ax, figure = _get_axes(ax)
    boxes = _draw_boxes(ax, texts, colors, rounded)
    layout = _lay_out(ax, boxes, shown)
    bottom = -_GAP_Y if note else 0.0
    height = layout.height - bottom
    if figure is not None:
        inches = np.array([layout.width, height]) * _NEW_FIGURE_FONT / 72
        if inches.max() > _HUGE_FIGURE:
            n_ends = sum(left < 0 for left in shown.left)
            warn_user(
                f"A picture of {n_ends} leaves is "
                f"{min(inches.max(), _LARGEST_FIGURE):.0f} inches wide; max_depth=3 "
                "draws only the upper part of the tree."
            )
        figure.set_size_inches(*np.clip(inches, 2, _LARGEST_FIGURE))
    area = ax.get_window_extent()
    fit = min(area.width / layout.width, area.height / height)
    size = fontsize or min(float(fit) * 72 / float(ax.figure.dpi), _LARGEST_FONT)
    for box, x, y in zip(boxes, layout.x, layout.y, strict=True):
        box.xy = (x, y)
        box.set_position((x, y))
        box.set_fontsize(size)
    _draw_edges(ax, shown, layout, size)
    ax.set(xlim=(0, layout.width), ylim=(bottom, layout.height))
    if note:
        middle = layout.width / 2
        ax.text(middle, bottom / 2, note, ha="center", va="center", size=size)
    return boxes


@dataclass(frozen=True)
class Layout:
    """Centers and outer size of a drawn tree; the unit is the font size.

    Attributes
    ----------
    x, y : ndarray of shape (n_boxes,)
        Centers of the boxes; the root has the largest `y`.
    below : ndarray of shape (n_boxes,)
        Height of the free line between the row of a box and the next row.
    width, height : float
        Extent of the picture, half a gap around the boxes included.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    below: NDArray[np.float64]
    width: float
    height: float


def tidy_layout(
    left: Sequence[int],
    depth: Sequence[int],
    widths: NDArray[np.float64],
    heights: NDArray[np.float64],
) -> Layout:
    """Place the boxes of a tree so that none overlap and parents are centered.

    Parameters
    ----------
    left : sequence of int
        Index of the left child, -1 for a box without children. The right child
        is the next index, and children come after their parent.
    depth : sequence of int
        Row of each box, 0 for the root.
    widths, heights : ndarray of shape (n_boxes,)
        Outer sizes of the boxes.

    Returns
    -------
    Layout
        Centers of the boxes and the size of the picture.
    """
    x = _columns(left, widths + _GAP_X)
    edge = (widths + _GAP_X) / 2
    # The leftmost box begins at zero.
    x -= (x - edge).min()
    row_height = np.zeros(max(depth) + 1)
    np.maximum.at(row_height, depth, heights + _GAP_Y)
    top = row_height[::-1].cumsum()[::-1]
    rows = np.asarray(depth)
    y, below = (top - row_height / 2)[rows], (top - row_height)[rows]
    return Layout(x, y, below, float((x + edge).max()), float(top[0]))


def _columns(left: Sequence[int], widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return horizontal centers: sibling subtrees are pushed together until they touch.

    The outline of a subtree has the leftmost and rightmost position of each level.
    """
    to_parent = np.zeros(len(widths))
    outlines: dict[int, list[tuple[float, float]]] = {}
    # Children come after their parents, so that this is bottom up.
    for box in reversed(range(len(widths))):
        outline = [(-widths[box] / 2, widths[box] / 2)]
        child = left[box]
        if child >= 0:
            first, second = outlines.pop(child), outlines.pop(child + 1)
            pairs = zip(first, second, strict=False)
            half = max(a[1] - b[0] for a, b in pairs) / 2
            to_parent[child], to_parent[child + 1] = -half, half
            moved = [(a - half, b - half) for a, b in first]
            other = [(a + half, b + half) for a, b in second]
            both = [(a[0], b[1]) for a, b in zip(moved, other, strict=False)]
            # Below the end of the shorter subtree, the outline is that of the other.
            outline += both + moved[len(both) :] + other[len(both) :]
        outlines[box] = outline
    x = np.zeros(len(widths))
    for box, child in enumerate(left):
        if child >= 0:
            x[child : child + 2] = x[box] + to_parent[child : child + 2]
    return x


def _get_axes(ax: Axes | None) -> tuple[Axes, Figure | None]:
    """Return cleared axes without a frame, and their figure if it is new."""
    figure = None
    if ax is None:
        plt = import_library("matplotlib.pyplot", "plot", "plot_tree")
        # An open figure belongs to the user, and keeps its size.
        figure = None if plt.get_fignums() else plt.figure()
        ax = figure.add_axes((0, 0, 1, 1)) if figure else plt.gca()
    ax.clear()
    ax.set_axis_off()
    return ax, figure


def _draw_boxes(
    ax: Axes, texts: list[str], colors: list[str], rounded: bool
) -> list[Annotation]:
    shape = f"{'round' if rounded else 'square'},pad={_BOX_PAD}"
    boxes = []
    for text, color in zip(texts, colors, strict=True):
        frame = {"boxstyle": shape, "fc": color, "ec": _INK, "lw": 0.8}
        # A dollar sign in a name must not begin a formula.
        options: dict[str, Any] = {"bbox": frame, "parse_math": False}
        # Matplotlib does not measure boxes outside the axes.
        middle = (0.5, 0.5)
        boxes.append(ax.annotate(text, middle, ha="center", va="center", **options))
    return boxes


def _lay_out(ax: Axes, boxes: list[Annotation], shown: Shown) -> Layout:
    sizes = []
    for box in boxes:
        area = box.get_window_extent()
        sizes.append((area.width, area.height))
    unit = float(boxes[0].get_fontsize()) / (72 / float(ax.figure.dpi))  # pixels
    widths, heights = np.array(sizes).T / unit + 2 * _BOX_PAD
    return tidy_layout(shown.left, shown.depth, widths, heights)


def _draw_edges(ax: Axes, shown: Shown, layout: Layout, size: float) -> None:
    """Draw lines with corners between the rows, where they cannot cross a box."""
    path: list[tuple[float, float]] = []
    for box, child in enumerate(shown.left):
        for kid in () if child < 0 else (child, child + 1):
            x, y, turn = layout.x[[box, kid]], layout.y[[box, kid]], layout.below[box]
            path += [(x[0], y[0]), (x[0], turn), (x[1], turn), (x[1], y[1])]
            path.append((np.nan, np.nan))
            if box == 0:
                answer = "True" if kid == child else "False"
                ax.text(x.mean(), turn, answer, ha="center", va="bottom", size=size)
    if path:
        ax.plot(*np.transpose(path), color=_INK, linewidth=0.8)
