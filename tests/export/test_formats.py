"""The table of formats in docs/deploy/export.md is true."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from boosting_data import Squared
from export_checks import CHECKS
from export_models import (
    BOOSTING,
    CATEGORY_ROWS,
    FOREST,
    NUMBERS,
    TREE,
    T,
    X,
    Y,
    fitted,
    fitted_categorical,
)
from sklearn.base import clone

import dics

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploy" / "export.md"
ROWS = X[:50]
CODES = np.column_stack([Y, np.arange(len(Y)) % 4]).astype(np.float64)
SPARSE = scipy.sparse.csr_matrix(np.nan_to_num(X, posinf=3, neginf=-3) * (X > 0))
QUANTILES = dics.CGBoostingRegressor(
    loss="quantile", quantile=[0.1, 0.9], n_estimators=2
)
CUSTOM = dics.CGBoostingRegressor(loss=Squared(), n_estimators=2)
# Models and rows by the names of the table.
MODELS = {
    "one tree, or a forest": lambda: [
        (fitted(name), ROWS) for name in ("tree of two", "votes of two", "forest")
    ],
    "rounds of boosting": lambda: [
        (fitted(name), ROWS) for name in ("boosting of two", "numbers", "poisson")
    ],
    "several classes": lambda: [
        (fitted(name), ROWS) for name in ("tree", "forest", "boosting of text")
    ],
    "several targets": lambda: [
        (fitted(name), ROWS)
        for name in ("tree of targets", "forest of targets", "targets")
    ],
    "NaN in X": lambda: [
        (clone(model).fit(X, Y), np.full((1, 6), np.nan, dtype=np.float32))
        for model in (TREE, FOREST, BOOSTING, NUMBERS)
    ],
    "sparse X": lambda: [
        (clone(model).fit(SPARSE, Y), SPARSE[:50])
        for model in (TREE, FOREST, BOOSTING, NUMBERS)
    ],
    "numeric categories": lambda: [
        (clone(model).set_params(categorical_features=[0, 1]).fit(CODES, T), CODES[:50])
        for model in (dics.CGTreeRegressor(), NUMBERS)
    ],
    "text categories": lambda: [
        (fitted_categorical(name), CATEGORY_ROWS[:50])
        for name in ("tree with sets", "forest", "boosting")
    ],
    "pairs of categories": lambda: [
        (fitted_categorical("boosting with pairs"), CATEGORY_ROWS[:50])
    ],
    "several quantiles": lambda: [(clone(QUANTILES).fit(X, T), ROWS)],
    "a custom loss": lambda: [(clone(CUSTOM).fit(X, T), ROWS)],
}


def table_of_page():
    """Return the cells of the table by model and format."""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    first = next(i for i, line in enumerate(lines) if line[0] == "model with")
    _, *formats = lines[first]
    return {
        (name, file_format): cell
        for name, *cells in lines[first + 2 :]
        for file_format, cell in zip(formats, cells, strict=True)
    }


TABLE = table_of_page()
DENSE = ("ONNX", "skl2onnx", "treelite", "shap", "JSON")


def test_table_is_complete():
    assert set(TABLE) == {(name, check) for name in MODELS for check in CHECKS}


@pytest.mark.parametrize(("name", "file_format"), TABLE)
def test_cell(name, file_format):
    cell, check = TABLE[name, file_format], CHECKS[file_format]
    for model, given in MODELS[name]():
        if cell == "no":
            with pytest.raises((ValueError, TypeError)) as raised:
                check(model, given)
            assert file_format == "skops" or has_remedy(str(raised.value))
            continue
        assert (cell == "dense") == (file_format in DENSE and name == "sparse X")
        assert (cell == "encoded") == (
            file_format in ("treelite", "shap") and model.categories_ is not None
        )
        check(model, given.toarray() if cell == "dense" else given)


def has_remedy(message):
    """Return True if an error names another way."""
    return any(way in message for way in ("ickle", "Fit one", "to_onnx"))
