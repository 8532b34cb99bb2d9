"""Splits on sets of categories in boosting, against NumPy, for every node."""

import itertools

import numpy as np
import pandas as pd
import pytest
from checks import make

from dics import CGBoostingClassifier, CGBoostingRegressor
from dics._model.trees import NodeSets, Trees

TOLERANCE = 0.02  # gradients are integers with 16 bits


@pytest.fixture(autouse=True)
def few_rows_of_each_category(monkeypatch):
    """Rank categories with few rows, because searching all sets takes long."""
    monkeypatch.setattr("dics._input.category_encoder.LEAST_ROWS", 20)


def make_categories(n, n_categories, seed, missing=0.0):
    """Make categories, and a number that changes the order of their means."""
    rng = np.random.default_rng(seed)
    category = rng.integers(0, n_categories, n).astype(float)
    x = rng.normal(size=n)
    effects = rng.normal(size=(2, n_categories))
    y = effects[(x > 0).astype(int), category.astype(int)] + 0.1 * rng.normal(size=n)
    category[rng.random(n) < missing] = np.nan
    return np.stack([category, x], axis=1), y


def goes_left(tree, node, column):
    """Return a mask of the rows that go left, by a set of ranks or a threshold."""
    members = None if tree.sets is None else tree.sets.members(node)
    if members is None:
        left = column < tree.threshold[node]
    else:
        left = members[np.nan_to_num(column).astype(int)]
    return np.where(np.isnan(column), tree.missing_left[node] == 1, left)


def score(g, h, l2):
    """Return the score of one side."""
    return (g.sum(axis=0) ** 2 / (h.sum(axis=0) + l2)).sum()


def best_set_gain(ranks, g, h, l2):
    """Return the largest gain of any set of categories, NaN on either side."""
    categories = np.unique(ranks[~np.isnan(ranks)])
    best = -np.inf
    for size in range(len(categories)):
        for chosen in itertools.combinations(categories, size):
            for with_missing in (False, True):
                left = np.isin(ranks, chosen)
                left |= np.isnan(ranks) & with_missing
                if 0 < left.sum() < len(left):
                    gain = score(g[left], h[left], l2) + score(g[~left], h[~left], l2)
                    best = max(best, gain - score(g, h, l2))
    return best


def best_cut_gain(x, g, h, l2, thresholds):
    best = -np.inf
    for threshold in thresholds:
        left = x < threshold
        if 0 < left.sum() < len(left):
            gain = score(g[left], h[left], l2) + score(g[~left], h[~left], l2)
            best = max(best, gain - score(g, h, l2))
    return best


def check_nodes(model, X, ranks, g, h, l2):
    """Compare the gain of every split of a tree with the best of all sets and cuts."""
    tree = model.trees_[0]
    thresholds = model.candidates_.thresholds_[1]
    rows_of = {0: np.arange(len(X))}
    n_sets = 0
    for node in range(tree.n_nodes):
        rows = rows_of[node]
        assert tree.n_samples[node] == len(rows)
        feature = tree.feature[node]
        if feature < 0:
            continue
        column = ranks if feature == 0 else X[:, 1]
        left = goes_left(tree, node, column[rows])
        rows_of[tree.left[node]] = rows[left]
        rows_of[tree.left[node] + 1] = rows[~left]
        own = (g[rows], h[rows], l2)
        expected = max(
            best_set_gain(ranks[rows], *own),
            best_cut_gain(X[rows, 1], *own, thresholds),
        )
        found = (
            score(g[rows[left]], h[rows[left]], l2)
            + score(g[rows[~left]], h[rows[~left]], l2)
            - score(*own)
        )
        assert found == pytest.approx(expected, rel=TOLERANCE)
        n_sets += tree.sets is not None and tree.sets.numbers[node] >= 0
    return n_sets


PLAIN = {
    "n_estimators": 1,
    "max_leaf_nodes": 6,
    "min_samples_leaf": 1,
    "max_features": None,
    "sampling": None,
    "smooth": 0.0,
    "min_samples": 1,
    "l2": 0.0,
    "categorical_features": [0],
    "random_state": 0,
}


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_regression_has_the_best_set(seed, missing):
    X, y = make_categories(400, 7, seed, missing)
    model = make(CGBoostingRegressor, **PLAIN, l2_regularization=1.0).fit(X, y)
    ranks = model._check_matrix(X)[:, 0]
    g = (y.mean() - y)[:, None]
    assert check_nodes(model, X, ranks, g, np.ones_like(g), 1.0) > 0


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_have_the_best_set(seed):
    X, y = make_categories(400, 7, seed)
    labels = (y > 0).astype(int)
    model = make(CGBoostingClassifier, **PLAIN, l2_regularization=1.0).fit(X, labels)
    ranks = model._check_matrix(X)[:, 0]
    share = labels.mean()
    g = (share - labels)[:, None]
    h = np.full_like(g, share * (1 - share))
    # The margin changes twice as fast as each of two scores.
    assert check_nodes(model, X, ranks, g, h, 1.0) > 0


