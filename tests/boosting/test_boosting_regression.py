"""Boosting for regression: every loss against NumPy, scales, seeds and errors."""

import pickle

import numpy as np
import pytest
from boosting_data import Squared
from checks import GivenCandidates, same_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import mean_pinball_loss, mean_tweedie_deviance

from dics import BoostingOptions, CGBoostingRegressor

pytestmark = pytest.mark.core

LOG_LINK = ["poisson", "gamma", "tweedie"]
LOSSES = ["squared_error", "absolute_error", "huber", "quantile", *LOG_LINK]
POWER = 1.3  # of Tweedie


def make_data(n=400, seed=0, positive=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    Z = np.nan_to_num(X)
    y = 3 * Z[:, 0] + Z[:, 1] * Z[:, 2] + rng.normal(size=n)
    return X, np.exp(y / 4) if positive else y


def model(loss="squared_error", **parameters):
    default = {
        "n_estimators": 8,
        "learning_rate": 0.5,
        "min_samples_leaf": 5,
        "sampling": None,
        "max_features": None,
        "random_state": 0,
    }
    if loss == "tweedie":
        default["advanced"] = BoostingOptions(tweedie_power=POWER)
    return CGBoostingRegressor(loss=loss, **{**default, **parameters})


# --- every loss in NumPy --------------------------------------------------------------


def quantile_of(values, weights, level):
    order = np.argsort(values, kind="stable")
    running = np.cumsum(weights[order])
    return values[order][np.searchsorted(running, level * running[-1] * (1 - 1e-9))]


class PlainLoss:
    """Loss, gradient, Hessian and leaf value by definition."""

    def __init__(self, name, level=0.5, alpha=0.9):
        self.name, self.level, self.alpha = name, level, alpha

    def prepare(self, y, raw, w):
        if self.name == "huber":
            self.delta = quantile_of(np.abs(y - raw), w, self.alpha)

    def loss(self, y, raw):
        r = y - raw
        if self.name == "squared_error":
            return r**2 / 2
        if self.name == "absolute_error":
            return np.abs(r)
        if self.name == "quantile":
            return np.maximum(self.level * r, (self.level - 1) * r)
        if self.name == "huber":
            size, d = np.abs(r), self.delta
            return np.where(size <= d, r**2 / 2, d * (size - d / 2))
        if self.name == "poisson":
            return np.exp(raw) - y * raw
        if self.name == "tweedie":
            above, below = np.exp((2 - POWER) * raw), y * np.exp((1 - POWER) * raw)
            return above / (2 - POWER) + below / (POWER - 1)
        return raw + y * np.exp(-raw)

    def derivatives(self, y, raw):
        h = 1e-4
        up, here, down = (self.loss(y, raw + step) for step in (h, 0, -h))
        g = (up - down) / (2 * h)
        if self.name in LOG_LINK:
            return g, (up - 2 * here + down) / h**2
        return g, np.ones(len(y))

    def step(self, y, raw, w, l2, rate):
        r = y - raw
        if self.name in ("absolute_error", "quantile"):
            return rate * quantile_of(r, w, self.level)
        if self.name == "huber":
            middle = quantile_of(r, w, 0.5)
            beside = np.clip(r - middle, -self.delta, self.delta)
            return rate * (middle + np.average(beside, weights=w))
        g, h = self.derivatives(y, raw)
        step = -rate * (w * g).sum() / ((w * h).sum() + l2)
        if self.name == "poisson":
            least = np.log((w * y).sum() / (w * np.exp(raw)).sum())
        elif self.name == "gamma":
            least = np.log((w * y * np.exp(-raw)).sum() / w.sum())
        elif self.name == "tweedie":
            above, below = np.exp((2 - POWER) * raw), y * np.exp((1 - POWER) * raw)
            least = np.log((w * below).sum() / (w * above).sum())
        else:
            return step
        return np.clip(step, min(0, least), max(0, least))


def raw_scores(fitted, X, n_rounds):
    """Return scores after `n_rounds` rounds, from the trees only, in the units of y."""
    trees = fitted.trees_
    raw = np.tile(fitted._start.astype(float), (len(X), 1)) + fitted._loss.centre
    if fitted.loss in LOG_LINK:
        raw = raw + np.log(fitted._loss.unit)
    for t in range(n_rounds):
        raw += trees[t].leaf_values[leaf_indices(trees[t], X)]
    return raw[:, 0]


def leaf_indices(tree, X):
    """Find leaves without the core."""
    numbers = []
    for row in X:
        node = 0
        while tree.feature[node] >= 0:
            x = row[tree.feature[node]]
            left = tree.missing_left[node] if np.isnan(x) else x < tree.threshold[node]
            node = tree.left[node] + (0 if left else 1)
        numbers.append(tree.left[node])
    return np.array(numbers)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_leaves_and_splits_by_definition(loss, weighted):
    X, y = make_data(positive=loss in LOG_LINK)
    rng = np.random.default_rng(1)
    w = rng.integers(1, 5, len(y)) / 2 if weighted else np.ones(len(y))
    dictionary = [np.linspace(-2, 2, 9, dtype=np.float32) for _ in range(5)]
    fitted = model(
        loss,
        **({"quantile": 0.7} if loss == "quantile" else {}),
        max_leaf_nodes=6,
        candidates=GivenCandidates(dictionary),
        l2_regularization=0.3,
    ).fit(X, y, sample_weight=w if weighted else None)
    plain = PlainLoss(loss, 0.7 if loss == "quantile" else 0.5)
    # Derivatives of "poisson" have the unit of y, and so has their regularization.
    l2 = 0.3 * fitted._loss.unit[0] ** {"poisson": 1, "tweedie": 2 - POWER}.get(loss, 0)
    for t in range(fitted.n_iter_):
        raw = raw_scores(fitted, X, t)
        plain.prepare(y, raw, w)
        assert_allclose(
            -fitted.train_score_[t],
            np.average(plain.loss(y, raw), weights=w) + unit_shift(fitted, loss, w, y),
            rtol=2e-4,
            atol=1e-4,
        )
        tree, numbers = fitted.trees_[t], leaf_indices(fitted.trees_[t], X)
        for leaf in range(tree.n_leaves):
            rows = numbers == leaf
            expected = plain.step(y[rows], raw[rows], w[rows], l2, rate=0.5)
            assert_allclose(tree.leaf_values[leaf, 0], expected, rtol=2e-3, atol=2e-3)
        check_root(tree, X, plain.derivatives(y, raw), w, dictionary, l2)


def unit_shift(fitted, loss, w, y):
    """Return the constant between the losses for y and for y / unit."""
    unit = fitted._loss.unit[0]
    if loss == "poisson":  # exp(s) - (y / u) s, times u
        return np.average(y, weights=w) * np.log(unit)
    return -np.log(unit) if loss == "gamma" else 0.0


def check_root(tree, X, derivatives, w, dictionary, l2):
    """Check that the first split gains about as much as the best one."""
    g, h = (w * part for part in derivatives)

    def gain(left):
        if min(left.sum(), (~left).sum()) < 5:
            return -np.inf
        sides = [(g[side].sum() ** 2, h[side].sum() + l2) for side in (left, ~left)]
        return sum(a / b for a, b in sides)

    gains = []
    for f, tau in enumerate(dictionary):
        x = X[:, f]
        for threshold in tau:
            gains += [
                gain(np.where(np.isnan(x), missing_left, x < threshold))
                for missing_left in (False, True)
            ]
    x = X[:, tree.feature[0]]
    left = np.where(np.isnan(x), bool(tree.missing_left[0]), x < tree.threshold[0])
    assert gain(left) >= max(gains) * (1 - 2e-3)


@pytest.mark.parametrize(
    "loss", ["squared_error", "poisson", "gamma", "tweedie", "absolute_error"]
)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0.01, 1.0), st.sampled_from([1e-30, 1, 1e30]))
def test_training_loss_never_increases(loss, seed, rate, scale):
    X, y = make_data(120, seed, positive=True)
    scores = model(loss, learning_rate=rate, n_estimators=15, min_samples_leaf=1)
    found = scores.fit(X, y * scale).train_score_
    assert (np.diff(found) >= -2e-6 * np.abs(found[:-1])).all()


