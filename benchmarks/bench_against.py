"""Fit and predict times of the working tree, compared with another revision.

Both are built in the same way from copies of their sources, and installed in separate
folders. Two processes, one per build, alternate on the same tasks: old new, new old,
and so on, never at the same time. A row shows the median of the paired ratios new/old.
Rows above the limit are measured again in new processes with more pairs. The exit code
is 1 if a row stays above the limit.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from against_builds import (
    Build,
    BuildFailed,
    SideEnded,
    Sides,
    build,
    folder_for_builds,
)
from against_rows import FEWEST, Row, TaskFailed, make_report, measure, show_seconds
from against_tasks import (
    DATASETS,
    GROUPS,
    PREDICT_DATASETS,
    QUICK_DATASETS,
    Task,
    make_tasks,
)

LIMIT = 1.05
# Number of further measurements of rows above the limit, each with twice the pairs. The
# verdict uses all pairs.
MORE_ROUNDS = 2


# --- options ---------------------------------------------------------------


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="against", description=__doc__)
    parser.add_argument(
        "revision",
        nargs="?",
        default="HEAD",
        help="git revision of the old side; default: HEAD, for uncommitted changes",
    )
    parser.add_argument(
        "--datasets",
        nargs="+",
        metavar="NAME",
        help="names of files in DICS_DATA_DIR, or generated_1000x20_K3 for data of any "
        f"shape; default: {' '.join(DATASETS)}",
    )
    parser.add_argument(
        "--tasks",
        nargs="+",
        choices=GROUPS,
        default=list(GROUPS),
        metavar="KIND",
        help=f"one of {', '.join(GROUPS)}; default: all, with predictions on "
        f"{', '.join(PREDICT_DATASETS)} and on all data sets of --datasets",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{FEWEST} pairs per row, on {', '.join(QUICK_DATASETS)}",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT,
        help="maximum of new/old; default: %(default)s",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the builds for the next run"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the times")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table")
    return parser.parse_args(argv)


@dataclass
class Plan:
    """Tasks by data set, and the limit."""

    datasets: Sequence[str]
    predict_datasets: Sequence[str]
    groups: Sequence[str]
    quick: bool
    limit: float

    @classmethod
    def from_options(cls, options: argparse.Namespace) -> Plan:
        datasets = options.datasets or (QUICK_DATASETS if options.quick else DATASETS)
        predict_datasets = options.datasets or PREDICT_DATASETS
        return cls(
            datasets, predict_datasets, options.tasks, options.quick, options.limit
        )

    def tasks(self, data: str, rows: int, classes: int) -> list[Task]:
        predict = data in self.predict_datasets
        return make_tasks(rows, classes, self.groups, predict=predict)


# --- one set ---------------------------------------------------------------


@dataclass
class Results:
    """Rows, and the reasons for missing data sets."""

    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def exit_code(self, limit: float) -> int:
        return int(any(row.problem or row.is_slower(limit) for row in self.rows))


def run_set(
    data: str, plan: Plan, sides: Sides, results: Results, progress: Progress
) -> None:
    """Measure all tasks on a data set; repeat those that seem slower."""
    progress.begin(f"{data}: load")
    loaded = sides.load(data)
    if "missing" in loaded:
        results.skipped.append(f"{data}: {loaded['missing']}")
        return
    tasks = plan.tasks(data, loaded["rows"], loaded["classes"])
    pairs = [(Row(data, task.name, task.group), task) for task in tasks]
    results.rows += [row for row, _ in pairs]
    measure_all(pairs, plan, sides, progress, times=1)
    for _ in range(MORE_ROUNDS):
        pairs = [(row, task) for row, task in pairs if row.is_slower(plan.limit)]
        if pairs:
            sides.restart()
            sides.load(data)
            measure_all(pairs, plan, sides, progress, times=2)


def measure_all(
    pairs: Sequence[tuple[Row, Task]],
    plan: Plan,
    sides: Sides,
    progress: Progress,
    times: int,
) -> None:
    for row, task in pairs:
        progress.begin(f"{row.data}: {row.task}{', again' if times > 1 else ''}")
        try:
            measure(
                row, task.request, sides.old, sides.new, times=times, quick=plan.quick
            )
        except TaskFailed as problem:
            row.problem = str(problem)
            if isinstance(problem, SideEnded):
                sides.restart()
                sides.load(row.data)
        progress.end(row.problem or f"{row.ratio:.3f}x", n_steps=int(times == 1))


def run_sets(plan: Plan, sides: Sides) -> Results:
    results = Results()
    steps = {data: len(plan.tasks(data, rows=1, classes=1)) for data in plan.datasets}
    with show_progress(sum(steps.values())) as progress:
        for n_done, data in enumerate(plan.datasets):
            progress.go_to(sum(steps[name] for name in plan.datasets[:n_done]))
            try:
                sides.restart()
                run_set(data, plan, sides, results, progress)
            except TaskFailed as problem:
                results.rows.append(Row(data, "load", "load", problem=str(problem)))
    return results


# --- output ----------------------------------------------------------------


class Progress:
    """Shows the current measurement on stderr.

    In a terminal this is a bar, otherwise one line per row. It is drawn only between
    measurements, so that it does not disturb them.
    """

    def __init__(self, total: int) -> None:
        from rich import progress as rich_progress
        from rich.console import Console

        console = Console(stderr=True)
        self._is_terminal = console.is_terminal
        self.bar = rich_progress.Progress(
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("{task.description}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self.bar.add_task("", total=total)
        self._text = ""

    def begin(self, text: str) -> None:
        self._text = text
        self.bar.update(self._task, description=text, refresh=True)

    def end(self, result: str, n_steps: int) -> None:
        self.bar.update(self._task, advance=n_steps)
        if not self._is_terminal:
            print(f"{self._text}: {result}", file=sys.stderr, flush=True)

    def go_to(self, step: int) -> None:
        self.bar.update(self._task, completed=step)


@contextmanager
def show_progress(total: int) -> Iterator[Progress]:
    progress = Progress(total)
    with progress.bar:
        yield progress


def describe_run(old: Build, new: Build, versions: dict[str, str]) -> dict[str, Any]:
    return {
        "old": old.title,
        "new": new.title,
        "same_sources": old.key == new.key,
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "versions": versions,
        "load_before": round(os.getloadavg()[0], 2),
    }


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    return next(names, platform.processor() or platform.machine())


def make_header(run: dict[str, Any], seconds: float) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in run["versions"].items())
    lines = [
        "## Against another revision",
        "",
        f"- old: {run['old']}",
        f"- new: {run['new']}",
        f"- {run['cpu']}, {run['cores']} cores; {versions}",
        f"- {seconds / 60:.1f} minutes; load before the run {run['load_before']:.2f}",
    ]
    if run["same_sources"]:
        lines.append("- Both sides have the same sources: the ratios are noise.")
    return "\n".join(lines)


def save(file: Path | None, text: str) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(f"written: {file}", file=sys.stderr)


# --- command ---------------------------------------------------------------


def make_builds(revision: str, builds: Path) -> tuple[Build, Build]:
    sides = []
    for name, source in (("old", revision), ("new", None)):
        start = time.perf_counter()
        made = build(source, builds)
        seconds = show_seconds(time.perf_counter() - start)
        print(f"{name}: {made.title}, built in {seconds}", file=sys.stderr, flush=True)
        sides.append(made)
    return sides[0], sides[1]


def compare(options: argparse.Namespace) -> int:
    plan = Plan.from_options(options)
    with folder_for_builds(options.keep) as builds, TemporaryDirectory() as logs:
        old, new = make_builds(options.revision, builds)
        start = time.perf_counter()
        with Sides(old, new, Path(logs)) as sides:
            sides.restart()
            run = describe_run(old, new, sides.versions)
            results = run_sets(plan, sides)
    header = make_header(run, time.perf_counter() - start)
    report = f"{header}\n\n{make_report(results.rows, results.skipped, plan.limit)}"
    print(report, end="", flush=True)
    save(options.markdown, report)
    rows = [row.as_dict() for row in results.rows]
    content = {"benchmark": "against", "run": run, "limit": plan.limit}
    content |= {"skipped": results.skipped, "rows": rows}
    save(options.json, json.dumps(content, indent=1) + "\n")
    return results.exit_code(plan.limit)


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    # Leave all contexts as with Ctrl-C, so that processes and folders are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        code = compare(options)
    except (BuildFailed, TaskFailed) as problem:
        print(problem, file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
