"""Columns of data frames and arrays: their types, their categorical features."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse

if TYPE_CHECKING:
    from dics._input.checks import Array, FloatArray


# As Arrow calls them.
TEMPORAL_TYPES = ("date", "timestamp", "time", "duration")

# Integers that float64 holds exactly.
MOST_EXACT = 2**53
TEXT_TYPES = ("str", "string", "large_string", "string_view", "String", "Utf8")


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


class CategoricalColumn(NamedTuple):
    """One column: its sorted categories, and their index for each row (-1: missing)."""

    categories: Array  # text (of dtype object), float64 or bool
    indices: npt.NDArray[np.int64]

    def rows_with_category(self) -> npt.NDArray[np.bool_] | slice:
        """Return an index of the rows whose category isn't missing."""
        here: npt.NDArray[np.bool_] = self.indices >= 0
        return slice(None) if here.all() else here


# --- kinds of X ---------------------------------------------------------------------


def is_pandas(X: Any) -> bool:
    """Tell whether X is a DataFrame of pandas, or of a library that follows it."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes")


def is_polars(X: Any) -> bool:
    """Tell whether X is a DataFrame of polars."""
    return type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "dtypes")


def is_arrow(X: Any) -> bool:
    """Tell whether X is a table or a batch of Arrow."""
    return type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "schema")


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns; None if X is no frame."""
    if is_arrow(X):
        return list(X.column_names)
    return list(X.columns) if is_pandas(X) or is_polars(X) else None


def column_count(X: Any) -> int:
    """Return the number of columns of a frame or a 2-D array, 0 of anything else."""
    shape: Any = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else 0


def categorical_columns(X: Any) -> list[int]:
    """Return the columns whose type is categorical or text."""
    if is_pandas(X):
        dtypes = list(X.dtypes)
        # Each type is looked at once: columns of numbers share theirs, and a frame may
        # have thousands. To hash a categorical type would take all its categories.
        distinct = {id(dtype): dtype for dtype in dtypes}
        says_so = {key: _names_category(dtype) for key, dtype in distinct.items()}
        return [
            i
            for i, dtype in enumerate(dtypes)
            if says_so[id(dtype)]
            or (_is_object(dtype) and _holds_text(_objects_of(X, i)))
        ]
    if is_polars(X):
        return _named_types(str(dtype) for dtype in X.dtypes)
    if is_arrow(X):
        return _named_types(str(dtype) for dtype in X.schema.types)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        return [i for i in range(X.shape[1]) if _holds_text(X[:, i])]
    return []


def _is_object(dtype: Any) -> bool:
    return getattr(dtype, "kind", "") == "O" and str(dtype) == "object"


def _objects_of(X: Any, i: int) -> Array:
    return np.asarray(X.iloc[:, i], dtype=object)


def _names_category(dtype: Any) -> bool:
    """Tell whether a type of pandas says that a column holds categories or text."""
    name = str(getattr(dtype, "pyarrow_dtype", dtype))  # what pandas wraps
    return name.startswith(("category", "dictionary")) or name in TEXT_TYPES


def _named_types(names: Iterable[str]) -> list[int]:
    return [
        i
        for i, name in enumerate(names)
        if name.startswith(("Categorical", "Enum", "dictionary")) or name in TEXT_TYPES
    ]


def _holds_text(values: Array) -> bool:
    """Tell whether there is text among some objects that is no number."""
    return any(isinstance(value, str) and not _is_number(value) for value in values)


# --- what the user names ------------------------------------------------------------


def resolve_categorical_features(wanted: Any, X: Any) -> list[int]:
    """Resolve `categorical_features` of an estimator for X, before anything is read."""
    if wanted is None:
        return []
    if isinstance(wanted, str):  # "from_dtype"
        return categorical_columns(X)
    if isinstance(wanted, Set):
        entries = list(wanted)
    elif isinstance(wanted, Collection | np.ndarray):
        entries = np.asarray(wanted, dtype=object).ravel().tolist()
    else:
        entries = [wanted]
    if not hasattr(X, "toarray"):
        return _resolved(entries, column_count(X), column_names(X))
    if all(isinstance(entry, bool | np.bool_) and not entry for entry in entries):
        return []  # a mask of no column
    raise ValueError(
        "categorical_features names columns of a sparse X, which holds numbers only; "
        "give X as an array or a data frame, or categorical_features=None."
    )


def _resolved(entries: list[Any], n_columns: int, names: list[Any] | None) -> list[int]:
    """Return the numbers of columns that are named, numbered or marked."""
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != n_columns:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} entries, X has "
                f"{n_columns} columns; give one entry for each column, or a list of "
                "names or numbers of columns."
            )
        return [i for i, entry in enumerate(entries) if entry]
    return sorted(
        {f for entry in entries for f in _column_numbers(entry, n_columns, names)}
    )


