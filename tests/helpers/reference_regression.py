"""A check of regression trees in exact arithmetic.

It visits all nodes of a fitted tree with their rows. Every decision is recomputed from
the definition, with fractions: possible splits, their gains, leaves and predictions.
It uses nothing of the library.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from reference import combine, random_index

# The core has double precision: smaller differences of gains count as ties.
SLACK = 1e-9


def excess(d):
    """Return (1 + d) log(1 + d) - d."""
    if abs(d) > 1e-3:
        return (1 + float(d)) * math.log1p(float(d)) - float(d)
    return float(sum((-d) ** k / (k * (k - 1)) for k in range(2, 9)))


class Judge:
    """Checks a tree of one or several targets against its rows."""

    def __init__(
        self,
        tree,
        X,
        y,
        dictionary,
        weights=None,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        min_impurity_decrease=0.0,
        random_key=None,  # of the root, for random splits
    ):
        self.trees = tree.trees_
        self.X = np.asarray(X, dtype=np.float64)
        self.y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        self.w = np.ones(len(X)) if weights is None else np.asarray(weights, float)
        self.dictionary = dictionary
        self.poisson = criterion == "poisson"
        self.absolute = criterion == "absolute_error"
        self.max_depth = math.inf if max_depth is None else max_depth
        self.min_split = min_samples_split
        self.min_leaf = min_samples_leaf
        self.min_decrease = min_impurity_decrease
        self.random_key = random_key
        self.total = self.w.sum()
        self.least = self.total * min_weight_fraction_leaf
        self.n_leaves = 0
        # Exact: doubles are integer multiples of a power of two, and integers in
        # Python have no limit.
        self.w_scale, self.y_scale = (
            max(Fraction(float(v)).denominator for v in values.ravel())
            for values in (self.w, self.y)
        )
        self.whole_w = np.array(
            [int(v * self.w_scale) for v in map(Fraction, self.w)], object
        )
        whole_y = np.array(
            [[int(Fraction(v) * self.y_scale) for v in row] for row in self.y], object
        )
        self.whole_wy = whole_y * self.whole_w[:, None]

    def check(self):
        self.visit(0, np.flatnonzero(self.w > 0), 0, self.random_key)
        assert self.n_leaves == self.trees.n_leaves

    # --- sums of rows ------------------------------------------------

    def sums(self, rows):
        """Return the weight and the weighted targets, exactly."""
        weight = Fraction(int(self.whole_w[rows].sum()), self.w_scale)
        sums = [
            Fraction(int(total), self.w_scale * self.y_scale)
            for total in self.whole_wy[rows].sum(axis=0)
        ]
        return weight, sums

    def median(self, values, weights):
        order = np.argsort(values, kind="stable")
        values, running = values[order], np.cumsum(weights[order])
        k = int(np.searchsorted(running, running[-1] / 2))
        half = abs(running[k] - running[-1] / 2) < 1e-12 * running[-1]
        return (values[k] + values[k + half]) / 2

    def absolute_error(self, rows):
        """Return weight times mean distance from the median, over the targets."""
        return (
            sum(
                (self.w[rows] * np.abs(y - self.median(y, self.w[rows]))).sum()
                for y in self.y[rows].T
            )
            / self.y.shape[1]
        )

    def impurity(self, rows):
        if self.absolute:
            return self.absolute_error(rows) / self.w[rows].sum()
        weight, sums = self.sums(rows)
        found = 0.0
        for c, total in enumerate(sums):
            mean = float(total / weight)
            y = self.y[rows, c]
            if self.poisson:
                logs = y * np.log1p(np.where(y > 0, (y - mean) / mean, 0))
                far = np.where(y > 0, logs, 0) - (y - mean)
                found += float((self.w[rows] * far).sum() / float(weight))
            else:
                found += float((self.w[rows] * (y - mean) ** 2).sum() / float(weight))
        return found / len(sums)

    def gain(self, left, right):
        """Return the decrease of weight times impurity; None if it is undefined."""
        if self.absolute:
            both = self.absolute_error(np.concatenate([left, right]))
            return max(0, both - self.absolute_error(left) - self.absolute_error(right))
        (lw, ls), (rw, rs) = self.sums(left), self.sums(right)
        gain = 0.0
        for a, b in zip(ls, rs, strict=True):
            if not self.poisson:
                gain += float((a * rw - b * lw) ** 2 / (lw * rw * (lw + rw)))
            elif a <= 0 or b <= 0:
                return None
            else:
                mean = (a + b) / (lw + rw)
                for side, weight in ((a, lw), (b, rw)):
                    gain += float(mean * weight) * excess(side / weight / mean - 1)
        return gain / len(ls)

    # --- the nodes -----------------------------------------------------------

    def visit(self, node, rows, depth, key=None):
        trees = self.trees
        assert trees.n_samples[node] == len(rows)
        mean_weight = self.total / np.count_nonzero(self.w > 0)
        np.testing.assert_allclose(
            trees.weight[node], self.w[rows].sum() / mean_weight, rtol=1e-5
        )
        spread = max(1e-300, self.impurity(np.flatnonzero(self.w > 0)))
        np.testing.assert_allclose(
            trees.impurity[node], self.impurity(rows), rtol=1e-4, atol=1e-6 * spread
        )
        may_split = self.may_split(rows, depth)
        cuts = list(self.allowed_cuts(rows, key)) if may_split else []
        best = max((gain for *_, gain in cuts), default=None)
        if best is not None and self.min_decrease > 0:
            near = abs(best / self.total - self.min_decrease) < SLACK * best
            assert not near, "choose another limit"
            if best / self.total < self.min_decrease:
                best = None
        if best is None:
            self.check_leaf(node, rows)
            return
        assert trees.feature[node] >= 0, "a node that could be split is a leaf"
        left = self.goes_left(node, rows)
        self.check_choice(node, rows, left, cuts, best)
        child = trees.left[node]
        left_key, right_key = key and combine(key, 1), key and combine(key, 2)
        self.visit(child, rows[left], depth + 1, left_key)
        self.visit(child + 1, rows[~left], depth + 1, right_key)

    def may_split(self, rows, depth):
        same = (self.y[rows] == self.y[rows[0]]).all()
        return depth < self.max_depth and len(rows) >= self.min_split and not same

    def allowed_cuts(self, rows, key):
        """Return all splits of the rows: feature, threshold indices, sides, gain.

        With a key, one random threshold of each feature.
        """
        for f, tau in enumerate(self.dictionary):
            x = self.X[rows, f]
            is_missing = np.isnan(x)
            tau = np.asarray(tau, dtype=np.float64)
            codes = (tau <= x[:, None]).sum(axis=1)
            below = [-1, *np.unique(codes[~is_missing])] if len(tau) else []
            if key is not None:
                codes[is_missing] = len(tau) + 1
                index = random_index(codes, range(len(tau)), len(tau), f, key)
                below = [] if index is None else [index, index + 1]
            for missing_left in (False, True) if is_missing.any() else (False,):
                for low, high in itertools.pairwise(below):
                    left = np.where(is_missing, missing_left, codes <= low)
                    if self.is_allowed(rows, left):
                        gain = self.gain(rows[left], rows[~left])
                        if gain is not None:
                            yield f, (low, high - 1), left, gain

    def is_allowed(self, rows, left):
        n_left = left.sum()
        if n_left == 0 or n_left == len(rows):
            return False
        weights = self.w[rows[left]].sum(), self.w[rows[~left]].sum()
        few = min(n_left, len(rows) - n_left) < self.min_leaf
        return not few and min(weights) >= self.least * (1 - 1e-12)

    def goes_left(self, node, rows):
        x = self.X[rows, self.trees.feature[node]]
        below = x < np.float64(self.trees.threshold[node])
        return np.where(np.isnan(x), bool(self.trees.missing_left[node]), below)

    def check_choice(self, node, rows, left, cuts, best):
        assert self.is_allowed(rows, left)
        gain = self.gain(rows[left], rows[~left])
        assert gain is not None
        slack = SLACK * np.abs(self.y).max() * self.total if self.absolute else 0
        assert gain >= best - SLACK * max(best, 1e-300) - slack
        f, tau = self.trees.feature[node], self.trees.threshold[node]
        if self.random_key is not None:
            assert int(np.searchsorted(self.dictionary[f], tau)) in {
                low for g, (low, _), *_ in cuts if g == f
            }
        elif np.isfinite(tau):  # the middle one of equivalent thresholds
            codes = (np.asarray(self.dictionary[f]) <= self.X[rows, f, None]).sum(
                axis=1
            )
            present = ~np.isnan(self.X[rows, f])
            index = int(np.searchsorted(self.dictionary[f], tau))
            low = max(codes[present & (codes <= index)], default=0)
            high = min(
                codes[present & (codes > index)], default=len(self.dictionary[f])
            )
            assert index == (low + high - 1) // 2
        if not np.isnan(self.X[rows, f]).any():
            a, b = self.w[rows[left]].sum(), self.w[rows[~left]].sum()
            assert abs(a - b) < 1e-9 * (a + b) or self.trees.missing_left[node] == (
                a > b
            )

    def check_leaf(self, node, rows):
        assert self.trees.feature[node] == -1
        weight, sums = self.sums(rows)
        expected = [float(total / weight) for total in sums]
        if self.absolute:
            expected = [self.median(y, self.w[rows]) for y in self.y[rows].T]
        value = self.trees.leaf_values[self.trees.left[node]]
        spread = np.ptp(self.y, axis=0)
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9 * spread.max())
        self.n_leaves += 1
