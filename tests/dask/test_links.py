"""Sums over connections; threads replace processes."""

import threading
import weakref

import numpy as np
import pytest

from dics.dask._links import (
    Links,
    children_of,
    listen,
    parent_of,
    partners_of,
)
from dics.dask._meeting import TOKEN_BYTES, Address

TOKEN = bytes(range(TOKEN_BYTES))
NO_ROWS = np.empty((0, 3), dtype=np.int64)


def make_links(n_ranks):
    listeners = [listen("127.0.0.1") for _ in range(n_ranks)]
    addresses = [Address(*listener.getsockname()) for listener in listeners]
    return [
        Links(rank, addresses, listener, TOKEN, NO_ROWS, np.empty(0))
        for rank, listener in enumerate(listeners)
    ]


def in_threads(links, work):
    """Call `work` for all ranks at once; return each result or error."""
    found = [None] * len(links)

    def run(rank):
        try:
            found[rank] = work(links[rank])
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=[r]) for r in range(len(links))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return found


def reduced(links, name, own):
    return in_threads(links, lambda link: getattr(link, name)(own[link.rank]))


def slices_added(links, own, starts):
    return in_threads(
        links, lambda link: link.peers.reduce_scatter(own[link.rank], starts)
    )


@pytest.fixture(params=["core", "Python"])
def opened(request, monkeypatch):
    """Return a function that opens links, and close them at the end."""
    made = []
    if request.param == "Python":
        monkeypatch.setattr("dics._core.HAS_SOCKETS", False)

    def make(n_ranks):
        made.extend(links := make_links(n_ranks))
        assert all(in_threads(links, Links.open))
        return links

    yield make
    for links in made:
        links.close()


@pytest.mark.parametrize("n_ranks", range(1, 8))
def test_every_rank_has_one_parent(n_ranks):
    for rank in range(1, n_ranks):
        assert rank in children_of(parent_of(rank), n_ranks)
    assert (
        sum(len(children_of(rank, n_ranks)) for rank in range(n_ranks)) == n_ranks - 1
    )


@pytest.mark.parametrize("n_ranks", range(1, 8))
def test_sums_and_largest(opened, n_ranks):
    links = opened(n_ranks)
    rng = np.random.default_rng(n_ranks)
    for n, dtype in [(1, "i4"), (100, "i8"), (50_000, "i4"), (0, "i8")]:
        values = rng.integers(-(10**6), 10**6, (n_ranks, n)).astype(dtype)
        own = values.copy()
        assert all(reduced(links, "allreduce", own))
        np.testing.assert_array_equal(own, np.tile(values.sum(axis=0), (n_ranks, 1)))
        own = values.astype(np.float64)
        assert all(reduced(links, "allreduce_max", own))
        np.testing.assert_array_equal(own, np.tile(values.max(axis=0), (n_ranks, 1)))
    assert {link.peers.n_sums for link in links} == {8}
    assert links[0].peers.bytes_of_all == sum(link.peers.bytes_sent for link in links)


def test_sums_wrap_around(opened):
    links = opened(2)
    own = np.full((2, 1), 2**63 - 1)
    assert all(reduced(links, "allreduce", own))
    np.testing.assert_array_equal(own, -2)


