"""Tables of the benchmark pages, generated from `benchmarks/results`.

The files are written by the scripts of `benchmarks` with the option --json. Without the
file of a benchmark, its table is replaced by the command that measures it.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from tables import table

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import bench_suite  # noqa: E402
from common import RESULTS, show_fit  # noqa: E402

from dics_paper.environment import describe  # noqa: E402
from dics_paper.models import N_ROUNDS  # noqa: E402
from dics_paper.store import Store  # noqa: E402
from dics_paper.text import markdown_table, show_ratio, show_seconds  # noqa: E402

SPACE = "\u00a0"  # keeps a cell on one line


@cache
def read(name: str) -> dict[str, Any]:
    """Return the results of a file."""
    text = (RESULTS / f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def measured(name: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Register a table of a result file."""

    def register(show: Callable[..., str]) -> Callable[..., str]:
        def text() -> str:
            if (RESULTS / f"{name}.json").exists():
                return show(read(name))
            command = f"{name} --json benchmarks/results/{name}.json"
            return (
                "This build has no results of this benchmark. To measure it: "
                f'`make bench BENCH_ARGS="{command}"`.'
            )

        text.__name__ = show.__name__
        table(text)
        return show

    return register


# --- trees ----------------------------------------------------------------------------


@measured("tree")
def tree_times(result: dict[str, Any]) -> str:
    """Return fit times and accuracies of one tree."""
    columns = ["data", "shape", "classes"]
    columns += ["`DecisionTree`", "`CGTree`", "faster", "`CGTree`, k = 100", "faster"]
    columns += ["accuracy: `DecisionTree`", "`CGTree`", "k = 100"]
    models = ("exhaustive", "whole", "k100")
    cells = []
    for row in result["rows"]:
        line = [
            row["data"],
            f"{row['rows']}{SPACE}x{SPACE}{row['features']}",
            row["classes"],
        ]
        for model in models:
            line.append(show_fit(row[model]))
            if model != "exhaustive":
                line.append(show_ratio(row[model]["ratio"]))
        line += [f"{row[model]['accuracy']:.3f}" for model in models]
        cells.append(line)
    parts = [f"Trees of depth {result['depth']}. {describe(result['machine'])}"]
    parts.append(markdown_table(columns, cells))
    return "\n\n".join(parts + explain_star(result["rows"], models))


def explain_star(rows: Sequence[dict[str, Any]], models: Sequence[str]) -> list[str]:
    """Return the legend of the star, if a fit ran once."""
    once = any(row[model]["runs"] == 1 for row in rows for model in models)
    return ["*: run once, because it is slow."] if once else []


# --- forests --------------------------------------------------------------------------

FOREST_NAMES = ["`RandomForest`", "`ExtraTrees`", "`CGForest`"]


@measured("forest")
def forest_times(result: dict[str, Any]) -> str:
    """Return fit times and accuracies of forests of unlimited depth."""
    models = ("rf", "et", "ours")
    title = (
        f"Forests of {result['n_trees']} trees of unlimited depth, "
        f"{result['n_threads']} threads each. {describe(result['machine'])}"
    )
    return forest_text(title, result["rows"], models, FOREST_NAMES)


@measured("forest")
def shallow_forest_times(result: dict[str, Any]) -> str:
    """Return fit times and accuracies of shallow forests."""
    models = ("rf_8", "et_8", "ours_8", "paper_8")
    title = f"Depth {result['depth']}, and the configuration of the paper:"
    return forest_text(title, result["rows"], models, [*FOREST_NAMES, "paper's"])


def forest_text(
    title: str,
    rows: Sequence[dict[str, Any]],
    models: Sequence[str],
    names: Sequence[str],
) -> str:
    """Return times, then accuracies; dics is compared with the first model."""
    reference, n_others = models[0], 2
    columns = ["data", "shape", *names[:n_others]]
    for name in names[n_others:]:
        columns += [name, "faster"]
    columns += [f"accuracy: {names[0]}", *names[1:]]
    cells = []
    for row in rows:
        line = [row["data"], f"{row['rows']}{SPACE}x{SPACE}{row['features']}"]
        line += [show_fit(row[model]) for model in models[:n_others]]
        for model in models[n_others:]:
            ratio = row["ratios"][f"{reference} / {model}"]
            line += [show_fit(row[model]), show_ratio(ratio)]
        cells.append(line + [f"{row[model]['accuracy']:.3f}" for model in models])
    parts = [title, markdown_table(columns, cells)]
    parts.append('"faster" compares with `RandomForest`.')
    return "\n\n".join(parts + explain_star(rows, models))


# --- boosting -------------------------------------------------------------------------

