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


def test_forest_of_few_rows(client):
    """Too few rows for trials are not sent to the client."""
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    settings = {"n_estimators": 3, "random_state": 0}
    forest = DaskCGForestClassifier(**settings)
    forest.fit(da.from_array(X, chunks=(2, -1)), da.from_array(y, chunks=2))
    same_bytes(forest, dics.CGForestClassifier(**settings).fit(X, y))


@pytest.mark.parametrize("name", ["CGForestClassifier", "CGForestRegressor"])
def test_trials_of_forests(client, name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 8))
    y = X[:, 0] * X[:, 1] + rng.normal(size=1500) / 4
    y = (y > 0).astype(int) if "Classifier" in name else y
    weights = rng.integers(0, 3, 1500).astype(float)
    settings = {"n_estimators": 3, "random_state": 0}
    expected = getattr(dics, name)(**settings).fit(X, y, weights)
    forest = getattr(dics.dask, f"Dask{name}")(**settings)
    parts = [da.from_array(a, chunks=(400, *a.shape[1:])) for a in (X, y, weights)]
    forest.fit(*parts)
    assert forest.plan_ == expected.plan_
    assert forest.plan_.max_features > 2  # that of the trials, not the default
    same_bytes(forest, expected)
