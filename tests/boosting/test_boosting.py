"""CGBoostingClassifier through the API of scikit-learn."""

import io
import pickle

import numpy as np
import pytest
from boosting_data import (
    DATA,
    SAMPLED,
    SETTINGS,
    booster,
    make_data,
    mean_loss,
    softmax,
)
from checks import GivenCandidates, changed_parameters, digest, same_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score

from dics import BoostingOptions, CentroidCandidates, CGBoostingClassifier
from dics.export import to_json


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


@pytest.mark.parametrize(
    "name",
    [
        "apply",
        "decision_function",
        "predict",
        "predict_contributions",
        "predict_log_proba",
        "predict_proba",
    ],
)
def test_the_first_rounds_predict(data, name):
    X, y = data
    model, shorter = booster(6).fit(X, y), booster(4).fit(X, y)
    expected = getattr(shorter, name)(X)
    np.testing.assert_array_equal(getattr(model, name)(X, n_rounds=4), expected)
    np.testing.assert_array_equal(getattr(model[:4], name)(X), expected)
    whole = getattr(model, name)(X)
    np.testing.assert_array_equal(getattr(model, name)(X, n_rounds=6), whole)


def test_no_rounds_predict_the_start(data):
    X, y = data
    p = booster(6).fit(X, y).predict_proba(X, n_rounds=0)
    np.testing.assert_allclose(p[0], np.bincount(y) / len(y), rtol=1e-5)
    assert (p == p[0]).all()


@pytest.mark.parametrize("n_rounds", [-1, 7, 2.0, "all"])
def test_bad_numbers_of_rounds(data, n_rounds):
    X, y = data
    with pytest.raises(ValueError, match=r"n_rounds must be an integer from 0 to 6, "):
        booster(6).fit(X, y).predict(X, n_rounds=n_rounds)


@pytest.mark.parametrize("reuse_splits", [True, False])
def test_a_slice_is_a_model(data, reuse_splits):
    X, y = data
    advanced = BoostingOptions(reuse_splits=reuse_splits)
    model = booster(6, advanced=advanced, warm_start=True).fit(X, y)
    shorter = booster(4, advanced=advanced).fit(X, y)
    same_bytes(model[:4], shorter)
    assert (len(model[:4]), model[:-2].n_iter_, len(model[:9])) == (4, 4, 6)
    loaded = pickle.loads(pickle.dumps(model[:4]))
    same_bytes(loaded, shorter)
    # A warm start adds the rounds that the slice lacks.
    same_bytes(loaded.fit(X, y), model)
    assert len(loaded.train_score_) == 7
    assert len(model) == 6
    for index in (slice(1, 4), slice(None, None, 2)):
        with pytest.raises(ValueError, match="must begin with the first round"):
            model[index]


def test_staged_results_do_not_change_later(data):
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


def test_one_row_has_the_same_prediction(data):
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
def test_training_loss_never_increases(data, rate, n_leaves, l2, k, seed):
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
    # Scores have single precision, and so do their losses.
    assert np.diff(model.train_score_).min(initial=0.0) >= -1e-6
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_training_loss_decreases(data, rate, l2):
    model = booster(
        60, learning_rate=rate, l2_regularization=l2, min_samples_leaf=1
    ).fit(*data)
    assert np.diff(model.train_score_).min() >= -1e-6
    assert model.train_score_[-1] > -0.3


def test_rare_classes_are_learned():
    # The margin of the common class grows first and must not slow down the rare one.
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


def test_each_round_samples_features(data):
    model = booster(30, max_features=2).fit(*data)
    sets = [frozenset(model.trees_[t].feature) - {-1} for t in range(len(model.trees_))]
    assert max(map(len, sets)) == 2
    assert len(set(sets)) > 5