# --- several outputs ------------------------------------------------------------------


def test_several_targets_share_their_trees():
    X, y = make_data(600)
    Y = np.column_stack([y, -2 * y + 5, np.nan_to_num(X[:, 3])])
    fitted = model(n_estimators=60, learning_rate=0.2).fit(X, Y)
    assert fitted.predict(X).shape == Y.shape
    assert fitted.n_outputs_ == 3
    assert len(fitted.trees_) == 60
    assert fitted.score(X, Y) > 0.9


def test_quantiles_do_not_cross_and_cover():
    X, y = make_data(3000)
    levels = [0.9, 0.1, 0.5]
    fitted = model("quantile", quantile=levels, n_estimators=80, learning_rate=0.1)
    found = fitted.fit(X, y).predict(X)
    assert found.shape == (3000, 3)
    assert (found[:, 1] <= found[:, 2]).all()
    assert (found[:, 2] <= found[:, 0]).all()
    assert_allclose((y[:, None] <= found).mean(axis=0), levels, atol=0.06)
    flat = mean_pinball_loss(y, np.full(len(y), np.quantile(y, 0.9)), alpha=0.9)
    assert mean_pinball_loss(y, found[:, 0], alpha=0.9) < 0.6 * flat


# --- scales ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error"])
@pytest.mark.parametrize("scale", [2.0**-100, 2.0**100])
def test_scaling_by_powers_of_two(loss, scale):
    X, y = make_data()
    one, other = model(loss).fit(X, y), model(loss).fit(X, y * scale)
    assert_array_equal(other.predict(X), one.predict(X) * scale)


