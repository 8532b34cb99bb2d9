"""Categorical features: frames, categories, encodings and bad input."""

import datetime as dt
import io
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from checks import UNTRIED, training_data
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

import dics
from dics import (
    CategoricalOptions,
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
)
from dics._input import frames
from dics._input.categories import MAX_RANKS
from dics._input.category_encoder import LEAST_ROWS, N_FOLDS
from dics.export import export_graphviz, export_text

CLASSIFIERS = (CGTreeClassifier, CGForestClassifier, CGBoostingClassifier)
REGRESSORS = (CGTreeRegressor, CGForestRegressor, CGBoostingRegressor)
MODELS = (*CLASSIFIERS, *REGRESSORS)
CATEGORIES = list("abcdefgh")


def small(cls, **parameters):
    """Return a model with a short fit."""
    if cls not in (CGTreeClassifier, CGTreeRegressor):
        parameters = {"n_estimators": 10, **parameters}
    return cls(random_state=0, **parameters)


def make_rows(n=1200, seed=0):
    """Make a frame with an informative category, and a continuous y."""
    rng = np.random.default_rng(seed)
    color = rng.choice(CATEGORIES, n)
    x = rng.normal(size=n)
    k = rng.integers(0, 5, n)
    y = 2.0 * np.isin(color, list("aceg")) + x + 3.0 * (k == 2)
    y += 0.3 * rng.normal(size=n)
    frame = pd.DataFrame({"color": pd.Categorical(color), "x": x, "k": k})
    frame.loc[3, "color"] = np.nan
    return frame, y


def target_for(cls, y, n_classes=3):
    if cls in REGRESSORS:
        return y
    return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def as_other_frames(frame):
    polars = pl.from_pandas(frame)
    enum = pl.Enum(CATEGORIES[::-1])
    return {
        "string": frame.assign(color=frame.color.astype("string")),
        "object": frame.assign(color=frame.color.astype(object)),
        "arrow strings": frame.assign(color=frame.color.astype("string[pyarrow]")),
        "other codes": frame.assign(
            color=frame.color.cat.set_categories(["new", *CATEGORIES[::-1]])
        ),
        "polars": polars,
        "polars strings": polars.with_columns(pl.col("color").cast(pl.String)),
        "polars enum": polars.with_columns(pl.col("color").cast(pl.Enum(CATEGORIES))),
        "polars other enum": polars.with_columns(pl.col("color").cast(enum)),
        "arrow": pa.Table.from_pandas(frame),
        "batch": pa.RecordBatch.from_pandas(frame),
    }


@pytest.mark.parametrize("cls", MODELS)
def test_all_frames_give_the_same_model(cls):
    frame, y = make_rows()
    y = target_for(cls, y)
    model = small(cls).fit(frame, y)
    expected = model.predict(frame)
    assert model.is_categorical_.tolist() == [True, False, False]
    assert model.categories_[0].tolist() == CATEGORIES
    assert model.categories_[1:] == [None, None]
    for kind, other in as_other_frames(frame).items():
        np.testing.assert_array_equal(model.predict(other), expected, kind)
        np.testing.assert_array_equal(
            small(cls).fit(other, y).predict(frame), expected, kind
        )


@pytest.mark.parametrize("wanted", [["k"], [2], np.array([False, False, True])])
@pytest.mark.parametrize("cls", [CGTreeRegressor, CGBoostingClassifier])
def test_numeric_columns_as_categories(cls, wanted):
    frame, y = make_rows()
    numbers = frame[["x", "x", "k"]].set_axis(["a", "b", "k"], axis=1)
    y = target_for(cls, y, 2)
    model = small(cls, categorical_features=wanted).fit(numbers, y)
    assert model.is_categorical_.tolist() == [False, False, True]
    # The values of the numbers do not matter.
    renamed = numbers.assign(k=numbers.k.map({0: 7, 1: -3, 2: 100, 3: 0.5, 4: 2}))
    again = small(cls, categorical_features=wanted).fit(renamed, y)
    np.testing.assert_array_equal(model.predict(numbers), again.predict(renamed))
    if not isinstance(wanted[0], str):
        array = small(cls, categorical_features=wanted).fit(numbers.to_numpy(), y)
        np.testing.assert_array_equal(
            array.predict(numbers.to_numpy()), model.predict(numbers)
        )


