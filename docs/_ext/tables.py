"""Tables of the pages, generated from the library and from result files.

A page includes one by its name: ::

    ```{dics-table} defaults
    ```
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dics._boosting.plan import DEFAULTS, QUALITIES

TABLES: dict[str, Callable[[], str]] = {}


def table(function: Callable[[], str]) -> Callable[[], str]:
    """Register a function that returns a table in Markdown."""
    TABLES[function.__name__] = function
    return function


def markdown_table(header: list[str], rows: list[list[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


class TableDirective(SphinxDirective):
    """Insert a generated table."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the table."""
        return self.parse_text_to_nodes(TABLES[self.arguments[0]]())


@table
def qualities() -> str:
    """Return the trials and learning rates of each quality."""
    names = ("trials", "rate, classification", "rate, regression", "most rounds")
    rows = [
        [f'`"{name}"`', q.n_trials, q.class_rate, q.regression_rate, q.max_rounds]
        for name, q in QUALITIES.items()
    ]
    return markdown_table(["`quality`", *names], rows)


@table
def defaults() -> str:
    """Return the values of "auto" for each kind of target."""
    header = ["target", "training rows", *DEFAULTS[0]._fields[2:]]
    rows = [[row.kind, f"{row.min_rows:,} or more", *row[2:]] for row in DEFAULTS]
    return markdown_table(header, rows)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("dics-table", TableDirective)
    return {"parallel_read_safe": True}
