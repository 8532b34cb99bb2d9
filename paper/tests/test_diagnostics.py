"""Gains by depth, and the gap between candidate splits and the best ones."""

from itertools import product
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dics import (
    CentroidCandidates,
    CGBoostingClassifier,
    CGForestClassifier,
    CGTreeClassifier,
    QuantileCandidates,
    TreeOptions,
)
from dics_paper.datasets import make_paper_synthetic
from dics_paper.diagnostics import (
    DepthComparison,
    DepthGain,
    compare_by_depth,
    compare_root_splits,
    compare_splits,
    gain_by_depth,
    gap_bound,
    root_split_gap,
)

TREES = [
    CGTreeClassifier(max_depth=5, random_state=0),
    CGTreeClassifier(max_depth=5, criterion="entropy", random_state=0),
    CGTreeClassifier(advanced=TreeOptions(max_candidates=20), random_state=0),
    DecisionTreeClassifier(max_depth=5, random_state=0),
    DecisionTreeClassifier(max_depth=5, criterion="entropy", random_state=0),
]


def gini(y):
    _, counts = np.unique(y, return_counts=True)
    return 1 - ((counts / len(y)) ** 2).sum() if len(y) else 0.0


def naive_gain(y, left):
    below = sum(side.mean() * gini(y[side]) for side in (left, ~left))
    return gini(y) - below


@pytest.fixture(scope="module")
def data():
    return make_paper_synthetic(400, 12, 3, random_state=0)


# --- by depth -------------------------------------------------------------------------


def naive_by_depth(tree, X, y):
    """Return gains by the definitions of the paper, from the rows of each node."""
    path = tree.decision_path(X).toarray().astype(bool)
    leaves = np.unique(tree.apply(X))
    rows = {}
    for node in range(path.shape[1]):
        inside = path[:, node]
        if node in leaves or not inside.any():
            continue
        depth = int(path[inside][0, :node].sum()) + 1
        below = path[inside][:, node + 1 :].argmax(axis=1)  # the next node on the path
        gain = naive_gain(y[inside], below == below[0])
        rows.setdefault(depth, []).append((inside.mean(), gain))
    return [(len(rows[d]), *np.array(rows[d]).T) for d in sorted(rows)]


@pytest.mark.parametrize("tree", TREES)
def test_gains_follow_the_definitions(data, tree):
    X, y = data
    tree.fit(X, y)
    gains = gain_by_depth(tree)
    total = 0.0
    for depth, (n_splits, shares, local) in enumerate(naive_by_depth(tree, X, y)):
        row = gains[depth]
        total += (shares * local).sum()
        assert (row.depth, row.n_splits) == (depth + 1, n_splits)
        assert row.mean_gain == pytest.approx(local.mean(), abs=1e-6)
        assert row.weighted_gain == pytest.approx((shares * local).sum(), abs=1e-6)
        assert row.cumulative_gain == pytest.approx(total, abs=1e-6)
    assert len(gains) == tree.get_depth()


def test_a_full_tree_gains_all_of_the_impurity(data):
    X, y = data
    for tree in (CGTreeClassifier(random_state=0), DecisionTreeClassifier()):
        last = gain_by_depth(tree.fit(X, y))[-1]
        assert last.cumulative_gain == pytest.approx(gini(y), abs=1e-6)


def test_weights_are_repeats(data):
    X, y = data
    weights = 1 + np.arange(len(y)) % 3
    often = np.repeat(np.arange(len(y)), weights)
    for make in (CGTreeClassifier, DecisionTreeClassifier):
        tree = make(max_depth=3, random_state=0).fit(X, y, sample_weight=weights)
        expected = naive_by_depth(tree, X[often], y[often])
        for row, (_, shares, local) in zip(gain_by_depth(tree), expected, strict=True):
            assert row.mean_gain == pytest.approx(local.mean(), abs=1e-6)
            assert row.weighted_gain == pytest.approx((shares * local).sum(), abs=1e-6)


