"""Boosting with sums of 64 bits, for a very large number of rows."""

import numpy as np
import pytest
from checks import digest
from dask_cases import Case, cluster_of

from dics import BoostingOptions, CGBoostingClassifier, CGBoostingRegressor
from dics._boosting import rows

pytestmark = pytest.mark.core


@pytest.fixture
def wide_sums(monkeypatch):
    """Use sums of 64 bits in every fit."""
    usual = rows.boost_settings

    def wide(*args):
        return usual(*args).replace(narrow_rows=0)

    def switch(on):
        monkeypatch.setattr(rows, "boost_settings", wide if on else usual)

    return switch


def boosted(first, n_cases):
    cases = (Case(seed) for seed in range(first, first + n_cases))
    return [case for case in cases if case.name.startswith("CGBoosting")]


@pytest.mark.filterwarnings("ignore")
def test_same_models_of_few_rows(wide_sums):
    for case in boosted(500, 40):
        wide_sums(False)
        narrow = digest(case.fit_here())
        wide_sums(True)
        assert digest(case.fit_here()) == narrow, case


def test_same_models_of_many_classes(wide_sums):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 6)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1], np.linspace(-2, 2, 29))
    found = []
    for on in (False, True):
        wide_sums(on)
        model = CGBoostingClassifier(
            n_estimators=12, advanced=BoostingOptions(sketch_outputs=4), random_state=0
        ).fit(X, y)
        found.append(digest(model))
    assert found[0] == found[1]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_more_bits_if_32_are_too_few(wide_sums, n_threads):
    # Gradients with equal signs and sizes have fewer than 16 bits in sums of 32 bits.
    rng = np.random.default_rng(1)
    X = rng.integers(0, 50, size=(300_000, 3)).astype(np.float32)
    y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0) + 0.02 * (X[:, 0] > 25)
    options = {"sampling": None, "n_estimators": 3, "random_state": 0}
    losses = []
    for on in (False, True):
        wide_sums(on)
        model = CGBoostingRegressor(**options, n_jobs=n_threads).fit(X, y)
        assert model.trees_.feature[0] == 0
        losses.append(-model.train_score_[-1])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_any_n_jobs_and_workers(wide_sums):
    wide_sums(True)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150_000, 4)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    found = {
        digest(
            CGBoostingClassifier(
                n_estimators=4, sampling=None, random_state=0, n_jobs=n
            ).fit(X, y)
        )
        for n in (1, 2, 5)
    }
    assert len(found) == 1
    with cluster_of(2):
        for case in boosted(700, 12):
            assert digest(case.fit_here()) == digest(case.fit_on_cluster()), case
