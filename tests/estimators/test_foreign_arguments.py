"""Errors for arguments of other libraries suggest the name in dics."""

import inspect
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from dics import (
    BoostingOptions,
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
from dics._estimator.arguments import (
    ANSWERS,
    FOREIGN_ATTRIBUTES,
    answer,
    argument_names,
)

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
    here |= set(argument_names(CGBoostingClassifier.predict))
    for group in (CentroidCandidates, TreeOptions, ForestOptions, BoostingOptions):
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
        (CGBoostingClassifier, "objective", "Use loss instead."),
        (CGBoostingRegressor, "exposure", "Pass offset=np.log(exposure) to fit."),
        (CGBoostingRegressor, "tweedie_variance_power", "Use advanced=BoostingOptions"),
        (CGForestRegressor, "base_margin", "Boosting has it: CGBoostingClassifier"),
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
    (CGBoostingRegressor, "alpha", "advanced=BoostingOptions(huber_quantile=...)"),
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
    with pytest.raises(TypeError, match=r"^CGForestRegressor\(\) got an unexpected"):
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
        ("exposure", "Use offset=np.log(exposure) instead."),
        ("init_score", "Use offset instead."),
        ("base_margin_eval_set", "Use eval_offset instead."),
    ],
)
def test_fit(name, text):
    with pytest.raises(TypeError) as error:
        CGBoostingClassifier().fit([[0.0], [1.0]], [0, 1], **{name: None})
    assert str(error.value) == (
        f"CGBoostingClassifier.fit() got an unexpected argument {name!r}. {text}"
    )


@pytest.mark.parametrize("model", MODELS[4:])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("num_iteration", "Use n_rounds instead."),
        ("iteration_range", "Use n_rounds instead."),
        ("pred_contrib", "The method predict_contributions returns the contributions."),
        ("nthread", "Pass n_jobs to the constructor."),
    ],
)
def test_predict(model, name, text):
    with pytest.raises(TypeError) as error:
        model().predict([[0.0]], **{name: 3})
    assert str(error.value) == (
        f"{model.__name__}.predict() got an unexpected argument {name!r}. {text}"
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["offset", "exposure", "qwertz"])
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_errors_name_the_class_of_the_model(model, method, name):
    X, y = [[0.0], [1.0]], [0, 1]
    if name in argument_names(getattr(model, method)):
        return
    expected = f"{model.__name__}.{method}() got an unexpected argument {name!r}."
    if name != "qwertz" and model in MODELS[:4]:
        expected += " Boosting has it: CGBoostingClassifier and CGBoostingRegressor."
    given = (X, y) if method == "fit" else (X,)
    with pytest.raises(TypeError, match="^" + re.escape(expected)):
        getattr(model(), method)(*given, **{name: y})


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


@pytest.mark.parametrize("model", MODELS)
def test_foreign_attributes(model):
    for name in FOREIGN_ATTRIBUTES:
        assert not hasattr(model, name)
        assert not hasattr(model(), name)
        start = f"{model.__name__!r} object has no attribute {name!r}. "
        with pytest.raises(AttributeError, match=re.escape(start) + r".*\.$"):
            getattr(model(), name)


@pytest.mark.parametrize(
    ("model", "name", "text"),
    [
        (CGBoostingClassifier, "best_iteration", "Use best_iteration_ instead."),
        (CGForestClassifier, "best_iteration", "Boosting has it: CGBoosting"),
        (CGBoostingRegressor, "booster_", "The estimator is the model: it has"),
        (CGBoostingRegressor, "n_estimators_", "Use n_iter_ instead."),
        (CGForestRegressor, "num_trees", "A forest has len(model) trees."),
        (CGTreeClassifier, "tree_", "Use trees_ instead."),
        (CGTreeRegressor, "save_model", "Use save instead."),
    ],
)
def test_attributes_of_fitted_models(model, name, text):
    fitted = model().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(AttributeError, match=re.escape(f"{name!r}. {text}")):
        getattr(fitted, name)


def test_answered_attributes_exist():
    X = pd.DataFrame({"x": np.arange(40.0)})
    fitted = [model().fit(X, np.arange(40) % 2) for model in MODELS]
    for texts in FOREIGN_ATTRIBUTES.values():
        for text in texts:
            assert text.endswith(".") or any(hasattr(model, text) for model in fitted)


def test_other_attribute_errors_are_unchanged():
    with pytest.raises(AttributeError, match="is not fitted yet"):
        CGForestClassifier().estimators_  # noqa: B018
    with pytest.raises(NotFittedError):
        CGTreeClassifier().feature_importances_  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'qwertz'$"):
        CGTreeClassifier().qwertz  # noqa: B018


def test_warnings_point_to_the_user():
    model = CGForestClassifier(n_estimators=2, warm_start=True).fit(
        [[0.0], [1.0]], [0, 1]
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit([[0.0], [1.0]], [0, 1])
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize(
    ("model", "given", "text"),
    [
        (CGBoostingRegressor, "mae", "Use loss='absolute_error'."),
        (CGBoostingRegressor, "MSE", "Use loss='squared_error'."),
        (CGBoostingRegressor, "rmse", "Use loss='squared_error'."),
        (CGBoostingRegressor, "l1", "Use loss='absolute_error'."),
        (CGBoostingRegressor, "reg:squarederror", "Use loss='squared_error'."),
        (CGBoostingRegressor, "regression_l1", "Use loss='absolute_error'."),
        (CGBoostingRegressor, "count:poisson", "Use loss='poisson'."),
        (CGBoostingRegressor, "Logloss", "It is 'log_loss' of CGBoostingClassifier"),
        (CGBoostingClassifier, "logloss", "Use loss='log_loss'."),
        (CGBoostingClassifier, "binary:logistic", "Use loss='log_loss'."),
        (CGBoostingClassifier, "mse", "It is 'squared_error' of CGBoostingRegressor"),
        (CGTreeRegressor, "mae", "Use criterion='absolute_error'."),
        (CGForestRegressor, "mse", "Use criterion='squared_error'."),
    ],
)
def test_names_of_losses(model, given, text):
    parameter = "loss" if model in MODELS[4:] else "criterion"
    match = re.escape(f"{parameter}={given!r} is not supported. {text}")
    with pytest.raises(ValueError, match=match):
        model(**{parameter: given}).fit([[0.0], [1.0]], [0, 1])
