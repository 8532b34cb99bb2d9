"""Refusals of what X can't hold, which say what to do instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

# As Arrow calls them.
TEMPORAL_TYPES = ("date", "timestamp", "time", "duration")


def check_kind(X: Any) -> None:
    """Refuse frames that are not there yet, records, and columns of dates."""
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        raise TypeError("X is a LazyFrame, which has no rows yet; call X.collect().")
    dtype = getattr(X, "dtype", None)
    fields = getattr(dtype, "names", None)
    if fields is not None:
        raise ValueError(
            f"X is a structured array of the fields {', '.join(fields)}; call "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    if getattr(dtype, "kind", "") in ("M", "m"):
        _refuse_dates("X", dtype)
    for name, column_dtype in zip(*_frame_columns(X), strict=True):
        if _is_temporal(column_dtype):
            _refuse_dates(f"X: column {name!r}", column_dtype)


@contextmanager
def explaining_text(X: Any, estimator: Any, *, reset: bool) -> Iterator[None]:
    """Name the column of X whose text can't be turned into numbers, and a remedy."""
    try:
        yield
    except (TypeError, ValueError) as error:
        found = _text_in(X)
        if found is None:
            raise
        column, value = found
        raise ValueError(
            f"X: column {column!r} holds text, such as {value!r}; "
            f"{_remedy(estimator, reset=reset)}"
        ) from error


def _remedy(estimator: Any, *, reset: bool) -> str:
    if not reset:
        return "in fit it held numbers. Give it as numbers again."
    encode = (
        "make numbers of it, for example by OrdinalEncoder or OneHotEncoder of "
        "scikit-learn in a ColumnTransformer, or leave it out."
    )
    if hasattr(estimator, "categorical_features"):
        return f"name it in categorical_features, or {encode}"
    return encode


def _frame_columns(X: Any) -> tuple[list[Any], list[Any]]:
    """Names and types of the columns of a data frame; none if X is no such thing."""
    if hasattr(X, "schema") and hasattr(X, "column_names"):  # of Arrow
        return list(X.column_names), list(X.schema.types)
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return [], []
    try:
        return list(X.columns), list(X.dtypes)
    except TypeError:
        return [], []


def _is_temporal(dtype: Any) -> bool:
    if hasattr(dtype, "is_temporal"):  # of polars
        return bool(dtype.is_temporal())
    if str(dtype).startswith(TEMPORAL_TYPES) and not hasattr(dtype, "kind"):  # of Arrow
        return True
    return getattr(dtype, "kind", "") in ("M", "m")


def _refuse_dates(where: str, dtype: Any) -> NoReturn:
    raise ValueError(
        f"{where} holds dates or times ({dtype}); make numbers of them first: the time "
        'since a day of your choice, such as .astype("int64"), or features such as '
        "the year, the month and the weekday."
    )


def _text_in(X: Any) -> tuple[Any, str] | None:
    """Find the first column with text that is no number, and an example of it."""
    names, dtypes = _frame_columns(X)
    if dtypes:
        parts = [_column(X, i) for i in range(len(names))]
    else:
        try:
            array = np.asarray(X)
        except ValueError:  # rows of several lengths
            return None
        if array.ndim != 2:
            return None
        names, parts = list(range(array.shape[1])), list(array.T)
    for name, part in zip(names, parts, strict=True):
        if part.dtype.kind not in "OUS":
            continue
        for value in part:
            if isinstance(value, str | bytes) and not _is_number(value):
                return name, str(value)
    return None


def _column(frame: Any, i: int) -> Any:
    if hasattr(frame, "iloc"):
        return np.asarray(frame.iloc[:, i])
    is_arrow = hasattr(frame, "schema") and hasattr(frame, "column_names")
    return np.asarray(frame.column(i) if is_arrow else frame[:, i])


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
