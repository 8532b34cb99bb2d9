"""Files of a report: HTML, Markdown, figures, and all runs as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dics_paper.environment import machine
from dics_paper.report.document import Document, Figure
from dics_paper.report.render import as_html, as_markdown
from dics_paper.running.tasks import Run


def write(document: Document, runs: Sequence[Run], out: Path, stem: str) -> Path:
    """Write the report as HTML and Markdown, the figures, and all runs.

    `stem` is the name of the files, so that a single table does not replace the report.
    """
    out.mkdir(parents=True, exist_ok=True)
    for part in document.parts:
        if isinstance(part, Figure):
            file = out / "figures" / f"{part.name}.svg"
            file.parent.mkdir(exist_ok=True)
            _replace(file, part.svg)
    _replace(out / f"{stem}.md", as_markdown(document))
    _write_runs(runs, out, stem)
    report = out / f"{stem}.html"
    _replace(report, as_html(document))
    return report


def check_out(out: Path) -> None:
    """Raise OSError before the first fit if a directory is not writable."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise OSError(f"Cannot write to {out}: {error.strerror or error}.") from error


def _replace(file: Path, text: str) -> None:
    """Write a file under another name, and rename it when it is complete."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8", newline="")
    new.replace(file)


def _write_runs(runs: Sequence[Run], out: Path, stem: str) -> None:
    entries = [_as_entry(run) for run in runs]
    text = json.dumps({"machine": machine(), "runs": entries}, indent=1) + "\n"
    _replace(out / f"{stem}.json", text)
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, CSV_COLUMNS, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(map(_as_row, entries))
    _replace(out / f"{stem}.csv", table.getvalue())


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
