"""Models from a cluster and from one machine are bit-identical."""

from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

import dask.array as da
import numpy as np
from checks import same_bytes
from dask_cases import cluster_of, differing, random_cases

import dics
from dics.dask import DaskCGForestClassifier
from dics.dask._boosting import Ranks


@pytest.mark.parametrize(
    ("n_workers", "seeds"), random_cases((1, 3), (1, 2, 3, 4, 5), 42)
)
def test_same_model_files_as_on_one_machine(n_workers, seeds):
    with cluster_of(n_workers):
        assert differing(seeds) == []


@pytest.mark.parametrize("max_samples", [None, 0.1])
def test_forest_of_rare_features(client, max_samples):
    """Nodes sample thresholds by the same rule for local and remote rows."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.02, (300, 2200)).astype(np.float32)
    X[:, :3] += rng.integers(0, 9, (300, 3))
    y = (X[:, 0] > 3) + 2 * (X[:, 1] > rng.integers(0, 9, 300))
    settings = {"n_estimators": 3, "max_samples": max_samples, "random_state": 0}
    expected = dics.CGForestClassifier(**settings).fit(X, y)
    forest = DaskCGForestClassifier(**settings)
    forest.fit(da.from_array(X, chunks=(70, -1)), da.from_array(y, chunks=70))
    same_bytes(forest, expected)


def test_workers_with_replicas_only_are_not_ranks():
    watch = SimpleNamespace(client=None)
    codes = [SimpleNamespace(key=key) for key in "abc"]
    holders = {"a": ["two", "one"], "b": ["one"], "c": ["one", "three"]}
    placement = Ranks(watch, [codes])._placement(holders)
    assert placement == (["one", "three"], [[[0, 1], [2]]])