def _column_numbers(entry: Any, n_columns: int, names: list[Any] | None) -> list[int]:
    """Return the column of a number, or all of a name."""
    if isinstance(entry, str):
        if names is None:
            raise ValueError(
                f"categorical_features names the column {entry!r}, but X has no column "
                "names; give the numbers of columns, or X as a data frame."
            )
        if entry not in names:
            raise ValueError(
                f"categorical_features names the column {entry!r}, which X does not "
                f"have; its columns are {_shortened(names)}."
            )
        return [i for i, name in enumerate(names) if name == entry]
    if isinstance(entry, bool) or not isinstance(entry, int | np.integer):
        raise ValueError(
            "categorical_features must hold names or numbers of columns, or a mask of "
            f"bools, got {entry!r} of type {type(entry).__name__}."
        )
    if not 0 <= entry < n_columns:
        raise ValueError(
            f"categorical_features has the column {entry}, X has columns 0 to "
            f"{n_columns - 1}; count from 0, or give names."
        )
    return [int(entry)]


def _shortened(names: list[Any]) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


# --- categories ---------------------------------------------------------------------


def read_column(X: Any, i: int) -> CategoricalColumn:
    """Read the categories of one column, and the index of the category of each row."""
    try:
        values, numbers = _distinct(X, i)
    except TypeError as error:  # what cannot be hashed or compared
        raise ValueError(
            f"X: column {_name_of(X, i)!r} holds values that cannot be categories: "
            f"{error}."
        ) from error
    numbers = np.asarray(numbers, dtype=np.int64)
    used = np.bincount(numbers[numbers >= 0], minlength=len(values)) > 0
    categories, places = _sorted_categories(values[used], partial(_name_of, X, i))
    ranks = np.full(len(values) + 1, -1, dtype=np.int64)  # the last is of -1
    ranks[:-1][used] = places
    return CategoricalColumn(categories, ranks[numbers])


def category_indices(
    categories: Array, column: CategoricalColumn
) -> npt.NDArray[np.int64]:
    """Return the index in `categories` of the category of each row; -1 if unknown."""
    if len(categories) == 0:
        return np.full(len(column.indices), -1)
    places = np.searchsorted(categories, column.categories)
    places = np.minimum(places, len(categories) - 1)
    known = categories[places] == column.categories
    return np.append(np.where(known, places, -1), -1)[column.indices]


def with_category_indices(X: Any, columns: dict[int, CategoricalColumn]) -> Any:
    """Return X with indices of categories in some columns, NaN where missing."""
    numbers = {
        i: np.where(column.indices < 0, np.nan, column.indices)
        for i, column in columns.items()
    }
    if is_pandas(X):
        frame = X.copy(deep=False)
        for i, values in numbers.items():
            frame.isetitem(i, values)
        return frame
    if is_polars(X):
        series = type(X.to_series(0))
        new = [series(X.columns[i], values) for i, values in numbers.items()]
        return X.with_columns(new)
    if is_arrow(X):
        from pyarrow import array as arrow_array

        for i, values in numbers.items():
            X = X.set_column(i, X.column_names[i], arrow_array(values))
        return X
    array = np.array(X, dtype=object if X.dtype == object else None)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    for i, values in numbers.items():
        array[:, i] = values
    return array


def _distinct(X: Any, i: int) -> tuple[Array, Array]:
    """Return distinct values of a column and the number of the value of each row."""
    if is_pandas(X):
        column = X.iloc[:, i]
        if hasattr(column, "cat") and hasattr(column.cat, "codes"):
            return np.asarray(column.cat.categories), np.asarray(column.cat.codes)
        numbers, values = column.factorize()
        return np.asarray(values), numbers
    if is_polars(X):
        return _distinct_of_polars(X.to_series(i))
    if is_arrow(X):
        return _distinct_of_arrow(X.column(i))
    column = np.asarray(X)[:, i]
    if column.dtype != object:
        missing = column != column
        values, places = np.unique(column[~missing], return_inverse=True)
        numbers = np.full(len(column), -1, dtype=np.int64)
        numbers[~missing] = places
        return values, numbers
    known: dict[Any, int] = {}
    numbers = [
        -1 if value is None or value != value else known.setdefault(value, len(known))
        for value in column.tolist()
    ]
    return _objects(list(known)), np.array(numbers, dtype=np.int64)


def _distinct_of_polars(series: Any) -> tuple[Array, Array]:
    if str(series.dtype).startswith(("Categorical", "Enum")):
        series = series.cast(type(series)(["text"]).dtype)
    elif series.dtype.is_float():
        series = series.fill_nan(None)
    values = series.drop_nulls().unique(maintain_order=True)
    numbers = series.replace_strict(
        values, np.arange(len(values)), default=-1, return_dtype=int
    )
    return _objects(values.to_list()), numbers.fill_null(-1).to_numpy()


