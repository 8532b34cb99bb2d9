"""Levels of all rows of a collection, brought together on the client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dics._categories import ReadX
from dics._category_columns import LevelColumn, kind_of, places_of
from dics._validation import Array
from dics.dask._part_levels import number_type
from dics.dask._rows import ClusterRows


class LevelColumns(Mapping[int, LevelColumn]):
    """Columns of categories by feature, each kept in as few bytes as will do.

    Parameters
    ----------
    columns : dict of LevelColumn
        Whose numbers are of any type.
    """

    def __init__(self, columns: dict[int, LevelColumn]) -> None:
        self._columns = columns

    def __getitem__(self, feature: int) -> LevelColumn:
        levels, numbers = self._columns[feature]
        return LevelColumn(levels, numbers.astype(np.int64))

    def __iter__(self) -> Iterator[int]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class ReadCollection(ReadX):
    """What `ReadX` is to an X that is here.

    Parameters
    ----------
    columns : LevelColumns
    names : dict
        Of these columns, by feature.
    rows : ClusterRows
    """

    def __init__(
        self, columns: LevelColumns, names: dict[int, Any], rows: ClusterRows
    ) -> None:
        self.columns = columns
        self.names = names
        self.numbers = rows


def united(name: Any, parts: list[LevelColumn | None]) -> LevelColumn:
    """Put together a column of all partitions; None for those without rows."""
    known = {i: column for i, column in enumerate(parts) if column is not None}
    filled = {i: column.levels for i, column in known.items() if len(column.levels)}
    _check_kinds(name, filled)
    levels: Array = np.empty(0, dtype=object)
    if filled:
        dtype = next(iter(filled.values())).dtype
        # With NumPy's own object for the type, as where the rows are here.
        levels = np.unique(np.concatenate([*filled.values()]).astype(dtype.type))
    numbers = [
        places_of(levels, column).astype(number_type(levels))
        for column in known.values()
    ]
    return LevelColumn(levels, np.concatenate(numbers))


def _check_kinds(name: Any, levels: dict[int, Array]) -> None:
    """Refuse levels that are text in one partition and numbers in another."""
    kinds: dict[str, int] = {}
    for i, of_part in levels.items():
        kinds.setdefault(kind_of(of_part), i)
    if len(kinds) > 1:
        found = ", ".join(
            f"{kind} in partition {i}, such as {levels[i].tolist()[0]!r}"
            for kind, i in kinds.items()
        )
        raise ValueError(
            f"X: column {name!r} has levels that are {found}; the levels of a category "
            "are all text, all numbers or all bools. Convert the column, for example "
            "by .astype(str)."
        )
