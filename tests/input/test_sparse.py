"""A sparse X and its dense copy give bit-identical models."""

import numpy as np
import pandas as pd
import pytest
import reference
import scipy.sparse
from checks import GivenCandidates, same_bytes, same_tree
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import dics
from dics import (
    BaseCandidates,
    BoostingOptions,
    CentroidCandidates,
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    ForestOptions,
    QuantileCandidates,
    TreeOptions,
)
from dics import _dictionary as dictionary
from dics._boosting.rows import LocalCodes

pytestmark = pytest.mark.core

MODELS = {
    "tree": CGTreeClassifier(random_state=0),
    "tree, entropy": CGTreeClassifier(
        criterion="entropy", min_samples_leaf=3, random_state=0
    ),
    "tree, candidates": CGTreeClassifier(
        advanced=TreeOptions(max_candidates=20), random_state=0
    ),
    "forest": CGForestClassifier(n_estimators=4, random_state=0),
    "forest, by tree": CGForestClassifier(
        n_estimators=4,
        advanced=ForestOptions(feature_sampling="tree", max_candidates=30),
        random_state=0,
    ),
    "forest, all features": CGForestClassifier(
        n_estimators=3,
        max_features=None,
        class_weight="balanced_subsample",
        random_state=0,
    ),
    "forest, candidates": CGForestClassifier(
        n_estimators=4, advanced=ForestOptions(max_candidates=9), random_state=0
    ),
    "boosting": CGBoostingClassifier(n_estimators=8, random_state=0),
    "boosting, features": CGBoostingClassifier(
        n_estimators=8, max_features=20, early_stopping=True, random_state=0
    ),
    "boosting, rows": CGBoostingClassifier(
        n_estimators=8,
        sampling="mvs",
        advanced=BoostingOptions(max_candidates=30),
        random_state=0,
    ),
    "boosting, leaves": CGBoostingClassifier(
        n_estimators=4, max_leaf_nodes=100, min_samples_leaf=1, random_state=0
    ),
    "number tree": CGTreeRegressor(random_state=0),
    "number tree, medians": CGTreeRegressor(
        criterion="absolute_error", max_depth=4, random_state=0
    ),
    "number forest": CGForestRegressor(
        n_estimators=3, max_features="sqrt", random_state=0
    ),
    "number forest, all features": CGForestRegressor(
        n_estimators=3, max_features=1.0, criterion="poisson", random_state=0
    ),
    "number boosting": CGBoostingRegressor(n_estimators=8, random_state=0),
}


