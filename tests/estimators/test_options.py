"""Groups of options: supported options, and no changes by fits."""

import inspect
import re
import warnings

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
    assert others <= {"class_weight", "loss", "quantile"}


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
    (CGBoostingClassifier, "advanced__tweedie_power", 1.2),
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


SOME = {"sampling": "mvs", "n_estimators": 5}
NUMERIC = "X has no categorical features; see categorical_features"


@pytest.mark.parametrize(
    ("model", "unused", "reason"),
    [
        *[(cls(), {"categorical__smooth": 3.0}, NUMERIC) for cls in MODELS],
        *[
            (cls(**SOME, early_stopping=stops), {name: value}, "does not stop early")
            for cls in FAMILIES[28]
            for stops in (False, "auto")
            for name, value in (
                ("validation_fraction", None),
                ("n_iter_no_change", 3),
                ("scoring", None),
                ("advanced__tol", 0.1),
            )
        ],
        (
            CGBoostingClassifier(n_estimators=5, sampling=None),
            {"advanced__leaf_values": "sample"},
            "each round uses all rows; see sampling",
        ),
        (
            CGBoostingRegressor(**SOME, loss="huber"),
            {"advanced__leaf_values": "sample"},
            "loss='huber' needs all rows",
        ),
        (
            CGForestClassifier(max_features=None),
            {"advanced__feature_sampling": "tree"},
            "max_features=None uses all features",
        ),
        *[
            (cls(**other), {"advanced__renew_thresholds": True}, "max_features and")
            for cls in FAMILIES[17]
            for other in (
                {"max_features": 2},
                {"advanced": TreeOptions(max_candidates=9)},
            )
        ],
    ],
)
def test_parameters_without_effect_warn(model, unused, reason):
    ((name, value),) = unused.items()
    shown = f"Without effect: {name.replace('__', '.')}={value!r}, because "
    without = clone(model).set_params(random_state=0)
    given = clone(without).set_params(**unused)
    with pytest.warns(UserWarning, match=re.escape(shown) + ".*" + re.escape(reason)):
        given.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        without.fit(X, Y)
    np.testing.assert_array_equal(given.predict(X), without.predict(X))


def test_given_validation_rows_replace_held_out_ones():
    model = CGBoostingClassifier(n_estimators=5, validation_fraction=0.3)
    with pytest.warns(UserWarning, match=r"validation_fraction=0\.3, because fit has"):
        model.fit(X, Y, X_val=X, y_val=Y)


@pytest.mark.parametrize("cls", FAMILIES[28])
def test_parameters_of_early_stopping_do_not_warn(cls):
    model = cls(
        n_estimators=5,
        early_stopping=True,
        validation_fraction=0.3,
        n_iter_no_change=3,
        scoring=None,
        advanced=BoostingOptions(tol=1e-4),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)
        model.set_params(validation_fraction=0.1).fit(X, Y, X_val=X, y_val=Y)
        cls.paper(n_estimators=5, random_state=0).fit(X, Y)
