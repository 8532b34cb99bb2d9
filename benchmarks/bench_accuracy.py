"""Test accuracy beside exhaustive search, at depth 8 and at full depth.

Sets with an official split are run with 5 seeds of the models, the others on 5 random
splits, and sets of under 2000 rows on 50: one split of wine has 45 test rows. Forests
vary less from seed to seed and scikit-learn's take minutes, so they get 2 or 3 seeds of
the images and 20 splits of the small sets. Both models see the same splits and seeds.
The standard error is that of the mean difference over them; random splits of one set
overlap, so it is somewhat too small.

Results of scikit-learn's models are kept in files, as they take most of the time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from common import (
    RESULTS,
    Data,
    Steps,
    load,
    make_parser,
    markdown_table,
    print_header,
    run_sets,
    save_json,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from dics import (
    CentroidCandidates,
    CGForestClassifier,
    CGTreeClassifier,
    QuantileCandidates,
)
from dics._threads import effective_n_threads

DATASETS = (
    "mnist",
    "fashion_mnist",
    "cifar10",
    "spambase",
    "helena_part",
    "electricity",
    "adult",
    "magic",
    "letter",
    "otto",
    "digits",
    "breast_cancer",
    "wine",
)
DEPTHS = (8, None)
SMALL_SET = 2_000  # rows; there are more splits of such sets
LEAST_WORST = -0.01


class Family(NamedTuple):
    """A kind of model: what is compared, and how often."""

    title: str
    peer: Callable[..., Any]
    ours: Callable[..., Any]
    splits: int  # or seeds
    small_splits: int
    seeds: dict[str, int]  # of sets that get another number
    least_mean: float
    cache: str

    def n_runs(self, data: Data, splits: int | None) -> int:
        if len(data.X) < SMALL_SET:
            return self.small_splits
        return splits or self.seeds.get(data.name, self.splits)


FAMILIES = {
    "tree": Family(
        "one tree",
        DecisionTreeClassifier,
        CGTreeClassifier,
        splits=5,
        small_splits=50,
        seeds={},
        least_mean=-0.002,
        cache="decision_tree_accuracy.json",
    ),
    "forest": Family(
        "forests",
        partial(RandomForestClassifier, n_jobs=effective_n_threads(None)),
        CGForestClassifier,
        splits=5,
        small_splits=20,
        seeds={"mnist": 3, "fashion_mnist": 3, "cifar10": 2},
        least_mean=-0.003,
        cache="random_forest_accuracy.json",
    ),
}

# The same engine with other thresholds: what the centroids are worth.
SOURCES: dict[str, Callable[[], Any]] = {
    "centroids": CentroidCandidates,
    "paper": CentroidCandidates.paper,
    "32 quantiles": lambda: QuantileCandidates(32),
    "254 quantiles": lambda: QuantileCandidates(254),
}


class Cache:
    """Accuracies of scikit-learn's model by data, depth and seed, with their date."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._entries: dict[str, dict[str, Any]] = {}
        if file.is_file():
            self._entries = json.loads(file.read_text(encoding="utf-8"))

    def get(self, key: str, compute: Callable[[], float]) -> float:
        if key not in self._entries:
            accuracy = compute()
            self._entries[key] = {
                "accuracy": accuracy,
                "date": date.today().isoformat(),
            }
            self._file.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(self._entries, indent=0) + "\n"
            self._file.write_text(text, encoding="utf-8")
        return float(self._entries[key]["accuracy"])

    def oldest(self) -> str:
        return min((entry["date"] for entry in self._entries.values()), default="-")


class Plan(NamedTuple):
    """What to run on each set."""

    family: Family
    depths: Sequence[int | None]
    splits: int | None
    cache: Cache


def exhaustive_accuracy(data: Data, depth: int | None, seed: int, plan: Plan) -> float:
    def compute() -> float:
        split = data.split(seed)
        model = plan.family.peer(max_depth=depth, random_state=seed)
        return split.score(model.fit(split.X_train, split.y_train))

    rows, features = data.X.shape
    key = f"{data.name} {rows}x{features} depth={depth} seed={seed}"
    return plan.cache.get(f"{key} scikit-learn={sklearn.__version__}", compute)


def our_accuracy(
    data: Data, depth: int | None, seed: int, plan: Plan, source: Any = None
) -> tuple[float, float]:
    """Test accuracy and mean number of thresholds of a feature."""
    split = data.split(seed)
    model = plan.family.ours(max_depth=depth, candidates=source, random_state=seed)
    model.fit(split.X_train, split.y_train)
    return split.score(model), float(model.candidates_.n_thresholds_.mean())


