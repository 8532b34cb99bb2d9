"""Workers that die or hang, and clients and schedulers that end.

Faults happen at a given point of the fit: workers wait for the test there.
"""

import contextlib
import logging
import os
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
from checks import file_bytes
from dask_cases import (
    cluster_of,
    quick_processes,
    separate_processes,
)
from distributed import Client, Status

import dics
import dics.dask
from dics.dask import WorkersLost, _gather
from dics.dask._watch import Watch
from dics.tree import CGTree

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8_000, 8)).astype(np.float32)
Y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X)), [-1, 1])
MODELS = {
    "CGBoostingClassifier": {"n_estimators": 60, "early_stopping": False},
    "CGForestClassifier": {"n_estimators": 8},
    "CGTreeClassifier": {},
}
PATIENCE = 60  # seconds until a fault must have happened


@pytest.fixture(scope="module", autouse=True)
def quick_timeouts():
    """Shorten timeouts: a worker would ask a dead one for half a minute."""
    with dask.config.set({"distributed.comm.timeouts.connect": "8s"}):
        yield


def rows():
    return da.from_array(X, chunks=(1000, X.shape[1]))


def local_model(name, **more):
    return getattr(dics, name)(random_state=0, **MODELS[name] | more).fit(X, Y)


def dask_model(name, client, **more):
    return getattr(dics.dask, f"Dask{name}")(
        random_state=0, client=client, **MODELS[name] | more
    )


