"""CGTreeClassifier through the API of scikit-learn."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import reference
from checks import changed_parameters, same_bytes
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.tree import DecisionTreeClassifier

from dics import (
    CentroidCandidates,
    CGTreeClassifier,
    QuantileCandidates,
    TreeOptions,
)
from dics.export import export_graphviz, export_text


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        500, 8, n_informative=5, n_classes=3, random_state=0, flip_y=0.1
    )
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def tree(data):
    return CGTreeClassifier(random_state=0).fit(*data)


# --- labels ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classes",
    [
        ["b", "a", "c"],
        np.array(["b", "a", "c"], dtype=object),
        [1.0, -2.0, 0.0],
        [10**12, -5, 7],
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([-30000, 30000, 1], dtype=np.int16),
        np.array([0, 255, 3], dtype=np.uint8),
        np.array([0, 1, 2], dtype=np.uint64),
        np.array([2**64 - 1, 2**64 - 2, 2**64 - 9], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1, 0], dtype=np.int64),
    ],
    ids=lambda c: f"{np.asarray(c).dtype}-{c[0]}",
)
def test_label_types(data, classes):
    X, y = data
    labels = np.asarray(classes)[y]
    tree = CGTreeClassifier(random_state=0).fit(X, labels)
    assert tree.classes_.tolist() == sorted(np.asarray(classes).tolist())
    assert tree.classes_.dtype == labels.dtype
    assert tree.n_classes_ == 3
    assert (tree.predict(X) == labels).all()


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_wide_range_of_small_integers():
    # One label for each value of the element type.
    X = np.arange(256.0)[:, None]
    y = np.arange(-128, 128).astype(np.int8)
    tree = CGTreeClassifier(candidates=QuantileCandidates(), random_state=0)
    assert tree.fit(X[1:], y[1:]).classes_.tolist() == y[1:].tolist()
    assert (tree.predict(X[1:]) == y[1:]).all()


def test_boolean_labels(data):
    X, y = data
    tree = CGTreeClassifier(random_state=0).fit(X, y > 0)
    assert tree.classes_.tolist() == [False, True]
    assert tree.predict(X).dtype == bool


def test_one_class(data):
    X, _ = data
    tree = CGTreeClassifier().fit(X, ["only"] * len(X))
    assert tree.get_n_leaves() == 1
    assert tree.get_depth() == 0
    assert (tree.predict(X) == "only").all()
    assert tree.predict_proba(X).tolist() == [[1.0]] * len(X)
    assert tree.feature_importances_.tolist() == [0.0] * 8


def test_thousand_classes():
    y = np.repeat(np.arange(1000), 2)
    X = np.column_stack([y % 32, y // 32]).astype(np.float32)
    tree = CGTreeClassifier(random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.predict_proba(X).shape == (2000, 1000)


# --- shapes and values ----------------------------------------------------------------


@pytest.mark.parametrize("max_candidates", [None, 3])
def test_one_row(max_candidates):
    tree = CGTreeClassifier(advanced=TreeOptions(max_candidates=max_candidates)).fit(
        [[1.0, 2.0]], ["a"]
    )
    assert tree.predict([[5.0, np.nan]]).tolist() == ["a"]


@pytest.mark.parametrize("max_candidates", [None, 3])
@pytest.mark.parametrize("reuse_splits", [True, False])
@pytest.mark.parametrize(
    "column",
    [[1.0] * 4, [np.nan] * 4, [np.inf] * 4, [0.0, -0.0] * 2],
    ids=["constant", "missing", "infinite", "zeros"],
)
def test_nothing_to_split(column, reuse_splits, max_candidates):
    X = np.column_stack([column, column])
    tree = CGTreeClassifier(
        advanced=TreeOptions(max_candidates=max_candidates, reuse_splits=reuse_splits)
    )
    tree.fit(X, [0, 1, 1, 1])
    assert tree.get_n_leaves() == 1
    assert tree.predict_proba(X)[0].tolist() == [0.25, 0.75]


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_one_feature(dtype):
    X = np.arange(20)[:, None].astype(dtype)
    y = np.arange(20) // 5
    tree = CGTreeClassifier(random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.get_n_leaves() == 4


def test_useless_columns_are_not_used(data):
    X, y = data
    wide = np.column_stack([np.zeros(len(X)), X, np.full(len(X), np.nan)])
    tree = CGTreeClassifier(random_state=0).fit(wide, y)
    assert tree.score(wide, y) == 1.0
    assert set(tree.trees_.feature) <= {-1, *range(1, 9)}


def test_infinities_are_ordinary_values():
    X = np.array([[-np.inf], [-1.0], [1.0], [np.inf]] * 3)
    y = [0, 1, 2, 3] * 3
    tree = CGTreeClassifier(random_state=0).fit(X, y)
    assert tree.predict(X).tolist() == y


def test_missing_values_are_learned(data):
    X, y = data
    X = X.copy()
    X[y == 1, 0] = np.nan
    tree = CGTreeClassifier(max_depth=1, random_state=0).fit(X, y == 1)
    assert tree.score(X, y == 1) == 1.0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_very_different_scales(data, dtype):
    X, y = data
    X = (X * 10.0 ** np.arange(-30, 34, 8)).astype(dtype)
    assert CGTreeClassifier(random_state=0).fit(X, y).score(X, y) == 1.0


def test_values_beyond_float32(data):
    # Zero is a float32 threshold between 1e300 and -1e300.
    X, y = data
    X = np.column_stack([X, np.where(y == 1, 1e300, -1e300)])
    tree = CGTreeClassifier(random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0


# --- predictions ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def shallow(data):
    X, y = data
    X = X.copy()
    X[::7, 2] = np.nan
    return CGTreeClassifier(max_depth=4, random_state=0).fit(X, y), X


def test_probabilities(shallow):
    tree, X = shallow
    p = tree.predict_proba(X)
    assert p.dtype == np.float64
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    assert (tree.predict(X) == tree.classes_[p.argmax(axis=1)]).all()
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(tree.predict_log_proba(X), np.log(p))


def test_probabilities_are_class_fractions(shallow, data):
    tree, X = shallow
    leaves = tree.apply(X)
    p = tree.predict_proba(X)
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        share = np.bincount(data[1][inside], minlength=3) / inside.sum()
        np.testing.assert_allclose(
            p[inside], np.tile(share, (inside.sum(), 1)), atol=1e-6
        )
        assert tree.trees_.n_samples[leaf] == inside.sum()


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("n", [1, 500, 20000])
def test_walks(shallow, dtype, n):
    tree, X = shallow
    X = np.resize(X, (n, 8))
    X = np.nan_to_num(X * 20 + 100).astype("u1") if dtype == "u1" else X.astype(dtype)
    leaves, path = tree.apply(X), tree.decision_path(X)
    assert path.shape == (n, tree.trees_.n_nodes)
    for i in range(0, n, 37):
        walk = reference.find_leaf(tree.trees_, X[i])
        assert leaves[i] == walk[-1]
        assert path[i].indices.tolist() == walk
    assert (path.data == 1).all()


def test_values_on_a_threshold_go_right(tree, data):
    trees = tree.trees_
    x = data[0][:1].astype(np.float64)
    for node, below in ((0, False), (0, True)):
        value = np.float64(trees.threshold[node])
        x[0, trees.feature[node]] = np.nextafter(value, -np.inf) if below else value
        child = trees.left[node] + (0 if below else 1)
        assert tree.decision_path(x)[0, child] == 1


def test_depth_and_leaves(shallow, tree):
    for model in (shallow[0], tree):
        depth = np.zeros(model.trees_.n_nodes, dtype=int)
        for node in model.trees_.inner:
            depth[model.trees_.left[node] + np.arange(2)] = depth[node] + 1
        assert model.get_depth() == depth.max()
        assert model.get_n_leaves() == (model.trees_.feature < 0).sum()
    assert shallow[0].get_depth() == 4


def test_breadth_first_order(tree):
    trees = tree.trees_
    inner = trees.inner
    assert trees.left[inner].tolist() == list(range(1, trees.n_nodes, 2))
    np.testing.assert_array_equal(
        trees.n_samples[trees.left[inner]] + trees.n_samples[trees.left[inner] + 1],
        trees.n_samples[inner],
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_importances_equal_scikit_learn(criterion):
    # With continuous data and all midpoints, both trees have the same splits.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    y = (X[:, 0] > 0.3) + (X[:, 1] + X[:, 2] > 0)
    ours = CGTreeClassifier(
        candidates=QuantileCandidates(),
        criterion=criterion,
        max_depth=3,
        random_state=0,
    ).fit(X, y)
    theirs = DecisionTreeClassifier(criterion=criterion, max_depth=3, random_state=0)
    theirs.fit(X, y)
    assert sorted(ours.trees_.feature) == sorted(np.maximum(theirs.tree_.feature, -1))
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, atol=1e-5
    )
    assert ours.feature_importances_.sum() == pytest.approx(1.0)


# --- parameters -----------------------------------------------------------------------


def test_limits(data):
    X, y = data
    for depth in (1, 2, 5):
        assert CGTreeClassifier(max_depth=depth).fit(X, y).get_depth() <= depth
    leaf = CGTreeClassifier(min_samples_leaf=20).fit(X, y).trees_
    assert leaf.n_samples.min() >= 20
    split = CGTreeClassifier(min_samples_split=50).fit(X, y).trees_
    assert split.n_samples[split.inner].min() >= 50


@pytest.mark.parametrize(
    ("share", "rows"), [("min_samples_leaf", 25), ("min_samples_split", 25)]
)
def test_limits_as_fractions(data, share, rows):
    X, y = data
    one = CGTreeClassifier(random_state=0, **{share: 0.05}).fit(X, y)
    same_bytes(one, CGTreeClassifier(random_state=0, **{share: rows}).fit(X, y))


def test_min_impurity_decrease(data):
    X, y = data
    options = TreeOptions(min_impurity_decrease=0.01)
    tree = CGTreeClassifier(advanced=options, random_state=0).fit(X, y)
    mass = tree.trees_.weight * tree.trees_.impurity
    left = tree.trees_.left[tree.trees_.inner]
    decrease = mass[tree.trees_.inner] - mass[left] - mass[left + 1]
    assert (decrease / len(y) >= 0.01 - 1e-6).all()
    assert 1 < tree.get_n_leaves() < CGTreeClassifier().fit(X, y).get_n_leaves()


def test_class_weights(data):
    X, y = data
    model = CGTreeClassifier(max_depth=3, random_state=0)
    by_dict = clone(model).set_params(class_weight={0: 1, 1: 5, 2: 1}).fit(X, y)
    by_rows = clone(model).fit(X, y, sample_weight=np.array([1.0, 5.0, 1.0])[y])
    same_bytes(by_dict, by_rows)
    keep = np.flatnonzero((y != 1) | (np.arange(len(y)) % 3 == 0))
    balanced = clone(model).set_params(class_weight="balanced").fit(X[keep], y[keep])
    share = balanced.trees_.node_values()[0]
    np.testing.assert_allclose(share, 1 / 3, atol=1e-5)


def test_class_weights_multiply_sample_weights(data):
    X, y = data
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = CGTreeClassifier(max_depth=3, random_state=0)
    one = clone(model).set_params(class_weight={0: 2, 1: 1, 2: 3})
    other = clone(model).fit(X, y, sample_weight=weights * np.array([2, 1, 3])[y])
    same_bytes(one.fit(X, y, sample_weight=weights), other)


def test_class_weights_of_strings(data):
    X, y = data
    y = np.array(["a", "b", "c"])[y]
    tree = CGTreeClassifier(class_weight={"a": 1, "b": 0, "c": 1}).fit(X, y)
    assert "b" not in tree.predict(X)
    assert tree.classes_.tolist() == ["a", "b", "c"]


def test_rows_of_weight_zero_are_ignored(data):
    X, y = data
    weights = (np.arange(len(y)) % 2).astype(float)
    model = CGTreeClassifier(candidates=QuantileCandidates(), random_state=0)
    tree = clone(model).fit(X, y, sample_weight=weights)
    assert tree.trees_.n_samples[0] == weights.sum()
    assert tree.score(X[1::2], y[1::2]) == 1.0


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60, 2.0**900, 2.0**-1000])
def test_any_scale_of_weights(data, unit):
    X, y = data
    weights = np.random.default_rng(0).random(len(y)) + 0.1
    model = CGTreeClassifier(candidates=QuantileCandidates(), random_state=0)
    one = clone(model).fit(X, y, sample_weight=weights)
    same_bytes(one, clone(model).fit(X, y, sample_weight=weights * unit))


def test_weights_whose_sum_overflows(data):
    X, y = data
    tree = CGTreeClassifier(
        max_depth=3, candidates=QuantileCandidates(), random_state=0
    )
    weights = np.full(len(y), 1e308)
    tree.fit(X, y, sample_weight=weights)
    same_bytes(tree, clone(tree).fit(X, y, sample_weight=weights * 2.0**-100))


def test_scalar_weight(data):
    X, y = data
    one = CGTreeClassifier(random_state=0).fit(X, y, sample_weight=2.0)
    other = CGTreeClassifier(random_state=0).fit(
        X, y, sample_weight=np.full(len(y), 2.0)
    )
    same_bytes(one, other)


# --- seeds and copies -----------------------------------------------------------------


@pytest.mark.parametrize("max_candidates", [None, 10])
def test_same_seed_same_tree(data, max_candidates):
    for seed in (0, 2**32 - 1, np.int64(7)):
        one, other = (
            CGTreeClassifier(
                advanced=TreeOptions(max_candidates=max_candidates), random_state=seed
            ).fit(*data)
            for _ in range(2)
        )
        same_bytes(one, other)
    one, other = (
        CGTreeClassifier(
            advanced=TreeOptions(max_candidates=max_candidates),
            random_state=np.random.RandomState(4),
        ).fit(*data)
        for _ in range(2)
    )
    same_bytes(one, other)


def test_other_seed_other_tree(data):
    features = {
        tuple(
            CGTreeClassifier(advanced=TreeOptions(max_candidates=10), random_state=seed)
            .fit(*data)
            .trees_.feature
        )
        for seed in range(5)
    }
    assert len(features) == 5


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, "pickle"])
def test_copies(tree, data, copier):
    if copier == "pickle":
        copies = [pickle.loads(pickle.dumps(tree, p)) for p in range(2, 6)]
    else:
        copies = [copier(tree)]
    for copied in copies:
        same_bytes(tree, copied)
        assert (copied.predict_proba(data[0]) == tree.predict_proba(data[0])).all()


def test_clone(tree, data):
    cloned = clone(tree)
    assert not hasattr(cloned, "trees_")
    same_bytes(cloned.fit(*data), tree)


def test_joblib_with_memory_maps(tree, data, tmp_path):
    X, y = data
    joblib.dump(tree, tmp_path / "tree.joblib")
    joblib.dump(X, tmp_path / "X.joblib")
    loaded = joblib.load(tmp_path / "tree.joblib", mmap_mode="r")
    mapped = joblib.load(tmp_path / "X.joblib", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    assert (loaded.predict_proba(mapped) == tree.predict_proba(X)).all()
    assert (loaded.apply(X) == tree.apply(X)).all()
    np.testing.assert_array_equal(
        loaded.candidates_.transform(mapped), tree.candidates_.transform(X)
    )
    same_bytes(loaded.fit(mapped, y), tree)


def test_refit_replaces_the_first_fit(data):
    X, y = data
    tree = CGTreeClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    same_bytes(tree.fit(X, y), CGTreeClassifier(random_state=0).fit(X, y))
    assert tree.n_features_in_ == 8


def test_paper_setting(data):
    X, y = data
    tree = CGTreeClassifier.paper(random_state=0)
    changed = changed_parameters(tree)
    assert changed.pop("candidates") == CentroidCandidates.paper().get_params()
    options = TreeOptions(max_candidates=100)
    assert changed.pop("advanced") == options.get_params()
    assert changed == {
        "max_depth": 8,
        "min_samples_split": 3,
        "random_state": 0,
    }
    tree.fit(X, y)
    assert tree.get_depth() <= 8
    assert len(tree.candidates_.centroids_) == 3


def test_a_fitted_tree_is_self_contained(data):
    """Changed parameters do not affect a fitted tree."""
    X, y = data
    tree = CGTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    importances, text = tree.feature_importances_, export_text(tree)
    graph = export_graphviz(tree)
    tree.set_params(criterion="entropy")
    np.testing.assert_array_equal(tree.feature_importances_, importances)
    assert export_text(tree) == text
    assert export_graphviz(tree) == graph


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_impurities_of_all_nodes(data, criterion, weighted):
    X, y = data
    weights = np.random.default_rng(0).random(len(y)) if weighted else None
    tree = CGTreeClassifier(
        criterion=criterion, min_samples_leaf=4, random_state=0
    ).fit(X, y, weights)
    shares = tree.trees_.node_values()
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    terms = shares * logs if criterion == "entropy" else shares**2
    expected = (0 if criterion == "entropy" else 1) - terms.sum(axis=1)
    np.testing.assert_allclose(tree.trees_.impurity, expected, atol=2e-6)
