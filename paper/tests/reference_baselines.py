"""BDTKS in NumPy, with recursion: the reference of the tests.

It is slow, and uses nothing of the library.
"""

from typing import NamedTuple

import numpy as np


class Node(NamedTuple):
    rows: np.ndarray
    counts: np.ndarray
    centroids: np.ndarray | None = None
    children: tuple = ()

    @property
    def label(self):
        return int(self.counts.argmax())

    @property
    def depth(self):
        return max((1 + child.depth for child in self.children), default=0)

    def leaves(self):
        if not self.children:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]


def first_component(X):
    centered = X - X.mean(axis=0)
    found = np.linalg.svd(centered, full_matrices=False)[2][0]
    return found if found[np.abs(found).argmax()] > 0 else -found


def distances(X, centroids):
    return ((X[:, None, :] - centroids[None]) ** 2).sum(axis=2)


def two_means(X, max_iter, tol):
    """Return centroids and, for each row, the index of the nearer one."""
    projections = (X - X.mean(axis=0)) @ first_component(X)
    sides = (projections > np.median(projections)).astype(int)
    if sides.max() == 0:
        sides = (projections >= np.median(projections)).astype(int)
    centroids = np.stack([X[sides == side].mean(axis=0) for side in (0, 1)])
    for _ in range(max_iter):
        before, used = sides, centroids
        sides = distances(X, used).argmin(axis=1)
        if (sides == before).all():
            break
        centroids = np.stack([X[sides == side].mean(axis=0) for side in (0, 1)])
        if ((centroids - used) ** 2).sum() <= tol * X.var(axis=0).mean():
            break
    return used, sides


def is_leaf(counts, class_counts, reg_lambda):
    """Return True if the stop rule holds, for each class."""
    majority, n = counts.argmax(), counts.sum()
    if counts[majority] == n:
        return True
    if not counts[majority] / n > class_counts[majority] / class_counts.sum():
        return False
    return all(
        n_c * n < reg_lambda * N_c
        for c, (n_c, N_c) in enumerate(zip(counts, class_counts, strict=True))
        if c != majority and n_c > 0
    )


def grow(X, y, n_classes, reg_lambda, max_depth=None, max_iter=100, tol=1e-4):
    """Grow the tree; y has class indices."""
    X = np.asarray(X, dtype=np.float64)
    class_counts = np.bincount(y, minlength=n_classes)

    def node(rows, depth):
        counts = np.bincount(y[rows], minlength=n_classes)
        same = (X[rows] == X[rows[0]]).all()
        if same or depth == max_depth or is_leaf(counts, class_counts, reg_lambda):
            return Node(rows, counts)
        centroids, sides = two_means(X[rows], max_iter, tol)
        children = tuple(node(rows[sides == side], depth + 1) for side in (0, 1))
        return Node(rows, counts, centroids, children)

    return node(np.arange(len(X)), 0)


def find_leaf(node, x):
    while node.children:
        node = node.children[distances(x[None], node.centroids)[0].argmin()]
    return node


def predict(root, X):
    return np.array([find_leaf(root, x).label for x in np.asarray(X, np.float64)])
