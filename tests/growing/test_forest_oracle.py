"""The core and the reference grow the same forests."""

import numpy as np
import pytest
import reference_forest
from checks import UNTRIED, GivenCandidates, make, same_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import seeds
from test_tree_oracle import (
    large_set,
    random_matrix,
    random_parameters,
    random_thresholds,
    random_weights,
    tiny_sets,
)

from dics import CentroidCandidates, CGForestClassifier, _core

pytestmark = pytest.mark.core


def n_sampled_features(max_features, n_features):
    if max_features is None:
        return n_features
    return min(max_features, n_features)


def n_sampled_rows(forest, n_rows):
    """Return the sample size for None and integers; another test has fractions."""
    if not forest.bootstrap:
        return 0
    return forest.max_samples or n_rows


def expected_trees(forest, X, labels, dictionary, weights, seed):
    """Return the trees of the reference for the parameters of an estimator."""
    m = n_sampled_features(forest.max_features, X.shape[1])
    by_tree = forest.bootstrap and forest.class_weight == "balanced_subsample"
    same_names = (
        "criterion",
        "splitter",
        "max_depth",
        "min_samples_leaf",
        "min_samples_split",
    )
    options = forest._options
    sampling = "node" if forest.splitter == "random" else "none"
    if m < X.shape[1]:
        sampling = options.feature_sampling
    return reference_forest.grow_forest(
        X,
        labels,
        dictionary,
        forest.n_estimators,
        sampling=sampling,
        max_features=m,
        sample_size=n_sampled_rows(forest, len(X)),
        weights=weights,
        balance_each_tree=by_tree,
        seed=seed,
        max_candidates=options.max_candidates,
        min_weight_fraction_leaf=options.min_weight_fraction_leaf,
        min_impurity_decrease=options.min_impurity_decrease,
        **{name: getattr(forest, name) for name in same_names},
    )


def same_forest(forest, trees, sample_size):
    assert len(forest) == len(trees)
    for t, expected in enumerate(trees):
        same_tree(forest[t], expected, sample_size or None)


def same_votes(forest, trees, X):
    """Compare soft and hard votes."""
    for voting in ("soft", "hard"):
        forest.set_params(advanced__voting=voting)
        expected = reference_forest.predict_proba(
            trees, X, len(forest.classes_), voting == "hard"
        )
        np.testing.assert_allclose(forest.predict_proba(X), expected, atol=1e-6)


def check(X, y, dictionary, *, weights=None, seed=0, n_trees=3, n_votes=20, **more):
    """Fit with given thresholds and compare."""
    forest = make(
        CGForestClassifier,
        n_estimators=n_trees,
        candidates=GivenCandidates(dictionary),
        random_state=seed,
        **{**UNTRIED, "n_jobs": 1, **more},
    ).fit(X, y, sample_weight=weights)
    dictionary = [np.asarray(tau, dtype=np.float64) for tau in dictionary]
    labels = np.unique(y, return_inverse=True)[1]
    trees = expected_trees(forest, X, labels, dictionary, weights, seed)
    same_forest(forest, trees, n_sampled_rows(forest, len(X)))
    same_votes(forest, trees, X[:n_votes])
    return forest


# --- random sets ----------------------------------------------------------------------


def random_forest_parameters(rng, n, p):
    parameters = random_parameters(rng)
    del parameters["reuse_splits"]
    parameters["feature_sampling"] = str(rng.choice(["tree", "node"]))
    if rng.random() < 0.8:
        parameters["max_features"] = int(rng.integers(1, p + 1))
    else:
        parameters["max_features"] = None
    parameters["bootstrap"] = bool(rng.random() < 0.7)
    if parameters["bootstrap"]:
        # Large samples repeat rows often.
        parameters["max_samples"] = [None, None, max(1, n // 3), 12 * n][
            rng.integers(4)
        ]
        if rng.random() < 0.2:
            parameters["class_weight"] = "balanced_subsample"
    return parameters


@pytest.mark.parametrize("seed", seeds(60, 250))
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_random_small_sets(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 150)), int(rng.integers(1, 9))
    X = random_matrix(rng, n, p)
    y = rng.integers(0, rng.choice([2, 3, 12, 40]), size=n)
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
        **random_forest_parameters(rng, n, p),
    )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    tiny_sets(),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["gini", "entropy"]),
    st.sampled_from([None, 1, 2, 4]),
    st.sampled_from(["tree", "node"]),
    st.integers(1, 3),
    st.sampled_from([False, 1, 8, 90]),
    st.integers(1, 3),
)
def test_tiny_sets(
    data, seed, criterion, max_candidates, sampling, max_features, sample_size, min_leaf
):
    X, y, dictionary, weights = data
    check(
        X,
        y,
        dictionary,
        weights=weights,
        seed=seed,
        criterion=criterion,
        max_candidates=max_candidates,
        feature_sampling=sampling,
        max_features=max_features,
        bootstrap=bool(sample_size),
        max_samples=sample_size or None,
        min_samples_leaf=min_leaf,
        n_trees=2,
        n_votes=4,
    )


