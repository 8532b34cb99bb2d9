"""Checks of X, y and sample weights."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from dics._estimator.running import warn_user
from dics._input.frames import check_kind, explaining_text
from dics._input.sparse import SparseRows, check_entries, matrix_of_frame

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]
E = TypeVar("E")

# Element types the core reads in place.
IN_PLACE = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))
# Wider numbers become float64; these fit into float32 without loss.
NARROW_KINDS = ("int8", "int16", "uint16", "float16", "bool")
# Rows of X: twice the square of a count must fit into 63 bits.
MAX_COUNT = 2**30
# What scikit-learn calls targets that are classes.
DISCRETE = ("binary", "multiclass")


@contextmanager
def errors_mention(where: str) -> Iterator[None]:
    """Add the argument or the partition to the messages of errors that lack it.

    In "partition 1 of X: ...", the argument "X" of the message is not repeated.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        text = str(error)
        if re.search(rf"(?<!\w){re.escape(where)}(?!\w)", text):
            raise
        rest = re.sub(rf"^{re.escape(where.rpartition(' of ')[2])}(?=[: ])", "", text)
        message = f"{where}: {text}" if rest == text else f"{where}{rest}"
        raise type(error)(message) from error


@contextmanager
def fit_on_copy(estimator: E) -> Iterator[E]:
    """Yield a copy to fit; on success, the estimator takes over its attributes.

    A fit that fails or is interrupted leaves the estimator unchanged. Another thread
    that predicts meanwhile uses the old model until the new one is complete.
    """
    copy = object.__new__(type(estimator))
    vars(copy).update(vars(estimator))
    yield copy
    estimator.__dict__ = vars(copy)  # one assignment, which threads cannot see half of


class ClassTargets(NamedTuple):
    """Class labels as the core wants them."""

    classes: Array
    labels: npt.NDArray[np.uint32]


class RegressionTargets(NamedTuple):
    """A continuous y as the core wants it."""

    values: FloatArray  # [row][output]


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Array | SparseRows:
    """Return X as `check_matrix` does, or its rows if it is sparse."""
    if isinstance(X, SparseRows):  # checked before
        return X
    if not is_sparse(X):
        return check_matrix(estimator, X, reset=reset)
    with errors_mention("X"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        matrix = X if scipy.sparse.issparse(X) else matrix_of_frame(X)
        check_entries(matrix)
        checked = check_array(
            matrix,
            accept_sparse="csr",
            dtype=[_wanted_type(matrix), np.float32, np.float64, np.uint8],
            ensure_all_finite=False,
            estimator=estimator,
        )
        check_row_count(checked.shape[0])
        rows = SparseRows.of(checked)
    _refuse_stored_nan(rows, X)
    return rows


def _refuse_stored_nan(rows: SparseRows, X: Any) -> None:
    with np.errstate(invalid="ignore", over="ignore"):
        total = rows.values.sum()  # takes no memory, as a mask would
    if not np.isnan(total):
        return
    missing = np.flatnonzero(np.isnan(rows.values))
    if len(missing) == 0:  # of both infinities
        return
    f = int(rows.columns[missing[0]])
    row = int(np.searchsorted(rows.starts, missing[0], side="right")) - 1
    name = X.columns[f] if hasattr(X, "columns") else f
    raise ValueError(
        f"X is sparse and stores NaN in column {name!r}, row {row}; replace what is "
        "missing by a number, for example with SimpleImputer, or pass X dense, where "
        "NaN is a value of its own."
    )


def is_sparse(X: Any) -> bool:
    """Tell whether X is of scipy's sparse kinds, or a frame of sparse columns."""
    if scipy.sparse.issparse(X):
        return True
    return hasattr(X, "sparse") and hasattr(X, "dtypes")


def check_matrix(estimator: Any, X: Any, *, reset: bool) -> Array:
    """Return X as a 2-D array of float32, float64 or uint8; no copy if it is one.

    NaN and infinities are allowed, so X isn't read here.
    """
    if not reset and _is_plain(estimator, X):
        checked = X
    else:
        check_kind(X)
        first = _wanted_type(X)
        with errors_mention("X"), explaining_text(X, estimator, reset=reset):
            checked = validate_data(
                estimator,
                X,
                reset=reset,
                dtype=[first, np.float32, np.float64, np.uint8],
                ensure_all_finite=False,
            )
    return _as_array(checked)


def _as_array(checked: Any) -> Array:
    """Return an array that the core can read in place."""
    array = np.asarray(checked)  # nanobind takes no subclass such as memmap
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.aligned or any(s % array.itemsize for s in array.strides):
        array = array.copy()  # fields of packed records
    check_row_count(len(array))
    return array


def check_row_count(n_rows: int) -> None:
    """Refuse more rows than a fit or a prediction can have."""
    if n_rows > MAX_COUNT:
        raise ValueError(f"X has {n_rows} rows; at most {MAX_COUNT} are supported.")


def _wanted_type(X: Any) -> np.dtype[Any]:
    """Return the type that X is to have unless it is an array of one read in place."""
    if str(getattr(X, "dtype", "")) in NARROW_KINDS:
        return np.dtype(np.float32)
    # scikit-learn knows the types of pandas' columns, but not those of polars'.
    if type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "dtypes"):
        types = {str(column) for column in X.dtypes}
        if types == {"Float32"}:
            return np.dtype(np.float32)
        # What is missing becomes NaN, which a byte can't be.
        if types == {"UInt8"} and not X.null_count().to_numpy().any():
            return np.dtype(np.uint8)
    return np.dtype(np.float64)