def test_arrays_of_objects_have_categories():
    frame, y = make_rows()
    frame = frame.assign(color=frame.color.astype(object))
    model = CGTreeRegressor(random_state=0).fit(frame, y)
    objects = frame.to_numpy(dtype=object)
    again = CGTreeRegressor(random_state=0).fit(objects, y)
    np.testing.assert_array_equal(again.predict(objects), model.predict(frame))
    objects[3, 0] = pd.NA
    np.testing.assert_array_equal(again.predict(objects), model.predict(frame))
    lists = objects[5:].tolist()
    again = CGTreeRegressor(random_state=0).fit(lists, y[5:])
    assert again.is_categorical_.tolist() == [True, False, False]
    assert again.predict(lists[:2]).shape == (2,)


@pytest.mark.parametrize("cls", MODELS)
def test_missing_and_new_categories_are_nan(cls):
    frame, y = make_rows()
    model = small(cls).fit(frame, target_for(cls, y))
    others = frame.iloc[:50]
    missing = model.predict(others.assign(color=None))
    new = model.predict(others.assign(color="never seen"))
    np.testing.assert_array_equal(missing, new)


def smoothed_means(categories, y, n_categories, smooth):
    """Return smoothed mean targets of categories."""
    means = []
    for category in range(n_categories):
        own = y[categories == category]
        means.append((own.sum() + smooth * y.mean()) / (len(own) + smooth))
    return np.array(means)


def test_few_categories_are_ranked_by_their_mean_targets():
    frame, y = make_rows()
    frame = frame.drop(index=3)
    y = np.delete(y, 3)
    model = CGTreeRegressor(
        categorical=CategoricalOptions(smooth=5.0), random_state=0
    ).fit(frame, y)
    numbers = frame.color.cat.codes.to_numpy()
    means = smoothed_means(numbers, y, 8, 5.0)
    ranks = np.argsort(np.argsort(means))
    np.testing.assert_array_equal(model._categories.find(0).values, ranks)
    assert model.candidates_.thresholds_[0].tolist() == (np.arange(7) + 0.5).tolist()


def test_many_categories_have_the_means_of_other_folds():
    rng = np.random.default_rng(0)
    n, n_categories = 900, 300
    assert n_categories > MAX_RANKS or n < LEAST_ROWS * n_categories
    category = rng.integers(0, n_categories, n)
    y = rng.normal(size=n) + category / 100
    X = category[:, None].astype(np.float64)
    model = CGTreeRegressor(categorical_features=[0], random_state=0)
    data = training_data(model, X, y).rows.take()
    known = model._categories.find(0)
    values, places = np.unique(category, return_inverse=True)
    whole = smoothed_means(places, y, len(values), 10.0)
    np.testing.assert_allclose(known.values, whole)
    np.testing.assert_allclose(model._check_matrix(X)[:, 0], whole[places])
    # Training rows are encoded by the targets of other folds, never by those of their
    # own fold.
    changed = y.copy()
    changed[7] += 100.0
    other = CGTreeRegressor(categorical_features=[0], random_state=0)
    moved = training_data(other, X, changed).rows.take()
    alike = (places == places[7]) & (moved[:, 0] == data[:, 0])
    assert alike[7] or np.isnan(data[7, 0])
    n_known = np.isfinite(data[:, 0]).sum()
    assert n * (1 - 2 / N_FOLDS) < n_known < n


@pytest.mark.parametrize("cls", MODELS)
def test_random_category_is_harmless(cls):
    rng = np.random.default_rng(0)
    n = 10_000
    frame = pd.DataFrame(rng.normal(size=(2 * n, 4)), columns=list("abcd"))
    latent = frame.a + frame.b * frame.c + rng.normal(size=2 * n)
    y = latent if cls in REGRESSORS else (latent > 0).astype(int)
    categories = rng.integers(0, 1000, 2 * n).astype(str)
    limit = {}
    if "Forest" in cls.__name__:
        limit = {"n_estimators": 30, **UNTRIED}
    if cls in (CGTreeClassifier, CGTreeRegressor):
        limit = {"min_samples_leaf": 50}
    scores = {}
    for name, noise in (
        ("nothing", np.zeros(2 * n)),
        ("numbers", rng.normal(size=2 * n)),
        ("categories", pd.Categorical(categories)),
    ):
        rows = frame.assign(noise=noise)
        model = cls(random_state=0, **limit).fit(rows[:n], y[:n])
        if cls in REGRESSORS:
            scores[name] = model.score(rows[n:], y[n:])
        else:
            shares = model.predict_proba(rows[n:])[:, 1]
            scores[name] = roc_auc_score(y[n:], shares)
    # Any random column makes fully grown trees a little worse.
    least = scores["nothing"]
    if cls is not CGBoostingClassifier:
        least = min(least, scores["numbers"])
    assert scores["categories"] > least - 0.005


