"""Rows of the trees in a forest: samples, weights, balance, and out-of-bag rows."""

import math

import numpy as np
import pytest
from checks import same_bytes
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from dics import CGForestClassifier, ForestOptions, QuantileCandidates, _core


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        400, 9, n_informative=5, n_classes=3, random_state=0, flip_y=0.1
    )
    return X.astype(np.float32), y


def sample_counts(number, n_rows, sample_size=None, weights=None, seed=0):
    """Return the number of times a tree of a forest sampled each row."""
    counts = np.empty(n_rows, dtype=np.uint32)
    cumulative = None if weights is None else np.cumsum(weights)
    _core.bootstrap(seed, number, sample_size or n_rows, cumulative, counts)
    return counts


# --- the bootstrap --------------------------------------------------------------------


def test_rows_of_a_tree_are_its_sample(data):
    X, y = data
    forest = CGForestClassifier(n_estimators=4, random_state=0, max_features=None).fit(
        X, y
    )
    for t, tree in enumerate(forest):
        counts = sample_counts(t, len(y))
        assert tree.trees_.n_samples[0] == np.count_nonzero(counts)
        assert tree.trees_.weight[0] == len(y)
        in_bag = counts > 0
        assert tree.score(X[in_bag], y[in_bag]) == 1.0
        shares = np.bincount(y, counts) / len(y)
        np.testing.assert_allclose(tree.trees_.node_values()[0], shares, atol=1e-6)


def test_without_bootstrap_all_rows_are_used(data):
    X, y = data
    forest = CGForestClassifier(n_estimators=4, bootstrap=False, random_state=0).fit(
        X, y
    )
    assert forest.score(X, y) == 1.0
    for tree in forest:
        assert tree.trees_.n_samples[0] == len(y)
        assert tree.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("max_samples", "weights", "sample_size"),
    [
        (None, None, 400),
        (1, None, 1),
        (30, None, 30),
        (1000, None, 1000),
        (0.25, None, 100),
        (1.0, None, 400),
        (2.5, None, 1000),
        (1e-9, None, 1),
        (None, 3.0, 400),
        (30, 3.0, 30),
        (0.25, 3.0, 300),
        (0.25, 0.5, 50),
    ],
)
def test_max_samples(data, max_samples, weights, sample_size):
    X, y = data
    if weights is not None:
        weights = np.full(len(y), weights)
    forest = CGForestClassifier(n_estimators=3, max_samples=max_samples, random_state=0)
    forest.fit(X, y, sample_weight=weights)
    for t, tree in enumerate(forest):
        counts = sample_counts(t, len(y), sample_size, weights)
        assert tree.trees_.weight[0] == sample_size
        assert tree.trees_.n_samples[0] == np.count_nonzero(counts)


def test_rows_of_weight_zero_are_never_sampled(data):
    X, y = data
    weights = (np.arange(len(y)) % 3 == 0).astype(float)
    weights[y == 2] = 0.0
    forest = CGForestClassifier(n_estimators=20, random_state=0).fit(
        X, y, sample_weight=weights
    )
    assert forest.classes_.tolist() == [0, 1, 2]
    assert (forest.predict_proba(X)[:, 2] == 0).all()
    used = weights > 0
    for t, tree in enumerate(forest):
        counts = sample_counts(t, len(y), weights=weights)
        assert counts[~used].sum() == 0
        assert tree.trees_.n_samples[0] <= used.sum()


def test_heavier_rows_are_sampled_more_often(data):
    _, y = data
    weights = np.where(y == 1, 5.0, 1.0)
    share = sum(sample_counts(t, len(y), weights=weights) for t in range(20))[
        y == 1
    ].sum()
    assert share / (20 * len(y)) == pytest.approx(
        weights[y == 1].sum() / weights.sum(), abs=0.03
    )


@pytest.mark.parametrize("sampling", ["node", "tree"])
def test_weights_are_repeats_without_bootstrap(data, sampling):
    X, y = data
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    forest = CGForestClassifier(
        n_estimators=5,
        bootstrap=False,
        advanced=ForestOptions(feature_sampling=sampling),
        candidates=QuantileCandidates(),
        splitter="best",
        max_features="sqrt",
        min_samples_leaf=1,
        max_depth=4,
        random_state=0,
    )
    weighted = clone(forest).fit(X, y, sample_weight=weights)
    repeated = clone(forest).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for name in ("feature", "threshold", "left", "leaf_values"):
        np.testing.assert_array_equal(
            getattr(weighted.trees_, name), getattr(repeated.trees_, name)
        )


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60, 2.0**900])
def test_any_scale_of_weights(data, unit, bootstrap):
    X, y = data
    weights = np.random.default_rng(0).random(len(y)) + 0.1
    forest = CGForestClassifier(
        n_estimators=3,
        candidates=QuantileCandidates(),
        bootstrap=bootstrap,
        random_state=0,
    )
    one = clone(forest).fit(X, y, sample_weight=weights)
    same_bytes(one, clone(forest).fit(X, y, sample_weight=weights * unit))


# --- class weights --------------------------------------------------------------------


@pytest.mark.parametrize("bootstrap", [True, False])
def test_class_weights_are_row_weights(data, bootstrap):
    X, y = data
    forest = CGForestClassifier(
        n_estimators=4, max_depth=3, bootstrap=bootstrap, random_state=0
    )
    by_dict = clone(forest).set_params(class_weight={0: 1, 1: 5, 2: 1}).fit(X, y)
    by_rows = clone(forest).fit(X, y, sample_weight=np.array([1.0, 5.0, 1.0])[y])
    same_bytes(by_dict, by_rows)