def test_comparison_by_depth(data):
    X, y = data
    shallow = CGTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    deep = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    rows = compare_by_depth(shallow, deep)
    ours, theirs = gain_by_depth(shallow), gain_by_depth(deep)
    assert [row.depth for row in rows] == [1, 2, 3, 4]
    assert [row.exhaustive for row in rows] == theirs
    assert [row.tree for row in rows[:2]] == ours
    stays = ours[-1].cumulative_gain
    assert rows[3].tree == DepthGain(4, 0, 0.0, 0.0, stays)
    assert rows[3].retained == stays / theirs[3].cumulative_gain
    assert compare_by_depth(deep, shallow)[3].retained > 1


def test_retained_fraction_of_nothing():
    def at_root(ours, theirs):
        gains = [DepthGain(1, 1, gain, gain, gain) for gain in (ours, theirs)]
        return DepthComparison(1, *gains).retained

    assert at_root(0.0, 0.0) == 1.0
    assert at_root(0.1, 0.0) == inf
    assert at_root(0.1, 0.2) == 0.5


def test_a_single_leaf_has_no_gains():
    leaf = CGTreeClassifier().fit([[1.0], [1.0]], [0, 1])
    assert gain_by_depth(leaf) == []
    assert compare_by_depth(leaf, leaf) == []


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(),
        CGForestClassifier(n_estimators=1),
        CGBoostingClassifier(n_estimators=1),
    ],
)
def test_other_models_are_rejected(data, model):
    model.fit(*data)
    with pytest.raises(TypeError, match=f"CGTreeClassifier.*{type(model).__name__}"):
        gain_by_depth(model)


