"""More rows on a cluster than 32 bits can count, by processes with equal rows."""

import numpy as np
import pytest
from copied_peers import CopiedPeers

from dics import FastCGBMClassifier, FastCGBMRegressor
from dics._boosting_rows import CodedRows

pytestmark = pytest.mark.core
N_ROWS = 20_000
MANY = 500_000  # times as many are 10^10


def make_rows(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 5)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 4] = rng.integers(0, 12, N_ROWS)
    of_level = rng.normal(size=12)
    score = np.nan_to_num(X[:, 0]) + of_level[X[:, 4].astype(int)]
    score += np.nan_to_num(X[:, 1]) * (X[:, 2] > 0) + rng.normal(size=N_ROWS)
    if n_classes == 0:
        return X, score
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.digitize(score, cuts)


def fit_copies(model, X, y, n_copies, monkeypatch, **fields):
    """Fit to so many copies of the rows; what counts rows is in proportion."""
    peers = CopiedPeers(N_ROWS, n_copies)

    def boost(rows, call, validation, rounds, n_threads):
        settings = {**call.settings, **fields}
        limits = dict(settings["limits"])
        limits["min_samples_leaf"] *= n_copies
        settings["limits"] = limits
        settings["noise_shrinkage"] = 0.0
        for name in ("l2", "min_gain", "min_sum_hessian", "cat_smooth", "cat_l2"):
            settings[name] *= n_copies
        call = call._replace(settings=settings)
        arrays, used, is_lost = call.run(
            rows.for_core(),
            [held.for_core() for held in validation],
            rounds.note,
            peers,
            n_threads,
        )
        assert not is_lost
        return call.as_trees(arrays), used

    # Norms that differ: of equal ones, each process would take those of its own.
    weights = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    with monkeypatch.context() as patch:
        patch.setattr(CodedRows, "boost", boost)
        model.fit(X, y, weights)
    return peers


def assert_same_trees(one, many, n_copies):
    a, b = one.trees_, many.trees_
    np.testing.assert_array_equal(a.node_starts, b.node_starts)
    np.testing.assert_array_equal(a.feature, b.feature)
    np.testing.assert_array_equal(a.threshold, b.threshold)
    np.testing.assert_array_equal(a.missing_left, b.missing_left)
    if a.sets is not None:
        np.testing.assert_array_equal(a.sets.words, b.sets.words)
    np.testing.assert_allclose(a.leaf_values, b.leaf_values, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(a.weight * n_copies, b.weight, rtol=1e-6)
    np.testing.assert_array_equal(
        np.minimum(a.n_samples.astype(np.int64) * n_copies, 2**31 - 1), b.n_samples
    )
    np.testing.assert_allclose(one.train_score_, many.train_score_, rtol=1e-6)
    assert len(a.feature) > 20


OPTIONS = {
    "n_estimators": 4,
    "min_samples_leaf": 8,
    "max_features": None,
    "early_stopping": False,
    "random_state": 0,
}
KINDS = {
    "two classes": (FastCGBMClassifier, 2, {}),
    "several classes": (FastCGBMClassifier, 4, {}),
    "numbers": (FastCGBMRegressor, 0, {}),
    "middles": (FastCGBMRegressor, 0, {"loss": "absolute_error"}),
    "huber": (FastCGBMRegressor, 0, {"loss": "huber"}),
    "bounds": (FastCGBMClassifier, 2, {"monotonic_cst": [1, 0, 0, 0, 0]}),
    "levels": (FastCGBMClassifier, 2, {"categorical_features": [4]}),
    "levels of classes": (FastCGBMClassifier, 4, {"categorical_features": [4]}),
    "sketch": (FastCGBMClassifier, 6, {"sketch_outputs": 2}),
}
SAMPLINGS = {
    "all": {"sampling": None},
    "goss": {"sampling": "goss", "top_rate": 0.25, "other_rate": 0.25},
    "mvs": {"sampling": "mvs", "top_rate": 0.25, "other_rate": 0.25},
    "leaves": {
        "sampling": "mvs",
        "top_rate": 0.25,
        "other_rate": 0.25,
        "leaf_values": "sample",
    },
}


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_boosting_of_ten_thousand_million_rows(kind, sampling, monkeypatch):
    make, n_classes, own = KINDS[kind]
    X, y = make_rows(n_classes)
    options = {**OPTIONS, **SAMPLINGS[sampling], **own}
    # Sums of 64 bits for few rows too: those of 32 have other units.
    one, many = make(**options), make(**options)
    fit_copies(one, X, y, 1, monkeypatch, narrow_rows=0)
    fit_copies(many, X, y, MANY, monkeypatch)
    assert_same_trees(one, many, MANY)


def test_counts_are_of_64_bits_only_where_they_have_to(monkeypatch):
    X, y = make_rows(2)
    options = {**OPTIONS, **SAMPLINGS["mvs"]}
    for n_copies in (2**32 // N_ROWS, 2**32 // N_ROWS + 1):
        peers = fit_copies(FastCGBMClassifier(**options), X, y, n_copies, monkeypatch)
        of_norms = {kind for kind, length in peers.added if length == 1 << 15}
        assert of_norms == {
            np.dtype(np.int64 if n_copies * N_ROWS >= 2**32 else np.int32)
        }


@pytest.mark.parametrize("n_rare", [7, 8])
@pytest.mark.parametrize("rare", [-9.0, 9.0, np.nan])
def test_the_rows_of_a_leaf_are_counted_one_by_one(rare, n_rare, monkeypatch):
    # In a node of 10^10 rows, a side of 8 copies of a row is as large as it must be.
    X, y = make_rows(0)
    X = np.round(np.nan_to_num(X[:, :3]))  # thresholds between all values
    X[:n_rare, 2] = rare
    y[:n_rare] += 1000
    options = {**OPTIONS, "n_estimators": 1, "max_leaf_nodes": 2, "sampling": None}
    model = FastCGBMRegressor(**options)
    fit_copies(model, X, y, MANY, monkeypatch)
    sizes = model.trees_.n_samples[1:].astype(np.int64)
    is_rare = model.trees_.feature[0] == 2 and n_rare * MANY in sizes
    assert is_rare == (n_rare == 8)
