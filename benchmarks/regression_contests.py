"""Time and scores of regressors, compared with scikit-learn, LightGBM and XGBoost.

Trees have depth 8 and unlimited depth, forests have 100 trees, boosting has the default
parameters of each library. All models use two threads and the same rows: three quarters
of a shuffled data set, or the official training rows. Times are medians of whole fits.
Scores on small data sets are means of three splits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from common import make_parser, print_header, run_sets, save_json
from regression_data import (
    COLUMNS,
    COUNTS,
    FILES,
    N_TARGETS,
    POSITIVE,
    WIDE,
    Part,
    load_splits,
)
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.metrics import (
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    r2_score,
)
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from dics import CGBoostingRegressor, CGForestRegressor, CGTreeRegressor
from dics_paper.progress import Steps
from dics_paper.text import markdown_table, show_seconds
from dics_paper.timing import measure

N_THREADS = 2
LEVELS = (0.1, 0.5, 0.9)
COMMON = {"random_state": 0, "n_jobs": N_THREADS}

Make = Callable[[], Any]


class Target(NamedTuple):
    """Targets of a comparison with another model; None: no target."""

    faster: float | None = None  # geometric mean over the data sets
    faster_wide: float | None = None
    mean_gap: float | None = None  # minimum of the score of dics minus the other score
    worst_gap: float | None = None


class Contest(NamedTuple):
    """A model of dics, other models, and their score: higher scores are better."""

    dics: Make
    peers: dict[str, Make]
    targets: dict[str, Target]
    data: Sequence[str]
    score: Callable[[Any, Any, Any], float]
    of_fastest: Target = Target()  # compared with the fastest other on each data set


# --- scores -----------------------------------------------------------------


def r2(y: Any, predicted: Any, weight: Any) -> float:
    return float(r2_score(y, predicted, sample_weight=weight))


def pinball(y: Any, predicted: Any, weight: Any) -> float:
    """Return the negative mean loss over the levels, relative to the target's std."""
    losses = [
        mean_pinball_loss(y, predicted[:, k], alpha=q, sample_weight=weight)
        for k, q in enumerate(LEVELS)
    ]
    return -float(np.mean(losses) / np.std(y))


def poisson_deviance(y: Any, predicted: Any, weight: Any) -> float:
    return -float(mean_poisson_deviance(y, predicted, sample_weight=weight))


def gamma_deviance(y: Any, predicted: Any, weight: Any) -> float:
    return -float(mean_gamma_deviance(y, predicted, sample_weight=weight))


# --- other libraries --------------------------------------------------------


class OneEach:
    """One model per target or per quantile, for libraries without multi-output."""

    def __init__(self, makes: Sequence[Make]) -> None:
        self.makes = makes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneEach:
        columns = y.T if y.ndim == 2 else [y] * len(self.makes)
        self.models = [
            make().fit(X, column, sample_weight=sample_weight)
            for make, column in zip(self.makes, columns, strict=True)
        ]
        return self

    def predict(self, X: Any) -> Any:
        return np.column_stack([model.predict(X) for model in self.models])


def lightgbm(**options: Any) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=N_THREADS, verbose=-1, **options)


def xgboost(**options: Any) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(n_jobs=N_THREADS, **options)


def hist_gb(**options: Any) -> Any:
    return HistGradientBoostingRegressor(random_state=0, **options)


def each_level(make: Callable[[float], Any]) -> Make:
    return lambda: OneEach([lambda q=q: make(q) for q in LEVELS])


# --- contests ---------------------------------------------------------------

NOT_BELOW = {"mean_gap": -0.003, "worst_gap": -0.015}
RANDOM_FOREST = "forest, random splitter"
# The parameters of ExtraTreesRegressor.
RANDOM: dict[str, Any] = {"splitter": "random", "bootstrap": False, "max_features": 1.0}


def tree_contest(depth: int | None) -> Contest:
    return Contest(
        lambda: CGTreeRegressor(max_depth=depth, **COMMON),
        {
            "DecisionTree": lambda: DecisionTreeRegressor(
                max_depth=depth, random_state=0
            )
        },
        {"DecisionTree": Target(5, 50, **NOT_BELOW)},
        (*FILES, WIDE),
        r2,
    )


