"""Algorithm 1: centroids, pairs, boundaries, thresholds and codes."""

import numpy as np
import pytest
import reference
from checks import GivenCandidates
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV

from dics import CentroidCandidates, CGTreeClassifier, QuantileCandidates
from dics.candidates import all_pairs, boundaries, farthest_pairs

pytestmark = pytest.mark.core

INF = np.inf
SOURCES = [CentroidCandidates(random_state=0), QuantileCandidates(random_state=0)]


def blobs(n=300, p=4, k=4, seed=0):
    """Clusters so far apart that every sensible clustering finds them."""
    centers = np.random.default_rng(seed).permuted(
        np.arange(k)[:, None] * np.full(p, 100.0), axis=0
    )
    centers[:, 0] = np.arange(k) * 100
    return make_blobs(n, centers=centers, cluster_std=2.0, random_state=seed)


def ranges(X):
    return np.nanmin(X, axis=0), np.nanmax(X, axis=0), np.nanstd(X, axis=0)


def check_sound(candidates, n_features):
    """What holds for the thresholds of any data."""
    assert len(candidates.thresholds_) == n_features
    for f, tau in enumerate(candidates.thresholds_):
        assert tau.dtype == np.float32
        assert len(tau) == candidates.n_thresholds_[f] <= 254
        assert not np.isnan(tau).any()
        assert (tau[1:] > tau[:-1]).all()


# --- random numbers -------------------------------------------------------------------


def test_splitmix64_of_known_seeds():
    # The first numbers of the generator with seed 0 and with seed 1234567.
    assert reference.mix(0) == 0xE220A8397B1DCDAF
    assert reference.mix(1234567) == 6457827717110365317


def test_samples_are_samples():
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
    found = CentroidCandidates(4, centroids="kmeans", scale=scale, random_state=0).fit(
        X
    )
    order = np.argsort(found.centroids_[:, 0])
    labels = np.argsort([X[y == c, 0].mean() for c in range(4)])
    for at, c in zip(order, labels, strict=True):
        mean, std = X[y == c].mean(axis=0), X[y == c].std(axis=0)
        np.testing.assert_allclose(found.centroids_[at], mean, atol=1e-3)
        np.testing.assert_allclose(found.scales_[at], std, rtol=2e-3)


def test_centroids_are_means_of_the_measured_rows():
    # All rows are measured, so the weighted mean of the centroids is the mean of X; the
    # weights are known but for rows between two clusters.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    found = CentroidCandidates(6, centroids="kmeans", random_state=0).fit(X)
    distance = ((X[:, None] - found.centroids_) ** 2 / X.var(axis=0)).sum(axis=2)
    share = np.bincount(distance.argmin(axis=1), minlength=6) / len(X)
    np.testing.assert_allclose(share @ found.centroids_, X.mean(axis=0), atol=0.1)
    # Total variance = within + between, whatever the clusters are.
    within = share @ (found.scales_**2 + found.centroids_**2)
    np.testing.assert_allclose(within, (X**2).mean(axis=0), rtol=0.1)


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("n", [30, 2048])
def test_class_means(n, dtype):
    rng = np.random.default_rng(n)
    X = (rng.normal(size=(n, 3)) * [1, 10, 30] + 100).astype(dtype)
    y = rng.permutation(np.arange(n) % 3)
    found = CentroidCandidates(centroids="class", random_state=0).fit(X, y)
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
    found = CentroidCandidates(centroids="class", random_state=0).fit(X, y)
    np.testing.assert_allclose(found.centroids_, [[2.0], [6.0], [4.0]], atol=1e-5)


def test_automatic_centroids_are_both():
    X, y = blobs(k=3)
    both = CGTreeClassifier(random_state=0).fit(X, y).candidates_
    clusters = CentroidCandidates(centroids="kmeans", random_state=0).fit(X)
    classes = CentroidCandidates(centroids="class", random_state=0).fit(X, y)
    expected = np.concatenate([clusters.centroids_, classes.centroids_])
    np.testing.assert_array_equal(both.centroids_, expected)
    n = len(clusters.centroids_)
    assert both.pairs_.tolist() == [
        *clusters.pairs_.tolist(),
        *(classes.pairs_ + n).tolist(),
    ]


