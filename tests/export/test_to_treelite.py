"""Models in treelite."""

import sys

import numpy as np
import pytest
from export_models import HOUR, MODELS, WIDE, T, X, fitted, fitted_wide

import dics
from dics.export import to_treelite

treelite = pytest.importorskip("treelite")


def expected(model, rows):
    """Return the predictions that treelite should return, [row][target][class]."""
    if not hasattr(model, "classes_"):
        return model.predict(rows).reshape(len(rows), -1, 1)
    shares = model.predict_proba(rows)
    if isinstance(model, dics.CGBoostingClassifier) and shares.shape[1] == 2:
        shares = shares[:, 1:]
    return shares[:, None]


@pytest.mark.parametrize("name", MODELS)
def test_predictions(name):
    model = fitted(name)
    found = treelite.gtil.predict(to_treelite(model), X.astype(np.float64))
    np.testing.assert_allclose(found, expected(model, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["forest", "boosting", "numbers"])
def test_infinities_and_rows_on_thresholds(name):
    model = fitted(name)
    trees = model.trees_
    rows = X[: trees.n_nodes].astype(np.float64)
    rows[:20], rows[20:40], rows[40:60] = -np.inf, np.inf, np.nan
    for i, node in enumerate(trees.inner[: len(rows) - 60]):
        side = np.nextafter(np.float64(trees.threshold[node]), -np.inf)
        rows[60 + i, trees.feature[node]] = trees.threshold[node] if i % 2 else side
    found = treelite.gtil.predict(to_treelite(model), rows)
    np.testing.assert_allclose(found, expected(model, rows), rtol=1e-6, atol=1e-6)


def test_attributes():
    made = to_treelite(fitted("forest"))
    assert (made.num_tree, made.num_feature) == (7, 6)
    assert (made.input_type, made.output_type) == ("float64", "float64")


@pytest.mark.parametrize("name", WIDE)
def test_columns_that_single_precision_would_merge(name):
    model = fitted_wide(name)
    found = treelite.gtil.predict(to_treelite(model), HOUR)
    np.testing.assert_allclose(found, expected(model, HOUR), rtol=1e-6, atol=1e-6)


def test_errors():
    several = dics.CGBoostingRegressor(
        loss="quantile", quantile=[0.1, 0.9], n_estimators=2
    )
    with pytest.raises(
        ValueError, match="to_treelite does not support several quantiles"
    ):
        to_treelite(several.fit(X, T))


def test_without_treelite(monkeypatch):
    monkeypatch.setitem(sys.modules, "treelite", None)
    with pytest.raises(ImportError, match=r"pip install 'dics\[treelite\]'"):
        to_treelite(fitted("tree"))
