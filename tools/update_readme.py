"""Write measured tables into README.md, between its markers.

Usage: python tools/update_readme.py [--tree FILE] [--accuracy FILE] [--forest FILE]
           [--forest-accuracy FILE] [--readme FILE] [--check]

The files are what `bench_tree.py`, `bench_accuracy.py`, `bench_forest.py` and
`bench_accuracy.py --family forest` write with --json; a file that doesn't exist leaves
its part of the page as it is. With --check nothing is written and the exit code says
whether the page is up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from common import (  # noqa: E402
    RESULTS,
    describe,
    markdown_table,
    show_fit,
    show_ratio,
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
            line.append(show_fit(row[model]))
            if model != "exhaustive":
                line.append(show_ratio(row[model]["ratio"]))
        line += [f"{row[model]['accuracy']:.3f}" for model in models]
        cells.append(line)
    parts = [f"Trees of depth {result['depth']}. {describe(result['machine'])}"]
    parts.append(markdown_table(columns, cells))
    parts += explain_star(result, models)
    return "\n\n".join(parts)


def explain_star(result: dict[str, Any], models: Sequence[str]) -> list[str]:
    once = any(row[model]["runs"] == 1 for row in result["rows"] for model in models)
    return ["*: run once, because it takes long."] if once else []


def forest_text(result: dict[str, Any]) -> str:
    """Two tables: forests of full depth, and shallow ones."""
    full, shallow = ("rf", "et", "ours"), ("rf_8", "et_8", "ours_8", "paper_8")
    names = ["`RandomForest`", "`ExtraTrees`", "`CGForest`"]
    title = f"Forests of {result['n_trees']} trees, {result['n_threads']} threads each."
    parts = [
        f"{title} {describe(result['machine'])}",
        "Depth not limited:",
        forest_table(result["rows"], full, names),
        f"Depth {result['depth']}, and the paper's own setting:",
        forest_table(result["rows"], shallow, [*names, "paper's"]),
        "faster: than `RandomForest`.",
    ]
    return "\n\n".join(parts + explain_star(result, full + shallow))


def forest_table(
    rows: Sequence[dict[str, Any]], models: Sequence[str], names: Sequence[str]
) -> str:
    """Lay out times, then accuracies; the first model is what ours are compared to."""
    peer, n_peers = models[0], 2
    columns = ["data", "shape", *names[:n_peers]]
    for name in names[n_peers:]:
        columns += [name, "faster"]
    columns += [f"accuracy: {names[0]}", *names[1:]]
    cells = []
    for row in rows:
        line = [row["data"], f"{row['rows']} x {row['features']}"]
        line += [show_fit(row[model]) for model in models[:n_peers]]
        for model in models[n_peers:]:
            ratio = row["ratios"][f"{peer} / {model}"]
            line += [show_fit(row[model]), show_ratio(ratio)]
        cells.append(line + [f"{row[model]['accuracy']:.3f}" for model in models])
    return markdown_table(columns, cells)


SETTINGS = {"full": "Depth not limited", "default": "As they come"}


def accuracy_text(result: dict[str, Any]) -> str:
    with_log_loss = "peer_log_loss" in result["rows"][0]
    peer, ours = f"`{result['peer']}`", f"`{result['ours']}`"
    columns = ["data", "depth", "runs", peer, ours, "difference"]
    if with_log_loss:
        columns[1:2] = []
        columns += [f"log-loss: {peer}", ours]
    cells = []
    for row in result["rows"]:
        line = [row["data"], row["setting"], f"{row['runs']} {row['of']}"]
        line += [f"{row['peer']:.4f}", f"{row['ours']:.4f}"]
        line.append(f"{row['difference']:+.4f} ± {row['error']:.4f}")
        if with_log_loss:
            line[1:2] = []
            line += [f"{row['peer_log_loss']:.4f}", f"{row['our_log_loss']:.4f}"]
        cells.append(line)
    lines = [summary_line(item) for item in result["summary"]]
    summary = "\n".join(["Mean test accuracy, ± standard error.\n", *lines])
    table = markdown_table(columns, cells)
    folded = f"<details><summary>All sets</summary>\n\n{table}\n\n</details>"
    return f"{summary}\n\n{folded}"


def summary_line(item: dict[str, Any]) -> str:
    setting = SETTINGS.get(item["setting"], f"Depth {item['setting']}")
    text = (
        f"- {setting}: mean difference over {item['sets']} sets {item['mean']:+.4f}; "
        f"the worst is {item['worst']:+.4f}, on {item['worst_set']}."
    )
    if "mean_log_loss" in item:
        loss = item["mean_log_loss"]
        text += f" Log-loss: mean difference {loss:+.4f} (less is better)."
        if item["diverged"]:
            sets = ", ".join(item["diverged"])
            text += (
                f" Without {sets}, where the peer diverges; with it, the means are "
                f"{item['mean_of_all']:+.4f} and {item['mean_log_loss_of_all']:+.4f}."
            )
    return text


TEXTS = {
    "tree": tree_text,
    "accuracy": accuracy_text,
    "forest": forest_text,
    "forest_accuracy": accuracy_text,
}


def replace_part(page: str, name: str, text: str) -> str:
    """Put the text between the two markers of a name."""
    begin, end = f"<!-- {name}: begin", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"the page needs one pair of markers of {name!r}")
    head, rest = page.split(begin)
    marker, rest = rest.split("-->\n", 1)
    tail = rest.split(end, 1)[1]
    return f"{head}{begin}{marker}-->\n\n{text}\n\n{end}{tail}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in TEXTS:
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=Path, default=RESULTS / f"{name}.json")
    parser.add_argument("--readme", type=Path, default=README)
    parser.add_argument("--check", action="store_true")
    options = vars(parser.parse_args(argv))
    old = page = options["readme"].read_text(encoding="utf-8")
    for name, make_text in TEXTS.items():
        file = options[name]
        if file.is_file():
            result = json.loads(file.read_text(encoding="utf-8"))
            page = replace_part(page, name, make_text(result))
        else:
            print(f"{name}: no {file.name}, left as it is", file=sys.stderr)
    if options["check"]:
        return int(page != old)
    options["readme"].write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
