"""Offsets of boosting: an offset is added to the raw scores of the rows."""

import io
import pickle

import numpy as np
import pytest
from boosting_data import Squared, mean_loss
from checks import GivenCandidates, same_bytes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dics
from dics import CGBoostingClassifier, CGBoostingRegressor

pytestmark = pytest.mark.core

RNG = np.random.default_rng(0)
N = 1200
X = RNG.normal(size=(N, 4)).astype(np.float32)
EXPOSURE = RNG.uniform(0.05, 1.0, N)
OFFSET = np.log(EXPOSURE)
CLAIMS = RNG.poisson(np.exp(0.7 * X[:, 0]) * EXPOSURE).astype(float)
# Targets that change with the offset must not move the thresholds.
GRID = GivenCandidates([np.linspace(-2, 2, 15, dtype=np.float32)] * 4)
SETTINGS = {
    "n_estimators": 12,
    "learning_rate": 0.3,
    "max_features": None,
    "candidates": GRID,
    "random_state": 0,
}
IDENTITY = ["squared_error", "absolute_error", "huber", "quantile"]
# Power of the variance.
LOG_LINK = {"poisson": 1.0, "tweedie": 1.5, "gamma": 2.0}


def regressor(loss, **parameters):
    return CGBoostingRegressor(loss=loss, **SETTINGS | parameters)


def classifier(**parameters):
    return CGBoostingClassifier(**SETTINGS | parameters)


def make_classes(n_classes, size=2.0, n=N):
    """Return classes that depend on the rows and, more strongly, on an offset."""
    rng = np.random.default_rng(n_classes)
    shape = n if n_classes == 2 else (n, n_classes)
    offset = size * rng.normal(size=shape)
    if n_classes == 2:
        return (X[:n, 0] + offset + rng.logistic(size=n) > 0).astype(int), offset
    return (X[:n, :n_classes] + offset + rng.gumbel(size=shape)).argmax(axis=1), offset


# --- equivalent fits ------------------------------------------------------------------


@pytest.mark.parametrize("loss", IDENTITY)
def test_identity_link_is_a_fit_of_differences(loss):
    y, offset = CLAIMS + 1e9, 1e9 + 5 * X[:, 1].astype(float)
    model = regressor(loss).fit(X, y, offset=offset)
    same_bytes(model, regressor(loss).fit(X, y - offset))
    assert_allclose(
        model.predict(X, offset=offset) - offset, model.predict(X), atol=1e-5
    )


