"""Models in ONNX Runtime."""

import sys

import numpy as np
import pytest
from export_models import (
    BOOSTING,
    CLASSIFIERS,
    HOUR,
    REGRESSORS,
    TREE,
    WIDE,
    T,
    X,
    Y,
    fitted,
    fitted_wide,
)
from export_readers import run_onnx
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dics
from dics.export import to_onnx

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_and_probabilities(name):
    model = fitted(name)
    made = to_onnx(model)
    onnx.checker.check_model(made, full_check=True)
    found = run_onnx(made, X)
    assert list(found) == ["label", "probabilities"]
    np.testing.assert_array_equal(found["label"], model.predict(X))
    np.testing.assert_allclose(
        found["probabilities"], model.predict_proba(X), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("name", REGRESSORS)
def test_regression(name):
    model = fitted(name)
    made = to_onnx(model)
    onnx.checker.check_model(made, full_check=True)
    found = run_onnx(made, X)
    assert list(found) == ["variable"]
    expected = model.predict(X).reshape(len(X), -1)
    np.testing.assert_allclose(found["variable"], expected, rtol=1e-6, atol=1e-6)


def test_models_have_splits_on_missing_values():
    for name in ("tree", "forest", "boosting", "numbers"):
        assert np.isneginf(fitted(name).trees_.threshold).any()


@pytest.mark.parametrize("name", ["forest", "boosting of two", "numbers"])
def test_infinities_and_rows_on_thresholds(name):
    model = fitted(name)
    trees = model.trees_
    rows = X[: trees.n_nodes].copy()
    rows[:20], rows[20:40], rows[40:60] = -np.inf, np.inf, np.nan
    for i, node in enumerate(trees.inner[: len(rows) - 60]):
        rows[60 + i, trees.feature[node]] = trees.threshold[node]
    found = run_onnx(to_onnx(model), rows)
    is_class = "probabilities" in found
    expected = model.predict_proba(rows) if is_class else model.predict(rows)[:, None]
    values = found["probabilities" if is_class else "variable"]
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)


def test_ties_of_votes_go_to_the_first_class():
    model = dics.CGForestClassifier(
        n_estimators=6,
        advanced=dics.ForestOptions(voting="hard"),
        max_depth=2,
        random_state=0,
    )
    model.fit(X, Y)
    shares = np.sort(model.predict_proba(X), axis=1)
    assert (shares[:, -1] == shares[:, -2]).any()
    np.testing.assert_array_equal(
        run_onnx(to_onnx(model), X)["label"], model.predict(X)
    )


def test_small_probabilities_keep_their_precision():
    model = clone(BOOSTING).set_params(learning_rate=2.0).fit(X, Y == 1)
    model.classes_ = np.array([0, 1])
    expected = model.predict_proba(X)
    assert expected.min() < 1e-4
    found = run_onnx(to_onnx(model), X)["probabilities"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("opset", [13, 18])
def test_versions(opset):
    made = to_onnx(fitted("boosting"), target_opset=opset)
    assert {e.domain: e.version for e in made.opset_import}[""] == opset
    assert made.producer_name == "dics"
    run_onnx(made, X)


@pytest.mark.parametrize("opset", [12, 10_000, 15.0, "15"])
def test_wrong_versions(opset):
    with pytest.raises(ValueError, match="target_opset must be an integer from 13"):
        to_onnx(fitted("tree"), target_opset=opset)


@pytest.mark.parametrize(
    "classes",
    [[False, True], [0.5, 1.5], np.array([1, True], dtype=object), [0, 2**63]],
    ids=["bool", "float", "object", "large"],
)
def test_label_types_without_onnx(classes):
    model = clone(TREE).fit(X, Y == 1)
    model.classes_ = np.array(classes)
    with pytest.raises(ValueError, match=r"integers or text; .* y\.astype\(int\)"):
        to_onnx(model)


@pytest.mark.parametrize("name", WIDE)
def test_columns_that_single_precision_would_merge(name):
    model = fitted_wide(name)
    found = run_onnx(to_onnx(model), HOUR)
    is_class = "probabilities" in found
    expected = model.predict_proba(HOUR) if is_class else model.predict(HOUR)
    values = found["probabilities" if is_class else "variable"]
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)


def test_errors():
    with pytest.raises(
        TypeError, match="to_onnx requires a fitted dics model, got str"
    ):
        to_onnx("model")
    with pytest.raises(NotFittedError):
        to_onnx(dics.CGTreeClassifier())
    several = dics.CGBoostingRegressor(
        loss="quantile", quantile=[0.1, 0.9], n_estimators=2
    )
    with pytest.raises(ValueError, match="several quantiles"):
        to_onnx(several.fit(X, T))


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'dics\[onnx\]'"):
        to_onnx(fitted("tree"))