def test_offset():
    X, y = make_data()
    y = (y * 1024).round() / 1024  # exact after the offset
    near, far = model(n_estimators=40).fit(X, y), model(n_estimators=40).fit(X, y + 1e9)
    assert_allclose(far.predict(X) - 1e9, near.predict(X), atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("value", [3.0, 1e-30, 1e30])
def test_constant_target(loss, value):
    X, _ = make_data(50)
    fitted = model(loss).fit(X, np.full(50, value))
    assert_allclose(fitted.predict(X), value, rtol=1e-6)
    assert fitted.n_iter_ == 0


def test_tweedie_loss_is_half_the_deviance():
    X, y = make_data(3000, positive=True)
    claims = np.where(np.random.default_rng(0).random(len(y)) < 0.3, y, 0.0)
    fitted = model("tweedie", n_estimators=60, learning_rate=0.1).fit(X, claims)
    mean = np.full(len(y), claims.mean())
    flat, found = (
        mean_tweedie_deviance(claims, predicted, power=POWER)
        for predicted in (mean, fitted.predict(X))
    )
    assert found < 0.95 * flat
    # Without a constant that depends on y only.
    first, last = fitted.train_score_[[0, -1]]
    assert_allclose(last - first, (flat - found) / 2, rtol=1e-4)


# --- the same model -------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_any_number_of_threads(loss):
    X, y = make_data(20_000, positive=True)
    more = {"quantile": [0.2, 0.6]} if loss == "quantile" else {}
    one, other = (
        model(loss, sampling="mvs", n_jobs=n, **more).fit(X, y) for n in (1, 4)
    )
    same_bytes(one, other)


def test_warm_start_equals_one_fit():
    X, y = make_data()
    both = model(n_estimators=3, warm_start=True).fit(X, y)
    both.set_params(n_estimators=8).fit(X, y)
    same_bytes(both, model().fit(X, y))


def test_early_stopping_keeps_the_best_round():
    X, y = make_data(800)
    fitted = model(n_estimators=300, early_stopping=True, learning_rate=0.5).fit(X, y)
    assert 0 < fitted.n_iter_ < 300
    assert fitted.n_iter_ == fitted.validation_score_.argmax()
    by_r2 = clone(fitted).set_params(scoring="r2").fit(X, y)
    assert by_r2.validation_score_.max() <= 1
    given = model(n_estimators=100).fit(X[:600], y[:600], X_val=X[600:], y_val=y[600:])
    staged = [((p - y[600:]) ** 2).mean() / 2 for p in given.staged_predict(X[600:])]
    assert_allclose(-given.validation_score_[1 : len(staged) + 1], staged, rtol=1e-4)


def test_pickle_and_clone():
    X, y = make_data()
    fitted = model("poisson").fit(X, np.abs(y))
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(X), fitted.predict(X))
    same_bytes(clone(fitted).fit(X, np.abs(y)), fitted)


