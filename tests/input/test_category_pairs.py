"""Pairs of categories against NumPy, and fits that must not use them."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from checks import make, training_data

import dics
from dics import (
    CategoricalOptions,
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestRegressor,
)
from dics._input.category_encoder import FOLD_KEY, LEAST_ROWS, N_FOLDS
from dics._input.category_pairs import joined_column
from dics._input.frames import CategoricalColumn
from dics.export import export_text

N_CATEGORIES = 40


def make_rows(n=3000, seed=0):
    """Make two columns of many categories that are informative only together."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, N_CATEGORIES, (2, n))
    effects = rng.normal(size=(N_CATEGORIES, N_CATEGORIES))
    y = 2 * effects[first, second] + 0.5 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "user": pd.Categorical([f"u{i:02}" for i in first]),
            "x": rng.normal(size=n),
            "site": pd.Categorical([f"s{i:02}" for i in second]),
        }
    )
    frame.loc[3, "user"] = np.nan
    assert n < LEAST_ROWS * N_CATEGORIES
    return frame, y


def small(cls=CGBoostingRegressor, **options):
    return make(cls, **{"n_estimators": 20, "random_state": 0, **options})


def keys_of(frame):
    """Return an integer for each pair of categories; -1 if one is missing."""
    first, second = (
        frame[name].cat.codes.to_numpy().astype(int) for name in ("user", "site")
    )
    return np.where((first < 0) | (second < 0), -1, first * N_CATEGORIES + second)


def smoothed(own, others, smooth):
    return (own.sum() + smooth * others.mean()) / (len(own) + smooth)


def test_pairs_are_encoded_by_mean_targets():
    frame, y = make_rows()
    model = small(smooth=3.0)
    training = training_data(model, frame, y).rows.take()
    (pair,) = model._categories.pairs
    assert (pair.first, pair.second) == (0, 2)
    keys = keys_of(frame)
    rows = model._check_matrix(frame)
    assert rows.shape == training.shape == (len(y), 4)
    fold = np.random.default_rng([0, FOLD_KEY, 0, 2]).permutation(len(y)) % N_FOLDS
    for i in range(400):
        if keys[i] < 0:
            assert np.isnan(rows[i, 3])
            assert np.isnan(training[i, 3])
            continue
        whole = smoothed(y[keys == keys[i]], y[keys >= 0], 3.0)
        assert rows[i, 3] == pytest.approx(whole)
        others = (keys >= 0) & (fold != fold[i])
        own = others & (keys == keys[i])
        if own.any():
            expected = smoothed(y[own], y[others], 3.0)
            assert training[i, 3] == pytest.approx(expected)
        else:
            assert np.isnan(training[i, 3])


def test_pairs_improve_the_score():
    frame, y = make_rows(3900)
    half = 3000
    scores = {}
    for pairs in (False, True):
        model = CGBoostingRegressor(
            random_state=0, categorical=CategoricalOptions(pairs=pairs)
        )
        model.fit(frame[:half], y[:half])
        assert len(model._categories.pairs) == pairs
        scores[pairs] = model.score(frame[half:], y[half:])
    assert scores[True] > scores[False] + 0.1


@pytest.mark.parametrize("seed", range(5))
def test_noise_has_no_pairs(seed):
    rng = np.random.default_rng(seed)
    n = 4000
    categories = rng.integers(0, [50, 1000, 300, 5], (n, 4))
    frame = pd.DataFrame(categories.astype(str), columns=list("abcd"))
    y = rng.normal(size=50)[categories[:, 0]] + rng.normal(size=n)
    y += rng.normal(size=5)[categories[:, 3]]
    model = small()
    training_data(model, frame, y)
    paired = [(pair.first, pair.second) for pair in model._categories.pairs]
    assert set(paired) <= {(0, 3)}  # the informative columns


def test_ranked_columns_have_no_pairs(monkeypatch):
    monkeypatch.setattr("dics._input.category_encoder.LEAST_ROWS", 1)
    model = small()
    training_data(model, *make_rows())
    assert model._categories.pairs == []


