"""Bad input raises clear errors before any work and keeps an earlier fit."""

import re

import numpy as np
import pytest
import scipy.sparse
from checks import digest
from sklearn.exceptions import NotFittedError

from dics import (
    GOSS,
    BoostingOptions,
    CategoricalOptions,
    CentroidCandidates,
    CGBoostingClassifier,
    CGForestClassifier,
    CGTreeClassifier,
    ForestOptions,
    QuantileCandidates,
    TreeOptions,
)

N = 30
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.arange(N) % 3
# Another width, to detect attributes that are set too early.
OTHER = RNG.normal(size=(N, 2))
NAN = np.nan

BAD_X = {
    "1-D": (OTHER[:, 0], ValueError, "Expected 2D array"),
    "3-D": (OTHER[None], ValueError, "dim 3"),
    "scalar": (3.0, ValueError, "Expected 2D array"),
    "no rows": (OTHER[:0], ValueError, "0 sample"),
    "no columns": (OTHER[:, :0], ValueError, "0 feature"),
    "complex": (OTHER + 1j, ValueError, "Complex data"),
    "strings": (np.array([["a", "b"]] * N), ValueError, "'a'"),
    "objects": (np.array([[{}, 1]] * N, dtype=object), (TypeError, ValueError), "dict"),
    "sparse, no rows": (scipy.sparse.csr_matrix(OTHER[:0]), ValueError, "0 sample"),
    "sparse, no columns": (scipy.sparse.csr_array((N, 0)), ValueError, "0 feature"),
    "sparse, complex": (scipy.sparse.coo_array(OTHER + 1j), ValueError, "Complex data"),
    "ragged": ([[1.0, 2.0], [3.0]] * (N // 2), ValueError, "inhomogeneous|sequence"),
    "None": (None, ValueError, "None|scalar"),
}

BAD_Y = {
    "None": (None, "y"),
    "short": (Y[:-1], "30.*29"),
    "long": (np.append(Y, 0), "30.*31"),
    "empty": ([], "30.*0"),
    "2-D": (np.column_stack([Y, Y]), "y should be a 1d array"),
    "scalar": (1, "y"),
    "continuous": (OTHER[:, 0], "continuous"),
    "NaN": (np.where(Y, Y, NAN), "y contains NaN|Input y contains NaN"),
    "infinite": (np.where(Y, Y, np.inf), "y contains.*infinity"),
    "None in it": (np.array(["a", None, "b"] * 10, dtype=object), "y contains"),
    "None in a list": (["a", None, "b"] * 10, "y contains"),
    "NaN among strings": (np.array(["a", NAN, "b"] * 10, dtype=object), "y contains"),
    "complex": (Y + 1j, "omplex|label type|y"),
}

BAD_WEIGHTS = {
    "negative": (np.where(Y, 1.0, -0.5), "-0.5"),
    "all zero": (np.zeros(N), "zero"),
    "NaN": (np.where(Y, 1.0, NAN), "nan"),
    "infinite": (np.where(Y, 1.0, np.inf), "inf"),
    "short": (np.ones(N - 1), r"\(29,\).*\(30,\)"),
    "2-D": (np.ones((N, 1)), r"\(30, 1\)"),
    "strings": (["a"] * N, "'a'"),
    "word": ("balanced", "balanced"),
    "complex": (np.ones(N) * 1j, "omplex"),
    "negative scalar": (-1.0, "-1"),
}

BAD_TREE_PARAMETERS = {
    "criterion": ["log_loss!", None, 3],
    "max_depth": [0, -1, 2.5, "deep"],
    "max_leaf_nodes": [1, 0, -1, 2.5, "many"],
    "max_features": [0, -1, 0.0, 1.5, NAN, "most", "all"],
    "advanced__max_candidates": [0, -5, 1.5, "all"],
    "advanced__renew_thresholds": ["yes", None, 2],
    "min_samples_split": [1, 0, 1.5, -0.1, "two"],
    "min_samples_leaf": [0, -1, 1.5, "one"],
    "splitter": ["worst", None, 1],
    "advanced__min_impurity_decrease": [-0.1, NAN, "none"],
    "ccp_alpha": [-0.1, NAN, "none"],
    "class_weight": ["unbalanced", 3],
    "candidates": [3, "kmeans", CentroidCandidates, CGTreeClassifier()],
    "categorical_features": ["all", 1],
    "categorical__smooth": [-1.0, "much", None],
    "categorical__min_samples": [0, 2.5, "many", None],
    "categorical__max_categories": [0, -1, 2.5, "many"],
    "monotonic_cst": ["up", 1],
    "advanced__reuse_splits": ["yes", 2],
    "categorical": ["auto", 3, TreeOptions(), CategoricalOptions],
    "advanced": ["auto", {}, CategoricalOptions()],
    "random_state": [-1, "seed", 2**40],
    "n_jobs": [1.5, "all", 0],
}

BAD_FOREST_PARAMETERS = {
    **{
        name: values
        for name, values in BAD_TREE_PARAMETERS.items()
        if name not in ("advanced__reuse_splits", "advanced__renew_thresholds")
    },
    "n_estimators": [0, -1, 2.5, "many", None],
    "advanced__feature_sampling": ["split", None, 1],
    "advanced__voting": ["mean", None, True],
    "bootstrap": ["yes", None, 2],
    "max_samples": [0, -1, 0.0, -0.5, NAN, np.inf, "all"],
    "oob_score": ["yes", None, 2],
    "advanced__min_weight_fraction_leaf": [-0.1, 0.6, NAN, "none"],
    "warm_start": ["yes", None, 2],
    "verbose": [-1, "yes", None],
}

BAD_BOOSTING_PARAMETERS = {
    **{
        name: BAD_TREE_PARAMETERS[name]
        for name in (
            "max_depth",
            "advanced__max_candidates",
            "class_weight",
            "candidates",
            "categorical_features",
            "categorical",
            "advanced",
            "categorical__smooth",
            "categorical__min_samples",
            "categorical__max_categories",
            "monotonic_cst",
            "advanced__reuse_splits",
            "random_state",
            "n_jobs",
        )
    },
    "categorical__l2": [-1.0, "much", None],
    "categorical__pairs": ["yes", 2, None],
    "interaction_cst": ["all", 3],
    "quality": ["good", 1, None],
    "advanced__huber_quantile": [0, 1.0, NAN, "auto"],
    "n_estimators": [0, -1, 2.5, "many", None, 2**31],
    "learning_rate": [0, -0.1, NAN, "slow", None],
    "max_leaf_nodes": [1, 0, -1, 2.5, "many"],
    "max_features": [0, -1, 0.0, 1.5, NAN, "sqrt", "all"],
    "advanced__noise_shrinkage": ["none", -0.1, None, np.nan],
    "advanced__sketch_outputs": ["none", 0, 1, -3, 2.5, True],
    "sampling": ["none", "bagging", 1, True, GOSS],
    "subsample": [0.0, -0.1, 1.1, NAN, "some", None],
    "sampling__top_rate": [-0.1, 1.1, NAN, "some", None],
    "sampling__other_rate": [-0.1, 1.1, NAN, "some", None],
    "advanced__leaf_values": ["some", None, 1],
    "l2_regularization": [-0.1, NAN, "none", None],
    "min_split_gain": [-0.1, NAN, "none", None],
    "min_child_weight": [-0.1, NAN, "none", None],
    "min_samples_leaf": [0, -1, 1.5, "one", None],
    "early_stopping": ["yes", None, 2],
    "validation_fraction": [0, -1, 0.0, 1.0, 1.5, NAN, "some"],
    "n_iter_no_change": [0, -1, 2.5, "some", None],
    "loss": ["focal", 3, None],
    "advanced__tweedie_power": [1.0, 2, NAN, "some", None],
    "advanced__tol": [-1e-9, NAN, "small", None],
    "scoring": ["good", 3],
    "warm_start": ["yes", None, 2],
    "verbose": [-1, "yes", None],
}

BAD_CANDIDATE_PARAMETERS = {
    "n_clusters": [0, -1, 2.5, "many"],
    "n_pairs": [0, -1, 1.5, "all"],
    "boundary": ["mean", None],
    "centroid_source": ["median", None],
    "batch_size": [0, 1.5],
    "standardize": ["yes", None],
    "min_gap": [-0.1, "none"],
    "fill_quantiles": ["yes"],
    "max_bins": [1, 256, "many", 2.5],
    "random_state": [-1, "seed"],
    "n_jobs": [1.5, "all"],
}


def each(table):
    """Return the (name, value) pairs of a table of bad values."""
    return [
        pytest.param(name, value, id=f"{name}={str(value)[:20]}")
        for name, values in table.items()
        for value in values
    ]


def state(estimator):
    """Return everything that a fit can change."""
    return (
        digest(estimator),
        sorted(vars(estimator)),
        estimator.n_features_in_,
        list(getattr(estimator, "feature_names_in_", [])),
        getattr(estimator, "classes_", Y).tolist(),
    )


def refuse(estimator, error, match, *args, **kwargs):
    """Check that a refit raises the expected error and keeps the earlier fit."""
    before = state(estimator)
    with pytest.raises(error, match=match):
        estimator.fit(*args, **kwargs)
    assert state(estimator) == before


@pytest.fixture(params=[None, 5], ids=["whole", "sampled"])
def tree(request):
    return CGTreeClassifier(
        advanced=TreeOptions(max_candidates=request.param), random_state=0
    ).fit(X, Y)


@pytest.fixture(params=["node", "tree"])
def forest(request):
    return CGForestClassifier(
        n_estimators=3,
        advanced=ForestOptions(feature_sampling=request.param),
        max_features=2,
        random_state=0,
    ).fit(X, Y)


@pytest.fixture(params=[None, "goss"], ids=["all rows", "goss"])
def booster(request):
    return CGBoostingClassifier(
        n_estimators=3, sampling=request.param, random_state=0
    ).fit(X, Y)


@pytest.fixture
def no_work(monkeypatch):
    """Fail if the core is called."""

    def work(*_args, **_kwargs):
        raise AssertionError("work was done before the parameters were checked")

    for name in ("cluster", "make_thresholds", "encode", "grow", "boost"):
        monkeypatch.setattr(f"dics._core.{name}", work)


@pytest.fixture(params=[CentroidCandidates, QuantileCandidates])
def candidates(request):
    return request.param(random_state=0).fit(X, Y)


@pytest.mark.quick(60)
@pytest.mark.parametrize("name", BAD_X)
def test_bad_matrix(tree, forest, booster, candidates, name):
    bad, error, match = BAD_X[name]
    for estimator in (tree, forest, booster, candidates):
        refuse(estimator, error, match, bad, Y)
    for call in (tree.predict, forest.predict, booster.predict, candidates.transform):
        with pytest.raises(error):
            call(bad)


@pytest.mark.parametrize("name", BAD_Y)
def test_bad_labels(tree, forest, booster, name):
    bad, match = BAD_Y[name]
    for estimator in (tree, forest, booster):
        refuse(estimator, (ValueError, TypeError), match, OTHER, bad)


# Continuous targets are valid: they are grouped.
@pytest.mark.parametrize("name", [n for n in BAD_Y if n not in ("continuous", "2-D")])
@pytest.mark.parametrize(
    "parameters", [{"centroid_source": "class"}, {"n_clusters": "classes"}]
)
def test_bad_labels_for_candidates(name, parameters):
    bad, match = BAD_Y[name]
    found = CentroidCandidates(random_state=0, **parameters).fit(X, Y)
    refuse(found, (ValueError, TypeError), match, OTHER, bad)


def test_labels_given_as_a_column_warn(tree):
    with pytest.warns(UserWarning, match="column-vector y"):
        tree.fit(X, Y[:, None])


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_bad_weights(tree, forest, booster, candidates, name):
    bad, match = BAD_WEIGHTS[name]
    for estimator in (tree, forest, booster, candidates):
        refuse(
            estimator,
            (ValueError, TypeError),
            f"(?s)sample_weight.*{match}|{match}.*sample_weight",
            OTHER,
            Y,
            sample_weight=bad,
        )


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ({0: 1, 1: -2, 2: 1}, "class_weight.*-2"),
        ({0: 0, 1: 0, 2: 0}, "class_weight.*zero"),
        ({7: 1}, "class_weight"),
        ({0: NAN, 1: 1, 2: 1}, "class_weight.*nan"),
    ],
)
def test_bad_class_weights(tree, forest, booster, bad, match):
    for estimator in (tree, forest, booster):
        estimator.set_params(class_weight=bad)
        refuse(estimator, ValueError, match, OTHER, Y)


