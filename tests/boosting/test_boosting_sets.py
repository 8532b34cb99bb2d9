"""Validation sets of boosting: names, weights and stored losses."""

import numpy as np
import pytest
from boosting_data import DATA, booster, mean_loss
from checks import same_bytes

from dics import CGBoostingRegressor


@pytest.fixture(params=[2, 3])
def sets(request):
    X, y = DATA[request.param]
    return (X[:250], y[:250]), (X[250:320], y[250:320]), (X[320:], y[320:])


def numbers(sets):
    return [(X, X[:, 0] * 2 + y) for X, y in sets]


def make_regressor(n_estimators=10, **parameters):
    parameters = {"random_state": 0, "early_stopping": False, **parameters}
    return CGBoostingRegressor(n_estimators=n_estimators, **parameters)


def test_losses_of_several_sets(sets):
    train, first, second = sets
    model = booster(8).fit(*train, eval_set=[first, second])
    same_bytes(model, booster(8).fit(*train))
    assert list(model.evals_result_) == ["training", "validation_0", "validation_1"]
    for name, (X, y) in zip(model.evals_result_, sets, strict=True):
        expected = [mean_loss(y, p) for p in model.staged_predict_proba(X)]
        found = model.evals_result_[name]
        assert list(found) == ["log_loss"]
        np.testing.assert_allclose(found["log_loss"], expected, rtol=1e-5)
    losses = model.evals_result_["validation_1"]["log_loss"]
    np.testing.assert_array_equal(-model.validation_score_[1:], losses)
    assert model.best_iteration_ is None
    assert model.best_score_ is None


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_losses_of_regression(sets, loss):
    train, first, second = [(X, np.exp(0.3 * y)) for X, y in numbers(sets)]
    model = make_regressor(loss=loss).fit(
        *train, eval_set=[first, second], eval_names=["early", "late"]
    )
    assert list(model.evals_result_) == ["training", "early", "late"]
    for name in model.evals_result_:
        losses = model.evals_result_[name][loss]
        assert len(losses) == 10
        assert losses[-1] < losses[0]
    alone = make_regressor(loss=loss).fit(*train, X_val=first[0], y_val=first[1])
    assert alone.evals_result_["validation"] == model.evals_result_["early"]


def test_custom_loss_with_several_sets(sets):
    class Squares:
        def start(self, y, weight):
            return y.mean()

        def link(self, raw):
            return raw

        def gradients(self, y, raw, weight):
            return raw - y, np.ones_like(y)

        def loss(self, y, raw, weight):
            return np.mean((y - raw) ** 2)

    train, first, second = numbers(sets)
    model = make_regressor(loss=Squares()).fit(*train, eval_set=[first, second])
    for name, (X, y) in zip(model.evals_result_, (train, first, second), strict=True):
        expected = [np.mean((y - p) ** 2) for p in model.staged_predict(X)]
        np.testing.assert_allclose(
            model.evals_result_[name]["loss"], expected, rtol=1e-5
        )


def test_early_stopping_uses_the_last_set(sets):
    train, first, second = sets
    parameters = {"early_stopping": "auto", "learning_rate": 1.0, "n_iter_no_change": 2}
    model = booster(60, **parameters).fit(*train, eval_set=[first, second])
    alone = booster(60, **parameters).fit(*train, X_val=second[0], y_val=second[1])
    same_bytes(model, alone)
    losses = model.evals_result_["validation_1"]["log_loss"]
    assert model.best_iteration_ == model.n_iter_ == np.argmin(losses) + 1 < 60
    assert model.best_score_ == -min(losses)