def test_sets_of_random_categories_are_harmless():
    rng = np.random.default_rng(0)
    n = 10_000
    frame = pd.DataFrame(rng.normal(size=(2 * n, 4)), columns=list("abcd"))
    latent = frame.a + frame.b * frame.c + rng.normal(size=2 * n)
    y = (latent > 0).astype(int)
    noise = pd.Categorical(rng.integers(0, 50, 2 * n).astype(str))
    scores = []
    for rows in (frame, frame.assign(noise=noise)):
        model = CGBoostingClassifier(random_state=0).fit(rows[:n], y[:n])
        shares = model.predict_proba(rows[n:])[:, 1]
        scores.append(roc_auc_score(y[n:], shares))
    assert model._categories.find(4).is_ranked
    assert scores[1] > scores[0] - 0.005


@pytest.mark.parametrize("cls", MODELS)
def test_saved_models(cls):
    frame, y = make_rows()
    model = small(cls).fit(frame, target_for(cls, y))
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    for other in (dics.load(file), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
        assert other.categories_[0].tolist() == CATEGORIES


@pytest.mark.parametrize("cls", [CGForestClassifier, CGBoostingRegressor])
def test_warm_start_keeps_categories(cls):
    rng = np.random.default_rng(0)
    n = 1000
    frame = pd.DataFrame({"c": rng.integers(0, 300, n).astype(str), "x": np.arange(n)})
    y = target_for(cls, rng.normal(size=n) + frame.x / n)
    options = {"random_state": 0}
    if (
        "learning_rate" in cls().get_params()
    ):  # trials of 10 and of 20 rounds may choose different rates
        options["learning_rate"] = 0.1
    whole = cls(n_estimators=20, **options).fit(frame, y)
    parts = cls(n_estimators=10, warm_start=True, **options).fit(frame, y)
    parts.set_params(n_estimators=20).fit(frame, y)
    np.testing.assert_array_equal(parts.predict(frame), whole.predict(frame))


@pytest.mark.parametrize("cls", MODELS)
def test_any_n_jobs(cls):
    frame, y = make_rows(3000)
    frame["many"] = (np.arange(len(frame)) * 7919 % 997).astype(str)
    y = target_for(cls, y)
    first, *others = (
        small(cls, n_jobs=n_jobs).fit(frame, y).trees_ for n_jobs in (1, 2, 7)
    )
    for other in others:
        assert other.nodes.tobytes() == first.nodes.tobytes()
        np.testing.assert_array_equal(other.leaf_values, first.leaf_values)


def test_texts_name_the_categories():
    frame, y = make_rows()
    tree = CGTreeRegressor(max_depth=1, random_state=0).fit(frame[["color", "x"]], y)
    assert export_text(tree).splitlines()[0] == "|--- color in {b, d, f, h}"
    assert "|--- color in {a, c, e, g}" in export_text(tree)
    assert "color in {b, d, f, h}" in export_graphviz(tree)
    boosting = CGBoostingRegressor(n_estimators=1, max_leaf_nodes=2, random_state=0)
    boosting.fit(frame[["color"]], y)
    assert "color in {b, d, f, h}" in export_text(boosting[0])
    forest = CGForestRegressor(n_estimators=1, max_depth=1, random_state=0)
    forest.fit(frame[["color"]], y)
    assert "color in {" in export_text(forest[0])
    categories = pd.Series(np.arange(len(frame)) % 12).map("level {:02}".format)
    many = CGTreeRegressor(max_depth=1).fit(
        pd.DataFrame({"c": categories}), np.arange(len(frame)) % 12
    )
    assert export_text(many).startswith(
        "|--- c in {level 00, level 01, level 02, 3 more}"
    )


def test_texts_with_unusual_categories():
    frame = pd.DataFrame({"c": ["a\nb", "", "x"] * 40})
    tree = CGTreeRegressor(max_depth=1).fit(frame, [0.0, 0.0, 1.0] * 40)
    assert export_text(tree).startswith("|--- c in {'', 'a\\nb'}\n")


def test_texts_with_missing_values():
    X = np.array([np.nan, 1.0, 2.0, 2.0] * 30)[:, None]
    tree = CGTreeRegressor(max_depth=1).fit(X, [0.0, 5.0, 5.0, 9.0] * 30)
    tree.trees_.threshold[0], tree.trees_.missing_left[0] = -np.inf, True
    text = export_text(tree, show_missing=True)
    assert text.startswith("|--- feature_0 is missing\n")
    assert "|--- feature_0 is not missing\n" in text


def test_contributions_add_up():
    frame, y = make_rows()
    model = CGBoostingRegressor(n_estimators=10, random_state=0).fit(frame, y)
    added = model.predict_contributions(frame)
    assert added.shape == (len(frame), 4)
    np.testing.assert_allclose(added.sum(axis=1), model.predict(frame), atol=1e-4)
    assert np.abs(added[:, 0]).mean() > 0.1


def test_scikit_learn_tools_with_categories():
    frame, y = make_rows()
    frame = frame.drop(index=3)
    y = np.delete(y, 3)
    model = CGBoostingRegressor(n_estimators=30, random_state=0)
    search = GridSearchCV(model, {"categorical__smooth": [1.0, 20.0]}, cv=3).fit(
        frame, y
    )
    assert search.best_score_ > 0.8
    model.fit(frame, y)
    drop = permutation_importance(model, frame, y, n_repeats=2, random_state=0)
    assert (drop.importances_mean > 0.05).all()
    found = partial_dependence(model, frame, ["color"], categorical_features=["color"])
    by_category = dict(zip(found["grid_values"][0], found["average"][0], strict=True))
    assert by_category["a"] > by_category["b"] + 1
    assert model.__sklearn_tags__().input_tags.categorical
    model.set_params(categorical_features=None)
    assert not model.__sklearn_tags__().input_tags.categorical


def test_validation_rows_have_categories():
    frame, y = make_rows()
    model = CGBoostingRegressor(n_estimators=200, random_state=0)
    model.fit(frame[:400], y[:400], X_val=frame[400:], y_val=y[400:])
    held = pl.from_pandas(frame[400:])
    again = CGBoostingRegressor(n_estimators=200, random_state=0)
    again.fit(frame[:400], y[:400], eval_set=[(held, y[400:])])
    assert model.n_iter_ == again.n_iter_
    with pytest.raises(ValueError, match=r"X_val.*'color'.*numbers.*text"):
        model.fit(frame, y, X_val=frame.assign(color=1), y_val=y)


def test_many_classes_and_outputs_are_ordered_along_a_direction():
    rng = np.random.default_rng(0)
    category = rng.integers(0, 6, 1200)
    direction = np.array([3, 0, 5, 1, 4, 2])[category]  # the expected order
    frame = pd.DataFrame({"c": pd.Categorical(category.astype(str))})
    outputs = np.stack([direction, -2.0 * direction], axis=1)
    outputs += rng.normal(size=outputs.shape)
    values = CGTreeRegressor().fit(frame, outputs)._categories.find(0).values
    found = np.array([3, 0, 5, 1, 4, 2])
    assert values.tolist() in (found.tolist(), (5 - found).tolist())
    classes = np.clip(direction // 2 + rng.integers(0, 2, 1200), 0, 3)
    tree = CGTreeClassifier(max_depth=3).fit(frame, classes)
    assert tree.score(frame, classes) > 0.45


@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_column_without_any_category(cls, n_classes):
    frame, y = make_rows(300)
    frame["color"] = pd.Categorical([None] * len(frame), categories=CATEGORIES)
    filled = frame.assign(color=pd.Categorical([CATEGORIES[0]] * len(frame)))
    targets = [target_for(cls, y, n_classes)]
    if cls in REGRESSORS:
        targets.append(np.stack([y, -y], axis=1))
    for target in targets:
        for X in (frame, *as_other_frames(frame).values()):
            model = small(cls).fit(X, target)
            assert 0 not in model.trees_.feature
            assert len(model.predict(X)) == len(frame)
        model = small(cls).fit(frame, target)
        np.testing.assert_array_equal(model.predict(filled), model.predict(frame))


def test_unusual_categorical_features():
    _, y = make_rows(60)
    frame = pd.DataFrame(
        {
            "none": pd.Categorical([None] * 60),
            "one": ["only"] * 60,
            "flags": pd.Categorical(np.arange(60) % 2 == 0),
        }
    )
    model = CGTreeRegressor().fit(frame, y)
    assert model.categories_[2].tolist() == [False, True]
    assert model.predict(frame).shape == (60,)
    assert [len(categories) for categories in model.categories_] == [0, 1, 2]


# --- few rows, which dictionaries encode ----------------------------------------------


def rows_with_all_kinds():
    """Make rows with ranks, mean targets, pairs, numbers and bools as categories."""
    rng = np.random.default_rng(0)
    n = 900
    town = rng.integers(0, 40, n)
    kind = rng.integers(0, 30, n)
    frame = pd.DataFrame(
        {
            "town": np.char.add("t", town.astype(str)).astype(object),
            "kind": np.char.add("k", kind.astype(str)).astype(object),
            "flag": rng.integers(0, 2, n).astype(bool),
            "level": rng.integers(0, 4, n) / 2,
            "x": rng.normal(size=n).astype(np.float32),
            "k": rng.integers(0, 9, n),
        }
    )
    frame.loc[::50, "town"] = None
    frame.loc[::70, "level"] = np.nan
    y = (town * kind % 7) + frame.level.fillna(1) + 0.1 * rng.normal(size=n)
    return frame, y.to_numpy()


@pytest.mark.parametrize("cls", MODELS)
def test_few_rows_are_encoded_as_many(cls, monkeypatch):
    frame, y = rows_with_all_kinds()
    features = {"categorical_features": ["town", "kind", "flag", "level"]}
    model = small(cls, **features).fit(frame, target_for(cls, y))
    if cls in (CGBoostingClassifier, CGBoostingRegressor):
        assert model._categories.pairs
    new = {"town": "new", "level": 77}
    rows = pd.concat([frame[:140], frame[:20].assign(**new)], ignore_index=True)
    stored = pickle.dumps(model)
    texts = rows.astype({"town": "category", "kind": "str"})
    few = {
        "objects": rows,
        "categories": texts,
        "polars": pl.from_pandas(rows),
        "polars categories": pl.from_pandas(texts),
        "arrow": pa.Table.from_pandas(texts),
    }
    parts = {
        name: [model._check_matrix(given[i : i + 7]) for i in range(0, len(rows), 7)]
        for name, given in few.items()
    }
    assert model._categories._lookups is not None
    assert pickle.dumps(model) == stored
    monkeypatch.setattr(frames, "FEW_VALUES", 0)
    for name, given in few.items():
        expected = model._check_matrix(given)
        assert expected.dtype == parts[name][0].dtype
        np.testing.assert_array_equal(np.concatenate(parts[name]), expected, name)


def test_few_rows_of_arrays(monkeypatch):
    frame, y = rows_with_all_kinds()
    objects = frame[["town", "x", "k"]].to_numpy(dtype=object)
    numbers = frame[["level", "x", "k"]].to_numpy(dtype=np.float32)
    for X in (objects, numbers.astype(np.float64), numbers):
        model = CGTreeRegressor(categorical_features=[0], random_state=0).fit(X, y)
        row = model._check_matrix(X[3:4])
        with monkeypatch.context() as patch:
            patch.setattr(frames, "FEW_VALUES", 0)
            expected = model._check_matrix(X[3:4])
        assert row.dtype == expected.dtype
        np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("n_rows", [1, 700])
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("town", 1, "'town' has categories that are numbers, such as 1.*were text"),
        ("town", True, "'town' has categories that are bools"),
        ("flag", 1, "'flag' has categories that are numbers.*were bools"),
        ("level", "0.5", "'level' has categories that are text.*were numbers"),
        ("level", True, "'level' has categories that are bools.*were numbers"),
        ("level", np.inf, "'level' has an infinite category"),
        ("level", 2**60, r"'level' has categories beyond 2\*\*53"),
        ("x", "0.5", "'x' holds text, such as '0.5'; in fit it held numbers"),
        ("x", [0.5], r"'x' holds values that are not numbers, such as \[0.5\]"),
    ],
)
def test_few_and_many_rows_raise_the_same_errors(n_rows, column, value, message):
    frame, y = rows_with_all_kinds()
    wanted = ["town", "kind", "flag", "level"]
    model = CGTreeRegressor(categorical_features=wanted, random_state=0).fit(frame, y)
    bad = frame[:n_rows].assign(**{column: [value] * n_rows})
    with pytest.raises(ValueError, match=message):
        model.predict(bad)


