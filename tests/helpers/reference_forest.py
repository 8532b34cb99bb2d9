"""Algorithm 3 of the paper (CGRF) in plain Python and NumPy, upon reference.py."""

import bisect
import itertools
from typing import NamedTuple

import numpy as np
from reference import (
    Criterion,
    Grower,
    combine,
    draw_below,
    find_leaf,
    flatten,
    make_rows,
    mix,
    sample_without_replacement,
    whole_weights,
)


def tree_key(seed, number):
    return combine(mix(seed), 0x7472656500000000 + number)


# --- the rows of a tree ---------------------------------------------------------------


def draw_uniform(key, counter):
    """Draw number `counter` of a key, uniform in [0, 1)."""
    return (combine(key, counter) >> 11) * 2.0**-53


def bootstrap(key, n_rows, n_draws, weights=None):
    """How often each row is drawn; the weights are the chances."""
    stream = combine(key, 4)
    counts = np.zeros(n_rows, dtype=np.int64)
    if weights is None:
        for i in range(n_draws):
            counts[draw_below(stream, i, n_rows)] += 1
        return counts
    sums = list(itertools.accumulate(float(w) for w in weights))
    last = bisect.bisect_left(sums, sums[-1])
    for i in range(n_draws):
        at = bisect.bisect_right(sums, draw_uniform(stream, i) * sums[-1])
        counts[min(at, last)] += 1
    return counts


def balanced(counts, y):
    """Each class that was drawn gets the same share of 2**50."""
    of_class = np.bincount(y, counts)
    unit = 2.0**50 / np.count_nonzero(of_class)
    weights = [
        max(1, round(unit * int(n) / of_class[c])) if n else 0
        for n, c in zip(counts, y, strict=True)
    ]
    return np.array(weights, dtype=np.int64)


class Sample(NamedTuple):
    """The rows of one tree: what they count, what they weigh in the leaves."""

    counts: np.ndarray
    weights: np.ndarray
    unit: float  # of the fixed point of entropy


def sample_of(key, y, n_draws, weights, balance):
    if n_draws == 0:
        counts, unit = whole_weights(weights, len(y))
        of_rows = np.ones(len(y)) if weights is None else np.asarray(weights)
        return Sample(counts, of_rows, unit)
    counts = bootstrap(key, len(y), n_draws, weights)
    if balance:
        counts = balanced(counts, y)
    return Sample(counts, counts.astype(float), 1.0 if balance else 2.0**20)


# --- the features of a node -----------------------------------------------------------


GROUP, OFFERED = 64, 128
MANY = 2048  # features, above which constant ones count as drawn


def shuffled(items, key, counter):
    """Fisher and Yates, one item after the other, with draws from `counter` on."""
    items = list(items)
    for i in range(len(items)):
        other = i + draw_below(key, counter + i, len(items) - i)
        items[i], items[other] = items[other], items[i]
        yield items[i]


def forest_order(dictionary, seed):
    """Features that have thresholds; shuffled if a node is not offered all."""
    order = [f for f, tau in enumerate(dictionary) if len(tau)]
    if len(order) <= OFFERED:
        return order
    return list(shuffled(order, combine(mix(seed), 7), 0))