def test_scores_are_stored_by_name(sets):
    train, first, second = sets
    model = booster(5, early_stopping=True, scoring="accuracy", n_iter_no_change=50)
    model.fit(*train, eval_set=[first, second])
    expected = [np.mean(p == second[1]) for p in model.staged_predict(second[0])]
    found = model.evals_result_["validation_1"]["accuracy"]
    np.testing.assert_allclose(found[: model.n_iter_], expected)
    assert "accuracy" not in model.evals_result_["validation_0"]


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_weights_are_repeats(sets, kind):
    train, (X, y), _ = sets if kind == "classes" else numbers(sets)
    make = booster if kind == "classes" else make_regressor
    weights = np.arange(len(y)) % 3
    repeated = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    weighted = make().fit(*train, X_val=X, y_val=y, sample_weight_val=weights)
    repeats = make().fit(*train, X_val=repeated[0], y_val=repeated[1])
    named = make().fit(*train, eval_set=[(X, y)], eval_sample_weight=[weights])
    np.testing.assert_allclose(
        weighted.validation_score_, repeats.validation_score_, rtol=1e-5
    )
    np.testing.assert_array_equal(weighted.validation_score_, named.validation_score_)


def test_weights_of_rows_and_classes_multiply():
    X, y = DATA[3]
    model = booster(4, class_weight={0: 1.0, 1: 3.0, 2: 0.5})
    weights = 1.0 + np.arange(len(y)) % 2
    model.fit(X, y, X_val=X, y_val=y, sample_weight_val=weights)
    of_rows = weights * np.array([1.0, 3.0, 0.5])[y]
    expected = [-mean_loss(y, p, of_rows) for p in model.staged_predict_proba(X)]
    np.testing.assert_allclose(model.validation_score_[1:], expected, rtol=1e-5)


def test_one_pair_without_a_list(sets):
    train, first, _ = sets
    pair = booster().fit(*train, eval_set=first)
    listed = booster().fit(*train, eval_set=[first], eval_names=["validation_0"])
    assert pair.evals_result_ == listed.evals_result_


def test_callbacks_get_the_losses_of_all_sets(sets):
    train, first, second = sets
    reports = []
    model = booster(3).fit(
        *train,
        eval_set=[first, second],
        eval_names=["a", "b"],
        callbacks=[reports.append],
    )
    for i, report in enumerate(reports):
        expected = {
            name: losses["log_loss"][i] for name, losses in model.evals_result_.items()
        }
        assert report.losses == expected
        assert report.validation_loss == report.losses["b"]


BAD = {
    "X_val and y_val belong together, but y_val is missing": {"X_val": [[0.0] * 9]},
    "sample_weight_val needs X_val and y_val": {"sample_weight_val": [1.0]},
    "eval_names needs eval_set, which is missing": {"eval_names": ["a"]},
    "eval_sample_weight needs eval_set": {"eval_sample_weight": [[1.0]]},
    "not as both": {"X_val": [[0.0] * 9], "y_val": [0], "eval_set": []},
    r"eval_set\[1\] is int": {"eval_set": [([[0.0] * 9], [0]), 3]},
    "eval_names has 2 entries, eval_set has 1": {
        "eval_set": [([[0.0] * 9], [0])],
        "eval_names": ["a", "b"],
    },
    "eval_sample_weight has 2 entries, eval_set has 1": {
        "eval_set": [([[0.0] * 9], [0])],
        "eval_sample_weight": [None, None],
    },
    "must differ from each other and from 'training'": {
        "eval_set": [([[0.0] * 9], [0])],
        "eval_names": ["training"],
    },
    r"eval_set\[0\]: .*2 features": {"eval_set": [([[0.0] * 2], [0])]},
    r"eval_set\[0\]: Validation labels contain classes that are not in y: \[9\]": {
        "eval_set": [([[0.0] * 9], [9])]
    },
    r"eval_set\[0\]: .*-1": {
        "eval_set": [([[0.0] * 9], [0])],
        "eval_sample_weight": [[-1.0]],
    },
}


@pytest.mark.parametrize("message", BAD)
def test_bad_sets_are_rejected(message):
    with pytest.raises(ValueError, match=message):
        booster(2).fit(*DATA[3], **BAD[message])
