"""The trial that chooses the learning rate: more than two classes, or categories."""

import numpy as np
import pandas as pd
import pytest
from boosting_data import Squared, mean_loss
from checks import digest, same_bytes
from sklearn.datasets import make_blobs, make_classification

from dics import CGBoostingClassifier, CGBoostingRegressor


def make_noisy(n=1500):
    X, y = make_classification(
        n, 8, n_informative=6, n_classes=3, flip_y=0.6, random_state=0
    )
    return X.astype(np.float32), y


def make_clean(n=1500):
    X, y = make_blobs(n, 10, centers=8, cluster_std=3.0, random_state=0)
    return X.astype(np.float32), y


NOISY, CLEAN = make_noisy(), make_clean()


def fit(X, y, **parameters):
    return CGBoostingClassifier(**{"random_state": 0, **parameters}).fit(X, y)


def test_noise_lowers_the_rate():
    model = fit(*NOISY)
    assert model.plan_.n_trial_rounds == 100
    assert model.plan_.learning_rate < 0.1
    assert model.n_iter_ == model.plan_.n_estimators == 100
    # The model equals a fit with that rate.
    said = fit(*NOISY, n_estimators=100, learning_rate=model.plan_.learning_rate)
    same_bytes(model, said)
    X, y = make_noisy(3000)
    fixed = fit(*NOISY, n_estimators=250, learning_rate=0.15)
    assert mean_loss(y[1500:], model.predict_proba(X[1500:])) < mean_loss(
        y[1500:], fixed.predict_proba(X[1500:])
    )


def test_rounds_of_a_good_trial_are_kept():
    X, y = CLEAN
    model = fit(X, y)
    assert model.plan_.learning_rate == 0.15
    assert model.n_iter_ == len(model.trees_) == model.plan_.n_estimators == 250
    losses = [mean_loss(y, p) for p in model.staged_predict_proba(X)]
    np.testing.assert_allclose(-model.train_score_[1:], losses, rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(
        model.evals_result_["training"]["log_loss"], -model.train_score_[1:]
    )
    assert len(model.validation_score_) == 0


@pytest.mark.parametrize("data", [NOISY, CLEAN], ids=["noisy", "clean"])
def test_trial_with_weights_and_any_n_jobs(data):
    X, y = data
    weights = np.arange(len(y)) % 4 + 0.0
    models = [
        CGBoostingClassifier(random_state=3, n_jobs=n).fit(X, y, sample_weight=weights)
        for n in (1, 2)
    ]
    assert models[0].plan_.n_trial_rounds == 100
    assert digest(models[0]) == digest(models[1])


@pytest.mark.parametrize("data", [NOISY, CLEAN], ids=["noisy", "clean"])
def test_callbacks_get_kept_rounds_only(data):
    reports = []
    model = CGBoostingClassifier(random_state=0).fit(*data, callbacks=[reports.append])
    assert [report.round for report in reports] == list(range(1, model.n_iter_ + 1))
    assert {report.n_rounds for report in reports} == {model.n_iter_}
    losses = [report.train_loss for report in reports]
    np.testing.assert_array_equal(losses, -model.train_score_[1:])


@pytest.mark.parametrize("data", [NOISY, CLEAN], ids=["noisy", "clean"])
def test_watched_sets_change_no_model(data):
    X, y = data
    reports = []
    plain = CGBoostingClassifier(random_state=0, early_stopping=False).fit(X, y)
    watched = CGBoostingClassifier(random_state=0, early_stopping=False).fit(
        X,
        y,
        eval_set=[(X[:200], y[:200]), (X[::3], y[::3])],
        eval_names=["first", "third"],
        callbacks=[reports.append],
    )
    assert plain.plan_ == watched.plan_
    assert plain.plan_.n_trial_rounds == 100
    same_bytes(plain, watched)
    np.testing.assert_array_equal(plain.train_score_, watched.train_score_)
    for name, rows in (("first", slice(200)), ("third", slice(None, None, 3))):
        losses = [mean_loss(y[rows], p) for p in watched.staged_predict_proba(X[rows])]
        found = watched.evals_result_[name]["log_loss"]
        np.testing.assert_allclose(found, losses, rtol=1e-4, atol=1e-7)
        np.testing.assert_array_equal(found, [r.losses[name] for r in reports])
    np.testing.assert_array_equal(found, -watched.validation_score_[1:])


@pytest.mark.parametrize("last", [7, 130])
def test_callback_stops_a_fit_with_a_trial(last):
    model = CGBoostingClassifier(random_state=0)
    model.fit(*CLEAN, callbacks=[lambda report: report.round == last])
    assert model.n_iter_ == len(model.trees_) == last
    assert len(model.train_score_) == last + 1
    assert model.decision_function(CLEAN[0]).shape == (1500, 8)


def test_callback_cannot_change_the_rate_of_a_kept_trial():
    def slow_down(report):
        report.learning_rate *= 0.9

    with pytest.raises(ValueError, match=r"Set learning_rate .* learning_rate=0\.15"):
        CGBoostingClassifier(random_state=0).fit(*CLEAN, callbacks=[slow_down])


def test_warm_start_keeps_the_rate_of_the_trial():
    model = CGBoostingClassifier(random_state=0, warm_start=True).fit(*NOISY)
    rate = model.plan_.learning_rate
    model.set_params(n_estimators=120).fit(*NOISY)
    assert model.n_iter_ == 120
    assert model.plan_.learning_rate == rate


X2, Y2 = NOISY[0], (NOISY[1] > 0).astype(int)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("data", "parameters", "rows"),
    [
        (NOISY, {"learning_rate": 0.15}, {}),
        (NOISY, {"n_estimators": 20}, {}),
        (NOISY, {"early_stopping": True}, {}),
        (NOISY, {}, {"X_val": NOISY[0], "y_val": NOISY[1]}),
        ((NOISY[0][:900], NOISY[1][:900]), {}, {}),
        ((X2, Y2), {}, {}),
    ],
    ids=["rate", "rounds", "stops early", "validation", "few rows", "two classes"],
)
def test_no_trial(data, parameters, rows):
    model = CGBoostingClassifier(random_state=0, **parameters).fit(*data, **rows)
    assert model.plan_.n_trial_rounds == 0


