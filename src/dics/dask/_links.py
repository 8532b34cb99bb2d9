"""Sums over processes, by connections between them.

The processes form a tree: each adds what its children send to what it has, sends that
to its parent, and hands the sum back to its children. What is added are whole numbers,
so that the shape of the tree doesn't matter. Nothing here knows Dask.
"""

from __future__ import annotations

import contextlib
import hmac
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# Children of a process. Two levels of them reach twenty others.
FAN_OUT = 4
TOKEN_BYTES = 32
# Kind of the sum, its number and its bytes: all processes must be at the same one.
_HEADER = struct.Struct("<BQQ")
_RANK = struct.Struct("<I")
_ADD, _LARGEST = 1, 2
# To connect, and to hear from a peer that computes: who watches over the fit notices
# lost ones much earlier.
CONNECT_SECONDS = 120.0
# For one that has connected to say who it is.
GREETING_SECONDS = 10.0
SILENCE_SECONDS = 3600.0
SMALL_BYTES = 1 << 14


class Address(NamedTuple):
    """Where a process listens."""

    host: str
    port: int


class Security(NamedTuple):
    """How connections are encrypted; None for those that aren't."""

    listening: ssl.SSLContext | None = None
    connecting: ssl.SSLContext | None = None


NOT_ENCRYPTED = Security()


class Disagreement(RuntimeError):
    """Processes that are not at the same step: a bug, never the network."""


def parent_of(rank: int) -> int | None:
    """Return the parent of a process, if it has one."""
    return None if rank == 0 else (rank - 1) // FAN_OUT


def children_of(rank: int, n_ranks: int) -> range:
    """Return the children of a process."""
    first = FAN_OUT * rank + 1
    return range(min(first, n_ranks), min(first + FAN_OUT, n_ranks))


def listen(host: str) -> socket.socket:
    """Open a port that the system chooses."""
    family = socket.getaddrinfo(host, None)[0][0]
    return socket.create_server((host, 0), family=family, backlog=2 * FAN_OUT)


