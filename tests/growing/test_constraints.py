"""Monotonic constraints, interactions of features, and callbacks of boosting."""

import numpy as np
import pytest
from checks import same_bytes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import log_loss

from dics import (
    BoostingOptions,
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    ForestOptions,
    TreeOptions,
)

pytestmark = pytest.mark.core

BOOSTING = {"n_estimators": 30, "min_samples_leaf": 5, "random_state": 0}
CLASSIFIERS = [
    CGTreeClassifier(random_state=0),
    CGTreeClassifier(criterion="entropy", max_depth=6, random_state=0),
    CGTreeClassifier(advanced=TreeOptions(max_candidates=40), random_state=0),
    CGForestClassifier(n_estimators=10, random_state=0),
    CGForestClassifier(
        n_estimators=10, criterion="entropy", bootstrap=False, random_state=0
    ),
    CGForestClassifier(
        n_estimators=10,
        advanced=ForestOptions(feature_sampling="tree", voting="hard"),
        random_state=0,
    ),
    CGBoostingClassifier(**BOOSTING),
    CGBoostingClassifier(
        sampling="goss", advanced=BoostingOptions(leaf_values="sample"), **BOOSTING
    ),
]
REGRESSORS = [
    CGTreeRegressor(random_state=0),
    CGTreeRegressor(criterion="poisson", random_state=0),
    CGForestRegressor(n_estimators=10, random_state=0),
    CGTreeRegressor(advanced=TreeOptions(max_candidates=20), random_state=0),
    CGForestRegressor(n_estimators=10, max_features=0.5, random_state=0),
    CGForestRegressor(
        n_estimators=10,
        max_features=2,
        advanced=ForestOptions(feature_sampling="tree"),
        random_state=0,
    ),
    CGForestRegressor(
        n_estimators=10, criterion="poisson", max_features=2, random_state=0
    ),
    CGBoostingRegressor(**BOOSTING),
    CGBoostingRegressor(loss="absolute_error", **BOOSTING),
    CGBoostingRegressor(loss="huber", **BOOSTING),
    CGBoostingRegressor(loss="quantile", quantile=0.8, **BOOSTING),
    CGBoostingRegressor(loss="poisson", **BOOSTING),
    CGBoostingRegressor(sampling="mvs", max_depth=4, **BOOSTING),
]
DIRECTIONS = [1, -1, 0, 0, 1]


