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
from dics._input.frames import (
    check_kind,
    explaining_columns,
    first_text,
    is_missing,
    is_polars,
)
from dics._input.sparse import SparseRows, check_entries, matrix_of_frame

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]
E = TypeVar("E")

# Element types that the core reads without a copy.
IN_PLACE = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))
# Other types become float64; float32 represents these types exactly.
NARROW_TYPES = ("int8", "int16", "uint16", "float16", "bool")
# Maximum number of rows: twice the square of a count must fit into 63 bits.
MAX_COUNT = 2**30


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
        # The same type: callers catch the errors of scikit-learn by their types.
        raise type(error)(message) from error


def shallow_copy(estimator: E) -> E:
    """Return a copy with the same attributes, without the checks of a loaded model."""
    copy = object.__new__(type(estimator))
    vars(copy).update(vars(estimator))
    return copy


@contextmanager
def fit_on_copy(estimator: E) -> Iterator[E]:
    """Yield a copy to fit; on success, the estimator takes over its attributes.

    A fit that fails or is interrupted leaves the estimator unchanged. Another thread
    that predicts meanwhile uses the old model until the new one is complete.
    """
    copy = shallow_copy(estimator)
    yield copy
    estimator.__dict__ = vars(copy)  # one assignment, which threads cannot see half of


class ClassTargets(NamedTuple):
    """Checked target of a classifier."""

    classes: Array  # sorted
    labels: npt.NDArray[np.uint32]  # index of the class of each row


class RegressionTargets(NamedTuple):
    """Checked target of a regressor."""

    values: FloatArray  # [row][output]


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Array | SparseRows:
    """Return X as `check_matrix` does, or its rows if it is sparse."""
    if isinstance(X, SparseRows):  # checked before
        return X
    if not is_sparse(X):
        return check_matrix(estimator, X, reset=reset)
    with errors_mention("X"):
        # It only sets names and number of columns; the values are checked below.
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        matrix = X if scipy.sparse.issparse(X) else matrix_of_frame(X)
        check_entries(matrix)
        checked = check_array(
            matrix,
            accept_sparse="csr",
            dtype=[_preferred_type(matrix), np.float32, np.float64, np.uint8],
            ensure_all_finite=False,
            estimator=estimator,
        )
        check_row_count(checked.shape[0])
        rows = SparseRows.of(checked)
    with np.errstate(invalid="ignore", over="ignore"):
        total = rows.values.sum()  # NaN if any is; a mask would need memory
    # A sum of both infinities is NaN too.
    if np.isnan(total) and np.isnan(rows.values).any():
        missing = np.flatnonzero(np.isnan(rows.values))
        f = int(rows.columns[missing[0]])
        row = int(np.searchsorted(rows.starts, missing[0], side="right")) - 1
        name = X.columns[f] if hasattr(X, "columns") else f
        raise ValueError(
            f"X is sparse and stores NaN in column {name!r}, row {row}; replace it, "
            "for example with SimpleImputer, or pass X dense, which may contain NaN."
        )
    return rows


def is_sparse(X: Any) -> bool:
    """Return True for a sparse matrix of SciPy, or a frame of sparse columns."""
    return scipy.sparse.issparse(X) or (hasattr(X, "sparse") and hasattr(X, "dtypes"))


def check_matrix(estimator: Any, X: Any, *, reset: bool) -> Array:
    """Return X as a 2-D array of float32, float64 or uint8; no copy if it is one.

    NaN and infinities are allowed, so the values of X are not read here.
    """
    is_plain = (
        type(X) in (np.ndarray, np.memmap)
        and X.dtype in IN_PLACE
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and "feature_names_in_" not in vars(estimator)
    )
    if is_plain and not reset:
        # `validate_data` would take most of the time of a prediction of one row.
        checked = X
    else:
        check_kind(X)
        with errors_mention("X"), explaining_columns(X, estimator, reset=reset):
            checked = validate_data(
                estimator,
                X,
                reset=reset,
                dtype=[_preferred_type(X), np.float32, np.float64, np.uint8],
                ensure_all_finite=False,
            )
    array = np.asarray(checked)  # nanobind accepts no subclass such as memmap
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.aligned or any(s % array.itemsize for s in array.strides):
        array = array.copy()  # fields of packed records
    check_row_count(len(array))
    return array


