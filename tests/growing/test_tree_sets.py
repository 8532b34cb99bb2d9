"""Sets of categories in trees and forests, against NumPy, for every node."""

import itertools

import numpy as np
import pandas as pd
import pytest
from checks import UNTRIED, make, same_bytes

import dics
import dics.export
from dics import (
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    TreeOptions,
)
from dics._growing.settings import SET_CHARGE

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def few_rows_of_each_category(monkeypatch):
    """Rank categories with few rows."""
    monkeypatch.setattr("dics._input.category_encoder.LEAST_ROWS", 10)


def make_rows(n, n_categories, seed, missing=0.0):
    """Make categories with effects that depend on the sign of a number."""
    rng = np.random.default_rng(seed)
    category = (n_categories * rng.random(n) ** 1.5).astype(int).astype(float)
    x = rng.normal(size=n).round(1)
    effects = 2 * rng.normal(size=(2, n_categories))
    y = effects[(x > 0).astype(int), category.astype(int)] + 0.5 * rng.normal(size=n)
    y += 2 * (x > 0)
    category[rng.random(n) < missing] = np.nan
    return np.stack([category, x, rng.integers(0, 5, n)], axis=1), y


# --- the reference --------------------------------------------------------------------


class ClassFractions:
    """Gini or entropy; targets have one column per class."""

    def __init__(self, criterion):
        self.is_gini = criterion == "gini"

    def worth(self, Y, w):
        """Return the negative impurity, times the weight."""
        sums = (w[:, None] * Y).sum(axis=0)
        share = sums[sums > 0] / w.sum()
        return w.sum() * (
            (share**2).sum() - 1 if self.is_gini else (share * np.log2(share)).sum()
        )

    def noise(self, Y, w, n_categories):
        share = np.average(Y, axis=0, weights=w)
        covariance = np.diag(share) - np.outer(share, share)
        unit = np.trace(covariance)
        if not self.is_gini:
            unit = ((share > 0).sum() - 1) / (2 * np.log(2))
        # Number of directions, and the noise of the first one.
        d = np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
        first = min(1.0, (1 + np.sqrt(d / (n_categories - 1))) ** 2 / d)
        return unit * first * w.mean()

    def values(self, Y):
        """Return the values of rows that determine the order of categories."""
        Y = Y[:, Y.any(axis=0)]
        return Y[:, 1:] if Y.shape[1] == 2 else Y


class Numbers:
    """Squared error, absolute error or half the Poisson deviance."""

    def __init__(self, criterion):
        self.criterion = criterion

    def worth(self, Y, w):
        if self.criterion == "absolute_error":
            return -sum((w * np.abs(y - weighted_median(y, w))).sum() for y in Y.T)
        mean = np.average(Y, axis=0, weights=w)
        if self.criterion == "poisson":
            if (mean <= 0).any():
                return -np.inf
            terms = np.where(Y > 0, Y * np.log(np.where(Y > 0, Y, 1) / mean), 0)
            return -(w[:, None] * (terms - Y + mean)).sum() / Y.shape[1]
        return -(w[:, None] * (Y - mean) ** 2).sum() / Y.shape[1]

    def noise(self, Y, w, n_categories):
        mean = np.average(Y, axis=0, weights=w)
        variance = ((Y - mean) ** 2).mean(axis=0)
        each = {
            "squared_error": variance,
            "poisson": variance / (2 * mean),
            "absolute_error": np.sqrt(variance * np.pi / 8),
        }[self.criterion]
        return each.mean() * w.mean()

    def values(self, Y):
        return Y


def weighted_median(y, w):
    order = np.argsort(y)
    reached = 2 * np.cumsum(w[order]) >= w.sum()
    return y[order][reached.argmax()]


def category_order(ranks, Y, w, smooth):
    """Return the categories sorted by their smoothed mean targets."""
    categories = np.unique(ranks[~np.isnan(ranks)])
    added, mean = smooth * w.mean(), np.average(Y, axis=0, weights=w)
    means = np.array(
        [
            ((w[:, None] * Y)[ranks == category].sum(axis=0) + added * mean)
            / (w[ranks == category].sum() + added)
            for category in categories
        ]
    )
    keys = means[:, 0] if Y.shape[1] == 1 else along(means, ranks, categories)
    return categories[np.lexsort([categories, keys])]


