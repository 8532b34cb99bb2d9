"""Style and alt texts of the pictures of the gallery.

The pictures are readable on a phone, and for color-blind readers.
"""

from __future__ import annotations

import re
from typing import Any

from cycler import cycler
from sphinx_gallery.scrapers import matplotlib_scraper

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


def scrape(block: Any, block_vars: Any, gallery_conf: Any, **options: Any) -> str:
    """Save the figures of a cell, with alt texts from titles and labels."""
    from matplotlib import pyplot as plt

    texts = [_alt_text(plt.figure(number)) for number in plt.get_fignums()]
    rst: str = matplotlib_scraper(block, block_vars, gallery_conf, **options)
    return re.sub("(?<=:alt: ).*", lambda _: texts.pop(0), rst)


def _alt_text(figure: Any) -> str:
    """Return the title of each plot, and the labels of its axes."""
    parts = [figure.get_suptitle()]
    for ax in figure.axes:
        labels = [label for label in (ax.get_ylabel(), ax.get_xlabel()) if label]
        axes = f"Plot of {' against '.join(labels)}" if labels else ""
        parts += [ax.get_title(), axes]
    # Sphinx-Gallery does not escape quotation marks.
    return ". ".join(part for part in parts if part).replace('"', "'")