# --- rows of a tree -------------------------------------------------------------------


def core_bootstrap(seed, number, n_rows, sample_size, weights=None):
    counts = np.empty(n_rows, dtype=np.uint32)
    cumulative = None if weights is None else np.cumsum(weights)
    _core.bootstrap(seed, number, sample_size, cumulative, counts)
    return counts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n_rows", "sample_size"), [(1, 1), (1, 9), (50, 50), (300, 4000)]
)
def test_bootstrap(n_rows, sample_size, weighted):
    weights = None
    if weighted:
        weights = np.random.default_rng(0).random(n_rows).round(1) + (n_rows < 2)
    for number in (0, 1, 2**31):
        key = reference_forest.tree_key(7, number)
        expected = reference_forest.bootstrap(key, n_rows, sample_size, weights)
        found = core_bootstrap(7, number, n_rows, sample_size, weights)
        np.testing.assert_array_equal(found, expected)
        assert found.sum() == sample_size


def test_bootstrap_is_fair():
    # 10000 expected samples per row: five standard deviations of 100.
    counts = core_bootstrap(0, 0, 50, 500_000)
    assert np.abs(counts.astype(int) - 10_000).max() < 500
    weights = np.arange(50.0)
    counts = core_bootstrap(0, 0, 50, 500_000, weights)
    expected = weights / weights.sum() * 500_000
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected)).all()


@pytest.mark.parametrize(
    "weights",
    [
        [0.0, 1.0, 0.0, 0.0, 2.0, 0.0],
        [0.0, 0.0, 1e-300],
        [1.0, 1e-30, 0.0],  # the second is lost in the running sum
    ],
    ids=str,
)
def test_rows_of_weight_zero_are_never_sampled(weights):
    counts = core_bootstrap(3, 0, len(weights), 20_000, np.array(weights))
    assert counts[np.array(weights) == 0].sum() == 0
    assert counts.sum() == 20_000


# --- data for one code path of the core -----------------------------------------------