def along(means, ranks, categories):
    """Project means onto their first principal direction, by power iteration."""
    rows = np.array([(ranks == category).sum() for category in categories])
    centered = means - np.average(means, axis=0, weights=rows)
    direction = centered[rows.argmax()]
    for _ in range(12):
        if not direction.any():
            break
        direction = direction / np.linalg.norm(direction)
        direction = (rows * (centered @ direction)) @ centered
    return centered @ direction


def allowed_sets(ranks, order, min_rows, max_categories):
    """Return the prefixes of an order that may be sets; rare categories are pooled."""
    rows = [(ranks == category).sum() for category in order]
    start = 0
    for end in range(1, len(order)):
        if sum(rows[end:]) < min_rows:
            return
        if (
            sum(rows[start:end]) < min_rows
            or min(end, len(order) - end) > max_categories
        ):
            continue
        start = end
        yield order[:end]


class Twin:
    """The best split of rows by one feature."""

    def __init__(self, measure, model):
        self.measure = measure
        set_limits = model._category_settings().set_limits
        self.limits = model.min_samples_leaf, set_limits.min_rows
        self.max_categories = model._categorical.max_categories or 256
        self.smooth = model._categorical.smooth

    def gain(self, Y, w, left):
        least = max(1, self.limits[0])
        if min(left.sum(), (~left).sum()) < least:
            return -np.inf
        worth = self.measure.worth
        return worth(Y[left], w[left]) + worth(Y[~left], w[~left]) - worth(Y, w)

    def best_set(self, ranks, Y, w):
        values = self.measure.values(Y)
        order = category_order(ranks, values, w, self.smooth)
        if len(order) < 3 or len(ranks) // 2 < self.limits[1]:
            return -np.inf
        gains = [
            self.gain(Y, w, np.isin(ranks, chosen) | (np.isnan(ranks) & with_missing))
            for chosen in allowed_sets(
                ranks, order, self.limits[1], self.max_categories
            )
            for with_missing in {False, bool(np.isnan(ranks).any())}
        ]
        return max(gains, default=-np.inf) - self.charge(ranks, Y, w)

    def charge(self, ranks, Y, w):
        n_categories = len(np.unique(ranks[~np.isnan(ranks)]))
        return SET_CHARGE * (n_categories - 1) * self.measure.noise(Y, w, n_categories)

    def best_cut(self, column, Y, w, thresholds):
        missing = np.isnan(column)
        gains = [self.gain(Y, w, missing)] + [
            self.gain(Y, w, (column < threshold) | (missing & with_missing))
            for threshold in thresholds
            for with_missing in (False, True)
        ]
        return max(gains)


def goes_left(tree, node, column):
    """Return a mask of the rows that go left, by a set of ranks or a threshold."""
    members = None if tree.sets is None else tree.sets.members(node)
    if members is None:
        left = column < tree.threshold[node]
    else:
        left = members[np.nan_to_num(column).astype(int)]
    return np.where(np.isnan(column), tree.missing_left[node] == 1, left)


def check_nodes(model, tree, X, Y, w, measure, *, only_chosen=False):
    """Compare every split with the best one; return the number of sets.

    With sampled features, compare it with the best split of the chosen feature.
    """
    columns = model._check_matrix(X)
    twin = Twin(measure, model)
    thresholds = model.candidates_.thresholds_
    rows_of = {0: np.flatnonzero(w > 0)}
    n_sets = 0
    for node in range(tree.n_nodes):
        rows = rows_of[node]
        assert tree.n_samples[node] == len(rows)
        feature = tree.feature[node]
        if feature < 0:
            continue
        left = goes_left(tree, node, columns[rows, feature])
        rows_of[tree.left[node]] = rows[left]
        rows_of[tree.left[node] + 1] = rows[~left]
        own = Y[rows], w[rows]
        found = twin.gain(*own, left)
        if tree.sets.numbers[node] >= 0:
            assert feature == 0
            found -= twin.charge(columns[rows, 0], *own)
            n_sets += 1
        best = max(
            twin.best_cut(columns[rows, f], *own, thresholds[f])
            for f in ([feature] if only_chosen else range(X.shape[1]))
        )
        if feature == 0 or not only_chosen:
            best = max(best, twin.best_set(columns[rows, 0], *own))
        assert found == pytest.approx(best, rel=1e-6, abs=1e-7)
    return n_sets


