"""The X of a fit as a Dask collection, before any partition is computed."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import dask
import numpy as np
import scipy.sparse

from dics._input.checks import IN_PLACE, Array, check_matrix, check_row_count
from dics._input.frames import (
    CategoricalColumn,
    category_indices,
    check_kind,
    column_names,
    kind_of_categories,
    resolve_categorical_features,
)
from dics.dask._partitions import (
    PartitionInfo,
    PartitionShape,
    categories_of,
    inspect_partition,
    number_type,
    partition_shape,
)
from dics.dask._predict import example_row
from dics.dask._rows import ClusterRows, Whole, check_columns
from dics.dask._watch import Watch


class CategoricalColumns(Mapping[int, CategoricalColumn]):
    """Categorical columns by feature, each stored in the smallest integer type.

    Parameters
    ----------
    columns : dict of CategoricalColumn
        Whose numbers are of any type.
    """

    def __init__(self, columns: dict[int, CategoricalColumn]) -> None:
        self._columns = columns

    def __getitem__(self, feature: int) -> CategoricalColumn:
        # At each access: a fit reads one column at a time, and 64 bits for the rows of
        # all columns could exceed the memory of the client.
        categories, numbers = self._columns[feature]
        return CategoricalColumn(categories, numbers.astype(np.int64))

    def __iter__(self) -> Iterator[int]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def united(name: Any, parts: list[CategoricalColumn | None]) -> CategoricalColumn:
    """Join the columns of the partitions, which are None for those without rows."""
    known = {i: column for i, column in enumerate(parts) if column is not None}
    filled = {
        i: column.categories for i, column in known.items() if len(column.categories)
    }
    _check_kinds(name, filled)
    categories: Array = np.empty(0, dtype=object)
    if filled:
        dtype = next(iter(filled.values())).dtype
        # With NumPy's own object for the type, as where the rows are here.
        categories = np.unique(np.concatenate([*filled.values()]).astype(dtype.type))
    numbers = [
        category_indices(categories, column).astype(number_type(categories))
        for column in known.values()
    ]
    return CategoricalColumn(categories, np.concatenate(numbers))


def _check_kinds(name: Any, categories: dict[int, Array]) -> None:
    """Raise if categories are text in one partition and numbers in another."""
    kinds: dict[str, int] = {}
    for i, of_part in categories.items():
        kinds.setdefault(kind_of_categories(of_part), i)
    if len(kinds) > 1:
        found = ", ".join(
            f"{kind} in partition {i}, such as {categories[i].tolist()[0]!r}"
            for kind, i in kinds.items()
        )
        raise ValueError(
            f"X: column {name!r} has categories that are {found}; the categories of a "
            "feature are all text, all numbers or all bools. Convert the column, for "
            "example by .astype(str)."
        )


class Collection:
    """A Dask collection before it is computed.

    Parameters
    ----------
    watch : Watch
        Monitor of the workers.
    X : dask array or dataframe
    """

    def __init__(self, watch: Watch, X: Any) -> None:
        self.watch = watch
        self.X = X
        self._parts = delayed_parts(X)
        self._is_array = hasattr(X, "rechunk")

    @functools.cached_property  # it may have to compute a partition
    def example(self) -> Any:
        """An X without rows that has the names and types of the columns."""
        if not self._is_array:
            return self.X._meta
        n_columns = self.X.shape[1]
        if np.isnan(n_columns):  # Dask does not know it before a partition is computed
            shape = dask.delayed(np.shape)(self._parts[0])
            n_columns = self.watch.computed([shape])[0][1]
        return np.empty((0, int(n_columns)), dtype=self.X.dtype)

    def check(self, estimator: Any, *, reset: bool) -> None:
        """Set or compare the names and the number of an estimator's features."""
        check_columns(estimator, self.example, self.example.shape[1], reset=reset)

    def check_types(self, estimator: Any, *, reset: bool) -> None:
        """Check the types and the number of the columns, as `fit` does.

        A row of zeros replaces all rows, so nothing is computed.
        """
        check_kind(self.example)
        row = example_row(self.example, None, self.example.shape[1])
        if self._is_array and row.shape[1] == 0:  # errors show the shape
            row = np.empty(np.nan_to_num(self.X.shape, nan=1).astype(int))
        check_matrix(estimator, row, reset=reset)
        if reset:
            self.named_features(estimator.categorical_features)

    def named_features(self, wanted: Any) -> list[int]:
        """Return the categorical features by their types or by `wanted`."""
        is_sparse = scipy.sparse.issparse(self.X._meta)
        return resolve_categorical_features(
            wanted, self.X._meta if is_sparse else self.example
        )

    def rows(self, features: list[int]) -> ClusterRows:
        """Return the rows, without the categories of categorical features."""
        check_kind(self.example)
        shapes = self._known_shapes(features) or self.watch.computed(
            [
                dask.delayed(partition_shape)(part, i, features)
                for i, part in enumerate(self._parts)
            ]
        )
        return self._rows_of(shapes)

    def read(self, wanted: Any) -> ClusterRows:
        """Find the categorical features, and gather the categories of all rows.

        `wanted` is `categorical_features` of an estimator.
        """
        check_kind(self.example)
        features = self.named_features(wanted)
        # Columns of objects may hold categories that their type does not show.
        may_hold_more = not self._is_array or self.X.dtype == object
        finds = isinstance(wanted, str) and may_hold_more
        if not features and not finds:
            return self.rows([])
        looks: list[PartitionInfo] = self.watch.computed(
            [
                dask.delayed(inspect_partition)(part, i, features, finds=finds)
                for i, part in enumerate(self._parts)
            ]
        )
        rows = self._rows_of([look.shape for look in looks])
        found = sorted({*features, *(f for look in looks for f in look.columns)})
        names = column_names(self.example) or range(rows.shape[1])
        return rows.read(self._united(looks, {f: names[f] for f in found}))

    def _united(
        self, looks: list[PartitionInfo], names: dict[int, Any]
    ) -> CategoricalColumns:
        """Join the columns of all partitions."""
        # A column of objects may show its text in some of the partitions only.
        tasks = {}
        for i, look in enumerate(looks):
            missing = [f for f in names if f not in look.columns]
            if missing and look.shape.n_rows > 0:
                part = self._parts[i]
                tasks[i] = dask.delayed(categories_of)(part, i, missing)
        for i, read in zip(tasks, self.watch.computed([*tasks.values()]), strict=True):
            looks[i].columns.update(read)
        return CategoricalColumns(
            {
                f: united(name, [look.columns.pop(f, None) for look in looks])
                for f, name in names.items()
            }
        )

    def _rows_of(self, shapes: list[PartitionShape]) -> ClusterRows:
        whole = Whole.of(shapes)
        if whole.starts[-1] == 0:
            raise ValueError("X has no rows.")
        check_row_count(int(whole.starts[-1]))
        return ClusterRows.of(self.watch, self.example, self._parts, whole)

    def _known_shapes(self, features: list[int]) -> list[PartitionShape]:
        """Return the shapes of the partitions, if they are known without any work."""
        X = self.X
        if not self._is_array or X.dtype not in IN_PLACE:
            return []
        # The number of stored values of a sparse partition decides if it is kept.
        if scipy.sparse.issparse(X._meta):
            return []
        # The numbers that replace categories do not fit into a byte.
        if features and X.dtype == np.uint8:
            return []
        if np.isnan(np.array(X.shape, dtype=float)).any():
            return []
        return [PartitionShape(n, X.shape[1], X.dtype) for n in X.chunks[0]]


def delayed_parts(X: Any) -> list[Any]:
    """Return the partitions of a collection, each with all columns."""
    if hasattr(X, "rechunk"):
        if X.numblocks[1] != 1:  # the core needs whole rows
            X = X.rechunk({1: -1})
        return list(X.to_delayed()[:, 0])
    return list(X.to_delayed())
