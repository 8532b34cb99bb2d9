"""The suite of many small tables: data, splits and the two parts for choosing rules.

The folder ``suite`` of DICS_DATA_DIR has a file `INDEX.tsv` with a line per table, and
``<name>.npz`` with `X`, `y`, `categorical` and `columns`.
"""

from __future__ import annotations

import csv
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from dics_paper.datasets import DatasetNotFoundError

TEST_FRACTION = 0.25
PARTS = ("choose", "confirm")


class Table(NamedTuple):
    """A table of the index."""

    name: str
    task: str  # "binary", "multiclass" or "regression"
    n_rows: int
    group: str  # tables of the same source
    origin: str

    @property
    def part(self) -> str:
        """Part of the suite: rules are chosen on one and confirmed on the other."""
        return PARTS[zlib.crc32(self.group.encode()) % 2]


class SuiteSplit(NamedTuple):
    """A table, split into training and test rows."""

    task: str
    X_train: pd.DataFrame  # categorical features have the dtype `category`
    X_test: pd.DataFrame
    y_train: Any
    y_test: Any

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.task == "regression"

    @property
    def categorical(self) -> list[str]:
        """Names of the categorical features."""
        dtypes = self.X_train.dtypes
        return [name for name, dtype in dtypes.items() if dtype == "category"]

    def loss(self, model: Any) -> float:
        """Return the log-loss or the RMSE of a fitted model on the test rows."""
        if self.is_regression:
            predicted = model.predict(self.X_test)
            return float(root_mean_squared_error(self.y_test, predicted))
        labels = np.unique(self.y_train)
        probabilities = np.asarray(model.predict_proba(self.X_test), dtype=np.float64)
        # log_loss clips at the precision of the dtype, so one zero would decide a row.
        probabilities = np.clip(probabilities, 1e-7, None)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        known = np.isin(self.y_test, labels)
        return float(
            log_loss(self.y_test[known], probabilities[known], labels=list(labels))
        )


def suite_folder() -> Path:
    """Return the folder of the suite; raise DatasetNotFoundError without it."""
    folder = Path(os.environ.get("DICS_DATA_DIR", ".")) / "suite"
    if not (folder / "INDEX.tsv").exists():
        raise DatasetNotFoundError("suite: DICS_DATA_DIR has no suite/INDEX.tsv")
    return folder


def read_index() -> list[Table]:
    """Return all tables of the suite."""
    with (suite_folder() / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    return [
        Table(row["name"], row["task"], int(row["n"]), row["group"], row["origin"])
        for row in lines
    ]


def as_category(values: np.ndarray[Any, Any]) -> pd.Categorical:
    """Return indices of categories as texts, which every library accepts."""
    present = ~np.isnan(values)
    found, codes = np.unique(values[present].astype(int), return_inverse=True)
    all_codes = np.full(len(values), -1)
    all_codes[present] = codes
    return pd.Categorical.from_codes(all_codes, [str(value) for value in found])


def load_split(table: Table, seed: int) -> SuiteSplit:
    """Read a table, and split its rows."""
    with np.load(suite_folder() / f"{table.name}.npz", allow_pickle=False) as arrays:
        X, y, categorical = arrays["X"], arrays["y"], arrays["categorical"]
    frame = pd.DataFrame(X).rename(columns="x{}".format)
    for f in categorical:
        frame[f"x{f}"] = as_category(X[:, f])
    is_regression = table.task == "regression"
    # A class with one row cannot be in both parts.
    stratify = (
        None if is_regression or np.unique(y, return_counts=True)[1].min() < 2 else y
    )
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=TEST_FRACTION,
        random_state=seed,
        stratify=stratify,
    )
    return SuiteSplit(
        table.task,
        frame.iloc[train].reset_index(drop=True),
        frame.iloc[test].reset_index(drop=True),
        y[train],
        y[test],
    )