def make_data(dtype="f4", shape=(300, 200), seed=0, rate=0.1):
    """Return rows that are mostly zeros, with negative numbers if the type allows."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rate, shape).astype(dtype)
    if X.dtype.kind == "f":
        X *= rng.choice([1.0, 1.5, -1.0], shape).astype(dtype)
    X[:, 7] = 1  # no zeros at all
    X[:, 8] = rng.integers(1, 30, shape[0])
    X[:, 9] = 0
    X[3] = 0
    known = X.astype(float)
    y = (known[:, :8].sum(axis=1) + known[:, 8] / 10 > 2).astype(int)
    y += 2 * (known[:, 10:20].sum(axis=1) > 1)
    return X, y


@pytest.fixture(params=["bytes", "lists"])
def store(request, monkeypatch):
    """Store bin indices of a sparse X as a matrix of bytes, or as lists."""
    share = 0.0 if request.param == "bytes" else 2.0
    monkeypatch.setattr(dictionary, "LISTED_FRACTION", share)
    return request.param


def check_same(model, X, sparse, y, weights=None):
    dense = clone(model).fit(X, y, sample_weight=weights)
    fitted = clone(model).set_params(n_jobs=3).fit(sparse, y, sample_weight=weights)
    same_bytes(fitted, dense)
    np.testing.assert_array_equal(fitted.predict(sparse), dense.predict(X))
    np.testing.assert_array_equal(fitted.apply(sparse), dense.apply(X))
    np.testing.assert_array_equal(
        fitted.predict_contributions(sparse[:20]), dense.predict_contributions(X[:20])
    )
    return fitted, dense


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_dense_copy(store, name, is_weighted):
    X, y = make_data()
    weights = np.random.default_rng(1).random(len(y)) if is_weighted else None
    if weights is not None:
        weights[::7] = 0
    check_same(MODELS[name], X, scipy.sparse.csr_array(X), y, weights)


@pytest.mark.parametrize("dtype", ["f8", "u1", "i8", "i2", "bool"])
@pytest.mark.parametrize("name", ["tree", "forest", "number boosting"])
def test_types(store, name, dtype):
    X, y = make_data(dtype)
    check_same(MODELS[name], X, scipy.sparse.csr_array(X), y)


@pytest.mark.parametrize("rate", [0.002, 0.02])
@pytest.mark.parametrize("name", ["tree", "forest", "number forest", "boosting"])
def test_many_features(store, name, rate):
    """There are more features than a node searches, and most are constant."""
    X, y = make_data(shape=(300, 3000), rate=rate)
    check_same(MODELS[name], X, scipy.sparse.csr_array(X), y)


@pytest.mark.parametrize("shape", [(66_000, 12), (60, 66_000)])
@pytest.mark.parametrize("name", ["tree", "boosting"])
def test_wide_numbers(monkeypatch, name, shape):
    """Row or feature indices in lists need more than two bytes."""
    monkeypatch.setattr(dictionary, "LISTED_FRACTION", 2.0)
    rng = np.random.default_rng(0)
    X = (rng.random(shape, dtype=np.float32) < 0.05).astype(np.uint8)
    y = X[:, -1] + X[:, -2] + 2 * (rng.random(shape[0]) < 0.1)
    model = clone(MODELS[name]).set_params(max_depth=3)
    fits = [clone(model).fit(rows, y) for rows in (X, scipy.sparse.csr_array(X))]
    same_bytes(*fits)


@pytest.mark.parametrize("name", ["number tree", "number forest", "number boosting"])
def test_several_outputs(store, name):
    X, y = make_data()
    targets = np.column_stack([y, np.random.default_rng(2).normal(size=len(y))])
    check_same(MODELS[name], X, scipy.sparse.csr_array(X), targets)


@pytest.mark.parametrize("seed", range(8))
def test_equals_reference(store, seed):
    """Compare every node with the tree that NumPy grows from the dense copy."""
    X, y = make_data(shape=(80, 12), seed=seed, rate=0.3)
    rng = np.random.default_rng(seed)
    taus = [np.sort(rng.choice([-1, -0.5, 0, 0.25, 1, 2, 9], 3, replace=False))] * 12
    taus = [np.asarray(tau, dtype=np.float64) for tau in taus]
    tree = CGTreeClassifier(candidates=GivenCandidates(taus), random_state=seed)
    tree.fit(scipy.sparse.csr_array(X), y)
    labels = np.unique(y, return_inverse=True)[1]
    same_tree(tree, reference.grow(X, labels, taus, seed=seed))


FORMATS = {
    "csr_matrix": scipy.sparse.csr_matrix,
    "csc_array": scipy.sparse.csc_array,
    "csc_matrix": scipy.sparse.csc_matrix,
    "coo_array": scipy.sparse.coo_array,
    "coo_matrix": scipy.sparse.coo_matrix,
    "lil_matrix": scipy.sparse.lil_matrix,
    "frame": lambda X: pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(X)),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name):
    X, y = make_data()
    given = FORMATS[name](X)
    if name == "frame":
        X = pd.DataFrame(X, columns=given.columns)
    fitted = CGTreeClassifier(random_state=0).fit(given, y)
    dense = CGTreeClassifier(random_state=0).fit(X, y)
    same_bytes(fitted, dense)
    np.testing.assert_array_equal(fitted.predict(given), dense.predict(X))


def unusual(X):
    """Return the same matrix with stored zeros, split entries and unsorted rows."""
    entries = scipy.sparse.coo_array(X)
    row, column = entries.coords
    data = np.concatenate([entries.data, np.zeros(5), [2.0, -2.0]]).astype(X.dtype)
    row = np.concatenate([row, np.arange(5), [50, 50]])
    column = np.concatenate([column, np.arange(5) + 30, [60, 60]])
    order = np.random.default_rng(0).permutation(len(data))
    order = order[np.argsort(row[order], kind="stable")]
    starts = np.searchsorted(row[order], np.arange(len(X) + 1))
    return scipy.sparse.csr_matrix(
        (data[order], column[order].astype(np.int64), starts.astype(np.int64)),
        shape=X.shape,
    )


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "number tree"])
def test_unusual_entries(store, name):
    X, y = make_data()
    given = unusual(X)
    assert not given.has_canonical_format
    before = given.copy()
    fitted = clone(MODELS[name]).fit(given, y)
    same_bytes(fitted, clone(MODELS[name]).fit(X, y))
    for part in ("data", "indices", "indptr"):  # the input is unchanged
        np.testing.assert_array_equal(getattr(given, part), getattr(before, part))


def test_columns_that_single_precision_would_merge(store):
    X, y = make_data("f8")
    rng = np.random.default_rng(3)
    X[:, 5] = (1.7e9 + rng.integers(0, 500, len(X))) * (rng.random(len(X)) < 0.5)
    sparse = scipy.sparse.csr_array(X)
    for name in ("tree", "forest", "boosting"):
        fitted, _ = check_same(MODELS[name], X, sparse, y)
        threshold = fitted.trees_.threshold[fitted.trees_.feature == 5]
        assert (threshold != threshold.astype(np.float32)).any()


@pytest.mark.parametrize(
    "source", [CentroidCandidates(), QuantileCandidates(max_bins=17)]
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_candidates(source, is_weighted):
    X, y = make_data("f8")
    weights = np.random.default_rng(1).random(len(y)) if is_weighted else None
    sparse = scipy.sparse.csc_array(X)
    source.set_params(random_state=0)
    dense = clone(source).fit(X, y, sample_weight=weights)
    fitted = clone(source).fit(sparse, y, sample_weight=weights)
    for one, other in zip(fitted.thresholds_, dense.thresholds_, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(fitted.transform(sparse), dense.transform(X))


class Halves(BaseCandidates):
    accepts_sparse = True

    def find_thresholds(self, X, y, sample_weight, rng):
        assert scipy.sparse.issparse(X)
        return np.full((X.shape[1], 1), 0.5)


class DenseHalves(BaseCandidates):
    def find_thresholds(self, X, y, sample_weight, rng):
        return np.full((X.shape[1], 1), 0.5)


def test_custom_candidates():
    X, y = make_data()
    sparse = scipy.sparse.csr_array(X)
    tree = CGTreeClassifier(candidates=Halves(), random_state=0).fit(sparse, y)
    dense = CGTreeClassifier(candidates=DenseHalves(), random_state=0)
    same_bytes(tree, dense.fit(X, y))
    with pytest.raises(ValueError, match=r"DenseHalves\.find_.* needs a dense X"):
        dense.fit(sparse, y)


def test_other_methods(store):
    X, y = make_data()
    sparse = scipy.sparse.csr_array(X)
    model = CGForestClassifier(n_estimators=20, oob_score=True, random_state=0)
    forest, dense = check_same(model, X, sparse, y)
    assert forest.oob_score_ == dense.oob_score_
    np.testing.assert_array_equal(
        forest.decision_path(sparse)[0].toarray(), dense.decision_path(X)[0].toarray()
    )
    boosted, dense = check_same(MODELS["boosting"], X, sparse, y)
    stages = zip(
        boosted.staged_predict_proba(sparse), dense.staged_predict_proba(X), strict=True
    )
    for one, other in stages:
        np.testing.assert_array_equal(one, other)
    numbers, dense = check_same(MODELS["number forest"], X, sparse, y)
    np.testing.assert_array_equal(
        numbers.predict_quantiles(sparse), dense.predict_quantiles(X)
    )


def test_more_threads_than_blocks():
    """Rows are expanded in blocks of up to 1024; any thread may process a block."""
    X, y = make_data(shape=(1200, 60))
    model = CGForestClassifier(n_estimators=10, random_state=0, n_jobs=8).fit(X, y)
    leaves = model.apply(X)
    sparse = scipy.sparse.csr_array(X)
    for _ in range(50):
        np.testing.assert_array_equal(model.apply(sparse), leaves)


def test_validation_rows(store):
    X, y = make_data()
    model = CGBoostingClassifier(n_estimators=30, scoring="accuracy", random_state=0)
    sparse = scipy.sparse.csr_array(X)
    dense = clone(model).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    fitted = clone(model).fit(
        sparse[:200], y[:200], eval_set=[(sparse[200:].tocoo(), y[200:])]
    )
    same_bytes(fitted, dense)
    np.testing.assert_array_equal(fitted.validation_score_, dense.validation_score_)


@pytest.mark.slow
def test_trial(store):
    """A trial splits the rows into held-out and training rows."""
    X, y = make_data(shape=(1200, 60))
    model = CGBoostingClassifier(learning_rate="auto", random_state=0)
    fitted, _ = check_same(model, X, scipy.sparse.csr_array(X), y)
    assert fitted.plan_.n_trials == 3


def test_rows_taken_twice(monkeypatch):
    """Lists for a subset of rows share their entries with the original lists."""
    monkeypatch.setattr(dictionary, "LISTED_FRACTION", 2.0)
    X, y = make_data()
    model = CGBoostingClassifier(n_estimators=5, early_stopping=True, random_state=0)
    once = clone(model).fit(scipy.sparse.csr_array(X), y)
    take, n_taken = LocalCodes.take, []

    def take_twice(self, rows):
        if rows is None:
            return self
        more = np.union1d(rows, np.arange(0, self.n_rows, 5))
        n_taken.append(len(more))
        return take(take(self, more), np.searchsorted(more, rows))

    monkeypatch.setattr(LocalCodes, "take", take_twice)
    same_bytes(clone(model).fit(scipy.sparse.csr_array(X), y), once)
    assert min(n_taken) < len(y)


@pytest.mark.parametrize("name", ["forest", "boosting", "number boosting"])
def test_warm_start(store, name):
    X, y = make_data()
    sparse = scipy.sparse.csr_array(X)
    fits = []
    for rows in (X, sparse):
        model = clone(MODELS[name]).set_params(warm_start=True).fit(rows, y)
        fits.append(model.set_params(n_estimators=12).fit(rows, y))
    same_bytes(*fits)


def test_saved_model(tmp_path):
    X, y = make_data()
    model = clone(MODELS["boosting"]).fit(scipy.sparse.csr_array(X), y)
    model.save(tmp_path / "model.dics")
    loaded = dics.load(tmp_path / "model.dics")
    np.testing.assert_array_equal(
        loaded.predict_proba(scipy.sparse.csr_array(X)), model.predict_proba(X)
    )


@pytest.mark.parametrize(
    "model",
    [CGTreeClassifier(), CGForestClassifier(n_estimators=5), CGBoostingClassifier()],
)
def test_pipelines(model):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "color": rng.choice(["red", "green", "blue"], 200),
            "shape": rng.choice([f"s{i}" for i in range(40)], 200),
            "size": rng.normal(size=200),
        }
    )
    y = ((frame["color"] == "red") & (frame["size"] > 0)).astype(int)
    fitted = []
    for is_sparse in (False, True):
        encoder = OneHotEncoder(sparse_output=is_sparse, handle_unknown="ignore")
        columns = make_column_transformer(
            (encoder, ["color", "shape"]),
            remainder="passthrough",
            sparse_threshold=1.0 if is_sparse else 0.0,
        )
        own = clone(model).set_params(random_state=0)
        pipeline = make_pipeline(columns, own).fit(frame, y)
        assert scipy.sparse.issparse(pipeline[0].transform(frame)) == is_sparse
        fitted.append(pipeline)
    same_bytes(fitted[1][-1], fitted[0][-1])
    np.testing.assert_array_equal(fitted[1].predict(frame), fitted[0].predict(frame))


# --- errors ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "number tree"])
def test_other_width(name):
    X, y = make_data()
    model = clone(MODELS[name]).fit(scipy.sparse.csr_array(X), y)
    narrow = scipy.sparse.csr_array(X[:, :50])
    for method in ("predict", "apply", "predict_contributions"):
        with pytest.raises(ValueError, match=r"50 features.*200 features"):
            getattr(model, method)(narrow)


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "number tree"])
def test_stored_nan(name):
    X, y = make_data()
    model = clone(MODELS[name]).fit(scipy.sparse.csr_array(X), y)
    X[11, 8] = np.nan
    for given, column in (
        (scipy.sparse.csc_array(X), "8"),
        (pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_array(X)), "8"),
        (sparse_frame(X), "'word 8'"),
    ):
        expected = f"stores NaN in column {column}, row 11; replace .* or pass X dense"
        with pytest.raises(ValueError, match=expected):
            clone(model).fit(given, y)
        if column == "8":
            with pytest.raises(ValueError, match=expected):
                model.predict(given)
    clone(model).fit(X, y)


def sparse_frame(X):
    frame = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_array(X))
    return frame.rename(columns=lambda f: f"word {f}")


def test_stored_infinities(store):
    X, y = make_data()
    X[5, 8], X[6, 8] = np.inf, -np.inf  # their sum is NaN
    check_same(MODELS["forest"], X, scipy.sparse.csr_array(X), y)


def test_used_splits_need_a_dense_matrix():
    X, y = make_data()
    tree = CGTreeClassifier(advanced=TreeOptions(reuse_splits=False))
    with pytest.raises(ValueError, match=r"X is sparse.*reuse_splits=False"):
        tree.fit(scipy.sparse.csr_array(X), y)
    assert not tree.__sklearn_tags__().input_tags.sparse


def test_frame_of_both_kinds():
    """Frames with dense and sparse columns give a dense array, as in scikit-learn."""
    X, y = make_data()
    frame = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(X))
    frame["dense"] = np.arange(float(len(X)))
    frame.columns = [str(name) for name in frame.columns]
    with pytest.warns(UserWarning, match="sparse columns"):
        tree = CGTreeClassifier(random_state=0).fit(frame, y)
    dense = pd.DataFrame(np.asarray(frame), columns=frame.columns)
    same_bytes(tree, CGTreeClassifier(random_state=0).fit(dense, y))


@pytest.mark.parametrize("name", MODELS)
def test_dummies_of_pandas(name):
    """Sparse bools, with and without numbers."""
    letters = pd.Series(list("abcd") * 50)
    bools = pd.get_dummies(letters, sparse=True)
    numbers = pd.get_dummies(letters, prefix="n", sparse=True, dtype=float)
    y = np.arange(200) % 4 // 2
    for frame in (bools, pd.concat([bools, numbers], axis=1)):
        model = clone(MODELS[name]).fit(frame, y)
        dense = frame.sparse.to_dense().astype(np.float64)
        same_bytes(model, clone(MODELS[name]).fit(dense, y))
        assert (model.predict(frame) == model.predict(dense)).all()


@pytest.mark.parametrize("fill", [np.nan, 1.0])
def test_only_zeros_may_be_left_out_of_frames(fill):
    column = pd.arrays.SparseArray([2.0, fill, 3.0, fill] * 9, fill_value=fill)
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1] * 18), "b": column})
    with pytest.raises(ValueError, match=r"X: column 'b' is sparse with .*to_dense"):
        CGTreeClassifier().fit(frame, [0, 1] * 18)


def beyond(matrix, name, value, at=0):
    """Change an index of a matrix without the checks of scipy."""
    getattr(matrix, name)[at] = value
    return matrix


def test_entries_outside_the_matrix():
    """Without checks, scipy and the core would access memory outside the matrix."""
    X, y = make_data()

    def new(kind, *options):
        return kind(X.copy(), *options)

    tree = CGTreeClassifier(random_state=0).fit(X, y)
    n, p = X.shape
    for given, message in (
        (
            beyond(new(scipy.sparse.csr_array), "indices", p),
            f"column index {p}, .* {p}\\.",
        ),
        (
            beyond(new(scipy.sparse.csr_array), "indices", -3),
            f"column index -3, .* {p}\\.",
        ),
        (
            beyond(new(scipy.sparse.csc_matrix), "indices", n),
            f"row index {n}, .* {n}\\.",
        ),
        (
            beyond(new(scipy.sparse.coo_array), "col", 10**6),
            f"column index 1000000, .* {p}\\.",
        ),
        (beyond(new(scipy.sparse.coo_array), "row", -1), f"row index -1, .* {n}\\."),
        (beyond(new(scipy.sparse.bsr_array), "indices", p), f"column.* {p}, "),
        (beyond(new(scipy.sparse.csr_array), "indptr", 10**6, 5), "indptr must"),
        (beyond(new(scipy.sparse.csr_array), "indptr", 10**6, n), "indptr must"),
        (beyond(new(scipy.sparse.csr_array), "indptr", 1), "indptr must"),
    ):
        with pytest.raises(ValueError, match=f"^X: .*{message}"):
            tree.predict(given)
        with pytest.raises(ValueError, match=f"^X: .*{message}"):
            CGTreeClassifier().fit(given, y)
