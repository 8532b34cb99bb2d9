"""Trees whose rows are in several processes are those of one process."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from checks import digest

from dics import (
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    _core,
)
from dics._apart_nodes import ApartRows, grow_apart, joined_rows
from dics._base import rows_for_core
from dics._grow_call import GrowCall, Targets
from dics._grow_forest import plan_forest
from dics._joined_trees import joined_tree, one_behind_the_other, weight_of_tree
from dics._tree_tops import grow_tops
from dics.dictionary import encode

pytestmark = pytest.mark.core


class ThreadPeers:
    """One of several threads that add up numbers together."""

    def __init__(self, shared, rank, loses_at=None):
        self.shared, self.rank = shared, rank
        self.runs = np.array([[0, 0, 0]], dtype=np.int64)
        self.run_starts = np.zeros(1, dtype=np.int64)
        self.n_left = loses_at

    @classmethod
    def of(cls, n):
        shared = SimpleNamespace(
            barrier=threading.Barrier(n, timeout=60), parts=[None] * n
        )
        return [cls(shared, rank) for rank in range(n)]

    def add(self, values):
        return self._reduce(values, np.sum)

    def largest(self, values):
        return self._reduce(values, np.max)

    def _reduce(self, values, join):
        shared = self.shared
        shared.parts[self.rank] = values.copy()
        shared.barrier.wait()
        assert len({len(part) for part in shared.parts}) == 1
        joined = join(np.stack(shared.parts), axis=0)
        shared.barrier.wait()
        values[...] = joined
        return True


def split_rows(n_rows, n_parts, rng):
    """Cut rows into runs, some of them empty, and deal them out to ranks."""
    cuts = np.sort(rng.integers(0, n_rows + 1, 2 * n_parts))
    runs = np.split(np.arange(n_rows), cuts)
    owner = rng.integers(0, n_parts, len(runs))
    return [
        np.concatenate(
            [
                np.empty(0, int),
                *(run for run, o in zip(runs, owner, strict=True) if o == r),
            ]
        )
        for r in range(n_parts)
    ]


def grow_by_rows(plan, data, is_forest, parts, apart_rows):
    """What a cluster does, by threads."""
    rows = rows_for_core(data, plan.dictionary, are_drawn=plan.settings.n_draws > 0)
    call = GrowCall.of(plan, rows, len(data.X), is_forest=is_forest)
    call = call._replace(apart_rows=apart_rows)
    targets = Targets.of(rows)
    codes = encode(data.X, by_rows.dictionary, 1, 1).reshape(-1, len(data.X))
    tops = [None] * len(parts)

    def run(rank, peers):
        own = parts[rank]
        tops[rank] = grow_tops(
            call, np.ascontiguousarray(codes[:, own]), targets.take(own), own, peers, 1
        )

    threads = [
        threading.Thread(target=run, args=(rank, peers))
        for rank, peers in enumerate(ThreadPeers.of(len(parts)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grown = []
    for t, top in enumerate(tops[0].trees):
        for other in tops[1:]:
            for name, array in top.items():
                np.testing.assert_array_equal(array, other.trees[t][name])
        pieces = []
        for own, of_rank in zip(parts, tops, strict=True):
            taking = of_rank.place[t] >= 0
            pieces.append(
                ApartRows(
                    of_rank.place[t][taking],
                    own[taking],
                    targets.take(own[taking]),
                    None if of_rank.counts is None else of_rank.counts[t][taking],
                    None if call.renews else codes[:, own[taking]],
                    data.X[own[taking]] if call.renews else None,
                )
            )
        rows_apart = in_order(joined_rows(pieces))
        apart = grow_apart(call, top, rows_apart, 1)
        by_rows.n_inner += np.count_nonzero(top["left"] >= 0)
        grown.append(
            joined_tree(
                call,
                top,
                [apart[i] for i in range(len(apart))],
                weight_of_tree(call, top, targets),
            )
        )
    return one_behind_the_other(grown)


def in_order(rows):
    order = np.argsort(rows.numbers)
    return rows._replace(
        place=rows.place[order],
        numbers=rows.numbers[order],
        targets=rows.targets.take(order),
        counts=None if rows.counts is None else rows.counts[order],
        codes=None if rows.codes is None else rows.codes[:, order],
        values=None if rows.values is None else rows.values[order],
    )


def by_rows(model, X, y, weights, parts, apart_rows, monkeypatch):
    """Fit an estimator whose trees are grown by rows."""
    by_rows.n_inner = 0

    def forest(self, data, n_draws, trees, _):
        by_rows.dictionary = self.candidates_._dictionary
        plan = plan_forest(
            data,
            by_rows.dictionary,
            self._tree_settings(data),
            **self._forest_fields(data, n_draws, trees),
        )
        return grow_by_rows(plan, data, True, parts, apart_rows)

    def tree(self, data, dictionary, settings):
        by_rows.dictionary = dictionary
        draws = self.max_features_ < data.X.shape[1]
        if draws:
            settings.renew_thresholds = False
        plan = plan_forest(
            data, dictionary, settings, max_features=self.max_features_, n_trees=1
        )
        return grow_by_rows(plan, data, draws, parts, apart_rows)

    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_grow_arrays", forest, raising=False)
        for name in ("_grow_classes", "_grow_numbers", "_grow_drawn"):
            patch.setattr(type(model), name, tree, raising=False)
        return model.fit(X, y, weights)


def make_rows(rng, n_rows, n_features, n_classes):
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, ::3] = np.round(X[:, ::3])
    X[rng.random(X.shape) < 0.05] = np.nan
    if n_features > 4:
        X[:, 1] = 0
        X[:, 3] = rng.random(n_rows) < 0.02
    score = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, -1]) + rng.normal(size=n_rows)
    if n_classes == 0:
        return X, score
    return X, np.digitize(score, np.linspace(-1, 1, n_classes - 1))


def options(rng, model):
    """Choose parameters."""
    is_tree = "Tree" in model.__name__
    is_class = "Classifier" in model.__name__
    chosen = {
        "max_depth": rng.choice([None, 1, 3, 8]),
        "min_samples_leaf": int(rng.choice([1, 1, 5])),
        "min_samples_split": int(rng.choice([2, 10])),
        "max_features": [None, "sqrt", 0.5][rng.integers(3)],
        "min_impurity_decrease": float(rng.choice([0, 0, 1e-4])),
        "min_weight_fraction_leaf": float(rng.choice([0, 0, 0.01])),
        "max_candidates": [None, None, 300][rng.integers(3)],
        "random_state": int(rng.integers(1000)),
    }
    if is_class:
        chosen["criterion"] = rng.choice(["gini", "entropy"])
    else:
        chosen["criterion"] = rng.choice(["squared_error", "poisson"])
    if not is_tree:
        chosen["n_estimators"] = 3
        chosen["bootstrap"] = bool(rng.random() < 0.7)
        chosen["feature_sampling"] = rng.choice(["node", "tree"])
        if is_class and rng.random() < 0.3:
            chosen["class_weight"] = "balanced_subsample"
    else:
        chosen["renew_thresholds"] = [True, False, "auto"][rng.integers(3)]
        if chosen["max_candidates"]:
            chosen["max_candidates"] = 10**6 if is_class else 300
    return {name: value for name, value in chosen.items() if value is not None}


MODELS = [CGForestClassifier, CGForestRegressor, CGTreeClassifier, CGTreeRegressor]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("model", MODELS)
def test_the_trees_of_one_process(model, seed, monkeypatch):
    rng = np.random.default_rng([seed, MODELS.index(model)])
    is_class = "Classifier" in model.__name__
    n_classes = int(rng.choice([2, 3, 7])) if is_class else 0
    X, y = make_rows(
        rng, int(rng.choice([200, 700])), int(rng.choice([3, 9])), n_classes
    )
    chosen = options(rng, model)
    if chosen["criterion"] == "poisson":
        y = np.exp(y / 3)
    if rng.random() < 0.25:
        chosen["monotonic_cst"] = [1] + [0] * (X.shape[1] - 1)
        if is_class and n_classes > 2:
            del chosen["monotonic_cst"]
    weights = [None, rng.integers(0, 4, len(y)) * 1.0, rng.random(len(y))][
        rng.integers(3)
    ]
    parts = split_rows(len(y), int(rng.integers(1, 5)), rng)
    apart_rows = int(rng.choice([0, 10, 60, 10**6]))
    expected = model(**chosen).fit(X, y, weights)
    found = by_rows(model(**chosen), X, y, weights, parts, apart_rows, monkeypatch)
    assert digest(found) == digest(expected), (chosen, apart_rows)
    assert by_rows.n_inner > 0 or apart_rows > 10


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("model", MODELS)
def test_sets_of_levels_of_one_process(model, seed, monkeypatch):
    monkeypatch.setattr("dics._categories.LEAST_ROWS", 10)
    monkeypatch.setattr("dics._base.SET_CHARGE", 0.2)  # many sets
    rng = np.random.default_rng([seed, MODELS.index(model), 1])
    is_class = "Classifier" in model.__name__
    X, y = make_rows(rng, 700, 5, 0)
    levels = rng.integers(0, 12, len(y))
    # What levels mean depends on another feature.
    y += 3 * rng.normal(size=(2, 12))[(X[:, 2] > 0).astype(int), levels]
    X[:, 1] = np.where(rng.random(len(y)) < 0.05, np.nan, levels)
    if is_class:
        n_classes = int(rng.choice([2, 4]))
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    chosen = options(rng, model) | {
        "categorical_features": [0, 1],
        "min_cat_samples": 5,
        "max_features": [None, 3][rng.integers(2)],
        "max_depth": 6,
    }
    chosen.pop("max_candidates", None)
    if chosen["criterion"] == "poisson":
        y = np.exp(y / 3)
    weights = [None, rng.integers(0, 4, len(y)) * 1.0, rng.random(len(y))][
        rng.integers(3)
    ]
    parts = split_rows(len(y), int(rng.integers(1, 5)), rng)
    apart_rows = int(rng.choice([0, 10, 60, 10**6]))
    expected = model(**chosen).fit(X, y, weights)
    found = by_rows(model(**chosen), X, y, weights, parts, apart_rows, monkeypatch)
    assert digest(found) == digest(expected), (chosen, apart_rows)
    draws_once = chosen.get("feature_sampling") == "tree"  # perhaps not the categories
    assert len(expected.trees_.sets.words) > 0 or draws_once
    for name in ("numbers", "words"):
        one, many = (getattr(m.trees_.sets, name) for m in (expected, found))
        np.testing.assert_array_equal(one, many)
        assert one.dtype == many.dtype


def test_a_lost_peer_is_no_error():
    class Lost:
        runs = np.array([[0, 0, 0]], dtype=np.int64)
        run_starts = np.zeros(1, dtype=np.int64)

        def add(self, _):
            return False

        largest = add

    settings = _core.ForestSettings()
    settings.n_trees = 1
    settings.tree.n_classes = 2
    found = _core.grow_tops(
        codes=np.zeros(4, np.uint8),
        columns=np.zeros(1, np.int32),
        values=np.zeros(1, np.float32),
        offsets=np.array([0, 1]),
        labels=np.zeros(4, np.uint32),
        counts=[None],
        wide_counts=[],
        settings=settings,
        is_forest=True,
        apart_rows=1,
        peers=Lost(),
        n_threads=1,
    )
    assert found is None
