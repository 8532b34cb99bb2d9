"""Errors of the estimators for Dask collections."""

import contextvars
import time

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
from dask_cases import cluster_of
from dask_rows import (
    FRAME,
    LABELS,
    N_ROWS,
    NAMES,
    SCORE,
    X,
    dask_model,
    y_of,
)
from distributed import Client

from dics.dask._watch import Watch

GIVEN = da.from_array(X, chunks=(20, 4))


def untouched(given=GIVEN):
    """Return rows or targets that raise an error if they are computed."""

    def fails(block):
        raise AssertionError("rows were asked for")

    return given.map_blocks(fails, dtype=given.dtype, meta=given._meta)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("given", "y", "error", "message"),
    [
        (X, LABELS, TypeError, "X must be a dask array .* got ndarray"),
        (FRAME, LABELS, TypeError, "X must be a dask array .* got DataFrame"),
        (dask.delayed(X), LABELS, TypeError, "X must be a dask array .* got Delayed"),
        (da.zeros(5), LABELS[:5], ValueError, "two dimensions, got 1"),
        (da.zeros((0, 3)), LABELS[:0], ValueError, "X has no rows"),
        (untouched(), LABELS[:9], ValueError, "X has 60 rows, y has 9"),
        (untouched(), da.zeros(61), ValueError, "X has 60 rows, y has 61"),
        (untouched(), None, ValueError, "requires y to be passed"),
    ],
)
def test_bad_input_is_rejected(client, name, given, y, error, message):
    with pytest.raises(error, match=message):
        dask_model(name).fit(given, y)


@pytest.mark.parametrize("name", NAMES)
def test_bad_targets(client, name):
    y = np.array([*SCORE[1:], np.nan])
    with pytest.raises(ValueError, match=r"[yY] contains NaN"):
        dask_model(name).fit(untouched(), da.from_array(y, chunks=9))
    unknown = da.from_array(X, chunks=(20, 4))[da.from_array(X[:, 0] > -99)]
    with pytest.raises(ValueError, match="X has 60 rows, y has 59"):
        dask_model(name).fit(unknown, da.from_array(y_of(name)[1:]))
    with pytest.raises(ValueError, match="X has 60 rows, sample_weight has 3"):
        dask_model(name).fit(untouched(), y_of(name), da.ones(3))
    with pytest.raises(ValueError, match=r"Negative values .* `sample_weight`"):
        dask_model(name).fit(untouched(), y_of(name), -da.ones(N_ROWS))


def with_bad_part(value):
    rows = X.astype(object)
    rows[45, 1] = value
    return da.from_array(rows, chunks=(20, 4))


@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGTreeClassifier"])
def test_bad_values_name_the_partition(client, name):
    said = r"partition 2 of X: column 1 holds text, such as 'text'; name it in categ"
    with pytest.raises(ValueError, match=said):
        dask_model(name, categorical_features=None).fit(with_bad_part("text"), LABELS)


@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGForestClassifier"])
def test_wrong_metadata(client, name):
    shorter = GIVEN.map_blocks(
        lambda block: block[1:], dtype=float, chunks=GIVEN.chunks
    )
    with pytest.raises(ValueError, match=r"has 19 rows and 4 columns; .* 20 and 4"):
        dask_model(name).fit(shorter, LABELS)
    frame = dd.from_delayed(
        [dask.delayed(FRAME[:30]), dask.delayed(FRAME[30:].iloc[:, :3])],
        meta=FRAME[:0],
        verify_meta=False,
    )
    with pytest.raises(ValueError, match="partition 1 of X has 3 columns"):
        dask_model(name).fit(frame, LABELS)


