"""Columns that combine features: on how many tables do held-out rows prove a gain?

For each table of the suite, "arithmetic" adds differences, sums and products of the six
best features, and "centroids" adds directions between centroids of clusters and classes
with their two or four largest coordinates. A paired test on the losses of a held-out
fifth chooses one kind, both or none. The result is the loss on the test rows, relative
to that without further columns.
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import make_parser, print_header, save_json
from sklearn.cluster import MiniBatchKMeans
from sklearn.model_selection import train_test_split
from suite_tables import PARTS, SuiteSplit, load_split, read_index

from dics import CGBoostingClassifier, CGBoostingRegressor
from dics_paper.text import markdown_table

KINDS = {"arithmetic": (True, False), "centroids": (False, True), "both": (True, True)}
MIN_FEATURES, MIN_ROWS = 4, 2_000
N_BEST, N_CLUSTERS, N_SAMPLED, N_DIRECTIONS, N_PAIRS = 6, 16, 3_000, 16, 60
MAX_GROUPS = 32
SIZES = (2, 4)  # coordinates of a direction
MAX_COSINE = 0.95  # of two directions
MIN_T = 2.5
GAIN, HARM = math.log(0.97), math.log(1.01)


def fit(X: pd.DataFrame, y: Any, *, is_regression: bool, **parameters: Any) -> Any:
    cls = CGBoostingRegressor if is_regression else CGBoostingClassifier
    return cls(random_state=0, **parameters).fit(X, y)


def losses(model: Any, X: pd.DataFrame, y: Any, *, is_regression: bool) -> Any:
    """Return the squared error or the log-loss of each row."""
    if is_regression:
        return (y - model.predict(X)) ** 2
    p = model.predict_proba(X)
    places = np.searchsorted(model.classes_, y).clip(max=len(model.classes_) - 1)
    return -np.log(p[np.arange(len(y)), places].clip(1e-7))


class Columns:
    """Combined columns, placed by the training rows."""

    def __init__(self, X: pd.DataFrame, y: Any, *, is_regression: bool) -> None:
        self.names = [
            name
            for name, dtype in X.dtypes.items()
            if dtype != "category" and X[name].nunique() > 2
        ]
        values = X[self.names].to_numpy(np.float64)
        self.mean = np.nanmean(values, axis=0)
        spread = np.nanstd(values, axis=0)
        self.spread = np.where(spread > 0, spread, 1.0)
        first = fit(X, y, is_regression=is_regression, quality="fast", n_estimators=60)
        gains = dict(zip(X.columns, first.feature_importances_, strict=True))
        self.gains = np.array([gains[name] for name in self.names])
        self.best = np.argsort(-self.gains, kind="stable")[:N_BEST]
        self.directions = self._find_directions(X, y, is_regression)

    def standardized(self, X: pd.DataFrame) -> np.ndarray[Any, Any]:
        values = X[self.names].to_numpy(np.float64)
        return (values - self.mean) / self.spread

    def _find_directions(
        self, X: pd.DataFrame, y: Any, is_regression: bool
    ) -> list[np.ndarray[Any, Any]]:
        weights = np.sqrt(self.gains)
        rng = np.random.default_rng(0)
        values = np.nan_to_num(self.standardized(X))
        sampled = values[rng.permutation(len(values))[:N_SAMPLED]] * weights
        n_clusters = min(N_CLUSTERS, max(2, len(sampled) // 50))
        clusters = MiniBatchKMeans(n_clusters, random_state=0, n_init=1).fit(sampled)
        groups = (
            pd.qcut(y, 8, labels=False, duplicates="drop")
            if is_regression
            else np.unique(y, return_inverse=True)[1]
        )
        centers = [clusters.cluster_centers_]
        if len(np.unique(groups)) <= MAX_GROUPS:
            means = pd.DataFrame(values * weights).groupby(groups).mean()
            centers.insert(0, means.to_numpy())
        differences = []
        for points in centers:
            pairs = list(itertools.combinations(range(len(points)), 2))
            rng.shuffle(pairs)
            differences += [points[a] - points[b] for a, b in pairs[:N_PAIRS]]
        found = []
        for size in SIZES:
            chosen: list[np.ndarray[Any, Any]] = []
            for difference in differences:
                top = np.argsort(-np.abs(difference), kind="stable")[:size]
                direction = np.zeros(len(self.names))
                direction[top] = difference[top]
                length = np.linalg.norm(direction)
                if len(chosen) == N_DIRECTIONS or length < 1e-9:
                    continue
                direction /= length
                if all(abs(direction @ other) <= MAX_COSINE for other in chosen):
                    chosen.append(direction)
            found += chosen
        return found

    def added(
        self, X: pd.DataFrame, *, arithmetic: bool, centroids: bool
    ) -> pd.DataFrame:
        """Return X with further columns."""
        values, new = self.standardized(X), {}
        if arithmetic:
            for a, b in itertools.combinations(self.best, 2):
                new[f"{a} - {b}"] = values[:, a] - values[:, b]
                new[f"{a} + {b}"] = values[:, a] + values[:, b]
                new[f"{a} * {b}"] = values[:, a] * values[:, b]
        if centroids:
            for i, direction in enumerate(self.directions):
                used = np.flatnonzero(direction)
                new[f"direction {i}"] = values[:, used] @ direction[used]
        return pd.concat([X, pd.DataFrame(new, index=X.index)], axis=1)


class Trial(NamedTuple):
    """A kind of columns on a table."""

    t: float  # of the paired test on held-out rows
    held: float  # ratio of the losses of held-out rows
    test: float  # logarithm of the ratio of the losses of test rows


def try_table(split: SuiteSplit) -> dict[str, Trial] | None:
    """Return the trial of each kind; None without enough numeric features."""
    X, y, kind = split.X_train, split.y_train, {"is_regression": split.is_regression}
    columns = Columns(X, y, **kind)
    if len(columns.names) < MIN_FEATURES:
        return None
    plain = split.loss(fit(X, y, **kind))
    A, B, ya, yb = train_test_split(X, y, test_size=0.2, random_state=0)
    some = Columns(A, ya, **kind)
    before = losses(fit(A, ya, quality="fast", **kind), B, yb, **kind)
    found = {}
    for name, (arithmetic, centroids) in KINDS.items():
        chosen = {"arithmetic": arithmetic, "centroids": centroids}
        model = fit(some.added(A, **chosen), ya, quality="fast", **kind)
        after = losses(model, some.added(B, **chosen), yb, **kind)
        gain = before - after
        model = fit(columns.added(X, **chosen), y, **kind)
        test = split._replace(X_test=columns.added(split.X_test, **chosen)).loss(model)
        found[name] = Trial(
            t=float(gain.mean() / (gain.std() / math.sqrt(len(gain)) + 1e-12)),
            held=float(after.mean() / before.mean()),
            test=math.log(max(test, 1e-9) / max(plain, 1e-9)),
        )
    return found


def choose(trials: dict[str, Trial]) -> float:
    """Return the change of the test loss by the kind that held-out rows choose."""
    proved = [trial for trial in trials.values() if trial.t > MIN_T]
    return min(proved, key=lambda trial: trial.held).test if proved else 0.0


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="+", metavar="NAME")
    parser.add_argument("--part", choices=[*PARTS, "all"], default="choose")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-rows", type=int, default=30_000)
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print_header("Columns that combine features")
    rows, changes, n_tables, large = [], {}, 0, []
    for table in read_index():
        if args.part not in ("all", table.part) or table.n_rows > args.max_rows:
            continue
        if args.tables and table.name not in args.tables:
            continue
        print(table.name, file=sys.stderr)
        n_tables += 1
        trials = try_table(load_split(table, args.seed))
        if trials is None:
            continue
        changes[table.name] = choose(trials)
        if table.n_rows >= MIN_ROWS:
            large.append(table.name)
        cells = [f"{math.expm1(t.test):+.1%} (t {t.t:.1f})" for t in trials.values()]
        rows.append([table.name, *cells, f"{math.expm1(changes[table.name]):+.1%}"])
    print(markdown_table(["table", *KINDS, "chosen"], rows))
    gained = sum(changes[name] < GAIN for name in large)
    harmed = sum(change > HARM for change in changes.values())
    print(
        f"\n{gained} of {len(large)} tables with {MIN_ROWS:,} rows or more and "
        f"{MIN_FEATURES} or more numeric features gain 3 % or more. {harmed} of "
        f"{n_tables} tables lose more than 1 %."
    )
    save_json(args.json, "directions", changes=changes)


if __name__ == "__main__":
    main()
