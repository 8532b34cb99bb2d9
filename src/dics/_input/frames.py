"""Columns of data frames and arrays: their types and their categories."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

if TYPE_CHECKING:
    from dics._input.checks import Array, FloatArray


# Names of types, or their beginnings, as pandas, polars and Arrow write them.
TEMPORAL_TYPES = ("date", "time", "duration", "period")
NUMERIC_TYPE = re.compile(
    "u?int[0-9]|float|half|double|decimal|bool|sparse", re.IGNORECASE
)
CATEGORY_TYPES = ("category", "dictionary", "Categorical", "Enum")
TEXT_TYPES = ("str", "string", "large_string", "string_view", "String", "Utf8")
# Integers beyond it are not exact in float64, the type of numeric categories.
MOST_EXACT = 2**53
# Up to this many values, dictionaries encode X in less time than the methods of frames.
# `predict` of one row of adult_categorical (14 columns, default boosting) takes 0.24
# instead of 1.77 ms (pandas), and 0.05 instead of 2.43 ms (polars); of 300 rows, half
# the time or less (2026-11).
FEW_VALUES = 4096


# --- types of X and of its columns ----------------------------------------------------


def is_pandas(X: Any) -> bool:
    """Return True for a DataFrame of pandas, or of a library with the same methods."""
    # By methods and not by module, so that subclasses and Modin are included.
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def is_polars(X: Any) -> bool:
    """Return True for a DataFrame of polars."""
    # By module, so that polars need not be installed.
    return type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "dtypes")


def is_arrow(X: Any) -> bool:
    """Return True for a table or a batch of Arrow."""
    return type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "schema")


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns; None if X is not a data frame."""
    if is_arrow(X):
        return list(X.column_names)
    if is_pandas(X):
        return list(X.columns.tolist())  # an iteration takes ten times as long
    return list(X.columns) if is_polars(X) else None


def _column_name(X: Any, i: int) -> Any:
    names = column_names(X)
    return i if names is None else names[i]


def _column_values(X: Any, i: int) -> Array:
    """Return a column of a data frame or of an array."""
    if is_pandas(X):
        return np.asarray(X.iloc[:, i])
    return np.asarray(X.column(i) if is_arrow(X) else X[:, i])


def type_names(X: Any) -> list[str]:
    """Return the name of the type of each column of a data frame."""
    types = list(X.schema.types if is_arrow(X) else X.dtypes)
    # Each type is named once: numeric columns share theirs, and a frame may have
    # thousands. Ids are used because the hash of a categorical type needs all its
    # categories.
    names = {
        key: str(getattr(dtype, "pyarrow_dtype", dtype))  # wrapped by pandas
        for key, dtype in {id(dtype): dtype for dtype in types}.items()
    }
    return [names[id(dtype)] for dtype in types]


