"""Errors for arguments of other libraries suggest the name in dics."""

import inspect
import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from dics import (
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
from dics._estimator.arguments import ANSWERS, answer, argument_names

MODELS = (
    CGTreeClassifier,
    CGTreeRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGBoostingClassifier,
    CGBoostingRegressor,
)


def test_suggestions_exist():
    here = {name for model in MODELS for name in argument_names(model)}
    here |= {name for model in MODELS for name in argument_names(model.fit)}
    for group in (CentroidCandidates, TreeOptions, ForestOptions):
        here |= set(argument_names(group))
    for known in ANSWERS.values():
        for text in (known,) if isinstance(known, str) else known:
            assert text.endswith(".") or text.partition("=")[0] in here


@pytest.mark.parametrize("model", MODELS)
def test_every_name_has_a_suggestion(model):
    for name in ANSWERS:
        if name not in argument_names(model):
            assert answer(model, "__init__", name).endswith(".")
        if name not in argument_names(model.fit):
            assert answer(model, "fit", name).endswith(".")


@pytest.mark.parametrize(
    ("model", "name", "text"),
    [
        (CGBoostingClassifier, "num_leaves", "Use max_leaf_nodes instead."),
        (CGBoostingClassifier, "objective", "Boosting for classification always"),
        (CGBoostingClassifier, "is_unbalance", 'Use class_weight="balanced" instead.'),
        (CGBoostingClassifier, "eval_set", "Pass eval_set to fit."),
        (CGBoostingRegressor, "objective", "Use loss instead."),
        (CGBoostingRegressor, "is_unbalance", "Pass sample_weight to fit."),
        (CGForestClassifier, "subsample", "Use max_samples instead."),
        (CGBoostingRegressor, "max_samples", "Use subsample instead."),
        (CGForestRegressor, "max_dept", "Did you mean max_depth?"),
        (CGTreeClassifier, "eta", "Boosting has it: CGBoostingClassifier"),
        (CGTreeClassifier, "verbosity", "It is verbose in dics; CGTreeClassifier does"),
    ],
)
def test_constructor(model, name, text):
    with pytest.raises(TypeError) as error:
        model(**{name: 3})
    start = f"{model.__name__}() got an unexpected argument {name!r}. {text}"
    assert str(error.value).startswith(start)


CATEGORICAL = {
    "cat_smooth": "smooth",
    "cat_l2": "l2",
    "min_cat_samples": "min_samples",
    "max_cat_levels": "max_categories",
    "cat_pairs": "pairs",
}
SUCCESSORS = [
    *[
        (model, old, f"categorical=CategoricalOptions({new}=...)")
        for model in MODELS
        for old, new in CATEGORICAL.items()
    ],
    *[
        (model, name, f"advanced={model._options_class.__name__}({name}=...)")
        for model in MODELS
        for name in model._options_class().get_params()
    ],
    *[
        (model, name, f"sampling=GOSS({name}=...)")
        for model in MODELS[4:]
        for name in ("top_rate", "other_rate")
    ],
    *[(model, "min_sum_hessian", "min_child_weight") for model in MODELS[4:]],
    (CGBoostingRegressor, "alpha", "huber_quantile"),
    (CentroidCandidates, "centroids", "centroid_source"),
    (CentroidCandidates, "scale", "standardize"),
    (CentroidCandidates, "fill", "fill_quantiles"),
    (CentroidCandidates, "max_thresholds", "max_bins"),
    (QuantileCandidates, "max_thresholds", "max_bins"),
]


@pytest.mark.parametrize(("model", "name", "successor"), SUCCESSORS)
def test_parameters_of_early_versions(model, name, successor):
    match = re.escape(f"Use {successor} instead.")
    with pytest.raises(TypeError, match=match):
        model(**{name: 3})
    with pytest.raises(ValueError, match=match):
        model().set_params(**{name: 3})


def test_unknown_names_and_paper():
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword arg"):
        CGForestRegressor(qwertz=3)
    with pytest.raises(ValueError, match="Use n_estimators instead"):
        CGBoostingClassifier.paper(num_boost_round=3)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("early_stopping_rounds", "Pass n_iter_no_change to the constructor."),
        ("sample_weight_eval_set", "Use eval_sample_weight instead."),
        ("cat_features", "Pass categorical_features to the constructor."),
        ("n_estimators", "Pass n_estimators to the constructor."),
        ("sample_weigth", "Did you mean sample_weight?"),
    ],
)
def test_fit(name, text):
    with pytest.raises(TypeError) as error:
        CGBoostingClassifier().fit([[0.0], [1.0]], [0, 1], **{name: None})
    assert str(error.value) == (
        f"CGBoostingClassifier.fit() got an unexpected argument {name!r}. {text}"
    )


def test_set_params():
    model = CGBoostingClassifier(max_depth=3)
    with pytest.raises(ValueError, match=r"'num_leaves' for .*Use max_leaf_nodes"):
        model.set_params(num_leaves=31, max_depth=5)
    assert model.max_depth == 3
    with pytest.raises(ValueError, match="Invalid parameter 'qwertz'"):
        model.set_params(qwertz=31)
    search = GridSearchCV(model, {"reg_lambda": [1.0]}, error_score="raise")
    with pytest.raises(ValueError, match="Use l2_regularization instead"):
        search.fit(np.arange(20.0)[:, None], np.arange(20) % 2)


@pytest.mark.parametrize("model", MODELS)
def test_signatures_are_unchanged(model):
    """Tools find the signature of the source."""
    parameters = inspect.signature(model).parameters
    assert "kwargs" not in parameters
    assert set(model().get_params(deep=False)) == set(parameters)
    assert argument_names(model.fit)[:3] == ["X", "y", "sample_weight"]
    assert pickle.loads(pickle.dumps(clone(model()))).get_params().keys()


def test_warnings_point_to_the_user():
    model = CGForestClassifier(n_estimators=2, warm_start=True).fit(
        [[0.0], [1.0]], [0, 1]
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit([[0.0], [1.0]], [0, 1])
    assert [w.filename for w in caught] == [__file__]