REACH_NOTE = """\
"dics rounds" is the first round whose test accuracy reaches that of the other library.
Accuracy varies from round to round, so on small data sets this number is partly luck.
With more than two classes, XGBoost with 16 bins grows one tree per round, as dics does
(`multi_strategy="multi_output_tree"`)."""


@measured("boosting")
def boosting_reach(result: dict[str, Any]) -> str:
    """Return the time to the accuracy of the other libraries."""
    options = ", ".join(f"{name}={value!r}" for name, value in result["fast"].items())
    versions = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    n_rounds, depth = result["n_rounds"], result["depth"]
    title = (
        f"The other libraries have {n_rounds} rounds of depth {depth}. dics has "
        f"`{options}` and as many rounds as it needs to reach the same accuracy. "
        f"{result['n_threads']} threads each. {describe(result['machine'])} "
        f"{versions}."
    )
    rows = result["rows"]
    return "\n\n".join([title, reach_table(rows, result["peers"]), other_notes(rows)])


def reach_table(rows: Sequence[dict[str, Any]], others: dict[str, str]) -> str:
    """Return the rounds and the time to the accuracy of each other library."""
    columns = ["data", "shape", "classes", "library", "its time", "accuracy"]
    columns += ["dics rounds", "dics time", "faster"]
    cells = []
    for row in rows:
        for name, title in others.items():
            line = [
                row["data"],
                f"{row['rows']}{SPACE}x{SPACE}{row['features']}",
                row["classes"],
            ]
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
    return markdown_table(columns, cells)


def show_other(fit: dict[str, Any]) -> str:
    """Return the time of another library, with a dagger if it was stored."""
    text = f"{show_seconds(fit['seconds'])}†" if fit["kept"] else show_fit(fit)
    rounds = fit.get("rounds", N_ROUNDS)
    return text if rounds == N_ROUNDS else f"{text} ({rounds} rounds)"


def other_notes(rows: Sequence[dict[str, Any]]) -> str:
    """Return the legend of the marks in the rows."""
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


@measured("boosting")
def boosting_equal(result: dict[str, Any]) -> str:
    """Return times and accuracies with equal rounds."""
    rows, others = result["rows"], result["peers"]
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
    title = f"{result['n_rounds']} rounds of depth {result['depth']} for all:"
    text = '"faster" compares with LightGBM. The marks are those of the table above.'
    return f"{title}\n\n{markdown_table(columns, cells)}\n\n{text}"


@measured("boosting")
def boosting_classes(result: dict[str, Any]) -> str:
    """Return the time of a round by number of classes."""
    classes = result["classes"]
    cells = [
        [
            row["classes"],
            show_seconds(row["peer"]),
            show_seconds(row["ours"]),
            show_ratio(row["peer"] / row["ours"]),
        ]
        for row in classes["rounds"]
    ]
    memory = classes["memory"]
    text = (
        f"{classes['rows']} x {classes['features']}, depth 3, all rows and features in "
        f"each round. With {memory['classes']} classes the fit took "
        f"{memory['bytes'] / 1e6:.0f} MB in addition to X; the documented bound is "
        f"{memory['stated'] / 1e6:.0f} MB."
    )
    shown = markdown_table(["classes", "LightGBM", "dics", "faster"], cells)
    return f"{shown}\n\n{text}"


# --- accuracy -------------------------------------------------------------------------

SETTINGS = {"full": "Unlimited depth", "default": "Default parameters"}


def accuracy_text(result: dict[str, Any]) -> str:
    """Return the mean differences, and the accuracies on all data sets."""
    with_log_loss = "peer_log_loss" in result["rows"][0]
    other, dics = f"`{result['peer']}`", f"`{result['ours']}`"
    columns = ["data", "depth", "runs", other, dics, "difference"]
    if with_log_loss:
        columns[1:2] = []
        columns += [f"log-loss: {other}", dics]
    cells = []
    for row in result["rows"]:
        line = [row["data"], row["setting"], f"{row['runs']}{SPACE}{row['of']}"]
        line += [f"{row['peer']:.4f}", f"{row['ours']:.4f}"]
        line.append(f"{row['difference']:+.4f}{SPACE}±{SPACE}{row['error']:.4f}")
        if with_log_loss:
            line[1:2] = []
            line += [f"{row['peer_log_loss']:.4f}", f"{row['our_log_loss']:.4f}"]
        cells.append(line)
    summary = "\n".join(summary_line(item) for item in result["summary"])
    title = f"Mean test accuracy, ± standard error. {describe(result['machine'])}"
    return f"{title}\n\n{summary}\n\n{markdown_table(columns, cells)}"


