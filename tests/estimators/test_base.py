"""The common base of the estimators."""

import inspect
import io
import pickle

import numpy as np
import pytest
from checks import file_bytes
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import dics
from dics import (
    CGBoostingClassifier,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
)
from dics._boosting.fit import Boosting
from dics._estimator.base import ClassifierMixin, TreesEstimator

HOLDERS = (CGTreeClassifier, CGForestClassifier, CGBoostingClassifier)


def test_all_have_the_same_base():
    for cls in HOLDERS:
        assert issubclass(cls, TreesEstimator)
        assert issubclass(cls, ClassifierMixin)


def test_predictions_are_documented_once():
    for name in ("predict", "predict_proba", "predict_log_proba"):
        # Those of boosting have an offset and a number of rounds.
        others = [cls for cls in HOLDERS if not issubclass(cls, Boosting)]
        assert len({getattr(cls, name) for cls in others}) == 1
        assert inspect.getdoc(getattr(CGTreeClassifier, name))


def test_docstrings_are_unique():
    written = {}
    for cls in {base for holder in HOLDERS for base in holder.__mro__}:
        if not cls.__module__.startswith("dics"):
            continue
        for name, member in vars(cls).items():
            text = inspect.getdoc(member) if inspect.isfunction(member) else None
            if text and not name.startswith("_"):
                assert text not in written, (cls, name, written[text])
                written[text] = (cls, name)


@pytest.mark.parametrize("cls", HOLDERS)
@pytest.mark.parametrize("name", ["predict", "predict_proba", "predict_log_proba"])
def test_predictions_need_a_fit(cls, name):
    with pytest.raises(NotFittedError):
        getattr(cls(), name)([[0.0]])


@pytest.mark.parametrize("cls", HOLDERS)
def test_predictions_agree(cls):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = cls(random_state=0).fit(X, names)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(p))


@pytest.mark.parametrize("cls", HOLDERS)
def test_reprs_are_short(cls):
    X, y = load_iris(return_X_y=True)
    model = cls(random_state=0).fit(X, y)
    n_trees, n_nodes = len(model.trees_), model.trees_.n_nodes
    expected = f"Trees(n_trees={n_trees}, n_nodes={n_nodes}, n_features=4)"
    assert repr(model.trees_) == expected
    start = f"{type(model.plan_).__name__}(n_rows=150, n_features=4, "
    assert repr(model.plan_).startswith(start)
    assert len(repr(model.plan_)) < 150
    if cls is CGBoostingClassifier:
        depth, n_leaves = model[0].get_depth(), model[0].get_n_leaves()
        assert repr(model[0]) == f"RoundTree(depth={depth}, n_leaves={n_leaves})"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (CGTreeClassifier(), (2, 1, 4, None)),
        (
            CGTreeRegressor(min_samples_split=0.1, min_samples_leaf=7, max_features=3),
            (15, 7, 3, None),
        ),
        (CGForestClassifier(n_estimators=2), (2, 1, 2, 150)),
        (CGForestRegressor(n_estimators=2, max_samples=0.5), (2, 1, 2, 75)),
        (CGForestRegressor(n_estimators=2, bootstrap=False), (2, 1, 2, None)),
    ],
)
def test_plans_of_trees(model, expected):
    X, y = load_iris(return_X_y=True)
    plan = model.fit(X, y).plan_
    found = (
        plan.min_samples_split,
        plan.min_samples_leaf,
        plan.max_features,
        plan.max_samples,
    )
    assert found == expected
    assert (plan.n_rows, plan.n_features) == (150, 4)
    assert plan.max_bins == model.candidates_.n_thresholds_.max() + 1
    for kept in (pickle.loads(pickle.dumps(model)), dics.load(file_of(model))):
        assert kept.plan_ == plan
    if isinstance(model, CGForestClassifier | CGForestRegressor):
        assert model[0].plan_ == plan
    model.set_params(max_features=1, min_samples_leaf=50)
    assert model.plan_ == plan  # of the fit


def file_of(model):
    return io.BytesIO(file_bytes(model))
