"""Bit-identical models for any number of threads, in any process, on any CPU."""

import contextlib
import multiprocessing
import os
import pathlib
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from checks import digest, file_bytes, make
from sklearn.base import clone

from dics import (
    CentroidCandidates,
    CGBoostingClassifier,
    CGForestClassifier,
    CGTreeClassifier,
    CGTreeRegressor,
    ForestOptions,
    QuantileCandidates,
    _core,
)
from dics._model.trees import NODE, Trees

HERE = pathlib.Path(__file__).parent
HANG = 120  # seconds, the time limit of a process


def large_set(n=6000, p=80, dtype="f4", n_missing=2):
    """Return more than 2**18 values, so that the core uses threads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) * 30 + 128
    y = ((X[:, 0] - X[:, 1]) / 20 + rng.normal(size=n)).astype(int) % 7
    X = np.clip(X, 0, 255).astype(dtype)
    if dtype != "u1":
        X[rng.random(n) < 0.05, :n_missing] = np.nan
    return X, y


def weights_of(kind, n):
    rng = np.random.default_rng(1)
    if kind is None:
        return None
    return rng.integers(0, 3, n) if kind == "whole" else rng.random(n)


SETTINGS = {
    "whole": {},
    "whole, 6 deep": {"max_depth": 6},
    "sampled": {"max_candidates": 100},
    "entropy": {"criterion": "entropy", "max_depth": 8},
    "sampled, entropy": {"criterion": "entropy", "max_candidates": 100},
    "paper": {"candidates": CentroidCandidates.paper(), "max_depth": 8},
    "quantiles": {"candidates": QuantileCandidates(), "max_depth": 5},
    "used once": {"reuse_splits": False, "max_candidates": 100, "max_depth": 5},
}


FORESTS = {
    "forest": {},
    "forest, sampled": {"max_candidates": 30},
    "forest, entropy": {"criterion": "entropy", "max_samples": 500},
    "forest, per tree": {"feature_sampling": "tree"},
    "forest, per tree, sampled": {"feature_sampling": "tree", "max_candidates": 100},
    "forest, all features": {"max_features": None, "max_depth": 6},
    "forest, all rows": {"bootstrap": False},
    "forest, balanced": {"class_weight": "balanced_subsample", "max_depth": 9},
}


BOOSTERS = {
    "boosting": {},
    "boosting, two classes": {},
    "boosting, goss": {"sampling": "goss", "max_features": 10},
    "boosting, mvs": {"sampling": "mvs", "max_features": 10},
    "boosting, two classes, mvs": {"sampling": "mvs", "leaf_values": "sample"},
    "boosting, sampled": {
        "max_candidates": 100,
        "max_leaf_nodes": None,
        "max_depth": 3,
    },
    "boosting, stopped": {"early_stopping": True, "validation_fraction": 0.3},
}


def fit(setting, X, y, weights=None, **more):
    if setting in BOOSTERS:
        parameters = {
            "sampling": None,
            "max_features": None,
            "max_leaf_nodes": 8,
            "early_stopping": False,
            **BOOSTERS[setting],
        }
        model = make(
            CGBoostingClassifier, n_estimators=4, random_state=0, **parameters, **more
        )
        return model.fit(X, y % 2 if "two" in setting else y, sample_weight=weights)
    if setting in FORESTS:
        model = make(
            CGForestClassifier,
            n_estimators=5,
            random_state=0,
            **FORESTS[setting],
            **more,
        )
    else:
        model = make(CGTreeClassifier, random_state=0, **SETTINGS[setting], **more)
    return model.fit(X, y, sample_weight=weights)


@pytest.mark.quick(12)
@pytest.mark.core
@pytest.mark.parametrize("weights", [None, "whole", "fractional"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_tree_any_n_jobs(setting, weights):
    X, y = large_set()
    weights = weights_of(weights, len(y))
    one, two, seven = (
        digest(fit(setting, X, y, weights, n_jobs=n_jobs)) for n_jobs in (1, 2, 7)
    )
    assert one == two
    assert one == seven


@pytest.mark.core
@pytest.mark.parametrize("weights", [None, "whole", "fractional"])
@pytest.mark.parametrize("setting", FORESTS)
def test_forest_any_n_jobs(setting, weights):
    X, y = large_set(n=1500, p=40)
    weights = weights_of(weights, len(y))
    one, two, five = (
        digest(fit(setting, X, y, weights, n_jobs=n_jobs)) for n_jobs in (1, 2, 5)
    )
    assert one == two
    assert one == five


@pytest.mark.core
@pytest.mark.parametrize("weights", [None, "whole", "fractional"])
@pytest.mark.parametrize("setting", BOOSTERS)
def test_boosting_any_n_jobs(setting, weights):
    # With more than 2**14 scores and 2**17 additions, the core uses threads.
    X, y = large_set(n=20_000 if "two" in setting else 4000, p=30)
    weights = weights_of(weights, len(y))
    one, *others = (fit(setting, X, y, weights, n_jobs=n_jobs) for n_jobs in (1, 2, 5))
    for other in others:
        assert digest(other) == digest(one)
        assert (other.train_score_ == one.train_score_).all()
        assert (other.validation_score_ == one.validation_score_).all()
        assert (other.predict_proba(X) == one.predict_proba(X)).all()


@pytest.mark.parametrize("setting", ["whole", "forest", "boosting, mvs"])
def test_model_files_any_n_jobs(setting):
    X, y = large_set(n=4000)
    fits = [fit(setting, X, y, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    one, *others = (file_bytes(model.set_params(n_jobs=None)) for model in fits)
    assert others == [one, one]


@pytest.mark.core
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_votes_any_n_jobs(voting):
    X, y = large_set(n=1500, p=10)
    forest = CGForestClassifier(
        n_estimators=40,
        advanced=ForestOptions(voting=voting),
        oob_score=True,
        random_state=0,
    )
    one = clone(forest).set_params(n_jobs=1).fit(X, y)
    for n_jobs in (2, 5, None, -1):
        other = clone(forest).set_params(n_jobs=n_jobs).fit(X, y)
        assert (other.predict_proba(X) == one.predict_proba(X)).all()
        assert (other.oob_decision_function_ == one.oob_decision_function_).all()


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_any_memory_order(dtype, order, n_jobs):
    X, y = large_set(dtype=dtype)
    expected = digest(fit("whole, 6 deep", X, y, n_jobs=2))
    X = np.array(X, order=order)
    assert digest(fit("whole, 6 deep", X, y, n_jobs=n_jobs)) == expected


@pytest.mark.core
@pytest.mark.parametrize("shape", [(20000, 30), (3000, 700)])
@pytest.mark.parametrize("weights", [None, "fractional"])
@pytest.mark.parametrize(
    "source",
    [
        CentroidCandidates(n_clusters=40, random_state=0),
        CentroidCandidates.paper(n_clusters=7, random_state=0),
        CentroidCandidates(centroid_source="class", random_state=0),
        QuantileCandidates(random_state=0),
    ],
    ids=["kmeans", "paper", "class", "quantiles"],
)
def test_candidates_any_n_jobs(source, weights, shape):
    X, y = large_set(*shape)
    weights = weights_of(weights, len(y))
    digests, codes = set(), []
    for n_jobs in (1, 2, 7):
        source.set_params(n_jobs=n_jobs).fit(X, y, sample_weight=weights)
        digests.add(digest(source))
        codes.append(source.transform(X).tobytes())
    assert len(digests) == 1
    assert len(set(codes)) == 1


@pytest.mark.core
def test_predict_any_n_jobs():
    X, y = large_set(n=20000, p=10)
    tree = fit("whole, 6 deep", X, y)
    expected = tree.set_params(n_jobs=1).predict_proba(X)
    for n_jobs in (2, 7, None, -1):
        assert (tree.set_params(n_jobs=n_jobs).predict_proba(X) == expected).all()


@pytest.mark.core
def test_fits_in_several_threads_at_once():
    X, y = large_set()
    names = ["whole, 6 deep", "sampled", "entropy", "paper", "forest", "boosting"] * 2
    expected = {name: digest(fit(name, X, y, n_jobs=1)) for name in set(names)}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda name: digest(fit(name, X, y, n_jobs=3)), names))
    assert found == [expected[name] for name in names]


def test_one_fitted_tree_in_several_threads():
    X, y = large_set(n=20000, p=10)
    tree = fit("whole, 6 deep", X, y)
    expected = tree.predict(X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: tree.predict(X), range(8)):
            assert (found == expected).all()


def fit_in_child(name, X, y, queue):
    queue.put(digest(fit(name, X, y, n_jobs=2)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # threads and fork, from 3.12
@pytest.mark.parametrize(
    "name", ["whole, 6 deep", "sampled", "forest", "forest, per tree", "boosting, mvs"]
)
def test_fit_in_a_forked_child(name):
    X, y = large_set()
    expected = digest(fit(name, X, y, n_jobs=2))
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=fit_in_child, args=(name, X, y, queue))
    child.start()
    child.join(HANG)
    stuck = child.is_alive()
    if stuck:
        child.kill()
    assert not stuck
    assert child.exitcode == 0
    assert queue.get() == expected
    assert digest(fit(name, X, y, n_jobs=2)) == expected


def run_script(script, **environment):
    helpers = HERE.parent / "helpers"
    path = os.pathsep.join([str(helpers), *filter(None, [os.getenv("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )


def test_any_instruction_set():
    script = """
    from test_threads import BOOSTERS, FORESTS, SETTINGS
    from test_threads import digest, fit, large_set, weights_of
    from dics import _core
    print(_core.instruction_set())
    for dtype in ("f4", "f8", "u1"):
        X, y = large_set(n=500, p=30, dtype=dtype)
        for name in (*SETTINGS, *FORESTS, *BOOSTERS):
            for kind in (None, "fractional"):
                print(dtype, name, digest(fit(name, X, y, weights_of(kind, len(y)))))
    """
    plain, chosen = run_script(script, DICS_ISA="baseline"), run_script(script)
    assert plain.returncode == chosen.returncode == 0, plain.stderr + chosen.stderr
    plain, chosen = plain.stdout.splitlines(), chosen.stdout.splitlines()
    assert plain[0] == "baseline"
    assert chosen[0] == _core.instruction_set()
    assert plain[1:] == chosen[1:]
    assert len(plain) == 1 + 3 * len({**SETTINGS, **FORESTS, **BOOSTERS}) * 2


@pytest.mark.quick(2)
@pytest.mark.skipif(sys.platform == "win32", reason="signals work in another way")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("max_candidates", [None, 4000])
def test_interrupt(n_jobs, max_candidates):
    # The second fit takes much longer than the signal.
    script = f"""
    import os, signal, threading
    # A job in the background inherits that the signal is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    from checks import digest
    from dics import CGTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = rng.integers(0, 3, 500)
    tree = CGTreeClassifier(random_state=0, n_jobs={n_jobs}).fit(X, y)
    before = digest(tree), tree.predict(X).tolist(), sorted(vars(tree))

    large = rng.integers(0, 256, (300_000, 200), dtype=np.uint8)
    labels = rng.integers(0, 50, 300_000)
    tree.set_params(advanced__max_candidates={max_candidates})
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        tree.fit(large, labels)
    except KeyboardInterrupt:
        assert tree.n_features_in_ == 5, tree.n_features_in_
        assert (digest(tree), tree.predict(X).tolist(), sorted(vars(tree))) == before
        tree.set_params(advanced=None)
        assert digest(tree.fit(X, y)) == before[0]
        print("interrupted")
    """
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\n"


@pytest.mark.quick(1)
@pytest.mark.skipif(sys.platform == "win32", reason="signals work in another way")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_forest(n_jobs):
    # More trees than fit into the time limit of the process. With `verbose`, the
    # signal may arrive while Python writes the progress.
    script = f"""
    import os, signal, threading
    # A job in the background inherits that the signal is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    from checks import UNTRIED, digest
    from dics import CGForestClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = rng.integers(0, 3, 500)
    # Trials show no progress.
    fitted = CGForestClassifier(n_estimators=5, random_state=0, **UNTRIED)
    fitted.set_params(n_jobs={n_jobs}).fit(X, y)
    never = CGForestClassifier(n_jobs={n_jobs}, **UNTRIED)

    def state():
        known = digest(fitted), fitted.predict(X).tolist(), fitted.n_features_in_
        return known, sorted(vars(fitted)), sorted(vars(never))

    before = state()
    large = rng.integers(0, 256, (100_000, 50), dtype=np.uint8)
    labels = rng.integers(0, 50, 100_000)
    for sampling, verbose in (("node", 0), ("tree", 1)):
        for forest in (fitted, never):
            forest.set_params(
                n_estimators=100_000,
                advanced__feature_sampling=sampling,
                verbose=verbose,
            )
            threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                forest.fit(large, labels)
            except KeyboardInterrupt:
                assert state() == before
                print("interrupted")
    fitted.set_params(n_estimators=5, advanced=None, verbose=0)
    assert digest(fitted.fit(X, y)) == before[0][0]
    """
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\n" * 4
    assert done.stderr.count("stopped after") == 2


@pytest.mark.quick(1)
@pytest.mark.skipif(sys.platform == "win32", reason="signals work in another way")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_boosting(n_jobs):
    # More rounds than fit into the time limit of the process.
    script = f"""
    import os, signal, threading
    # A job in the background inherits that the signal is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    from checks import digest
    from dics import CGBoostingClassifier, QuantileCandidates

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = rng.integers(0, 3, 500)
    fitted = CGBoostingClassifier(n_estimators=5, random_state=0)
    fitted.set_params(n_jobs={n_jobs}).fit(X, y)
    never = CGBoostingClassifier(n_jobs={n_jobs})

    def state():
        known = digest(fitted), fitted.predict(X).tolist(), fitted.n_features_in_
        return known, sorted(vars(fitted)), sorted(vars(never))

    before = state()
    large = rng.integers(0, 256, (60_000, 50), dtype=np.uint8)
    labels = rng.integers(0, 20, 60_000)
    for warm_start, verbose in ((False, 0), (False, 1), (True, 0)):
        for model in (fitted, never):
            model.set_params(
                n_estimators=100_000,
                verbose=verbose,
                warm_start=warm_start,
                early_stopping=False,
                sampling=None,
                max_features=None,
                candidates=QuantileCandidates(),
            )
            rows = (X, y) if warm_start and model is fitted else (large, labels)
            threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                model.fit(*rows)
            except KeyboardInterrupt:
                assert state() == before
                print("interrupted")
    """
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\n" * 6
    assert done.stderr.count("stopped after") == 2


def fail_after(n_done):
    def update(self, done, note=""):
        if done >= n_done:
            raise RuntimeError("no progress")

    return update


@pytest.mark.core
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_that_fails(n_jobs, monkeypatch, capsys):
    X, y = large_set(n=500, p=5)
    forest = fit("forest", X, y, n_jobs=n_jobs)
    before = digest(forest)
    monkeypatch.setattr("dics.forest.Progress.update", fail_after(1))
    forest.set_params(n_estimators=10**5, verbose=1)
    with pytest.raises(RuntimeError, match="no progress"):
        forest.fit(X[:, :3], y)
    assert digest(forest) == before
    assert forest.n_features_in_ == 5


@pytest.mark.core
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_of_boosting_that_fails(n_jobs, monkeypatch, capsys):
    X, y = large_set(n=500, p=5)
    model = fit("boosting", X, y, n_jobs=n_jobs)
    before = digest(model)
    monkeypatch.setattr("dics._estimator.running.Progress.update", fail_after(1))
    model.set_params(n_estimators=10**5, verbose=1)
    with pytest.raises(RuntimeError, match="no progress"):
        model.fit(X[:, :3], y)
    assert digest(model) == before
    assert model.n_features_in_ == 5


@pytest.mark.core
def test_progress_that_fails_at_the_last_tree(monkeypatch, capsys):
    # The first thread that is done grows the third tree, and the other one waits. If
    # the waiting thread reports the progress, it must not return before the work that
    # uses its memory ends. The sanitizers would find that.
    X, y = large_set(n=30_000, p=20)
    monkeypatch.setattr("dics.forest.Progress.update", fail_after(2))
    for seed in range(4):
        forest = CGForestClassifier(
            n_estimators=3, verbose=1, random_state=seed, n_jobs=2
        )
        with contextlib.suppress(RuntimeError):
            forest.fit(X, y)


class Unwanted(Exception):
    """Raised by the check of a thread."""


@pytest.mark.core
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "model",
    [
        CGTreeClassifier(),
        CGForestClassifier(n_estimators=10**5),
        CGBoostingClassifier(n_estimators=10**5, early_stopping=False),
    ],
    ids=lambda model: type(model).__name__,
)
def test_check_of_a_thread(model, n_jobs):
    """It ends calls of its own thread, also outside the main thread."""
    X, y = large_set(n=20_000)
    model = clone(model).set_params(n_jobs=n_jobs)

    def check():
        raise Unwanted

    def fit_checked():
        before = _core.set_check(check)
        try:
            for _ in range(1000):  # the core may grow a tree before it checks
                model.fit(X, y)
        finally:
            assert _core.set_check(before) is check

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(Unwanted):
            pool.submit(fit_checked).result()
        CGTreeClassifier(n_jobs=n_jobs).fit(X, y)  # without a check
        assert pool.submit(_core.set_check, None).result() is None


def fit_one_split(size):
    X = np.random.default_rng(0).normal(size=(300_000 * size, 1))
    CGTreeRegressor(criterion="absolute_error", max_depth=1, n_jobs=1).fit(X, X[:, 0])


def explain_a_deep_tree(size):
    # Each inner node has a leaf and the next inner node.
    depth = 1500 * size
    nodes = np.zeros(2 * depth + 1, dtype=NODE)
    inner = np.r_[0, 2 : 2 * depth : 2]
    leaves = np.setdiff1d(np.arange(len(nodes)), inner)
    nodes["feature"], nodes["left"][leaves] = -1, np.arange(depth + 1)
    nodes["feature"][inner] = np.arange(depth)
    nodes["left"][inner] = 2 * np.arange(depth) + 1
    ones = np.ones(len(nodes), dtype=np.float32)
    X = np.zeros((3, depth))
    model = CGTreeRegressor(n_jobs=1).fit(X, [0.0, 1.0, 2.0])
    model.trees_ = Trees(
        nodes=nodes,
        n_samples=ones.astype(np.int32),
        missing_left=ones.astype(np.uint8),
        weight=ones,
        impurity=ones,
        gain=np.empty(0),
        leaf_values=np.arange(depth + 1.0)[:, None],
        node_starts=np.array([0, len(nodes)]),
        leaf_starts=np.array([0, depth + 1]),
        criterion="squared_error",
    )
    model.predict_contributions(X)


@pytest.mark.parametrize("work", [fit_one_split, explain_a_deep_tree])
def test_long_serial_work_is_checked(work):
    n_checks = 0

    def check():
        nonlocal n_checks
        n_checks += 1
        if n_checks == 2:  # without checks inside, there is at most one
            raise Unwanted

    def work_checked():
        nonlocal n_checks
        _core.set_check(check)
        try:
            for size in (1, 4, 16):  # a fast machine ends short work before a check
                n_checks = 0
                work(size)
        finally:
            _core.set_check(None)

    with ThreadPoolExecutor(1) as pool, pytest.raises(Unwanted):
        pool.submit(work_checked).result()


def test_interrupt_keeps_candidates(monkeypatch):
    # Ctrl-C between the clustering and the thresholds.
    X, y = large_set(n=500, p=5)
    source = CentroidCandidates(random_state=0).fit(X, y)
    before = digest(source)

    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("dics.candidates.filled_dictionary", interrupt)
    with pytest.raises(KeyboardInterrupt):
        source.fit(X[:, :3] * 2, y)
    assert digest(source) == before
    assert source.n_features_in_ == 5


def test_single_thread():
    X, y = large_set(n=100, p=3)
    for estimator in (
        CGTreeClassifier(n_jobs=0),
        CGForestClassifier(n_jobs=0),
        CGBoostingClassifier(n_jobs=0),
        QuantileCandidates(n_jobs=0),
    ):
        with pytest.raises(ValueError, match="n_jobs"):
            estimator.fit(X, y)
