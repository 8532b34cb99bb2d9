"""The data sets and the tasks of bench_against.py."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

DATASETS = (
    "mnist",
    "fashion_mnist",
    "cifar10",
    "spambase",
    "electricity",
    "adult",
    "magic",
    "letter",
    "otto",
    "helena_part",
    "jannis_part",
    "santander_satisfaction",
    "dry_bean",
    "connect_4",
    "digits",
    "breast_cancer",
    "iris",
    "generated_20000x500_K10",
    "generated_1000000x28_K2",
)
# One data set of each kind: wide, two classes, many classes, small. Predictions on all
# data sets would take as long as the fits.
PREDICT_DATASETS = ("mnist", "adult", "helena_part", "digits")
QUICK_DATASETS = ("digits", "iris", "spambase", "letter", "helena_part", "mnist")
GROUPS = ("tree", "forest", "boosting", "candidates", "predict")

DEPTH = 8
MANY_ROWS = 10_000
# Upper limit of rows times classes, number of trees, number of rounds. Larger data get
# fewer, so that a fit takes about half a second and the whole run 15 minutes.
SIZES = ((20_000, 100, 300), (100_000, 30, 30), (1_500_000, 20, 20), (None, 4, 10))
# Models that differ only in their fit run the same code in predictions, so one model
# per kind is enough. The paper's forest is included because of its hard vote.
BOTH = ("predict", "predict_proba")


class Model(NamedTuple):
    """A model by its name, with the predictions that are measured."""

    name: str
    group: str
    request: dict[str, Any]  # as the worker reads it
    predictions: tuple[str, ...] = ()


class Task(NamedTuple):
    """One row of the table: a request to both sides."""

    name: str
    group: str
    request: dict[str, Any]  # as the worker reads it


def make_tasks(
    rows: int,
    classes: int,
    groups: Collection[str] = GROUPS,
    *,
    predict: bool = True,
) -> list[Task]:
    """Return the tasks on a data set of this size, fits before predictions."""
    models = make_models(*choose_sizes(rows * classes))
    tasks = [fit_task(model) for model in models]
    if predict:
        tasks += [task for model in models for task in predict_tasks(model)]
    return [task for task in tasks if task.group in groups]


def choose_sizes(work: int) -> tuple[int, int]:
    """Return the number of trees and of rounds."""
    return next(
        (n_trees, n_rounds)
        for most, n_trees, n_rounds in SIZES
        if most is None or work <= most
    )


def make_models(n_trees: int, n_rounds: int) -> list[Model]:
    candidates = {"class": "CentroidCandidates", "parameters": {}}
    return [
        *make_trees(),
        *make_forests(n_trees),
        *make_boosting(n_rounds),
        Model("candidates", "candidates", candidates),
    ]


def make_trees() -> list[Model]:
    kind, name = "CGTreeClassifier", f"tree, depth {DEPTH}"
    shallow = {"max_depth": DEPTH}
    k100 = {**shallow, "advanced__max_candidates": 100}
    return [
        Model(name, "tree", plain(kind, shallow), BOTH),
        Model("tree, full depth", "tree", plain(kind, {}), BOTH),
        Model(f"{name}, k = 100", "tree", plain(kind, k100)),
        Model(f"{name}, paper", "tree", paper(kind, {**k100, "min_samples_split": 3})),
    ]


def make_forests(n_trees: int) -> list[Model]:
    kind, name = "CGForestClassifier", f"forest, {n_trees} trees"
    default = {"n_estimators": n_trees}
    by_tree = {**default, "advanced__feature_sampling": "tree"}
    papers = {
        **by_tree,
        "max_depth": DEPTH,
        "advanced__max_candidates": 100,
        "min_samples_split": 3,
        "advanced__voting": "hard",
    }
    return [
        Model(name, "forest", plain(kind, default), BOTH),
        Model(f"{name}, features by tree", "forest", plain(kind, by_tree)),
        Model(f"{name}, paper", "forest", paper(kind, papers), ("predict_proba",)),
    ]


def make_boosting(n_rounds: int) -> list[Model]:
    kind, name = "CGBoostingClassifier", f"boosting, {n_rounds} rounds"
    default = {"n_estimators": n_rounds}
    fixed = {**default, "early_stopping": False}
    fast = {**fixed, "learning_rate": 0.2, "max_features": 100}
    papers = {
        **fixed,
        "max_depth": 3,
        "max_leaf_nodes": None,
        "advanced__max_candidates": 100,
        "sampling": "goss",
        "advanced__leaf_values": "sample",
        "min_samples_leaf": 1,
    }
    return [
        Model(name, "boosting", plain(kind, default), BOTH),
        Model(f"{name}, fast", "boosting", plain(kind, fast)),
        Model(f"{name}, paper", "boosting", paper(kind, papers)),
    ]


def plain(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"class": kind, "parameters": parameters}


def paper(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"class": kind, "parameters": parameters, "candidates": "paper"}


def fit_task(model: Model) -> Task:
    request = {"action": "fit", "model": model.request}
    return Task(f"fit: {model.name}", model.group, request)


def predict_tasks(model: Model) -> list[Task]:
    tasks = []
    for action in model.predictions:
        for n_rows in (MANY_ROWS, 1):
            request = {"action": action, "rows": n_rows, "model": model.request}
            rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
            tasks.append(Task(f"{action}, {rows}: {model.name}", "predict", request))
    return tasks
