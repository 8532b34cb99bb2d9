"""The same values as uint8, float32 and float64 give the same model."""

import numpy as np
import pytest
from checks import digest

import dics

pytestmark = pytest.mark.core

rng = np.random.default_rng(0)
SHAPES = {"narrow": (600, 5), "wide": (200, 300)}
MODELS = [
    dics.CGTreeClassifier(random_state=0),
    dics.CGForestClassifier(n_estimators=4, random_state=0),
    dics.CGBoostingClassifier(n_estimators=8, random_state=0),
    dics.CGTreeRegressor(random_state=0),
    dics.CGForestRegressor(n_estimators=4, random_state=0),
    dics.CGBoostingRegressor(n_estimators=8, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("shape", SHAPES)
def test_bytes_and_single_precision(model, shape):
    X = rng.integers(0, 256, size=SHAPES[shape]).astype(np.uint8)
    y = X[:, 0] // 64 + X[:, 1] // 128
    first = digest(model.fit(X, y))
    assert digest(model.fit(X.astype(np.float32), y)) == first
    assert digest(model.fit(X.astype(np.float64), y)) == first


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("shape", SHAPES)
def test_single_and_double_precision(model, shape):
    X = rng.normal(size=SHAPES[shape]).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0, 0] = np.inf
    y = np.digitize(np.nan_to_num(X[:, 1]), [-1, 0, 1])
    first = digest(model.fit(X, y))
    assert digest(model.fit(X.astype(np.float64), y)) == first
    # Values that need double precision are not rounded.
    other = X.astype(np.float64) + 1e-9 * rng.normal(size=X.shape)
    assert digest(model.fit(other, y)) != first
