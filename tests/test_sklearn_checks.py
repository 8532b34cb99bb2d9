"""scikit-learn's own checks of estimators."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from dics import CentroidCandidates, CGTreeClassifier, QuantileCandidates


def expected_failed_checks(estimator):
    """What scikit-learn declares for its own KMeans and MiniBatchKMeans."""
    if isinstance(estimator, CentroidCandidates) and not estimator.fill:
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "the start of K-means and the rows of a batch are drawn by their "
                "number, so a row given twice isn't a row of weight two"
            )
        }
    return {}


@parametrize_with_checks(
    [
        CGTreeClassifier(),
        CGTreeClassifier(max_candidates=10),
        CGTreeClassifier(criterion="entropy", reuse_splits=False),
        CentroidCandidates(),
        CentroidCandidates.paper(),
        QuantileCandidates(),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_scikit_learn(estimator, check):
    check(estimator)
