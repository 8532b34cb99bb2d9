"""Rows that take several times the memory of the workers."""

import os

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
from checks import file_bytes
from dask_cases import cluster_of

import dics
import dics.dask

N_ROWS, N_COLUMNS, PART_ROWS = 1_000_000, 200, 10_000
LIMIT = 530 * 10**6
# The core lays out the codes of the features that a round draws once more.
PARAMETERS = {
    "n_estimators": 3,
    "max_leaf_nodes": 8,
    "max_features": 0.1,
    "random_state": 0,
}
NOTHING_ON_DISK = {f"distributed.worker.memory.{n}": False for n in ("target", "spill")}


def bytes_of_part(number):
    """Rows of a partition, as whole numbers that a byte holds."""
    rng = np.random.default_rng(number)
    return rng.integers(0, 256, size=(PART_ROWS, N_COLUMNS), dtype=np.uint8)


def numbers_of_part(block_info=None):
    number, _ = block_info[None]["chunk-location"]
    return bytes_of_part(number).astype(np.float64)


@pytest.mark.slow
def test_rows_three_times_the_memory():
    """Only their codes are kept, and once."""
    n_parts = N_ROWS // PART_ROWS
    X = da.map_blocks(
        numbers_of_part,
        chunks=((PART_ROWS,) * n_parts, (N_COLUMNS,)),
        dtype=np.float64,
        meta=np.empty((0, 0)),
    )
    assert X.nbytes >= 3 * LIMIT
    # With what is imported there is no room for the codes twice.
    assert 2 * N_ROWS * N_COLUMNS + 130 * 10**6 >= LIMIT
    here = np.concatenate([bytes_of_part(number) for number in range(n_parts)])
    y = here[:, 0] > here[:, 1]
    with (
        dask.config.set(NOTHING_ON_DISK),
        cluster_of(1, processes=True, memory_limit=LIMIT) as client,
    ):
        processes = client.run(os.getpid)
        model = dics.dask.DaskFastCGBMClassifier(client=client, **PARAMETERS)
        model.fit(X, y)
        assert client.run(os.getpid) == processes  # none was ended for its memory
    local = dics.FastCGBMClassifier(**PARAMETERS).fit(here, y)
    assert file_bytes(model) == file_bytes(local)
