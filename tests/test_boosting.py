"""FastCGBMClassifier as users of scikit-learn meet it."""

import pickle

import numpy as np
import pytest
from boosting_data import (
    DATA,
    GRID,
    PARAMETERS,
    SAMPLED,
    SETTINGS,
    booster,
    mean_loss,
    softmax,
)
from checks import GivenCandidates, changed_parameters, digest, same_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score

from dics import CentroidCandidates, FastCGBMClassifier, QuantileCandidates
from dics.dictionary import encode


@pytest.fixture(params=[2, 3])
def data(request):
    return DATA[request.param]


# --- predictions ----------------------------------------------------------------------


def test_shapes(data):
    X, y = data
    model = booster().fit(X, y)
    k = len(np.unique(y))
    assert model.n_classes_ == k
    assert model.n_iter_ == len(model.trees_) == 10
    assert model.decision_function(X).shape == ((len(y),) if k == 2 else (len(y), k))
    assert model.predict_proba(X).shape == (len(y), k)
    assert model.predict_proba(X).dtype == model.decision_function(X).dtype == float
    assert model.predict(X).shape == y.shape
    assert model.apply(X).shape == (len(y), 10)
    assert model.score(X, y) > 0.8


def test_probabilities_are_the_softmax_of_the_scores(data):
    X, y = data
    model = booster().fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p, softmax(model.decision_function(X)), rtol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p))
    assert (model.predict(X) == model.classes_[p.argmax(axis=1)]).all()


def test_stages(data):
    X, y = data
    model = booster(6).fit(X, y)
    for name in ("decision_function", "predict_proba", "predict"):
        stages = [np.array(s) for s in getattr(model, f"staged_{name}")(X)]
        assert len(stages) == 6
        np.testing.assert_array_equal(stages[-1], getattr(model, name)(X))
        for n_rounds in (1, 4):
            shorter = booster(n_rounds).fit(X, y)
            np.testing.assert_array_equal(
                stages[n_rounds - 1], getattr(shorter, name)(X)
            )


def test_stages_that_are_kept_do_not_change(data):
    X, y = data
    model = booster(3).fit(X, y)
    for name in ("decision_function", "predict_proba", "predict"):
        kept, copied = [], []
        for stage in getattr(model, f"staged_{name}")(X):
            kept.append(stage)
            copied.append(stage.copy())
        np.testing.assert_array_equal(kept, copied)


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_scores_are_sums_of_leaf_values(data, parameters):
    X, y = data
    model = booster(**parameters).fit(X, y)
    leaves = model.apply(X)
    shares = np.log(np.bincount(y) / len(y))
    scores = shares[1:] - shares[:1] if len(shares) == 2 else shares
    for t in range(len(model.trees_)):
        tree = model.trees_[t]
        assert (tree.feature[leaves[:, t]] == -1).all()
        scores = scores + tree.leaf_values[tree.left[leaves[:, t]]]
    found = model.decision_function(X)
    np.testing.assert_allclose(found, scores.squeeze(), rtol=1e-5, atol=1e-5)


def test_train_score_is_the_negative_loss(data):
    X, y = data
    weights = np.random.default_rng(0).random(len(y))
    for given_weights in (None, weights):
        model = booster(5).fit(X, y, sample_weight=given_weights)
        shares = np.bincount(y, given_weights)
        start = np.tile(shares / shares.sum(), (len(y), 1))
        stages = [start, *model.staged_predict_proba(X)]
        expected = [-mean_loss(y, p, given_weights) for p in stages]
        np.testing.assert_allclose(model.train_score_, expected, rtol=1e-5)
        assert len(model.validation_score_) == 0


def test_a_row_is_predicted_alone(data):
    X, y = data
    model = booster().fit(X, y)
    together = model.predict_proba(X)
    for i in (0, 63, 64, 399):
        assert (model.predict_proba(X[i : i + 1]) == together[i]).all()
    rows = np.random.default_rng(0).permutation(400)[:101]
    assert (model.predict_proba(X[rows]) == together[rows]).all()


def test_learns(data):
    X, y = data
    train, rest = slice(0, 300), slice(300, None)
    model = booster(60, learning_rate=0.1).fit(X[train], y[train])
    share = np.bincount(y[rest]).max() / 100
    assert model.score(X[rest], y[rest]) > share + 0.15


