"""Quantiles, thresholds of difficult data, and bin indices."""

import numpy as np
import pytest
import reference
from checks import GivenCandidates, check_sound
from sklearn.base import clone

from dics import CentroidCandidates, QuantileCandidates

pytestmark = pytest.mark.core

INF = np.inf
SOURCES = [CentroidCandidates(random_state=0), QuantileCandidates(random_state=0)]


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


def test_midpoints_that_float32_cannot_represent():
    # There may be no float32 number between neighbors in float64, and no midpoint
    # next to an infinity.
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
    # Thresholds with double precision separate all neighbors.
    found = QuantileCandidates(random_state=0).fit(column[:, None])
    thresholds = found.thresholds_[0]
    values = column[:-1]
    np.testing.assert_array_equal(np.searchsorted(values, thresholds), np.arange(1, 9))
    np.testing.assert_array_equal(thresholds, reference.midpoints(column))
    single = thresholds == thresholds.astype(np.float32)
    np.testing.assert_array_equal(np.flatnonzero(~single), [3])
    two = QuantileCandidates(random_state=0).fit([[-INF], [INF]])
    np.testing.assert_array_equal(two.thresholds_[0], [0.0])


@pytest.mark.parametrize("budget", [1, 2, 10, 100, 254])
def test_quantiles_have_equal_weight(budget):
    X = np.random.default_rng(0).exponential(size=(2000, 2))
    found = QuantileCandidates(max_bins=budget + 1, random_state=0).fit(X)
    assert found.n_thresholds_.tolist() == [budget, budget]
    for f in range(2):
        mass = np.bincount(found.transform(X)[:, f], minlength=budget + 1)
        assert mass.max() - mass.min() <= 0.1 * 2000 / (budget + 1) + 2


def test_frequent_value_has_one_threshold():
    rng = np.random.default_rng(0)
    X = np.where(rng.random(2000) < 0.7, 0.0, rng.exponential(size=2000))[:, None]
    found = QuantileCandidates(max_bins=21, random_state=0).fit(X)
    assert found.n_thresholds_[0] == 20
    assert (found.thresholds_[0] > 0).all()


def test_quantiles_of_weighted_rows():
    X = np.arange(1000.0)[:, None]
    weights = np.where(X[:, 0] < 500, 9.0, 1.0)
    found = QuantileCandidates(max_bins=10, random_state=0).fit(
        X, sample_weight=weights
    )
    mass = np.bincount(found.transform(X)[:, 0], weights)
    np.testing.assert_allclose(mass, 500, rtol=0.05)


@pytest.mark.parametrize("max_thresholds", [5, 60, 254])
def test_fill_keeps_the_boundaries(max_thresholds):
    X = np.random.default_rng(0).normal(size=(1500, 4))
    plain = CentroidCandidates(
        centroid_source="kmeans", fill_quantiles=False, random_state=0
    ).fit(X)
    filled = CentroidCandidates(
        centroid_source="kmeans", max_bins=max_thresholds + 1, random_state=0
    ).fit(X)
    for f in range(4):
        if plain.n_thresholds_[f] <= max_thresholds // 2:
            assert set(plain.thresholds_[f]) <= set(filled.thresholds_[f])
        assert len(filled.thresholds_[f]) <= max_thresholds
        # At most one threshold per gap of the data.
        codes = filled.transform(X)[:, f]
        assert len(np.unique(codes)) == filled.n_thresholds_[f] + 1
    check_sound(filled, 4)


@pytest.mark.parametrize(
    ("n_features", "least", "most"), [(1, 200, 254), (200, 33, 97), (600, 15, 41)]
)
def test_automatic_budget(n_features, least, most):
    X = np.random.default_rng(0).normal(size=(600, n_features)).astype(np.float32)
    found = CentroidCandidates(centroid_source="kmeans", random_state=0).fit(X)
    assert least <= found.n_thresholds_.min()
    assert found.n_thresholds_.max() <= most


@pytest.mark.parametrize("fill", [True, False])
def test_at_most_254_thresholds(fill):
    X = np.random.default_rng(0).normal(size=(4000, 2))
    found = CentroidCandidates(
        n_clusters=60,
        n_pairs=1770,
        min_gap=0.0,
        fill_quantiles=fill,
        centroid_source="kmeans",
        random_state=0,
    ).fit(X)
    check_sound(found, 2)
    assert (found.n_thresholds_ > 120).all()
    # The removed thresholds are not all at one end.
    for f in range(2):
        rank = (np.sort(X[:, f]).searchsorted(found.thresholds_[f]) / 4000)[[0, -1]]
        assert rank[0] < 0.1
        assert rank[1] > 0.9


