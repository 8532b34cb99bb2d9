"""Estimator checks of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dics import (
    GOSS,
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

WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


HARD_VOTES = {
    "check_class_weight_classifiers": (
        "hard votes of fully grown trees are noisy; the check limits trees by the "
        "parameter min_weight_fraction_leaf, which is an option of forests"
    )
}


def expected_failed_checks(estimator):
    """Return the failures that scikit-learn also declares for its own estimators."""
    if isinstance(estimator, CentroidCandidates) and not estimator.fill_quantiles:
        return dict.fromkeys(
            WEIGHT_CHECKS,
            "the start of K-means and the batches are sampled by row index, so "
            "two equal rows differ from one row of weight two",
        )
    if (
        isinstance(estimator, CGForestClassifier | CGForestRegressor)
        and estimator.bootstrap
    ):
        return dict.fromkeys(
            WEIGHT_CHECKS,
            "rows are sampled by weight, so two equal rows and one row of weight "
            "two are sampled equally often only on average",
        )
    if isinstance(estimator, CGBoostingClassifier | CGBoostingRegressor):
        drawn = estimator.sampling not in (None, "auto")
        if drawn or estimator.early_stopping is True:
            return dict.fromkeys(
                WEIGHT_CHECKS,
                "rows are sampled or held out by row index, so two equal rows "
                "differ from one row of weight two",
            )
    if isinstance(estimator, CGTreeClassifier | CGForestClassifier) and (
        getattr(estimator._options, "reuse_splits", True) is False
        or getattr(estimator._options, "voting", "") == "hard"
    ):
        return {
            **(HARD_VOTES if isinstance(estimator, CGForestClassifier) else {}),
            "check_classifiers_train": (
                "X is rounded for estimators with categories, and its few values leave "
                "too few splits if they are sampled or used once"
            ),
        }
    if isinstance(estimator, CGTreeRegressor) and estimator.criterion == "poisson":
        return {"check_regressor_multioutput": "its targets are negative"}
    return {}


ONE_OF_EACH = [
    CGTreeClassifier(),
    CGTreeRegressor(),
    CGForestClassifier(n_estimators=5),
    CGForestRegressor(n_estimators=5),
    CGBoostingClassifier(
        n_estimators=20, min_samples_leaf=1, sampling=None, early_stopping=False
    ),
    CGBoostingRegressor(n_estimators=20, min_samples_leaf=1, sampling=None),
    CentroidCandidates(),
    QuantileCandidates(),
]
OTHER_SETTINGS = [
    CGTreeClassifier(advanced=TreeOptions(max_candidates=10)),
    CGTreeClassifier(criterion="entropy", advanced=TreeOptions(reuse_splits=False)),
    CGTreeRegressor(criterion="poisson", advanced=TreeOptions(max_candidates=10)),
    CGForestClassifier(
        n_estimators=5,
        advanced=ForestOptions(
            feature_sampling="tree",
            max_candidates=100,  # data with two columns need more than a few per node
            voting="hard",
        ),
        bootstrap=False,
    ),
    CGForestClassifier(n_estimators=60, oob_score=True, criterion="entropy"),
    CGForestRegressor(n_estimators=5, max_features=0.5, bootstrap=False),
    CGBoostingClassifier(
        n_estimators=20,
        max_depth=3,
        max_leaf_nodes=None,
        advanced=BoostingOptions(max_candidates=100, leaf_values="sample"),
        sampling=GOSS(top_rate=0.3, other_rate=0.3),
        min_samples_leaf=1,
        learning_rate=0.3,
        early_stopping=False,
    ),
    CGBoostingClassifier(
        n_estimators=20, min_samples_leaf=1, sampling=None, early_stopping=True
    ),
    CGBoostingRegressor(
        loss="quantile", n_estimators=20, min_samples_leaf=1, sampling=None
    ),
    CGBoostingRegressor(
        loss="huber", n_estimators=60, min_samples_leaf=2, early_stopping=True
    ),
    CentroidCandidates.paper(),
]


@parametrize_with_checks(ONE_OF_EACH, expected_failed_checks=expected_failed_checks)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
# One of 16 rows has ten times the weight of the others: every tree samples it.
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.filterwarnings("ignore:Early stopping keeps none")
@parametrize_with_checks(OTHER_SETTINGS, expected_failed_checks=expected_failed_checks)
def test_other_settings(estimator, check):
    check(estimator)
