"""Custom candidates."""

import numpy as np
import pytest
from checks import check_sound, digest, same_bytes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from dics import (
    BaseCandidates,
    CentroidCandidates,
    CGBoostingClassifier,
    CGForestClassifier,
    CGTreeClassifier,
    QuantileCandidates,
    TreeOptions,
)

X, Y = load_iris(return_X_y=True)
MODELS = {
    "tree": CGTreeClassifier(random_state=0),
    "forest": CGForestClassifier(n_estimators=9, random_state=0),
    "boosting": CGBoostingClassifier(n_estimators=9, random_state=0),
}


class Returned(BaseCandidates):
    """Returns the given thresholds."""

    def __init__(self, thresholds=None):
        self.thresholds = thresholds

    def find_thresholds(self, X, y, sample_weight, rng):
        return self.thresholds


class RandomRows(BaseCandidates):
    """Returns values of random rows without missing values."""

    def __init__(self, n_rows=20, random_state=None):
        self.n_rows = n_rows
        self.random_state = random_state

    def find_thresholds(self, X, y, sample_weight, rng):
        sampled = X[rng.choice(len(X), self.n_rows)]
        return [column[np.isfinite(column)] for column in sampled.T]


class Seen(BaseCandidates):
    """Stores its arguments."""

    def find_thresholds(self, X, y, sample_weight, rng):
        self.seen_ = X, y, sample_weight
        return [[]] * X.shape[1]


@parametrize_with_checks([RandomRows(random_state=0)])
def test_scikit_learn(estimator, check):
    if "sample_weight_equivalence" in str(check):
        pytest.skip("rows are sampled by their number")
    check(estimator)


@pytest.mark.parametrize("name", MODELS)
def test_models_use_it(name):
    model = clone(MODELS[name]).set_params(candidates=RandomRows(40)).fit(X, Y)
    assert model.score(X, Y) > 0.9
    check_sound(model.candidates_, 4)
    for column, tau in zip(X.T, model.candidates_.thresholds_, strict=True):
        assert np.isin(tau, column).all()
    used = model.trees_.threshold[model.trees_.inner]
    assert np.isin(used, np.concatenate(model.candidates_.thresholds_)).all()
    assert not hasattr(model.candidates, "thresholds_")


@pytest.mark.parametrize("name", MODELS)
def test_seeds(name):
    model = clone(MODELS[name]).set_params(candidates=RandomRows())
    one, two = (clone(model).set_params(n_jobs=n).fit(X, Y) for n in (1, 2))
    assert digest(one) == digest(two)
    other = clone(model).set_params(random_state=1).fit(X, Y)
    assert digest(one) != digest(other)
    seeded = clone(model).set_params(candidates__random_state=5)
    first, second = (clone(seeded).set_params(random_state=s).fit(X, Y) for s in (0, 1))
    assert digest(first.candidates_) == digest(second.candidates_)


