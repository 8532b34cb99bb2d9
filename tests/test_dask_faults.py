"""Workers that die: the same model, or an error if none is left."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
from dask_cases import cluster_of

import dics
import dics.dask
from dics.dask import WorkersLost

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40_000, 10)).astype(np.float32)
Y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X)), [-1, 1])
# Each takes a second or two, so that something can happen on the way.
MODELS = {
    "FastCGBMClassifier": {"n_estimators": 150, "early_stopping": False},
    "CGForestClassifier": {"n_estimators": 60},
    "CGTreeClassifier": {},
}


@pytest.fixture(scope="module", autouse=True)
def quick_timeouts():
    """A worker that wants data of a dead one would try for half a minute."""
    with dask.config.set({"distributed.comm.timeouts.connect": "8s"}):
        yield


def given(delay=0.0):
    """Rows in partitions; each takes a while to be made."""

    def slow(block):
        time.sleep(delay)
        return block

    rows = da.from_array(X, chunks=(5000, X.shape[1]))
    return rows.map_blocks(slow, dtype=X.dtype, meta=X[:0]) if delay else rows


def local_model(name):
    return getattr(dics, name)(random_state=0, **MODELS[name]).fit(X, Y)


def dask_model(name, client):
    return getattr(dics.dask, f"Dask{name}")(
        random_state=0, client=client, **MODELS[name]
    )


def fit_with(event, seconds, fit):
    """Fit, and let something happen after some seconds."""
    timer = threading.Timer(seconds, event)
    timer.start()
    try:
        return fit()
    finally:
        timer.join()


def pids_of(client):
    return list(client.run(os.getpid).values())


def send(pids, number):
    for pid in pids:
        os.kill(pid, number)


@contextlib.contextmanager
def workers_without_nanny(n_workers):
    """A cluster whose workers nobody starts again, and their processes."""
    with (
        cluster_of(0, protocol="tcp://") as client,
        contextlib.ExitStack() as processes,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny"]
        options = ["--nthreads", "1", "--no-dashboard"]
        started = [
            processes.enter_context(
                subprocess.Popen(
                    [*command, client.scheduler.address, *options],
                    stderr=subprocess.DEVNULL,
                )
            )
            for _ in range(n_workers)
        ]
        try:
            client.wait_for_workers(n_workers, timeout=60)
            yield client, started
        finally:
            for process in started:
                process.kill()


@pytest.mark.parametrize("name", MODELS)
def test_killed_workers(name):
    """Two of three, one after the other."""
    expected = pickle.dumps(local_model(name))
    with cluster_of(3, processes=True) as client:
        pids = pids_of(client)
        model = dask_model(name, client)

        def kill():
            send(pids[:1], signal.SIGKILL)
            time.sleep(0.3)
            send(pids[1:2], signal.SIGKILL)

        fit_with(kill, 0.5, lambda: model.fit(given(0.05), Y))
        assert pickle.dumps(model.to_local()) == expected


@pytest.mark.parametrize("name", ["FastCGBMClassifier"])
def test_no_worker_is_left(name):
    with (
        dask.config.set({"dics.patience": 2.0}),
        workers_without_nanny(2) as (client, processes),
    ):
        model = dask_model(name, client)

        def kill():
            for process in processes:
                process.kill()

        start = time.monotonic()
        with pytest.raises(WorkersLost, match="no worker is left"):
            fit_with(kill, 0.3, lambda: model.fit(given(0.1), Y))
        assert time.monotonic() - start < 30
        assert not hasattr(model, "trees_")
