"""Warm start of CGBoostingClassifier."""

import numpy as np
import pytest
from boosting_data import DATA, SETTINGS, booster
from checks import digest, same_bytes
from sklearn.datasets import load_iris


@pytest.fixture(params=[2, 3])
def data(request):
    return DATA[request.param]


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
@pytest.mark.parametrize("random_state", [0, None, np.random.RandomState(5)])
def test_warm_start_equals_one_fit(data, parameters, random_state):
    X, y = data
    model = booster(3, warm_start=True, **{**parameters, "random_state": random_state})
    model.fit(X, y)
    first = model.trees_.nodes.tobytes()
    model.set_params(n_estimators=7).fit(X, y).set_params(n_estimators=8).fit(X, y)
    assert model.n_iter_ == 8
    assert model.trees_.nodes.tobytes().startswith(first)
    if random_state == 0:
        at_once = booster(8, **parameters).fit(X, y)
        same_bytes(model, at_once)
        np.testing.assert_array_equal(model.train_score_, at_once.train_score_)
        np.testing.assert_array_equal(
            model.feature_importances_, at_once.feature_importances_
        )
        assert (model.predict_proba(X) == at_once.predict_proba(X)).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_warm_start_with_validation_rows(data, weighted):
    X, y = data
    weights = np.random.default_rng(0).random(len(y)) if weighted else None
    val = {"X_val": X[300:], "y_val": y[300:], "sample_weight": weights}
    model = booster(3, warm_start=True).fit(X, y, **val)
    model.set_params(n_estimators=6).fit(X, y, **val)
    at_once = booster(6).fit(X, y, **val)
    same_bytes(model, at_once)
    np.testing.assert_array_equal(model.validation_score_, at_once.validation_score_)


def test_warm_start_with_held_out_rows(data):
    # The same rows are held out again.
    X, y = data
    parameters = {"early_stopping": True, "n_iter_no_change": 100}
    model = booster(3, warm_start=True, **parameters).fit(X, y)
    model.set_params(n_estimators=6).fit(X, y)
    at_once = booster(6, **parameters).fit(X, y)
    if at_once.n_iter_ == 6 and model.n_iter_ == 6:
        same_bytes(model, at_once)
        np.testing.assert_array_equal(
            model.validation_score_, at_once.validation_score_
        )


def test_no_rounds_to_add(data):
    X, y = data
    model = booster(3, warm_start=True).fit(X, y)
    before = digest(model)
    with pytest.warns(UserWarning, match="does not fit new trees") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert digest(model) == before


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_estimators": 2}, "n_estimators=2.*3"),
        ({"classes": True}, "warm_start needs the classes"),
        ({"features": True}, "X has 8 features"),
    ],
    ids=["fewer rounds", "other classes", "other features"],
)
def test_warm_start_with_other_parameters(data, change, match):
    X, y = data
    model = booster(3, warm_start=True).fit(X, y)
    before = digest(model), sorted(vars(model))
    model.set_params(n_estimators=change.get("n_estimators", 5))
    with pytest.raises(ValueError, match=match):
        model.fit(
            X[:, :8] if "features" in change else X, y + 1 if "classes" in change else y
        )
    assert (digest(model), sorted(vars(model))) == before


def test_refit_without_warm_start(data):
    X, y = data
    model = booster(3).fit(*load_iris(return_X_y=True))
    model.set_params(n_estimators=2).fit(X, y)
    same_bytes(model, booster(2).fit(X, y))
    assert model.n_features_in_ == 9
    assert len(model.train_score_) == 3


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_fewer_rounds_are_a_prefix_of_more(data, parameters):
    short, long = (booster(n, **parameters).fit(*data) for n in (3, 8))
    n_nodes = short.trees_.n_nodes
    assert short.trees_.nodes.tobytes() == long.trees_.nodes[:n_nodes].tobytes()
