"""How many rows a fit on a cluster may have, in all and in one place.

Rows are numbered in 64 bits, those of one place in 32. So what has to be in one place,
such as the rows of a worker, has the limit of one machine (`MAX_COUNT`), and all rows
together have another (`MAX_TOTAL`). Each of these functions raises a `ValueError`.
"""

from __future__ import annotations

from dics._validation import MAX_COUNT, MAX_TOTAL

# From so many rows on, the core tells of the rows of a bin (one of up to 256) only up
# to `min_samples_leaf`: see wide_gradient_histograms.hpp.
MANY_ROWS = 2**31
MOST_LEAF_ROWS = 2**22


def check_total(n_rows: int) -> None:
    """Refuse more rows than a cluster can have."""
    if n_rows > MAX_TOTAL:
        raise ValueError(
            f"X has {n_rows} rows; at most {MAX_TOTAL} are supported on a cluster."
        )


def check_own_rows(worker: str, n_rows: int) -> None:
    """Refuse more rows than one worker can have."""
    if n_rows > MAX_COUNT:
        raise ValueError(
            f"worker {worker} has {n_rows} rows; at most {MAX_COUNT} are supported on "
            "one worker: use more of them, or smaller partitions, which are spread "
            "more evenly."
        )


def check_boosting(n_rows: int, min_samples_leaf: int) -> None:
    """Refuse leaves so large that their rows can't be counted bin by bin."""
    if n_rows >= MANY_ROWS and min_samples_leaf > MOST_LEAF_ROWS:
        raise ValueError(
            f"min_samples_leaf={min_samples_leaf} is not supported with {n_rows} rows: "
            f"at most {MOST_LEAF_ROWS} from {MANY_ROWS} rows on."
        )


def check_layout(layout: str, n_rows: int, obstacle: str) -> None:
    """Refuse to bring too many rows together.

    `obstacle` is the parameter for which all rows must be in one place, if any.
    """
    if n_rows <= MAX_COUNT:
        return
    if layout == "whole":
        raise ValueError(
            f"layout='whole' brings all rows together, and one place can have "
            f"{MAX_COUNT}, but trees are grown from {n_rows}; use layout='rows'."
        )
    if obstacle:
        raise ValueError(
            f"trees are grown from {n_rows} rows, more than one place can have "
            f"({MAX_COUNT}), and {obstacle} needs all of them in one place; leave that "
            "out."
        )


def check_renewal(n_rows: int, n_together: int) -> None:
    """Refuse thresholds that are made anew from too many rows."""
    if n_together > MAX_COUNT:
        raise ValueError(
            f"thresholds are made anew from the rows of a node, up to {n_together} of "
            f"{n_rows}, and one place can have {MAX_COUNT}; set "
            "renew_thresholds=False."
        )


def check_drawn_cuts(n_rows: int) -> None:
    """Refuse forests of many rare features whose trees have too many rows."""
    if n_rows > MAX_COUNT:
        raise ValueError(
            f"a forest of so many features, most of whose values are alike, has each "
            f"tree grown in one place, which can have {MAX_COUNT} rows and not "
            f"{n_rows}; set max_samples to draw fewer for each tree."
        )


def check_leaf(n_rows: int) -> None:
    """Refuse a leaf of numbers whose rows are too many to come together."""
    if n_rows > MAX_COUNT:
        raise ValueError(
            f"a leaf of a tree has {n_rows} rows, which have to come together, and one "
            f"place can have {MAX_COUNT}; let trees have more leaves, or use boosting."
        )