class NodeGrower(Grower):
    """Looks at the first `max_features` features drawn that vary within the node."""

    max_features = None

    def features_of(self, rows, key):
        drawn = []
        are_many = len(self.dictionary) > MANY
        for n_seen, f in enumerate(self.shuffle(combine(key, 6)), start=1):
            if len(np.unique(rows.codes[:, f])) > 1:
                drawn.append(f)
            n_counted = n_seen if are_many and drawn else len(drawn)
            if n_counted >= self.max_features:
                break
        return drawn

    def shuffle(self, key):
        """All features in random order, those of two random groups at a time."""
        n = len(self.dictionary)
        if n <= OFFERED:
            yield from shuffled(range(n), key, 0)
            return
        n_groups = -(-n // GROUP)
        groups = list(range(n_groups))  # as long as each other to within one feature
        counter = used = 0
        while used < len(groups):
            offered = []
            for _ in range(min(OFFERED // GROUP, len(groups) - used)):
                other = used + draw_below(key, counter, len(groups) - used)
                groups[used], groups[other] = groups[other], groups[used]
                group = groups[used]
                offered += range(group * n // n_groups, (group + 1) * n // n_groups)
                counter, used = counter + 1, used + 1
            yield from shuffled(offered, key, counter)
            counter += len(offered)


class DrawnCutGrower(NodeGrower):
    """Looks at `max_features` features, or on to the first that varies; at one cut."""

    def features_of(self, rows, key):
        drawn = []
        order = shuffled(range(len(self.dictionary)), combine(key, 6), 0)
        for n_seen, f in enumerate(order, start=1):
            if len(np.unique(rows.codes[:, f])) > 1:
                drawn.append(f)
            if drawn and n_seen >= self.max_features:
                break
        return drawn

    def best_cut(self, rows, f, key, dictionary):
        tau = np.asarray(self.dictionary[f], dtype=np.float64)
        present = rows.codes[rows.codes[:, f] <= len(tau), f]
        if len(present) == 0 or present.max() - present.min() < 2:
            return super().best_cut(rows, f, key, dictionary)
        low, high = int(present.min()), int(present.max())
        first = tau[low] - (tau[low + 1] - tau[low]) / 2
        last = tau[high - 1] + (tau[high - 1] - tau[high - 2]) / 2
        share = draw_uniform(combine(key, 0x6375740000000000 + f), 0)
        middles = (tau[low : high - 1] + tau[low + 1 : high]) / 2
        drawn = low + int((first + share * (last - first) >= middles).sum())
        split = self.best_candidate(rows, f, [drawn], key)
        return split and split._replace(tie=split.tie >> 16)


# --- the forest -----------------------------------------------------------------------


def grow_tree(
    X,
    y,
    dictionary,
    sample,
    key,
    *,
    seed,
    sampling,
    max_features,
    criterion,
    draws_cuts=False,
    **settings,
):
    """One tree; with "tree" sampling, from a few columns and nothing else."""
    features, n_classes = range(len(dictionary)), int(y.max()) + 1
    if sampling == "node":
        features = forest_order(dictionary, seed)
    if sampling == "tree":
        features = sample_without_replacement(
            combine(key, 5), len(dictionary), max_features
        )
    dictionary = [dictionary[f] for f in features]
    kind = Grower
    if sampling == "node":
        kind = DrawnCutGrower if draws_cuts else NodeGrower
    grower = kind(dictionary, n_classes, Criterion(criterion, sample.unit), **settings)
    grower.max_features = max_features
    grower.whole = grower.max_candidates is None
    rows = make_rows(
        np.asarray(X)[:, features], y, dictionary, sample.counts, sample.weights
    )
    tree = flatten(grower.grow(rows, key), n_classes)
    numbers = np.array([*features, -1])  # the last for leaves
    return tree._replace(feature=numbers[tree.feature])


def grow_forest(
    X,
    y,
    dictionary,
    n_trees,
    *,
    sampling,  # "tree", "node" or "none"
    max_features=None,
    n_draws=0,  # 0: no bootstrap
    weights=None,
    balance_each_tree=False,
    criterion="gini",
    seed=0,
    **settings,
):
    """Grow trees 0..n_trees-1; arguments as for `reference.grow`."""
    y = np.asarray(y)
    trees = []
    for number in range(n_trees):
        key = tree_key(seed, number)
        tree = grow_tree(
            X,
            y,
            dictionary,
            sample_of(key, y, n_draws, weights, balance_each_tree),
            key,
            seed=seed,
            sampling=sampling,
            max_features=max_features,
            criterion=criterion,
            **settings,
        )
        trees.append(tree)
    return trees


def shares_of_leaf(tree, leaf, n_classes):
    """As a fitted tree holds them: in 32 bits, where balanced classes tie."""
    row = tree.left[leaf]
    shares = np.eye(n_classes)[~row] if row < 0 else tree.leaf_values[row]
    return shares.astype(np.float32)


def predict_proba(trees, X, n_classes, hard):
    """Mean of the class shares of the leaves, or the shares of the trees' votes."""
    votes = np.zeros((len(X), n_classes))
    for tree in trees:
        for i, row in enumerate(np.asarray(X, dtype=np.float64)):
            shares = shares_of_leaf(tree, find_leaf(tree, row)[-1], n_classes)
            votes[i] += np.eye(n_classes)[shares.argmax()] if hard else shares
    return votes / len(trees)
