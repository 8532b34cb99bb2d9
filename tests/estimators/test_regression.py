"""Regression trees and forests through the API of scikit-learn."""

import pickle

import numpy as np
import pytest
from checks import same_bytes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from dics import CentroidCandidates, CGForestRegressor, CGTreeRegressor

pytestmark = pytest.mark.core


def make_data(n=600, seed=0):
    return make_friedman1(n, n_features=8, noise=1.0, random_state=seed)


# --- exactness ------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_full_tree_predicts_its_rows(scale, offset):
    X, y = make_data(2000)
    y = y * scale + offset * scale
    tree = CGTreeRegressor(candidates=CentroidCandidates(), random_state=0).fit(X, y)
    leaves = tree.apply(X)
    alone = np.bincount(leaves)[leaves] == 1
    assert alone.mean() > 0.9
    spread = np.ptp(y)
    assert_allclose(
        tree.predict(X)[alone], y[alone], atol=spread * 2.0**-40, rtol=1e-15
    )


def test_equal_targets_are_predicted_exactly():
    X, _ = make_data(300)
    y = np.full(300, 0.1)
    assert_array_equal(CGTreeRegressor().fit(X, y).predict(X), y)
    assert CGTreeRegressor().fit(X, y).get_n_leaves() == 1
    weights = np.random.default_rng(0).random(300)
    two = np.where(X[:, 0] > 0.5, 0.1, 0.7)
    tree = CGTreeRegressor(max_depth=20).fit(X, two, sample_weight=weights)
    assert_allclose(tree.predict(X), two, rtol=1e-12)


def test_any_order_of_rows():
    X, y = make_data(500)
    mixed = np.random.default_rng(0).permutation(500)
    candidates = CentroidCandidates(random_state=0).fit(X, y)
    thresholds = candidates.thresholds_
    from checks import GivenCandidates

    one, other = (
        CGTreeRegressor(candidates=GivenCandidates(thresholds), random_state=0)
        .fit(X[rows], y[rows])
        .predict(X)
        for rows in (slice(None), mixed)
    )
    assert_array_equal(one, other)


# --- as good as scikit-learn ----------------------------------------------------------


@pytest.mark.parametrize("depth", [3, 8, None])
def test_tree_is_as_good_as_exhaustive_search(depth):
    X, y = make_data(3000)
    ours = CGTreeRegressor(max_depth=depth, random_state=0).fit(X[:2000], y[:2000])
    theirs = DecisionTreeRegressor(max_depth=depth, random_state=0)
    theirs.fit(X[:2000], y[:2000])
    assert ours.score(X[2000:], y[2000:]) > theirs.score(X[2000:], y[2000:]) - 0.05


def test_forest_is_as_good():
    X, y = make_data(1500)
    ours = CGForestRegressor(n_estimators=60, oob_score=True, random_state=0).fit(
        X[:1000], y[:1000]
    )
    theirs = RandomForestRegressor(60, random_state=0).fit(X[:1000], y[:1000])
    ours_score = ours.score(X[1000:], y[1000:])
    assert ours_score > theirs.score(X[1000:], y[1000:]) - 0.02
    assert abs(ours.oob_score_ - ours_score) < 0.1
    assert ours.oob_prediction_.shape == (1000,)


def test_importances_and_paths():
    X, y = make_data()
    for model in (
        CGTreeRegressor(random_state=0),
        CGForestRegressor(n_estimators=20, random_state=0),
    ):
        model.fit(X, y)
        assert_allclose(model.feature_importances_.sum(), 1)
        assert set(np.argsort(model.feature_importances_)[-3:]) < {0, 1, 2, 3, 4}
        path = model.decision_path(X[:5])
        indicator = path[0] if isinstance(path, tuple) else path
        assert indicator.shape[0] == 5