@pytest.mark.parametrize("loss", LOG_LINK)
def test_log_link_is_a_fit_of_rates(loss):
    y = CLAIMS + 0.5 if loss == "gamma" else CLAIMS
    weights = RNG.integers(1, 4, N)
    settings = {"l2_regularization": 0.0}
    model = regressor(loss, **settings).fit(X, y, weights, offset=OFFSET)
    rates = regressor(loss, **settings).fit(
        X, y / EXPOSURE, weights * EXPOSURE ** (2 - LOG_LINK[loss])
    )
    assert_allclose(model.predict(X), rates.predict(X), rtol=2e-5)
    expected = model.predict(X) * EXPOSURE
    assert_allclose(model.predict(X, offset=OFFSET), expected, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_by_definition(n_classes):
    y, offset = make_classes(n_classes)
    model = classifier().fit(X, y, offset=offset)
    raw = model.decision_function(X)
    assert_allclose(model.decision_function(X, offset=offset), raw + offset, rtol=1e-12)
    p = model.predict_proba(X, offset=offset)
    assert_allclose(-model.train_score_[-1], mean_loss(y, p), rtol=1e-5)
    assert_array_equal(model.predict(X, offset=offset), p.argmax(axis=1))
    logs = model.predict_log_proba(X, offset=offset)
    assert_allclose(np.exp(logs), p, rtol=1e-9)
    without = classifier().fit(X, y)
    assert mean_loss(y, p) < 0.8 * mean_loss(y, without.predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_start_predicts_the_class_fractions(n_classes):
    y, offset = make_classes(n_classes)
    weights = RNG.integers(1, 4, N)
    model = classifier(n_estimators=1).fit(X, y, weights, offset=offset)
    p = model._fitted_loss.probabilities(model._start + offset.reshape(N, -1))
    fractions = np.bincount(y, weights) / weights.sum()
    assert_allclose(np.average(p, axis=0, weights=weights), fractions, atol=2e-5)


@pytest.mark.parametrize("loss", [*IDENTITY, *LOG_LINK, "log_loss"])
def test_an_offset_of_zeros_has_no_effect(loss):
    y = CLAIMS + 0.5
    if loss == "log_loss":
        one, other = (classifier().fit(X, y > 1, offset=o) for o in (None, np.zeros(N)))
    else:
        one, other = (regressor(loss).fit(X, y, offset=o) for o in (None, np.zeros(N)))
    same_bytes(one, other)


def test_several_targets_have_one_offset_each():
    Y = np.column_stack([CLAIMS, RNG.poisson(EXPOSURE**2)])
    offset = np.column_stack([OFFSET, 2 * OFFSET])
    model = regressor("poisson", n_estimators=40).fit(X, Y, offset=offset)
    predicted = model.predict(X, offset=offset)
    assert_allclose(predicted.sum(axis=0), Y.sum(axis=0), rtol=0.01)
    assert_allclose(predicted, model.predict(X) * np.exp(offset), rtol=1e-6)


def test_quantiles_share_the_offset_of_their_target():
    levels = {"quantile": [0.2, 0.8]}
    model = regressor("quantile", **levels).fit(X, CLAIMS, offset=OFFSET)
    predicted = model.predict(X, offset=OFFSET)
    assert_allclose(predicted, model.predict(X) + OFFSET[:, None], rtol=1e-12)


def test_custom_losses_get_the_offset_in_raw():
    own, built_in = (
        regressor(loss, l2_regularization=0.0, max_leaf_nodes=8, sampling=None).fit(
            X, CLAIMS - OFFSET, offset=OFFSET
        )
        for loss in (Squared(), "squared_error")
    )
    found, expected = (m.predict(X, offset=OFFSET) for m in (own, built_in))
    assert np.corrcoef(found, expected)[0, 1] > 0.99


# --- the rounds -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["poisson", "log_loss"])
def test_early_stopping_uses_the_offset(kind):
    y, offset = (CLAIMS, OFFSET) if kind == "poisson" else make_classes(2)
    model = (regressor(kind) if kind == "poisson" else classifier()).set_params(
        n_estimators=60
    )
    train, held = slice(0, 800), slice(800, None)
    fit = {"offset": offset[train], "X_val": X[held], "y_val": y[held]}
    model.fit(X[train], y[train], offset_val=offset[held], **fit)
    assert model.n_iter_ == model.validation_score_.argmax()
    if kind == "poisson":
        staged = model.staged_predict(X[held], offset=offset[held])
        losses = [mean_poisson_deviance(y[held], p) / 2 for p in staged]
    else:
        staged = model.staged_predict_proba(X[held], offset=offset[held])
        losses = [log_loss(y[held], p) for p in staged]
    found = -model.validation_score_[1 : len(losses) + 1]
    assert_allclose(np.diff(found), np.diff(losses), atol=1e-6)
    again = model.evals_result_
    pair = {"eval_set": [(X[held], y[held])], "eval_offset": [offset[held]]}
    model.fit(X[train], y[train], offset=offset[train], **pair)
    assert [*again.values()] == [*model.evals_result_.values()]


@pytest.mark.parametrize(
    ("loss", "scoring"),
    [("squared_error", "r2"), ("poisson", "neg_mean_poisson_deviance")],
)
def test_scorers_get_predictions_with_the_offset(loss, scoring):
    scored = []

    def score(model, given, y):
        scored.append((y, model.predict(given)))
        return -mean_poisson_deviance(y, np.maximum(model.predict(given), 1e-3))

    y = CLAIMS + 0.5
    model = regressor(loss, scoring=score, early_stopping=True, n_iter_no_change=100)
    model.fit(X, y, offset=OFFSET)
    targets, last = scored[model.best_iteration_]
    known = {row.tobytes(): i for i, row in enumerate(X)}
    split = dics._boosting.rows.hold_out(
        np.arange(N), model_groups(model, y, loss), 0.1, model._seed
    )
    held = split[1]
    assert len(known) == N
    assert_allclose(targets, y[held], rtol=1e-5)
    assert_allclose(last, model.predict(X[held], offset=OFFSET[held]), rtol=1e-4)
    by_name = regressor(loss, scoring=scoring, early_stopping=True)
    assert len(by_name.fit(X, y, offset=OFFSET).validation_score_) > 1


def model_groups(model, y, loss):
    """Return the groups of rows by which rows are held out."""
    from dics._training import group_targets

    values = y - OFFSET if loss == "squared_error" else y
    return group_targets(values[:, None], model._seed, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_warm_start_equals_one_fit(n_classes):
    y, offset = make_classes(n_classes)
    both = classifier(n_estimators=4, warm_start=True).fit(X, y, offset=offset)
    both.set_params(n_estimators=12).fit(X, y, offset=offset)
    same_bytes(both, classifier().fit(X, y, offset=offset))


def test_a_trial_uses_the_offset():
    y, offset = make_classes(3, size=8.0)
    parameters = {"candidates": None, "learning_rate": "auto", "n_estimators": "auto"}
    model = classifier(**parameters).fit(X, y, offset=offset)
    assert model.plan_.n_trials == 3
    p = model.predict_proba(X, offset=offset)
    assert_allclose(-model.train_score_[-1], mean_loss(y, p), rtol=1e-4, atol=1e-7)


# --- files, rows, errors --------------------------------------------------------------


def test_a_model_file_predicts_the_same():
    model = regressor("poisson", candidates=None).fit(X, CLAIMS, offset=OFFSET)
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    for other in (dics.load(file), pickle.loads(pickle.dumps(model))):
        assert_array_equal(
            other.predict(X, offset=OFFSET), model.predict(X, offset=OFFSET)
        )


def test_rows_of_weight_zero_are_ignored():
    weights = (np.arange(N) % 3 > 0).astype(float)
    used = weights > 0
    y, offset = make_classes(2)
    same_bytes(
        classifier().fit(X, y, weights, offset=offset),
        classifier().fit(X[used], y[used], offset=offset[used]),
    )


def test_model_selection_and_pipelines_pass_offsets():
    model = regressor("poisson", candidates=None)
    pipe = make_pipeline(StandardScaler(), model)
    pipe.fit(X, CLAIMS, cgboostingregressor__offset=OFFSET)
    ratio = pipe.predict(X, offset=OFFSET) / pipe.predict(X)
    assert_allclose(ratio, EXPOSURE, rtol=1e-6)
    with config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(offset=True)
        found = cross_validate(
            routed, X, CLAIMS, params={"offset": OFFSET}, cv=2, return_estimator=True
        )
    half = clone(model).fit(X[600:], CLAIMS[600:], offset=OFFSET[600:])
    assert_array_equal(found["estimator"][0].predict(X), half.predict(X))
    found["estimator"][0].save(io.BytesIO())  # without the request


def test_one_class_with_an_offset():
    model = classifier().fit(X, np.ones(N), offset=OFFSET)
    assert_array_equal(model.predict(X, offset=OFFSET), 1)


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (OFFSET[:-1], r"offset.shape == \(1199,\), expected \(1200,\)"),
        (np.full(N, np.nan), "offset is nan in row 0; it must be between -80 and 80"),
        (100 * EXPOSURE, r"For an exposure, use offset=np.log\(exposure\)"),
        (["a"] * N, "offset: could not convert"),
    ],
)
def test_bad_offsets_are_rejected(offset, message):
    model = regressor("poisson")
    with pytest.raises(ValueError, match=message):
        model.fit(X, CLAIMS, offset=offset)
    model.fit(X, CLAIMS)
    with pytest.raises(ValueError, match=message):
        model.predict(X, offset=offset)


def test_each_class_needs_an_offset():
    y, _ = make_classes(3)
    with pytest.raises(ValueError, match=r"expected \(1200, 3\)"):
        classifier().fit(X, y, offset=OFFSET)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"offset": OFFSET, "X_val": X, "y_val": CLAIMS},
            "X_val, y_val: The training rows have an offset",
        ),
        (
            {"offset_val": OFFSET, "X_val": X, "y_val": CLAIMS},
            "the training rows have none. Pass offset;",
        ),
        ({"offset_val": OFFSET}, "offset_val needs X_val and y_val"),
        ({"eval_offset": [OFFSET]}, "eval_offset needs eval_set"),
        ({"eval_set": [(X, CLAIMS)], "eval_offset": []}, "eval_offset has 0 entries"),
        ({"eval_set": [(X, CLAIMS)], "offset_val": OFFSET}, "or as eval_set, not as"),
        (
            {"offset": OFFSET, "eval_set": [(X, CLAIMS)], "eval_offset": [OFFSET[1:]]},
            r"eval_set\[0\]: offset.shape",
        ),
    ],
)
def test_offsets_of_validation_sets(arguments, message):
    with pytest.raises(ValueError, match=message):
        regressor("poisson").fit(X, CLAIMS, **arguments)