# --- custom losses --------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_custom_loss_is_as_good(weighted):
    X, y = make_data()
    w = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    own = model(Squared(), n_estimators=40).fit(X, y, sample_weight=w)
    built_in = model(n_estimators=40).fit(X, y, sample_weight=w)
    assert_allclose(own.train_score_[[0, 1]], built_in.train_score_[[0, 1]], rtol=1e-3)
    assert abs(own.score(X, y) - built_in.score(X, y)) < 0.01


def test_custom_loss_stops_early():
    X, y = make_data(800)
    fitted = model(Squared(), n_estimators=300, early_stopping=True).fit(X, y)
    assert 0 < fitted.n_iter_ < 300


def test_early_stopping_needs_the_method_loss():
    class Silent(Squared):
        loss = property()

    X, y = make_data()
    with pytest.raises(ValueError, match=r"method loss\(y, raw, weight\); or set"):
        model(Silent(), early_stopping=True).fit(X, y)
    fitted = model(Silent(), early_stopping=True, scoring="r2").fit(X, y)
    assert fitted.n_iter_ > 0


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (lambda y, raw: (raw[:5], raw[:5]), "gradients of shape"),
        (lambda y, raw: (raw * np.nan, raw), "gradients of nan for row 0 in round 1"),
        (lambda y, raw: (raw * 0 + 1e300, raw), r"gradients of 1e\+300 for row 0 in"),
        (lambda y, raw: (raw - y, raw * 0 + 1e38), r"hessians of 1e\+38 for row 0 in"),
        (lambda y, raw: (raw - y, raw * 0 - 1), "negative second derivative"),
    ],
)
def test_bad_gradients_are_rejected(gradients, message):
    class Bad(Squared):
        def gradients(self, y, raw, weight):
            return gradients(y, raw)

    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        model(Bad()).fit(X, y)


# --- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({"loss": "poisson"}, lambda y: -y, "loss='poisson' requires y >= 0"),
        ({"loss": "gamma"}, lambda y: y * 0, "loss='gamma' requires y > 0"),
        ({"loss": "tweedie"}, lambda y: -y, "loss='tweedie' requires y >= 0"),
        ({"loss": "tweedie", "advanced__tweedie_power": 2}, abs, "range \\(1.0, 2.0"),
        ({"quantile": 0.9}, lambda y: y, "quantile=0.9 has no effect with loss='squ"),
        ({"advanced__huber_quantile": 0.8}, lambda y: y, "Set loss='huber', or leave"),
        ({"advanced__tweedie_power": 1.1}, lambda y: y, "Set loss='tweedie'"),
        ({}, lambda y: y * np.nan, "y contains NaN"),
        ({}, lambda y: y * np.inf, "y contains infinity"),
        ({}, lambda y: np.array(["a"] * len(y)), "CGBoostingClassifier"),
        ({"loss": "quantile", "quantile": 1.5}, lambda y: y, "quantile"),
        ({"loss": "quantile", "quantile": [0.1, 1.0]}, lambda y: y, "got 1.0"),
        ({"loss": "quantile"}, lambda y: np.c_[y, y], "one target"),
        ({"loss": "cubic"}, lambda y: y, "loss"),
        ({}, lambda y: y[:-1], "inconsistent"),
    ],
)
def test_bad_input_is_rejected(parameters, change, message):
    X, y = make_data(60, positive=True)
    with pytest.raises(ValueError, match=message):
        model().set_params(**parameters).fit(X, change(y))
