"""The paper's synthetic data."""

import numpy as np
import pytest

from dics.datasets import make_paper_synthetic


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


def test_labels_hang_on_the_features_only_with_weights_per_class():
    # With one feature its part is that of the pairs, which is empty; with two, one is
    # linear: the label then follows its sign, unless all classes share the weight.
    def share_explained(class_weights):
        X, y = make_paper_synthetic(
            20_000, 2, 2, rho=0.0, class_weights=class_weights, random_state=1
        )
        rates = [abs(y[x > 0].mean() - y[x <= 0].mean()) for x in X.T]
        return max(rates)

    assert share_explained("per_class") > 0.1
    assert share_explained("shared") < 0.03


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_samples", 0), ("n_classes", 1), ("rho", 1.0), ("class_weights", "both")],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=rf"'{name}' parameter.*Got {value!r}"):
        make_paper_synthetic(**{name: value})