class Meeting:
    """A point of a fit at which a worker waits for a fault.

    Parameters
    ----------
    folder : Path
    name : str
        The model. For trees and forests, the point is the start of growing.
    n_rounds : int
        For boosting, the number of rounds before the point.
    """

    def __init__(self, folder, name, n_rounds=0):
        self.folder = folder / f"{n_rounds}"
        self.folder.mkdir()
        self.name = name
        self.n_rounds = n_rounds
        self._error = None

    def arrange(self):
        """Replace the method at the point; runs on each worker."""
        from dics.dask._workers import RoundReporter

        owner, method = {
            "CGBoostingClassifier": (RoundReporter, "note"),
            "CGForestClassifier": (_gather, "grow_planned"),
            "CGTreeClassifier": (CGTree, "_grow"),
        }[self.name]
        original = getattr(owner, method)

        def meeting(this, *args, **kwargs):
            if len(getattr(this, "history", ())) == self.n_rounds:
                self._come()
            return original(this, *args, **kwargs)

        setattr(owner, method, meeting)

    def _come(self):
        over = self.folder / "over"
        if not over.exists():
            (self.folder / str(os.getpid())).touch()
        while not over.exists():
            time.sleep(0.01)

    def _wait(self):
        """Return the process of a worker that waits."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for came in self.folder.iterdir():
                return int(came.name)
            time.sleep(0.01)
        raise TimeoutError("no worker has come to the point of the fit")

    def _happen(self, event):
        try:
            event(self._wait())
        except Exception as error:
            self._error = error
        (self.folder / "over").touch()

    def starts(self, event):
        """Cause a fault at the meeting, in a thread."""
        thread = threading.Thread(target=self._happen, args=(event,))
        thread.start()
        return thread

    def check(self):
        """Raise an error if the fault has not happened."""
        if self._error is not None:
            raise self._error


def fit_with(events, client, fit):
    """Fit, and cause faults at meetings."""
    for meeting in events:
        client.run(meeting.arrange)
    threads = [meeting.starts(event) for meeting, event in events.items()]
    try:
        return fit()
    finally:
        for thread in threads:
            thread.join()
        for meeting in events:
            meeting.check()


@contextlib.contextmanager
def ends_soon(error, message):
    """Expect an error, without an endless wait."""
    start = time.monotonic()
    with pytest.raises(error, match=message):
        yield
    assert time.monotonic() - start < PATIENCE


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def resumed_rounds(caplog):
    return [
        record.args[0]
        for record in caplog.records
        if record.msg.startswith("workers were lost")
    ]


def test_workers_die_between_rounds(tmp_path, caplog):
    """Two of three die, one after the other; boosting resumes."""
    name = "CGBoostingClassifier"
    expected = file_bytes(local_model(name))
    caplog.set_level(logging.INFO, "dics.dask")
    with cluster_of(3, processes=True) as client:
        model = dask_model(name, client)
        events = {Meeting(tmp_path, name, n): kill for n in (20, 45)}
        fit_with(events, client, lambda: model.fit(rows(), Y))
    assert file_bytes(model) == expected
    first, second = resumed_rounds(caplog)
    assert 18 <= first <= 20
    assert 43 <= second <= 45


def test_worker_dies_while_the_client_decides(tmp_path):
    """Each round is reported once, even if it is repeated."""
    name = "CGBoostingClassifier"
    seen = []

    def slow_down(report):
        seen.append(report.round)
        report.learning_rate = 0.3 * 0.95**report.round

    expected = file_bytes(local_model(name).fit(X, Y, callbacks=[slow_down]))
    seen.clear()
    with cluster_of(2, processes=True) as client:
        model = dask_model(name, client)

        def fit():
            model.fit(rows(), Y, callbacks=[slow_down])

        fit_with({Meeting(tmp_path, name, 20): kill}, client, fit)
    assert file_bytes(model) == expected
    assert seen == list(range(1, 61))


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("CGForestClassifier", {}),
        ("CGForestClassifier", {"max_samples": 0.05}),
        ("CGTreeClassifier", {}),
    ],
)
def test_worker_dies_while_it_grows(name, more, tmp_path):
    expected = file_bytes(local_model(name, **more))
    with cluster_of(2, processes=True) as client:
        model = dask_model(name, client, **more)
        events = {Meeting(tmp_path, name): kill}
        fit_with(events, client, lambda: model.fit(rows(), Y))
    assert file_bytes(model) == expected


@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGTreeClassifier"])
def test_worker_with_categories_dies(name, tmp_path):
    """Its rows are encoded again, from the data of the cluster."""
    categories = np.stack([Y + RNG.integers(0, 90, len(X)), RNG.integers(0, 9, len(X))])
    both = np.hstack([X, categories.T.astype(np.float32)])
    own = {"random_state": 0, "categorical_features": [8, 9], **MODELS[name]}
    local = getattr(dics, name)(**own).fit(both, Y)
    assert [c.is_ranked for c in local._categories.columns] == [False, True]
    given = da.from_array(both, chunks=(1000, 10))
    with cluster_of(2, processes=True) as client:
        model = getattr(dics.dask, f"Dask{name}")(client=client, **own)
        n_rounds = 20 if "Boosting" in name else 0
        events = {Meeting(tmp_path, name, n_rounds): kill}
        fit_with(events, client, lambda: model.fit(given, Y))
    assert file_bytes(model) == file_bytes(local)


@pytest.mark.parametrize("name", MODELS)
def test_all_workers_die_and_restart(name, tmp_path):
    expected = file_bytes(local_model(name))
    with cluster_of(2, processes=True) as client:
        processes = list(client.run(os.getpid).values())
        model = dask_model(name, client)

        def kill_all(_):
            for pid in processes:
                kill(pid)

        events = {Meeting(tmp_path, name): kill_all}
        fit_with(events, client, lambda: model.fit(rows(), Y))
    assert file_bytes(model) == expected


@pytest.mark.parametrize("name", MODELS)
def test_stopped_worker(name, tmp_path):
    """It sends no heartbeat, so Dask ends it, although its connections are open."""
    expected = file_bytes(local_model(name))

    def stop(pid):
        os.kill(pid, signal.SIGSTOP)

    with (
        dask.config.set({"distributed.scheduler.worker-ttl": "4s"}),
        cluster_of(2, processes=True) as client,
    ):
        model = dask_model(name, client)
        events = {Meeting(tmp_path, name): stop}
        fit_with(events, client, lambda: model.fit(rows(), Y))
    assert file_bytes(model) == expected


def test_worker_is_lost_while_the_other_is_paused(monkeypatch):
    """Dask alone would never start the task of the lost worker again."""
    name = "CGForestClassifier"
    n_growing, goes_on = threading.Semaphore(0), threading.Event()
    grow = _gather.grow_planned

    def waiting(*args, **kwargs):
        n_growing.release()
        assert goes_on.wait(PATIENCE)
        return grow(*args, **kwargs)

    expected = file_bytes(local_model(name))
    monkeypatch.setattr(_gather, "grow_planned", waiting)
    found = []

    async def change(worker, status):  # in the event loop, which starts tasks
        worker.status = status

    # Without a limit, Dask does not check the memory, and the worker stays paused.
    with cluster_of(2, memory_limit=0) as client:
        model = dask_model(name, client)
        fit = threading.Thread(target=lambda: found.append(model.fit(rows(), Y)))
        fit.start()
        lost, paused = client.cluster.workers.values()
        for _ in range(2):
            assert n_growing.acquire(timeout=PATIENCE)
        client.sync(change, paused, Status.paused)
        client.sync(lost.close, executor_wait=False)
        goes_on.set()
        time.sleep(0.5)
        client.sync(change, paused, Status.running)
        fit.join(PATIENCE)
        assert found
    assert file_bytes(model) == expected


@pytest.mark.parametrize("name", MODELS)
def test_no_worker_is_left(name, tmp_path):
    with (
        dask.config.set({"dics.patience": 2.0}),
        separate_processes(2) as (client, _, workers),
    ):
        model = dask_model(name, client)

        def kill_all(_):
            for worker in workers:
                kill(worker.pid)

        with ends_soon(WorkersLost, "No worker is left"):
            fit_with(
                {Meeting(tmp_path, name): kill_all},
                client,
                lambda: model.fit(rows(), Y),
            )
        assert not hasattr(model, "trees_")


@pytest.mark.parametrize("name", MODELS)
def test_scheduler_dies(name, tmp_path):
    with separate_processes(1) as (client, scheduler, _):
        model = dask_model(name, client)
        with ends_soon(ConnectionError, "connection to the scheduler"):
            fit_with(
                {Meeting(tmp_path, name): lambda _: kill(scheduler.pid)},
                client,
                lambda: model.fit(rows(), Y),
            )
        assert not hasattr(model, "trees_")


@pytest.fixture
def with_interrupts():
    """Enable KeyboardInterrupt, also if the tests are a background job of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("with_interrupts")
