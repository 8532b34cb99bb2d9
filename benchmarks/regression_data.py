"""Data sets of the regression benchmarks, from DICS_DATA_DIR or generated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_friedman1

from dics_paper.datasets import DatasetNotFoundError

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
COUNTS = ("bike_sharing", "blog_feedback", "be_mtpl97 claims")
POSITIVE = ("diamonds", "sgemm_gpu", "be_mtpl97 amounts")
# Data sets whose last columns are the targets.
COLUMNS = ("helena_part columns", "jannis_part columns", "otto columns")
N_TARGETS = 16
OFFICIAL = {"blog_feedback": 52_397}  # training rows; the test rows are more recent
WIDE_VALUES = ("protein_casp",)  # float32 would merge some of its values
FEW_ROWS, SPLITS_OF_FEW = 25_000, 3


class Part(NamedTuple):
    """Rows with their targets and weights."""

    X: Any
    y: Any
    weight: Any = None

    def take(self, rows: Any) -> Part:
        weight = None if self.weight is None else self.weight[rows]
        return Part(self.X[rows], self.y[rows], weight)


class Split(NamedTuple):
    """Training and test rows."""

    train: Part
    test: Part


def load_splits(name: str) -> list[Split]:
    """Load a data set and split it: by the official split, or at random.

    Small data sets are split three times, because scores depend on the split.
    """
    whole = load(name)
    n = len(whole.X)
    if name in OFFICIAL:
        first = OFFICIAL[name]
        return [Split(whole.take(np.s_[:first]), whole.take(np.s_[first:]))]
    n_splits = SPLITS_OF_FEW if n < FEW_ROWS else 1
    splits = []
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(n)
        train, test = np.split(order, [n * 3 // 4])
        splits.append(Split(whole.take(train), whole.take(test)))
    return splits


def load(name: str) -> Part:
    """Load all rows of a data set."""
    if name == WIDE:
        X, y = make_friedman1(26_667, n_features=2000, noise=1.0, random_state=0)
        return Part(X.astype(np.float32), y)
    file, _, variant = name.partition(" ")
    arrays = read(file)
    X = arrays["X"]
    if file not in WIDE_VALUES:
        X = X.astype(np.float32)
    if variant == "claims":
        exposure = arrays["exposure"].astype(np.float64)
        return Part(X, arrays["y"] / exposure, exposure)
    if variant == "amounts":
        amount = arrays["amount"].astype(np.float64)
        claimed = (amount > 0) & (arrays["y"] > 0)
        claims = arrays["y"][claimed].astype(np.float64)
        return Part(X[claimed], amount[claimed] / claims, claims)
    if variant == "columns":
        y = X[:, -N_TARGETS:].astype(np.float64)
        return Part(X[:, :-N_TARGETS], (y - y.mean(axis=0)) / y.std(axis=0))
    return Part(X, arrays["y"].astype(np.float64))


def read(name: str) -> dict[str, Any]:
    """Read the arrays of a file."""
    folder = os.environ.get("DICS_DATA_DIR")
    file = Path(folder or ".") / name / f"{name}.npz"
    if not folder or not file.exists():
        raise DatasetNotFoundError(f"{name}: DICS_DATA_DIR has no {name}/{name}.npz")
    with np.load(file) as arrays:
        return dict(arrays)
