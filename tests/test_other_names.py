"""Arguments of other libraries are answered with the name that they have here."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from dics import (
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    FastCGBMClassifier,
    FastCGBMRegressor,
)
from dics._other_names import (
    BOOSTING_NAMES,
    METHOD_NAMES,
    TREE_NAMES,
    answer,
    argument_names,
)

TREES = (CGTreeClassifier, CGTreeRegressor)
FORESTS = (CGForestClassifier, CGForestRegressor)
BOOSTING = (FastCGBMClassifier, FastCGBMRegressor)
MODELS = (*TREES, *FORESTS, *BOOSTING)
# scikit-learn's, and ours of the same kind.
SKLEARN = [
    ("DecisionTree", sklearn.tree, TREES),
    ("ExtraTree", sklearn.tree, TREES),
    ("RandomForest", sklearn.ensemble, FORESTS),
    ("ExtraTrees", sklearn.ensemble, FORESTS),
    ("HistGradientBoosting", sklearn.ensemble, BOOSTING),
    ("GradientBoosting", sklearn.ensemble, BOOSTING),
]


def unanswered(model, method, names):
    """Names that are neither ours nor have an answer."""
    own = argument_names(getattr(model, method))
    return {n for n in names if n not in own and not answer(model, method, n)}


@pytest.mark.parametrize(("family", "module", "ours"), SKLEARN)
@pytest.mark.parametrize("kind", [0, 1])
def test_every_parameter_of_sklearn(family, module, ours, kind):
    other = getattr(module, family + ("Classifier", "Regressor")[kind])
    assert not unanswered(ours[kind], "__init__", other().get_params())
    assert not unanswered(ours[kind], "fit", argument_names(other.fit))
    assert not unanswered(ours[kind], "predict", argument_names(other.predict))


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize(
    ("library", "prefix"),
    [("lightgbm", "LGBM"), ("xgboost", "XGB"), ("catboost", "CatBoost")],
)
@pytest.mark.filterwarnings("default")
def test_every_parameter_of_other_boosting(library, prefix, kind):
    module = pytest.importorskip(library)
    other = getattr(module, prefix + kind)
    model = FastCGBMClassifier if kind == "Classifier" else FastCGBMRegressor
    names = {*other().get_params(), *argument_names(other.__init__)} - {"kwargs"}
    assert not unanswered(model, "__init__", names)
    given = {"kwargs", "data", "X", "Y", "y"}
    assert not unanswered(model, "fit", {*argument_names(other.fit)} - given)
    for method in ("predict", "predict_proba")[: 1 + (kind == "Classifier")]:
        theirs = {*argument_names(getattr(other, method))} - given
        assert not unanswered(model, method, theirs)


@pytest.mark.parametrize("tables", [BOOSTING_NAMES, TREE_NAMES, *METHOD_NAMES.values()])
def test_answers_name_what_is_there(tables):
    here = {n for model in MODELS for n in (*argument_names(model), *dir(model))}
    here |= {n for model in MODELS for n in argument_names(model.__init__)}
    here |= {n for model in MODELS for n in argument_names(model.fit)}
    given = {text for texts in tables.values() for text in texts}
    assert {text for text in given if text.isidentifier()} <= here


def test_constructor():
    with pytest.raises(TypeError) as error:
        FastCGBMClassifier(num_leaves=31)
    assert str(error.value) == (
        "FastCGBMClassifier() got an unexpected argument 'num_leaves': "
        "it is max_leaf_nodes here"
    )
    with pytest.raises(TypeError, match="'colsample_bytree': it is max_features here"):
        FastCGBMRegressor(colsample_bytree=0.5)
    with pytest.raises(TypeError, match="'num_leaves': it is max_leaf_nodes here"):
        CGTreeClassifier(num_leaves=3)
    with pytest.raises(TypeError, match="'objective': it is loss here"):
        FastCGBMRegressor(objective="poisson")
    with pytest.raises(TypeError, match="'objective': classifiers always minimise"):
        FastCGBMClassifier(objective="binary")
    with pytest.raises(TypeError, match="'max_dept': did you mean max_depth"):
        CGForestRegressor(max_dept=3)
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword arg"):
        CGForestRegressor(qwertz=3)
    with pytest.raises(TypeError, match="it is n_estimators here"):
        FastCGBMClassifier.paper(num_boost_round=3)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("early_stopping_rounds", "it is n_iter_no_change of the constructor"),
        ("eval_metric", "it is scoring of the constructor"),
        ("sample_weight_eval_set", "it is eval_sample_weight here"),
        ("cat_features", "it is categorical_features of the constructor"),
        ("categorical_feature", "it is categorical_features of the constructor"),
        ("n_estimators", "it is n_estimators of the constructor"),
        ("sample_weigth", "did you mean sample_weight?"),
    ],
)
def test_fit(name, text):
    with pytest.raises(TypeError) as error:
        FastCGBMClassifier().fit([[0.0], [1.0]], [0, 1], **{name: None})
    start = f"FastCGBMClassifier.fit() got an unexpected argument {name!r}: "
    assert str(error.value).startswith(start)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("method", "name", "text"),
    [
        ("predict", "pred_contrib", "use predict_contributions"),
        ("predict", "iteration_range", "use staged_predict"),
        ("predict", "num_iteration", "use staged_predict"),
        ("predict", "raw_score", "use decision_function"),
        ("predict_proba", "output_margin", "use decision_function"),
        ("predict_proba", "ntree_limit", "use staged_predict"),
        ("predict", "pred_leaf", "use apply"),
    ],
)
def test_predict(method, name, text):
    with pytest.raises(TypeError, match=rf"\.{method}\(\) got .*{name!r}: {text}"):
        getattr(FastCGBMClassifier(), method)([[0.0]], **{name: True})


def test_set_params():
    model = FastCGBMClassifier(max_depth=3)
    with pytest.raises(ValueError, match=r"'num_leaves' for .*it is max_leaf_nodes"):
        model.set_params(num_leaves=31, max_depth=5)
    assert model.max_depth == 3
    with pytest.raises(ValueError, match="Invalid parameter 'qwertz'"):
        model.set_params(qwertz=31)
    search = GridSearchCV(model, {"reg_lambda": [1.0]}, error_score="raise")
    with pytest.raises(ValueError, match="it is l2_regularization here"):
        search.fit(np.arange(20.0)[:, None], np.arange(20) % 2)


@pytest.mark.parametrize("model", MODELS)
def test_signatures_stay(model):
    """What tools look at is what was written."""
    parameters = inspect.signature(model).parameters
    assert list(parameters) == argument_names(model.__init__)
    assert "kwargs" not in parameters
    assert set(model().get_params(deep=False)) == set(parameters)
    assert argument_names(model.fit)[:3] == ["X", "y", "sample_weight"]
    assert argument_names(model.predict) == ["X"]
    assert pickle.loads(pickle.dumps(clone(model()))).get_params().keys()


def test_warnings_point_to_the_user():
    model = CGForestClassifier(2, warm_start=True).fit([[0.0], [1.0]], [0, 1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit([[0.0], [1.0]], [0, 1])
    assert [w.filename for w in caught] == [__file__]
