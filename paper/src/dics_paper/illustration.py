"""Boundaries and errors of the paper's Figure 1."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from dics._dictionary import boundaries

FloatArray = npt.NDArray[np.float64]

N_ROWS = 600
MEANS = np.array([[-1.0, 0.0], [1.0, 1.0]])
COVARIANCE = np.array([[0.25, 0.1], [0.1, 0.25]])


@dataclass(frozen=True)
class Line:
    """The points x with ``normal @ x == offset``; class 1 lies above."""

    normal: FloatArray
    offset: float

    def predict(self, X: FloatArray) -> npt.NDArray[np.intp]:
        """Return the side of the line of each row."""
        return (X @ self.normal > self.offset).astype(np.intp)

    def first_coordinate(self, second: FloatArray) -> FloatArray:
        """Return the first coordinates of the line at the given second ones."""
        heights: FloatArray = (self.offset - self.normal[1] * second) / self.normal[0]
        return heights


@dataclass(frozen=True)
class Plane:
    """Left panel: two classes, the Bayes boundary and that of the clusters."""

    X: FloatArray
    y: npt.NDArray[np.intp]
    bayes: Line
    centroids: FloatArray
    clusters: Line


@dataclass(frozen=True)
class Pair:
    """Right panels: two clusters in one dimension, equally frequent."""

    means: tuple[float, float]
    deviations: tuple[float, float]

    def cut(self, boundary: str) -> float:
        """Return the boundary: "midpoint" or "variance" (the paper's zeta)."""
        means, scales = np.array([self.means]).T, np.array([self.deviations]).T
        return float(boundaries(means, scales, np.array([[0, 1]]), boundary)[0, 0])

    def error(self, cut: float) -> float:
        """Return the fraction of both clusters on the wrong side of a cut."""
        left, right = self.distributions()
        return ((1 - left.cdf(cut)) + right.cdf(cut)) / 2

    def distributions(self) -> tuple[NormalDist, NormalDist]:
        """Return the clusters as normal distributions."""
        left, right = map(NormalDist, self.means, self.deviations)
        return left, right


EQUAL = Pair((0.0, 4.0), (1.0, 1.0))
UNEQUAL = Pair((0.0, 4.0), (0.5, 1.5))


def make_plane(random_state: int | None = None) -> Plane:
    """Generate the rows of the left panel and compute both boundaries.

    Parameters
    ----------
    random_state : int or None, default=None
        Seed of the rows and of K-means.

    Returns
    -------
    Plane
    """
    rng = np.random.default_rng(random_state)
    y = np.repeat([0, 1], N_ROWS // 2)
    X = MEANS[y] + rng.multivariate_normal(np.zeros(2), COVARIANCE, N_ROWS)
    found = KMeans(2, n_init=10, random_state=random_state).fit(X)
    centroids = found.cluster_centers_[np.argsort(found.cluster_centers_[:, 0])]
    # With the same covariance in both classes the Bayes boundary is a line.
    normal = np.linalg.solve(COVARIANCE, MEANS[1] - MEANS[0])
    return Plane(
        X,
        y,
        _through_middle(normal, MEANS),
        centroids,
        _through_middle(centroids[1] - centroids[0], centroids),
    )


def _through_middle(normal: FloatArray, points: FloatArray) -> Line:
    return Line(normal, float(normal @ points.mean(axis=0)))