def test_a_weight_of_two_is_a_row_twice():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    weights = rng.integers(0, 3, 200)
    source = CentroidCandidates(centroids="class", fill=False, random_state=0)
    weighted = clone(source).fit(X, y, sample_weight=weights)
    repeated = clone(source).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.centroids_, repeated.centroids_, atol=1e-5)
    np.testing.assert_allclose(weighted.scales_, repeated.scales_, rtol=1e-4)


def test_the_unit_of_weights_does_not_matter():
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
    source = CentroidCandidates(4, centroids=centroids, fill=fill, random_state=0)
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
    found = CentroidCandidates(50, centroids="kmeans", random_state=0).fit(X)
    assert len(found.centroids_) <= n
    check_sound(found, 2)
    distinct = np.unique(np.repeat(X, 5, axis=0), axis=0)
    repeated = CentroidCandidates(50, centroids="kmeans", random_state=0).fit(
        np.repeat(X, 5, axis=0)
    )
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
            k, n_pairs=n_pairs, centroids="kmeans", random_state=0
        ).fit(X)
        assert len(found.centroids_) == k
        assert found.pairs_.shape == (expected, 2)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("n_pairs", [1, 4, "auto"])
def test_pairs_are_the_farthest(scale, n_pairs):
    X = np.random.default_rng(1).normal(size=(500, 5)) * [1, 2, 3, 4, 50]
    found = CentroidCandidates(
        7, n_pairs=n_pairs, scale=scale, centroids="kmeans", random_state=0
    ).fit(X)
    deviation = X.std(axis=0)
    unit = deviation if scale else np.full(5, deviation.max())
    expected = reference.farthest_pairs(found.centroids_, n_pairs, unit)
    assert found.pairs_.tolist() == [list(pair) for pair in expected]


def test_farthest_pairs_of_given_distances():
    distances = np.array([[0, 3, 5], [3, 0, 4], [5, 4, 0.0]])
    assert farthest_pairs(distances, 2).tolist() == [[0, 2], [1, 2]]
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
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


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
        boundary=kind, min_gap=min_gap, centroids=centroids, fill=False, random_state=0
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


def test_the_setting_of_the_paper():
    X, y = blobs(k=3)
    paper = CentroidCandidates.paper(random_state=0)
    assert (paper.n_clusters, paper.centroids, paper.n_pairs) == (
        "classes",
        "kmeans",
        "auto",
    )
    assert (paper.scale, paper.fill, paper.min_gap, paper.boundary) == (
        False,
        False,
        0.0,
        "variance",
    )
    paper.fit(X, y)
    assert len(paper.centroids_) == 3
    assert (paper.n_thresholds_ <= 3).all()
    assert CentroidCandidates.paper(scale=True, n_pairs=2).scale is True


def test_the_setting_of_the_paper_for_one_class():
    X, _ = blobs()
    assert len(CentroidCandidates.paper().fit(X, np.zeros(len(X))).centroids_) == 2


# --- fill -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_quantiles_of_few_values_are_all_midpoints(dtype):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, k, 500) for k in (1, 2, 10, 200, 255)]).astype(
        dtype
    )
    found = QuantileCandidates(random_state=0).fit(X)
    for f, tau in enumerate(found.thresholds_):
        np.testing.assert_array_equal(tau, reference.midpoints(X[:, f].astype(float)))


