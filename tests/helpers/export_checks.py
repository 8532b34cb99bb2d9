"""Comparisons of exported models with the predictions of dics, by format."""

import io
import json

import numpy as np
import pytest
from export_readers import folded, predict_json, run_onnx

import dics
from dics.export import (
    SKOPS_TRUSTED,
    encode_categories,
    register_skl2onnx,
    to_dataframe,
    to_json,
    to_onnx,
    to_shap,
    to_treelite,
)


def numbers(model, rows):
    """Return rows in the form that treelite and shap require."""
    if model.categories_ is None:
        return rows.astype(np.float64)
    return encode_categories(model, rows)


def expected(model, rows):
    is_class = hasattr(model, "classes_")
    found = model.predict_proba(rows) if is_class else model.predict(rows)
    return found.reshape(len(rows), -1)


def assert_same_in_onnx(model, rows):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    made = to_onnx(model)
    onnx.checker.check_model(made, full_check=True)
    found = run_onnx(made, rows)
    values = found["probabilities" if "label" in found else "variable"]
    np.testing.assert_allclose(values, expected(model, rows), rtol=1e-6, atol=1e-6)
    if "label" in found:
        np.testing.assert_array_equal(found["label"], model.predict(rows))


def assert_same_in_treelite(model, rows):
    treelite = pytest.importorskip("treelite")
    found = treelite.gtil.predict(to_treelite(model), numbers(model, rows))
    found = found.reshape(len(rows), -1)
    wanted = expected(model, rows)
    # Binary boosting returns the second class only.
    wanted = wanted[:, -found.shape[1] :]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def assert_same_in_shap(model, rows):
    shap = pytest.importorskip("shap")
    ensemble = to_shap(model)
    explainer = shap.TreeExplainer(ensemble)
    values = explainer.shap_values(numbers(model, rows))
    values = folded(values, ensemble["pairs"], model.n_features_in_)
    added = model.predict_contributions(rows)
    np.testing.assert_allclose(values, added[:, :-1], rtol=0, atol=1e-9)
    base = np.broadcast_to(explainer.expected_value, added[:, -1].shape)
    np.testing.assert_allclose(base, added[:, -1], rtol=1e-9, atol=1e-9)


def assert_same_in_json(model, rows):
    plain = json.loads(to_json(model))
    found = [predict_json(plain, row) for row in rows.tolist()]
    np.testing.assert_allclose(found, expected(model, rows), rtol=1e-6, atol=1e-6)


def assert_same_in_skl2onnx(model, rows):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    register_skl2onnx()
    options = {"zipmap": False} if hasattr(model, "classes_") else None
    found = run_onnx(skl2onnx.to_onnx(model, rows[:1], options=options), rows)
    values = list(found.values())[-1]
    np.testing.assert_allclose(values, expected(model, rows), rtol=1e-6, atol=1e-6)


def assert_same_again(model, again, rows):
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def assert_same_in_file(model, rows):
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    assert_same_again(model, dics.load(file), rows)


def assert_same_in_skops(model, rows):
    skops = pytest.importorskip("skops.io")
    again = skops.loads(skops.dumps(model), trusted=SKOPS_TRUSTED)
    assert_same_again(model, again, rows)


def assert_same_in_table(model, rows):
    pytest.importorskip("pandas")
    assert len(to_dataframe(model)) == model.trees_.n_nodes


# By the columns of docs/deploy/export.md.
CHECKS = {
    "`save`": assert_same_in_file,
    "ONNX": assert_same_in_onnx,
    "skl2onnx": assert_same_in_skl2onnx,
    "treelite": assert_same_in_treelite,
    "shap": assert_same_in_shap,
    "JSON": assert_same_in_json,
    "table": assert_same_in_table,
    "skops": assert_same_in_skops,
}
