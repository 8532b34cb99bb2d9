"""The common base of the estimators."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from dics import CGBoostingClassifier, CGForestClassifier, CGTreeClassifier
from dics._estimator.base import ClassifierMixin, TreesEstimator

HOLDERS = (CGTreeClassifier, CGForestClassifier, CGBoostingClassifier)


def test_all_have_the_same_base():
    for cls in HOLDERS:
        assert issubclass(cls, TreesEstimator)
        assert issubclass(cls, ClassifierMixin)


def test_predictions_are_documented_once():
    for name in ("predict", "predict_proba", "predict_log_proba"):
        assert len({getattr(cls, name) for cls in HOLDERS}) == 1
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