# --- labels, shapes and values --------------------------------------------------------


@pytest.mark.parametrize("classes", [["b", "a", "c"], [1.0, -2.0, 0.0], [5, 7, -1]])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_of_other_types(classes, n_classes):
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


def test_constant_columns_do_not_count_as_drawn(data):
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
def test_weights_of_all_sizes(data, parameters):
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
def test_matrices_are_read_in_place(dtype, order, monkeypatch):
    X, y = DATA[3]
    X = np.array(np.clip(X * 30 + 128, 0, 255).round(), dtype=dtype, order=order)
    seen = []

    def spy(X, *args):
        seen.append(X)
        return encode(X, *args)

    monkeypatch.setattr("dics._boosting_base.encode", spy)
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
    # A heavy row is rounded once and its repeats each: in time that turns a near tie.
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
def test_rows_of_weight_zero_are_left_out(data, parameters):
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


def test_equal_weights_are_none(data):
    X, y = data
    one = booster(candidates=GivenCandidates(GRID)).fit(X, y)
    other = booster(candidates=GivenCandidates(GRID))
    same_bytes(one, other.fit(X, y, sample_weight=np.ones(len(y))))


# --- the training loss ----------------------------------------------------------------


@st.composite
def tiny_sets(draw):
    n, p = draw(st.integers(2, 30)), draw(st.integers(1, 3))
    value = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan, np.inf, -np.inf])
    X = np.array(draw(st.lists(value, min_size=n * p, max_size=n * p))).reshape(n, p)
    k = draw(st.sampled_from([2, 3, 5, 12]))
    y = np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    weight = st.lists(
        st.sampled_from([0.0, 0.01, 1.0, 30.0]), min_size=n, max_size=n
    ).filter(any)
    return X, y, draw(st.none() | weight)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    tiny_sets(),
    st.sampled_from([0.1, 0.5, 1.0]),
    st.sampled_from([2, 5, None]),
    st.sampled_from([0.0, 1e-3, 1.0]),
    st.sampled_from([None, 3]),
    st.integers(0, 3),
)
def test_the_training_loss_never_rises(data, rate, n_leaves, l2, k, seed):
    X, y, weights = data
    model = booster(
        25,
        learning_rate=rate,
        max_leaf_nodes=n_leaves,
        l2_regularization=l2,
        max_candidates=k,
        min_samples_leaf=1,
        random_state=seed,
        candidates=GivenCandidates([[0.5, 1.5, 2.5]] * X.shape[1]),
        n_jobs=1,
    ).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.train_score_).all()
    # Scores are of single precision: so are their losses.
    assert np.diff(model.train_score_).min(initial=0.0) >= -1e-6
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_the_training_loss_falls(data, rate, l2):
    model = booster(
        60, learning_rate=rate, l2_regularization=l2, min_samples_leaf=1
    ).fit(*data)
    assert np.diff(model.train_score_).min() >= -1e-6
    assert model.train_score_[-1] > -0.3


def test_rare_rows_are_learned_in_the_end():
    # The margin of the common class is large soon; it must not slow down the rare one.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    y = (X[:, 0] + X[:, 1] > 4.0).astype(int)
    assert 5 < y.sum() < 30
    model = booster(60, learning_rate=0.1, class_weight="balanced").fit(X, y)
    assert model.train_score_[-1] > -0.01


# --- limits of the trees --------------------------------------------------------------


def test_limits(data):
    X, y = data
    for n_leaves in (2, 5, 20):
        model = booster(max_leaf_nodes=n_leaves, min_samples_leaf=1).fit(X, y)
        leaves = [model.trees_[t].n_leaves for t in range(10)]
        assert max(leaves) == n_leaves
    for depth in (1, 3):
        model = booster(max_depth=depth, max_leaf_nodes=None).fit(X, y)
        depths = [model.trees_[t].node_depths().max() for t in range(10)]
        assert max(depths) == depth
    model = booster(min_samples_leaf=50).fit(X, y)
    assert model.trees_.n_samples.min() >= 50
    model = booster(min_split_gain=1e9).fit(X, y)
    assert model.trees_.n_nodes == 10


