"""Groups of options that few users change.

They are values of the parameters `categorical`, `advanced` and `sampling`.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from dics._estimator.doc_link import DocLink

NOT_NEGATIVE = Interval(Real, 0.0, None, closed="left")
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
UP_TO_HALF = Interval(Real, 0.0, 0.5, closed="both")
AUTO = StrOptions({"auto"})


class Options(DocLink, BaseEstimator):
    """Base of all groups of options, which are checked when a fit starts."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _check(self, estimator: Any, parameter: str) -> None:
        """Check the options of an estimator, which has them as a parameter."""
        # In fit and not in the constructor: scikit-learn clones without checks.
        values = vars(self)
        owner = type(estimator).__name__
        validate_parameter_constraints(
            # The prefix makes errors name the option as the user wrote it.
            {f"{parameter}.{k}": v for k, v in self._parameter_constraints.items()},
            {f"{parameter}.{k}": v for k, v in values.items()},
            caller_name=owner,
        )
        for name in values:
            where = f"{parameter}.{name}"
            # A classifier and a regressor share one class of options.
            if where not in estimator._unsupported:
                continue
            # From the constructor, so that each default is written once.
            default = getattr(type(self)(), name)
            if values[name] != default:
                raise ValueError(
                    f"{owner} does not support {where}={values[name]!r}; leave it "
                    f"{default!r}."
                )


class CategoricalOptions(Options):
    """How trees split categorical features.

    Categories are sorted by their mean target once, and again in each node. A split
    then divides the sorted categories into two sets.

    Parameters
    ----------
    smooth : float, default=10.0
        Number of rows with the overall mean target that are added to each category
        before categories are sorted. Increase it if rare categories are noisy. In the
        nodes of boosting, it is added to the hessian of each category.
    l2 : float, default=30.0
        Boosting only: penalty per category of a node, added to `l2_regularization`
        where the node sorts the categories itself. Increase it if the model overfits
        features with many categories.
    min_samples : int or "auto", default="auto"
        Minimum number of rows of neighboring categories that a node can separate, and
        of each side of the split. Rarer categories are pooled. "auto" is 20 in trees
        and forests and 100 in boosting. Increase it if the model overfits rare
        categories.
    max_categories : int or None, default=None
        Maximum number of categories on the smaller side of a split. None sets no limit.
        Set it if the model overfits features with many categories.
    pairs : bool, default=True
        Boosting only: whether pairs of categorical features can be features too. One of
        the two must have many categories, and the pair must predict the target better
        than both. Pairs are not used with `candidates` or `interaction_cst`.

    See Also
    --------
    CGTreeClassifier : Its parameter `categorical_features` selects the features.
    CGBoostingClassifier : Boosting can also use pairs of features.

    Examples
    --------
    >>> from dics import CategoricalOptions, CGBoostingClassifier
    >>> model = CGBoostingClassifier(categorical=CategoricalOptions(smooth=50.0))
    >>> model.set_params(categorical__min_samples=20).categorical
    CategoricalOptions(min_samples=20, smooth=50.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "smooth": [NOT_NEGATIVE],
        "l2": [NOT_NEGATIVE],
        "min_samples": [AUTO, AT_LEAST_ONE],
        "max_categories": [AT_LEAST_ONE, None],
        "pairs": ["boolean"],
    }

    def __init__(
        self,
        *,
        smooth: float = 10.0,
        l2: float = 30.0,
        min_samples: int | str = "auto",
        max_categories: int | None = None,
        pairs: bool = True,
    ) -> None:
        self.smooth = smooth
        self.l2 = l2
        self.min_samples = min_samples
        self.max_categories = max_categories
        self.pairs = pairs


class GOSS(Options):
    """Gradient-based one-side sampling of rows, as in the paper.

    Each round uses the rows with the largest gradients and a random sample of the other
    rows, which get a larger weight.

    Parameters
    ----------
    top_rate : float, default=0.2
        Fraction of the rows, those with the largest gradients. Decrease it for faster
        rounds.
    other_rate : float, default=0.1
        Fraction of the rows that is sampled from the others. Decrease it for faster
        rounds.

    See Also
    --------
    CGBoostingClassifier : Its parameter `sampling` accepts this object.
    CGBoostingRegressor : Its parameter `sampling` accepts this object.

    Examples
    --------
    >>> from dics import GOSS, CGBoostingClassifier
    >>> model = CGBoostingClassifier(sampling=GOSS(top_rate=0.3))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "top_rate": [Interval(Real, 0.0, 1.0, closed="both")],
        "other_rate": [Interval(Real, 0.0, 1.0, closed="both")],
    }

    def __init__(self, *, top_rate: float = 0.2, other_rate: float = 0.1) -> None:
        self.top_rate = top_rate
        self.other_rate = other_rate

    def _check(self, estimator: Any, parameter: str) -> None:
        super()._check(estimator, parameter)
        # A constraint between two options, which scikit-learn cannot express.
        if not 0 < self.top_rate + self.other_rate <= 1:
            raise ValueError(
                f"{parameter}: top_rate={self.top_rate} and other_rate="
                f"{self.other_rate} are fractions of the rows; their sum must be above "
                "0 and at most 1."
            )


