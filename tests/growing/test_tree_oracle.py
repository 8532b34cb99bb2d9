"""The core and the reference grow the same trees."""

import numpy as np
import pytest
import reference
from checks import GivenCandidates, make, same_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import seeds

from dics import CentroidCandidates, CGTreeClassifier, QuantileCandidates, TreeOptions

pytestmark = pytest.mark.core


def check(X, y, dictionary, *, weights=None, seed=0, n_jobs=1, **parameters):
    """Fit with given thresholds and compare."""
    tree = make(
        CGTreeClassifier,
        candidates=GivenCandidates(dictionary),
        random_state=seed,
        n_jobs=n_jobs,
        **parameters,
    ).fit(X, y, sample_weight=weights)
    dictionary = [np.asarray(tau, dtype=np.float64) for tau in dictionary]
    labels = np.unique(y, return_inverse=True)[1]
    expected = reference.grow(
        X, labels, dictionary, weights=weights, seed=seed, **parameters
    )
    same_tree(tree, expected)
    return tree


# --- random sets ----------------------------------------------------------------------


def random_matrix(rng, n, p):
    """Return rows of a random kind, element type and memory layout."""
    if rng.random() < 0.4:
        X = rng.integers(0, rng.integers(2, 8), size=(n, p)).astype(float)
    else:
        X = rng.normal(size=(n, p)).round(int(rng.integers(1, 5)))
    dtype = rng.choice(["f4", "f8", "u1"])
    if dtype == "u1":
        X = np.abs(X * 10)
    X = X.astype(dtype)
    if dtype != "u1" and rng.random() < 0.4:
        X[rng.random((n, p)) < rng.choice([0.05, 0.5])] = np.nan
    return layouts(X)[rng.integers(5)]


def layouts(X):
    """Return the same numbers in five memory layouts."""
    n, p = X.shape
    padded = np.zeros((2 * n, 3 * p), dtype=X.dtype)
    padded[::2, ::3] = X
    return [
        np.ascontiguousarray(X),
        np.asfortranarray(X),
        padded[::2, ::3],
        np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        np.asfortranarray(padded)[::2, ::3],
    ]


def random_thresholds(rng, column):
    """Return thresholds at values, between values, many per gap, or none."""
    column = column[~np.isnan(column)].astype(float)
    low, high = (column.min() - 1, column.max() + 1) if len(column) else (0, 1)
    free = rng.uniform(low, high, size=rng.choice([0, 1, 3, 10, 60, 254]))
    on_values = rng.choice(column, size=min(len(column), 5)) if len(column) else []
    tau = np.unique(np.concatenate([free, on_values]).astype(np.float32))
    return tau if len(tau) <= 254 else np.sort(rng.choice(tau, 254, replace=False))


def random_weights(rng, n):
    kind = rng.integers(5)
    if kind == 0:
        weights = rng.integers(1, 5, size=n).astype(float)
    elif kind == 1:
        weights = rng.exponential(size=n) * 10.0 ** rng.integers(-12, 12)
    elif kind == 2:
        weights = 10.0 ** rng.uniform(-20, 20, size=n)
    else:
        return None
    if rng.random() < 0.5:
        weights[rng.random(n) < 0.3] = 0.0
        weights[rng.integers(n)] = 1.0
    return weights


def random_parameters(rng):
    parameters = {
        "criterion": rng.choice(["gini", "entropy"]),
        "max_candidates": rng.choice([None, 1, 5, 20]),
        "max_depth": rng.choice([None, 1, 3, 6]),
        "min_samples_leaf": int(rng.choice([1, 1, 2, 5])),
        "min_samples_split": int(rng.choice([2, 2, 3, 10])),
        "min_impurity_decrease": float(rng.choice([0.0, 0.0, 1e-3, 0.03])),
        "min_weight_fraction_leaf": float(rng.choice([0.0, 0.0, 0.02, 0.2])),
        "reuse_splits": bool(rng.random() < 0.8),
        "splitter": "best",
    }
    if parameters["reuse_splits"] and rng.random() < 0.3:
        parameters["splitter"] = "random"
    return {
        name: v.item() if hasattr(v, "item") else v for name, v in parameters.items()
    }


@pytest.mark.parametrize("seed", seeds(100, 400))
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_random_small_sets(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 150)), int(rng.integers(1, 7))
    X = random_matrix(rng, n, p)
    y = rng.integers(0, rng.integers(2, 13), size=n)
    if rng.random() < 0.5:  # labels that depend on X
        y = (np.nan_to_num(X).sum(axis=1) * 3).astype(int) % (y.max() + 1)
    dictionary = [random_thresholds(rng, X[:, f]) for f in range(p)]
    if not any(map(len, dictionary)):
        dictionary[0] = np.array([0.5], dtype=np.float32)
    check(
        X,
        y,
        dictionary,
        weights=random_weights(rng, n),
        seed=seed,
        **random_parameters(rng),
    )


