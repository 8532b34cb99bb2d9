"""Mean targets of levels without a fold of the rows, for rows of that fold.

Training rows of columns of many levels have the means of the rows of other folds. Where
the rows are elsewhere, these tables and the folds of the rows go there, not the means
of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.checks import Array, FloatArray
from dics._input.frames import LevelColumn, places_of

if TYPE_CHECKING:
    from dics._input.categories import CategoryColumn


Key = tuple[int, ...]  # the feature of a column, or the two of a pair
Folds = npt.NDArray[np.uint8]


class FoldTable(NamedTuple):
    """What stands for the levels of a column, or for pairs of levels.

    Attributes
    ----------
    levels : ndarray
        Sorted; of a pair, the keys of `joined_keys`.
    means : ndarray of shape (n_levels + 1, n_folds)
        NaN where other folds have no such level, and in the last row: of no level.
    """

    levels: Array
    means: FloatArray

    def without_rare(self) -> FoldTable:
        """Leave out levels of one fold, whose rows have NaN anyway.

        Of pairs, which are many, most are such.
        """
        kept = np.flatnonzero(np.isfinite(self.means).all(axis=1))
        means = np.concatenate([self.means[kept], self.means[-1:]])
        return FoldTable(self.levels[kept], means)

    def numbers_of(self, column: LevelColumn, folds: Folds) -> FloatArray:
        """Return what stands for rows by their level and fold."""
        found: FloatArray = self.means[places_of(self.levels, column), folds]
        return found


class LevelMeans:
    """What stands for the levels of training rows, or of some of them.

    Of columns whose numbers are mean targets, and of pairs.

    Parameters
    ----------
    levels : dict of ndarray
        The levels of all rows, by feature.
    tables : dict of FoldTable
    folds : ndarray of shape (n_tables, n_rows)
        The fold of each row, drawn for each table.
    """

    def __init__(
        self, levels: dict[int, Array], tables: dict[Key, FoldTable], folds: Folds
    ) -> None:
        self.levels = levels
        self.tables = tables
        self.folds = folds

    def with_folds(self, folds: Folds) -> LevelMeans:
        """Return the same for other rows."""
        return LevelMeans(self.levels, self.tables, folds)

    def as_of_all(self, columns: Mapping[int, LevelColumn]) -> dict[int, LevelColumn]:
        """Return columns of some rows with the numbers that levels have in all rows."""
        return {
            f: LevelColumn(self.levels[f], places_of(self.levels[f], column))
            for f, column in columns.items()
        }

    def numbers(self, known: CategoryColumn, column: LevelColumn) -> FloatArray:
        """Return what stands for the rows of a column, as `Outcomes` does."""
        if known.is_ranked:
            return known.numbers_of(column, known.feature)
        return self.taken((known.feature,), lambda: column)

    def taken(self, key: Key, column: Callable[[], LevelColumn]) -> FloatArray:
        """Return the means of a column or a pair, as `Outcomes` does."""
        folds = self.folds[list(self.tables).index(key)]
        return self.tables[key].numbers_of(column(), folds)
