"""The paper's synthetic data."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

# Rows per chunk: the pairwise effects need (rows x P/8) values per class.
CHUNK_ROWS = 2048


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_classes": [Interval(Integral, 2, None, closed="left")],
        "rho": [Interval(Real, 0, 1, closed="left")],
        "class_weights": [StrOptions({"per_class", "shared"})],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_paper_synthetic(
    n_samples: int = 10_000,
    n_features: int = 1_000,
    n_classes: int = 3,
    *,
    rho: float = 0.5,
    class_weights: str = "per_class",
    random_state: Any = None,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Generate the synthetic data of the paper's section 5.1.

    Features are standard normal with correlation `rho` between any two. Half of them
    have a linear effect on the scores of the classes, a quarter acts through a sine, an
    eighth through the square and the rest through products of pairs. The label is
    sampled from the softmax of the scores.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        Size of the data set.
    rho : float, default=0.5
        Correlation between features.
    class_weights : {"per_class", "shared"}, default="per_class"
        The paper does not state whether all classes share the weights. The label
        depends on X only with weights per class; with "shared", the scores of the
        classes differ by constant offsets.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from dics_paper.datasets import make_paper_synthetic
    >>> X, y = make_paper_synthetic(100, 16, 3, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 16), [0, 1, 2])
    """
    seed = check_random_state(random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    if rho > 0:
        X *= np.float32(np.sqrt(1 - rho))
        common = rng.standard_normal((n_samples, 1), dtype=np.float32)
        X += np.float32(np.sqrt(rho)) * common
    parts = _sample_parts(rng, n_features)
    n_weights = n_classes if class_weights == "per_class" else 1
    weights = [_sample_weights(rng, parts) for _ in range(n_weights)]
    offsets = rng.standard_normal(n_classes)

    y = np.empty(n_samples, dtype=np.int64)
    for first in range(0, n_samples, CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        scores = np.stack([_score(X[rows], parts, w) for w in weights], axis=1)
        # Sample from the softmax by the Gumbel trick: the largest score plus noise.
        scores = scores + offsets
        y[rows] = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X, y


def _sample_parts(
    rng: np.random.Generator, n_features: int
) -> list[npt.NDArray[np.intp]]:
    """Partition the features: linear, sine, square, pairs."""
    sizes = [n_features // 2, n_features // 4, n_features // 8]
    return np.split(rng.permutation(n_features), np.cumsum(sizes))


def _sample_weights(
    rng: np.random.Generator, parts: list[npt.NDArray[np.intp]]
) -> tuple[npt.NDArray[np.float32], ...]:
    linear, sine, square, pairs = parts
    single = [
        rng.standard_normal(len(p), dtype=np.float32) for p in (linear, sine, square)
    ]
    products = rng.standard_normal((len(pairs), len(pairs)), dtype=np.float32)
    return (*single, np.triu(products, k=1))


def _score(
    X: npt.NDArray[np.float32],
    parts: list[npt.NDArray[np.intp]],
    weights: tuple[npt.NDArray[np.float32], ...],
) -> npt.NDArray[np.float64]:
    """Return the scores of one class for a chunk of rows."""
    linear, sine, square, pairs = parts
    a, b, c, d = weights
    products = X[:, pairs]
    score = X[:, linear] @ a
    score += np.sin(np.pi * X[:, sine]) @ b
    score += (X[:, square] ** 2) @ c
    score += ((products @ d) * products).sum(axis=1)
    return score.astype(np.float64)