@pytest.mark.parametrize(
    ("spelling", "number"), [(0.34, 3), (0.001, 1), (1.0, None), (9, None), (40, None)]
)
def test_spellings_of_max_features(data, spelling, number):
    one = booster(max_features=spelling).fit(*data)
    same_bytes(one, booster(max_features=number).fit(*data))


def test_each_round_draws_its_features(data):
    model = booster(30, max_features=2).fit(*data)
    sets = [frozenset(model.trees_[t].feature) - {-1} for t in range(len(model.trees_))]
    assert max(map(len, sets)) == 2
    assert len(set(sets)) > 5


def test_used_splits_are_gone():
    # Two thresholds, two rounds; a third has nothing left.
    X, y = np.arange(60.0)[:, None], np.arange(60) // 20
    model = booster(
        4,
        reuse_splits=False,
        max_leaf_nodes=2,
        candidates=GivenCandidates([[20, 40]]),
    ).fit(X, y)
    n_nodes = [model.trees_[t].n_nodes for t in range(4)]
    assert n_nodes == [3, 3, 1, 1]


def test_importances(data):
    X, y = data
    model = booster(20).fit(X, y)
    importances, counts = model.feature_importances_, model.split_counts_
    assert importances.shape == counts.shape == (9,)
    assert importances.sum() == pytest.approx(1.0)
    assert (importances >= 0).all()
    assert counts.sum() == len(model.trees_.inner)
    assert ((importances > 0) == (counts > 0)).all()
    alone = np.zeros_like(X)
    alone[:, 4] = X[:, 0]
    model = booster(3).fit(alone, y)
    assert model.feature_importances_.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_the_gain_of_a_stump():
    # Two classes of 10 rows: g = 1/2, h = 1/4 in each, so G = 5, H = 2.5 on each side.
    X, y = np.arange(20.0)[:, None], np.arange(20) // 10
    model = booster(1, max_leaf_nodes=2, candidates=GivenCandidates([[10]])).fit(X, y)
    assert model.trees_.gain[0] == pytest.approx(2 * 25 / 3.5, rel=1e-3)
    np.testing.assert_allclose(
        model.trees_.leaf_values.ravel(), [-0.4 * 5 / 3.5, 0.4 * 5 / 3.5], rtol=1e-6
    )


# --- seeds, copies, sizes -------------------------------------------------------------


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_same_seed_same_model(data, parameters):
    for seed in (0, 2**32 - 1, np.int64(7)):
        parameters = {**parameters, "random_state": seed}
        same_bytes(*(booster(3, **parameters).fit(*data) for _ in range(2)))


def test_other_seed_other_model(data):
    digests = {
        digest(booster(3, **{**SAMPLED, "random_state": seed}).fit(*data))
        for seed in range(5)
    }
    assert len(digests) == 5


@pytest.mark.parametrize("early_stopping", [False, True])
def test_pickle(data, early_stopping):
    X, y = data
    model = booster(early_stopping=early_stopping).fit(X, y)
    for protocol in range(2, 6):
        copied = pickle.loads(pickle.dumps(model, protocol))
        same_bytes(model, copied)
        assert (copied.predict_proba(X) == model.predict_proba(X)).all()
        assert (copied.feature_importances_ == model.feature_importances_).all()
        copied.set_params(n_estimators=12, warm_start=True).fit(X, y)
    same_bytes(clone(model).fit(X, y), model)