def test_splits_are_used_once():
    # Two thresholds are enough for two rounds; a third round has none left.
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
    # Two classes with 10 rows: g = 1/2, h = 1/4 for each, so G = 5, H = 2.5 per side.
    X, y = np.arange(20.0)[:, None], np.arange(20) // 10
    settings = {"max_leaf_nodes": 2, "candidates": GivenCandidates([[10]])}
    model = booster(1, noise_shrinkage=0, **settings).fit(X, y)
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
    model = CGBoostingClassifier.paper(n_estimators=20, random_state=0)
    changed = changed_parameters(model)
    assert changed.pop("candidates") == CentroidCandidates.paper().get_params()
    assert changed.pop("sampling") == {"top_rate": 0.2, "other_rate": 0.1}
    assert changed.pop("advanced") == {
        **BoostingOptions().get_params(),
        "max_candidates": 100,
        "noise_shrinkage": 0.0,
        "sketch_outputs": None,
        "leaf_values": "sample",
    }
    assert changed == {
        "n_estimators": 20,
        "max_depth": 3,
        "max_leaf_nodes": None,
        "l2_regularization": 0.1,
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
        assert plan == f"CGBoostingClassifier: {model.plan_}"
        assert rounds.startswith("CGBoostingClassifier: 7 rounds in ")
        assert rounds.endswith(" s")
    else:
        assert written.err == ""
    same_bytes(model, booster(7, early_stopping=early_stopping).fit(X, y))


@pytest.mark.filterwarnings("ignore:Early stopping keeps none")
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
    assert written[-1].startswith("CGBoostingClassifier: 3 rounds in ")


def test_progress_reports_the_loss(data, monkeypatch):
    X, y = data
    reported = []
    monkeypatch.setattr(
        "dics._estimator.running.Progress.update",
        lambda self, done, text="": reported.append((done, text)),
    )
    model = booster(3, verbose=1).fit(X, y)
    assert [done for done, _ in reported] == [0, 1, 2, 3]
    for (_, text), score in zip(reported, model.train_score_, strict=True):
        assert text == f"loss {-score:.4f}"


# --- defaults that depend on the data -------------------------------------------------


def test_few_informative_features_of_many():
    X, y = make_classification(
        4000, 600, n_informative=5, n_redundant=0, random_state=1
    )
    drawn = CGBoostingClassifier(n_estimators=60, learning_rate=0.1, random_state=0)
    every = clone(drawn).set_params(max_features=None)
    scores = [
        m.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) for m in (drawn, every)
    ]
    assert scores[0] > scores[1] - 0.02


def test_memory_with_many_leaves():
    # The memory for sums is limited, even if almost every row has its own leaf.
    X = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    y = np.arange(3000) % 60
    model = booster(2, max_leaf_nodes=None, min_samples_leaf=1, l2_regularization=0.1)
    model.fit(X, y)
    assert model.trees_[0].n_leaves > 500
    assert np.isfinite(model.decision_function(X)).all()


def test_goss_with_few_rows():
    X = np.arange(9.0)[:, None]
    y = (X[:, 0] > 4).astype(int)
    model = booster(5, sampling="goss", min_samples_leaf=1, leaf_values="all").fit(X, y)
    assert model.trees_.n_nodes > 5


@pytest.mark.parametrize("weight", [2.0**166, 2.0**-166])
def test_importances_with_any_weights(data, weight):
    X, y = data
    model = booster(l2_regularization=0.0, noise_shrinkage=0.0)
    weighted = clone(model).fit(X, y, sample_weight=np.full(len(y), weight))
    np.testing.assert_allclose(
        weighted.feature_importances_, model.fit(X, y).feature_importances_
    )