def deviance_contest(loss: str, data: Sequence[str], score: Any) -> Contest:
    return Contest(
        lambda: CGBoostingRegressor(loss=loss, **COMMON),
        {
            "LightGBM": lambda: lightgbm(objective=loss),
            "HistGB": lambda: hist_gb(loss=loss),
        },
        {name: Target(mean_gap=0) for name in ("LightGBM", "HistGB")},
        data,
        score,
    )


FAMILIES: dict[str, dict[str, Contest]] = {
    "tree": {"tree, depth 8": tree_contest(8), "tree, full depth": tree_contest(None)},
    "forest": {
        "forest": Contest(
            lambda: CGForestRegressor(**COMMON),
            {
                "RandomForest": lambda: RandomForestRegressor(**COMMON),
                "ExtraTrees": lambda: ExtraTreesRegressor(**COMMON),
            },
            {
                "RandomForest": Target(8, **NOT_BELOW),
                "ExtraTrees": Target(3, **NOT_BELOW),
            },
            FILES,
            r2,
        ),
        RANDOM_FOREST: Contest(
            lambda: CGForestRegressor(**RANDOM, **COMMON),
            {"ExtraTrees": lambda: ExtraTreesRegressor(**COMMON)},
            {"ExtraTrees": Target(3, mean_gap=-0.003)},
            FILES,
            r2,
        ),
    },
    "boosting": {
        "boosting": Contest(
            lambda: CGBoostingRegressor(**COMMON),
            {"LightGBM": lightgbm, "XGBoost": xgboost, "HistGB": hist_gb},
            {name: Target(mean_gap=0) for name in ("LightGBM", "XGBoost", "HistGB")},
            (*FILES, WIDE),
            r2,
            Target(1.5, 10),
        ),
        "quantiles": Contest(
            lambda: CGBoostingRegressor(loss="quantile", quantile=LEVELS, **COMMON),
            {
                "LightGBM": each_level(
                    lambda q: lightgbm(objective="quantile", alpha=q)
                ),
                "HistGB": each_level(lambda q: hist_gb(loss="quantile", quantile=q)),
            },
            {name: Target(5, mean_gap=0) for name in ("LightGBM", "HistGB")},
            FILES,
            pinball,
        ),
        "poisson": deviance_contest("poisson", COUNTS, poisson_deviance),
        "gamma": deviance_contest("gamma", POSITIVE, gamma_deviance),
        "16 targets": Contest(
            lambda: CGBoostingRegressor(**COMMON),
            {
                "LightGBM": lambda: OneEach([lightgbm] * N_TARGETS),
                "XGBoost": lambda: xgboost(multi_strategy="multi_output_tree"),
            },
            {"LightGBM": Target(10, mean_gap=0), "XGBoost": Target(mean_gap=0)},
            COLUMNS,
            r2,
        ),
    },
}
CONTESTS = {name: c for family in FAMILIES.values() for name, c in family.items()}


# --- one set ----------------------------------------------------------------


def fit(make: Make, part: Part) -> Any:
    if part.weight is None:
        return make().fit(part.X, part.y)
    return make().fit(part.X, part.y, sample_weight=part.weight)


def run(name: str, title: str, steps: Steps, *, times: bool) -> list[dict[str, Any]]:
    """Measure a contest on a data set."""
    splits = load_splits(name)
    contest = CONTESTS[title]
    models = {}
    for model, make in {"dics": contest.dics, **contest.peers}.items():
        steps.begin(f"{name}: {title}: {model}")
        models[model] = compare(make, splits, contest.score, times=times)
    return [{"data": name, "contest": title, "models": models}]


def compare(
    make: Make, splits: Sequence[Any], score: Any, *, times: bool
) -> dict[str, float]:
    seconds, fitted = 0.0, []
    first = splits[0]
    if times:
        timing, model = measure(lambda: fit(make, first.train))
        seconds, fitted = timing.seconds, [model]
    fitted += [fit(make, split.train) for split in splits[len(fitted) :]]
    scores = [
        score(split.test.y, model.predict(split.test.X), split.test.weight)
        for split, model in zip(splits, fitted, strict=True)
    ]
    return {"seconds": seconds, "score": float(np.mean(scores))}


# --- output -----------------------------------------------------------------


