"""Tables with categorical features, as data frames, in several splits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from regression_data import read
from sklearn.metrics import d2_tweedie_score, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

FILES = ("adult_categorical", "amazon_access", "mercedes", "diamonds", "be_mtpl97")
CLASSES = ("adult_categorical", "amazon_access")
POISSON = "be_mtpl97"  # claims, with the exposure as weight
TEST_FRACTION = 0.25


class CategoryTable(NamedTuple):
    """One split; categorical features have the dtype `category`."""

    name: str
    train: pd.DataFrame
    test: pd.DataFrame
    y_train: Any
    y_test: Any
    train_weight: Any  # or None
    test_weight: Any

    @property
    def is_classes(self) -> bool:
        """Whether the task is binary classification."""
        return self.name in CLASSES

    @property
    def is_poisson(self) -> bool:
        """Whether the target is a count."""
        return self.name == POISSON

    @property
    def categories(self) -> list[str]:
        """Names of the categorical features."""
        return [c for c in self.train if self.train[c].dtype == "category"]

    def score(self, fitted: Any, test: Any) -> float:
        """Return AUC for classes, explained deviance for counts, otherwise R2."""
        if self.is_classes:
            return float(roc_auc_score(self.y_test, fitted.predict_proba(test)[:, 1]))
        predicted = fitted.predict(test)
        if self.is_poisson:
            return float(
                d2_tweedie_score(
                    self.y_test, predicted, sample_weight=self.test_weight, power=1
                )
            )
        return float(r2_score(self.y_test, predicted))


def load_splits(name: str, n_splits: int) -> list[CategoryTable]:
    """Read a table and split it with several seeds."""
    arrays = read(name)
    frame = pd.DataFrame(arrays["X"]).rename(columns="x{}".format)
    for f in arrays["categorical"]:
        frame[f"x{f}"] = frame[f"x{f}"].astype(int).astype("category")
    y, weight = arrays["y"], arrays.get("exposure")
    if weight is not None:
        y = y / weight
    splits = []
    for seed in range(n_splits):
        train, test = train_test_split(
            np.arange(len(y)),
            test_size=TEST_FRACTION,
            random_state=seed,
            stratify=y if name in CLASSES else None,
        )
        splits.append(
            CategoryTable(
                name,
                frame.iloc[train],
                frame.iloc[test],
                y[train],
                y[test],
                None if weight is None else weight[train],
                None if weight is None else weight[test],
            )
        )
    return splits