def test_rejected_trees(data):
    X, y = data
    for tree in (CGTreeClassifier(), DecisionTreeClassifier()):
        with pytest.raises(NotFittedError):
            gain_by_depth(tree)
    double = DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(TypeError, match="one output"):
        gain_by_depth(double)
    leaf = CGTreeClassifier().fit([[1.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="root is a leaf"):
        compare_root_splits([[1.0], [1.0]], [0, 1], leaf, leaf)


# --- two splits -----------------------------------------------------------------------


def test_comparison_of_two_splits(data):
    X, y = data
    found = compare_splits(X, y, (0, 0.3), (5, -0.2))
    first, second = X[:, 0] < 0.3, X[:, 5] < -0.2
    assert found.delta == (first != second).sum()
    assert found.alpha == pytest.approx(min(first.mean(), 1 - first.mean()))
    assert found.first.gain == pytest.approx(naive_gain(y, first))
    assert found.second.gain == pytest.approx(naive_gain(y, second))
    assert found.gap == found.first.gain - found.second.gain
    assert found.scaled_gap == pytest.approx(sqrt(400) * found.gap)
    assert found.bound == gap_bound(found.delta, found.alpha, 400)
    assert found.sharp_bound == 2 * found.delta / 400
    assert found.holds


def test_equal_and_one_sided_splits():
    X, y = [[1.0], [2.0], [3.0]], ["a", "b", "b"]
    same = compare_splits(X, y, (0, 1.5), (0, 2.0))  # 2.0 is not less than 2.0
    assert (same.delta, same.gap, same.bound, same.holds) == (0, 0.0, 0.0, True)
    outside = compare_splits(X, y, (0, 9.0), (0, 1.5))
    assert (outside.first.gain, outside.alpha, outside.delta) == (0.0, 0.0, 2)
    assert outside.bound == inf
    assert outside.holds


def test_broken_bound_is_reported():
    # No two splits have this gap: `holds` must depend on it.
    found = compare_splits([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1], (0, 2.5), (0, 9))
    wrong = type(found)(1000, found.first, found.second, 1, 0.5)
    assert found.holds
    assert not wrong.holds


@pytest.mark.parametrize(("n", "n_classes"), [(7, 2), (5, 3), (4, 4)])
def test_bound_for_all_pairs_of_partitions(n, n_classes):
    # Check the bound in the docstring of gap_bound for all labels and all partitions,
    # with one-sided partitions and single rows.
    left = np.array(list(product([False, True], repeat=n)))
    delta = (left[:, None] != left[None]).sum(axis=2)
    n_left = left.sum(axis=1)
    alpha = np.minimum(n_left, n - n_left) / n
    bound = np.array(
        [[gap_bound(d, a, n) for d in row] for row, a in zip(delta, alpha, strict=True)]
    )
    reached = 0.0
    for y in product(range(n_classes), repeat=n):
        is_class = np.array(y)[:, None] == np.arange(n_classes)
        purity = np.zeros(len(left))
        for side in (left, ~left):
            squares = ((side.astype(int) @ is_class) ** 2).sum(axis=1)
            purity += squares / np.maximum(side.sum(axis=1), 1)
        gap = abs(purity[:, None] - purity[None]) / n
        assert (gap <= bound + 1e-12).all()
        assert (gap <= 2 * delta / n + 1e-12).all()
        reached = max(reached, (gap[delta > 0] / (2 * delta / n)[delta > 0]).max())
    assert reached > 0.5  # the sharp bound is reached


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_roots_of_two_trees(data, dtype):
    X, y = data
    X = (40 * X + 120).clip(0, 255).astype(dtype)
    tree = CGTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    exhaustive = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    found = compare_root_splits(X, y, tree, exhaustive)
    left, other = (model.apply(X) == 1 for model in (exhaustive, tree))
    assert found.delta == (left != other).sum()
    assert found.first.gain == pytest.approx(naive_gain(y, left))
    assert found.second.gain == pytest.approx(naive_gain(y, other))
    assert found.first.feature == exhaustive.tree_.feature[0]
    assert found.gap >= 0
    assert found.holds


def test_values_on_the_threshold():
    X, y = [[0.0], [2.0]], [0, 1]
    tree = CGTreeClassifier().fit(X, y)
    exhaustive = DecisionTreeClassifier().fit(X, y)
    found = compare_root_splits([[0.0], [1.0], [2.0]], [0, 0, 1], tree, exhaustive)
    assert found.first.threshold == found.second.threshold == 1.0
    assert found.delta == 1
    assert found.first.gain > found.second.gain


def test_bad_rows_are_rejected(data):
    X, y = data
    with pytest.raises(ValueError, match="Unknown feature 12; X has 12"):
        compare_splits(X, y, (12, 0.0), (0, 0.0))
    with pytest.raises(ValueError, match="Unknown feature -1"):
        compare_splits(X, y, (0, 0.0), (-1, 0.0))
    hole = X.copy()
    hole[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        compare_splits(hole, y, (0, 0.0), (1, 0.0))
    with pytest.raises(ValueError, match="X contains NaN"):
        root_split_gap(hole, y, [[]] * 12)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        root_split_gap(X, y[1:], [[]] * 12)


# --- the root -------------------------------------------------------------------------


def naive_best(X, y, thresholds):
    """Return the best gain of each feature, 0 if no threshold separates rows."""
    return [
        max([0.0, *(naive_gain(y, column < tau) for tau in offered)])
        for column, offered in zip(X.T, thresholds, strict=True)
    ]


def check_root_gap(X, y, thresholds):
    found = root_split_gap(X, y, thresholds)
    best = naive_best(X, y, [np.unique(column)[1:] for column in X.T])
    offered = naive_best(X, y, thresholds)
    assert found.exhaustive.gain == pytest.approx(max(best), abs=1e-12)
    assert found.gap == pytest.approx(max(best) - max(offered), abs=1e-12)
    assert found.gap >= 0
    assert found.holds
    assert found.gap <= found.sharp_bound

    def left_of(split):
        return X[:, split.feature] < split.threshold

    left = left_of(found.exhaustive)
    assert found.exhaustive.gain == pytest.approx(naive_gain(y, left), abs=1e-12)
    smaller = min(left.sum(), (~left).sum())
    assert found.alpha == smaller / len(y)
    if found.same_feature is None:
        assert found.delta == smaller
    else:
        same = left_of(found.same_feature)
        assert found.delta == (left != same).sum()
        gain = offered[found.exhaustive.feature]
        assert naive_gain(y, same) == pytest.approx(gain, abs=1e-12)
    return found


@st.composite
def problems(draw):
    """Generate rows with and without ties, class balance and information."""
    n = draw(st.integers(2, 60))
    n_features = draw(st.integers(1, 5))
    n_classes = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, n_features))
    step = draw(st.sampled_from([0.001, 0.25, 1.0, 2.0]))
    X = np.round(X / step) * step
    shares = rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.2, 1.0, 50.0]))))
    y = rng.choice(n_classes, size=n, p=shares)
    if draw(st.booleans()):
        y = np.where(X[:, 0] > draw(st.floats(-1, 1)), y, 0)
    return X.astype(draw(st.sampled_from([np.float32, np.float64]))), y


