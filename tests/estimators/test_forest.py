"""CGForestClassifier through the API of scikit-learn."""

import pickle

import numpy as np
import pytest
from checks import changed_parameters, digest, make, same_bytes
from reference import combine, sample_without_replacement
from reference_forest import tree_key
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

from dics import (
    CentroidCandidates,
    CGForestClassifier,
    CGTreeClassifier,
    ForestOptions,
)
from dics.export import export_text


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        400, 9, n_informative=5, n_classes=3, random_state=0, flip_y=0.1
    )
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def forest(data):
    """Return a forest of shallow trees, with several classes per leaf."""
    return CGForestClassifier(n_estimators=15, max_depth=4, random_state=0).fit(*data)


# --- trees of the forest --------------------------------------------------------------


def test_trees_are_trees(forest, data):
    X, y = data
    assert len(forest) == len(forest.estimators_) == 15
    for t, tree in enumerate(forest.estimators_):
        assert isinstance(tree, CGTreeClassifier)
        same_bytes(tree, forest[t])
        assert tree.predict(X).shape == y.shape
        assert tree.get_depth() <= 4
        assert tree.get_n_leaves() == tree.trees_.n_leaves
        assert export_text(tree).count("class") == tree.get_n_leaves()
        assert tree.score(X, y) > 0.5
    assert export_text(forest[0]) != export_text(forest[1])


def test_trees_by_index(forest):
    same_bytes(forest[-1], forest.estimators_[14])
    assert [digest(tree) for tree in forest] == [
        digest(tree) for tree in forest.estimators_
    ]
    with pytest.raises(IndexError):
        forest[15]


def test_trees_share_the_memory_of_the_forest(forest):
    for tree in forest.estimators_:
        assert np.shares_memory(tree.trees_.feature, forest.trees_.feature)


def test_pickle_of_one_tree(forest, data):
    alone = pickle.loads(pickle.dumps(forest[3]))
    same_bytes(alone, forest[3])
    assert (alone.predict_proba(data[0]) == forest[3].predict_proba(data[0])).all()
    per_tree = len(pickle.dumps(forest[3].trees_))
    assert per_tree < len(pickle.dumps(forest.trees_)) / 5


