"""Parts of a report: tables and figures, independent of the output format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dics_paper.paper import MACHINE


@dataclass(frozen=True)
class Cell:
    """One entry of a table: the measured value and that of the paper."""

    text: str
    paper: str = ""
    best: bool = False


@dataclass(frozen=True)
class Column:
    """Heading of a column; `help` explains its content."""

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

    @property
    def rows(self) -> list[Sequence[Cell]]:
        """The rows of all blocks."""
        return [row for block in self.blocks for row in block.rows]

    @property
    def widths(self) -> list[int]:
        """Number of cells per column: values of the paper have a separate cell."""
        columns = range(len(self.columns))
        return [1 + any(row[column].paper for row in self.rows) for column in columns]

    @property
    def helps(self) -> list[str]:
        """Explanations of the columns."""
        return [
            f"{column.label}: {column.help}" for column in self.columns if column.help
        ]

    @property
    def block_notes(self) -> list[str]:
        """Notes on single blocks."""
        return [f"{block.title}: {block.note}" for block in self.blocks if block.note]


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
    machine: Mapping[str, object] = field(default_factory=dict)

    @property
    def legend(self) -> list[str]:
        """Explanations of the styles that occur in the tables."""
        tables = [part for part in self.parts if isinstance(part, Table)]
        cells = [cell for table in tables for row in table.rows for cell in row]
        lines = []
        if any(cell.paper for cell in cells):
            lines.append(
                "Gray or in brackets: the paper's numbers, from another machine "
                f"({MACHINE}), so only ratios compare."
            )
        if any(cell.best for cell in cells):
            lines.append("Bold: the best.")
        return lines
