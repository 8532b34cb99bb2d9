"""`max_leaf_nodes` of trees and forests: splits with the largest gain come first."""

import heapq

import numpy as np
import pytest
from checks import UNTRIED
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dics import (
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    ForestOptions,
    TreeOptions,
)

pytestmark = pytest.mark.core

rng = np.random.default_rng(0)
N = 3000
X = rng.normal(size=(N, 6)).astype(np.float32)
X[rng.random(X.shape) < 0.05] = np.nan
FILLED = np.nan_to_num(X, nan=0.3)
TARGET = np.exp(FILLED[:, 0] + FILLED[:, 1] * FILLED[:, 2]) + rng.random(N)
CLASSES = np.digitize(TARGET, [0.7, 1.5, 3])
TWO = (TARGET > 1.5).astype(int)
WEIGHTS = rng.integers(1, 5, size=N).astype(float)


def best_first(trees, max_leaf_nodes):
    """Return the nodes of a whole tree that are split before the limit is reached.

    The gain of a split is the decrease of the weighted impurity.
    """
    cost = trees.weight.astype(float) * trees.impurity
    left = trees.left

    def gain(node):
        return cost[node] - cost[left[node]] - cost[left[node] + 1]

    is_split, heap = set(), []
    nodes = [0]
    while True:
        for node in nodes:
            if trees.feature[node] >= 0:
                heapq.heappush(heap, (-gain(node), node))
        if not heap or len(is_split) + 1 == max_leaf_nodes:
            return is_split
        _, node = heapq.heappop(heap)
        is_split.add(node)
        nodes = [left[node], left[node] + 1]


def paths(trees, is_split):
    """Return the splits of a tree by their position."""
    found, open_nodes = {}, [(0, "")]
    while open_nodes:
        node, path = open_nodes.pop()
        if not is_split(node):
            found[path] = "leaf", int(trees.n_samples[node])
            continue
        found[path] = int(trees.feature[node]), float(trees.threshold[node])
        left = int(trees.left[node])
        open_nodes += [(left, path + "l"), (left + 1, path + "r")]
    return found


def check_limited(limited, whole, max_leaf_nodes):
    chosen = best_first(whole, max_leaf_nodes)
    expected = paths(whole, chosen.__contains__)
    assert paths(limited, lambda node: limited.feature[node] >= 0) == expected
    assert limited.n_leaves == min(max_leaf_nodes, whole.n_leaves)


