"""The values of "auto": one plan, made from the profile of the training rows."""

import dataclasses
import pickle

import numpy as np
import pytest
from checks import digest, make, same_bytes
from sklearn.base import clone

from dics import (
    GOSS,
    BoostingOptions,
    CGBoostingClassifier,
    CGBoostingRegressor,
    QuantileCandidates,
)
from dics._boosting.plan import DEFAULTS, BoostingPlan, DataProfile, make_plan


def flat_parameters(model):
    return {**model.get_params(deep=False), **model._options.get_params()}


def plan_of(n_rows=1000, n_features=10, n_classes=3, **parameters):
    early_stopping = parameters.pop("early_stopping", False)
    estimator = CGBoostingClassifier if n_classes else CGBoostingRegressor
    profile = DataProfile(
        n_rows=n_rows,
        n_features=n_features,
        n_classes=n_classes,
        n_outputs=n_classes if n_classes > 2 else 1,
        has_categories=parameters.pop("has_categories", False),
    )
    return make_plan(
        flat_parameters(make(estimator, **parameters)),
        profile,
        early_stopping=early_stopping,
    )


def make_rows(n=400, n_features=12, n_classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    return X, (X[:, 0] * 2 + X[:, 1] > 0).astype(int) + (X[:, 2] > 1) * (n_classes - 2)


@pytest.mark.parametrize(
    ("quality", "class_rate", "regression_rate", "n_trials"),
    [("fast", 0.15, 0.15, 1), ("balanced", 0.1, 0.12, 3), ("best", 0.1, 0.05, 8)],
)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_quality(quality, class_rate, regression_rate, n_trials, n_classes):
    rate = class_rate if n_classes else regression_rate
    plan = plan_of(n_classes=n_classes, quality=quality)
    assert (plan.learning_rate, plan.n_trials) == (rate, n_trials)
    assert plan.n_iter_no_change == max(
        10, round((3 if quality == "fast" else 2) / rate)
    )
    given = plan_of(n_classes=n_classes, quality=quality, learning_rate=1)
    assert (given.learning_rate, given.n_trials) == (1.0, n_trials)
    fixed = plan_of(n_classes=n_classes, quality=quality, n_estimators=7)
    assert (fixed.n_trials, fixed.n_estimators) == (0, 7)
    stops = plan_of(n_classes=n_classes, quality=quality, early_stopping=True)
    assert (stops.n_trials, stops.learning_rate) == (0, rate)
    assert stops.n_estimators == plan.n_estimators


@pytest.mark.parametrize(
    ("quality", "n_rows", "n_trials", "n_rounds", "rate"),
    [
        ("balanced", 199, 0, 100, 0.15),
        ("balanced", 200, 3, 1000, 0.1),
        ("balanced", 100_000, 3, 500, 0.1),
        ("balanced", 250_000, 3, 200, 0.1),
        ("balanced", 251_000, 0, 100, 0.15),
        ("fast", 50_000, 1, 250, 0.15),
        ("fast", 10**6, 0, 100, 0.15),
        ("best", 10**6, 0, 100, 0.15),
    ],
)
def test_large_and_small_tables(quality, n_rows, n_trials, n_rounds, rate):
    plan = plan_of(n_rows, quality=quality)
    assert (plan.n_trials, plan.n_estimators) == (n_trials, n_rounds)
    assert plan.learning_rate == rate


@pytest.mark.parametrize(("n_rows", "subsample"), [(10, 0.5), (10**7, 0.5 / 3)])
def test_row_sampling(n_rows, subsample):
    plan = plan_of(n_rows)
    assert (plan.sampling, plan.subsample) == ("mvs", pytest.approx(subsample))
    assert plan_of(n_rows, sampling="goss").sampling == "goss"
    assert plan_of(n_rows, sampling=None).sampling is None


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_classes", "max_features"),
    [
        (9_999, 8, 2, (8, 8, 8)),
        (9_999, 20, 2, (14, 14, 14)),
        (9_999, 20, 0, (20, 14, 14)),
        (20_000, 64, 3, (44, 44, 44)),
        (10**5, 1000, 2, (400, 400, 400)),
    ],
)
def test_features(n_rows, n_features, n_classes, max_features):
    plan = plan_of(n_rows, n_features, n_classes)
    assert plan.trial_features == max_features
    assert plan.max_features == max_features[0]
    given = plan_of(n_rows, n_features, n_classes, max_features=3)
    assert given.trial_features == (3, 3, 3)
    assert plan_of(n_rows, n_features, max_features=None).max_features == n_features