@pytest.mark.parametrize("n_ranks", [*range(1, 10), 12])
def test_slices(opened, n_ranks):
    links = opened(n_ranks)
    rng = np.random.default_rng(n_ranks)
    for dtype, longest in [("i4", 9), ("i8", 9), ("i4", 40_000)]:
        # Some are empty.
        sizes = np.maximum(0, rng.integers(-longest // 3, longest, n_ranks))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        values = rng.integers(-(10**6), 10**6, (n_ranks, starts[-1])).astype(dtype)
        own = values.copy()
        assert all(slices_added(links, own, starts))
        for rank in range(n_ranks):
            mine = slice(starts[rank], starts[rank + 1])
            np.testing.assert_array_equal(own[rank, mine], values[:, mine].sum(axis=0))
    assert links[0].peers.bytes_of_all == sum(link.peers.bytes_sent for link in links)


@pytest.mark.parametrize("n_ranks", [2, 3, 8, 9])
def test_gather(opened, n_ranks):
    links = opened(n_ranks)
    whole = np.arange(5 * n_ranks)
    own = np.zeros((n_ranks, len(whole)), dtype=np.int64)
    for rank in range(n_ranks):
        mine = slice(5 * rank, 5 * rank + 5)
        own[rank, mine] = whole[mine]
    assert all(in_threads(links, lambda link: link.peers.allgather(own[link.rank])))
    np.testing.assert_array_equal(own, np.tile(whole, (n_ranks, 1)))
    assert links[0].peers.bytes_of_all == sum(link.peers.bytes_sent for link in links)


@pytest.mark.parametrize("n_ranks", range(1, 12))
def test_partners_exchange_at_once(n_ranks):
    order = [partners_of(rank, n_ranks) for rank in range(n_ranks)]
    for rank, partners in enumerate(order):
        assert sorted([*partners, rank]) == list(range(n_ranks))
    waiting = [list(partners) for partners in order]
    while any(waiting):  # no rank waits for a rank that waits
        pairs = [
            (rank, partners[0])
            for rank, partners in enumerate(waiting)
            if partners and waiting[partners[0]][0] == rank
        ]
        assert pairs
        for rank, _ in pairs:
            waiting[rank].pop(0)


def test_wrong_starts_of_slices_are_rejected(opened):
    (link,) = opened(1)
    with pytest.raises(ValueError, match="starts must have one start per rank"):
        link.peers.reduce_scatter(np.zeros(3, dtype=np.int32), np.array([0, 1, 3]))


def test_largest_of_floats(opened):
    links = opened(3)
    own = np.array([[0.5], [-np.inf], [2.0]])
    assert all(in_threads(links, lambda link: link.allreduce_max(own[link.rank])))
    np.testing.assert_array_equal(own, 2.0)


@pytest.mark.parametrize("lost", [0, 1, 5, 6])
def test_lost_process_is_detected_by_all(opened, lost):
    links = opened(7)
    links[lost].close()
    own = np.ones((7, 40_000), dtype=np.int64)
    found = in_threads(links, lambda link: link.allreduce(own[link.rank]))
    if lost in (5, 6):  # its parent and the root, which close their links
        assert not found[1]
    assert not any(
        in_threads(links, lambda link: link.allreduce(own[link.rank])),
    )


@pytest.mark.parametrize("lost", range(3))
def test_loss_among_slices_is_detected_by_all(opened, lost):
    links = opened(3)
    starts = np.linspace(0, 600_000, 4).astype(np.int64)
    own = np.ones((3, 600_000), dtype=np.int64)

    def work(link):
        if link.rank == lost:
            link.close()
            return False
        found = link.peers.reduce_scatter(own[link.rank], starts)
        if not found:
            link.close()
        return found and link.allreduce(own[link.rank])

    assert not any(in_threads(links, work))


def test_close_ends_a_wait(opened):
    links = opened(2)
    threading.Timer(0.2, links[0].close).start()
    assert not links[0].allreduce(np.ones(1, dtype=np.int64))


def test_disagreement(opened):
    links = opened(2)

    def work(link):
        values = np.ones(1 + link.rank, dtype=np.int64)
        try:
            return link.allreduce(values)
        finally:
            link.close()

    found = in_threads(links, work)
    assert isinstance(found[0], RuntimeError)
    assert "operation 0 of kind 1 with 8 bytes, another at operation 0 of" in str(
        found[0]
    )
    assert found[1] is False


def test_different_kinds_disagree(opened):
    links = opened(2)

    def work(link):
        try:
            return (link.allreduce_max if link.rank else link.allreduce)(
                np.ones(1, dtype="f8" if link.rank else "i8")
            )
        finally:
            link.close()

    assert isinstance(in_threads(links, work)[0], RuntimeError)


def test_links_are_not_a_cycle():
    (link,) = make_links(1)
    assert link.open()
    link.close()
    found = weakref.ref(link)
    del link
    assert found() is None
