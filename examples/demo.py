"""Compare the fit time and the accuracy of dics with those of scikit-learn.

``make demo`` runs this in about a minute. The data come with scikit-learn or are
generated, so nothing is downloaded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from sklearn.base import is_regressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_friedman1,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dics import (
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
)
from dics_paper.datasets import make_paper_synthetic

# Fits of small data sets take about a millisecond. They are repeated for this long.
MIN_SECONDS = 0.1
# The first fit also starts threads. If it is shorter than this, it is not counted.
WARM_UP_BELOW = 1.0


class Family(NamedTuple):
    """Constructors of a model of dics and of its counterpart in scikit-learn."""

    dics: Callable[[], Any]
    sklearn: Callable[[], Any]


class Result(NamedTuple):
    """Result of one fit."""

    model: str
    seconds: float
    score: float  # accuracy, or R2 in regression


# The same for both libraries. Small values keep the demonstration short.
BOOSTING: dict[str, Any] = {
    "max_depth": 3,
    "learning_rate": 0.3,
    "early_stopping": False,
    "random_state": 0,
}
FAMILIES = [
    Family(
        dics=lambda: CGTreeClassifier(max_depth=8, random_state=0),
        sklearn=lambda: DecisionTreeClassifier(max_depth=8, random_state=0),
    ),
    Family(
        dics=lambda: CGForestClassifier(n_jobs=-1, random_state=0),
        sklearn=lambda: RandomForestClassifier(n_jobs=-1, random_state=0),
    ),
    # scikit-learn grows one tree per class in each round, dics a single tree.
    Family(
        dics=lambda: CGBoostingClassifier(n_estimators=100, **BOOSTING),
        sklearn=lambda: HistGradientBoostingClassifier(max_iter=20, **BOOSTING),
    ),
]


REGRESSION_FAMILIES = [
    Family(
        dics=lambda: CGTreeRegressor(max_depth=8, random_state=0),
        sklearn=lambda: DecisionTreeRegressor(max_depth=8, random_state=0),
    ),
    Family(
        dics=lambda: CGForestRegressor(n_jobs=-1, random_state=0),
        sklearn=lambda: RandomForestRegressor(n_jobs=-1, random_state=0),
    ),
    Family(
        dics=lambda: CGBoostingRegressor(n_estimators=100, **BOOSTING),
        sklearn=lambda: HistGradientBoostingRegressor(max_iter=100, **BOOSTING),
    ),
]


def make_images(n_samples: int = 8_000, side: int = 28, n_classes: int = 10) -> Any:
    """Generate noisy images: one smooth pattern per class, shifted at random."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_samples)
    axis = 2 * np.pi * np.arange(side) / side
    waves = rng.normal(size=(n_classes, 6, 4))  # two frequencies, a phase, a weight
    shift = rng.normal(scale=0.25, size=(2, n_samples, 1, 1))
    down = axis[:, None] + shift[0]
    right = axis[None, :] + shift[1]
    X = rng.normal(scale=1.5, size=(n_samples, side, side))
    for wave in waves[y].transpose(1, 2, 0)[..., None, None]:
        angle = np.rint(2 * wave[0]) * down + np.rint(2 * wave[1]) * right
        X += wave[3] * np.cos(angle + wave[2])
    return X.reshape(n_samples, -1).astype(np.float32), y


DATASETS: dict[str, Callable[[], Any]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "paper's synthetic": lambda: make_paper_synthetic(6_000, 500, 5, random_state=0),
    "generated images": make_images,
}


REGRESSION_DATASETS: dict[str, Callable[[], Any]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman": lambda: make_friedman1(
        4_000, n_features=100, noise=1.0, random_state=0
    ),
}


def time_fit(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the seconds of a fit; short fits get a warm-up and are averaged."""
    start, fits = time.perf_counter(), 1
    model.fit(X, y)
    if time.perf_counter() - start < WARM_UP_BELOW:
        start, fits = time.perf_counter(), 0
    while fits == 0 or time.perf_counter() - start < MIN_SECONDS:
        model.fit(X, y)
        fits += 1
    return (time.perf_counter() - start) / fits


def run(
    family: Family, data: tuple[np.ndarray, np.ndarray], report: Callable[[str], None]
) -> Iterator[Result]:
    """Fit the models of scikit-learn and of dics on three quarters of the rows."""
    X, y = np.ascontiguousarray(data[0], dtype=np.float32), data[1]
    classes = None if is_regressor(family.dics()) else y
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=0, stratify=classes
    )
    for make in (family.sklearn, family.dics):
        model = make()
        name = type(model).__name__
        name = name.removesuffix("Classifier").removesuffix("Regressor")
        report(name)
        seconds = time_fit(model, X_train, y_train)
        yield Result(name, seconds, model.score(X_test, y_test))


def show_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def make_table(score: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=f"Fit time and test {score}")
    for name in ("data", "model"):
        table.add_column(name, no_wrap=True)
    for name in ("fit time", "speed-up", score):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def add_rows(table: Table, firsts: tuple[str, str], results: list[Result]) -> None:
    sklearn, dics = results
    ratios = "", f"{sklearn.seconds / dics.seconds:.1f}x"
    for result, first, ratio in zip(results, firsts, ratios, strict=True):
        seconds, score = show_seconds(result.seconds), f"{result.score:.3f}"
        table.add_row(first, result.model, seconds, ratio, score)


def main() -> None:
    console, status = Console(), Console(stderr=True)
    start = time.perf_counter()
    blocks = {
        "accuracy": (DATASETS, FAMILIES),
        "R2": (REGRESSION_DATASETS, REGRESSION_FAMILIES),
    }
    bar = Progress(
        SpinnerColumn(),
        BarColumn(),
        TextColumn("{task.description}"),
        console=status,
        transient=True,
        refresh_per_second=4,
        disable=not status.is_terminal,
    )
    tables = []
    with bar:
        n_fits = sum(2 * len(sets) * len(models) for sets, models in blocks.values())
        task = bar.add_task("", total=n_fits)
        for score, (sets, models) in blocks.items():
            tables.append(compare(score, sets, models, bar, task))
    console.print(*tables)
    console.print(
        "Single trees have depth 8. Forests have 100 trees of unlimited depth.\n"
        "Boosting has depth 3. Classification: 20 rounds with one tree per class in\n"
        "scikit-learn, 100 rounds with one tree in dics. Regression: 100 rounds.\n"
        "DecisionTree supports one core only; the other models use all cores.\n"
        "Accuracy and R2 are those of a held-out quarter of the rows. "
        f"The run took {time.perf_counter() - start:.0f} s.",
        highlight=False,
    )


def compare(
    score: str,
    sets: dict[str, Callable[[], Any]],
    families: list[Family],
    bar: Progress,
    task: Any,
) -> Table:
    """Fit all models on some data sets."""
    table = make_table(score)
    for name, make in sets.items():
        bar.update(task, description=f"{name}: loading")
        data = make()
        # The shape goes below the name, so that the table fits into 80 columns.
        firsts = name, f"{len(data[0])} x {data[0].shape[1]}"
        for family in families:
            results = []
            report = make_reporter(bar, task, name)
            for result in run(family, data, report):
                results.append(result)
                bar.advance(task)
            add_rows(table, firsts, results)
            firsts = "", ""
        table.add_section()
    return table


def make_reporter(bar: Progress, task: Any, name: str) -> Callable[[str], None]:
    """Return a function that shows the current model: in the bar or as a line."""

    def report(model: str) -> None:
        bar.update(task, description=f"{name}: {model}")
        if bar.disable:
            print(f"{name}: {model}", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    main()
