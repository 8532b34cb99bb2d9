"""Fit time, accuracy and size of a forest, compared with scikit-learn.

All models have 100 trees, the same number of threads and the same float32 array. The
time is that of the whole fit. At depth 8 there are two forests of dics: the paper's
configuration (features sampled once per tree, 100 candidates per node) and the default.
With unlimited depth all models have their default parameters.

The last table compares ExtraTrees with CGForest that also samples thresholds at random
(splitter="random") and uses all rows for each tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import regression_contests
from common import (
    add_task,
    asks_for_regression,
    describe_split,
    load,
    make_parser,
    measure_fit,
    paper_ratio,
    pickle_size,
    print_header,
    print_loss_verdicts,
    run_sets,
    save_json,
    show_fit,
    show_verdict,
)
from regression_contests import mean_ratio

from dics import CGForestClassifier
from dics._estimator.arguments import effective_n_threads
from dics_paper.models import BY_NAME, N_TREES, TREE_DEPTH
from dics_paper.progress import Steps
from dics_paper.text import markdown_table, show_ratio

QUICK_TREES = 10
DATASETS = ("mnist", "fashion_mnist", "cifar10", "synthetic_20000x5000", "spambase")
# Minimum speed-up: of the paper's forest over RandomForest and over ExtraTrees, all
# with depth 8, and of the default forest over RandomForest.
TARGETS = {
    "mnist": (12, 10, 4),
    "fashion_mnist": (20, 12, 5),
    "cifar10": (60, 30, 15),
    "synthetic_20000x5000": (60, 20, 15),
    "spambase": (3, 2, 2),
}
# Speed-ups: time of the first model divided by that of the second.
PAIRS = (
    ("rf_8", "paper_8"),
    ("et_8", "paper_8"),
    ("rf_8", "ours_8"),
    ("et_8", "ours_8"),
    ("rf", "ours"),
    ("et", "ours"),
    ("et_8", "random_8"),
    ("et", "random"),
)
# Allowed loss of accuracy of the default forest against RandomForest.
MOST_LOSS = 0.005
LOSS_IS_TARGET = ("mnist",)
# Minimum of the bytes per node in a pickle of RandomForest, divided by those of dics.
SMALLER = 3.0
# Targets of the random splitter against ExtraTrees, as means over the data sets.
RANDOM_LOSS, RANDOM_FASTER = 0.003, 3.0


class Plan(NamedTuple):
    """Options of the run on each data set."""

    n_trees: int
    n_threads: int
    repeats: int | None
    targets: dict[str, tuple[float, float, float]]


# The parameters of ExtraTreesClassifier. Its max_features is that of
# CGForestClassifier.
RANDOM: dict[str, Any] = {
    "splitter": "random",
    "bootstrap": False,
    "max_features": "sqrt",
}
# Model, depth and parameters by the name in the results.
MODELS: dict[str, tuple[str, int | None, dict[str, Any]]] = {
    "rf_8": ("random-forest", TREE_DEPTH, {}),
    "et_8": ("extra-trees", TREE_DEPTH, {}),
    "paper_8": ("cgrf-paper", TREE_DEPTH, {}),
    "ours_8": ("cgrf", TREE_DEPTH, {}),
    "random_8": ("cgrf", TREE_DEPTH, RANDOM),
    "rf": ("random-forest", None, {}),
    "et": ("extra-trees", None, {}),
    "ours": ("cgrf", None, {}),
    "random": ("cgrf", None, RANDOM),
}


def count_nodes(model: Any) -> int:
    if isinstance(model, CGForestClassifier):
        return model.trees_.n_nodes
    return sum(tree.tree_.node_count for tree in model.estimators_)


def run_dataset(name: str, plan: Plan, steps: Steps) -> list[dict[str, Any]]:
    split = load(name)
    row: dict[str, Any] = {"data": name, **describe_split(split)}
    for model, (kind, depth, parameters) in MODELS.items():
        steps.begin(f"{name}: {model}")
        settings = {"n_estimators": plan.n_trees, "max_depth": depth, **parameters}
        make = partial(BY_NAME[kind].make, n_jobs=plan.n_threads, settings=settings)
        row[model], fitted = measure_fit(make, split, plan.repeats)
        row[model]["nodes"] = count_nodes(fitted)
        row[model]["pickle_bytes"] = pickle_size(fitted)
    row["ratios"] = {
        f"{peer} / {ours}": row[peer]["seconds"] / row[ours]["seconds"]
        for peer, ours in PAIRS
    }
    row["smaller"] = bytes_per_node(row["rf"]) / bytes_per_node(row["ours"])
    row["targets"] = plan.targets.get(name)
    row["paper_ratio"] = paper_ratio(name, "forest", "random-forest")
    return [row]


def bytes_per_node(fit: dict[str, Any]) -> float:
    return float(fit["pickle_bytes"] / fit["nodes"])


def begin_cells(row: dict[str, Any], peers: Sequence[str]) -> list[Any]:
    shape = f"{row['rows']} x {row['features']}"
    cells = [row["data"], shape, row["classes"]]
    return cells + [show_fit(row[peer]) for peer in peers]


def ratio_cells(row: dict[str, Any], pair: str, target: int | None) -> list[str]:
    """Return a ratio and, unless `target` is None, whether it reaches its target."""
    ratio = row["ratios"][pair]
    if target is None:
        return [show_ratio(ratio)]
    targets = row["targets"]
    return [show_ratio(ratio), show_verdict(ratio, targets and targets[target])]


def accuracy_cells(row: dict[str, Any], models: Sequence[str]) -> list[str]:
    return [f"{row[model]['accuracy']:.4f}" for model in models]


SHALLOW = ["data", "shape", "K", "RF", "ET", "paper", "RF/paper", "target"]
SHALLOW += ["in the paper", "ET/paper", "target", "dics", "RF/dics", "ET/dics"]
SHALLOW += ["acc. RF", "acc. ET", "acc. paper", "acc. dics"]


def shallow_cells(row: dict[str, Any]) -> list[Any]:
    cells = begin_cells(row, ("rf_8", "et_8"))
    cells.append(show_fit(row["paper_8"]))
    cells += ratio_cells(row, "rf_8 / paper_8", 0)
    cells.append(show_ratio(row["paper_ratio"]) if row["paper_ratio"] else "-")
    cells += ratio_cells(row, "et_8 / paper_8", 1)
    cells.append(show_fit(row["ours_8"]))
    cells += ratio_cells(row, "rf_8 / ours_8", None)
    cells += ratio_cells(row, "et_8 / ours_8", None)
    return cells + accuracy_cells(row, ("rf_8", "et_8", "paper_8", "ours_8"))


FULL = ["data", "shape", "K", "RF", "ET", "dics", "RF/dics", "target", "ET/dics"]
FULL += ["acc. RF", "acc. ET", "acc. dics", "nodes RF", "nodes dics"]
FULL += ["bytes/node RF", "dics", "smaller", "target"]


def full_cells(row: dict[str, Any]) -> list[Any]:
    cells = begin_cells(row, ("rf", "et"))
    cells.append(show_fit(row["ours"]))
    cells += ratio_cells(row, "rf / ours", 2)
    cells += ratio_cells(row, "et / ours", None)
    cells += accuracy_cells(row, ("rf", "et", "ours"))
    cells += [row["rf"]["nodes"], row["ours"]["nodes"]]
    cells += [f"{bytes_per_node(row[model]):.1f}" for model in ("rf", "ours")]
    target = SMALLER if row["targets"] else None
    return [*cells, show_ratio(row["smaller"]), show_verdict(row["smaller"], target)]


def print_random(rows: Sequence[dict[str, Any]]) -> None:
    """Print the comparison of the random splitter with ExtraTrees, and the means."""
    print("\nCGForestClassifier(splitter='random') and ExtraTreesClassifier:\n")
    cells, means = [], []
    for depth, et, random in (
        (TREE_DEPTH, "et_8", "random_8"),
        ("full", "et", "random"),
    ):
        ratios = [row["ratios"][f"{et} / {random}"] for row in rows]
        gaps = [row[random]["accuracy"] - row[et]["accuracy"] for row in rows]
        for row, ratio, gap in zip(rows, ratios, gaps, strict=True):
            line = [row["data"], depth, show_fit(row[et]), show_fit(row[random])]
            line += [show_ratio(ratio), *accuracy_cells(row, (et, random))]
            cells.append([*line, f"{gap:+.4f}"])
        gap, ratio = float(np.mean(gaps)), mean_ratio(ratios)
        means.append(
            f"- depth {depth}: mean difference of accuracy {gap:+.4f} (target at least "
            f"{-RANDOM_LOSS}: {'met' if gap >= -RANDOM_LOSS else 'missed'}), geometric "
            f"mean of the speed-up {ratio:.2f}x: {show_verdict(ratio, RANDOM_FASTER)}"
        )
    columns = ["data", "depth", "ET", "random", "ET/random"]
    columns += ["acc. ET", "acc. random", "difference"]
    print(markdown_table(columns, cells), "", *means, sep="\n")


LEGEND = """
RF, ET: RandomForestClassifier and ExtraTreesClassifier, with the threads of dics.
paper: CGForestClassifier.paper(). dics: CGForestClassifier with default parameters.
A/B: time of A divided by that of B. in the paper: RF/paper as the paper reports it.
bytes/node: size of the pickle divided by the number of nodes. *: run once."""


def main(argv: list[str] | None = None) -> None:
    if asks_for_regression(argv):
        regression_contests.main(argv, ["forest"])
        return
    parser = make_parser(__doc__, DATASETS)
    add_task(parser)
    parser.add_argument("--repeats", type=int, help="runs per fit; default: 3 or 5")
    parser.add_argument(
        "--n-jobs", type=int, help="threads of all models; default: all cores"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"a trial: one run with {QUICK_TREES} trees, no targets",
    )
    options = parser.parse_args(argv)
    n_threads = effective_n_threads(options.n_jobs)
    n_trees = QUICK_TREES if options.quick else N_TREES
    plan = Plan(n_trees, n_threads, options.repeats, TARGETS)
    if options.quick:  # the targets are for N_TREES
        plan = plan._replace(repeats=1, targets={})

    print_header(f"Forests of {n_trees} trees, {n_threads} threads each")
    results = run_sets(
        options.datasets,
        len(MODELS),
        lambda name, steps: run_dataset(name, plan, steps),
    )
    print(f"Depth {TREE_DEPTH}:\n")
    results.print_table(SHALLOW, shallow_cells)
    print("\nUnlimited depth:\n")
    results.print_table(FULL, full_cells)
    if results.rows:
        print_random(results.rows)
    results.print_skipped()
    print(LEGEND)
    judged = [row for row in results.rows if row["data"] in LOSS_IS_TARGET]
    print_loss_verdicts(judged, "ours", "rf", MOST_LOSS)
    content = {"n_threads": n_threads, "n_trees": n_trees, "depth": TREE_DEPTH}
    save_json(options.json, "forest", **content, rows=results.rows)


if __name__ == "__main__":
    main()