@st.composite
def tiny_sets(draw):
    n, p = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    value = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, np.nan, np.inf, -np.inf])
    X = np.array(draw(st.lists(value, min_size=n * p, max_size=n * p))).reshape(n, p)
    X = X.astype(draw(st.sampled_from(["f4", "f8"])))
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    tau = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 4.0, np.inf])
    dictionary = [sorted(draw(st.sets(tau, min_size=1))) for _ in range(p)]
    weight = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)
    weights = draw(st.none() | weight.filter(any))
    return X, y, dictionary, weights


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    tiny_sets(),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["gini", "entropy"]),
    st.sampled_from([None, 1, 2, 4]),
    st.booleans(),
    st.integers(1, 3),
)
def test_tiny_sets(data, seed, criterion, max_candidates, reuse_splits, min_leaf):
    X, y, dictionary, weights = data
    check(
        X,
        y,
        dictionary,
        weights=weights,
        seed=seed,
        criterion=criterion,
        max_candidates=max_candidates,
        reuse_splits=reuse_splits,
        min_samples_leaf=min_leaf,
    )


# --- data for one code path of the core -----------------------------------------------


def large_set(n=3000, p=100, n_classes=12, n_thresholds=25, seed=0, n_missing=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32)
    y = (3 * X[:, 0] + X[:, p // 2] ** 2 + rng.normal(size=n)).astype(int) % n_classes
    X[rng.random(n) < 0.1, :n_missing] = np.nan
    dictionary = [
        np.unique(rng.normal(size=n_thresholds).astype(np.float32)) for _ in range(p)
    ]
    return X, y, dictionary


@pytest.mark.quick(2)
@pytest.mark.parametrize("n_jobs", [1, 2, 7])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_histograms_and_subtraction(criterion, n_jobs):
    # 3000 x 100 is more than 2**18: threads share nodes and get subtrees.
    check(*large_set(), criterion=criterion, max_depth=4, n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 7])
def test_no_room_for_histograms(n_jobs):
    # 256 bins x 12 classes x 100 features: no buffers for 7 threads, few for 1.
    check(*large_set(n_thresholds=254), max_depth=4, n_jobs=n_jobs)


@pytest.mark.slow
def test_full_depth():
    # Many nodes are open at once, and the last ones have two rows.
    check(*large_set(n=2700, n_classes=3, n_thresholds=12), n_jobs=2)


@pytest.mark.quick(12)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 8, 9])
@pytest.mark.parametrize("most_repeats", [1, 8, 12])
@pytest.mark.parametrize("min_samples_leaf", [1, 3])
def test_tiny_nodes(min_samples_leaf, most_repeats, n_classes, criterion):
    # Many thresholds prevent histograms; every node has NaN and ties.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 30, size=(90, 4)).astype(np.float32)
        X[rng.random(X.shape) < 0.3] = np.nan
        check(
            X,
            rng.integers(0, n_classes, 90),
            [np.arange(0.125, 30, 0.125)] * 3 + [np.arange(0.5, 30)],
            weights=rng.integers(1, most_repeats + 1, 90).astype(float),
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=0.01 * (seed % 3),
            criterion=criterion,
            seed=seed,
        )


@pytest.mark.parametrize("kind", ["whole", "fractional"])
@pytest.mark.parametrize("max_candidates", [None, 100])
def test_large_weighted(kind, max_candidates):
    X, y, dictionary = large_set(p=90, n_classes=4, n_thresholds=8)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, len(y)) if kind == "whole" else rng.exponential(len(y))
    weights = np.broadcast_to(weights, len(y)).astype(float)
    if kind == "fractional":
        weights = weights * rng.random(len(y))
    check(
        X,
        y,
        dictionary,
        weights=weights,
        max_candidates=max_candidates,
        max_depth=3,
        n_jobs=2,
    )


@pytest.mark.quick(4)
@pytest.mark.parametrize("n_jobs", [1, 2, 7])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_sampled_candidates(dtype, n_jobs):
    X, y, dictionary = large_set(n_missing=0 if dtype == "u1" else 3)
    if dtype == "u1":
        X = np.clip(X * 40 + 128, 0, 255)
        dictionary = [tau * 40 + 128 for tau in dictionary]
    check(
        X.astype(dtype), y, dictionary, max_candidates=100, max_depth=5, n_jobs=n_jobs
    )


@pytest.mark.parametrize("max_candidates", [None, 30])
def test_splits_are_used_once(max_candidates):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    dictionary = [np.unique(rng.normal(size=12).astype(np.float32)) for _ in range(4)]
    tree = check(X, y, dictionary, max_candidates=max_candidates, reuse_splits=False)
    inner = tree.trees_.inner
    used = list(
        zip(tree.trees_.feature[inner], tree.trees_.threshold[inner], strict=True)
    )
    assert len(set(used)) == len(used)
    assert 1 < len(used) <= sum(map(len, dictionary))


