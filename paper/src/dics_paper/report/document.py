"""What a report is made of: tables and figures, before they get a form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dics_paper.paper import MACHINE


@dataclass(frozen=True)
class Cell:
    """One entry of a table: ours, and in grey beside it what the paper has."""

    text: str
    paper: str = ""
    best: bool = False


@dataclass(frozen=True)
class Column:
    """Heading of a column; `help` says in a sentence what it holds."""

    label: str
    help: str = ""


@dataclass(frozen=True)
class Block:
    """Rows that belong together, such as the models on one data set."""

    title: str  # "" for a table of a single block
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the report. The first column names the row."""

    name: str  # as on the command line, such as "real-tree"
    title: str
    caption: str
    columns: Sequence[Column]
    blocks: Sequence[Block]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """A picture of the report."""

    name: str
    title: str
    caption: str
    alt: str
    svg: str  # a whole document, <svg ...> ... </svg>
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    introduction: Sequence[str]  # paragraphs
    parts: Sequence[Table | Figure]
    machine: dict[str, Any] = field(default_factory=dict)  # CPU, versions, date, ...


def legend(document: Document, paper: str) -> list[str]:
    """Say what the signs of the tables mean, those that occur.

    Parameters
    ----------
    document : Document
        The report.
    paper : str
        How the paper's values are shown, such as "Grey".

    Returns
    -------
    list of str
        A line for each sign.
    """
    cells = list(_cells(document))
    lines = []
    if any(cell.paper for cell in cells):
        lines.append(
            f"{paper}: the paper's figures, from another machine ({MACHINE}), so that "
            "only ratios compare."
        )
    if any(cell.best for cell in cells):
        lines.append("Bold: the best.")
    return lines


def machine_facts(document: Document) -> list[tuple[str, str]]:
    """Turn what was noted about the machine into names and values, as text."""
    return [(key.replace("_", " "), _words(v)) for key, v in document.machine.items()]


def _cells(document: Document) -> Iterator[Cell]:
    for part in document.parts:
        if isinstance(part, Table):
            for block in part.blocks:
                for row in block.rows:
                    yield from row


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    return str(value)
