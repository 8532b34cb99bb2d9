"""Loss and fit time on many small tables, against other libraries with defaults.

Results are stored by table, seed, model and version, so that a run continues where it
stopped and other libraries run once. For dics, the version is a digest of its sources:
each change is compared with the same results of the others.

Rules are chosen with ``--part choose`` and confirmed, rarely, with ``--part confirm``.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import RESULTS, make_parser, print_header, save_json
from suite_models import MODELS
from suite_tables import PARTS, Table, load_split, read_index

from dics._estimator.arguments import effective_n_threads
from dics_paper.datasets import DatasetNotFoundError
from dics_paper.environment import machine
from dics_paper.progress import Steps
from dics_paper.store import Store
from dics_paper.text import markdown_table, show_seconds

STORE = RESULTS / "suite.jsonl"
N_BOOTSTRAPS = 1_000
# A ratio of losses beyond these counts as the limit: a loss near zero would decide the
# mean otherwise.
MAX_RATIO = 2.0
BEHIND = 1.1  # tables on which a model is behind by more are listed
# The lowest loss and the shortest time of several models, for each fit.
BEST_OF = {
    "best of the three": ("LightGBM", "XGBoost", "HistGB"),
    "better forest": ("RandomForest", "ExtraTrees"),
}


class Comparison(NamedTuple):
    """A model compared with another one on the tables that both have."""

    n_tables: int
    mean: float  # relative difference of the losses, geometric
    low: float  # bootstrap interval of the mean, 95 %
    high: float
    median: float
    wins: float  # fraction of the tables with the lower loss
    wall: float  # geometric mean of the ratios of the fit times
    cpu: float
    slower: float  # fraction of the tables, by wall time
    behind: list[str]

    @classmethod
    def of(cls, ours: dict[Any, Any], other: dict[Any, Any]) -> Comparison:
        """Compare two dictionaries of results by (table, seed)."""
        shared = sorted(ours.keys() & other.keys())
        tables = sorted({name for name, _ in shared})

        def means(key: str) -> np.ndarray[Any, Any]:
            """Return the mean logarithm of the ratio for each table."""
            logs: dict[str, list[float]] = {name: [] for name in tables}
            for name, seed in shared:
                first, second = ours[name, seed][key], other[name, seed][key]
                logs[name].append(math.log(max(first, 1e-9) / max(second, 1e-9)))
            return np.array([np.mean(logs[name]) for name in tables])

        raw = means("loss")
        loss = np.clip(raw, -math.log(MAX_RATIO), math.log(MAX_RATIO))
        rng = np.random.default_rng(0)
        samples = rng.integers(len(loss), size=(N_BOOTSTRAPS, len(loss)))
        low, high = np.quantile(loss[samples].mean(axis=1), [0.025, 0.975])
        return cls(
            n_tables=len(tables),
            mean=math.expm1(loss.mean()),
            low=math.expm1(low),
            high=math.expm1(high),
            median=math.expm1(float(np.median(raw))),
            wins=float((raw < 0).mean()),
            wall=math.exp(means("wall").mean()),
            cpu=math.exp(means("cpu").mean()),
            slower=float((means("wall") > 0).mean()),
            behind=[
                f"{tables[i]} {math.expm1(raw[i]):+.0%}"
                for i in np.argsort(-raw)
                if raw[i] > math.log(BEHIND)
            ],
        )

    def cells(self) -> list[str]:
        """Return the cells of a row."""
        return [
            str(self.n_tables),
            f"{self.mean:+.1%} ({self.low:+.1%} to {self.high:+.1%})",
            f"{self.median:+.1%}",
            f"{self.wins:.0%}",
            f"{self.wall:.2f}x",
            f"{self.cpu:.2f}x",
            f"{self.slower:.0%}",
            str(len(self.behind)),
        ]


COLUMNS = (
    "tables",
    "mean loss",
    "median loss",
    "wins",
    "fit wall",
    "fit CPU",
    "slower",
    f"behind by {BEHIND - 1:.0%}",
)


def key_of(table: Table, seed: int, name: str, n_threads: int) -> dict[str, Any]:
    model = MODELS[name]
    return {
        "benchmark": "suite",
        "table": table.name,
        "seed": seed,
        "model": name,
        "version": f"{model.package} {model.version}",
        "cpu": machine()["cpu"],
        "threads": n_threads,
    }


def run_model(table: Table, seed: int, name: str, n_threads: int) -> dict[str, Any]:
    """Fit a model once, and return its loss and times."""
    split = load_split(table, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other libraries
        wall, cpu = time.perf_counter(), time.process_time()
        model = MODELS[name].fit(split, n_threads)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        start = time.perf_counter()
        loss = split.loss(model)
    return {
        "loss": loss,
        "wall": wall,
        "cpu": cpu,
        "predict": time.perf_counter() - start,
    }


def collect(
    tables: Sequence[Table], seeds: int, names: Sequence[str], store: Store
) -> tuple[dict[str, dict[Any, Any]], list[str]]:
    """Return the results by model and (table, seed), and the fits that failed."""
    n_threads = effective_n_threads(None)
    results: dict[str, dict[Any, Any]] = {name: {} for name in names}
    failed = []
    with Steps(len(tables) * seeds * len(names), pause=10.0) as steps:
        for table in tables:
            for seed in range(seeds):
                for name in names:
                    steps.begin(f"{table.name} {seed}: {name}")
                    key = key_of(table, seed, name, n_threads)
                    entry = store.find(key)
                    if entry is None:
                        try:
                            result = run_model(table, seed, name, n_threads)
                        except Exception as error:  # the others still have rows
                            failed.append(f"{name} on {table.name}: {error}")
                            continue
                        store.keep(key, result=result, date=machine()["date"])
                        entry = {"result": result}
                    results[name][table.name, seed] = entry["result"]
    return results, failed


def add_best(results: dict[str, dict[Any, Any]]) -> None:
    """Add the best results of several models, as those of another model."""
    for name, models in BEST_OF.items():
        if not results.keys() >= set(models):
            continue
        shared = set.intersection(*(set(results[model]) for model in models))
        results[name] = {
            key: {
                column: min(results[model][key][column] for model in models)
                for column in ("loss", "wall", "cpu", "predict")
            }
            for key in sorted(shared)
        }


def print_comparisons(
    title: str, ours: str, results: dict[str, dict[Any, Any]], chosen: set[str]
) -> None:
    """Print how a model compares with each other one on some tables."""
    parts = {
        name: {key: row for key, row in rows.items() if key[0] in chosen}
        for name, rows in results.items()
    }
    compared = {
        name: Comparison.of(parts[ours], rows)
        for name, rows in parts.items()
        if name != ours and rows.keys() & parts[ours].keys()
    }
    if not compared:
        return
    rows = [[name, *comparison.cells()] for name, comparison in compared.items()]
    print(f"\n### {ours} against, {title}\n")
    print(markdown_table(("other", *COLUMNS), rows))
    for name, comparison in compared.items():
        if comparison.behind:
            print(f"\n- behind {name}: {', '.join(comparison.behind)}")


def print_tables(results: dict[str, dict[Any, Any]], tables: Sequence[Table]) -> None:
    """Print the mean loss and the fit time of every model on every table."""
    rows = []
    for table in tables:
        cells = [table.name, table.task, str(table.n_rows)]
        for found in results.values():
            mine = [row for (name, _), row in found.items() if name == table.name]
            if mine:
                loss = np.mean([row["loss"] for row in mine])
                wall = np.mean([row["wall"] for row in mine])
                cells.append(f"{loss:.4g}, {show_seconds(float(wall))}")
            else:
                cells.append("-")
        rows.append(cells)
    print("\n### Loss and fit time of each table\n")
    print(markdown_table(("table", "task", "rows", *results), rows))


def draw_front(
    file: Path, results: dict[str, dict[Any, Any]], reference: str, ours: Sequence[str]
) -> None:
    """Plot the mean loss over the fit time, relative to a reference."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    points = {}
    for name, rows in results.items():
        if name not in BEST_OF and rows.keys() & results[reference].keys():
            comparison = Comparison.of(rows, results[reference])
            points[name] = (comparison.cpu, 100 * comparison.mean)
    mine = sorted(points[name] for name in ours if name in points)
    axes.plot(*zip(*mine, strict=True), "o-", color="#d55e00", zorder=3)
    for name, (cpu, loss) in points.items():
        if name not in ours:
            axes.plot(cpu, loss, "o", color="#0072b2")
        # Labels are to the left of points that have another one close to their right.
        is_left = any(
            1 < other / cpu < 2 and abs(height - loss) < 1
            for other, height in points.values()
        )
        axes.annotate(
            name,
            (cpu, loss),
            xytext=(-7 if is_left else 7, 6),
            textcoords="offset points",
            ha="right" if is_left else "left",
            fontsize=11,
        )
    axes.set(
        xscale="log",
        xlabel=f"CPU time of a fit, relative to {reference}",
        ylabel=f"loss, relative to {reference} (%)",
        title=f"{len(results[reference])} tables: less is better on both axes",
    )
    axes.margins(x=0.2, y=0.1)
    axes.grid(alpha=0.3)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--tables", nargs="+", metavar="NAME")
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--max-rows", type=int, default=sys.maxsize)
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--image", type=Path, help="write the plot of loss and time")
    parser.add_argument("--each", action="store_true", help="print every table")
    args = parser.parse_args(argv)
    try:
        index = read_index()
    except DatasetNotFoundError as error:
        print(f"Skipped {error}.")
        return
    tables = [
        table
        for table in index
        if args.part in ("all", table.part)
        and (args.tables is None or table.name in args.tables)
        and table.n_rows <= args.max_rows
    ]
    print_header("Many small tables")
    results, failed = collect(tables, args.seeds, args.models, Store(args.store))
    add_best(results)
    for ours in [name for name in args.models if MODELS[name].package == "dics"]:
        for kind in ("all tables", "classification", "regression"):
            chosen = {
                table.name
                for table in tables
                if kind == "all tables"
                or (table.task == "regression") == (kind == "regression")
            }
            print_comparisons(kind, ours, results, chosen)
    if args.each:
        print_tables(results, tables)
    for failure in failed:
        print(f"\nFailed: {failure}")
    if args.image is not None:
        reference = "CatBoost" if "CatBoost" in results else args.models[-1]
        ours = [name for name in ("dics fast", "dics", "dics best") if name in results]
        draw_front(args.image, results, reference, ours)
    save_json(
        args.json,
        "suite",
        results={
            name: [
                {"table": table, "seed": seed, **row}
                for (table, seed), row in rows.items()
            ]
            for name, rows in results.items()
        },
    )


if __name__ == "__main__":
    main()
