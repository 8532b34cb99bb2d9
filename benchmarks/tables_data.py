"""Tables for classification with few columns, mostly two classes."""

from __future__ import annotations

import numpy as np
from common import load

from dics_paper.data import Split

FILES = (
    "spambase",
    "electricity",
    "adult",
    "magic",
    "letter",
    "otto",
    "helena_part",
    "santander_satisfaction",
    "jannis_part",
    "dry_bean",
    "connect_4",
    "digits",
    "breast_cancer",
)
LARGE = "generated_1000000x28"
LARGE_ROWS, LARGE_FEATURES, TEST_ROWS = 1_000_000, 28, 100_000


def load_table(name: str) -> Split:
    return make_large() if name == LARGE else load(name)


def make_large(n_rows: int = LARGE_ROWS) -> Split:
    """Generate two classes from a sine, products, thresholds and noise."""
    rng = np.random.default_rng(0)
    shape = (n_rows + TEST_ROWS, LARGE_FEATURES)
    X = rng.standard_normal(shape, dtype=np.float32)
    score = (
        np.sin(2 * X[:, 0])
        + X[:, 1] * X[:, 2]
        + (X[:, 3] > 0.5) * (X[:, 4] < 0)
        + 0.5 * X[:, 5] * X[:, 6] * X[:, 7]
        + 0.5 * np.abs(X[:, 8])
        + 0.3 * X[:, 9 : 9 + 6].sum(axis=1)
        + rng.standard_normal(shape[0], dtype=np.float32)
    )
    y = (score > np.median(score)).astype(np.int64)
    return Split(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], n_classes=2)


def make_rare(n_rows: int = 500_000, fraction: float = 0.0002) -> Split:
    """Generate two classes, one with a small fraction of the rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2 * n_rows, 10), dtype=np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    score += 0.5 * rng.standard_normal(2 * n_rows, dtype=np.float32)
    y = (score > np.quantile(score, 1 - fraction)).astype(np.int64)
    return Split(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], n_classes=2)