class TreeOptions(Options):
    """Rarely needed options of trees: value of their parameter `advanced`.

    Parameters
    ----------
    max_candidates : int or None, default=None
        Number of candidate splits sampled at each node (k in the paper, which uses
        100). None considers all. A small number is faster for many features and costs
        accuracy.
    renew_thresholds : bool or "auto", default="auto"
        Whether small nodes get new thresholds, the quantiles of their own rows, once
        they have a sixteenth of the rows of the current ones. "auto" does so for up to
        128 features, but not for custom `candidates`. It has no effect with
        `max_candidates` or `max_features`.
    reuse_splits : bool, default=True
        Classifier only: False removes each split from the candidates once it is used,
        as in line 8 of Algorithm 2 of the paper. That is slower, and it excludes a
        sparse X, `splitter="random"`, `monotonic_cst`, `max_leaf_nodes` and
        `max_features`.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the weighted impurity by a split. Increase it for smaller
        trees.

    See Also
    --------
    CGTreeClassifier : Classification tree.
    CGTreeRegressor : Regression tree.

    Examples
    --------
    >>> from dics import CGTreeClassifier, TreeOptions
    >>> tree = CGTreeClassifier(advanced=TreeOptions(max_candidates=100))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_candidates": [AT_LEAST_ONE, None],
        "renew_thresholds": [AUTO, "boolean"],
        "reuse_splits": ["boolean"],
        "min_impurity_decrease": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        *,
        max_candidates: int | None = None,
        renew_thresholds: bool | str = "auto",
        reuse_splits: bool = True,
        min_impurity_decrease: float = 0.0,
    ) -> None:
        self.max_candidates = max_candidates
        self.renew_thresholds = renew_thresholds
        self.reuse_splits = reuse_splits
        self.min_impurity_decrease = min_impurity_decrease


class ForestOptions(Options):
    """Rarely needed options of forests: value of their parameter `advanced`.

    Parameters
    ----------
    max_candidates : int or None, default=None
        Number of candidate splits sampled at each node (k in the paper, which uses
        100), from those of the sampled features. None considers all.
    feature_sampling : {"node", "tree"}, default="node"
        Whether features are sampled at each node or, as in the paper, once for each
        tree. "tree" is faster and less accurate, most of all if many features are
        constant. With "node" and more than 128 features, each node samples from a
        random group of up to 128.
    voting : {"soft", "hard"}, default="soft"
        Classifier only: "soft" averages the class probabilities of the trees, "hard"
        counts one vote per tree, as in the paper.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight on each side of a split.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the weighted impurity by a split. Increase it for smaller
        trees.

    See Also
    --------
    CGForestClassifier : Forest of classification trees.
    CGForestRegressor : Forest of regression trees.

    Examples
    --------
    >>> from dics import CGForestClassifier, ForestOptions
    >>> forest = CGForestClassifier(advanced=ForestOptions(feature_sampling="tree"))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_candidates": [AT_LEAST_ONE, None],
        "feature_sampling": [StrOptions({"node", "tree"})],
        "voting": [StrOptions({"soft", "hard"})],
        "min_weight_fraction_leaf": [UP_TO_HALF],
        "min_impurity_decrease": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        *,
        max_candidates: int | None = None,
        feature_sampling: str = "node",
        voting: str = "soft",
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
    ) -> None:
        self.max_candidates = max_candidates
        self.feature_sampling = feature_sampling
        self.voting = voting
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease


class BoostingOptions(Options):
    """Rarely needed options of boosting: value of its parameter `advanced`.

    Parameters
    ----------
    max_candidates : int or None, default=None
        Number of candidate splits sampled for each round (k in the paper, which uses
        100), from the thresholds of its features. None considers all.
    reuse_splits : bool, default=True
        Classifier only: False removes the first split of each round from the candidates
        of all later rounds, as in line 15 of Algorithm 4 of the paper.
    leaf_values : {"all", "sample"}, default="all"
        Whether leaf values are computed from all rows or, as in the paper, from the
        sampled rows only. The losses "absolute_error", "huber" and "quantile" always
        use all rows.
    sketch_outputs : "auto", int or None, default="auto"
        Number of random sums of the gradients that splits are searched by, instead of
        one gradient per output (SketchBoost). Leaf values still use all outputs. "auto"
        is 6 for 32 or more outputs. None uses all outputs.
    noise_shrinkage : "auto" or float, default="auto"
        Classifier only: strength s of the shrinkage of leaf values that may be noise.
        With the sums G and H of gradients and hessians, the factor is G^2 / (G^2 + s
        H). "auto" is 3 for two classes and 0 (no shrinkage) for more. Increase it if
        leaf values are noisy.
    huber_quantile : float, default=0.9
        With ``loss="huber"``: fraction of the rows, those with the smallest residuals,
        whose loss is squared. Decrease it if there are more outliers.
    tweedie_power : float, default=1.5
        With ``loss="tweedie"``: the power p of the variance, which is proportional to
        the p-th power of the mean; above 1 and below 2. Near 1, targets are almost
        counts; near 2, almost amounts.
    tol : float, default=1e-7
        Minimum improvement of the score that counts for early stopping. Increase it to
        stop earlier.

    See Also
    --------
    CGBoostingClassifier : Boosting for classification.
    CGBoostingRegressor : Boosting for regression.

    Examples
    --------
    >>> from dics import BoostingOptions, CGBoostingClassifier
    >>> model = CGBoostingClassifier(advanced=BoostingOptions(noise_shrinkage=0.0))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_candidates": [AT_LEAST_ONE, None],
        "reuse_splits": ["boolean"],
        "leaf_values": [StrOptions({"all", "sample"})],
        "sketch_outputs": [AUTO, Interval(Integral, 2, None, closed="left"), None],
        "noise_shrinkage": [AUTO, NOT_NEGATIVE],
        "huber_quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
        # The ends are the losses "poisson" and "gamma".
        "tweedie_power": [Interval(Real, 1.0, 2.0, closed="neither")],
        "tol": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        *,
        max_candidates: int | None = None,
        reuse_splits: bool = True,
        leaf_values: str = "all",
        sketch_outputs: int | str | None = "auto",
        noise_shrinkage: float | str = "auto",
        huber_quantile: float = 0.9,
        tweedie_power: float = 1.5,
        tol: float = 1e-7,
    ) -> None:
        self.max_candidates = max_candidates
        self.reuse_splits = reuse_splits
        self.leaf_values = leaf_values
        self.sketch_outputs = sketch_outputs
        self.noise_shrinkage = noise_shrinkage
        self.huber_quantile = huber_quantile
        self.tweedie_power = tweedie_power
        self.tol = tol