def test_features_with_row_sampling():
    all_rows = plan_of(20_000, 5000, n_classes=10, sampling=None).max_features
    sampled = plan_of(20_000, 5000, n_classes=10, sampling="mvs").max_features
    few = plan_of(1_000, 5000, n_classes=10).max_features
    assert (all_rows, sampled, few) == (280, 280, 3500)


@pytest.mark.parametrize(
    ("n_features", "n_classes", "most"),
    [(10, 3, 254), (10, 10, 128), (10, 31, 64), (10, 100, 81), (1000, 100, 16)],
)
def test_thresholds(n_features, n_classes, most):
    plan = plan_of(n_features=n_features, n_classes=n_classes)
    assert plan.max_bins == most + 1
    source = plan.default_candidates().max_bins
    assert source == ("auto" if most in (254, 16) else most + 1)
    assert plan_of(candidates=QuantileCandidates()).max_bins is None


@pytest.mark.parametrize(
    ("n_rows", "fraction"), [(333_333, 0.3), (500_000, 0.2), (10**7, 0.1)]
)
def test_goss_of_large_tables(n_rows, fraction):
    plan = plan_of(n_rows, sampling="goss")
    assert plan.subsample == pytest.approx(fraction, rel=1e-5)
    assert plan.top_rate == pytest.approx(2 * plan.other_rate)
    given = plan_of(n_rows, sampling=GOSS(top_rate=0.5))
    assert (given.top_rate, given.other_rate) == (0.5, 0.1)
    assert given.subsample == 0.6


def test_subsample():
    for sampling in ("auto", "mvs"):
        plan = plan_of(300, sampling=sampling, subsample=0.25)
        assert (plan.sampling, plan.subsample) == ("mvs", 0.25)
    for sampling in ("auto", "mvs", None):
        plan = plan_of(10**6, sampling=sampling, subsample=1.0)
        assert (plan.sampling, plan.subsample) == (None, 1.0)


def test_a_plan_cannot_be_changed():
    model = CGBoostingClassifier(n_estimators=3, random_state=0).fit(*make_rows())
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.plan_.learning_rate = 1.0
    assert pickle.loads(pickle.dumps(model)).plan_ == model.plan_


def test_a_fit_follows_its_plan():
    X, y = make_rows(n_features=30)
    auto = CGBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    values = {
        name: getattr(auto.plan_, name)
        for name in ("learning_rate", "max_features", "sampling", "early_stopping")
    }
    said = make(CGBoostingClassifier, n_estimators=5, random_state=0, **values).fit(
        X, y
    )
    same_bytes(auto, said)
    assert said.plan_ == auto.plan_


