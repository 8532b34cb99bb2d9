"""Algorithm 4 of the paper (FastC-GBM) in NumPy, based on reference.py.

Two classes have two outputs here. Sums are float64, but the core adds integers with 16
bits: splits with almost equal gains may have another order.
"""

from typing import NamedTuple

import numpy as np
from reference import combine, mix, sample_without_replacement

LEAST_PRIOR = 1e-9
LARGEST_STEP = 10.0
NOISE = 1e-6  # relative to the score of a node: smaller gains are not split


def round_key(seed, number):
    return combine(combine(mix(seed), 0x626F6F7374), number)


# --- the loss -------------------------------------------------------------------------


def start_scores(y, weights, n_classes):
    """Return F_0, the logarithms of the class fractions."""
    shares = np.bincount(y, weights, minlength=n_classes) / weights.sum()
    return np.log(np.maximum(shares, LEAST_PRIOR))


def softmax(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def losses(scores, y):
    """Return the cross-entropy of each row."""
    top = scores.max(axis=1)
    of_class = np.take_along_axis(scores, y[:, None], axis=1)[:, 0]
    return top - of_class + np.log(np.exp(scores - top[:, None]).sum(axis=1))


def gradients(scores, y):
    return softmax(scores) - np.eye(scores.shape[1])[y]


def hessians(g):
    """Return p (1 - p), from g = p - y."""
    return np.abs(g) * (1 - np.abs(g))


# --- rows of a round ------------------------------------------------------------------


def lengths(g, weights):
    """Return weighted norms of the gradients; for two classes, of the margin."""
    length = np.abs(g[:, 1]) if g.shape[1] == 2 else np.linalg.norm(g, axis=1)
    return (weights * length).astype(np.float32)


def random_bits(key, n_rows):
    """Return 32 random bits per row."""
    return np.array([mix((key + i) % 2**64) >> 32 for i in range(n_rows)])


def goss(norms, key, top_rate, other_rate):
    """Return rows and their weights: the a N largest, and b N of the others."""
    n = len(norms)
    n_top, n_other = int(top_rate * n), int(other_rate * n)
    if not 0 < n_top + n_other < n:
        return np.arange(n), np.ones(n)
    by_length = np.argsort(-norms, kind="stable")
    rest = np.sort(by_length[n_top:])
    others = rest[np.argsort(random_bits(key, n)[rest], kind="stable")[:n_other]]
    factors = np.zeros(n)
    factors[by_length[:n_top]] = 1.0
    factors[others] = (n - n_top) / max(n_other, 1)
    rows = np.flatnonzero(factors)
    return rows, factors[rows]


def mvs_limit(norms, n_wanted):
    """Return m with sum(min(1, norm / m)) = n_wanted.

    Norms are rounded to the middles of bins, given by the upper half of their bits.
    """
    bins, counts = np.unique(norms.view(np.uint32) >> 16, return_counts=True)
    middles = (bins << 16 | 0x8000).astype(np.uint32).view(np.float32).astype(float)
    for first in range(len(bins), 0, -1):  # bins from here on are always sampled
        n_certain = counts[first:].sum()
        limit = (counts * middles)[:first].sum() / (n_wanted - n_certain)
        last = first - 1
        if limit >= middles[last] or n_certain + counts[last] >= n_wanted:
            return np.float32(max(limit, middles[last]))
    return np.float32(0)


def mvs(norms, key, top_rate, other_rate):
    """Sample row i with probability min(1, norm / m), weighted by the inverse."""
    n = len(norms)
    everything = np.arange(n), np.ones(n)
    n_wanted = (top_rate + other_rate) * n
    if n_wanted >= n:
        return everything
    limit = mvs_limit(norms, n_wanted)
    if limit <= 0:
        return everything
    chance = norms * (np.float32(2**32) / limit)
    rows = np.flatnonzero(
        (norms >= limit) | (random_bits(key, n).astype(np.float32) < chance)
    )
    if len(rows) == 0:
        return everything
    return rows, np.maximum(1.0, limit / norms[rows]).astype(float)


def sample_rows(sampling, norms, key, top_rate, other_rate):
    if sampling is None:
        return np.arange(len(norms)), np.ones(len(norms))
    draw = {"goss": goss, "mvs": mvs}[sampling]
    return draw(norms, combine(key, 1), top_rate, other_rate)


def sketch(g, n_numbers, key):
    """Return sums of the gradients of each row with random signs."""
    stream = combine(key, 5)
    bits = [combine(stream, i) >> 63 for i in range(g.shape[1] * n_numbers)]
    signs = np.where(np.array(bits).reshape(-1, n_numbers), 1.0, -1.0)
    return g @ signs / np.sqrt(n_numbers)


# --- splits of a round ----------------------------------------------------------------


def sample_splits(dictionary, key, *, max_features, max_candidates, used, drawn):
    """Return the threshold indices of each feature that a round searches."""
    features = [f for f, tau in enumerate(dictionary) if len(tau)]
    if max_features < len(features):
        chosen = sample_without_replacement(
            combine(key, 2), len(features), max_features
        )
        features = [features[i] for i in chosen]
    splits = [(f, t) for f in features for t in range(len(dictionary[f]))]
    if drawn:
        splits = [split for split in splits if split not in used]
        n = len(splits)
        k = min(max_candidates or n, n)
        chosen = sample_without_replacement(combine(key, 3), n, k)
        splits = [splits[i] for i in chosen]
    return {f: [t for g, t in splits if g == f] for f in sorted({f for f, _ in splits})}


# --- one tree -------------------------------------------------------------------------


class Split(NamedTuple):
    gain: float
    feature: int
    index: int  # -1: only NaN goes left
    missing_left: bool


class Node:
    """A node of a growing tree; `rows` are indices into the sample."""

    def __init__(self, rows, depth):
        self.rows = rows
        self.depth = depth
        self.splits = []  # allowed splits, best first
        self.own = 0.0  # half the sum of G^2 / (H + lambda)
        self.split = None  # the chosen split
        self.left = self.right = None


class Grower:
    """Grows one tree; leaves with the largest gain come first.

    `sums` has g, h and 1 of each sampled row, times the weight of the row.
    """

    def __init__(self, X, sums, dictionary, splits, *, middle, limits):
        self.X = X
        self.sums = sums
        self.dictionary = dictionary
        self.splits = splits
        self.middle = middle  # the middle one of equal thresholds, else the first
        self.limits = limits

    def grow(self):
        root = Node(np.arange(len(self.X)), 0)
        self.search_node(root)
        leaves = [root]
        while len(leaves) < self.limits["max_leaf_nodes"]:
            node = self.choose_node(leaves)
            if node is None:
                break
            node.split = self.choose_split(node)
            left = self.goes_left(node.split, self.X[node.rows])
            node.left = Node(node.rows[left], node.depth + 1)
            node.right = Node(node.rows[~left], node.depth + 1)
            leaves.remove(node)
            for child in (node.left, node.right):
                self.search_node(child)
                leaves.append(child)
        return root

    def choose_node(self, leaves):
        worth_it = [leaf for leaf in leaves if leaf.splits and self.worth_it(leaf)]
        return max(worth_it, key=lambda leaf: leaf.splits[0].gain, default=None)

    def choose_split(self, node):
        return node.splits[0]

    def worth_it(self, node):
        gain = node.splits[0].gain
        return gain > self.limits["min_gain"] and gain > NOISE * node.own

    def score(self, sums):
        """Return half the sum over the outputs of G^2 / (H + lambda)."""
        g, h = np.split(sums[..., :-1], 2, axis=-1)
        bottom = h + self.limits["l2"]
        terms = np.divide(g * g, bottom, out=np.zeros_like(g), where=bottom > 0)
        return terms.sum(axis=-1) / 2

    def hessian_sum(self, sums):
        """Return the sum over the outputs; two classes have one."""
        h = np.split(sums[..., :-1], 2, axis=-1)[1]
        return h.sum(axis=-1) / (2 if h.shape[-1] == 2 else 1)

    def search_node(self, node):
        least = self.limits["min_samples_leaf"]
        if node.depth >= self.limits["max_depth"] or len(node.rows) < 2 * least:
            return
        node.own = float(self.score(self.sums[node.rows].sum(axis=0)))
        found = [split for f in self.splits for split in self.cuts(node, f)]
        node.splits = sorted(found, key=lambda split: -split.gain)  # stable

    def cuts(self, node, f):
        """Return the allowed splits of one feature."""
        x, sums = self.X[node.rows, f], self.sums[node.rows]
        is_missing = np.isnan(x)
        groups = {}  # thresholds with the same rows below
        n_below = np.searchsorted(np.sort(x), self.dictionary[f])  # NaN comes last
        for t in self.splits[f]:
            groups.setdefault(int(n_below[t]), []).append(t)
        groups.pop(0, None)
        cuts = [
            (g[(len(g) - 1) // 2 if self.middle else 0], False) for g in groups.values()
        ]
        if is_missing.any():
            cuts += [(-1, True)] + [(t, True) for t, _ in cuts]
        if not cuts:
            return []
        tau = np.array([self.threshold(Split(0, f, *cut)) for cut in cuts])
        missing_left = np.array([m for _, m in cuts])
        left = (x < tau[:, None]) | (is_missing & missing_left[:, None])
        inside = left @ sums
        n_left = left.sum(axis=1)
        least = self.limits["min_samples_leaf"]
        allowed = (n_left >= least) & (len(x) - n_left >= least)
        outside = sums.sum(axis=0) - inside
        for side in (inside, outside):
            allowed &= self.hessian_sum(side) >= self.limits["min_child_weight"]
        gains = self.score(inside) + self.score(outside) - node.own
        larger_left = 2 * n_left > len(x)
        return [
            Split(float(gain), f, t, m if is_missing.any() else bool(larger))
            for gain, (t, m), larger, ok in zip(
                gains, cuts, larger_left, allowed, strict=True
            )
            if ok
        ]

    def goes_left(self, split, X):
        x = X[:, split.feature]
        below = x < self.threshold(split)
        return np.where(np.isnan(x), split.missing_left, below)

    def threshold(self, split):
        if split.index < 0:
            return -np.inf
        return self.dictionary[split.feature][split.index]


class Tree(NamedTuple):
    """A tree as arrays, breadth first; see dics._model.trees.Trees."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    missing_left: np.ndarray
    gain: np.ndarray
    n_samples: np.ndarray
    leaf_values: np.ndarray  # for all classes, also for two


def leaf_indices(feature, threshold, left, missing_left, X):
    """Return the leaf index of each row."""
    at = np.zeros(len(X), dtype=int)
    while (inner := feature[at] >= 0).any():
        x = X[np.arange(len(X)), feature[at]]
        right = np.where(
            np.isnan(x), ~missing_left[at].astype(bool), x >= threshold[at]
        )
        at = np.where(inner, left[at] + right, at)
    return left[at]


# --- Algorithm 4 ----------------------------------------------------------------------


def step_of(g, h, n, learning_rate, l2):
    """Return the value of one class in a leaf: Newton's step, at most log(n / p)."""
    if g == 0 or h + l2 <= 0:
        return 0.0
    step = -learning_rate * g / (h + l2)
    p = g + n
    if step > 0 and p > 0:
        step = min(step, np.log(n / p))
    if step < 0 and n > 0:
        step = max(step, np.log(n / p))
    return float(np.clip(step, -LARGEST_STEP, LARGEST_STEP))


def margin_step(g, h, n, learning_rate, l2):
    """Return the step of the margin of two classes, up to the larger limit.

    The loss is at most p_1 (e^w - 1) - n_1 w, and at most p_0 (e^-w - 1) + n_0 w.
    """
    if g[1] == 0 or h[1] + l2 <= 0:
        return 0.0
    step = -2 * learning_rate * g[1] / (h[1] + l2)
    p = g + n
    with np.errstate(divide="ignore"):
        limits = np.abs(np.log(n / p))
    limit = min(limits.max(), 2 * LARGEST_STEP)
    return float(np.clip(step, -limit, limit))


def steps_of(g, h, n, learning_rate, l2):
    """Return the steps of all classes; those of two classes are opposite."""
    if len(g) == 2:
        step = margin_step(g, h, n, learning_rate, l2)
        return np.array([-step / 2, step / 2])
    return np.array(
        [step_of(*sums, learning_rate, l2) for sums in zip(g, h, n, strict=True)]
    )


class Boosting:
    """The state between rounds: `tree(t)` grows a tree, `add(tree)` adds it."""

    def __init__(
        self,
        X,
        y,
        dictionary,
        *,
        weights=None,
        seed=0,
        learning_rate=0.1,
        max_depth=None,
        max_leaf_nodes=None,
        max_candidates=None,
        max_features=None,
        sampling=None,
        top_rate=0.2,
        other_rate=0.1,
        leaf_values="all",
        l2_regularization=1.0,
        min_split_gain=0.0,
        min_samples_leaf=1,
        min_child_weight=0.0,
        reuse_splits=True,
        sketch_outputs=None,
        noise_shrinkage=0.0,
    ):
        weights = np.ones(len(y)) if weights is None else np.asarray(weights, float)
        kept = weights > 0
        self.n_classes = int(np.max(y)) + 1
        self.X = np.asarray(X, dtype=np.float64)[kept]
        self.y = np.asarray(y)[kept]
        self.weights = weights[kept].astype(np.float32).astype(float)
        self.dictionary = [np.asarray(tau, dtype=np.float64) for tau in dictionary]
        self.seed = seed
        self.learning_rate = learning_rate
        self.max_candidates = max_candidates
        self.max_features = max_features or len(dictionary)
        self.sampling = sampling, top_rate, other_rate
        self.leaves_of_sample = leaf_values == "sample"
        self.limits = {
            "max_depth": max_depth or np.inf,
            "max_leaf_nodes": max_leaf_nodes or np.inf,
            "min_samples_leaf": min_samples_leaf,
            "l2": l2_regularization,
            "min_gain": min_split_gain,
            "min_child_weight": min_child_weight,
        }
        self.reuse_splits = reuse_splits
        self.sketch_outputs = sketch_outputs
        self.noise_shrinkage = noise_shrinkage
        self.used = []
        start = start_scores(self.y, self.weights, self.n_classes)
        self.scores = np.tile(start, (len(self.y), 1))

    def loss(self):
        return np.average(losses(self.scores, self.y), weights=self.weights)

    def tree(self, number, make_grower=Grower):
        key = round_key(self.seed, number)
        g = gradients(self.scores, self.y)
        h = hessians(g)
        sampling, a, b = self.sampling
        rows, factors = sample_rows(sampling, lengths(g, self.weights), key, a, b)
        drawn = self.max_candidates is not None or not self.reuse_splits
        splits = sample_splits(
            self.dictionary,
            key,
            max_features=self.max_features,
            max_candidates=self.max_candidates,
            used=self.used,
            drawn=drawn,
        )
        counts = (self.weights[rows] * factors)[:, None]
        first, second, l2 = g, h, self.limits["l2"]
        if self.sketch_outputs:
            first = sketch(g, self.sketch_outputs, key)
            second, l2 = np.ones_like(first), l2 * self.n_classes
        grower = make_grower(
            self.X[rows],
            np.hstack(
                [counts * first[rows], counts * second[rows], np.ones_like(counts)]
            ),
            self.dictionary,
            splits,
            middle=not drawn,
            limits={**self.limits, "l2": l2},
        )
        root = grower.grow()
        # A split with only NaN on the left has no threshold.
        if not self.reuse_splits and root.split is not None and root.split.index >= 0:
            self.used.append((root.split.feature, root.split.index))
        if not self.leaves_of_sample:
            rows, factors = np.arange(len(self.y)), np.ones(len(self.y))
        return self.flatten(root, grower, g, h, rows, factors)

    def flatten(self, root, grower, g, h, rows, factors):
        nodes, left, n_leaves = [root], [], 0
        for node in nodes:  # the loop appends to the list
            if node.split is None:
                left.append(n_leaves)
                n_leaves += 1
            else:
                left.append(len(nodes))
                nodes += [node.left, node.right]
        splits = [node.split for node in nodes]
        shape = (
            np.array([-1 if s is None else s.feature for s in splits]),
            np.array([np.nan if s is None else grower.threshold(s) for s in splits]),
            np.array(left),
            np.array([s is not None and s.missing_left for s in splits]),
        )
        leaf = leaf_indices(*shape, self.X)
        values = np.empty((n_leaves, self.n_classes))
        weights = (self.weights[rows] * factors)[:, None]
        hits = np.eye(self.n_classes)[self.y]
        for number in range(n_leaves):
            here = leaf[rows] == number
            sums = [(weights * part[rows])[here].sum(axis=0) for part in (g, h, hits)]
            rate = self.learning_rate * self.trust(*sums[:2])
            values[number] = steps_of(*sums, rate, self.limits["l2"])
        gains = np.array([0.0 if s is None else s.gain for s in splits])
        return Tree(*shape, gains, self.n_samples(shape, leaf), values)

    def trust(self, g, h):
        """Return the shrinkage of leaf values; two classes have one output."""
        if self.noise_shrinkage == 0:
            return 1.0
        outputs = slice(1, None) if self.n_classes == 2 else slice(None)
        g, h = g[outputs], h[outputs]
        signal = (g * g / (h + self.limits["l2"])).sum()
        noise = np.minimum(min(1.0, self.weights.mean()), h).sum()
        return signal / (signal + self.noise_shrinkage * noise) if signal > 0 else 1.0

    def n_samples(self, shape, leaf):
        """Return the rows of each node; children come after their parents."""
        feature, _, left, _ = shape
        counts = np.zeros(len(feature), dtype=int)
        for i in reversed(range(len(feature))):
            if feature[i] < 0:
                counts[i] = (leaf == left[i]).sum()
            else:
                counts[i] = counts[left[i]] + counts[left[i] + 1]
        return counts

    def add(self, tree):
        leaf = leaf_indices(
            tree.feature, tree.threshold, tree.left, tree.missing_left, self.X
        )
        self.scores = self.scores + tree.leaf_values[leaf]


def boost(X, y, dictionary, n_rounds, **settings):
    """Run all rounds; return the trees, the scores and the losses."""
    boosting = Boosting(X, y, dictionary, **settings)
    trees, found = [], [boosting.loss()]
    for number in range(n_rounds):
        trees.append(boosting.tree(number))
        boosting.add(trees[-1])
        found.append(boosting.loss())
    return trees, boosting.scores, found