@pytest.mark.parametrize(("name", "value"), each(BAD_TREE_PARAMETERS))
def test_bad_parameters_of_the_tree(tree, name, value):
    tree.set_params(**{name: value})
    refuse(tree, (ValueError, TypeError), name.replace("__", r"\."), OTHER, Y)


def refuse_unfitted(model, name, value):
    """Check that the error contains the parameter and its value."""
    before = vars(model).copy()
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(X, Y)
    assert name.replace("__", ".") in str(caught.value)
    shown = value.__name__ if isinstance(value, type) else str(value)
    assert shown in str(caught.value)
    assert vars(model) == before


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("name", "value"), each(BAD_FOREST_PARAMETERS))
def test_bad_parameters_of_the_forest(name, value):
    refuse_unfitted(CGForestClassifier().set_params(**{name: value}), name, value)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("name", "value"), each(BAD_BOOSTING_PARAMETERS))
def test_bad_parameters_of_boosting(name, value):
    refuse_unfitted(CGBoostingClassifier().set_params(**{name: value}), name, value)


def test_all_parameters_of_boosting_are_tried():
    model = CGBoostingClassifier(
        sampling=GOSS(), categorical=CategoricalOptions(), advanced=BoostingOptions()
    )
    assert set(BAD_BOOSTING_PARAMETERS) == set(model.get_params())


