"""Early stopping of CGBoostingClassifier."""

import numpy as np
import pytest
from boosting_data import DATA, GRID, booster, mean_loss
from checks import GivenCandidates, digest, same_bytes
from sklearn.base import clone
from sklearn.metrics import log_loss


@pytest.fixture(params=[2, 3])
def data(request):
    return DATA[request.param]


def best_round(scores, patience, tol):
    """Return the numbers of fitted and of kept rounds, by a plain loop."""
    best = 0
    for t in range(1, len(scores)):
        if scores[t] > scores[best] + tol:
            best = t
        if t - best >= patience:
            return t, best
    return len(scores) - 1, best


def start_probabilities(model, X, y):
    """Return probabilities before the first round."""
    shares = np.bincount(y, minlength=model.n_classes_) / len(y)
    return np.tile(shares, (len(X), 1))


def accuracy(model, X, y):
    return float((model.predict(X) == y).mean())


def negative_loss(model, X, y):
    return -log_loss(y, model.predict_proba(X), labels=model.classes_)


def score_of(scoring, y, p):
    if scoring in ("loss", "neg_log_loss", negative_loss):
        return -mean_loss(y, p)
    return float((p.argmax(axis=1) == y).mean())


SCORINGS = ["loss", "accuracy", None, "neg_log_loss", accuracy, negative_loss]


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize(("patience", "tol"), [(1, 0.0), (5, 1e-7), (4, 1e-2)])
def test_stops_like_a_plain_loop(data, scoring, patience, tol):
    X, y = data
    X, y, X_val, y_val = X[:250], y[:250], X[250:], y[250:]
    n_rounds = 60
    parameters = {"learning_rate": 0.5, "candidates": GivenCandidates(GRID)}
    full = booster(n_rounds, **parameters).fit(X, y)
    stages = [start_probabilities(full, X_val, y), *full.staged_predict_proba(X_val)]
    scores = [score_of(scoring, y_val, p) for p in stages]
    model = booster(
        n_rounds,
        early_stopping=True,
        scoring=scoring,
        n_iter_no_change=patience,
        tol=tol,
        **parameters,
    ).fit(X, y, X_val=X_val, y_val=y_val)
    done, kept = best_round(scores, patience, tol)
    assert 0 < done < n_rounds
    assert model.n_iter_ == len(model.trees_) == kept
    np.testing.assert_allclose(
        model.validation_score_, scores[: done + 1], rtol=1e-5, atol=1e-6
    )
    assert len(model.train_score_) == done + 1
    expected = stages[kept]
    np.testing.assert_allclose(model.predict_proba(X_val), expected, atol=1e-6)
    same = full.trees_.first(kept)
    assert model.trees_.nodes.tobytes() == same.nodes.tobytes()
    assert model.trees_.leaf_values.tobytes() == same.leaf_values.tobytes()


@pytest.mark.parametrize("scoring", ["loss", "accuracy"])
def test_stops_by_the_training_rows(data, scoring):
    X, y = data
    parameters = {"learning_rate": 0.7, "min_samples_leaf": 1}
    full = booster(100, **parameters).fit(X, y)
    stages = [start_probabilities(full, X, y), *full.staged_predict_proba(X)]
    scores = [score_of(scoring, y, p) for p in stages]
    model = booster(
        100,
        early_stopping=True,
        validation_fraction=None,
        scoring=scoring,
        n_iter_no_change=4,
        tol=1e-3,
        **parameters,
    ).fit(X, y)
    done, kept = best_round(scores, 4, 1e-3)
    assert model.n_iter_ == kept < done < 100
    assert len(model.validation_score_) == 0
    np.testing.assert_allclose(model.train_score_, scores[: done + 1], atol=1e-5)


@pytest.mark.parametrize(("fraction", "n_held"), [(0.25, 100), (40, 40), (1, 1)])
def test_held_out_rows(data, fraction, n_held):
    X, y = data
    seen = []

    def scorer(model, X, y):
        seen.append((X, y))
        return accuracy(model, X, y)

    model = booster(
        20, early_stopping=True, validation_fraction=fraction, scoring=scorer
    ).fit(X, y)
    held, labels = seen[0]
    assert len(held) == len(labels) == n_held
    if n_held > 1:  # stratified
        shares = np.bincount(labels) / n_held
        np.testing.assert_allclose(shares, np.bincount(y) / len(y), atol=0.05)
    assert model.trees_.n_samples[0] == len(y) - n_held


def test_held_out_rows_are_not_trained_on(data):
    X, y = data
    candidates = GivenCandidates(GRID)
    parameters = {"early_stopping": True, "validation_fraction": 100}
    seen = []

    def scorer(model, X, y):
        seen.append((X, y))
        return accuracy(model, X, y)

    model = booster(20, scoring=scorer, candidates=candidates, **parameters).fit(X, y)
    held, labels = seen[0]
    places = {row.tobytes(): i for i, row in enumerate(X)}
    out = np.isin(np.arange(len(y)), [places[row.tobytes()] for row in held])
    rest = booster(20, early_stopping=True, scoring=accuracy, candidates=candidates)
    rest.fit(X[~out], y[~out], X_val=held, y_val=labels)
    same_bytes(model, rest)
    np.testing.assert_array_equal(model.validation_score_, rest.validation_score_)


