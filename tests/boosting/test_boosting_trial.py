"""Trials find the rounds; the fit repeats their splits with leaf values of all rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from boosting_data import Squared, mean_loss
from checks import digest, same_bytes
from sklearn.datasets import make_blobs, make_classification, make_friedman1
from sklearn.metrics import root_mean_squared_error

from dics import BoostingOptions, CGBoostingClassifier, CGBoostingRegressor
from dics._boosting.fit import Boosting


def make_noisy(n=1500):
    X, y = make_classification(
        n, 8, n_informative=6, n_classes=3, flip_y=0.6, random_state=0
    )
    return X.astype(np.float32), y


def make_clean(n=1500):
    X, y = make_blobs(n, 10, centers=8, cluster_std=3.0, random_state=0)
    return X.astype(np.float32), y


def make_categories(noise=1.0, n=1500):
    rng = np.random.default_rng(0)
    categories = rng.integers(0, 30, n)
    X = pd.DataFrame(
        {"category": [f"v{v}" for v in categories], "x": rng.normal(size=n)}
    )
    y = np.sin(categories) + X["x"].to_numpy() + noise * rng.normal(size=n)
    return X, y


NOISY, CLEAN = make_noisy(), make_clean()
SMOOTH = make_friedman1(1200, 12, noise=1.0, random_state=0)


def fit(X, y, **parameters):
    return CGBoostingClassifier(**{"random_state": 0, **parameters}).fit(X, y)


# --- repeated splits ------------------------------------------------------------------


def repeated_leaves(model, X, y, l2):
    """Compute the leaf values of all rounds again, from all rows."""
    scores = np.full(len(y), float(model._start[0] + model._fitted_loss.centre[0]))
    leaf_of_node = np.cumsum(model.trees_.feature < 0) - 1
    values = []
    for t in range(len(model.trees_)):
        nodes = model.trees_[t].apply(X, 1)[:, 0] + model.trees_.node_starts[t]
        leaves = leaf_of_node[nodes] - model.trees_.leaf_starts[t]
        counts = np.bincount(leaves)
        sums = np.bincount(leaves, y - scores)
        steps = model.plan_.learning_rate * sums / (counts + l2)
        scores += steps[leaves]
        values.append(steps)
    return np.concatenate(values)


@pytest.mark.parametrize("quality", ["fast", "balanced"])
def test_leaf_values_are_those_of_all_rows(quality):
    X, y = SMOOTH
    model = CGBoostingRegressor(quality=quality, random_state=0).fit(X, y)
    expected = repeated_leaves(model, X, y, model.plan_.l2_regularization)
    found = model.trees_.leaf_values[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3 * np.std(expected))
    counts = model.trees_.n_samples[model.trees_.node_starts[:-1]]
    assert (counts == len(y)).all()


@pytest.mark.parametrize("data", [SMOOTH, make_categories()], ids=["smooth", "sets"])
def test_splits_are_those_of_the_trials(monkeypatch, data):
    found = []

    def find(*args):
        found.append(find_splits(*args))
        return found[-1]

    find_splits = Boosting._find_splits
    monkeypatch.setattr(Boosting, "_find_splits", find)
    trees = CGBoostingRegressor(random_state=0).fit(*data).trees_
    for name in ("feature", "threshold", "gain", "missing_left", "node_starts"):
        np.testing.assert_array_equal(getattr(trees, name), getattr(found[0], name))
    assert (trees.n_samples > found[0].n_samples).any()


@pytest.mark.parametrize("quality", ["fast", "balanced", "best"])
@pytest.mark.parametrize(
    ("cls", "data"),
    [
        (CGBoostingClassifier, NOISY),
        (CGBoostingClassifier, CLEAN),
        (CGBoostingRegressor, SMOOTH),
        (CGBoostingRegressor, make_categories()),
    ],
    ids=["noisy", "clean", "smooth", "categories"],
)
def test_scores_of_the_rounds(cls, data, quality):
    X, y = data
    model = cls(quality=quality, random_state=0).fit(X, y)
    assert model.n_iter_ == len(model.trees_) == model.plan_.n_estimators > 0
    assert len(model.train_score_) == model.n_iter_ + 1
    assert len(model.validation_score_) == 0
    loss = (
        mean_loss(y, model.predict_proba(X))
        if cls is CGBoostingClassifier
        else np.mean((y - model.predict(X)) ** 2) / 2
    )
    found = -model.train_score_[-1]
    # Training rows have codes of categories that do not count their own target.
    tolerance = 0.2 if isinstance(X, pd.DataFrame) else 1e-4
    np.testing.assert_allclose(found, loss, rtol=tolerance, atol=1e-7)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "poisson", "huber"])
def test_losses(loss):
    X, y = SMOOTH
    model = CGBoostingRegressor(loss=loss, quality="fast", random_state=0).fit(X, y)
    assert model.plan_.n_trials == 1
    assert model.train_score_[-1] > model.train_score_[0]
    same_bytes(
        model, CGBoostingRegressor(loss=loss, quality="fast", random_state=0).fit(X, y)
    )


def test_trials_beat_a_fixed_number_of_rounds():
    X, y = make_noisy(3000)
    fixed = fit(X[:1500], y[:1500], n_estimators=300)
    found = fit(X[:1500], y[:1500])
    losses = [mean_loss(y[1500:], m.predict_proba(X[1500:])) for m in (found, fixed)]
    assert losses[0] < losses[1]
    X, y = make_friedman1(3000, 12, noise=0.1, random_state=0)
    errors = []
    for parameters in ({}, {"quality": "fast"}, {"n_estimators": 100}):
        model = CGBoostingRegressor(random_state=0, **parameters)
        model.fit(X[:1500], y[:1500])
        errors.append(root_mean_squared_error(y[1500:], model.predict(X[1500:])))
    assert min(errors) == errors[0]


# --- same model -----------------------------------------------------------------------


@pytest.mark.parametrize("data", [NOISY, CLEAN], ids=["noisy", "clean"])
def test_trial_with_weights_and_any_n_jobs(data):
    X, y = data
    weights = np.arange(len(y)) % 4 + 0.0
    models = [
        CGBoostingClassifier(random_state=3, n_jobs=n).fit(X, y, sample_weight=weights)
        for n in (1, 2)
    ]
    assert models[0].plan_.n_trials == 3
    assert digest(models[0]) == digest(models[1])


def test_rows_of_weight_zero_are_ignored():
    X, y = SMOOTH
    weights = (np.arange(len(y)) < 900).astype(float)
    model = CGBoostingRegressor(random_state=0).fit(X, y, sample_weight=weights)
    assert model.plan_.n_rows == 900
    expected = np.mean((y[:900] - model.predict(X[:900])) ** 2) / 2
    assert -model.train_score_[-1] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("data", [NOISY, CLEAN], ids=["noisy", "clean"])
def test_watched_sets_change_no_model(data):
    X, y = data
    reports = []
    plain = CGBoostingClassifier(random_state=0).fit(X, y)
    # Validation rows without early stopping: the trials hold out their own rows.
    watched = CGBoostingClassifier(random_state=0, early_stopping=False).fit(
        X,
        y,
        eval_set=[(X[:200], y[:200]), (X[::3], y[::3])],
        eval_names=["first", "third"],
        callbacks=[reports.append],
    )
    same_bytes(plain, watched)
    np.testing.assert_array_equal(plain.train_score_, watched.train_score_)
    for name, rows in (("first", slice(200)), ("third", slice(None, None, 3))):
        losses = [mean_loss(y[rows], p) for p in watched.staged_predict_proba(X[rows])]
        found = watched.evals_result_[name]["log_loss"]
        np.testing.assert_allclose(found, losses, rtol=1e-4, atol=1e-7)
        np.testing.assert_array_equal(found, [r.losses[name] for r in reports])


# --- callbacks, warm starts, texts ----------------------------------------------------


def test_callbacks_get_the_rounds_of_the_model():
    reports = []
    model = CGBoostingClassifier(random_state=0).fit(*NOISY, callbacks=[reports.append])
    assert [report.round for report in reports] == list(range(1, model.n_iter_ + 1))
    assert {report.n_rounds for report in reports} == {model.n_iter_}
    losses = [report.train_loss for report in reports]
    np.testing.assert_array_equal(losses, -model.train_score_[1:])


@pytest.mark.parametrize("last", [1, 130])
def test_callback_stops_a_fit_with_trials(last):
    model = CGBoostingClassifier(random_state=0)
    model.fit(*CLEAN, callbacks=[lambda report: report.round == last])
    assert model.n_iter_ == len(model.trees_) == last
    assert len(model.train_score_) == last + 1
    assert model.decision_function(CLEAN[0]).shape == (1500, 8)


def test_warm_start_keeps_the_rate_after_trials():
    model = CGBoostingClassifier(random_state=0, warm_start=True).fit(*NOISY)
    n_rounds, rate = model.n_iter_, model.plan_.learning_rate
    assert rate == pytest.approx(0.1 / 3)
    model.set_params(n_estimators=n_rounds + 5).fit(*NOISY)
    assert model.n_iter_ == n_rounds + 5
    assert model.plan_.learning_rate == rate
    assert model.plan_.n_trials == 0


def test_trials_are_logged(capfd):
    model = CGBoostingClassifier(random_state=0, verbose=1).fit(*NOISY)
    lines = capfd.readouterr().err.splitlines()
    assert ", 3 trials; n_estimators=1000, " in lines[0]
    for trial in (1, 2, 3):
        assert any(
            line.startswith(
                f"CGBoostingClassifier: trial {trial}: lowest held-out loss"
            )
            for line in lines
        )
    assert lines[-1].startswith(f"CGBoostingClassifier: {model.n_iter_} rounds in ")


def test_patience_of_trials_can_be_set():
    X, y = SMOOTH
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it has an effect
        short, long = (
            CGBoostingRegressor(
                quality="fast", n_iter_no_change=patience, random_state=0
            ).fit(X, y)
            for patience in (1, 50)
        )
    assert short.n_iter_ < long.n_iter_


# --- no trials ------------------------------------------------------------------------


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("data", "parameters", "rows"),
    [
        (NOISY, {"n_estimators": 20}, {}),
        (NOISY, {"early_stopping": True}, {}),
        (NOISY, {}, {"X_val": NOISY[0], "y_val": NOISY[1]}),
        ((NOISY[0][:199], NOISY[1][:199]), {}, {}),
        (NOISY, {"advanced": BoostingOptions(reuse_splits=False)}, {}),
    ],
    ids=["rounds", "stops early", "validation", "few rows", "used splits"],
)
def test_no_trial(data, parameters, rows):
    model = CGBoostingClassifier(random_state=0, **parameters).fit(*data, **rows)
    assert model.plan_.n_trials == 0


def test_custom_losses_have_no_trial():
    """They may hold an array of all rows, such as weights of their own."""
    X, y = make_categories(noise=3)
    own = np.random.default_rng(0).integers(1, 4, len(y))

    class Weighted(Squared):
        def gradients(self, y, raw, weight):
            return super().gradients(y, raw, own)

    model = CGBoostingRegressor(loss=Weighted(), random_state=0)
    assert model.fit(X, y).plan_.n_trials == 0
    assert model.n_iter_ == 100
    with pytest.raises(ValueError, match="broadcast") as caught:
        model.set_params(early_stopping=True).fit(X, y)
    assert "gradients() got 1350 rows: held-out rows" in caught.value.__notes__[0]