@pytest.fixture
def low_limits(monkeypatch):
    """Move the limits of 20,000 rows to 350."""
    rows = [row._replace(min_rows=row.min_rows * 350 // 20_000) for row in DEFAULTS]
    monkeypatch.setattr("dics._boosting.plan.DEFAULTS", rows)


def test_only_training_rows_count(low_limits):
    X, y = make_rows(400, n_classes=2)
    model = CGBoostingClassifier(n_estimators=3, random_state=0)
    plans = {
        "all": model.fit(X, y).plan_,
        "fewer": clone(model).fit(X[:300], y[:300]).plan_,
    }
    assert plans["all"].n_rows == 400
    assert plans["all"].max_leaf_nodes == 31
    assert plans["fewer"].n_rows == 300
    assert plans["fewer"].max_leaf_nodes == 16

    weights = (np.arange(400) < 300).astype(float)
    assert clone(model).fit(X, y, sample_weight=weights).plan_ == plans["fewer"]
    held_out = clone(model).set_params(early_stopping=True, validation_fraction=100)
    expected = dataclasses.replace(plans["fewer"], early_stopping=True)
    assert held_out.fit(X, y).plan_ == expected
    given = clone(model).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert given.plan_ == expected


def test_rows_of_weight_zero_do_not_count(low_limits):
    X, y = make_rows(400, n_classes=2)
    weights = (np.arange(400) < 300).astype(float)
    parameters = {"candidates": QuantileCandidates(max_bins=10), "random_state": 0}
    some = make(CGBoostingClassifier, n_estimators=5, **parameters).fit(
        X, y, sample_weight=weights
    )
    alone = make(CGBoostingClassifier, n_estimators=5, **parameters).fit(
        X[:300], y[:300]
    )
    assert some.plan_ == alone.plan_
    assert some.plan_.max_leaf_nodes == 16
    scores = [model.decision_function(X) for model in (some, alone)]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-6)


def test_one_class_has_a_plan():
    X, _ = make_rows()
    plan = CGBoostingClassifier(early_stopping=True).fit(X, np.zeros(len(X))).plan_
    assert plan.n_classes == 1
    assert not plan.early_stopping


def test_warm_start_makes_a_new_plan(low_limits):
    X, y = make_rows(400, n_classes=2)
    model = CGBoostingClassifier(n_estimators=3, warm_start=True, random_state=0).fit(
        X, y
    )
    first = model.plan_
    model.set_params(n_estimators=6).fit(X, y)
    assert model.plan_ == dataclasses.replace(first, n_estimators=6)
    assert digest(model) == digest(
        CGBoostingClassifier(n_estimators=6, random_state=0).fit(X, y)
    )
    model.set_params(n_estimators=8, candidates=QuantileCandidates(max_bins=4))
    model.fit(X[:300], y[:300])
    assert (model.plan_.n_rows, model.plan_.max_leaf_nodes) == (300, 16)
    assert model.plan_.max_bins == first.max_bins  # no new thresholds


def test_a_failed_fit_keeps_the_plan():
    X, y = make_rows()
    model = CGBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    plan = model.plan_

    def scoring(model, X, y):
        raise RuntimeError

    model.set_params(early_stopping=True, scoring=scoring)
    with pytest.raises(RuntimeError):
        model.fit(X, y)
    assert model.plan_ is plan


def test_a_plan_is_one_line():
    plan = BoostingPlan(
        n_rows=18_000,
        n_features=54,
        n_classes=7,
        n_outputs=7,
        n_estimators=200,
        learning_rate=0.15,
        noise_shrinkage=0.0,
        max_features=40,
        sketch_outputs=None,
        sampling="mvs",
        top_rate=0.2,
        other_rate=0.1,
        early_stopping=True,
        max_bins=255,
    )
    assert str(plan) == (
        "18000 training rows, 54 features, 7 classes, max_bins=255; n_estimators=200, "
        "learning_rate=0.15, max_leaf_nodes=31, max_features=40, sampling='mvs', "
        "subsample=0.3, min_samples_leaf=20, l2_regularization=0.1, "
        "early_stopping=True, "
        "advanced=BoostingOptions(sketch_outputs=None, noise_shrinkage=0)"
    )
    regression = dataclasses.replace(plan, n_classes=0, n_outputs=1, max_bins=None)
    assert "54 features, 1 output; n_estimators=200, learning_rate" in str(regression)
    assert str(regression).endswith("advanced=BoostingOptions(sketch_outputs=None)")
    sketched = dataclasses.replace(plan, sketch_outputs=6, trial_features=(40, 28))
    assert "BoostingOptions(sketch_outputs=6, noise_shrinkage=0)" in str(sketched)
    assert "max_bins=255, 2 trials; n_estimators" in str(sketched)
    all_rows = dataclasses.replace(plan, sampling=None)
    assert "sampling=None, min_samples_leaf=20" in str(all_rows)
    goss = dataclasses.replace(plan, sampling="goss")
    assert "sampling=GOSS(top_rate=0.2, other_rate=0.1), min_samples" in str(goss)


@pytest.mark.parametrize(
    "model",
    [
        CGBoostingClassifier(n_estimators=5),
        CGBoostingClassifier(n_estimators=5, sampling="goss"),
        CGBoostingClassifier(n_estimators=5, subsample=0.5, max_leaf_nodes=None),
        CGBoostingRegressor(n_estimators=5, max_features=0.5),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_line_of_a_plan_can_be_copied(model, n_classes):
    X, y = make_rows(n_classes=n_classes)
    model = clone(model).set_params(random_state=0).fit(X, y)
    parameters = str(model.plan_).split("; ")[1]
    copied = eval(f"{type(model).__name__}({parameters}, random_state=0)")
    same_bytes(copied.fit(X, y), model)


@pytest.mark.parametrize(("n_classes", "shrinkage"), [(1, 3), (2, 3), (3, 0)])
def test_noise_shrinkage(n_classes, shrinkage):
    assert plan_of(n_classes=n_classes).noise_shrinkage == shrinkage
    assert plan_of(n_classes=n_classes, noise_shrinkage=2).noise_shrinkage == 2.0


def test_leaves_of_regression():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = CGBoostingRegressor(
        n_estimators=3, min_samples_leaf=4, l2_regularization=2.0
    )
    plan = model.fit(X, X[:, 0]).plan_
    assert (plan.min_samples_leaf, plan.l2_regularization) == (4, 2.0)


@pytest.mark.parametrize(
    ("n_rows", "leaf"), [(1, 1), (30, 3), (199, 19), (200, 20), (10**6, 20)]
)
def test_leaves_of_small_tables(n_rows, leaf):
    assert plan_of(n_rows).min_samples_leaf == leaf
    assert plan_of(n_rows, min_samples_leaf=40).min_samples_leaf == 40


@pytest.mark.parametrize("cls", [CGBoostingClassifier, CGBoostingRegressor])
def test_30_rows_are_learned(cls):
    X = np.arange(30.0)[:, None]
    y = (X[:, 0] >= 15).astype(int)
    model = cls(random_state=0).fit(X, y)
    assert model.plan_.min_samples_leaf == 3
    np.testing.assert_array_equal(np.round(model.predict(X)), y)


@pytest.mark.parametrize(
    ("n_classes", "rates"), [(0, [0.1, 0.12]), (2, [0.02, 0.04]), (3, [0.15, 0.15])]
)
def test_paper(n_classes, rates):
    cls = CGBoostingClassifier if n_classes else CGBoostingRegressor
    given = {**flat_parameters(cls.paper()), "candidates": None}
    plans = [plan_of(n, n_classes=n_classes, **given) for n in (9_999, 10_000)]
    assert [plan.learning_rate for plan in plans] == rates
    assert [plan.max_features for plan in plans] == [8, 10]
    assert {plan.n_trials for plan in plans} == {0}


def test_warm_start_with_automatic_rounds():
    X, y = make_rows(n_classes=2)
    model = CGBoostingClassifier(warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X, y)
    n_rounds = model.n_iter_
    assert model.set_params(n_estimators=n_rounds + 3).fit(X, y).n_iter_ == n_rounds + 3
    with pytest.raises(ValueError, match=r"n_estimators=5 must be larger or equal"):
        model.set_params(n_estimators=5).fit(X, y)


@pytest.mark.parametrize(
    ("n_classes", "given", "used"),
    [
        (2, "auto", None),
        (31, "auto", None),
        (32, "auto", 6),
        (1000, None, None),
        (10, 3, 3),
        (10, 10, None),
        (2, 4, None),
    ],
)
def test_sketch(n_classes, given, used):
    plan = plan_of(n_classes=n_classes, sketch_outputs=given)
    assert plan.sketch_outputs == used


def test_no_sketch_as_wide_as_the_outputs():
    X, y = make_rows()
    wide = CGBoostingClassifier(
        n_estimators=5, advanced=BoostingOptions(sketch_outputs=3), random_state=0
    ).fit(X, y)
    same_bytes(wide, CGBoostingClassifier(n_estimators=5, random_state=0).fit(X, y))