@pytest.mark.quick(5)
@pytest.mark.parametrize(("name", "value"), each(BAD_FOREST_PARAMETERS))
def test_failed_refit_keeps_the_forest(forest, name, value):
    forest.set_params(**{name: value})
    refuse(forest, (ValueError, TypeError), name.replace("__", r"\."), OTHER, Y)


@pytest.mark.quick(5)
@pytest.mark.parametrize(("name", "value"), each(BAD_BOOSTING_PARAMETERS))
def test_failed_refit_keeps_boosting(booster, name, value):
    booster.set_params(**{name: value})
    refuse(booster, (ValueError, TypeError), name.replace("__", r"\."), OTHER, Y)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"bootstrap": False, "max_samples": 7}, "max_samples=7.*bootstrap=False"),
        ({"bootstrap": False, "oob_score": True}, "oob_score=True.*bootstrap=False"),
        ({"max_samples": 2**30 + 1}, "max_samples=1073741825.*1073741824"),
        ({"max_samples": 1e300}, r"max_samples=1e\+300"),
    ],
    ids=str,
)
def test_contradictory_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        CGForestClassifier(**parameters).fit(X, Y)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        (
            {"sampling": GOSS(top_rate=0.7, other_rate=0.4)},
            "sampling: top_rate=0.7.*other_rate=0.4.*at most 1",
        ),
        (
            {"sampling": GOSS(top_rate=0.0, other_rate=0.0)},
            "sampling: top_rate=0.*other_rate=0.*above 0",
        ),
        (
            {"sampling": "goss", "subsample": 0.5},
            r"subsample=0.5.*sampling='goss'.*GOSS\(top_rate",
        ),
        (
            {"sampling": GOSS(), "subsample": 1.0},
            r"subsample=1.0.*sampling=GOSS\(\).*GOSS\(top_rate",
        ),
        (
            {"sampling": None, "subsample": 0.5},
            "subsample=0.5 needs sampling='mvs'.*sampling=None",
        ),
        (
            {"early_stopping": True, "validation_fraction": 30},
            "validation_fraction=30.*30 rows",
        ),
        (
            {"early_stopping": True, "validation_fraction": 0.99},
            "validation_fraction=0.99.*30 rows",
        ),
    ],
    ids=str,
)
def test_contradictory_parameters_of_boosting(parameters, match):
    with pytest.raises(ValueError, match=match):
        CGBoostingClassifier(**parameters).fit(X, Y)


