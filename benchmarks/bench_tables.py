"""Boosting on ordinary tables, compared with three libraries with default parameters.

Each library has two threads, the same float32 rows and its default parameters. Times
are medians of whole fits. Further tables show the time to reach the test log-loss of
each library, the time of one round on a large table and by number of classes,
prediction, and a class with two rows in 10,000. For the time to a log-loss, one long
fit gives the first round that reaches it; a new fit with this number of rounds is
timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from common import make_parser, print_header, run_sets, save_json, show_verdict
from regression_contests import mean_ratio
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from tables_data import FILES, LARGE, load_table, make_large, make_rare

from dics import CGBoostingClassifier
from dics_paper.data import Split
from dics_paper.progress import Steps
from dics_paper.text import markdown_table, show_seconds
from dics_paper.timing import measure

N_THREADS = 2
LONGEST = 3  # multiple of the default rounds, to reach the loss of another library
MOST_ROUNDS = 200
CLASSES = (2, 10, 100, 1_000)
MOST_OF_TWO = {10: 3, 100: 8, 1_000: 40}  # maximum, in rounds of two classes
LEAVES = 31
PREDICTED_ROWS = 10_000


def cgboosting(**options: Any) -> Any:
    return CGBoostingClassifier(**{"random_state": 0, "n_jobs": N_THREADS, **options})


def lightgbm(**options: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=N_THREADS, verbose=-1, **options)


def xgboost(**options: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=N_THREADS, **options)


def hist_gb(**options: Any) -> Any:
    return HistGradientBoostingClassifier(random_state=0, **options)


PEERS: dict[str, Callable[..., Any]] = {
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "HistGB": hist_gb,
}


# --- default parameters -------------------------------------------------------


def run_set(name: str, steps: Steps) -> list[dict[str, Any]]:
    split = load_table(name)
    row: dict[str, Any] = {"data": name, "size": split.size, "models": {}}
    for model, make in {"dics": cgboosting, **PEERS}.items():
        steps.begin(f"{name}: {model}")
        timing, fitted = measure(lambda make=make: make().fit(*training(split)))
        row["models"][model] = {
            "seconds": timing.seconds,
            "accuracy": split.accuracy(fitted),
            "log_loss": split.log_loss(fitted),
            "predict": measure_predict(fitted, split),
        }
    steps.begin(f"{name}: time to the loss of others")
    goals = {peer: row["models"][peer]["log_loss"] for peer in PEERS}
    row["reached"] = times_to_reach(split, goals)
    return [row]


def training(split: Split) -> tuple[Any, Any]:
    return split.X_train, split.y_train


def measure_predict(fitted: Any, split: Split) -> float:
    rows = np.resize(np.arange(len(split.X_test)), PREDICTED_ROWS)
    X = np.ascontiguousarray(split.X_test[rows])
    return measure(lambda: fitted.predict_proba(X), 5)[0].seconds


def times_to_reach(split: Split, goals: dict[str, float]) -> dict[str, Any]:
    """Return rounds and seconds to reach each loss; None if it is not reached."""
    n_rounds = LONGEST * MOST_ROUNDS
    model = cgboosting(n_estimators=n_rounds).fit(*training(split))
    labels = range(split.n_classes)
    best = np.inf
    first: dict[str, int] = {}
    for n, p in enumerate(model.staged_predict_proba(split.X_test), start=1):
        best = min(best, log_loss(split.y_test, p, labels=labels))
        for peer, goal in goals.items():
            if best <= goal:
                first.setdefault(peer, n)
        if len(first) == len(goals):
            break
    return {
        peer: {
            "rounds": first[peer],
            "seconds": measure(
                lambda n=first[peer]: cgboosting(n_estimators=n).fit(*training(split))
            )[0].seconds,
        }
        if peer in first
        else None
        for peer in goals
    }


def show_sets(rows: Sequence[dict[str, Any]]) -> None:
    columns = ["data", "size", "dics", *PEERS, "speed-up", "speed-up at its loss"]
    lines = []
    for row in rows:
        models = row["models"]
        peer = fastest(row)
        reached = row["reached"][peer]
        lines.append(
            [row["data"], "{} x {}, {}".format(*np.array(row["size"])[[0, 2, 3]])]
            + [show_seconds(models[name]["seconds"]) for name in ("dics", *PEERS)]
            + [f"{models[peer]['seconds'] / models['dics']['seconds']:.2f}x"]
            + [
                f"{models[peer]['seconds'] / reached['seconds']:.2f}x"
                if reached
                else "not reached"
            ]
        )
    print(f"### Default parameters\n\n{markdown_table(columns, lines)}\n")
    print("speed-up: over the fastest other library.\n")
    quality = ["data"]
    for name in ("dics", *PEERS):
        quality += [name, "log-loss"]
    lines = [
        [row["data"]]
        + [
            f"{row['models'][name][score]:.4f}"
            for name in ("dics", *PEERS)
            for score in ("accuracy", "log_loss")
        ]
        for row in rows
    ]
    print(f"{markdown_table(quality, lines)}\n")
    show_speed(rows)
    show_quality(rows)


def fastest(row: dict[str, Any], what: str = "seconds") -> str:
    return min(PEERS, key=lambda peer: row["models"][peer][what])


def ratios_to_fastest(rows: Sequence[dict[str, Any]], what: str) -> dict[str, float]:
    return {
        row["data"]: row["models"][fastest(row, what)][what]
        / row["models"]["dics"][what]
        for row in rows
    }


def show_speed(rows: Sequence[dict[str, Any]]) -> None:
    fits = ratios_to_fastest(rows, "seconds")
    slowest = min(fits, key=lambda name: fits[name])
    mean = mean_ratio(list(fits.values()))
    print(f"- speed-up of fit: {mean:.2f}x: {show_verdict(mean, 1.5)}")
    print(
        f"- speed-up of fit, worst data set ({slowest}): {fits[slowest]:.2f}x: "
        f"{show_verdict(fits[slowest], 0.7)}"
    )
    reached = [
        row["models"][fastest(row)]["seconds"] / row["reached"][fastest(row)]["seconds"]
        for row in rows
        if row["reached"][fastest(row)]
    ]
    if reached:
        mean = mean_ratio(reached)
        print(
            f"- speed-up at the log-loss of the fastest other: {mean:.2f}x: "
            f"{show_verdict(mean, 3)}, not reached on {len(rows) - len(reached)} "
            "data sets"
        )
    predicts = ratios_to_fastest(rows, "predict")
    mean = mean_ratio(list(predicts.values()))
    print(
        f"- speed-up of predict_proba with {PREDICTED_ROWS} rows: "
        f"{mean:.2f}x: {show_verdict(mean, 2)}"
    )


def show_quality(rows: Sequence[dict[str, Any]]) -> None:
    gaps = {}
    for row in rows:
        best = min(row["models"][peer]["log_loss"] for peer in PEERS)
        gaps[row["data"]] = row["models"]["dics"]["log_loss"] / best - 1
    worst = max(gaps, key=lambda name: gaps[name])
    mean = float(np.mean(list(gaps.values())))
    print(
        f"- log-loss relative to the best other: {mean:+.2%} on average (target 0: "
        f"{'met' if mean <= 0 else 'missed'}), worst {gaps[worst]:+.2%} on {worst} "
        f"(target +3 %: {'met' if gaps[worst] <= 0.03 else 'missed'})"
    )
    for peer in PEERS:
        gap = np.mean(
            [
                row["models"]["dics"]["accuracy"] - row["models"][peer]["accuracy"]
                for row in rows
            ]
        )
        lower = sum(
            row["models"]["dics"]["log_loss"] < row["models"][peer]["log_loss"]
            for row in rows
        )
        print(
            f"- {peer}: accuracy {gap:+.4f} on average, lower log-loss on {lower} of "
            f"{len(rows)} data sets"
        )


# --- one round ----------------------------------------------------------------


def run_large() -> dict[str, float]:
    """Return the seconds of a round with 31 leaves, and before the first round."""
    split = make_large()
    ends: list[float] = []

    def record_time(_: Any) -> None:
        ends.append(time.perf_counter())

    model = cgboosting(n_estimators=60, max_leaf_nodes=LEAVES)
    model.fit(*training(split))
    start = time.perf_counter()
    model.fit(*training(split), callbacks=[record_time])
    rounds = np.diff(ends)
    result = {"dics": float(np.median(rounds)), "before": ends[0] - rounds[0] - start}
    for name, make in (("LightGBM", lightgbm), ("XGBoost", xgboost)):
        few, more = (
            measure(lambda n=n, make=make: make(n_estimators=n).fit(*training(split)))[
                0
            ].seconds
            for n in (10, 40)
        )
        result[name] = (more - few) / 30
    return result


def show_large(result: dict[str, float]) -> None:
    print("\n### Time of one round, 1,000,000 x 28, two classes\n")
    for name in ("dics", "LightGBM", "XGBoost"):
        print(f"- {name}: {1e3 * result[name]:.1f} ms")
    met = {True: "met", False: "missed"}
    print(f"- a round within 15 ms: {met[result['dics'] <= 0.015]}")
    print(
        f"- before the first round: {result['before']:.2f} s (target 0.25 s: "
        f"{met[result['before'] <= 0.25]})"
    )


def run_classes() -> dict[int, float]:
    """Return the seconds of a round by number of classes, 5,000 x 50."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 50), dtype=np.float32)
    weights = rng.standard_normal((50, max(CLASSES)), dtype=np.float32)
    seconds = {}
    for n_classes in CLASSES:
        noise = 3 * rng.gumbel(size=(len(X), n_classes))
        y = (X @ weights[:, :n_classes] + noise).argmax(axis=1)
        few, more = (
            measure(lambda n=n: cgboosting(n_estimators=n).fit(X, y), 5)[0].seconds  # noqa: B023
            for n in (10, 60)
        )
        seconds[n_classes] = (more - few) / 50
    return seconds