def test_midpoints_where_float32_is_too_coarse():
    # Between neighbours in float64 there may be no float32 number, and at an infinity
    # there is no middle.
    column = np.array(
        [
            -INF,
            -3e38,
            0.0,
            1.0,
            1.0 + 1e-12,
            1.0 + 1e-6,
            2.0**24,
            2.0**24 + 2,
            INF,
            np.nan,
        ]
    )
    found = QuantileCandidates(random_state=0).fit(column[:, None])
    np.testing.assert_array_equal(found.thresholds_[0], reference.midpoints(column))
    two = QuantileCandidates(random_state=0).fit([[-INF], [INF]])
    np.testing.assert_array_equal(two.thresholds_[0], [0.0])


@pytest.mark.parametrize("budget", [1, 2, 10, 100, 254])
def test_quantiles_have_even_mass(budget):
    X = np.random.default_rng(0).exponential(size=(2000, 2))
    found = QuantileCandidates(budget, random_state=0).fit(X)
    assert found.n_thresholds_.tolist() == [budget, budget]
    for f in range(2):
        mass = np.bincount(found.transform(X)[:, f], minlength=budget + 1)
        assert mass.max() - mass.min() <= 0.1 * 2000 / (budget + 1) + 2


def test_a_heavy_value_takes_one_slot():
    rng = np.random.default_rng(0)
    X = np.where(rng.random(2000) < 0.7, 0.0, rng.exponential(size=2000))[:, None]
    found = QuantileCandidates(20, random_state=0).fit(X)
    assert found.n_thresholds_[0] == 20
    assert (found.thresholds_[0] > 0).all()


def test_quantiles_of_weighted_rows():
    X = np.arange(1000.0)[:, None]
    weights = np.where(X[:, 0] < 500, 9.0, 1.0)
    found = QuantileCandidates(9, random_state=0).fit(X, sample_weight=weights)
    mass = np.bincount(found.transform(X)[:, 0], weights)
    np.testing.assert_allclose(mass, 500, rtol=0.05)


@pytest.mark.parametrize("max_thresholds", [5, 60, 254])
def test_fill_keeps_the_boundaries(max_thresholds):
    X = np.random.default_rng(0).normal(size=(1500, 4))
    plain = CentroidCandidates(centroids="kmeans", fill=False, random_state=0).fit(X)
    filled = CentroidCandidates(
        centroids="kmeans", max_thresholds=max_thresholds, random_state=0
    ).fit(X)
    for f in range(4):
        if plain.n_thresholds_[f] <= max_thresholds // 2:
            assert set(plain.thresholds_[f]) <= set(filled.thresholds_[f])
        assert len(filled.thresholds_[f]) <= max_thresholds
        # No two in one gap of the data.
        codes = filled.transform(X)[:, f]
        assert len(np.unique(codes)) == filled.n_thresholds_[f] + 1
    check_sound(filled, 4)


@pytest.mark.parametrize(
    ("n_features", "least", "most"), [(1, 200, 254), (200, 33, 97), (600, 15, 41)]
)
def test_automatic_budget(n_features, least, most):
    X = np.random.default_rng(0).normal(size=(600, n_features)).astype(np.float32)
    found = CentroidCandidates(centroids="kmeans", random_state=0).fit(X)
    assert least <= found.n_thresholds_.min()
    assert found.n_thresholds_.max() <= most


@pytest.mark.parametrize("fill", [True, False])
def test_at_most_254_thresholds(fill):
    X = np.random.default_rng(0).normal(size=(4000, 2))
    found = CentroidCandidates(
        60, n_pairs=1770, min_gap=0.0, fill=fill, centroids="kmeans", random_state=0
    ).fit(X)
    check_sound(found, 2)
    assert (found.n_thresholds_ > 120).all()
    # Those that had to go don't all lie at one end.
    for f in range(2):
        rank = (np.sort(X[:, f]).searchsorted(found.thresholds_[f]) / 4000)[[0, -1]]
        assert rank[0] < 0.1
        assert rank[1] > 0.9