@pytest.mark.parametrize("n_features", [100, 700])
def test_holes_are_filled(n_features):
    # Boundaries of a skewed feature are close together at one end, but no bin has much
    # more than a sixteenth of the rows.
    X = np.random.default_rng(0).lognormal(sigma=2, size=(2000, n_features))
    found = CentroidCandidates(random_state=0).fit(X.astype(np.float32))
    codes = found.transform(X)
    for f in range(0, n_features, 50):
        assert np.bincount(codes[:, f]).max() < 2000 / 16 * 1.5


def test_few_values_of_wide_data_are_all_separated():
    X = np.random.default_rng(0).integers(0, 10, size=(500, 700)).astype(np.uint8)
    found = CentroidCandidates(random_state=0).fit(X)
    assert (found.n_thresholds_ == 9).all()


def test_groups_of_similar_targets_have_means():
    X = np.random.default_rng(0).normal(size=(800, 3))
    alone = CentroidCandidates(random_state=0).fit(X)
    both = CentroidCandidates(random_state=0).fit(X, X[:, 0])
    np.testing.assert_array_equal(both.centroids_[:8], alone.centroids_)
    # Eight quantile bins of the first feature.
    parts = np.array_split(np.sort(X[:, 0]), 8)
    expected = [part.mean() for part in parts]
    np.testing.assert_allclose(both.centroids_[8:, 0], expected, atol=0.02)
    paper = CentroidCandidates.paper(random_state=0).fit(X, X[:, 0])
    assert len(paper.centroids_) == 8


def test_groups_of_several_targets_are_clusters():
    rng = np.random.default_rng(0)
    centre = rng.integers(0, 4, 600)
    Y = np.column_stack([centre * 10.0, -centre * 1e6]) + rng.normal(size=(600, 2))
    X = centre[:, None] + rng.normal(size=(600, 2)) / 10
    found = CentroidCandidates(centroid_source="class", random_state=0).fit(X, Y)
    nearest = np.abs(found.centroids_[:, :1] - np.arange(4)).min(axis=1)
    assert (nearest < 0.1).all()


@pytest.mark.parametrize("exponent", [-1040, -300, 300, 1015])
def test_any_scale_of_weights(exponent):
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
        source.set_params(fill_quantiles=fill)
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
def test_very_different_scales(source):
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


# --- bin indices ----------------------------------------------------------------------


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
    found = QuantileCandidates(max_bins=10, random_state=0).fit(X)
    expected = np.column_stack(
        [reference.encode(X[:, f], tau) for f, tau in enumerate(found.thresholds_)]
    )
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    for same in (X, np.asfortranarray(X), wide[::2, ::3], X[::-1, ::-1][::-1, ::-1]):
        np.testing.assert_array_equal(found.transform(same), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("n", [3, 300, 3000])
def test_values_are_sorted_right(n, dtype):
    """With few distinct values, all midpoints are thresholds and show their order."""
    rng = np.random.default_rng(n)
    if dtype == "u1":
        values = rng.integers(0, 200, n).astype(dtype)
    else:
        some = [-np.inf, -1e30, -2.5, -0.0, 0.0, 1e-40, 3.0, 1e30, np.inf, np.nan]
        values = rng.choice(np.concatenate([some, rng.normal(size=90)]), n)
        values = values.astype(dtype)
    found = QuantileCandidates().fit(values[:, None]).thresholds_[0]
    distinct = np.unique(values[~np.isnan(values)].astype(float))
    low, high = distinct[:-1], distinct[1:]
    assert len(found) == len(low)
    assert ((found > low) & (found <= high)).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_thresholds", [1, 15, 64, 65, 72, 128, 129, 200, 253, 254])
def test_codes_count_thresholds(n_thresholds, dtype):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.sort(rng.normal(size=n_thresholds).astype("f4"))
    thresholds = np.unique(thresholds)
    values = np.concatenate([rng.normal(size=700), thresholds, [np.inf, -np.inf]])
    X = values.astype(dtype)[:, None]
    codes = GivenCandidates([thresholds]).fit(X).transform(X)[:, 0]
    expected = np.searchsorted(thresholds.astype(float), X[:, 0], side="right")
    np.testing.assert_array_equal(codes, expected)
    X[::7] = np.nan
    codes = GivenCandidates([thresholds]).fit(X).transform(X)[:, 0]
    assert (codes[::7] == len(thresholds) + 1).all()