def test_few_rows_with_other_columns():
    frame, y = make_rows()
    model = CGTreeRegressor(random_state=0).fit(frame, y)
    row = frame[:1]
    with pytest.raises(ValueError, match="same order"):
        model.predict(row[["x", "color", "k"]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(row.rename(columns={"x": "z"}))
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.predict(row[:0])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(row.to_numpy(dtype=object))


# --- bad input ------------------------------------------------------------------------

DAYS = pd.date_range("2020-01-01", periods=30)
ODD_COLUMNS = {
    "period": (DAYS.to_period("D"), "dates or times"),
    "dates with a zone": (DAYS.tz_localize("UTC"), "dates or times"),
    "times of Arrow": (
        pd.Series([dt.time(1)] * 30, dtype=pd.ArrowDtype(pa.time64("us"))),
        "dates or times",
    ),
    "date objects": ([dt.date(2020, 1, 1)] * 30, r"such as datetime\.date"),
    "lists": ([[1, 2]] * 30, r"such as \[1, 2\]"),
    "arrays": ([np.ones(2)] * 30, r"such as array\("),
    "dictionaries": ([{"a": 1}] * 30, "such as {'a': 1}"),
    "intervals": (pd.arrays.IntervalArray.from_breaks(np.arange(31)), "Interval"),
    "complex": (np.full(30, 1j), "such as 1j: Complex data not supported"),
    "complex objects": (np.full(30, 1j, dtype=object), "such as 1j"),
    "missing objects": (np.array([pd.NA, 1.0] * 15, dtype=object), "such as <NA>"),
    "bytes": ([b"1"] * 30, "holds text, such as b'1'"),
    "lists of Arrow": (
        pd.Series([[1.0]] * 30, dtype=pd.ArrowDtype(pa.list_(pa.float64()))),
        "not numbers",
    ),
}


@pytest.mark.parametrize("name", ODD_COLUMNS)
@pytest.mark.parametrize("cls", MODELS)
def test_columns_that_are_not_numbers_are_named(cls, name):
    values, message = ODD_COLUMNS[name]
    frame, y = make_rows(30)
    y = target_for(cls, y, 2)
    odd = frame.assign(x=values)
    model = small(cls).fit(frame, y)
    numeric = small(cls).fit(frame[["x", "k"]], y)
    for call in (
        lambda: small(cls).fit(odd, y),
        lambda: model.predict(odd),
        lambda: model.predict(odd[:1]),
        lambda: numeric.predict(odd[["x", "k"]]),
    ):
        with pytest.raises((TypeError, ValueError), match=f"X: column 'x'.*{message}"):
            call()


@pytest.mark.parametrize("name", ["lists", "dictionaries", "lists of Arrow"])
def test_columns_that_cannot_be_categories_are_named(name):
    frame, y = make_rows(30)
    model = CGTreeRegressor(categorical_features=["x"])
    with pytest.raises(ValueError, match=r"'x' holds values that cannot be.*Convert"):
        model.fit(frame.assign(x=ODD_COLUMNS[name][0]), y)


@pytest.mark.parametrize("cls", MODELS)
def test_text_is_not_parsed_as_numbers(cls):
    frame, y = make_rows(60)
    y = target_for(cls, y, 2)
    numeric = frame[["x", "k"]]
    texts = numeric.assign(x="1.5")
    model = small(cls).fit(numeric, y)
    for given in (
        texts,
        texts.astype({"x": object}),
        texts.astype({"x": "category"}),
        texts.assign(x=[1.5, "1.5"] * 30),
        pl.from_pandas(texts),
        pl.from_pandas(texts).cast({"x": pl.Categorical}),
        pa.Table.from_pandas(texts),
    ):
        with pytest.raises(ValueError, match=r"'x' holds text, such as '1\.5'; in fit"):
            model.predict(given)
    with pytest.raises(
        ValueError, match=r"'x' holds text.*categorical_features.*float"
    ):
        small(cls, categorical_features=None).fit(texts, y)
    # As in columns of the type str, text is a category.
    model = small(cls).fit(texts.astype({"x": object}), y)
    assert model.is_categorical_.tolist() == [True, False]
    model = small(cls).fit(numeric.to_numpy(), y)
    for rows in ([["1", "2"]], np.array([["1", "2"]]), [[1.5, "2"]]):
        with pytest.raises(ValueError, match=r"X: column [01] holds text"):
            model.predict(rows)


@pytest.mark.parametrize("cls", MODELS)
def test_series_are_not_rows(cls):
    frame, y = make_rows()
    y = target_for(cls, y)
    row = frame.iloc[7]
    for given in (frame, frame[["x", "k"]]):
        model = small(cls).fit(given, y)
        row = given.iloc[7]
        for series in (row, pl.from_pandas(frame)["x"]):
            with pytest.raises(
                ValueError,
                match=r"X must be two-dimensional.*to_frame\(\)\.T.*iloc\[\[",
            ):
                model.predict(series)
        expected = model.predict(given)[7:8]
        np.testing.assert_array_equal(model.predict(row.to_frame().T), expected)
        np.testing.assert_array_equal(model.predict(given.iloc[[7]]), expected)
    with pytest.raises(ValueError, match=r"X must be two-dimensional.*X\.to_frame\(\)"):
        small(cls).fit(frame["color"], y)


@pytest.mark.parametrize("cls", MODELS)
def test_dictionaries_are_not_rows(cls):
    frame, y = make_rows()
    model = small(cls).fit(frame, target_for(cls, y))
    row = {"color": "a", "x": 0.5, "k": 2}
    for given in (row, [row]):
        with pytest.raises(ValueError, match=r"got dictionaries.*DataFrame\(\[X\]\)"):
            model.predict(given)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([dt.date(2020, 1, 1)] * 30, "dates or times"),
        ([dt.timedelta(1)] * 30, "dates or times"),
        ([[1.0]] * 30, "not numbers"),
        ([{"a": 1}] * 30, "not numbers"),
        ([b"1"] * 30, "text, such as b'1'"),
    ],
    ids=["date", "duration", "list", "struct", "bytes"],
)
@pytest.mark.parametrize("cls", MODELS)
def test_odd_columns_of_polars_and_arrow_are_named(cls, values, message):
    frame, y = make_rows(30)
    y = target_for(cls, y, 2)
    polars = pl.from_pandas(frame)
    model = small(cls).fit(polars, y)
    odd = polars.with_columns(pl.Series("x", values))
    for given in (odd, odd.to_arrow()):
        for rows in (given, given[:1]):
            with pytest.raises(
                (TypeError, ValueError), match=f"X: column 'x' holds.*{message}"
            ):
                model.predict(rows)
        with pytest.raises((TypeError, ValueError), match="X: column 'x' holds"):
            small(cls).fit(given, y)


