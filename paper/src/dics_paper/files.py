"""The files of a report: HTML, Markdown, figures, and every run as CSV and JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dics_paper.environment import machine
from dics_paper.report.document import Document, Figure
from dics_paper.report.render import as_html, as_markdown
from dics_paper.running.tasks import Run


def write(document: Document, runs: Sequence[Run], out: Path, stem: str) -> Path:
    """Write the report as HTML and Markdown, the figures, and every run.

    `stem` is the name of the files: a single table doesn't replace the whole report.
    """
    out.mkdir(parents=True, exist_ok=True)
    for part in document.parts:
        if isinstance(part, Figure):
            file = out / "figures" / f"{part.name}.svg"
            file.parent.mkdir(exist_ok=True)
            file.write_text(part.svg, encoding="utf-8")
    (out / f"{stem}.md").write_text(as_markdown(document), encoding="utf-8")
    _write_runs(runs, out, stem)
    report = out / f"{stem}.html"
    report.write_text(as_html(document), encoding="utf-8")
    return report


def _write_runs(runs: Sequence[Run], out: Path, stem: str) -> None:
    entries = [_as_entry(run) for run in runs]
    text = json.dumps({"machine": machine(), "runs": entries}, indent=1) + "\n"
    (out / f"{stem}.json").write_text(text, encoding="utf-8")
    with (out / f"{stem}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, CSV_COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(map(_as_row, entries))


def _as_entry(run: Run) -> dict[str, Any]:
    data = asdict(run.task.data)
    return {
        "task": {
            **data,
            **run.task.describe(),
            "data": data["name"],
            "seed": run.task.repeat,
        },
        "result": asdict(run.result),
        "machine": run.machine,
    }


def _as_row(entry: dict[str, Any]) -> dict[str, Any]:
    task, result = entry["task"], entry["result"]
    shape = zip(SHAPE_COLUMNS, result["shape"], strict=False)  # unknown if it failed
    settings = json.dumps(task["settings"])
    return {**task, **result, **entry["machine"], **dict(shape), "settings": settings}


SHAPE_COLUMNS = ("training_rows", "test_rows", "features", "classes")
CSV_COLUMNS = (
    "data",
    *SHAPE_COLUMNS,
    "origin",
    "rho",
    "class_weights",
    "model",
    "settings",
    "measure",
    "seed",
    "n_jobs",
    "status",
    "seconds",
    "fits",
    "predict_seconds",
    "accuracy",
    "error",
    "note",
    "parameters",
    "version",
    "date",
    "cpu",
    "cores",
    "threads",
    "instruction_set",
    "python",
    "numpy",
    "scikit-learn",
    "dics",
    "lightgbm",
    "xgboost",
    "load",
)
