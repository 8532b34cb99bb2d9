"""Write measured tables into README.md, between its markers.

Usage: python tools/update_readme.py [--tree FILE] [--accuracy FILE] [--check]

The files are what `bench_tree.py --json` and `bench_accuracy.py --json` write; a file
that doesn't exist leaves its part of the page as it is. With --check nothing is written
and the exit code says whether the page is up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from common import (  # noqa: E402
    RESULTS,
    describe,
    markdown_table,
    show_ratio,
    show_seconds,
)

README = ROOT / "README.md"


def tree_text(result: dict[str, Any]) -> str:
    columns = ["data", "shape", "classes"]
    columns += ["`DecisionTree`", "`CGTree`", "faster", "`CGTree`, k = 100", "faster"]
    columns += ["accuracy: `DecisionTree`", "`CGTree`", "k = 100"]
    models = ("exhaustive", "whole", "k100")
    cells = []
    for row in result["rows"]:
        line = [row["data"], f"{row['rows']} x {row['features']}", row["classes"]]
        for model in models:
            line.append(show_seconds(row[model]["seconds"]))
            line[-1] += "*" if row[model]["runs"] == 1 else ""
            if model != "exhaustive":
                line.append(show_ratio(row[model]["ratio"]))
        line += [f"{row[model]['accuracy']:.3f}" for model in models]
        cells.append(line)
    parts = [f"Trees of depth {result['depth']}. {describe(result['machine'])}"]
    parts.append(markdown_table(columns, cells))
    if any(row[model]["runs"] == 1 for row in result["rows"] for model in models):
        parts.append("*: run once, because it takes long.")
    return "\n\n".join(parts)


def accuracy_text(result: dict[str, Any]) -> str:
    columns = ["data", "depth", "runs", "`DecisionTree`", "`CGTree`", "difference"]
    cells = [
        [
            row["data"],
            row["depth"] or "full",
            f"{row['runs']} {row['of']}",
            f"{row['exhaustive']:.4f}",
            f"{row['ours']:.4f}",
            f"{row['difference']:+.4f} ± {row['error']:.4f}",
        ]
        for row in result["rows"]
    ]
    lines = [
        f"- Depth {item['depth'] or 'not limited'}: mean difference over "
        f"{item['sets']} sets {item['mean']:+.4f}; the worst is {item['worst']:+.4f}, "
        f"on {item['worst_set']}."
        for item in result["summary"]
    ]
    summary = "\n".join(["Mean test accuracy, ± standard error.\n", *lines])
    table = markdown_table(columns, cells)
    folded = f"<details><summary>All sets</summary>\n\n{table}\n\n</details>"
    return f"{summary}\n\n{folded}"


TEXTS = {"tree": tree_text, "accuracy": accuracy_text}


def replace_part(page: str, name: str, text: str) -> str:
    """Put the text between the two markers of a name."""
    begin, end = f"<!-- {name}: begin", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"{README.name} needs one pair of markers of {name!r}")
    head, rest = page.split(begin)
    marker, rest = rest.split("-->\n", 1)
    tail = rest.split(end, 1)[1]
    return f"{head}{begin}{marker}-->\n\n{text}\n\n{end}{tail}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in TEXTS:
        parser.add_argument(f"--{name}", type=Path, default=RESULTS / f"{name}.json")
    parser.add_argument("--check", action="store_true")
    options = vars(parser.parse_args(argv))
    old = page = README.read_text(encoding="utf-8")
    for name, make_text in TEXTS.items():
        file = options[name]
        if file.is_file():
            result = json.loads(file.read_text(encoding="utf-8"))
            page = replace_part(page, name, make_text(result))
        else:
            print(f"{name}: no {file.name}, left as it is", file=sys.stderr)
    if options["check"]:
        return int(page != old)
    README.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
