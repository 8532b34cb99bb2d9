"""Meeting of the processes of a fit: each pair connects and proves a shared secret.

Both sides of a connection send a hello: their rank and a random number. Then the caller
proves the secret, and after it the listener. A proof is an HMAC of both hellos, first
that of its sender: it is valid once, on one connection and in one direction. The secret
itself is never sent.
"""

from __future__ import annotations

import contextlib
import hmac
import math
import os
import secrets
import selectors
import socket
import struct
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

T = TypeVar("T")
# Each `yield` waits for data of the other side.
Steps = Generator[None, None, T]

TOKEN_BYTES = 32
PROOF_BYTES = 32
HELLO = struct.Struct("<I32s")  # rank and random number
# Time for all connections.
CONNECT_SECONDS = 120.0
# Time for the whole greeting of an accepted connection.
GREETING_SECONDS = 10.0
# Time for an attempt to connect. The system drops attempts without an error while
# strangers fill the queue of a port; its own second attempt would begin after 1 s.
CALL_SECONDS = 0.5
# Pause before the next attempt, and between two checks of the clock.
PAUSE_SECONDS = 0.05
# Accepted connections without a proof. For a new one, the oldest is closed.
MAX_UNPROVED = 128
# Connections that are accepted at a time, so that greetings go on during a flood.
ACCEPTED_AT_ONCE = 32


class Address(NamedTuple):
    """Host and port on which a process listens."""

    host: str
    port: int


@dataclass(eq=False)
class Greeting:
    """A connection without a proof; `called` is the rank of the listener, if known."""

    link: socket.socket
    steps: Steps[int]
    deadline: float
    called: int | None = None


