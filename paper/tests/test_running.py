"""Runs of experiments: tasks, stored results, the process and the runner."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import numpy as np
import pytest
from checks import write_spambase

from dics_paper.data import real, synthetic
from dics_paper.datasets import BadDatasetError
from dics_paper.models import BY_NAME
from dics_paper.progress import Steps
from dics_paper.running.runner import Results, Rules, Runner, in_order, worth_fitting
from dics_paper.running.tasks import Result, Task, measure
from dics_paper.running.worker import Worker
from dics_paper.store import Store

TINY = synthetic(120, 6, 3, rho=0.5)
NO_RULES = Rules(limit=None, once_over=math.inf)


def task(model="cgct", repeat=0, settings=None, data=TINY):
    return Task(data, model, repeat, 1, settings or {})


# --- tasks ----------------------------------------------------------------------------


def test_a_key_depends_on_everything():
    keys = {
        task().key,
        task(repeat=1).key,
        task("cgct-paper").key,
        task(settings={"max_depth": 3}).key,
        task(data=synthetic(120, 6, 3, rho=0.0)).key,
        replace(task(), n_jobs=2).key,
        replace(task(), measure="root").key,
        task(data=replace(TINY, class_weights="shared")).key,
        task(data=replace(TINY, origin="another file")).key,
    }
    assert len(keys) == 9
    assert task().key == task().key
    assert task(repeat=3).first_key == task().first_key == task().key


def test_a_key_depends_on_the_version(monkeypatch):
    before = task().key
    monkeypatch.setitem(BY_NAME["cgct"].__dict__, "version", "9.9")
    assert task().key != before


def test_measuring_a_fit():
    reported = []
    result = measure(task(), TINY.load(0, None), reported.append)
    assert reported == ["fit"] * 6 + ["score"]  # one warm-up
    assert result.ok
    assert result.seconds > 0
    assert 0 < result.accuracy <= 1
    assert result.shape == [120, 50, 6, 3]
    assert result.fits == 5
    assert len(result.gains) == len(result.gains[0]) * 4  # depth 8, two gains each
    assert "CGTreeClassifier" in result.parameters
    assert Result(**json.loads(json.dumps(asdict(result)))) == result


def test_forests_have_no_gains_by_depth():
    settings = {"n_estimators": 2}
    result = measure(task("cgrf", settings=settings), TINY.load(0, None), print)
    assert result.gains == []


def test_comparing_roots():
    root = replace(task("cgct-paper-whole"), measure="root")
    values = measure(root, TINY.load(0, None), lambda _: None).values
    assert 0 <= values["gap"] <= values["bound"]


# --- stored results -------------------------------------------------------------------

KEY = {"data": "iris", "seed": 0}


def test_entries_are_stored(tmp_path):
    store = Store(tmp_path / "new" / "fits.jsonl")
    assert store.find(KEY) is None
    store.keep(KEY, seconds=1.5)
    store.keep({**KEY, "seed": 1}, seconds=2.5)
    store.keep(KEY, seconds=3.5)  # the last one is used
    for same in (store, Store(store.file)):
        assert same.find(dict(reversed(KEY.items()))) == {"key": KEY, "seconds": 3.5}
        assert same.find({**KEY, "seed": 2}) is None
        assert len(same.entries()) == 2


@pytest.mark.parametrize(
    "line",
    [
        '{"key": {"data"',
        "[1, 2]",
        '{"seconds": 1.0}',
        "1",
        '{"key": {}, "seconds": NaN}',
        '{"key": {}, "seconds": 1.0, "crc32": 7}',
        "[" * 100_000,
    ],
    ids=lambda line: line[:30],
)
def test_damaged_line_is_reported(tmp_path, line):
    file = tmp_path / "fits.jsonl"
    Store(file).keep(KEY, seconds=1.5)
    file.write_text(file.read_text() + line)  # also without an end of line
    with pytest.warns(UserWarning, match=r"line 2 of .*fits.jsonl is broken"):
        store = Store(file)
    store.keep({**KEY, "seed": 1}, seconds=2.5)
    with pytest.warns(UserWarning, match="line 2"):
        assert len(Store(file).entries()) == 2


def test_changed_digit_is_detected(tmp_path):
    file = tmp_path / "fits.jsonl"
    Store(file).keep(KEY, seconds=1.5)
    file.write_text(file.read_text().replace("1.5", "2.5"))
    with pytest.warns(UserWarning, match="wrong checksum"):
        assert Store(file).find(KEY) is None


# --- the process ----------------------------------------------------------------------


@pytest.fixture
def worker(tmp_path):
    worker = Worker(None, tmp_path / "worker.log")
    yield worker
    worker.close()


def test_process_survives_failures(worker, tmp_path):
    result = worker.run(task(settings={"max_depth": -5}), None)
    assert result.status == "failed"
    assert "max_depth" in result.error
    assert "Traceback" in (tmp_path / "worker.log").read_text()
    process = worker._process
    assert worker.run(task(), None).ok
    assert worker._process is process


@pytest.mark.slow
def test_fit_is_stopped_at_the_limit(worker):
    # The warm-up of 200 trees is fast with 60 rows, but not with 20000.
    large = synthetic(20_000, 100, 3, rho=0.5)
    slow = task("random-forest", settings={"n_estimators": 200}, data=large)
    result = worker.run(slow, 3.0)
    assert (result.status, result.seconds) == ("over limit", 3.0)
    assert result.accuracy is None
    assert worker.run(task(), 100.0).ok  # in a new process


@pytest.mark.slow
def test_endless_warm_up_is_stopped(worker):
    endless = task("random-forest", settings={"n_estimators": 10**6})
    assert worker.run(endless, 1.0).status == "over limit"


@pytest.mark.slow
def test_dead_process_is_replaced(worker):
    assert worker.run(task(), None).ok
    worker._process.kill()
    worker._process.join()
    assert worker.run(task(), None).ok


def test_dying_process_is_a_failed_task(worker, tmp_path, monkeypatch):
    (tmp_path / "worker.log").write_text("written by another one\n")
    worker._start()
    process = worker._process
    process.kill()
    process.join()
    monkeypatch.setattr(process, "is_alive", lambda: True)  # as if it died later
    result = worker.run(task(), None)
    assert result.status == "failed"
    assert result.error == "the process ended with code -9: no output"
    monkeypatch.undo()
    assert worker.run(task(), None).ok


@pytest.mark.slow
def test_missing_and_bad_data_have_a_status(tmp_path):
    worker = Worker(tmp_path, tmp_path / "worker.log")
    try:
        result = worker.run(task(data=real("mnist")), None)
        assert result.status == "no data"
        assert "mnist.npz" in result.error
        write_spambase(tmp_path, np.zeros((3, 57)), np.zeros(3, int))
        result = worker.run(task(data=real("spambase")), None)
        assert result.status == "bad data"
        assert "spambase.npz" in result.error
    finally:
        worker.close()


def test_process_can_use_all_threads(worker, tmp_path):
    forest = Task(TINY, "random-forest", 0, 2, {"n_estimators": 3})
    assert worker.run(forest, None).ok
    assert (tmp_path / "worker.log").read_text() == ""  # joblib warns if it cannot


PARENT = """
import sys
from pathlib import Path
from dics_paper.data import synthetic
from dics_paper.running.tasks import Task
from dics_paper.running.worker import Worker
data = synthetic(120, 6, 3, 0.5)
worker = Worker(None, Path(sys.argv[1]))
worker._start()
print(worker._process.pid, flush=True)
worker.run(Task(data, "random-forest", 0, 1, {"n_estimators": 10**6}), None)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_process_ends_with_its_caller(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")], stdout=subprocess.PIPE
    )
    pid = int(parent.stdout.readline())
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(600):
        if not _alive(pid):
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the process outlived its caller")


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")


