"""The plan of a forest for the core: sampled features, order of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._dictionary import Codes, Dictionary, encode, select
from dics._growing.settings import core_rows, make_settings
from dics._model.trees import NODE

if TYPE_CHECKING:
    from dics._training import TrainingData

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
    """The trees of a forest, before they are grown.

    Attributes
    ----------
    dictionary : Dictionary
        Thresholds of the features in the order from which nodes sample them.
    order : ndarray or None
        Columns of these features in X; None if both orders are the same.
    settings : ForestSettings
    """

    dictionary: Dictionary
    order: npt.NDArray[np.int32] | None
    settings: _core.ForestSettings

    @property
    def code_width(self) -> int:
        """Number of features whose codes are stored side by side."""
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
        Settings of each tree.
    max_features : int
        Number of features sampled for each node or tree.
    feature_sampling : {"node", "tree"}
    draws_cuts : bool, default=False
        Whether nodes sample one cut of each feature, if these are many and rare.
    **fields : dict
        More fields of `ForestSettings`.
    """
    kinds = _core.FeatureSampling
    sampling = kinds.none
    if max_features < data.rows.n_features:
        sampling = getattr(kinds, feature_sampling)
    order: npt.NDArray[np.int32] | None = None
    draws_cuts = draws_cuts and sampling == kinds.node and tree.max_candidates == 0
    if sampling == kinds.node:
        # A shuffled order, so that a node samples features from few cache lines.
        order = np.asarray(_core.forest_order(dictionary.offsets, data.seed))
        draws_cuts = (
            draws_cuts
            and len(order) > MANY_FEATURES
            and has_rare_codes(data, dictionary)
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


def has_rare_codes(data: TrainingData, dictionary: Dictionary) -> bool:
    """Return True if few codes differ from the most frequent one of their feature.

    A sample of the rows decides. The median of the codes is the most frequent one if
    more than half of the rows have it.
    """
    n_rows = len(data.rows)
    rows = np.arange(0, n_rows, max(1, -(-n_rows // RARE_ROWS)))
    some = data.rows.take(rows)
    codes = encode(some, dictionary, 1, data.n_threads).reshape(-1, len(rows))
    middle = np.partition(codes, len(rows) // 2, axis=1)[:, [len(rows) // 2]]
    n_searched = np.count_nonzero(np.diff(dictionary.offsets))
    n_others = np.count_nonzero(codes != middle)
    return bool(n_others < RARE_SHARE * len(rows) * n_searched)


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
        Its rows are not used.
    codes : ndarray or CodeLists
        Codes of the features of the plan, in the layout of `encode`.
    drawn : ndarray of shape (n_trees, n_rows), default=None
        How often each tree has sampled each row, if the codes are those of some of
        the training rows.
    progress : callable, default=None
        Called with the number of finished trees, a few times per second.
    """
    grow = _core.grow_forest if data.values is None else _core.grow_regression_forest
    arrays: dict[str, Any] = grow(
        codes,
        code_width=plan.code_width,
        **core_rows(data, plan.dictionary, is_sampled=plan.settings.n_draws > 0),
        settings=plan.settings,
        progress=progress,
        drawn=drawn,
    )
    if plan.order is not None:  # back to the columns of X
        feature = arrays["nodes"].view(NODE)["feature"]
        inner = feature >= 0
        feature[inner] = plan.order[feature[inner]]
    return arrays
