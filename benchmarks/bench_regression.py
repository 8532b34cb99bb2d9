"""Fit time and R2 of regressors compared with scikit-learn's, LightGBM's and XGBoost's.

Trees have depth 8 and full depth; forests have 100 trees; boosting has the defaults of
each library. Both sides use two threads, and see the same rows: three quarters of a
shuffled set, or the official training rows. Times are medians of whole fits in one run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import make_parser, print_header, save_json
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.metrics import mean_pinball_loss, r2_score
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from dics import CGForestRegressor, CGTreeRegressor, FastCGBMRegressor
from dics_paper.progress import Steps
from dics_paper.text import markdown_table, show_seconds
from dics_paper.timing import measure

N_THREADS = 2
FILES = (
    "california_housing",
    "protein_casp",
    "cpu_act",
    "bike_sharing",
    "blog_feedback",
    "mercedes",
    "sgemm_gpu",
    "diamonds",
)
WIDE = "generated_20000x2000"
OFFICIAL = {"blog_feedback": 52397}  # training rows
LEVELS = (0.1, 0.5, 0.9)


class Split(NamedTuple):
    """Training and test rows."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


def load(name: str) -> Split:
    """Load a set from DICS_DATA_DIR, or generate it."""
    if name == WIDE:
        X, y = make_friedman1(26_667, n_features=2000, noise=1.0, random_state=0)
        X = X.astype(np.float32)
        return Split(X[:20_000], y[:20_000], X[20_000:], y[20_000:])
    file = Path(os.environ["DICS_DATA_DIR"]) / name / f"{name}.npz"
    with np.load(file) as arrays:
        X, y = arrays["X"], arrays["y"].astype(np.float64)
    X = X.astype(np.float32) if name != "protein_casp" else X
    if name in OFFICIAL:
        n = OFFICIAL[name]
        return Split(X[:n], y[:n], X[n:], y[n:])
    order = np.random.default_rng(0).permutation(len(X))
    n = len(X) * 3 // 4
    train, test = order[:n], order[n:]
    return Split(X[train], y[train], X[test], y[test])


class Contest(NamedTuple):
    """Our model, its peers and how they are judged."""

    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]]
    score: Callable[[Any, Any], float] = r2_score


def boosting_peers() -> dict[str, Callable[[], Any]]:
    from lightgbm import LGBMRegressor
    from xgboost import XGBRegressor

    return {
        "LightGBM": lambda: LGBMRegressor(n_jobs=N_THREADS, verbose=-1),
        "XGBoost": lambda: XGBRegressor(n_jobs=N_THREADS),
        "HistGB": lambda: HistGradientBoostingRegressor(random_state=0),
    }


def quantile_peer() -> Any:
    from lightgbm import LGBMRegressor

    class Levels:
        """A model for each level, as LightGBM needs them."""

        def fit(self, X: Any, y: Any) -> Levels:
            self.models = [
                LGBMRegressor(
                    objective="quantile", alpha=q, n_jobs=N_THREADS, verbose=-1
                ).fit(X, y)
                for q in LEVELS
            ]
            return self

        def predict(self, X: Any) -> Any:
            return np.column_stack([model.predict(X) for model in self.models])

    return Levels()


def pinball(y: Any, predicted: Any) -> float:
    """Mean over the levels, negative: larger is better."""
    return -float(
        np.mean(
            [
                mean_pinball_loss(y, predicted[:, k], alpha=q)
                for k, q in enumerate(LEVELS)
            ]
        )
    )


def contests() -> dict[str, Contest]:
    shared = {"random_state": 0, "n_jobs": N_THREADS}
    return {
        "tree, depth 8": Contest(
            lambda: CGTreeRegressor(max_depth=8, **shared),
            {
                "DecisionTree": lambda: DecisionTreeRegressor(
                    max_depth=8, random_state=0
                )
            },
        ),
        "tree, full depth": Contest(
            lambda: CGTreeRegressor(**shared),
            {"DecisionTree": lambda: DecisionTreeRegressor(random_state=0)},
        ),
        "forest": Contest(
            lambda: CGForestRegressor(**shared),
            {
                "RandomForest": lambda: RandomForestRegressor(**shared),
                "ExtraTrees": lambda: ExtraTreesRegressor(**shared),
            },
        ),
        "boosting": Contest(lambda: FastCGBMRegressor(**shared), boosting_peers()),
        "quantiles": Contest(
            lambda: FastCGBMRegressor("quantile", quantile=LEVELS, **shared),
            {"LightGBM, 3 models": quantile_peer},
            pinball,
        ),
    }


def run(name: str, chosen: list[str], steps: Steps) -> list[dict[str, Any]]:
    """Measure all contests on a set."""
    split = load(name)
    rows = []
    for title in chosen:
        contest = contests()[title]
        row: dict[str, Any] = {"data": name, "contest": title}
        for model, make in {"ours": contest.ours, **contest.peers}.items():
            steps.begin(f"{name}: {title}: {model}")
            timing, fitted = measure(
                lambda make=make: make().fit(split.X_train, split.y_train)
            )
            row[model] = {
                "seconds": timing.seconds,
                "score": contest.score(split.y_test, fitted.predict(split.X_test)),
            }
        rows.append(row)
    return rows


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print the table of a contest, with means over the sets."""
    rows = [row for row in rows if row["contest"] == title]
    if not rows:
        return
    peers = [key for key in rows[0] if key not in ("data", "contest", "ours")]
    columns = ["data", "ours", "score"]
    for peer in peers:
        columns += [peer, "faster", "score"]
    cells = []
    for row in rows:
        line = [row["data"], show_seconds(row["ours"]["seconds"])]
        line.append(f"{row['ours']['score']:.4f}")
        for peer in peers:
            ratio = row[peer]["seconds"] / row["ours"]["seconds"]
            line += [show_seconds(row[peer]["seconds"]), f"{ratio:.2f}x"]
            line.append(f"{row[peer]['score']:.4f}")
        cells.append(line)
    print(f"\n### {title}\n\n{markdown_table(columns, cells)}")
    for peer in peers:
        ratios = [row[peer]["seconds"] / row["ours"]["seconds"] for row in rows]
        gaps = [row["ours"]["score"] - row[peer]["score"] for row in rows]
        print(
            f"\n{peer}: {np.exp(np.mean(np.log(ratios))):.2f}x faster (mean), "
            f"score {np.mean(gaps):+.4f} (mean), {np.min(gaps):+.4f} (worst)"
        )
    if len(peers) > 1:
        best = [
            min(row[peer]["seconds"] for peer in peers) / row["ours"]["seconds"]
            for row in rows
        ]
        print(f"\nfastest of them: {np.exp(np.mean(np.log(best))):.2f}x")


def main(argv: list[str] | None = None) -> None:
    names = list(contests())
    parser = make_parser(__doc__)
    parser.add_argument("--datasets", nargs="+", default=[*FILES, WIDE], metavar="NAME")
    parser.add_argument("--contests", nargs="+", default=names, choices=names)
    options = parser.parse_args(argv)
    print_header("Regression")
    rows = []
    n_models = sum(1 + len(contests()[title].peers) for title in options.contests)
    with threadpool_limits(N_THREADS), Steps(n_models * len(options.datasets)) as steps:
        for name in options.datasets:
            rows += run(name, options.contests, steps)
    for title in options.contests:
        show(title, rows)
    if options.json:
        save_json(options.json, "regression", rows=rows)


if __name__ == "__main__":
    main()