# --- the runner -----------------------------------------------------------------------


class FakeWorker:
    """Returns results from a table by model and repeat, and records its tasks."""

    def __init__(self, answers=None):
        self.answers = answers or {}
        self.asked = []
        self.closed = False

    def run(self, a_task, limit):
        self.asked.append((a_task.model, a_task.repeat))
        answer = self.answers.get(a_task.model, Result("ok", 0.1, 0.5))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self):
        self.closed = True


def make_runner(tmp_path, answers=None):
    runner = Runner(tmp_path, None)
    runner.worker = FakeWorker(answers)
    return runner


def test_finished_tasks_are_not_run_again(tmp_path):
    tasks = [task(), task(repeat=1), task("bdtks"), task()]
    runner = make_runner(tmp_path)
    results = runner.run(tasks, NO_RULES)
    assert runner.worker.asked == [("cgct", 0), ("bdtks", 0), ("cgct", 1)]
    assert runner.worker.closed
    assert all(results.get(t).ok for t in tasks)
    runner = make_runner(tmp_path)
    runner.run([*tasks, task(repeat=2)], NO_RULES)
    assert runner.worker.asked == [("cgct", 2)]


def test_only_stored_results_without_fits(tmp_path):
    answers = {"bdtks": Result("over limit", 60.0)}
    make_runner(tmp_path, answers).run([task(), task("bdtks")], NO_RULES)
    runner = make_runner(tmp_path)
    results = runner.run([task(), task("bdtks"), task(repeat=1)], NO_RULES, fit=False)
    assert len(results.runs()) == 2
    assert runner.worker.asked == []


