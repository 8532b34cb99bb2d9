"""Workers that die or hang, clients and schedulers that are gone.

What happens happens at a given point of the fit: workers meet the test there, and wait
for it.
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
from distributed import Client

import dics
import dics.dask
from dics.dask import WorkersLost
from dics.dask._watch import Watch

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8_000, 8)).astype(np.float32)
Y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=len(X)), [-1, 1])
MODELS = {
    "CGBoostingClassifier": {"n_estimators": 60, "early_stopping": False},
    "CGForestClassifier": {"n_estimators": 8},
    "CGTreeClassifier": {},
}
PATIENCE = 60  # seconds for anything to happen


@pytest.fixture(scope="module", autouse=True)
def quick_timeouts():
    """A worker that wants data of a dead one would try for half a minute."""
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
    """A point of a fit at which a worker stops until something has happened.

    Parameters
    ----------
    folder : Path
    name : str
        Of the model. Trees and forests are met when a worker begins to grow them.
    n_rounds : int
        After how many rounds boosting is met.
    """

    def __init__(self, folder, name, n_rounds=0):
        self.folder = folder / f"{n_rounds}"
        self.folder.mkdir()
        self.name = name
        self.n_rounds = n_rounds
        self._error = None

    def arrange(self):
        """Called in each worker: change the method that gets there."""
        from dics.dask import _gather
        from dics.dask._workers import RoundReporter

        owner, method = {
            "CGBoostingClassifier": (RoundReporter, "note"),
            "CGForestClassifier": (_gather, "grow_planned"),
            "CGTreeClassifier": (dics.CGTreeClassifier, "_grow"),
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
        """Return the process of a worker that has come."""
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
        """Let something happen at the meeting, in a thread."""
        thread = threading.Thread(target=self._happen, args=(event,))
        thread.start()
        return thread

    def check(self):
        """Raise an error if it has not happened."""
        if self._error is not None:
            raise self._error


def fit_with(events, client, fit):
    """Fit, and let something happen at meetings on the way."""
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
    """Expect an error, and no endless wait."""
    start = time.monotonic()
    with pytest.raises(error, match=message):
        yield
    assert time.monotonic() - start < PATIENCE


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def rounds_gone_on_from(caplog):
    return [
        record.args[0]
        for record in caplog.records
        if record.msg.startswith("workers were lost")
    ]


def test_workers_die_between_rounds(tmp_path, caplog):
    """Two of three, one after the other; boosting goes on from where it was."""
    name = "CGBoostingClassifier"
    expected = file_bytes(local_model(name))
    caplog.set_level(logging.INFO, "dics.dask")
    with cluster_of(3, processes=True) as client:
        model = dask_model(name, client)
        events = {Meeting(tmp_path, name, n): kill for n in (20, 45)}
        fit_with(events, client, lambda: model.fit(rows(), Y))
    assert file_bytes(model) == expected
    first, second = rounds_gone_on_from(caplog)
    assert 18 <= first <= 20
    assert 43 <= second <= 45


def test_worker_dies_while_the_client_decides(tmp_path):
    """Each round is reported once, whichever rounds are made again."""
    name = "CGBoostingClassifier"
    expected = file_bytes(local_model(name))
    seen = []
    with cluster_of(2, processes=True) as client:
        model = dask_model(name, client)

        def fit():
            model.fit(rows(), Y, callbacks=[lambda report: seen.append(report.round)])

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
def test_worker_dies_that_has_categories(name, tmp_path):
    """The numbers of its rows are made again, from what the cluster was sent."""
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
def test_all_workers_die_and_are_started_again(name, tmp_path):
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
    """It sends no heartbeat: Dask ends it, though its connections are open."""
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

        with ends_soon(WorkersLost, "no worker is left"):
            fit_with(
                {Meeting(tmp_path, name): kill_all},
                client,
                lambda: model.fit(rows(), Y),
            )
        assert not hasattr(model, "trees_")


@pytest.mark.parametrize("name", MODELS)
def test_scheduler_is_gone(name, tmp_path):
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
def heeds_interrupts():
    """Raise KeyboardInterrupt, also where tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.parametrize("name", MODELS)
def test_interrupted_fit(name, tmp_path):
    """The estimator is as it was, and the cluster can be used again."""
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
    """A method that does its work often enough to take many minutes."""

    def again_and_again(this, *args):
        for _ in range(10_000):
            grown = original(this, *args)
        return grown

    return again_and_again


def grow_slowly():
    """Called in each worker."""
    dics.CGTreeClassifier._grow = slowly(dics.CGTreeClassifier._grow)
    dics.CGForestClassifier._grow_arrays = slowly(dics.CGForestClassifier._grow_arrays)


def n_running(dask_worker):
    return len(dask_worker.active_threads)


def wait_until_free(client):
    deadline = time.monotonic() + PATIENCE
    while any(client.run(n_running).values()):
        assert time.monotonic() < deadline, "workers go on with what nobody wants"
        time.sleep(0.1)


def many_rows():
    """So many that the core looks for reasons to stop while it grows one tree."""
    X = da.random.default_rng(0).normal(size=(300_000, 10), chunks=(50_000, 10))
    return X.astype(np.float32), X[:, 0] + X[:, 1] * X[:, 2] > 0


@pytest.mark.usefixtures("heeds_interrupts")
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


# --- the client dies ------------------------------------------------------------------


def grow_elsewhere(address, name):
    """Grow for a long time; the process of a client that is to die."""
    with Client(address) as client:
        dask_model(name, client).fit(*many_rows())


@pytest.mark.parametrize("name", ["CGForestClassifier", "CGTreeClassifier"])
def test_client_of_trees_is_gone(name, tmp_path):
    with cluster_of(2, processes=True) as client, quick_processes() as context:
        client.run(grow_slowly)
        elsewhere = context.Process(
            target=grow_elsewhere, args=(client.scheduler.address, name)
        )

        def fit():
            elsewhere.start()
            elsewhere.join(PATIENCE)
            assert elsewhere.exitcode == -signal.SIGKILL

        fit_with({Meeting(tmp_path, name): lambda _: kill(elsewhere.pid)}, client, fit)
        wait_until_free(client)


def fit_elsewhere(address, asks):
    """Fit for a long time; the process of a client that is to die."""
    with Client(address) as client:
        model = dask_model("CGBoostingClassifier", client, n_estimators=10**6)
        model.fit(rows(), Y, callbacks=[lambda _: False] if asks else None)


def open_links():
    from dics.dask import _workers

    return len(_workers._links)


@pytest.mark.parametrize("asks", [False, True])
def test_client_is_gone(asks, tmp_path):
    """Its ranks end, in the middle of their rounds."""
    with cluster_of(2, processes=True) as client, quick_processes() as context:
        elsewhere = context.Process(
            target=fit_elsewhere, args=(client.scheduler.address, asks)
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


def test_workers_are_not_taken_for_lost():
    """The client asks the scheduler for other things at the same time."""
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