def test_trees_have_the_names_of_a_frame(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    names = [f"feature {i}" for i in range(9)]
    frame = pd.DataFrame(X, columns=names)
    forest = CGForestClassifier(n_estimators=3, random_state=0).fit(frame, y)
    assert forest.feature_names_in_.tolist() == names
    assert "feature 1" in "".join(export_text(tree) for tree in forest)
    for model in (forest, forest[0]):
        assert model.predict(frame).shape == y.shape  # a warning would be an error
    with pytest.raises(ValueError, match="feature names should match"):
        forest.predict(frame[names[::-1]])


def test_an_unfitted_forest_has_no_trees():
    assert not hasattr(CGForestClassifier(), "estimators_")
    with pytest.raises(AttributeError, match="not fitted yet"):
        CGForestClassifier().estimators_  # noqa: B018


# --- votes ----------------------------------------------------------------------------


def test_probabilities_are_the_mean_of_the_trees(forest, data):
    X, _ = data
    p = forest.predict_proba(X)
    assert p.dtype == np.float64
    mean = np.mean([tree.predict_proba(X) for tree in forest], axis=0)
    np.testing.assert_allclose(p, mean, atol=1e-7)
    assert (forest.predict(X) == p.argmax(axis=1)).all()
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(forest.predict_log_proba(X), np.log(p))


@pytest.mark.parametrize("n_trees", [3, 4])
def test_hard_votes(data, n_trees):
    X, y = data
    names = np.array(["x", "a", "m"])
    forest = CGForestClassifier(
        n_estimators=n_trees,
        max_depth=2,
        advanced=ForestOptions(voting="hard"),
        random_state=0,
    )
    forest.fit(X, names[y])
    votes = np.array([tree.predict(X) for tree in forest])
    counts = np.array([(votes == c).sum(axis=0) for c in forest.classes_]).T
    np.testing.assert_allclose(forest.predict_proba(X), counts / n_trees)
    # Ties go to the first class, as with argmax.
    assert (forest.predict(X) == forest.classes_[counts.argmax(axis=1)]).all()
    best = np.sort(counts, axis=1)
    assert (best[:, -1] == best[:, -2]).any()


def test_voting_is_chosen_after_the_fit(forest, data):
    X, _ = data
    hard = pickle.loads(pickle.dumps(forest)).set_params(advanced__voting="hard")
    assert set(np.unique(hard.predict_proba(X) * 15 % 1).round(9)) <= {0.0, 1.0}


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_probabilities_sum_to_one(data, voting):
    X, y = data
    forest = CGForestClassifier(
        n_estimators=30,
        max_depth=3,
        advanced=ForestOptions(voting=voting),
        random_state=0,
        class_weight="balanced",
    ).fit(X, y, sample_weight=np.random.default_rng(0).random(len(y)))
    p = forest.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert log_loss(y, p) > 0  # a warning would be an error


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_one_row_has_the_same_prediction(data, voting):
    # The core predicts 64 rows together; the grouping must not change any bit.
    X, y = data
    forest = CGForestClassifier(
        n_estimators=20,
        max_depth=4,
        advanced=ForestOptions(voting=voting),
        random_state=0,
    )
    forest.fit(X, y)
    together = forest.predict_proba(X)
    for i in (0, 63, 64, 399):
        assert (forest.predict_proba(X[i : i + 1]) == together[i]).all()
    rows = np.random.default_rng(0).permutation(400)[:101]
    assert (forest.predict_proba(X[rows]) == together[rows]).all()


def test_leaves_and_paths(forest, data):
    X, _ = data
    leaves = forest.apply(X)
    path, starts = forest.decision_path(X)
    assert leaves.shape == (400, 15)
    assert path.shape == (400, forest.trees_.n_nodes)
    assert starts.tolist() == forest.trees_.node_starts.tolist()
    for t, tree in enumerate(forest):
        assert (leaves[:, t] == tree.apply(X)).all()
        of_tree = path[:, starts[t] : starts[t + 1]]
        assert (of_tree != tree.decision_path(X)).nnz == 0


def test_importances_are_the_mean_of_the_trees(forest):
    mean = np.mean([tree.feature_importances_ for tree in forest], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, mean / mean.sum())
    assert forest.feature_importances_.sum() == pytest.approx(1.0)


def test_importances_of_stumps_that_do_not_split():
    forest = CGForestClassifier(n_estimators=3).fit([[1.0], [1.0]], [0, 1])
    assert forest.feature_importances_.tolist() == [0.0]


# --- features -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_features", "n_used"),
    [("sqrt", 3), ("log2", 3), (1, 1), (4, 4), (0.5, 4), (0.01, 1), (8, 8)],
)
def test_features_of_a_tree(data, max_features, n_used):
    X, y = data
    forest = CGForestClassifier(
        n_estimators=12,
        advanced=ForestOptions(feature_sampling="tree"),
        max_features=max_features,
        random_state=0,
    ).fit(X, y)
    sets = [frozenset(t.trees_.feature) - {-1} for t in forest]
    for number, used in enumerate(sets):
        key = combine(tree_key(0, number), 5)
        assert used <= set(sample_without_replacement(key, 9, n_used))
    assert max(map(len, sets)) == n_used
    assert len(set(sets)) > 1


@pytest.mark.parametrize("max_features", [None, 9, 40, 1.0])
def test_all_features(data, max_features):
    X, y = data
    forests = [
        CGForestClassifier(
            n_estimators=3,
            advanced=ForestOptions(feature_sampling=sampling),
            max_features=max_features,
            random_state=0,
        ).fit(X, y)
        for sampling in ("node", "tree")
    ]
    same_bytes(*forests)


