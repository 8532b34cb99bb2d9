"""Configurations of the models with digests in golden_models.json.

A refactoring leaves every digest as it is. After a deliberate change of the models,
``python tests/helpers/golden_models.py`` rewrites the file and lists the changes.
"""

import hashlib
import itertools
import json
import pathlib

import numpy as np
from checks import digest

from dics import (
    CategoricalOptions,
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    QuantileCandidates,
)

FILE = pathlib.Path(__file__).with_suffix(".json")

# --- data: rows, features, classes, dtype, fraction of NaN ----------------------------

SETS = {
    "three": (400, 12, 3, "f8", 0.0),
    "two": (700, 20, 2, "f4", 0.0),
    "forty": (2000, 10, 40, "f4", 0.0),
    "missing": (600, 15, 4, "f8", 0.15),
    "two, missing": (500, 9, 2, "f4", 0.2),
    "bytes": (500, 24, 5, "u1", 0.0),
    "wide": (300, 400, 5, "u1", 0.0),
    "large": (6000, 60, 7, "f4", 0.01),
    "large, two": (22000, 12, 2, "f4", 0.0),
    "categories": (3000, 8, 3, "u1", 0.0),
}
CATEGORICAL = {"categories": [0, 1]}


def make_set(name):
    """Make rows from random integers, which are equal on every machine."""
    n, p, n_classes, dtype, missing = SETS[name]
    rng = np.random.default_rng(len(name))
    X = rng.integers(0, 64, (n, p)) + rng.integers(0, 64, (n, p))
    X[:, 1] //= 16  # ties
    X[:, 2] = 7  # constant
    noise = rng.integers(0, 40, n)
    y = (2 * X[:, 0] + 8 * X[:, 1] - X[:, 3] + noise) * n_classes // 400 % n_classes
    y[:n_classes] = np.arange(n_classes)
    if name == "categories":
        X[:, :2] = X[:, :2] * 5 % 23  # without an order
    X = X.astype(dtype)
    if dtype != "u1":
        X += rng.integers(0, 1024, (n, p)).astype(dtype) / 1024
        X[:, 2] = 7
        X[rng.integers(0, 1000, (n, p)) < 1000 * missing] = np.nan
    return X, y


def make_regression(name, n_outputs=1):
    """Return positive targets for the rows of a set, multiples of 1/64."""
    X, y = make_set(name)
    rng = np.random.default_rng(len(name))
    filled = np.nan_to_num(X[:, :n_outputs].astype(np.float64), nan=9)
    noise = rng.integers(0, 64, (len(X), n_outputs)) / 64
    return X, np.squeeze(filled + 16 * y[:, None] + noise)


def make_weights(kind, n):
    rng = np.random.default_rng(5)
    if kind == "whole":
        return rng.integers(0, 4, n)
    return rng.integers(1, 1000, n) / 997 if kind == "broken" else None


# --- configurations -------------------------------------------------------------------

