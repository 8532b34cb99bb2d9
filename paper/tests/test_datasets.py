"""The loader of the real data sets of the paper."""

import os
from dataclasses import replace
from http.client import IncompleteRead
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from dics_paper.datasets import (
    DATASET_NAMES,
    BadDatasetError,
    DatasetNotFoundError,
    _real,
    load_dataset,
)
from dics_paper.datasets._files import DATA_VARIABLE, read_npz

needs_data = pytest.mark.skipif(
    not os.environ.get(DATA_VARIABLE), reason=f"{DATA_VARIABLE} is not set"
)


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    """Return an empty directory; sets are small, and OpenML is unreachable."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(_real, "fetch_openml", no_network)
    small = {
        name: replace(spec, n_rows=40, n_features=3, n_classes=4)
        for name, spec in _real.SPECS.items()
    }
    for name in ("cifar10", "mnist", "fashion_mnist"):
        small[name] = replace(small[name], n_train=32)
    monkeypatch.setattr(_real, "SPECS", small)
    part = replace(_real.STAND_INS["helena"], n_rows=20, n_features=3, n_classes=4)
    monkeypatch.setattr(_real, "STAND_INS", {"helena": part})
    return tmp_path


def no_network(**kwargs):
    raise URLError("no route to host")


def rows(n_rows=40):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(n_rows, 3)).astype(np.uint8)
    return X, np.arange(n_rows) % 4


def write(directory, name, **arrays):
    file = directory / name / f"{name}.npz"
    file.parent.mkdir(parents=True)
    np.savez_compressed(file, **(arrays or dict(zip("Xy", rows(), strict=True))))
    return file


# --- files ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cifar10", "mnist", "fashion_mnist"])
def test_official_split_is_the_first_rows(data_dir, name):
    X, y = rows()
    write(data_dir, name)
    data = load_dataset(name, data_dir)
    np.testing.assert_array_equal(data.X_train, X[:32])
    np.testing.assert_array_equal(data.X_test, X[32:])
    np.testing.assert_array_equal(data.y_train, y[:32])
    np.testing.assert_array_equal(data.y_test, y[32:])
    assert data.X_train.base is data.X_test.base  # views: no copy of X
    assert data.X_train.dtype == np.uint8
    assert data.y_train.dtype == np.int64
    assert (data.name, data.source, data.note) == (name, "file", "")
    assert (data.shape, data.n_features, data.n_classes) == ((40, 3), 3, 4)


@pytest.mark.parametrize("name", ["helena", "spambase", "santander"])
def test_other_sets_hold_out_a_random_quarter(data_dir, name):
    X = np.arange(120, dtype=np.float32).reshape(40, 3)
    write(data_dir, name, X=X, y=rows()[1])
    data = load_dataset(name, str(data_dir))
    again = load_dataset(name, data_dir, random_state=0)
    other = load_dataset(name, data_dir, random_state=1)
    assert len(data.X_test) == 10
    np.testing.assert_array_equal(data.X_test, again.X_test)
    assert (data.X_test != other.X_test).any()
    whole = np.concatenate([data.X_train, data.X_test])
    np.testing.assert_array_equal(whole[np.argsort(whole[:, 0])], X)
    row = (data.X_test[:, 0] / 3).astype(int)
    np.testing.assert_array_equal(data.y_test, rows()[1][row])


def test_directory_of_the_environment(data_dir, monkeypatch):
    write(data_dir / "a", "spambase")
    monkeypatch.setenv(DATA_VARIABLE, str(data_dir / "a"))
    assert load_dataset("spambase").source == "file"
    write(data_dir / "b", "mnist")
    with pytest.raises(DatasetNotFoundError, match=r"b.*spambase.*does not exist"):
        load_dataset("spambase", data_dir / "b")  # the argument has precedence


def test_part_of_helena_replaces_a_missing_helena(data_dir):
    X, y = rows(20)
    write(data_dir, "helena_part", X=X, y=y)
    data = load_dataset("helena", data_dir)
    assert (data.name, data.shape) == ("helena_part", (20, 3))
    assert "30 % of Helena (helena_part); not comparable" in data.note
    write(data_dir, "helena")
    data = load_dataset("helena", data_dir)
    assert (data.name, data.shape, data.note) == ("helena", (40, 3), "")


def test_integer_labels_of_any_type(data_dir):
    for kind in (np.float64, np.uint8, np.int16):
        file = write(data_dir, f"set_{kind.__name__}", X=X, y=Y.astype(kind))
        np.testing.assert_array_equal(read_npz(file).y, Y)


# --- missing files --------------------------------------------------------------------


def test_unknown_name_lists_the_known_ones():
    names = ", ".join(DATASET_NAMES)
    with pytest.raises(ValueError, match=f"Unknown data set 'iris'.*{names}"):
        load_dataset("iris")


def test_given_directory_is_always_used(data_dir, monkeypatch):
    def unwanted(**kwargs):
        raise AssertionError("downloads")

    monkeypatch.setattr(_real, "fetch_openml", unwanted)
    with pytest.raises(DatasetNotFoundError) as error:
        load_dataset("mnist", data_dir)
    assert str(data_dir / "mnist" / "mnist.npz") in str(error.value)
    assert DATA_VARIABLE in str(error.value)


def test_no_source(data_dir, monkeypatch):
    with pytest.raises(DatasetNotFoundError) as error:
        load_dataset("spambase")
    assert f"{DATA_VARIABLE} is not set" in str(error.value)
    assert "spambase/spambase.npz" in str(error.value)
    assert "no route to host" in str(error.value)
    monkeypatch.setenv(DATA_VARIABLE, str(data_dir))
    with pytest.raises(DatasetNotFoundError) as error:
        load_dataset("spambase")
    assert str(data_dir / "spambase" / "spambase.npz") in str(error.value)
    assert "no route to host" in str(error.value)


def test_santander_names_its_source(data_dir):
    with pytest.raises(DatasetNotFoundError, match=r"Kaggle.*var_0 to var_199"):
        load_dataset("santander", data_dir)


def test_missing_directory(data_dir, monkeypatch):
    with pytest.raises(DatasetNotFoundError, match=r"^data_dir: .*nowhere does not ex"):
        load_dataset("mnist", data_dir / "nowhere")
    monkeypatch.setenv(DATA_VARIABLE, str(data_dir / "nowhere"))
    with pytest.raises(DatasetNotFoundError, match=f"^{DATA_VARIABLE}: .*nowhere"):
        load_dataset("mnist")
    file = write(data_dir, "mnist")
    with pytest.raises(DatasetNotFoundError, match="is not a directory"):
        load_dataset("mnist", file)


# --- wrong files ----------------------------------------------------------------------

X, Y = rows()
HOLE = X.astype(np.float32)
HOLE[3, 1] = np.nan


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, "expected arrays X and y, found X"),
        ({"data": X, "target": Y}, "found data, target"),
        ({"X": X[:, 0], "y": Y}, r"X must be a numeric matrix.*shape \(40,\)"),
        ({"X": X.astype(str), "y": Y}, "numeric matrix.*type <U"),
        ({"X": X.astype(object), "y": Y}, "cannot be read.*(Object|object)"),
        ({"X": HOLE, "y": Y}, "X has 1 values of NaN or infinity"),
        ({"X": X, "y": Y[1:]}, r"each of the 40 rows.*shape \(39,\)"),
        ({"X": X, "y": Y[:, None]}, r"shape \(40, 1\)"),
        ({"X": X, "y": Y + 0.5}, "integers.*got 0.5"),
        ({"X": X, "y": np.where(Y == 1, np.nan, Y)}, "integers.*got nan"),
        ({"X": X, "y": Y.astype(str)}, "integers.*type <U"),
        ({"X": X, "y": Y + 1}, "4 different values from 1 to 4"),
        ({"X": X, "y": Y - 1}, "from -1 to 2"),
        ({"X": X, "y": 2 * Y}, "4 different values from 0 to 6"),
        ({"X": X[1:], "y": Y[1:]}, "40 rows, 3 features and 4 classes, .* 39 rows"),
        ({"X": X[:, 1:], "y": Y}, "got 40 rows, 2 features"),
        ({"X": X, "y": Y % 3}, "got 40 rows, 3 features and 3 classes"),
        ({"X": X[:0], "y": Y[:0]}, "got 0 rows"),
        ({"X": X, "y": np.sort(Y)}, "first 32 rows must be the training rows"),
    ],
)
def test_errors_of_wrong_files(data_dir, arrays, message):
    file = write(data_dir, "cifar10", **arrays)
    with pytest.raises(BadDatasetError, match=message) as error:
        load_dataset("cifar10", data_dir)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("kind", ["text", "empty", "npy", "cut", "flipped"])
def test_file_that_is_not_npz(data_dir, kind):
    file = write(data_dir, "mnist")
    whole = file.read_bytes()
    if kind == "npy":
        with file.open("wb") as stream:
            np.save(stream, X)
    else:
        middle = bytes(255 - byte for byte in whole[60:100])
        content = {
            "text": b"X,y\n1,2\n",
            "empty": b"",
            "cut": whole[: len(whole) // 2],
            "flipped": whole[:60] + middle + whole[100:],
        }
        file.write_bytes(content[kind])
    with pytest.raises(BadDatasetError, match=r"mnist\.npz: expected an npz file"):
        load_dataset("mnist", data_dir)


def test_wrong_file_of_the_environment_is_not_replaced_by_openml(data_dir, monkeypatch):
    write(data_dir, "spambase", X=X[:, 1:], y=Y)
    monkeypatch.setenv(DATA_VARIABLE, str(data_dir))
    monkeypatch.setattr(_real, "fetch_openml", openml(X, Y))
    with pytest.raises(BadDatasetError, match="2 features"):
        load_dataset("spambase")


# --- OpenML ---------------------------------------------------------------------------


def openml(X, y, asked=None):
    def fetch(**kwargs):
        if asked is not None:
            asked.update(kwargs)
        return SimpleNamespace(data=X, target=y)

    return fetch


@pytest.mark.parametrize(
    "labels", [["0", "1", "2", "10"], ["cat", "dog", "eel", "fox"], [1, 2, 5, 7]]
)
def test_openml_when_there_is_no_file(data_dir, monkeypatch, labels):
    asked = {}
    target = np.array(labels, dtype=object)[Y]
    monkeypatch.setenv(DATA_VARIABLE, str(data_dir))
    monkeypatch.setattr(_real, "fetch_openml", openml(X.astype(float), target, asked))
    data = load_dataset("mnist")
    assert asked["data_id"] == 554
    assert (data.source, data.X_train.dtype) == ("OpenML", np.uint8)
    np.testing.assert_array_equal(np.concatenate([data.X_train, data.X_test]), X)
    np.testing.assert_array_equal(np.concatenate([data.y_train, data.y_test]), Y)


def test_openml_numbers_become_float32(data_dir, monkeypatch):
    monkeypatch.setattr(_real, "fetch_openml", openml(X + 0.25, Y == 1))
    small = replace(_real.SPECS["santander"], n_classes=2)
    monkeypatch.setitem(_real.SPECS, "santander", small)
    data = load_dataset("santander")
    assert data.X_train.dtype == np.float32
    assert data.n_classes == 2
    assert data.y_train.sum() + data.y_test.sum() == 10


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X[:, 1:], Y, "OpenML data set 554 .mnist.: mnist must have 40 rows"),
        (X + 0.5, Y, "integers 0..255"),
        (X.astype(str).astype(object) + "a", Y, "X is not numeric"),
    ],
)
def test_openml_data_are_checked(data_dir, monkeypatch, X, y, message):
    monkeypatch.setattr(_real, "fetch_openml", openml(X, y))
    with pytest.raises(BadDatasetError, match=message):
        load_dataset("mnist")


@pytest.mark.parametrize(
    "error",
    [URLError("offline"), ValueError("bad page"), IncompleteRead(b""), EOFError("cut")],
)
def test_any_failure_of_openml_is_reported(data_dir, monkeypatch, error):
    def fail(**kwargs):
        raise error

    monkeypatch.setattr(_real, "fetch_openml", fail)
    with pytest.raises(DatasetNotFoundError, match=type(error).__name__) as raised:
        load_dataset("helena")
    assert raised.value.__cause__ is error


def test_openml_without_pandas(data_dir, monkeypatch):
    def fail(**kwargs):
        raise ImportError("no pandas")

    monkeypatch.setattr(_real, "fetch_openml", fail)
    with pytest.raises(DatasetNotFoundError, match="pip install pandas"):
        load_dataset("helena")


# --- the real files -------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("name", DATASET_NAMES)
def test_real_files(name):
    try:
        data = load_dataset(name, os.environ[DATA_VARIABLE])
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    spec = {**_real.SPECS, "helena_part": _real.STAND_INS["helena"]}[data.name]
    assert data.shape == (spec.n_rows, spec.n_features)
    assert data.n_classes == spec.n_classes
    assert set(data.y_test.tolist()) <= set(data.y_train.tolist())
    assert len(data.X_train) == (spec.n_train or spec.n_rows * 3 // 4)
    assert data.X_train.dtype == spec.dtype
