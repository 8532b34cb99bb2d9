"""The plan of a forest for the core: sampled features, order of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._dictionary import Codes, Dictionary, select
from dics._growing.settings import core_rows, make_settings
from dics._model.trees import NODE

if TYPE_CHECKING:
    from dics._training import TrainingData


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
    **fields : dict
        More fields of `ForestSettings`.
    """
    kinds = _core.FeatureSampling
    sampling = kinds.none
    if max_features < data.rows.n_features:
        sampling = getattr(kinds, feature_sampling)
    order: npt.NDArray[np.int32] | None = None
    if sampling == kinds.node:
        # A shuffled order, so that a node samples features from few cache lines.
        order = np.asarray(_core.forest_order(dictionary.offsets, data.seed))
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
        **fields,
    )
    return ForestPlan(dictionary, order, settings)


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
    arrays: dict[str, Any] = _core.grow(
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