def compare(name: str, plan: Plan, steps: Steps) -> list[dict[str, Any]]:
    data = load(name)
    seeds = range(plan.family.n_runs(data, plan.splits))
    rows = []
    for depth in plan.depths:
        steps.begin(f"{name}, depth {depth}: scikit-learn")
        peer = [exhaustive_accuracy(data, depth, seed, plan) for seed in seeds]
        steps.begin(f"{name}, depth {depth}: dics")
        ours = [our_accuracy(data, depth, seed, plan)[0] for seed in seeds]
        difference = np.subtract(ours, peer)
        error = difference.std(ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else 0.0
        rows.append(
            {
                "data": name,
                "depth": depth,
                "runs": len(seeds),
                "of": "seeds" if data.n_train is not None else "splits",
                "exhaustive": float(np.mean(peer)),
                "ours": float(np.mean(ours)),
                "difference": float(difference.mean()),
                "error": float(error),
            }
        )
    return rows


def summarize(
    rows: Sequence[dict[str, Any]], depths: Sequence[int | None]
) -> list[dict[str, Any]]:
    summary = []
    for depth in depths:
        chosen = [row for row in rows if row["depth"] == depth]
        if chosen:
            worst = min(chosen, key=lambda row: row["difference"])
            summary.append(
                {
                    "depth": depth,
                    "sets": len(chosen),
                    "mean": float(np.mean([row["difference"] for row in chosen])),
                    "worst": worst["difference"],
                    "worst_set": worst["data"],
                }
            )
    return summary


def print_comparison(
    rows: Sequence[dict[str, Any]],
    summary: Sequence[dict[str, Any]],
    least_mean: float,
) -> None:
    columns = ["data", "depth", "runs", "exhaustive", "ours", "difference", "error"]
    cells = [
        [
            row["data"],
            row["depth"] or "full",
            f"{row['runs']} {row['of']}",
            f"{row['exhaustive']:.4f}",
            f"{row['ours']:.4f}",
            f"{row['difference']:+.4f}",
            f"{row['error']:.4f}",
        ]
        for row in rows
    ]
    print(markdown_table(columns, cells) + "\n")
    for item in summary:
        mean = "met" if item["mean"] >= least_mean else "missed"
        worst = "met" if item["worst"] >= LEAST_WORST else "missed"
        print(
            f"- depth {item['depth'] or 'full'}, {item['sets']} sets: mean "
            f"{item['mean']:+.4f} (target {least_mean}: {mean}), worst "
            f"{item['worst']:+.4f} on {item['worst_set']} (target {LEAST_WORST}: "
            f"{worst})"
        )


def compare_sources(name: str, plan: Plan, steps: Steps) -> list[dict[str, Any]]:
    data = load(name)
    seeds = range(plan.family.n_runs(data, plan.splits))
    rows = []
    for depth in plan.depths:
        steps.begin(f"{name}, depth {depth}: scikit-learn")
        peer = [exhaustive_accuracy(data, depth, seed, plan) for seed in seeds]
        row: dict[str, Any] = {"data": name, "depth": depth, "runs": len(seeds)}
        row["exhaustive"] = float(np.mean(peer))
        for label, make in SOURCES.items():
            steps.begin(f"{name}, depth {depth}: {label}")
            results = [our_accuracy(data, depth, seed, plan, make()) for seed in seeds]
            accuracy, thresholds = np.mean(results, axis=0)
            row[label] = {"accuracy": accuracy, "thresholds": thresholds}
        rows.append(row)
    return rows


def print_sources(rows: Sequence[dict[str, Any]], depths: Sequence[int | None]) -> None:
    cells = [
        [row["data"], row["depth"] or "full", f"{row['exhaustive']:.4f}"]
        + [
            f"{row[label]['accuracy']:.4f} ({row[label]['thresholds']:.0f})"
            for label in SOURCES
        ]
        for row in rows
    ]
    for depth in depths:
        chosen = [row for row in rows if row["depth"] == depth]
        if chosen:
            means = [np.mean([row["exhaustive"] for row in chosen])]
            means += [
                np.mean([row[label]["accuracy"] for row in chosen]) for label in SOURCES
            ]
            cells.append(["mean", depth or "full", *(f"{mean:.4f}" for mean in means)])
    print(markdown_table(["data", "depth", "exhaustive", *SOURCES], cells))
    print("\nIn brackets: mean number of thresholds of a feature.")


def main(argv: list[str] | None = None) -> None:
    parser = make_parser(__doc__, DATASETS)
    parser.add_argument("--family", choices=FAMILIES, default="tree")
    parser.add_argument(
        "--splits", type=int, help="seeds or splits of larger sets, if not the usual"
    )
    parser.add_argument(
        "--sources", action="store_true", help="compare sources of thresholds instead"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="FILE",
        help="where accuracies of scikit-learn's model are kept; default: in results",
    )
    options = parser.parse_args(argv)
    family = FAMILIES[options.family]
    title = "Sources of thresholds" if options.sources else "Accuracy"
    print_header(f"{title}: {family.title}")

    run, n_steps = (compare_sources, 5) if options.sources else (compare, 2)
    cache = Cache(options.cache or RESULTS / family.cache)
    plan = Plan(family, DEPTHS, options.splits, cache)
    results = run_sets(
        options.datasets,
        n_steps * len(DEPTHS),
        lambda name, steps: run(name, plan, steps),
    )
    content: dict[str, Any] = {"family": options.family, "rows": results.rows}
    if options.sources:
        print_sources(results.rows, DEPTHS)
    else:
        content["summary"] = summarize(results.rows, DEPTHS)
        print_comparison(results.rows, content["summary"], family.least_mean)
    results.print_skipped()
    print(f"\nOldest result of scikit-learn's model: {cache.oldest()}.")
    save_json(options.json, "sources" if options.sources else "accuracy", **content)


if __name__ == "__main__":
    main()
