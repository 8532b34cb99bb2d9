"""splitter="random": one random cut of each feature, for every kind of input."""

import numpy as np
import pytest
import scipy.sparse
from checks import same_bytes
from sklearn.base import clone

from dics import (
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    ForestOptions,
    TreeOptions,
)

pytestmark = pytest.mark.core

MODELS = {
    "tree": CGTreeClassifier(),
    "sampled features": CGTreeClassifier(max_features=3),
    "candidates": CGTreeClassifier(advanced=TreeOptions(max_candidates=30)),
    "leaf limit": CGTreeClassifier(max_leaf_nodes=9),
    "forest": CGForestClassifier(n_estimators=4, bootstrap=False),
    "features per tree": CGForestClassifier(
        n_estimators=3, advanced=ForestOptions(feature_sampling="tree")
    ),
    "regression tree": CGTreeRegressor(),
    "regression forest": CGForestRegressor(n_estimators=3, max_features=0.5),
    "absolute error": CGTreeRegressor(criterion="absolute_error", max_depth=4),
}


def make_counts(n_rows=300, n_features=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.2, (n_rows, n_features)) * rng.integers(1, 9, n_features)
    X = X.astype(np.float32)
    y = (X[:, 0] > 0) + (X[:, 1] > 2).astype(int) + (rng.random(n_rows) < 0.1)
    return X, y


@pytest.mark.parametrize("name", MODELS)
def test_sparse_and_threads(name):
    X, y = make_counts()
    model = clone(MODELS[name]).set_params(
        splitter="random", random_state=0, min_samples_leaf=2
    )
    weights = np.random.default_rng(1).random(len(y))
    for given in (None, weights):
        dense = clone(model).set_params(n_jobs=1).fit(X, y, sample_weight=given)
        for n_jobs in (2, 3):
            sparse = clone(model).set_params(n_jobs=n_jobs)
            sparse.fit(scipy.sparse.csr_array(X), y, sample_weight=given)
            same_bytes(sparse, dense)


@pytest.mark.parametrize("model", [CGTreeClassifier, CGTreeRegressor])
def test_other_splits_than_the_best(model):
    X, y = make_counts()
    best = model(random_state=0).fit(X, y)
    one, other = (
        model(splitter="random", random_state=seed).fit(X, y) for seed in (0, 1)
    )
    thresholds = {tuple(tree.trees_.threshold) for tree in (best, one, other)}
    assert len(thresholds) == 3
    assert one.score(X, y) == pytest.approx(best.score(X, y), abs=0.02)


@pytest.mark.parametrize("model", [CGTreeClassifier, CGTreeRegressor])
def test_nan_is_learned(model):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = np.where(y, np.nan, rng.random(200))[:, None]
    tree = model(splitter="random", max_depth=1, random_state=0)
    tree.fit(np.column_stack([X, np.ones(200)]), y)
    assert tree.score(np.column_stack([X, np.ones(200)]), y) < 1
    constant = np.where(y, np.nan, 3.0)[:, None]
    both = np.vstack([constant, [[5.0]]])  # a threshold above 3, in one row
    tree.set_params(max_depth=None).fit(both, [*y, 0])
    assert tree.score(constant, y) == 1


@pytest.mark.parametrize(
    "model",
    [
        CGTreeClassifier(),
        CGTreeRegressor(),
        CGForestClassifier(n_estimators=3),
        CGForestRegressor(n_estimators=3, max_features=1),
    ],
)
def test_sets_of_categories(model):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (1200, 2)).astype(float)
    X[rng.random(X.shape) < 0.03] = np.nan
    y = ((X[:, 0] % 3 == 0) ^ (X[:, 1] % 2 == 0)).astype(int)
    fitted = []
    for n_jobs in (1, 2):
        own = clone(model).set_params(
            splitter="random",
            categorical_features=[0, 1],
            random_state=0,
            n_jobs=n_jobs,
        )
        fitted.append(own.fit(X, y))
    same_bytes(*fitted)
    assert fitted[0].score(X, y) > 0.9
    best = clone(model).set_params(
        splitter="best", categorical_features=[0, 1], random_state=0
    )
    assert len(best.fit(X, y).trees_.nodes) != len(fitted[0].trees_.nodes)


def test_used_splits_exclude_it():
    X, y = make_counts()
    tree = CGTreeClassifier(splitter="random", advanced=TreeOptions(reuse_splits=False))
    with pytest.raises(ValueError, match="splitter='random' needs"):
        tree.fit(X, y)


@pytest.mark.parametrize("model", [CGTreeClassifier, CGForestClassifier])
def test_successor_of_min_impurity_decrease(model):
    name = "TreeOptions" if model is CGTreeClassifier else "ForestOptions"
    text = rf"advanced={name}\(min_impurity_decrease=...\)"
    for argument in ("min_impurity_decrease", "min_split_gain"):
        with pytest.raises(TypeError, match=text):
            model(**{argument: 0.1})
