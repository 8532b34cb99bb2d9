"""A report as one HTML page that needs nothing from outside."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import chain

from dics_paper.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Table,
    legend,
    machine_facts,
)
from dics_paper.report.svg import size_in_pixels

__all__ = ["as_html"]

# Forbids every request, whatever a table or a picture may hold.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def as_html(document: Document) -> str:
    """Write a report as one HTML page.

    The page holds its style and its pictures and asks for nothing else, so it can be
    mailed, printed and read off-line.

    Parameters
    ----------
    document : Document
        The report.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from dics_paper.report.document import Document
    >>> page = as_html(Document("Ours & theirs", ["What was measured."], []))
    >>> "<h1>Ours &amp; theirs</h1>" in page
    True
    """
    anchors = _anchors(document)
    body = [_header(document), _contents(document, anchors), "<main>"]
    for part, anchor in zip(document.parts, anchors, strict=True):
        body += [
            f'<section id="{anchor}" class="part">',
            f"<h2>{escape(part.title)}</h2>",
        ]
        body += _table(part) if isinstance(part, Table) else _figure(part)
        body += [*_notes(part.notes), "</section>"]
    body += [*_machine(document), "</main>"]
    return _PAGE.format(
        policy=escape(_POLICY, quote=False),
        title=escape(document.title),
        style=files(__package__).joinpath("report.css").read_text(encoding="utf-8"),
        body="\n".join(body),
    )


def _anchors(document: Document) -> list[str]:
    """Name each part: a table and a figure may share theirs, links can't."""
    seen = Counter({"machine": 1, "contents": 1})
    anchors = []
    for part in document.parts:
        seen[part.name] += 1
        number = f"-{seen[part.name]}" if seen[part.name] > 1 else ""
        anchors.append(escape(part.name.replace(" ", "-") + number))
    return anchors


# --- around the parts -----------------------------------------------------------------


def _header(document: Document) -> str:
    lines = [f"<p>{escape(text)}</p>" for text in document.introduction]
    signs = "<br>\n".join(escape(line) for line in legend(document, paper="Grey"))
    if signs:
        lines.append(f'<p class="legend">{signs}</p>')
    return "\n".join(
        ["<header>", f"<h1>{escape(document.title)}</h1>", *lines, "</header>"]
    )


def _contents(document: Document, anchors: Sequence[str]) -> str:
    links = [
        (anchor, part.title)
        for anchor, part in zip(anchors, document.parts, strict=True)
    ]
    if document.machine:
        links.append(("machine", "Machine"))
    items = [f'<li><a href="#{a}">{escape(text)}</a></li>' for a, text in links]
    return "\n".join(
        [
            '<nav id="contents" aria-labelledby="contents-title">',
            '<h2 id="contents-title">Contents</h2>',
            *["<ul>", *items, "</ul>", "</nav>"],
        ]
    )


def _machine(document: Document) -> Iterator[str]:
    if not document.machine:
        return
    yield '<section id="machine" class="part">\n<h2>Machine</h2>\n<dl>'
    for name, value in machine_facts(document):
        yield f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
    yield "</dl>\n</section>"


def _notes(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    return [
        '<ul class="notes">',
        *(f"<li>{escape(note)}</li>" for note in notes),
        "</ul>",
    ]


# --- tables ---------------------------------------------------------------------------


def _table(table: Table) -> Iterator[str]:
    widths = _widths(table)
    label = escape(table.title)
    yield f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">'
    yield "<table>"
    if table.caption:
        yield f'<caption><span class="stay">{escape(table.caption)}</span></caption>'
    heads = zip(table.columns, widths, strict=True)
    yield "<thead>\n<tr>" + "".join(_head(*head) for head in heads) + "</tr>\n</thead>"
    for block in table.blocks:
        yield from _block(block, widths)
    yield "</table>\n</div>"
    # A tooltip can't be seen on a phone or in print.
    yield from _notes([f"{c.label}: {c.help}" for c in table.columns if c.help])


def _widths(table: Table) -> list[int]:
    """How many cells each column takes: the paper's values, if any, have their own."""
    rows = list(chain.from_iterable(block.rows for block in table.blocks))
    columns = range(len(table.columns))
    return [1 + (c > 0 and any(row[c].paper for row in rows)) for c in columns]


def _head(column: Column, width: int) -> str:
    text = escape(column.label)
    if column.help:
        text = f'<abbr title="{escape(column.help)}">{text}</abbr>'
    span = f' colspan="{width}"' if width > 1 else ""
    return f'<th scope="col"{span}><span class="wrap">{text}</span></th>'


def _block(block: Block, widths: Sequence[int]) -> Iterator[str]:
    yield "<tbody>"
    if block.title:
        yield _wide("th", "title", block.title, sum(widths))
    for row in block.rows:
        cells = zip(row[1:], widths[1:], strict=True)
        yield "<tr>" + _name(row[0]) + "".join(_cell(*cell) for cell in cells) + "</tr>"
    if block.note:
        yield _wide("td", "note", block.note, sum(widths))
    yield "</tbody>"


def _wide(tag: str, kind: str, text: str, width: int) -> str:
    scope = ' scope="rowgroup"' if tag == "th" else ""
    inner = f'<span class="stay">{escape(text)}</span>'
    return f'<tr class="{kind}"><{tag}{scope} colspan="{width}">{inner}</{tag}></tr>'


def _name(cell: Cell) -> str:
    paper = f' <span class="paper">{_paper(cell)}</span>' if cell.paper else ""
    return f'<th scope="row"><span class="wrap">{_ours(cell)}{paper}</span></th>'


def _cell(cell: Cell, width: int) -> str:
    ours = f"<td>{_ours(cell)}</td>"
    return ours if width == 1 else f'{ours}<td class="paper">{_paper(cell)}</td>'


def _ours(cell: Cell) -> str:
    text = escape(cell.text)
    return f"<strong>{text}</strong>" if cell.best else text


def _paper(cell: Cell) -> str:
    # Grey says whose value it is to those who see it, the word to those who don't.
    return (
        f'<span class="spoken">paper: </span>{escape(cell.paper)}' if cell.paper else ""
    )


# --- figures --------------------------------------------------------------------------


def _figure(figure: Figure) -> Iterator[str]:
    width, height = size_in_pixels(figure.svg)
    data = b64encode(figure.svg.encode()).decode()
    yield "<figure>"
    yield (
        f'<img alt="{escape(figure.alt)}" width="{width}" height="{height}" '
        f'src="data:image/svg+xml;base64,{data}">'
    )
    if figure.caption:
        yield f"<figcaption>{escape(figure.caption)}</figcaption>"
    yield "</figure>"