def test_held_out_rows_of_rare_classes(data):
    # A class with one row cannot be on both sides.
    X, y = data
    labels = y.copy()
    labels[0] = 9
    model = booster(5, early_stopping=True, validation_fraction=0.2).fit(X, labels)
    assert model.classes_.tolist() == [*np.unique(y), 9]
    assert np.isfinite(model.train_score_).all()
    assert np.isfinite(model.validation_score_).all()


def test_validation_rows_of_weight_zero(data):
    X, y = data
    weights = (np.arange(len(y)) % 2).astype(float)
    seen = []

    def scorer(model, X, y):
        seen.append(len(y))
        return accuracy(model, X, y)

    booster(3, early_stopping=True, validation_fraction=0.1, scoring=scorer).fit(
        X, y, sample_weight=weights
    )
    assert set(seen) == {20}


def test_validation_rows_without_early_stopping(data):
    X, y = data
    model = booster(8, early_stopping=False).fit(
        X[:300], y[:300], X_val=X[300:], y_val=y[300:]
    )
    assert model.n_iter_ == 8
    expected = [-mean_loss(y[300:], p) for p in model.staged_predict_proba(X[300:])]
    np.testing.assert_allclose(model.validation_score_[1:], expected, rtol=1e-5)
    same_bytes(model, booster(8).fit(X[:300], y[:300]))


def test_early_stopping_by_itself(data):
    X, y = data
    auto = booster(early_stopping="auto", validation_fraction=0.1)
    assert len(clone(auto).fit(X, y).validation_score_) == 0
    given = clone(auto).fit(X, y, X_val=X, y_val=y)
    assert len(given.validation_score_) > 0


@pytest.mark.filterwarnings("ignore:Early stopping keeps none")
def test_no_improvement():
    # The labels of the validation rows are swapped, so the start is the best.
    X = np.arange(40.0)[:, None]
    y = np.arange(40) // 20
    model = booster(
        30, early_stopping=True, n_iter_no_change=3, candidates=GivenCandidates([[20]])
    ).fit(X, y, X_val=X, y_val=1 - y)
    assert model.n_iter_ == 0
    assert len(model.validation_score_) == 4
    assert model.predict_proba(X) == pytest.approx(0.5)
    assert model.apply(X).shape == (40, 0)
    assert model.feature_importances_.tolist() == [0.0]


def test_patience_can_be_a_numpy_scalar(data):
    X, y = data
    model = booster(30, early_stopping=True, n_iter_no_change=np.int64(2)).fit(X, y)
    assert 0 < model.n_iter_ <= 30


@pytest.mark.filterwarnings("ignore:Early stopping keeps none")
def test_a_scorer_gets_the_weights(data):
    X, y = data
    seen = []

    def scorer(model, X, y, sample_weight=None):
        seen.append(sample_weight)
        return 0.0

    weights = np.random.default_rng(0).uniform(1, 2, len(y))
    model = booster(3, early_stopping=True, scoring=scorer, validation_fraction=50)
    model.fit(X, y, sample_weight=weights)
    ratios = np.sort(seen[0]) / np.sort(seen[0]).max()
    assert len(ratios) == 50
    assert all(np.isclose(r, weights / weights.max(), rtol=0.5).any() for r in ratios)
    model.fit(X, y)
    assert seen[-1] is None


def test_class_weights_apply_to_validation_rows(data):
    X, y = data
    classes = {label: label + 1.0 for label in np.unique(y)}
    model = booster(3, early_stopping=True, class_weight=classes)
    model.fit(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(model.validation_score_, model.train_score_, rtol=1e-6)


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (lambda model, X, y: np.nan, "scoring returned NaN"),
        (lambda model, X, y: model.predict(X[:3]).sum(), "predictions of 3 rows"),
    ],
    ids=["nan", "a few rows"],
)
def test_bad_scorers(data, scorer, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        booster(3, early_stopping=True, scoring=scorer).fit(X, y)


def test_validation_scores_by_round(data):
    X, y = data
    model = booster(5, warm_start=True).fit(X, y)
    model.set_params(n_estimators=8).fit(X, y, X_val=X, y_val=y)
    assert len(model.train_score_) == len(model.validation_score_) == 9
    assert np.isnan(model.validation_score_[:6]).all()
    np.testing.assert_allclose(model.validation_score_[6:], model.train_score_[6:])


def test_splits_of_dropped_rounds_can_be_used_again(data):
    X, y = data
    parameters = {"reuse_splits": False, "max_candidates": 20}
    model = booster(40, warm_start=True, early_stopping=True, **parameters)
    half = len(y) // 2
    model.fit(X[:half], y[:half], X_val=X[half:], y_val=y[half:])
    n_rounds = model.n_iter_ + 5
    model.set_params(early_stopping=False, n_estimators=n_rounds)
    model.fit(X[:half], y[:half])
    once = booster(n_rounds, **parameters).fit(X[:half], y[:half])
    assert digest(model) == digest(once)
