"""With all midpoints, trees equal those of the exhaustive search of scikit-learn.

The libraries break ties in different ways, and trees differ below a tie. With
continuous values and many rows per node, ties are unlikely. `min_samples_leaf` excludes
small nodes, in which ties between features are common.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

from dics import CGTreeClassifier, QuantileCandidates


def continuous(n_classes, seed, n=240, p=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) * 0.5
    return X, np.searchsorted(
        np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score
    )


def impurity(proba, criterion):
    """Return the mean impurity of the leaves, from class fractions of training rows."""
    if criterion == "gini":
        return (1 - (proba**2).sum(axis=1)).mean()
    logs = np.log2(proba, out=np.zeros_like(proba), where=proba > 0)
    return -(proba * logs).sum(axis=1).mean()


def fit_both(X, y, weights=None, **parameters):
    ours = CGTreeClassifier(
        candidates=QuantileCandidates(max_bins=255), random_state=0, **parameters
    ).fit(X, y, sample_weight=weights)
    theirs = DecisionTreeClassifier(random_state=0, **parameters)
    return ours, theirs.fit(X, y, sample_weight=weights)


@pytest.mark.quick(15)
@pytest.mark.parametrize("max_depth", [1, 2, 3, 4, None])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_same_training_impurity(n_classes, criterion, max_depth, seed):
    X, y = continuous(n_classes, seed)
    ours, theirs = fit_both(
        X, y, criterion=criterion, max_depth=max_depth, min_samples_leaf=8
    )
    assert impurity(ours.predict_proba(X), criterion) == pytest.approx(
        impurity(theirs.predict_proba(X), criterion), abs=1e-6
    )


@pytest.mark.parametrize("seed", range(5))
def test_same_groups_of_rows(seed):
    # Thresholds may differ below the root: these are midpoints of all rows.
    X, y = continuous(3, seed)
    ours, theirs = fit_both(X, y, max_depth=2, min_samples_leaf=8)
    pairs = set(zip(ours.apply(X), theirs.apply(X), strict=True))
    assert len(pairs) == ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.trees_.threshold[0] == pytest.approx(
        theirs.tree_.threshold[0], rel=1e-6
    )


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_same_training_impurity_with_weights(max_depth):
    X, y = continuous(3, 7)
    weights = np.random.default_rng(0).exponential(size=len(y))
    ours, theirs = fit_both(X, y, weights, max_depth=max_depth, min_samples_leaf=8)
    np.testing.assert_allclose(
        np.sort(ours.predict_proba(X), axis=0),
        np.sort(theirs.predict_proba(X), axis=0),
        atol=1e-6,
    )


@pytest.mark.parametrize("max_depth", [1, 2])
def test_same_first_levels_with_missing_values(max_depth):
    X, y = continuous(2, 3)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    ours, theirs = fit_both(X, y, max_depth=max_depth, min_samples_leaf=8)
    assert impurity(ours.predict_proba(X), "gini") == pytest.approx(
        impurity(theirs.predict_proba(X), "gini"), abs=1e-6
    )


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_pure_leaves_without_limits(load):
    # Fully grown trees are pure, regardless of ties.
    X, y = load(return_X_y=True)
    X, y = X[::3].astype(np.float32), y[::3]
    ours, theirs = fit_both(X, y)
    assert ours.score(X, y) == theirs.score(X, y) == 1.0