def test_names_of_columns_are_unique():
    frame, y = make_rows()
    twice = pd.concat([frame, frame[["x"]]], axis=1)
    for call in (CGTreeRegressor().fit, CGTreeRegressor().fit(frame, y).predict):
        with pytest.raises(ValueError, match="X has several columns 'x'; rename"):
            call(twice, *([y] if call.__name__ == "fit" else []))


def test_dictionaries_of_arrow_with_unsigned_indices():
    frame, y = make_rows()
    model = CGTreeRegressor(random_state=0).fit(frame, y)
    indices = pa.array(frame.color.cat.codes.where(frame.color.notna()), pa.uint32())
    color = pa.DictionaryArray.from_arrays(indices, pa.array(CATEGORIES))
    table = pa.table({"color": color, "x": frame.x, "k": frame.k})
    np.testing.assert_array_equal(model.predict(table), model.predict(frame))


@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([3], "column 3, X has columns 0 to 2"),
        ([-1], "column -1"),
        ([True, False], "mask of 2 entries, X has 3 columns"),
        (["shape"], r"'shape', which X does not have.*'color', 'x', 'k'"),
        ([1.5], r"got 1\.5 of type float"),
        (None, "'color' holds text, such as .*name it in categorical_features"),
        (["x"], "'color' holds text"),
    ],
)
def test_bad_columns(cls, wanted, message):
    frame, y = make_rows()
    with pytest.raises(ValueError, match=message):
        cls(categorical_features=wanted).fit(frame, target_for(cls, y))