def full_depth_set(n_classes, n_thresholds, n=240, p=8, seed=0):
    """Return noise: pure leaves need nodes of all sizes and class counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32)
    X[:, :3] = X[:, :3].round()  # ties
    X[rng.random((n, p)) < 0.02] = np.nan
    y = rng.integers(0, n_classes, n)
    dictionary = [np.unique(rng.normal(size=n_thresholds).astype("f4")) for _ in X.T]
    return X, y, dictionary


SAMPLINGS = {
    "node": {"feature_sampling": "node", "max_features": 3},
    "tree": {"feature_sampling": "tree", "max_features": 4},
    "none": {"max_features": None},
}


@pytest.mark.quick(16)
@pytest.mark.parametrize(
    ("criterion", "max_candidates"), [("gini", None), ("entropy", None), ("gini", 20)]
)
@pytest.mark.parametrize("n_thresholds", [4, 254])
@pytest.mark.parametrize("n_classes", [2, 3, 12, 40])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_nodes_of_all_sizes(
    sampling, n_classes, n_thresholds, criterion, max_candidates
):
    # Small nodes sort their rows, large ones use histograms; the limit depends on
    # thresholds and classes.
    check(
        *full_depth_set(n_classes, n_thresholds),
        n_trees=1,
        max_candidates=max_candidates,
        criterion=criterion,
        **SAMPLINGS[sampling],
    )


@pytest.mark.quick(3)
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_large_set(sampling, n_jobs):
    check(
        *large_set(n=1500, p=70, n_classes=5),
        n_trees=2,
        max_depth=6,
        n_jobs=n_jobs,
        **SAMPLINGS[sampling],
    )


@pytest.mark.quick(3)
@pytest.mark.parametrize("max_candidates", [None, 200])
@pytest.mark.parametrize("max_features", [64, 65, 150])
def test_more_features_than_are_searched_at_once(max_features, max_candidates):
    X, y, dictionary = large_set(n=80, p=180, n_classes=9, n_thresholds=5)
    check(
        X,
        y,
        dictionary,
        max_features=max_features,
        max_candidates=max_candidates,
        n_trees=1,
    )


@pytest.mark.parametrize("max_candidates", [None, 100])
def test_many_classes_search_few_features_at_once(max_candidates):
    X, y, dictionary = large_set(n=400, p=60, n_classes=200, n_thresholds=5)
    check(
        X,
        y,
        dictionary,
        max_features=40,
        max_candidates=max_candidates,
        max_depth=4,
        n_trees=1,
    )


@pytest.mark.parametrize("max_candidates", [None, 30])
def test_features_of_many_groups(max_candidates):
    # Nodes need more than two groups to find 20 features that are not constant.
    rng = np.random.default_rng(0)
    X = (rng.random((150, 400)) < 0.02).astype(np.float32)
    check(
        X,
        rng.integers(0, 3, 150),
        [[0.5]] * 400,
        max_features=20,
        max_candidates=max_candidates,
        n_trees=2,
    )


@pytest.mark.parametrize("max_candidates", [None, 4])
@pytest.mark.parametrize("n_classes", [2, 12])
def test_constant_features_are_replaced(n_classes, max_candidates):
    # Sparse columns are constant in most nodes, some in all nodes; some have no
    # threshold.
    rng = np.random.default_rng(0)
    X = (rng.random((200, 90)) < 0.04).astype(np.uint8)
    X[:, :30] = 0
    dictionary = [[0.5]] * 90
    dictionary[20:50] = [[]] * 30
    forest = check(
        X,
        rng.integers(0, n_classes, 200),
        dictionary,
        max_features=6,
        max_candidates=max_candidates,
    )
    assert set(forest.trees_.feature) <= {-1, *range(50, 90)}


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("max_samples", [400, 4000])
@pytest.mark.parametrize("min_samples_leaf", [1, 3])
def test_rows_sampled_very_often(min_samples_leaf, max_samples, sampling):
    # Ten and a hundred times each: few rows, but more samples than bits in a mask.
    check(
        *full_depth_set(4, 30, n=40),
        max_samples=max_samples,
        min_samples_leaf=min_samples_leaf,
        **SAMPLINGS[sampling],
    )


@pytest.mark.quick(8)
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("kind", ["whole", "fractional"])
@pytest.mark.parametrize("min_samples_leaf", [1, 4])
def test_weights(min_samples_leaf, kind, sampling, bootstrap):
    X, y, dictionary = full_depth_set(5, 20)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 12, len(y)) if kind == "whole" else rng.random(len(y))
    check(
        X,
        y,
        dictionary,
        weights=weights.astype(float),
        bootstrap=bootstrap,
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=0.001,
        n_trees=2,
        **SAMPLINGS[sampling],
    )


@pytest.mark.quick(4)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("max_candidates", [None, 20])
def test_balanced_subsample(max_candidates, sampling, criterion):
    X, _, dictionary = full_depth_set(2, 20)
    y = np.minimum(np.arange(len(X)) % 23, 3)  # 1/23, 1/23, 1/23, 20/23
    check(
        X,
        y,
        dictionary,
        class_weight="balanced_subsample",
        criterion=criterion,
        max_candidates=max_candidates,
        **SAMPLINGS[sampling],
    )


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_element_types(dtype, sampling):
    X, y, dictionary = full_depth_set(3, 20)
    if dtype == "u1":
        X = np.clip(np.nan_to_num(X) * 40 + 128, 0, 255)
        dictionary = [tau * 40 + 128 for tau in dictionary]
    check(X.astype(dtype), y, dictionary, **SAMPLINGS[sampling])


@pytest.mark.parametrize("max_candidates", [None, 6])
@pytest.mark.parametrize("sampling", ["node", "tree"])
def test_ties_between_equal_features(sampling, max_candidates):
    X = np.repeat(np.random.default_rng(0).normal(size=(200, 1)), 9, axis=1)
    y = (np.arange(200) * 7919) % 3
    forest = check(
        X,
        y,
        [np.linspace(-2, 2, 9)] * 9,
        feature_sampling=sampling,
        max_features=4,
        max_candidates=max_candidates,
        bootstrap=False,
    )
    for tree in forest:
        assert len(np.unique(tree.trees_.feature[tree.trees_.inner])) > 2


@pytest.mark.parametrize("sampling", ["node", "none"])
def test_widest_gap_wins(sampling):
    # Two of three features separate the classes, the last with a wider gap.
    X = np.array([[5.0, 0.0, 0.0], [5.0, 1.0, 9.0]])
    forest = check(
        X,
        [0, 1],
        [np.arange(0.5, 9)] * 3,
        feature_sampling="node",
        max_features=2 if sampling == "node" else None,
        bootstrap=False,
        n_trees=10,
    )
    assert (forest.trees_.feature[forest.trees_.node_starts[:-1]] == 2).all()


def test_sampling_all_candidates():
    # Ties are broken by random numbers only, for any number of candidates.
    X = np.array([[0.0, 0.0], [1.0, 9.0]])
    forest = check(
        X,
        [0, 1],
        [np.arange(0.5, 9)] * 2,
        max_candidates=1000,
        max_features=None,
        bootstrap=False,
        n_trees=20,
    )
    roots = forest.trees_.feature[forest.trees_.node_starts[:-1]]
    assert set(roots) == {0, 1}


@pytest.mark.parametrize(
    "candidates",
    [None, CentroidCandidates.paper()],
    ids=["default", "paper"],
)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_thresholds_of_the_library(candidates, sampling):
    X, y, _ = full_depth_set(3, 1)
    forest = make(
        CGForestClassifier,
        n_estimators=3,
        candidates=candidates,
        random_state=5,
        **{**UNTRIED, **SAMPLINGS[sampling]},
    ).fit(X, y)
    trees = expected_trees(forest, X, y, forest.candidates_.thresholds_, None, 5)
    same_forest(forest, trees, len(y))
    same_votes(forest, trees, X[:20])
