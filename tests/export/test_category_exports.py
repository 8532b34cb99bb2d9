"""Models with categorical features in ONNX Runtime, treelite, shap and JSON."""

import itertools
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from export_checks import CHECKS, assert_same_in_json, assert_same_in_shap
from export_models import (
    CATEGORICAL,
    CATEGORY_ROWS,
    NEW_ROWS,
    NUMBERS,
    TREE,
    fitted_categorical,
)
from export_readers import run_onnx
from sklearn.base import clone

import dics
from dics._input.categories import Categories
from dics.export import (
    encode_categories,
    register_skl2onnx,
    to_onnx,
    to_shap,
)
from dics.export._plain_model import TreeArrays
from dics.export._shap import with_thresholds

EVERY = {name: CHECKS[name] for name in ("ONNX", "treelite", "shap", "JSON")}
REAL_SETS = {
    f"{name}, {kind}": (name, kind)
    for name in ("adult_categorical", "amazon_access")
    for kind in ("numbers", "text")
}


@pytest.mark.parametrize("check", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("name", CATEGORICAL)
def test_same_predictions(name, check):
    model = fitted_categorical(name)
    check(model, CATEGORY_ROWS[:200])
    check(model, NEW_ROWS)


@pytest.mark.parametrize("check", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("name", ["tree with sets", "boosting with pairs"])
def test_numeric_categories(name, check):
    """Without text, ONNX has the input `X`; categories are numbers of any kind."""
    model, target = CATEGORICAL[name]
    numbers = CATEGORY_ROWS.copy()
    numbers[:, 2] = [np.nan if v is None else ord(v) for v in numbers[:, 2]]
    numbers = numbers.astype(np.float64)
    numbers[:, 0] = numbers[:, 0] / 10 - 0.3
    model = clone(model).set_params(categorical_features=[0, 1, 2])
    check(model.fit(numbers, target), numbers[:200])
    # Single precision would merge these categories.
    numbers[:, 1] += 2.0**40
    check(model.fit(numbers, target), numbers[:200])


@pytest.mark.slow
@pytest.mark.parametrize("check", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("name", REAL_SETS)
def test_real_data(name, check):
    name, kind = REAL_SETS[name]
    path = Path(os.environ.get("DICS_DATA_DIR", ""), name, f"{name}.npz")
    if not path.is_file():
        pytest.skip(f"{path} is not a file")
    data = np.load(path)
    X, y = data["X"], data["y"]
    rows = np.random.default_rng(0).permutation(len(X))
    X, y = X[rows], y[rows]
    columns = data["categorical"] if "categorical" in data else range(X.shape[1])
    if kind == "text":
        X = X.astype(object)
        for f in columns:
            X[:, f] = [f"value {v}" for v in X[:, f]]
    boosting = dics.CGBoostingClassifier(n_estimators=20, random_state=0)
    forest = dics.CGForestClassifier(n_estimators=3, max_depth=12, random_state=0)
    n = 3 * len(X) // 4
    # Some categories of the last quarter are new. Readers of single rows are slow.
    step = {assert_same_in_json: 200, assert_same_in_shap: 20}.get(check, 1)
    for model in (boosting, forest):
        model.set_params(categorical_features=list(columns))
        check(model.fit(X[:n], y[:n]), X[n::step])


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    color = np.array(["red", "green", "blue"])[np.arange(300) % 3]
    frame = pandas.DataFrame({"size": np.arange(300.0) % 7, "color": color})
    target = (frame["size"] * (color == "red")).to_numpy()
    model = clone(NUMBERS).fit(frame, target)
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    feed = {
        "size": frame[["size"]].to_numpy(np.float32),
        "color": frame[["color"]].to_numpy(object),
    }
    (found,) = session.run(None, feed)
    np.testing.assert_allclose(found[:, 0], model.predict(frame), atol=1e-6)
    # Names of operators do not collide with those of columns.
    frame = frame.rename(columns={"size": "constant_0"})
    session = runtime.InferenceSession(
        to_onnx(model.fit(frame, target)).SerializeToString()
    )
    assert [given.name for given in session.get_inputs()] == ["constant_0", "color"]
    model.fit(frame.rename(columns={"constant_0": "label"}), target)
    with pytest.raises(ValueError, match=r"unique column names.* got 'label'"):
        to_onnx(model)


def test_bools():
    rows = np.array([[True, 1.0], [False, 2.0]] * 200, dtype=object)
    rows[::5, 0] = None
    target = np.where(np.equal(rows[:, 0], True), 3, rows[:, 1]).astype(int)
    model = clone(TREE).set_params(categorical_features=[0]).fit(rows, target)
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    numbers = np.where(np.equal(rows, None), np.nan, rows).astype(np.float32)
    found = run_onnx(to_onnx(model), numbers)
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    assert_same_in_json(model, rows)


@pytest.mark.parametrize("check", EVERY.values(), ids=EVERY)
def test_column_without_categories(check):
    rows = np.column_stack([np.zeros(300), np.arange(300) % 5, np.arange(300) % 7])
    model = clone(NUMBERS).set_params(categorical_features=[0, 1])
    model.fit(rows, rows[:, 1] * rows[:, 2])
    (empty, second), pairs = model._categories.columns, model._categories.pairs
    no_text, no_value = np.empty(0, dtype=object), np.empty(0)
    empty = replace(empty, categories=no_text, values=no_value)
    model._categories = Categories([empty, second], pairs)
    rows[:, 0] = np.nan
    check(model, rows[:50])


def test_errors():
    with pytest.raises(ValueError, match="requires a model with categorical features"):
        encode_categories(clone(TREE).fit([[0.0], [1.0]], [0, 1]), [[0.0]])


def test_pipelines():
    skl2onnx = pytest.importorskip("skl2onnx")
    register_skl2onnx()
    model = fitted_categorical("tree")
    with pytest.raises(ValueError, match=r"categorical features; .* 0\..*to_onnx"):
        skl2onnx.to_onnx(model, np.zeros((1, 4), dtype=np.float32))


def random_tree(rng, depth=4, n_ranks=6):
    """Return a complete tree with random sets of the categories of two features."""
    n_inner, n_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    node = np.arange(n_nodes)
    inner = node < n_inner
    weight = np.zeros(n_nodes)
    weight[~inner] = rng.integers(1, 9, n_inner + 1)
    for parent in reversed(range(n_inner)):
        weight[parent] = weight[2 * parent + 1] + weight[2 * parent + 2]
    return TreeArrays(
        feature=np.where(inner, rng.integers(0, 2, n_nodes), -1),
        threshold=np.full(n_nodes, np.nan),
        left=np.where(inner, 2 * node + 1, -1),
        right=np.where(inner, 2 * node + 2, -1),
        missing_left=rng.random(n_nodes) < 0.5,
        weight=weight,
        value=node[:, None] * 1.0,
        sets={n: np.flatnonzero(rng.random(n_ranks) < 0.5) for n in range(n_inner)},
    )


def expected_value(tree, row, known):
    """Return the mean value of a row of which only some features are known."""
    total, todo = 0.0, [(0, 1.0)]
    while todo:
        node, part = todo.pop()
        f, left, right = tree.feature[node], tree.left[node], tree.right[node]
        if f < 0:
            total += part * tree.value[node, 0]
            continue
        share = tree.weight[left] / tree.weight[node]
        if f in known:
            x, members = row[f], tree.sets.get(node)
            below = x < tree.threshold[node] if members is None else x in members
            share = float(tree.missing_left[node] if np.isnan(x) else below)
        todo += [(left, part * share), (right, part * (1 - share))]
    return total


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_for_sets(seed):
    """Values are the same for each row and each subset of features."""
    tree = random_tree(np.random.default_rng(seed))
    made = with_thresholds(tree, [0, 1])
    assert not made.sets
    ranks = [*range(6), np.nan]
    for row in itertools.product(ranks, ranks):
        for known in ((), (0,), (1,), (0, 1)):
            wanted = expected_value(tree, row, known)
            assert expected_value(made, row, known) == pytest.approx(wanted)


def test_too_many_intervals(monkeypatch):
    monkeypatch.setattr(dics.export._shap, "MAX_NODES", 20)
    with pytest.raises(ValueError, match=r"categories of 0 in .* Use predict_contrib"):
        to_shap(fitted_categorical("tree with sets"))