def _is_plain(estimator: Any, X: Any) -> bool:
    """Tell whether X needs no conversion at all: one-row predictions pass this way."""
    return (
        type(X) in (np.ndarray, np.memmap)
        and X.dtype in IN_PLACE
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def check_same_rows(n_given: int, n_rows: int | None) -> None:
    """Refuse a y that has another number of rows than X, if that is known."""
    if n_rows is not None and n_given != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n_rows} rows, y has {n_given}."
        )


def check_class_labels(
    y: Any, n_rows: int | None, *, may_be_few: bool = False
) -> ClassTargets:
    """Turn y into 0..K-1 and the sorted class labels.

    Classes of more than half as many as there are rows are warned of, unless the rows
    `may_be_few`. `n_rows` are those of X, or None if that is checked later.
    """
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None."
        )
    with errors_mention("y"):
        y = column_or_1d(y, warn=True)
    check_same_rows(len(y), n_rows)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        bad = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(f"y contains {bad}; labels must be finite.")
    if y.dtype.kind == "O" and any(_is_missing(value) for value in y):
        raise ValueError("y contains NaN or None.")
    with errors_mention("y"):
        if y.dtype.kind not in "biu" and type_of_target(y, "y") not in DISCRETE:
            check_classification_targets(y)  # refuses
        classes, labels = _unique_labels(y)
        targets = ClassTargets(classes, labels)
    if not may_be_few:
        _warn_of_many_classes(targets)
    return targets


def _warn_of_many_classes(targets: ClassTargets) -> None:
    """Say what scikit-learn says, whose check would sort y once more."""
    n_rows = len(targets.labels)
    if n_rows > 20 and len(targets.classes) > round(0.5 * n_rows):
        warn_user(
            "The number of unique classes is greater than 50% of the number of "
            "samples. `y` could represent a regression problem, not a classification "
            "problem."
        )


def check_regression_target(y: Any, n_rows: int | None, name: str) -> FloatArray:
    """Return a continuous y as float64 of shape (n_rows, n_outputs).

    `n_rows` are those of X, or None if that is checked later.
    """
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None."
        )
    given = np.asarray(y)
    if given.dtype.kind in "US" or (
        given.dtype.kind == "O" and any(isinstance(v, str) for v in given.flat)
    ):
        classifier = name.replace("Regressor", "Classifier")
        raise ValueError(
            f"y holds text, such as {given.flat[0]!r}; {name} predicts numbers. "
            f"For class labels use {classifier}."
        )
    if np.iscomplexobj(given):
        raise ValueError("Complex data not supported: y holds complex numbers.")
    if given.ndim not in (1, 2):
        raise ValueError(
            f"y must have one or two dimensions, got {given.ndim}: {given.shape}."
        )
    with errors_mention("y"):
        values = np.ascontiguousarray(given, dtype=np.float64)
    check_same_rows(len(values), n_rows)
    if values.ndim == 2 and values.shape[1] == 1:
        warn_user(
            "A column-vector y was passed when a 1d array was expected. Please change "
            "the shape of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
        )
    if values.ndim == 1:
        values = values[:, None]
    if values.shape[1] == 0:
        raise ValueError("y has no columns.")
    if not np.isfinite(values).all():
        bad = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"Input y contains {bad}; targets must be finite.")
    with np.errstate(over="ignore"):
        spread = np.ptp(values, axis=0) if len(values) else np.zeros(1)
        squares = spread * spread * MAX_COUNT
    if not np.isfinite(squares).all():
        raise ValueError(
            f"y spans from {values.min()} to {values.max()}: sums of squared "
            "differences are more than float64 holds. Divide y by a constant."
        )
    return values