@pytest.mark.parametrize(
    ("spelling", "number"), [("sqrt", 3), ("log2", 3), (0.34, 3), (0.001, 1)]
)
@pytest.mark.parametrize("sampling", ["node", "tree"])
def test_spellings_of_max_features(data, sampling, spelling, number):
    X, y = data
    forest = CGForestClassifier(
        n_estimators=3,
        advanced=ForestOptions(feature_sampling=sampling),
        random_state=0,
    )
    one = clone(forest).set_params(max_features=spelling).fit(X, y)
    same_bytes(one, clone(forest).set_params(max_features=number).fit(X, y))


@pytest.mark.parametrize("sampling", ["node", "tree"])
@pytest.mark.parametrize("spelling", ["sqrt", "log2", 0.1])
def test_one_feature(sampling, spelling):
    X, y = np.arange(20.0)[:, None], np.arange(20) // 5
    forest = CGForestClassifier(
        n_estimators=10,
        advanced=ForestOptions(feature_sampling=sampling),
        max_features=spelling,
        random_state=0,
    ).fit(X, y)
    assert forest.score(X, y) > 0.8


# --- warm start -----------------------------------------------------------------------


SAMPLINGS = [
    {},
    {"feature_sampling": "tree"},
    {"max_features": None, "max_depth": 4},
    {"max_candidates": 10, "bootstrap": False},
]


@pytest.mark.parametrize("parameters", SAMPLINGS, ids=str)
def test_fewer_trees_are_a_prefix_of_more(data, parameters):
    small, large = (
        make(CGForestClassifier, n_estimators=n, random_state=0, **parameters).fit(
            *data
        )
        for n in (3, 8)
    )
    for t in range(3):
        same_bytes(small[t], large[t])


@pytest.mark.parametrize("parameters", SAMPLINGS, ids=str)
@pytest.mark.parametrize("random_state", [0, None, np.random.RandomState(5)])
def test_warm_start_equals_one_fit(data, parameters, random_state):
    X, y = data
    forest = make(
        CGForestClassifier,
        n_estimators=2,
        warm_start=True,
        random_state=random_state,
        **parameters,
    ).fit(X, y)
    first = [digest(tree) for tree in forest]
    forest.set_params(n_estimators=5).fit(X, y).set_params(n_estimators=6).fit(X, y)
    assert [digest(tree) for tree in forest][:2] == first
    if random_state == 0:
        at_once = make(
            CGForestClassifier, n_estimators=6, random_state=0, **parameters
        ).fit(X, y)
        same_bytes(forest, at_once)
        assert (forest.predict_proba(X) == at_once.predict_proba(X)).all()
    assert len({digest(tree) for tree in forest}) == 6


def test_warm_start_updates_out_of_bag_estimates(data):
    X, y = data
    parameters = {"oob_score": True, "random_state": 0}
    forest = make(
        CGForestClassifier, n_estimators=40, warm_start=True, **parameters
    ).fit(X, y)
    forest.set_params(n_estimators=50).fit(X, y)
    at_once = make(CGForestClassifier, n_estimators=50, **parameters).fit(X, y)
    assert forest.oob_score_ == at_once.oob_score_
    np.testing.assert_array_equal(
        forest.oob_decision_function_, at_once.oob_decision_function_
    )


def test_warm_start_adds_out_of_bag_estimates(data):
    X, y = data
    forest = CGForestClassifier(n_estimators=40, warm_start=True, random_state=0).fit(
        X, y
    )
    forest.set_params(oob_score=True)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.fit(X, y)
    at_once = CGForestClassifier(n_estimators=40, oob_score=True, random_state=0).fit(
        X, y
    )
    assert forest.oob_score_ == at_once.oob_score_


