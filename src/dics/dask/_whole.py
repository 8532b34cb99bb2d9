"""Trees that are grown by one worker alone, from rows of the whole cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import numpy.typing as npt
from distributed import Future, get_worker, worker_client

from dics._candidates_base import TrainingData
from dics._rows_elsewhere import EncodedRows
from dics._sparse_rows import SparseRows, joined_matrices
from dics._validation import Array
from dics.dask._parts import threads_of_worker
from dics.dask._reports import Reporting
from dics.dask._watch import pause
from dics.dask._worker import ends_unwanted
from dics.trees import Trees


def grow_arrays(
    forest: Any,
    data: TrainingData,
    codes: list[npt.NDArray[np.uint8]],
    n_draws: int,
    trees: range,
    topic: str | None,
) -> dict[str, Any]:
    """Grow some trees of a forest; `codes` are those of the partitions of X.

    How far it is is reported under `topic`, unless that is None.
    """
    columns = np.concatenate([part[:, :, 0] for part in codes], axis=1)
    rows: Any = EncodedRows(columns)
    own = data._replace(X=rows, n_threads=threads_of_worker())
    progress = Reporting(topic, trees.start)
    with ends_unwanted():
        arrays: dict[str, Any] = forest._grow_arrays(own, n_draws, trees, progress)
    return arrays


def call_with_rows(pickled: bytes) -> Trees:
    """Call a method of a tree with all rows, which are brought to this worker."""
    tree, method, data, arguments, shape, dtype, parts = cloudpickle.loads(pickled)
    with ends_unwanted() as check, Gathered(shape, dtype) as gathered:
        with worker_client() as client:
            gathered.fill(client.compute(parts), check)
        own = data._replace(X=gathered.rows(), n_threads=threads_of_worker())
        trees: Trees = getattr(tree, method)(own, *arguments)
    return trees


class Gathered:
    """Partitions that are brought together: dense ones on the disk of the worker.

    The system keeps in memory what there is room for. Sparse ones are small, and stay
    in memory and as they are, unless others are dense.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self._shape = shape
        self._dtype = dtype
        self._sparse: dict[int, SparseRows] = {}  # by the number of the first row
        self._path: Path | None = None
        self._array: Array | None = None

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, *error: object) -> None:
        self._array = None
        if self._path is not None:
            self._path.unlink()

    def fill(self, parts: list[Future], check: Callable[[], None]) -> None:
        """Take one partition after the other, and let it go.

        `check` is called now and then; what it raises ends this.
        """
        first = 0
        for i in range(len(parts)):
            while not parts[i].done():
                check()
                pause([parts[i]])
            matrix = parts[i].result()
            parts[i] = None
            if isinstance(matrix, SparseRows):
                self._sparse[first] = matrix
            elif len(matrix) > 0:
                self._on_disk()[first : first + len(matrix)] = matrix
            first += len(matrix)

    def rows(self) -> Array | SparseRows:
        """Return all rows."""
        if self._array is None:
            return joined_matrices(list(self._sparse.values()))
        for first, matrix in self._sparse.items():
            self._array[first : first + len(matrix)] = matrix.to_dense()
        return np.asarray(self._array)

    def _on_disk(self) -> Array:
        if self._array is None:
            file, path = tempfile.mkstemp(
                prefix="dics-rows-", dir=get_worker().local_directory
            )
            os.close(file)
            self._path = Path(path)
            self._array = np.memmap(
                self._path, dtype=self._dtype, mode="w+", shape=self._shape
            )
        return self._array
