"""Numbers and tables as text, for reports, benchmarks and the README."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import mean, stdev
from typing import Any

MOST_DECIMALS = 4


def three_digits(value: float) -> str:
    """Return a number with three significant digits and at most four decimals.

    >>> [three_digits(value) for value in (0.01234, 0.5, 9.999, 123.4, 0)]
    ['0.0123', '0.500', '10.0', '123', '0']
    """
    value = float(f"{value:.3g}")
    if value == 0:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(max(decimals, 0), MOST_DECIMALS)}f}"


def show_seconds(seconds: float) -> str:
    """Return a time with a suitable unit.

    >>> show_seconds(12.34), show_seconds(0.01234), show_seconds(0.00001234)
    ('12.3 s', '12.3 ms', '12.3 us')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{three_digits(seconds / size)} {unit}"
    return f"{three_digits(seconds / 1e-6)} us"


def show_ratio(ratio: float) -> str:
    """Return a ratio as text.

    >>> show_ratio(12.34)
    '12.3x'
    """
    return f"{three_digits(ratio)}x"


def show_mean(values: Sequence[float], show: Callable[[float], str]) -> str:
    """Return the mean of values as text, with the standard deviation in brackets.

    >>> show_mean([1.0, 2.0], three_digits), show_mean([1.0], three_digits)
    ('1.50 (0.707)', '1.00')
    """
    text = show(mean(values))
    return f"{text} ({show(stdev(values))})" if len(values) > 1 else text


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table that is also readable as plain text.

    The first column is aligned left, the others right. Pipes in the cells must be
    escaped.

    >>> print(markdown_table(["data", "time"], [["mnist", "1.2 s"], ["wine", "3 ms"]]))
    | data  |  time |
    |-------|------:|
    | mnist | 1.2 s |
    | wine  |  3 ms |
    """
    cells = [[str(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
        for row in cells
    ]
    rule = ["-" * (width + 1) + ":" for width in widths[1:]]
    head, *body = [f"| {line} |" for line in lines]
    return "\n".join(
        [head, "|" + "|".join(["-" * (widths[0] + 2), *rule]) + "|", *body]
    )
