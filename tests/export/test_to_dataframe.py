"""All nodes of a model in a table of pandas."""

import sys

import numpy as np
import pytest
from export_models import (
    CATEGORICAL,
    CATEGORY_ROWS,
    MODELS,
    T,
    X,
    Y,
    fitted,
    fitted_categorical,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dics
from dics.export import to_dataframe

pandas = pytest.importorskip("pandas")
WITH_TREES = [name for name in MODELS if name not in ("no rounds", "boosting of one")]


def is_left(node, value):
    if value is None or value != value:
        return node.missing_direction == "left"
    if isinstance(node.categories, tuple):
        return value in node.categories
    return value < node.threshold


def leaf_values(table, row):
    """Return the sum of the leaves that a row of values by name reaches."""
    total = 0.0
    columns = [name for name in table if name.startswith("value")]
    for _, tree in table.groupby("tree_index"):
        node = tree.iloc[0]
        while node.left_child is not pandas.NA:
            left = is_left(node, row[node.split_feature])
            node = tree.iloc[node.left_child if left else node.right_child]
        total = total + node[columns].to_numpy(dtype=float)
    return total


def assert_same_sums(model, rows):
    """Check that the table gives the sum of the trees for each row."""
    table = to_dataframe(model)
    checked = model._check_matrix(rows)
    expected = model.trees_.contributions(checked, n_threads=1).sum(axis=1)
    for row, sums in zip(rows, expected, strict=True):
        found = leaf_values(table, {f"x[{f}]": value for f, value in enumerate(row)})
        np.testing.assert_allclose(found, sums, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", WITH_TREES)
def test_rows_of_the_table_predict(name):
    assert_same_sums(fitted(name), X[:6])


@pytest.mark.parametrize("name", WITH_TREES)
def test_table_has_the_arrays_of_the_trees(name):
    model = fitted(name)
    trees, table = model.trees_, to_dataframe(model)
    assert len(table) == trees.n_nodes
    np.testing.assert_array_equal(table["count"], trees.n_samples)
    np.testing.assert_array_equal(table["weight"], trees.weight)
    np.testing.assert_array_equal(table["threshold"], trees.threshold)
    assert table.split_feature.isna().tolist() == (trees.feature < 0).tolist()
    by_place = table.set_index(["tree_index", "node_index"])
    for side in ("left_child", "right_child"):
        inner = table[table[side].notna()]
        children = by_place.loc[list(zip(inner.tree_index, inner[side], strict=True))]
        np.testing.assert_array_equal(children.parent_index, inner.node_index)
        np.testing.assert_array_equal(children.node_depth, inner.node_depth + 1)


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "targets"])
def test_gains_are_those_of_the_importances(name):
    model = fitted(name)
    table = to_dataframe(model).dropna(subset="split_gain")
    gains = table.pivot_table(
        index="tree_index", columns="split_feature", values="split_gain", aggfunc="sum"
    ).fillna(0.0)
    if name == "forest":  # each tree counts equally
        gains = gains.div(gains.sum(axis=1), axis=0)
    total = gains.sum()
    expected = model.feature_importances_[model.feature_importances_ > 0]
    np.testing.assert_allclose(total / total.sum(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_categories(name):
    model = fitted_categorical(name)
    table = to_dataframe(model)
    assert table.threshold[table.categories.notna()].isna().all()
    assert table.threshold[table.split_feature == "x[3]"].notna().all()
    if name == "boosting with pairs":
        assert (table.split_feature == "mean of x[0] & x[1]").any()
    else:
        assert_same_sums(model, CATEGORY_ROWS[:6])


def test_names():
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    text = np.array(["low", "mid", "top"])[Y]
    table = to_dataframe(clone(MODELS["tree"][0]).fit(frame, text))
    assert set(table.split_feature.dropna()) <= set("abcdef")
    values = table[["value_low", "value_mid", "value_top"]]
    np.testing.assert_allclose(values.sum(axis=1), 1, rtol=1e-6)
    table = to_dataframe(fitted("targets"))
    assert list(table.columns[-2:]) == ["value_0", "value_1"]
    assert table.value_0.isna().tolist() == table.split_feature.notna().tolist()


def test_errors():
    with pytest.raises(TypeError, match="to_dataframe requires a fitted dics model"):
        to_dataframe("model")
    with pytest.raises(NotFittedError):
        to_dataframe(dics.CGTreeClassifier())
    with pytest.raises(ValueError, match="has no trees"):
        to_dataframe(dics.CGBoostingRegressor().fit(X, T * 0))


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'dics\[pandas\]'"):
        to_dataframe(fitted("tree"))
