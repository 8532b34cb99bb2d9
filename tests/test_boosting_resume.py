"""Rounds that go on after a peer was lost are those that nobody interrupted."""

import numpy as np
import pytest
from checks import digest

from dics import FastCGBMClassifier, FastCGBMRegressor
from dics._boosting_call import kept_splits
from dics._boosting_rows import CodedRows

pytestmark = pytest.mark.core


class LostPeers:
    """No other process, and after some sums one less."""

    def __init__(self, n_rows, n_sums):
        self.runs = np.array([[0, 0, n_rows]], dtype=np.int64)
        self.run_starts = np.zeros(1, dtype=np.int64)
        self.n_left = n_sums

    def add(self, _):
        self.n_left -= 1
        return self.n_left >= 0

    largest = add


def boost_with_a_loss(n_sums):
    """Boost until so many sums were made, and go on from the rounds that were noted."""

    def boost(rows, call, validation, rounds, n_threads):
        assert validation == []
        noted = []
        first = rows.scores.copy()
        arrays, used, is_lost = call.run(
            rows.for_core(),
            [],
            lambda *losses: bool(noted.append(losses)),
            LostPeers(rows.n_rows, n_sums),
            n_threads,
        )
        assert is_lost
        new = call.as_trees(arrays).first(max(0, len(noted) - 1))
        settings = dict(call.settings)
        settings["first_round"] += len(new)
        settings["n_rounds"] -= len(new)
        trees = call.trees.followed_by(new)
        n_features = len(call.dictionary.offsets) - 1
        settings["feature_gains"] = trees.feature_gains(n_features).tolist()
        rows.scores[...] = first
        for t in range(len(new)):
            new[t].add_values(boost.X, rows.scores[:, : len(call.start)], n_threads=1)
        later = call._replace(
            settings=settings,
            trees=trees,
            used_splits=kept_splits(call.used_splits, used, new),
        )
        arrays, used, is_lost = later.run(
            rows.for_core(), [], rounds.note, None, n_threads
        )
        assert not is_lost
        return new.followed_by(later.as_trees(arrays)), used

    return boost


rng = np.random.default_rng(0)
X = rng.normal(size=(400, 60)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 0).astype(int)
MODELS = {
    "features by gains": FastCGBMClassifier(8, max_features="auto", random_state=0),
    "splits once": FastCGBMClassifier(
        8, reuse_splits=False, max_candidates=40, sampling="goss", random_state=0
    ),
    "numbers": FastCGBMRegressor("poisson", n_estimators=8, random_state=0),
}


def count_sums(model, monkeypatch):
    """How many sums a fit makes."""
    enough = 10**6
    made = []

    def boost(rows, call, _, rounds, n_threads):
        peers = LostPeers(rows.n_rows, enough)
        arrays, used, _ = call.run(rows.for_core(), [], rounds.note, peers, n_threads)
        made.append(enough - peers.n_left)
        return call.as_trees(arrays), used

    with monkeypatch.context() as patch:
        patch.setattr(CodedRows, "boost", boost)
        model.fit(X, Y)
    return sum(made)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_trees(name, monkeypatch):
    model = MODELS[name]
    expected = digest(model.fit(X, Y))
    n_all = count_sums(model, monkeypatch)
    for n_sums in {3, n_all // 4, n_all // 2, n_all - 5, n_all - 2, n_all - 1}:
        boost = boost_with_a_loss(n_sums)
        boost.X = X
        with monkeypatch.context() as patch:
            patch.setattr(CodedRows, "boost", boost)
            assert digest(model.fit(X, Y)) == expected, n_sums