class Links:
    """The connections of one process to its parent and its children.

    Parameters
    ----------
    rank : int
        Number of this process; process 0 has no parent.
    addresses : sequence of Address
        Where all of them listen.
    listener : socket
        The port of this one.
    token : bytes
        What all of them know; others that connect are turned away.
    runs : ndarray of shape (n_runs, 3)
        Rows of this process: the first here, its number in the whole, how many.
    run_starts : ndarray
        Numbers of the first rows of the runs of all processes, rising.
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
        self.n_sums = self.bytes_sent = 0
        self._addresses = addresses
        self._listener = listener
        self._token = token
        self._security = security
        self._opened: list[socket.socket] = []
        self._parent: socket.socket | None = None
        self._children: list[socket.socket] = []
        self._is_closed = False
        self._lock = threading.Lock()
        self._buffer = np.empty(0, dtype=np.uint8)

    # --- connections --------------------------------------------------------

    def open(self) -> bool:
        """Connect; return False if that fails."""
        try:
            self._connect_parent()
            self._accept_children()
        except OSError:
            self.close()
            return False
        return True

    def _connect_parent(self) -> None:
        parent = parent_of(self.rank)
        if parent is None:
            return
        address = self._addresses[parent]
        link = socket.create_connection(address, timeout=CONNECT_SECONDS)
        if self._security.connecting is not None:
            link = self._security.connecting.wrap_socket(
                link, server_hostname=address.host
            )
        self._parent = self._keep(link)
        link.sendall(self._token + _RANK.pack(self.rank))

    def _accept_children(self) -> None:
        expected = set(children_of(self.rank, self.n_ranks))
        found: dict[int, socket.socket] = {}
        deadline = time.monotonic() + CONNECT_SECONDS
        while expected - set(found):
            self._listener.settimeout(max(0.01, deadline - time.monotonic()))
            link, _ = self._listener.accept()
            greeted = self._greeted(link)
            if greeted is not None and greeted[0] in expected:
                found[greeted[0]] = self._keep(greeted[1])
            else:
                link.close()
        self._children = [found[rank] for rank in sorted(found)]

    def _greeted(self, link: socket.socket) -> tuple[int, socket.socket] | None:
        """Return which child this is and its link; None if it isn't one of ours."""
        try:
            link.settimeout(GREETING_SECONDS)
            if self._security.listening is not None:
                link = self._security.listening.wrap_socket(link, server_side=True)
            greeting = np.empty(TOKEN_BYTES + _RANK.size, dtype=np.uint8)
            _receive(link, greeting)
        except OSError:
            return None
        text = greeting.tobytes()
        if not hmac.compare_digest(text[:TOKEN_BYTES], self._token):
            return None
        return int(_RANK.unpack(text[TOKEN_BYTES:])[0]), link

    def _keep(self, link: socket.socket) -> socket.socket:
        with self._lock:
            if self._is_closed:  # meanwhile
                link.close()
                raise ConnectionAbortedError
            self._opened.append(link)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.settimeout(SILENCE_SECONDS)
        return link

    def close(self) -> None:
        """Close all connections; whoever waits for one notices. From any thread."""
        with self._lock:
            self._is_closed = True
            for link in (*self._opened, self._listener):
                with contextlib.suppress(OSError):
                    link.shutdown(socket.SHUT_RDWR)
                link.close()

    @property
    def bytes_of_all(self) -> int:
        """Bytes that all processes have sent, as process 0 knows it.

        Every sum passes each link twice, and has the same size on all of them.
        """
        if not self._children:
            return 0
        return self.bytes_sent // len(self._children) * 2 * (self.n_ranks - 1)

    # --- sums ---------------------------------------------------------------

    def add(self, values: npt.NDArray[Any]) -> bool:
        """Replace numbers by the sums of all processes; False if one is lost."""
        return self._reduce(values, _ADD, np.add)

    def largest(self, values: npt.NDArray[Any]) -> bool:
        """Replace numbers by the largest of all processes; False if one is lost."""
        return self._reduce(values, _LARGEST, np.maximum)

    def _reduce(
        self, values: npt.NDArray[Any], kind: int, join: Callable[..., Any]
    ) -> bool:
        header = _HEADER.pack(kind, self.n_sums, values.nbytes)
        self.n_sums += 1
        own = values.view(np.uint8)
        if len(self._buffer) < len(own):
            self._buffer = np.empty(len(own), dtype=np.uint8)
        received = self._buffer[: len(own)]
        try:
            for child in self._children:
                self._check_header(child, header)
                _receive(child, received)
                join(values, received.view(values.dtype), out=values)
            if self._parent is not None:
                self._send(self._parent, header, own)
                self._check_header(self._parent, header)
                _receive(self._parent, own)
            for child in self._children:
                self._send(child, header, own)
        except OSError:
            self.close()
            return False
        return True

    def _check_header(self, link: socket.socket, expected: bytes) -> None:
        header = np.empty(_HEADER.size, dtype=np.uint8)
        _receive(link, header)
        if header.tobytes() != expected:
            self.close()
            raise Disagreement(
                f"process {self.rank} is at {_HEADER.unpack(expected)}, another at "
                f"{_HEADER.unpack(header.tobytes())}"
            )

    def _send(
        self, link: socket.socket, header: bytes, values: npt.NDArray[np.uint8]
    ) -> None:
        # Small ones in one packet.
        if len(values) < SMALL_BYTES:
            link.sendall(header + values.tobytes())
        else:
            link.sendall(header)
            link.sendall(values.data)
        self.bytes_sent += len(header) + len(values)


def _receive(link: socket.socket, to: npt.NDArray[np.uint8]) -> None:
    """Fill an array with what comes next."""
    view = to.data
    while len(view):
        n = link.recv_into(view)
        if n == 0:
            raise ConnectionResetError("the connection was closed")
        view = view[n:]
