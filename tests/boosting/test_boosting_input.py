"""Input of boosting for classification: labels, shapes, values and weights."""

import numpy as np
import pytest
from boosting_data import (
    DATA,
    GRID,
    SAMPLED,
    SETTINGS,
    booster,
)
from checks import GivenCandidates, same_bytes
from sklearn.base import clone

from dics import QuantileCandidates
from dics._dictionary import encode_or_list


@pytest.fixture(params=[2, 3])
def data(request):
    return DATA[request.param]


# --- labels, shapes and values --------------------------------------------------------


@pytest.mark.parametrize("classes", [["b", "a", "c"], [1.0, -2.0, 0.0], [5, 7, -1]])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_label_types(classes, n_classes):
    X, y = DATA[n_classes]
    labels = np.asarray(classes)[y]
    model = booster(30).fit(X, labels)
    assert model.classes_.tolist() == np.unique(labels).tolist()
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
@pytest.mark.parametrize("n_rows", [1, 30])
def test_one_class(n_rows, parameters):
    X = np.random.default_rng(0).normal(size=(n_rows, 4))
    model = booster(**parameters).fit(X, ["only"] * n_rows)
    assert (model.predict(X) == "only").all()
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((n_rows, 1)))
    assert model.n_iter_ == 0
    assert list(model.staged_predict(X)) == []
    assert model.feature_importances_.tolist() == [0.0] * 4


