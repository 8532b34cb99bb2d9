"""Rendering of a report as HTML, as Markdown and in a terminal."""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping

import rich.table
from jinja2 import Environment, PackageLoader, StrictUndefined
from rich import box
from rich.console import Console
from rich.text import Text

from dics_paper.report.document import Cell, Document, Figure, Table
from dics_paper.text import markdown_table

PIPE_WIDTH = 140  # characters of a table without a terminal


def as_html(document: Document) -> str:
    """Return a report as one HTML page.

    The page contains its style and its images and loads no other files, so it can be
    mailed, printed and read offline.

    >>> page = as_html(Document("Trees & forests", ["Fit times."], []))
    >>> "<h1>Trees &amp; forests</h1>" in page
    True
    """
    template = _environment().get_template("report.html.jinja")
    return template.render(document=document, parts=_anchors(document)).lstrip()


def as_markdown(document: Document) -> str:
    """Return a report as Markdown; its images are in the folder `figures`."""
    template = _environment().get_template("report.md.jinja")
    text = template.render(document=document)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def print_table(table: Table) -> None:
    """Print a table in the terminal, with the paper's values in brackets."""
    console = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    shown = rich.table.Table(title=table.title, box=box.SIMPLE_HEAD)
    for place, column in enumerate(table.columns):
        shown.add_column(Text(column.label), justify="right" if place else "left")
    for block in table.blocks:
        if block.title:
            shown.add_row(Text(block.title, style="bold"))
        for row in block.rows:
            shown.add_row(*map(_styled, row))
        shown.add_section()
    console.print(shown)
    legend = Document("", [], [table]).legend
    for note in [*table.block_notes, *table.notes, *legend]:
        console.print(Text(note), soft_wrap=True)


def _styled(cell: Cell) -> Text:
    text = Text(cell.text, style="bold" if cell.best else "")
    return text.append(f" [{cell.paper}]", style="dim") if cell.paper else text


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dics_paper.report"),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "base64": lambda text: b64encode(text.encode()).decode(),
        "markdown": _escape,
        "markdown_rows": _markdown_rows,
        "markdown_facts": _markdown_facts,
    }
    return environment


def _anchors(document: Document) -> dict[str, Table | Figure]:
    """Return unique anchors; a table and a figure may have the same name."""
    seen = Counter({"machine": 1, "contents": 1})
    anchors = {}
    for part in document.parts:
        seen[part.name] += 1
        number = f"-{seen[part.name]}" if seen[part.name] > 1 else ""
        anchors[part.name + number] = part
    return anchors


# --- Markdown -------------------------------------------------------------------------


def _markdown_rows(table: Table) -> str:
    rows = []
    for block in table.blocks:
        if block.title:  # Markdown has no cell across a whole table
            rows.append(
                [f"**{_escape(block.title)}**", *[""] * (len(table.columns) - 1)]
            )
        rows += [list(map(_markdown_cell, row)) for row in block.rows]
    return markdown_table([_escape(c.label) for c in table.columns], rows)


def _markdown_cell(cell: Cell) -> str:
    text = _escape(cell.text)
    if cell.best and text:
        text = f"**{text}**"
    return f"{text} (paper {_escape(cell.paper)})".strip() if cell.paper else text


def _markdown_facts(facts: Mapping[str, object]) -> str:
    rows = [(_escape(k.replace("_", " ")), _escape(str(v))) for k, v in facts.items()]
    return markdown_table(["", "value"], rows)


def _escape(text: str) -> str:
    """Escape Markdown; a paragraph becomes one line."""
    return re.sub(r"([\\`*_~\[\]<>|])", r"\\\1", " ".join(text.split()))
