"""What the types of a collection's columns tell before its rows are there."""

from __future__ import annotations

from typing import Any

from dics._categories import CategoryColumn
from dics._category_columns import TEXT_TYPES, is_pandas, kind_of


def check_types(estimator: Any, meta: Any) -> None:
    """Refuse a frame whose columns can't hold what those of the fit held.

    Types that may do, such as objects, are left to the rows themselves.

    Parameters
    ----------
    estimator : object
        Fitted on columns of the same names.
    meta : object
        The frame without rows. Other kinds of X have one type for all columns.
    """
    if not is_pandas(meta):
        return
    categories = estimator._categories
    for f, (name, dtype) in enumerate(zip(meta.columns, meta.dtypes, strict=True)):
        known = None if categories is None else categories.of(f)
        given = kind_of_type(dtype)
        if known is not None:
            _check_levels(name, dtype, given, known)
        # Where columns are named, one of numbers may have been text such as "1.5".
        elif given == "text" and isinstance(estimator.categorical_features, str):
            raise ValueError(
                f"X: column {name!r} is of text ({dtype}); in fit it held numbers. "
                "Give it as numbers again, for example by .astype(float)."
            )


def _check_levels(
    name: Any, dtype: Any, given: str | None, known: CategoryColumn
) -> None:
    if given is None or len(known.levels) == 0 or given == kind_of(known.levels):
        return
    raise ValueError(
        f"X: column {name!r} has levels that are {given} ({dtype}); in fit they were "
        f"{kind_of(known.levels)}, such as {known.levels.tolist()[0]!r}. Convert the "
        "column to what it was."
    )


def kind_of_type(dtype: Any) -> str | None:
    """Say what a column holds by its type; None if that does not tell."""
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return _kind_of_categories(categories)
    if str(getattr(dtype, "pyarrow_dtype", dtype)) in TEXT_TYPES:
        return "text"
    # Floats may all be NaN, which is no level of either kind.
    kinds = {"b": "bools", "i": "numbers", "u": "numbers"}
    return kinds.get(getattr(dtype, "kind", ""))


def _kind_of_categories(categories: Any) -> str | None:
    from dask.dataframe.utils import UNKNOWN_CATEGORIES

    values = list(categories)
    if not values or UNKNOWN_CATEGORIES in values:
        return None
    if all(isinstance(value, str) for value in values):
        return "text"
    kinds = {"b": "bools", "i": "numbers", "u": "numbers", "f": "numbers"}
    return kinds.get(getattr(categories.dtype, "kind", ""))
