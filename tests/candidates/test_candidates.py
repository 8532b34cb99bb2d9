"""Algorithm 1: centroids, pairs and boundaries; its candidates as estimators."""

import numpy as np
import pytest
import reference
from checks import check_sound
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV

from dics import CentroidCandidates, CGTreeClassifier, QuantileCandidates
from dics._dictionary import all_pairs, boundaries, most_distant_pairs

pytestmark = pytest.mark.core

INF = np.inf


def blobs(n=300, p=4, k=4, seed=0):
    """Return clusters with large distances, which any clustering finds."""
    centers = np.random.default_rng(seed).permuted(
        np.arange(k)[:, None] * np.full(p, 100.0), axis=0
    )
    centers[:, 0] = np.arange(k) * 100
    return make_blobs(n, centers=centers, cluster_std=2.0, random_state=seed)


def ranges(X):
    return np.nanmin(X, axis=0), np.nanmax(X, axis=0), np.nanstd(X, axis=0)


# --- random numbers -------------------------------------------------------------------


def test_splitmix64_of_known_seeds():
    # The first numbers of the generator with seed 0 and with seed 1234567.
    assert reference.mix(0) == 0xE220A8397B1DCDAF
    assert reference.mix(1234567) == 6457827717110365317


def test_samples_have_no_repeats():
    for n, k in [(1, 1), (5, 0), (10, 10), (100, 7)]:
        chosen = reference.sample_without_replacement(3, n, k)
        assert len(set(chosen)) == k
        assert set(chosen) <= set(range(n))
        rows = reference.stratified_rows(3, n, max(1, k))
        assert rows == sorted(set(rows))


# --- centroids and scales -------------------------------------------------------------


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_kmeans_finds_clear_clusters(scale, dtype):
    X, y = blobs()
    X = X.astype(dtype)
    found = CentroidCandidates(
        n_clusters=4, centroid_source="kmeans", standardize=scale, random_state=0
    ).fit(X)
    order = np.argsort(found.centroids_[:, 0])
    labels = np.argsort([X[y == c, 0].mean() for c in range(4)])
    for at, c in zip(order, labels, strict=True):
        mean, std = X[y == c].mean(axis=0), X[y == c].std(axis=0)
        np.testing.assert_allclose(found.centroids_[at], mean, atol=1e-3)
        np.testing.assert_allclose(found.scales_[at], std, rtol=2e-3)


def test_centroids_are_means_of_the_measured_rows():
    # All rows are used, so the weighted mean of the centroids is the mean of X. The
    # weights are uncertain only for rows between two clusters.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    found = CentroidCandidates(
        n_clusters=6, centroid_source="kmeans", random_state=0
    ).fit(X)
    distance = ((X[:, None] - found.centroids_) ** 2 / X.var(axis=0)).sum(axis=2)
    share = np.bincount(distance.argmin(axis=1), minlength=6) / len(X)
    np.testing.assert_allclose(share @ found.centroids_, X.mean(axis=0), atol=0.1)
    # Total variance = within + between, for any clusters.
    within = share @ (found.scales_**2 + found.centroids_**2)
    np.testing.assert_allclose(within, (X**2).mean(axis=0), rtol=0.1)


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("n", [30, 2048])
def test_class_means(n, dtype):
    rng = np.random.default_rng(n)
    X = (rng.normal(size=(n, 3)) * [1, 10, 30] + 100).astype(dtype)
    y = rng.permutation(np.arange(n) % 3)
    found = CentroidCandidates(centroid_source="class", random_state=0).fit(X, y)
    groups = [X[y == c].astype(float) for c in range(3)]
    np.testing.assert_allclose(
        found.centroids_, [g.mean(axis=0) for g in groups], rtol=1e-5
    )
    np.testing.assert_allclose(
        found.scales_, [g.std(axis=0) for g in groups], rtol=1e-3
    )


def test_class_means_with_missing_and_infinite_values():
    # NaN counts as the mean of the feature, an infinity as its largest finite value.
    X = np.array([[0.0], [np.nan], [4.0], [INF], [8.0], [-INF]])
    y = [0, 0, 1, 1, 2, 2]
    found = CentroidCandidates(centroid_source="class", random_state=0).fit(X, y)
    np.testing.assert_allclose(found.centroids_, [[2.0], [6.0], [4.0]], atol=1e-5)


def test_automatic_centroids():
    X, y = blobs(k=3)
    both = CGTreeClassifier(random_state=0).fit(X, y).candidates_
    clusters = CentroidCandidates(centroid_source="kmeans", random_state=0).fit(X)
    classes = CentroidCandidates(centroid_source="class", random_state=0).fit(X, y)
    expected = np.concatenate([clusters.centroids_, classes.centroids_])
    np.testing.assert_array_equal(both.centroids_, expected)
    n = len(clusters.centroids_)
    assert both.pairs_.tolist() == [
        *clusters.pairs_.tolist(),
        *(classes.pairs_ + n).tolist(),
    ]


