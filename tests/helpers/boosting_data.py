"""Data and settings for the tests of boosting."""

import numpy as np
from checks import make
from sklearn.datasets import make_classification

from dics import CGBoostingClassifier

# Tests depend on these values, so they must not follow the defaults.
PARAMETERS = {
    "learning_rate": 0.2,
    "max_depth": None,
    "max_leaf_nodes": 8,
    "max_candidates": None,
    "max_features": None,
    "sampling": None,
    "leaf_values": "all",
    "l2_regularization": 1.0,
    "min_split_gain": 0.0,
    "min_samples_leaf": 5,
    "early_stopping": False,
    "random_state": 0,
}
SAMPLED = {"sampling": "mvs", "subsample": 0.4, "max_features": 5}
SETTINGS = [
    {},
    SAMPLED,
    {"sampling": "goss", "top_rate": 0.2, "other_rate": 0.2, "leaf_values": "sample"},
    {"max_candidates": 20, "max_leaf_nodes": None, "max_depth": 3},
    {"reuse_splits": False, "max_candidates": 20},
]

# A fixed grid: repeated rows must not move the thresholds.
GRID = [np.linspace(-3, 3, 25)] * 9


def booster(n_estimators=10, **parameters):
    parameters = {**PARAMETERS, "n_estimators": n_estimators, **parameters}
    return make(CGBoostingClassifier, **parameters)


def make_data(n_classes, n=400):
    X, y = make_classification(
        n, 9, n_informative=5, n_classes=n_classes, random_state=0, flip_y=0.1
    )
    return X.astype(np.float32), y


DATA = {n_classes: make_data(n_classes) for n_classes in (2, 3)}


def softmax(scores):
    if scores.ndim == 1:  # the margin of two classes
        scores = np.column_stack([np.zeros(len(scores)), scores])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def mean_loss(y, p, weights=None):
    own = np.take_along_axis(p, np.asarray(y)[:, None], axis=1)[:, 0]
    return -np.average(np.log(own), weights=weights)


class Squared:
    """The squared error as a custom loss."""

    def start(self, y, weight):
        return np.average(y, axis=0, weights=weight)

    def link(self, raw):
        return raw

    def gradients(self, y, raw, weight):
        w = 1.0 if weight is None else weight
        return w * (raw - y), w * np.ones_like(raw)

    def loss(self, y, raw, weight):
        return np.average((raw - y) ** 2 / 2, weights=weight)