class Meeting:
    """Greetings of a process with all others, at the same time.

    Each pair has one connection: higher ranks call, lower ranks listen. Strangers can
    connect as well, so they must not delay the greetings of other processes.

    Parameters
    ----------
    rank : int
        Index of this process.
    addresses : list of Address
        Addresses of all processes.
    listener : socket
        The port of this process.
    token : bytes
        The secret of the processes, for one meeting only.
    """

    def __init__(
        self,
        rank: int,
        addresses: list[Address],
        listener: socket.socket,
        token: bytes,
    ) -> None:
        self._rank = rank
        self._addresses = addresses
        self._listener = listener
        self._token = token
        self._selector = selectors.DefaultSelector()
        self._calls = dict.fromkeys(range(rank), 0.0)  # times of the next attempts
        self._called: list[Greeting] = []
        self._accepted: list[Greeting] = []  # the oldest first
        self._links: dict[int, socket.socket] = {}

    def links(self, is_over: Callable[[], bool]) -> dict[int, socket.socket]:
        """Return connections to all other processes, by rank; raise if that fails.

        `is_over` is called from time to time; if it returns True, the meeting fails.
        """
        checked, deadline = 0.0, time.monotonic() + CONNECT_SECONDS
        self._listener.setblocking(False)
        try:
            self._selector.register(self._listener, selectors.EVENT_READ)
            while len(self._links) < len(self._addresses) - 1:
                now = time.monotonic()
                if now - checked >= PAUSE_SECONDS:
                    checked = now
                    if is_over() or now > deadline:
                        raise ConnectionAbortedError("the processes have not met")
                    self._end_late(now)
                    self._call(now)
                ready = [key.data for key, _ in self._selector.select(PAUSE_SECONDS)]
                for greeting in filter(None, ready):
                    self._go_on(greeting)
                if None in ready:  # the listener; at last, because it may end others
                    self._accept()
        except OSError:
            for link in self._links.values():
                link.close()
            raise
        finally:
            for greeting in (*self._called, *self._accepted):
                greeting.link.close()
            self._selector.close()
        return self._links

    # --- connections --------------------------------------------------------

    def _call(self, now: float) -> None:
        """Begin to connect to processes whose next attempt is due."""
        for rank, due in list(self._calls.items()):
            if due <= now:
                del self._calls[rank]
                family, *_, address = socket.getaddrinfo(
                    *self._addresses[rank], type=socket.SOCK_STREAM
                )[0]
                link = socket.socket(family, socket.SOCK_STREAM)
                self._begin(link, range(rank, rank + 1), CALL_SECONDS, rank)
                with contextlib.suppress(BlockingIOError):  # it connects meanwhile
                    link.connect(address)

    def _accept(self) -> None:
        """Accept some of the waiting connections."""
        later = range(self._rank + 1, len(self._addresses))
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                link, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:  # no file descriptor is left
                if not self._accepted:
                    raise
                self._end(self._accepted[0])
                continue
            if len(self._accepted) == MAX_UNPROVED:
                self._end(self._accepted[0])
            self._begin(link, later, GREETING_SECONDS)

    def _begin(
        self,
        link: socket.socket,
        expected: range,
        seconds: float,
        called: int | None = None,
    ) -> None:
        link.setblocking(False)
        deadline = time.monotonic() + seconds
        greeting = Greeting(link, self._greet(link, expected), deadline, called)
        self._group(greeting).append(greeting)
        self._selector.register(link, selectors.EVENT_WRITE, greeting)

    def _group(self, greeting: Greeting) -> list[Greeting]:
        return self._accepted if greeting.called is None else self._called

    def _go_on(self, greeting: Greeting) -> None:
        """Do the next step of a greeting."""
        try:
            next(greeting.steps)
        except StopIteration as end:
            self._forget(greeting)
            # The caller may have lost an earlier connection.
            if end.value in self._links:
                self._links[end.value].close()
            self._links[end.value] = greeting.link
        except (ConnectionResetError, BrokenPipeError):
            self._end(greeting)
        except OSError:
            self._end(greeting)
            if greeting.called is not None:  # nobody listens there, or a stranger
                raise
        else:
            if greeting.called is not None:
                greeting.deadline = math.inf  # the listener may begin much later
            self._selector.modify(greeting.link, selectors.EVENT_READ, greeting)

    def _end_late(self, now: float) -> None:
        for greeting in (*self._called, *self._accepted):
            if now > greeting.deadline:
                self._end(greeting)

    def _end(self, greeting: Greeting) -> None:
        """Close a connection; a process that was called is called again."""
        self._forget(greeting)
        greeting.link.close()
        if greeting.called is not None:
            self._calls[greeting.called] = time.monotonic() + PAUSE_SECONDS

    def _forget(self, greeting: Greeting) -> None:
        self._group(greeting).remove(greeting)
        self._selector.unregister(greeting.link)

    # --- greetings ----------------------------------------------------------

    def _greet(self, link: socket.socket, expected: range) -> Steps[int]:
        """Prove the secret to another process, and check its proof; return its rank."""
        if error := link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(error, os.strerror(error))
        own = HELLO.pack(self._rank, secrets.token_bytes(32))
        link.sendall(own)  # the buffer of a new connection has room
        other = yield from _received(link, HELLO.size)
        rank: int = HELLO.unpack(other)[0]
        if rank not in expected:
            raise ConnectionError("not a process of this fit")
        # The caller is first: strangers that call get no proof.
        if rank < self._rank:
            link.sendall(self._proof(own, other))
        proof = yield from _received(link, PROOF_BYTES)
        # Constant time: the duration must not reveal the beginning of a proof.
        if not hmac.compare_digest(proof, self._proof(other, own)):
            raise ConnectionError("the other process does not have the secret")
        if rank > self._rank:
            link.sendall(self._proof(own, other))
        return rank

    def _proof(self, sender: bytes, receiver: bytes) -> bytes:
        return hmac.digest(self._token, sender + receiver, "sha256")


def _received(link: socket.socket, n: int) -> Steps[bytes]:
    """Return the next bytes."""
    found = b""
    while len(found) < n:
        yield
        some = link.recv(n - len(found))
        if not some:
            raise ConnectionResetError("the connection was closed")
        found += some
    return found
