"""Groups of options: supported options, and no changes by fits."""

import inspect

import numpy as np
import pytest
from checks import same_bytes
from sklearn.base import clone

from dics import (
    GOSS,
    BoostingOptions,
    CategoricalOptions,
    CentroidCandidates,
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    ForestOptions,
    QuantileCandidates,
    TreeOptions,
)

FAMILIES = {
    17: (CGTreeClassifier, CGTreeRegressor),
    22: (CGForestClassifier, CGForestRegressor),
    28: (CGBoostingClassifier, CGBoostingRegressor),
}
MODELS = [cls for family in FAMILIES.values() for cls in family]
GROUPS = (GOSS, CategoricalOptions, TreeOptions, ForestOptions, BoostingOptions)

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
Y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)


def parameters_of(cls):
    return list(inspect.signature(cls).parameters.values())


@pytest.mark.parametrize("most", FAMILIES)
def test_classifier_and_regressor_have_the_same_parameters(most):
    of_both = [[p.name for p in parameters_of(cls)] for cls in FAMILIES[most]]
    assert max(map(len, of_both)) <= most
    shared = set(of_both[0]) & set(of_both[1])
    first, second = ([name for name in names if name in shared] for names in of_both)
    assert first == second
    others = set(of_both[0]) ^ set(of_both[1])
    assert others <= {"class_weight", "loss", "quantile", "huber_quantile"}


@pytest.mark.parametrize(
    "cls", [*MODELS, *GROUPS, CentroidCandidates, QuantileCandidates]
)
def test_arguments_are_named(cls):
    assert {p.kind for p in parameters_of(cls)} == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError):
        cls(3)


UNSUPPORTED = [
    *[(cls, "categorical__l2", 1.0) for cls in MODELS[:4]],
    *[(cls, "categorical__pairs", False) for cls in MODELS[:4]],
    (CGTreeRegressor, "advanced__reuse_splits", False),
    (CGForestRegressor, "advanced__voting", "hard"),
    (CGBoostingRegressor, "advanced__reuse_splits", False),
    (CGBoostingRegressor, "advanced__noise_shrinkage", 0.0),
]


@pytest.mark.parametrize(("cls", "name", "value"), UNSUPPORTED)
def test_unsupported_options_are_rejected(cls, name, value):
    model = cls().set_params(**{name: value})
    where = name.replace("__", ".")
    match = f"{cls.__name__} does not support {where}={value!r}; leave it"
    with pytest.raises(ValueError, match=match):
        model.fit(X, Y)


@pytest.mark.parametrize("cls", MODELS)
def test_fit_does_not_change_options(cls):
    given = {
        "categorical": CategoricalOptions(smooth=3.0),
        "advanced": cls._options_class(max_candidates=20),
    }
    model = cls(**given, random_state=0).fit(X, Y)
    for name, options in given.items():
        assert getattr(model, name) is options
        assert getattr(clone(model), name) is not options
    assert given["categorical"].get_params() == {
        **CategoricalOptions().get_params(),
        "smooth": 3.0,
    }
    same_bytes(model, clone(model).fit(X, Y))


def test_options_are_used():
    """Explicit defaults give the same model as no options."""
    for cls in MODELS:
        given = cls(categorical=CategoricalOptions(), advanced=cls._options_class())
        given.set_params(random_state=0)
        same_bytes(given.fit(X, Y), cls(random_state=0).fit(X, Y))


@pytest.mark.parametrize("cls", FAMILIES[28])
def test_ways_to_sample_rows(cls):
    model = cls(n_estimators=8, random_state=0)
    named = clone(model).set_params(sampling="goss").fit(X, Y)
    same_bytes(named, clone(model).set_params(sampling=GOSS()).fit(X, Y))
    some = clone(model).set_params(subsample=0.5).fit(X, Y)
    assert (some.plan_.sampling, some.plan_.subsample) == ("mvs", 0.5)
    same_bytes(some, clone(some).set_params(sampling="mvs").fit(X, Y))
    every = clone(model).set_params(sampling=None).fit(X, Y)
    same_bytes(every, clone(model).set_params(subsample=1.0).fit(X, Y))
