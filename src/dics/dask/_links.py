"""Connections between the workers of a fit, over which sums are computed."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics.dask._meeting import CONNECT_SECONDS, Address, Meeting

# Children of a process in the tree of small sums: two levels reach twenty processes.
FAN_OUT = 4
# Longest wait for a process that computes. The client detects a lost process earlier.
SILENCE_SECONDS = 3600.0


class Security(NamedTuple):
    """TLS contexts of both sides of a connection; None without encryption."""

    listening: ssl.SSLContext | None = None
    connecting: ssl.SSLContext | None = None


NOT_ENCRYPTED = Security()


def parent_of(rank: int) -> int | None:
    """Return the parent of a process; None for the root."""
    return None if rank == 0 else (rank - 1) // FAN_OUT


def children_of(rank: int, n_ranks: int) -> range:
    """Return the children of a process."""
    first = FAN_OUT * rank + 1
    return range(min(first, n_ranks), min(first + FAN_OUT, n_ranks))


def partners_of(rank: int, n_ranks: int) -> list[int]:
    """Return all other processes, in an order in which pairs meet at the same time.

    It is a round-robin tournament; with an odd number, one process pauses per round.

    >>> [partners_of(rank, 4) for rank in range(4)]
    [[3, 1, 2], [2, 0, 3], [1, 3, 0], [0, 2, 1]]
    """
    n_rounds = n_ranks - 1 + n_ranks % 2
    found = []
    for i in range(n_rounds):
        if rank == n_rounds:
            other = i * (n_rounds + 1) // 2 % n_rounds
        else:
            other = (i - rank) % n_rounds
            other = n_rounds if other == rank else other
        if other < n_ranks:
            found.append(other)
    return found


def listen(host: str) -> socket.socket:
    """Open a port that the system chooses."""
    family = socket.getaddrinfo(host, None)[0][0]
    return socket.create_server((host, 0), family=family, backlog=socket.SOMAXCONN)


class Links:
    """The connections of one process to all others.

    Parameters
    ----------
    rank : int
        Index of this process; process 0 has no parent.
    addresses : list of Address
        Addresses of all processes.
    listener : socket
        The port of this process.
    token : bytes
        Shared secret of the processes; see `Meeting`.
    runs : ndarray of shape (n_runs, 3)
        Runs of adjacent rows: index of the first row in this process, its index in the
        whole collection, number of rows.
    run_starts : ndarray
        First rows of the runs of all processes in the whole collection, increasing.
    security : Security
    """

    def __init__(
        self,
        rank: int,
        addresses: list[Address],
        listener: socket.socket,
        token: bytes,
        runs: npt.NDArray[np.int64],
        run_starts: npt.NDArray[np.int64],
        security: Security = NOT_ENCRYPTED,
    ) -> None:
        self.rank = rank
        self.n_ranks = len(addresses)
        self.runs = np.ascontiguousarray(runs, dtype=np.int64).reshape(-1, 3)
        self.run_starts = np.ascontiguousarray(run_starts, dtype=np.int64)
        self._addresses = addresses
        self._listener = listener
        self._token = token
        self._security = security
        self._opened: list[socket.socket] = []
        self._peers: dict[int, socket.socket] = {}  # by rank
        self._is_closed = False
        self._lock = threading.Lock()
        self.peers = self._make_peers()  # without connections yet

    # --- connections --------------------------------------------------------

    def open(self) -> bool:
        """Connect to all other processes; return False if that fails."""
        meeting = Meeting(self.rank, self._addresses, self._listener, self._token)
        links: dict[int, socket.socket] = {}
        try:
            links = meeting.links(lambda: self._is_closed)
            self._listener.close()  # nobody else is expected
            for rank, link in links.items():
                self._peers[rank] = self._keep(self._wrapped(rank, link))
            # All processes have the same order of pairs, so none waits in a circle.
            for _, link in sorted(self._peers.items()):
                if isinstance(link, ssl.SSLSocket):
                    link.settimeout(CONNECT_SECONDS)
                    link.do_handshake()
                    link.settimeout(SILENCE_SECONDS)
            self.peers = self._make_peers()
        except OSError:
            for link in links.values():  # some may not be kept yet
                link.close()
            self.close()
            return False
        return True

    def _wrapped(self, rank: int, link: socket.socket) -> socket.socket:
        """Return the encrypted connection, without a handshake yet."""
        listening, connecting = self._security
        if rank < self.rank and connecting is not None:
            host = self._addresses[rank].host
            return connecting.wrap_socket(
                link, server_hostname=host, do_handshake_on_connect=False
            )
        if rank > self.rank and listening is not None:
            return listening.wrap_socket(
                link, server_side=True, do_handshake_on_connect=False
            )
        return link

    def _keep(self, link: socket.socket) -> socket.socket:
        with self._lock:
            if self._is_closed:  # by another thread, meanwhile
                link.close()
                raise ConnectionAbortedError
            self._opened.append(link)
        # Small messages must not wait for more data.
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.settimeout(SILENCE_SECONDS)
        return link

    def close(self) -> None:
        """Close all connections, from any thread; waiting processes get an error."""
        with self._lock:
            self._is_closed = True
            for link in (*self._opened, self._listener):
                with contextlib.suppress(OSError):
                    # `close` alone would not wake up a thread that waits for data.
                    link.shutdown(socket.SHUT_RDWR)
                link.close()

    # --- sums ---------------------------------------------------------------

    def _make_peers(self) -> _core.Peers:
        """Return an object with which the core uses the connections."""
        parent = parent_of(self.rank)
        # The core reads plain sockets itself: two processes then took 1.13x the CPU
        # time of one, and 1.34x through Python (1,000,000 x 50; 2026-11).
        is_plain = _core.HAS_SOCKETS and self._security == NOT_ENCRYPTED
        sockets = self._peers
        return _core.Peers(
            rank=self.rank,
            n_ranks=self.n_ranks,
            parent=-1 if parent is None else parent,
            children=list(children_of(self.rank, self.n_ranks)),
            partners=partners_of(self.rank, self.n_ranks),
            runs=self.runs,
            run_starts=self.run_starts,
            descriptors={rank: link.fileno() for rank, link in sockets.items()}
            if is_plain
            else None,
            # Without a reference to `self`: objects of the core are not collected by
            # the garbage collector, so that a cycle would never be freed.
            send=partial(_send, sockets),
            receive=partial(_receive, sockets),
        )

    def allreduce(self, values: npt.NDArray[Any]) -> bool:
        """Replace values by their sums over all processes; False if one is lost."""
        is_complete = self.peers.allreduce(values)
        if not is_complete:
            self.close()  # so that the other processes notice
        return is_complete

    def allreduce_max(self, values: npt.NDArray[np.float64]) -> bool:
        """Replace values by their maxima over processes; False if one is lost."""
        is_complete = self.peers.allreduce_max(values)
        if not is_complete:
            self.close()
        return is_complete


def _send(
    sockets: dict[int, socket.socket], rank: int, values: npt.NDArray[np.uint8]
) -> bool:
    try:
        sockets[rank].sendall(values.data)
    except OSError:
        return False
    return True


def _receive(
    sockets: dict[int, socket.socket], rank: int, to: npt.NDArray[np.uint8]
) -> bool:
    """Fill an array with the next bytes; return False if the connection is closed."""
    view = to.data
    try:
        while len(view):
            n = sockets[rank].recv_into(view)
            if n == 0:
                return False
            view = view[n:]
    except OSError:
        return False
    return True
