"""Cost-complexity pruning, beside scikit-learn's."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dics import CGTreeClassifier, CGTreeRegressor

rng = np.random.default_rng(0)
# Few values: every cut is in the dictionary, and both libraries grow one tree.
X = rng.integers(0, 40, size=(300, 1)).astype(float)
Y = (np.sin(X[:, 0]) + rng.normal(size=300) > 0).astype(int) + (X[:, 0] > 30)
T = np.sin(X[:, 0]) + rng.normal(size=300)
WEIGHTS = rng.integers(1, 4, size=300).astype(float)

PAIRS = {
    "classes": (CGTreeClassifier, DecisionTreeClassifier, Y),
    "numbers": (CGTreeRegressor, DecisionTreeRegressor, T),
}


@pytest.fixture(params=PAIRS)
def pair(request):
    return PAIRS[request.param]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weights"])
@pytest.mark.parametrize("max_depth", [3, None])
def test_the_path_is_that_of_scikit_learn(pair, weights, max_depth):
    ours, theirs, y = pair
    ours = ours(max_depth=max_depth, random_state=0)
    theirs = theirs(max_depth=max_depth, random_state=0)
    path = ours.cost_complexity_pruning_path(X, y, weights)
    expected = theirs.cost_complexity_pruning_path(X, y, weights)
    np.testing.assert_allclose(path.ccp_alphas, expected.ccp_alphas, atol=1e-6)
    np.testing.assert_allclose(path.impurities, expected.impurities, atol=1e-5)


def test_pruned_trees_are_those_of_scikit_learn(pair):
    ours, theirs, y = pair
    path = theirs(random_state=0).cost_complexity_pruning_path(X, y)
    for alpha in np.unique(path.ccp_alphas.round(9))[::3] + 1e-5:
        mine = ours(ccp_alpha=alpha, random_state=0).fit(X, y)
        other = theirs(ccp_alpha=alpha, random_state=0).fit(X, y)
        assert mine.get_n_leaves() == other.get_n_leaves()
        assert mine.get_depth() == other.get_depth()
        predict = "predict_proba" if hasattr(mine, "predict_proba") else "predict"
        np.testing.assert_allclose(
            getattr(mine, predict)(X), getattr(other, predict)(X), atol=1e-5
        )
        np.testing.assert_allclose(
            mine.feature_importances_, other.feature_importances_, atol=1e-5
        )


def test_everything_can_be_pruned(pair):
    model, _, y = pair
    tree = model(ccp_alpha=10.0, random_state=0).fit(X, y)
    assert tree.get_n_leaves() == 1
    assert len(tree.predict(X)) == 300


def test_many_features_and_missing_values():
    rows = rng.normal(size=(2000, 10))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    y = (np.nan_to_num(rows[:, 0]) > 0).astype(int) ^ (rng.random(2000) < 0.2)
    whole = CGTreeClassifier(random_state=0).fit(rows, y)
    small = CGTreeClassifier(ccp_alpha=0.01, random_state=0).fit(rows, y)
    assert small.get_n_leaves() < 10 < whole.get_n_leaves()
    assert small.score(rows, y) > 0.75
    small.trees_._check()
    path = whole.cost_complexity_pruning_path(rows, y)
    assert (np.diff(path.ccp_alphas) >= -1e-9).all()
    assert (np.diff(path.impurities) >= -1e-9).all()
