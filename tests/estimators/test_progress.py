"""The progress that `verbose` writes."""

import contextlib
import io

import numpy as np
import pytest
from checks import same_bytes

from dics import CGForestClassifier
from dics._estimator.running import Progress

X = np.random.default_rng(0).normal(size=(100, 4))
Y = np.arange(100) % 3


@pytest.mark.parametrize("verbose", [0, 1])
def test_verbose(capfd, verbose):
    CGForestClassifier(n_estimators=7, verbose=verbose, random_state=0).fit(X, Y)
    written = capfd.readouterr()
    assert written.out == ""
    if verbose:
        chosen, trees = written.err.splitlines()
        assert chosen == (
            "CGForestClassifier: max_features='sqrt', splitter='best', "
            "min_samples_leaf=1"
        )
        assert trees.startswith("CGForestClassifier: 7 trees in ")
        assert written.err.endswith(" s\n")
    else:
        assert written.err == ""


def test_same_model_with_verbose(capfd):
    one, other = (
        CGForestClassifier(n_estimators=5, verbose=verbose, random_state=0).fit(X, Y)
        for verbose in (0, 1)
    )
    same_bytes(one, other)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Return seconds that the test sets."""
    now = [100.0]
    monkeypatch.setattr("dics._estimator.running.time.monotonic", lambda: now[0])
    return now


def test_progress_in_a_log(clock):
    log = io.StringIO()
    with Progress("Forest", 100, "trees", stream=log) as progress:
        for done in range(101):
            clock[0] += 0.5
            progress.update(done)
    lines = log.getvalue().splitlines()
    # Nothing for a second, then one line per 10 %.
    assert lines[0] == "Forest: 10/100 trees, 49.5 s left"
    assert [line.split()[1] for line in lines[:-1]] == [
        f"{done}/100" for done in range(10, 101, 10)
    ]
    assert lines[-1] == "Forest: 100 trees in 50.5 s"


def test_progress_on_a_terminal(clock):
    terminal = Terminal()
    with Progress("Forest", 1000, "trees", stream=terminal) as progress:
        progress.update(0)
        clock[0] += 2
        for done in (1, 2, 900):
            progress.update(done)
    first, *lines = terminal.getvalue().split("\r")
    assert first == ""
    assert lines[0] == "Forest: 1/1000 trees, 33 min 18 s left"
    assert [line.split()[1] for line in lines] == [
        "1/1000",
        "2/1000",
        "900/1000",
        "1000",
    ]
    # Shorter lines overwrite longer ones.
    assert len(lines[1]) == len(lines[0])
    assert lines[-1].rstrip() == "Forest: 1000 trees in 2.0 s"
    assert terminal.getvalue().endswith("\n")


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_progress_that_is_stopped(clock, stream):
    stream = stream()
    progress = Progress("Forest", 10, "trees", stream=stream)
    with contextlib.suppress(KeyboardInterrupt), progress:
        progress.update(3)
        raise KeyboardInterrupt
    assert "Forest: stopped after 3 of 10 trees" in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_short_work_writes_only_its_end(clock):
    log = io.StringIO()
    with Progress("Forest", 10, "trees", stream=log) as progress:
        for done in range(10):
            progress.update(done)
        assert log.getvalue() == ""
    assert log.getvalue() == "Forest: 10 trees in 0.0 s\n"


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_announcement_stays(clock, stream):
    stream = stream()
    with Progress("Forest", 10, "trees", stream=stream) as progress:
        progress.announce("a plan")
        clock[0] += 5
        progress.update(5)
    assert stream.getvalue().startswith("Forest: a plan\n")
    assert stream.getvalue().count("a plan") == 1


def test_disabled_progress(clock):
    log = io.StringIO()
    with Progress("Forest", 10, "trees", enabled=False, stream=log) as progress:
        progress.announce("a plan")
        clock[0] += 100
        progress.update(5)
    assert log.getvalue() == ""


@pytest.mark.parametrize("verbose", [0, 1])
def test_without_a_stderr(monkeypatch, verbose):
    # As under pythonw and in some services.
    monkeypatch.setattr("sys.stderr", None)
    CGForestClassifier(n_estimators=2, verbose=verbose, random_state=0).fit(X, Y)
