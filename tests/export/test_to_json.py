"""Models as JSON, read by a program without dics."""

import json

import numpy as np
import pytest
from export_models import CLASSIFIERS, HOUR, MODELS, WIDE, T, X, Y, fitted, fitted_wide
from export_readers import predict_json
from sklearn.base import clone

import dics
from dics.export import to_json


@pytest.mark.parametrize("name", MODELS)
def test_predictions_without_dics(name):
    model = fitted(name)
    rows = X[:100].copy()
    rows[:10], rows[10:20] = -np.inf, np.inf
    plain = json.loads(to_json(model))
    found = [predict_json(plain, row) for row in rows.tolist()]
    is_class = name in CLASSIFIERS
    expected = model.predict_proba(rows) if is_class else model.predict(rows)
    expected = expected.reshape(len(rows), -1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert plain["classes"] == (model.classes_.tolist() if is_class else None)
    assert (plain["n_features"], plain["model"]) == (6, type(model).__name__)


def test_names_and_indentation():
    pandas = pytest.importorskip("pandas")
    model = clone(MODELS["tree"][0]).fit(pandas.DataFrame(X, columns=list("abcdef")), Y)
    text = to_json(model, indent=1)
    assert json.loads(text)["feature_names"] == list("abcdef")
    assert text.startswith('{\n "format": "dics-json-1"')


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (Y == 1, [False, True]),
        (Y / 2, [0.0, 0.5, 1.0]),
        (np.datetime64("2026-01-01") + Y % 2, ["2026-01-01", "2026-01-02"]),
    ],
    ids=["bool", "float", "date"],
)
def test_other_labels(y, expected):
    model = clone(MODELS["tree"][0]).fit(X, Y if len(expected) == 3 else Y % 2)
    model.classes_ = np.unique(y)
    assert json.loads(to_json(model))["classes"] == expected


@pytest.mark.parametrize("name", WIDE)
def test_columns_that_single_precision_would_merge(name):
    model = fitted_wide(name)
    plain = json.loads(to_json(model))
    found = [predict_json(plain, row) for row in HOUR.tolist()]
    is_class = name in CLASSIFIERS
    expected = model.predict_proba(HOUR) if is_class else model.predict(HOUR)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_errors():
    several = dics.CGBoostingRegressor(
        loss="quantile", quantile=[0.1, 0.9], n_estimators=2
    )
    with pytest.raises(ValueError, match="to_json does not support several quantiles"):
        to_json(several.fit(X, T))
