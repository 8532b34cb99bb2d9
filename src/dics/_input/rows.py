"""Interface of training rows in other processes, and sampled rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics._input.sparse import SparseRows

if TYPE_CHECKING:
    from dics._boosting.rounds import Rounds
    from dics._boosting.rows import BoostCall
    from dics._dictionary import Dictionary
    from dics._growing.sampling import OutOfBag, OutOfBagSums
    from dics._input.categories import Categories
    from dics._input.category_encoder import CategoryMeans
    from dics._model.trees import Trees


Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

# Rows that are rounded at a time, few for an X of many columns.
ROUNDED_ROWS = 256


class RemoteRows(ABC):
    """An X whose rows are in other processes.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        One of those that the core reads in place.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def check(self, estimator: Any, *, reset: bool) -> None:
        """Set or compare the names and the number of an estimator's features."""

    @abstractmethod
    def take(self, rows: npt.NDArray[np.integer[Any]]) -> Array | SparseRows:
        """Bring some rows here, by their numbers; sparse ones stay so."""

    @abstractmethod
    def with_categories(
        self, known: Categories, means: CategoryMeans | None = None
    ) -> RemoteRows:
        """Return the rows with numbers for categories, and with columns of pairs.

        `means` are those of training rows.
        """

    @abstractmethod
    def encoded(
        self,
        dictionary: Dictionary,
        labels: npt.NDArray[np.uint32] | None,
        targets: npt.NDArray[np.float32] | None,
        weights: FloatArray | None,
        n_outputs: int,
    ) -> RemoteCodes:
        """Return the rows as codes, where they are."""

    @abstractmethod
    def out_of_bag_sums(
        self, trees: OutOfBag, left_out: Iterable[npt.NDArray[np.bool_]]
    ) -> OutOfBagSums:
        """Add up what trees say of rows that they have not drawn."""


class RemoteCodes(ABC):
    """Codes of remote rows; labels, targets and weights are local."""

    labels: npt.NDArray[np.uint32] | None
    targets: npt.NDArray[np.float32] | None
    weights: FloatArray | None

    @property
    @abstractmethod
    def weight_unit(self) -> float:
        """What a weight of one is in the core."""

    @abstractmethod
    def total_weight(self) -> float:
        """Return what all rows weigh."""

    @abstractmethod
    def take(self, rows: npt.NDArray[np.intp] | None) -> RemoteCodes:
        """Return some of the rows, or (None) all."""

    @abstractmethod
    def put(self, rows: npt.NDArray[np.intp], taken: RemoteCodes) -> None:
        """Take note of the scores of some rows, which were taken before."""

    @abstractmethod
    def boost(
        self, call: BoostCall, validation: list[Any], rounds: Rounds, n_threads: int
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        """Add rounds; return their trees and the splits that are gone."""


class SampledRows(NamedTuple):
    """An X as the core samples it: all of it, or the rows of given numbers."""

    X: Array | SparseRows
    numbers: npt.NDArray[np.int64] | None
    n_rows: int


def sampled_rows(
    X: Array | SparseRows | RemoteRows,
    needed: Callable[[], list[npt.NDArray[np.int64]]],
) -> SampledRows:
    """Return X for the core, or those of its rows that it will look at.

    Remote rows are brought here. Values of double precision that single precision
    holds as well are looked at in single precision: what is made of values must not
    depend on their type.
    """
    if not isinstance(X, RemoteRows) and X.dtype != np.float64:
        return SampledRows(X, None, len(X))
    numbers = np.unique(np.concatenate(needed()))
    if isinstance(X, RemoteRows):
        some = X.take(numbers)
        single = _in_single(some, np.arange(len(some)))
        return SampledRows(some if single is None else single, numbers, len(X))
    single = _in_single(X, numbers)
    if single is None:
        return SampledRows(X, None, len(X))
    return SampledRows(single, numbers, len(X))


def _in_single(
    X: Array | SparseRows, numbers: npt.NDArray[Any]
) -> Array | SparseRows | None:
    """Return some rows in single precision; None if that doesn't hold their values."""
    if X.dtype != np.float64:
        return None
    with np.errstate(over="ignore"):
        if isinstance(X, SparseRows):
            some = X[numbers]
            rounded = some.astype(np.float32)
            return rounded if _are_equal(some.values, rounded.values) else None
        single = np.empty((len(numbers), X.shape[1]), dtype=np.float32)
        for first in range(0, len(numbers), ROUNDED_ROWS):
            part = slice(first, first + ROUNDED_ROWS)
            rows = X[numbers[part]]
            single[part] = rows
            if not _are_equal(rows, single[part]):
                return None
    return single


def _are_equal(double: Array, single: Array) -> bool:
    return bool(((double == single) | np.isnan(double)).all())
