"""The synthetic data of the paper."""

import tracemalloc
from math import pi, sin

import numpy as np
import pytest

from dics_paper.datasets import _synthetic, make_paper_synthetic


def test_shape_and_seed():
    X, y = make_paper_synthetic(300, 24, 4, random_state=3)
    assert X.shape == (300, 24)
    assert X.dtype == np.float32
    assert set(y.tolist()) <= set(range(4))
    again, labels = make_paper_synthetic(300, 24, 4, random_state=3)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    other, _ = make_paper_synthetic(300, 24, 4, random_state=4)
    assert (other != X).any()


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_features_are_standard_normal_with_one_correlation(rho):
    X, _ = make_paper_synthetic(20_000, 8, 2, rho=rho, random_state=0)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.05)
    expected = np.full((8, 8), rho)
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(np.cov(X.T), expected, atol=0.05)


def test_labels_depend_on_features_with_weights_per_class():
    # With one feature, all terms are pairs, of which there are none. With two, one is
    # linear, and the label follows its sign unless all classes have the same weight.
    def explained_fraction(class_weights):
        X, y = make_paper_synthetic(
            20_000, 2, 2, rho=0.0, class_weights=class_weights, random_state=1
        )
        rates = [abs(y[x > 0].mean() - y[x <= 0].mean()) for x in X.T]
        return max(rates)

    assert explained_fraction("per_class") > 0.1
    assert explained_fraction("shared") < 0.03


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_samples", 0), ("n_classes", 1), ("rho", 1.0), ("class_weights", "both")],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=rf"'{name}' parameter.*Got {value!r}"):
        make_paper_synthetic(**{name: value})


@pytest.mark.parametrize("n_features", [1, 2, 7, 8, 31, 1000])
def test_parts_have_the_sizes_of_the_paper(n_features):
    parts = _synthetic._sample_parts(np.random.default_rng(0), n_features)
    sizes = [n_features // 2, n_features // 4, n_features // 8]
    assert [len(part) for part in parts] == [*sizes, n_features - sum(sizes)]
    assert sorted(np.concatenate(parts)) == list(range(n_features))


def naive_score(x, parts, weights):
    """Return the score by the formula of the paper."""
    linear, sine, square, pairs = parts
    a, b, c, d = weights
    score = sum(a[i] * x[j] for i, j in enumerate(linear))
    score += sum(b[i] * sin(pi * x[j]) for i, j in enumerate(sine))
    score += sum(c[i] * x[j] ** 2 for i, j in enumerate(square))
    for k in range(len(pairs)):
        for other in range(k + 1, len(pairs)):
            score += d[k, other] * x[pairs[k]] * x[pairs[other]]
    return score


@pytest.mark.parametrize("n_features", [1, 8, 40])
def test_scores_follow_the_formula(n_features):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((20, n_features), dtype=np.float32)
    parts = _synthetic._sample_parts(rng, n_features)
    weights = _synthetic._sample_weights(rng, parts)
    naive = [naive_score(x, parts, weights) for x in X.astype(float)]
    score = _synthetic._score(X, parts, weights)
    np.testing.assert_allclose(score, naive, rtol=1e-4, atol=1e-4)


def test_any_chunks(monkeypatch):
    X, y = make_paper_synthetic(500, 30, 3, random_state=0)
    monkeypatch.setattr(_synthetic, "CHUNK_ROWS", 64)
    again, labels = make_paper_synthetic(500, 30, 3, random_state=0)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)


def test_products_need_little_memory():
    # 100 features form pairs: all products together would have 6000 x 4950 numbers,
    # six times as many as X.
    tracemalloc.start()
    X, _ = make_paper_synthetic(6000, 800, 2, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * X.nbytes