def test_column_specifications():
    frame, y = make_rows()
    by_set = CGTreeRegressor(categorical_features={"color", "k"}).fit(frame, y)
    assert by_set.is_categorical_.tolist() == [True, False, True]
    rows = [[k, x] for k, x in zip(frame.k.tolist(), frame.x.tolist(), strict=True)]
    listed = CGTreeRegressor(categorical_features=[0]).fit(rows, y)
    again = CGTreeRegressor(categorical_features=np.array([0])).fit(rows, y)
    assert again.is_categorical_.tolist() == [True, False]
    array = CGTreeRegressor(categorical_features=[0]).fit(np.array(rows), y)
    assert (listed.predict(rows) == array.predict(np.array(rows))).all()


def test_sparse_rows_have_no_categories():
    X = scipy.sparse.csr_array(np.eye(6))
    CGTreeRegressor(categorical_features=[False] * 6).fit(X, np.arange(6))
    with pytest.raises(ValueError, match="columns of a sparse X"):
        CGTreeRegressor(categorical_features=[1]).fit(X, np.arange(6))


def test_arrow_columns_are_named():
    frame, y = make_rows()
    table = pa.Table.from_pandas(frame)
    model = CGTreeRegressor().fit(table, y)
    with pytest.raises(ValueError, match="'x' holds text, such as 'a'; in fit"):
        model.predict(pa.Table.from_pandas(frame.assign(x="a")))
    dates = frame.assign(x=pd.Timestamp("2020-01-01"))
    with pytest.raises(ValueError, match="'x' holds dates or times"):
        CGTreeRegressor().fit(pa.Table.from_pandas(dates), y)


