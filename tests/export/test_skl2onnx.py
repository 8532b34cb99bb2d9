"""Pipelines with models of dics, converted by skl2onnx."""

import sys

import numpy as np
import pytest
from export_models import CLASSIFIERS, HOUR, MODELS, WIDE, X, Y, fitted, fitted_wide
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dics
from dics.export import register_skl2onnx

skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")

# scikit-learn and the runtime both round scaled rows.
ROWS = np.nan_to_num(X, nan=np.nan, posinf=3, neginf=-3)


@pytest.fixture(autouse=True)
def registered():
    register_skl2onnx()


def run(onnx_model, rows):
    content = onnx_model.SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MODELS)
def test_pipelines(name, dtype):
    rows = ROWS.astype(dtype)
    model, target = MODELS[name]
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(rows, target)
    if name not in CLASSIFIERS:
        (found,) = run(skl2onnx.to_onnx(pipeline, rows[:1]), rows)
        expected = pipeline.predict(rows).reshape(len(rows), -1)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        return
    made = skl2onnx.to_onnx(pipeline, rows[:1], options={"zipmap": False})
    labels, probabilities = run(made, rows)
    np.testing.assert_array_equal(labels, pipeline.predict(rows))
    np.testing.assert_allclose(
        probabilities, pipeline.predict_proba(rows), rtol=0, atol=1e-5
    )


def test_models_cover_all_classes():
    kinds = {type(model).__name__ for model, _ in MODELS.values()}
    assert kinds == {name for name in dics.__all__ if name.endswith("ier")} | {
        name for name in dics.__all__ if name.endswith("Regressor")
    }


@pytest.mark.parametrize("name", ["boosting", "forest of text"])
def test_zipmap(name):
    model = fitted(name)
    labels, maps = run(skl2onnx.to_onnx(model, X[:1]), X)
    np.testing.assert_array_equal(labels, model.predict(X))
    expected = model.predict_proba(X)
    for row in (0, 7):
        assert list(maps[row]) == model.classes_.tolist()
        np.testing.assert_allclose(list(maps[row].values()), expected[row], atol=1e-6)


def test_rows_of_float64_are_not_rounded():
    model = fitted("tree regressor")
    trees = model.trees_
    node = trees.inner[np.isfinite(trees.threshold[trees.inner])][0]
    rows = np.repeat(X[:1].astype(np.float64), 2, axis=0)
    rows[:, trees.feature[node]] = trees.threshold[node]
    rows[0, trees.feature[node]] = np.nextafter(np.float64(trees.threshold[node]), -9)
    (found,) = run(skl2onnx.to_onnx(model, rows[:1]), rows)
    np.testing.assert_allclose(found[:, 0], model.predict(rows), rtol=1e-6)


def test_integers():
    rows = np.nan_to_num(ROWS * 10).astype(np.int64)
    model = dics.CGTreeClassifier(max_depth=4, random_state=0).fit(rows, Y)
    made = skl2onnx.to_onnx(model, rows[:1], options={"zipmap": False})
    np.testing.assert_array_equal(run(made, rows)[0], model.predict(rows))


@pytest.mark.parametrize("name", WIDE)
def test_columns_that_single_precision_would_merge(name):
    model = fitted_wide(name)
    for rows in (HOUR, HOUR.astype(np.float32)):
        options = {"zipmap": False} if hasattr(model, "classes_") else None
        found = run(skl2onnx.to_onnx(model, rows[:1], options=options), rows)[-1]
        is_class = hasattr(model, "classes_")
        expected = model.predict_proba(rows) if is_class else model.predict(rows)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="target_opset=13 or later, got 12"):
        skl2onnx.to_onnx(fitted("numbers"), X[:1], target_opset=12)
    model = dics.CGTreeClassifier(max_depth=2).fit(X, Y == 1)
    with pytest.raises(ValueError, match="integers or text"):
        skl2onnx.to_onnx(model, X[:1])


def test_without_skl2onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'dics\[onnx\]'"):
        register_skl2onnx()
