"""Processes of a fit meet, although strangers connect to their ports.

A meeting takes milliseconds. If a stranger could delay it, it would not end before the
deadline, because strangers are tolerated for longer than that.
"""

import contextlib
import socket
import ssl
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask.array as da
from checks import file_bytes

import dics
import dics.dask
from dics.dask import _meeting
from dics.dask._links import listen
from dics.dask._meeting import HELLO, PROOF_BYTES, TOKEN_BYTES, Address, Meeting

TOKEN = bytes(range(TOKEN_BYTES))


@pytest.fixture(autouse=True)
def times(monkeypatch):
    monkeypatch.setattr(_meeting, "CONNECT_SECONDS", 20.0)
    monkeypatch.setattr(_meeting, "GREETING_SECONDS", 60.0)


class Processes:
    """Ports of some processes, and their meeting in threads."""

    def __init__(self, n, tokens=None):
        self.listeners = [listen("127.0.0.1") for _ in range(n)]
        self.addresses = [Address(*port.getsockname()) for port in self.listeners]
        self.tokens = tokens or [TOKEN] * n
        self.found = [None] * n
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=[r]) for r in range(n)]

    def _run(self, rank):
        meeting = Meeting(rank, self.addresses, self.listeners[rank], self.tokens[rank])
        try:
            self.found[rank] = meeting.links(self.is_over.is_set)
        except OSError as error:
            self.found[rank] = error

    def meet(self, *ranks):
        """Let processes meet; return the connections or the error of each."""
        threads = [self.threads[rank] for rank in ranks] or self.threads
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        return self.found

    def close(self):
        self.is_over.set()
        links = [found for found in self.found if isinstance(found, dict)]
        for link in (*self.listeners, *(one for own in links for one in own.values())):
            link.close()


