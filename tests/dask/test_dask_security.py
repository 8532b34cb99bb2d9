"""Fits on an encrypted cluster have encrypted links between workers."""

import socket
import ssl
import threading

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

import dask.array as da
from checks import file_bytes
from dask_cases import cluster_of
from distributed import Security, get_worker

import dics
import dics.dask
from dics.dask._links import Links, listen
from dics.dask._meeting import TOKEN_BYTES, Meeting
from dics.dask._workers import _security, end_fit, open_port

X = np.random.default_rng(0).normal(size=(200, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def client():
    with cluster_of(2, protocol="tls://", security=Security.temporary()) as client:
        yield client


def test_same_model(client, monkeypatch):
    opened = []
    keep = Links._keep

    def kept(self, link):
        opened.append(type(link))
        return keep(self, link)

    monkeypatch.setattr(Links, "_keep", kept)
    rows = da.from_array(X, chunks=(50, 3))
    model = dics.dask.DaskCGBoostingClassifier(n_estimators=5, random_state=0).fit(
        rows, Y
    )
    local = dics.CGBoostingClassifier(n_estimators=5, random_state=0).fit(X, Y)
    assert file_bytes(model) == file_bytes(local)
    assert set(opened) == {ssl.SSLSocket}  # the workers are threads of this process


def plain_text_is_refused(fit):
    """Open a port as a fit does, and meet a process without encryption there."""
    token = bytes(TOKEN_BYTES)
    port = open_port(fit)
    from dics.dask import _workers

    listener = _workers._ports.pop((fit, get_worker().address))
    security = _security()
    nothing = np.empty((0, 3), dtype=np.int64)
    addresses = [port.address, port.address]
    links = Links(0, addresses, listener, token, nothing, np.empty(0), security)

    def meet():
        with listen("127.0.0.1") as own:
            stranger = Meeting(1, addresses, own, token)
            (link,) = stranger.links(lambda: False).values()
        with link:
            link.sendall(bytes(100))

    meeting = threading.Thread(target=meet)
    meeting.start()
    is_open = links.open()
    meeting.join()
    return (
        is_open,
        security.listening is not None,
        security.connecting is not None,
    )


def test_plain_connections_are_rejected(client):
    found = client.submit(plain_text_is_refused, "fit", pure=False).result()
    assert found == (False, True, True)


def test_without_encryption():
    with cluster_of(1) as client:
        assert client.submit(_security).result() == (None, None)


def test_ports_are_on_the_address_of_the_worker():
    with cluster_of(1, protocol="tcp://", host="127.0.0.1") as client:
        port = client.submit(open_port, "fit", pure=False).result()
        assert port.address.host == "127.0.0.1"
        client.run(end_fit, "fit")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(port.address, timeout=5)
