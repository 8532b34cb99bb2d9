"""Upper nodes of trees whose rows are more than 32 bits can count."""

import numpy as np
import pytest
import reference
from copied_peers import FIRST, CopiedPeers
from reference_forest import tree_key

from dics import (
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
    _core,
    _tree_tops,
)
from dics._base import rows_for_core
from dics._forest_draws import draw_counts, draw_own_counts
from dics._grow_call import GrowCall, Targets
from dics._grow_forest import plan_forest
from dics._settings import make_settings, settings_fields
from dics._tree_tops import grow_tops
from dics.dictionary import encode

pytestmark = pytest.mark.core
N_ROWS = 5000
MANY = 3_000_000  # times as many are 1.5 * 10^10


class Planned(Exception):
    """What a tree is to be grown from."""


def make_rows(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 6)).astype(np.float32)
    X[:, ::3] = np.round(X[:, ::3])
    X[rng.random(X.shape) < 0.05] = np.nan
    levels = rng.integers(0, 9, N_ROWS)
    X[:, 1] = levels
    score = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 5]) + rng.normal(size=N_ROWS)
    score += rng.normal(size=9)[levels]
    if n_classes == 0:
        return X, score
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.digitize(score, cuts)


def planned(model, X, y, weights, monkeypatch):
    """Return the plan of a model's trees, and what they are grown from."""

    def forest(self, data, n_draws, trees, _):
        dictionary = self.candidates_._dictionary
        fields = self._forest_fields(data, n_draws, trees)
        settings = self._tree_settings(data)
        plan = plan_forest(data, dictionary, settings, **fields)
        raise Planned(plan, data, dictionary)

    def tree(self, data, dictionary, settings):
        settings.renew_thresholds = False
        n = self.max_features_
        plan = plan_forest(data, dictionary, settings, max_features=n, n_trees=1)
        raise Planned(plan, data, dictionary)

    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_grow_arrays", forest, raising=False)
        for name in ("_grow_classes", "_grow_numbers", "_grow_drawn"):
            patch.setattr(type(model), name, tree, raising=False)
        with pytest.raises(Planned) as found:
            model.fit(X, y, weights)
    return found.value.args


def copied(settings, n_copies):
    """Return settings in which all that counts rows is in proportion."""
    fields = settings_fields(settings)
    fields["n_draws"] *= n_copies
    for name in ("min_samples_leaf", "min_samples_split"):
        fields["tree"]["limits"][name] *= n_copies
    categories = fields["tree"]["categories"]
    categories["smooth"] *= n_copies
    categories["charge"] *= n_copies
    categories["set_limits"]["min_rows"] *= n_copies
    return make_settings(_core.ForestSettings, **fields)


def grow_copies(plan, data, dictionary, n_copies, monkeypatch):
    """Split the upper nodes of so many copies of the rows; limits are in proportion."""
    settings = copied(plan.settings, n_copies)
    plan = plan._replace(settings=settings)
    rows = rows_for_core(data, plan.dictionary, are_drawn=settings.n_draws > 0)
    # The client has all rows: what is in fixed point is smaller by so many bits.
    n_bits = int(n_copies).bit_length()
    if rows["wide_counts"] is not None:
        rows["wide_counts"] = np.maximum(1, rows["wide_counts"] >> np.uint64(n_bits))
    call = GrowCall.of(plan, rows, N_ROWS * n_copies, is_forest=True)
    call = call._replace(apart_rows=50 * n_copies)
    if "y" in rows and settings.n_draws == 0:
        scale = call.settings["tree"]["scale"]
        scale["scales"] = [s / 2**n_bits for s in scale["scales"]]
    rng = np.random.default_rng(1)
    draws = [rng.poisson(1.0, N_ROWS).astype(np.uint32) for _ in range(9)]
    with monkeypatch.context() as patch:
        # To draw so often would take minutes.
        patch.setattr(
            _tree_tops, "draw_own_counts", lambda _, trees, *__: draws[: len(trees)]
        )
        codes = encode(data.X, dictionary, 1, 1).reshape(-1, N_ROWS)
        numbers = np.arange(FIRST, FIRST + N_ROWS)
        return grow_tops(
            call, codes, Targets.of(rows), numbers, CopiedPeers(N_ROWS, n_copies), 1
        )


