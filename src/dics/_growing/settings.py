"""Settings of the core for trees and forests, from the parameters of an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from dics import _core
from dics._dictionary import Codes, Dictionary, select
from dics._estimator.arguments import (
    NO_LIMIT,
    as_feature_count,
    as_row_count,
)
from dics._input.checks import split_counts
from dics._model.trees import NODE

if TYPE_CHECKING:
    from dics._training import TrainingData

# The charge of a node for a set of k categories that it has sorted itself. The unit is
# the mean gain of k categories of noise (core/search/categories.hpp);
# the best of their sets has about two thirds of that. Without sets, and with a charge
# of 0, 0.3 and 1, for 100 categories of 120 rows (three seeds):
#   a tree of depth 8, AUC, categories are noise            0.818, 0.782, 0.788, 0.818
#   the same, another feature changes their order           0.806, 0.824, 0.825, 0.825
#   a regression forest, R2, categories are noise           0.561, 0.542, 0.551, 0.561
#   the same, another feature changes their order           0.551, 0.629, 0.628, 0.616
# R2 of mercedes, a tree of depth 8: 0.525, 0.389, -, 0.525; AUC of adult, a forest:
# 0.9061, 0.9069, -, 0.9059 (2026-11).
SET_CHARGE = 1.0
# Criteria with two names in scikit-learn, and the name that a model stores.
SAME_CRITERION = {"log_loss": "entropy"}
# friedman_mse ranks splits as squared_error does.
CORE_CRITERION = {"friedman_mse": "squared_error"}
REGRESSION_CRITERIA = {"squared_error", "friedman_mse", "absolute_error", "poisson"}
# Types of the parameters that trees and forests share.
TREE_CONSTRAINTS: dict[str, list[Any]] = {
    "min_samples_split": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
    ],
    "min_samples_leaf": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="neither"),
    ],
    "splitter": [StrOptions({"best", "random"})],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
}


@dataclass(frozen=True, kw_only=True)
class TreePlan:
    """The numbers that the parameters of a tree or forest stand for in a fit.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    n_features : int
        Number of features.
    max_features : int
        Number of features that a node considers.
    max_bins : int
        Largest number of bins of a feature.
    max_samples : int or None
        Number of rows sampled for each tree; None if each tree has all rows.
    min_samples_split : int
        Minimum number of rows of a node that can be split.
    min_samples_leaf : int
        Minimum number of rows on each side of a split.
    splitter : {"best", "random"}
        Position of the split of each feature.

    See Also
    --------
    CGTreeClassifier : Its attribute `plan_` is such an object.
    CGForestClassifier : Its attribute `plan_` is such an object.
    BoostingPlan : Plan of a boosting model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGForestClassifier
    >>> forest = CGForestClassifier(max_features="sqrt", n_estimators=5)
    >>> forest.fit(*load_iris(return_X_y=True)).plan_.max_features
    2
    """

    n_rows: int
    n_features: int
    max_features: int
    max_bins: int
    max_samples: int | None
    min_samples_split: int
    min_samples_leaf: int
    splitter: str = "best"  # the plans of older model files lack it

    @classmethod
    def of(
        cls, model: Any, data: TrainingData, sample_size: int = 0, **chosen: Any
    ) -> TreePlan:
        """Return the plan of a model whose thresholds are placed.

        Parameters
        ----------
        model : estimator
            Tree or forest, with its fitted `candidates_`.
        data : TrainingData
            Training data of the fit.
        sample_size : int, default=0
            Number of rows sampled for each tree; 0 if each tree has all rows.
        **chosen : dict
            Values of "auto" parameters.

        Returns
        -------
        plan : TreePlan
            The plan of the fit.
        """
        n_rows, n_features = len(data.rows), data.rows.n_features
        given = {**model.get_params(deep=False), **chosen}
        return cls(
            n_rows=n_rows,
            n_features=n_features,
            max_features=as_feature_count(given["max_features"], n_features),
            max_bins=int(model.candidates_.n_thresholds_.max()) + 1,
            max_samples=sample_size or None,
            min_samples_split=max(2, as_row_count(given["min_samples_split"], n_rows)),
            min_samples_leaf=as_row_count(given["min_samples_leaf"], n_rows),
            splitter=given["splitter"],
        )


def criterion_name(model: Any) -> str:
    """Return the criterion by the name that a model stores."""
    name: str = model.criterion
    return SAME_CRITERION.get(name, name)


def grow_settings(
    model: Any, data: TrainingData, *, reuse_splits: bool = True, **fields: Any
) -> _core.GrowSettings:
    """Return the settings of a tree or of each tree of a forest.

    `fields` are more fields of `GrowSettings`.
    """
    plan, criterion = model.plan_, criterion_name(model)
    max_leaf_nodes = model.max_leaf_nodes
    # A tree has at most as many leaves as rows. With a limit, the core would grow it by
    # the largest gain instead of depth first.
    if max_leaf_nodes is None or max_leaf_nodes >= plan.n_rows:
        max_leaf_nodes = NO_LIMIT
    limits = _core.NodeLimits(
        max_depth=min(model.max_depth or NO_LIMIT, NO_LIMIT),
        min_samples_split=plan.min_samples_split,
        min_samples_leaf=plan.min_samples_leaf,
        max_leaf_nodes=int(max_leaf_nodes),
        reuse_splits=reuse_splits,
    )
    # Sampled candidates are thresholds of the dictionary, not sets of categories.
    if reuse_splits and not fields.get("max_candidates"):
        fields["categories"] = model._category_settings().replace(charge=SET_CHARGE)
    return _core.GrowSettings(
        criterion=getattr(_core.Criterion, CORE_CRITERION.get(criterion, criterion)),
        n_classes=data.n_classes,
        limits=limits,
        splitter=getattr(_core.Splitter, plan.splitter),
        min_impurity_decrease=float(model._options.min_impurity_decrease),
        monotonic=data.monotonic,
        seed=data.seed,
        **fields,
    )


def core_rows(
    data: TrainingData, dictionary: Dictionary, *, is_sampled: bool = False
) -> dict[str, Any]:
    """Return the arguments of the core that describe the rows, without their codes.

    If each tree samples rows, weights are probabilities and not counts.
    """
    counts = split_counts(None if is_sampled else data.weights)
    return {
        "values": dictionary.values,
        "offsets": dictionary.offsets,
        # A regression has labels, too: groups of rows, which only thresholds need.
        "labels": data.labels if data.values is None else None,
        "y": data.values,
        "counts": counts.narrow,
        "wide_counts": counts.wide,
        "weights": data.weights,
        "n_threads": data.n_threads,
    }


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
    elif tree.splitter == _core.Splitter.random:
        # This search skips features that are constant in a node. Random splits of all
        # features of mercedes (376) take a third of the time (2026-11).
        sampling = kinds.node
    order: npt.NDArray[np.int32] | None = None
    if sampling == kinds.node:
        # A shuffled order, so that a node samples features from few cache lines.
        order = np.asarray(_core.forest_order(dictionary.offsets, data.seed))
        dictionary = select(dictionary, order)
        monotonic, known = tree.monotonic, tree.categories.categorical
        if monotonic:
            tree = tree.replace(monotonic=[monotonic[f] for f in order])
        if known:
            known = [known[f] for f in order]
            tree = tree.replace(categories=tree.categories.replace(categorical=known))
    settings = _core.ForestSettings(
        tree=tree, sampling=sampling, max_features=max_features, **fields
    )
    return ForestPlan(dictionary, order, settings)


def grow_planned(
    plan: ForestPlan,
    data: TrainingData,
    codes: Codes,
    *,
    sampled: npt.NDArray[np.uint32] | None = None,
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
    sampled : ndarray of shape (n_trees, n_rows), default=None
        How often each tree has sampled each row, if the codes are those of some of
        the training rows.
    progress : callable, default=None
        Called with the number of finished trees, a few times per second.
    """
    arrays: dict[str, Any] = _core.grow(
        codes,
        code_width=plan.code_width,
        **core_rows(data, plan.dictionary, is_sampled=plan.settings.sample_size > 0),
        settings=plan.settings,
        progress=progress,
        sampled=sampled,
    )
    if plan.order is not None:  # back to the columns of X
        feature = arrays["nodes"].view(NODE)["feature"]
        inner = feature >= 0
        feature[inner] = plan.order[feature[inner]]
    return arrays