def test_validation_rows(client):
    model = dask_model("CGBoostingClassifier")
    with pytest.raises(ValueError, match=r"classes that are not in y: .*'other'"):
        model.fit(untouched(), LABELS, X_val=GIVEN[:1], y_val=da.array(["other"]))
    with pytest.raises(ValueError, match=r"X_val.* has 3 features, .* expecting 4"):
        model.fit(untouched(), LABELS, X_val=GIVEN[:, :3], y_val=LABELS)
    said = r"X_val must be a dask array .* got ndarray; convert it with"
    with pytest.raises(TypeError, match=said):
        model.fit(untouched(), LABELS, X_val=X, y_val=LABELS)
    with pytest.raises(TypeError, match=r"eval_set\[1\] must be a dask array"):
        model.fit(untouched(), LABELS, eval_set=[(GIVEN, LABELS), (X, LABELS)])
    with pytest.raises(ValueError, match="y_val is missing"):
        model.fit(untouched(), LABELS, X_val=GIVEN)
    with pytest.raises(ValueError, match=r"eval_set\[0\] is Array"):
        model.fit(untouched(), LABELS, eval_set=[GIVEN])


UNTOUCHED_Y = untouched(da.from_array(LABELS, chunks=20))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("given", "own", "message"),
    [
        (GIVEN.astype(complex), {}, "Complex data not supported"),
        (GIVEN.astype("M8[s]"), {}, "holds dates or times"),
        (GIVEN[:, :0], {}, r"0 feature\(s\) \(shape=\(60, 0\)\) .* required by Dask"),
        (GIVEN, {"categorical_features": [9]}, "has the column 9, X has columns 0 to"),
        (GIVEN, {"categorical_features": [True]}, "is a mask of 1 entries, X has 4"),
        (GIVEN, {"categorical_features": ["a"]}, "but X has no column names"),
        (GIVEN, {"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\) but .* 4"),
    ],
)
def test_columns_are_checked_before_any_work(client, name, given, own, message):
    y = UNTOUCHED_Y if "Classifier" in name else untouched(da.ones(N_ROWS, chunks=9))
    with pytest.raises(ValueError, match=message):
        dask_model(name, **own).fit(untouched(given), y)


@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGTreeRegressor"])
def test_frames_are_checked_before_any_work(client, name):
    for dtype, message in (
        (complex, "Complex data not supported"),
        ("M8[s]", f"column '{FRAME.columns[1]}' holds dates or times"),
    ):
        bad = FRAME.assign(**{FRAME.columns[1]: np.zeros(N_ROWS, dtype=dtype)})
        given = dd.from_pandas(bad, npartitions=3).map_partitions(
            lambda part: 1 / 0, meta=bad[:0]
        )
        with pytest.raises(ValueError, match=message):
            dask_model(name).fit(given, UNTOUCHED_Y)


@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGForestClassifier"])
def test_warm_start_is_checked_before_any_work(client, name):
    model = dask_model(name, warm_start=True, n_estimators=2).fit(GIVEN, LABELS)
    model.set_params(n_estimators=4)
    with pytest.raises(ValueError, match=r"X has 3 features, .* expecting 4"):
        model.fit(untouched(GIVEN[:, :3]), UNTOUCHED_Y)


def test_interactions_are_checked_before_any_work(client):
    model = dask_model("CGBoostingClassifier", interaction_cst=[[0, 9]])
    with pytest.raises(ValueError, match="interaction_cst refers to feature 9, but X"):
        model.fit(untouched(), UNTOUCHED_Y)


@pytest.mark.parametrize(
    ("held", "y_held", "message"),
    [
        (GIVEN[:, :3], UNTOUCHED_Y, r"X_val.* has 3 features, .* expecting 4"),
        (GIVEN.astype(complex), UNTOUCHED_Y, "X_val.* Complex data not supported"),
        (GIVEN, np.full(N_ROWS, np.nan), r"X_val, y_val: y contains NaN"),
        (GIVEN, LABELS[:9], "X has 60 rows, y has 9"),
    ],
)
def test_validation_is_checked_before_any_work(client, held, y_held, message):
    with pytest.raises(ValueError, match=message):
        dask_model("CGBoostingClassifier").fit(
            untouched(), UNTOUCHED_Y, X_val=untouched(held), y_val=y_held
        )


def test_validation_targets_are_checked_before_x(client):
    wide = untouched(GIVEN.astype("f8"))  # some rows of X are read early
    with pytest.raises(ValueError, match=r"classes that are not in y: .*'other'"):
        dask_model("CGBoostingClassifier").fit(
            wide, LABELS, X_val=wide[:1], y_val=np.array(["other"])
        )
    with pytest.raises(ValueError, match="have 2 columns, but y has 1"):
        dask_model("CGBoostingRegressor").fit(
            wide, SCORE, X_val=wide, y_val=da.ones((N_ROWS, 2))
        )


