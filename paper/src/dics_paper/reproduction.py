"""Reproduce tables and figures of the paper, and write the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from dics_paper.comparisons import Comparison
from dics_paper.depth_gain import DepthGain
from dics_paper.environment import BUSY, machine
from dics_paper.files import write
from dics_paper.models import BY_NAME, check_installed
from dics_paper.options import Options
from dics_paper.overview import Datasets, Illustration
from dics_paper.regression import Regression
from dics_paper.report.document import Document, Figure, Table
from dics_paper.running.runner import Results, Rules, Runner
from dics_paper.running.tasks import Run, Task
from dics_paper.sensitivity import Sensitivity
from dics_paper.split_scaling import SplitScaling


class Experiment(Protocol):
    """A table or figure of the paper."""

    @property
    def command(self) -> str:
        """Name on the command line."""

    @property
    def name(self) -> str:
        """Name of its first part in a report."""

    def tasks(self, options: Options) -> list[Task]:
        """Return the fits that it needs."""

    def parts(self, options: Options, results: Results) -> list[Table | Figure]:
        """Return its tables and figures from the available results."""


TABLES: tuple[Experiment, ...] = (
    Datasets(),
    *(Comparison(f, rho) for f in ("tree", "forest", "boosting") for rho in (0.5, 0.0)),
    *(Comparison(family) for family in ("tree", "forest", "boosting")),
    DepthGain(),
    SplitScaling(),
    *(Regression(family) for family in ("tree", "forest", "boosting")),
)
FIGURES: tuple[Experiment, ...] = (Illustration(), Sensitivity())


def names_of(experiments: Iterable[Experiment]) -> list[str]:
    """Return the names on the command line, each once."""
    return list(dict.fromkeys(experiment.command for experiment in experiments))


def choose(names: Sequence[str] | None, options: Options) -> list[Experiment]:
    """Return experiments by name (None: all) and by correlation."""
    return [
        experiment
        for experiment in (FIGURES[0], *TABLES, *FIGURES[1:])
        if (names is None or experiment.command in names)
        and _has_rho(experiment, options.rho)
    ]


def _has_rho(experiment: Experiment, rho: float | None) -> bool:
    found = getattr(experiment, "rho", None)
    return rho is None or found is None or found == rho


class Written(NamedTuple):
    """Result of a reproduction."""

    document: Document
    results: Results
    report: Path


def reproduce(
    names: Sequence[str] | None,
    options: Options,
    out: Path,
    *,
    limit: float | None = None,
    fit: bool = True,
) -> Written:
    """Reproduce experiments and write the report, the runs and the figures.

    Parameters
    ----------
    names : list of str or None
        Tables and figures, by their names on the command line; None for all.
    options : Options
        Scale, models and data sets.
    out : Path
        Directory of the report. Finished fits are stored there and not repeated.
    limit : float or None, default=None
        Seconds after which a single fit is stopped.
    fit : bool, default=True
        If False, build the report from stored fits only.

    Returns
    -------
    written : Written
        The document, the results and the path of the report.
    """
    experiments = choose(names, options)
    tasks = [task for e in experiments for task in e.tasks(options)]
    check_installed(BY_NAME[task.model] for task in tasks)
    rules = Rules(limit, options.scale.once_over)
    results = Runner(out, options.data_dir).run(tasks, rules, fit=fit)
    parts = [part for e in experiments for part in e.parts(options, results)]
    if not parts:
        raise ValueError("No table or figure has these models and data sets.")
    document = Document(
        TITLE, introduction(options), parts, facts(options, results.runs())
    )
    stem = "report" if names is None else "-".join(names)
    return Written(document, results, write(document, results.runs(), out, stem))


TITLE = "DICS: reproduction of the paper's tables and figures"


def introduction(options: Options) -> list[str]:
    """Return the paragraphs before the first table."""
    what = (
        "All tables and figures of the paper, with the numbers measured here and the "
        "printed ones. The machines differ, so only ratios of times compare. The "
        "models of dics have the paper's setting and the default parameters; other "
        "libraries have their usual parameters and fast ones. All models got the same "
        "arrays and the same number of threads, one fit at a time."
    )
    how = (
        f"Scale: {options.scale.name}; threads per fit: {options.n_jobs}. A time below "
        "one second is the median of five fits. Very slow models of other libraries "
        "are fitted once."
    )
    paragraphs = [what, how]
    if options.scale.name == "smoke":
        paragraphs.append(
            "This is the smoke scale: a few hundred rows, to test that everything "
            "runs. Its numbers are not meaningful."
        )
    return paragraphs


def facts(options: Options, runs: Sequence[Run]) -> dict[str, Any]:
    """Return facts about the machine; several values if stored runs differ."""
    found: dict[str, list[str]] = {}
    for info in [run.machine for run in runs] or [machine()]:
        for name, value in info.items():
            if name != "load" and str(value) not in found.setdefault(name, []):
                found[name].append(str(value))
    return {name: ", ".join(sorted(values)) for name, values in found.items()} | {
        "load_average": _loads(runs),
        "scale": options.scale.name,
        "runs": len(runs),
    }


def _loads(runs: Sequence[Run]) -> str:
    """Return the load of the machine before the fits."""
    loads = [run.machine.get("load", 0.0) for run in runs] or [machine()["load"]]
    low, high = min(loads), max(loads)
    text = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    busy = ": other programs were running" if high > BUSY else ""
    return f"{text} at the start of the programs that ran the fits{busy}"