def test_grid_search():
    tree = CGTreeClassifier(candidates=RandomRows(), random_state=0)
    search = GridSearchCV(tree, {"candidates__n_rows": [1, 50]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"candidates__n_rows": 50}


def test_same_thresholds_same_tree():
    quantiles = QuantileCandidates(max_bins=16).fit(X)
    ours = CGTreeClassifier(candidates=quantiles, random_state=0).fit(X, Y)
    own = Returned([tau.tolist() for tau in quantiles.thresholds_])
    same_bytes(ours, CGTreeClassifier(candidates=own, random_state=0).fit(X, Y))


def test_thresholds_are_sorted_and_distinct():
    source = Returned([[3, 1, 2, 1], np.array([2.5]), (), range(254)]).fit(X)
    expected = [[1, 2, 3], [2.5], [], np.arange(254)]
    for tau, values in zip(source.thresholds_, expected, strict=True):
        np.testing.assert_array_equal(tau, values)
    check_sound(source, 4)
    np.testing.assert_array_equal(source.n_thresholds_, [3, 1, 0, 254])
    np.testing.assert_array_equal(source.transform(X)[:, 1], X[:, 1] >= 2.5)


def test_matrices_and_generators():
    rows = np.arange(8).reshape(4, 2)
    for thresholds in (rows, (row for row in rows), rows.astype("u1")):
        source = Returned().set_params(thresholds=thresholds).fit(X)
        np.testing.assert_array_equal(np.stack(source.thresholds_), rows)


GOOD = [[1.0]] * 3


@pytest.mark.parametrize(
    ("thresholds", "error", "message"),
    [
        (
            None,
            TypeError,
            "Returned.find_thresholds must return an array",
        ),
        (3.5, TypeError, "for each feature, got float"),
        (
            GOOD,
            ValueError,
            "find_thresholds returned thresholds of 3 features; X has 4",
        ),
        ([*GOOD, [1], [2]], ValueError, "of 5 features; X has 4"),
        (
            [*GOOD, [1, np.nan]],
            ValueError,
            "thresholds, feature 3: thresholds contain nan",
        ),
        ([[np.inf], *GOOD], ValueError, "feature 0: thresholds contain inf"),
        ([*GOOD, ["a"]], ValueError, "feature 3: thresholds must be numbers"),
        ([*GOOD, [1j]], ValueError, "must be numbers, got complex128"),
        ([*GOOD, [None]], ValueError, "must be numbers, got object"),
        ([*GOOD, 2.0], ValueError, r"feature 3: thresholds must be a vector.*\(\)"),
        ([*GOOD, [[1.0]]], ValueError, r"must be a vector, got the shape \(1, 1\)"),
        (
            [*GOOD, [[1.0], [1, 2]]],
            ValueError,
            "feature 3: thresholds are not a vector",
        ),
        ([*GOOD, range(255)], ValueError, "feature 3: 255 thresholds; at most 254"),
        ("abcd", ValueError, "feature 0: thresholds must be a vector"),
    ],
)
@pytest.mark.parametrize("name", [None, *MODELS])
def test_place_rejects_bad_thresholds(name, thresholds, error, message):
    source = Returned(thresholds)
    model = source if name is None else clone(MODELS[name])
    before = dict(vars(model))
    if name is not None:
        before["candidates"] = model.candidates = source
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert vars(model) == before


def test_missing_method():
    class Nothing(BaseCandidates):
        pass

    with pytest.raises(NotImplementedError, match="Nothing has no method"):
        CGTreeClassifier(candidates=Nothing()).fit(X, Y)


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_arguments_of_find_thresholds(dtype):
    rows, names = X.astype(dtype), np.array(["a", "b", "c"])[Y]
    tree = CGTreeClassifier(candidates=Seen()).fit(rows, names)
    seen, y, weights = tree.candidates_.seen_
    assert seen.dtype == dtype
    assert np.shares_memory(seen, rows)
    np.testing.assert_array_equal(y, Y)
    assert y.dtype.kind == "i"
    assert weights is None
    assert tree.get_n_leaves() == 1
    with pytest.raises(ValueError, match="read-only"):
        seen[0, 0] = 1
    assert rows.flags.writeable


def test_labels_without_a_model():
    assert Seen().fit(X).seen_[1] is None
    np.testing.assert_array_equal(Seen().fit(X, X[:, 0]).seen_[1], X[:, 0])
    np.testing.assert_array_equal(Seen().fit(X, Y + 3).seen_[1], Y)


def test_weights_are_read_only():
    weights = np.linspace(1, 2, len(X))
    tree = CGTreeClassifier(candidates=Seen()).fit(X, Y, sample_weight=weights)
    seen = tree.candidates_.seen_[2]
    np.testing.assert_array_equal(seen, weights)
    assert not np.shares_memory(seen, weights)


def test_rows_of_weight_zero_are_left_out():
    weights = (np.arange(len(X)) % 3).astype(float)
    source = Seen().fit(X, Y, sample_weight=weights)
    for array, all_of_it in zip(source.seen_, (X, Y, weights), strict=True):
        np.testing.assert_array_equal(array, all_of_it[weights > 0])


@pytest.mark.filterwarnings("ignore:Early stopping keeps none")
def test_held_out_rows_are_left_out():
    model = CGBoostingClassifier(
        n_estimators=2, candidates=Seen(), early_stopping=True, validation_fraction=50
    ).fit(X, Y)
    assert len(model.candidates_.seen_[0]) == model.plan_.n_rows == 100


def test_custom_thresholds_are_renewed_on_request():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 2))
    labels = (rows[:, 0] > rows[:, 1]).astype(int)
    source = Returned([np.linspace(-2, 2, 130)] * 2)
    auto, never, always = (
        CGTreeClassifier(
            candidates=source,
            advanced=TreeOptions(renew_thresholds=renew),
            random_state=0,
        )
        .fit(rows, labels)
        .trees_.threshold
        for renew in ("auto", False, True)
    )
    np.testing.assert_array_equal(auto, never)
    assert len(always) != len(never)


def test_subclass_adds_thresholds():
    class WithZero(CentroidCandidates):
        def find_thresholds(self, X, y, sample_weight, rng):
            ours = CentroidCandidates(random_state=0).fit(X, y, sample_weight)
            return [np.append(tau, 0) for tau in ours.thresholds_]

    source = WithZero().fit(X - X.mean(axis=0), Y)
    assert all(0 in tau for tau in source.thresholds_)