def test_unsupported_on_a_cluster(client):
    class OwnLoss:
        def start(self, y, weight):
            return np.zeros(1)

        def link(self, raw):
            return raw

        def gradients(self, y, raw, weight):
            return raw - y, np.ones_like(raw)

    with pytest.raises(ValueError, match="Custom losses are not supported"):
        dask_model("CGBoostingRegressor", loss=OwnLoss()).fit(untouched(), SCORE)
    with pytest.raises(ValueError, match="max_depth"):
        dask_model("CGTreeClassifier", max_depth=-1).fit(untouched(), LABELS)
    with pytest.raises(TypeError, match="unexpected argument 'eval_metric'"):
        dask_model("CGBoostingClassifier").fit(untouched(), LABELS, eval_metric="auc")


def test_no_client(monkeypatch):
    monkeypatch.setattr("distributed.client._global_clients", {})
    none = contextvars.ContextVar("none", default=None)
    monkeypatch.setattr("distributed.client._current_client", none)
    with pytest.raises(ValueError, match="No Dask client is running; start one"):
        dask_model("CGTreeClassifier").fit(GIVEN, LABELS)
    with pytest.raises(TypeError, match=r"must be a distributed.Client, got str"):
        dask_model("CGTreeClassifier", client="tcp://here").fit(GIVEN, LABELS)


def test_closed_client(client):
    other = Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(ValueError, match="the client is closed"):
        dask_model("CGTreeClassifier", client=other).fit(GIVEN, LABELS)


@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGTreeClassifier"])
def test_different_versions(client, name, monkeypatch):
    monkeypatch.setattr("dics._version.VERSION", "0.0.1")  # on the workers
    with pytest.raises(ValueError, match=r"The worker .* has dics 0\.0\.1, the client"):
        dask_model(name).fit(untouched(), LABELS)


def test_worker_without_dics(client, monkeypatch):
    def fails():
        raise ModuleNotFoundError("No module named 'dics'")

    monkeypatch.setattr("dics.dask._watch.version_here", fails)
    with pytest.raises(ValueError, match=r"The worker .* cannot import dics: No mod"):
        dask_model("CGTreeClassifier").fit(untouched(), LABELS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("CGBoostingClassifier", "100000 rows and 40 columns take at least"),
        ("CGForestClassifier", "63213 of 100000 rows .*max_samples, or use boosting"),
        ("CGForestRegressor", "63213 of 100000 rows .*max_samples, or use boosting"),
        ("CGTreeClassifier", "all rows .*max_samples well below 1, .*or boosting"),
        ("CGTreeRegressor", "all rows .*max_samples well below 1, .*or boosting"),
    ],
)
def test_too_little_memory(name, said):
    # Otherwise the workers would wait for memory before they start.
    memory = {
        f"distributed.worker.memory.{n}": False for n in ("pause", "spill", "target")
    }
    with dask.config.set(memory), cluster_of(2, memory_limit="1 MiB") as client:
        rows = da.zeros((100_000, 40), chunks=(1000, 40), dtype="f4")
        y = np.arange(100_000) % 2
        if "Boosting" not in name:  # before any partition is computed
            rows = untouched(rows)
        with pytest.raises(MemoryError, match=said):
            dask_model(name, client=client).fit(rows, y)


@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGTreeClassifier"])
def test_paused_workers(name):
    """Dask sends no task to workers with full memory."""
    settings = {"distributed.worker.memory.pause": 0.001, "dics.patience": 1.0}
    with dask.config.set(settings), cluster_of(1, memory_limit="2 GiB") as client:
        deadline = time.monotonic() + 60
        while Watch(client).check_workers():  # it checks its memory at intervals
            assert time.monotonic() < deadline
            time.sleep(0.01)
        said = r"paused 1 workers .* its limit is 2048\.0 M"
        with pytest.raises(MemoryError, match=said):
            dask_model(name, client=client).fit(GIVEN, LABELS)