def test_no_trees_to_add(data):
    X, y = data
    forest = CGForestClassifier(n_estimators=3, warm_start=True, random_state=0).fit(
        X, y
    )
    before = digest(forest)
    with pytest.warns(UserWarning, match="does not fit new trees") as caught:
        forest.fit(X, y)
    assert caught[0].filename == __file__
    assert digest(forest) == before


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_estimators": 2}, "n_estimators=2.*3"),
        ({"classes": True}, "warm_start needs the classes"),
        ({"features": True}, "X has 8 features"),
    ],
    ids=["fewer trees", "other classes", "other features"],
)
def test_warm_start_with_other_parameters(data, change, match):
    X, y = data
    forest = CGForestClassifier(n_estimators=3, warm_start=True, random_state=0).fit(
        X, y
    )
    before = digest(forest), sorted(vars(forest))
    forest.set_params(n_estimators=change.get("n_estimators", 5))
    with pytest.raises(ValueError, match=match):
        forest.fit(
            X[:, :8] if "features" in change else X, y + 1 if "classes" in change else y
        )
    assert (digest(forest), sorted(vars(forest))) == before


def test_refit_without_warm_start(data):
    X, y = data
    forest = CGForestClassifier(n_estimators=3, random_state=0).fit(
        *load_iris(return_X_y=True)
    )
    forest.set_params(n_estimators=2).fit(X, y)
    same_bytes(forest, CGForestClassifier(n_estimators=2, random_state=0).fit(X, y))
    assert forest.n_features_in_ == 9
    assert forest.classes_.tolist() == [0, 1, 2]


# --- labels, shapes and values --------------------------------------------------------


def test_label_types(data):
    X, y = data
    for classes in (["b", "a", "c"], [1.0, -2.0, 0.0], [True, False, True]):
        labels = np.asarray(classes)[y]
        forest = CGForestClassifier(n_estimators=30, random_state=0).fit(X, labels)
        assert forest.classes_.tolist() == np.unique(labels).tolist()
        assert forest.n_classes_ == len(forest.classes_)
        assert forest.predict(X).dtype == labels.dtype
        assert forest.score(X, labels) > 0.95


def test_one_class(data):
    X, _ = data
    forest = CGForestClassifier(n_estimators=3).fit(X, ["only"] * len(X))
    assert (forest.predict(X) == "only").all()
    assert (forest.predict_proba(X) == 1.0).all()
    assert forest.trees_.n_nodes == 3


