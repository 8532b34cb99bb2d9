"""Trees that are grown by one worker alone, from rows of the whole cluster."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import numpy.typing as npt
from distributed import Future, get_worker, worker_client

from dics._candidates_base import TrainingData
from dics._rows_elsewhere import EncodedRows
from dics._validation import Array
from dics.dask._parts import threads_of_worker
from dics.dask._reports import Reporting
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
    arrays: dict[str, Any] = forest._grow_arrays(own, n_draws, trees, progress)
    return arrays


def call_with_rows(pickled: bytes) -> Trees:
    """Call a method of a tree with all rows, which are brought to this worker."""
    tree, method, data, arguments, shape, dtype, parts = cloudpickle.loads(pickled)
    with Gathered(shape, dtype) as gathered:
        with worker_client() as client:
            gathered.fill(client.compute(parts))
        own = data._replace(X=np.asarray(gathered.X), n_threads=threads_of_worker())
        trees: Trees = getattr(tree, method)(own, *arguments)
    return trees


class Gathered:
    """An array that partitions are brought together in, on the disk of the worker.

    The system keeps in memory what there is room for.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        file, path = tempfile.mkstemp(
            prefix="dics-rows-", dir=get_worker().local_directory
        )
        os.close(file)
        self._path = Path(path)
        self.X: Array = np.memmap(self._path, dtype=dtype, mode="w+", shape=shape)

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, *error: object) -> None:
        del self.X
        self._path.unlink()

    def fill(self, parts: list[Future]) -> None:
        """Write one partition after the other, and let it go."""
        first = 0
        for i in range(len(parts)):
            matrix = parts[i].result()
            parts[i] = None
            self.X[first : first + len(matrix)] = matrix
            first += len(matrix)