def test_fits_with_and_without_pairs():
    frame, y = make_rows()
    for model in (
        small(interaction_cst="pairwise"),
        small(candidates=dics.QuantileCandidates()),
        small(CGForestRegressor),
    ):
        assert model.fit(frame, y)._categories.pairs == []
    directions = small(monotonic_cst={"x": 1}).fit(frame, y)
    assert len(directions._categories.pairs) == 1


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_all_methods_with_pairs(n_classes):
    frame, y = make_rows()
    model = small()
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        model = small(CGBoostingClassifier)
    model.fit(frame, y)
    assert len(model._categories.pairs) == 1
    assert (model.trees_.feature == 3).any()
    assert model.feature_importances_.shape == model.split_counts_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.split_counts_[0] >= (model.trees_.feature == 3).sum()
    added = model.predict_contributions(frame)
    assert added.shape[1] == 4
    scores = model.decision_function(frame) if n_classes else model.predict(frame)
    np.testing.assert_allclose(added.sum(axis=1), scores, atol=1e-3)
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    for other in (dics.load(file), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
    texts = [export_text(model[t]) for t in range(len(model))]
    assert any("mean of user & site < " in text for text in texts)


def test_pairs_are_matched_by_category():
    frame, y = make_rows()
    model = small().fit(frame, y)
    shuffled = frame.assign(
        user=frame.user.cat.set_categories(["new", *frame.user.cat.categories[::-1]])
    )
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(frame))
    np.testing.assert_array_equal(
        model.predict(frame.assign(user="new")),
        model.predict(frame.assign(user=None)),
    )


def test_warm_start_keeps_pairs():
    frame, y = make_rows()
    # Trials of 10 and of 20 rounds may choose different rates.
    whole = small(learning_rate=0.1).fit(frame, y)
    model = small(learning_rate=0.1, n_estimators=10, warm_start=True)
    model.fit(frame, y).set_params(n_estimators=20).fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame), whole.predict(frame))


def test_validation_rows_have_pairs():
    frame, y = make_rows()
    model = small().fit(frame[:2000], y[:2000], X_val=frame[2000:], y_val=y[2000:])
    loss = ((y[2000:] - model.predict(frame[2000:])) ** 2).mean() / 2
    assert -model.best_score_ in (pytest.approx(loss), pytest.approx(2 * loss))


def test_row_weights_are_used():
    frame, y = make_rows()
    rng = np.random.default_rng(0)
    times = rng.integers(1, 4, len(y))
    model = small()
    training_data(model, frame, y, times.astype(float))
    (pair,) = model._categories.pairs
    keys = keys_of(frame)
    key = pair.keys[7]
    own, known = keys == key, keys >= 0
    mean = np.average(y[known], weights=times[known])
    smooth = 10.0 * times.mean()
    sums = (times * y)[own].sum() + smooth * mean
    assert pair.values[7] == pytest.approx(sums / (times[own].sum() + smooth))


@pytest.mark.parametrize("field", ["keys", "values", "first"])
def test_tampered_pairs_are_rejected(field):
    model = small().fit(*make_rows())
    (pair,) = model._categories.pairs
    value = {"keys": pair.keys[::-1].copy(), "values": pair.values[:-1], "first": 1}
    object.__setattr__(pair, field, value[field])
    with pytest.raises(ValueError, match="pair"):
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("n_categories", [1, 7, 300, 70_000])
@pytest.mark.parametrize("has_missing", [False, True])
def test_joined_column(n_categories, has_missing):
    """Compare with NumPy: distinct keys of all rows, and the key of each row."""
    rng = np.random.default_rng(n_categories)
    first, second = (
        CategoricalColumn(
            np.arange(float(n)), rng.integers(-1 if has_missing else 0, n, size=500)
        )
        for n in (n_categories, 40)
    )
    keys = np.where(
        (first.indices < 0) | (second.indices < 0),
        -1,
        first.indices * 40 + second.indices,
    )
    categories = np.unique(keys[keys >= 0])
    joined = joined_column(first, second)
    np.testing.assert_array_equal(joined.categories, categories)
    np.testing.assert_array_equal(joined.indices < 0, keys < 0)
    there = keys >= 0
    np.testing.assert_array_equal(categories[joined.indices[there]], keys[there])
