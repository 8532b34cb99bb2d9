"""Rare cases that once failed: exits, system limits, extreme numbers."""

import sys

import numpy as np
import pytest
from boosting_data import booster
from checks import digest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from test_threads import large_set, run_script

from dics import (
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGTreeClassifier,
)
from dics._boosting.rows import split_rows
from dics._input.checks import check_matrix
from dics._training import LocalRows, TrainingData

ON_LINUX = sys.platform.startswith("linux")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] + rng.normal(size=300) > 0).astype(int)


# --- the end of the process -----------------------------------------------------------

FITS = {
    "tree": "CGTreeClassifier(advanced=TreeOptions(max_candidates=4000)).fit(X, y)",
    "forest": "CGForestClassifier(n_estimators=10**5).fit(X, y)",
    "forest, verbose": "CGForestClassifier(n_estimators=10**5, verbose=1).fit(X, y)",
    "forest of few rows": (
        "CGForestClassifier(n_estimators=10**5, max_depth=2).fit(X[:50], y[:50])"
    ),
    "boosting": (
        "CGBoostingClassifier(n_estimators=10**6, learning_rate=1e-3).fit(X, y)"
    ),
    "boosting of few rows": (
        "CGBoostingClassifier(n_estimators=10**6, learning_rate=1e-3)"
        ".fit(X[:50], y[:50] % 2)"
    ),
    "callback": (
        "CGBoostingClassifier(n_estimators=10**6, learning_rate=1e-3).fit("
        "X[:50], y[:50] % 2, callbacks=[lambda report: sum(range(3000)) < 0])"
    ),
    "loss": (
        "CGBoostingRegressor(loss=Squared(), n_estimators=10**6, "
        "learning_rate=1e-3).fit(X[:50], X[:50, 0])"
    ),
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("fit", FITS)
def test_exit_while_a_daemon_thread_fits(fit, n_threads):
    # Objects of the core that the thread still uses must not be reported as leaks.
    script = f"""
    import threading, time
    import numpy as np
    from dics import (
        TreeOptions,
        CGForestClassifier, CGTreeClassifier, CGBoostingClassifier, CGBoostingRegressor
    )
    from boosting_data import Squared

    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (100_000, 60), dtype=np.uint8)
    y = rng.integers(0, 30, 100_000)

    def work():
        while True:
            {FITS[fit]}

    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.7)
    print("end")
    """
    done = run_script(script, OMP_NUM_THREADS=str(n_threads))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "end\n"
    if "verbose" not in fit:
        assert done.stderr == ""


# --- threads that cannot start --------------------------------------------------------


@pytest.mark.quick(1)
@pytest.mark.skipif(not ON_LINUX, reason="needs limits as Linux has them")
@pytest.mark.parametrize("model", ["tree", "forest", "boosting"])
def test_threads_that_cannot_start(model):
    # Stacks of 8 GB do not fit into an address space with 2 GB left. Processes read
    # the size of stacks when they start.
    script = f"""
    import os, resource, sys
    stack = 8 << 30
    if len(sys.argv) == 1:
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        if hard != resource.RLIM_INFINITY and hard < stack:
            sys.exit("no")
        resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
        os.execv(sys.executable, [*sys.orig_argv, "again"])
    import threading
    from checks import digest
    from test_hard_edges import few_threads
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), resource.RLIM_INFINITY))
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        print(few_threads({model!r}, n_jobs=4))
    """
    done = run_script(script, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if "no" in done.stderr.split():
        pytest.skip("stacks cannot be this large")
    assert done.returncode == 0, done.stderr
    assert done.stdout == few_threads(model, n_jobs=1) + "\n"


def few_threads(name, n_jobs):
    """Fit a model in parallel, and return its digest."""
    X, y = large_set()
    model = {
        "tree": CGTreeClassifier(max_depth=6, random_state=0),
        "forest": CGForestClassifier(n_estimators=5, max_depth=6, random_state=0),
        "boosting": CGBoostingClassifier(
            n_estimators=5, max_features=None, random_state=0
        ),
    }[name]
    return digest(model.set_params(n_jobs=n_jobs).fit(X, y))


# --- samples of a forest --------------------------------------------------------------


def test_sample_size_does_not_depend_on_the_weights():
    X, y = [[0.0], [1.0]], [0, 1]
    heavy = CGForestClassifier(n_estimators=1, max_samples=0.25, random_state=0)
    heavy.fit(X, y, [4e8, 6e8])
    assert heavy.trees_.weight[0] == 2
    twice = CGForestClassifier(n_estimators=1, max_samples=2.0, random_state=0).fit(
        X, y, [9e8, 9e8]
    )
    assert twice.trees_.weight[0] == 4


@pytest.mark.parametrize("max_samples", [1.7e308, 10**400])
def test_samples_larger_than_a_counter(data, max_samples):
    forest = CGForestClassifier(n_estimators=1, max_samples=max_samples)
    with pytest.raises(ValueError, match=r"max_samples=.* more than 1073741824 rows"):
        forest.fit(*data)


@pytest.mark.quick(1)
@pytest.mark.skipif(sys.platform == "win32", reason="signals work in another way")
@pytest.mark.parametrize(
    "draw",
    [
        "_core.bootstrap(0, 0, 10**12, None, np.empty(9, np.uint32))",
        "_core.bootstrap(0, 0, 10**12, np.arange(1.0, 10), np.empty(9, np.uint32))",
        "CGForestClassifier(n_estimators=1, max_samples=2**30).fit(X, y)",
    ],
)
def test_interrupted_sampling(draw):
    script = f"""
    import os, signal, threading
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    from dics import CGForestClassifier, _core
    X, y = [[0.0]] * 999, [0, 1, 2] * 333
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        {draw}
    except KeyboardInterrupt:
        print("interrupted")
    """
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\n"


# --- weights of boosting --------------------------------------------------------------


def check_no_nan(model, X):
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.train_score_).all()
    assert np.isfinite(model.feature_importances_).all()
    assert np.isfinite(model.trees_.gain).all()


@pytest.mark.parametrize("tiny", [1e-310, 5e-324, 1e-200])
def test_classes_of_almost_no_weight(data, tiny):
    X, y = data
    y = y + (X[:, 1] > 0)
    weights = (y != 2).astype(float)
    for class_weight in ({0: tiny, 1: tiny, 2: 1}, {0: tiny, 1: tiny, 2: tiny}):
        model = booster(class_weight=class_weight, l2_regularization=0)
        check_no_nan(model.fit(X, y, weights), X)
        expected = booster(l2_regularization=0).fit(X, y, weights)
        assert_array_equal(model.predict(X), expected.predict(X))
    model = booster(class_weight={0: tiny, 1: 1, 2: 1}).fit(X, y)
    check_no_nan(model, X)
    assert model.predict(X).min() == 1


def test_products_of_small_weights(data):
    X, y = data
    model = booster(class_weight={0: 1e-120, 1: 1e-120}, l2_regularization=0)
    check_no_nan(model.fit(X, y, np.full(len(y), 1e-120)), X)
    expected = booster(l2_regularization=0).fit(X, y)
    assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("weight", [1e46, 1e100, 1e-46, 1e-100])
@pytest.mark.parametrize("given", [False, True])
def test_held_out_rows_with_other_weights(data, given, weight):
    # The weights of held-out rows and of training rows have different scales.
    X, y = data
    weights = np.ones(len(y))
    more = {"early_stopping": True, "scoring": "loss", "n_iter_no_change": 20}
    expected = booster(**more).fit(X, y)
    held = split_rows(training_data(X, y), 0.1).validation
    weights[held] = weight
    if given:
        kept = np.setdiff1d(np.arange(len(y)), held)
        sets = {"X_val": X[held], "y_val": y[held], "sample_weight_val": weights[held]}
        model = booster(**more).fit(X[kept], y[kept], **sets)
    else:
        model = booster(**more).fit(X, y, weights)
    assert_allclose(model.train_score_, expected.train_score_, rtol=1e-12)
    assert_allclose(model.validation_score_, expected.validation_score_, rtol=1e-6)
    assert model.n_iter_ == expected.n_iter_ > 0
    check_no_nan(model, X)


def training_data(X, y):
    return TrainingData(LocalRows(X), y.astype(np.uint32), 2, None, 0, 1)


@pytest.mark.parametrize("heavy", range(0, 300, 60))
@pytest.mark.filterwarnings("ignore:Early stopping keeps none")
def test_one_very_heavy_row(data, heavy):
    X, y = data
    weights = np.ones(len(y))
    weights[heavy] = 1e46
    check_no_nan(booster(early_stopping=True).fit(X, y, weights), X)


@pytest.mark.parametrize("largest", [10, 19, 38, 100, 300])
@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.filterwarnings("ignore:Early stopping keeps none")
def test_weights_of_very_different_sizes(n_classes, early_stopping, largest):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = X[:, 0] + rng.normal(size=len(X))
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    weights = 10.0 ** rng.uniform(-largest, largest, len(y))
    kind = CGBoostingClassifier if n_classes else CGBoostingRegressor
    for more in ({}, {"sampling": "mvs", "learning_rate": 0.1}):
        model = kind(early_stopping=early_stopping, random_state=0, **more)
        if more:
            model.set_params(n_estimators=10)
        model.fit(X, y, weights)
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.feature_importances_).all()
        assert np.isfinite(model.train_score_).all()
        assert np.isfinite(model.validation_score_).all()


