"""Models of sparse collections are bit-identical to those of one machine."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
from checks import same_bytes
from dask_cases import SparseCase, as_dask, cluster_of, differing, random_cases
from dask_rows import NAMES, dask_model, local_model
from test_dask_input import check_same, computed, lazy_methods

from dics import BaseCandidates, TreeOptions
from dics._input.sparse import SparseRows, concat_rows
from dics.dask._predict import STAGED_METHODS

N_ROWS, N_COLUMNS = 90, 12
CHUNKS = (40, 0, 1, 49)


def make_rows(density=0.3, seed=0, dtype="f4"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_COLUMNS)) * (
        rng.random((N_ROWS, N_COLUMNS)) < density
    )
    return X.astype(dtype)


X = make_rows()
SPARSE = scipy.sparse.csr_array(X)
SCORE = X[:, 0] + X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=N_ROWS)
LABELS = np.digitize(SCORE, [-0.1, 0.2])


def y_of(name):
    return LABELS if "Classifier" in name else SCORE


def named(rows):
    frame = pd.DataFrame.sparse.from_spmatrix(rows)
    return frame.rename(columns=lambda f: f"word {f}")


def collections():
    """Return the same rows in several sparse collections."""
    plain = da.from_array(X, chunks=(CHUNKS, N_COLUMNS))
    return {
        "csr_matrix": as_dask(scipy.sparse.csr_matrix(X), CHUNKS),
        "csr_array": as_dask(SPARSE, CHUNKS),
        "coo": as_dask(scipy.sparse.csr_matrix(X), CHUNKS).map_blocks(
            scipy.sparse.coo_matrix
        ),
        "dense meta": plain.map_blocks(
            scipy.sparse.csr_matrix, meta=np.empty((0, 0), dtype="f4")
        ),
        "several column chunks": plain.rechunk({1: 5}).map_blocks(
            scipy.sparse.csr_array
        ),
        "unknown lengths": da.concatenate(
            [
                da.from_delayed(
                    dask.delayed(SPARSE[i : i + 30]),
                    shape=(np.nan, N_COLUMNS),
                    meta=SPARSE[:0],
                )
                for i in range(0, N_ROWS, 30)
            ],
            allow_unknown_chunksizes=True,
        ),
        "double precision": as_dask(SPARSE.astype("f8"), CHUNKS),
        "partly dense": da.concatenate(
            [as_dask(SPARSE[:40], (40,)), da.from_array(X[40:], chunks=(20, 12))]
        ),
    }


# --- fits -----------------------------------------------------------------------------


@pytest.mark.quick(8)
@pytest.mark.parametrize("kind", collections())
@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGTreeRegressor"])
def test_kinds_of_collections(client, name, kind):
    given = collections()[kind]
    model = dask_model(name).fit(given, y_of(name))
    same_bytes(model.to_local(), local_model(name).fit(SPARSE, y_of(name)))
    found = model.predict(given)
    np.testing.assert_array_equal(found.compute(), model.to_local().predict(SPARSE))


def test_dense_partitions_may_miss_values(client):
    """If some partitions are dense, the model is that of a dense X."""
    rows = make_rows(dtype="f8")
    rows[:, 5] = (1.7e9 + np.arange(N_ROWS)) * (rows[:, 5] != 0)
    sparse = as_dask(scipy.sparse.csr_array(rows[:40]), (40,))
    rows[40::3, 2] = np.nan
    rows[50, 5] = np.nan
    given = da.concatenate([sparse, da.from_array(rows[40:], chunks=(20, N_COLUMNS))])
    for name in ("CGTreeClassifier", "CGForestRegressor"):
        model = dask_model(name).fit(given, y_of(name))
        same_bytes(model.to_local(), local_model(name).fit(rows, y_of(name)))


def test_unknown_width(client):
    given = da.from_delayed(
        dask.delayed(SPARSE), shape=(np.nan, np.nan), meta=SPARSE[:0]
    )
    model = dask_model("CGBoostingClassifier").fit(given, LABELS)
    same_bytes(
        model.to_local(), local_model("CGBoostingClassifier").fit(SPARSE, LABELS)
    )
    found = model.predict_proba(given).compute()
    np.testing.assert_array_equal(found, model.to_local().predict_proba(SPARSE))


@pytest.mark.parametrize(("n_workers", "seeds"), random_cases((3,), (1, 3), 8))
def test_same_model_files_as_on_one_machine(n_workers, seeds):
    with cluster_of(n_workers):
        assert differing(seeds, SparseCase) == []


@pytest.mark.parametrize("name", NAMES)
def test_rare_words(client, name):
    """More than 2048 features, most of which have one value: other rules hold."""
    rng = np.random.default_rng(0)
    words = scipy.sparse.random_array(
        (200, 2100), density=0.01, rng=rng, format="csr", dtype="f4"
    )
    y = words[:, [0, 1]].sum(axis=1)
    y = (y > 0).astype(int) if "Classifier" in name else y
    model = dask_model(name).fit(as_dask(words, (60, 1, 0, 139)), y)
    same_bytes(model.to_local(), local_model(name).fit(words, y))


def test_frame(client):
    here = named(SPARSE)
    given = dd.from_delayed([dask.delayed(here[:30]), dask.delayed(here[30:])])
    for name in ("CGBoostingClassifier", "CGForestRegressor"):
        model = dask_model(name).fit(given, y_of(name))
        local = local_model(name).fit(here, y_of(name))
        same_bytes(model.to_local(), local)
        np.testing.assert_array_equal(
            model.predict(given).compute(), local.predict(here)
        )


@pytest.mark.parametrize("name", [n for n in NAMES if "Tree" not in n])
def test_warm_start(client, name):
    fits = []
    for make, rows in (
        (dask_model, as_dask(SPARSE, CHUNKS)),
        (local_model, SPARSE),
    ):
        model = make(name, warm_start=True).fit(rows, y_of(name))
        fits.append(model.set_params(n_estimators=5).fit(rows, y_of(name)))
    same_bytes(fits[0].to_local(), fits[1])


class Halves(BaseCandidates):
    accepts_sparse = True

    def find_thresholds(self, X, y, sample_weight, rng):
        assert scipy.sparse.issparse(X)
        return np.full((X.shape[1], 1), 0.5)


def test_custom_candidates(client):
    given = as_dask(SPARSE, CHUNKS)
    model = dask_model("CGTreeClassifier", candidates=Halves()).fit(given, LABELS)
    local = local_model("CGTreeClassifier", candidates=Halves()).fit(SPARSE, LABELS)
    np.testing.assert_array_equal(
        model.to_local().predict_proba(X), local.predict_proba(X)
    )


def test_no_dense_copy(client, monkeypatch):
    """Sparse partitions are encoded directly, and sampled rows stay sparse."""

    def fails(*_):
        raise AssertionError("a dense copy was made")

    monkeypatch.setattr(SparseRows, "to_dense", fails)
    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", fails)
    for name in NAMES:
        dask_model(name).fit(as_dask(SPARSE, CHUNKS), y_of(name))


# --- predictions ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(client):
    given = as_dask(SPARSE, CHUNKS)
    return {name: dask_model(name).fit(given, y_of(name)) for name in NAMES}


@pytest.mark.quick(12)
@pytest.mark.parametrize(
    ("name", "method"), [(n, method) for n in NAMES for method in lazy_methods(n)]
)
def test_methods(client, fitted, name, method):
    model = fitted[name]
    expected = getattr(model.to_local(), method)(SPARSE)
    for kind in ("csr_array", "dense meta") if method == "predict" else ("csr_matrix",):
        found = getattr(model, method)(collections()[kind])
        if method in STAGED_METHODS:
            for one, other in zip(
                map(computed, found), getattr(model.to_local(), method)(X), strict=True
            ):
                check_same(one, other)
        else:
            check_same(computed(found), expected)


@pytest.mark.parametrize("name", NAMES)
def test_score(client, fitted, name):
    weights = np.random.default_rng(1).random(N_ROWS)
    found = fitted[name].score(as_dask(SPARSE, CHUNKS), y_of(name), weights)
    expected = fitted[name].to_local().score(X, y_of(name), weights)
    assert found == pytest.approx(expected)


# --- errors ---------------------------------------------------------------------------


def test_stored_nan(client, fitted):
    rows = X.copy()
    rows[70, 8] = np.nan
    bad = scipy.sparse.csr_matrix(rows)
    frame = named(bad)
    lazy = dd.from_delayed([dask.delayed(frame[:40]), dask.delayed(frame[40:])])
    said = "partition {} of X is sparse and stores NaN in column {}, row {}; replace"
    for name in ("CGBoostingClassifier", "CGForestRegressor", "CGTreeClassifier"):
        with pytest.raises(ValueError, match=said.format(3, 8, 29)):
            dask_model(name).fit(as_dask(bad, CHUNKS), y_of(name))
        with pytest.raises(ValueError, match=said.format(1, "'word 8'", 30)):
            dask_model(name).fit(lazy, y_of(name))
        with pytest.raises(ValueError, match=said.format(3, 8, 29)):
            fitted[name].predict(as_dask(bad, CHUNKS)).compute()


def test_other_width(client, fitted):
    narrow = as_dask(SPARSE[:, :5], CHUNKS)
    model = fitted["CGBoostingClassifier"]
    with pytest.raises(ValueError, match=r"5 features, .* expecting 12"):
        model.predict(narrow)
    unknown = da.from_delayed(
        dask.delayed(SPARSE[:, :5]), shape=(np.nan, np.nan), meta=SPARSE[:0]
    )
    with pytest.raises(ValueError, match="partition 0 of X has 5 features"):
        model.predict(unknown).compute()
    with pytest.raises(ValueError, match=r"X_val.* has 5 features, .* 12"):
        dask_model("CGBoostingClassifier").fit(
            as_dask(SPARSE, CHUNKS), LABELS, X_val=narrow, y_val=LABELS
        )


def test_options_that_need_a_dense_x(client):
    for kind in ("csr_array", "dense meta"):
        given = collections()[kind]
        with pytest.raises(ValueError, match=r"X is sparse.*reuse_splits=False"):
            dask_model(
                "CGTreeClassifier", advanced=TreeOptions(reuse_splits=False)
            ).fit(given, LABELS)
        with pytest.raises(ValueError, match=r"sparse"):
            dask_model("CGTreeClassifier", categorical_features=[1]).fit(given, LABELS)


def test_categories_need_a_dense_x(client):
    dense = da.from_array(np.round(X), chunks=(30, N_COLUMNS))
    model = dask_model("CGBoostingClassifier", categorical_features=[0])
    for kind in ("csr_array", "dense meta"):
        given = collections()[kind]
        said = r"partition \d of X is sparse, but column 0 holds categories"
        with pytest.raises(ValueError, match=said):
            model.fit(dense, LABELS, X_val=given, y_val=LABELS)
        fitted = dask_model("CGBoostingClassifier", categorical_features=[0])
        with pytest.raises(ValueError, match="sparse, but column 0 holds categories"):
            fitted.fit(dense, LABELS).predict(given).compute()


def test_tags():
    for name in NAMES:
        assert dask_model(name).__sklearn_tags__().input_tags.sparse


# --- sparse rows ----------------------------------------------------------------------


def test_pickled_rows():
    rows = SparseRows.of(SPARSE).astype(np.float64)
    copied = pickle.loads(pickle.dumps(rows, protocol=5))
    np.testing.assert_array_equal(copied.to_dense(), rows.to_dense())
    assert copied.dtype == np.float64
    assert rows.__sizeof__() >= 12 * SPARSE.nnz


def test_joined_matrices():
    rows = SparseRows.of(SPARSE)
    none = np.empty((0, N_COLUMNS), dtype="f4")
    joined = concat_rows([none, rows, rows[np.arange(0)], rows[np.arange(5)]])
    assert isinstance(joined, SparseRows)
    expected = np.concatenate([X, X[:5]])
    np.testing.assert_array_equal(joined.to_dense(), expected)
    mixed = concat_rows([rows, X[:5]])
    assert isinstance(mixed, np.ndarray)
    np.testing.assert_array_equal(mixed, expected)
    assert concat_rows([none, none]).shape == none.shape
