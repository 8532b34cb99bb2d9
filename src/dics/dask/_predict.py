"""Lazy predictions for Dask collections, partition by partition."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
import scipy.sparse

from dics._input.categories import Categories
from dics._input.checks import Array, errors_mention
from dics._input.frames import TEXT_TYPES, check_kind, is_pandas, kind_of_categories

EstimatorT = TypeVar("EstimatorT", bound=type)
Method = Callable[..., Any]
# Methods of the local estimators that return one result per row.
ROW_METHODS = (
    "apply",
    "decision_function",
    "decision_path",
    "predict",
    "predict_contributions",
    "predict_log_proba",
    "predict_proba",
    "predict_quantiles",
)
# Methods that return it after each round.
STAGED_METHODS = ("staged_decision_function", "staged_predict", "staged_predict_proba")


def check_types(estimator: Any, meta: Any) -> None:
    """Raise an error if columns of a frame have other types than in the fit.

    Types such as object are not decided here: the values are checked later.

    Parameters
    ----------
    estimator : object
        Fitted estimator, with the same column names.
    meta : object
        The frame without rows. Other collections have one type for all columns.
    """
    if not is_pandas(meta):
        return
    categories = estimator._categories
    for f, (name, dtype) in enumerate(zip(meta.columns, meta.dtypes, strict=True)):
        known = None if categories is None else categories.find(f)
        given = kind_of_type(dtype)
        if known is not None:
            wanted = kind_of_categories(known.categories)
            if given not in (None, wanted) and len(known.categories) > 0:
                raise ValueError(
                    f"X: column {name!r} has categories that are {given} ({dtype}); in "
                    f"fit they were {wanted}, such as "
                    f"{known.categories.tolist()[0]!r}. Convert the column to the type "
                    "it had in fit."
                )
        elif given == "text":
            raise ValueError(
                f"X: column {name!r} is of text ({dtype}); in fit it held numbers. "
                "Convert it to numbers, for example by .astype(float)."
            )


def kind_of_type(dtype: Any) -> str | None:
    """Return the kind of the categories of a column; None if its type is not enough."""
    from dask.dataframe.utils import UNKNOWN_CATEGORIES

    kinds = {"b": "bools", "i": "numbers", "u": "numbers"}
    categories = getattr(dtype, "categories", None)
    if categories is None:
        if str(getattr(dtype, "pyarrow_dtype", dtype)) in TEXT_TYPES:
            return "text"
        # Floats may all be NaN, which is not a category.
        return kinds.get(getattr(dtype, "kind", ""))
    values = list(categories)
    if not values or UNKNOWN_CATEGORIES in values:
        return None
    if all(isinstance(value, str) for value in values):
        return "text"
    return {**kinds, "f": "numbers"}.get(getattr(categories.dtype, "kind", ""))


def lazy_predictions(cls: EstimatorT) -> EstimatorT:
    """Make the prediction methods of the local estimator accept collections."""
    local = cls._local_class  # type: ignore[attr-defined]
    for names, lazy in ((ROW_METHODS, lazy_method), (STAGED_METHODS, lazy_staged)):
        for name in names:
            if hasattr(local, name):
                setattr(cls, name, lazy(getattr(local, name)))
    return cls


def lazy_method(method: Method) -> Method:
    """Return a lazy variant of a method that returns one result per row."""
    has_offset = "offset" in inspect.signature(method).parameters

    @functools.wraps(method)
    def lazy(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not dask.is_dask_collection(X):
            return method(self, X, *args, **kwargs)
        offset = kwargs.pop("offset", None) if has_offset else None
        call = BlockCall(self.to_local(), method.__name__, args, kwargs)
        return by_block(call, X, offset)

    return lazy


def lazy_staged(method: Method) -> Method:
    """Return a lazy variant of a method that yields results after each round."""
    name = method.__name__.removeprefix("staged_")

    @functools.wraps(method)
    def lazy(self: Any, X: Any, *, offset: Any = None) -> Iterator[Any]:
        if not dask.is_dask_collection(X):
            yield from method(self, X, offset=offset)
            return
        for n_rounds in range(1, len(self) + 1):
            first = self.to_local()[:n_rounds]
            yield by_block(BlockCall(first, name), X, offset)

    return lazy


class BlockCall:
    """A method of a fitted estimator, for partitions, which may be empty.

    Parameters
    ----------
    estimator : object
        A copy for this object, which changes its number of threads.
    name : str
    args, kwargs
        Arguments of the method after the rows.
    """

    def __init__(
        self,
        estimator: Any,
        name: str,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        estimator.n_jobs = 1  # a worker runs one task per thread
        self.name = name
        self.args = args
        self.kwargs = kwargs or {}

    def result(self, X: Any, offset: Any = None, *, of_example: bool) -> Any:
        """Return the result for X, or for one row that looks like X."""
        more = {} if offset is None else {"offset": offset}
        if of_example:
            n_columns = getattr(self.estimator, "n_features_in_", 1)
            X, more = example_row(X, self.estimator._categories, n_columns), {}
        return getattr(self.estimator, self.name)(X, *self.args, **self.kwargs, **more)

    def of_part(self, part: Any, number: int, offset: Any = None) -> Any:
        """Return the result for the rows of a partition."""
        is_empty = part.shape[0] == 0  # the estimator rejects X without rows
        with errors_mention(f"partition {number} of X"):
            found = self.result(part, offset, of_example=is_empty)
        of_part = found[0] if isinstance(found, tuple) else found
        return of_part[:0] if is_empty else of_part

    def __call__(self, part: Any, *offset: Any, block_id: tuple[int, ...]) -> Any:
        """Return the result for a chunk of an array; Dask passes its index."""
        return self.of_part(part, block_id[0], *offset)


def by_block(call: BlockCall, X: Any, offset: Any = None) -> Any:
    """Return the lazy result for all partitions; errors about columns are immediate."""
    is_array = hasattr(X, "rechunk")
    if not is_array:
        check_kind(X._meta)
    example = call.result(X, of_example=True)
    # After the example: wrong column names are the more likely mistake.
    check_types(call.estimator, X._meta)
    # Some methods return a tuple: the other entries are the same for all rows.
    example, *same = example if isinstance(example, tuple) else (example,)
    if is_array:
        # A row must be complete in its chunk.
        if X.numblocks[1] != 1:
            X = X.rechunk({1: -1})
        found = X.map_blocks(
            call,
            *offset_arrays(offset, X.chunks[0]),
            dtype=example.dtype,
            drop_axis=[1],
            new_axis=list(range(1, example.ndim)) or None,
            chunks=(X.chunks[0], *((n,) for n in example.shape[1:])),
            meta=example[:0],
        )
    else:
        of_part = dask.delayed(BlockCall.of_part)
        known = dask.delayed(call)  # so that the graph contains the model once
        shape = (np.nan, *example.shape[1:])
        lengths = [np.nan] * X.npartitions
        of_parts = [
            array.to_delayed().ravel() for array in offset_arrays(offset, lengths)
        ]
        blocks = [
            da.from_delayed(
                of_part(known, part, number, *more), shape, meta=example[:0]
            )
            for number, (part, *more) in enumerate(
                zip(X.to_delayed(), *of_parts, strict=True)
            )
        ]
        found = da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)
    return (found, *same) if same else found


def offset_arrays(offset: Any, lengths: Sequence[float]) -> list[da.Array]:
    """Return the offset as a list of one array with two dimensions, or of none.

    `lengths` are those of the partitions of X, NaN if they are unknown.
    """
    if offset is None:
        return []
    array = offset.to_dask_array() if hasattr(offset, "to_dask_array") else offset
    own = array.chunks[0] if isinstance(array, da.Array) else ()
    if len(own) != len(lengths) or any(
        abs(n - length) > 0 for n, length in zip(own, lengths, strict=True)
    ):
        raise ValueError(
            "offset must be a Dask array or series with the partitions of X, which has "
            f"{len(lengths)}; got {offset!r}."
        )
    return [array[:, None] if array.ndim == 1 else array.rechunk({1: -1})]


def example_row(X: Any, categories: Categories | None, n_columns: int) -> Any:
    """Return one row that looks like X, a collection or a partition.

    It contains zeros, and missing values for categorical features. An array of unknown
    width has the expected number of columns.
    """
    features = [] if categories is None else categories.features
    if hasattr(X, "columns"):
        meta = getattr(X, "_meta", X)
        # Complex columns must raise an error. All other types can become floats.
        types = [dtype for dtype in meta.dtypes if getattr(dtype, "kind", "") == "c"]
        zeros = np.zeros((1, len(meta.columns)), np.result_type(np.float64, *types))
        # NaN is a category of no type, so that it fits all.
        zeros[:, [f for f in features if f < len(meta.columns)]] = np.nan
        return type(meta)(zeros, columns=meta.columns)
    if X.ndim == 2 and not np.isnan(X.shape[1]):
        n_columns = X.shape[1]
    if X.ndim == 2 and scipy.sparse.issparse(getattr(X, "_meta", X)):
        return scipy.sparse.csr_array((1, n_columns), dtype=X.dtype)
    width = (n_columns,) if X.ndim == 2 else X.shape[1:]
    dtype = np.dtype(object) if X.dtype.kind in "US" else X.dtype  # zeros, not text
    row: Array = np.zeros((1, *width)).astype(dtype)
    if dtype.kind == "O" and X.ndim == 2:
        row[:, [f for f in features if f < n_columns]] = None
    return row
