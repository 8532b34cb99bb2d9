"""`max_features` of a single tree: features are sampled at each node."""

import io

import numpy as np
import pytest
from checks import UNTRIED, digest, make
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import dics
from dics import (
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
)

rng = np.random.default_rng(1)
X = rng.normal(size=(500, 9))
X[:, 4] = 1.0
X[rng.random(X.shape) < 0.03] = np.nan
T = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=500)
Y = np.digitize(T, [0, 1])
PAIRS = [
    (CGTreeClassifier, CGForestClassifier, DecisionTreeClassifier, Y),
    (CGTreeRegressor, CGForestRegressor, DecisionTreeRegressor, T),
]


@pytest.fixture(params=PAIRS, ids=["classes", "numbers"])
def kind(request):
    return request.param


@pytest.mark.parametrize(
    ("asked", "drawn"),
    [("sqrt", 3), ("log2", 3), (2, 2), (20, 9), (0.5, 4), (1.0, 9), (None, 9)],
)
def test_number_of_features(kind, asked, drawn):
    ours, _, _, y = kind
    tree = ours(max_features=asked)
    assert not hasattr(tree, "max_features_")
    assert tree.fit(X, y).max_features_ == drawn
    assert tree.set_params(max_features=1).max_features_ == drawn  # of the fit


@pytest.mark.parametrize(
    "options",
    [
        {"max_features": 1},
        {"max_features": "sqrt", "max_leaf_nodes": 20},
        {"max_features": 0.5, "max_candidates": 12, "min_samples_leaf": 4},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_tree_as_in_a_forest(kind, options, weighted):
    """Another test compares the samples of forests with a reference."""
    ours, forest, _, y = kind
    weights = rng.random(500) if weighted else None
    tree = make(ours, **options, random_state=5).fit(X, y, weights)
    grown = make(
        forest,
        n_estimators=1,
        bootstrap=False,
        **{**UNTRIED, **options},
        random_state=5,
    ).fit(X, y, weights)
    assert tree.trees_.nodes.tobytes() == grown.trees_.nodes.tobytes()
    assert tree.trees_.leaf_values.tobytes() == grown.trees_.leaf_values.tobytes()


def test_monotonic_constraints_hold(kind):
    ours, _, _, y = kind
    y = (y > 0).astype(int) if ours is CGTreeClassifier else y
    tree = ours(
        max_features=3, monotonic_cst=[1, 0, 0, 0, 0, 0, 0, 0, 0], random_state=0
    ).fit(X, y)
    rows = np.repeat(np.nan_to_num(X[:40]), 30, axis=0)
    rows[:, 0] = np.tile(np.linspace(-3, 3, 30), 40)
    said = tree.predict_proba(rows)[:, 1] if ours is CGTreeClassifier else None
    said = (tree.predict(rows) if said is None else said).reshape(40, 30)
    assert (np.diff(said, axis=1) >= -1e-7).all()
    assert (np.diff(said, axis=1) > 0).any()


def test_samples_depend_on_node_and_seed(kind):
    ours, _, _, y = kind
    trees = [ours(max_features=1, random_state=s).fit(X, y) for s in (0, 0, 1)]
    assert digest(trees[0]) == digest(trees[1]) != digest(trees[2])
    used = set(trees[0].trees_.feature[trees[0].trees_.inner])
    assert used == set(range(9)) - {4}  # all but the constant one


def test_all_features_make_the_same_tree(kind):
    ours, _, _, y = kind
    fits = [ours(max_features=m, random_state=0).fit(X, y) for m in (None, 9, 1.0)]
    assert len({f.trees_.nodes.tobytes() for f in fits}) == 1


def test_in_a_file(kind):
    ours, _, _, y = kind
    tree = ours(max_features="sqrt", max_leaf_nodes=9, random_state=0).fit(X, y)
    file = io.BytesIO()
    tree.save(file)
    file.seek(0)
    loaded = dics.load(file)
    assert loaded.max_features == "sqrt"
    assert (loaded.max_leaf_nodes, loaded.max_features_) == (9, 3)
    assert digest(loaded) == digest(tree)


@pytest.mark.parametrize(
    "bad",
    [
        {"max_features": 0},
        {"max_features": 1.5},
        {"max_features": "auto"},
        {"max_leaf_nodes": 1},
        {"max_leaf_nodes": 2.5},
    ],
)
def test_same_errors_as_scikit_learn(kind, bad):
    ours, _, theirs, y = kind
    with pytest.raises(ValueError, match="must be") as expected:
        theirs(**bad).fit(X, y)
    with pytest.raises(ValueError, match="must be") as error:
        make(ours, **bad).fit(X, y)
    message = str(expected.value).replace(theirs.__name__, ours.__name__)
    assert options(str(error.value)) == options(message)


def options(message):
    """Split a message into the text around the names, which have no fixed order."""
    before, _, after = message.partition("{")
    names, _, after = after.partition("}")
    return before, sorted(names.split(", ")), after


def test_trees_of_a_forest_report_max_features(kind):
    _, forest, _, y = kind
    tree = forest(n_estimators=2, max_features=4, max_leaf_nodes=6).fit(X, y)[0]
    assert (tree.max_features, tree.max_features_, tree.max_leaf_nodes) == (4, 4, 6)