def check_kind(X: Any) -> None:
    """Raise an error for kinds of X that are not supported, such as dates."""
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        raise TypeError("X is a LazyFrame, which has no rows yet; call X.collect().")
    first = X[0] if isinstance(X, list) and X else X
    # Records, as JSON has them. By the exact type: a dok_array is a dict, too.
    if type(first) is dict:
        raise ValueError(
            "X must be two-dimensional, got dictionaries. Use pandas.DataFrame(X), or "
            "for a single row of values pandas.DataFrame([X])."
        )
    if hasattr(X, "to_frame") and len(X.shape) == 1:
        raise ValueError(
            f"X must be two-dimensional, got a {type(X).__name__}. For one row, use "
            "X.to_frame().T, or select it by frame.iloc[[0]] (polars: frame[[0]]); for "
            "one feature, use X.to_frame()."
        )
    dtype = getattr(X, "dtype", None)
    fields = getattr(dtype, "names", None)
    if fields is not None:
        raise ValueError(
            f"X is a structured array of the fields {', '.join(fields)}; call "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    names = column_names(X)
    if names is not None and len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has several columns {name!r}; rename or remove them.")
    kinds = [str(dtype)] if names is None else type_names(X)
    for kind in dict.fromkeys(kinds):
        if kind.lower().startswith(TEMPORAL_TYPES):
            where = "X"
            if names is not None:
                where = f"X: column {names[kinds.index(kind)]!r}"
            raise ValueError(
                f"{where} holds dates or times ({kind}); convert them to numbers "
                'first: the time since a certain day, such as .astype("int64"), or '
                "features such as the year, the month and the weekday."
            )


@contextmanager
def explaining_columns(X: Any, estimator: Any, *, reset: bool) -> Iterator[None]:
    """Raise an error for text in X, and add the column to errors of its conversion."""
    for name, values in _unusual_columns(X):
        # scikit-learn would parse text such as "1.5".
        text = first_text(values)
        if text is None:
            continue
        remedy = "in fit it held numbers. Convert it to numbers."
        if reset:
            remedy = (
                "convert it to numbers, for example by .astype(float), or by "
                "OrdinalEncoder or OneHotEncoder of scikit-learn in a "
                "ColumnTransformer, or remove it."
            )
            if hasattr(estimator, "categorical_features"):
                remedy = f"name it in categorical_features, or {remedy}"
        raise ValueError(f"X: column {name!r} holds text, such as {text!r}; {remedy}")
    try:
        yield
    except (TypeError, ValueError) as error:
        problem = str(error).partition("\n")[0].rstrip(".")
        for name, values in _unusual_columns(X):
            for value in values.tolist():
                if not (value is None or isinstance(value, Real | Decimal)):
                    raise type(error)(
                        f"X: column {name!r} holds values that are not numbers, such "
                        f"as {reprlib.repr(value)}: {problem}. Convert the column to "
                        "numbers, or remove it."
                    ) from error
        raise


def _unusual_columns(X: Any) -> Iterator[tuple[Any, Array]]:
    """Return the names and the values of the columns whose type is not numeric."""
    names = column_names(X)
    if names is not None:
        kinds = type_names(X)
        unusual = {kind for kind in set(kinds) if not NUMERIC_TYPE.match(kind)}
        for i, kind in enumerate(kinds):
            if kind in unusual:
                yield names[i], _column_values(X, i)
        return
    try:
        array = np.asarray(as_table(X))
    except ValueError:  # rows of several lengths
        return
    if array.ndim == 2 and array.dtype.kind in "OUS":
        yield from enumerate(array.T)


def first_text(values: Array) -> str | bytes | None:
    """Return the first text among values of any types."""
    return next((v for v in values.tolist() if isinstance(v, str | bytes)), None)


# --- categorical features -------------------------------------------------------------


class CategoricalColumn(NamedTuple):
    """One column: its sorted categories, and their index for each row (-1: missing)."""

    categories: Array  # text (of dtype object), float64 or bool
    indices: npt.NDArray[np.int64]

    def rows_with_category(self) -> npt.NDArray[np.bool_] | slice:
        """Return an index of the rows whose category is not missing."""
        here: npt.NDArray[np.bool_] = self.indices >= 0
        return slice(None) if here.all() else here  # a slice copies nothing


def categorical_columns(X: Any) -> list[int]:
    """Return the columns whose type is categorical or text."""
    if column_names(X) is not None:
        return [
            i
            for i, kind in enumerate(type_names(X))
            if kind.startswith(CATEGORY_TYPES)
            or kind in TEXT_TYPES
            or (kind == "object" and isinstance(first_text(_column_values(X, i)), str))
        ]
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        return [f for f, x in enumerate(X.T) if isinstance(first_text(x), str)]
    return []


def resolve_categorical_features(wanted: Any, X: Any) -> list[int]:
    """Return the columns that the parameter `categorical_features` refers to."""
    if wanted is None:
        return []
    if isinstance(wanted, str):  # "from_dtype"
        return categorical_columns(X)
    # NumPy would turn a set into a single object.
    if isinstance(wanted, Set):
        entries = list(wanted)
    elif isinstance(wanted, Collection | np.ndarray):
        entries = np.asarray(wanted, dtype=object).ravel().tolist()
    else:
        entries = [wanted]
    is_mask = all(isinstance(entry, bool | np.bool_) for entry in entries)
    if hasattr(X, "toarray"):
        if is_mask and not any(entries):
            return []
        raise ValueError(
            "categorical_features names columns of a sparse X, which holds numbers "
            "only; pass X as an array or a data frame, or categorical_features=None."
        )
    shape: Any = getattr(X, "shape", ())
    n_columns = int(shape[1]) if len(shape) == 2 else 0
    if not is_mask or not entries:
        names = column_names(X)
        return sorted({_find_column(entry, n_columns, names) for entry in entries})
    if len(entries) != n_columns:
        raise ValueError(
            f"categorical_features is a mask of {len(entries)} entries, X has "
            f"{n_columns} columns; pass one entry for each column, or a list of names "
            "or indices of columns."
        )
    return [i for i, entry in enumerate(entries) if entry]


def _find_column(entry: Any, n_columns: int, names: list[Any] | None) -> int:
    """Return the index of a column from its index or its name."""
    if isinstance(entry, str):
        if names is None:
            raise ValueError(
                f"categorical_features names the column {entry!r}, but X has no column "
                "names; pass indices of columns, or X as a data frame."
            )
        if entry not in names:
            shown = ", ".join(repr(str(name)) for name in names[:8])
            more = "" if len(names) <= 8 else f" and {len(names) - 8} more"
            raise ValueError(
                f"categorical_features names the column {entry!r}, which X does not "
                f"have; its columns are {shown}{more}."
            )
        return names.index(entry)
    # bool is a subclass of int.
    if isinstance(entry, bool) or not isinstance(entry, int | np.integer):
        raise ValueError(
            "categorical_features must hold names or indices of columns, or a mask of "
            f"bools, got {entry!r} of type {type(entry).__name__}."
        )
    if not 0 <= entry < n_columns:
        raise ValueError(
            f"categorical_features has the column {entry}, X has columns 0 to "
            f"{n_columns - 1}; count from 0, or pass names."
        )
    return int(entry)


def read_column(X: Any, i: int) -> CategoricalColumn:
    """Read the categories of one column, and the index of the category of each row."""
    try:
        values, codes = _distinct(X, i)
    except (TypeError, NotImplementedError) as error:  # they need hash and order
        raise ValueError(
            f"X: column {_column_name(X, i)!r} holds values that cannot be categories: "
            f"{error}. Convert it to text or numbers, or remove it."
        ) from error
    codes = np.asarray(codes, dtype=np.int64)
    # A frame may declare categories that no row has.
    used = np.bincount(codes[codes >= 0], minlength=len(values)) > 0
    categories, places = _sorted_categories(values[used], X, i)
    ranks = np.full(len(values) + 1, -1, dtype=np.int64)  # code -1 is the last entry
    ranks[:-1][used] = places
    return CategoricalColumn(categories, ranks[codes])


def category_indices(
    categories: Array, column: CategoricalColumn
) -> npt.NDArray[np.int64]:
    """Return the index in `categories` of the category of each row; -1 if unknown."""
    if len(categories) == 0:
        return np.full(len(column.indices), -1)
    places = np.searchsorted(categories, column.categories)
    # Categories beyond the last one get its index, and are unknown.
    places = np.minimum(places, len(categories) - 1)
    known = categories[places] == column.categories
    return np.append(np.where(known, places, -1), -1)[column.indices]


def columns_of_few_values(
    X: Any, names: Array | None, n_features: int
) -> list[Sequence[Any]] | None:
    """Return the columns of X as lists of Python objects.

    Return None if X has many values, or other columns than the fit.
    """
    shape: Any = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != n_features:
        return None
    if not 0 < shape[0] * shape[1] <= FEW_VALUES:
        return None
    columns: list[Sequence[Any]]
    if isinstance(X, np.ndarray):
        # Arrays of other types become float32.
        if names is not None or X.dtype not in (object, np.float64):
            return None
        columns = X.T.tolist()
        return columns
    found = column_names(X)
    if found is None or names is None or found != names.tolist():
        return None  # an error or a warning of the general checks
    if is_pandas(X):
        columns = X.to_numpy(dtype=object).T.tolist()
    elif is_arrow(X):
        columns = [column.to_pylist() for column in X.columns]
    else:
        columns = [column.to_list() for column in X.get_columns()]
    return columns


def with_category_indices(X: Any, columns: dict[int, CategoricalColumn]) -> Any:
    """Return X with indices of categories in some columns; NaN if missing."""
    indices = {
        i: np.where(column.indices < 0, np.nan, column.indices)
        for i, column in columns.items()
    }
    if is_pandas(X):
        # Shallow: the other columns are shared with the frame of the user.
        frame = X.copy(deep=False)
        for i, values in indices.items():
            frame.isetitem(i, values)
        return frame
    if is_polars(X):
        series = type(X.to_series(0))
        new = [series(X.columns[i], values) for i, values in indices.items()]
        return X.with_columns(new)
    if is_arrow(X):
        from pyarrow import array as arrow_array

        for i, values in indices.items():
            X = X.set_column(i, X.column_names[i], arrow_array(values))
        return X
    # Integers and text have no room for NaN.
    wider = {"b": np.float64, "i": np.float64, "u": np.float64, "U": object}
    array = np.array(X, dtype=wider.get(X.dtype.kind, X.dtype))
    for i, values in indices.items():
        array[:, i] = values
    return array


def _distinct(X: Any, i: int) -> tuple[Array, Array]:
    """Return the distinct values of a column, and their index for each row."""
    # The libraries have their codes already, or find them faster than NumPy.
    if is_pandas(X):
        column = X.iloc[:, i]
        if hasattr(column, "cat") and hasattr(column.cat, "codes"):
            return np.asarray(column.cat.categories), np.asarray(column.cat.codes)
        codes, values = column.factorize()
        return np.asarray(values), codes
    if is_polars(X):
        return _distinct_of_polars(X.to_series(i))
    if is_arrow(X):
        return _distinct_of_arrow(X.column(i))
    column = np.asarray(X)[:, i]
    # NaN is not equal to itself; values of other types cannot be missing.
    if column.dtype != object:
        missing = column != column
        values, places = np.unique(column[~missing], return_inverse=True)
        codes = np.full(len(column), -1, dtype=np.int64)
        codes[~missing] = places
        return values, codes
    # A dictionary, because values of several types cannot be sorted.
    known: dict[Any, int] = {}
    codes = [
        -1 if is_missing(value) else known.setdefault(value, len(known))
        for value in column.tolist()
    ]
    return _objects(list(known)), np.array(codes, dtype=np.int64)


def _distinct_of_polars(series: Any) -> tuple[Array, Array]:
    if str(series.dtype).startswith(("Categorical", "Enum")):
        # As text, because the codes of polars differ between frames.
        series = series.cast(type(series)(["text"]).dtype)
    elif series.dtype.is_float():
        series = series.fill_nan(None)
    values = series.drop_nulls().unique(maintain_order=True)
    codes = series.replace_strict(
        values, np.arange(len(values)), default=-1, return_dtype=int
    )
    return _objects(values.to_list()), codes.fill_null(-1).to_numpy()


def _distinct_of_arrow(column: Any) -> tuple[Array, Array]:
    if hasattr(column, "combine_chunks"):
        # Chunks may have different dictionaries.
        column = column.combine_chunks()
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    values = _objects(column.dictionary.to_pylist())
    # Indices may be unsigned.
    codes = column.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    # A dictionary may contain null or NaN itself. The last entry is that of code -1.
    missing = np.array([*(is_missing(value) for value in values), True], dtype=bool)
    codes = np.where((codes >= 0) & missing[codes], -1, codes)
    return values, codes


def is_missing(value: Any) -> bool:
    """Return True for None and NaN, and for NA and NaT of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA is neither equal nor unequal
        return True


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values  # np.array would make a matrix of values that are tuples
    return array


def _sorted_categories(values: Array, X: Any, i: int) -> tuple[Array, Array]:
    """Return the sorted categories of a column, and the index of each value in them."""
    plain = values.tolist()
    kinds = set(map(type, plain))
    if all(issubclass(kind, str) for kind in kinds):
        categories = _objects(plain)
    elif kinds == {bool}:
        categories = np.array(plain, dtype=bool)
    elif all(issubclass(kind, int | float) and kind is not bool for kind in kinds):
        if np.isinf(np.array(plain, dtype=np.float64)).any():
            raise ValueError(
                f"X: column {_column_name(X, i)!r} has an infinite category. Convert "
                "it to text by .astype(str), or use NaN for missing values."
            )
        if max(plain) > MOST_EXACT or min(plain) < -MOST_EXACT:
            raise ValueError(
                f"X: column {_column_name(X, i)!r} has categories beyond 2**53, which "
                "float64 would merge. Convert the column to text by .astype(str)."
            )
        categories = np.array(plain, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    else:
        found = sorted(kind.__name__ for kind in kinds)
        raise ValueError(
            f"X: column {_column_name(X, i)!r} has categories of the types "
            f"{', '.join(found)}; the categories of a feature are all text, all "
            "numbers or all bools. Convert the column, for example by .astype(str)."
        )
    categories, places = np.unique(categories, return_inverse=True)
    return categories, places


def kind_of_categories(categories: Array) -> str:
    """Return the kind of categories, for error messages."""
    return {"O": "text", "b": "bools"}.get(categories.dtype.kind, "numbers")


def refuse_sparse_categories(X: Any, features: list[int]) -> None:
    """Raise an error if a sparse matrix should have categories."""
    if features and scipy.sparse.issparse(X):
        raise ValueError(
            f"X is sparse, but column {features[0]} holds categories; pass a frame "
            "or a dense array."
        )


class CategoricalInput:
    """X and its categorical features.

    Its attribute `X` has indices of categories in place of the categories.

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
        """Find and read the categorical features of training data."""
        check_kind(X)
        X = as_table(X)
        if isinstance(X, list | tuple) and not isinstance(wanted, str | None):
            X = np.asarray(X)  # named columns of a list of rows need a shape
        return cls(X, resolve_categorical_features(wanted, X))

    def with_encoded_columns(
        self, checked: Array, columns: dict[int, FloatArray], more: list[FloatArray]
    ) -> Array:
        """Return a copy of the checked X with other values in some columns.

        More columns are appended.
        """
        n_rows, n_features = checked.shape
        # In the order of the memory of X, so that the copy is fast.
        encoded = np.empty(
            (n_rows, n_features + len(more)),
            dtype=encoded_dtype(checked.dtype),
            order="C" if checked.flags.c_contiguous else "F",
        )
        encoded[:, :n_features] = checked
        for f, column in (*columns.items(), *enumerate(more, start=n_features)):
            encoded[:, f] = column
        return encoded


def encoded_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of X after its categories were encoded as floats."""
    # float32 represents ranks exactly, and uint8 has no NaN.
    is_narrow = dtype in (np.float32, np.uint8)
    return np.dtype(np.float32 if is_narrow else np.float64)


def as_table(X: Any) -> Any:
    """Return lists of rows that contain text as an array of objects.

    A batch of Arrow becomes a table, because scikit-learn reads column names from
    tables only.
    """
    if is_arrow(X) and not hasattr(X, "to_batches"):
        from pyarrow import Table

        return Table.from_batches([X])
    if not isinstance(X, list | tuple):
        return X
    rows = [row for row in X if isinstance(row, list | tuple)]
    has_text = any(isinstance(value, str) for row in rows for value in row)
    if not has_text or len({len(row) for row in rows}) > 1:
        return X  # rows of several lengths raise an error later
    return np.asarray(X, dtype=object)