def make_data(n=600, seed=0, missing=0.05):
    """Return a target that increases with column 0 and decreases with column 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1)
    y = 2 * X[:, 0] - X[:, 1] + 2 * np.sin(2 * X[:, 2]) + 0.3 * X[:, 4] ** 2
    y += rng.normal(scale=1.5, size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.exp(y / 6)


def predictions(model, X):
    return model.predict_proba(X)[:, 1] if is_classifier(model) else model.predict(X)


def changes(model, X, feature, n_points=40):
    """Return the changes of predictions along one feature, with the others fixed."""
    grid = np.linspace(-3.5, 3.5, n_points)
    rows = np.repeat(X[:60], n_points, axis=0)
    rows[:, feature] = np.tile(grid, 60)
    return np.diff(predictions(model, rows).reshape(60, n_points), axis=1)


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=str)
def test_predictions_are_monotonic(estimator):
    X, y = make_data()
    y = y > np.median(y) if is_classifier(estimator) else y
    free = clone(estimator).fit(X, y)
    bound = clone(estimator).set_params(monotonic_cst=DIRECTIONS).fit(X, y)
    for feature, direction in enumerate(DIRECTIONS):
        if direction:
            assert (changes(bound, X, feature) * direction >= 0).all()
    assert (changes(free, X, 0) < 0).any() or (changes(free, X, 4) < 0).any()
    assert (changes(bound, X, 2) < 0).any()
    assert (changes(bound, X, 2) > 0).any()
    assert bound.score(X, y) > 0.4 * free.score(X, y)


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=str)
def test_constraints_any_n_jobs(estimator):
    X, y = make_data(3000)
    y = y > np.median(y) if is_classifier(estimator) else y
    model = clone(estimator).set_params(monotonic_cst=DIRECTIONS)
    one = clone(model).set_params(n_jobs=1).fit(X, y)
    same_bytes(one, model.set_params(n_jobs=3).fit(X, y))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_constraint_on_a_constant_column(criterion):
    """It changes how a tree is grown, but not the tree."""
    X, y = make_data(missing=0)
    X = np.column_stack([X, np.ones(len(X))])
    y = y > np.median(y)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    plain = CGTreeClassifier(criterion=criterion, max_depth=4, random_state=0)
    bound = clone(plain).set_params(monotonic_cst=[0, 0, 0, 0, 0, 1])
    plain.fit(X, y, weights), bound.fit(X, y, weights)
    a, b = plain.trees_, bound.trees_
    assert_array_equal(a.feature, b.feature)
    assert_array_equal(a.threshold, b.threshold)
    assert_allclose(a.impurity, b.impurity, atol=1e-6)
    assert_allclose(plain.predict_proba(X), bound.predict_proba(X), atol=1e-6)
    assert_allclose(plain.feature_importances_, bound.feature_importances_, atol=1e-6)


def test_boosting_is_as_good_as_scikit_learn():
    X, y = make_data(2000, missing=0)
    X_test, y_test = make_data(2000, seed=1, missing=0)
    ours = CGBoostingRegressor(n_estimators=100, learning_rate=0.1, random_state=0)
    theirs = HistGradientBoostingRegressor(random_state=0, early_stopping=False)
    scores = [
        model.set_params(monotonic_cst=DIRECTIONS).fit(X, y).score(X_test, y_test)
        for model in (ours, theirs)
    ]
    assert scores[0] > scores[1] - 0.01


def test_names_of_features():
    pd = pytest.importorskip("pandas")
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    for model in (
        CGBoostingRegressor(**BOOSTING),
        CGForestRegressor(n_estimators=3, random_state=0),
    ):
        named = clone(model).set_params(monotonic_cst={"a": 1, "b": -1}).fit(frame, y)
        plain = clone(model).set_params(monotonic_cst=[1, -1, 0, 0, 0]).fit(X, y)
        same_bytes(named, plain)


@pytest.mark.parametrize(
    ("model", "constraints", "message"),
    [
        (CGTreeClassifier(), [1, 0], "monotonic_cst has shape"),
        (CGBoostingClassifier(), [1, 0, 0, 0, 2], "monotonic_cst must be"),
        (CGBoostingRegressor(), {"a": 1}, "not fitted on data with feature names"),
        (
            CGForestClassifier(),
            DIRECTIONS,
            "supports binary classification only; y has 3",
        ),
        (
            CGBoostingClassifier(),
            DIRECTIONS,
            "supports binary classification only; y has 3",
        ),
        (
            CGTreeClassifier(advanced=TreeOptions(reuse_splits=False)),
            DIRECTIONS,
            "reuse_splits=True",
        ),
        (
            CGForestClassifier(class_weight="balanced_subsample"),
            DIRECTIONS,
            "balanced_subsample",
        ),
        (
            CGBoostingRegressor(loss="quantile", quantile=[0.1, 0.9]),
            DIRECTIONS,
            "supports a single output only; this model has 2",
        ),
    ],
)
def test_bad_constraints_are_rejected(model, constraints, message):
    X, y = make_data(100)
    if is_classifier(model):
        wants_three = "has 3" in message
        y = np.digitize(y, np.quantile(y, [0.3, 0.6] if wants_three else [0.5]))
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(monotonic_cst=constraints).fit(X, y)


# --- interactions ---------------------------------------------------------------------


def paths(trees):
    """Return the features of every path from a root to a leaf."""
    for t in range(len(trees)):
        tree = trees[t]
        waiting = [(0, frozenset())]
        while waiting:
            node, seen = waiting.pop()
            if tree.feature[node] < 0:
                yield seen
                continue
            seen = seen | {int(tree.feature[node])}
            waiting += [(tree.left[node], seen), (tree.left[node] + 1, seen)]


@pytest.mark.parametrize(
    ("wanted", "groups"),
    [
        ([{0, 1}], [{0, 1}, {2, 3, 4}]),
        ([[0, 2], (2, 4), {1}], [{0, 2}, {2, 4}, {1}, {3}]),
        ("no_interactions", [{f} for f in range(5)]),
        ("pairwise", [{f, g} for f in range(5) for g in range(f)]),
    ],
)
@pytest.mark.parametrize("kind", [CGBoostingClassifier, CGBoostingRegressor])
def test_paths_stay_within_a_group(kind, wanted, groups):
    X, y = make_data(1500)
    y = (
        np.digitize(y, np.quantile(y, [0.3, 0.6]))
        if kind is CGBoostingClassifier
        else y
    )
    model = kind(interaction_cst=wanted, **BOOSTING).fit(X, y)
    found = set(paths(model.trees_))
    assert all(any(path <= group for group in groups) for path in found)
    free = kind(**BOOSTING).fit(X, y)
    assert any(len(path) > 2 for path in paths(free.trees_))
    n_features = {len(path) for path in found}
    assert max(n_features) == min(max(len(group) for group in groups), 3)


def test_interactions_by_name():
    pd = pytest.importorskip("pandas")
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = CGBoostingRegressor(interaction_cst=[["a", "b"]], **BOOSTING).fit(frame, y)
    plain = CGBoostingRegressor(interaction_cst=[[0, 1]], **BOOSTING).fit(X, y)
    same_bytes(named, plain)


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        ("all", ValueError, "interaction_cst"),
        ([0, 1], TypeError, r"groups such as \[0, 1\], got 0"),
        ([{0, 5}], ValueError, "feature 5, but X has features 0 to 4"),
        ([{"a"}], ValueError, "refers to 'a', but X has no column"),
        ([[0.5]], TypeError, "indices or names of features, got 0.5"),
        (3, ValueError, "interaction_cst"),
    ],
)
def test_bad_interactions_are_rejected(wanted, error, message):
    X, y = make_data(50)
    with pytest.raises(error, match=message):
        CGBoostingRegressor(interaction_cst=wanted).fit(X, y)


# --- callbacks ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CGBoostingClassifier, CGBoostingRegressor])
def test_callbacks_get_each_round(kind):
    X, y = make_data()
    y = y > np.median(y) if kind is CGBoostingClassifier else y
    reports = []
    model = kind(**BOOSTING)
    model.fit(X, y, X_val=X, y_val=y, callbacks=[reports.append])
    assert [report.round for report in reports] == list(range(1, 31))
    assert_allclose([-r.train_loss for r in reports], model.train_score_[1:])
    assert_allclose([-r.validation_loss for r in reports], model.validation_score_[1:])
    for report in reports:
        assert report.n_rounds == 30
        assert type(report.model) is type(model)
        assert report.model.get_params() == model.get_params()
    if kind is CGBoostingClassifier:
        expected = log_loss(y, model.predict_proba(X))
        assert_allclose(reports[-1].train_loss, expected, rtol=1e-5)


def test_a_callback_can_stop():
    X, y = make_data()
    model = CGBoostingRegressor(**BOOSTING)
    model.fit(X, y, callbacks=[lambda report: report.round == 7])
    assert model.n_iter_ == 7
    whole = CGBoostingRegressor(**{**BOOSTING, "n_estimators": 7}).fit(X, y)
    same_bytes(model, whole)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_a_callback_can_change_the_learning_rate(loss):
    """Two rates in one fit equal a warm start with the second rate."""
    X, y = make_data()

    def slow_down(report):
        assert report.learning_rate == (0.3 if report.round <= 10 else 0.05)
        if report.round == 10:
            report.learning_rate = 0.05

    parameters = {**BOOSTING, "learning_rate": 0.3, "loss": loss}
    models = [CGBoostingRegressor(**parameters, n_jobs=n_jobs) for n_jobs in (1, 3)]
    expected = CGBoostingRegressor(**{**parameters, "n_estimators": 10}).fit(X, y)
    expected.set_params(n_estimators=30, learning_rate=0.05, warm_start=True).fit(X, y)
    for model in models:
        model.fit(X, y, callbacks=[slow_down])
        same_bytes(model, expected)
        assert_allclose(model.train_score_, expected.train_score_)


@pytest.mark.parametrize("rate", [0, -1.0, np.nan, np.inf, "0.1", None])
def test_bad_learning_rates_of_callbacks(rate):
    def fail(report):
        report.learning_rate = rate

    X, y = make_data(50)
    with pytest.raises(ValueError, match=r"must be a positive number, got .* 1\."):
        CGBoostingRegressor(**BOOSTING).fit(X, y, callbacks=[fail])


def test_error_in_a_callback_keeps_the_model():
    X, y = make_data()
    model = CGBoostingRegressor(**BOOSTING).fit(X, y)
    before = model.trees_

    def fail(report):
        raise RuntimeError("pruned")

    with pytest.raises(RuntimeError, match="pruned"):
        model.fit(X, -y, callbacks=[fail])
    assert model.trees_ is before


class ForeignCallback:
    """A callback like that of LightGBM."""

    before_iteration = True

    def __call__(self, environment):
        raise AssertionError


@pytest.mark.parametrize("callbacks", [print, [3], [ForeignCallback()]])
def test_bad_callbacks_are_rejected(callbacks):
    X, y = make_data(50)
    with pytest.raises(TypeError, match="callbacks must be"):
        CGBoostingRegressor().fit(X, y, callbacks=callbacks)
