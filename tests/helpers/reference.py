"""Algorithms 1 and 2 of the paper in Python and NumPy: the reference of the tests.

It is slow, and uses nothing of the library except the quantiles of renewed thresholds.
Algorithm 1 is `boundary`, `farthest_pairs` and `thresholds`. Algorithm 2 is `grow`.
Algorithm 3, the forest, is in reference_forest.py.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from dics import QuantileCandidates

# --- random numbers: every number is a function of a key ------------------------------

MASK = 2**64 - 1


def mix(x):
    """Return the output function of splitmix64."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def combine(key, value):
    return mix(key ^ mix(value))


def draw_below(key, counter, n):
    """Return random number `counter` of a key, uniform in [0, n)."""
    return (combine(key, counter) * n) >> 64


def sample_without_replacement(key, n, k):
    """Return k of range(n), sorted, by Floyd's algorithm."""
    chosen = set()
    for counter, j in enumerate(range(n - k, n)):
        t = draw_below(key, counter, j + 1)
        chosen.add(j if t in chosen else t)
    return sorted(chosen)


def stratified_rows(key, n, n_sampled):
    """Return one row from each of n_sampled equal parts of range(n)."""
    n_sampled = min(n, n_sampled)
    edges = [i * n // n_sampled for i in range(n_sampled + 1)]
    return [
        low + draw_below(key, i, high - low)
        for i, (low, high) in enumerate(itertools.pairwise(edges))
    ]


def tree_key(seed, number):
    return combine(mix(seed), 0x7472656500000000 + number)


def tie_number(key, feature):
    return combine(key, 0x7469650000000000 + feature)


def random_index(codes, indices, n_thresholds, feature, key):
    """Choose one of the thresholds that divide the values, or equal ones from NaN."""
    present = codes[codes <= n_thresholds]
    low, high = 0, n_thresholds
    if len(np.unique(present)) > 1:
        low, high = int(present.min()), int(present.max())
    indices = [t for t in indices if low <= t < high]
    if not indices:
        return None
    stream = combine(key, 0x6375740000000000 + feature)
    return indices[draw_below(stream, 0, len(indices))]


# --- Algorithm 1 ----------------------------------------------------------------------


def farthest_pairs(centroids, n_pairs, unit):
    """Return the most distant pairs of centroids, in units of `unit` (lines 2, 3)."""
    k = len(centroids)
    if n_pairs == "auto":
        n_pairs = k * (k - 1) // 2 if k <= 5 else 25
    unit = np.where(unit > 0, unit, np.inf)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    distance = {
        (i, j): np.linalg.norm((centroids[i] - centroids[j]) / unit) for i, j in pairs
    }
    return sorted(pairs, key=lambda pair: -distance[pair])[:n_pairs]


def boundary(mu1, sigma1, mu2, sigma2, kind="variance"):
    """Return zeta of line 5."""
    if kind == "midpoint" or sigma1 + sigma2 == 0:
        return (mu1 + mu2) / 2
    return (sigma1 * mu2 + sigma2 * mu1) / (sigma1 + sigma2)


def thresholds(zetas, low, high, gap):
    """Return sorted thresholds in (low, high] with distances above `gap`.

    They have single precision if that separates the values of the feature.
    """
    kept = []
    for zeta in sorted(np.float32(z) for z in zetas):
        parts_rows = low < zeta <= high
        if parts_rows and (not kept or float(zeta) > float(kept[-1]) + gap):
            kept.append(zeta)
    return np.array(kept, dtype=np.float64)


def midpoints(column):
    """Return a threshold between any two neighbors, of float32 if possible."""
    values = np.unique(column[~np.isnan(column)]).astype(np.float64)
    cuts = []
    for low, high in itertools.pairwise(values):
        middle = 0.0 if low == -np.inf and high == np.inf else low / 2 + high / 2
        cut = np.float32(middle)
        if cut <= low:
            cut = np.nextafter(cut, np.float32(np.inf))
        if not low < cut <= high:
            cut = middle if middle > low else np.nextafter(middle, np.inf)
        cuts.append(cut)
    return np.array(cuts, dtype=np.float64)


def encode(column, tau):
    """Return code(x) = #{t : tau_t <= x}; NaN has the largest code plus one."""
    column = np.asarray(column, dtype=np.float64)
    codes = (np.asarray(tau, dtype=np.float64) <= column[:, None]).sum(axis=1)
    return np.where(np.isnan(column), len(tau) + 1, codes)


# --- weights and scores ---------------------------------------------------------------


def integer_weights(weights, n_rows):
    """Return weights as exact integers, and the fixed-point unit of entropy."""
    if weights is None:
        return np.ones(n_rows, dtype=np.int64), 2.0**20
    weights = [float(w) for w in weights]
    if sum(weights) <= 2**30 and all(w.is_integer() for w in weights):
        return np.array(weights, dtype=np.int64), 2.0**20
    shift = 52 - math.frexp(max(weights))[1] - n_rows.bit_length()
    scaled = [max(1, round(math.ldexp(w, shift))) if w > 0 else 0 for w in weights]
    return np.array(scaled, dtype=np.int64), 1.0


class Criterion:
    """Sum of terms of class counts, in exact integers; larger scores are better."""

    def __init__(self, name, unit):
        self.entropy = name == "entropy"
        self.unit = unit if self.entropy else 1.0

    def term(self, counts):
        if not self.entropy:
            if counts.sum() >= 2**31:
                counts = counts.astype(object)  # squares beyond 64 bits
            return counts * counts
        values, where = np.unique(counts, return_inverse=True)
        terms = [
            round(x * math.log2(x) * self.unit) if x else 0 for x in values.tolist()
        ]
        return np.array(terms, dtype=np.int64)[where].reshape(counts.shape)

    def purity(self, counts):
        """Return the purity of sets of rows, from class counts on the last axis."""
        total = counts.sum(axis=-1)
        terms = self.term(counts).sum(axis=-1)
        if self.entropy:
            return terms - self.term(total)
        return np.asarray(terms, dtype=np.float64) / np.maximum(total, 1)

    def score(self, left, right):
        return np.asarray(self.purity(left) + self.purity(right), dtype=np.float64)


# --- Algorithm 2 ----------------------------------------------------------------------


class Rows(NamedTuple):
    """The training rows of one node."""

    X: np.ndarray  # float64: exact for float32, float64 and uint8
    codes: np.ndarray
    y: np.ndarray
    counts: np.ndarray  # integer weights
    weights: np.ndarray  # original weights

    def take(self, mask):
        return Rows(*(part[mask] for part in self))


class Dictionary(NamedTuple):
    """Thresholds of a subtree.

    `made_from` is the number of rows that placed them, 0 if they are exact.
    """

    thresholds: list
    made_from: int


def renewed(rows, weighted):
    """Return quantiles of the rows of a node; other tests check QuantileCandidates."""
    weights = rows.weights if weighted else None
    made = QuantileCandidates().fit(rows.X, sample_weight=weights).thresholds_
    codes = np.column_stack([encode(rows.X[:, f], tau) for f, tau in enumerate(made)])
    distinct = [len(np.unique(x[~np.isnan(x)])) for x in rows.X.T]
    made_from = 0 if max(distinct) <= 255 else len(rows.y)
    return rows._replace(codes=codes), Dictionary(made, made_from)


class Split(NamedTuple):
    score: float
    tie: int
    feature: int
    index: int  # -1: only NaN goes left
    missing_left: bool
    saw_missing: bool


class Node:
    """A node of the grown tree; `split` is None for a leaf."""

    def __init__(self, rows):
        self.rows = rows
        self.split = None
        self.threshold = np.nan
        self.missing_left = False
        self.left = self.right = None


class Grower:
    def __init__(
        self,
        dictionary,
        n_classes,
        criterion,
        *,
        seed=0,
        max_candidates=None,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        min_impurity_decrease=0.0,
        reuse_splits=True,
        renew_thresholds=False,
        splitter="best",
        weighted=False,
    ):
        self.dictionary = dictionary
        self.is_random = splitter == "random"
        self.min_share = min_weight_fraction_leaf
        self.renew = renew_thresholds
        self.weighted = weighted
        self.n_classes = n_classes
        self.criterion = criterion
        self.seed = seed
        self.max_candidates = max_candidates
        self.max_depth = np.inf if max_depth is None else max_depth
        self.min_split = min_samples_split
        self.min_leaf = min_samples_leaf
        self.min_decrease = min_impurity_decrease
        self.reuse_splits = reuse_splits
        self.splits = [
            (f, t) for f, tau in enumerate(dictionary) for t in range(len(tau))
        ]
        k = max_candidates
        self.whole = reuse_splits and (k is None or k >= len(self.splits))

    def grow(self, rows, key=None):
        """Grow from a root with that key; None for a single tree."""
        self.total = float(rows.counts.sum())
        # The rows for new thresholds are sampled by position.
        rows = rows.take(np.argsort(rows.y, kind="stable"))
        first = Dictionary(self.dictionary, len(rows.y))
        return self.build(
            rows, 0, tree_key(self.seed, 0) if key is None else key, first
        )

    def build(self, rows, depth, key, dictionary):
        node = Node(rows)
        n = len(rows.y)
        if depth >= self.max_depth or n < self.min_split or len(set(rows.y)) < 2:
            return node
        if self.whole and self.renew and n <= dictionary.made_from // 16:
            rows, dictionary = renewed(rows, self.weighted)
        if self.whole:
            split = self.best_of_all(rows, key, dictionary)
        else:
            split = self.best_drawn(rows, key)
        if split is None or not self.worth_it(split, rows):
            return node
        tau = dictionary.thresholds[split.feature]
        node.split = split
        node.threshold = -np.inf if split.index < 0 else tau[split.index]
        node.missing_left = split.missing_left
        x = rows.X[:, split.feature]
        goes_left = np.where(np.isnan(x), split.missing_left, x < node.threshold)
        left, right = rows.take(goes_left), rows.take(~goes_left)
        if not split.saw_missing:
            node.missing_left = left.counts.sum() >= right.counts.sum()
        if not self.reuse_splits:
            self.splits.remove((split.feature, split.index))
        node.left = self.build(left, depth + 1, combine(key, 1), dictionary)
        node.right = self.build(right, depth + 1, combine(key, 2), dictionary)
        return node

    def worth_it(self, split, rows):
        gain = split.score - float(self.criterion.purity(self.class_counts(rows)))
        decrease = gain / self.criterion.unit / self.total
        return self.min_decrease <= 0 or (
            decrease + np.finfo(float).eps >= self.min_decrease
        )

    def class_counts(self, rows):
        counts = np.zeros(self.n_classes, dtype=np.int64)
        np.add.at(counts, rows.y, rows.counts)
        return counts

    def score(self, left, n_left, rows):
        """Return scores of splits, from their left sides; -inf if not allowed."""
        right = self.class_counts(rows) - left
        allowed = (n_left >= self.min_leaf) & (len(rows.y) - n_left >= self.min_leaf)
        least = math.ceil(self.total * self.min_share)
        allowed &= (left.sum(axis=-1) >= least) & (right.sum(axis=-1) >= least)
        return np.where(allowed, self.criterion.score(left, right), -np.inf)

    # All thresholds: all splits of the rows of the node.

    def features_of(self, rows, key):
        """Return the features that a node searches: all, or a sample in forests."""
        return range(len(self.dictionary))

    def best_of_all(self, rows, key, dictionary):
        features = self.features_of(rows, key)
        search = self.random_cut if self.is_random else self.best_cut
        found = [search(rows, f, key, dictionary) for f in features]
        found = [split for split in found if split]
        return max(found, key=lambda split: (split.score, split.tie), default=None)

    def best_cut(self, rows, f, key, dictionary):
        n_tau = len(dictionary.thresholds[f])
        codes = rows.codes[:, f]
        shape = (n_tau + 2, self.n_classes)
        hist = np.zeros(shape, dtype=np.int64)
        np.add.at(hist, (codes, rows.y), rows.counts)
        n_rows = np.bincount(codes, minlength=n_tau + 2)
        missing, n_missing = hist[-1], n_rows[-1]
        present = np.flatnonzero(n_rows[:-1])
        if n_tau == 0 or len(present) == 0:
            return None
        # Split j is below the j-th present code; thresholds lo..hi are equivalent.
        lo = np.concatenate([[-1], present[:-1]])
        hi = present - 1
        below = (np.cumsum(hist[:-1], axis=0) - hist[:-1])[present]
        n_below = (np.cumsum(n_rows[:-1]) - n_rows[:-1])[present]
        best = None
        for missing_left in [False, True] if n_missing else [False]:
            scores = self.score(
                below + missing * missing_left, n_below + n_missing * missing_left, rows
            )
            j = int(scores.argmax())  # the first of equal ones
            if np.isfinite(scores[j]) and (best is None or scores[j] > best[0]):
                best = scores[j], lo[j], hi[j], missing_left
        if best is None:
            return None
        score, low, high, missing_left = best
        gap = int(high - low) * 65535 // n_tau if low >= 0 else 0
        tie = gap << 48 | tie_number(key, f) >> 16
        index = -1 if low < 0 else int(low + high) // 2
        return Split(score, tie, f, index, missing_left, bool(n_missing))

    def random_cut(self, rows, f, key, dictionary):
        """Rate one threshold between the codes that occur, with NaN on either side."""
        n_tau = len(dictionary.thresholds[f])
        codes = rows.codes[:, f]
        index = random_index(codes, range(n_tau), n_tau, f, key)
        if index is None:
            return None
        is_missing = codes > n_tau
        best = None
        for missing_left in [False, True] if is_missing.any() else [False]:
            left = np.where(is_missing, missing_left, codes <= index)
            counts = self.class_counts(rows.take(left))
            score = float(self.score(counts, left.sum(), rows))
            if np.isfinite(score) and (best is None or score > best[0]):
                best = score, missing_left
        if best is None:
            return None
        tie = tie_number(key, f) >> 16
        return Split(best[0], tie, f, index, best[1], bool(is_missing.any()))

    # Lines 6 and 7: k candidates without replacement.

    def best_drawn(self, rows, key):
        features = set(self.features_of(rows, key))
        splits = [(f, t) for f, t in self.splits if f in features]
        n = len(splits)
        k = n if self.max_candidates is None else min(n, self.max_candidates)
        drawn = [splits[i] for i in sample_without_replacement(combine(key, 3), n, k)]
        found = []
        for f in sorted({f for f, _ in drawn}):
            indices = [t for g, t in drawn if g == f]
            if self.is_random:
                n_tau = len(self.dictionary[f])
                index = random_index(rows.codes[:, f], indices, n_tau, f, key)
                indices = [] if index is None else [index]
            split = self.best_candidate(rows, f, indices, key)
            if split:
                found.append(split)
        return max(found, key=lambda split: (split.score, split.tie), default=None)

    def best_candidate(self, rows, f, indices, key):
        x = rows.X[:, f]
        is_missing = np.isnan(x)
        best = None
        for missing_left in [False, True] if is_missing.any() else [False]:
            same_cut = {}  # candidates with the same rows below them
            for t in indices:
                same_cut.setdefault((x < self.dictionary[f][t]).sum(), []).append(t)
            for group in same_cut.values():
                tau = self.dictionary[f][group[0]]
                left = np.where(is_missing, missing_left, x < tau)
                counts = self.class_counts(rows.take(left))
                score = float(self.score(counts, left.sum(), rows))
                if np.isfinite(score) and (best is None or score > best[0]):
                    best = score, group[(len(group) - 1) // 2], missing_left
        if best is None:
            return None
        score, index, missing_left = best
        return Split(
            score, tie_number(key, f), f, index, missing_left, bool(is_missing.any())
        )


def make_rows(X, y, dictionary, counts, weights):
    """Return the rows of a root, without rows of weight zero."""
    X = np.asarray(X, dtype=np.float64)
    codes = np.column_stack(
        [encode(X[:, f], tau) for f, tau in enumerate(dictionary)]
    ).astype(np.intp)
    return Rows(X, codes, y, counts, weights).take(counts > 0)


def grow(X, y, dictionary, *, weights=None, criterion="gini", **settings):
    """Grow a tree. `y` holds 0..K-1, `dictionary` one array per feature."""
    y = np.asarray(y)
    counts, unit = integer_weights(weights, len(y))
    settings["weighted"] = weights is not None
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    rows = make_rows(X, y, dictionary, counts, weights)
    grower = Grower(
        dictionary, int(y.max()) + 1, Criterion(criterion, unit), **settings
    )
    return flatten(grower.grow(rows), grower.n_classes)


class Tree(NamedTuple):
    """A tree as arrays, breadth first.

    `left` of a leaf is its index among the leaves with several classes, or ~c if all
    its rows have class c.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    missing_left: np.ndarray
    n_samples: np.ndarray
    weight: np.ndarray
    leaf_values: np.ndarray


def flatten(root, n_classes):
    nodes = [root]
    left, shares = [], []
    for node in nodes:  # the loop appends to the list
        if node.split is None:
            sums = np.bincount(node.rows.y, node.rows.weights, minlength=n_classes)
            present = np.unique(node.rows.y)
            if len(present) == 1:
                left.append(~present[0])
            else:
                left.append(len(shares))
                shares.append(sums / sums.sum())
        else:
            left.append(len(nodes))
            nodes += [node.left, node.right]
    return Tree(
        np.array([-1 if node.split is None else node.split.feature for node in nodes]),
        np.array([node.threshold for node in nodes]),
        np.array(left),
        np.array([node.missing_left for node in nodes]),
        np.array([len(node.rows.y) for node in nodes]),
        np.array([node.rows.weights.sum() for node in nodes]),
        np.array(shares).reshape(-1, n_classes),
    )


def find_leaf(tree, row):
    """Return the nodes on the path of one row."""
    path = [0]
    while tree.feature[path[-1]] >= 0:
        node = path[-1]
        x = row[tree.feature[node]]
        left = tree.missing_left[node] if np.isnan(x) else x < tree.threshold[node]
        path.append(int(tree.left[node]) + (0 if left else 1))
    return path