def test_one_class_with_early_stopping():
    X = np.arange(20.0)[:, None]
    model = booster(early_stopping=True).fit(X, [1] * 20, X_val=X, y_val=[1] * 20)
    assert (model.predict(X) == 1).all()


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_two_rows(parameters):
    model = booster(**{**parameters, "min_samples_leaf": 1})
    model.fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"])
    p = model.predict_proba([[0.0, 1.0], [1.0, 1.0], [np.nan, np.nan]])
    assert np.isfinite(p).all()
    if parameters.get("sampling") is None:
        assert model.predict([[-1.0, 0.0], [9.0, 0.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
@pytest.mark.parametrize(
    "column",
    [[1.0] * 12, [np.nan] * 12, [np.inf] * 12, [0.0, -0.0] * 6],
    ids=["constant", "missing", "infinite", "zeros"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_to_split(n_classes, column, parameters):
    X = np.column_stack([column] * 4)
    y = np.minimum(np.arange(12) % 4, n_classes - 1)
    model = booster(3, **{**parameters, "min_samples_leaf": 1}).fit(X, y)
    assert model.trees_.n_nodes == 3
    shares = np.bincount(y) / 12
    if parameters.get("leaf_values") != "sample":
        np.testing.assert_allclose(model.predict_proba(X), [shares] * 12, atol=1e-6)
    assert model.feature_importances_.tolist() == [0.0] * 4
    assert model.split_counts_.tolist() == [0] * 4


def test_constant_columns_are_not_used(data):
    X, y = data
    wide = np.column_stack([np.zeros(len(X)), X, np.full(len(X), np.nan)])
    model = booster(max_features=4).fit(wide, y)
    assert set(model.trees_.feature) <= {-1, *range(1, 10)}


def test_constant_columns_are_not_sampled(data):
    X, y = data
    wide = np.zeros((len(X), 100), dtype=np.float32)
    wide[:, 42] = X[:, 0]
    model = booster(3, max_features=1).fit(wide, y)
    assert set(model.trees_.feature) == {-1, 42}


def test_missing_values_are_learned(data):
    X, y = data
    X = X.copy()
    X[y == 1] = np.nan
    model = booster(30, learning_rate=0.5).fit(X, y == 1)
    assert model.score(X, y == 1) == 1.0


def test_infinities_are_ordinary_values(data):
    X, y = data
    X = X.copy()
    X[y == 0, 0], X[y == 1, 0] = np.inf, -np.inf
    model = booster(30, learning_rate=0.5).fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("parameters", [{}, SAMPLED], ids=["all", "sampled"])
def test_thousand_classes(parameters):
    y = np.repeat(np.arange(1000), 3)
    X = np.column_stack([y % 32, y // 32, y % 7]).astype(np.float32)
    model = booster(
        3,
        candidates=QuantileCandidates(),
        **{**parameters, "max_features": 2, "min_samples_leaf": 1},
    ).fit(X, y)
    p = model.predict_proba(X[:50])
    assert p.shape == (50, 1000)
    assert np.isfinite(p).all()
    assert model.train_score_[-1] > model.train_score_[0]


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_extreme_imbalance(n_classes, parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = np.zeros(3000, dtype=int)
    rare = np.flatnonzero(X[:, 0] > 2.5)[: n_classes * 2]
    y[rare] = 1 + np.arange(len(rare)) % (n_classes - 1)
    model = booster(
        40, **{**parameters, "min_samples_leaf": 1, "l2_regularization": 0.0}
    ).fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    assert np.isfinite(model.train_score_).all()
    if parameters == {}:
        assert p[rare, y[rare]].min() > 0.2 > p[:, 1].mean()


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e300, 1e-300])
def test_scale_of_the_features(data, scale):
    X, y = data
    with np.errstate(over="ignore"):
        big = X.astype(float) * scale
    model = booster().fit(big, y)
    assert np.isfinite(model.predict_proba(big)).all()
    if 1e-31 < scale < 1e31:  # thresholds are float32
        assert model.score(big, y) > 0.8


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
@pytest.mark.parametrize("unit", [1e300, 1e-300, 1e19, 1e-19, 1e30, 1e-30])
def test_scale_of_the_weights(data, unit, parameters):
    X, y = data
    weights = (np.random.default_rng(0).random(len(y)) + 0.1) * unit
    model = booster(**parameters).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.trees_.weight).all()
    assert np.isfinite(model.trees_.leaf_values).all()
    assert np.isfinite(model.train_score_).all()
    assert np.isfinite(model.feature_importances_).all()


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_weights_of_very_different_sizes(data, parameters):
    X, y = data
    weights = 10.0 ** np.random.default_rng(0).uniform(-300, 300, len(y))
    model = booster(**parameters).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.train_score_).all()


@pytest.mark.parametrize(
    "extreme",
    [
        {"learning_rate": 1e300},
        {"learning_rate": 1e-300},
        {"l2_regularization": 1e300},
        {"min_split_gain": 1e300},
        {"max_leaf_nodes": 2**62},
        {"max_leaf_nodes": None, "max_depth": 2**70},
        {"max_candidates": 2**70},
        {"min_samples_leaf": 2**70},
        {"l2_regularization": 0.0, "min_samples_leaf": 1, "learning_rate": 1.0},
    ],
    ids=str,
)
def test_extreme_parameters(data, extreme):
    X, y = data
    model = booster(**extreme).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.train_score_).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_maps(data, tmp_path, order):
    X, y = data
    np.save(tmp_path / "X.npy", np.asarray(X, order=order))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    found, model = booster().fit(mapped, y), booster().fit(X, y)
    same_bytes(found, model)
    assert (found.predict_proba(mapped) == model.predict_proba(X)).all()


def test_input_is_only_read(data):
    X, y = data[0].copy(), data[1].copy()
    weights = np.random.default_rng(0).random(len(y))
    before = [a.tobytes() for a in (X, y, weights)]
    for array in (X, y, weights):
        array.flags.writeable = False
    model = booster(early_stopping=True, scoring="accuracy")
    model.fit(X, y, sample_weight=weights).predict_proba(X)
    model.fit(X, y, sample_weight=weights, X_val=X, y_val=y)
    assert [a.tobytes() for a in (X, y, weights)] == before


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_matrices_are_not_copied(dtype, order, monkeypatch):
    X, y = DATA[3]
    X = np.array(np.clip(X * 30 + 128, 0, 255).round(), dtype=dtype, order=order)
    seen = []

    def spy(X, *args, **options):
        seen.append(X)
        return encode_or_list(X, *args, **options)

    monkeypatch.setattr("dics._training.encode_or_list", spy)
    candidates = QuantileCandidates()
    model = booster(candidates=candidates).fit(X, y)
    assert [np.shares_memory(a, X) for a in seen] == [True]
    plain = np.ascontiguousarray(X, dtype=np.float64)
    same_bytes(model, booster(candidates=candidates).fit(plain, y))
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(plain))


def test_frames(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    names = [f"feature {i}" for i in range(9)]
    frame = pd.DataFrame(X, columns=names)
    model = booster(early_stopping=True).fit(frame, y, X_val=frame, y_val=y)
    assert model.feature_names_in_.tolist() == names
    assert model.predict(frame).shape == y.shape  # a warning would be an error
    assert len(list(model.staged_predict(frame))) == model.n_iter_
    for call in (model.predict, model.apply):
        with pytest.raises(ValueError, match="feature names should match"):
            call(frame[names[::-1]])


# --- weights --------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"max_candidates": 30}], ids=str)
def test_weights_are_repeats(data, parameters):
    X, y = data
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    # A row with weight two is rounded once, two rows twice: later rounds may differ.
    model = booster(
        3, candidates=GivenCandidates(GRID), **{**parameters, "min_samples_leaf": 1}
    )
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for name in ("feature", "threshold", "left"):
        np.testing.assert_array_equal(
            getattr(weighted.trees_, name), getattr(repeated.trees_, name)
        )
    np.testing.assert_allclose(
        weighted.decision_function(X),
        repeated.decision_function(X),
        rtol=1e-5,
        atol=1e-6,
    )
    np.testing.assert_allclose(weighted.train_score_, repeated.train_score_, rtol=1e-6)


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_rows_of_weight_zero_are_ignored(data, parameters):
    X, y = data
    used = np.random.default_rng(0).random(len(y)) < 0.7
    weights = np.random.default_rng(1).random(len(y)) * used
    model = booster(candidates=GivenCandidates(GRID), **parameters)
    one = clone(model).fit(X, y, sample_weight=weights)
    other = clone(model).fit(X[used], y[used], sample_weight=weights[used])
    same_bytes(one, other)
    assert one.trees_.n_samples[0] == used.sum()


def test_a_class_without_weight(data):
    X, y = data
    last = y.max()
    model = booster(30).fit(X, y, sample_weight=(y != last).astype(float))
    assert model.classes_.tolist() == np.unique(y).tolist()
    assert model.predict_proba(X)[:, last].max() < 1e-3
    assert np.isfinite(model.train_score_).all()


def test_class_weights_are_row_weights(data):
    X, y = data
    by_dict = booster(class_weight={0: 1, 1: 5, 2: 1}).fit(X, y)
    by_rows = booster().fit(X, y, sample_weight=np.array([1.0, 5.0, 1.0])[y])
    same_bytes(by_dict, by_rows)


def test_balanced_classes(data):
    X, y = data
    keep = (y != 1) | (np.arange(len(y)) % 8 == 0)
    X, y = X[keep], y[keep]
    plain = booster(5).fit(X, y)
    balanced = booster(5, class_weight="balanced").fit(X, y)
    assert (balanced.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()
    k = len(np.unique(y))
    assert balanced.train_score_[0] == pytest.approx(-np.log(k), rel=1e-6)


def test_equal_weights_have_no_effect(data):
    X, y = data
    one = booster(candidates=GivenCandidates(GRID)).fit(X, y)
    other = booster(candidates=GivenCandidates(GRID))
    same_bytes(one, other.fit(X, y, sample_weight=np.ones(len(y))))