def test_many_outputs_order_categories_by_a_direction():
    rng = np.random.default_rng(0)
    category = rng.integers(0, 6, 600)
    y = np.stack([category % 2, -2.0 * (category % 2), np.zeros(600)], axis=1)
    y += 0.1 * rng.normal(size=y.shape)
    model = make(CGBoostingRegressor, **{**PLAIN, "max_leaf_nodes": 2})
    model.fit(category[:, None].astype(float), y)
    left = goes_left(model.trees_[0], 0, model._check_matrix(category[:, None])[:, 0])
    assert len(np.unique(category[left] % 2)) == 1
    assert len(np.unique(category[~left] % 2)) == 1


def set_cuts(order, rows, min_rows, max_categories):
    """Return the prefixes of an order of categories that may be sets."""
    found, pooled = [], 0
    for i in range(1, len(order)):
        pooled += rows[order[i - 1]]
        smaller = min(i, len(order) - i)
        fewest = min(pooled, rows[order[i:]].sum())
        if fewest >= min_rows and smaller <= max_categories:
            found.append(order[:i])
            pooled = 0
    return found


@pytest.mark.parametrize(("min_rows", "max_categories"), [(60, 99), (1, 2), (100, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_limits_exclude_sets(seed, min_rows, max_categories):
    X, y = make_categories(600, 12, seed)
    X = X[:, :1]
    options = {**PLAIN, "max_leaf_nodes": 2}
    options |= {"min_samples": min_rows, "max_categories": max_categories}
    model = make(CGBoostingRegressor, **options).fit(X, y)
    ranks = model._check_matrix(X)[:, 0].astype(int)
    g = y.mean() - y
    rows = np.bincount(ranks)
    order = np.argsort(np.bincount(ranks, g) / rows)
    ones = np.ones_like(g)

    def gain(left):
        return score(g[left], ones[left], 0.0) + score(g[~left], ones[~left], 0.0)

    expected = [
        gain(np.isin(ranks, chosen))
        for chosen in set_cuts(order, rows, min_rows, max_categories)
    ]
    expected += [gain(ranks < cut) for cut in range(1, len(rows))]
    found = gain(goes_left(model.trees_[0], 0, ranks.astype(float)))
    assert found == pytest.approx(max(expected), rel=1e-3)


def is_prefix(chosen, order):
    """Return True if the chosen categories, or the others, come first in an order."""
    inside = np.isin(order, chosen)
    return (np.diff(inside.astype(int)) != 0).sum() == 1


@pytest.mark.parametrize("smooth", [0.0, 200.0])
def test_nodes_smooth_the_order_of_categories(smooth):
    rng = np.random.default_rng(0)
    X, y = make_categories(4000, 30, 0)
    X[:, 0] = np.floor(X[:, 0] * rng.random(len(X)))  # common and rare categories
    y += 2 * rng.normal(size=(2, 30))[(X[:, 1] > 0).astype(int), X[:, 0].astype(int)]
    model = make(CGBoostingRegressor, **PLAIN | {"smooth": smooth}).fit(X, y)
    tree, ranks, g = model.trees_[0], model._check_matrix(X)[:, 0], y.mean() - y
    rows_of, found = {0: np.arange(len(X))}, []
    for node in np.flatnonzero(tree.feature >= 0):
        rows = rows_of[node]
        column = ranks if tree.feature[node] == 0 else X[:, 1]
        left = goes_left(tree, node, column[rows])
        rows_of[tree.left[node]], rows_of[tree.left[node] + 1] = rows[left], rows[~left]
        if tree.sets.numbers[node] < 0:
            continue
        own = ranks[rows].astype(int)
        present, n = np.unique(own, return_counts=True)
        sums = np.bincount(own, g[rows])[present]
        chosen = np.unique(own[left])
        found.append(
            [
                is_prefix(chosen, present[np.argsort(sums / (n + added))])
                for added in (smooth, 200.0 - smooth)
            ]
        )
    by_smooth, by_other = np.transpose(found)
    assert by_smooth.all()
    assert not by_other.all()


def test_categories_without_rows_go_to_the_larger_side():
    X, y = make_categories(300, 6, 1)
    model = make(CGBoostingRegressor, **{**PLAIN, "max_leaf_nodes": 12}).fit(X, y)
    tree = model.trees_[0]
    ranks = model._check_matrix(X)[:, 0]
    rows_of, n_absent = {0: np.arange(len(X))}, 0
    for node in np.flatnonzero(tree.feature >= 0):
        rows = rows_of[node]
        column = ranks if tree.feature[node] == 0 else X[:, 1]
        left = goes_left(tree, node, column[rows])
        rows_of[tree.left[node]], rows_of[tree.left[node] + 1] = rows[left], rows[~left]
        if tree.sets.numbers[node] >= 0:
            absent = np.setdiff1d(np.arange(6), ranks[rows])
            n_absent += len(absent)
            goes = tree.sets.members(node)[absent]
            assert (goes == (2 * left.sum() > len(left))).all()
    assert n_absent > 0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_all_prediction_methods_agree(n_classes):
    X, y = make_categories(3000, 12, 0, missing=0.05)
    X = np.column_stack([X, X[::-1, 1]])
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    options = {"categorical_features": [0], "random_state": 0, "n_estimators": 20}
    options |= {"l2": 1.0, "min_samples": 1}
    models = [
        make(CGBoostingClassifier, n_jobs=n, max_leaf_nodes=leaves, **options).fit(
            X, labels
        )
        for n in (1, 3)
        for leaves in (31, 100)
    ]
    for model, other in zip(models[:2], models[2:], strict=True):
        trees = model.trees_
        assert (trees.sets.numbers >= 0).any()
        assert trees.nodes.tobytes() == other.trees_.nodes.tobytes()
        np.testing.assert_array_equal(trees.sets.words, other.trees_.sets.words)
        # Losses of training rows, computed from bin indices, equal those of raw rows.
        shares = model.predict_proba(X)
        loss = -np.log(shares[np.arange(len(X)), labels]).mean()
        assert -model.train_score_[-1] == pytest.approx(loss, rel=1e-4)
        # A single row, leaves from apply, and contributions.
        np.testing.assert_array_equal(model.predict_proba(X[:1]), shares[:1])
        numbers = trees.leaf_value_rows(model.apply(X))
        added = trees.leaf_values[numbers].sum(axis=1) + model._start
        scores = model.decision_function(X).reshape(len(X), -1)
        np.testing.assert_allclose(added, scores, atol=1e-4)
        contributions = model.predict_contributions(X).reshape(len(X), 4, -1)
        np.testing.assert_allclose(contributions.sum(axis=1), scores, atol=1e-4)


def test_contributions_of_sets_are_shapley_values():
    X, y = make_categories(500, 6, 0, missing=0.1)
    frame = pd.DataFrame(X, columns=["category", "x"])
    model = make(
        CGBoostingRegressor, **{**PLAIN, "n_estimators": 1, "max_leaf_nodes": 8}
    )
    model.fit(frame, y)
    tree = model.trees_[0]
    ranks = model._check_matrix(frame)

    def value(row, known, node=0):
        if tree.feature[node] < 0:
            return float(tree.leaf_values[tree.left[node], 0])
        left = tree.left[node]
        f = tree.feature[node]
        if f in known:
            goes = goes_left(tree, node, row[f : f + 1])[0]
            return value(row, known, left if goes else left + 1)
        w = tree.weight[left : left + 2].astype(float)
        both = [value(row, known, left), value(row, known, left + 1)]
        return float(np.dot(w, both) / w.sum())

    contributions = model.predict_contributions(frame)
    for row, found in zip(ranks[:30], contributions[:30], strict=True):
        none, first, second, both = (
            value(row, known) for known in ((), (0,), (1,), (0, 1))
        )
        expected = [
            (first - none + both - second) / 2,
            (second - none + both - first) / 2,
        ]
        np.testing.assert_allclose(found[:2], expected, atol=1e-5)


def test_missing_sets_are_rejected():
    X, y = make_categories(300, 6, 1)
    trees = make(CGBoostingRegressor, **PLAIN).fit(X, y).trees_
    fields = {**vars(trees), "sets": NodeSets(trees.sets.numbers + 1, trees.sets.words)}
    with pytest.raises(ValueError, match="set"):
        Trees(**fields)


def test_models_without_categories_have_no_sets():
    X, y = make_categories(300, 6, 1)
    assert CGBoostingRegressor(n_estimators=2).fit(X, y).trees_.sets is None