@pytest.fixture
def processes():
    """Return a function that makes processes, and close their ports at the end."""
    made = []

    def make(*arguments):
        made.append(Processes(*arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


def check_links(found):
    """Check that each pair has one connection of its own."""
    for rank, links in enumerate(found):
        assert set(links) == set(range(len(found))) - {rank}
        for other, link in links.items():
            link.settimeout(20)
            link.sendall(bytes([rank, other]))
    for rank, links in enumerate(found):
        for other, link in links.items():
            assert link.recv(2) == bytes([other, rank])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_all_meet(processes, n):
    check_links(processes(n).meet())


def test_processes_that_are_late_are_met(processes):
    both = processes(2)
    both.threads[1].start()  # it calls a process that does not listen yet
    time.sleep(0.3)
    both.threads[0].start()
    for thread in both.threads:
        thread.join(60)
    check_links(both.found)


# --- strangers that call ----------------------------------------------------


def client_hello():
    """Return the first message of TLS."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="a")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def hello(rank):
    return HELLO.pack(rank, bytes(32))


MESSAGES = {
    "garbage": np.random.default_rng(0).bytes(5000),
    "TLS": client_hello(),
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "no proof": hello(1) + bytes(PROOF_BYTES),
    "half a greeting": hello(1) + bytes(PROOF_BYTES - 1),
}
ATTACKS = [*MESSAGES, "silent", "slow", "flood", "reflected", "closed"]


class Stranger:
    """Connections to the ports of processes, in a thread that sends and receives."""

    def __init__(self, addresses, attack, n):
        self.addresses = addresses
        self.attack = attack
        self.links = [self._connect(a) for a in addresses for _ in range(n)]
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _connect(self, address):
        link = socket.create_connection(address, timeout=10)
        link.setblocking(False)
        return link

    def _run(self):
        step = 0
        while not self.is_over.is_set():
            if self.attack == "flood":
                with contextlib.suppress(OSError):
                    self.links += [self._connect(a) for a in self.addresses]
                for link in self.links[:-200]:
                    link.close()
                del self.links[:-200]
                continue
            for link in self.links:
                with contextlib.suppress(OSError):
                    self._act(link, step)
            step += 1
            time.sleep(0.01)

    def _act(self, link, step):
        if self.attack == "slow":
            link.send(hello(1)[step : step + 1])
        elif self.attack == "reflected":
            link.send(link.recv(1000))
        elif step == 0:
            link.send(MESSAGES.get(self.attack, b""))
            if self.attack == "closed":
                link.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.is_over.set()
        self.thread.join()
        for link in self.links:
            link.close()


@pytest.mark.parametrize("attack", ATTACKS)
def test_strangers_do_not_delay_a_meeting(processes, attack):
    three = processes(3)
    with Stranger(three.addresses, attack, n=30):
        found = three.meet()
    check_links(found)


def test_many_silent_strangers(processes):
    """The processes call again if their connections were closed for newer ones."""
    three = processes(3)
    with Stranger(three.addresses, "silent", n=150):
        found = three.meet()
    check_links(found)


def test_only_some_strangers_are_kept(processes):
    """The oldest are closed for newer ones."""
    both = processes(2)
    with Stranger(both.addresses[:1], "silent", _meeting.MAX_UNPROVED + 20) as stranger:
        both.threads[0].start()
        for link in stranger.links[:20]:
            link.settimeout(20)
            with contextlib.suppress(ConnectionResetError):
                while link.recv(100):
                    pass
        both.threads[1].start()
        for thread in both.threads:
            thread.join(60)
    check_links(both.found)


def send_slowly(link, message):
    """Send a message in several seconds."""
    for byte in message:
        link.sendall(bytes([byte]))
        time.sleep(0.1)


def test_a_greeting_has_one_deadline(processes, monkeypatch):
    """Each byte would begin a new one otherwise."""
    monkeypatch.setattr(_meeting, "GREETING_SECONDS", 0.3)
    both = processes(2)
    with socket.create_connection(both.addresses[0], timeout=20) as stranger:
        both.threads[0].start()
        with pytest.raises(ConnectionError):
            send_slowly(stranger, bytes(HELLO.size - 1))
        both.is_over.set()
        both.threads[0].join(60)


def test_a_greeting_is_not_valid_again(processes):
    """A stranger repeats the messages of the caller in another meeting."""
    first, second = processes(2), processes(2)
    heard = []
    receive = _meeting._received

    def recorded(link, n):
        found = yield from receive(link, n)
        heard.append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_meeting, "_received", recorded)
        check_links(first.meet())
    sent = b"".join(m for m in heard if len(m) == PROOF_BYTES or m[0] == 1)
    with socket.create_connection(second.addresses[0], timeout=20) as stranger:
        stranger.sendall(sent[: HELLO.size + PROOF_BYTES])
        second.threads[0].start()
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while some := stranger.recv(100):
                answer += some
    assert len(answer) == HELLO.size  # and no proof
    second.threads[1].start()
    for thread in second.threads:
        thread.join(60)
    check_links(second.found)


def test_wrong_secret(processes, monkeypatch):
    monkeypatch.setattr(_meeting, "CONNECT_SECONDS", 0.5)
    found = processes(2, [TOKEN, TOKEN[::-1]]).meet()
    assert all(isinstance(error, ConnectionError) for error in found)


def test_end_of_a_meeting(processes):
    both = processes(2)
    both.threads[0].start()
    both.is_over.set()
    both.threads[0].join(60)
    assert isinstance(both.found[0], ConnectionAbortedError)


# --- strangers that listen --------------------------------------------------


@pytest.mark.parametrize("answer", ["silent", "reflected", "no proof", "garbage"])
def test_listener_without_the_secret(processes, answer, monkeypatch):
    """The caller gives up, and has sent nothing that could be used."""
    monkeypatch.setattr(_meeting, "CONNECT_SECONDS", 1.0)
    both = processes(2)
    both.threads[1].start()
    link, _ = both.listeners[0].accept()
    link.settimeout(20)
    heard = link.recv(1000)
    reply = {
        "silent": b"",
        "reflected": heard,
        "no proof": hello(0) + bytes(PROOF_BYTES),
        "garbage": bytes(5000),
    }
    link.sendall(reply[answer])
    both.threads[1].join(60)
    assert isinstance(both.found[1], ConnectionError)
    with contextlib.suppress(ConnectionResetError):
        heard += link.recv(1000)
    link.close()
    assert TOKEN not in heard


def test_listener_that_returns_the_proof(processes, monkeypatch):
    """A proof is not valid in the other direction."""
    monkeypatch.setattr(_meeting, "CONNECT_SECONDS", 5.0)
    both = processes(2)
    both.threads[1].start()
    link, _ = both.listeners[0].accept()
    with link:
        link.settimeout(20)
        link.sendall(hello(0))
        heard = b""
        while len(heard) < HELLO.size + PROOF_BYTES:
            heard += link.recv(1000)
        link.sendall(heard[HELLO.size :])
        both.threads[1].join(60)
    assert "does not have the secret" in str(both.found[1])


def test_nobody_listens(processes):
    both = processes(2)
    both.listeners[0].close()
    both.threads[1].start()
    both.threads[1].join(60)
    assert isinstance(both.found[1], ConnectionRefusedError)


# --- a fit ------------------------------------------------------------------


@pytest.mark.parametrize("attack", ["silent", "slow", "flood", "garbage"])
def test_strangers_do_not_delay_a_fit(client, attack, monkeypatch):
    """The workers are threads of this process."""
    strangers = contextlib.ExitStack()

    def watched(host):
        port = listen(host)
        strangers.enter_context(Stranger([port.getsockname()], attack, n=10))
        return port

    monkeypatch.setattr("dics.dask._workers.listen", watched)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 2, 400)
    own = {"n_estimators": 3, "random_state": 0}
    with strangers:
        model = dics.dask.DaskCGBoostingClassifier(**own)
        model.fit(da.from_array(X, chunks=(100, 4)), y)
    assert file_bytes(model) == file_bytes(dics.CGBoostingClassifier(**own).fit(X, y))
