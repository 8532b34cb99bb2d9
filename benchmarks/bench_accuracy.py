"""Test accuracy, compared with scikit-learn's trees and forests and with LightGBM.

Trees and forests have depth 8 and unlimited depth. Boosting has the default parameters
of both libraries, and its log-loss is compared too.

Data sets with an official split are run with 5 seeds of the models, the others on 5
random splits. Data sets with fewer than 2000 rows get 50 splits, because a split of
wine has 45 test rows. Forests and boosting vary less from seed to seed, and the other
libraries take minutes. They get 2 or 3 seeds on images and 20 splits of small data
sets. Both models get the same splits and seeds. LightGBM is deterministic here, so one
fit is used for all seeds of an official split. The standard error is that of the mean
difference. It is somewhat too small, because random splits of a data set overlap.

If the other library diverges (its log-loss is worse than that of a constant
prediction), the difference is not informative. Means are shown with and without such
data sets; the targets are for the means without them.

Results of other libraries are stored in a file, because they take most of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import regression_contests
import regression_sources
from common import (
    PEERS_FILE,
    add_task,
    asks_for_regression,
    make_parser,
    print_header,
    run_sets,
    save_json,
)

from dics import CentroidCandidates, QuantileCandidates
from dics._estimator.arguments import effective_n_threads
from dics_paper.data import FILES, Data, Split, of_benchmark
from dics_paper.environment import stamped
from dics_paper.models import BY_NAME, Model
from dics_paper.progress import Steps
from dics_paper.store import Store
from dics_paper.text import markdown_table

DATASETS = (*FILES, "digits", "breast_cancer", "wine")
SMALL_SET = 2_000  # rows; smaller data sets get more splits
# Parameters of both models, by their name in the table.
DEPTHS: dict[str, dict[str, Any]] = {
    "8": {"max_depth": 8},
    "full": {"max_depth": None},
}
DEFAULTS: dict[str, dict[str, Any]] = {"default": {}}
FEW_SEEDS = {"mnist": 3, "fashion_mnist": 3, "cifar10": 2}


class Family(NamedTuple):
    """Two models to compare, their parameters, and the number of runs."""

    title: str
    peer: Model
    our_name: str
    ours: Model
    settings: dict[str, dict[str, Any]]
    small_splits: int
    least_mean: float  # lowest allowed differences
    least_worst: float
    seeds: dict[str, int] = FEW_SEEDS  # exceptions from `splits`, by data set
    splits: int = 5  # or seeds, with an official split
    peer_settings: dict[str, Any] = {}  # noqa: RUF012
    peer_draws: bool = True  # False if the other model is deterministic
    with_log_loss: bool = False

    def n_runs(self, name: str, splits: int | None) -> int:
        n_train, n_test, *_ = load(of_benchmark(name), 0).size
        if n_train + n_test < SMALL_SET:
            return self.small_splits
        return splits or self.seeds.get(name, self.splits)

    def scores(self, split: Split, model: Any) -> dict[str, float]:
        model.fit(split.X_train, split.y_train)
        scores = {"accuracy": split.accuracy(model)}
        if self.with_log_loss:
            scores["log_loss"] = split.log_loss(model)
        return scores


FAMILIES = {
    "tree": Family(
        "one tree",
        BY_NAME["decision-tree"],
        "CGTree",
        BY_NAME["cgct"],
        DEPTHS,
        small_splits=50,
        least_mean=-0.002,
        least_worst=-0.01,
        seeds={},
    ),
    "forest": Family(
        "forests",
        BY_NAME["random-forest"],
        "CGForest",
        BY_NAME["cgrf"],
        DEPTHS,
        small_splits=20,
        least_mean=-0.003,
        least_worst=-0.01,
    ),
    "boosting": Family(
        "boosting",
        BY_NAME["lightgbm"],
        "CGBoosting",
        BY_NAME["fastcgbm"],
        DEFAULTS,
        small_splits=20,
        least_mean=-0.003,
        least_worst=-0.015,
        peer_settings={"max_depth": -1},  # LightGBM's default
        peer_draws=False,
        with_log_loss=True,
    ),
}

# The same models with other thresholds, to measure the benefit of the centroids.
SOURCES: dict[str, Callable[[], Any]] = {
    "centroids": CentroidCandidates,
    "paper": CentroidCandidates.paper,
    "32 quantiles": lambda: QuantileCandidates(max_bins=33),
    "254 quantiles": lambda: QuantileCandidates(max_bins=255),
}


class Plan(NamedTuple):
    """Options of the run on each data set."""

    family: Family
    splits: int | None
    store: Store


@lru_cache(maxsize=1)  # an official split is the same for all seeds
def load(data: Data, repeat: int) -> Split:
    return data.load(repeat)


def load_split(data: Data, seed: int) -> Split:
    return load(data, 0 if data.same_rows else seed)


def peer_scores(
    data: Data, options: dict[str, Any], seed: int, plan: Plan
) -> dict[str, Any]:
    """Return the stored scores of the other library, or compute and store them."""
    family, peer = plan.family, plan.family.peer
    if data.same_rows and not family.peer_draws:
        seed = 0
    n_train, n_test, n_features, _ = load_split(data, seed).size
    settings = {**family.peer_settings, **options}
    key = {
        "benchmark": "accuracy",
        "data": data.name,
        "rows": n_train + n_test,
        "features": n_features,
        "model": peer.name,
        "version": peer.version,
        "settings": settings,
        "seed": seed,
    }
    if plan.store.find(key) is None:
        model = peer.make(
            seed=seed, n_jobs=effective_n_threads(None), settings=settings
        )
        scores = family.scores(load_split(data, seed), model)
        plan.store.keep(key, result=scores, date=stamped()["date"])
    entry = plan.store.find(key)
    assert entry is not None
    return dict(entry["result"])


def oldest_date(plan: Plan) -> str:
    """Return the date of the oldest stored result of the other library."""
    return min(
        (
            entry["date"]
            for entry in plan.store.entries()
            if entry["key"]["benchmark"] == "accuracy"
            and entry["key"]["model"] == plan.family.peer.name
        ),
        default="-",
    )


def our_scores(
    data: Data, options: dict[str, Any], seed: int, plan: Plan, source: Any = None
) -> dict[str, float]:
    """Return the scores of dics and the mean number of thresholds per feature."""
    settings = {**options, "candidates": source}
    model = plan.family.ours.make(seed=seed, settings=settings)
    scores = plan.family.scores(load_split(data, seed), model)
    return {**scores, "thresholds": float(model.candidates_.n_thresholds_.mean())}


def column(scores: Sequence[dict[str, Any]], name: str) -> np.ndarray:
    return np.array([score[name] for score in scores])


def compare(name: str, plan: Plan, steps: Steps) -> list[dict[str, Any]]:
    data, family = of_benchmark(name), plan.family
    seeds = range(family.n_runs(name, plan.splits))
    rows = []
    for setting, options in family.settings.items():
        steps.begin(f"{name}, {setting}: {family.peer.label}")
        peer = [peer_scores(data, options, seed, plan) for seed in seeds]
        steps.begin(f"{name}, {setting}: {family.our_name}")
        ours = [our_scores(data, options, seed, plan) for seed in seeds]
        difference = column(ours, "accuracy") - column(peer, "accuracy")
        error = difference.std(ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else 0.0
        row = {
            "data": name,
            "setting": setting,
            "runs": len(seeds),
            "of": "seeds" if data.same_rows else "splits",
            "peer": float(column(peer, "accuracy").mean()),
            "ours": float(column(ours, "accuracy").mean()),
            "difference": float(difference.mean()),
            "error": float(error),
        }
        if family.with_log_loss:
            row["peer_log_loss"] = float(column(peer, "log_loss").mean())
            row["our_log_loss"] = float(column(ours, "log_loss").mean())
            row["peer_diverged"] = (
                row["peer_log_loss"] > load_split(data, 0).guess_log_loss()
            )
        rows.append(row)
    return rows


def summarize(rows: Sequence[dict[str, Any]], family: Family) -> list[dict[str, Any]]:
    summary = []
    for setting in family.settings:
        chosen = [row for row in rows if row["setting"] == setting]
        sound = [row for row in chosen if not row.get("peer_diverged")]
        if not sound:
            continue
        worst = min(sound, key=lambda row: row["difference"])
        item: dict[str, Any] = {
            "setting": setting,
            "sets": len(sound),
            "mean": mean_difference(sound),
            "worst": worst["difference"],
            "worst_set": worst["data"],
        }
        if family.with_log_loss:
            item["mean_log_loss"] = mean_log_loss(sound)
            item["mean_of_all"] = mean_difference(chosen)
            item["mean_log_loss_of_all"] = mean_log_loss(chosen)
            item["diverged"] = [row["data"] for row in chosen if row not in sound]
        summary.append(item)
    return summary


def mean_difference(rows: Sequence[dict[str, Any]]) -> float:
    return float(column(rows, "difference").mean())


def mean_log_loss(rows: Sequence[dict[str, Any]]) -> float:
    return float((column(rows, "our_log_loss") - column(rows, "peer_log_loss")).mean())


def print_comparison(
    rows: Sequence[dict[str, Any]], summary: Sequence[dict[str, Any]], family: Family
) -> None:
    columns = ["data", "setting", "runs", family.peer.label, family.our_name]
    columns += ["difference", "error"]
    if family.with_log_loss:
        columns += [f"log-loss: {family.peer.label}", family.our_name, "difference"]
    print(markdown_table(columns, [comparison_cells(row) for row in rows]) + "\n")
    for item in summary:
        mean = "met" if item["mean"] >= family.least_mean else "missed"
        worst = "met" if item["worst"] >= family.least_worst else "missed"
        print(
            f"- setting {item['setting']}, {item['sets']} data sets: mean "
            f"{item['mean']:+.4f} (target {family.least_mean}: {mean}), worst "
            f"{item['worst']:+.4f} on {item['worst_set']} (target "
            f"{family.least_worst}: {worst})"
        )
        if family.with_log_loss:
            loss = item["mean_log_loss"]
            print(
                f"- setting {item['setting']}, log-loss: mean {loss:+.4f} (target: at "
                f"most 0: {'met' if loss <= 0 else 'missed'})"
            )
            if item["diverged"]:
                print(
                    f"- {family.peer.label} diverged on {', '.join(item['diverged'])}, "
                    f"excluded above; with it: accuracy {item['mean_of_all']:+.4f}, "
                    f"log-loss {item['mean_log_loss_of_all']:+.4f}"
                )


def comparison_cells(row: dict[str, Any]) -> list[str]:
    cells = [row["data"], row["setting"], f"{row['runs']} {row['of']}"]
    cells += [f"{row['peer']:.4f}", f"{row['ours']:.4f}"]
    cells += [f"{row['difference']:+.4f}", f"{row['error']:.4f}"]
    if "peer_log_loss" in row:
        peer, ours = row["peer_log_loss"], row["our_log_loss"]
        cells += [f"{peer:.4f}", f"{ours:.4f}", f"{ours - peer:+.4f}"]
    return cells


def compare_sources(name: str, plan: Plan, steps: Steps) -> list[dict[str, Any]]:
    data, family = of_benchmark(name), plan.family
    seeds = range(family.n_runs(name, plan.splits))
    rows = []
    for setting, options in family.settings.items():
        steps.begin(f"{name}, {setting}: {family.peer.label}")
        peer = [peer_scores(data, options, seed, plan) for seed in seeds]
        row: dict[str, Any] = {"data": name, "setting": setting, "runs": len(seeds)}
        row["peer"] = float(column(peer, "accuracy").mean())
        for label, make in SOURCES.items():
            steps.begin(f"{name}, {setting}: {label}")
            scores = [our_scores(data, options, seed, plan, make()) for seed in seeds]
            row[label] = {
                score: float(column(scores, score).mean()) for score in scores[0]
            }
        rows.append(row)
    return rows


def print_sources(rows: Sequence[dict[str, Any]], family: Family) -> None:
    cells = [
        [row["data"], row["setting"], f"{row['peer']:.4f}"]
        + [
            f"{row[label]['accuracy']:.4f} ({row[label]['thresholds']:.0f})"
            for label in SOURCES
        ]
        for row in rows
    ]
    for setting in family.settings:
        chosen = [row for row in rows if row["setting"] == setting]
        if chosen:
            means = [np.mean([row["peer"] for row in chosen])]
            means += [
                np.mean([row[label]["accuracy"] for row in chosen]) for label in SOURCES
            ]
            cells.append(["mean", setting, *(f"{mean:.4f}" for mean in means)])
    print(markdown_table(["data", "setting", family.peer.label, *SOURCES], cells))
    print("\nIn brackets: mean number of thresholds per feature.")


def main(argv: list[str] | None = None) -> None:
    if asks_for_regression(argv):
        if "--sources" in (sys.argv[1:] if argv is None else argv):
            regression_sources.main(argv)
        else:
            regression_contests.main(argv, list(FAMILIES), times=False)
        return
    parser = make_parser(__doc__, DATASETS)
    add_task(parser)
    parser.add_argument("--family", choices=FAMILIES, default="tree")
    parser.add_argument(
        "--splits", type=int, help="seeds or splits of data sets that are not small"
    )
    parser.add_argument(
        "--sources", action="store_true", help="compare candidate thresholds instead"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=PEERS_FILE,
        metavar="FILE",
        help="stored results of other libraries; default: in results",
    )
    options = parser.parse_args(argv)
    family = FAMILIES[options.family]
    title = "Candidate thresholds" if options.sources else "Accuracy"
    print_header(f"{title}: {family.title}")

    run, n_steps = compare, 2
    if options.sources:
        run, n_steps = compare_sources, 1 + len(SOURCES)
    plan = Plan(family, options.splits, Store(options.cache))
    results = run_sets(
        options.datasets,
        n_steps * len(family.settings),
        lambda name, steps: run(name, plan, steps),
    )
    content: dict[str, Any] = {
        "family": options.family,
        "peer": family.peer.label,
        "ours": family.our_name,
        "rows": results.rows,
    }
    if options.sources:
        print_sources(results.rows, family)
    else:
        content["summary"] = summarize(results.rows, family)
        print_comparison(results.rows, content["summary"], family)
    results.print_skipped()
    print(f"\nOldest result of {family.peer.label}: {oldest_date(plan)}.")
    save_json(options.json, "sources" if options.sources else "accuracy", **content)


if __name__ == "__main__":
    main()
