"""Thresholds in double precision: values that single precision would merge."""

import io
import pickle

import numpy as np
import pytest
from checks import GivenCandidates

import dics
from dics.export import export_text
from dics.export._interop import to_json

SECONDS = 1.7e9 + np.arange(400.0)
Y = (np.arange(400) >= 200).astype(int)
rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=400), SECONDS, rng.normal(size=400)])

NO_THRESHOLDS = dics.CentroidCandidates(
    n_clusters=1, fill_quantiles=False, centroid_source="kmeans"
)

MODELS = {
    "tree": lambda: dics.CGTreeClassifier(random_state=0),
    "forest": lambda: dics.CGForestClassifier(
        n_estimators=10, max_features=None, random_state=0
    ),
    "boosting": lambda: dics.CGBoostingClassifier(n_estimators=20, random_state=0),
    "tree regressor": lambda: dics.CGTreeRegressor(random_state=0),
    "forest regressor": lambda: dics.CGForestRegressor(n_estimators=10, random_state=0),
    "boosting regressor": lambda: dics.CGBoostingRegressor(
        n_estimators=50, learning_rate=0.3, random_state=0
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_seconds_are_distinguished(name):
    model = MODELS[name]().fit(X, Y)
    assert model.score(X, Y) > 0.98
    # Another scale and offset of the column gives the same model.
    moved = X.copy()
    moved[:, 1] -= 1.7e9
    same = MODELS[name]().fit(moved, Y)
    np.testing.assert_allclose(model.predict(X), same.predict(moved), atol=0.3)
    between = X[[198, 199, 200, 201]].copy()
    between[:, 1] += 0.25
    expected = [0, 0, 1, 1]
    np.testing.assert_allclose(model.predict(between), expected, atol=0.3)


@pytest.mark.parametrize("name", MODELS)
def test_saved_models(name):
    model = MODELS[name]().fit(X, Y)
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    for copy in (dics.load(file), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        np.testing.assert_array_equal(copy.apply(X), model.apply(X))
        np.testing.assert_array_equal(
            copy.predict_contributions(X), model.predict_contributions(X)
        )


def test_thresholds_are_those_of_the_values():
    tree = MODELS["tree"]().fit(X, Y)
    assert tree.trees_.threshold[0] == 1.7e9 + 199.5
    assert "1700000199.5" in export_text(tree, decimals=1)
    assert "1700000199.5" in to_json(tree)
    thresholds = tree.candidates_.thresholds_[1]
    assert thresholds.min() >= SECONDS[0]
    assert thresholds.max() <= SECONDS[-1]
    codes = tree.candidates_.transform(X)
    for t, tau in enumerate(thresholds):
        np.testing.assert_array_equal(codes[:, 1] <= t, X[:, 1] < tau)


def test_candidates_without_a_model():
    source = dics.CentroidCandidates(random_state=0).fit(X, Y)
    codes = source.transform(X)
    assert len(np.unique(codes[:, 1])) > 50
    for t, tau in enumerate(source.thresholds_[1]):
        np.testing.assert_array_equal(codes[:, 1] <= t, X[:, 1] < tau)


@pytest.mark.parametrize(
    "column",
    [
        np.where(Y, 1e300, -1e300),
        np.where(Y, 2e-300, 1e-300),
        np.where(Y, 1e308, 1e39) * (1 + rng.random(400) / 2),
        np.where(Y, np.inf, 1e300),
    ],
    ids=["huge", "tiny", "scales", "infinite"],
)
def test_extreme_values(column):
    for name in ("tree", "boosting", "forest"):
        model = MODELS[name]().fit(column[:, None], Y)
        assert model.score(column[:, None], Y) > 0.99


def test_missing_values():
    rows = X.copy()
    rows[::5, 1] = np.nan
    model = MODELS["boosting"]().fit(rows, Y)
    assert model.score(rows, Y) > 0.9
    assert np.isfinite(model.predict_proba(rows)).all()


def test_validation_rows_and_more_rounds():
    model = dics.CGBoostingClassifier(n_estimators=60, warm_start=True, random_state=0)
    model.fit(X[::2], Y[::2], X_val=X[1::2], y_val=Y[1::2])
    assert model.best_score_ > -0.2
    before = model.n_iter_
    losses = -model.validation_score_
    model.set_params(n_estimators=before + 5, early_stopping=False).fit(X[::2], Y[::2])
    assert model.n_iter_ == before + 5
    assert model.score(X, Y) > 0.98
    assert losses[-1] < losses[0]


def test_warm_start_equals_one_fit():
    grown = dics.CGForestClassifier(
        n_estimators=3, warm_start=True, random_state=0
    ).fit(X, Y)
    grown.set_params(n_estimators=6).fit(X, Y)
    whole = dics.CGForestClassifier(n_estimators=6, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(grown.predict_proba(X), whole.predict_proba(X))


def test_trees_of_a_forest():
    forest = MODELS["forest"]().fit(X, Y)
    votes = np.mean([tree.predict_proba(X) for tree in forest], axis=0)
    np.testing.assert_allclose(votes, forest.predict_proba(X), atol=1e-6)


def test_custom_thresholds():
    source = GivenCandidates([[0.0], [1.7e9 + 199.5, 1.7e9 + 199.75], [0.0]])
    model = dics.CGTreeClassifier(candidates=source, max_depth=1).fit(X, Y)
    assert model.trees_.threshold[0] in source.thresholds[1]
    assert model.score(X, Y) == 1


def test_other_columns_have_single_precision():
    ordinary = rng.normal(size=(1000, 20))
    for name in MODELS:
        trees = MODELS[name]().fit(ordinary, np.arange(1000) % 2).trees_
        threshold = trees.threshold[trees.inner]
        np.testing.assert_array_equal(threshold, threshold.astype(np.float32))


@pytest.mark.parametrize("n", [2, 3, 5, 50])
@pytest.mark.parametrize(
    "model",
    [
        dics.CGTreeClassifier(candidates=NO_THRESHOLDS, random_state=0),
        dics.CGTreeRegressor(candidates=NO_THRESHOLDS, random_state=0),
        dics.CGForestClassifier(
            n_estimators=3, candidates=NO_THRESHOLDS, random_state=0
        ),
        dics.CGBoostingRegressor(n_estimators=3, candidates=NO_THRESHOLDS),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_column_without_thresholds(model, n):
    rows = np.column_stack([1.7e9 + np.arange(n), np.zeros(n)])
    y = np.arange(n) % 2
    model.fit(rows, y)
    assert len(model.predict(rows)) == n
    assert model.trees_.n_nodes == len(model.trees_)


SINGLE = np.array(
    [-np.inf, -3e38, -1.0, -1e-45, 0.0, 1e-45, 1.0, 1.7e9, 3e38, np.inf, np.nan],
    dtype=np.float32,
)


def neighbors(x):
    with np.errstate(over="ignore"):
        return [np.nextafter(x, side) for side in np.array([-np.inf, np.inf], x.dtype)]


def test_sides_for_every_type_of_x():
    single = SINGLE[np.isfinite(SINGLE)]
    values = np.unique([*single, *np.concatenate([neighbors(x) for x in single])])
    values = values[np.isfinite(values)]
    thresholds = np.unique([*values, *np.concatenate(neighbors(values.astype(float)))])
    thresholds = np.append(thresholds, [-1e300, 1e300])
    rows = np.append(values, SINGLE)[:, None]
    source = GivenCandidates([np.sort(thresholds)])
    codes = source.fit(rows).transform(rows)
    np.testing.assert_array_equal(codes, source.transform(rows.astype(np.float64)))
    y = rng.integers(0, 5, len(rows))
    for given in (rows, rows.astype(np.float64)):
        model = dics.CGTreeClassifier(candidates=source, random_state=0).fit(given, y)
        boosting = dics.CGBoostingClassifier(
            n_estimators=30, candidates=source, min_samples_leaf=1, random_state=0
        ).fit(given, y)
        for fitted in (model, boosting):
            for n in (1, 10):  # few and many rows
                some = np.repeat(rows, n * 30, axis=0)[:: 30 if n == 1 else 1]
                np.testing.assert_array_equal(
                    fitted.apply(some), fitted.apply(some.astype(np.float64))
                )
                np.testing.assert_array_equal(
                    fitted.predict_proba(some),
                    fitted.predict_proba(some.astype(np.float64)),
                )
    bytes_ = np.arange(256, dtype=np.uint8)[:, None]
    cuts = GivenCandidates([np.sort(rng.random(200) * 300 - 20)]).fit(bytes_)
    np.testing.assert_array_equal(
        cuts.transform(bytes_), cuts.transform(bytes_.astype(np.float64))
    )
