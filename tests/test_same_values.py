"""The same values as uint8 and as float32 give the same model."""

import numpy as np
import pytest
from checks import digest

import dics

pytestmark = pytest.mark.core

rng = np.random.default_rng(0)
SHAPES = {"narrow": (600, 5), "wide": (200, 300)}
MODELS = [
    dics.CGTreeClassifier(random_state=0),
    dics.CGForestClassifier(4, random_state=0),
    dics.FastCGBMClassifier(8, random_state=0),
    dics.CGTreeRegressor(random_state=0),
    dics.CGForestRegressor(4, random_state=0),
    dics.FastCGBMRegressor(n_estimators=8, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("shape", SHAPES)
def test_bytes_and_single_precision(model, shape):
    X = rng.integers(0, 256, size=SHAPES[shape]).astype(np.uint8)
    y = X[:, 0] // 64 + X[:, 1] // 128
    first = digest(model.fit(X, y))
    assert digest(model.fit(X.astype(np.float32), y)) == first
