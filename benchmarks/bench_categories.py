"""Categorical features in four libraries, compared with one-hot and ordinal encoding.

Boosting with default parameters and two threads on tables with categorical features.
Scores are means over splits: AUC for binary classification, R2, or explained Poisson
deviance (weighted by exposure). HistGradientBoosting supports up to 255 categories;
rarer categories are missing values there. CatBoost runs only with `--catboost`, because
a fit takes minutes.

With `--family tree` or `forest`, four encodings are compared for single trees of depth
8 or forests of 50 trees: sets of categories chosen in each node, thresholds in an order
of the categories from all rows, one-hot columns, and ordinal codes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from categories_data import FILES, CategoryTable, load_splits
from common import make_parser, print_header, run_sets, save_json, show_verdict
from regression_contests import mean_ratio
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.preprocessing import OneHotEncoder

from dics import (
    CategoricalOptions,
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
)
from dics_paper.progress import Steps
from dics_paper.text import markdown_table, show_seconds
from dics_paper.timing import measure

N_THREADS = 2
MOST_CATEGORIES = 255  # of HistGradientBoosting
N_SPLITS = 3
NO_SETS = 10**9  # more rows than any node has

Prepared = tuple[Any, Any]  # rows to fit and rows to predict


class Model:
    """An estimator and the encoding of its rows."""

    def __init__(
        self,
        make: Callable[[CategoryTable], Any],
        prepare: Callable[[CategoryTable], Prepared] = lambda t: (t.train, t.test),
    ) -> None:
        self.make = make
        self.prepare = prepare

    def run(self, table: CategoryTable, *, timed: bool) -> dict[str, float]:
        """Fit and score; the time does not include the encoding of the rows."""
        train, test = self.prepare(table)

        def fit() -> Any:
            return self.make(table).fit(
                train, table.y_train, sample_weight=table.train_weight
            )

        if not timed:
            return {"score": table.score(fit(), test)}
        timing, fitted = measure(fit)
        return {"seconds": timing.seconds, "score": table.score(fitted, test)}


# --- models -------------------------------------------------------------------


def cgboosting(table: CategoryTable, **options: Any) -> Any:
    options = {"random_state": 0, "n_jobs": N_THREADS, **options}
    if table.is_classes:
        return CGBoostingClassifier(**options)
    loss = "poisson" if table.is_poisson else "squared_error"
    return CGBoostingRegressor(loss=loss, **options)


def cg_trees(table: CategoryTable, *, is_forest: bool, **options: Any) -> Any:
    size = {"n_estimators": 50} if is_forest else {"max_depth": 8}
    options = {"random_state": 0, "n_jobs": N_THREADS, **size, **options}
    if table.is_classes:
        return (CGForestClassifier if is_forest else CGTreeClassifier)(**options)
    criterion = "poisson" if table.is_poisson else "squared_error"
    cls = CGForestRegressor if is_forest else CGTreeRegressor
    return cls(criterion=criterion, **options)


def lightgbm(table: CategoryTable) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    if table.is_classes:
        return LGBMClassifier(n_jobs=N_THREADS, verbose=-1)
    objective = "poisson" if table.is_poisson else "regression"
    return LGBMRegressor(n_jobs=N_THREADS, verbose=-1, objective=objective)


def hist_gb(table: CategoryTable) -> Any:
    if table.is_classes:
        return HistGradientBoostingClassifier(random_state=0)
    loss = "poisson" if table.is_poisson else "squared_error"
    return HistGradientBoostingRegressor(random_state=0, loss=loss)


def catboost(table: CategoryTable) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    options = {
        "verbose": 0,
        "thread_count": N_THREADS,
        "random_seed": 0,
        "cat_features": table.categories,
        "allow_writing_files": False,
    }
    if table.is_classes:
        return CatBoostClassifier(**options)
    if not table.is_poisson:
        return CatBoostRegressor(**options)

    class Counts(CatBoostRegressor):
        def predict(self, data: Any) -> Any:  # the default returns logarithms
            return np.exp(super().predict(data, prediction_type="RawFormulaVal"))

    return Counts(loss_function="Poisson", **options)


def with_few_categories(table: CategoryTable) -> Prepared:
    """Keep the most frequent categories of each feature."""
    train, test = table.train.copy(), table.test.copy()
    for name in table.categories:
        kept = train[name].value_counts().index[: MOST_CATEGORIES - 1]
        for rows in (train, test):
            rows[name] = pd.Categorical(rows[name], categories=sorted(kept))
    return train, test


def as_ordinal(table: CategoryTable) -> Prepared:
    """Return the codes of the categories as numbers, in alphabetical order."""
    return table.train.astype(np.float64), table.test.astype(np.float64)


def as_one_hot(table: CategoryTable) -> Prepared:
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_CATEGORIES,
        sparse_output=False,
        dtype=np.uint8,
    )
    transformer = make_column_transformer(
        (encoder, table.categories), remainder="passthrough", sparse_threshold=0
    )
    train = transformer.fit_transform(table.train)
    return train.astype(np.float32), transformer.transform(table.test).astype(
        np.float32
    )


OURS = {
    "dics": Model(cgboosting),
    "one-hot": Model(cgboosting, as_one_hot),
    "ordinal": Model(cgboosting, as_ordinal),
}


def trees_of(family: str) -> dict[str, Model]:
    """Return the encodings to compare for single trees or forests."""
    make = partial(cg_trees, is_forest=family == "forest")
    return {
        "dics": Model(make),
        "order of all rows": Model(
            partial(make, categorical=CategoricalOptions(min_samples=NO_SETS))
        ),
        "one-hot": Model(make, as_one_hot),
        "ordinal": Model(make, as_ordinal),
    }


PEERS = {"LightGBM": Model(lightgbm), "HistGB": Model(hist_gb, with_few_categories)}
SLOW_PEERS = {"CatBoost": Model(catboost)}


# --- results --------------------------------------------------------------------


def run_set(
    name: str, steps: Steps, models: dict[str, Model], n_splits: int
) -> list[dict[str, Any]]:
    splits = load_splits(name, n_splits)
    row: dict[str, Any] = {"data": name, "rows": len(splits[0].train), "models": {}}
    for label, model in models.items():
        steps.begin(f"{name}: {label}")
        runs = [model.run(split, timed=i == 0) for i, split in enumerate(splits)]
        row["models"][label] = {
            "seconds": runs[0]["seconds"],
            "score": float(np.mean([run["score"] for run in runs])),
        }
    return [row]


def show(rows: Sequence[dict[str, Any]], models: Sequence[str]) -> None:
    cells = [
        [row["data"], *(f"{row['models'][m]['score']:.4f}" for m in models)]
        for row in rows
    ]
    cells.append(["mean", *(f"{mean_score(rows, m):.4f}" for m in models)])
    print(f"### Scores\n\n{markdown_table(['data', *models], cells)}\n")
    cells = [
        [row["data"], *(show_seconds(row["models"][m]["seconds"]) for m in models)]
        for row in rows
    ]
    print(f"### Time of fit\n\n{markdown_table(['data', *models], cells)}\n")
    show_verdicts(rows, models)


def mean_score(rows: Sequence[dict[str, Any]], model: str) -> float:
    return float(np.mean([row["models"][model]["score"] for row in rows]))


def show_verdicts(rows: Sequence[dict[str, Any]], models: Sequence[str]) -> None:
    show_verdict_on_codes(rows)
    peers = [m for m in models if m in PEERS or m in SLOW_PEERS]
    if not peers:
        return
    best = np.mean([max(row["models"][m]["score"] for m in peers) for row in rows])
    gap = mean_score(rows, "dics") - float(best)
    print(
        f"- mean score minus that of the best other library: {gap:+.4f} (within 0.002: "
        f"{'met' if gap >= -0.002 else 'missed'})"
    )
    gap = mean_score(rows, "dics") - mean_score(rows, "LightGBM")
    print(
        f"- mean score minus that of LightGBM: {gap:+.4f} (above 0: "
        f"{'met' if gap > 0 else 'missed'})"
    )
    ratio = mean_ratio(
        [
            row["models"]["LightGBM"]["seconds"] / row["models"]["dics"]["seconds"]
            for row in rows
        ]
    )
    print(f"- speed-up of fit over LightGBM: {ratio:.2f}x: {show_verdict(ratio, 1.5)}")


def show_verdict_on_codes(rows: Sequence[dict[str, Any]]) -> None:
    gaps = {
        row["data"]: row["models"]["dics"]["score"]
        - max(row["models"][m]["score"] for m in ("one-hot", "ordinal"))
        for row in rows
    }
    worst = min(gaps, key=lambda name: gaps[name])
    print(
        f"- score minus that of one-hot or ordinal encoding, worst data set ({worst}): "
        f"{gaps[worst]:+.4f} (within 0.002: "
        f"{'met' if gaps[worst] >= -0.002 else 'missed'})"
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--datasets", nargs="+", default=list(FILES), choices=FILES)
    parser.add_argument("--splits", type=int, default=N_SPLITS, metavar="N")
    parser.add_argument("--catboost", action="store_true", help="also run CatBoost")
    parser.add_argument(
        "--family", default="boosting", choices=["boosting", "forest", "tree"]
    )
    args = parser.parse_args(argv)
    models = {**OURS, **PEERS, **(SLOW_PEERS if args.catboost else {})}
    if args.family != "boosting":
        models = trees_of(args.family)
    print_header("Categorical features")
    results = run_sets(
        args.datasets,
        len(models),
        lambda name, steps: run_set(name, steps, models, args.splits),
    )
    if results.rows:
        show(results.rows, list(models))
    results.print_skipped()
    save_json(args.json, "categories", rows=results.rows)


if __name__ == "__main__":
    main()
