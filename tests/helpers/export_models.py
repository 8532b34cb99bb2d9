"""Fitted models of every kind, for the tests of exports."""

import functools

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification

import dics

X, Y = make_classification(
    400, 6, n_informative=5, n_redundant=0, n_classes=3, n_clusters_per_class=1,
    random_state=0,
)  # fmt: skip
X = X.astype(np.float32)
X[::6, 1] = np.nan
X[Y == 2, 4] = np.nan  # some splits send only NaN to the left
X[::5, 4] = 0.5
X[5, 0], X[6, 0] = np.inf, -np.inf
T = np.nan_to_num(X[:, 0], posinf=3, neginf=-3) * 2.0 + Y
T2 = np.column_stack([T, 100 - 5.0 * Y])
COUNTS = np.random.default_rng(0).poisson(np.exp(0.3 * T)) * 1.0
TEXT = np.array(["blue", "gr\u00fcn", "red"])[Y]

TREE = dics.CGTreeClassifier(max_depth=5, random_state=0)
FOREST = dics.CGForestClassifier(n_estimators=7, max_depth=6, random_state=0)
VOTES = dics.CGForestClassifier(
    n_estimators=6, advanced=dics.ForestOptions(voting="hard"), random_state=0
)
BOOSTING = dics.CGBoostingClassifier(n_estimators=8, min_samples_leaf=5, random_state=0)
NUMBERS = dics.CGBoostingRegressor(n_estimators=8, random_state=0)
POISSON = dics.CGBoostingRegressor(loss="poisson", n_estimators=8, random_state=0)
TWEEDIE = clone(POISSON).set_params(loss="tweedie")
QUANTILE = dics.CGBoostingRegressor(loss="quantile", n_estimators=8, random_state=0)

CLASSIFIERS = {
    "tree": (TREE, Y),
    "tree of two": (TREE, (Y == 1).astype(np.uint8)),
    "tree of one": (TREE, Y * 0),
    "forest": (FOREST, Y * 10 - 7),
    "forest of text": (FOREST, TEXT.astype(object)),
    "votes": (VOTES, TEXT),
    "votes of two": (VOTES, Y % 2),
    "boosting": (BOOSTING, Y),
    "boosting of text": (BOOSTING, TEXT),
    "boosting of two": (BOOSTING, (Y == 1).astype(int)),
    "boosting of two words": (BOOSTING, np.where(Y == 1, "yes", "no")),
    "boosting of one": (BOOSTING, Y * 0),
}
REGRESSORS = {
    "tree regressor": (dics.CGTreeRegressor(max_depth=6, random_state=0), T),
    "tree of targets": (dics.CGTreeRegressor(max_depth=6, random_state=0), T2),
    "forest regressor": (dics.CGForestRegressor(n_estimators=5, random_state=0), T),
    "forest of targets": (dics.CGForestRegressor(n_estimators=5, random_state=0), T2),
    "numbers": (NUMBERS, T),
    "targets": (NUMBERS, T2),
    "no rounds": (NUMBERS, T * 0 + 2.5),
    "poisson": (POISSON, COUNTS),
    "tweedie": (TWEEDIE, COUNTS),
    "poisson of targets": (POISSON, np.column_stack([COUNTS, 1000 * COUNTS + 1])),
    "quantile": (QUANTILE, T),
}
MODELS = CLASSIFIERS | REGRESSORS

# A column that single precision would merge: seconds of one hour.
HOUR = X.astype(np.float64)
HOUR[:, 0] = 1.7e9 + 600 * np.clip(HOUR[:, 0], -3, 3)
WIDE = {name: MODELS[name] for name in ("forest", "boosting of two", "targets")}

# Columns: a few categories, for splits on sets; many categories, which are encoded by
# their targets; categories as text; a number.
_FOREST = dics.CGForestRegressor(n_estimators=5, max_depth=5, random_state=0)
_RNG = np.random.default_rng(1)
_FEW, _MANY = _RNG.integers(0, 8, 1500), _RNG.integers(0, 400, 1500)
_LETTERS = np.array([*"abcdefgh"], dtype=object)[_RNG.integers(0, 8, 1500)]
_NUMBER = _RNG.normal(size=1500)
_T = np.where(_FEW % 3 == 1, 2, -1) * np.sign(_NUMBER) + _MANY % 4 / 3
_Y = np.digitize(_T, [0, 2])
CATEGORY_ROWS = np.column_stack([_FEW, _MANY, _LETTERS, _NUMBER]).astype(object)
CATEGORY_ROWS[::9, 2] = None
# Categories that are missing, or were not in the fit.
NEW_ROWS = CATEGORY_ROWS[:300].copy()
NEW_ROWS[::7, 0], NEW_ROWS[::5, 1], NEW_ROWS[::8, 2] = 99, np.nan, "z"
NEW_ROWS[::6, 3], NEW_ROWS[:2, 3] = np.nan, (np.inf, -np.inf)
CATEGORICAL = {
    "tree": (TREE, _Y),
    "forest": (FOREST, _Y),
    "boosting": (BOOSTING, _Y),
    "tree with sets": (dics.CGTreeRegressor(max_depth=4, random_state=0), _T),
    "forest with sets": (_FOREST, _T),
    "deep forest with sets": (clone(_FOREST).set_params(max_depth=None), _T),
    "boosting with sets": (NUMBERS, _T),
    "boosting with pairs": (BOOSTING, (_FEW % 2 + _MANY % 3) % 3),
}


@functools.cache
def fitted(name):
    """Return a shared model, which must not be changed."""
    model, target = MODELS[name]
    return clone(model).fit(X, target)


@functools.cache
def fitted_wide(name):
    """Return a model of rows of `HOUR`."""
    model, target = WIDE[name]
    return clone(model).fit(HOUR, target)


@functools.cache
def fitted_categorical(name):
    """Return a model of `CATEGORY_ROWS`."""
    model, target = CATEGORICAL[name]
    model = clone(model).set_params(categorical_features=[0, 1, 2])
    model.fit(CATEGORY_ROWS, target)
    assert not name.endswith("sets") or len(model.trees_.sets.words) > 0
    assert not name.endswith("pairs") or len(model._categories.pairs) > 0
    return model
