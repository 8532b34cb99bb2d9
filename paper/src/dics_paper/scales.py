"""Sizes of the experiments: from a minute to the paper's sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from dics_paper.data import (
    LABELS,
    REGRESSION_FILES,
    Data,
    friedman,
    real,
    reduced,
    regression_file,
    synthetic,
)

CLASSES = (3, 5, 10)
SMALL, WIDE, LARGE = (10_000, 1_000), (5_000, 7_000), (20_000, 5_000)


@dataclass(frozen=True)
class Scale:
    """Sizes and repetitions of all experiments."""

    name: str
    sizes: dict[float, tuple[tuple[int, int], ...]]  # (rows, features) by rho
    repeats: int
    once_over: float  # seconds; slower models of other libraries are fitted once
    real_rows: int  # 0 means all
    sensitivity_runs: int
    split_sizes: tuple[int, ...]
    split_features: int
    split_runs: int
    regression_sizes: tuple[tuple[int, int], ...]  # (rows, features) of regression
    classes: tuple[int, ...] = CLASSES
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)  # by family

    def synthetic_data(self, rho: float, class_weights: str) -> list[Data]:
        """Return the generated data sets of a table."""
        return [
            synthetic(rows, features, n_classes, rho, class_weights)
            for rows, features in self.sizes[rho]
            for n_classes in self.classes
        ]

    def real_data(self) -> list[Data]:
        """Return the real data sets of a table."""
        return [self.real(name) for name in LABELS]

    def regression_data(self) -> list[Data]:
        """Return the data sets for regression: generated, and real ones in files."""
        generated = [
            friedman(rows, features) for rows, features in self.regression_sizes
        ]
        files = [regression_file(name) for name in REGRESSION_FILES]
        return generated + ([] if self.real_rows else files)

    def real(self, name: str) -> Data:
        """Return one real data set."""
        return reduced(name, self.real_rows) if self.real_rows else real(name)


SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            "smoke",
            sizes={0.5: ((400, 40),), 0.0: ((400, 40),)},
            repeats=2,
            once_over=1.0,
            real_rows=400,
            sensitivity_runs=2,
            split_sizes=(200, 400),
            split_features=20,
            split_runs=3,
            regression_sizes=((400, 20),),
            classes=(3,),
            settings={"forest": {"n_estimators": 10}, "boosting": {"n_estimators": 5}},
        ),
        # rho = 0 has only the smaller size: the other size takes as long as all the
        # rest.
        Scale(
            "medium",
            sizes={0.5: (SMALL, WIDE), 0.0: (SMALL,)},
            repeats=3,
            once_over=60.0,
            real_rows=0,
            sensitivity_runs=10,
            split_sizes=(1_000, 2_000, 5_000, 10_000, 20_000),
            split_features=100,
            split_runs=40,
            regression_sizes=((10_000, 20), (10_000, 1_000)),
        ),
        Scale(
            "paper",
            sizes={0.5: (SMALL, WIDE, LARGE), 0.0: (SMALL, WIDE, LARGE)},
            repeats=10,
            once_over=math.inf,
            real_rows=0,
            sensitivity_runs=50,
            split_sizes=(1_000, 2_000, 5_000, 10_000, 20_000),
            split_features=100,
            split_runs=40,
            regression_sizes=((10_000, 20), (10_000, 1_000)),
        ),
    )
}