@pytest.mark.parametrize("data", [NOISY, CLEAN], ids=["noisy", "clean"])
def test_trial_is_logged(data, capfd):
    model = CGBoostingClassifier(random_state=0, verbose=1).fit(*data)
    lines = capfd.readouterr().err.splitlines()
    assert ", trial of 100 rounds; n_estimators=250, " in lines[0]
    assert lines[1].startswith("CGBoostingClassifier, trial: ")
    if data is NOISY:
        values = f"n_estimators=100, learning_rate={model.plan_.learning_rate:g}, "
        assert f" rounds; using {values}max_leaf_nodes=31" in lines[2]
    assert lines[-1].startswith(
        f"CGBoostingClassifier: {100 if data is NOISY else 150} "
    )
    assert model.n_iter_ == model.plan_.n_estimators


# --- categories -----------------------------------------------------------------------


def make_categories(noise, n=1500):
    rng = np.random.default_rng(0)
    categories = rng.integers(0, 300, n)
    X = pd.DataFrame(
        {"category": [f"v{v}" for v in categories], "x": rng.normal(size=n)}
    )
    y = np.sin(categories) + X["x"].to_numpy() + noise * rng.normal(size=n)
    return X, y


@pytest.mark.parametrize(
    ("loss", "n_rounds"),
    [
        ("squared_error", 40),
        ("squared_error", 100),
        ("absolute_error", 100),
        ("poisson", 100),
    ],
)
def test_noisy_categories_lower_the_rate(loss, n_rounds):
    X, y = make_categories(noise=3)
    y = np.abs(y) if loss == "poisson" else y
    options = {"n_estimators": n_rounds, "random_state": 0}
    model = CGBoostingRegressor(loss=loss, **options).fit(X, y)
    assert model.plan_.n_trial_rounds == 0.6 * n_rounds
    rate = model.plan_.learning_rate
    assert rate < 0.1
    assert model.n_iter_ == n_rounds
    assert model.plan_.max_leaf_nodes == 8
    given = {"learning_rate": rate, "max_leaf_nodes": 8, **options}
    same_bytes(model, CGBoostingRegressor(loss=loss, **given).fit(X, y))


def test_custom_losses_have_no_trial():
    """They may hold an array of all rows, such as weights of their own."""
    X, y = make_categories(noise=3)
    own = np.random.default_rng(0).integers(1, 4, len(y))

    class Weighted(Squared):
        def gradients(self, y, raw, weight):
            return super().gradients(y, raw, own)

    model = CGBoostingRegressor(loss=Weighted(), n_estimators=40, random_state=0)
    assert model.fit(X, y).plan_.n_trial_rounds == 0
    assert model.plan_.learning_rate == 0.1
    with pytest.raises(ValueError, match="broadcast") as caught:
        model.set_params(early_stopping=True).fit(X, y)
    assert "gradients() got 1350 rows: held-out rows" in caught.value.__notes__[0]


def test_clear_categories_keep_the_rate():
    X, y = make_categories(noise=0.01)
    model = CGBoostingRegressor(random_state=0).fit(X, y)
    assert model.plan_.n_trial_rounds == 60
    assert model.plan_.learning_rate == 0.1
    assert model.plan_.max_leaf_nodes == 31
    assert model.n_iter_ == 100


def test_categories_of_two_classes():
    X, y = make_categories(noise=3)
    model = fit(X, y > 0)
    assert model.plan_.n_trial_rounds == 60
    assert model.plan_.learning_rate < 0.05
    rate = model.plan_.learning_rate
    same_bytes(model, fit(X, y > 0, learning_rate=rate, max_leaf_nodes=8))


def test_few_categories_have_a_trial():
    X, y = make_categories(noise=6)
    X["category"] = X["category"].str[:2]
    model = CGBoostingRegressor(random_state=0).fit(X, y)
    assert model._categories.columns[0].is_ranked
    assert model.plan_.n_trial_rounds == 60
    assert model.plan_.learning_rate < 0.1


@pytest.mark.parametrize("leaves", [16, None])
def test_requested_leaves_are_kept(leaves):
    X, y = make_categories(noise=3)
    model = CGBoostingRegressor(max_leaf_nodes=leaves, random_state=0).fit(X, y)
    assert model.plan_.learning_rate < 0.1
    assert model.plan_.max_leaf_nodes == leaves


def test_numeric_features_keep_their_leaves():
    model = CGBoostingClassifier(random_state=0).fit(*NOISY)
    assert model.plan_.learning_rate < 0.15
    assert model.plan_.max_leaf_nodes == 31


def test_warm_start_keeps_the_leaves_of_the_trial():
    X, y = make_categories(noise=3)
    model = CGBoostingRegressor(random_state=0, warm_start=True).fit(X, y)
    model.set_params(n_estimators=120).fit(X, y)
    assert model.plan_.max_leaf_nodes == 8
    assert np.diff(model.trees_.node_starts).max() <= 15


@pytest.mark.parametrize(
    "parameters",
    [{"learning_rate": 0.1}, {"early_stopping": True}, {"n_estimators": 1}],
)
def test_no_trial_of_categories(parameters):
    model = CGBoostingRegressor(random_state=0, **parameters).fit(
        *make_categories(noise=1)
    )
    assert model.plan_.n_trial_rounds == 0
