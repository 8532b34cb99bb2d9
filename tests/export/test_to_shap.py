"""Models in the shap package; its values must equal `predict_contributions`."""

import numpy as np
import pytest
from export_models import HOUR, MODELS, WIDE, T, X, fitted, fitted_wide

import dics
from dics.export import to_shap

shap = pytest.importorskip("shap")


@pytest.mark.parametrize("name", MODELS)
def test_values_are_contributions(name):
    model = fitted(name)
    rows = X[:120].astype(np.float64)
    rows[:20], rows[20:40] = -np.inf, np.inf
    explainer = shap.TreeExplainer(to_shap(model))
    added = model.predict_contributions(rows)
    values = explainer.shap_values(rows)
    assert values.shape == added[:, :-1].shape
    np.testing.assert_allclose(values, added[:, :-1], rtol=0, atol=1e-9)
    expected = np.broadcast_to(explainer.expected_value, added[:, -1].shape)
    np.testing.assert_allclose(expected, added[:, -1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["forest", "boosting of two", "tree regressor"])
def test_rows_on_thresholds(name):
    model = fitted(name)
    trees = model.trees_
    rows = X[:60].astype(np.float64)
    for row, node in zip(rows, trees.inner, strict=False):
        row[trees.feature[node]] = trees.threshold[node]
    values = shap.TreeExplainer(to_shap(model)).shap_values(rows)
    added = model.predict_contributions(rows)[:, :-1]
    np.testing.assert_allclose(values, added, rtol=0, atol=1e-9)


def test_background_data():
    model = fitted("numbers")
    rows = np.nan_to_num(X[:50].astype(np.float64), posinf=3, neginf=-3)
    explainer = shap.TreeExplainer(to_shap(model), rows)
    values = explainer.shap_values(rows)
    assert explainer.expected_value == pytest.approx(model.predict(rows).mean())
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict(rows), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", WIDE)
def test_columns_that_single_precision_would_merge(name):
    model = fitted_wide(name)
    values = shap.TreeExplainer(to_shap(model)).shap_values(HOUR)
    added = model.predict_contributions(HOUR)[:, :-1]
    np.testing.assert_allclose(values, added, rtol=0, atol=1e-9)


def test_errors():
    several = dics.CGBoostingRegressor(
        loss="quantile", quantile=[0.1, 0.9], n_estimators=2
    )
    with pytest.raises(ValueError, match="to_shap does not support several quantiles"):
        to_shap(several.fit(X, T))
