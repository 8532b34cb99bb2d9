"""Rounds after the loss of a worker equal those of an uninterrupted fit."""

import threading

import numpy as np
import pytest
from checks import ARRAYS

from dics import BoostingOptions, CGBoostingClassifier, CGBoostingRegressor, _core
from dics._boosting.rows import LocalCodes

pytestmark = pytest.mark.core
_links = pytest.importorskip("dics.dask._links")
_meeting = pytest.importorskip("dics.dask._meeting")


rng = np.random.default_rng(0)
X = rng.normal(size=(400, 60)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 0).astype(int)
MODELS = {
    "features by gains": CGBoostingClassifier(
        n_estimators=8, max_features="auto", random_state=0
    ),
    "splits once": CGBoostingClassifier(
        n_estimators=8,
        advanced=BoostingOptions(reuse_splits=False, max_candidates=40),
        sampling="goss",
        random_state=0,
    ),
    "numbers": CGBoostingRegressor(loss="poisson", n_estimators=8, random_state=0),
}


class Messages:
    """A limit on the number of messages that two ranks send."""

    def __init__(self, monkeypatch, n_left):
        self.n_left = n_left
        monkeypatch.setattr("dics._core.HAS_SOCKETS", False)
        send = _links._send

        def counted(*message):
            self.n_left -= 1
            return self.n_left >= 0 and send(*message)

        monkeypatch.setattr("dics.dask._links._send", counted)


def half(arrays, rows):
    """Return the rows of one rank."""
    codes, *others = arrays
    codes = np.asarray(codes).reshape(-1, len(others[-1]))[:, rows]
    return (codes.ravel(), *(a if a is None else a[rows].copy() for a in others))


def run_job(job, training, after_round, peers=None, n_threads=1):
    """Run the rounds of a job without validation rows."""
    return _core.boost(
        training=training,
        validation=[],
        peers=peers,
        n_threads=n_threads,
        **job.core_arguments(after_round),
    )


def boost_together(job, arrays):
    """Boost on two ranks; return trees, splits, rounds and the loss of each."""
    n = len(arrays[-1])
    cuts = [0, n // 3, n]
    listeners = [_links.listen("127.0.0.1") for _ in range(2)]
    addresses = [_meeting.Address(*listener.getsockname()) for listener in listeners]
    found = [None, None]

    def run(rank):
        begin, end = cuts[rank : rank + 2]
        runs = np.array([[0, begin, end - begin]])
        token = bytes(_meeting.TOKEN_BYTES)
        links = _links.Links(
            rank, addresses, listeners[rank], token, runs, np.array(cuts[:2])
        )
        assert links.open()
        rounds = []
        trees, used, is_lost = run_job(
            job,
            half(arrays, slice(begin, end)),
            lambda *losses: rounds.append(losses) or job.settings.learning_rate,
            links.peers,
        )
        links.close()
        found[rank] = job.as_trees(trees), used, max(0, len(rounds) - 1), is_lost

    threads = [threading.Thread(target=run, args=[rank]) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def bytes_of(trees):
    return [getattr(trees, name).tobytes() for name in ARRAYS]


def boost_rest(job, arrays, done, used):
    """Boost the remaining rounds on all rows, and return all trees."""
    own = half(arrays, slice(None))
    for t in range(len(done)):
        done[t].add_values(X, own[-1][:, : len(job.start)], n_threads=1)
    later = job.after(done, used)
    trees, _, is_lost = run_job(later, own, lambda *_: job.settings.learning_rate)
    assert not is_lost
    return done.concat(later.as_trees(trees))


@pytest.mark.parametrize("name", MODELS)
def test_loss_at_any_message(name, monkeypatch):
    """Both ranks raise; the fit continues after the rounds that one of them stored."""

    def boost(rows, job, _, rounds, n_threads):
        arrays = [a if a is None else np.copy(a) for a in rows.arrays()]
        trees, used, _ = run_job(job, rows.arrays(), rounds.note, None, n_threads)
        expected = job.as_trees(trees)
        with monkeypatch.context() as patch:
            messages = Messages(patch, 10**6)
            whole = boost_together(job, arrays)
            n_sent = 10**6 - messages.n_left
        for trees, _, _, is_lost in whole:
            assert bytes_of(trees) == bytes_of(expected)
            assert not is_lost
        for n in {1, n_sent // 3, n_sent // 2, n_sent - 40, n_sent - 9, n_sent - 2}:
            with monkeypatch.context() as patch:
                Messages(patch, n)
                found = boost_together(job, arrays)
            for trees, of_rank, n_rounds, is_lost in found:
                assert is_lost
                done = trees.first(n_rounds)
                assert bytes_of(done) == bytes_of(expected.first(n_rounds))
                whole = boost_rest(job, arrays, done, of_rank)
                assert bytes_of(whole) == bytes_of(expected)
        return expected, used

    monkeypatch.setattr(LocalCodes, "boost", boost)
    MODELS[name].fit(X, Y)