CASES = {
    "plain": {},
    "missing": {"missing": 0.1},
    "weights": {"weights": "whole"},
    "fractions": {"weights": "fractions", "missing": 0.1},
    "leaves": {"min_samples_leaf": 15},
    "limits": {"min_samples": 25, "max_categories": 2},
    "smooth": {"smooth": 0.0, "min_samples": 5},
}


def make_case(case, seed, n_categories=8, n=600):
    case = dict(CASES[case])
    X, y = make_rows(n, n_categories, seed, case.pop("missing", 0.0))
    rng = np.random.default_rng(seed)
    weights = {
        None: None,
        "whole": rng.integers(0, 4, n).astype(float),
        "fractions": rng.random(n) + 0.1,
    }[case.pop("weights", None)]
    parameters = {
        "categorical_features": [0],
        "max_depth": 3,
        "min_samples": 10,
        "random_state": seed,
        **case,
    }
    return X, y, weights, parameters


def as_labels(y, n_classes):
    return np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)


@pytest.mark.quick(8)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("case", CASES)
def test_classification_trees_have_the_best_sets(case, criterion, n_classes):
    n_sets = 0
    for seed in (1, 3):
        X, y, weights, parameters = make_case(case, seed)
        labels = as_labels(y, n_classes)
        model = make(
            CGTreeClassifier, criterion=criterion, renew_thresholds=False, **parameters
        ).fit(X, labels, weights)
        w = np.ones(len(y)) if weights is None else weights
        Y = np.eye(n_classes)[labels]
        n_sets += check_nodes(model, model.trees_, X, Y, w, ClassFractions(criterion))
    assert n_sets > 0


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    ("criterion", "n_outputs"),
    [("squared_error", 1), ("squared_error", 2), ("poisson", 1), ("absolute_error", 1)],
)
@pytest.mark.parametrize("case", CASES)
def test_regression_trees_have_the_best_sets(case, criterion, n_outputs):
    n_sets = 0
    for seed in (1, 3):
        X, y, weights, parameters = make_case(case, seed)
        Y = np.stack([y, np.sin(3 * y)], axis=1)[:, :n_outputs]
        Y = np.exp(Y) if criterion == "poisson" else Y
        model = make(
            CGTreeRegressor, criterion=criterion, renew_thresholds=False, **parameters
        ).fit(X, Y if n_outputs > 1 else Y[:, 0], weights)
        w = np.ones(len(y)) if weights is None else weights
        n_sets += check_nodes(model, model.trees_, X, Y, w, Numbers(criterion))
    assert n_sets > 0


def test_leaf_limit_with_the_best_sets():
    X, y, _, parameters = make_case("missing", 3)
    parameters |= {"max_depth": None, "max_leaf_nodes": 9, "renew_thresholds": False}
    model = make(CGTreeRegressor, **parameters).fit(X, y)
    measure = Numbers("squared_error")
    assert check_nodes(model, model.trees_, X, y[:, None], np.ones(len(y)), measure) > 0
    assert model.get_n_leaves() == 9


