"""Algorithm 3 of the paper (CGRF) in Python and NumPy, based on reference.py."""

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
    integer_weights,
    make_rows,
    mix,
    sample_without_replacement,
    tree_key,
)

# --- the rows of a tree ---------------------------------------------------------------


def random_uniform(key, counter):
    """Return random number `counter` of a key, uniform in [0, 1)."""
    return (combine(key, counter) >> 11) * 2.0**-53


def bootstrap(key, n_rows, sample_size, weights=None):
    """Return how often each row is sampled; weights are relative probabilities."""
    stream = combine(key, 4)
    counts = np.zeros(n_rows, dtype=np.int64)
    if weights is None:
        for i in range(sample_size):
            counts[draw_below(stream, i, n_rows)] += 1
        return counts
    sums = list(itertools.accumulate(float(w) for w in weights))
    last = bisect.bisect_left(sums, sums[-1])
    for i in range(sample_size):
        at = bisect.bisect_right(sums, random_uniform(stream, i) * sums[-1])
        counts[min(at, last)] += 1
    return counts


def balanced(counts, y):
    """Return weights with which all sampled classes have equal parts of 2**50."""
    of_class = np.bincount(y, counts)
    unit = 2.0**50 / np.count_nonzero(of_class)
    weights = [
        max(1, round(unit * int(n) / of_class[c])) if n else 0
        for n, c in zip(counts, y, strict=True)
    ]
    return np.array(weights, dtype=np.int64)


class Sample(NamedTuple):
    """The rows of one tree: their weights in splits and in leaves."""

    counts: np.ndarray
    weights: np.ndarray
    unit: float  # the fixed-point unit of entropy


def sample_of(key, y, sample_size, weights, balance):
    if sample_size == 0:
        counts, unit = integer_weights(weights, len(y))
        of_rows = np.ones(len(y)) if weights is None else np.asarray(weights)
        return Sample(counts, of_rows, unit)
    counts = bootstrap(key, len(y), sample_size, weights)
    if balance:
        counts = balanced(counts, y)
    return Sample(counts, counts.astype(float), 1.0 if balance else 2.0**20)


# --- the features of a node -----------------------------------------------------------


GROUP, OFFERED = 64, 128
MANY = 2048  # with more features, constant ones count as sampled


def shuffled(items, key, counter):
    """Yield items in random order (Fisher-Yates), from random number `counter` on."""
    items = list(items)
    for i in range(len(items)):
        other = i + draw_below(key, counter + i, len(items) - i)
        items[i], items[other] = items[other], items[i]
        yield items[i]


def forest_order(dictionary, seed):
    """Return features with thresholds; shuffled if nodes search a sample."""
    order = [f for f, tau in enumerate(dictionary) if len(tau)]
    if len(order) <= OFFERED:
        return order
    return list(shuffled(order, combine(mix(seed), 7), 0))


class NodeGrower(Grower):
    """Searches the first `max_features` sampled features that are not constant."""

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
        """Yield all features in random order, two random groups at a time."""
        n = len(self.dictionary)
        if n <= OFFERED:
            yield from shuffled(range(n), key, 0)
            return
        n_groups = -(-n // GROUP)
        groups = list(range(n_groups))  # of equal size, up to one feature
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
    **settings,
):
    """Grow one tree; with "tree" sampling, from a few columns only."""
    features, n_classes = range(len(dictionary)), int(y.max()) + 1
    if sampling == "node":
        features = forest_order(dictionary, seed)
    if sampling == "tree":
        features = sample_without_replacement(
            combine(key, 5), len(dictionary), max_features
        )
    dictionary = [dictionary[f] for f in features]
    kind = NodeGrower if sampling == "node" else Grower
    grower = kind(dictionary, n_classes, Criterion(criterion, sample.unit), **settings)
    grower.max_features = max_features
    grower.whole = grower.max_candidates is None
    rows = make_rows(
        np.asarray(X)[:, features], y, dictionary, sample.counts, sample.weights
    )
    tree = flatten(grower.grow(rows, key), n_classes)
    numbers = np.array([*features, -1])  # the last one for leaves
    return tree._replace(feature=numbers[tree.feature])


def grow_forest(
    X,
    y,
    dictionary,
    n_trees,
    *,
    sampling,  # "tree", "node" or "none"
    max_features=None,
    sample_size=0,  # 0: no bootstrap
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
            sample_of(key, y, sample_size, weights, balance_each_tree),
            key,
            seed=seed,
            sampling=sampling,
            max_features=max_features,
            criterion=criterion,
            **settings,
        )
        trees.append(tree)
    return trees


def leaf_fractions(tree, leaf, n_classes):
    """Return fractions with 32 bits, as fitted trees have; balanced classes tie."""
    row = tree.left[leaf]
    shares = np.eye(n_classes)[~row] if row < 0 else tree.leaf_values[row]
    return shares.astype(np.float32)


def predict_proba(trees, X, n_classes, hard):
    """Return mean class fractions of the leaves, or fractions of the votes."""
    votes = np.zeros((len(X), n_classes))
    for tree in trees:
        for i, row in enumerate(np.asarray(X, dtype=np.float64)):
            shares = leaf_fractions(tree, find_leaf(tree, row)[-1], n_classes)
            votes[i] += np.eye(n_classes)[shares.argmax()] if hard else shares
    return votes / len(trees)