KINDS = {
    "tree": (CGTreeClassifier, 3, {}),
    "entropy": (CGTreeClassifier, 3, {"criterion": "entropy"}),
    "two classes": (CGTreeClassifier, 2, {"min_samples_leaf": 1}),
    "levels": (CGTreeClassifier, 3, {"categorical_features": [1]}),
    "numbers": (CGTreeRegressor, 0, {}),
    "levels of numbers": (CGTreeRegressor, 0, {"categorical_features": [1]}),
    "forest": (CGForestClassifier, 3, {}),
    "balanced forest": (CGForestClassifier, 3, {"class_weight": "balanced_subsample"}),
    "forest of all rows": (CGForestClassifier, 3, {"bootstrap": False}),
    "forest of numbers": (CGForestRegressor, 0, {}),
}


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_upper_nodes_of_very_many_rows(kind, is_weighted, monkeypatch):
    make, n_classes, own = KINDS[kind]
    X, y = make_rows(n_classes)
    weights = None
    if is_weighted:
        weights = np.random.default_rng(2).uniform(0.5, 2, N_ROWS)
    options = {"min_samples_leaf": 7, "random_state": 0, **own}
    if "forest" in kind:
        options["n_estimators"] = 3
    plan = planned(make(**options), X, y, weights, monkeypatch)
    one, many = (grow_copies(*plan, n, monkeypatch) for n in (1, MANY))
    for a, b in zip(one.trees, many.trees, strict=True):
        for name in ("feature", "left", "missing_left", "threshold", "apart", "depth"):
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)
        np.testing.assert_array_equal(a["sets"], b["sets"])
        np.testing.assert_array_equal(a["n_rows"] * MANY, b["n_rows"])
        np.testing.assert_allclose(a["impurity"], b["impurity"], atol=1e-4)
        assert np.count_nonzero(a["feature"] >= 0) > 10
    np.testing.assert_array_equal(one.place, many.place)


def test_draws_of_own_rows_are_those_of_all():
    rng = np.random.default_rng(0)
    weights = rng.random(1000)
    own = np.flatnonzero(np.repeat(rng.random(100) < 0.4, 10))
    for chances in (None, weights):
        every = [c.copy() for c in draw_counts(5, range(3), 1000, 4000, chances)]
        some = draw_own_counts(5, range(3), 1000, 4000, chances, own)
        for counts, of_all in zip(some, every, strict=True):
            np.testing.assert_array_equal(counts, of_all[own])
    nothing = draw_own_counts(5, range(1), 1000, 4000, None, own[:0])
    assert len(nothing[0]) == 0


def test_draws_of_numbers_beyond_32_bits():
    n_rows, n_draws = 2**35 + 3, 3000
    key = reference.combine(tree_key(5, 2), 4)
    drawn = sorted(reference.draw_below(key, i, n_rows) for i in range(n_draws))
    assert drawn[-1] > 2**34
    own = np.unique([[row, row + 1] for row in drawn[::7]])
    (counts,) = draw_own_counts(5, range(2, 3), n_rows, n_draws, None, own)
    expected = [drawn.count(row) for row in own]
    np.testing.assert_array_equal(counts, expected)


def test_runs_that_are_not_those_of_the_counts():
    for places in ([0, 2], [0, 1, 2]):
        with pytest.raises(ValueError, match="runs are not those"):
            _core.bootstrap_here(
                0, 0, 1, None, 9, np.array([4]), np.array(places), np.zeros(3, "u4")
            )