TREES = {
    "default": {},
    "depth 6": {"max_depth": 6},
    "entropy": {"criterion": "entropy"},
    "k = 30": {"advanced__max_candidates": 30},
    "k = 8": {"advanced__max_candidates": 8, "max_depth": 7},
    "k = 8, entropy": {"advanced__max_candidates": 8, "criterion": "entropy"},
    "paper": {},  # see `make`
    "used once": {
        "advanced__reuse_splits": False,
        "advanced__max_candidates": 20,
        "max_depth": 5,
    },
    "quantiles": {"candidates": QuantileCandidates(max_bins=41)},
    "renewed": {"advanced__renew_thresholds": True},
    "limits": {
        "min_samples_leaf": 7,
        "min_samples_split": 0.05,
        "min_weight_fraction_leaf": 0.01,
        "advanced__min_impurity_decrease": 0.001,
    },
    "balanced": {"class_weight": "balanced"},
    "random": {"splitter": "random"},
}
FORESTS = {
    "default": {},
    "entropy": {"criterion": "entropy", "max_samples": 0.5},
    "paper": {},  # see `make`
    "per tree": {"advanced__feature_sampling": "tree"},
    "all features": {"max_features": None, "max_depth": 8},
    "k = 15": {"advanced__max_candidates": 15},
    "all rows": {"bootstrap": False, "min_samples_leaf": 3},
    "balanced": {"class_weight": "balanced_subsample"},
    "random": {"splitter": "random", "bootstrap": False},
}
BOOSTERS = {
    "default": {},
    "paper": {},  # see `make`
    "goss": {"sampling": "goss", "max_features": 6},
    "mvs": {"sampling": "mvs", "max_features": 0.5},
    "all rows": {"sampling": None, "learning_rate": 0.3},
    "mvs, sample": {"sampling": "mvs", "advanced__leaf_values": "sample"},
    "used once": {"advanced__reuse_splits": False, "advanced__max_candidates": 25},
    "no limit": {"max_leaf_nodes": None, "min_samples_leaf": 2},
    "regularized": {"l2_regularization": 5.0, "min_split_gain": 0.5, "max_depth": 4},
    "stopped": {"early_stopping": True, "learning_rate": 0.4, "n_iter_no_change": 2},
    "balanced": {"class_weight": "balanced"},
}


REGRESSION_TREES = {
    "default": {},
    "poisson": {"criterion": "poisson", "max_depth": 6},
    "k = 30": {"advanced__max_candidates": 30},
    "limits": {"min_samples_leaf": 7, "min_weight_fraction_leaf": 0.01},
    "random": {"splitter": "random"},
}
REGRESSION_FORESTS = {
    "default": {},
    "third": {"max_features": 0.34, "min_samples_leaf": 3},
    "per tree": {"max_features": 0.5, "advanced__feature_sampling": "tree"},
    "all rows": {"bootstrap": False, "max_features": "sqrt"},
    "random": {"splitter": "random", "bootstrap": False},
}
REGRESSION_BOOSTERS = {
    "squared_error": {},
    "absolute_error": {"sampling": "mvs"},
    "huber": {},
    "quantile": {"quantile": (0.2, 0.7)},
    "poisson": {"sampling": "goss"},
    "gamma": {},
}


def every(model, settings, sets, weights=(None,)):
    for name, data, kind in itertools.product(settings, sets, weights):
        yield model, name, data, kind


def cases():
    weighted = ("whole", "broken")
    yield from every("tree", TREES, ["three", "missing"])
    numeric = [name for name in SETS if name not in CATEGORICAL]
    yield from every("tree", ["default", "depth 6", "k = 30"], numeric[1:])
    yield from every("tree", ["default", "k = 8", "limits"], ["two, missing"], weighted)
    yield from every("tree", ["entropy", "paper"], ["forty"], weighted)
    yield from every("forest", FORESTS, ["three", "two, missing"])
    yield from every("forest", ["default"], ["two", "forty", "bytes", "wide", "large"])
    yield from every("forest", ["k = 15", "per tree", "paper"], ["wide"])
    yield from every("forest", ["default", "all rows"], ["missing"], weighted)
    yield from every("forest", ["warm start"], ["three"])
    yield from every("boosting", BOOSTERS, ["three", "two, missing"])
    yield from every("boosting", ["default", "mvs"], ["forty", "wide", "missing"])
    yield from every("boosting", ["default", "paper"], ["large", "large, two"])
    yield from every("boosting", ["default", "goss"], ["two", "missing"], weighted)
    yield from every("boosting", ["warm start", "validation"], ["two", "bytes"])
    numbers = ["three", "missing", "bytes"]
    yield from every("regression tree", REGRESSION_TREES, numbers)
    yield from every("regression tree", ["default", "limits"], ["missing"], weighted)
    yield from every("regression forest", REGRESSION_FORESTS, numbers)
    yield from every("regression boosting", REGRESSION_BOOSTERS, numbers)
    yield from every("regression boosting", REGRESSION_BOOSTERS, ["two"], ["broken"])
    yield from every("regression boosting", ["squared_error"], ["large"])
    for kind in ("tree", "forest", "boosting"):
        yield from every(f"regression {kind}", ["three targets"], ["three"])
        yield from every(kind, ["default"], ["categories"], weighted)
    yield from every("regression tree", ["default"], ["categories"])
    yield from every("regression forest", ["default"], ["categories"])
    yield from every("regression boosting", ["squared_error"], ["categories"])


