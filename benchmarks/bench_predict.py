"""Time of predict and predict_proba on 1 and 10,000 rows in several libraries.

Boosting has 100 rounds in each library; bench_boosting.py compares equal accuracy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from common import (
    load,
    make_parser,
    print_header,
    run_sets,
    save_json,
    show_verdict,
)

from dics._estimator.arguments import effective_n_threads
from dics_paper.models import BY_NAME, N_ROUNDS
from dics_paper.progress import Steps
from dics_paper.text import show_ratio, show_seconds
from dics_paper.timing import measure

DATASETS = ("mnist", "letter", "digits", "synthetic_6000x500")
ROWS = (1, 10_000)
FIT_ROWS = 10_000  # enough for trees of a typical size


class Family(NamedTuple):
    """Two models to compare, the threads of the other one, and the calls to time."""

    peer: str
    ours: str
    depths: tuple[int | None, ...]
    peer_jobs: tuple[int | None, ...]
    calls: tuple[str, ...]
    targets: dict[int, float]  # by the number of rows
    our_settings: dict[str, Any] = {}  # noqa: RUF012


# For one row the other models can be faster with one thread: the better time counts.
FAMILIES = {
    "tree": Family(
        "decision-tree",
        "cgct",
        depths=(8, None),
        peer_jobs=(),
        calls=("predict", "predict_proba"),
        targets={},
    ),
    "forest": Family(
        "random-forest",
        "cgrf",
        depths=(8, None),
        peer_jobs=(effective_n_threads(None), 1),
        calls=("predict_proba",),
        targets={1: 10, 10_000: 3},
    ),
    "boosting": Family(
        "lightgbm",
        "fastcgbm",
        depths=(3,),
        peer_jobs=(effective_n_threads(None), 1),
        calls=("predict_proba",),
        targets={},
        our_settings={"n_estimators": N_ROUNDS, "early_stopping": False},
    ),
}


def time_call(model: Any, call: str, rows: np.ndarray) -> float:
    return measure(lambda: getattr(model, call)(rows))[0].seconds


def time_peer(model: Any, call: str, rows: np.ndarray, family: Family) -> float:
    if not family.peer_jobs:
        return time_call(model, call, rows)
    return min(
        time_call(model.set_params(n_jobs=n_jobs), call, rows)
        for n_jobs in family.peer_jobs
    )


def fit_pair(family: Family, depth: int | None, X: Any, y: Any) -> tuple[Any, Any]:
    n_jobs = family.peer_jobs[0] if family.peer_jobs else None
    peer = BY_NAME[family.peer].make(n_jobs=n_jobs, settings={"max_depth": depth})
    ours = BY_NAME[family.ours].make(
        settings={"max_depth": depth, **family.our_settings}
    )
    return peer.fit(X, y), ours.fit(X, y)


def run_dataset(name: str, fit_rows: int, steps: Steps) -> list[dict[str, Any]]:
    split = load(name)
    X, y = split.X_train[:fit_rows], split.y_train[:fit_rows]
    # The rows of small data sets are repeated, so that there are enough to predict.
    many = np.resize(split.X_test, (max(ROWS), X.shape[1]))
    results = []
    for kind, family in FAMILIES.items():
        for depth in family.depths:
            steps.begin(f"{name}, {kind}, depth {depth}")
            peer, ours = fit_pair(family, depth, X, y)
            for call in family.calls:
                for n_rows in ROWS:
                    rows = np.ascontiguousarray(many[:n_rows])
                    case = {"data": name, "model": kind, "depth": depth}
                    case |= {"call": call, "rows": n_rows}
                    case["peer"] = time_peer(peer, call, rows, family)
                    case["ours"] = time_call(ours, call, rows)
                    results.append(case)
    return results


COLUMNS = ["data", "model", "depth", "call", "rows"]
COLUMNS += ["library", "its time", "dics", "faster", "target"]


def as_cells(row: dict[str, Any]) -> list[Any]:
    ratio, family = row["peer"] / row["ours"], FAMILIES[row["model"]]
    cells = [row["data"], row["model"], row["depth"] or "full", row["call"]]
    cells += [row["rows"], BY_NAME[family.peer].label]
    cells += [show_seconds(row["peer"]), show_seconds(row["ours"])]
    target = family.targets.get(row["rows"])
    return [*cells, show_ratio(ratio), show_verdict(ratio, target)]


LEGEND = """
RandomForest and LightGBM have all threads or one thread: the faster of the two."""


def main(argv: list[str] | None = None) -> None:
    parser = make_parser(__doc__, DATASETS)
    parser.add_argument(
        "--fit-rows", type=int, default=FIT_ROWS, help="training rows of the models"
    )
    options = parser.parse_args(argv)
    print_header("Prediction")
    results = run_sets(
        options.datasets,
        sum(len(family.depths) for family in FAMILIES.values()),
        lambda name, steps: run_dataset(name, options.fit_rows, steps),
    )
    results.print_table(COLUMNS, as_cells)
    results.print_skipped()
    print(LEGEND)
    content = {"fit_rows": options.fit_rows, "rows": results.rows}
    save_json(options.json, "predict", **content)


if __name__ == "__main__":
    main()
