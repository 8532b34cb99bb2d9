"""Paths and checks of the files of data sets."""

from __future__ import annotations

import os
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.checks import Array

DATA_VARIABLE = "DICS_DATA_DIR"


class DatasetNotFoundError(OSError):
    """A data set is available neither as a file nor from OpenML."""


class BadDatasetError(ValueError):
    """A data set is not valid; the message has the reason."""


class Labeled(NamedTuple):
    """Rows and their classes 0..K-1."""

    X: Array
    y: npt.NDArray[np.int64]


def file_of(data_dir: Path, name: str) -> Path:
    """Return the path of the file of a data set."""
    return data_dir / name / f"{name}.npz"


def data_dir_from(data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return the directory from the argument or the environment, or None."""
    named = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    if named is None or not os.fspath(named):
        return None
    path = Path(named).expanduser()
    if not path.is_dir():
        origin = "data_dir" if data_dir is not None else DATA_VARIABLE
        problem = "is not a directory" if path.exists() else "does not exist"
        raise DatasetNotFoundError(f"{origin}: {path} {problem}.")
    return path


# Errors of NumPy and zipfile for files that are damaged, encrypted or maliciously
# large.
UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
)


def read_npz(file: Path) -> Labeled:
    """Read the arrays X and y of an npz file, and check them."""
    try:
        with file.open("rb") as stream:
            arrays = np.load(stream)
            if isinstance(arrays, np.ndarray):
                raise ValueError("it contains a single array")
            found = {name: arrays[name] for name in ("X", "y") if name in arrays}
            names = ", ".join(arrays.files) or "none"
    except UNREADABLE as error:
        raise BadDatasetError(
            f"{file}: expected an npz file with numeric arrays X and y, but it cannot "
            f"be read ({error})."
        ) from error
    if len(found) < 2:
        raise BadDatasetError(f"{file}: expected arrays X and y, found {names}.")
    return check_labeled(found["X"], found["y"], str(file))


def check_labeled(X: Array, y: Array, origin: str) -> Labeled:
    """Return X unchanged and y as int64; raise BadDatasetError if they are wrong."""
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise BadDatasetError(
            f"{origin}: X must be a numeric matrix, got shape {X.shape} and dtype "
            f"{X.dtype}."
        )
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        n_bad = int(X.size - np.count_nonzero(np.isfinite(X)))
        raise BadDatasetError(f"{origin}: X has {n_bad} values of NaN or infinity.")
    if y.shape != (len(X),):
        raise BadDatasetError(
            f"{origin}: y must have one entry for each of the {len(X)} rows of X, got "
            f"shape {y.shape}."
        )
    return Labeled(X, _integer_labels(y, origin))


def _integer_labels(y: Array, origin: str) -> npt.NDArray[np.int64]:
    """Check that y contains all integers 0..K-1."""
    expected = f"{origin}: y must contain all integers 0..K-1"
    if y.dtype.kind not in "biuf":
        raise BadDatasetError(f"{expected}, got dtype {y.dtype}.")
    if y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.floor(y))).all():
        bad = y[~(np.isfinite(y) & (y == np.floor(y)))][0]
        raise BadDatasetError(f"{expected}, got {bad}.")
    labels: npt.NDArray[np.int64] = y.astype(np.int64)
    classes = np.unique(labels)
    if not np.array_equal(classes, np.arange(len(classes))):
        raise BadDatasetError(
            f"{expected}, got {len(classes)} different values from {labels.min()} to "
            f"{labels.max()}."
        )
    return labels