SOURCES = {
    "default": CentroidCandidates(random_state=0, n_jobs=1),
    "paper": CentroidCandidates.paper(random_state=0, n_jobs=1),
    "midpoint": CentroidCandidates.paper(boundary="midpoint", n_pairs=1, n_jobs=1),
    "quantile": QuantileCandidates(max_bins=4, random_state=0, n_jobs=1),
}


@pytest.mark.parametrize("source", SOURCES)
@settings(deadline=None, max_examples=60)
@given(problem=problems())
def test_bound_holds_in_every_root_split(source, problem):
    X, y = problem
    if (X[0] == X).all():
        return
    candidates = SOURCES[source].fit(X, y)
    found = check_root_gap(X, y, candidates.thresholds_)
    assert root_split_gap(X, y, candidates) == found


@settings(deadline=None, max_examples=60)
@given(problem=problems(), seed=st.integers(0, 1000))
def test_any_thresholds(problem, seed):
    X, y = problem
    if (X[0] == X).all():
        return
    rng = np.random.default_rng(seed)
    thresholds = [rng.normal(size=rng.integers(0, 3)) for _ in range(X.shape[1])]
    check_root_gap(X, y, thresholds)


def test_delta_of_one_feature():
    X = np.arange(10.0)[:, None]
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    found = check_root_gap(X, y, [[0.5, 6.0]])
    assert found.exhaustive.threshold == 3.5
    assert found.same_feature == found.dictionary
    assert found.dictionary.threshold == 6.0
    assert (found.delta, found.alpha) == (2, 0.4)


def test_same_sides_as_the_trees(data):
    X, y = data
    for source in (SOURCES["default"], SOURCES["paper"]):
        tree = CGTreeClassifier(max_depth=1, candidates=source, random_state=0)
        exhaustive = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
        roots = compare_root_splits(X, y, tree.fit(X, y), exhaustive)
        found = root_split_gap(X, y, tree.candidates_)
        assert found.exhaustive.gain == roots.first.gain
        assert found.dictionary.gain == roots.second.gain
        assert found.gap == roots.gap


def test_missing_thresholds():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 6.0]])
    y = np.array([0, 1, 1, 1])
    found = root_split_gap(X, y, [[], [5.5]])
    assert found.exhaustive.feature == 0
    assert found.same_feature is None
    assert found.dictionary.feature == 1
    assert (found.delta, found.alpha) == (1, 0.25)
    nothing = root_split_gap(X, y, [[], [100.0]])
    assert nothing.dictionary is None
    assert nothing.gap == nothing.exhaustive.gain
    assert nothing.holds


def test_nothing_to_split():
    with pytest.raises(ValueError, match="no feature with two different values"):
        root_split_gap([[1.0], [1.0]], [0, 1], [[0.5]])
    with pytest.raises(ValueError, match="for 2 features, but X has 1"):
        root_split_gap([[1.0], [2.0]], [0, 1], [[0.5], [0.5]])
    with pytest.raises(NotFittedError):
        root_split_gap([[1.0], [2.0]], [0, 1], CentroidCandidates())
    pure = root_split_gap([[1.0], [2.0]], [1, 1], [[1.5]])
    assert (pure.gap, pure.exhaustive.gain) == (0.0, 0.0)


def test_neighboring_numbers_are_distinguished():
    low = 1.0
    high = np.nextafter(low, 2)
    found = root_split_gap([[low], [high]], [0, 1], [[]])
    assert low < found.exhaustive.threshold <= high
    assert found.exhaustive.gain == 0.5