def _distinct_of_arrow(column: Any) -> tuple[Array, Array]:
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    values = _objects(column.dictionary.to_pylist())
    numbers = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    missing = np.array([v is None or v != v for v in values.tolist()], dtype=bool)
    numbers = np.where((numbers >= 0) & missing[numbers], -1, numbers)
    return values, numbers


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _name_of(X: Any, i: int) -> Any:
    names = column_names(X)
    return i if names is None else names[i]


def _sorted_categories(
    values: Array, name_column: Callable[[], Any]
) -> tuple[Array, Array]:
    """Return the sorted categories, and the index of each value among them."""
    plain = values.tolist()
    kinds = set(map(type, plain))
    if all(issubclass(kind, str) for kind in kinds):
        categories = _objects(plain)
    elif kinds == {bool}:
        categories = np.array(plain, dtype=bool)
    elif all(issubclass(kind, int | float) and kind is not bool for kind in kinds):
        if np.isinf(np.array(plain, dtype=np.float64)).any():
            raise ValueError(
                f"X: column {name_column()!r} has an infinite category. Convert the "
                "column to text by .astype(str), or replace missing values by NaN."
            )
        if max(plain) > MOST_EXACT or min(plain) < -MOST_EXACT:
            raise ValueError(
                f"X: column {name_column()!r} has categories beyond 2**53, which "
                "float64 would merge. Convert the column to text by .astype(str)."
            )
        categories = np.array(plain, dtype=np.float64) + 0.0  # of two zeros the one
    else:
        found = sorted(kind.__name__ for kind in kinds)
        raise ValueError(
            f"X: column {name_column()!r} has categories of the types "
            f"{', '.join(found)}; the categories of a feature are all text, all "
            "numbers or all bools. Convert the column, for example by .astype(str)."
        )
    categories, places = np.unique(categories, return_inverse=True)
    return categories, places


def kind_of_categories(categories: Array) -> str:
    """Return the kind of categories, in words."""
    return {"O": "text", "b": "bools"}.get(categories.dtype.kind, "numbers")


def refuse_sparse_categories(X: Any, features: list[int]) -> None:
    """Refuse to read categories from a matrix that holds numbers only."""
    if features and scipy.sparse.issparse(X):
        raise ValueError(
            f"X is sparse, but column {features[0]} holds categories; pass a frame "
            "or a dense array."
        )


class CategoricalInput:
    """X whose categorical features have been read.

    Parameters
    ----------
    X : array-like
    features : list of int
        Indices of the categorical features.
    """

    def __init__(self, X: Any, features: list[int]) -> None:
        refuse_sparse_categories(X, features)
        self.columns: Mapping[int, CategoricalColumn] = {
            f: read_column(X, f) for f in features
        }
        names = column_names(X)
        self.names = {f: f if names is None else names[f] for f in features}
        self.X = with_category_indices(X, self.columns) if features else X

    @classmethod
    def for_fit(cls, X: Any, wanted: Any) -> CategoricalInput:
        """Find the categorical features of the X of a fit, and read them."""
        check_kind(X)
        X = as_table(X)
        if scipy.sparse.issparse(X) and isinstance(wanted, str):
            return cls(X, [])  # it holds numbers
        if (
            isinstance(X, list | tuple)
            and wanted is not None
            and wanted != "from_dtype"
        ):
            X = np.asarray(X)
        return cls(X, resolve_categorical_features(wanted, X))

    def with_numbers(
        self, checked: Array, numbers: dict[int, FloatArray], more: list[FloatArray]
    ) -> Array:
        """Return a copy of the checked X that has other numbers in some columns.

        More columns go behind them.
        """
        n_rows, n_features = checked.shape
        filled = np.empty(
            (n_rows, n_features + len(more)),
            dtype=encoded_dtype(checked.dtype),
            order="C" if checked.flags.c_contiguous else "F",
        )
        filled[:, :n_features] = checked
        for f, column in numbers.items():
            filled[:, f] = column
        for f, column in enumerate(more, start=n_features):
            filled[:, f] = column
        return filled


def encoded_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of an X in which numbers have replaced categories."""
    is_narrow = dtype in (np.float32, np.uint8)
    return np.dtype(np.float32 if is_narrow else np.float64)


def as_table(X: Any) -> Any:
    """Return lists of rows with text among the numbers as an array of objects.

    A batch of Arrow becomes a table, whose names of columns scikit-learn knows.
    """
    if is_arrow(X) and not hasattr(X, "to_batches"):
        from pyarrow import Table

        return Table.from_batches([X])
    if not isinstance(X, list | tuple) or not _has_text(X):
        return X
    if len({len(row) for row in X if isinstance(row, list | tuple)}) > 1:
        return X  # refused later
    return np.asarray(X, dtype=object)


def _has_text(rows: Any) -> bool:
    return any(
        isinstance(value, str)
        for row in rows
        if isinstance(row, list | tuple)
        for value in row
    )