def test_ctrl_c_keeps_finished_tasks(tmp_path):
    runner = make_runner(tmp_path, {"bdtks": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        runner.run([task(), task("bdtks")], NO_RULES)
    assert runner.worker.closed
    runner = make_runner(tmp_path)
    runner.run([task(), task("bdtks")], NO_RULES)
    assert runner.worker.asked == [("bdtks", 0)]


def test_slow_libraries_are_fitted_once(tmp_path):
    slow = Result("ok", 100.0, 0.5)
    runner = make_runner(tmp_path, {"bdtks": slow, "cgct": slow})
    tasks = [task(m, i) for m in ("bdtks", "cgct", "decision-tree") for i in range(2)]
    runner.run(tasks, Rules(None, once_over=60.0))
    assert runner.worker.asked.count(("bdtks", 1)) == 0
    assert runner.worker.asked.count(("cgct", 1)) == 1
    assert runner.worker.asked.count(("decision-tree", 1)) == 1


def test_stopped_or_failed_tasks_are_not_repeated(tmp_path, capsys):
    answers = {"cgct": Result("failed", error="ouch"), "bdtks": Result("over limit", 9)}
    runner = make_runner(tmp_path, answers)
    tasks = [task(model, i) for model in answers for i in range(3)]
    runner.run(tasks, Rules(9.0, math.inf))
    assert runner.worker.asked == [("cgct", 0), ("bdtks", 0)]
    assert "failed: 120 x 6, 3 classes, CGCT, default: ouch" in capsys.readouterr().err
    runner = make_runner(tmp_path)
    runner.run(tasks[:1], NO_RULES)
    assert runner.worker.asked == [("cgct", 0)]  # failures are not stored


def test_missing_data_are_requested_once(tmp_path, capsys):
    gone = Result("no data", error="no network")
    runner = make_runner(tmp_path, {"cgct": gone, "bdtks": gone})
    results = runner.run([task(), task("bdtks"), task(repeat=1)], NO_RULES)
    assert runner.worker.asked == [("cgct", 0)]
    assert results.lack(TINY) == gone
    assert {run.result.status for run in results.runs()} == {"no data"}
    assert len(results.runs()) == 3
    assert "no network" in capsys.readouterr().err


def test_bad_data_end_the_run(tmp_path):
    runner = make_runner(tmp_path, {"cgct": Result("bad data", error="X is empty")})
    with pytest.raises(BadDatasetError, match="X is empty"):
        runner.run([task(), task("bdtks")], NO_RULES)
    assert runner.worker.closed


def test_order_of_tasks():
    other = synthetic(130, 6, 3, rho=0.5)
    tasks = [task(repeat=1), task(), task(data=other), task("bdtks")]
    names = [(t.repeat, t.data.name, t.model) for t in in_order([*tasks, task()])]
    assert names == [
        (0, TINY.name, "cgct"),
        (0, TINY.name, "bdtks"),
        (0, other.name, "cgct"),
        (1, TINY.name, "cgct"),
    ]


@pytest.mark.parametrize(
    ("limit", "fits"), [(60.0, 0), (10.0, 0), (61.0, 1), (None, 1)]
)
def test_stopped_fit_counts_up_to_its_limit(tmp_path, limit, fits):
    stopped = {"cgct": Result("over limit", 60.0)}
    make_runner(tmp_path, stopped).run([task()], Rules(60.0, math.inf))
    runner = make_runner(tmp_path)
    runner.run([task()], Rules(limit, math.inf))
    assert len(runner.worker.asked) == fits


def test_result_of_another_format_is_computed_again(tmp_path):
    store = Store(tmp_path / "fits.jsonl")
    store.keep(task().describe(), result={"color": "red"}, machine={})
    runner = make_runner(tmp_path)
    with pytest.warns(UserWarning, match="CGCT, default is broken"):
        runner.run([task()], NO_RULES)
    assert runner.worker.asked == [("cgct", 0)]


def test_a_first_repetition_is_worth_fitting():
    assert worth_fitting(task(), Results(), NO_RULES)


def test_progress_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with Steps(2) as steps:
        steps.begin("the first")
        steps.say("a [line] that stays")
        steps.begin("the second")
    shown = capsys.readouterr().err
    assert "the first" in shown
    assert "a [line] that stays" in shown
    assert "2/2" in shown


def test_progress_in_a_log(capsys):
    with Steps(3) as steps:
        steps.begin("the first")
        steps.begin("the third", done=2)
    with Steps(2, pause=60.0) as steps:
        steps.begin("shown")
        steps.begin("too soon")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["[1/3] the first", "[3/3] the third", "[1/2] shown"]