def test_names_need_a_frame():
    X = np.zeros((10, 2))
    with pytest.raises(ValueError, match="no column names"):
        CGTreeRegressor(categorical_features=["a"]).fit(X, np.arange(10))


def test_categories_that_changed_are_rejected():
    frame, y = make_rows()
    model = CGTreeRegressor().fit(frame, y)
    with pytest.raises(ValueError, match=r"'color'.*are numbers.*1\.0.*were text.*'a'"):
        model.predict(frame.assign(color=1))
    with pytest.raises(ValueError, match="'x' holds text, such as 'a'; in fit"):
        model.predict(frame.assign(x="a"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["x", "color", "k"]])
    with pytest.raises(ValueError, match="X has 2 features"):
        CGTreeRegressor().fit(frame.to_numpy(dtype=object), y).predict(
            frame.to_numpy(dtype=object)[:, :2]
        )
    mixed = frame.assign(color=["a", 1] * 600)
    with pytest.raises(ValueError, match=r"'color'.*types int, str.*astype"):
        model.predict(mixed)
    with pytest.raises(ValueError, match=r"'color'.*types int, str.*astype"):
        CGTreeRegressor().fit(mixed, y)
    huge = frame.assign(k=np.int64(2) ** 60 + frame.k)
    with pytest.raises(ValueError, match=r"'k'.*2\*\*53"):
        CGTreeRegressor(categorical_features=["k"]).fit(huge, y)
    endless = frame.assign(x=np.where(frame.k == 1, np.inf, 1.0))
    with pytest.raises(ValueError, match="'x' has an infinite category"):
        CGTreeRegressor(categorical_features=["x"]).fit(endless, y)


def test_categories_have_no_direction():
    frame, y = make_rows()
    with pytest.raises(ValueError, match="categorical feature 'color'"):
        CGTreeRegressor(monotonic_cst={"color": 1}).fit(frame, y)
    model = CGTreeRegressor(monotonic_cst={"x": 1}).fit(frame, y)
    low, high = (model.predict(frame.assign(x=x)) for x in (-1.0, 1.0))
    assert (high >= low).all()


def test_tampered_categories_are_rejected():
    frame, y = make_rows()
    model = CGTreeRegressor().fit(frame, y)
    column = model._categories.find(0)
    object.__setattr__(column, "values", column.values * 2)
    with pytest.raises(ValueError, match="ranks of categories"):
        pickle.loads(pickle.dumps(model))
