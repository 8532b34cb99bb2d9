"""Train the models of dics and those that they can replace, and compare.

``make demo`` runs this in about a minute. The data come with scikit-learn or are
generated, so nothing is fetched.
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

# The fit of a small set takes about a millisecond; repeat it that long to time it.
SHORTEST = 0.1
# A first fit also starts threads; that is seen in those that take less than this.
SHORT = 1.0


class Family(NamedTuple):
    """A kind of model: ours, and what it is compared with."""

    ours: Callable[[], Any]
    peer: Callable[[], Any]


class Result(NamedTuple):
    """What one fit gave."""

    model: str
    seconds: float
    score: float  # accuracy, or R2 of numbers


# The same for both, and small, as the demonstration should be short.
BOOSTING: dict[str, Any] = {
    "max_depth": 3,
    "learning_rate": 0.3,
    "early_stopping": False,
    "random_state": 0,
}
FAMILIES = [
    Family(
        ours=lambda: CGTreeClassifier(max_depth=8, random_state=0),
        peer=lambda: DecisionTreeClassifier(max_depth=8, random_state=0),
    ),
    Family(
        ours=lambda: CGForestClassifier(n_jobs=-1, random_state=0),
        peer=lambda: RandomForestClassifier(n_jobs=-1, random_state=0),
    ),
    # A round of the peer grows a tree for each class, one of ours a single tree.
    Family(
        ours=lambda: CGBoostingClassifier(n_estimators=100, **BOOSTING),
        peer=lambda: HistGradientBoostingClassifier(max_iter=20, **BOOSTING),
    ),
]


OF_NUMBERS = [
    Family(
        ours=lambda: CGTreeRegressor(max_depth=8, random_state=0),
        peer=lambda: DecisionTreeRegressor(max_depth=8, random_state=0),
    ),
    Family(
        ours=lambda: CGForestRegressor(n_jobs=-1, random_state=0),
        peer=lambda: RandomForestRegressor(n_jobs=-1, random_state=0),
    ),
    Family(
        ours=lambda: CGBoostingRegressor(n_estimators=100, **BOOSTING),
        peer=lambda: HistGradientBoostingRegressor(max_iter=100, **BOOSTING),
    ),
]


def make_images(n_samples: int = 8_000, side: int = 28, n_classes: int = 10) -> Any:
    """Generate noisy pictures: a smooth pattern for each class, shifted at random."""
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


DATASETS_OF_NUMBERS: dict[str, Callable[[], Any]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman": lambda: make_friedman1(
        4_000, n_features=100, noise=1.0, random_state=0
    ),
}


def time_fit(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Seconds of one fit; if it is short, after a warm-up and averaged over several."""
    start, fits = time.perf_counter(), 1
    model.fit(X, y)
    if time.perf_counter() - start < SHORT:
        start, fits = time.perf_counter(), 0
    while fits == 0 or time.perf_counter() - start < SHORTEST:
        model.fit(X, y)
        fits += 1
    return (time.perf_counter() - start) / fits


def run(
    family: Family, data: tuple[np.ndarray, np.ndarray], tell: Callable[[str], None]
) -> Iterator[Result]:
    """Fit the peer, then our model, on three quarters of the rows."""
    X, y = np.ascontiguousarray(data[0], dtype=np.float32), data[1]
    classes = None if is_regressor(family.ours()) else y
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=0, stratify=classes
    )
    for make in (family.peer, family.ours):
        model = make()
        name = type(model).__name__
        name = name.removesuffix("Classifier").removesuffix("Regressor")
        tell(name)
        seconds = time_fit(model, X_train, y_train)
        yield Result(name, seconds, model.score(X_test, y_test))


def show_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def make_table(score: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=f"Fit time and {score} of the test rows")
    for name in ("data", "model"):
        table.add_column(name, no_wrap=True)
    for name in ("fit time", "speed-up", score):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def add_rows(table: Table, firsts: tuple[str, str], results: list[Result]) -> None:
    peer, ours = results
    ratios = "", f"{peer.seconds / ours.seconds:.1f}x"
    for result, first, ratio in zip(results, firsts, ratios, strict=True):
        seconds, score = show_seconds(result.seconds), f"{result.score:.3f}"
        table.add_row(first, result.model, seconds, ratio, score)


def main() -> None:
    console, status = Console(), Console(stderr=True)
    start = time.perf_counter()
    blocks = {
        "accuracy": (DATASETS, FAMILIES),
        "R2": (DATASETS_OF_NUMBERS, OF_NUMBERS),
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
        "Single trees have depth 8; forests have 100 trees, whose depth has no limit.\n"
        "Boosting has depth 3. Of classes: 20 rounds of a tree for each class; ours,\n"
        "100 rounds of one. Of numbers: 100 rounds each. DecisionTree uses one core,\n"
        "as it has no other mode, the others all. Times include everything that fit()\n"
        "does. A quarter of the rows was held out for accuracy and R2. "
        f"{time.perf_counter() - start:.0f} s in all.",
        highlight=False,
    )


def compare(
    score: str,
    sets: dict[str, Callable[[], Any]],
    families: list[Family],
    bar: Progress,
    task: Any,
) -> Table:
    """Fit all models of some sets."""
    table = make_table(score)
    for name, make in sets.items():
        bar.update(task, description=f"{name}: making the data")
        data = make()
        # The shape is below the name, so that the table fits 80 columns.
        firsts = name, f"{len(data[0])} x {data[0].shape[1]}"
        for family in families:
            results = []
            tell = make_teller(bar, task, name)
            for result in run(family, data, tell):
                results.append(result)
                bar.advance(task)
            add_rows(table, firsts, results)
            firsts = "", ""
        table.add_section()
    return table


def make_teller(bar: Progress, task: Any, name: str) -> Callable[[str], None]:
    """Make a function that names the model at work: in the bar, or as a line."""

    def tell(model: str) -> None:
        bar.update(task, description=f"{name}: {model}")
        if bar.disable:
            print(f"{name}: {model}", file=sys.stderr, flush=True)

    return tell


if __name__ == "__main__":
    main()
