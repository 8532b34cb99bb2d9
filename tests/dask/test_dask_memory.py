"""Data several times as large as the memory of the workers."""

import os

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
from checks import file_bytes, same_bytes
from dask_cases import cluster_of

import dics
import dics.dask

N_ROWS, N_COLUMNS, PART_ROWS = 1_000_000, 200, 10_000
LIMIT = 530 * 10**6
# The core copies the bin indices of the features that a round samples.
PARAMETERS = {
    "n_estimators": 3,
    "max_leaf_nodes": 8,
    "max_features": 0.1,
    "random_state": 0,
}
BY_TREE = dics.ForestOptions(feature_sampling="tree")
NOTHING_ON_DISK = {f"distributed.worker.memory.{n}": False for n in ("target", "spill")}


def bytes_of_part(number):
    """Return the rows of a partition as bytes."""
    rng = np.random.default_rng(number)
    return rng.integers(0, 256, size=(PART_ROWS, N_COLUMNS), dtype=np.uint8)


def numbers_of_part(block_info=None):
    number, _ = block_info[None]["chunk-location"]
    return bytes_of_part(number).astype(np.float64)


BY_TREE = dics.ForestOptions(feature_sampling="tree")


def small_limits():
    """Allow limits below the memory of Python itself."""
    names = ("target", "spill", "pause", "terminate")
    return dask.config.set({f"distributed.worker.memory.{n}": False for n in names})


@pytest.mark.quick(4)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("CGForestClassifier", {"class_weight": "balanced_subsample"}),
        ("CGForestClassifier", {"advanced": BY_TREE, "oob_score": True}),
        ("CGForestRegressor", {"min_samples_leaf": 0.01}),
        ("CGForestRegressor", {"criterion": "poisson", "max_features": None}),
    ],
)
def test_forest_with_codes_larger_than_a_worker(name, parameters, weighted):
    """Its trees sample a twentieth of the rows, and only these are gathered."""
    limit, shape = 2**20, (8_000, 150)
    assert np.prod(shape) > limit
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape).astype(np.float32)
    y = np.abs(X[:, 0] + X[:, 1] * X[:, 2])
    y = np.digitize(y, [1, 2]) if "Classifier" in name else y
    weights = rng.integers(0, 3, len(y)) + 0.5 * (y > 1) if weighted else None
    own = {"n_estimators": 7, "max_samples": 0.05, "random_state": 0, **parameters}
    local = getattr(dics, name)(**own).fit(X, y, weights)
    with small_limits(), cluster_of(3, memory_limit=limit) as client:
        model = getattr(dics.dask, f"Dask{name}")(client=client, **own)
        model.fit(da.from_array(X, chunks=(900, -1)), y, weights)
    same_bytes(model.to_local(), local)
    if "Regressor" in name:
        np.testing.assert_array_equal(model._leaf_rows.rows, local._leaf_rows.rows)
    if "oob_score" in parameters:
        assert model.oob_score_ == local.oob_score_


@pytest.mark.slow
def test_forest_with_a_table_larger_than_a_worker():
    n_workers, limit, n_parts = 6, 600 * 10**6, 310
    assert n_parts * PART_ROWS * N_COLUMNS > limit
    X = da.map_blocks(
        numbers_of_part,
        chunks=((PART_ROWS,) * n_parts, (N_COLUMNS,)),
        dtype=np.float64,
        meta=np.empty((0, 0)),
    )
    here = np.concatenate([bytes_of_part(number) for number in range(n_parts)])
    y = here[:, 0] > here[:, 1]
    own = {"n_estimators": 8, "max_samples": 0.05, "max_depth": 6, "random_state": 0}
    with (
        dask.config.set(NOTHING_ON_DISK),
        cluster_of(n_workers, processes=True, memory_limit=limit) as client,
    ):
        processes = client.run(os.getpid)
        model = dics.dask.DaskCGForestClassifier(client=client, **own).fit(X, y)
        assert client.run(os.getpid) == processes  # Dask killed no worker
    local = dics.CGForestClassifier(**own).fit(here, y)
    same_bytes(model.to_local(), local)


@pytest.mark.slow
def test_rows_three_times_the_memory():
    """Only one copy of the bin indices is stored."""
    n_parts = N_ROWS // PART_ROWS
    X = da.map_blocks(
        numbers_of_part,
        chunks=((PART_ROWS,) * n_parts, (N_COLUMNS,)),
        dtype=np.float64,
        meta=np.empty((0, 0)),
    )
    assert X.nbytes >= 3 * LIMIT
    # With the imported modules, two copies of the bin indices do not fit.
    assert 2 * N_ROWS * N_COLUMNS + 130 * 10**6 >= LIMIT
    here = np.concatenate([bytes_of_part(number) for number in range(n_parts)])
    y = here[:, 0] > here[:, 1]
    with (
        dask.config.set(NOTHING_ON_DISK),
        cluster_of(1, processes=True, memory_limit=LIMIT) as client,
    ):
        processes = client.run(os.getpid)
        model = dics.dask.DaskCGBoostingClassifier(client=client, **PARAMETERS)
        model.fit(X, y)
        assert client.run(os.getpid) == processes  # Dask killed no worker
    local = dics.CGBoostingClassifier(**PARAMETERS).fit(here, y)
    assert file_bytes(model) == file_bytes(local)
