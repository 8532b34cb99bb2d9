"""Data sets as files: where they are looked for, and what must be in them."""

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
    """A data set that could be had neither from a file nor from OpenML."""


class BadDatasetError(ValueError):
    """A data set that isn't what it should be; the message says what is wrong."""


class Labelled(NamedTuple):
    """Rows and their classes 0..K-1."""

    X: Array
    y: npt.NDArray[np.int64]


def file_of(data_dir: Path, name: str) -> Path:
    """Return where the file of a set has to be."""
    return data_dir / name / f"{name}.npz"


def data_dir_from(data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return the directory named by the argument or the environment; None for none."""
    named = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    if named is None or not os.fspath(named):
        return None
    path = Path(named).expanduser()
    if not path.is_dir():
        origin = "data_dir" if data_dir is not None else DATA_VARIABLE
        problem = "is not a directory" if path.exists() else "does not exist"
        raise DatasetNotFoundError(f"{origin}: {path} {problem}")
    return path


# What NumPy and zipfile raise for files that are damaged, encrypted or made to be huge.
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


def read_npz(file: Path) -> Labelled:
    """Read the arrays X and y of an npz file, and check them."""
    try:
        with file.open("rb") as stream:
            arrays = np.load(stream)
            if isinstance(arrays, np.ndarray):
                raise ValueError("it holds a single array")
            found = {name: arrays[name] for name in ("X", "y") if name in arrays}
            names = ", ".join(arrays.files) or "none"
    except UNREADABLE as error:
        raise BadDatasetError(
            f"{file}: expected an npz file with arrays X and y of numbers, but it "
            f"can't be read as one ({error})"
        ) from error
    if len(found) < 2:
        raise BadDatasetError(f"{file}: expected arrays X and y, found {names}")
    return check_labelled(found["X"], found["y"], str(file))


def check_labelled(X: Array, y: Array, origin: str) -> Labelled:
    """Return X as it is and y as int64, or say what about them is wrong."""
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise BadDatasetError(
            f"{origin}: X should be a matrix of numbers, it has shape {X.shape} and "
            f"type {X.dtype}"
        )
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        n_bad = int(X.size - np.count_nonzero(np.isfinite(X)))
        raise BadDatasetError(f"{origin}: X has {n_bad} values of NaN or infinity")
    if y.shape != (len(X),):
        raise BadDatasetError(
            f"{origin}: y should have one entry for each of the {len(X)} rows of X, "
            f"its shape is {y.shape}"
        )
    return Labelled(X, _whole_labels(y, origin))


def _whole_labels(y: Array, origin: str) -> npt.NDArray[np.int64]:
    """Check that y is 0..K-1, every class there."""
    expected = f"{origin}: y should hold whole numbers 0..K-1"
    if y.dtype.kind not in "biuf":
        raise BadDatasetError(f"{expected}, it has type {y.dtype}")
    if y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.floor(y))).all():
        bad = y[~(np.isfinite(y) & (y == np.floor(y)))][0]
        raise BadDatasetError(f"{expected}, it has {bad}")
    labels: npt.NDArray[np.int64] = y.astype(np.int64)
    classes = np.unique(labels)
    if not np.array_equal(classes, np.arange(len(classes))):
        raise BadDatasetError(
            f"{expected}, it has {len(classes)} different ones from "
            f"{labels.min()} to {labels.max()}"
        )
    return labels