def show_classes(seconds: dict[int, float]) -> None:
    print("\n### Time of one round by number of classes, 5,000 x 50\n")
    for n_classes, taken in seconds.items():
        ratio, most = taken / seconds[2], MOST_OF_TWO.get(n_classes)
        text = f"- {n_classes} classes: {1e3 * taken:.2f} ms, {ratio:.1f}x that of 2"
        if most:
            text += f" (at most {most}x: {'met' if ratio <= most else 'missed'})"
        print(text)


# --- a rare class -------------------------------------------------------------


def run_rare() -> dict[str, float]:
    split = make_rare()
    models = {
        "dics": cgboosting(class_weight="balanced"),
        "HistGB": hist_gb(class_weight="balanced"),
    }
    return {
        name: roc_auc_score(
            split.y_test,
            model.fit(*training(split)).predict_proba(split.X_test)[:, 1],
        )
        for name, model in models.items()
    }


def show_rare(result: dict[str, float]) -> None:
    gap = result["dics"] - result["HistGB"]
    print(
        f"\n### AUC with 0.02 % positives and balanced weights\n\n- dics "
        f"{result['dics']:.4f}, HistGB {result['HistGB']:.4f} (within 0.01: "
        f"{'met' if gap >= -0.01 else 'missed'})"
    )


EXTRAS: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "large": (run_large, show_large),
    "classes": (run_classes, show_classes),
    "rare": (run_rare, show_rare),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--datasets", nargs="*", default=[*FILES, LARGE], choices=[*FILES, LARGE]
    )
    parser.add_argument(
        "--extras", nargs="*", default=list(EXTRAS), choices=list(EXTRAS)
    )
    args = parser.parse_args(argv)
    print_header("Boosting on ordinary tables")
    results = run_sets(args.datasets, 2 + len(PEERS), run_set)
    if results.rows:
        show_sets(results.rows)
    results.print_skipped()
    extras = {}
    for name in args.extras:
        run, show = EXTRAS[name]
        extras[name] = run()
        show(extras[name])
    save_json(args.json, "tables", rows=results.rows, extras=extras)


if __name__ == "__main__":
    main()