@pytest.mark.parametrize("n_features", [100, 700])
def test_holes_are_filled(n_features):
    # A skewed feature: boundaries crowd at one end, yet no part holds much more than a
    # sixteenth of the rows.
    X = np.random.default_rng(0).lognormal(sigma=2, size=(2000, n_features))
    found = CentroidCandidates(random_state=0).fit(X.astype(np.float32))
    codes = found.transform(X)
    for f in range(0, n_features, 50):
        assert np.bincount(codes[:, f]).max() < 2000 / 16 * 1.5


def test_few_levels_of_wide_data_are_all_parted():
    X = np.random.default_rng(0).integers(0, 10, size=(500, 700)).astype(np.uint8)
    found = CentroidCandidates(random_state=0).fit(X)
    assert (found.n_thresholds_ == 9).all()


def test_labels_that_are_no_classes_are_left_alone():
    X = np.random.default_rng(0).normal(size=(50, 3))
    alone = CentroidCandidates(random_state=0).fit(X)
    beside = CentroidCandidates(random_state=0).fit(X, X[:, 0])
    np.testing.assert_array_equal(beside.centroids_, alone.centroids_)


@pytest.mark.parametrize("exponent", [-1040, -300, 300, 1015])
def test_scale_of_weights_does_not_matter(exponent):
    X = np.random.default_rng(0).normal(size=(300, 3))
    weights = np.random.default_rng(1).integers(1, 4, size=300).astype(float)
    plain = CentroidCandidates(random_state=0).fit(X, sample_weight=weights)
    scaled = CentroidCandidates(random_state=0).fit(
        X, sample_weight=np.ldexp(weights, exponent)
    )
    for a, b in zip(plain.thresholds_, scaled.thresholds_, strict=True):
        np.testing.assert_array_equal(a, b)


# --- difficult data -------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES, ids=["centroids", "quantiles"])
@pytest.mark.parametrize(
    "column",
    [
        [1.0] * 6,
        [np.nan] * 6,
        [INF] * 6,
        [-INF, INF] * 3,
        [np.nan, 1.0] * 3,
        [INF, 1.0, 2.0, np.nan, -INF, 3.0],
        [0.0, -0.0] * 3,
        [1e-45, 2e-45, 0.0] * 2,
        [1e-310, 2e-310, 0.0] * 2,
        [3e38, -3e38, 0.0] * 2,
        [1e39, -1e39, 0.0] * 2,
        [1e300, 2e300, 3e300] * 2,
        [1.7e308, -1.7e308, 0.0] * 2,
    ],
    ids=str,
)
@pytest.mark.parametrize("fill", [True, False])
def test_difficult_columns(source, column, fill):
    X = np.column_stack([column, np.arange(6.0)])
    source = clone(source)
    if isinstance(source, CentroidCandidates):
        source.set_params(fill=fill)
    found = source.fit(X)
    check_sound(found, 2)
    codes = found.transform(X)
    for f in range(2):
        np.testing.assert_array_equal(
            codes[:, f], reference.encode(X[:, f], found.thresholds_[f])
        )
    if len({x for x in column if x == x}) < 2:
        assert found.n_thresholds_[0] == 0
    assert found.n_thresholds_[1] > 0


@pytest.mark.parametrize("source", SOURCES, ids=["centroids", "quantiles"])
def test_scales_far_apart(source):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1e-30, 1.0, 1e10, 1e30]
    found = clone(source).fit(X)
    check_sound(found, 4)
    assert (found.n_thresholds_ > 100).all()


def test_duplicated_columns_have_the_same_thresholds():
    X = np.repeat(np.random.default_rng(0).normal(size=(300, 1)), 3, axis=1)
    tau = CentroidCandidates(random_state=0).fit(X).thresholds_
    np.testing.assert_array_equal(tau[0], tau[1])
    np.testing.assert_array_equal(tau[0], tau[2])


# --- codes ----------------------------------------------------------------------------


