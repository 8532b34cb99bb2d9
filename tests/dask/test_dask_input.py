"""Input and output of the estimators for Dask collections."""

import inspect
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
from checks import file_bytes, same_bytes
from dask_cases import cluster_of
from dask_rows import (
    BOOSTING,
    FRAME,
    LABELS,
    N_ROWS,
    NAMES,
    SCORE,
    X,
    dask_model,
    local_model,
    y_of,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dics
import dics.dask
from dics.dask._predict import ROW_METHODS, STAGED_METHODS

# Methods that return no value per row.
OTHER_METHODS = {"fit", "score", "cost_complexity_pruning_path"}


def given(name):
    """Return rows and targets in partitions."""
    return da.from_array(X, chunks=(25, 4)), da.from_array(y_of(name), chunks=25)


def collections():
    """Return the same rows in several collections."""
    plain = da.from_array(X, chunks=(25, 4))
    return {
        "one chunk": da.from_array(X, chunks=X.shape),
        "several column chunks": da.from_array(X, chunks=(13, 2)),
        "empty and one-row parts": da.from_array(X, chunks=((0, 1, 0, 58, 1, 0), 4)),
        "unknown chunks": plain[da.from_array(np.full(N_ROWS, True), chunks=25)],
        "other numbers": da.from_array(X.astype("f2"), chunks=(20, 4)),
        "frame": dd.from_pandas(FRAME, npartitions=3),
        "frame of unknown lengths": dd.from_pandas(FRAME, npartitions=4).query(
            "a > -9"
        ),
        "frame with an empty part": dd.from_delayed(
            [dask.delayed(part) for part in (FRAME[:0], FRAME[:7], FRAME[7:])]
        ),
    }


# --- fits -----------------------------------------------------------------------------


@pytest.mark.quick(8)
@pytest.mark.parametrize("kind", collections())
@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGForestRegressor"])
def test_kinds_of_collections(client, name, kind):
    given = collections()[kind]
    here = FRAME if kind.startswith("frame") else given.compute()
    y = y_of(name)
    lazy_y = da.from_array(y, chunks=17)  # with other partitions than X
    model = dask_model(name).fit(given, lazy_y)
    same_bytes(model.to_local(), local_model(name).fit(here, y))
    assert list(getattr(model, "feature_names_in_", [])) == list(
        getattr(here, "columns", [])
    )
    predicted = model.predict(given)
    assert dask.is_dask_collection(predicted)
    np.testing.assert_array_equal(predicted.compute(), model.to_local().predict(here))


@pytest.mark.parametrize(
    "y",
    [
        LABELS,
        list(LABELS),
        da.from_array(LABELS, chunks=7),
        dd.from_pandas(pd.Series(LABELS), npartitions=2),
    ],
    ids=["array", "list", "dask array", "dask series"],
)
def test_kinds_of_labels(client, y):
    model = dask_model("CGForestClassifier").fit(da.from_array(X, chunks=20), y)
    np.testing.assert_array_equal(
        model.to_local().predict(X),
        local_model("CGForestClassifier").fit(X, LABELS).predict(X),
    )


def test_given_client_is_used(client):
    """It is used for y also, although another client is the current one."""
    with cluster_of(1) as other:
        expected = client.scheduler.address
        assert other.scheduler.address != expected

        def values(block):
            from distributed import get_worker

            assert get_worker().scheduler.address == expected
            return block

        y = da.from_array(np.arange(N_ROWS) % 3, chunks=30).map_blocks(
            values, dtype=int, meta=np.empty(0, dtype=int)
        )
        dask_model("CGTreeClassifier", client=client).fit(da.from_array(X), y)


def test_several_outputs(client):
    y = np.column_stack([SCORE, -SCORE])
    given = da.from_array(X, chunks=20), da.from_array(y, chunks=(11, 1))
    for name in ("CGBoostingRegressor", "CGForestRegressor", "CGTreeRegressor"):
        model = dask_model(name).fit(*given)
        same_bytes(model.to_local(), local_model(name).fit(X, y))
        assert model.predict(given[0]).shape == y.shape
        assert model.score(*given) == pytest.approx(model.to_local().score(X, y))


@pytest.mark.parametrize("name", [n for n in NAMES if "Tree" not in n])
def test_warm_start(client, name):
    given = da.from_array(X, chunks=20), y_of(name)
    model = dask_model(name, warm_start=True).fit(*given)
    model.set_params(n_estimators=5).fit(*given)
    local = local_model(name, warm_start=True).fit(X, y_of(name))
    local.set_params(n_estimators=5).fit(X, y_of(name))
    same_bytes(model.to_local(), local)


def test_callbacks_get_each_round_and_stop_the_fit(client):
    reports = []

    def callback(report):
        reports.append((report.round, report.train_loss, report.learning_rate))
        report.learning_rate = 0.3 / report.round
        return report.round == 4

    def fit(model, given):
        reports.clear()
        model.fit(given, LABELS, callbacks=[callback])
        return list(reports)

    model = dask_model("CGBoostingClassifier", n_estimators=9)
    on_cluster = fit(model, da.from_array(X, chunks=20))
    local = local_model("CGBoostingClassifier", n_estimators=9)
    assert on_cluster == fit(local, X)
    assert model.n_iter_ == 4
    same_bytes(model.to_local(), local)


@pytest.mark.parametrize("name", BOOSTING)
def test_scoring_and_sets(client, name):
    options = {
        "n_estimators": 30,
        "early_stopping": True,
        "n_iter_no_change": 2,
        "scoring": "accuracy" if "Classifier" in name else "r2",
    }
    y = y_of(name)
    pairs = [(X[:20], y[:20]), (X[30:], y[30:])]
    lazy_pairs = [
        (da.from_array(rows, chunks=(9, 4)), da.from_array(own)) for rows, own in pairs
    ]
    names = ["first", "second"]
    model = dask_model(name, **options).fit(
        da.from_array(X, chunks=20), y, eval_set=lazy_pairs, eval_names=names
    )
    local = local_model(name, **options).fit(X, y, eval_set=pairs, eval_names=names)
    same_bytes(model.to_local(), local)
    assert list(model.evals_result_) == list(local.evals_result_)


def test_watched_sets_of_a_trial(client):
    many = np.random.default_rng(0).normal(size=(1200, 4))
    y = (many[:, 0] > 0) + 2 * (many[:, 1] > 0) + 0
    options = {"n_estimators": "auto", "early_stopping": False}
    local = local_model("CGBoostingClassifier", **options)
    local.fit(many, y, eval_set=[(many[:50], y[:50])])
    lazy = da.from_array(many, chunks=(500, 4))
    model = dask_model("CGBoostingClassifier", **options)
    model.fit(lazy, y, eval_set=[(lazy[:50], y[:50])])
    assert local.plan_.n_trials == 3
    same_bytes(model.to_local(), local)
    assert model.evals_result_ == local.evals_result_


@pytest.mark.parametrize("name", BOOSTING)
@pytest.mark.parametrize("has_validation", [True, False])
def test_offsets(client, name, has_validation):
    """Also with a scorer, which gets predictions with the offset."""
    is_classifier = "Classifier" in name
    y = y_of(name) == "low" if is_classifier else y_of(name)
    options = {"n_estimators": 10, "scoring": "accuracy" if is_classifier else "r2"}
    offset = np.linspace(-1, 1, N_ROWS)
    lazy, parts = da.from_array(X, chunks=20), da.from_array(offset, chunks=20)
    here, there = {"offset": offset}, {"offset": parts}
    if has_validation:
        here |= {"X_val": X, "y_val": y, "offset_val": offset}
        there |= {"X_val": lazy, "y_val": y, "offset_val": parts}
    local = local_model(name, **options).fit(X, y, **here)
    model = dask_model(name, **options).fit(lazy, y, **there)
    same_bytes(model.to_local(), local)
    expected = local.predict(X, offset=offset)
    np.testing.assert_array_equal(model.predict(X, offset=offset), expected)
    np.testing.assert_array_equal(model.predict(lazy, offset=parts), expected)
    *_, last = model.staged_predict(lazy, offset=parts)
    np.testing.assert_array_equal(last, expected)
    unknown, more = lazy[lazy[:, 0] > 0], parts[lazy[:, 0] > 0]
    found = model.predict(unknown, offset=more)
    np.testing.assert_array_equal(found, expected[X[:, 0] > 0])
    for other in (offset, da.from_array(offset), parts.rechunk(((30, 10, 20),))):
        with pytest.raises(ValueError, match="the partitions of X, which has 3; got"):
            model.predict(lazy, offset=other)


def test_offsets_of_frames(client):
    offset = np.linspace(-1, 1, N_ROWS)
    frame = dd.from_pandas(FRAME.assign(offset=offset), npartitions=4)
    local = local_model("CGBoostingRegressor").fit(FRAME, SCORE, offset=offset)
    model = dask_model("CGBoostingRegressor")
    model.fit(frame[["a", "b", "c", "d"]], SCORE, offset=frame["offset"])
    same_bytes(model.to_local(), local)
    some = frame[frame["a"] > 1]  # unknown lengths, and empty partitions
    lazy = model.predict(some[["a", "b", "c", "d"]], offset=some["offset"])
    here = FRAME["a"] > 1
    expected = local.predict(FRAME[here], offset=offset[here])
    np.testing.assert_array_equal(lazy.compute(), expected)


def test_forests_have_no_offset(client):
    model = dask_model("CGForestRegressor").fit(da.from_array(X, chunks=20), SCORE)
    with pytest.raises(TypeError, match="unexpected argument 'offset'"):
        model.predict(da.from_array(X, chunks=20), offset=SCORE)


def test_offsets_of_several_classes(client):
    offset = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    lazy, parts = da.from_array(X, chunks=20), da.from_array(offset, chunks=(20, 2))
    model = dask_model("CGBoostingClassifier").fit(lazy, LABELS, offset=parts)
    expected = model.to_local().predict_proba(X, offset=offset)
    found = model.predict_proba(lazy, offset=parts)
    np.testing.assert_array_equal(found, expected)


def test_failed_fit_changes_nothing(client):
    given = da.from_array(X, chunks=20)
    model = dask_model("CGBoostingClassifier").fit(given, LABELS)
    before = file_bytes(model)

    def fails(report):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        model.fit(given, LABELS, callbacks=[fails])
    assert file_bytes(model) == before
    same_bytes(
        model.fit(given, LABELS).to_local(),
        local_model("CGBoostingClassifier").fit(X, LABELS),
    )


# --- predictions ----------------------------------------------------------------------


def lazy_methods(name):
    """Return all methods of a local class with one result per row."""
    cls = getattr(dics, name)
    found = [
        method
        for method, function in inspect.getmembers(cls, inspect.isfunction)
        if "X" in inspect.signature(function).parameters
        and not method.startswith("_")
        and method not in OTHER_METHODS
    ]
    assert set(found) <= {*ROW_METHODS, *STAGED_METHODS}
    return found


@pytest.fixture(scope="module")
def fitted(client):
    frame = dd.from_pandas(FRAME, npartitions=2)
    return {
        name + of: dask_model(name).fit(rows, y_of(name))
        for name in NAMES
        for of, rows in (("", da.from_array(X, chunks=20)), (" of a frame", frame))
    }


def computed(lazy):
    """Compute results; results per row must be lazy."""
    if isinstance(lazy, tuple):
        return computed(lazy[0]), *lazy[1:]
    assert dask.is_dask_collection(lazy)
    found = lazy.compute()
    assert found.dtype == lazy.dtype
    np.testing.assert_array_equal(found.shape[1:], lazy.shape[1:])
    return found


def check_same(found, expected):
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            check_same(one, other)
    elif scipy.sparse.issparse(expected):
        assert scipy.sparse.issparse(found)
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    else:
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.quick(16)
@pytest.mark.parametrize(
    ("name", "method"), [(n, method) for n in NAMES for method in lazy_methods(n)]
)
def test_methods_are_lazy(client, fitted, name, method):
    for lazy in (
        da.from_array(X, chunks=((0, 1, 30, 29), (3, 1))),
        dd.from_delayed([dask.delayed(FRAME[:50]), dask.delayed(FRAME[50:])]),
    ):
        named = not hasattr(lazy, "rechunk")
        model = fitted[name + " of a frame"] if named else fitted[name]
        expected = getattr(model.to_local(), method)(FRAME if named else X)
        found = getattr(model, method)(lazy)
        if method in STAGED_METHODS:
            pairs = list(zip(map(computed, found), expected, strict=True))
            assert len(pairs) == 3
        else:
            pairs = [(computed(found), expected)]
        for one, other in pairs:
            check_same(one, other)


def test_arguments_of_methods(client, fitted):
    model = fitted["CGForestRegressor"]
    found = model.predict_quantiles(da.from_array(X, chunks=20), quantiles=(0.2,))
    np.testing.assert_array_equal(
        found.compute(), model.to_local().predict_quantiles(X, quantiles=(0.2,))
    )


@pytest.mark.parametrize("name", NAMES)
def test_score(client, fitted, name):
    weights = np.random.default_rng(1).random(N_ROWS)
    y = y_of(name)
    lazy = [da.from_array(values, chunks=31) for values in (y, weights)]
    expected = fitted[name].to_local().score(X, y, weights)
    given = da.from_array(X, chunks=20)
    assert fitted[name].score(given, *lazy) == pytest.approx(expected)
    assert fitted[name].score(X, y, weights) == expected
    with_client = clone(fitted[name]).set_params(client=client)
    vars(with_client).update(vars(fitted[name]) | {"client": client})
    assert with_client.score(given, *lazy) == pytest.approx(expected)


@pytest.mark.parametrize("has_client", [False, True])
def test_score_of_frames_and_arrays(client, fitted, has_client):
    """No warning of Dask about mixed collections, or about the size of the model."""
    model = clone(fitted["CGForestRegressor"])
    vars(model).update(vars(fitted["CGForestRegressor"]))
    model.client = client if has_client else None
    y = pd.Series(y_of("CGForestRegressor"), name="y")
    expected = model.to_local().score(X, y)
    rows = given("CGForestRegressor")[0]
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1kB"}):
        found = model.score(rows, dd.from_pandas(y, npartitions=3))
    assert found == pytest.approx(expected)


def test_predictions_reject_other_rows_immediately(client, fitted):
    model = fitted["CGBoostingClassifier"]
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        model.predict(da.zeros((5, 3)))
    with pytest.raises(ValueError, match="1D array"):
        model.predict(da.zeros(5))
    named = dask_model("CGTreeClassifier").fit(
        dd.from_pandas(FRAME, npartitions=2), LABELS
    )
    with pytest.raises(ValueError, match="feature names"):
        named.predict(dd.from_pandas(FRAME.rename(columns={"a": "z"}), npartitions=2))
    with pytest.raises(NotFittedError):
        dask_model("CGBoostingClassifier").predict(da.zeros((5, 3)))


def test_column_types_are_checked_immediately(client):
    frame = FRAME.assign(
        text=LABELS, category=np.arange(N_ROWS) % 5, flag=np.arange(N_ROWS) % 2 == 0
    )
    lazy = dd.from_pandas(frame, npartitions=3)
    model = dask_model("CGTreeClassifier", categorical_features="from_dtype")
    model.fit(lazy, LABELS)
    with pytest.raises(ValueError, match=r"column 'a' is of text .* in fit it held nu"):
        model.predict(lazy.assign(a="text"))
    with pytest.raises(
        ValueError, match=r"'text' has categories that are numbers .*int"
    ):
        model.predict(lazy.assign(text=1))
    with pytest.raises(
        ValueError, match=r"'text' has categories that are bools .*'high'"
    ):
        model.predict(lazy.assign(text=True))
    words = lazy.assign(a=lazy["text"].astype(pd.CategoricalDtype(["u", "v"])))
    with pytest.raises(ValueError, match="column 'a' is of text"):
        model.predict(words)
    # Types that may be valid are checked with the rows.
    nothing = frame.assign(text=np.nan)
    np.testing.assert_array_equal(
        model.predict(lazy.assign(text=np.nan)).compute(),
        model.to_local().predict(nothing),
    )
    unknown = lazy.assign(text=lazy["text"].astype("category"))
    assert not unknown["text"].cat.known
    np.testing.assert_array_equal(
        model.predict(unknown).compute(), model.to_local().predict(frame)
    )


def test_text_columns_without_categories(client, fitted):
    """Text is not parsed as numbers."""
    lazy = dd.from_pandas(FRAME.astype(str), npartitions=2)
    model = dask_model("CGTreeClassifier", categorical_features=None)
    with pytest.raises(ValueError, match=r"partition [01] of X: column 'a' holds text"):
        model.fit(lazy, LABELS)
    model.fit(dd.from_pandas(FRAME, npartitions=2), LABELS)
    with pytest.raises(ValueError, match=r"column 'a' is of text.*in fit it held numb"):
        model.predict(lazy)


def test_late_errors_name_the_partition(client, fitted):
    rows = X.astype(object)
    rows[45, 1] = "text"
    said = r"partition 2 of X: column {} holds text, such as 'text'; in fit it held"
    found = fitted["CGBoostingClassifier"].predict(da.from_array(rows, chunks=(20, 4)))
    with pytest.raises(ValueError, match=said.format("1")):
        found.compute()
    frame = pd.DataFrame(rows, columns=FRAME.columns)
    lazy = dd.from_pandas(FRAME, npartitions=3).map_partitions(
        lambda part: frame.loc[part.index], meta=frame[:0]
    )
    found = fitted["CGTreeRegressor of a frame"].apply(lazy)
    with pytest.raises(ValueError, match=said.format("'b'")):
        found.compute()


# --- the estimator --------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_pickle_clone_and_files(client, fitted, name, tmp_path):
    model = dask_model(name, client=client)
    assert model.get_params()["client"] is client
    assert clone(model).client is client
    model.fit(da.from_array(X, chunks=20), y_of(name))
    copied = pickle.loads(pickle.dumps(model))
    assert copied.client is None
    assert type(copied) is type(model)
    same_bytes(copied.to_local(), model.to_local())
    local = model.to_local()
    assert type(local) is getattr(dics, name)
    assert "client" not in local.get_params()
    model.save(tmp_path / "model")
    loaded = dics.load(tmp_path / "model")
    assert type(loaded) is getattr(dics, name)
    np.testing.assert_array_equal(loaded.predict(X), local.predict(X))


def test_same_parameters_as_the_local_class():
    for name in NAMES:
        local = getattr(dics, name)().get_params()
        own = getattr(dics.dask, f"Dask{name}")().get_params()
        assert own == local | {"client": None}


def test_paper_setting_and_pruning_path(client):
    given = da.from_array(X, chunks=20)
    forest = dics.dask.DaskCGForestClassifier.paper(n_estimators=2, random_state=0)
    local = dics.CGForestClassifier.paper(n_estimators=2, random_state=0)
    same_bytes(forest.fit(given, LABELS).to_local(), local.fit(X, LABELS))
    path = dask_model("CGTreeClassifier").cost_complexity_pruning_path(given, LABELS)
    expected = local_model("CGTreeClassifier").cost_complexity_pruning_path(X, LABELS)
    np.testing.assert_array_equal(path.ccp_alphas, expected.ccp_alphas)


@pytest.mark.parametrize(
    ("name", "n"), [("CGBoostingClassifier", 20), ("CGForestClassifier", 20_000)]
)
def test_progress_is_shown_while_it_runs(client, name, n, capfd, monkeypatch):
    monkeypatch.setattr("dics._estimator.running.Progress.QUIET_SECONDS", 0.0)
    monkeypatch.setattr("dics.dask._watch.REPORT_SECONDS", 0.0)
    model = dask_model(name, n_estimators=n, verbose=1)
    model.fit(da.from_array(X, chunks=(20, 4)), LABELS)
    lines = capfd.readouterr().err.splitlines()
    unit = "rounds" if name in BOOSTING else "trees"
    shown = [re.search(rf"(\d+)/{n} {unit}, ", line) for line in lines]
    numbers = [int(match[1]) for match in shown if match]
    assert len(numbers) > 1
    assert numbers == sorted(set(numbers))  # no line twice
    assert all(
        line.endswith(" s left") for line, m in zip(lines, shown, strict=True) if m
    )
    assert lines[-1].startswith(f"Dask{name}: {n} {unit} in ")
    if name in BOOSTING:
        assert any(
            re.search(r"loss \d\.\d+, \d+\.\d MB sent, ", line) for line in lines
        )