@pytest.mark.quick(2)
@pytest.mark.parametrize("feature_sampling", ["node", "tree"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_forests_have_the_best_sets_of_their_samples(kind, feature_sampling):
    X, y, _, parameters = make_case("missing", 1)
    parameters |= {"n_estimators": 8, "max_features": 2, "max_depth": 5}
    parameters |= {"feature_sampling": feature_sampling}
    parameters = {**UNTRIED, **parameters}
    if kind == "classes":
        cls, y = CGForestClassifier, as_labels(y, 3)
        Y, measure = np.eye(3)[y], ClassFractions("gini")
    else:
        cls, Y, measure = CGForestRegressor, y[:, None], Numbers("squared_error")
    model = make(cls, **parameters).fit(X, y)
    n_sets = 0
    for t, rows in enumerate(model.estimators_samples_):
        w = np.bincount(rows, minlength=len(y)).astype(float)
        n_sets += check_nodes(
            model, model.trees_[t], X, Y, w, measure, only_chosen=True
        )
    assert n_sets > 0
    assert n_sets == len(model.trees_.sets.words)


# --- around the search ----------------------------------------------------------------

MODELS = [CGTreeClassifier, CGTreeRegressor, CGForestClassifier, CGForestRegressor]


def make_frame(n=4000, seed=0):
    """Make two categorical features with effects that depend on a number."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    city, day = rng.integers(0, 30, n), rng.integers(0, 7, n)
    frame["city"] = pd.Categorical([f"city {i}" for i in city])
    frame["day"] = pd.Categorical([f"day {i}" for i in day])
    frame.loc[rng.random(n) < 0.05, "city"] = None
    y = rng.normal(size=(2, 30))[(frame.x > 0).astype(int), city] + 0.1 * day * frame.z
    return frame, (y + 0.3 * rng.normal(size=n)).to_numpy()


def fitted(cls, *, n=4000, **parameters):
    frame, y = make_frame(n)
    if "Forest" in cls.__name__:
        parameters = {"n_estimators": 5, **parameters}
    if "Classifier" in cls.__name__:
        y = as_labels(y, 3)
    return make(cls, random_state=0, **parameters).fit(frame, y), frame, y


@pytest.mark.parametrize("cls", MODELS)
def test_sets_any_n_jobs(cls):
    one, _, _ = fitted(cls, n=20_000, n_jobs=1)
    assert len(one.trees_.sets.words) > 0
    for n_jobs in (2, 7):
        other, _, _ = fitted(cls, n=20_000, n_jobs=n_jobs)
        same_bytes(one, other)
        np.testing.assert_array_equal(one.trees_.sets.words, other.trees_.sets.words)


@pytest.mark.parametrize("cls", MODELS)
def test_sets_are_better_with_interactions(cls):
    frame, y = make_frame(8000)
    if "Classifier" in cls.__name__:
        y = as_labels(y, 3)
    limit = {"n_estimators": 10} if "Forest" in cls.__name__ else {}
    limit |= {"min_samples_leaf": 20, "random_state": 0}
    scores = []
    for least in (10**6, 20):
        model = make(cls, min_samples=least, **limit).fit(frame[:4000], y[:4000])
        scores.append(model.score(frame[4000:], y[4000:]))
        assert (len(model.trees_.sets.words) > 0) == (least == 20)
    assert scores[1] > scores[0] + 0.005


@pytest.mark.parametrize("cls", MODELS)
def test_random_categories_are_not_used(cls):
    rng = np.random.default_rng(0)
    n = 6000
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    frame["noise"] = pd.Categorical(rng.integers(0, 60, n))
    y = frame.a + frame.b * frame.c + rng.normal(size=n)
    if "Classifier" in cls.__name__:
        y = as_labels(y.to_numpy(), 3)
    limit = {"n_estimators": 5} if "Forest" in cls.__name__ else {}
    model = make(cls, random_state=0, min_samples_leaf=20, max_features=None, **limit)
    trees = model.fit(frame, y).trees_
    n_inner = np.count_nonzero(trees.feature >= 0)
    assert np.count_nonzero(trees.sets.numbers >= 0) < 0.01 * n_inner


def test_renewed_thresholds_keep_categories():
    frame, y = make_frame(20_000)
    model = CGTreeRegressor(
        advanced=TreeOptions(renew_thresholds=True), random_state=0
    ).fit(frame, y)
    tree, columns = model.trees_, model._check_matrix(frame)
    depths = tree.node_depths()[tree.sets.numbers >= 0]
    assert depths.max() > 6  # below the first sixteenth of the rows
    rows_of = {0: np.arange(len(y))}
    for node in range(tree.n_nodes):
        rows = rows_of[node]
        assert len(rows) == tree.n_samples[node]
        if tree.feature[node] < 0:
            continue
        left = goes_left(tree, node, columns[rows, tree.feature[node]])
        rows_of[tree.left[node]] = rows[left]
        rows_of[tree.left[node] + 1] = rows[~left]


@pytest.mark.parametrize("cls", MODELS)
def test_pruned_trees_keep_their_sets(cls):
    whole, frame, _ = fitted(cls)
    cut, _, _ = fitted(cls, ccp_alpha=2e-3)
    assert 0 < len(cut.trees_.sets.words) < len(whole.trees_.sets.words)
    np.testing.assert_array_equal(
        np.unique(cut.trees_.sets.numbers), np.arange(-1, len(cut.trees_.sets.words))
    )
    # Every leaf of the whole tree is below one leaf of the pruned one.
    for t in range(len(whole.trees_)):
        old = whole.trees_[t].apply(whole._check_matrix(frame), 1)[:, 0]
        new = cut.trees_[t].apply(whole._check_matrix(frame), 1)[:, 0]
        pairs = np.unique(np.stack([old, new]), axis=1)
        assert len(np.unique(pairs[0])) == pairs.shape[1]


@pytest.mark.parametrize("cls", MODELS)
def test_saved_models_with_sets(cls, tmp_path):
    model, frame, _ = fitted(cls)
    model.save(tmp_path / "model.dics")
    loaded = dics.load(tmp_path / "model.dics")
    same_bytes(model, loaded)
    np.testing.assert_array_equal(model.predict(frame), loaded.predict(frame))
    if "Forest" in cls.__name__:
        tree = model.estimators_[2]
        np.testing.assert_array_equal(
            tree.apply(frame),
            model.trees_[2].apply(model._check_matrix(frame), 1)[:, 0],
        )


@pytest.mark.parametrize("cls", [CGForestClassifier, CGForestRegressor])
def test_a_warm_start_adds_sets(cls):
    frame, y = make_frame()
    y = as_labels(y, 3) if cls is CGForestClassifier else y
    whole = cls(n_estimators=6, random_state=0).fit(frame, y)
    parts = cls(n_estimators=3, random_state=0, warm_start=True).fit(frame, y)
    parts.set_params(n_estimators=6).fit(frame, y)
    same_bytes(whole, parts)
    np.testing.assert_array_equal(whole.predict(frame), parts.predict(frame))


@pytest.mark.parametrize("cls", MODELS)
def test_texts_and_contributions_with_sets(cls):
    model, frame, _ = fitted(cls, max_depth=6, min_samples_leaf=20)
    tree = model if "Tree" in cls.__name__ else model[0]
    assert " in {city " in dics.export.export_text(tree)
    added = model.predict_contributions(frame[:50]).sum(axis=1)
    predicted = (
        model.predict_proba(frame[:50])
        if "Classifier" in cls.__name__
        else model.predict(frame[:50])
    )
    np.testing.assert_allclose(added, predicted, atol=1e-5)


def test_sampled_candidates_are_thresholds():
    for parameters in ({"max_candidates": 20}, {"reuse_splits": False, "max_depth": 4}):
        model, _, _ = fitted(CGTreeClassifier, **parameters)
        assert model.trees_.sets is None


def test_constraints_with_sets():
    frame, y = make_frame()
    y = as_labels(y + frame.z, 2)
    model = CGTreeClassifier(
        monotonic_cst={"z": 1}, min_samples_leaf=20, random_state=0
    ).fit(frame, y)
    assert len(model.trees_.sets.words) > 0
    shares = [
        model.predict_proba(frame.assign(z=z))[:, 1] for z in np.linspace(-2, 2, 9)
    ]
    for low, high in itertools.pairwise(shares):
        assert (high >= low).all()
