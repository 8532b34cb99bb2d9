"""Time of boosting to reach the accuracy of LightGBM and XGBoost, and equal rounds.

LightGBM and XGBoost have 100 rounds of depth 3. All libraries have the same number of
threads and the same float32 array. dics grows one tree per round, the others grow one
tree per class. Therefore the benchmark measures the time to equal accuracy. One long
fit gives the first round r whose test accuracy reaches that of the other library. Then
a whole new fit of r rounds is timed: thresholds, encoding and rounds. Early stopping is
off.

The last tables show the time of one round by number of classes, and prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import regression_contests
from boosting_classes import print_classes, run_classes
from boosting_figure import draw
from boosting_peers import DEPTH, PEERS, Plan, fit_peer, ladder, run_peer
from common import (
    PEERS_FILE,
    add_task,
    asks_for_regression,
    describe_split,
    load,
    make_parser,
    measure_fit,
    paper_ratio,
    print_header,
    run_sets,
    save_json,
    show_fit,
    show_verdict,
)

from dics._estimator.arguments import effective_n_threads
from dics_paper.data import Split
from dics_paper.models import BY_NAME, N_ROUNDS
from dics_paper.progress import Steps
from dics_paper.store import Store
from dics_paper.text import markdown_table, show_ratio, show_seconds
from dics_paper.timing import measure

DATASETS = (
    "mnist",
    "fashion_mnist",
    "cifar10",
    "helena_part",
    "synthetic_20000x5000_K10",
    "spambase",
)
# The two configurations of dics, the same for all data sets: a larger learning rate
# with fewer features, and the defaults.
FAST: dict[str, Any] = {"learning_rate": 0.2, "max_features": 100}
OURS: dict[str, dict[str, Any]] = {"fast": FAST, "default": {}}
# Models and parameters for an equal number of rounds of the same depth. The paper does
# not state the learning rate; 0.1 is the default of LightGBM.
EQUAL: dict[str, tuple[str, dict[str, Any]]] = {
    "fast": ("fastcgbm", {**FAST, "max_depth": DEPTH}),
    "default": ("fastcgbm", {"max_depth": DEPTH}),
    "paper": ("fastcgbm-paper", {}),
}
# Minimum speed-up at the accuracy of each of the other models.
TARGETS: dict[str, dict[str, float]] = {
    name: dict(zip(PEERS, targets, strict=True))
    for name, targets in {
        "mnist": (12, 6, 20, 20),
        "fashion_mnist": (18, 9, 25, 25),
        "cifar10": (100, 100, 100, 100),
        "helena_part": (15, 10, 10, 10),
        "synthetic_20000x5000_K10": (60, 30, 60, 60),
        "spambase": (2, 1.5, 2, 2),
    }.items()
}
MAIN_PEER = "lgbm_d3"
FIRST_ROUNDS, MAX_ROUNDS = (
    150,
    2_400,
)  # of the long fit; doubled until it is accurate enough
QUICK_ROUNDS, QUICK_MAX_ROUNDS = 10, 100

PREDICT_SETS = ("mnist", "helena_part", "spambase")
PREDICT_TARGETS = {10_000: 3.0, 1: 5.0}  # by rows


def make_ours(
    options: dict[str, Any], n_rounds: int, plan: Plan, model: str = "fastcgbm"
) -> Any:
    settings = {"n_estimators": n_rounds, "early_stopping": False, **options}
    return BY_NAME[model].make(n_jobs=plan.n_threads, settings=settings)


def measure_ours(
    options: dict[str, Any],
    n_rounds: int,
    split: Split,
    plan: Plan,
    model: str = "fastcgbm",
) -> dict[str, Any]:
    fit, fitted = measure_fit(
        lambda: make_ours(options, n_rounds, plan, model), split, plan.repeats
    )
    return {**fit, "log_loss": split.log_loss(fitted)}


# --- one set ---------------------------------------------------------------


def run_dataset(name: str, plan: Plan, steps: Steps) -> list[dict[str, Any]]:
    split = load(name)
    row: dict[str, Any] = {"data": name, **describe_split(split)}
    row |= {"peers": {}, "ours": {}}
    models = {}
    for peer in PEERS:
        steps.begin(f"{name}: {PEERS[peer].label}")
        result, models[peer] = run_peer(peer, name, split, plan)
        result["diverged"] = result["log_loss"] > split.guess_log_loss()
        row["peers"][peer] = result
    for setting in OURS:
        row["ours"][setting] = reach_peers(setting, row, split, plan, steps)
    steps.begin(f"{name}: {plan.n_rounds} rounds")
    row["equal"] = run_equal(row["peers"], split, plan)
    row["targets"] = plan.targets.get(name)
    row["paper_ratio"] = paper_ratio(name, "boosting", "lightgbm")
    steps.begin(f"{name}: prediction")
    if name in PREDICT_SETS or name not in DATASETS:
        row["predict"] = time_prediction(row, models[MAIN_PEER], split, plan)
    return [row]


def reach_peers(
    setting: str, row: dict[str, Any], split: Split, plan: Plan, steps: Steps
) -> dict[str, Any]:
    """Time fits with the number of rounds that reach the accuracy of each library."""
    options, peers = OURS[setting], row["peers"]
    steps.begin(f"{row['data']}: rounds that {setting} needs")
    goal = max(peer["accuracy"] for peer in peers.values())
    accuracies = staged_accuracies(options, goal, split, plan)
    rounds = {
        name: first_at_least(accuracies, peer["accuracy"])
        for name, peer in peers.items()
    }
    steps.begin(f"{row['data']}: time of {setting}")
    fits = {
        n: measure_ours(options, n, split, plan)
        for n in sorted({n for n in rounds.values() if n is not None})
    }
    n_needed = max(fits, default=0)
    return {
        "rounds_tried": len(accuracies),
        "best_accuracy": float(accuracies.max()),
        "reach": {
            name: None if n is None else {"rounds": n, **fits[n]}
            for name, n in rounds.items()
        },
        "curve": time_curve(options, accuracies, n_needed, split, plan),
    }


def staged_accuracies(
    options: dict[str, Any], goal: float, split: Split, plan: Plan
) -> np.ndarray:
    """Return the test accuracy after each round, until the goal or the last round."""
    n_rounds = min(FIRST_ROUNDS, plan.max_rounds)
    model = make_ours(options, n_rounds, plan).set_params(warm_start=True)
    while True:
        model.fit(split.X_train, split.y_train)
        staged = model.staged_predict(split.X_test)
        accuracies = np.array([np.mean(labels == split.y_test) for labels in staged])
        if accuracies.max() >= goal or n_rounds >= plan.max_rounds:
            return accuracies
        n_rounds = min(2 * n_rounds, plan.max_rounds)
        model.set_params(n_estimators=n_rounds)


def first_at_least(accuracies: np.ndarray, goal: float) -> int | None:
    """Return the first round whose accuracy is at least the goal."""
    reached = np.flatnonzero(accuracies >= goal)
    return int(reached[0]) + 1 if len(reached) else None


def time_curve(
    options: dict[str, Any],
    accuracies: np.ndarray,
    n_needed: int,
    split: Split,
    plan: Plan,
) -> list[tuple[int, float, float]]:
    """Return rounds, seconds and accuracy; each point is a separate fit."""
    last = min(len(accuracies), max(n_needed, plan.n_rounds))
    curve = []
    for n in ladder(last):
        timing, _ = measure(
            lambda n=n: make_ours(options, n, plan).fit(split.X_train, split.y_train),
            plan.repeats,
        )
        curve.append((n, timing.seconds, float(accuracies[n - 1])))
    return curve


def run_equal(peers: dict[str, Any], split: Split, plan: Plan) -> dict[str, Any]:
    results = {}
    for name, (model, options) in EQUAL.items():
        fit = measure_ours(options, plan.n_rounds, split, plan, model)
        ratios = {key: peers[key]["seconds"] / fit["seconds"] for key in peers}
        results[name] = {**fit, "ratios": ratios}
    return results


def time_prediction(
    row: dict[str, Any], peer: Any, split: Split, plan: Plan
) -> list[dict[str, Any]]:
    """Time predict_proba of LightGBM and of an equally accurate model of dics."""
    reach = row["ours"]["fast"]["reach"][MAIN_PEER]
    if reach is None:
        return []
    X, y = split.X_train, split.y_train
    if peer is None:  # only its result was stored
        peer, _ = fit_peer(PEERS[MAIN_PEER], X, y, plan.n_threads, plan.n_rounds)
    ours = make_ours(FAST, reach["rounds"], plan).fit(X, y)
    results = []
    for n_rows in PREDICT_TARGETS:
        rows = np.resize(split.X_test, (n_rows, X.shape[1]))
        # For one row LightGBM is faster with one thread, so take the better time.
        seconds = min(
            time_proba(peer.set_params(n_jobs=n), rows) for n in {plan.n_threads, 1}
        )
        case = {"rows": n_rows, "peer": seconds, "ours": time_proba(ours, rows)}
        results.append(case)
    return results


def time_proba(model: Any, rows: np.ndarray) -> float:
    return measure(lambda: model.predict_proba(rows))[0].seconds


# --- tables ----------------------------------------------------------------


def show_peer(peer: dict[str, Any]) -> str:
    """Return the time of another library, with the date of a stored result."""
    notes = [peer["date"]] if peer["kept"] else []
    if peer["rounds"] < N_ROUNDS:
        notes.append(f"{peer['rounds']} rounds")
    text = show_seconds(peer["seconds"]) if peer["kept"] else show_fit(peer)
    return f"{text} ({', '.join(notes)})" if notes else text


def reach_ratio(
    row: dict[str, Any], setting: str, peer: str, at: str | None = None
) -> float | None:
    """Return the speed-up at the accuracy of `peer`, or of the model `at`."""
    reach = row["ours"][setting]["reach"][at or peer]
    return reach and row["peers"][peer]["seconds"] / reach["seconds"]


REACH = ["data", "shape", "K", "library", "its time", "acc."]
REACH += ["fast: rounds", "time", "faster", "target", "at LightGBM's acc.", "target"]
REACH += ["default: rounds", "time", "faster"]


def print_reach(rows: Sequence[dict[str, Any]]) -> None:
    cells = []
    for row in rows:
        first = [row["data"], f"{row['rows']} x {row['features']}", row["classes"]]
        for peer in PEERS:
            cells.append([*first, *reach_cells(row, peer)])
            first = ["", "", ""]
    print(markdown_table(REACH, cells))


def reach_cells(row: dict[str, Any], peer: str) -> list[str]:
    result = row["peers"][peer]
    target = row["targets"] and row["targets"][peer]
    mark = "!" if result["diverged"] else ""
    cells = [PEERS[peer].label, show_peer(result), f"{result['accuracy']:.4f}{mark}"]
    cells += our_cells(row, "fast", peer)
    cells.append(verdict(reach_ratio(row, "fast", peer), target, result))
    if peer.startswith("xgb"):
        ratio = reach_ratio(row, "fast", peer, MAIN_PEER)
        cells.append(show_ratio(ratio) if ratio else "-")
        cells.append(verdict(ratio, target, row["peers"][MAIN_PEER]))
    else:
        cells += ["", ""]
    return cells + our_cells(row, "default", peer)


def our_cells(row: dict[str, Any], setting: str, peer: str) -> list[str]:
    """Return rounds, time and ratio, or the best accuracy that was reached."""
    ours = row["ours"][setting]
    reach = ours["reach"][peer]
    if reach is None:
        best = f"not reached: {ours['best_accuracy']:.4f}"
        return [f"({ours['rounds_tried']})", best, "-"]
    ratio = reach_ratio(row, setting, peer)
    assert ratio is not None
    return [str(reach["rounds"]), show_fit(reach), show_ratio(ratio)]


def verdict(ratio: float | None, target: float | None, peer: dict[str, Any]) -> str:
    """Return whether a target is met; "void" if the other library diverged."""
    return "void" if peer["diverged"] else show_verdict(ratio or 0.0, target)


EQUAL_COLUMNS = ["data", "K", *(peer.label for peer in PEERS.values())]
EQUAL_COLUMNS += ["fast", "LightGBM/fast", "paper's", "LightGBM/paper's"]
EQUAL_COLUMNS += ["in the paper", "default", "LightGBM/default"]
ACCURACY_COLUMNS = ["data", *(peer.label for peer in PEERS.values())]
ACCURACY_COLUMNS += ["fast", "paper's", "default"]
EQUAL_ORDER = ("fast", "paper", "default")


def equal_cells(row: dict[str, Any]) -> list[Any]:
    cells = [row["data"], row["classes"]]
    cells += [show_peer(row["peers"][peer]) for peer in PEERS]
    for name in EQUAL_ORDER:
        fit = row["equal"][name]
        cells += [show_fit(fit), show_ratio(fit["ratios"][MAIN_PEER])]
        if name == "paper":
            cells.append(show_ratio(row["paper_ratio"]) if row["paper_ratio"] else "-")
    return cells


def accuracy_cells(row: dict[str, Any]) -> list[str]:
    fits = [row["peers"][peer] for peer in PEERS]
    fits += [row["equal"][name] for name in EQUAL_ORDER]
    return [
        row["data"],
        *(f"{fit['accuracy']:.4f}, {fit['log_loss']:.4f}" for fit in fits),
    ]


def print_prediction(rows: Sequence[dict[str, Any]]) -> None:
    cells = []
    for row in rows:
        for case in row.get("predict", ()):
            ratio = case["peer"] / case["ours"]
            target = PREDICT_TARGETS[case["rows"]] if row["targets"] else None
            times = [show_seconds(case[model]) for model in ("peer", "ours")]
            rounds = row["ours"]["fast"]["reach"][MAIN_PEER]["rounds"]
            line = [row["data"], rounds, case["rows"], *times]
            cells.append([*line, show_ratio(ratio), show_verdict(ratio, target)])
    columns = ["data", "dics rounds", "rows", "LightGBM", "dics", "faster", "target"]
    if cells:
        print(markdown_table(columns, cells))


LEGEND = """
fast: dics with {fast}. default: dics with default parameters. paper's: the paper's
configuration. All without early stopping. rounds: the first round whose test accuracy
reaches that of the other library; accuracy varies from round to round, so on small data
sets this number is partly luck. at LightGBM's acc.: time of XGBoost divided by the time
of dics to reach the accuracy of LightGBM with default bins. XGBoost, 16 bins: one tree
per round with more than two classes (multi_output_tree). In brackets: rounds tried, or
the date of a stored result from this CPU. *: run once. !: the other library diverged:
its log-loss is worse than that of a constant prediction, so the row is not informative.
"""


def describe_options(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def print_sets(rows: Sequence[dict[str, Any]], n_rounds: int) -> None:
    if not rows:
        return
    print("Time to reach the accuracy of another library:\n")
    print_reach(rows)
    print(LEGEND.format(fast=describe_options(FAST)))
    print(f"{n_rounds} rounds of depth {DEPTH} for all:\n")
    print(markdown_table(EQUAL_COLUMNS, [equal_cells(row) for row in rows]))
    print("\nTest accuracy and log-loss of these models:\n")
    print(markdown_table(ACCURACY_COLUMNS, [accuracy_cells(row) for row in rows]))
    print("\npredict_proba, at equal accuracy (fast):\n")
    print_prediction(rows)


# --- command line ----------------------------------------------------------


def main(argv: list[str] | None = None) -> None:
    if asks_for_regression(argv):
        regression_contests.main(argv, ["boosting"])
        return
    parser = make_parser(__doc__, DATASETS)
    add_task(parser)
    parser.add_argument("--repeats", type=int, help="runs per fit; default: 3 or 5")
    parser.add_argument(
        "--n-jobs", type=int, help="threads of all models; default: all cores"
    )
    parser.add_argument(
        "--max-rounds", type=int, default=MAX_ROUNDS, help="maximum rounds of dics"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="ignore stored results of other libraries"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=PEERS_FILE,
        metavar="FILE",
        help="stored results of slow other libraries; default: in results",
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=("sets", "classes"),
        default=["sets", "classes"],
        help="tables by data set, and the table by number of classes",
    )
    parser.add_argument("--image", type=Path, metavar="FILE", help="draw the curves")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"a trial: one run, {QUICK_ROUNDS} rounds of other libraries, no targets",
    )
    options = parser.parse_args(argv)
    n_threads = effective_n_threads(options.n_jobs)
    plan = Plan(
        n_threads,
        N_ROUNDS,
        options.max_rounds,
        options.repeats,
        Store(options.cache),
        options.fresh,
        TARGETS,
    )
    if options.quick:  # the targets are for N_ROUNDS
        plan = plan._replace(
            n_rounds=QUICK_ROUNDS, max_rounds=QUICK_MAX_ROUNDS, repeats=1, targets={}
        )

    print_header(f"Boosting, {n_threads} threads each")
    content: dict[str, Any] = {
        "n_threads": n_threads,
        "n_rounds": plan.n_rounds,
        "depth": DEPTH,
        "fast": FAST,
        "peers": {name: peer.label for name, peer in PEERS.items()},
        "versions": {peer.package: peer.version for peer in PEERS.values()},
    }
    if "sets" in options.parts:
        results = run_sets(
            options.datasets,
            len(PEERS) + 2 * len(OURS) + 2,
            lambda name, steps: run_dataset(name, plan, steps),
        )
        print_sets(results.rows, plan.n_rounds)
        results.print_skipped()
        content["rows"] = results.rows
        if options.image and results.rows:
            draw(results.rows, options.image)
    if "classes" in options.parts:
        content["classes"] = run_classes(n_threads, quick=options.quick)
        print_classes(content["classes"])
    save_json(options.json, "boosting", **content)


if __name__ == "__main__":
    main()
