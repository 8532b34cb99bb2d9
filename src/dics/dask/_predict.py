"""Predictions of a collection: lazily, partition by partition."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
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
# Methods of the ordinary estimators that say something of each row.
OF_ROWS = (
    "apply",
    "decision_function",
    "decision_path",
    "predict",
    "predict_contributions",
    "predict_log_proba",
    "predict_proba",
    "predict_quantiles",
)
# Those that say it after each round.
STAGED = ("staged_decision_function", "staged_predict", "staged_predict_proba")


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
        # Where columns are named, one of numbers may have been text such as "1.5".
        elif given == "text" and isinstance(estimator.categorical_features, str):
            raise ValueError(
                f"X: column {name!r} is of text ({dtype}); in fit it held numbers. "
                "Give it as numbers again, for example by .astype(float)."
            )


def kind_of_type(dtype: Any) -> str | None:
    """Say what a column holds by its type; None if that does not tell."""
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return _kind_of_categories(categories)
    if str(getattr(dtype, "pyarrow_dtype", dtype)) in TEXT_TYPES:
        return "text"
    # Floats may all be NaN, which is no category of either kind.
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


def lazy_predictions(cls: EstimatorT) -> EstimatorT:
    """Let the methods of the ordinary estimator take collections as well."""
    local = cls._local_class  # type: ignore[attr-defined]
    for names, lazily in ((OF_ROWS, of_rows), (STAGED, staged)):
        for name in names:
            if hasattr(local, name):
                setattr(cls, name, lazily(getattr(local, name)))
    return cls


def of_rows(method: Method) -> Method:
    """Make a method lazy that says something of each row."""

    @functools.wraps(method)
    def lazy(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not dask.is_dask_collection(X):
            return method(self, X, *args, **kwargs)
        return by_block(BlockCall(self.to_local(), method.__name__, args, kwargs), X)

    return lazy


def staged(method: Method) -> Method:
    """Make a method lazy that says something after each round."""
    name = method.__name__.removeprefix("staged_")

    @functools.wraps(method)
    def lazy(self: Any, X: Any) -> Iterator[Any]:
        if not dask.is_dask_collection(X):
            yield from method(self, X)
            return
        for n_rounds in range(1, len(self) + 1):
            yield by_block(BlockCall(first_rounds(self, n_rounds), name), X)

    return lazy


def first_rounds(model: Any, n_rounds: int) -> Any:
    """Return the ordinary model of the first rounds."""
    first = model.to_local()
    first.trees_ = model.trees_.first(n_rounds)
    first.n_iter_ = n_rounds
    return first


class BlockCall:
    """A method of a fitted estimator, for partitions, which may be empty.

    Parameters
    ----------
    estimator : object
        One of its own: the number of its threads is changed.
    name : str
    args, kwargs
        What the method takes beside the rows.
    """

    def __init__(
        self,
        estimator: Any,
        name: str,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        estimator.n_jobs = 1  # a worker has a thread for each task that runs
        self.name = name
        self.args = args
        self.kwargs = kwargs or {}

    def whole(self, part: Any) -> Any:
        """Return all that the method says."""
        method: Method = getattr(self.estimator, self.name)
        return method(part, *self.args, **self.kwargs)

    def example_row(self, X: Any) -> Any:
        """Return one row that looks like X, a collection or a partition."""
        n_columns = getattr(self.estimator, "n_features_in_", 1)
        return example_row(X, self.estimator._categories, n_columns)

    def of_part(self, part: Any, number: int) -> Any:
        """Return what the method says of the rows of a partition."""
        is_empty = part.shape[0] == 0
        with errors_mention(f"partition {number} of X"):
            found = self.whole(self.example_row(part) if is_empty else part)
        of_part = found[0] if isinstance(found, tuple) else found
        return of_part[:0] if is_empty else of_part

    def __call__(self, part: Any, block_id: tuple[int, ...]) -> Any:
        """Do it for a chunk of an array; Dask says which it is."""
        return self.of_part(part, block_id[0])


def by_block(call: BlockCall, X: Any) -> Any:
    """Return what a method says of all partitions; its errors about X come at once."""
    if not hasattr(X, "rechunk"):
        check_kind(X._meta)
    example = call.whole(call.example_row(X))
    check_types(call.estimator, X._meta)
    if isinstance(example, tuple):  # and what is the same for all rows
        return _blocks(call, X, example[0]), *example[1:]
    return _blocks(call, X, example)


def _blocks(call: BlockCall, X: Any, example: Any) -> Any:
    if hasattr(X, "rechunk"):
        if X.numblocks[1] != 1:
            X = X.rechunk({1: -1})
        return X.map_blocks(
            call,
            dtype=example.dtype,
            drop_axis=[1],
            new_axis=list(range(1, example.ndim)) or None,
            chunks=(X.chunks[0], *((n,) for n in example.shape[1:])),
            meta=example[:0],
        )
    of_part = dask.delayed(BlockCall.of_part)
    known = dask.delayed(call)
    blocks = [
        da.from_delayed(
            of_part(known, part, number), (np.nan, *example.shape[1:]), meta=example[:0]
        )
        for number, part in enumerate(X.to_delayed())
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def example_row(X: Any, categories: Categories | None, n_columns: int) -> Any:
    """Return one row that looks like X, a collection or a partition.

    It holds zeros, and no values where categories may be text. An array of unknown
    width has the expected one.
    """
    features = [] if categories is None else categories.features
    if hasattr(X, "columns"):
        meta = getattr(X, "_meta", X)
        # All other types may become numbers.
        types = [dtype for dtype in meta.dtypes if getattr(dtype, "kind", "") == "c"]
        zeros = np.zeros((1, len(meta.columns)), np.result_type(np.float64, *types))
        zeros[:, [f for f in features if f < len(meta.columns)]] = np.nan
        return type(meta)(zeros, columns=meta.columns)
    if X.ndim == 2 and not np.isnan(X.shape[1]):
        n_columns = X.shape[1]
    if X.ndim == 2 and scipy.sparse.issparse(getattr(X, "_meta", X)):
        return scipy.sparse.csr_array((1, n_columns), dtype=X.dtype)
    width = (n_columns,) if X.ndim == 2 else X.shape[1:]
    row: Array = np.zeros((1, *width)).astype(X.dtype)
    if X.dtype == object and X.ndim == 2:
        row[:, [f for f in features if f < n_columns]] = None
    return row