def test_weights_are_repeats():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    weights = rng.integers(0, 3, 200)
    source = CentroidCandidates(
        centroid_source="class", fill_quantiles=False, random_state=0
    )
    weighted = clone(source).fit(X, y, sample_weight=weights)
    repeated = clone(source).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.centroids_, repeated.centroids_, atol=1e-5)
    np.testing.assert_allclose(weighted.scales_, repeated.scales_, rtol=1e-4)


def test_any_scale_of_weights():
    X, y = blobs(k=3)
    weights = np.random.default_rng(0).random(len(y))
    source = CentroidCandidates(random_state=0)
    one = clone(source).fit(X, y, sample_weight=weights)
    other = clone(source).fit(X, y, sample_weight=weights * 2.0**40)
    np.testing.assert_allclose(one.centroids_, other.centroids_, rtol=1e-6)


@pytest.mark.parametrize("centroids", ["kmeans", "class"])
@pytest.mark.parametrize("fill", [True, False])
def test_rows_of_weight_zero_are_ignored(centroids, fill):
    X, y = blobs()
    source = CentroidCandidates(
        n_clusters=4, centroid_source=centroids, fill_quantiles=fill, random_state=0
    )
    alone = clone(source).fit(X, y)
    outliers = np.full((50, 4), 1e6)
    with_outliers = clone(source).fit(
        np.concatenate([X, outliers]),
        np.concatenate([y, np.arange(50) % 4]),
        sample_weight=np.repeat([1.0, 0.0], [len(X), 50]),
    )
    np.testing.assert_allclose(
        np.sort(alone.centroids_, axis=0), np.sort(with_outliers.centroids_, axis=0)
    )
    assert all(tau.max() < 1e5 for tau in with_outliers.thresholds_)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_more_clusters_than_rows(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    found = CentroidCandidates(
        n_clusters=50, centroid_source="kmeans", random_state=0
    ).fit(X)
    assert len(found.centroids_) <= n
    check_sound(found, 2)
    distinct = np.unique(np.repeat(X, 5, axis=0), axis=0)
    repeated = CentroidCandidates(
        n_clusters=50, centroid_source="kmeans", random_state=0
    ).fit(np.repeat(X, 5, axis=0))
    assert len(repeated.centroids_) <= len(distinct)


# --- pairs ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(2, 9))
def test_number_of_pairs(k):
    X, _ = blobs(k=k, p=6)
    n_all = k * (k - 1) // 2
    for n_pairs, expected in [
        ("auto", n_all if k <= 5 else min(25, n_all)),
        (1, 1),
        (3, min(3, n_all)),
        (1000, n_all),
    ]:
        found = CentroidCandidates(
            n_clusters=k, n_pairs=n_pairs, centroid_source="kmeans", random_state=0
        ).fit(X)
        assert len(found.centroids_) == k
        assert found.pairs_.shape == (expected, 2)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("n_pairs", [1, 4, "auto"])
def test_pairs_are_the_most_distant(scale, n_pairs):
    X = np.random.default_rng(1).normal(size=(500, 5)) * [1, 2, 3, 4, 50]
    found = CentroidCandidates(
        n_clusters=7,
        n_pairs=n_pairs,
        standardize=scale,
        centroid_source="kmeans",
        random_state=0,
    ).fit(X)
    deviation = X.std(axis=0)
    unit = deviation if scale else np.full(5, deviation.max())
    expected = reference.farthest_pairs(found.centroids_, n_pairs, unit)
    assert found.pairs_.tolist() == [list(pair) for pair in expected]


def test_most_distant_pairs_of_given_distances():
    distances = np.array([[0, 3, 5], [3, 0, 4], [5, 4, 0.0]])
    assert most_distant_pairs(distances, 2).tolist() == [[0, 2], [1, 2]]
    assert all_pairs([distances, distances[:2, :2]], 1).tolist() == [[0, 2], [3, 4]]


# --- boundaries -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["variance", "midpoint"])
def test_boundaries(kind):
    rng = np.random.default_rng(0)
    mu, sigma = rng.normal(size=(5, 3)), rng.random((5, 3))
    sigma[:2, 0] = 0.0  # no spread on either side: the midpoint
    sigma[2, 1] = 0.0
    pairs = np.array([(i, j) for i in range(5) for j in range(i + 1, 5)])
    found = boundaries(mu, sigma, pairs, kind)
    expected = [
        [reference.boundary(mu[i, f], sigma[i, f], mu[j, f], sigma[j, f], kind)
         for i, j in pairs]
        for f in range(3)
    ]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["variance", "midpoint"])
