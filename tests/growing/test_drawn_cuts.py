"""Forests sample one threshold per feature if most features are rare."""

import numpy as np
import pytest
import reference_forest
import scipy.sparse
from checks import GivenCandidates, same_bytes, same_tree
from sklearn.base import clone

from dics import (
    CentroidCandidates,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    ForestOptions,
    QuantileCandidates,
)

pytestmark = pytest.mark.core

N_FEATURES = 2100
THRESHOLDS = np.array([-0.5, 0.5, 1.5, 4, 7], dtype=np.float32)


def make_words(n_rows=90, seed=0, rate=0.02):
    rng = np.random.default_rng(seed)
    X = rng.poisson(rate, (n_rows, N_FEATURES)) * rng.integers(1, 9, N_FEATURES)
    X = X.astype(np.float32)
    X[:, 3] = np.arange(n_rows) % 7  # frequent
    X[:, 4] = 1
    y = rng.integers(0, 3, n_rows)
    y[:20] = 2 * (X[:20, 3] > 3)
    X[40] = X[41]  # no threshold separates them
    return X, y


def grow_twin(forest, X, y, *, draws_cuts=True):
    return reference_forest.grow_forest(
        X,
        y,
        [THRESHOLDS] * N_FEATURES,
        forest.n_estimators,
        sampling="node",
        max_features=forest.max_features,
        n_draws=len(y) if forest.bootstrap else 0,
        seed=forest._seed,
        criterion=forest.criterion,
        min_samples_leaf=forest.min_samples_leaf,
        draws_cuts=draws_cuts,
    )


@pytest.mark.quick(2)
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [
        {"max_features": 40},
        {"max_features": 2, "bootstrap": False},
        {"max_features": 300, "criterion": "entropy", "min_samples_leaf": 3},
    ],
)
def test_equals_reference(is_sparse, parameters):
    X, y = make_words()
    if not is_sparse:
        X[np.random.default_rng(1).random(X.shape) < 0.0005] = np.nan
    forest = CGForestClassifier(
        n_estimators=3,
        candidates=GivenCandidates([THRESHOLDS] * N_FEATURES),
        random_state=0,
        **parameters,
    )
    forest.fit(scipy.sparse.csr_array(X) if is_sparse else X, y)
    n_drawn = len(y) if forest.bootstrap else None
    for t, expected in enumerate(grow_twin(forest, X, y)):
        same_tree(forest[t], expected, n_drawn)


def test_frequent_values_are_searched():
    """If features are not rare, all thresholds of a feature are searched."""
    X, y = make_words(rate=0.1)
    forest = CGForestClassifier(
        n_estimators=2,
        max_features=40,
        candidates=GivenCandidates([THRESHOLDS] * N_FEATURES),
        random_state=0,
    ).fit(X, y)
    for t, expected in enumerate(grow_twin(forest, X, y, draws_cuts=False)):
        same_tree(forest[t], expected, len(y))


@pytest.mark.parametrize(
    "forest",
    [
        CGForestClassifier(n_estimators=4, random_state=0),
        CGForestClassifier(n_estimators=2, max_leaf_nodes=9, random_state=0),
        CGForestClassifier(
            n_estimators=2, advanced=ForestOptions(max_candidates=50), random_state=0
        ),
        CGForestRegressor(n_estimators=2, max_features="sqrt", random_state=0),
        CGTreeClassifier(max_features="sqrt", random_state=0),
    ],
)
def test_dense_copy(forest):
    X, y = make_words(400)
    weights = np.random.default_rng(0).random(len(y))
    for given in (None, weights):
        dense = clone(forest).set_params(n_jobs=1).fit(X, y, sample_weight=given)
        for n_jobs in (2, 3):
            sparse = clone(forest).set_params(n_jobs=n_jobs)
            sparse.fit(scipy.sparse.csr_array(X), y, sample_weight=given)
            same_bytes(sparse, dense)


def test_warm_start():
    X, y = make_words(200)
    whole = CGForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    grown = CGForestClassifier(n_estimators=1, warm_start=True, random_state=0)
    grown.fit(X, y).set_params(n_estimators=3).fit(X, y)
    same_bytes(grown, whole)


def test_no_clusters():
    """Rare features have quantiles by default; explicit candidates are clustered."""
    X, _ = make_words(600, rate=0.001)
    candidates = CentroidCandidates(random_state=0).fit(X)
    assert candidates.centroids_.shape == candidates.scales_.shape == (0, N_FEATURES)
    assert candidates.pairs_.shape == (0, 2)
    even = QuantileCandidates(random_state=0).fit(X)
    for own, expected in zip(candidates.thresholds_, even.thresholds_, strict=True):
        np.testing.assert_array_equal(own, expected)
    assert len(CentroidCandidates(n_clusters=4, random_state=0).fit(X).centroids_) == 4
    few = CentroidCandidates(random_state=0).fit(X[:, :2048])
    assert len(few.centroids_) == 8
