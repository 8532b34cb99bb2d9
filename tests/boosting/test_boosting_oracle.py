"""The core and the reference choose the same splits.

The core uses gradients with 16 bits, the reference float64. The core may choose a split
other than the best of the reference if its gain is equal within TOLERANCE; then both
continue with the tree of the core.
"""

import numpy as np
import pytest
import reference_boosting
from checks import GivenCandidates, make
from reference_boosting import Boosting, Grower, Tree
from selection import seeds

from dics import CentroidCandidates, CGBoostingClassifier

pytestmark = pytest.mark.core

# Relative to the score of a node: half the sum of G^2 / (H + lambda) over the classes
# and over both sides of its best split. 1e-5 is enough for the data below.
TOLERANCE = 1e-4


def following(core):
    """Return a Grower that checks a tree of the core and makes the same splits."""

    class Follower(Grower):
        def grow(self):
            self.place = {}  # nodes in the core's tree
            root = super().grow()
            core_leaf = self.next_of_core([n for n in self.place if n.split is None])
            assert core_leaf is None, "the core has split more"
            return root

        def choose_node(self, leaves):
            for node in list(self.place):
                if node.split is not None:
                    at = core.left[self.place[node]]
                    self.place[node.left], self.place[node.right] = at, at + 1
            self.place.setdefault(leaves[0], 0)
            own, core_node = super().choose_node(leaves), self.next_of_core(leaves)
            if core_node is None:
                assert own is None or self.excess(own) <= self.slack(own), "split less"
            elif own is None:
                assert self.excess(core_node) >= -self.slack(core_node), "no gain"
            else:
                lost = own.splits[0].gain - core_node.splits[0].gain
                assert lost <= self.slack(own), "another leaf gains more"
            return core_node

        def next_of_core(self, leaves):
            split = [n for n in leaves if core.feature[self.place[n]] >= 0]
            assert all(node.splits for node in split), "a split that is not allowed"
            return super().choose_node(split) or (split[0] if split else None)

        def choose_split(self, node):
            at = self.place[node]
            made = (core.feature[at], core.threshold[at], bool(core.missing_left[at]))
            for split in node.splits:
                if (split.feature, self.threshold(split), split.missing_left) == made:
                    lost = node.splits[0].gain - split.gain
                    assert lost <= self.slack(node), (made, node.splits[0])
                    return split
            raise AssertionError(f"{made} is none of {node.splits}")

        def slack(self, node):
            return TOLERANCE * (node.own + node.splits[0].gain)

        def excess(self, node):
            gain = node.splits[0].gain
            least = reference_boosting.NOISE * node.own
            return gain - max(least, self.limits["min_gain"])

    return Follower


def core_tree(model, t):
    """Return a tree of the core in the format of the reference."""
    tree = model.trees_[t]
    values = tree.leaf_values.astype(float)
    if values.shape[1] == 1:  # the margin of two classes
        values = np.hstack([-values / 2, values / 2])
    return Tree(
        tree.feature,
        tree.threshold,
        tree.left,
        tree.missing_left,
        tree.gain,
        tree.n_samples,
        values,
    )


def same_trees(found, expected):
    for name in ("feature", "threshold", "left", "missing_left", "n_samples"):
        np.testing.assert_array_equal(
            getattr(found, name), getattr(expected, name), err_msg=name
        )
    np.testing.assert_allclose(
        found.leaf_values, expected.leaf_values, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        found.gain, expected.gain, rtol=0.01, atol=0.001 * expected.gain.max()
    )


def fit(X, y, dictionary, *, weights=None, seed=0, n_rounds=4, n_jobs=1, **settings):
    if settings["sampling"] == "mvs" and "top_rate" in settings:
        rates = settings.pop("top_rate"), settings.pop("other_rate")
        settings["subsample"] = sum(rates)
    return make(
        CGBoostingClassifier,
        n_estimators=n_rounds,
        candidates=GivenCandidates(dictionary),
        early_stopping=False,
        random_state=seed,
        n_jobs=n_jobs,
        **settings,
    ).fit(X, y, sample_weight=weights)


SETTINGS = {
    "learning_rate": 0.3,
    "max_depth": None,
    "max_leaf_nodes": 8,
    "max_candidates": None,
    "max_features": None,
    "noise_shrinkage": 0.0,
    "sketch_outputs": None,
    "sampling": None,
    "leaf_values": "all",
    "l2_regularization": 1.0,
    "min_split_gain": 0.0,
    "min_samples_leaf": 3,
}