BAD_VALIDATION = {
    "only X_val": ({"X_val": X}, "y_val is missing"),
    "only y_val": ({"y_val": Y}, "X_val is missing"),
    "other classes": ({"X_val": X, "y_val": Y + 1}, r"y_val.*\[3\]"),
    "other labels": ({"X_val": X, "y_val": np.array(["a", "b"] * 15)}, "y_val.*'a'"),
    "other width": ({"X_val": X[:, :2], "y_val": Y}, "X_val.*2 features.*3 features"),
    "no rows": ({"X_val": X[:0], "y_val": Y[:0]}, "X_val.*0 sample"),
    "short": ({"X_val": X, "y_val": Y[:-1]}, "y_val.*30.*29"),
    "continuous": ({"X_val": X, "y_val": X[:, 0]}, "y_val.*continuous"),
    "NaN": ({"X_val": X, "y_val": np.where(Y, Y, NAN)}, "y_val.*NaN"),
    "1-D": ({"X_val": X[:, 0], "y_val": Y}, "X_val.*2D"),
    "strings": ({"X_val": np.array([["a"] * 3] * N), "y_val": Y}, "X_val.*'a'"),
    "sparse": (
        {"X_val": scipy.sparse.csr_matrix(X[:, :2]), "y_val": Y},
        "X_val.*2 features.*3 features",
    ),
}


@pytest.mark.parametrize("early_stopping", [True, False, "auto"])
@pytest.mark.parametrize("name", BAD_VALIDATION)
def test_bad_validation_rows(booster, name, early_stopping):
    bad, match = BAD_VALIDATION[name]
    booster.set_params(early_stopping=early_stopping)
    refuse(booster, (ValueError, TypeError), f"(?s){match}", X, Y, **bad)