def mean_ratio(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def verdict(value: float, target: float | None) -> str:
    if target is None:
        return ""
    return f" (target {target:g}: {'met' if value >= target else 'missed'})"


def show(title: str, rows: Sequence[dict[str, Any]], *, times: bool) -> None:
    """Print the table of a contest and its targets."""
    if not rows:
        return
    contest = CONTESTS[title]
    columns = ["data", "dics", "score"] if times else ["data", "score"]
    for peer in contest.peers:
        columns += [peer, "faster", "score"] if times else [peer]
    print(f"\n### {title}\n\n{markdown_table(columns, table(rows, contest, times))}\n")
    for peer in contest.peers:
        print(f"- {peer}: {summary(rows, peer, contest.targets.get(peer), times)}")
    if times and len(contest.peers) > 1:
        ratios = {row["data"]: fastest_ratio(row) for row in rows}
        print(f"- the fastest of these: {show_speed(ratios, contest.of_fastest)}")


def table(
    rows: Sequence[dict[str, Any]], contest: Contest, times: bool
) -> list[list[str]]:
    lines = []
    for row in rows:
        ours = row["models"]["dics"]
        line = [row["data"]]
        line += [show_seconds(ours["seconds"])] if times else []
        line += [f"{ours['score']:.4f}"]
        for peer in contest.peers:
            other = row["models"][peer]
            if times:
                ratio = other["seconds"] / ours["seconds"]
                line += [show_seconds(other["seconds"]), f"{ratio:.2f}x"]
            line += [f"{other['score']:.4f}"]
        lines.append(line)
    return lines


def summary(
    rows: Sequence[dict[str, Any]], peer: str, target: Target | None, times: bool
) -> str:
    target = target or Target()
    ours = [row["models"]["dics"] for row in rows]
    others = [row["models"][peer] for row in rows]
    gaps = [a["score"] - b["score"] for a, b in zip(ours, others, strict=True)]
    mean, worst = float(np.mean(gaps)), float(np.min(gaps))
    text = (
        f"score {mean:+.4f} on average{verdict(mean, target.mean_gap)}, {worst:+.4f} "
        f"on {rows[int(np.argmin(gaps))]['data']}{verdict(worst, target.worst_gap)}"
    )
    if not times:
        return text
    ratios = {
        row["data"]: row["models"][peer]["seconds"] / row["models"]["dics"]["seconds"]
        for row in rows
    }
    return f"{show_speed(ratios, target)}; {text}"


def fastest_ratio(row: dict[str, Any]) -> float:
    models = dict(row["models"])
    ours = models.pop("dics")["seconds"]
    return float(min(model["seconds"] for model in models.values()) / ours)


def show_speed(ratios: dict[str, float], target: Target) -> str:
    mean = mean_ratio(list(ratios.values()))
    text = f"dics {mean:.2f}x as fast{verdict(mean, target.faster)}"
    if target.faster_wide is not None and WIDE in ratios:
        wide = ratios[WIDE]
        text += f", {wide:.1f}x on {WIDE}{verdict(wide, target.faster_wide)}"
    return text


# --- command line -----------------------------------------------------------


def main(
    argv: list[str] | None, families: Sequence[str], *, times: bool = True
) -> None:
    """Run the contests of some families."""
    titles = [title for family in families for title in FAMILIES[family]]
    known = list(dict.fromkeys(s for title in titles for s in CONTESTS[title].data))
    parser = make_parser(__doc__)
    parser.add_argument("--task", help="regression")
    parser.add_argument(
        "--datasets", nargs="+", default=known, choices=known, metavar="NAME"
    )
    parser.add_argument("--contests", nargs="+", default=titles, choices=titles)
    options = parser.parse_args(argv)
    print_header(f"Regression, {N_THREADS} threads each")
    rows: list[dict[str, Any]] = []
    with threadpool_limits(N_THREADS):
        for title in options.contests:
            contest = CONTESTS[title]
            names = [name for name in contest.data if name in options.datasets]
            results = run_sets(
                names,
                1 + len(contest.peers),
                lambda name, steps, title=title: run(name, title, steps, times=times),
            )
            rows += results.rows
            show(title, results.rows, times=times)
            results.print_skipped()
    save_json(options.json, "regression", rows=rows)