def check(X, y, dictionary, *, weights=None, seed=0, n_rounds=4, n_jobs=1, **more):
    """Fit with given thresholds and compare every round."""
    settings = {**SETTINGS, **more}
    model = fit(
        X,
        y,
        dictionary,
        weights=weights,
        seed=seed,
        n_rounds=n_rounds,
        n_jobs=n_jobs,
        **settings,
    )
    assert model.n_iter_ == n_rounds
    labels = np.unique(y, return_inverse=True)[1]
    twin = Boosting(X, labels, dictionary, weights=weights, seed=seed, **settings)
    kept = slice(None) if weights is None else np.asarray(weights) > 0
    stages = model.staged_decision_function(np.asarray(X)[kept])
    for t in range(n_rounds):
        assert -model.train_score_[t] == pytest.approx(twin.loss(), rel=1e-5, abs=1e-6)
        found = core_tree(model, t)
        same_trees(found, twin.tree(t, following(found)))
        twin.add(found)
        scores = twin.scores
        if scores.shape[1] == 2:
            scores = scores[:, 1] - scores[:, 0]
        np.testing.assert_allclose(next(stages), scores, rtol=1e-5, atol=1e-5)
    assert -model.train_score_[-1] == pytest.approx(twin.loss(), rel=1e-5, abs=1e-6)
    return model


# --- sets -----------------------------------------------------------------------------