def is_regression_target(y: Any) -> bool:
    """Tell whether y is for a regressor: broken numbers, or several for each row."""
    given = np.asarray(y)
    if given.dtype.kind not in "iuf" or given.ndim not in (1, 2):
        return False
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        return False
    several = given.ndim == 2 and given.shape[1] > 1
    return several or bool((given != np.floor(given)).any())


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA says neither yes nor no
        return True


def _unique_labels(y: Array) -> tuple[Array, npt.NDArray[np.uint32]]:
    if y.dtype.kind in "iu" and y.size:
        low, high = int(y.min()), int(y.max())
        # Small whole numbers need no sort: 0.3 ms instead of 3 ms for 60000 labels.
        if high - low < max(256, 2 * y.size):
            wide = y if y.dtype.kind == "u" else y.astype(np.int64, copy=False)
            shifted = (wide - wide.dtype.type(low)).astype(np.intp, copy=False)
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            found = np.flatnonzero(present).astype(wide.dtype)
            classes = (found + wide.dtype.type(low)).astype(y.dtype)
            ranks = (np.cumsum(present) - 1).astype(np.uint32)
            return classes, ranks[shifted]
    classes, labels = np.unique(y, return_inverse=True)
    return classes, labels.astype(np.uint32)


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return the weights as float64, or None if there are none."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "biuf":
        try:
            given = np.asarray(given.astype(object), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"sample_weight must be real numbers, got {given.dtype} data: "
                f"{reprlib.repr(sample_weight)}."
            ) from error
    weights = np.ascontiguousarray(given, dtype=np.float64)
    if given.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: "
            "one weight for each row of X."
        )
    _check_weight_values("sample_weight", weights)
    return rescaled_weights(weights)


def rescaled_weights(weights: FloatArray) -> FloatArray:
    """Scale extreme weights by a power of two: sums and products stay finite."""
    exponent = int(np.frexp(weights.max())[1])
    return np.ldexp(weights, -exponent) if abs(exponent) > 400 else weights


def _check_weight_values(name: str, weights: FloatArray) -> None:
    if not np.isfinite(weights).all():
        bad = weights[~np.isfinite(weights)][0]
        raise ValueError(f"{name} contains {bad}; weights must be finite.")
    if (weights < 0).any():
        raise ValueError(
            f"Negative values in data passed to `{name}`: the smallest is "
            f"{weights.min()}."
        )
    if not (weights > 0).any():
        raise ValueError(f"{name} is zero for every row; nothing to fit.")


def combine_weights(
    weights: FloatArray | None, class_weight: Any, targets: ClassTargets
) -> FloatArray | None:
    """Multiply the weights of rows by those of their classes."""
    if class_weight is None:
        return weights
    y = targets.classes[targets.labels]
    by_class = compute_class_weight(class_weight, classes=targets.classes, y=y)
    try:
        by_class = np.asarray(by_class, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"class_weight must hold numbers, got {class_weight}."
        ) from error
    _check_weight_values("class_weight", by_class)
    of_rows: FloatArray = rescaled_weights(by_class)[targets.labels]
    if weights is None:
        return of_rows
    combined = weights * of_rows
    if not (combined > 0).any():
        raise ValueError(
            "sample_weight times class_weight is zero for every row; nothing to fit."
        )
    return rescaled_weights(combined)


class SplitCounts(NamedTuple):
    """Weights as whole numbers that choose splits: core/target/criterion.hpp."""

    narrow: npt.NDArray[np.uint32] | None
    wide: npt.NDArray[np.uint64] | None


def split_counts(weights: FloatArray | None) -> SplitCounts:
    """Turn weights into exact integers.

    Whole weights stay what they are. Others are scaled by a power of two so that their
    sum is near 2**52, and rounded: a relative step of 2e-16 of the total. A positive
    weight never becomes zero.
    """
    if weights is None:
        return SplitCounts(None, None)
    total = float(weights.sum())
    if total <= MAX_COUNT and bool((weights == np.floor(weights)).all()):
        return SplitCounts(weights.astype(np.uint32), None)
    mantissa, exponent = np.frexp(weights)
    # An upper bound of the sum that can't overflow.
    total_exponent = int(exponent.max()) + len(weights).bit_length()
    scaled = np.rint(np.ldexp(mantissa, exponent + (52 - total_exponent)))
    scaled = np.where(weights > 0, np.maximum(scaled, 1.0), 0.0)
    return SplitCounts(None, scaled.astype(np.uint64))


def draw_seed(random_state: Any) -> int:
    """Draw the 64-bit seed of one fit."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)  # 30 us cheaper than a RandomState, and as good
    high, low = check_random_state(random_state).randint(0, 2**31 - 1, size=2)
    return int(high) << 31 | int(low)