@pytest.mark.parametrize("sampling", ["node", "tree"])
def test_thousand_classes(sampling):
    y = np.repeat(np.arange(1000), 3)
    X = np.column_stack([y % 32, y // 32, y % 7]).astype(np.float32)
    forest = CGForestClassifier(
        n_estimators=10,
        advanced=ForestOptions(feature_sampling=sampling),
        max_features=2,
        random_state=0,
    ).fit(X, y)
    assert forest.predict_proba(X[:50]).shape == (50, 1000)
    assert forest.score(X, y) > 0.9


@pytest.mark.parametrize("parameters", SAMPLINGS, ids=str)
def test_one_row(parameters):
    forest = make(CGForestClassifier, n_estimators=3, **parameters).fit(
        [[1.0, 2.0, 3.0, 4.0]], ["a"]
    )
    assert forest.predict([[5.0, np.nan, 0.0, 0.0]]).tolist() == ["a"]


@pytest.mark.parametrize("parameters", SAMPLINGS, ids=str)
@pytest.mark.parametrize(
    "column",
    [[1.0] * 8, [np.nan] * 8, [np.inf] * 8, [0.0, -0.0] * 4],
    ids=["constant", "missing", "infinite", "zeros"],
)
def test_nothing_to_split(column, parameters):
    X = np.column_stack([column] * 4)
    forest = make(CGForestClassifier, n_estimators=5, random_state=0, **parameters).fit(
        X, [0, 1] * 4
    )
    assert forest.trees_.n_nodes == 5
    shares = forest.predict_proba(X)
    assert (shares == shares[0]).all()


@pytest.mark.parametrize("sampling", ["node", "tree"])
def test_constant_columns_are_not_used(data, sampling):
    X, y = data
    wide = np.column_stack([np.zeros(len(X)), X, np.full(len(X), np.nan)])
    forest = CGForestClassifier(
        n_estimators=10,
        advanced=ForestOptions(feature_sampling=sampling),
        random_state=0,
    )
    forest.fit(wide, y)
    assert set(forest.trees_.feature) <= {-1, *range(1, 10)}


def test_constant_columns_are_not_sampled(data):
    # As in RandomForestClassifier, every node finds the only feature that is not
    # constant.
    X, y = data
    wide = np.zeros((len(X), 100), dtype=np.float32)
    wide[:, 42] = np.arange(len(X))
    forest = CGForestClassifier(n_estimators=3, max_features=1, bootstrap=False).fit(
        wide, y
    )
    assert set(forest.trees_.feature) == {-1, 42}


def test_missing_values_are_learned(data):
    X, y = data
    X = X.copy()
    X[y == 1] = np.nan
    forest = CGForestClassifier(n_estimators=10, random_state=0).fit(X, y == 1)
    assert forest.score(X, y == 1) == 1.0


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_maps(data, tmp_path, order):
    X, y = data
    np.save(tmp_path / "X.npy", np.asarray(X, order=order))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    forest = CGForestClassifier(n_estimators=40, oob_score=True, random_state=0)
    found = clone(forest).fit(mapped, y)
    same_bytes(found, forest.fit(X, y))
    assert (found.predict_proba(mapped) == forest.predict_proba(X)).all()
    assert found.oob_score_ == forest.oob_score_


def test_input_is_only_read(data):
    X, y = data[0].copy(), data[1].copy()
    weights = np.random.default_rng(0).random(len(y))
    before = [a.tobytes() for a in (X, y, weights)]
    for array in (X, y, weights):
        array.flags.writeable = False
    forest = CGForestClassifier(n_estimators=40, oob_score=True, random_state=0)
    forest.fit(X, y, sample_weight=weights).predict_proba(X)
    assert [a.tobytes() for a in (X, y, weights)] == before


# --- limits of the trees --------------------------------------------------------------


def test_limits(data):
    X, y = data
    for depth in (1, 3):
        forest = CGForestClassifier(
            n_estimators=5, max_depth=depth, random_state=0
        ).fit(X, y)
        assert max(tree.get_depth() for tree in forest) == depth
    leaf = CGForestClassifier(n_estimators=5, min_samples_leaf=20, random_state=0).fit(
        X, y
    )
    assert leaf.trees_.n_samples.min() >= 20
    split = CGForestClassifier(
        n_estimators=5, min_samples_split=50, random_state=0
    ).fit(X, y)
    assert split.trees_.n_samples[split.trees_.inner].min() >= 50
    heavy = CGForestClassifier(
        n_estimators=5,
        advanced=ForestOptions(min_weight_fraction_leaf=0.1),
        random_state=0,
    )
    assert heavy.fit(X, y).trees_.weight.min() >= 40


def test_limits_as_fractions(data):
    X, y = data
    for name in ("min_samples_leaf", "min_samples_split"):
        one, other = (
            make(
                CGForestClassifier,
                n_estimators=3,
                max_features="sqrt",  # "auto" tries limits on fewer rows
                splitter="best",
                random_state=0,
                **{"min_samples_leaf": 1, name: limit},
            ).fit(X, y)
            for limit in (0.05, 20)
        )
        same_bytes(one, other)


# --- seeds, copies, sizes -------------------------------------------------------------


def test_same_seed_same_forest(data):
    for seed in (0, 2**32 - 1, np.int64(7)):
        one, other = (
            CGForestClassifier(n_estimators=3, random_state=seed).fit(*data)
            for _ in range(2)
        )
        same_bytes(one, other)


def test_other_seed_other_forest(data):
    digests = {
        digest(CGForestClassifier(n_estimators=1, random_state=seed).fit(*data))
        for seed in range(5)
    }
    assert len(digests) == 5


def test_pickle(forest, data):
    for protocol in range(2, 6):
        copied = pickle.loads(pickle.dumps(forest, protocol))
        same_bytes(forest, copied)
        assert (copied.predict_proba(data[0]) == forest.predict_proba(data[0])).all()
        assert (copied[2].predict(data[0]) == forest[2].predict(data[0])).all()
    same_bytes(clone(forest).fit(*data), forest)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_size_of_a_pickle(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + rng.normal(size=2000)).argsort().argsort() * n_classes
    y = y // 2000
    ours = CGForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    theirs = RandomForestClassifier(20, random_state=0).fit(X, y)
    n_nodes = sum(tree.tree_.node_count for tree in theirs.estimators_)
    their_size = len(pickle.dumps(theirs)) / n_nodes
    # 29 bytes per node: 16 to predict, and missing_left, weight, impurity, n_samples.
    assert len(pickle.dumps(ours)) / ours.trees_.n_nodes <= their_size / 2.5


def test_parameters_are_those_of_a_random_forest():
    ours, theirs = CGForestClassifier().get_params(), RandomForestClassifier()
    for name, value in ours.items():
        if name in theirs.get_params() and value != "auto":
            assert value == theirs.get_params()[name], name


def test_model_selection(data):
    X, y = data
    search = GridSearchCV(
        CGForestClassifier(
            n_estimators=5, candidates=CentroidCandidates(), random_state=0
        ),
        {"candidates__n_pairs": [1, 3], "max_features": [2, 5]},
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.5
    assert len(cross_val_score(CGForestClassifier(n_estimators=5), X, y, cv=3)) == 3


def test_better_than_one_tree(data):
    X, y = data
    train, rest = slice(0, 250), slice(250, None)
    tree = CGTreeClassifier(random_state=0).fit(X[train], y[train])
    forest = CGForestClassifier(n_estimators=50, random_state=0).fit(X[train], y[train])
    assert forest.score(X[rest], y[rest]) > tree.score(X[rest], y[rest])


def test_paper_setting(data):
    X, y = data
    forest = CGForestClassifier.paper(n_estimators=10, random_state=0)
    changed = changed_parameters(forest)
    assert changed.pop("candidates") == CentroidCandidates.paper().get_params()
    assert changed.pop("advanced") == {
        **ForestOptions().get_params(),
        "feature_sampling": "tree",
        "max_candidates": 100,
        "voting": "hard",
    }
    assert changed == {
        "n_estimators": 10,
        "splitter": "best",
        "max_features": "sqrt",
        "max_depth": 8,
        "min_samples_split": 3,
        "min_samples_leaf": 1,
        "random_state": 0,
    }
    forest.fit(X, y)
    assert len(forest.candidates_.centroids_) == 3
    assert max(tree.get_depth() for tree in forest) <= 8
    assert forest.score(X, y) > 0.6


def test_index_and_slice(forest):
    assert len(forest[-2:]) == 2
    same_bytes(forest[-1], forest.estimators_[14])
    assert forest.trees_[-1].n_nodes == forest[14].trees_.n_nodes
    with pytest.raises(IndexError):
        forest[15]


@pytest.mark.parametrize("n_features", [129, 193])
def test_every_feature_is_sampled_equally(n_features):
    # Three and four cache lines; the last one is not full.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, n_features)), rng.integers(0, 2, 40)
    forest = CGForestClassifier(
        n_estimators=20_000, max_features=1, max_depth=1, random_state=0
    )
    roots = forest.fit(X, y).trees_.feature[forest.trees_.node_starts[:-1]]
    drawn = np.bincount(roots[roots >= 0], minlength=n_features)
    expected = drawn.mean()
    assert abs(drawn - expected).max() < 5.5 * np.sqrt(expected)