def make_set(n_classes, *, n=250, p=5, n_thresholds=15, missing=0.0, seed=0):
    """Return classes of different sizes that depend on X.

    With classes of equal size, gradients have equal lengths, and rounding would decide
    which one is longer.
    """
    rng = np.random.default_rng(seed)
    n = max(n, 25 * n_classes)
    X = rng.normal(size=(n, p))
    latent = X[:, 0] + X[:, -1] * X[:, p // 2] + rng.normal(size=n) * 0.5
    sizes = np.arange(1, n_classes + 1)
    ends = (np.cumsum(sizes) * n / sizes.sum()).astype(int)
    y = np.searchsorted(ends, latent.argsort().argsort(), side="right")
    if missing:
        X[rng.random((n, p)) < missing] = np.nan
    dictionary = [np.sort(rng.normal(size=n_thresholds)).astype("f4") for _ in range(p)]
    return X.astype(np.float32), y, dictionary


def weights_of(kind, n):
    rng = np.random.default_rng(1)
    if kind is None:
        return None
    weights = rng.exponential(size=n)
    if kind == "zeros":
        weights[rng.random(n) < 0.2] = 0.0
    return weights


SAMPLINGS = {
    "all": {"sampling": None},
    "goss": {"sampling": "goss", "top_rate": 0.3, "other_rate": 0.25},
    "mvs": {"sampling": "mvs", "top_rate": 0.3, "other_rate": 0.25},
}


@pytest.mark.quick(16)
@pytest.mark.parametrize("more", [{}, {"max_features": 14}, {"max_candidates": 60}])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("n_classes", [2, 3, 6, 14, 40])
def test_mostly_zeros(n_classes, sampling, n_jobs, more):
    """Sums skip zeros; two features have few zeros, one has NaN."""
    X, y, dictionary = make_set(n_classes, n=400, p=26, seed=2)
    rng = np.random.default_rng(0)
    zero = rng.random(X.shape) < np.where(np.arange(26) < 2, 0.2, 0.9)
    X[zero] = 0
    X[rng.random(len(X)) < 0.85, 7] = np.nan
    check(X, y, dictionary, n_jobs=n_jobs, n_rounds=3, **SAMPLINGS[sampling], **more)


@pytest.mark.quick(16)
@pytest.mark.parametrize("leaf_values", ["all", "sample"])
@pytest.mark.parametrize("weights", [None, "zeros"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("n_classes", [2, 3, 10, 40])
def test_rows_of_a_round(n_classes, sampling, weights, leaf_values):
    X, y, dictionary = make_set(n_classes)
    check(
        X,
        y,
        dictionary,
        weights=weights_of(weights, len(y)),
        leaf_values=leaf_values,
        **SAMPLINGS[sampling],
    )


@pytest.mark.quick(16)
@pytest.mark.parametrize("weights", [None, "zeros"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("n_numbers", [2, 6, 7, 20])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_sketch_of_outputs(n_jobs, n_numbers, sampling, weights):
    X, y, dictionary = make_set(24, missing=0.1)
    check(
        X,
        y,
        dictionary,
        n_jobs=n_jobs,
        weights=weights_of(weights, len(y)),
        sketch_outputs=n_numbers,
        leaf_values="sample",
        **SAMPLINGS[sampling],
    )


@pytest.mark.parametrize("weights", [None, "zeros"])
@pytest.mark.parametrize("shrinkage", [0.5, 10.0])
@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_noise_shrinkage(n_classes, shrinkage, weights):
    X, y, dictionary = make_set(n_classes)
    weights = weights_of(weights, len(y))
    check(X, y, dictionary, weights=weights, noise_shrinkage=shrinkage)


@pytest.mark.quick(24)
@pytest.mark.parametrize("missing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("max_candidates", [None, 1, 12, 10**6])
@pytest.mark.parametrize("max_features", [None, 1, 3])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_splits_of_a_round(n_classes, max_features, max_candidates, missing):
    check(
        *make_set(n_classes, missing=missing),
        max_features=max_features,
        max_candidates=max_candidates,
        seed=3,
    )


@pytest.mark.quick(12)
@pytest.mark.parametrize(
    "limits",
    [
        {"max_leaf_nodes": 2},
        {"max_leaf_nodes": 5, "max_depth": 3},
        {"max_leaf_nodes": None, "max_depth": 1},
        {"max_leaf_nodes": None, "max_depth": 4},
        {"max_leaf_nodes": None, "min_samples_leaf": 20},
        {"max_leaf_nodes": 31, "min_samples_leaf": 1},
        {"max_leaf_nodes": 31, "l2_regularization": 0.0, "min_samples_leaf": 10},
        {"max_leaf_nodes": 31, "l2_regularization": 30.0},
        {"max_leaf_nodes": 31, "min_split_gain": 2.0},
        {"max_leaf_nodes": 31, "min_child_weight": 5.0, "min_samples_leaf": 1},
        {"min_child_weight": 5.0, "sampling": "mvs", "top_rate": 0.2, "other_rate": 0},
        {"min_child_weight": 1e6},
        {"min_split_gain": 1e6},
        {"min_samples_leaf": 10**9},
        {"learning_rate": 1.0, "l2_regularization": 0.0},
        {"learning_rate": 50.0},
        {"reuse_splits": False},
        {"reuse_splits": False, "max_candidates": 5},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_limits(n_classes, limits):
    check(*make_set(n_classes, missing=0.05), n_rounds=6, **limits)


def random_settings(rng):
    settings = {
        "learning_rate": float(rng.choice([0.05, 0.3, 1.0])),
        "max_candidates": [None, None, 3, 20][rng.integers(4)],
        "max_features": [None, None, 1, 3][rng.integers(4)],
        "leaf_values": str(rng.choice(["all", "sample"])),
        "l2_regularization": float(rng.choice([0.0, 1.0, 1.0, 5.0])),
        "min_split_gain": float(rng.choice([0.0, 0.0, 0.5])),
        "min_samples_leaf": int(rng.choice([2, 5, 15])),
        "min_child_weight": float(rng.choice([0.0, 0.0, 3.0])),
        "reuse_splits": bool(rng.random() < 0.8),
        **SAMPLINGS[str(rng.choice(list(SAMPLINGS)))],
    }
    if rng.random() < 0.5:
        settings |= {"max_depth": int(rng.integers(1, 5)), "max_leaf_nodes": None}
    else:
        settings["max_leaf_nodes"] = int(rng.integers(2, 16))
    return settings


@pytest.mark.parametrize("seed", seeds(25, 60))
def test_random_settings(seed):
    rng = np.random.default_rng(seed)
    X, y, dictionary = make_set(
        int(rng.choice([2, 2, 3, 7, 8, 9, 17, 33])),
        n=int(rng.integers(30, 300)),
        p=int(rng.integers(1, 7)),
        n_thresholds=int(rng.choice([1, 5, 30])),
        missing=float(rng.choice([0.0, 0.2])),
        seed=seed,
    )
    if rng.random() < 0.3:
        dictionary[0] = dictionary[0][:0]
        X = np.hstack([X, X[:, :1] * 2])
        dictionary.append(np.linspace(-2, 2, 5, dtype=np.float32))
    weights = weights_of([None, "positive", "zeros"][rng.integers(3)], len(y))
    check(X, y, dictionary, weights=weights, seed=seed, **random_settings(rng))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_element_types(dtype, order):
    X, y, dictionary = make_set(3, missing=0.0 if dtype == "u1" else 0.05)
    if dtype == "u1":
        X = np.clip(X * 40 + 128, 0, 255)
        dictionary = [tau * 40 + 128 for tau in dictionary]
    check(np.array(X, dtype=dtype, order=order), y, dictionary)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 6])
def test_large_set(n_classes, n_jobs, sampling):
    # Several tasks of rows and of features.
    X, y, dictionary = make_set(n_classes, n=5000, p=12, n_thresholds=8)
    check(
        X,
        y,
        dictionary,
        weights=weights_of("positive", len(y)),
        n_rounds=2,
        n_jobs=n_jobs,
        max_leaf_nodes=5,
        **SAMPLINGS[sampling],
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_most_thresholds(n_classes):
    check(*make_set(n_classes, p=2, n_thresholds=254, missing=0.02), n_rounds=2)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_many_rounds(n_classes, sampling):
    # The reference continues with its own trees, so rounding errors add up.
    X, y, dictionary = make_set(n_classes)
    settings = {**SETTINGS, **SAMPLINGS[sampling]}
    model = fit(X, y, dictionary, n_rounds=12, seed=4, **settings)
    trees, scores, losses = reference_boosting.boost(
        X, y, dictionary, 12, seed=4, **settings
    )
    for t, expected in enumerate(trees):
        np.testing.assert_array_equal(model.trees_[t].feature, expected.feature)
        np.testing.assert_array_equal(model.trees_[t].threshold, expected.threshold)
    if n_classes == 2:
        scores = scores[:, 1] - scores[:, 0]
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-4)
    np.testing.assert_allclose(-model.train_score_, losses, rtol=1e-5)


@pytest.mark.parametrize(
    "candidates", [None, CentroidCandidates.paper()], ids=["default", "paper"]
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_thresholds_of_the_library(n_classes, candidates):
    X, y, _ = make_set(n_classes, missing=0.02)
    model = make(
        CGBoostingClassifier,
        n_estimators=4,
        candidates=candidates,
        early_stopping=False,
        random_state=5,
        **SETTINGS,
    ).fit(X, y)
    twin = Boosting(X, y, model.candidates_.thresholds_, seed=5, **SETTINGS)
    for t in range(4):
        found = core_tree(model, t)
        same_trees(found, twin.tree(t, following(found)))
        twin.add(found)


# --- one rule at a time ---------------------------------------------------------------


def stump(X, y, dictionary, **more):
    return fit(
        np.asarray(X, dtype=float),
        y,
        dictionary,
        n_rounds=1,
        **{**SETTINGS, "max_leaf_nodes": 2, "min_samples_leaf": 1, **more},
    ).trees_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_equal_features(n_classes):
    X = np.repeat(np.random.default_rng(0).normal(size=(200, 1)), 9, axis=1)
    y = np.arange(200) % n_classes
    dictionary = [[]] + [np.linspace(-2, 2, 9)] * 8
    assert stump(X, y, dictionary).feature[0] == 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_equal_thresholds(n_classes):
    # All thresholds from 0.5 to 8.5 split the rows in the same way.
    y = np.repeat(np.arange(n_classes), 10)
    X = np.where(y == 0, 0.0, 9.0)[:, None]
    dictionary = [np.arange(-3.5, 12)]
    assert stump(X, y, dictionary).threshold[0] == 4.5
    first = stump(X, y, dictionary, max_candidates=10**6)
    assert first.threshold[0] == 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("nan_class", [0, 1])
def test_missing_values_go_to_the_side_with_more_gain(n_classes, nan_class):
    y = np.repeat(np.arange(n_classes), 12)
    X = np.minimum(y, 1)[:, None] * 9.0
    X[np.flatnonzero(y == nan_class)[:4]] = np.nan
    tree = stump(X, y, [[0.5, 4.5, 8.5]])
    assert tree.threshold[0] == 4.5
    assert tree.missing_left[0] == (nan_class == 0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_missing_values_alone(n_classes):
    # Only the missing values depend on the class.
    y = np.arange(60) % n_classes
    X = np.random.default_rng(0).normal(size=(60, 1))
    X[y == 0] = np.nan
    tree = stump(X, y, [[-0.5, 0.0, 0.5]])
    # Rows with values stay together.
    alone = tree.n_samples[1] if tree.missing_left[0] else tree.n_samples[2]
    assert alone == (y == 0).sum()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("n_low", "left"), [(20, False), (30, False), (40, True)])
def test_new_missing_values_go_to_the_larger_child(n_classes, n_low, left):
    X = np.repeat([0.0, 1.0], [n_low, 60 - n_low])[:, None]
    y = np.where(X[:, 0] == 0, 0, 1 + np.arange(60) % (n_classes - 1))
    tree = stump(X, y, [[0.5]])
    assert tree.feature[0] == 0
    assert tree.missing_left[0] == left


@pytest.mark.parametrize("sampling", ["goss", "mvs"])
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_rates_that_keep_all_rows(sampling, rate):
    X, y, dictionary = make_set(3)
    more = {"top_rate": rate, "other_rate": 1 - rate, "leaf_values": "sample"}
    one = check(X, y, dictionary, sampling=sampling, **more)
    other = check(X, y, dictionary, sampling=None)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_steps_are_limited():
    # One of 400 rows is of class 0: Newton's step is G / H = 400, the limit is log 400.
    y = 1 + np.arange(400) % 2
    y[7] = 0
    X = np.zeros((400, 1))
    X[7] = 1.0
    tree = stump(X, y, [[0.5]], learning_rate=1.0, l2_regularization=0.0)
    assert tree.leaf_values[1, 0] == pytest.approx(np.log(400), rel=1e-5)


@pytest.mark.parametrize("n_other", [0, 1])
def test_steps_of_the_margin(n_other):
    # Two of 402 rows are of class 1, in a leaf with `n_other` rows of class 0. Each
    # class limits the step; in a pure leaf nothing does.
    y = np.zeros(402, dtype=int)
    y[:2] = 1
    X = np.zeros((402, 1))
    X[: 2 + n_other] = 1.0
    tree = stump(X, y, [[0.5]], learning_rate=1.0, l2_regularization=0.0)
    n = np.array([n_other, 2])
    p = n.sum() * np.array([400, 2]) / 402
    limit = max(abs(np.log(n / p))) if n_other else 20.0
    assert tree.leaf_values[1, 0] == pytest.approx(limit, rel=1e-5)


# --- the reference itself -------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_gradients_are_derivatives_of_the_loss(n_classes):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, n_classes)) * 3
    y = rng.integers(0, n_classes, 20)
    g = reference_boosting.gradients(scores, y)
    h = reference_boosting.hessians(g)
    for c in range(n_classes):
        d = np.zeros(n_classes)
        d[c] = 1e-4
        up, here, down = (
            reference_boosting.losses(scores + s * d, y) for s in (1, 0, -1)
        )
        np.testing.assert_allclose(g[:, c], (up - down) / 2e-4, atol=1e-7)
        np.testing.assert_allclose(h[:, c], (up - 2 * here + down) / 1e-8, atol=1e-6)


def test_start_is_the_best_constant():
    rng = np.random.default_rng(0)
    y, weights = rng.integers(0, 4, 100), rng.random(100)
    start = reference_boosting.start_scores(y, weights, 4)
    g = reference_boosting.gradients(np.tile(start, (100, 1)), y)
    np.testing.assert_allclose(weights @ g, 0, atol=1e-12)


@pytest.mark.parametrize("rates", [(0.2, 0.1), (0.0, 0.3), (0.29, 0.01), (0.3, 0.0)])
def test_goss_counts(rates):
    a, b = rates
    n = 1000
    norms = np.random.default_rng(0).random(n).astype(np.float32).round(2)
    rows, factors = reference_boosting.goss(norms, 11, a, b)
    n_top, n_other = int(a * n), int(b * n)
    assert len(rows) == n_top + n_other
    if n_other:
        assert factors.sum() == pytest.approx(n)
        shares = np.unique(factors)
        assert shares[-1] == pytest.approx((n - n_top) / n_other)
    longest = np.lexsort((np.arange(n), -norms))[:n_top]
    assert set(longest) <= set(rows)


def mean_estimate(draw, norms, a, b, n_draws=1000):
    """Return the mean, over many samples, of the sums of row weights and of norms."""
    sums = np.zeros(2)
    for key in range(n_draws):
        rows, factors = draw(norms, reference_boosting.mix(key), a, b)
        sums += factors.sum(), (factors * norms[rows]).sum()
    return sums / n_draws


@pytest.mark.parametrize("name", ["goss", "mvs"])
def test_sums_are_unbiased(name):
    # The standard error of the mean of 1000 samples is below 0.5 % of the sums.
    norms = (np.random.default_rng(0).random(100) ** 3).astype(np.float32) + 0.05
    found = mean_estimate(getattr(reference_boosting, name), norms, 0.2, 0.3)
    np.testing.assert_allclose(found, [100, norms.sum()], rtol=0.02)


def test_mvs_samples_the_requested_fraction():
    norms = (np.random.default_rng(0).random(200) ** 3).astype(np.float32)
    sizes = [
        len(reference_boosting.mvs(norms, reference_boosting.mix(key), 0.1, 0.2)[0])
        for key in range(500)
    ]
    assert np.mean(sizes) == pytest.approx(60, rel=0.02)