@pytest.fixture(scope="module")
def skewed(data):
    """Return rows with one rare class of three."""
    X, y = data
    keep = (y != 1) | (np.arange(len(y)) % 8 == 0)
    return X[keep], y[keep]


def mean_root_fractions(forest):
    return np.mean([tree.trees_.node_values()[0] for tree in forest], axis=0)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_balanced_classes(skewed, class_weight, bootstrap):
    X, y = skewed
    forest = CGForestClassifier(
        n_estimators=30,
        class_weight=class_weight,
        bootstrap=bootstrap,
        max_depth=3,
        random_state=0,
    ).fit(X, y)
    # Sampled classes are balanced on average, weighted classes in each tree.
    by_chance = bootstrap and class_weight == "balanced"
    np.testing.assert_allclose(
        mean_root_fractions(forest), 1 / 3, atol=0.03 if by_chance else 1e-5
    )
    plain = CGForestClassifier(n_estimators=30, max_depth=3, random_state=0).fit(X, y)
    assert mean_root_fractions(plain)[1] < 0.1
    assert (forest.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()
    assert forest.trees_.weight[0] == pytest.approx(len(y), rel=1e-6)


def test_balanced_subsample_is_balanced_in_each_tree(skewed):
    X, y = skewed
    forest = CGForestClassifier(
        n_estimators=10, class_weight="balanced_subsample", max_depth=3, random_state=0
    ).fit(X, y, sample_weight=np.random.default_rng(0).random(len(y)))
    for tree in forest:
        np.testing.assert_allclose(tree.trees_.node_values()[0], 1 / 3, atol=1e-5)


def test_balanced_subsample_without_bootstrap_is_balanced(skewed):
    X, y = skewed
    forest = CGForestClassifier(n_estimators=4, bootstrap=False, random_state=0)
    one = clone(forest).set_params(class_weight="balanced_subsample").fit(X, y)
    same_bytes(one, clone(forest).set_params(class_weight="balanced").fit(X, y))


def test_balanced_subsample_of_one_class():
    # A sample of one row has one class, with any weights.
    X, y = np.arange(6.0)[:, None], [0, 1] * 3
    forest = CGForestClassifier(
        n_estimators=8, max_samples=1, class_weight="balanced_subsample", random_state=0
    ).fit(X, y)
    assert {tree.predict(X)[0] for tree in forest} == {0, 1}
    assert all(tree.trees_.n_nodes == 1 for tree in forest)


# --- out of bag -----------------------------------------------------------------------


def expected_votes(forest, X, seed=0, weights=None):
    votes = np.zeros((len(X), forest.n_classes_))
    for t, tree in enumerate(forest):
        out = sample_counts(t, len(X), weights=weights, seed=seed) == 0
        if forest._options.voting == "hard":
            choice = np.searchsorted(forest.classes_, tree.predict(X[out]))
            votes[out] += np.eye(forest.n_classes_)[choice]
        else:
            votes[out] += tree.predict_proba(X[out])
    return votes


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_bag_votes(data, voting, weighted):
    X, y = data
    names = np.array(["x", "a", "m"])[y]
    weights = np.random.default_rng(0).random(len(y)) if weighted else None
    forest = CGForestClassifier(
        n_estimators=40,
        max_depth=5,
        advanced=ForestOptions(voting=voting),
        oob_score=True,
        random_state=3,
    ).fit(X, names, sample_weight=weights)
    votes = expected_votes(forest, X, seed=3, weights=weights)
    np.testing.assert_allclose(
        forest.oob_decision_function_,
        votes / votes.sum(axis=1, keepdims=True),
        atol=1e-6,
    )
    guess = forest.classes_[forest.oob_decision_function_.argmax(axis=1)]
    assert forest.oob_score_ == accuracy_score(names, guess)
    assert 0.5 < forest.oob_score_ < forest.score(X, names)


def test_out_of_bag_metric(data):
    X, y = data
    names = np.array(["x", "a", "m"])[y]
    seen = []

    def metric(truth, guess):
        seen.append((truth, guess))
        return balanced_accuracy_score(truth, guess)

    forest = CGForestClassifier(n_estimators=60, oob_score=metric, random_state=0).fit(
        X, names
    )
    ((truth, guess),) = seen
    assert (truth == names).all()
    assert forest.oob_score_ == balanced_accuracy_score(names, guess)
    assert isinstance(forest.oob_score_, float)


def test_rows_without_out_of_bag_votes(data):
    X, y = data
    forest = CGForestClassifier(n_estimators=2, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="do not have OOB scores") as caught:
        forest.fit(X, y)
    assert caught[0].filename == __file__
    always = (sample_counts(0, len(y)) > 0) & (sample_counts(1, len(y)) > 0)
    assert 0 < always.sum() < len(y)
    missing = np.isnan(forest.oob_decision_function_).all(axis=1)
    assert (missing == always).all()
    seen = ~always
    guess = forest.oob_decision_function_[seen].argmax(axis=1)
    assert forest.oob_score_ == accuracy_score(y[seen], guess)


def test_no_out_of_bag_votes():
    forest = CGForestClassifier(n_estimators=3, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        forest.fit([[1.0]], ["a"])
    assert math.isnan(forest.oob_score_)
    assert np.isnan(forest.oob_decision_function_).all()


def test_refit_removes_out_of_bag_score():
    X, y = make_classification(80, 5, random_state=0)
    forest = CGForestClassifier(n_estimators=60, oob_score=True, random_state=0).fit(
        X, y
    )
    forest.set_params(oob_score=False).fit(X[:40], y[:40])
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_decision_function_")
