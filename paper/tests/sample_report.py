"""A report with all kinds of parts, for the tests of its formats."""

from dics_paper.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Table,
)

SETS = ("MNIST", "Fashion-MNIST", "CIFAR-10", "letter", "covertype", "a set <of> ours")
MODELS = ("DT", "BDTKS (a model with a long name)", "CGCT, the paper's", "CGCT")
INTRODUCTION = (
    "Every table and figure of the paper, computed on this machine with a long enough "
    "paragraph that it has to be broken over several lines of text."
)
SVG = """<?xml version="1.0" encoding="utf-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="360pt" height="180pt"
 viewBox="0 0 360 180">
<rect width="360" height="180" fill="#fff"/>
<path d="M0 180 360 0" stroke="#0072b2" stroke-width="4"/>
</svg>
"""


def make_tree_table():
    columns = [
        Column("model"),
        Column("accuracy", "fraction of correct test rows"),
        Column("± sd"),
        Column("fit", "median of the times of whole fits"),
        Column("DT / model", "how many times faster than DT <exhaustive>"),
        Column("nodes"),
        Column("a last column with a long heading"),
    ]
    blocks = [
        Block(
            f"{name}, {60000 // (s + 1)} x {784 >> s}",
            [_make_row(s, m, model) for m, model in enumerate(MODELS)],
            note="BDTKS was stopped after 600 s." if s == 2 else "",
        )
        for s, name in enumerate(SETS)
    ]
    return Table(
        "real-tree",
        "Table 4: single trees on real data",
        "Accuracy and fit time of a tree of depth 8; means over 10 splits & seeds.",
        columns,
        blocks,
        notes=[
            "a | b: a pipe, and *stars* and `ticks`",
            "Quotes \" and ' and <script>alert(1)</script> are text.",
        ],
    )


def _make_row(s, m, model):
    seconds = 12.3 / (m + 1) ** 3 / (s + 1)
    return [
        Cell(model),
        Cell(f"{0.7 + 0.03 * s + 0.01 * m:.4f}", f"{0.69 + 0.03 * s:.3f}", m == 3),
        Cell("0.0021"),
        Cell(f"{seconds:.3f} s", f"{2 * seconds:.2f} s" if m != 1 else "", m == 3),
        Cell(f"{(m + 1) ** 3:.1f}", "> 1.5" if m == 2 else ""),
        Cell(f"{511 - 10 * m}"),
        Cell("-"),
    ]


def make_small_table():
    columns = [Column("N"), Column("gap")]
    rows = [[Cell(f"{n}"), Cell(f"{0.12 / n**0.5:.4f}")] for n in (1000, 2000, 5000)]
    title = "Table 9: gap of a single split"
    return Table("split-scaling", title, "", columns, [Block("", rows)])


def make_figure(svg=SVG):
    return Figure(
        "real-tree",  # as the table: parts of one command can have the same name
        "Figure 3: times compared",
        "How many times longer other libraries take, with a <caption> & signs.",
        'A line that "rises" from left to right',
        svg,
        notes=["A note below a figure."],
    )


def make_document(svg=SVG):
    return Document(
        "The paper's experiments, reproduced <& compared>",
        [INTRODUCTION, "Scale: smoke."],
        [make_tree_table(), make_figure(svg), make_small_table()],
        {
            "date": "2027-01-31",
            "cpu": "A Processor(TM) with a rather long name @ 2.70GHz",
            "cores": 2,
            "instruction_set": "avx2",
            "dics": "0.1.0",
        },
    )