CASES = {", ".join(map(str, case)): case for case in cases()}


def with_warm_start(model, X, y):
    first, last = 3, 7
    model.set_params(n_estimators=first, warm_start=True).fit(X, y)
    return model.set_params(n_estimators=last).fit(X, y)


def make(cls, settings, setting, **shared):
    model = cls.paper() if setting == "paper" else cls()
    return model.set_params(**settings.get(setting, {}), **shared)


def shared_parameters(data):
    shared = {"random_state": 3, "n_jobs": 2}
    if data in CATEGORICAL:
        shared["categorical_features"] = CATEGORICAL[data]
        shared["categorical"] = CategoricalOptions(min_samples=5)
    return shared


def fit_regression(kind, setting, data, weights):
    X, y = make_regression(data, 3 if setting == "three targets" else 1)
    shared = shared_parameters(data)
    if kind == "tree":
        model = make(CGTreeRegressor, REGRESSION_TREES, setting)
    elif kind == "forest":
        model = make(CGForestRegressor, REGRESSION_FORESTS, setting, n_estimators=7)
    else:
        loss = setting if setting in REGRESSION_BOOSTERS else "squared_error"
        model = make(CGBoostingRegressor, REGRESSION_BOOSTERS, setting, n_estimators=12)
        model.set_params(loss=loss, categorical__l2=1.0)
    return model.set_params(**shared).fit(
        X, y, sample_weight=make_weights(weights, len(X))
    )


def fit(kind, setting, data, weights):
    if kind.startswith("regression "):
        return fit_regression(kind.split()[1], setting, data, weights)
    X, y = make_set(data)
    weight = make_weights(weights, len(X))
    shared = shared_parameters(data)
    if kind == "tree":
        return make(CGTreeClassifier, TREES, setting, **shared).fit(X, y, weight)
    if kind == "forest":
        model = make(CGForestClassifier, FORESTS, setting, n_estimators=7, **shared)
    else:
        shared |= {"categorical__l2": 1.0}  # many sets
        model = make(CGBoostingClassifier, BOOSTERS, setting, n_estimators=12, **shared)
    if setting == "warm start":
        return with_warm_start(model, X, y)
    if setting == "validation":
        model.set_params(learning_rate=0.5, n_estimators=40, n_iter_no_change=3)
        return model.fit(X[100:], y[100:], X_val=X[:100], y_val=y[:100])
    return model.fit(X, y, weight)


def golden_digest(case):
    """Fit a configuration; return a digest of its bytes and predictions."""
    model = fit(*case)
    X, _ = make_set(case[2])
    sha = hashlib.sha256(digest(model).encode())
    sha.update(np.ascontiguousarray(predictions(model, X)).tobytes())
    return sha.hexdigest()[:16]


def predictions(model, X):
    """Predict without np.exp, because its last bit depends on the processor."""
    if getattr(model, "loss", None) in ("poisson", "gamma"):
        return model._scores(X)
    names = ("decision_function", "predict_proba", "predict")
    return getattr(model, next(name for name in names if hasattr(model, name)))(X)


def main():
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    found = {name: golden_digest(case) for name, case in CASES.items()}
    FILE.write_text(json.dumps(found, indent=1) + "\n")
    changed = [name for name in found if known.get(name) != found[name]]
    print(f"{len(found)} models, {len(changed)} changed or new", *changed, sep="\n  ")


if __name__ == "__main__":
    main()