def check_row_count(n_rows: int) -> None:
    """Raise an error if X has more rows than a fit or a prediction supports."""
    if n_rows > MAX_COUNT:
        raise ValueError(f"X has {n_rows} rows; at most {MAX_COUNT} are supported.")


def _preferred_type(X: Any) -> np.dtype[Any]:
    """Return the dtype of X after the check, unless the core reads X in place."""
    if str(getattr(X, "dtype", "")) in NARROW_TYPES:
        return np.dtype(np.float32)
    # scikit-learn reads the dtypes of pandas columns, but not those of polars.
    if is_polars(X):
        types = {str(column) for column in X.dtypes}
        if types == {"Float32"}:
            return np.dtype(np.float32)
        # Missing values become NaN, which uint8 does not have.
        if types == {"UInt8"} and not X.null_count().to_numpy().any():
            return np.dtype(np.uint8)
    return np.dtype(np.float64)


def check_same_rows(n_given: int, n_rows: int | None) -> None:
    """Raise an error if X and y have different numbers of rows."""
    if n_rows is not None and n_given != n_rows:
        raise ValueError(
            # The estimator checks of scikit-learn require this wording.
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n_rows} rows, y has {n_given}."
        )


def check_class_labels(
    y: Any, n_rows: int | None, *, may_be_few: bool = False
) -> ClassTargets:
    """Return the sorted classes of y, and the index of the class of each row.

    More classes than half of the rows raise a warning, unless the rows `may_be_few`.
    `n_rows` is the number of rows of X, or None if it is checked later.
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
        raise ValueError(f"y contains {bad}; class labels must be finite.")
    if y.dtype.kind == "O" and any(is_missing(value) for value in y):
        raise ValueError("y contains NaN or None.")
    with errors_mention("y"):
        kinds = ("binary", "multiclass")
        if y.dtype.kind not in "biu" and type_of_target(y, "y") not in kinds:
            check_classification_targets(y)  # raises the error of scikit-learn
        targets = _unique_labels(y)
    # The warning of scikit-learn, whose check would sort y again.
    n_classes = len(targets.classes)
    if not may_be_few and len(y) > 20 and n_classes > round(0.5 * len(y)):
        warn_user(
            "The number of unique classes is greater than 50% of the number of "
            "samples. `y` could represent a regression problem, not a classification "
            "problem."
        )
    return targets


def _unique_labels(y: Array) -> ClassTargets:
    if y.dtype.kind in "iu" and y.size:
        low, high = int(y.min()), int(y.max())
        # A narrow range of integers needs no sort: 0.3 ms instead of 3 ms for 60000
        # labels.
        if high - low < max(256, 2 * y.size):
            wide = y if y.dtype.kind == "u" else y.astype(np.int64, copy=False)
            shifted = (wide - wide.dtype.type(low)).astype(np.intp, copy=False)
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            found = np.flatnonzero(present).astype(wide.dtype)
            classes = (found + wide.dtype.type(low)).astype(y.dtype)
            ranks = (np.cumsum(present) - 1).astype(np.uint32)
            return ClassTargets(classes, ranks[shifted])
    classes, labels = np.unique(y, return_inverse=True)
    return ClassTargets(classes, labels.astype(np.uint32))


def check_regression_target(y: Any, n_rows: int | None, name: str) -> FloatArray:
    """Return a regression target as float64 of shape (n_rows, n_outputs).

    `n_rows` is the number of rows of X, or None if it is checked later. `name` is the
    class of the estimator.
    """
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None."
        )
    # Text is rejected first: the errors of NumPy would not mention classifiers.
    given = np.asarray(y)
    text = first_text(given.ravel()) if given.dtype.kind in "OUS" else None
    if text is not None:
        classifier = name.replace("Regressor", "Classifier")
        raise ValueError(
            f"y holds text, such as {text!r}; {name} predicts numbers. "
            f"For class labels, use {classifier}."
        )
    # The estimator checks of scikit-learn require this wording, too.
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
    # Criteria add up squares of differences over all rows.
    with np.errstate(over="ignore"):
        spread = np.ptp(values, axis=0) if len(values) else np.zeros(1)
        squares = spread * spread * MAX_COUNT
    if not np.isfinite(squares).all():
        raise ValueError(
            f"y ranges from {values.min()} to {values.max()}: sums of squared "
            "differences exceed float64. Divide y by a constant."
        )
    return values


def is_regression_target(y: Any) -> bool:
    """Return True if y has non-integer values or several outputs."""
    given = np.asarray(y)
    if given.dtype.kind not in "iuf" or given.ndim not in (1, 2):
        return False
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        return False
    several = given.ndim == 2 and given.shape[1] > 1
    return several or bool((given != np.floor(given)).any())


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return the sample weights as float64, or None if there are none."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "biuf":
        try:
            # Through objects, because NumPy would drop the imaginary part.
            given = np.asarray(given.astype(object), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"sample_weight must be real numbers, got {given.dtype} data: "
                f"{reprlib.repr(sample_weight)}."
            ) from error
    weights = np.ascontiguousarray(given, dtype=np.float64)
    if given.ndim == 0:  # scikit-learn accepts a scalar
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: "
            "one weight for each row of X."
        )
    _check_weight_values("sample_weight", weights)
    return rescaled_weights(weights)


def check_offset(
    offset: Any, n_rows: int, n_columns: int, largest: float
) -> FloatArray | None:
    """Return the offset as float64, [row][column], or None if there is none.

    `largest` is its largest absolute value.
    """
    if offset is None:
        return None
    with errors_mention("offset"):
        values = np.array(offset, dtype=np.float64)
    shape = (n_rows,) if n_columns == 1 else (n_rows, n_columns)
    if values.shape not in (shape, (n_rows, n_columns)):
        raise ValueError(
            f"offset.shape == {values.shape}, expected {shape}: one value for each row "
            "and raw score."
        )
    values = values.reshape(n_rows, n_columns)
    fits = np.abs(values) <= largest  # False for NaN
    if not fits.all():
        row, column = np.argwhere(~fits)[0]
        raise ValueError(
            f"offset is {values[row, column]} in row {row}; it must be between "
            f"{-largest:g} and {largest:g}, because it is added to the raw score. For "
            "an exposure, use offset=np.log(exposure)."
        )
    return values


def rescaled_weights(weights: FloatArray) -> FloatArray:
    """Scale extreme weights by a power of two, so that sums stay finite."""
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
    """Multiply sample weights by the weights of their classes."""
    if class_weight is None:
        return weights
    y = targets.classes[targets.labels]
    by_class = compute_class_weight(class_weight, classes=targets.classes, y=y)
    try:
        by_class = np.asarray(by_class, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"class_weight must contain numbers, got {class_weight}."
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
    # A product of two weights may be extreme even if its factors are not.
    return rescaled_weights(combined)


class SplitCounts(NamedTuple):
    """Integer weights with which splits are compared: core/target/criterion.hpp.

    Integer sums do not depend on the order of the additions.
    """

    narrow: npt.NDArray[np.uint32] | None
    wide: npt.NDArray[np.uint64] | None


def split_counts(weights: FloatArray | None) -> SplitCounts:
    """Convert weights to integers.

    Integer weights are unchanged. Others are scaled by a power of two so that their sum
    is near 2**52, and rounded: the error is 2e-16 of the total. A positive weight never
    becomes zero.
    """
    if weights is None:
        return SplitCounts(None, None)
    total = float(weights.sum())
    if total <= MAX_COUNT and bool((weights == np.floor(weights)).all()):
        return SplitCounts(weights.astype(np.uint32), None)
    # Powers of two scale without rounding.
    mantissa, exponent = np.frexp(weights)
    # An upper bound of the exponent of the sum: the sum itself might overflow.
    total_exponent = int(exponent.max()) + len(weights).bit_length()
    scaled = np.rint(np.ldexp(mantissa, exponent + (52 - total_exponent)))
    scaled = np.where(weights > 0, np.maximum(scaled, 1.0), 0.0)
    return SplitCounts(None, scaled.astype(np.uint64))


def make_seed(random_state: Any) -> int:
    """Return the 64-bit seed of one fit."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)  # 30 us faster than a RandomState
    high, low = check_random_state(random_state).randint(0, 2**31 - 1, size=2)
    return int(high) << 31 | int(low)