TAU = np.array(
    [-INF, -2.5, -1e-45, 0.0, 0.1, 1.0, 2.0**24, 3e38, INF], dtype=np.float32
)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_more", [0, 60])  # few thresholds: compared one by one
def test_codes_at_ties(dtype, n_more):
    tau = np.unique(np.concatenate([TAU, np.linspace(5, 6, n_more)]).astype("f4"))
    x = np.concatenate(
        [
            [0.0, -0.0, INF, -INF, np.nan, -np.nan],
            tau,
            np.nextafter(tau[1:-1], np.float32(INF), dtype="f4"),
            np.nextafter(tau[1:-1], np.float32(-INF), dtype="f4"),
        ]
    ).astype(dtype)
    if dtype == "f8":
        inner = tau[1:-1].astype(dtype)
        x = np.concatenate([x, np.nextafter(inner, INF), np.nextafter(inner, -INF)])
    x = np.tile(x, 3)  # whole vectors and a rest
    found = GivenCandidates([tau]).fit(x[:, None])
    np.testing.assert_array_equal(
        found.transform(x[:, None])[:, 0], reference.encode(x, tau)
    )


@pytest.mark.parametrize("n_tau", [1, 40, 41, 254])
def test_codes_of_bytes(n_tau):
    x = np.arange(256).astype(np.uint8)
    tau = np.linspace(-3, 258, n_tau).astype(np.float32)
    tau[n_tau // 2] = np.round(tau[n_tau // 2])
    tau = np.unique(tau)
    found = GivenCandidates([tau]).fit(x[:, None])
    codes = found.transform(x[:, None])
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes[:, 0], reference.encode(x, tau))


@pytest.mark.parametrize("n_tau", [0, 1, 7, 40, 41, 254])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_codes_of_any_number_of_thresholds(n_tau, dtype):
    rng = np.random.default_rng(n_tau)
    X = rng.normal(size=(333, 2)).astype(dtype)
    X[::10, 0] = np.nan
    taus = [np.sort(rng.normal(size=n_tau)).astype("f4"), np.array([0.5], "f4")]
    codes = GivenCandidates(taus).fit(X).transform(X)
    for f in range(2):
        np.testing.assert_array_equal(codes[:, f], reference.encode(X[:, f], taus[f]))


@pytest.mark.parametrize("shape", [(1, 1), (257, 17), (20000, 3), (300, 500)])
def test_codes_in_any_layout(shape):
    X = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found = QuantileCandidates(9, random_state=0).fit(X)
    expected = np.column_stack(
        [reference.encode(X[:, f], tau) for f, tau in enumerate(found.thresholds_)]
    )
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    for same in (X, np.asfortranarray(X), wide[::2, ::3], X[::-1, ::-1][::-1, ::-1]):
        np.testing.assert_array_equal(found.transform(same), expected)


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
        CGTreeClassifier(candidates=CentroidCandidates(fill=False), random_state=0),
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


def test_the_seed_of_the_candidates_counts():
    X, y = blobs(n=3000)
    X = X + np.random.default_rng(0).normal(size=X.shape) * 100
    alone = CentroidCandidates(centroids="kmeans", random_state=5).fit(X)
    for seed in (0, 1):
        tree = CGTreeClassifier(
            candidates=CentroidCandidates(centroids="kmeans", random_state=5),
            random_state=seed,
        ).fit(X, y)
        np.testing.assert_array_equal(tree.candidates_.centroids_, alone.centroids_)


@pytest.mark.parametrize("n_clusters", ["auto", "classes", 3])
@pytest.mark.parametrize("seed", [0, np.random.RandomState(3)])
def test_same_seed_same_thresholds(n_clusters, seed):
    X, y = blobs()
    one, other = (
        CentroidCandidates(
            n_clusters,
            random_state=seed if isinstance(seed, int) else clone(seed, safe=False),
        ).fit(X, y)
        for _ in range(2)
    )
    for a, b in zip(one.thresholds_, other.thresholds_, strict=True):
        assert a.tobytes() == b.tobytes()
