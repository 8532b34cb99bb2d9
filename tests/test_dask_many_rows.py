"""More rows in all than one place can have: fits with a limit that is easily met."""

import pytest

pytest.importorskip("distributed")

import dask.array as da
import numpy as np
from checks import digest
from dask_cases import cluster_of

from dics import dask as on_dask
from dics._validation import MAX_COUNT, MAX_TOTAL
from dics.dask._collection import Collection
from dics.dask._row_limits import check_boosting
from dics.dask._rows import ClusterRows, Whole

N_ROWS = 1200
LIMIT = 1100  # none of several workers has more rows
N_TREES = 3


@pytest.fixture(scope="module")
def client():
    with cluster_of(4) as client:
        yield client


@pytest.fixture
def limit(monkeypatch):
    """Let one place have so many rows; workers are threads of this process."""

    def set_limit(n_rows):
        for module in (
            "_grow_call",
            "_joined_trees",
            "_tree_tops",
            "dask._estimators",
            "dask._row_limits",
            "dask._tops",
        ):
            monkeypatch.setattr(f"dics.{module}.MAX_COUNT", n_rows)
        monkeypatch.setattr("dics.dask._tops.LEAST_APART", 5)

    return set_limit


def make_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    # A leaf of most rows.
    X[:, 3] = rng.random(N_ROWS) < 0.05
    score = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + rng.normal(size=N_ROWS)
    return X, score + 20 * X[:, 3]


X, SCORE = make_rows()
GIVEN = da.from_array(X, chunks=(100, 4))


def y_of(name):
    return np.digitize(SCORE, [-0.5, 0.5]) if "Classifier" in name else SCORE


TREES = ["CGTreeClassifier", "CGTreeRegressor", "CGForestClassifier"]
TREES.append("CGForestRegressor")


def fits(name, client, **parameters):
    """Return models of the cluster and of this process."""
    model = getattr(on_dask, "Dask" + name)(**parameters, client=client)
    local = {k: v for k, v in parameters.items() if k not in ("layout", "client")}
    expected = model._local_class(**local).fit(X, y_of(name))
    return model.fit(GIVEN, y_of(name)).to_local(), expected


def parameters_of(name):
    chosen = {"random_state": 0, "min_samples_leaf": 3}
    if "Forest" in name:
        chosen["n_estimators"] = N_TREES
    else:
        chosen["renew_thresholds"] = False
    return chosen


@pytest.mark.parametrize("layout", ["auto", "rows"])
@pytest.mark.parametrize("name", TREES)
def test_trees_of_more_rows_than_one_place_can_have(name, layout, client, limit):
    limit(LIMIT)
    model, expected = fits(name, client, **parameters_of(name), layout=layout)
    assert digest(model) == digest(expected)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_leaves_of_more_rows_than_one_place_can_have(
    bootstrap, is_weighted, client, limit
):
    limit(LIMIT)
    parameters = {**parameters_of("CGForestClassifier"), "max_depth": 1}
    parameters.update(bootstrap=bootstrap, max_features=None, criterion="entropy")
    weights = np.random.default_rng(1).uniform(1, 4, N_ROWS) if is_weighted else None
    y = (SCORE > 10) + (SCORE > 19)
    model = on_dask.DaskCGForestClassifier(**parameters, client=client)
    model.fit(GIVEN, y, weights)
    expected = model._local_class(**parameters).fit(X, y, weights)
    if not bootstrap:
        assert expected.trees_.n_samples[1:3].max() > LIMIT
    for name in ("feature", "threshold", "n_samples"):
        found = getattr(model.trees_, name)
        np.testing.assert_array_equal(found, getattr(expected.trees_, name))
    for name in ("weight", "impurity", "leaf_values"):
        found = getattr(model.trees_, name)
        np.testing.assert_allclose(found, getattr(expected.trees_, name), rtol=1e-6)


def test_boosting_of_more_rows_than_one_place_can_have(client, limit):
    limit(LIMIT)
    model, expected = fits("FastCGBMClassifier", client, n_estimators=3, random_state=0)
    assert digest(model) == digest(expected)


@pytest.mark.parametrize("name", TREES)
def test_what_needs_all_rows_in_one_place_is_refused(name, client, limit):
    limit(LIMIT)
    refused = [({"layout": "whole"}, "layout='whole' brings all rows together")]
    refused.append(({"max_leaf_nodes": 5}, "max_leaf_nodes=5 needs all of them"))
    for parameters, message in refused:
        with pytest.raises(ValueError, match=message):
            fits(name, client, **{**parameters_of(name), **parameters})
    if "Forest" in name:  # rows are few, and draws many
        limit(N_ROWS)
        parameters = {**parameters_of(name), "max_samples": N_ROWS + 1}
        with pytest.raises(ValueError, match="layout='whole' brings all rows"):
            fits(name, client, **parameters, layout="whole")


@pytest.mark.parametrize("name", ["FastCGBMRegressor", "CGForestClassifier"])
def test_too_many_rows_of_a_worker_are_refused(name, limit):
    limit(LIMIT)
    message = f"has {N_ROWS} rows; at most {LIMIT} are supported on one worker"
    with cluster_of(1) as alone, pytest.raises(ValueError, match=message):
        fits(name, alone, n_estimators=2, random_state=0)


def test_thresholds_that_need_too_many_rows_are_refused(client, limit):
    limit(70)  # a sixteenth of them is more
    with pytest.raises(ValueError, match="set renew_thresholds=False"):
        fits("CGTreeRegressor", client, renew_thresholds=True, layout="rows")


def test_leaves_of_numbers_that_need_too_many_rows_are_refused(client, limit):
    limit(LIMIT)
    parameters = {"renew_thresholds": False, "max_depth": 1, "layout": "rows"}
    with pytest.raises(ValueError, match=r"a leaf of a tree has \d+ rows"):
        fits("CGTreeRegressor", client, **parameters)


def test_too_many_rows_of_all_are_refused(client):
    watch = on_dask._estimators.Watch(client)
    n_parts = 2**7
    far = da.zeros((MAX_TOTAL + 1, 2), chunks=(-(-(MAX_TOTAL + 1) // n_parts), 2))
    with pytest.raises(ValueError, match=f"at most {MAX_TOTAL} are supported"):
        Collection(watch, far).rows([])


def test_very_large_leaves_of_boosting_are_refused():
    check_boosting(2**31 - 1, 2**30)
    check_boosting(2**36, 2**22)
    with pytest.raises(ValueError, match="min_samples_leaf=4194305 is not supported"):
        check_boosting(2**31, 2**22 + 1)


def test_rows_are_numbered_in_64_bits():
    starts = np.array([0, 2**31, 2**33, MAX_TOTAL])
    whole = Whole(starts, 2, np.dtype(np.float32))
    rows = np.array([5, 2**31 + 1, 2**33 - 1, 2**35])
    assert whole.numbers(rows, 1)[1].tolist() == [1, 2**33 - 1 - 2**31]
    assert ClusterRows(none_watch(), None, [], whole).shape == (MAX_TOTAL, 2)
    assert MAX_COUNT < MAX_TOTAL


def none_watch():
    return type("Watch", (), {"client": None})()