@pytest.mark.core
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_order_of_rows(n_classes, weighted):
    """Leaves, totals and the scale of the quantizer are sums of integers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=3000)).astype(int) % n_classes
    weight = rng.random(3000) if weighted else np.ones(3000)
    thresholds = [np.linspace(-2, 2, 30)] * 6
    order = rng.permutation(3000)
    fits = [
        booster(15, candidates=GivenCandidates(thresholds)).fit(
            X[rows], y[rows], weight[rows]
        )
        for rows in (np.arange(3000), order)
    ]
    same_bytes(*fits)


# --- many rows ------------------------------------------------------------------------


@pytest.mark.quick(12)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("max_leaf_nodes", [2, 8, 12, 31, 60, 100])
def test_predictions_for_many_rows(dtype, order, n_classes, max_leaf_nodes):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, size=(1500, 4)).astype(dtype)
    y = (X[:, 0] > X[:, 1] // 2).astype(int) + (n_classes - 2) * (X[:, 2] > 90)
    if dtype != "u1":
        X[rng.random(X.shape) < 0.1] = np.nan
        X[:5, 0], X[5:9, 0] = np.inf, -np.inf
    model = booster(6, max_leaf_nodes=max_leaf_nodes, min_samples_leaf=2)
    model.fit(X, y)
    X = np.asarray(X, order=order)
    together = model.decision_function(X)
    for begin in range(0, 1500, 10):  # a few rows use another code path
        few = model.decision_function(X[begin : begin + 10])
        np.testing.assert_array_equal(together[begin : begin + 10], few)


# --- custom losses --------------------------------------------------------------------


class CrossEntropy:
    """The log-loss as a custom loss, for the margin or for one score per class."""

    def start(self, y, weight):
        logs = np.log(np.bincount(y, weight) / np.sum(np.bincount(y, weight)))
        return logs[1] - logs[0] if len(logs) == 2 else logs

    def link(self, raw):
        return softmax(raw)[:, 1] if raw.ndim == 1 else softmax(raw)

    def gradients(self, y, raw, weight):
        p = self.link(raw)
        w = np.ones(len(y)) if weight is None else weight
        hit = y if raw.ndim == 1 else np.eye(raw.shape[1])[y]
        w = w.reshape(len(y), *[1] * (raw.ndim - 1))
        return w * (p - hit), w * p * (1 - p)

    def loss(self, y, raw, weight):
        return mean_loss(y, softmax(raw), weight)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_custom_loss_is_as_good(n_classes, weighted):
    X, y = make_data(n_classes, 2000)
    w = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    labels = np.array(["c", "a", "b"])[y]
    # The built-in step of the margin is twice the Newton step.
    rate = 0.2 if n_classes == 2 else 0.1
    own = booster(30, loss=CrossEntropy(), learning_rate=rate).fit(X, labels, w)
    built_in = booster(30, learning_rate=0.1, noise_shrinkage=0.0).fit(X, labels, w)
    start, last = own.train_score_[[0, -1]], built_in.train_score_[[0, -1]]
    np.testing.assert_allclose(start, last, rtol=0.02)
    p = own.predict_proba(X)
    assert p.shape == (2000, n_classes)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(own.predict(X), own.classes_[p.argmax(axis=1)])
    np.testing.assert_allclose(softmax(own.decision_function(X)), p, rtol=1e-9)
    *_, last = own.staged_predict_proba(X)
    np.testing.assert_allclose(last, p, rtol=1e-9)
    added = own.predict_contributions(X).sum(axis=1)
    np.testing.assert_allclose(added, own.decision_function(X), atol=1e-4)


def test_custom_loss_stops_early_and_is_replaced():
    X, y = make_data(2, 1500)
    for scoring in ("loss", "roc_auc"):
        model = booster(200, loss=CrossEntropy(), early_stopping=True, scoring=scoring)
        assert 0 < model.fit(X, y).n_iter_ < 200
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="which model files do not support"):
        model.save(io.BytesIO())
    with pytest.raises(ValueError, match="does not support custom losses"):
        to_json(model)
    model.set_params(loss="log_loss").fit(X, y)
    same_bytes(model, booster(200, early_stopping=True, scoring="roc_auc").fit(X, y))
    assert booster(2, loss=CrossEntropy()).fit(X, y * 0).predict(X).max() == 0