TREES = {
    "gini": (CGTreeClassifier(), CLASSES),
    "entropy": (CGTreeClassifier(criterion="entropy"), CLASSES),
    "not renewed": (
        CGTreeClassifier(advanced=TreeOptions(renew_thresholds=False)),
        CLASSES,
    ),
    "renewed": (CGTreeClassifier(advanced=TreeOptions(renew_thresholds=True)), CLASSES),
    "some candidates": (
        CGTreeClassifier(advanced=TreeOptions(max_candidates=40)),
        CLASSES,
    ),
    "few candidates": (
        CGTreeClassifier(advanced=TreeOptions(max_candidates=5)),
        CLASSES,
    ),
    "some features": (CGTreeClassifier(max_features=2), CLASSES),
    "limits": (
        CGTreeClassifier(max_depth=7, min_samples_leaf=9, min_samples_split=40),
        CLASSES,
    ),
    "monotonic classes": (
        # Splits without gain have no order and are left out.
        CGTreeClassifier(
            monotonic_cst=[1, 0, 0, 0, 0, 0],
            advanced=TreeOptions(min_impurity_decrease=1e-5),
        ),
        TWO,
    ),
    "numbers": (CGTreeRegressor(min_samples_leaf=2), TARGET),
    "numbers, not renewed": (
        CGTreeRegressor(
            advanced=TreeOptions(renew_thresholds=False), min_samples_leaf=2
        ),
        TARGET,
    ),
    "numbers, candidates": (
        CGTreeRegressor(advanced=TreeOptions(max_candidates=20)),
        TARGET,
    ),
    "numbers, features": (
        CGTreeRegressor(max_features=0.5, min_samples_leaf=2),
        TARGET,
    ),
    "poisson": (CGTreeRegressor(criterion="poisson", min_samples_leaf=2), TARGET),
    "absolute": (CGTreeRegressor(criterion="absolute_error", max_depth=8), TARGET),
    "monotonic numbers": (
        CGTreeRegressor(monotonic_cst=[1, 0, 0, 0, 0, -1], min_samples_leaf=5),
        TARGET,
    ),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weights"])
@pytest.mark.parametrize("name", TREES)
def test_best_splits_of_the_whole_tree(name, weights):
    model, y = TREES[name]
    model.set_params(random_state=3, max_leaf_nodes=None)
    whole = model.fit(X, y, weights).trees_
    for max_leaf_nodes in (2, 3, 17, 60):
        limited = model.set_params(max_leaf_nodes=max_leaf_nodes).fit(X, y, weights)
        check_limited(limited.trees_, whole, max_leaf_nodes)
        assert limited.get_n_leaves() <= max_leaf_nodes


@pytest.mark.parametrize("name", TREES)
def test_limit_that_is_not_reached(name):
    """Best-first and depth-first growth give bit-identical trees."""
    model, y = TREES[name]
    model.set_params(random_state=3, max_leaf_nodes=None)
    whole = model.fit(X, y).trees_
    assert whole.n_leaves < N - 1
    limited = model.set_params(max_leaf_nodes=N - 1).fit(X, y).trees_
    for field in ("nodes", "missing_left", "weight", "impurity", "leaf_values"):
        assert getattr(limited, field).tobytes() == getattr(whole, field).tobytes()


@pytest.mark.parametrize(
    "forest",
    [
        CGForestClassifier(n_estimators=3),
        CGForestClassifier(n_estimators=3, max_features=None),
        CGForestClassifier(
            n_estimators=3,
            advanced=ForestOptions(feature_sampling="tree"),
            max_features=3,
        ),
        CGForestClassifier(
            n_estimators=3,
            advanced=ForestOptions(max_candidates=10),
            class_weight="balanced_subsample",
        ),
        CGForestRegressor(n_estimators=3),
        CGForestRegressor(n_estimators=3, bootstrap=False, max_features=None),
    ],
)
def test_trees_of_a_forest(forest):
    y = CLASSES if isinstance(forest, CGForestClassifier) else TARGET
    if forest.max_features == "auto":
        forest.set_params(**UNTRIED)
    forest.set_params(splitter="best", min_samples_leaf=1, random_state=3)
    whole = forest.fit(X, y).trees_
    forest.set_params(max_leaf_nodes=17).fit(X, y)
    for t, tree in enumerate(forest):
        check_limited(tree.trees_, whole[t], 17)
    if isinstance(forest, CGForestRegressor):
        low, high = forest.predict_quantiles(X[:50], [0.1, 0.9]).T
        assert (low <= high).all()


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", TREES)
def test_any_n_jobs(name):
    model, y = TREES[name]
    noise = np.random.default_rng(1).normal(size=(10 * N, 6)).astype(np.float32)
    many = np.tile(X, (10, 1)) + noise / 9
    y = np.tile(y, 10)
    if name == "absolute":
        many, y = many[:N], y[:N]
    fits = [
        clone(model)
        .set_params(random_state=3, max_leaf_nodes=40, n_jobs=n)
        .fit(many, y)
        for n in (1, 2, 7)
    ]
    first = fits[0].trees_
    assert 30 < first.n_leaves <= 40  # constraints can leave no split
    for fitted in fits[1:]:
        assert fitted.trees_.nodes.tobytes() == first.nodes.tobytes()
        assert fitted.trees_.leaf_values.tobytes() == first.leaf_values.tobytes()


# With few values, both libraries search the same thresholds and grow the same tree.
FEW = rng.integers(0, 40, size=(300, 1)).astype(float)
NOISE = np.sin(FEW[:, 0]) + rng.normal(size=300)


@pytest.mark.parametrize("max_depth", [4, None])
@pytest.mark.parametrize("max_leaf_nodes", [2, 5, 12, 30])
def test_as_in_scikit_learn(max_leaf_nodes, max_depth):
    limits = {"max_leaf_nodes": max_leaf_nodes, "max_depth": max_depth}
    for ours, theirs, y in (
        (CGTreeClassifier, DecisionTreeClassifier, (NOISE > 0).astype(int)),
        (CGTreeRegressor, DecisionTreeRegressor, NOISE),
    ):
        mine = ours(**limits, random_state=0).fit(FEW, y)
        other = theirs(**limits, random_state=0).fit(FEW, y)
        assert mine.get_n_leaves() == other.get_n_leaves()
        np.testing.assert_allclose(mine.predict(FEW), other.predict(FEW), atol=1e-6)


@pytest.mark.parametrize("name", ["max_leaf_nodes", "max_features"])
def test_splits_used_once_need_depth_first(name):
    tree = CGTreeClassifier(advanced=TreeOptions(reuse_splits=False), **{name: 3})
    with pytest.raises(ValueError, match=f"{name}=3 needs advanced.reuse_splits=True"):
        tree.fit(X, CLASSES)