@pytest.mark.parametrize("name", MODELS)
def test_interrupted_fit(name, tmp_path):
    """The estimator is unchanged, and the cluster can be used again."""
    main = threading.main_thread().ident
    with cluster_of(2, processes=True) as client:
        model = dask_model(name, client)
        with pytest.raises(KeyboardInterrupt):
            fit_with(
                {
                    Meeting(tmp_path, name): lambda _: signal.pthread_kill(
                        main, signal.SIGINT
                    )
                },
                client,
                lambda: model.fit(rows(), Y),
            )
        assert not hasattr(model, "trees_")
        model.fit(rows(), Y)
        assert file_bytes(model) == file_bytes(local_model(name))


def slowly(original):
    """Return a method that repeats its work for many minutes."""

    def again_and_again(*args, **kwargs):
        for _ in range(10_000):
            grown = original(*args, **kwargs)
        return grown

    return again_and_again


def grow_slowly():
    """Replace the methods on a worker."""
    CGTree._grow = slowly(CGTree._grow)
    _gather.grow_planned = slowly(_gather.grow_planned)


def n_running(dask_worker):
    return len(dask_worker.active_threads)


def wait_until_free(client):
    deadline = time.monotonic() + PATIENCE
    while any(client.run(n_running).values()):
        assert time.monotonic() < deadline, "workers go on with what nobody wants"
        time.sleep(0.1)


def many_rows():
    """Return so much data that the core checks for interrupts within a tree."""
    X = da.random.default_rng(0).normal(size=(300_000, 10), chunks=(50_000, 10))
    return X.astype(np.float32), X[:, 0] + X[:, 1] * X[:, 2] > 0


@pytest.mark.usefixtures("with_interrupts")
@pytest.mark.parametrize("name", ["CGForestClassifier", "CGTreeClassifier"])
def test_workers_are_free_after_an_interrupt(name, tmp_path):
    main = threading.main_thread().ident
    with cluster_of(2, processes=True) as client:
        client.run(grow_slowly)
        model = dask_model(name, client)

        def interrupt(_):
            signal.pthread_kill(main, signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            fit_with(
                {Meeting(tmp_path, name): interrupt},
                client,
                lambda: model.fit(*many_rows()),
            )
        wait_until_free(client)


# --- a client that dies ---------------------------------------------------------------


def grow_in_a_process(address, name):
    """Grow for a long time, in the process of a client that will be killed."""
    with Client(address) as client:
        dask_model(name, client).fit(*many_rows())


@pytest.mark.parametrize("name", ["CGForestClassifier", "CGTreeClassifier"])
def test_client_of_trees_dies(name, tmp_path):
    with cluster_of(2, processes=True) as client, quick_processes() as context:
        client.run(grow_slowly)
        elsewhere = context.Process(
            target=grow_in_a_process, args=(client.scheduler.address, name)
        )

        def fit():
            elsewhere.start()
            elsewhere.join(PATIENCE)
            assert elsewhere.exitcode == -signal.SIGKILL

        fit_with({Meeting(tmp_path, name): lambda _: kill(elsewhere.pid)}, client, fit)
        wait_until_free(client)


def fit_in_a_process(address, asks):
    """Fit for a long time, in the process of a client that will be killed."""
    with Client(address) as client:
        model = dask_model("CGBoostingClassifier", client, n_estimators=10**6)
        model.fit(rows(), Y, callbacks=[lambda _: False] if asks else None)


def open_links():
    from dics.dask import _workers

    return len(_workers._links)


@pytest.mark.parametrize("asks", [False, True])
def test_client_dies(asks, tmp_path):
    """Its ranks stop within a round."""
    with cluster_of(2, processes=True) as client, quick_processes() as context:
        elsewhere = context.Process(
            target=fit_in_a_process, args=(client.scheduler.address, asks)
        )

        def fit():
            elsewhere.start()
            elsewhere.join(PATIENCE)
            assert elsewhere.exitcode == -signal.SIGKILL

        meeting = Meeting(tmp_path, "CGBoostingClassifier", 5)
        fit_with({meeting: lambda _: kill(elsewhere.pid)}, client, fit)
        deadline = time.monotonic() + PATIENCE
        while any(client.run(open_links).values()):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_live_workers_do_not_count_as_lost():
    """The client sends other requests to the scheduler at the same time."""
    with cluster_of(2) as client:
        watch, ends = Watch(client), threading.Event()

        def ask():
            while not ends.is_set():
                client.sync(client._update_scheduler_info)

        asking = [threading.Thread(target=ask) for _ in range(2)]
        for thread in asking:
            thread.start()
        found = {len(watch.workers()) for _ in range(100)}
        ends.set()
        for thread in asking:
            thread.join()
    assert found == {2}