# --- several targets ------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [CGTreeRegressor(), CGForestRegressor(n_estimators=10)]
)
def test_several_targets(estimator):
    X, y = make_data()
    Y = np.column_stack([y, 100 - y])
    model = clone(estimator).set_params(random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.9
    assert_allclose(model.predict(X).sum(axis=1), 100)


def test_repeated_targets():
    X, y = make_data()
    one = CGTreeRegressor(random_state=0, max_depth=6).fit(X, y)
    two = CGTreeRegressor(random_state=0, max_depth=6).fit(X, np.column_stack([y, y]))
    # The groups of similar targets differ, so only the score is compared.
    assert abs(one.score(X, y) - two.score(X, np.column_stack([y, y]))) < 0.03


# --- quantiles ------------------------------------------------------------------------


def test_quantiles_of_a_forest():
    X, y = make_data(1200)
    forest = CGForestRegressor(n_estimators=80, min_samples_leaf=5, random_state=0)
    forest.fit(X[:800], y[:800])
    levels = np.array([0.05, 0.5, 0.95])
    found = forest.predict_quantiles(X[800:], levels)
    assert found.shape == (400, 3)
    assert (np.diff(found, axis=1) >= 0).all()
    covered = (y[800:, None] <= found).mean(axis=0)
    assert_allclose(covered, levels, atol=0.1)
    assert set(found.ravel()) <= set(y[:800])
    assert_array_equal(forest.predict_quantiles(X[800:], 0.5), found[:, 1])


def test_quantiles_are_those_of_the_rows_in_the_leaves():
    X, y = make_data(200)
    forest = CGForestRegressor(
        n_estimators=4, bootstrap=False, max_features=3, max_depth=3, random_state=0
    ).fit(X, y)
    leaves = forest.apply(X)
    weights = (leaves[:, None] == leaves[None]) / (
        (leaves[:, None] == leaves[None]).sum(axis=1, keepdims=True)
    )
    share = weights.mean(axis=2)
    order = np.argsort(y)
    running = np.cumsum(share[:, order], axis=1)
    for level in (0.2, 0.5, 0.8):
        expected = y[order][(running >= level - 1e-9).argmax(axis=1)]
        assert_array_equal(forest.predict_quantiles(X, level), expected)


def test_quantiles_after_a_warm_start_and_a_pickle():
    X, y = make_data(300)
    grown = CGForestRegressor(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    grown.set_params(n_estimators=8).fit(X, y)
    whole = CGForestRegressor(n_estimators=8, random_state=0).fit(X, y)
    same_bytes(grown, whole)
    expected = whole.predict_quantiles(X, [0.3, 0.6])
    assert_array_equal(grown.predict_quantiles(X, [0.3, 0.6]), expected)
    again = pickle.loads(pickle.dumps(grown))
    assert_array_equal(again.predict_quantiles(X, [0.3, 0.6]), expected)


# --- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [CGTreeRegressor(), CGForestRegressor(n_estimators=2)]
)
@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({"criterion": "poisson"}, lambda y: -y, "criterion='poisson' requires y >= 0"),
        ({"criterion": "poisson"}, lambda y: y * 0, "at least one positive value"),
        ({}, lambda y: np.where(y > 10, np.nan, y), "y contains NaN"),
        ({}, lambda y: np.where(y > 10, -np.inf, y), "y contains infinity"),
        ({}, lambda y: np.array(["blue"] * len(y)), "Classifier"),
        ({}, lambda y: y[:7], "inconsistent"),
        ({}, lambda y: y * 1j, "Complex"),
        ({}, lambda y: y[:, None, None], "dimensions"),
        ({}, lambda y: np.where(y > 10, 1e308, -1e308), "exceed float64"),
        ({}, lambda y: None, "y"),
    ],
)
def test_bad_targets_are_rejected(estimator, parameters, change, message):
    X, y = make_data(80)
    model = clone(estimator).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, change(y))
    assert not hasattr(model, "trees_")


@pytest.mark.parametrize("quantiles", [0, 1, -0.1, 1.5, [0.5, 2], [], np.nan])
def test_bad_quantiles_are_rejected(quantiles):
    X, y = make_data(50)
    forest = CGForestRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        forest.predict_quantiles(X, quantiles)


@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8", "O"])
def test_kinds_of_numbers_as_targets(dtype):
    X, y = make_data(200)
    whole = y.round()
    one = CGTreeRegressor(random_state=0).fit(X, whole)
    other = CGTreeRegressor(random_state=0).fit(X, whole.astype(dtype))
    same_bytes(one, other)


@pytest.mark.parametrize("scale", [1e-30, 1e20])
def test_importances_do_not_depend_on_the_scale_of_y(scale):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = X[:, 0] + 0.1 * X[:, 1]
    plain = CGTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    scaled = CGTreeRegressor(max_depth=4, random_state=0).fit(X, scale * y)
    np.testing.assert_allclose(
        scaled.feature_importances_, plain.feature_importances_, rtol=1e-5
    )