def test_validation_rows_without_weight(data):
    X, y = data
    model = booster(class_weight={0: 1.0, 1: 0.0})
    with pytest.raises(
        ValueError, match=r"X_val, y_val.*All validation rows have zero weight"
    ):
        model.fit(X, y, X_val=X[y == 1], y_val=y[y == 1])


# --- other extreme numbers ------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["goss", "mvs"])
@pytest.mark.parametrize("max_features", ["auto", None])
def test_very_small_samples(data, sampling, max_features):
    rates = {"subsample": 5e-324}
    if sampling == "goss":
        rates = {"top_rate": 5e-324, "other_rate": 0}
    model = booster(sampling=sampling, max_features=max_features, **rates)
    check_no_nan(model.fit(*data), data[0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l2", [1e10, 1e16, 1e20, 1e25, 1e30, 1e300])
def test_prediction_is_the_most_probable_class(data, n_classes, l2):
    X, y = data
    # Classes have equal sizes, so that scores start at zero.
    y = np.arange(len(y)) % n_classes
    model = booster(5, l2_regularization=l2).fit(X, y)
    assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    stages = zip(model.staged_predict(X), model.staged_predict_proba(X), strict=True)
    for predicted, probabilities in stages:
        assert_array_equal(predicted, probabilities.argmax(axis=1))


# --- large trees ----------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("leaf_values", ["all", "sample"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_leaves_than_bits_in_a_word(n_classes, leaf_values):
    # The leaves of rows outside the sample and of validation rows are found later.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0] * X[:, 1]) + np.sin(3 * np.nan_to_num(X[:, 2]))
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    model = booster(
        6,
        max_leaf_nodes=150,
        min_samples_leaf=2,
        sampling="mvs",
        subsample=0.4,
        leaf_values=leaf_values,
    )
    model.fit(X[:4000], y[:4000], X_val=X[4000:], y_val=y[4000:])
    leaves = np.diff(model.trees_.leaf_starts)
    assert (leaves > 64).all()
    for rows, scores in (
        (slice(4000), model.train_score_),
        (slice(4000, None), model.validation_score_),
    ):
        staged = [-log_loss(y[rows], p) for p in model.staged_predict_proba(X[rows])]
        assert_allclose(scores[1:], staged, rtol=1e-5)


# --- callbacks ------------------------------------------------------------------------


@pytest.mark.core
def test_rounds_return_true_to_stop(data):
    # The core accepts only a bool of Python.
    model = booster()
    model.fit(*data, callbacks=[lambda report: np.bool_(report.round == 3)])
    assert model.n_iter_ == 3


# --- frames ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["Float32", "UInt8", "Float64"])
def test_polars_frames_keep_their_type(data, dtype):
    polars = pytest.importorskip("polars")
    X = np.abs(data[0] * 30).astype(dtype.lower())
    frame = polars.DataFrame(X, schema=list("abcd"))
    assert set(frame.dtypes) == {getattr(polars, dtype)}
    checked = check_matrix(CGTreeClassifier(), frame, reset=True)
    assert checked.dtype == X.dtype
    assert_array_equal(checked, X)
    model = CGTreeClassifier(random_state=0).fit(frame, data[1])
    assert model.feature_names_in_.tolist() == list("abcd")
    assert digest(model) == digest(CGTreeClassifier(random_state=0).fit(X, data[1]))


def test_polars_frames_of_several_types():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2, None]}, schema={"a": polars.UInt8})
    checked = check_matrix(CGTreeClassifier(), frame, reset=True)
    assert_array_equal(checked, [[1.0], [2.0], [np.nan]])
    mixed = frame.with_columns(b=polars.lit(0.1, polars.Float32))
    checked = check_matrix(CGTreeClassifier(), mixed, reset=True)
    assert checked.dtype == np.float64


# --- targets --------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [int, float, str, bool])
@pytest.mark.parametrize("model", [CGTreeClassifier, CGBoostingClassifier])
def test_more_classes_than_rows(model, convert):
    X = np.arange(30.0).reshape(-1, 1)
    model = model(n_estimators=2) if model is CGBoostingClassifier else model()
    y = np.array([convert(i) for i in range(30)])
    if convert is bool:
        model.fit(X, y)
        return
    with pytest.warns(UserWarning, match="greater than 50% of the number of samples"):
        model.fit(X, y)
    model.fit(X, np.array([convert(i // 2) for i in range(30)]))  # at most half
    model.fit(X[:20], y[:20])


def test_validation_rows_with_many_classes():
    X = np.arange(120.0).reshape(-1, 1)
    y = np.arange(120) % 25
    booster(2).fit(X, y, X_val=X[:30], y_val=y[:30])
