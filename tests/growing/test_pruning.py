"""Cost-complexity pruning, compared with scikit-learn."""

import io

import numpy as np
import pytest
from checks import digest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import dics
from dics import (
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
)
from dics._growing.pruning import _cut_off, prune, weakest_links
from dics._model.checks import check_trees
from dics._model.leaf_rows import LeafRows
from dics._model.trees import NODE

rng = np.random.default_rng(0)
# With few values, both libraries search the same thresholds and grow the same tree.
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


@pytest.fixture
def table():
    rows = rng.normal(size=(800, 6))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    y = np.nan_to_num(rows[:, 0]) + rng.normal(size=800)
    return rows, y


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weights"])
@pytest.mark.parametrize("max_depth", [3, None])
def test_path_equals_scikit_learn(pair, weights, max_depth):
    ours, theirs, y = pair
    ours = ours(max_depth=max_depth, random_state=0)
    theirs = theirs(max_depth=max_depth, random_state=0)
    path = ours.cost_complexity_pruning_path(X, y, weights)
    expected = theirs.cost_complexity_pruning_path(X, y, weights)
    np.testing.assert_allclose(path.ccp_alphas, expected.ccp_alphas, atol=1e-6)
    np.testing.assert_allclose(path.impurities, expected.impurities, atol=1e-5)


def test_pruned_trees_equal_scikit_learn(pair):
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
    check_trees(small.trees_, NODE)
    path = whole.cost_complexity_pruning_path(rows, y)
    assert (np.diff(path.ccp_alphas) >= -1e-9).all()
    assert (np.diff(path.impurities) >= -1e-9).all()


@pytest.mark.parametrize("ours", [CGTreeClassifier, CGTreeRegressor])
def test_every_alpha_of_the_path_prunes_its_node(ours, table):
    """Compare one pass from the leaves up with a search for the weakest links."""
    rows, y = table
    y = np.digitize(y, [-1, 0, 1]) if ours is CGTreeClassifier else y
    whole = ours(max_depth=9, random_state=0).fit(rows, y).trees_
    n_leaves = whole.n_leaves
    left = {0: n_leaves}
    stubs = np.zeros(whole.n_nodes, dtype=bool)
    for alpha, _, node in weakest_links(whole):
        stubs[node] = True
        left[alpha] = _cut_off(whole, stubs).trees.n_leaves
    assert len(left) > 50
    for alpha, expected in left.items():
        found = prune(whole, alpha).trees.n_leaves
        assert found <= expected
        # Links that are equally weak, except for rounding, are pruned together.
        near = [n for a, n in left.items() if a <= alpha * (1 + 1e-6) + 1e-11]
        assert found >= min(near)


FORESTS = {
    "classes": (CGForestClassifier, RandomForestClassifier, Y),
    "numbers": (CGForestRegressor, RandomForestRegressor, T),
}


@pytest.mark.parametrize("kind", FORESTS)
def test_forests_without_sampling_equal_scikit_learn(kind):
    ours, theirs, y = FORESTS[kind]
    for alpha in (1e-4, 0.003, 0.01, 0.1):
        options = {"bootstrap": False, "ccp_alpha": alpha, "random_state": 0}
        mine = ours(n_estimators=2, **options).fit(X, y)
        other = theirs(2, **options).fit(X, y)
        leaves = [tree.get_n_leaves() for tree in other.estimators_]
        assert [tree.get_n_leaves() for tree in mine] == leaves
        predict = "predict_proba" if kind == "classes" else "predict"
        np.testing.assert_allclose(
            getattr(mine, predict)(X), getattr(other, predict)(X), atol=1e-5
        )


@pytest.mark.parametrize("ours", [CGForestClassifier, CGForestRegressor])
def test_each_tree_of_a_forest_is_pruned(ours, table):
    """Each tree is pruned like a single tree; a warm start gives the same forest."""
    rows, y = table
    y = np.digitize(y, [-1, 0, 1]) if ours is CGForestClassifier else y
    whole = ours(n_estimators=4, random_state=0).fit(rows, y)
    alpha = 0.003
    forest = ours(n_estimators=4, ccp_alpha=alpha, random_state=0).fit(rows, y)
    check_trees(forest.trees_, NODE)
    for before, after in zip(whole, forest, strict=True):
        assert after.ccp_alpha == alpha
        alone = prune(before.trees_, alpha).trees
        assert 1 < alone.n_leaves < before.get_n_leaves()
        assert alone.nodes.tobytes() == after.trees_.nodes.tobytes()
        assert alone.leaf_values.tobytes() == after.trees_.leaf_values.tobytes()
    warm = ours(n_estimators=2, ccp_alpha=alpha, warm_start=True, random_state=0).fit(
        rows, y
    )
    warm.set_params(n_estimators=4).fit(rows, y)
    assert digest(warm) == digest(forest)
    file = io.BytesIO()
    forest.save(file)
    file.seek(0)
    assert digest(dics.load(file)) == digest(forest)


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_quantiles_of_a_pruned_forest(bootstrap, criterion, table):
    """Leaves store the rows that reach them and predict their mean or median."""
    rows, y = table
    weights = None if bootstrap else rng.integers(1, 4, size=800).astype(float)
    forest = CGForestRegressor(
        n_estimators=2,
        bootstrap=bootstrap,
        criterion=criterion,
        max_depth=5,
        ccp_alpha=0.01,
        random_state=0,
    ).fit(rows, y, weights)
    numbers = forest.trees_.leaf_value_rows(forest.apply(rows))
    kept = forest._leaf_rows
    for t, drawn in enumerate(forest.estimators_samples_):
        for leaf in np.unique(numbers[:, t]):
            own = drawn[numbers[drawn, t] == leaf]
            held = kept.rows[kept.starts[leaf] : kept.starts[leaf + 1]]
            assert sorted(held) == sorted(own)
            repeats = np.ones(len(own), int) if bootstrap else weights[own].astype(int)
            average = np.median if criterion == "absolute_error" else np.mean
            expected = average(np.repeat(y[own], repeats))
            assert forest.trees_.leaf_values[leaf, 0] == pytest.approx(expected)


def test_leaves_of_a_pruned_tree_predict_medians(table):
    rows, y = table
    weights = rng.integers(1, 4, size=800)
    tree = CGTreeRegressor(
        criterion="absolute_error", max_depth=5, ccp_alpha=0.01, random_state=0
    ).fit(rows, np.stack([y, -y], axis=1), weights)
    leaves = tree.apply(rows)
    assert 1 < len(np.unique(leaves)) < 20
    for leaf in np.unique(leaves):
        own = leaves == leaf
        median = np.median(np.repeat(y[own], weights[own]))
        assert tree.predict(rows[own])[0] == pytest.approx([median, -median])


def test_medians_of_leaves():
    y = np.array([3.0, 1.0, 2.0, 7.0, 5.0])
    rows = LeafRows.from_leaves(np.array([0, 0, 1, 1, 1]), 2)
    assert rows.medians(y, None).tolist() == [2.0, 5.0]
    assert rows.medians(y, np.array([1.0, 3, 2, 1, 1])).tolist() == [1.0, 3.5]
