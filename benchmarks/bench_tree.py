"""Fit time and accuracy of a single tree, compared with scikit-learn.

The time is that of the whole fit: validation, clustering, encoding and growing. All
models have depth 8 and get the same float32 array.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import regression_contests
from common import (
    add_task,
    asks_for_regression,
    describe_split,
    load,
    make_parser,
    measure_fit,
    print_header,
    print_loss_verdicts,
    run_sets,
    save_json,
    show_fit,
    show_verdict,
)

from dics_paper.models import BY_NAME, TREE_DEPTH
from dics_paper.progress import Steps
from dics_paper.text import show_ratio

DATASETS = (
    "mnist",
    "fashion_mnist",
    "cifar10",
    "synthetic_10000x1000",
    "synthetic_20000x5000",
    "iris",
)
# Minimum speed-up over DecisionTreeClassifier: with 100 candidates per node, and with
# all candidate thresholds. On tiny data a fit may take twice the time.
TARGETS = {
    "mnist": (40, 20),
    "fashion_mnist": (70, 35),
    "cifar10": (250, 100),
    "synthetic_10000x1000": (60, 30),
    "synthetic_20000x5000": (150, 60),
    "iris": (0.5, 0.5),
}
# Allowed loss of accuracy of all candidate thresholds against exhaustive search.
MOST_LOSS = 0.003
LOSS_IS_TARGET = ("mnist", "fashion_mnist", "cifar10")


# Model and parameters by the name in the table; scikit-learn comes first.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "exhaustive": ("decision-tree", {}),
    "k100": ("cgct", {"advanced__max_candidates": 100}),
    "whole": ("cgct", {}),
    "paper": ("cgct-paper", {}),
}


def run_dataset(
    name: str, n_jobs: int | None, repeats: int | None, steps: Steps
) -> dict[str, Any]:
    split = load(name)
    row: dict[str, Any] = {
        "data": name,
        **describe_split(split),
        "target_k100": TARGETS.get(name, (None, None))[0],
        "target_whole": TARGETS.get(name, (None, None))[1],
    }
    for model, (kind, settings) in MODELS.items():
        steps.begin(f"{name}: {model}")
        make = partial(BY_NAME[kind].make, n_jobs=n_jobs, settings=settings)
        row[model], _ = measure_fit(make, split, repeats)
        row[model]["ratio"] = row["exhaustive"]["seconds"] / row[model]["seconds"]
    return row


COLUMNS = ["data", "shape", "K", "exhaustive"]
COLUMNS += ["k=100", "ratio", "target", "whole", "ratio", "target"]
COLUMNS += ["paper", "ratio", "acc. exh.", "acc. k=100", "acc. whole", "acc. paper"]


def as_cells(row: dict[str, Any]) -> list[Any]:
    peer, k100, whole, paper = (row[model] for model in MODELS)
    cells = [row["data"], f"{row['rows']} x {row['features']}", row["classes"]]
    cells.append(show_fit(peer))
    for fit, target in ((k100, "target_k100"), (whole, "target_whole")):
        ratio = fit["ratio"]
        cells += [show_fit(fit), show_ratio(ratio), show_verdict(ratio, row[target])]
    cells += [show_fit(paper), show_ratio(paper["ratio"])]
    return cells + [f"{row[model]['accuracy']:.4f}" for model in MODELS]


LEGEND = """
exhaustive: DecisionTreeClassifier (it supports one thread only). k=100:
CGTreeClassifier with 100 candidates per node. whole: CGTreeClassifier, which searches
all candidate thresholds by default. paper: CGTreeClassifier.paper().
ratio: time of exhaustive divided by the time of dics. *: run once."""


def main(argv: list[str] | None = None) -> None:
    if asks_for_regression(argv):
        regression_contests.main(argv, ["tree"])
        return
    parser = make_parser(__doc__, DATASETS)
    add_task(parser)
    parser.add_argument("--repeats", type=int, help="runs per fit; default: 3 or 5")
    parser.add_argument(
        "--n-jobs", type=int, help="threads of dics; default: all cores"
    )
    options = parser.parse_args(argv)

    print_header(f"A single tree of depth {TREE_DEPTH}")
    results = run_sets(
        options.datasets,
        len(MODELS),
        lambda name, steps: [run_dataset(name, options.n_jobs, options.repeats, steps)],
    )
    results.print_table(COLUMNS, as_cells)
    results.print_skipped()
    print(LEGEND)
    judged = [row for row in results.rows if row["data"] in LOSS_IS_TARGET]
    print_loss_verdicts(judged, "whole", "exhaustive", MOST_LOSS)
    content = {"n_jobs": options.n_jobs, "depth": TREE_DEPTH, "rows": results.rows}
    save_json(options.json, "tree", **content)


if __name__ == "__main__":
    main()
