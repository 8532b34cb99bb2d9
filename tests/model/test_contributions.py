"""Contributions of features, by the definition of Shapley values."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from sklearn.datasets import make_classification

import dics

X, Y = make_classification(
    300, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1,
    random_state=0,
)  # fmt: skip
X[::6, 1] = np.nan
X[5, 0], X[6, 0] = np.inf, -np.inf
T = np.nan_to_num(X[:, 0], posinf=3, neginf=-3) * 2 + Y
T2 = np.column_stack([T, Y * 1.0])
WEIGHTS = np.arange(300) % 3 + 0.5

MODELS = {
    "tree": dics.CGTreeClassifier(max_depth=4, random_state=0),
    "forest": dics.CGForestClassifier(n_estimators=4, max_depth=6, random_state=0),
    "hard forest": dics.CGForestClassifier(
        n_estimators=4, advanced=dics.ForestOptions(voting="hard"), random_state=0
    ),
    "boosting": dics.CGBoostingClassifier(
        n_estimators=5, min_samples_leaf=5, random_state=0
    ),
    "boosting of two": dics.CGBoostingClassifier(
        n_estimators=5, min_samples_leaf=5, random_state=0
    ),
    "tree regressor": dics.CGTreeRegressor(max_depth=5, random_state=0),
    "forest regressor": dics.CGForestRegressor(n_estimators=3, random_state=0),
    "targets": dics.CGBoostingRegressor(n_estimators=5, random_state=0),
    "poisson": dics.CGBoostingRegressor(loss="poisson", n_estimators=5, random_state=0),
    "quantile": dics.CGBoostingRegressor(
        loss="quantile", n_estimators=5, random_state=0
    ),
}


def fitted(name):
    target = {
        "boosting of two": Y == 1,
        "targets": T2,
        "forest regressor": T2,
        "tree regressor": T,
        "poisson": np.exp(0.3 * T),
        "quantile": T,
    }.get(name, Y)
    return MODELS[name].fit(X, target, sample_weight=WEIGHTS)


def predicted(model, rows):
    """Return the expected sums of contributions, [row][output]."""
    if isinstance(model, dics.CGBoostingClassifier):
        found = model.decision_function(rows)
    elif hasattr(model, "predict_proba"):
        found = model.predict_proba(rows)
    else:
        found = model.predict(rows)
        found = np.log(found) if getattr(model, "loss", "") == "poisson" else found
    return found.reshape(len(rows), -1)


@pytest.mark.parametrize("name", MODELS)
def test_contributions_sum_up_to_the_prediction(name):
    model = fitted(name)
    added = model.predict_contributions(X)
    n_outputs = predicted(model, X).shape[1]
    assert added.shape == ((300, 6) if n_outputs == 1 else (300, 6, n_outputs))
    total = added.reshape(300, 6, n_outputs).sum(axis=1)
    np.testing.assert_allclose(total, predicted(model, X), rtol=1e-6, atol=1e-6)


def expected_value(tree, values, row, known, node=0):
    """Return the expected prediction of a tree if some features are known."""
    feature = tree.feature[node]
    if feature < 0:
        return values[node]
    left = tree.left[node]
    if feature in known:
        x = row[feature]
        goes_left = tree.missing_left[node] if np.isnan(x) else x < tree.threshold[node]
        return expected_value(tree, values, row, known, left if goes_left else left + 1)
    weights = tree.weight[left : left + 2].astype(float)
    shares = weights / weights.sum()
    return sum(
        share * expected_value(tree, values, row, known, child)
        for share, child in zip(shares, (left, left + 1), strict=True)
    )


def shapley(tree, values, row, n_features):
    """Return Shapley values by definition, from all sets of features."""
    found = np.zeros((n_features + 1, values.shape[1]))
    found[-1] = expected_value(tree, values, row, set())
    for f in range(n_features):
        others = [g for g in range(n_features) if g != f]
        for size in range(n_features):
            weight = (
                factorial(size) * factorial(n_features - 1 - size)
                / factorial(n_features)
            )  # fmt: skip
            for known in map(set, combinations(others, size)):
                found[f] += weight * (
                    expected_value(tree, values, row, known | {f})
                    - expected_value(tree, values, row, known)
                )
    return found


@pytest.mark.parametrize("name", ["tree", "boosting", "forest", "tree regressor"])
def test_contributions_are_shapley_values(name):
    model = fitted(name)
    rows = X[[0, 1, 5, 6, 12, 17]]
    table, of_nodes = model.trees_._leaf_table(hard=False)
    expected = np.zeros((len(rows), 6, table.shape[1]))
    for t in range(len(model.trees_)):
        begin, end = model.trees_.node_starts[t : t + 2]
        values = table[of_nodes[begin:end]]
        for i, row in enumerate(rows):
            expected[i] += shapley(model.trees_[t], values, row, 5)
    if isinstance(model, dics.CGBoostingClassifier):
        expected[:, -1] += model._start
    else:
        expected /= len(model.trees_)
    found = model.predict_contributions(rows).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["forest", "boosting of two"])
def test_any_n_jobs_and_memory_order(name):
    model = fitted(name)
    expected = model.predict_contributions(X)
    for n_jobs in (1, 3):
        model.set_params(n_jobs=n_jobs)
        for rows in (np.asfortranarray(X), X[::-1][::-1], np.repeat(X, 2, axis=0)[::2]):
            np.testing.assert_array_equal(model.predict_contributions(rows), expected)
    for begin in range(0, 300, 7):
        part = model.predict_contributions(X[begin : begin + 7])
        np.testing.assert_array_equal(part, expected[begin : begin + 7])


def test_a_model_without_rounds():
    model = dics.CGBoostingRegressor().fit(X, np.full(300, 2.5))
    added = model.predict_contributions(X)
    np.testing.assert_array_equal(added[:, :-1], 0)
    np.testing.assert_allclose(added[:, -1], 2.5)


def test_features_that_are_never_used():
    wide = np.hstack([X, np.zeros((300, 3))])
    model = dics.CGTreeClassifier(max_depth=3, random_state=0).fit(wide, Y)
    assert (model.predict_contributions(wide)[:, 5:8] == 0).all()


def test_deep_trees():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 30))
    y = rows @ rng.normal(size=30) + rng.normal(size=3000)
    model = dics.CGTreeRegressor(random_state=0).fit(rows, y)
    added = model.predict_contributions(rows[:50])
    np.testing.assert_allclose(
        added.sum(axis=1), model.predict(rows[:50]), rtol=1e-7, atol=1e-7
    )
