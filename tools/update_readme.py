"""Write measured tables into README.md, between its markers.

Usage: python tools/update_readme.py [--tree FILE] [--accuracy FILE] [--forest FILE]
           [--forest-accuracy FILE] [--boosting FILE] [--boosting-accuracy FILE]
           [--readme FILE] [--check]

The files are written by `bench_tree.py`, `bench_forest.py`, `bench_boosting.py` and
`bench_accuracy.py` (with --family) with the option --json. If a file does not exist,
its part of the page stays as it is. With --check nothing is written, and the exit code
is 0 if the page is up to date.
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

from common import RESULTS, show_fit  # noqa: E402

from dics_paper.environment import describe  # noqa: E402
from dics_paper.models import N_ROUNDS  # noqa: E402
from dics_paper.text import markdown_table, show_ratio, show_seconds  # noqa: E402

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
    return ["*: run once, because it is slow."] if once else []


def forest_text(result: dict[str, Any]) -> str:
    """Return two tables: forests of unlimited depth, and shallow forests."""
    full, shallow = ("rf", "et", "ours"), ("rf_8", "et_8", "ours_8", "paper_8")
    names = ["`RandomForest`", "`ExtraTrees`", "`CGForest`"]
    title = f"Forests of {result['n_trees']} trees, {result['n_threads']} threads each."
    parts = [
        f"{title} {describe(result['machine'])}",
        "Unlimited depth:",
        forest_table(result["rows"], full, names),
        f"Depth {result['depth']}, and the paper's configuration:",
        forest_table(result["rows"], shallow, [*names, "paper's"]),
        '"faster" compares with `RandomForest`.',
    ]
    return "\n\n".join(parts + explain_star(result, full + shallow))


def forest_table(
    rows: Sequence[dict[str, Any]], models: Sequence[str], names: Sequence[str]
) -> str:
    """Return times, then accuracies; dics is compared with the first model."""
    reference, n_others = models[0], 2
    columns = ["data", "shape", *names[:n_others]]
    for name in names[n_others:]:
        columns += [name, "faster"]
    columns += [f"accuracy: {names[0]}", *names[1:]]
    cells = []
    for row in rows:
        line = [row["data"], f"{row['rows']} x {row['features']}"]
        line += [show_fit(row[model]) for model in models[:n_others]]
        for model in models[n_others:]:
            ratio = row["ratios"][f"{reference} / {model}"]
            line += [show_fit(row[model]), show_ratio(ratio)]
        cells.append(line + [f"{row[model]['accuracy']:.3f}" for model in models])
    return markdown_table(columns, cells)


CURVES = """\
![Test accuracy over fit time, one panel per data set, with a logarithmic time
axis](docs/images/boosting.png)"""
REACH_NOTE = """\
"dics rounds" is the first round whose test accuracy reaches that of the other library.
Accuracy varies from round to round, so on small data sets this number is partly luck.
With more than two classes, XGBoost with 16 bins grows one tree per round, as dics does
(`multi_strategy="multi_output_tree"`)."""


def boosting_text(result: dict[str, Any]) -> str:
    """Return the time to equal accuracy, the curves, and (folded) equal rounds."""
    rows, others = result["rows"], result["peers"]
    options = ", ".join(f"{name}={value!r}" for name, value in result["fast"].items())
    versions = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    n_rounds, depth = result["n_rounds"], result["depth"]
    title = (
        f"The other libraries have {n_rounds} rounds of depth {depth}. dics has "
        f"`{options}` and as many rounds as it needs to reach the same accuracy. "
        f"{result['n_threads']} threads each. {describe(result['machine'])} "
        f"{versions}."
    )
    parts = [
        title,
        reach_table(rows, others),
        notes_on_others(rows),
        CURVES,
        fold(
            f"{n_rounds} rounds of depth {depth} for all",
            equal_table(rows, others) + '\n\n"faster" compares with LightGBM.',
        ),
        classes_text(result["classes"]) if "classes" in result else "",
    ]
    return "\n\n".join(part for part in parts if part)


def reach_table(rows: Sequence[dict[str, Any]], others: dict[str, str]) -> str:
    columns = ["data", "shape", "classes", "library", "its time", "accuracy"]
    columns += ["dics rounds", "dics time", "faster"]
    cells = []
    for row in rows:
        line = [row["data"], f"{row['rows']} x {row['features']}", row["classes"]]
        for name, title in others.items():
            other, dics = row["peers"][name], row["ours"]["fast"]
            reach = dics["reach"][name]
            mark = "!" if other["diverged"] else ""
            line += [title, show_other(other), f"{other['accuracy']:.3f}{mark}"]
            if reach is None:
                line += [f"{dics['rounds_tried']}", "not reached", "-"]
            else:
                ratio = show_ratio(other["seconds"] / reach["seconds"])
                line += [reach["rounds"], show_fit(reach), ratio]
            cells.append(line)
            line = ["", "", ""]
    return markdown_table(columns, cells)


def show_other(fit: dict[str, Any]) -> str:
    """Return the time of another library, with a dagger if it was stored."""
    text = f"{show_seconds(fit['seconds'])}†" if fit["kept"] else show_fit(fit)
    rounds = fit.get("rounds", N_ROUNDS)
    return text if rounds == N_ROUNDS else f"{text} ({rounds} rounds)"


def notes_on_others(rows: Sequence[dict[str, Any]]) -> str:
    fits = [fit for row in rows for fit in row["peers"].values()]
    notes = [REACH_NOTE]
    if any(fit["runs"] == 1 and not fit["kept"] for fit in fits):
        notes.append("*: run once, because it is slow.")
    if any(fit.get("rounds", N_ROUNDS) < N_ROUNDS for fit in fits):
        notes.append(
            "(10 rounds): stopped after 10 rounds, because all rounds take more than "
            "half an hour. The accuracy is that of 10 rounds."
        )
    dates = sorted({fit["date"] for fit in fits if fit["kept"]})
    if dates:
        notes.append(f"†: run once on the same machine, {' and '.join(dates)}.")
    if any(fit["diverged"] for fit in fits):
        notes.append(
            "!: the model diverged; its log-loss is worse than that of a constant "
            "prediction. Ignore the ratio in this row."
        )
    return "\n\n".join(notes)


def equal_table(rows: Sequence[dict[str, Any]], others: dict[str, str]) -> str:
    dics = {"fast": "dics", "paper": "dics, paper's configuration"}
    columns = ["data", *others.values()]
    for title in dics.values():
        columns += [title, "faster"]
    first, *rest = (*others.values(), *dics.values())
    columns += ["in the paper", f"accuracy: {first}", *rest]
    cells = []
    for row in rows:
        line = [row["data"], *(show_other(row["peers"][name]) for name in others)]
        for name in dics:
            fit = row["equal"][name]
            line += [show_fit(fit), show_ratio(fit["ratios"]["lgbm_d3"])]
        line.append(show_ratio(row["paper_ratio"]) if row["paper_ratio"] else "-")
        fits = [row["peers"][name] for name in others]
        fits += [row["equal"][name] for name in dics]
        cells.append(line + [f"{fit['accuracy']:.3f}" for fit in fits])
    return markdown_table(columns, cells)


def classes_text(result: dict[str, Any]) -> str:
    cells = [
        [
            row["classes"],
            show_seconds(row["peer"]),
            show_seconds(row["ours"]),
            show_ratio(row["peer"] / row["ours"]),
        ]
        for row in result["rounds"]
    ]
    memory = result["memory"]
    table = markdown_table(["classes", "LightGBM", "dics", "faster"], cells)
    text = (
        f"{table}\n\n{result['rows']} x {result['features']}, depth 3, all rows and "
        f"features in each round. With {memory['classes']} classes the fit took "
        f"{memory['bytes'] / 1e6:.0f} MB in addition to X; the documented bound is "
        f"{memory['stated'] / 1e6:.0f} MB."
    )
    return fold("Time of one round by number of classes", text)


def fold(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


SETTINGS = {"full": "Unlimited depth", "default": "Default parameters"}


def accuracy_text(result: dict[str, Any]) -> str:
    with_log_loss = "peer_log_loss" in result["rows"][0]
    other, dics = f"`{result['peer']}`", f"`{result['ours']}`"
    columns = ["data", "depth", "runs", other, dics, "difference"]
    if with_log_loss:
        columns[1:2] = []
        columns += [f"log-loss: {other}", dics]
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
    return f"{summary}\n\n{fold('All data sets', markdown_table(columns, cells))}"


def summary_line(item: dict[str, Any]) -> str:
    setting = SETTINGS.get(item["setting"], f"Depth {item['setting']}")
    text = (
        f"- {setting}: mean difference {item['mean']:+.4f} on {item['sets']} sets; "
        f"the worst is {item['worst']:+.4f}, on {item['worst_set']}."
    )
    if "mean_log_loss" in item:
        loss = item["mean_log_loss"]
        text += f" Log-loss: mean difference {loss:+.4f} (lower is better)."
        if item["diverged"]:
            sets = ", ".join(item["diverged"])
            text += (
                f" These means exclude {sets}, where the other library diverges; the "
                f"means of all data sets are {item['mean_of_all']:+.4f} and "
                f"{item['mean_log_loss_of_all']:+.4f}."
            )
    return text


TEXTS = {
    "tree": tree_text,
    "accuracy": accuracy_text,
    "forest": forest_text,
    "forest_accuracy": accuracy_text,
    "boosting": boosting_text,
    "boosting_accuracy": accuracy_text,
}


def replace_part(page: str, name: str, text: str) -> str:
    """Put the text between the two markers of a name."""
    begin, end = f"<!-- {name}: begin", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"The page must have one pair of markers for {name!r}.")
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
            print(f"{name}: {file.name} not found, part unchanged", file=sys.stderr)
    if options["check"]:
        return int(page != old)
    options["readme"].write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