@pytest.mark.parametrize("min_gap", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("centroids", ["kmeans", "class"])
def test_thresholds_without_fill(kind, min_gap, centroids):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(900, 6)) * [1, 10, 0.1, 3, 1, 1]
    X[:, 4] = 7.0  # constant
    X[:, 5] = X[:, 5] > 1.5
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    found = CentroidCandidates(
        boundary=kind,
        min_gap=min_gap,
        centroid_source=centroids,
        fill_quantiles=False,
        random_state=0,
    ).fit(X, y)
    mu, sigma = found.centroids_, found.scales_
    low, high, deviation = ranges(X)
    for f, tau in enumerate(found.thresholds_):
        zetas = [
            reference.boundary(mu[i, f], sigma[i, f], mu[j, f], sigma[j, f], kind)
            for i, j in found.pairs_
        ]
        expected = reference.thresholds(zetas, low[f], high[f], min_gap * deviation[f])
        np.testing.assert_allclose(tau, expected, rtol=1e-6)
    assert found.n_thresholds_[4] == 0
    check_sound(found, 6)


def test_configuration_of_the_paper():
    X, y = blobs(k=3)
    paper = CentroidCandidates.paper(random_state=0)
    assert (paper.n_clusters, paper.centroid_source, paper.n_pairs) == (
        "classes",
        "kmeans",
        "auto",
    )
    assert (paper.standardize, paper.fill_quantiles, paper.min_gap, paper.boundary) == (
        False,
        False,
        0.0,
        "variance",
    )
    paper.fit(X, y)
    assert len(paper.centroids_) == 3
    assert (paper.n_thresholds_ <= 3).all()
    assert CentroidCandidates.paper(standardize=True, n_pairs=2).standardize is True


def test_configuration_of_the_paper_for_one_class():
    X, _ = blobs()
    assert len(CentroidCandidates.paper().fit(X, np.zeros(len(X))).centroids_) == 2


# --- the estimator --------------------------------------------------------------------


def test_feature_names_and_output():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(50, 2)), columns=["a", "b"]
    )
    found = CentroidCandidates(random_state=0).fit(frame)
    assert found.get_feature_names_out().tolist() == ["a", "b"]
    codes = found.set_output(transform="pandas").transform(frame)
    assert codes.columns.tolist() == ["a", "b"]
    assert (codes.dtypes == np.uint8).all()
    pytest.importorskip("polars")
    assert found.set_output(transform="polars").transform(frame).columns == ["a", "b"]


def test_generated_feature_names():
    found = QuantileCandidates().fit([[1.0, 2.0], [3.0, 4.0]])
    assert found.get_feature_names_out().tolist() == ["x0", "x1"]


def test_grid_search_over_candidates():
    X, y = blobs(n=90, k=3)
    search = GridSearchCV(
        CGTreeClassifier(
            candidates=CentroidCandidates(fill_quantiles=False), random_state=0
        ),
        {"candidates__n_pairs": [1, 3], "max_depth": [1, 4]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    n_pairs = search.best_params_["candidates__n_pairs"]
    assert len(search.best_estimator_.candidates_.pairs_) <= 2 * n_pairs


def test_candidates_are_cloned_before_use():
    X, y = blobs()
    source = CentroidCandidates()
    tree = CGTreeClassifier(candidates=source).fit(X, y)
    assert not hasattr(source, "centroids_")
    assert tree.candidates_ is not source


def test_seed_of_the_candidates_is_used():
    X, y = blobs(n=3000)
    X = X + np.random.default_rng(0).normal(size=X.shape) * 100
    alone = CentroidCandidates(centroid_source="kmeans", random_state=5).fit(X)
    for seed in (0, 1):
        tree = CGTreeClassifier(
            candidates=CentroidCandidates(centroid_source="kmeans", random_state=5),
            random_state=seed,
        ).fit(X, y)
        np.testing.assert_array_equal(tree.candidates_.centroids_, alone.centroids_)


@pytest.mark.parametrize("n_clusters", ["auto", "classes", 3])
@pytest.mark.parametrize("seed", [0, np.random.RandomState(3)])
def test_same_seed_same_thresholds(n_clusters, seed):
    X, y = blobs()
    one, other = (
        CentroidCandidates(
            n_clusters=n_clusters,
            random_state=seed if isinstance(seed, int) else clone(seed, safe=False),
        ).fit(X, y)
        for _ in range(2)
    )
    for a, b in zip(one.thresholds_, other.thresholds_, strict=True):
        assert a.tobytes() == b.tobytes()


def test_no_clusters_of_rare_features():
    """Default candidates of rare features are quantiles; given ones are clustered."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.001, (600, 2100)) * rng.integers(1, 9, 2100)
    X = X.astype(np.float32)
    X[:, 3] = np.arange(600) % 7  # frequent
    X[:, 4] = 1
    candidates = CentroidCandidates(random_state=0).fit(X)
    assert candidates.centroids_.shape == candidates.scales_.shape == (0, 2100)
    assert candidates.pairs_.shape == (0, 2)
    even = QuantileCandidates(random_state=0).fit(X)
    for own, expected in zip(candidates.thresholds_, even.thresholds_, strict=True):
        np.testing.assert_array_equal(own, expected)
    assert len(CentroidCandidates(n_clusters=4, random_state=0).fit(X).centroids_) == 4
    few = CentroidCandidates(random_state=0).fit(X[:, :2048])
    assert len(few.centroids_) == 8
