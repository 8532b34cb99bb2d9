"""A report as GitHub-flavoured Markdown, for the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dics_paper.report.document import (
    Block,
    Cell,
    Document,
    Figure,
    Table,
    legend,
    machine_facts,
)
from dics_paper.text import markdown_table

__all__ = ["as_markdown", "as_text"]


def as_markdown(document: Document, image_names: Mapping[str, str]) -> str:
    """Write a report as Markdown.

    Parameters
    ----------
    document : Document
        The report.
    image_names : mapping of str to str
        Where the picture of each figure is, by the name of the figure: a path as the
        Markdown file sees it.

    Returns
    -------
    str
        The Markdown text.

    Examples
    --------
    >>> from dics_paper.report.document import (
    ...     Block,
    ...     Cell,
    ...     Column,
    ...     Document,
    ...     Table,
    ... )
    >>> row = [Cell("MNIST"), Cell("0.62", paper="0.60", best=True)]
    >>> columns = [Column("data"), Column("accuracy")]
    >>> table = Table("trees", "Trees", "One tree.", columns, [Block("", [row])])
    >>> print(as_markdown(Document("Report", [], [table]), {}).split("Trees")[1])
    <BLANKLINE>
    <BLANKLINE>
    One tree.
    <BLANKLINE>
    | data  |              accuracy |
    |-------|----------------------:|
    | MNIST | **0.62** (paper 0.60) |
    <BLANKLINE>
    """
    parts = [f"# {_text(document.title)}", *map(_text, document.introduction)]
    parts += map(_text, legend(document, paper="In brackets"))
    for part in document.parts:
        parts.append(f"## {_text(part.title)}")
        if isinstance(part, Table):
            parts += _table(part)
        else:
            parts += _figure(part, image_names[part.name])
        parts += _notes(part.notes)
    if document.machine:
        facts = [(_cell(key), _cell(text)) for key, text in machine_facts(document)]
        parts += ["## Machine", markdown_table(["", "value"], facts)]
    return "\n\n".join(parts) + "\n"


def as_text(table: Table) -> str:
    """Write one table for a terminal: nothing is escaped, the paper's in brackets."""
    rows = []
    for block in table.blocks:
        if block.title:
            rows.append([block.title, *[""] * (len(table.columns) - 1)])
        rows += [[_plain(cell) for cell in row] for row in block.rows]
    lines = [table.title, markdown_table([c.label for c in table.columns], rows)]
    notes = [f"{b.title}: {b.note}" for b in table.blocks if b.note]
    signs = legend(Document("", [], [table]), paper="[ ]")
    signs = [line for line in signs if line.startswith("[ ]")]  # nothing is bold here
    return "\n\n".join([*lines, *notes, *table.notes, *signs])


def _plain(cell: Cell) -> str:
    return f"{cell.text} [{cell.paper}]" if cell.paper else cell.text


def _table(table: Table) -> list[str]:
    parts = [_text(table.caption)] if table.caption else []
    labels = [_cell(column.label) for column in table.columns]
    rows = [row for block in table.blocks for row in _rows(block, len(labels))]
    parts.append(markdown_table(labels, rows))
    return [
        *parts,
        *_notes(f"{c.label}: {c.help}" for c in table.columns if c.help),
        *_notes(f"{b.title}: {b.note}" for b in table.blocks if b.note),
    ]


def _rows(block: Block, width: int) -> list[list[str]]:
    """Give the title a row, as Markdown has no cell across a whole table."""
    title = [f"**{_cell(block.title)}**", *[""] * (width - 1)]
    rows = [[_value(cell) for cell in row] for row in block.rows]
    return [title, *rows] if block.title else rows


def _figure(figure: Figure, file: str) -> list[str]:
    # Angle brackets let the path have spaces and brackets.
    picture = f"![{_text(figure.alt)}](<{file}>)"
    return [picture, _text(figure.caption)] if figure.caption else [picture]


def _notes(notes: Iterable[str]) -> list[str]:
    lines = [f"- {_text(note)}" for note in notes]
    return ["\n".join(lines)] if lines else []


def _value(cell: Cell) -> str:
    text = _cell(cell.text)
    if cell.best and text:
        text = f"**{text}**"
    return f"{text} (paper {_cell(cell.paper)})".strip() if cell.paper else text


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")


def _text(text: str) -> str:
    """Take from Markdown's signs their meaning; a paragraph becomes one line."""
    return re.sub(r"([\\`*_~\[\]<>])", r"\\\1", " ".join(text.split()))