def test_model_selection(data):
    X, y = data
    search = GridSearchCV(
        booster(5, candidates=CentroidCandidates()),
        {"candidates__n_pairs": [1, 3], "max_leaf_nodes": [2, 5]},
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.5
    assert len(cross_val_score(booster(5), X, y, cv=3)) == 3


def test_paper_setting(data):
    X, y = data
    model = FastCGBMClassifier.paper(n_estimators=20, random_state=0)
    changed = changed_parameters(model)
    assert changed.pop("candidates") == CentroidCandidates.paper().get_params()
    assert changed == {
        "n_estimators": 20,
        "max_depth": 3,
        "max_leaf_nodes": None,
        "max_candidates": 100,
        "sampling": "goss",
        "leaf_values": "sample",
        "min_samples_leaf": 1,
        "random_state": 0,
    }
    model.fit(X, y)
    assert max(model.trees_[t].node_depths().max() for t in range(20)) == 3
    assert model.score(X, y) > 0.6


# --- progress -------------------------------------------------------------------------


@pytest.mark.parametrize("verbose", [0, 1])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_verbose(data, capfd, verbose, early_stopping):
    X, y = data
    model = booster(7, verbose=verbose, early_stopping=early_stopping).fit(X, y)
    written = capfd.readouterr()
    assert written.out == ""
    if verbose:
        plan, rounds = written.err.splitlines()
        assert plan == f"FastCGBMClassifier: {model.plan_}"
        assert rounds.startswith("FastCGBMClassifier: 7 rounds in ")
        assert rounds.endswith(" s")
    else:
        assert written.err == ""
    same_bytes(model, booster(7, early_stopping=early_stopping).fit(X, y))


def test_progress_of_a_fit_that_stops_early(capfd):
    X = np.arange(40.0)[:, None]
    y = np.arange(40) // 20
    booster(
        30,
        verbose=1,
        early_stopping=True,
        n_iter_no_change=3,
        candidates=GivenCandidates([[20]]),
    ).fit(X, y, X_val=X, y_val=1 - y)
    written = capfd.readouterr().err.splitlines()
    assert written[-1].startswith("FastCGBMClassifier: 3 rounds in ")


def test_progress_reports_the_loss(data, monkeypatch):
    X, y = data
    reported = []
    monkeypatch.setattr(
        "dics._boosting_base.Progress.update",
        lambda self, done, text="": reported.append((done, text)),
    )
    model = booster(3, verbose=1).fit(X, y)
    assert [done for done, _ in reported] == [0, 1, 2, 3]
    for (_, text), score in zip(reported, model.train_score_, strict=True):
        assert text == f"loss {-score:.4f}"


# --- defaults that look at the data ---------------------------------------------------


def test_few_informative_features_of_many():
    X, y = make_classification(
        4000, 600, n_informative=5, n_redundant=0, random_state=1
    )
    drawn = FastCGBMClassifier(60, learning_rate=0.1, random_state=0)
    every = clone(drawn).set_params(max_features=None)
    scores = [
        m.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) for m in (drawn, every)
    ]
    assert scores[0] > scores[1] - 0.02


def test_few_rows_of_many_leaves_stay_small():
    # Sums of leaves are bounded in memory, also with a leaf for nearly each row.
    X = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    y = np.arange(3000) % 60
    model = booster(2, max_leaf_nodes=None, min_samples_leaf=1, l2_regularization=0.1)
    model.fit(X, y)
    assert model.trees_[0].n_leaves > 500
    assert np.isfinite(model.decision_function(X)).all()


def test_goss_draws_of_a_few_rows_too():
    X = np.arange(9.0)[:, None]
    y = (X[:, 0] > 4).astype(int)
    model = booster(5, sampling="goss", min_samples_leaf=1, leaf_values="all").fit(X, y)
    assert model.trees_.n_nodes > 5


@pytest.mark.parametrize("weight", [2.0**166, 2.0**-166])
def test_importances_with_any_weights(data, weight):
    X, y = data
    model = booster(l2_regularization=0.0)
    weighted = clone(model).fit(X, y, sample_weight=np.full(len(y), weight))
    np.testing.assert_allclose(
        weighted.feature_importances_, model.fit(X, y).feature_importances_
    )


@pytest.mark.core
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_do_not_depend_on_the_order_of_the_rows(n_classes, weighted):
    """Leaves, totals and the quantiser's scale are sums of whole numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=3000)).astype(int) % n_classes
    weight = rng.random(3000) if weighted else np.ones(3000)
    thresholds = [np.linspace(-2, 2, 30)] * 6
    order = rng.permutation(3000)
    fits = [
        FastCGBMClassifier(
            15, **{**PARAMETERS, "candidates": GivenCandidates(thresholds)}
        ).fit(X[rows], y[rows], weight[rows])
        for rows in (np.arange(3000), order)
    ]
    same_bytes(*fits)
