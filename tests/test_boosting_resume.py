"""Rounds that go on after a peer was lost are those that nobody interrupted."""

import threading

import numpy as np
import pytest
from checks import ARRAYS, digest

from dics import FastCGBMClassifier, FastCGBMRegressor
from dics._boosting_rows import CodedRows

pytestmark = pytest.mark.core
_links = pytest.importorskip("dics.dask._links")


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
        rows.scores[...] = first
        for t in range(len(new)):
            new[t].add_values(boost.X, rows.scores[:, : len(call.start)], n_threads=1)
        later = call.after(new, used)
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


class Messages:
    """Sends so many of two ranks together, and no more."""

    def __init__(self, monkeypatch, n_left):
        self.n_left = n_left
        monkeypatch.setattr("dics._core.HAS_SOCKETS", False)
        send = _links._send

        def counted(*message):
            self.n_left -= 1
            return self.n_left >= 0 and send(*message)

        monkeypatch.setattr("dics.dask._links._send", counted)


def half(arrays, rows):
    """Some of the rows of a call."""
    codes, *others = arrays
    codes = np.asarray(codes).reshape(-1, len(others[-1]))[:, rows]
    return (codes.ravel(), *(a if a is None else a[rows].copy() for a in others))


def boost_together(call, arrays):
    """Boost on two ranks; for each, its arrays, finished rounds and whether it lost."""
    n = len(arrays[-1])
    cuts = [0, n // 3, n]
    listeners = [_links.listen("127.0.0.1") for _ in range(2)]
    addresses = [_links.Address(*listener.getsockname()) for listener in listeners]
    found = [None, None]

    def run(rank):
        begin, end = cuts[rank : rank + 2]
        runs = np.array([[0, begin, end - begin]])
        token = bytes(_links.TOKEN_BYTES)
        links = _links.Links(
            rank, addresses, listeners[rank], token, runs, np.array(cuts[:2])
        )
        assert links.open()
        rounds = []
        trees, _, is_lost = call.run(
            half(arrays, slice(begin, end)),
            [],
            lambda *losses: bool(rounds.append(losses)),
            links.peers,
            1,
        )
        links.close()
        found[rank] = call.as_trees(trees), max(0, len(rounds) - 1), is_lost

    threads = [threading.Thread(target=run, args=[rank]) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def bytes_of(trees):
    return [getattr(trees, name).tobytes() for name in ARRAYS]


@pytest.mark.parametrize("name", MODELS)
def test_a_loss_at_any_message_is_noticed_by_both(name, monkeypatch):
    def boost(rows, call, _, rounds, n_threads):
        arrays = [a if a is None else np.copy(a) for a in rows.for_core()]
        trees, used, _ = call.run(rows.for_core(), [], rounds.note, None, n_threads)
        expected = call.as_trees(trees)
        with monkeypatch.context() as patch:
            messages = Messages(patch, 10**6)
            whole = boost_together(call, arrays)
            n_sent = 10**6 - messages.n_left
        assert all(bytes_of(trees) == bytes_of(expected) for trees, _, _ in whole)
        assert not any(is_lost for _, _, is_lost in whole)
        for n in {1, n_sent // 3, n_sent // 2, n_sent - 40, n_sent - 9, n_sent - 2}:
            with monkeypatch.context() as patch:
                Messages(patch, n)
                for trees, n_rounds, is_lost in boost_together(call, arrays):
                    assert is_lost
                    assert bytes_of(trees.first(n_rounds)) == bytes_of(
                        expected.first(n_rounds)
                    )
        return expected, used

    monkeypatch.setattr(CodedRows, "boost", boost)
    MODELS[name].fit(X, Y)
