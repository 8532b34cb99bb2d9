"""The plan of a forest for the core: sampled features, order of columns."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from dics import _core
from dics._dictionary import (
    Codes,
    Dictionary,
    TrainingData,
    encode,
    encode_or_list,
    select,
)
from dics._estimator.base import rows_for_core
from dics._growing.settings import make_settings
from dics._input.checks import Array
from dics._input.rows import RemoteRows
from dics._input.sparse import SparseRows
from dics._model.trees import NODE

# What `max_features` may be, as in scikit-learn.
MAX_FEATURES = [
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0.0, 1.0, closed="right"),
    StrOptions({"sqrt", "log2"}),
    None,
]


# Of more features than this, most of whose rows have one code, nodes of class forests
# draw one cut of each feature that they look at, as ExtraTrees does. Share of the test
# rows of newsgroups20 that are right, and CPU seconds of a fit: 0.751 and 15 instead of
# 0.709 and 15 with the best cut of each (RandomForest 0.717 and 49); with all rows in
# each tree 0.755 and 19 instead of 0.716 and 22 (ExtraTrees 0.755 and 58; 2026-11).
MANY_FEATURES = 2048
# Share of the codes that differ from the commonest, and rows that tell it.
RARE_SHARE = 1 / 32
RARE_ROWS = 256


class ForestPlan(NamedTuple):
    """How trees are grown side by side, whoever grows them.

    Attributes
    ----------
    dictionary : Dictionary
        Of the features, in the order that nodes draw them from.
    order : ndarray or None
        Their columns in X; None if they are the columns.
    settings : ForestSettings
    """

    dictionary: Dictionary
    order: npt.NDArray[np.int32] | None
    settings: _core.ForestSettings

    @property
    def code_width(self) -> int:
        """Number of features whose codes stand side by side."""
        n_features = len(self.dictionary.offsets) - 1
        return _core.forest_code_width(self.settings.sampling, n_features)


def plan_forest(
    data: TrainingData,
    dictionary: Dictionary,
    tree: _core.GrowSettings,
    *,
    max_features: int,
    feature_sampling: str = "node",
    draws_cuts: bool = False,
    **fields: Any,
) -> ForestPlan:
    """Choose the order of the features.

    Parameters
    ----------
    data : TrainingData
    dictionary : Dictionary
    tree : GrowSettings
        How each of the trees is grown.
    max_features : int
        Number of features drawn for each node or tree.
    feature_sampling : {"node", "tree"}
    draws_cuts : bool, default=False
        Whether nodes draw one cut of each feature, if these are many and rare.
    **fields : dict
        More fields of `ForestSettings`.
    """
    kinds = _core.FeatureSampling
    sampling = kinds.none
    if max_features < data.X.shape[1]:
        sampling = getattr(kinds, feature_sampling)
    order: npt.NDArray[np.int32] | None = None
    draws_cuts = draws_cuts and sampling == kinds.node and tree.max_candidates == 0
    if sampling == kinds.node:
        order = np.asarray(_core.forest_order(dictionary.offsets, data.seed))
        draws_cuts = (
            draws_cuts
            and len(order) > MANY_FEATURES
            and has_rare_codes(data.X, dictionary, data.n_threads)
        )
        dictionary = select(dictionary, order)
        if tree.monotonic:
            tree.monotonic = [tree.monotonic[f] for f in order]
        known = tree.categories.categorical
        if known:
            tree.categories.categorical = [known[f] for f in order]
    settings = make_settings(
        _core.ForestSettings,
        tree=tree,
        sampling=sampling,
        max_features=max_features,
        draws_cuts=draws_cuts,
        **fields,
    )
    return ForestPlan(dictionary, order, settings)


def has_rare_codes(
    X: Array | SparseRows | RemoteRows,
    dictionary: Dictionary,
    n_threads: int,
) -> bool:
    """Tell whether few codes differ from the commonest of their features.

    By some of the rows. A code that more than half of them have is the middle one.
    """
    rows = np.arange(0, len(X), max(1, -(-len(X) // RARE_ROWS)))
    some = X.take(rows) if isinstance(X, RemoteRows) else X[rows]
    codes = encode(some, dictionary, 1, n_threads).reshape(-1, len(rows))
    middle = np.partition(codes, len(rows) // 2, axis=1)[:, [len(rows) // 2]]
    n_searched = np.count_nonzero(np.diff(dictionary.offsets))
    n_others = np.count_nonzero(codes != middle)
    return bool(n_others < RARE_SHARE * len(rows) * n_searched)


def grow_forest(
    data: TrainingData,
    dictionary: Dictionary,
    tree: _core.GrowSettings,
    *,
    progress: Callable[[int], None] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Grow trees and return their arrays; see `plan_forest`.

    `progress` is called with the number of trees that are done, a few times a second.
    """
    plan = plan_forest(data, dictionary, tree, **fields)
    codes = encode_or_list(
        data.X, dictionary, plan.code_width, data.n_threads, plan.order
    )
    return grow_planned(plan, data, codes, progress=progress)


def grow_planned(
    plan: ForestPlan,
    data: TrainingData,
    codes: Codes,
    *,
    drawn: npt.NDArray[np.uint32] | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Grow trees from codes and return their arrays.

    Parameters
    ----------
    plan : ForestPlan
    data : TrainingData
        Its X is not used.
    codes : ndarray or CodeLists
        Of the features of the plan, as `encode` lays them out.
    drawn : ndarray of shape (n_trees, n_rows), default=None
        How often each tree has drawn the rows, if they are some of the training rows.
    progress : callable, default=None
        See `grow_forest`.
    """
    grow = _core.grow_forest if data.values is None else _core.grow_regression_forest
    arrays: dict[str, Any] = grow(
        codes,
        code_width=plan.code_width,
        **rows_for_core(data, plan.dictionary, are_drawn=plan.settings.n_draws > 0),
        settings=plan.settings,
        progress=progress,
        drawn=drawn,
    )
    if plan.order is not None:  # name the features by their columns in X
        feature = arrays["nodes"].view(NODE)["feature"]
        inner = feature >= 0
        feature[inner] = plan.order[feature[inner]]
    return arrays
