"""Types of X and y for CGTreeClassifier: frames, lists, memory maps."""

import hashlib

import numpy as np
import pytest
from checks import same_bytes
from sklearn.base import clone
from sklearn.datasets import make_classification

from dics import (
    CGTreeClassifier,
    QuantileCandidates,
    TreeOptions,
)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        500, 8, n_informative=5, n_classes=3, random_state=0, flip_y=0.1
    )
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def tree(data):
    return CGTreeClassifier(random_state=0).fit(*data)


def test_pandas(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    names = [f"column {i}" for i in range(8)]
    frame = pd.DataFrame(X, columns=names)
    tree = CGTreeClassifier(random_state=0).fit(frame, pd.Series(y))
    assert tree.feature_names_in_.tolist() == names
    same_bytes(tree, CGTreeClassifier(random_state=0).fit(X, y))
    assert (tree.predict(frame) == y).all()
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        tree.predict(X)
    without = CGTreeClassifier(random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        without.predict(frame)


def test_candidates_have_the_names_of_a_frame(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    tree = CGTreeClassifier(random_state=0).fit(frame, y)
    codes = tree.candidates_.transform(frame)  # a warning would be an error
    assert codes.shape == X.shape


def test_refit_without_names_removes_them(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    tree = CGTreeClassifier(random_state=0)
    tree.fit(pd.DataFrame(X, columns=list("abcdefgh")), y).fit(X, y)
    assert not hasattr(tree, "feature_names_in_")
    assert (tree.predict(X) == y).all()


def test_pandas_with_missing_and_mixed_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None, 3, 4] * 5, dtype="Int64"),
            "b": [0.5, 1.5, np.nan, 2.5] * 5,
            "c": [True, False] * 10,
        }
    )
    y = pd.Categorical(["x", "y", "x", "z"] * 5)
    tree = CGTreeClassifier(random_state=0).fit(frame, y)
    assert tree.score(frame, y) == 1.0


def test_polars(data):
    pl = pytest.importorskip("polars")
    X, y = data
    frame = pl.DataFrame(X, schema=list("abcdefgh"))
    tree = CGTreeClassifier(random_state=0).fit(frame, y)
    assert tree.feature_names_in_.tolist() == list("abcdefgh")
    assert (tree.predict(frame) == y).all()


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.tolist(),
        lambda X: X.astype(">f4"),
        lambda X: X.astype(">f8"),
        lambda X: X.astype(np.float16).astype(np.float32),
        lambda X: X.astype(object),
        lambda X: X.astype(np.longdouble),
        lambda X: np.asfortranarray(X),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1][::-1],
    ],
    ids=["list", ">f4", ">f8", "f2", "object", "long", "F", "strided", "reversed"],
)
@pytest.mark.parametrize("max_candidates", [None, 20])
def test_same_tree_from_any_container(data, convert, max_candidates):
    X, y = data
    X = X.astype(np.float16).astype(np.float32)
    model = CGTreeClassifier(
        advanced=TreeOptions(max_candidates=max_candidates), random_state=0
    )
    # Use one element type, because sums for the centroids have the type of X.
    exact = QuantileCandidates(max_bins=201)
    model.set_params(candidates=exact)
    expected = clone(model).fit(X, y)
    found = clone(model).fit(convert(X), y)
    same_bytes(expected, found)
    assert (found.predict(convert(X)) == expected.predict(X)).all()


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u2", "u4", "u8", "?", "f2"])
def test_integers_of_any_type(dtype):
    X = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 100, (200, 4))
    y = (X.sum(axis=1) > X.sum(axis=1).mean()).astype(int)
    one = CGTreeClassifier(random_state=0, candidates=QuantileCandidates())
    other = clone(one).fit(X.astype(float), y)
    same_bytes(one.fit(X.astype(dtype), y), other)
    assert (one.predict(X.astype(dtype)) == other.predict(X.astype(float))).all()


def test_unaligned_and_packed_arrays(data):
    # A field of a packed record: strides are not multiples of the element size.
    X, y = data
    records = np.zeros(len(X), dtype=[("key", "u1"), ("x", "f4", (8,))])
    records["x"] = X
    packed = records["x"]
    assert packed.strides[0] % 4
    tree = CGTreeClassifier(random_state=0).fit(packed, y)
    same_bytes(tree, CGTreeClassifier(random_state=0).fit(X, y))
    assert (tree.predict(packed) == y).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("max_candidates", [None, 20])
def test_input_is_only_read(data, order, max_candidates):
    X, y = np.array(data[0], order=order), data[1].copy()
    weights = np.random.default_rng(0).random(len(y))
    before = [hashlib.sha256(a.tobytes()).digest() for a in (X, y, weights)]
    for array in (X, y, weights):
        array.flags.writeable = False
    tree = CGTreeClassifier(
        advanced=TreeOptions(max_candidates=max_candidates), random_state=0
    )
    tree.fit(X, y, sample_weight=weights).predict_proba(X)
    tree.candidates_.transform(X)
    after = [hashlib.sha256(a.tobytes()).digest() for a in (X, y, weights)]
    assert before == after


@pytest.mark.parametrize("max_candidates", [None, 20])
def test_memory_maps(data, tmp_path, max_candidates):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    model = CGTreeClassifier(
        advanced=TreeOptions(max_candidates=max_candidates), random_state=0
    )
    found = clone(model).fit(mapped, y)
    same_bytes(found, model.fit(X, y))
    assert (found.predict(mapped) == model.predict(X)).all()
