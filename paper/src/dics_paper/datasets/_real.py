"""The real data sets of the paper."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import fetch_openml
from sklearn.model_selection import train_test_split

from dics._input.checks import Array
from dics_paper.datasets._files import (
    DATA_VARIABLE,
    BadDatasetError,
    DatasetNotFoundError,
    Labeled,
    check_labeled,
    data_dir_from,
    file_of,
    read_npz,
)


@dataclass(frozen=True)
class _Spec:
    """Expected size of a data set, and its number on OpenML."""

    name: str
    n_rows: int
    n_features: int
    n_classes: int
    openml_id: int
    # Number of leading training rows in the official split, and whether all classes are
    # equally frequent in them. None: a quarter of the rows is held out.
    n_train: int | None = None
    balanced: bool = False
    dtype: str = "float32"  # of the rows from OpenML; uint8 for pixels
    target: str = "default-target"
    note: str = ""


SPECS = {
    spec.name: spec
    for spec in (
        _Spec("helena", 65_196, 27, 100, 41169),
        _Spec("spambase", 4_601, 57, 2, 44),
        _Spec("santander", 200_000, 200, 2, 45566, target="target"),
        _Spec("cifar10", 60_000, 3_072, 10, 40927, 50_000, True, "uint8"),
        _Spec("mnist", 70_000, 784, 10, 554, 60_000, False, "uint8"),
        _Spec("fashion_mnist", 70_000, 784, 10, 40996, 60_000, True, "uint8"),
    )
}
# Files that are used if the data set itself is missing.
STAND_INS = {
    "helena": replace(
        SPECS["helena"],
        name="helena_part",
        n_rows=19_559,
        note="30 % of Helena (helena_part); not comparable with numbers for the whole "
        "data set",
    )
}
# Manual download, if OpenML is not available.
_BY_HAND = {
    "santander": "The data set is train.csv of the Kaggle competition "
    "santander-customer-transaction-prediction: X is the columns var_0 to var_199, y "
    "is the column target. "
}

DATASET_NAMES = tuple(SPECS)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set, split into training and test rows.

    Attributes
    ----------
    name : str
    X_train, X_test : ndarray of shape (n_rows, n_features)
        In the dtype of the file; views of one array if the split is official.
    y_train, y_test : ndarray of shape (n_rows,), int64
        Classes 0..K-1.
    source : {"file", "OpenML"}
        Origin of the data.
    note : str
        Caveat for numbers on this data set; usually empty.

    Examples
    --------
    >>> import numpy as np
    >>> from dics_paper.datasets import Dataset
    >>> X, y = np.eye(4), np.array([0, 1, 2, 1])
    >>> data = Dataset("toy", X[:3], X[3:], y[:3], y[3:], source="file")
    >>> data.shape, data.n_classes
    ((4, 4), 3)
    """

    name: str
    X_train: Array
    X_test: Array
    y_train: npt.NDArray[np.int64]
    y_test: npt.NDArray[np.int64]
    source: str
    note: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of both parts together, and features."""
        return len(self.X_train) + len(self.X_test), self.n_features

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X_train.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes in both parts."""
        return int(max(self.y_train.max(), self.y_test.max())) + 1


def load_dataset(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    random_state: Any = 0,
) -> Dataset:
    """Load a real data set of the paper with its split into training and test rows.

    The data set is read from ``<data_dir>/<name>/<name>.npz``, a file with arrays X and
    y (0..K-1). Without `data_dir`, the environment variable ``DICS_DATA_DIR`` is used.
    If it is not set, or the file is missing, the data set is downloaded from OpenML by
    scikit-learn, which caches it. With `data_dir`, nothing is downloaded. A file that
    is not valid always raises an error.

    If Helena is missing, ``helena_part`` (30 % of its rows) is used; `note` then
    contains a caveat.

    Parameters
    ----------
    name : {"helena", "spambase", "santander", "cifar10", "mnist", "fashion_mnist"}
    data_dir : str or path, default=None
        Directory of the files; None for ``DICS_DATA_DIR`` or OpenML.
    random_state : int, RandomState instance or None, default=0
        Seed of the random split; a quarter of the rows is held out. CIFAR-10 (50000
        training rows), MNIST and Fashion-MNIST (60000) have an official split instead.

    Returns
    -------
    data : Dataset

    Raises
    ------
    ValueError
        If the name is unknown.
    DatasetNotFoundError
        If the data set is available neither as a file nor from OpenML.
    BadDatasetError
        If the data found are not this data set.

    Examples
    --------
    >>> from dics_paper.datasets import load_dataset
    >>> data = load_dataset("spambase")  # doctest: +SKIP
    >>> data.shape, data.n_classes  # doctest: +SKIP
    ((4601, 57), 2)
    >>> load_dataset("iris")
    Traceback (most recent call last):
        ...
    ValueError: Unknown data set 'iris'; choose from helena, spambase, ...
    """
    if name not in SPECS:
        raise ValueError(f"Unknown data set {name!r}; choose from {', '.join(SPECS)}.")
    spec = SPECS[name]
    directory = data_dir_from(data_dir)
    found = _from_files(spec, directory) if directory is not None else None
    if found is not None:
        return _split(*found, "file", random_state)
    if data_dir is not None:
        raise DatasetNotFoundError(_what_to_do(spec, directory))
    return _split(spec, _from_openml(spec, directory), "OpenML", random_state)