@pytest.mark.parametrize("total", [2**30, 3 * 2**30, 2**32 - 4, 2**40])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_large_integer_weights(criterion, total):
    # The squares of class counts need more than 63 bits.
    X = np.arange(8.0)[:, None]
    y = [0, 0, 0, 0, 1, 0, 1, 1]
    weights = [total // 2, total // 4, total // 4 - 5, 1, 1, 1, 1, 1]
    check(X, y, [np.arange(0.5, 8)], weights=weights, criterion=criterion)


def test_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.concatenate([np.arange(200), rng.integers(0, 200, 400)])
    check(X, y, [np.linspace(-2, 2, 40)] * 3)


@pytest.mark.parametrize("max_candidates", [None, 6])
def test_ties_between_equal_features(max_candidates):
    # Six copies of one column: the random numbers of the nodes decide.
    X = np.repeat(np.random.default_rng(0).normal(size=(200, 1)), 6, axis=1)
    y = (np.arange(200) * 7919) % 3
    tree = check(X, y, [np.linspace(-2, 2, 9)] * 6, max_candidates=max_candidates)
    assert len(np.unique(tree.trees_.feature[tree.trees_.inner])) > 2


def test_middle_of_equal_thresholds():
    X, y = np.array([[0.0], [10.0]]), [0, 1]
    for n, expected in [(1, 1), (2, 1), (3, 2), (4, 2), (9, 5)]:
        tree = check(X, y, [np.arange(1.0, n + 1)])
        assert tree.trees_.threshold[0] == expected


def test_widest_gap_wins():
    # Both features separate the classes; the second has more thresholds in the gap.
    X = np.array([[0.0, 0.0], [1.0, 9.0]])
    for seed in range(8):
        tree = check(X, [0, 1], [np.arange(0.5, 9), np.arange(0.5, 9)], seed=seed)
        assert tree.trees_.feature[0] == 1


@pytest.mark.parametrize("side", [0, 1])
def test_missing_values_go_to_the_better_side(side):
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]])
    tree = check(X, [0, 1, side, side], [[0.5]])
    assert tree.trees_.missing_left[0] == 1 - side
    assert tree.predict([[np.nan]])[0] == side


def test_missing_against_the_rest():
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]])
    tree = check(X, [0, 0, 1, 1], [[0.5]])
    assert tree.trees_.threshold[0] == -np.inf
    assert tree.predict([[-np.inf], [7.0], [np.nan]]).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("y", "weights", "left"),
    [
        ([0, 0, 1], None, True),
        ([0, 1, 1], None, False),
        ([0, 1], None, True),
        ([0, 1, 1], [5, 1, 1], True),
        ([0, 0, 1], [0.5, 0.5, 1.5], False),
    ],
)
@pytest.mark.parametrize("max_candidates", [None, 1])
def test_new_missing_values_go_to_the_heavier_child(y, weights, left, max_candidates):
    X = np.array(y, dtype=float)[:, None]
    dictionary = [[0.5, 40.0]]
    for seed in range(20):
        tree = check(
            X, y, dictionary, weights=weights, seed=seed, max_candidates=max_candidates
        )
        if len(tree.trees_.inner):
            assert tree.trees_.missing_left[0] == left


# --- thresholds of the library --------------------------------------------------------


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    "candidates",
    [
        CentroidCandidates(),
        CentroidCandidates.paper(),
        CentroidCandidates(centroid_source="class", fill_quantiles=False),
        QuantileCandidates(max_bins=21),  # too few thresholds to be renewed by default
    ],
    ids=["default", "paper", "class", "quantile"],
)
@pytest.mark.parametrize("max_candidates", [None, 25])
@pytest.mark.parametrize("seed", range(3))
def test_thresholds_of_the_library(candidates, max_candidates, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 8)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0) + 2 * (X[:, 3] > 1)
    tree = CGTreeClassifier(
        candidates=candidates,
        advanced=TreeOptions(max_candidates=max_candidates),
        random_state=seed,
    ).fit(X, y)
    expected = reference.grow(
        X,
        y,
        tree.candidates_.thresholds_,
        max_candidates=max_candidates,
        renew_thresholds=candidates.get_params().get("fill_quantiles", False),
        seed=seed,
    )
    same_tree(tree, expected)


# --- thresholds that subtrees renew ---------------------------------------------------


@pytest.mark.quick(4)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("kind", ["plain", "missing", "weights", "ties"])
def test_renewed_thresholds(kind, criterion, n_jobs):
    # 9000 rows: thresholds are renewed at about 560 rows, with more than 255 values,
    # and at about 35 rows, with all values.
    rng = np.random.default_rng(7)
    X = rng.normal(size=(9000, 4)).astype(np.float32)
    y = (np.sin(7 * X[:, 0]) + X[:, 1] * X[:, 2] > rng.normal(size=9000) / 3).astype(
        int
    )
    weights = None
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    elif kind == "weights":
        weights = rng.exponential(size=9000)
    elif kind == "ties":
        X[:, :2] = X[:, :2].round(1)
    check(
        X,
        y,
        [np.quantile(x[~np.isnan(x)], np.linspace(0.1, 0.9, 9)) for x in X.T],
        weights=weights,
        criterion=criterion,
        renew_thresholds=True,
        n_jobs=n_jobs,
    )