def summary_line(item: dict[str, Any]) -> str:
    """Return the mean and the worst difference of a setting."""
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


@measured("accuracy")
def tree_accuracy(result: dict[str, Any]) -> str:
    """Return the accuracy of trees."""
    return accuracy_text(result)


@measured("forest_accuracy")
def forest_accuracy(result: dict[str, Any]) -> str:
    """Return the accuracy of forests."""
    return accuracy_text(result)


@measured("boosting_accuracy")
def boosting_accuracy(result: dict[str, Any]) -> str:
    """Return the accuracy of boosting."""
    return accuracy_text(result)


# --- many small tables ----------------------------------------------------------------

OURS = {
    "dics": '`CGBoosting`, default `quality="balanced"`',
    "dics fast": '`CGBoosting`, `quality="fast"`',
    "dics best": '`CGBoosting`, `quality="best"`',
    "dics forest": "`CGForest`",
    "dics tree": "`CGTree`",
}
COLUMNS = ["other model", "tables", "mean relative loss", "wins", "fit time"]


@table
def suite() -> str:
    """Return the loss and the fit time of the suite, relative to other libraries."""
    if not bench_suite.STORE.exists():
        command = '`make bench BENCH_ARGS="suite"`'
        return f"This build has no results of the suite. To measure it: {command}."
    entries = Store(bench_suite.STORE).entries()
    results, about = newest_results(entries)
    bench_suite.add_best(results)
    parts = [about]
    for name, title in OURS.items():
        rows = []
        for other, found in results.items():
            if name in results and other not in OURS and found.keys() & results[name]:
                comparison = bench_suite.Comparison.of(results[name], found)
                n_tables, mean, _, wins, wall, *_ = comparison.cells()
                rows.append([other, n_tables, mean, wins, wall])
        if rows:
            parts += [f"{title}, compared with:", markdown_table(COLUMNS, rows)]
    return "\n\n".join(parts)


def newest_results(
    entries: Sequence[dict[str, Any]],
) -> tuple[dict[str, dict[Any, Any]], str]:
    """Return the results by model, and a sentence about the machine.

    One version of dics is used: that with most results of the default model, and of
    several such versions the last one.
    """
    keys = [entry["key"] for entry in entries]
    counts = Counter(key["version"] for key in keys if key["model"] == "dics")
    most = max(counts.values(), default=0)
    newest = [version for version, count in counts.items() if count == most][-1:]
    results: dict[str, dict[Any, Any]] = {}
    used = []
    for entry in entries:
        key = entry["key"]
        if key["model"] not in OURS or key["version"] in newest:
            place = key["table"], key["seed"]
            results.setdefault(key["model"], {})[place] = entry["result"]
            used.append(entry)
    machines = sorted(
        {f"{e['key']['cpu']}, {e['key']['threads']} threads" for e in used}
    )
    versions = sorted({e["key"]["version"] for e in used})
    dates = sorted({e["date"] for e in used})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return results, f"{'; '.join(machines)}; {', '.join(versions)}; {when}."


# --- benchmarks that print their own tables -------------------------------------------


def printed(show: Callable[[Any], None], content: Any) -> str:
    """Return the output of a function as a part of a page."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        show(content)
    lines = output.getvalue().splitlines()
    return "\n".join(
        f"**{line.lstrip('# ')}**" if line.startswith("#") else line for line in lines
    )


@measured("tables")
def ordinary_tables(result: dict[str, Any]) -> str:
    """Return times and losses on ordinary tables."""
    # This module has the name of the script.
    script = runpy.run_path(str(ROOT / "benchmarks" / "bench_tables.py"))
    shown = printed(script["show_sets"], result["rows"])
    return f"{describe(result['machine'])}\n\n{shown}"


@measured("memory")
def memory(result: dict[str, Any]) -> str:
    """Return the peak memory of fits."""
    import bench_memory as script

    columns = ["data", "shape", "model", "peak", "relative to X"]
    columns += ["size of the model", "peak without model"]
    cells = [script.as_cells(row)[:-1] for row in result["rows"]]
    parts = [describe(result["machine"]), markdown_table(columns, cells)]
    return "\n\n".join([*parts, script.LEGEND])


@measured("sparse")
def sparse(result: dict[str, Any]) -> str:
    """Return times, accuracies and memory with a sparse X."""
    import bench_sparse as script

    parts = [describe(result["machine"])]
    for name, (_, show) in script.PARTS.items():
        if name in result:
            parts.append(printed(show, result[name]))
    return "\n\n".join(parts)


def setup(_: Sphinx) -> dict[str, Any]:
    """Register nothing: the decorators have registered the tables."""
    return {"parallel_read_safe": True}
