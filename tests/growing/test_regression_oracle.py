"""Every decision of regression trees, compared with exact arithmetic."""

import numpy as np
import pytest
from checks import GivenCandidates, make, same_bytes
from reference import tree_key
from reference_regression import Judge
from selection import seeds
from test_tree_oracle import random_matrix, random_thresholds

from dics import CGForestRegressor, CGTreeRegressor, TreeOptions

pytestmark = pytest.mark.core


def random_targets(rng, X, criterion, n_outputs):
    n = len(X)
    kind = rng.integers(4)
    y = rng.normal(size=(n, n_outputs)) * 10.0 ** rng.integers(-3, 4)
    if kind == 0:
        y = rng.integers(0, 4, size=(n, n_outputs)).astype(float)
    elif kind == 1:
        y += np.nan_to_num(X).sum(axis=1)[:, None]
    elif kind == 2:
        y = y + 1e6
    return np.abs(y).round(9) if criterion == "poisson" else y


def random_weights(rng, n):
    kind = rng.integers(4)
    if kind == 0:
        weights = rng.integers(0, 4, size=n).astype(float)
    elif kind == 1:
        weights = rng.integers(1, 1000, size=n) / 128
    else:
        return None
    weights[0] = 1.0
    return weights


@pytest.mark.parametrize("seed", seeds(60, 200))
def test_random_small_sets(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 120)), int(rng.integers(1, 5))
    X = random_matrix(rng, n, p)
    criterion = ["squared_error", "friedman_mse", "absolute_error", "poisson"][seed % 4]
    y = random_targets(rng, X, criterion, int(rng.choice([1, 1, 3])))
    dictionary = [random_thresholds(rng, X[:, f]) for f in range(p)]
    if not any(map(len, dictionary)):
        dictionary[0] = np.array([0.5], dtype=np.float32)
    weights = random_weights(rng, n)
    limits = {
        "max_depth": [None, 1, 4][rng.integers(3)],
        "min_samples_leaf": int(rng.choice([1, 1, 2, 5])),
        "min_samples_split": int(rng.choice([2, 2, 7])),
        "min_weight_fraction_leaf": float(rng.choice([0.0, 0.0, 0.1])),
    }
    if criterion == "poisson" and not (y.sum(axis=0) > 0).all():
        y += 1
    splitter = ["best", "best", "random"][rng.integers(3)]
    tree = make(
        CGTreeRegressor,
        criterion=criterion,
        splitter=splitter,
        candidates=GivenCandidates(dictionary),
        renew_thresholds=False,
        random_state=seed,
        **limits,
    ).fit(X, np.squeeze(y), sample_weight=weights)
    limits["random_key"] = tree_key(seed, 0) if splitter == "random" else None
    Judge(tree, X, y, dictionary, weights, criterion=criterion, **limits).check()


@pytest.mark.quick(2)
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("min_samples_leaf", [1, 9])
def test_histograms_and_subtraction(n_outputs, min_samples_leaf):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.normal(size=(1500, n_outputs)) + np.nan_to_num(X[:, :1]) * 3
    dictionary = [np.unique(rng.normal(size=60).astype(np.float32)) for _ in range(4)]
    limits = {"max_depth": 4, "min_samples_leaf": min_samples_leaf}
    tree = make(
        CGTreeRegressor,
        candidates=GivenCandidates(dictionary),
        renew_thresholds=False,
        **limits,
    ).fit(X, np.squeeze(y))
    Judge(tree, X, y, dictionary, **limits).check()


def test_min_impurity_decrease():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    dictionary = [np.linspace(-1, 1, 9, dtype=np.float32) for _ in range(3)]
    for limit in (0.003, 0.01, 0.2):
        tree = CGTreeRegressor(
            candidates=GivenCandidates(dictionary),
            advanced=TreeOptions(renew_thresholds=False, min_impurity_decrease=limit),
        ).fit(X, y)
        Judge(tree, X, y, dictionary, min_impurity_decrease=limit).check()


@pytest.mark.parametrize("features", [{}, {"max_features": 2}, {"max_candidates": 6}])
@pytest.mark.parametrize("sampling", ["node", "tree"])
def test_sampled_trees_split_well(features, sampling):
    """For any sample, no split in a forest increases the impurity."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    forest = make(
        CGForestRegressor,
        n_estimators=6,
        feature_sampling=sampling,
        random_state=0,
        **features,
    ).fit(X, y)
    for t in range(6):
        trees = forest.trees_[t]
        mass = trees.weight.astype(np.float64) * trees.impurity
        left = trees.left[trees.inner]
        assert (mass[trees.inner] >= (mass[left] + mass[left + 1]) * (1 - 1e-5)).all()


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_any_n_jobs(criterion):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4000, 30)).astype(np.float32)
    y = np.abs(X[:, 0] * 3 + rng.normal(size=4000))
    trees = [
        CGTreeRegressor(criterion=criterion, random_state=0, n_jobs=n).fit(X, y)
        for n in (1, 2, 5)
    ]
    same_bytes(trees[0], trees[1])
    same_bytes(trees[0], trees[2])
    forests = [
        CGForestRegressor(
            n_estimators=5, criterion=criterion, random_state=0, n_jobs=n
        ).fit(X, y)
        for n in (1, 3)
    ]
    same_bytes(*forests)
