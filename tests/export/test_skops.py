"""Models in files of skops."""

import numpy as np
import pytest
from export_models import (
    CATEGORICAL,
    CATEGORY_ROWS,
    HOUR,
    MODELS,
    TREE,
    WIDE,
    X,
    Y,
    fitted,
    fitted_categorical,
    fitted_wide,
)
from sklearn.base import clone

import dics
from dics.export import SKOPS_TRUSTED

skops = pytest.importorskip("skops.io")


def again(model):
    return skops.loads(skops.dumps(model), trusted=SKOPS_TRUSTED)


@pytest.mark.parametrize("name", MODELS)
def test_same_predictions(name):
    model = fitted(name)
    read = again(model)
    assert type(read) is type(model)
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", WIDE)
def test_columns_that_single_precision_would_merge(name):
    model = fitted_wide(name)
    np.testing.assert_array_equal(again(model).predict(HOUR), model.predict(HOUR))


@pytest.mark.parametrize("name", CATEGORICAL)
def test_categories(name):
    model = fitted_categorical(name)
    found = again(model).predict(CATEGORY_ROWS)
    np.testing.assert_array_equal(found, model.predict(CATEGORY_ROWS))


def test_warm_start():
    model = dics.CGBoostingClassifier(
        n_estimators=3, warm_start=True, random_state=0
    ).fit(X, Y)
    read = again(model).set_params(n_estimators=6).fit(X, Y)
    expected = model.set_params(n_estimators=6).fit(X, Y)
    np.testing.assert_array_equal(read.predict_proba(X), expected.predict_proba(X))


def test_other_thresholds():
    model = (
        clone(TREE).set_params(candidates=dics.QuantileCandidates(max_bins=9)).fit(X, Y)
    )
    np.testing.assert_array_equal(again(model).predict(X), model.predict(X))


def test_every_type_exists():
    for name in SKOPS_TRUSTED:
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(__import__(module, fromlist=[kind]), kind), type)
