"""The style of the pictures of the gallery: readable on a phone, safe for all eyes."""

from __future__ import annotations

from typing import Any

from cycler import cycler

from dics.plot import COLORS

STYLE = {
    # With these sizes, letters are about 10 pixels high if a page is 390 pixels wide.
    "figure.figsize": (5.2, 3.6),
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "font.size": 11,
    "axes.titlesize": 11,
    "legend.frameon": False,
    "axes.prop_cycle": cycler(color=COLORS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
}


def reset(gallery_conf: Any, fname: str) -> None:  # noqa: ARG001 (of Sphinx-Gallery)
    """Set the style before each example."""
    # Imported late: Sphinx-Gallery chooses the backend first.
    import matplotlib as mpl

    mpl.rcdefaults()
    mpl.use("agg")
    mpl.rcParams.update(STYLE)