@pytest.mark.parametrize(("name", "value"), each(BAD_CANDIDATE_PARAMETERS))
def test_bad_parameters_of_candidates(name, value):
    found = CentroidCandidates(random_state=0).fit(X, Y)
    found.set_params(**{name: value})
    refuse(found, (ValueError, TypeError), name, OTHER, Y)
    for model in (
        CGTreeClassifier(),
        CGForestClassifier(n_estimators=2),
        CGBoostingClassifier(n_estimators=2),
    ):
        model.set_params(random_state=0).fit(X, Y)
        model.set_params(candidates=CentroidCandidates(**{name: value}))
        refuse(model, (ValueError, TypeError), name, OTHER, Y)


@pytest.mark.parametrize("value", [1, 256, 2.5, "many"])
def test_bad_parameters_of_quantiles(value):
    found = QuantileCandidates(random_state=0).fit(X)
    refuse(found.set_params(max_bins=value), ValueError, "max_bins", OTHER)


@pytest.mark.quick(60)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i8"])
@pytest.mark.parametrize("n_features", [1, 2, 4, 40])
def test_wrong_number_of_features(tree, forest, booster, candidates, dtype, n_features):
    bad = np.zeros((5, n_features), dtype=dtype)
    message = f"X has {n_features} features, but .* is expecting 3 features"
    for call in (
        tree.predict,
        tree.predict_proba,
        tree.predict_log_proba,
        tree.apply,
        tree.decision_path,
        forest.predict,
        forest.predict_proba,
        forest.predict_log_proba,
        forest.apply,
        forest.decision_path,
        forest[0].predict,
        booster.predict,
        booster.predict_proba,
        booster.predict_log_proba,
        booster.decision_function,
        booster.apply,
        lambda bad: next(booster.staged_predict(bad)),
        candidates.transform,
    ):
        with pytest.raises(ValueError, match=message):
            call(bad)


def test_predict_is_safe_after_a_failed_refit():
    # A tree with 40 features must not read rows with two.
    wide = RNG.normal(size=(200, 40))
    tree = CGTreeClassifier(random_state=0).fit(wide, (wide[:, 39] > 0).astype(int))
    with pytest.raises(ValueError, match="y"):
        tree.fit(OTHER, None)
    with pytest.raises(ValueError, match="X has 2 features"):
        tree.predict(OTHER)
    assert tree.predict(wide).shape == (200,)


def test_other_feature_names(tree):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    tree.fit(frame, Y)
    for names in (["a", "b", "x"], ["c", "b", "a"]):
        with pytest.raises(ValueError, match="feature names should match"):
            tree.predict(frame.set_axis(names, axis=1))
    refuse(tree, ValueError, "y", frame.rename(columns={"a": "z"}), None)
    assert tree.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "method",
    [
        "predict",
        "predict_proba",
        "predict_log_proba",
        "apply",
        "decision_path",
        "get_depth",
        "get_n_leaves",
    ],
)
def test_unfitted_tree(method):
    call = getattr(CGTreeClassifier(), method)
    with pytest.raises(NotFittedError, match="CGTreeClassifier"):
        call(X) if not method.startswith("get") else call()


@pytest.mark.parametrize(
    "method",
    ["predict", "predict_proba", "predict_log_proba", "apply", "decision_path"],
)
def test_unfitted_forest(method):
    with pytest.raises(NotFittedError, match="CGForestClassifier"):
        getattr(CGForestClassifier(), method)(X)


@pytest.mark.parametrize(
    "method",
    [
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
        "apply",
        "staged_predict",
        "staged_predict_proba",
        "staged_decision_function",
    ],
)
def test_unfitted_booster(method):
    with pytest.raises(NotFittedError, match="CGBoostingClassifier"):
        list(getattr(CGBoostingClassifier(), method)(X))


def test_unfitted_attributes():
    with pytest.raises(NotFittedError):
        CGBoostingClassifier().split_counts_  # noqa: B018
    for model in (CGTreeClassifier(), CGForestClassifier(), CGBoostingClassifier()):
        with pytest.raises(NotFittedError):
            model.feature_importances_  # noqa: B018
    with pytest.raises(NotFittedError):
        CentroidCandidates().thresholds_  # noqa: B018
    for source in (CentroidCandidates(), QuantileCandidates()):
        with pytest.raises(NotFittedError, match=re.escape(type(source).__name__)):
            source.transform(X)


def test_missing_labels_are_named():
    for source in (
        CentroidCandidates.paper(),
        CentroidCandidates(centroid_source="class"),
    ):
        with pytest.raises(ValueError, match="y"):
            source.fit(X)
    with pytest.raises(TypeError, match="y"):
        CGTreeClassifier().fit(X)