def _from_files(spec: _Spec, directory: Path) -> tuple[_Spec, Labeled] | None:
    """Read the file of a data set or of its stand-in, or return None."""
    for wanted in (spec, STAND_INS.get(spec.name)):
        if wanted is not None and file_of(directory, wanted.name).is_file():
            file = file_of(directory, wanted.name)
            data = read_npz(file)
            _check_against(wanted, data, str(file))
            return wanted, data
    return None


def _from_openml(spec: _Spec, directory: Path | None) -> Labeled:
    try:
        bunch = fetch_openml(
            data_id=spec.openml_id, target_column=spec.target, as_frame=False
        )
    # No network, a missing page, or a broken download.
    except (OSError, ValueError, EOFError, HTTPException) as error:
        raise DatasetNotFoundError(
            f"{_what_to_do(spec, directory)} The download from OpenML (data set "
            f"{spec.openml_id}) failed: {type(error).__name__}: {error}"
        ) from error
    except ImportError as error:
        raise DatasetNotFoundError(
            f"{_what_to_do(spec, directory)} OpenML needs pandas: pip install pandas."
        ) from error
    origin = f"OpenML data set {spec.openml_id} ({spec.name})"
    X = _narrow(np.asarray(bunch.data), spec.dtype, origin)
    data = check_labeled(X, _class_indices(np.asarray(bunch.target)), origin)
    _check_against(spec, data, origin)
    return data


def _narrow(X: Array, dtype: str, origin: str) -> Array:
    """Convert X from OpenML to the dtype of the files."""
    try:
        narrow = X.astype(dtype)
    except (TypeError, ValueError) as error:
        raise BadDatasetError(f"{origin}: X is not numeric: {error}.") from error
    if dtype == "uint8" and not np.array_equal(narrow, X):
        raise BadDatasetError(f"{origin}: X must contain integers 0..255.")
    return narrow


def _class_indices(target: Array) -> npt.NDArray[np.intp]:
    """Return class indices; numbers that are stored as text keep their order."""
    try:
        target = target.astype(np.float64)
    except (TypeError, ValueError):
        target = target.astype(str)
    return np.unique(target, return_inverse=True)[1]


def _check_against(spec: _Spec, data: Labeled, origin: str) -> None:
    """Check the size of the data and the order of the rows."""
    expected = (spec.n_rows, spec.n_features, spec.n_classes)
    found = (*data.X.shape, int(data.y.max(initial=-1)) + 1)
    if found != expected:
        raise BadDatasetError(
            f"{origin}: {spec.name} must have {_size(expected)}, got {_size(found)}."
        )
    # With shuffled rows the split would not be the official one.
    if spec.balanced and len(set(np.bincount(data.y[: spec.n_train]).tolist())) > 1:
        raise BadDatasetError(
            f"{origin}: the first {spec.n_train} rows must be the training rows, with "
            "the same number of rows per class. The rows are in another order."
        )


def _size(size: tuple[int, ...]) -> str:
    rows, features, classes = size
    return f"{rows} rows, {features} features and {classes} classes"


def _split(spec: _Spec, data: Labeled, source: str, random_state: Any) -> Dataset:
    X, y, n = data.X, data.y, spec.n_train
    if n is not None:
        X_train, X_test, y_train, y_test = X[:n], X[n:], y[:n], y[n:]
    else:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.25, random_state=random_state
        )
    return Dataset(spec.name, X_train, X_test, y_train, y_test, source, spec.note)


def _what_to_do(spec: _Spec, directory: Path | None) -> str:
    """Return which file is missing, and how to provide it."""
    by_hand = _BY_HAND.get(spec.name, "")
    if directory is None:
        return (
            f"{spec.name}: {DATA_VARIABLE} is not set. {by_hand}Set it or data_dir to "
            f"a directory with {spec.name}/{spec.name}.npz (arrays X and y, y in "
            "0..K-1)."
        )
    return (
        f"{spec.name}: {file_of(directory, spec.name)} does not exist. {by_hand}Write "
        "the file (arrays X and y, y in 0..K-1, by numpy.savez_compressed), or set "
        f"data_dir or {DATA_VARIABLE} to another directory."
    )
